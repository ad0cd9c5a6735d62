"""Commands, calls and reads: what a plan does between its files.

A command or a call is recorded before it starts and after it ended. After a crash in between nobody knows
what it did, so one without an end is never started again automatically.
"""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

from msgspec import UNSET, UnsetType

from ringi.errors import Interrupted, PathRefused, RingiError, StorageFailed
from ringi.kernel.codec import digest
from ringi.kernel.process.capture import CommandResult
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans.calls import decode_arguments, refusal
from ringi.plans.effects import mode_after
from ringi.plans.execution import (
    CommandEnd,
    CommandStart,
    ExecutionIntent,
    FileOpOutcome,
    Step,
    StoredCommand,
)
from ringi.plans.reading import cut_output
from ringi.policy.spec_kind import SpecKind
from ringi.tools.effects import LIMIT_OF_SPEC, ErrorKind
from ringi.tree.file_state import LINK_MODE, FileChange, FileState, OpStatus, StateFile

if TYPE_CHECKING:  # only a plan with a command needs it
    from ringi.app.workspace import Workspace
    from ringi.tree.snapshot import Snapshot, Snapshots

_NOT_FOUND: Final = 127
_INTERRUPTED: Final = 130
_TOOL_FAILED: Final = 1
_PLAIN: Final = "0644"
_NO_TOOLS: Final = Text("no outside tool can be called here")
_OTHER_SANDBOX: Final = Text(
    "there is a sandbox now or there is none any more, and it was approved otherwise"
)
_EXECUTABLE: Final = "0755"


def take_step(
    workspace: Workspace, intent: ExecutionIntent, step: Step, done: Collection[int]
) -> FileOpOutcome:
    """`done` are the units of files carried out before it."""
    if step.kind is SpecKind.CALL:
        return _call(workspace, intent, step, done)
    return _run(workspace, intent, step, done) if step.kind is SpecKind.RUN else read(workspace, step)


def read(workspace: Workspace, step: Step) -> FileOpOutcome:
    try:
        text = (
            workspace.analyse(step.path) if step.kind is SpecKind.ANALYZE else _content(workspace, step.path)
        )
    except RingiError as error:
        return FileOpOutcome(step.spec_id, step.path, OpStatus.FAILED, str(error))
    return FileOpOutcome(step.spec_id, step.path, OpStatus.DONE, output=cut_output(workspace, text))


def _content(workspace: Workspace, path: str) -> str:
    found = workspace.tree.look(path)
    if found is None:
        raise PathRefused(path=path, why=Text("it is not there"))
    return found.data.decode("utf-8", "backslashreplace")


def _run(workspace: Workspace, intent: ExecutionIntent, step: Step, done: Collection[int]) -> FileOpOutcome:
    snapshots = workspace.snapshots()
    try:
        sandboxed = workspace.commands.uses_sandbox()
        before = snapshots.take()
    except RingiError as error:
        return FileOpOutcome(step.spec_id, step.path, OpStatus.FAILED, str(error))
    if sandboxed != bool(step.sandboxed):
        return FileOpOutcome(step.spec_id, step.path, OpStatus.FAILED, str(_OTHER_SANDBOX))
    start = _begin(workspace, intent, step, done, before, sandboxed=sandboxed)
    ran, interrupted = _run_command(workspace, step)
    _finish(workspace, start, ran, _Difference(snapshots, before))
    if interrupted:
        # Recorded first: nothing more will be known about the command.
        raise Interrupted
    return outcome_of(step, workspace.store.executions.commands(intent.id))


def _begin(
    workspace: Workspace,
    intent: ExecutionIntent,
    step: Step,
    done: Collection[int],
    before: Snapshot,
    *,
    sandboxed: bool,
) -> CommandStart:
    start = CommandStart(
        execution_id=intent.id,
        plan_id=intent.plan_id,
        spec_id=step.spec_id,
        argv=step.argv,
        sandboxed=sandboxed,
        snapshot_id=before.id,
        started_at=workspace.clock.now(),
        done=tuple(sorted(done)),
    )
    _log(workspace, intent.plan_id, EventKind.COMMAND_STARTED, start)
    return start


