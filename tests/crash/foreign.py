"""Somebody else in the same workspace, and the question whether anything of theirs was lost."""

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from ringi.app.integrity import verify
from ringi.errors import RingiError, Stale, StorageFailed
from ringi.plans.document import PlanStatus
from ringi.plans.execution import ExecutionResult
from ringi.tree.file_state import OpStatus
from tests.crash.scenarios import Scenario, laid_out
from tests.fakes.hooked import Hook, HookedFileSystem
from tests.fakes.world import World

THEIRS = b"theirs, and longer than any of ours\n"
INSIDE = "inside.txt"


def saves_by_rename(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.swp")
    new.write_bytes(THEIRS)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    new.replace(path)


def writes_in_place(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(THEIRS)


def deletes(path: Path) -> None:
    path.unlink(missing_ok=True)


def makes_a_link(path: Path) -> None:
    """Links to what is not there: following it would be seen."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(f"nowhere/{THEIRS.decode().split(',')[0]}")


def makes_a_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir(parents=True)
    (path / INSIDE).write_bytes(THEIRS)


Deed = Callable[[Path], None]
DEEDS: tuple[Deed, ...] = (saves_by_rename, writes_in_place, deletes, makes_a_link, makes_a_folder)


def is_theirs(path: Path, deed: Deed) -> bool:
    if deed is makes_a_link:
        return path.is_symlink() and str(path.readlink()).startswith("nowhere/")
    if deed is makes_a_folder:
        path = path / INSIDE
    return path.is_file() and not path.is_symlink() and path.read_bytes() == THEIRS


class Desk:
    """A workspace on the real file system with an approved plan, made anew for every try."""

    def __init__(self, folder: Path, scenario: Scenario) -> None:
        self._here, self._template = folder / "here", folder / "template"
        self.root = self._here / "workspace"
        self.scenario = scenario
        (self.root / ".agent").mkdir(parents=True)
        laid_out(self.root, scenario.before)
        with World(self._here / "state", self.root, HookedFileSystem()) as world:
            self.plan_id = world.approved(scenario.specs)
        self._here.rename(self._template)

    def execute(self, hook: Hook) -> ExecutionResult | RingiError:
        """On a fresh workspace. Only errors of ours may come out."""
        with self.fresh(hook) as world:
            try:
                return world.tool.execute(self.plan_id)
            except (StorageFailed, Stale) as error:
                return error

    def fresh(self, hook: Hook = lambda *_: None) -> World:
        shutil.rmtree(self._here, ignore_errors=True)
        shutil.copytree(self._template, self._here, symlinks=True)
        return self.world(hook)

    def world(self, hook: Hook = lambda *_: None) -> World:
        return World(self._here / "state", self.root, HookedFileSystem(hook))

    def calls(self) -> list[str]:
        """The names of all calls of an execution that nobody disturbs."""
        made: list[str] = []
        result = self.execute(lambda _, name: made.append(name))
        assert isinstance(result, ExecutionResult)
        assert result.overall_success
        return made

    def settled(self, result: ExecutionResult | RingiError | None) -> ExecutionResult | RingiError | None:
        """What was left for recovery, recovered; a second recovery must find nothing to do."""
        with self.world() as world:
            recovered = world.tool.recover()
            found = self._everything(world)
            assert world.tool.recover() == []
            assert self._everything(world) == found
            assert world.ledger.executions.list_unfinished() == ()
            assert verify(world.ledger) == []
        return recovered[0] if recovered else result

    def _everything(self, world: World) -> tuple[list[str], list[str]]:
        paths = [f"{path} {path.lstat().st_mode:o} {_bytes(path)!r}" for path in self.root.rglob("*")]
        return sorted(paths), list(world.ledger.database.iterdump())

    def status(self) -> PlanStatus:
        with self.world() as world:
            return world.tool.get_state(self.plan_id).status

    def stages(self) -> set[str]:
        """Everything that still lies in the stages."""
        staging = self.root / ".agent" / "tmp"
        found = {path for stage in staging.glob("*") for path in stage.glob("*")}
        return {path.relative_to(self.root).as_posix() for path in found}

    def state_of(self, path: str) -> tuple[bytes, int] | None:
        found = self.root / path
        if not os.path.lexists(found):
            return None
        return _bytes(found) or b"", found.lstat().st_mode & 0o7777

    def mixed(self, *, done: bool, without: Iterable[str] = ()) -> dict[str, object]:
        """Files that are not as they should be, by path."""
        wanted = (self.scenario.last if done else self.scenario.first).files
        paths = {spec.path for spec in self.scenario.specs} | set(self.scenario.before)
        states = {path: self.state_of(path) for path in paths - set(without)}
        return {path: state for path, state in states.items() if state != wanted.get(path)}


def _bytes(path: Path) -> bytes | None:
    if path.is_symlink():
        return os.fsencode(path.readlink())
    return path.read_bytes() if path.is_file() else None


def lost(desk: Desk, path: str, deed: Deed, result: ExecutionResult | RingiError | None) -> bool:
    if deed is deletes:
        return False
    kept = result.kept if isinstance(result, ExecutionResult) else ()
    return not any(is_theirs(place, deed) for place in (desk.root / path, *map(desk.root.joinpath, kept)))


def conflicts(result: ExecutionResult) -> list[str]:
    return [outcome.path for outcome in result.results if outcome.status is OpStatus.CONFLICT]
