"""Undo of a plan whose files were written to since: what was written stays, the rest goes back."""

import contextlib
import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.app.api import Workspace
from ringi.errors import NothingToUndo, StorageFailed, UndoChanged, UndoStale
from ringi.kernel.fs import OsFileSystem
from ringi.patch.merge import find_written_lines
from ringi.plans.execution import ExecutionResult
from ringi.plans.tool import PlanTool
from ringi.plans.undo import Undoable
from ringi.plans.verify import Examination
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec
from ringi.tree.file_state import OpStatus
from ringi.tree.tree import Tree
from tests.helpers import (
    answer,
    approved,
    assert_whole,
    create,
    delete,
    fingerprint,
    ledger_of,
    open_scratch,
    write,
)

OLD = "".join(f"line {n}\n" for n in range(1, 13))
NEW = OLD.replace("line 2\n", "the plan's line 2\n")
LATER = NEW + "mine 1\nmine 2\n"


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_scratch(tmp_path / "ws") as workspace:
        (workspace.places.root / "text.txt").write_text(OLD)
        yield workspace


def carried_out(ws: Workspace, *specs: ActionSpec) -> str:
    plan_id = approved(ws, *specs)
    assert ws.plan.execute(plan_id).overall_success
    return plan_id


def move(path: str, target: str) -> ActionSpec:
    return ActionSpec(SpecKind.MOVE, path, target=target)


def undone(ws: Workspace, plan_id: str) -> tuple[ExecutionResult, Undoable]:
    request, found = ws.plan.ask_undo(plan_id)
    result = ws.plan.undo(plan_id, "hanako", answer(request))
    assert_whole(ws)
    return result, found


def text(ws: Workspace, path: str = "text.txt") -> str:
    return (ws.places.root / path).read_text()


@pytest.mark.req("PT-12")
def test_later_lines_stay_and_the_rest_goes_back(ws: Workspace):
    root = ws.places.root
    before = fingerprint(root)
    plan_id = carried_out(
        ws,
        write("text.txt", NEW, group="g"),
        write("README.md", "x\n", group="g"),
        create("new.txt", "n\n", group="g"),
        delete("app/hello.py", group="g"),
    )
    (root / "text.txt").write_text(LATER)
    result, found = undone(ws, plan_id)
    assert result.overall_success
    assert [(change.path, change.later_lines) for change in found.merged] == [("text.txt", 2)]
    assert [one.later_lines for one in result.results if one.path == "text.txt"] == [2]
    assert text(ws) == OLD + "mine 1\nmine 2\n"
    (root / "text.txt").write_text(OLD)
    assert fingerprint(root) == before
    assert ledger_of(ws).plans.ref(plan_id).undone


@pytest.mark.req("PT-12")
def test_what_stays_is_not_the_plans_any_more(ws: Workspace):
    """Undoing again does not take the person's lines."""
    plan_id = carried_out(ws, write("text.txt", NEW))
    (ws.places.root / "text.txt").write_text(LATER)
    undone(ws, plan_id)
    with pytest.raises(NothingToUndo, match="undone already"):
        ws.plan.ask_undo(plan_id)
    verdict = Examination(ws).plan(plan_id)
    assert not verdict.problems
    assert [file.status for file in verdict.document.files] == ["undone"]


@pytest.mark.req("PT-12")
def test_a_conflict_is_left_alone_and_named(ws: Workspace):
    root = ws.places.root
    plan_id = carried_out(ws, write("text.txt", NEW, group="g"), write("README.md", "x\n", group="g"))
    mine = NEW.replace("the plan's", "my")
    (root / "text.txt").write_text(mine)
    result, found = undone(ws, plan_id)
    assert not result.overall_success
    assert [(left.path, str(left.why)) for left in found.left] == [
        ("text.txt", "the same lines were changed since")
    ]
    assert text(ws) == mine
    assert text(ws, "README.md") == "# Sample\n"
    assert not ledger_of(ws).plans.ref(plan_id).undone
    diff = ws.plan.later_changes(plan_id)["text.txt"]
    assert "-the plan's line 2\n+my line 2\n" in diff
    with pytest.raises(UndoStale, match=r"text\.txt"):
        ws.plan.ask_undo(plan_id)
    (root / "text.txt").write_text(OLD)  # taken out by hand
    with pytest.raises(NothingToUndo, match="nothing of plan p1 is left"):
        ws.plan.ask_undo(plan_id)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("README.md")


