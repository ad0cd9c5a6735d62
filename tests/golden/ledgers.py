"""Makes whole folders as people have them: a repository, its `.agent/`, the ledger, and the keys that signed.

Later versions must open, verify, execute and undo what is in them (test_ledgers.py).
The ledger names the folder it was made for, so all of it is made below /srv/example, which must not exist.
"""

import contextlib
import gzip
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ringi.app.api import Workspace, open_workspace
from ringi.approvals.document import ApprovalRequest, TypedAnswer
from ringi.approvals.grant_document import GrantScope
from ringi.kernel.places import DATABASE
from ringi.plans.capture import state_now
from ringi.plans.change import ChangeDraft
from ringi.plans.change_plan import PlanBasis, Trigger
from ringi.plans.document import MessageRef, NewContent
from ringi.plans.from_patch import file_diffs, propose_change
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import SpecKind
from ringi.sessions.document import DecisionPending, QuestionPending
from ringi.tree.action_spec import ALL_SPECS, ActionSpec, Encoding, SpecSelection
from tests.crash.killing import KILLED, Driver
from tests.fakes.people import SeatedPerson, SteppingClock
from tests.fakes.signing import RealKey
from tests.helpers import accept_signers

HERE = Path(__file__).parent
EXAMPLE = Path("/srv/example")
# Approvals of the stored plans, and the bytes that an undo brings back, are kept for a hundred years.
SETTINGS = """\
approval:
  expires_sec: 3153600000
keep:
  replaced_days: 36500
run:
  sandbox: "off"
"""
FILES = {
    "README.md": "# Greeter\n\nSays hello.\n",
    "greeter/__init__.py": "",
    "greeter/hello.py": 'def hello(name):\n    return f"hello {name}"\n',
    "greeter/main.py": "from greeter.hello import hello\n\nprint(hello('you'))\n",
    "docs/guide.md": "# Guide\n",
    "docs/old.md": "old\n",
    "run.sh": "#!/bin/sh\nexec python3 -m greeter.main\n",
}

STATUSES = {
    "completed": "completed",
    "every kind": "completed",
    "undone": "completed",
    "command": "completed",
    "committed": "completed",
    "signed": "completed",
    "granted": "completed",
    "granted again": "completed",
    "aborted": "aborted",
    "in part": "completed",
    "superseded": "proposed",
    "change": "pending_review",
    "declined": "proposed",
    "amended": "pending_review",
    "pending": "pending_review",
    "stale": "approved",
    "approved": "approved",
    "approved signed": "approved",
    "proposed": "proposed",
    "words": "proposed",
}
"""Of the plans, by what each of them is an example of."""
SESSIONS = {
    "discovery": "discovery",
    "begun": "discovery",
    "design": "design",
    "review": "review",
    "approved": "approved",
    "approved signed": "approved",
    "approved and cancelled": "cancelled",
    "cancelled": "cancelled",
    "failed": "failed",
    "rejected": "design",
    "rejected three times": "cancelled",
}


