"""Runs the configured checkers in work copies and takes in what they say about a snapshot (CP-10)."""

import os
import shlex
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Final, NamedTuple, Self

from ringi.api.workspace import Workspace
from ringi.domain import codec
from ringi.domain.base import Versioned
from ringi.domain.project_state import Diagnostic, Gap, GapCode
from ringi.errors import CopyFailed, Failed, Refused, RingiError, Usage
from ringi.fs import replace_file
from ringi.process.run import Ran, at_most, run, shell
from ringi.process.table import process_start
from ringi.text import Text
from ringi.wiring.checks import MARK, environment_in, remove_abandoned
from ringi.wiring.config import Loaded, Origin
from ringi.workspace.copy import WorkCopy
from ringi.workspace.copy_record import Supervisor
from ringi.workspace.diagnostics import MAX_OUTPUT_BYTES, Format, Parsed, Place, Unparsed, merged, parse

KEY: Final = "diagnostics.commands"
_READER_VERSION: Final = 1  # counts what makes the same output mean something else
_CANNOT_RUN: Final = 126  # from here on a shell says: not runnable, not found, ended by a signal
_MOST_KEPT: Final = 200
_TAIL: Final = 300


class Command(NamedTuple):
    text: str
    trusted: bool = True
    """False for one of the project that no person has trusted."""


class Basis(NamedTuple):
    """What the checkers look at."""

    snapshot_id: str
    tree: str
    """The git tree that a work copy of it begins with."""
    files: Container[str]


class Diagnosed(NamedTuple):
    diagnostics: tuple[Diagnostic, ...]
    gaps: tuple[Gap, ...] = ()
    outside: int = 0
    """How many diagnostics were about no file of the snapshot; they are left out."""


class Kept(Versioned, frozen=True, kw_only=True):
    """A file of the cache."""

    diagnostics: tuple[Diagnostic, ...]
    outside: int = 0


def commands_of(loaded: Loaded) -> tuple[Command, ...]:
    """The user's own and the trusted; then those of the project that would count if they were trusted."""
    own = loaded.config.diagnostics.commands
    commands = tuple(Command(text) for text in own)
    overruled = loaded.sources[KEY].origin is Origin.ENVIRONMENT
    if loaded.trust is None or loaded.trust.trusted or overruled:
        return commands
    others = (text for text in loaded.trust.lines(KEY) if text not in own)
    return (*commands, *(Command(text, trusted=False) for text in others))


def diagnose(
    workspace: Workspace,
    commands: Sequence[Command],
    basis: Basis,
    *,
    environment: Mapping[str, str],
    on_command: Callable[[str], None] = lambda _: None,
) -> Diagnosed:
    """What is known for this snapshot already is not run again; without anything to run nothing is copied."""
    found: list[Kept] = []
    gaps: list[Gap] = []
    with _Copies(workspace, basis) as copies:
        for command in dict.fromkeys(commands):
            if not command.trusted:
                gaps.append(Gap(GapCode.UNTRUSTED, command.text))
            elif known := cached(workspace, basis.snapshot_id, command.text):
                found.append(known)
            else:
                on_command(command.text)
                kept, problem = _run(copies, command.text, environment)
                found.append(kept)
                if problem:
                    gaps.append(Gap(GapCode.TOOL_FAILED, command.text, str(problem)))
                else:
                    _keep(workspace, basis.snapshot_id, command.text, kept)
    outside = sum(kept.outside for kept in found)
    return Diagnosed(merged(kept.diagnostics for kept in found), tuple(gaps), outside)


# One command.


_NONE: Final = Kept(diagnostics=())


def _run(copies: "_Copies", command: str, environment: Mapping[str, str]) -> tuple[Kept, Text | None]:
    """What it said, and why that is not to be relied on; a failure is never kept."""
    settings = copies.workspace.configuration.config.diagnostics
    try:
        copy = copies.current()
        ran = run(
            shell(command),
            cwd=copy.tree,
            env=_environment(copy, environment),
            timeout_sec=settings.timeout_sec,
            output=at_most(MAX_OUTPUT_BYTES),
            errors=at_most(MAX_OUTPUT_BYTES),
            mark=copy.id,
        )
        rewritten = copies.rewritten()
    except (Failed, Refused, Usage) as error:
        return _NONE, Text(error.message, **error.details)
    if ran.timed_out:
        return _NONE, Text("it took longer than {limit} s", limit=settings.timeout_sec)
    if ran.too_long:
        return _NONE, Text("it printed more than {limit} bytes", limit=MAX_OUTPUT_BYTES)
    if rewritten:
        return _NONE, Text("it changes files, so it speaks of others than the project's")
    place = Place((str(copy.tree), os.path.realpath(copy.tree)), copies.basis.files)
    parsed = parse(ran.output, place, Format(settings.format), errors=ran.errors, source=_program(command))
    return _judged(ran, parsed)