def _crlf(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


LEFT: dict[str, tuple[Callable[[Path], object], str]] = {
    "deleted": (Path.unlink, "it was deleted since"),
    "binary": (lambda path: path.write_bytes(b"\0\1"), "it is not text and was changed since"),
    "folder": (_folder, "it is a folder"),
    "link": (_link, "it is a symbolic link"),
    "line ends": (_crlf, "the same lines were changed since"),
    "fifo": (lambda path: (path.unlink(), os.mkfifo(path)), "it is a named pipe"),
}


@pytest.mark.req("PT-12")
@pytest.mark.parametrize("what", LEFT)
def test_what_cannot_be_merged_stays(ws: Workspace, what: str):
    deed, why = LEFT[what]
    plan_id = carried_out(ws, write("text.txt", NEW), write("README.md", "x\n"))
    deed(ws.places.root / "text.txt")
    there = fingerprint(ws.places.root).get("text.txt")
    result, found = undone(ws, plan_id)
    assert not result.overall_success
    assert [(left.path, str(left.why)) for left in found.left] == [("text.txt", why)]
    assert fingerprint(ws.places.root).get("text.txt") == there
    assert text(ws, "README.md") == "# Sample\n"


@pytest.mark.req("PT-12")
def test_a_file_in_crlf_is_merged(ws: Workspace):
    root = ws.places.root
    (root / "text.txt").write_bytes(OLD.replace("\n", "\r\n").encode())
    plan_id = carried_out(ws, write("text.txt", NEW.replace("\n", "\r\n")))
    (root / "text.txt").write_bytes(LATER.replace("\n", "\r\n").encode())
    undone(ws, plan_id)
    assert (root / "text.txt").read_bytes() == (OLD + "mine 1\nmine 2\n").replace("\n", "\r\n").encode()


@pytest.mark.req("PT-12")
def test_a_changed_mode_stays(ws: Workspace):
    path = ws.places.root / "text.txt"
    plan_id = carried_out(ws, write("text.txt", NEW))
    path.chmod(0o751)
    _, found = undone(ws, plan_id)
    assert [change.later_lines for change in found.merged] == [0]
    assert (path.read_text(), path.stat().st_mode & 0o777) == (OLD, 0o751)


@pytest.mark.req("PT-12")
def test_a_mode_that_both_changed_is_left_alone(ws: Workspace):
    path = ws.places.root / "text.txt"
    path.chmod(0o644)
    plan_id = carried_out(ws, write("text.txt", NEW, mode="0755"))
    path.chmod(0o700)
    with pytest.raises(UndoStale):
        ws.plan.ask_undo(plan_id)
    assert (path.read_text(), path.stat().st_mode & 0o777) == (NEW, 0o700)


@pytest.mark.req("PT-12")
def test_a_path_that_was_made_anew_is_left_alone(ws: Workspace):
    plan_id = carried_out(ws, delete("text.txt"), write("README.md", "x\n"))
    (ws.places.root / "text.txt").write_text("something else\n")
    _, found = undone(ws, plan_id)
    assert found.refused == ("text.txt",)
    assert text(ws) == "something else\n"


@pytest.mark.req("PT-12")
@pytest.mark.parametrize("as_one", [True, False])
def test_lines_written_under_the_new_name_go_along_to_the_old_one(ws: Workspace, as_one: bool):
    """An agent's move is a deletion and a new file of the same bytes."""
    specs = [move("text.txt", "moved.txt")]
    if not as_one:
        specs = [delete("text.txt", group="g"), create("moved.txt", OLD, group="g")]
    plan_id = carried_out(ws, *specs)
    (ws.places.root / "moved.txt").write_text(OLD + "mine\n")
    result, _ = undone(ws, plan_id)
    assert result.overall_success
    assert text(ws) == OLD + "mine\n"
    assert not (ws.places.root / "moved.txt").exists()


@pytest.mark.req("PT-12")
def test_both_names_of_a_move_stay_if_one_cannot_go_back(ws: Workspace):
    plan_id = carried_out(ws, move("text.txt", "moved.txt"), write("README.md", "x\n"))
    (ws.places.root / "moved.txt").write_text(OLD + "mine\n")
    (ws.places.root / "text.txt").write_text("made anew\n")
    result, _ = undone(ws, plan_id)
    assert not result.overall_success
    assert (text(ws), text(ws, "moved.txt")) == ("made anew\n", OLD + "mine\n")


@pytest.mark.req("PT-12")
def test_a_file_that_was_taken_back_by_hand_is_no_conflict(ws: Workspace):
    plan_id = carried_out(ws, write("text.txt", NEW), write("README.md", "x\n"))
    (ws.places.root / "text.txt").write_text(OLD)
    result, found = undone(ws, plan_id)
    assert result.overall_success
    assert [change.path for change in found.changes] == ["README.md"]


@pytest.mark.req("PT-12")
@pytest.mark.parametrize("then", [LATER + "mine 3\n", NEW, NEW.replace("the plan's", "my")])
def test_what_is_written_after_the_question_is_not_undone_unseen(ws: Workspace, then: str):
    plan_id = carried_out(ws, write("text.txt", NEW), write("README.md", "x\n"))
    (ws.places.root / "text.txt").write_text(LATER)
    request, _ = ws.plan.ask_undo(plan_id)
    (ws.places.root / "text.txt").write_text(then)
    with pytest.raises(UndoChanged):
        ws.plan.undo(plan_id, "hanako", answer(request))
    assert (text(ws), text(ws, "README.md")) == (then, "x\n")


@pytest.mark.req("PT-12")
def test_somebody_writes_while_it_is_swapped(ws: Workspace):
    """Their bytes are put back, and nothing of the unit is undone."""
    plan_id = carried_out(ws, write("text.txt", NEW))
    path = ws.places.root / "text.txt"
    path.write_text(LATER)
    request, _ = ws.plan.ask_undo(plan_id)

    class Racing(OsFileSystem):
        def exchange(self, *arguments):
            path.write_text("at the last moment\n")
            return super().exchange(*arguments)

    tree = Tree(Racing(), ws.places.root)
    result = PlanTool(ws.replace(tree=tree)).undo(plan_id, "hanako", answer(request))
    assert [one.status for one in result.results] == [OpStatus.CONFLICT]
    assert text(ws) == "at the last moment\n"


@pytest.mark.req("PT-12")
@pytest.mark.parametrize("call", ["create", "exchange", "sync_file", "sync_folder"])
def test_a_full_disk_leaves_what_was_written(ws: Workspace, call: str):
    plan_id = carried_out(ws, write("text.txt", NEW))
    (ws.places.root / "text.txt").write_text(LATER)
    request, _ = ws.plan.ask_undo(plan_id)

    class Full(OsFileSystem):
        def __getattribute__(self, name: str) -> object:
            if name == call:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().__getattribute__(name)

    tool = PlanTool(ws.replace(tree=Tree(Full(), ws.places.root)))
    with contextlib.suppress(StorageFailed):
        assert not tool.undo(plan_id, "hanako", answer(request)).overall_success
    ws.plan.recover()
    assert text(ws) in {LATER, OLD + "mine 1\nmine 2\n"}
    if not ledger_of(ws).plans.ref(plan_id).undone:
        undone(ws, plan_id)
    assert text(ws) == OLD + "mine 1\nmine 2\n"


# Any edits: git merge-file says what comes out.

LINES = st.lists(st.sampled_from("abcdefgh"), max_size=12).map(lambda some: "".join(f"{c}\n" for c in some))


class _Edited(NamedTuple):
    before: str
    after: str
    now: str


@st.composite
def _edited(draw) -> _Edited:
    before = draw(LINES)
    return _Edited(before, *(_edit(draw, before) for _ in range(2)))


def _edit(draw, content: str) -> str:
    lines = content.splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines)))
        lines[at : at + draw(st.integers(0, 2))] = draw(LINES).splitlines(keepends=True)[:3]
    return "".join(lines)


