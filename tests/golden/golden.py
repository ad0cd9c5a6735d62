"""Makes the golden files: a plan's whole life, with a clock and ids that are always the same, and approvals
that were signed once by a key that exists no more.

Files that a release has written must stay readable, and their approvals provable.
"""

import itertools
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from ringi.app.api import Workspace
from ringi.app.workspace import open_workspace
from ringi.approvals.document import TypedAnswer
from ringi.approvals.grant_document import GrantScope
from ringi.approvals.signing import SignerList, SshSignatures
from ringi.kernel import codec
from ringi.plans.check import add_checks
from ringi.plans.document import MessageRef, NewContent
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ALL_SPECS, ActionSpec, Encoding
from ringi.tree.check_result import CheckResult
from tests.fakes.models import Desk
from tests.fakes.signing import RealKey
from tests.helpers import (
    FILES,
    Person,
    SetClock,
    answer,
    create,
    delete,
    environment_of,
    make_files,
    rewire,
    set_clock,
    undo,
    write,
)

HERE = Path(__file__).parent
WEEK = 7 * 86400


def make_plan(tmp_path: Path, folder: Path) -> None:
    """A copy of the plan's folder below .agent."""
    with _opened(tmp_path, {**FILES, "docs/old.md": "old\n"}) as workspace:
        for path in ("README.md", "app/hello.py", "docs/old.md"):
            (workspace.places.root / path).chmod(0o644)
        made = plan_folder(workspace, live(workspace))
        shutil.copytree(made, folder, ignore=shutil.ignore_patterns(".*"))


def plan_folder(workspace: Workspace, plan_id: str) -> Path:
    return workspace.places.root / ".agent" / "logs" / "plans" / plan_id


def _opened(tmp_path: Path, files: Mapping[str, str] = FILES) -> Workspace:
    """With a clock and ids that are always the same."""
    root = tmp_path / "ws"
    (root / ".agent").mkdir(parents=True)
    make_files(root, files)
    return open_workspace(
        root, environment=environment_of(tmp_path), person=Person(), clock=SetClock(), ids=_numbered(),
        at_once=True,
    )  # fmt: skip


def _numbered() -> Callable[[], str]:
    numbers = itertools.count(1)
    return lambda: f"00000000-0000-4000-8000-{next(numbers):012}"


def live(workspace: Workspace) -> str:
    clock = set_clock(workspace)
    plan = workspace.plan
    plan_id = plan.propose(
        "# 挨拶を増やす\n\nSay more \u2013 in two languages.",
        [MessageRef("m-1", "2026-01-01T00:00:00Z")],
        "People asked for it",
        ["greeting", "日本語"],
        proposer="claude",
        requester="with:claude",
    )
    clock.pass_by(1)
    specs = [
        write("app/hello.py", 'def hello():\n    return "こんにちは"\n', description="the greeting"),
        create("bin/run", "#!/bin/sh\n", mode="0755", group="change"),
        create("data.bin", "AAEC", mode="0644", encoding=Encoding.BASE64),
        delete("README.md"),
        ActionSpec(SpecKind.MOVE, "docs/old.md", target="docs/new.md"),
        ActionSpec(SpecKind.MKDIR, "empty", mode="0755"),
    ]
    plan.set_action_specs(plan_id, specs, requester="with:claude")
    add_checks(workspace, plan_id, [CheckResult("make test", 0, 1.5, "tree", "ok\n")])
    clock.pass_by(1)
    plan.comment(plan_id, "app/hello.py", 2, "朝も？")  # noqa: RUF001  # a question in Japanese
    plan.reject(plan_id, "Please say why.")
    plan.set_action_specs(plan_id, specs, requester="with:claude")
    clock.pass_by(1)
    plan.amend(plan_id, [NewContent("s2", "#!/bin/sh\nexit 0\n")])
    clock.pass_by(1)
    request = plan.ask(plan_id)
    plan.approve(plan_id, "Hanako", ALL_SPECS, answer(request), "fine")
    clock.pass_by(1)
    assert plan.execute(plan_id).overall_success
    clock.pass_by(1)
    undo(workspace, plan_id)
    return plan_id


def make_signed(tmp_path: Path, folder: Path) -> None:
    """A plan that a key approved, a standing approval by the same key, and a plan that it covered.

    The key is made for this and thrown away with `tmp_path`.
    """
    key = RealKey(tmp_path, "key")
    folder.mkdir()
    (folder / "key.pub").write_text(key.public + "\n")
    with _opened(tmp_path) as workspace:
        clock = set_clock(workspace)
        # Not from a file, whose path would be told in the proof.
        listed = SignerList("allowed_signers", f"hanako {key.public}\n".encode())
        rewire(workspace, signatures=SshSignatures(lambda: [listed]))
        grants = workspace.grants
        scope = GrantScope(
            requester="with:claude",
            globs=("docs/**",),
            kinds=(SpecKind.CREATE, SpecKind.WRITE),
            max_risk=Risk.LOW,
            files_per_use=3,
            lines_per_use=30,
            files_total=9,
            lines_total=90,
        )
        subject = grants.draft(scope, clock.after(WEEK))
        clock.pass_by(1)
        grant = grants.add(subject, "hanako", key.sign(grants.statement(subject, "hanako")))
        (folder / "grant.json").write_bytes(codec.pretty(grant))
        signed = _carried_out(workspace, clock, create("notes.txt", "署名\n", mode="0644"), key)
        granted = _carried_out(workspace, clock, create("docs/a.txt", "covered\n", mode="0644"), None)
        for name, plan_id in (("signed", signed), ("granted", granted)):
            shutil.copytree(
                plan_folder(workspace, plan_id), folder / name, ignore=shutil.ignore_patterns(".*", "preview")
            )
        lines = [codec.canonical(logged) for logged in workspace.log()]
        (folder / "events.jsonl").write_bytes(b"\n".join(lines) + b"\n")


def _carried_out(workspace: Workspace, clock: SetClock, spec: ActionSpec, key: RealKey | None) -> str:
    """Approved by the key, or without one by what stands already."""
    plan = workspace.plan
    plan_id = plan.propose("A change", proposer="claude", requester="with:claude")
    assert plan.set_action_specs(plan_id, [spec], requester="with:claude").ok
    clock.pass_by(1)
    request = plan.ask(plan_id)
    if key is not None:
        plan.approve(
            plan_id, "hanako", ALL_SPECS, key.sign(plan.statement(request, "hanako", "fine")), "fine"
        )
    clock.pass_by(1)
    assert plan.execute(plan_id).overall_success
    return plan_id


def make_session(tmp_path: Path, folder: Path) -> None:
    """A planning session from its instruction over a reject to its run."""
    ids = _numbered()
    desk = Desk(tmp_path / "state", ids=ids)
    desk.ledger.set_meta("workspace_id", ids())
    session_id = desk.at_review("ログインを追加")
    desk.tool.reject(session_id, "小さく始める")
    desk.led(session_id)
    digest = desk.tool.request(session_id).digest
    desk.tool.approve(session_id, "Hanako", TypedAnswer(digest, "y"))
    stored = desk.tool.get(session_id)
    [approval], [run] = desk.ledger.approvals.of(session_id), desk.ledger.runs.all()
    folder.mkdir()
    documents = {"session": stored.session, "facts": stored.facts, "approval": approval, "run": run}
    for name, document in documents.items():
        (folder / f"{name}.json").write_bytes(codec.pretty(document))
    lines = [codec.canonical(logged) for logged in desk.ledger.events()]
    (folder / "events.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    desk.ledger.close()
