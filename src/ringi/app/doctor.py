"""What is fine, what is not, and the command that fixes it."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ringi.app.restore import restore_plans, restore_sessions
from ringi.app.telemetry import tracing_lacks
from ringi.app.workspace import Workspace, open_workspace
from ringi.beside.copies import (
    MEGABYTE,
    find_abandoned,
    find_crowded_out,
    find_kept,
    make_room,
    remove_settled,
    size_of,
)
from ringi.config.load import load
from ringi.errors import FolderUnusable, LedgerCorrupt, NoChannel, RingiError, TooManyFiles, WorkKept
from ringi.kernel.fs import OsFileSystem, folder_unusable
from ringi.kernel.places import places_of
from ringi.kernel.process import sandbox
from ringi.kernel.process.environment import CACHE_VARIABLE, SYSTEM_PATH
from ringi.kernel.system import list_ignored_variables
from ringi.kernel.text import Text
from ringi.ledger.moved import MovedLedger
from ringi.runs.configured_tools import server_tools
from ringi.runs.ref_damage import find_damaged_refs, mend_refs
from ringi.tools.ports_process import ServerState
from ringi.tree.copy_layout import private_folder

if TYPE_CHECKING:
    from ringi.tree.copy import WorkCopy


REPAIR = "ringi doctor --repair"
MEND = "ringi recover"
ADOPT = "ringi doctor --adopt"
ACCEPT = "ringi doctor --accept-backup"
_SHOWN = 5
_PROBE_BYTES = 1 << 20


class Mark(StrEnum):
    GOOD = "good"
    NOTE = "note"
    BAD = "bad"


class DoctorFinding(NamedTuple):
    mark: Mark
    text: Text
    mend: Text | str = ""
    """A command, or what to do if no command fixes it."""


TakeCopy: TypeAlias = "Callable[[Workspace, WorkCopy], Text]"
"""Makes a plan from an agent's abandoned copy, and reports it."""


