"""`.agent/`: written after the commit, rebuilt, compared, never trusted, never a way out of the workspace."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.app.api import Workspace
from ringi.app.store import Store
from ringi.approvals.document import ApprovalHistory
from ringi.errors import StorageFailed
from ringi.kernel import codec
from ringi.ledger.event import LoggedEvent
from ringi.plans.document import PlanDocument, PlanIndex, PlanPage, PlanStatus
from ringi.plans.execution import ExecutionResult
from ringi.plans.tool import PlanTool
from ringi.plans.verify import verify_plan
from tests.helpers import (
    approve,
    approved,
    assert_whole,
    create,
    fingerprint,
    ledger_of,
    open_scratch,
    proposed,
    set_clock,
    write,
)

MANY = 251


@pytest.fixture
def ws(tmp_path: Path):
    with open_scratch(tmp_path) as workspace:
        yield workspace


@pytest.fixture
def root(ws) -> Path:
    return ws.places.root


def shown(folder: Path) -> set[str]:
    """What people see: files below the folder, without the hidden spares of the writer."""
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


def differences(ws) -> list[str]:
    return ws.upkeep._projection.differences(ledger_of(ws))


@pytest.mark.req("PT-10")
def test_the_layout(ws, root: Path):
    plan_id = ws.plan.propose("A change")
    plans = root / ".agent" / "logs" / "plans"
    first = {"index.json", f"{plan_id}/plan.json", f"{plan_id}/events.jsonl"}
    assert shown(plans) == first
    ws.plan.set_action_specs(plan_id, [write("README.md", "x\n"), create("a/b c.txt", "y\n")])
    diffs = {f"{plan_id}/preview/s1-README.md.diff", f"{plan_id}/preview/s2-b c.txt.diff"}
    assert shown(plans) == first | diffs
    approve(ws, plan_id)
    assert shown(plans) == first | diffs | {f"{plan_id}/approval.json"}
    ws.plan.execute(plan_id)
    assert shown(plans) == first | diffs | {f"{plan_id}/approval.json", f"{plan_id}/result.json"}
    assert shown(root / ".agent") == {"workspace.json", *(f"logs/plans/{name}" for name in shown(plans))}
    assert differences(ws) == []


@pytest.mark.req("PT-1", "PT-2", "PT-8", "PT-10", "PT-11")
def test_what_the_files_contain(ws, root: Path):
    plan_id = approved(ws, write("README.md", "# Sample\nmore\n"))
    result = ws.plan.execute(plan_id)
    folder = root / ".agent" / "logs" / "plans" / plan_id
    document = codec.decode_foreign((folder / "plan.json").read_bytes(), PlanDocument, "plan.json")
    assert document == ws.plan.get(plan_id)
    assert (document.approval, document.result) == ("approval.json", "result.json")
    history = codec.decode_foreign((folder / "approval.json").read_bytes(), ApprovalHistory, "approval.json")
    assert history.approvals == ledger_of(ws).approvals.of(plan_id)
    assert len(history.requests) == 1
    assert (
        codec.decode_foreign((folder / "result.json").read_bytes(), ExecutionResult, "result.json") == result
    )
    lines = (folder / "events.jsonl").read_bytes().splitlines()
    assert [codec.decode_foreign(line, LoggedEvent, "line") for line in lines] == list(ws.log(plan_id))
    assert (folder / "preview" / "s1-README.md.diff").read_text() == (
        "diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n"
        "@@ -1 +1,2 @@\n # Sample\n+more\n"
    )
    index = codec.decode_foreign((folder.parent / "index.json").read_bytes(), PlanIndex, "index.json")
    assert (index.count, index.recent) == (1, tuple(ws.plan.list()))


@pytest.mark.req("PT-10")
def test_git_sees_only_what_belongs_to_the_user(repo: Path, tmp_path: Path):
    shutil.move(repo, tmp_path / "ws")
    with open_scratch(tmp_path) as ws:
        proposed(ws, write("README.md", "x\n"))
    (tmp_path / "ws" / ".agent" / "config.yaml").write_text("{}\n")
    done = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], cwd=tmp_path / "ws", capture_output=True, check=True
    )
    assert done.stdout == b"?? .agent/config.yaml\n"


@pytest.mark.req("PT-10")
def test_old_diffs_are_removed(ws, root: Path):
    plan_id = proposed(ws, write("README.md", "x\n"), write("app/hello.py", "y\n"))
    ws.plan.set_action_specs(plan_id, [create("z" * 240 + "é" * 7, "z\n")])
    preview = root / ".agent" / "logs" / "plans" / plan_id / "preview"
    assert shown(preview) == {f"s1-{'z' * 50}.diff"}
    assert ws.upkeep._projection.problem is None


@pytest.mark.req("PT-10")
def test_the_index_has_the_newest_and_pages_the_rest(ws, root: Path):
    ids = [ws.plan.propose(f"Plan {number}") for number in range(1, MANY + 1)]
    plans = root / ".agent" / "logs" / "plans"

    def listed() -> list[str]:
        index = codec.decode_foreign((plans / "index.json").read_bytes(), PlanIndex, "index.json")
        assert (index.count, index.page_size, len(index.recent)) == (MANY, 100, 100)
        found = [ref.id for ref in index.recent]
        for page in (2, 1):
            path = plans / "history" / f"{page:06}.json"
            document = codec.decode_foreign(path.read_bytes(), PlanPage, path.name)
            assert document.page == page
            found += [ref.id for ref in reversed(document.plans)]
        return found

    assert listed() == ids[::-1]
    assert shown(plans / "history") == {"000001.json", "000002.json"}
    ws.plan.mark_pending(ids[6], True)
    page = codec.decode_foreign((plans / "history" / "000001.json").read_bytes(), PlanPage, "page")
    assert page.plans[6].status is PlanStatus.PENDING_REVIEW
    assert differences(ws) == []
    (plans / "history" / "000002.json").unlink()
    (plans / "history" / "000001.json").write_text("{}")
    assert differences(ws) == [
        ".agent/logs/plans/history/000001.json",
        ".agent/logs/plans/history/000002.json",
    ]
    ws.upkeep._projection.rebuild(ledger_of(ws))
    assert listed() == ids[::-1]
    assert differences(ws) == []


def plans_with_files(ws: Workspace) -> set[str]:
    folder = ws.places.root / ".agent" / "logs" / "plans"
    return {path.name for path in folder.iterdir() if path.name[0] != "."} - {"index.json", "history"}


def inodes(ws: Workspace) -> int:
    return sum(1 for _ in (ws.places.root / ".agent" / "logs" / "plans").rglob("*"))


def carried_out(ws: Workspace, number: int) -> str:
    plan_id = approved(ws, write(f"f{number % 3}.txt", f"{number}\n"))
    ws.plan.execute(plan_id)
    return plan_id


@pytest.mark.req("PT-10")
def test_only_the_newest_have_files(tmp_path: Path):
    with open_scratch(tmp_path, RINGI_KEEP_PROJECTIONS="5") as ws:
        ids = [carried_out(ws, number) for number in range(8)]
        before = inodes(ws)
        ids += [carried_out(ws, number) for number in range(8, 30)]
        assert inodes(ws) == before
        assert plans_with_files(ws) == set(ids[-5:])
        assert_whole(ws)
        assert all(verify_plan(ws, plan_id).proven for plan_id in ids)
        waiting = [ws.plan.propose(f"Plan {number}") for number in range(6)]
        ws.plan.mark_pending(waiting[0], True)
        assert plans_with_files(ws) == set(waiting[-5:])
        assert ws.plan.get_state(waiting[0]).status is PlanStatus.PENDING_REVIEW
        assert_whole(ws)
        shutil.rmtree(ws.places.root / ".agent" / "logs")
        ws.upkeep.write_anew()
        assert plans_with_files(ws) == set(waiting[-5:])


@pytest.mark.req("PT-10")
def test_what_an_earlier_version_left_goes(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        ids = [carried_out(ws, number) for number in range(6)]
        folder = ws.places.root / ".agent" / "logs" / "plans"
        (folder / ids[0] / "note.txt").write_text("mine")
        (folder / "foreign").mkdir()
    with open_scratch(tmp_path, RINGI_KEEP_PROJECTIONS="3") as ws:
        assert differences(ws) == []
        (folder / ids[1] / "approval.json").write_text("{}")
        (folder / ids[2] / "preview" / "s1-f2.txt.diff").write_text("forged")
        assert differences(ws) == [
            f".agent/logs/plans/{ids[1]}/approval.json",
            f".agent/logs/plans/{ids[2]}/preview/s1-f2.txt.diff",
        ]
        assert verify_plan(ws, ids[1]).forged == (f".agent/logs/plans/{ids[1]}/approval.json",)
        ids.append(ws.plan.propose("One more"))
        assert plans_with_files(ws) == {*ids[-3:], ids[0], "foreign"}
        assert shown(folder / ids[0]) == {"note.txt"}, "what is not ours stays"
        assert_whole(ws)
    with open_scratch(tmp_path, RINGI_KEEP_PROJECTIONS="0") as ws:
        ws.upkeep.write_anew()
        assert plans_with_files(ws) == {ids[0], "foreign"}
        assert_whole(ws)
    with open_scratch(tmp_path) as ws:
        assert len(differences(ws)) > len(ids), "more are wanted again"
        ws.upkeep.write_anew()
        assert plans_with_files(ws) == {*ids, "foreign"}
        assert_whole(ws)


@pytest.mark.req("PT-10")
def test_a_dead_process_pushed_somebody_out(tmp_path: Path):
    with open_scratch(tmp_path, RINGI_KEEP_PROJECTIONS="3") as ws:
        ids = [ws.plan.propose(f"Plan {number}") for number in range(3)]
        with dying(ws) as tool:
            ids += [tool.propose(f"More {number}") for number in range(2)]
        ws.plan.mark_pending(ids[2], True)
        assert plans_with_files(ws) == set(ids[-3:])
        assert_whole(ws)


@pytest.mark.req("PT-10")
def test_deleted_and_written_anew_by_the_next_write(ws, root: Path):
    done = approved(ws, write("README.md", "x\n"))
    ws.plan.execute(done)
    other = ws.plan.propose("Another")
    shutil.rmtree(root / ".agent")
    assert len(differences(ws)) == 7
    ws.plan.set_action_specs(other, [write("app/hello.py", "y\n")])
    assert ws.upkeep._projection.problem is None
    assert differences(ws) == []
    # Also the diffs of the very call that found the folder missing.
    assert shown(root / ".agent" / "logs" / "plans" / other / "preview") == {"s1-hello.py.diff"}
    assert (root / ".agent" / ".gitignore").exists()


@pytest.mark.req("PT-10")
def test_deleted_and_rebuilt(ws, root: Path):
    ws.plan.execute(approved(ws, write("README.md", "x\n")))
    before = fingerprint(root / ".agent", agent=True)
    shutil.rmtree(root / ".agent" / "logs")
    ws.upkeep._projection.rebuild(ledger_of(ws))
    after = fingerprint(root / ".agent", agent=True)
    assert {
        name: found for name, found in before.items() if "preview" not in name and "spare" not in name
    } == {name: found for name, found in after.items() if "preview" not in name and "spare" not in name}
    assert differences(ws) == []


@pytest.mark.req("PT-10", "PT-13")
@pytest.mark.parametrize(
    "name", ["plan.json", "approval.json", "result.json", "events.jsonl", "../index.json"]
)
@pytest.mark.parametrize("way", ["edited", "cut", "gone", "empty", "folder"])
def test_edited_by_hand_is_noticed_and_not_followed(ws, root: Path, name: str, way: str):
    plan_id = approved(ws, write("README.md", "x\n"))
    ws.plan.execute(plan_id)
    document = ws.plan.get(plan_id)
    path = (root / ".agent" / "logs" / "plans" / plan_id / name).resolve()
    data = path.read_bytes()
    match way:
        case "edited":
            path.write_bytes(data.replace(b"completed", b"approved").replace(b"1", b"2"))
        case "cut":
            path.write_bytes(data[:-5])
        case "empty":
            path.write_bytes(b"")
        case "gone" | "folder":
            path.unlink()
    if way == "folder":
        path.mkdir()
    assert differences(ws) == [str(path.relative_to(root.resolve()))]
    assert ws.plan.get(plan_id) == document
    assert ws.verify_log() == []
    if way == "folder":
        path.rmdir()
    ws.upkeep._projection.rebuild(ledger_of(ws))
    assert differences(ws) == []


@pytest.mark.req("PT-10")
def test_an_approval_written_into_the_file_approves_nothing(ws, root: Path):
    plan_id = proposed(ws, write("README.md", "x\n"))
    path = root / ".agent" / "logs" / "plans" / plan_id / "plan.json"
    raw = json.loads(path.read_bytes())
    raw["state"]["status"] = "approved"
    path.write_text(json.dumps(raw))
    assert ws.plan.get_state(plan_id).status is PlanStatus.PENDING_REVIEW
    ws.plan.request_approval(plan_id)
    assert differences(ws) == []


LINKS = [
    ".agent",
    ".agent/logs",
    ".agent/logs/plans",
    ".agent/logs/plans/{plan}",
    ".agent/logs/plans/{plan}/preview",
]


@pytest.mark.req("PT-10")
@pytest.mark.parametrize("kind", ["link", "broken link", "file"])
@pytest.mark.parametrize("place", LINKS)
def test_a_link_or_a_file_in_its_place_leads_nowhere(ws, root: Path, tmp_path: Path, place: str, kind: str):
    """The call succeeds all the same, nothing is written outside, and the problem is told."""
    plan_id = proposed(ws, write("README.md", "x\n"))
    outside = tmp_path / "outside"
    path = root / place.format(plan=plan_id)
    shutil.rmtree(path)
    if kind == "file":
        path.write_text("mine\n")
    else:
        path.symlink_to(outside, target_is_directory=True)
    if kind == "link":
        outside.mkdir()
    before = fingerprint(tmp_path / "outside")
    report = ws.plan.set_action_specs(plan_id, [write("README.md", "y\n")])
    assert report.ok
    assert ws.plan.get(plan_id).plan.version == 2
    assert fingerprint(tmp_path / "outside") == before
    assert outside.exists() == (kind == "link")
    problem = ws.upkeep._projection.problem
    assert isinstance(problem, StorageFailed)
    assert "a link or a file, not a folder" in str(problem)
    with pytest.raises(StorageFailed):
        ws.upkeep._projection.rebuild(ledger_of(ws), {plan_id: {"x.diff": b""}})
    path.unlink()
    ws.plan.request_approval(plan_id)
    assert_whole(ws)


@pytest.mark.req("PT-10")
@pytest.mark.parametrize("name", ["plan.json", "events.jsonl", ".plan.json.spare"])
def test_a_linked_file_is_not_written_through(ws, root: Path, tmp_path: Path, name: str):
    plan_id = proposed(ws, write("README.md", "x\n"))
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    path = root / ".agent" / "logs" / "plans" / plan_id / name
    for link in (path.symlink_to, path.hardlink_to):
        if name == "events.jsonl" and link == path.hardlink_to:
            continue  # appending to a second name of a file is appending to that file
        path.unlink(missing_ok=True)
        link(victim)
        ws.plan.request_approval(plan_id)
        assert victim.read_text() == "precious\n"
    assert ledger_of(ws).plans.count() == 1


def test_pipes_and_sockets_in_its_place_do_not_make_it_wait(ws, root: Path):
    plan_id = proposed(ws, write("README.md", "x\n"))
    folder = root / ".agent" / "logs" / "plans" / plan_id
    for name in ("events.jsonl", ".plan.json.spare"):
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
    (folder.parent / ".index.json.spare").unlink(missing_ok=True)
    here = os.open(".", os.O_RDONLY)
    os.chdir(folder.parent)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(".index.json.spare")
    finally:
        os.fchdir(here)
        os.close(here)
    ws.plan.request_approval(plan_id)
    assert ws.plan.get(plan_id).approval == "approval.json"


@contextlib.contextmanager
def dying(ws: Workspace) -> Iterator[PlanTool]:
    """The tool of a process that is killed after each commit, before it writes anything out."""
    ledger = Store(ws.places.state, clock=ws.clock, ids=ws.ids, wait_sec=1.0, after_commit=lambda *_: None)
    with contextlib.closing(ledger):
        yield PlanTool(ws.replace(store=ledger))


@pytest.mark.req("PT-10")
def test_what_a_dead_process_did_not_write_out_comes_with_the_next_write(tmp_path: Path):
    """Killed between commit and projection: another plan's write mends it."""
    with open_scratch(tmp_path) as ws:
        first, second = ws.plan.propose("One"), ws.plan.propose("Two")
    with open_scratch(tmp_path) as ws, dying(ws) as tool:
        tool.set_action_specs(first, [write("README.md", "x\n")])
        tool.propose("Three")
    with open_scratch(tmp_path) as ws:
        ws.plan.mark_pending(second, True)
        assert_whole(ws)