class Place:
    """Where one is made: the repository, its ledger, a home, and a key that is thrown away with all of it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "greeter"
        self.states = base / "state"
        home = base / "home"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "RINGI_STATE_DIR": str(self.states),
            "RINGI_CACHE_DIR": str(base / "cache"),
            "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "LANG": "C.UTF-8",
        }
        settings = home / ".config" / "ringi"
        settings.mkdir(parents=True, mode=0o700)
        self.key = RealKey(home, "key")
        (settings / "config.yaml").write_text(SETTINGS)
        (settings / "allowed_signers").write_text(f"hanako {self.key.public}\n")
        (home / ".gitconfig").write_text("[user]\n    name = Hanako\n    email = hanako@example.invalid\n")
        for name, content in FILES.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
            path.chmod(0o755 if name.endswith(".sh") else 0o644)
        for command in ("init -q -b main --template=", "add -A", "commit -q -m first"):
            subprocess.run(["git", *command.split()], cwd=self.root, env=self.environment, check=True)

    def open(self) -> Workspace:
        clock = SteppingClock()
        workspace = open_workspace(
            self.root, environment=self.environment, person=SeatedPerson(), clock=clock, at_once=True
        )
        accept_signers(workspace)
        return workspace


@contextlib.contextmanager
def _place(base: Path) -> Iterator[Place]:
    base.mkdir(parents=True)
    try:
        yield Place(base)
    finally:
        shutil.rmtree(base)


def make_ledger(folder: Path, base: Path = EXAMPLE) -> None:
    """Plans, sessions and grants in every state that an open ledger can be left in."""
    with _place(base) as place:
        with place.open() as workspace:
            made = Maker(workspace, place.key)
            manifest = {"plans": made.plans(), "sessions": made.sessions()}
            made.require_statuses(**manifest)
        _keep(place, folder, manifest)


def make_cut_off(folder: Path, base: Path = EXAMPLE) -> None:
    """A command that nobody saw end, and an execution that a kill -9 cut off between two files."""
    with _place(base) as place:
        with place.open() as workspace:
            made = Maker(workspace, place.key)
            run = ActionSpec(SpecKind.RUN, argv=("sh", "-c", "touch begun; sleep 9"))
            unknown = made.approved("Wait", run)
            files = made.approved(
                "Two files", _write("README.md", "# Cut\n"), _create("docs/new.md", "new\n")
            )
        _kill_in_command(place, unknown)
        _kill_between(place, files)
        _keep(place, folder, {"plans": {"unknown": unknown, "executing": files}, "sessions": {}})


class Maker:
    def __init__(self, workspace: Workspace, key: RealKey) -> None:
        self._workspace = workspace
        self._root = workspace.places.root
        self._plan, self._grants = workspace.plan, workspace.grants
        self._planning = workspace.planning
        self._key = key

    def require_statuses(self, plans: Mapping[str, str], sessions: Mapping[str, str]) -> None:
        found = {name: str(self._plan.get_state(plan_id).status) for name, plan_id in plans.items()}
        assert found == STATUSES
        found = {
            name: str(self._planning.get(session_id).session.status) for name, session_id in sessions.items()
        }
        assert found == SESSIONS

    def plans(self) -> dict[str, str]:
        plan = self._plan
        found = {
            "completed": self.executed("Say more", _write("README.md", "# Greeter\n\nSays hello to all.\n"))
        }
        found["every kind"] = self.executed(
            "挨拶を増やす",
            _write("greeter/hello.py", 'def hello(name):\n    return f"こんにちは {name}"\n'),
            _create("data.bin", "AAEC", mode="0644", encoding=Encoding.BASE64),
            _create("bin/greet", "#!/bin/sh\n", mode="0755"),
            ActionSpec(SpecKind.DELETE, "run.sh"),
            ActionSpec(SpecKind.MOVE, "docs/old.md", target="docs/new.md"),
            ActionSpec(SpecKind.MKDIR, "empty", mode="0755"),
        )
        found["undone"] = self.executed("Not wanted", _create("wrong.txt", "wrong\n"))
        request, _ = plan.ask_undo(found["undone"])
        assert plan.undo(found["undone"], "Hanako", _typed(request)).overall_success
        found["command"] = self.executed(
            "Count",
            ActionSpec(SpecKind.RUN, argv=("sh", "-c", "wc -l < README.md > lines.txt; cat lines.txt")),
        )
        found["committed"] = self.executed(
            "Guide", _write("docs/guide.md", "# The guide\n"), commit="Name the guide"
        )
        found["signed"] = self.signed("Notes", _create("notes.txt", "署名\n"))
        assert plan.execute(found["signed"]).overall_success
        found |= self._granted()
        found["aborted"] = self.approved(
            "A file and a command",
            _create("first.txt", "first\n"),
            ActionSpec(SpecKind.RUN, argv=("test", "-e", "ready")),
        )
        assert not plan.execute(found["aborted"]).overall_success
        found["in part"] = self.approved(
            "Two files, one wanted",
            _create("wanted.txt", "wanted\n"),
            _create("later.txt", "later\n"),
            selection=SpecSelection(all=False, ids=("s1",)),
        )
        assert plan.execute(found["in part"]).overall_success
        return found | self._waiting()

    def _waiting(self) -> dict[str, str]:
        plan = self._plan
        found = {"superseded": self._change("Louder", "Says hello to all.", "SAYS HELLO TO ALL.")}
        (self._root / "greeter" / "main.py").write_text(
            "from greeter.hello import hello\n\nprint(hello('us'))\n"
        )
        state_now(self._workspace)  # newer, which supersedes it
        found["change"] = self._change("Softer", "Says hello to all.", "says hello to all.")
        found["declined"] = self.proposed("Declined", _create("declined.txt", "one\ntwo\n"))
        plan.comment(found["declined"], "declined.txt", 2, "二つ目は？")  # noqa: RUF001  # a question in Japanese
        plan.ask(found["declined"])
        plan.reject(found["declined"], "Please say why.")
        found["amended"] = self.proposed("Amended", _create("amended.txt", "one\ntwo\n"))
        plan.amend(found["amended"], [NewContent("s1", "one\n")])
        plan.ask(found["amended"])
        found["pending"] = self.proposed("Pending", _create("pending.txt", "pending\n"))
        found["stale"] = self.approved("Stale", _write("greeter/main.py", "print('stale')\n"))
        found["approved"] = self.approved("Approved", _create("approved.txt", "approved\n"))
        found["approved signed"] = self.signed(
            "Approved by key", _create("approved-by-key.txt", "approved\n")
        )
        found["proposed"] = self.proposed("Proposed", _create("proposed.txt", "proposed\n"))
        plan.mark_pending(found["proposed"], False)
        found["words"] = plan.propose(
            "# Only words\n\nNo specs yet.",
            [MessageRef("m-1", "2026-01-01T00:00:00Z")],
            "asked for",
            ["idea"],
        )
        (self._root / "greeter" / "main.py").write_text(
            "from greeter.hello import hello\n\nprint(hello('them'))\n"
        )
        return found

    def _granted(self) -> dict[str, str]:
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
        for _ in range(2):
            subject = self._grants.draft(scope, "2026-03-01T00:00:00.000000Z")
            signed = self._key.sign(self._grants.statement(subject, "hanako"))
            revoked = self._grants.add(subject, "hanako", signed)
        self._grants.revoke(revoked.id, "one is enough")
        found = {}
        for name in ("granted", "granted again"):
            plan_id = self._plan.propose(name.title(), proposer="claude", requester="with:claude")
            spec = _create(f"docs/{name.replace(' ', '-')}.md", "covered\n")
            assert self._plan.set_action_specs(plan_id, [spec], requester="with:claude").ok
            self._plan.ask(plan_id)
            assert self._plan.execute(plan_id).overall_success
            found[name] = plan_id
        return found

    def proposed(self, title: str, *specs: ActionSpec) -> str:
        plan_id = self._plan.propose(title, proposer="claude")
        report = self._plan.set_action_specs(plan_id, specs)
        assert report.ok, report.issues
        return plan_id

    def approved(
        self, title: str, *specs: ActionSpec, commit: str = "", selection: SpecSelection = ALL_SPECS
    ) -> str:
        plan_id = self.proposed(title, *specs)
        if commit:
            self._plan.wish_commit(plan_id, commit)
        request = self._plan.ask(plan_id, selection)
        self._plan.approve(plan_id, "Hanako", selection, _typed(request), "fine")
        return plan_id

    def executed(self, title: str, *specs: ActionSpec, commit: str = "") -> str:
        plan_id = self.approved(title, *specs, commit=commit)
        result = self._plan.execute(plan_id)
        assert result.overall_success, result
        return plan_id

    def signed(self, title: str, *specs: ActionSpec) -> str:
        plan_id = self.proposed(title, *specs)
        request = self._plan.ask(plan_id)
        proof = self._key.sign(self._plan.statement(request, "hanako", "fine"))
        self._plan.approve(plan_id, "hanako", ALL_SPECS, proof, "fine")
        return plan_id

    def _change(self, title: str, before: str, after: str) -> str:
        patch = (
            f"--- a/README.md\n+++ b/README.md\n@@ -1,3 +1,3 @@\n # Greeter\n \n-{before}\n+{after}\n"
        ).encode()
        change = ChangeDraft(title, file_diffs(patch), PlanBasis(Trigger.REFACTOR, ()))
        return propose_change(self._workspace, change)

    def sessions(self) -> dict[str, str]:
        planning = self._planning
        found = {"discovery": planning.start("Add a login to the greeter").session_id}
        planning.go_on(found["discovery"])
        planning.answer(found["discovery"], "Only the first page")
        found["begun"] = planning.start("ログインを追加").session_id
        found["design"] = self._led("Rename the greeter module", review=False)
        found["review"] = self._led("Add a second language")
        found["approved"] = self._led("挨拶の言語を選べるようにする")
        digest = planning.request(found["approved"]).digest
        planning.approve(found["approved"], "Hanako", TypedAnswer(digest, "y"))
        found["approved signed"] = self._led("Greet several people at once")
        statement = planning.statement(found["approved signed"], "hanako")
        planning.approve(found["approved signed"], "hanako", self._key.sign(statement))
        found["approved and cancelled"] = self._led("Rename the package")
        digest = planning.request(found["approved and cancelled"]).digest
        planning.approve(found["approved and cancelled"], "Hanako", TypedAnswer(digest, "y"))
        planning.cancel(found["approved and cancelled"])
        found["cancelled"] = planning.start("Print in colour").session_id
        planning.cancel(found["cancelled"])
        found["failed"] = planning.start("Log every greeting").session_id
        planning.fail(found["failed"], "the model did not answer")
        found["rejected"] = self._led("Cache the greetings")
        planning.reject(found["rejected"], "小さく始める")
        found["rejected three times"] = self._led("Rewrite it")
        for number in range(3):
            self._onward(found["rejected three times"])
            planning.reject(found["rejected three times"], f"No ({number})")
        return found

    def _led(self, instruction: str, *, review: bool = True) -> str:
        session_id = self._planning.start(instruction).session_id
        self._onward(session_id, decide=review)
        return session_id

    def _onward(self, session_id: str, *, decide: bool = True) -> None:
        """To the review, or to the first decision."""
        view = self._planning.go_on(session_id)
        while True:
            match view.pending:
                case QuestionPending():
                    self._planning.answer(session_id, "As simple as it can be")
                case DecisionPending() if decide:
                    self._planning.decide(session_id, "1", "the simplest")
                case _:
                    return
            view = self._planning.go_on(session_id)


def _write(path: str, content: str) -> ActionSpec:
    return ActionSpec(SpecKind.WRITE, path, content)


def _create(path: str, content: str, mode: str = "0644", **more: Any) -> ActionSpec:
    return ActionSpec(SpecKind.CREATE, path, content, mode=mode, **more)


def _typed(request: ApprovalRequest) -> TypedAnswer:
    return TypedAnswer(request.digest, request.digest[:6])


_EXECUTE = """\
import sys, ringi
from tests.fakes.people import SeatedPerson
with ringi.open_workspace(person=SeatedPerson(), at_once=True) as workspace:
    workspace.plan.execute(sys.argv[1])
