"""A process that swaps links in and out as fast as it can, while we write: nothing ever lands outside.

A naive writer in the same race does land outside, so the race is a real one.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ringi.errors import PathRefused, Stale, StorageFailed
from ringi.kernel.codec import digest
from ringi.kernel.fs import EntryKind, OsFileSystem
from ringi.plans.execution import ExecutionResult
from ringi.tree.file_state import FileChange, FileState
from ringi.tree.stage import Stage
from ringi.tree.tree import Tree
from tests.crash import scenarios
from tests.fakes.hooked import UnsyncedFileSystem
from tests.fakes.world import World
from tests.helpers import python

CAMPAIGN = os.environ.get("RINGI_CAMPAIGN") == "full"
TRIES = 10_000 if CAMPAIGN else 1_500
EXECUTIONS = 1_000 if CAMPAIGN else 40
NAIVE_LIMIT = 10_000
NEW = b"new\n"
PATH = "folder/sub/file.txt"
FILES = {"sub/file.txt": (b"before\n", 0o644), "sub/kept.txt": (b"kept\n", 0o644)}

# The names trade places in one system call, so that there is always something at both.
RACER = """
import os, sys
from ringi.kernel.fs import OsFileSystem
fs = OsFileSystem()
at = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
print("ready", flush=True)
while True:
    fs.exchange(at, sys.argv[2], at, sys.argv[3])
    if os.getppid() == 1:
        break
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the racer counts on Linux")


def laid(folder: Path) -> tuple[Path, Path]:
    """The workspace, and a folder outside that looks just like the one inside."""
    root, outside = folder / "workspace", folder / "outside"
    (root / ".agent").mkdir(parents=True)
    scenarios.laid_out(root / "folder", FILES)
    scenarios.laid_out(outside, FILES)
    return root, outside


@contextmanager
def racing(folder: Path, one: str, other: str) -> Iterator[int]:
    """Yields the number of the process."""
    racer = python(RACER, str(folder), one, other)
    try:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
        yield racer.pid
    finally:
        racer.kill()
        racer.communicate()


def link_for_folder(root: Path, outside: Path) -> tuple[Path, str, str]:
    (root / "link").symlink_to(outside)
    return root, "folder", "link"


def link_for_inner_folder(root: Path, outside: Path) -> tuple[Path, str, str]:
    (root / "folder" / "link").symlink_to(outside / "sub")
    return root / "folder", "sub", "link"


def link_for_file(root: Path, outside: Path) -> tuple[Path, str, str]:
    (root / "folder" / "sub" / "link").symlink_to(outside / "sub" / "file.txt")
    return root / "folder" / "sub", "file.txt", "link"


SWAPS = (link_for_folder, link_for_inner_folder, link_for_file)
Race = Callable[[Path, Path], tuple[Path, str, str]]


def naive(root: Path, path: str) -> None:
    """What everybody would write first: look that it lies inside, then open it."""
    place = root / path
    # Nothing at the path, or a link that went while it was read.
    with suppress(OSError):
        if place.resolve().is_relative_to(root):
            place.write_bytes(NEW)


def naive_escapes(folder: Path, swap: Race) -> bool:
    root, outside = laid(folder)
    before = scenarios.taken(outside)
    with racing(*swap(root, outside)):
        for _ in range(NAIVE_LIMIT):
            naive(root, PATH)
            if scenarios.taken(outside) != before:
                return True
    return False


def writes(tree: Tree, path: str) -> bool:
    """The file exchanged for a new one, by the calls that execution uses."""
    fs = tree.fs
    try:
        with tree.open_root() as root, tree.folder_of(path, root) as (folder, name):
            fs.create(folder, "spare", NEW, 0o644)
            fs.exchange(folder, "spare", folder, name)
            came_out = fs.entry(folder, "spare")
            file = came_out is not None and came_out.kind is EntryKind.FILE
            if not file:
                fs.exchange(folder, "spare", folder, name)
            fs.remove(folder, "spare")
            return file
    except PathRefused:
        return False


@pytest.mark.req("PT-7")
@pytest.mark.parametrize("swap", SWAPS, ids=lambda swap: swap.__name__)
def test_a_racing_link_never_leads_outside(tmp_path: Path, swap: Race):
    assert naive_escapes(tmp_path / "naive", swap)
    root, outside = laid(tmp_path / "ours")
    before = scenarios.taken(outside)
    tree = Tree(OsFileSystem(), root)
    with racing(*swap(root, outside)):
        written = sum(writes(tree, PATH) for _ in range(TRIES))
    assert scenarios.taken(outside) == before
    assert 0 < written < TRIES, "the racer was there"


def staged(root: Path, number: int) -> bool:
    """A group of three through the stage."""
    old, new = FileState(digest(b"kept\n"), "0644"), FileState(digest(NEW), "0644")
    changes = [
        FileChange("s1", f"folder/sub/{number}.new", None, new),
        FileChange("s2", "folder/sub/kept.txt", old, new),
        FileChange("s3", f"folder/made/{number}.new", None, new),
    ]
    stage = Stage(UnsyncedFileSystem(), root, "racing")
    stage.prepare(changes, {new.sha256: NEW}.__getitem__)
    done = not stage.swap_in(changes)
    stage.take_back(changes)
    stage.drop(lambda data: True)
    return done


@pytest.mark.req("PT-7")
def test_groups_in_a_race_never_lead_outside(tmp_path: Path):
    root, outside = laid(tmp_path)
    before = scenarios.taken(outside)
    with racing(*link_for_folder(root, outside)):
        done = [staged(root, number) for number in range(TRIES // 5)]
    assert scenarios.taken(outside) == before
    assert not all(done), "the racer was there"


@pytest.mark.req("PT-7", "PT-12")
def test_executions_in_a_race_never_lead_outside(tmp_path: Path):
    root, outside = laid(tmp_path)
    before = scenarios.taken(outside)
    specs = [scenarios.write(PATH, "after\n"), scenarios.create("folder/sub/new.txt", "new\n")]
    folder, one, other = link_for_folder(root, outside)
    ended = []
    with (
        racing(folder, one, other) as racer,
        World(tmp_path / "state", root, UnsyncedFileSystem()) as world,
    ):
        for _ in range(EXECUTIONS):
            stop(racer)
            tidy(root, one, other)
            plan_id = world.approved(specs)
            os.kill(racer, signal.SIGCONT)
            ended.append(carried_out(world, plan_id))
            assert scenarios.taken(outside) == before
    assert len(ended) == EXECUTIONS
    assert not all(ended), "the racer was there"


def stop(process: int) -> None:
    os.kill(process, signal.SIGSTOP)
    # The signal is on its way; the process may still make a call.
    while Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "T":
        time.sleep(0.001)


def tidy(root: Path, folder: str, link: str) -> None:
    """The files as they were, at their own place."""
    if (root / folder).is_symlink():
        with Tree(OsFileSystem(), root).open_root() as at:
            OsFileSystem().exchange(at, folder, at, link)
    scenarios.laid_out(root / folder, FILES)
    (root / folder / "sub" / "new.txt").unlink(missing_ok=True)


def carried_out(world: World, plan_id: str) -> bool:
    """Only errors of ours may come out."""
    try:
        result = world.tool.execute(plan_id)
    except (StorageFailed, Stale):
        return False
    assert isinstance(result, ExecutionResult)
    return result.overall_success