@pytest.mark.req("PT-10")
def test_what_a_dead_process_did_not_write_out_is_not_a_difference(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        plan_id = proposed(ws, write("README.md", "x\n"))
    with open_scratch(tmp_path) as ws:
        with dying(ws) as tool:
            tool.set_action_specs(plan_id, [write("README.md", "y\n")])
            tool.propose("Another")
        assert differences(ws) == []
        assert_whole(ws)


@pytest.mark.req("PT-10")
def test_a_page_that_a_dead_process_did_not_write_is_written(ws):
    for number in range(199):
        ws.plan.propose(f"Plan {number}")
    with dying(ws) as tool:
        tool.propose("pushes number 100 out")
    ws.plan.propose("pushes number 101 out, onto another page")
    assert_whole(ws)


@pytest.mark.req("PT-10")
def test_while_it_cannot_be_written_nothing_is_forgotten(ws, root: Path):
    plan_id = ws.plan.propose("One")
    shutil.rmtree(root / ".agent" / "logs" / "plans" / plan_id)
    (root / ".agent" / "logs" / "plans" / plan_id).write_text("in the way")
    ws.plan.set_action_specs(plan_id, [write("README.md", "x\n")])
    other = ws.plan.propose("Two")
    (root / ".agent" / "logs" / "plans" / plan_id).unlink()
    ws.plan.mark_pending(other, True)
    assert_whole(ws)


@pytest.mark.req("PT-10")
def test_left_by_a_crash_in_the_middle(ws, root: Path):
    plan_id = proposed(ws, write("README.md", "x\n"))
    folder = root / ".agent" / "logs" / "plans" / plan_id
    (folder / ".plan.json.spare").write_bytes(b'{"half":')
    lines = (folder / "events.jsonl").read_bytes()
    (folder / "events.jsonl").write_bytes(lines[:-20])
    ws.plan.request_approval(plan_id)
    assert_whole(ws)


def test_the_identity_is_that_of_the_ledger(ws, root: Path):
    path = root / ".agent" / "workspace.json"
    ws.plan.propose("One")
    mine = path.read_bytes()
    assert ledger_of(ws).workspace_id().encode() in mine


def test_the_identity_of_a_copied_folder_becomes_its_own(ws, root: Path, tmp_path: Path):
    ws.plan.propose("One")
    other = tmp_path / "second"
    shutil.copytree(root, other / "ws")
    with open_scratch(other) as copy:
        copy.plan.propose("Two")
        written = (other / "ws" / ".agent" / "workspace.json").read_text()
        assert ledger_of(copy).workspace_id() in written
        assert ledger_of(ws).workspace_id() not in written


def test_the_order_of_time_does_not_matter(ws):
    """A clock that stands still, or goes back, changes nothing in the files' agreement."""
    clock = set_clock(ws)
    plan_id = approved(ws, write("README.md", "x\n"))
    clock.pass_by(-1000)
    ws.plan.execute(plan_id)
    assert_whole(ws)