def _judged(ran: Ran, parsed: Parsed | Unparsed) -> tuple[Kept, Text | None]:
    """A checker that found something usually ends with a code other than 0; one that broke says nothing."""
    ended = Text("exit code {code}: {words}", code=ran.exit_code, words=_last_words(ran))
    if isinstance(parsed, Unparsed):
        return _NONE, ended if ran.exit_code >= _CANNOT_RUN else parsed.why
    kept = Kept(diagnostics=parsed.diagnostics, outside=parsed.outside)
    # Lines about other files do not count: any clock in a log looks like one.
    silent = ran.exit_code and not parsed.diagnostics
    return kept, ended if silent or ran.exit_code >= _CANNOT_RUN else None


def _last_words(ran: Ran) -> str:
    return (ran.errors or ran.output)[-_TAIL:].decode("utf-8", "replace").strip()


def _environment(copy: WorkCopy, environment: Mapping[str, str]) -> dict[str, str]:
    """Without colours: they would stand in the middle of what is read."""
    forced = {"FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS"}
    plain = {name: value for name, value in environment_in(copy, environment).items() if name not in forced}
    return {**plain, "NO_COLOR": "1", "TERM": "dumb"}


def _program(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    named = [word for word in words if "=" not in word.partition("/")[0]]
    return PurePosixPath(named[0]).name if named else ""


# Where they run.


class _Copies:
    """One work copy after another: what a command left in its copy is not there for the next one."""

    def __init__(self, workspace: Workspace, basis: Basis) -> None:
        self.workspace = workspace
        self.basis = basis
        self._copy: WorkCopy | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def current(self) -> WorkCopy:
        if self._copy is not None:
            return self._copy
        places = self.workspace.places
        remove_abandoned(places.copies)
        carry = self.workspace.configuration.config.beside.carry
        copy = self._copy = WorkCopy.make(
            places.root,
            places.state,
            places.copies,
            carry=carry,
            supervisor=Supervisor(os.getpid(), process_start(os.getpid()) or ""),
            command=[MARK],
        )
        # What a checker writes must not become a plan after a crash.
        copy.mark_taken()
        if copy.base != self.basis.tree:
            self._remove()
            raise CopyFailed(why=Text("the project changed meanwhile"))
        return copy

    def rewritten(self) -> bool:
        """Whether files of the project are not as they were. New ones beside them do no harm."""
        if self._copy is None:
            return False
        try:
            difference = self._copy.difference()
        except CopyFailed:  # it deleted its copy
            self._remove()
            return True
        if difference.tree == difference.base:
            return False
        self._remove()
        return any(change.before is not None for change in difference.changes)

    def _remove(self) -> None:
        copy, self._copy = self._copy, None
        if copy is not None:
            copy.remove()


# What is known already: a function of the snapshot, the command and the settings that matter to it.


def cached(workspace: Workspace, snapshot_id: str, command: str) -> Kept | None:
    try:
        data = _cache_file(workspace, snapshot_id, command).read_bytes()
        return codec.trusted(data, Kept, "diagnostics")
    except (OSError, RingiError):  # damaged, or of a later version: run again
        return None


def _keep(workspace: Workspace, snapshot_id: str, command: str, kept: Kept) -> None:
    path = _cache_file(workspace, snapshot_id, command)
    with suppress(OSError):  # what cannot be kept is found out again
        path.parent.mkdir(mode=0o700, exist_ok=True)
        replace_file(path, codec.canonical(kept), synced=False)
        known = sorted(path.parent.glob("*.json"), key=lambda one: one.stat().st_mtime_ns)
        for old in known[:-_MOST_KEPT]:
            old.unlink(missing_ok=True)


def _cache_file(workspace: Workspace, snapshot_id: str, command: str) -> Path:
    config = workspace.configuration.config
    settings = codec.digest(
        codec.canonical([_READER_VERSION, config.diagnostics.format, sorted(config.beside.carry)])
    )
    name = codec.digest(codec.canonical([snapshot_id, command, settings]))
    return workspace.places.state / "diagnostics" / f"{name}.json"
