"""Somebody saves during an execution, the disk fails, the stage is deleted: nothing lost, nothing mixed."""

import errno
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.errors import RingiError
from ringi.kernel.codec import digest
from ringi.kernel.fs import OsFileSystem, open_for_block
from ringi.plans.document import PlanStatus
from ringi.plans.execution import ExecutionResult
from ringi.tree.file_state import FileChange, FileState
from ringi.tree.stage import Stage
from tests.crash import scenarios
from tests.crash.foreign import DEEDS, THEIRS, Deed, Desk, conflicts, deletes, lost, writes_in_place
from tests.crash.killing import EVERY, moments
from tests.crash.scenarios import Scenario
from tests.fakes.hooked import Hook, UnsyncedFileSystem

FAULTS = (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO)
TRIES = 5000
SECONDS = 3.0
PATHS = ("changed.txt", "old/gone.txt", "new/made.txt")
UNCHANGED = frozenset([PlanStatus.APPROVED, PlanStatus.PENDING_REVIEW])


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, scenarios.SMALL)


def check_settled(
    desk: Desk, result: ExecutionResult | RingiError | None, foreign: set[str], where: str
) -> None:
    """Done or undone as the ledger says, but for what somebody else wrote; nothing lies about."""
    result = desk.settled(result)
    status = desk.status()
    if isinstance(result, ExecutionResult):
        assert (status is PlanStatus.COMPLETED) is result.overall_success, where
        assert result.overall_success or status is PlanStatus.ABORTED, where
        # A file that could not be read is kept first, and goes when it turns out to be ours.
        assert desk.stages() <= set(result.kept), where
        assert len(set(result.kept)) == len(result.kept), where
    else:
        assert status in UNCHANGED, where
        assert desk.stages() == set(), where
    assert desk.mixed(done=status is PlanStatus.COMPLETED, without=foreign) == {}, where


@pytest.mark.req("PT-7", "PT-12")
@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
@pytest.mark.parametrize("path", PATHS)
def test_somebody_saves_at_every_call(desk, path, deed):
    seen = set()
    for moment in moments(len(desk.calls()), PATHS.index(path), DEEDS.index(deed)):
        result = desk.execute(lambda number, _, at=moment: deed(desk.root / path) if number == at else None)
        where = f"{deed.__name__} at call {moment}: {result}"
        check_settled(desk, result, {path}, where)
        assert not lost(desk, path, deed, result), where
        if isinstance(result, ExecutionResult):
            if not result.overall_success:
                assert path in conflicts(result), where
            seen.add(result.overall_success)
    # What is to be made cannot be deleted before.
    assert False in seen or (path, deed) == ("new/made.txt", deletes)


@pytest.mark.req("PT-7", "PT-12")
@given(
    deeds=st.lists(st.tuples(st.integers(1, 90), st.sampled_from(PATHS), st.sampled_from(DEEDS)), min_size=2)
)
def test_whatever_others_do_ours_is_whole(tmp_path_factory, deeds):
    desk = Desk(tmp_path_factory.mktemp("any"), scenarios.SMALL)
    last: dict[str, Deed] = {}

    def meddle(number: int, _: str) -> None:
        for moment, path, deed in deeds:
            if moment == number:
                deed_anew(desk.root / path, deed)
                last[path] = deed

    result = desk.execute(meddle)
    check_settled(desk, result, set(last), str(result))
    for path, deed in last.items():
        assert not lost(desk, path, deed, result), f"{path} {deed.__name__}: {result}"


