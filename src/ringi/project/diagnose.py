"""Runs the configured checkers in work copies and collects their diagnostics for a snapshot (CP-10)."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.config.keys import Config, Diagnostics
from ringi.errors import CopyFailed, Failed, Refused, RingiError, Usage
from ringi.kernel import codec
from ringi.kernel.document import Versioned
from ringi.kernel.fs import replace_file
from ringi.kernel.process.capture import CommandResult, at_most
from ringi.kernel.text import Text
from ringi.project.diagnostics import (
    LIMITS,
    CheckPlace,
    DiagnosticLimits,
    Format,
    ParsedDiagnostics,
    Unparsed,
    merge,
    parse,
)
from ringi.project.state import Diagnostic, Gap, GapCode
from ringi.tree.copy_run import CopyEffect, CopyRun, ScratchCopies

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_READER_VERSION: Final = 1  # raise it if the same output is read differently
_CANNOT_RUN: Final = 126  # shells use codes from here for: not runnable, not found, killed by a signal
_MOST_KEPT: Final = 200
_TAIL: Final = 300


class DiagnosedTree(NamedTuple):
    """What the checkers look at."""

    snapshot_id: str
    tree: str
    """The git tree from which a work copy is made."""
    files: Container[str]


class Diagnosed(NamedTuple):
    diagnostics: tuple[Diagnostic, ...]
    gaps: tuple[Gap, ...] = ()
    outside: int = 0
    """Diagnostics left out because they are about no file of the snapshot."""


class CachedDiagnostics(Versioned, frozen=True, kw_only=True):
    """A file of the cache."""

    diagnostics: tuple[Diagnostic, ...]
    outside: int = 0


class DiagnosticCommand(NamedTuple):
    text: str
    trusted: bool = True
    """False if it comes from the project and is not trusted."""


def commands_of(config: Config) -> tuple[DiagnosticCommand, ...]:
    """The user's own and the trusted ones first, then the untrusted ones of the project."""
    own = config.diagnostics.commands
    others = (text for text in config.find_ignored("diagnostics.commands") if text not in own)
    return (*map(DiagnosticCommand, own), *(DiagnosticCommand(text, trusted=False) for text in others))


def diagnose(
    workspace: Workspace,
    commands: Sequence[DiagnosticCommand],
    basis: DiagnosedTree,
    *,
    environment: Mapping[str, str],
    on_command: Callable[[str], None] = lambda _: None,
    limits: DiagnosticLimits = LIMITS,
    most_kept: int = _MOST_KEPT,
) -> Diagnosed:
    """Uses cached results for this snapshot; makes a copy only if something must run."""
    settings = workspace.config.diagnostics
    found: list[CachedDiagnostics] = []
    gaps: list[Gap] = []
    carry = workspace.config.beside.carry
    with ScratchCopies(workspace.places, environment, carry=carry) as copies:
        for command in dict.fromkeys(commands):
            if not command.trusted:
                gaps.append(Gap(GapCode.UNTRUSTED, command.text))
            elif known := read_cached(workspace, basis.snapshot_id, command.text):
                found.append(known)
            else:
                on_command(command.text)
                kept, problem = _run(copies, basis, command.text, settings, limits)
                found.append(kept)
                if problem:
                    gaps.append(Gap(GapCode.TOOL_FAILED, command.text, str(problem)))
                else:
                    _keep(_cache_file(workspace, basis.snapshot_id, command.text), kept, most_kept)
    outside = sum(kept.outside for kept in found)
    return Diagnosed(merge(kept.diagnostics for kept in found), tuple(gaps), outside)


# One command.


_NONE: Final = CachedDiagnostics(diagnostics=())