def _call(workspace: Workspace, intent: ExecutionIntent, step: Step, done: Collection[int]) -> FileOpOutcome:
    """If it is interrupted or not answered, it has no end: what it did is unknown."""
    snapshots = workspace.snapshots()
    try:
        if workspace.tools is None:
            raise PathRefused(path=step.path, why=_NO_TOOLS)
        with workspace.tools() as tools:
            if why := refusal(tools, step):
                return FileOpOutcome(step.spec_id, step.path, OpStatus.FAILED, str(why))
            before = snapshots.take()
            start = _begin(workspace, intent, step, done, before, sandboxed=False)
            tool, arguments = step.argv
            began = time.monotonic()
            result = tools.call_approved(tool, decode_arguments(arguments), step.timeout_sec)
    except Interrupted:
        raise
    except RingiError as error:
        return FileOpOutcome(step.spec_id, step.path, OpStatus.FAILED, str(error))
    if result.error is ErrorKind.UNKNOWN_OUTCOME:
        why = Text("{why}, and nobody knows whether it was done", why=workspace.mask(result.message))
        return FileOpOutcome(step.spec_id, step.path, OpStatus.UNKNOWN, str(why))
    output = (result.text or result.message).encode("utf-8", "replace")
    code = 0 if result.error is None else _TOOL_FAILED
    ran = CommandResult(code, time.monotonic() - began, output, cut=result.cut)
    _finish(workspace, start, ran, _Difference(snapshots, before), (f"call {tool}",))
    return outcome_of(step, workspace.store.executions.commands(intent.id))


def _run_command(workspace: Workspace, step: Step) -> tuple[CommandResult, bool]:
    try:
        ran = workspace.commands.run(
            step.argv, step.path, timeout_sec=step.timeout_sec, sandboxed=bool(step.sandboxed)
        )
    except Interrupted:
        return CommandResult(_INTERRUPTED, 0.0, b""), True
    except (RingiError, OSError) as error:
        return CommandResult(_NOT_FOUND, 0.0, str(error).encode("utf-8", "replace")), False
    return ran, False


def _log(workspace: Workspace, plan_id: str, kind: EventKind, start: CommandStart) -> None:
    with workspace.store.transaction() as transaction:
        stored = transaction.plans.get(plan_id)
        transaction.executions.start_command(start)
        reason = f"{start.spec_id} {shlex.join(start.argv)}"
        transaction.plans.save(stored, stored.document, NewEvent(kind, Actor.SYSTEM, reason, start))


class _Difference:
    """What changed in the tree since a snapshot."""

    def __init__(self, snapshots: Snapshots, before: Snapshot) -> None:
        self._snapshots = snapshots
        self._before = before

    def files(self) -> tuple[dict[str, StateFile], dict[str, StateFile], tuple[str, ...]]:
        """The files before and now, by path, and what cannot be compared."""
        after = self._snapshots.take()
        if after.id == self._before.id:
            return {}, {}, ()
        old, new = self._snapshots.files(self._before), self._snapshots.files(after)
        gone = {file.path: file for file in set(old.files) - set(new.files)}
        came = {file.path: file for file in set(new.files) - set(old.files)}
        odd = {*old.not_utf8} ^ {*new.not_utf8} | {*self._before.unreadable} ^ {*after.unreadable}
        return gone, came, tuple(sorted(odd))

    def bytes_of(self, files: Mapping[str, StateFile]) -> dict[str, bytes]:
        found = self._snapshots.contents(self._before, files.values())
        return {file.path: data for file, data in found}