def deed_anew(path: Path, deed: Deed) -> None:
    """Whatever stands there was theirs and goes."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.is_symlink():
        path.unlink()
    deed(path)


@pytest.mark.req("PT-12")
@pytest.mark.parametrize("path", ["changed.txt", "old/gone.txt"])
def test_bytes_written_through_an_old_descriptor_are_kept(desk, path):
    """An editor that had the file open all the time, and saves into what came out."""
    kept = 0
    calls = desk.calls()
    for moment in range(1, len(calls) + 1):
        # From the removal on nobody can see the bytes any more; the ones before are in the ledger.
        if calls[moment - 1] in {"remove", "remove_folder"}:
            continue
        late = LateWriter(desk, path, moment)
        result = desk.execute(late)
        late.close()
        if late.too_late:
            continue
        check_settled(desk, result, {path}, f"call {moment}: {result}")
        assert not lost(desk, path, writes_in_place, result), f"call {moment}: {result}"
        kept += isinstance(result, ExecutionResult) and bool(result.kept)
    assert kept > 0


class LateWriter:
    def __init__(self, desk: Desk, path: str, moment: int) -> None:
        self._path = desk.root / path
        self._moment = moment
        self._descriptor = -1
        self.too_late = False

    def __call__(self, number: int, name: str) -> None:
        if number == 1:
            self._descriptor = os.open(self._path, os.O_WRONLY)
        if number == self._moment:
            self.too_late = os.fstat(self._descriptor).st_nlink == 0
            os.truncate(self._descriptor, 0)
            os.pwrite(self._descriptor, THEIRS, 0)

    def close(self) -> None:
        os.close(self._descriptor)


# --- and the process dies -------------------------------------------------------------------------


class Death(BaseException):
    """As kill -9: no handler and no clean-up reaches the file system any more."""


def dying(moment: int, deed: Hook) -> Hook:
    def hook(number: int, name: str) -> None:
        if number >= moment:
            raise Death
        deed(number, name)

    return hook


@pytest.mark.req("PT-7", "PT-12")
@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
@pytest.mark.parametrize(("path", "call"), list(zip(PATHS, ("exchange", "move", "link"), strict=True)))
def test_somebody_saves_and_the_process_dies(desk, path, call, deed):
    """Theirs may lie in the stage then; the result of the recovery says where."""
    done: list[int] = []

    def meddle(number: int, name: str) -> None:
        if name == call and not done:
            done.append(number)
            deed(desk.root / path)

    desk.execute(meddle)
    first = done[0]
    moment = first + DEEDS.index(deed) % EVERY
    while True:
        moment += EVERY
        done.clear()
        try:
            desk.execute(dying(moment, meddle))
        except Death:
            result = desk.settled(None)
        else:
            break
        assert result is not None
        check_settled(desk, result, {path}, f"died at call {moment}: {result}")
        assert not lost(desk, path, deed, result), f"died at call {moment}: {result}"
    assert moment > first + 5


def folder_becomes_a_link(path: Path) -> None:
    if path.parent.is_dir():
        path.parent.rename(path.parent.with_name("aside"))
    path.parent.symlink_to("nowhere")


DEEDS_AFTER = (*DEEDS, folder_becomes_a_link)


@pytest.mark.req("PT-7", "PT-12")
@pytest.mark.parametrize("deed", DEEDS_AFTER, ids=lambda deed: deed.__name__)
def test_somebody_saves_between_death_and_recovery(desk, deed):
    path = "old/gone.txt"
    for moment in moments(len(desk.calls()), DEEDS_AFTER.index(deed)):
        with pytest.raises(Death):
            desk.execute(dying(moment, lambda *_: None))
        deed(desk.root / path)
        where = f"died at call {moment}"
        result = desk.settled(None)
        if deed is not folder_becomes_a_link:
            assert not lost(desk, path, deed, result), where
        status = desk.status()
        assert status in {PlanStatus.APPROVED, PlanStatus.ABORTED, PlanStatus.COMPLETED}, where
        assert desk.mixed(done=status is PlanStatus.COMPLETED, without={path}) == {}, where


# --- the disk -------------------------------------------------------------------------------------


@pytest.mark.req("PT-12")
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("fault", FAULTS, ids=errno.errorcode.get)
def test_a_fault_at_every_call(desk, fault, lasting):
    seen = set()
    for moment in moments(len(desk.calls()), FAULTS.index(fault), lasting):

        def fail(number: int, name: str, moment: int = moment) -> None:
            if number == moment or (lasting and number > moment):
                raise OSError(fault, os.strerror(fault), name)

        result = desk.execute(fail)
        check_settled(desk, result, set(), f"call {moment}: {result}")
        seen.add(type(result))
    assert ExecutionResult in seen
    assert len(seen) > 1


@pytest.mark.req("PT-12")
@pytest.mark.parametrize("folder", [".agent/tmp", ".agent"])
def test_the_stage_is_deleted_at_every_call(desk, folder):
    """As by git clean -fdx."""
    seen = set()
    for moment in range(1, len(desk.calls()) + 1):

        def clean(number: int, _: str, moment: int = moment) -> None:
            if number == moment:
                shutil.rmtree(desk.root / folder, ignore_errors=True)

        result = desk.execute(clean)
        check_settled(desk, result, set(), f"call {moment}: {result}")
        if isinstance(result, ExecutionResult):
            assert conflicts(result) == [], f"call {moment}: {result}"
            seen.add(result.overall_success)
    assert seen == {True, False}


@pytest.mark.req("PT-12")
def test_only_the_approved_bytes_are_written(desk):
    """Whoever changes the plan behind the ledger's back gets nothing written."""
    with desk.fresh() as world:
        world.ledger.database.execute(
            "UPDATE specs SET document = replace(document, ?, ?)", ['t":"after', 't":"other']
        )
        with pytest.raises(RingiError):
            world.tool.execute(desk.plan_id)
        assert world.tool.get(desk.plan_id).state.action_specs[0].base.content == "other\n"
    assert desk.mixed(done=False) == {}
    assert desk.stages() == set()