def _run(
    copies: ScratchCopies, basis: DiagnosedTree, command: str, settings: Diagnostics, limits: DiagnosticLimits
) -> tuple[CachedDiagnostics, Text | None]:
    """Its diagnostics, or why they are unreliable; failures are never cached."""
    try:
        copy_run = copies.current()
        if copy_run.copy.base != basis.tree:
            copies.discard()
            raise CopyFailed(why=Text("the project changed meanwhile"))
        ran = copy_run.run(
            command,
            timeout_sec=settings.timeout_sec,
            output=at_most(limits.output_bytes),
            errors=at_most(limits.output_bytes),
            env=_environment(copy_run),
        )
        touched = copy_run.find_effect()
    except (Failed, Refused, Usage) as error:
        return _NONE, Text(error.message, **error.details)
    if touched is not CopyEffect.NOTHING:  # the next command must not see what this one left
        copies.discard()
    if ran.timed_out:
        limit = f"{settings.timeout_sec:g}"
        return _NONE, Text("it took longer than {limit} s (diagnostics.timeout_sec)", limit=limit)
    if ran.too_long:
        return _NONE, Text("it printed more than {limit} bytes", limit=limits.output_bytes)
    if touched is CopyEffect.REWRITTEN:
        return _NONE, Text("it changes files, so its findings are not about the project's own")
    tree = copy_run.copy.tree
    place = CheckPlace((str(tree), os.path.realpath(tree)), basis.files)
    parsed = parse(
        ran.output,
        place,
        Format(settings.format),
        errors=ran.errors,
        source=_program(command),
        limits=limits,
    )
    return _judge(ran, parsed)


def _judge(ran: CommandResult, parsed: ParsedDiagnostics | Unparsed) -> tuple[CachedDiagnostics, Text | None]:
    """A checker that finds something usually exits with a code other than 0; a broken one prints nothing."""
    ended = Text("exit code {code}: {words}", code=ran.exit_code, words=_last_words(ran))
    if isinstance(parsed, Unparsed):
        return _NONE, ended if ran.exit_code >= _CANNOT_RUN else parsed.why
    kept = CachedDiagnostics(diagnostics=parsed.diagnostics, outside=parsed.outside)
    # Lines about other files do not count: a time in a log looks like one.
    silent = ran.exit_code and not parsed.diagnostics
    return kept, ended if silent or ran.exit_code >= _CANNOT_RUN else None


def _last_words(ran: CommandResult) -> str:
    return (ran.errors or ran.output)[-_TAIL:].decode("utf-8", "replace").strip()


def _environment(copy_run: CopyRun) -> dict[str, str]:
    """Without colours, which would disturb the parser."""
    forced = {"FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS"}
    plain = {name: value for name, value in copy_run.environment.items() if name not in forced}
    return {**plain, "NO_COLOR": "1", "TERM": "dumb"}


def _program(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    named = [word for word in words if "=" not in word.partition("/")[0]]
    return PurePosixPath(named[0]).name if named else ""


# The cache key: the snapshot, the command and the settings that matter to it.


def read_cached(workspace: Workspace, snapshot_id: str, command: str) -> CachedDiagnostics | None:
    try:
        data = _cache_file(workspace, snapshot_id, command).read_bytes()
        return codec.decode_own(data, CachedDiagnostics, "diagnostics")
    except (OSError, RingiError):  # damaged, or from a later version: run again
        return None


def _keep(path: Path, kept: CachedDiagnostics, most: int) -> None:
    """Keeps the `most` newest files of the cache."""
    with suppress(OSError):  # if it cannot be cached, it runs again next time
        path.parent.mkdir(mode=0o700, exist_ok=True)
        replace_file(path, codec.canonical(kept), synced=False)
        known = sorted(path.parent.glob("*.json"), key=lambda one: one.stat().st_mtime_ns)
        for old in known[:-most]:
            old.unlink(missing_ok=True)


def _cache_file(workspace: Workspace, snapshot_id: str, command: str) -> Path:
    config = workspace.config
    mattering = [_READER_VERSION, config.diagnostics.format, sorted(config.beside.carry)]
    name = codec.digest(codec.canonical([snapshot_id, command, codec.digest(codec.canonical(mattering))]))
    return workspace.places.state / "diagnostics" / f"{name}.json"
