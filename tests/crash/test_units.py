"""Several units in one plan: each is whole, whatever happens, and the rest can be carried out later."""

import errno
import os

import pytest

from ringi.errors import RingiError
from ringi.plans.document import PlanStatus
from ringi.plans.execution import ExecutionResult
from ringi.tree.file_state import OpStatus
from tests.crash.foreign import THEIRS, Desk, saves_by_rename
from tests.crash.scenarios import MOVED, SEVERAL, Picture, taken
from tests.fakes.hooked import Hook

UNITS = (
    {"one.txt", "new/a.txt"},
    {"gone/four.txt"},
    {"folder"},
    {"folder/in.txt", "two.txt", "lib/two.txt"},
    {"lib/three.txt"},
)


@pytest.fixture(scope="module")
def several(tmp_path_factory) -> Desk:
    return Desk(tmp_path_factory.mktemp("several"), SEVERAL)


@pytest.fixture(scope="module")
def moved(tmp_path_factory) -> Desk:
    return Desk(tmp_path_factory.mktemp("moved"), MOVED)


def failing(number: int, code: int) -> Hook:
    def hook(call: int, _: str) -> None:
        if call == number:
            raise OSError(code, os.strerror(code))

    return hook


def done_units(desk: Desk, *, without: str = "") -> list[bool]:
    """Whether each unit is done; asserts that none is half done."""
    found = []
    for unit in UNITS:
        states = set()
        for path in unit - {without}:
            if path == "folder":
                states.add((desk.root / path).is_dir())
                continue
            now = desk.state_of(path)
            before, after = SEVERAL.first.files.get(path), SEVERAL.last.files.get(path)
            assert now in (before, after), path
            states.add(now == after)
        assert len(states) <= 1, f"{unit} is half done"
        found.append(states == {True})
    return found


def outcomes(result: ExecutionResult) -> dict[str, OpStatus]:
    return {outcome.path: outcome.status for outcome in result.results}


@pytest.mark.req("PT-12")
@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EIO, errno.EROFS], ids=errno.errorcode.get)
def test_a_fault_at_every_call(several: Desk, fault: int):
    for number in range(len(several.calls()) + 1):
        result = several.settled(several.execute(failing(number, fault)))
        units = done_units(several)
        if isinstance(result, ExecutionResult):
            said = [all(outcomes(result)[path] is OpStatus.DONE for path in unit) for unit in UNITS]
            assert said == units, f"call {number}"
        else:
            assert not any(units)
        assert several.stages() == set()
        finish(several)


def finish(desk: Desk) -> None:
    """What remains is carried out; all of it is done then."""
    with desk.world() as world:
        if world.tool.get_state(desk.plan_id).status is not PlanStatus.COMPLETED:
            assert world.tool.execute(desk.plan_id).overall_success
        assert world.tool.get_state(desk.plan_id).status is PlanStatus.COMPLETED
    assert is_like(taken(desk.root), desk.scenario.last)


def is_like(found: Picture, wanted: Picture) -> bool:
    """An empty folder that could not be removed may stay."""
    return found.files == wanted.files and found.folders >= wanted.folders


@pytest.mark.req("PT-12")
@pytest.mark.parametrize("path", ["one.txt", "lib/three.txt", "two.txt"])
def test_somebody_writes_at_every_call(several: Desk, path: str):
    """Their unit stays before, those before it are done, those after it wait."""
    place = next(n for n, unit in enumerate(UNITS) if path in unit)
    for number in range(0, len(several.calls()), 3):
        written: list[int] = []

        def hook(call: int, _: str, number: int = number, written: list[int] = written) -> None:
            if call == number:
                written.append(call)
                saves_by_rename(several.root / path)

        result = several.settled(several.execute(hook))
        if isinstance(result, RingiError):
            assert not any(done_units(several, without=path))
            continue
        kept = [several.root / name for name in result.kept]
        held = [spot.read_bytes() for spot in [several.root / path, *kept] if spot.is_file()]
        assert not written or THEIRS in held or several.state_of(path) == SEVERAL.last.files.get(path)
        units = done_units(several, without=path)
        if outcomes(result)[path] is OpStatus.CONFLICT:
            assert units[:place] == [True] * place
            assert not any(units[place + 1 :])


@pytest.mark.req("PT-12")
def test_moves_and_folders_at_every_call(moved: Desk):
    for number in range(len(moved.calls()) + 1):
        moved.settled(moved.execute(failing(number, errno.EIO)))
        found = taken(moved.root)
        assert is_like(found, MOVED.first) or is_like(found, MOVED.last), f"call {number}"
        finish(moved)
