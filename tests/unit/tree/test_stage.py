"""A folder that is renamed away while we write into it: what was written there is taken back, and said."""

from pathlib import Path

import pytest

from ringi.kernel.codec import digest
from ringi.plans.execution import ExecutionResult
from ringi.tree.file_state import FileChange, FileState, OpStatus
from ringi.tree.stage import Stage
from tests.crash import scenarios
from tests.crash.foreign import Desk, conflicts
from tests.crash.scenarios import Scenario
from tests.fakes.hooked import HookedFileSystem
from tests.helpers import open_descriptors

BEFORE, AFTER = b"before\n", b"after\n"
PATHS = {
    "overwrite": "folder/sub/old.txt",
    "delete": "folder/sub/gone.txt",
    "create": "folder/sub/new/made.txt",
}
CALLS = {"overwrite": "exchange", "delete": "move", "create": "link"}
SCENARIO = Scenario(
    "in a folder",
    {
        "top.txt": (b"before\n", 0o644),
        "folder/sub/old.txt": (BEFORE, 0o644),
        "folder/sub/gone.txt": (BEFORE, 0o644),
    },
    [scenarios.write("top.txt", "after\n"), scenarios.write("folder/sub/old.txt", AFTER.decode())],
)


def change(kind: str) -> FileChange:
    before, after = FileState(digest(BEFORE), "0644"), FileState(digest(AFTER), "0644")
    return FileChange(
        "s1", PATHS[kind], None if kind == "create" else before, None if kind == "delete" else after
    )


def state(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"/"
        for path in folder.rglob("*")
        if ".agent" not in path.parts
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    scenarios.laid_out(tmp_path / "root", SCENARIO.before)
    (tmp_path / "outside").mkdir()
    return tmp_path / "root"


def moving(part: Path, target: Path, call: str):
    """Renames the folder right before the call."""

    def hook(_: int, name: str) -> None:
        if name == call and not target.exists():
            part.rename(target)

    return hook


@pytest.mark.req("PT-7")
@pytest.mark.parametrize("where", ["outside/away", "root/away"])
@pytest.mark.parametrize("part", ["folder", "folder/sub"])
@pytest.mark.parametrize("kind", PATHS)
@pytest.mark.parametrize("stand_in", [None, "folder", "link"])
def test_taken_back_and_reported(
    root: Path, tmp_path: Path, kind: str, part: str, where: str, stand_in: str | None
):
    target = tmp_path / where
    expected = state(root / part)
    descriptors = open_descriptors()
    moves = moving(root / part, target, CALLS[kind])

    def hook(number: int, name: str) -> None:
        first = not target.exists()
        moves(number, name)
        if first and target.exists() and stand_in == "folder":
            (root / PATHS[kind]).parent.mkdir(parents=True)
        if first and target.exists() and stand_in == "link":
            (root / part).symlink_to(target)

    stage = Stage(HookedFileSystem(hook), root, "try")
    stage.prepare([change(kind)], {digest(AFTER): AFTER}.__getitem__)
    found = stage.swap_in([change(kind)])
    assert [(conflict.change.path, str(conflict.detail)) for conflict in found] == [
        (PATHS[kind], "its folder was moved meanwhile")
    ]
    assert state(target) == expected, "as it was, without a file or folder of ours"
    stage.drop(lambda data: data == AFTER)
    assert stage.kept == []
    assert open_descriptors() == descriptors


@pytest.mark.req("PT-7")
def test_somebody_wrote_into_the_moved_folder(root: Path, tmp_path: Path):
    """Theirs stays where they wrote it; the bytes from before are kept in the stage."""
    target = tmp_path / "outside" / "away"

    def hook(_: int, name: str) -> None:
        if name == "exchange" and not target.exists():
            (root / "folder").rename(target)
        elif name == "open_folder" and target.exists() and not written:
            (target / "sub" / "old.txt").write_bytes(b"theirs\n")
            written.append(1)

    written: list[int] = []
    stage = Stage(HookedFileSystem(hook), root, "try")
    stage.prepare([change("overwrite")], {digest(AFTER): AFTER}.__getitem__)
    assert len(stage.swap_in([change("overwrite")])) == 1
    assert (target / "sub" / "old.txt").read_bytes() == b"theirs\n"


@pytest.mark.req("PT-7", "PT-12")
@pytest.mark.parametrize("where", ["outside", "workspace/away"])
def test_an_execution_reports_a_conflict_and_takes_the_rest_back(tmp_path: Path, where: str):
    desk = Desk(tmp_path, SCENARIO)
    seen = []

    def hook(_: int, name: str) -> None:
        if name == "exchange":
            seen.append(name)
            if len(seen) == 2:
                (desk.root / "folder").rename(desk.root.parent / where)

    result = desk.execute(hook)
    assert isinstance(result, ExecutionResult)
    assert not result.overall_success
    assert conflicts(result) == ["folder/sub/old.txt"]
    assert {outcome.path: outcome.status for outcome in result.results}["top.txt"] is OpStatus.UNDONE
    assert state(desk.root.parent / where) == {"sub": b"/", "sub/old.txt": BEFORE, "sub/gone.txt": BEFORE}
    assert (desk.root / "top.txt").read_bytes() == BEFORE
    assert desk.stages() == set()


class Death(BaseException):
    """As kill -9."""


@pytest.mark.req("PT-7", "PT-12")
def test_recovery_reports_it_too(tmp_path: Path):
    desk = Desk(tmp_path, SCENARIO)

    def dies(_: int, name: str) -> None:
        if name == "exchange":
            raise Death

    with pytest.raises(Death):
        desk.execute(dies)
    away = desk.root.parent / "away"
    seen = []

    def moves(_: int, name: str) -> None:
        if name == "exchange":
            seen.append(name)
            if len(seen) == 2:
                (desk.root / "folder").rename(away)

    with desk.world(moves) as world:
        (result,) = world.tool.recover()
        assert world.tool.recover() == []
    assert result.recovered
    assert conflicts(result) == ["folder/sub/old.txt"]
    assert state(away) == {"sub": b"/", "sub/old.txt": BEFORE, "sub/gone.txt": BEFORE}
    assert (desk.root / "top.txt").read_bytes() == BEFORE


@pytest.mark.req("PT-7", "PT-12")
def test_recovery_takes_what_somebody_wrote_after_the_crash_for_nothing_of_ours(tmp_path: Path):
    desk = Desk(tmp_path, SCENARIO)
    seen = []

    def dies(_: int, name: str) -> None:
        if name == "exchange":
            seen.append(name)
            if len(seen) == 2:
                raise Death

    with pytest.raises(Death):
        desk.execute(dies)
    assert (desk.root / "top.txt").read_bytes() == AFTER
    (desk.root / "folder/sub/old.txt").write_bytes(b"theirs\n")
    with desk.world(lambda *_: None) as world:
        (result,) = world.tool.recover()
    assert not result.overall_success
    assert conflicts(result) == ["folder/sub/old.txt"]
    assert (desk.root / "folder/sub/old.txt").read_bytes() == b"theirs\n"
    assert (desk.root / "top.txt").read_bytes() == BEFORE
