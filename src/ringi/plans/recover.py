"""Finishes what a crash interrupted, deciding from the files themselves, unit by unit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from ringi.kernel.text import Text, why_failed
from ringi.plans.execution import STARTED, ExecutionIntent, ExecutionResult, Step
from ringi.plans.executor import ExecutionProgress, Stages, record, settle
from ringi.plans.place import run_of
from ringi.plans.steps import outcome_of, read
from ringi.plans.units import ExecutionUnit, segments, stops, units_of
from ringi.tree.file_state import FileChange, FileState, OpStatus
from ringi.tree.stage import Stage

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_States = Mapping[str, FileState | None]
_THEIRS: Final = Text("somebody wrote to it meanwhile")


class Recovery:
    """The caller holds the workspace's lock."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._stages = Stages(workspace)

    def run(self) -> list[ExecutionResult]:
        """Finishes or rolls back every execution here that has no result. A second call finds none."""
        store = self._workspace.store
        here = [
            intent
            for intent in store.executions.list_unfinished()
            # Elsewhere the same paths are other files.
            if run_of(store.plans.get(intent.plan_id).document) == self._workspace.run_id
        ]
        results = [self._one(intent) for intent in here]
        self._stages.sweep()
        return results

    def _one(self, intent: ExecutionIntent) -> ExecutionResult:
        with self._stages.report_progress(intent):
            return self._settle(intent)

    def _settle(self, intent: ExecutionIntent) -> ExecutionResult:
        progress = ExecutionProgress()
        go_on = True
        started, before_it = self._last_started(intent)
        for segment in segments(intent):
            if isinstance(segment, Step):
                go_on &= self._step(intent, segment, progress, go_on=go_on)
            elif segment[0].number < started:
                # A command ran since and may have changed them again: leave them as they are.
                for unit in segment:
                    if unit.number in before_it:
                        progress.mark_done(unit)
            else:
                go_on = self._files(intent, segment, progress, go_on=go_on)
        return record(self._workspace, intent, progress, self._stages.clear(intent))

    def _last_started(self, intent: ExecutionIntent) -> tuple[int, Collection[int]]:
        """The position of the last command that started, and the units done by then."""
        places = {step.spec_id: step.unit for step in intent.steps or ()}
        started = (
            [command.start for command in self._workspace.store.executions.commands(intent.id)]
            if places
            else []
        )
        if not started:
            return -1, ()
        last = max(started, key=lambda start: places[start.spec_id])
        return places[last.spec_id], last.done

    def _step(self, intent: ExecutionIntent, step: Step, progress: ExecutionProgress, *, go_on: bool) -> bool:
        """Starts no command and calls nothing; the rest runs with the next execution of the plan."""
        if step.kind not in STARTED:
            return self._read(intent, step, progress) if go_on else False
        outcome = outcome_of(step, self._workspace.store.executions.commands(intent.id))
        progress.add_step(outcome)
        return outcome.status is OpStatus.DONE or (outcome.status is OpStatus.FAILED and step.optional)

    def _read(self, intent: ExecutionIntent, step: Step, progress: ExecutionProgress) -> bool:
        outcome = read(self._workspace, step)
        later = [unit for unit in units_of(intent.changes) if unit.number > step.unit]
        if outcome.status is not OpStatus.DONE and any(
            self._stages.now(change) == change.after for unit in later for change in unit.changes
        ):
            # It was read, or nothing after it would have started; its output is lost.
            outcome = msgspec.structs.replace(outcome, status=OpStatus.DONE, detail="")
        progress.add_step(outcome)
        return outcome.status is OpStatus.DONE or step.optional

    def _files(
        self, intent: ExecutionIntent, units: list[ExecutionUnit], progress: ExecutionProgress, *, go_on: bool
    ) -> bool:
        """Rolls forward, or back if others wrote to a file. Starts further units only if all is well."""
        now = {change.path: self._stages.now(change) for unit in units for change in unit.changes}
        stage = self._stages.fresh(intent.id)
        done: list[ExecutionUnit] = []
        trouble = ""
        try:
            stage.prepare(_todo(units, now), self._stages.read_saved_bytes)
        except OSError as error:
            trouble = why_failed(error)
        for unit in units:
            if not go_on and all(now[change.path] == change.before for change in unit.changes):
                continue
            foreign, detail = ([], trouble) if trouble else self._finish(stage, unit, now)
            if not (foreign or detail):
                done.append(unit)
                progress.mark_done(unit)
                continue
            self._give_up(intent, unit, progress, foreign, detail)
            go_on = go_on and not stops(intent, unit)
        try:
            if done:
                settle(stage, intent, done)
        except OSError as error:
            for unit in reversed(done):
                self._give_up(intent, unit, progress, [], why_failed(error))
            return False
        return go_on

    def _finish(self, stage: Stage, unit: ExecutionUnit, now: _States) -> tuple[list[str], str]:
        """Brings the files that are as before to after; returns those that others wrote, or what failed."""
        if foreign := _foreign(unit, now):
            return foreign, ""
        try:
            conflicts = stage.swap_in(_todo([unit], now))
        except OSError as error:
            return [], why_failed(error)
        return [conflict.change.path for conflict in conflicts], ""

    def _give_up(
        self,
        intent: ExecutionIntent,
        unit: ExecutionUnit,
        progress: ExecutionProgress,
        foreign: list[str],
        detail: str,
    ) -> None:
        """Rolls back what cannot be finished; if that fails too, the next recovery tries again."""
        statuses = self._stages.restore(intent, unit) | dict.fromkeys(foreign, OpStatus.CONFLICT)
        progress.mark_taken_back(unit, statuses, detail or str(_THEIRS))


def _todo(units: Sequence[ExecutionUnit], now: _States) -> list[FileChange]:
    """Files still as before, in units that no one else wrote to."""
    return [
        change
        for unit in units
        if not _foreign(unit, now)
        for change in unit.changes
        if now[change.path] == change.before
    ]


def _foreign(unit: ExecutionUnit, now: _States) -> list[str]:
    return [c.path for c in unit.changes if now[c.path] not in {c.before, c.after}]