"""


def _kill_in_command(place: Place, plan_id: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _EXECUTE, plan_id],
        cwd=place.root,
        env={**place.environment, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    while not (place.root / "begun").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()


def _kill_between(place: Place, plan_id: str) -> None:
    """Later and later, until one of the two files is written and the other one is not."""
    task = {"root": str(place.root), "environment": place.environment, "plan": plan_id}
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Driver()) as driver:
        kept = shutil.copytree(place.base, Path(folder, "kept"), symlinks=True)
        for event in range(1, 1000):
            assert driver.run({**task, "event": event}) == KILLED
            changed = (place.root / "README.md").read_text() == "# Cut\n"
            if changed is not (place.root / "docs" / "new.md").exists():
                return
            shutil.rmtree(place.base)
            shutil.copytree(kept, place.base, symlinks=True)
    raise AssertionError("it was never cut off between the two")


def _keep(place: Place, folder: Path, manifest: Mapping[str, Any]) -> None:
    [state] = filter(Path.is_dir, place.states.iterdir())
    with contextlib.closing(sqlite3.connect(state / DATABASE)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("VACUUM")
    folder.mkdir()
    shutil.copy(state / DATABASE, folder)
    (folder / "allowed_signers").write_text(f"hanako {place.key.public}\n")
    (folder / "config.yaml").write_text(SETTINGS)
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    (folder / "workspace.tar.gz").write_bytes(_packed(place.root))


def _packed(root: Path) -> bytes:
    """Without owners and times, so that it says nothing about where it was made."""

    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = ""
        return info

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(root, ".", filter=plain)
    return gzip.compress(packed.getvalue(), mtime=0)