def _merged_by_git(base: str, ours: str, theirs: str) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for path, content in zip(paths, (ours, base, theirs), strict=True):
            path.write_text(content)
        done = subprocess.run(["git", "merge-file", "-p", *map(str, paths)], capture_output=True, check=False)
    return done.stdout.decode() if done.returncode == 0 else None


@pytest.mark.req("PT-12")
@given(_edited(), st.data())
def test_no_line_written_since_is_ever_lost(tmp_path_factory, edited: _Edited, data):
    """And a file that nobody wrote to since is restored byte for byte, with its mode."""
    after = edited.after if edited.after != edited.before else edited.after + "z\n"
    now = _edit(data.draw, after)
    folder = tmp_path_factory.mktemp("any")
    with open_scratch(folder / "ws") as ws:
        root = ws.places.root
        (root / "edited.txt").write_text(edited.before)
        (root / "other.txt").write_text(edited.before)
        (root / "other.txt").chmod(data.draw(st.sampled_from([0o644, 0o755, 0o600])))
        before = fingerprint(root)["other.txt"]
        plan_id = carried_out(
            ws, write("edited.txt", after, group="g"), write("other.txt", "x\n", mode="0640", group="g")
        )
        (root / "edited.txt").write_text(now)
        result, found = undone(ws, plan_id)
        assert fingerprint(root)["other.txt"] == before
        expected = _merged_by_git(after, now, edited.before)
        left = text(ws, "edited.txt")
        assert left == (now if expected is None else expected)
        assert result.overall_success is (expected is not None)
        assert found.refused == (() if expected is not None else ("edited.txt",))
        lines, kept = now.splitlines(), left.splitlines()
        for span in find_written_lines(after.encode(), now.encode()):
            for number in span:
                assert lines[number] in kept
    shutil.rmtree(folder)