# --- links ----------------------------------------------------------------------------------------

NESTED = Scenario(
    "in a folder",
    {"folder/sub/old.txt": (b"before\n", 0o644), "folder/sub/gone.txt": (b"gone\n", 0o644)},
    [
        scenarios.write("folder/sub/old.txt", "after\n"),
        scenarios.create("folder/sub/new/made.txt", "made\n"),
        scenarios.delete("folder/sub/gone.txt"),
    ],
)


def outside_of(folder: Path) -> Path:
    """What a link leads to: the same files, so that whoever followed it would find all as expected."""
    outside = folder / "outside"
    inside = {path.removeprefix("folder/"): state for path, state in NESTED.before.items()}
    scenarios.laid_out(outside, inside)
    return outside


@pytest.mark.req("PT-7")
@pytest.mark.parametrize("part", ["folder", "folder/sub"])
def test_a_link_for_a_folder_never_leads_outside(tmp_path, part):
    desk = Desk(tmp_path, NESTED)
    outside = outside_of(tmp_path)
    target = outside / part.removeprefix("folder").lstrip("/")
    before = scenarios.taken(outside)
    refused = 0
    for moment in moments(len(desk.calls()), part.count("/")):

        def swap(number: int, _: str, moment: int = moment) -> None:
            place = desk.root / part
            if number == moment:
                place.rename(desk.root / "aside")
                place.symlink_to(target)

        result = desk.execute(swap)
        assert scenarios.taken(outside) == before, moment
        place = desk.root / part
        if place.is_symlink():
            result = desk.settled(result)
            place.unlink()
            (desk.root / "aside").rename(place)
        refused += not (isinstance(result, ExecutionResult) and result.overall_success)
        done = desk.status() is PlanStatus.COMPLETED
        # The folder was gone for recovery, which leaves its files alone and says so.
        named = set(conflicts(result)) if isinstance(result, ExecutionResult) else set()
        assert desk.mixed(done=done, without=named) == {}, (moment, result)
    assert refused > 0


@pytest.mark.req("PT-7")
def test_a_racing_link_never_leads_outside(tmp_path):
    root, outside = tmp_path / "workspace", outside_of(tmp_path)
    scenarios.laid_out(root, NESTED.before)
    (root / "link").symlink_to(outside)
    before = scenarios.taken(outside)
    stop = threading.Event()

    def race() -> None:
        fs = OsFileSystem()
        with open_for_block(fs, fs.open_root(root)) as at:
            while not stop.is_set():
                fs.exchange(at, "folder", at, "link")

    racer = threading.Thread(target=race)
    racer.start()
    try:
        made = sum(makes_a_file(root, number) for number in tries())
    finally:
        stop.set()
        racer.join()
    assert scenarios.taken(outside) == before
    assert made == len([*root.rglob("*.new")])


def tries() -> Iterator[int]:
    """Two threads of Python get in each other's way, so a slow machine tries less often."""
    end = time.monotonic() + SECONDS
    for number in range(TRIES):
        if time.monotonic() > end:
            return
        yield number


def makes_a_file(root: Path, number: int) -> bool:
    after = FileState(digest(b"new\n"), "0644")
    change = FileChange("s1", f"folder/sub/{number}.new", None, after)
    stage = Stage(UnsyncedFileSystem(), root, "racing")
    stage.prepare([change], {after.sha256: b"new\n"}.__getitem__)
    conflicts = stage.swap_in([change])
    stage.drop(lambda data: True)
    return not conflicts