class Doctor:
    """Of a workspace that may be damaged: it is opened only for a look."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self._root = root
        self._environment = environment
        self._places = places_of(root, environment)
        self._ledger_files = MovedLedger(self._places.root, self._places.state)

    def _open(self) -> Workspace:
        return open_workspace(self._root, environment=self._environment)

    def examine(self) -> list[DoctorFinding]:
        findings = [*_tools(), *_variables(), *self._settings(), *self._place()]
        findings += _copies_folder(self._places.copies)
        if any(finding.mend == ADOPT for finding in findings):
            return findings
        try:
            with self._open() as workspace:
                findings += [*_ledger(workspace), *_projections(workspace), *_file_system(workspace)]
                findings += [*_refs(workspace), *_copies(workspace), *_person(workspace)]
        except LedgerCorrupt as error:
            findings.append(DoctorFinding(Mark.BAD, _as_text(error), REPAIR))
        except RingiError as error:
            findings.append(DoctorFinding(Mark.BAD, _as_text(error), Text(error.hint, **error.details)))
        return findings

    def repair(self, take_copy: TakeCopy) -> Iterator[DoctorFinding]:
        """Fixes what it can, and yields what it did and what it could not fix."""
        try:
            with self._open() as workspace:
                for _ in _ledger(workspace):
                    pass
        except LedgerCorrupt:
            for name in self._ledger_files.set_aside():
                yield _as_fixed(Text("the damaged ledger was kept as {path}", path=str(name)))
        with self._open() as workspace:
            yield from _restore(workspace)
            if workspace.upkeep.differences():
                workspace.upkeep.write_anew()
                yield _as_fixed(Text("the files in .agent were rebuilt"))
            yield from (_as_fixed(line) for mended in mend_refs(workspace) for line in mended.lines)
            if expired := workspace.cache.sweep():
                yield _as_fixed(Text("expired answers of models were removed: {count}", count=expired))
            yield from map(_as_fixed, (*remove_settled(workspace), *make_room(workspace)))
            for copy in find_abandoned(workspace):
                try:
                    yield _as_fixed(take_copy(workspace, copy))
                except RingiError as error:
                    # An unreadable copy must not stop the others.
                    if not isinstance(error, TooManyFiles):
                        error = WorkKept(why=_as_text(error), path=str(copy.tree))
                    yield DoctorFinding(Mark.BAD, _as_text(error), Text(error.hint, **error.details))

    def adopt(self) -> Text:
        earlier = self._ledger_files.adopt()
        return Text("the ledger of {path} now belongs to this workspace", path=str(earlier))

    def accept_backup(self) -> Text:
        with self._open() as workspace:
            if refusal := workspace.person.refusal():
                raise NoChannel(why=refusal, command=ACCEPT)
            workspace.upkeep.accept_older()
            workspace.upkeep.write_anew()
        return Text("the ledger counts as it is; what was revoked stays revoked")

    def _settings(self) -> Iterator[DoctorFinding]:
        try:
            config = load(self._root, self._environment)
        except RingiError as error:
            yield DoctorFinding(Mark.BAD, _as_text(error), "ringi config check")
            return
        count = len(config.files)
        yield DoctorFinding(Mark.GOOD, Text("the configuration is valid ({count} read)", count=count))
        for note in config.notes:
            yield DoctorFinding(Mark.NOTE, note, "ringi config show")
        if config.trust is not None and not config.trust.trusted:
            text = Text("the project names commands or signers that nobody trusted")
            yield DoctorFinding(Mark.NOTE, text, "ringi trust")
        if lacks := tracing_lacks(config, self._environment):
            yield DoctorFinding(Mark.NOTE, *lacks)
        if not config.mcp_servers:
            return
        try:
            with server_tools(config, self._environment, self._places.root) as tools:
                yield from _of_servers(tools.states())
        except RingiError as error:
            yield DoctorFinding(Mark.BAD, _as_text(error), Text(error.hint, **error.details))

    def _place(self) -> Iterator[DoctorFinding]:
        if (earlier := self._ledger_files.earlier()) is not None:
            yield DoctorFinding(
                Mark.BAD, Text("this workspace was at {path} before", path=str(earlier)), ADOPT
            )
        if self._places.state.is_relative_to(self._places.root):
            text = Text("the ledger is inside the workspace: {path}", path=str(self._places.state))
            yield DoctorFinding(Mark.NOTE, text, "RINGI_STATE_DIR=…")


def _as_text(error: RingiError) -> Text:
    return Text(error.message, **error.details)


def _as_fixed(what: Text) -> DoctorFinding:
    return DoctorFinding(Mark.GOOD, what)


def _of_servers(states: Sequence[ServerState]) -> Iterator[DoctorFinding]:
    for state in states:
        if state.problem is not None:
            yield DoctorFinding(Mark.BAD, state.problem, Text("fix its line in mcp_servers, or remove it"))
            continue
        text = Text(
            "server {server} answers; it has 1 tool",
            "server {server} answers; it has {count} tools",
            server=state.name,
            count=state.tools,
        )
        yield DoctorFinding(Mark.GOOD, text)
        for tool, why in state.left_out[:_SHOWN]:
            what = Text("server {server}: {tool} is left out: {why}", server=state.name, tool=tool, why=why)
            yield DoctorFinding(Mark.NOTE, what)


def _tools() -> Iterator[DoctorFinding]:
    if shutil.which("git"):
        yield DoctorFinding(Mark.GOOD, Text("git is installed"))
    else:
        yield DoctorFinding(Mark.BAD, Text("git is not installed"), "apt install git / brew install git")
    found = sandbox.usable(SYSTEM_PATH)
    if isinstance(found, str):
        yield DoctorFinding(Mark.GOOD, Text("agents and checks can run in a sandbox"))
        if not sandbox.can_scope_sockets(found):
            text = Text("in it, an agent can reach sockets that have no file, such as an X server's")
            yield DoctorFinding(Mark.NOTE, text, Text("use Linux 6.12 or newer, with Landlock"))
    else:
        yield DoctorFinding(Mark.NOTE, Text("there is no sandbox: {why}", why=found.why), found.mend)


def _variables() -> Iterator[DoctorFinding]:
    for name in list_ignored_variables():
        text = Text("{variable} is not an absolute path, so it is ignored", variable=name)
        yield DoctorFinding(Mark.NOTE, text, f"export {name}=/…")


def _copies_folder(folder: Path) -> Iterator[DoctorFinding]:
    """Whether an agent's copy could be made: the folder, and some bytes in it."""
    try:
        private_folder(folder, CACHE_VARIABLE)
        try:
            with tempfile.TemporaryFile(dir=folder) as probe:
                probe.write(bytes(_PROBE_BYTES))
                probe.flush()
                os.fsync(probe.fileno())
        except OSError as error:
            raise folder_unusable(folder, error, CACHE_VARIABLE) from None
    except FolderUnusable as error:
        why = Text("there can be no copies for agents and checks: {why}", why=_as_text(error))
        yield DoctorFinding(Mark.BAD, why, Text(error.hint, **error.details))


def _ledger(workspace: Workspace) -> Iterator[DoctorFinding]:
    path = workspace.upkeep.require_sound()
    yield DoctorFinding(Mark.GOOD, Text("the ledger is sound: {path}", path=path))
    for result in workspace.recovered:
        name = workspace.plan_name(result.plan_id)
        text = Text("an interrupted execution of {plan} was finished or rolled back", plan=name)
        yield DoctorFinding(Mark.NOTE, text, f"ringi show {name}")
    if workspace.upkeep.is_older():
        text = Text("the ledger is an older copy of itself; nothing is written to it")
        yield DoctorFinding(Mark.BAD, text, ACCEPT)
    breaks = workspace.verify_log()
    if breaks:
        yield DoctorFinding(
            Mark.BAD, Text("the log is broken: {first}", first=breaks[0]), "ringi log --verify"
        )
    else:
        yield DoctorFinding(Mark.GOOD, Text("the log is unbroken"))
    # The files first: what another process commits meanwhile is in the ledger before it is written.
    if (lost := len(workspace.upkeep.find_plan_files())) and not workspace.plan.list(limit=1):
        text = Text("the ledger has no plan, but .agent has {count}", count=lost)
        yield DoctorFinding(Mark.BAD, text, REPAIR)
    if (lost := len(workspace.upkeep.find_session_files())) and not workspace.store.sessions.ids():
        text = Text("the ledger has no planning session, but .agent has {count}", count=lost)
        yield DoctorFinding(Mark.BAD, text, REPAIR)