def _finish(
    workspace: Workspace,
    start: CommandStart,
    ran: CommandResult,
    difference: _Difference,
    outside: tuple[str, ...] = (),
) -> None:
    """`outside` names what was changed elsewhere, if anything was."""
    effects: list[FileChange] = []
    contents: dict[str, bytes] = {}
    try:
        gone, came, odd = difference.files()
        links = {path for path in {**gone, **came} if LINK_MODE in _modes(path, gone, came)}
        contents = difference.bytes_of({path: file for path, file in gone.items() if path not in links})
        lost = [*odd, *links]
        for path in sorted({*gone, *came} - links):
            try:
                effects += _effect(workspace, start.spec_id, path, gone.get(path), contents.get(path))
            except (PathRefused, StorageFailed, OSError):
                lost.append(path)
        # A document cannot contain names that are not UTF-8.
        beyond = tuple(sorted(name.encode("utf-8", "backslashreplace").decode() for name in lost))
    except (RingiError, OSError) as error:
        beyond = (str(error),)
    end = CommandEnd(
        execution_id=start.execution_id,
        plan_id=start.plan_id,
        spec_id=start.spec_id,
        exit_code=ran.exit_code,
        output=workspace.mask(ran.text),
        cut=ran.cut,
        timed_out=ran.timed_out,
        duration_sec=round(ran.duration_sec, 3),
        ended_at=workspace.clock.now(),
        effects=tuple(effects),
        beyond=(*beyond, *outside) if ran.exit_code == 0 else beyond,
    )
    end_command(workspace, end, contents)


def _modes(path: str, *sides: Mapping[str, StateFile]) -> set[str]:
    return {side[path].mode for side in sides if path in side}


def _effect(
    workspace: Workspace, spec_id: str, path: str, was: StateFile | None, old: bytes | None
) -> list[FileChange]:
    found = workspace.tree.look(path)
    after = found.state if found else None
    before = None
    if was is not None and old is not None:
        # Git keeps one permission bit; the others come from the file as it is now.
        usual = _EXECUTABLE if was.mode == "100755" else _PLAIN
        mode = usual if after is None else mode_after(after.mode, None, was.mode) or after.mode
        before = FileState(digest(old), mode)
    return [FileChange(spec_id, path, before, after)] if before != after else []


def end_command(workspace: Workspace, end: CommandEnd, contents: Mapping[str, bytes]) -> None:
    kept_until = workspace.clock.after(workspace.config.keep.replaced_sec)
    with workspace.store.transaction() as transaction:
        stored = transaction.plans.get(end.plan_id)
        for data in contents.values():
            transaction.put_bytes(data, kept_until)
        for data in _after_bytes(workspace, end):
            transaction.put_bytes(data, kept_until)
        transaction.executions.end_command(end)
        event = NewEvent(EventKind.COMMAND_ENDED, Actor.SYSTEM, end.spec_id, end)
        transaction.plans.save(stored, stored.document, event)


def _after_bytes(workspace: Workspace, end: CommandEnd) -> list[bytes]:
    """An interrupted undo needs both sides."""
    found = []
    for effect in end.effects:
        with contextlib.suppress(PathRefused, StorageFailed, OSError):
            now = workspace.tree.look(effect.path)
            if now and effect.after and now.state == effect.after:
                found.append(now.data)
    return found


def outcome_of(step: Step, commands: tuple[StoredCommand, ...]) -> FileOpOutcome:
    """The command's outcome in the ledger; untouched if it was never started."""
    known = next((command for command in commands if command.start.spec_id == step.spec_id), None)
    if known is None:
        return FileOpOutcome(step.spec_id, step.path, OpStatus.UNTOUCHED)
    end = known.end
    if end is None:
        return FileOpOutcome(step.spec_id, step.path, OpStatus.UNKNOWN, str(_UNKNOWN))
    status = OpStatus.DONE if end.succeeded else OpStatus.FAILED
    detail = "" if end.succeeded else str(_failure(step, end))
    code: int | UnsetType = 0 if end.exit_code is None else end.exit_code
    if step.kind is SpecKind.CALL:
        code = UNSET
    return FileOpOutcome(step.spec_id, step.path, status, detail, code, end.output)


_UNKNOWN: Final = Text("it was started, and nobody knows how it ended")


def _failure(step: Step, end: CommandEnd) -> Text:
    if step.kind is SpecKind.CALL and end.exit_code:
        return Text("the call failed")
    if end.timed_out:
        return Text(
            "it was stopped after {seconds} s ({limit})", seconds=step.timeout_sec, limit=LIMIT_OF_SPEC
        )
    if end.exit_code is None:
        return Text("it is to run again")
    return Text("it ended with exit code {code}", code=end.exit_code)