def _projections(workspace: Workspace) -> Iterator[DoctorFinding]:
    wrong = workspace.upkeep.differences()
    if not wrong:
        yield DoctorFinding(Mark.GOOD, Text("the files in .agent agree with the ledger"))
    for path in wrong[:_SHOWN]:
        yield DoctorFinding(
            Mark.BAD, Text("{path} is missing or was changed; ringi does not rely on it", path=path), REPAIR
        )
    if len(wrong) > _SHOWN:
        yield DoctorFinding(Mark.BAD, Text("… and {count} more", count=len(wrong) - _SHOWN), REPAIR)
    for path in workspace.upkeep.foreign():
        text = Text("{path} is not from this ledger; ringi does not rely on it", path=path)
        yield DoctorFinding(Mark.BAD, text, f"rm -r {shlex.quote(path)}")


def _file_system(workspace: Workspace) -> Iterator[DoctorFinding]:
    """Tests real operations in the folder that executions use."""
    folder = workspace.places.root / ".agent" / "tmp"
    fs = OsFileSystem()
    try:
        for place in (folder.parent, folder):
            if place.is_symlink():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(place))
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f"doctor-{os.getpid()}"
        probe.mkdir()
        at = fs.open_root(probe)
        try:
            fs.create(at, "a", b"a", 0o600)
            fs.link(at, "a", at, "b")
            fs.create(at, "c", b"c", 0o600)
            fs.exchange(at, "a", at, "c")
            good = fs.read(at, "a")[0] == b"c"
        finally:
            fs.close(at)
            shutil.rmtree(probe, ignore_errors=True)
    except OSError as error:
        text = Text("files cannot be exchanged atomically here: {why}", why=error.strerror or str(error))
        yield DoctorFinding(Mark.BAD, text, f"ls -ld {folder}")
        return
    if good:
        yield DoctorFinding(Mark.GOOD, Text("this file system can link and exchange files"))


def _refs(workspace: Workspace) -> Iterator[DoctorFinding]:
    for ref, why in find_damaged_refs(workspace):
        yield DoctorFinding(
            Mark.BAD, Text("{ref} in the repository is damaged: {why}", ref=ref, why=why), MEND
        )


def _copies(workspace: Workspace) -> Iterator[DoctorFinding]:
    for copy in find_abandoned(workspace):
        text = Text("an agent's work is not a plan yet: {path}", path=str(copy.tree))
        yield DoctorFinding(Mark.NOTE, text, REPAIR)
    for one in find_kept(workspace):
        facts = {
            "path": str(one.copy.tree),
            "plan": one.plan.name if one.plan else "",
            "days": one.days,
            "size": _megabytes(size_of(one.copy.folder)),
        }
        if one.copy.record.left_out:
            text = Text("kept, because not all of it is in a plan: {path} ({days} days, {size} MB)", **facts)
            yield DoctorFinding(Mark.NOTE, text, f"rm -r {shlex.quote(str(one.copy.folder))}")
        elif one.settled:
            text = Text("a copy that nobody needs any more: {path} ({days} days, {size} MB)", **facts)
            yield DoctorFinding(Mark.NOTE, text, REPAIR)
        else:
            text = Text("the agent can resume {plan} in {path} ({days} days, {size} MB)", **facts)
            yield DoctorFinding(Mark.GOOD, text)
    if crowded := len(find_crowded_out(workspace)):
        most = workspace.config.keep.copies_mb
        text = Text(
            "copies take more than {most} MB (keep.copies_mb): {count} of them will go",
            most=most,
            count=crowded,
        )
        yield DoctorFinding(Mark.NOTE, text, REPAIR)


def _megabytes(size: int) -> str:
    return f"{size / MEGABYTE:.1f}"


def _person(workspace: Workspace) -> Iterator[DoctorFinding]:
    if refusal := workspace.person.refusal():
        yield DoctorFinding(Mark.NOTE, Text("approvals cannot be typed here: {why}", why=refusal))
    else:
        yield DoctorFinding(Mark.GOOD, Text("approvals can be typed at this terminal"))


def _restore(workspace: Workspace) -> Iterator[DoctorFinding]:
    count, problems = restore_plans(workspace)
    if count:
        what = Text(
            "1 plan came back from .agent as proposed; approvals do not come back",
            "{count} plans came back from .agent as proposed; approvals do not come back",
            count=count,
        )
        yield _as_fixed(what)
    count, more = restore_sessions(workspace)
    if count:
        what = Text(
            "1 planning session came back from .agent; approvals do not come back",
            "{count} planning sessions came back from .agent; approvals do not come back",
            count=count,
        )
        yield _as_fixed(what)
    for problem in (*problems, *more):
        yield DoctorFinding(Mark.NOTE, problem)
