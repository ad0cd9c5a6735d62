"""Plans a task, executes the plan, looks at what came of it, and revises it (PP-4, PP-7).

Each outcome is saved before the next action begins. A crash loses at most the action in flight: one
that reads or works in the copy is done again from the files it began with; one that changes something outside
is a plan of its own, which the plan tool carries out once.
"""

from typing import Final

from ringi.engine.document import PlannedAction
from ringi.engine.engine import Planned, RefusedPlan, Unclear, Undecomposed
from ringi.engine.process import PROCESS_MACHINE, ActionRecord, Process, ProcessPhase, Wait
from ringi.errors import ModelFailed
from ringi.kernel.telemetry.port import Component
from ringi.kernel.text import Text
from ringi.models.budget import SpentOn, sum_spent
from ringi.models.prompt import NewPlanTurn, NewTurn
from ringi.models.usage import TokenUsage
from ringi.runs.process.actions import Actions, Meant
from ringi.runs.process.context import ProcessContext, ProcessTask
from ringi.runs.process.due import (
    Direct,
    PlanningTurn,
    UnfinishedActions,
    Waiting,
    arguments_of,
    current,
    due,
    find_completed,
)
from ringi.runs.process.judgement import Judgement
from ringi.runs.process.process_record import ProcessRecord, complete, is_stuck, resume
from ringi.runs.process.turns import calls_of, kind_for, prompt_for

_P = ProcessPhase
_UNPLANNED: Final = frozenset([_P.INITIAL, _P.GOAL_UNDERSTANDING, _P.WAITING_FOR_CLARIFICATION])
_MOST_NOTES: Final = 60
_EMPTY: Final = "Your last answer neither looked at anything, nor changed anything, nor said that it is done."


class ExecutionCoordinator:
    def __init__(self, context: ProcessContext) -> None:
        self._context = context
        self._execution: _Execution | None = None

    def execute_with_planning(self, task: ProcessTask) -> Process:
        """Until it is complete, or needs a person; the same task again goes on where it was.

        Raises ModelFailed; what was done until then is saved.
        """
        self._execution = _Execution(self._context, task)
        return self._execution.go()

    def get_current_phase(self) -> ProcessPhase:
        return self._execution.book.process.phase if self._execution else _P.INITIAL

    def transition_phase(self, from_phase: ProcessPhase, to_phase: ProcessPhase) -> bool:
        """Whether the task was in that phase, and the table allows it; then it is in the other."""
        if self._execution is None or self.get_current_phase() is not from_phase:
            return False
        if not PROCESS_MACHINE.allows(from_phase, to_phase):
            return False
        self._execution.book.enter(to_phase)
        self._execution.book.save()
        return True


class _Execution:
    """One task, from where it is to where a person is needed."""

    def __init__(self, context: ProcessContext, task: ProcessTask) -> None:
        self._context = context
        self._task = task
        self._execution = context.config.planning.execution
        self.book = ProcessRecord(context, task)
        self._actions = Actions(context, self.book)
        self._judgement = Judgement(context, self.book, self._actions)

    def go(self) -> Process:
        self._resume()
        try:
            if self.book.process.phase in _UNPLANNED:
                self._plan()
            while self.book.process.waits is None and self.book.process.completion is None:
                self._judgement.hear()
                if self.book.process.waits is None:
                    self._advance()
        except ModelFailed:
            self.book.save()  # what it took counts
            raise
        return self.book.process

    # --- planning ------------------------------------------------------------------------------------------

    def _resume(self) -> None:
        book = self.book
        if book.process.tree and not book.is_new:
            # What was in flight is done again from here.
            self._context.place.checkout(book.process.tree)
        stuck = is_stuck(book.process)
        self._judgement.decide()
        # That of a run is resumed with the run: until it has stopped, no person was told.
        if stuck and not book.process.run_id:
            book.process = resume(book.process)
        elif book.process.waits is Wait.CALL:
            book.set(waits=None)

    def _plan(self) -> None:
        """A plan that is given goes through the same phases, without a call."""
        book, plan = self.book, self._task.plan
        if book.process.phase is _P.WAITING_FOR_CLARIFICATION and not self._unheard():
            return
        book.enter(_P.GOAL_UNDERSTANDING)
        if plan is None:
            outcome = self._ask_engine()
            if not isinstance(outcome, Planned):
                self._ask_person(outcome)
                return
            plan = outcome.document
        book.set(plan=plan, waits=None, waiting_since="")
        for phase in (_P.TASK_DECOMPOSITION, _P.ACTION_PLAN, _P.EXECUTION):
            book.enter(phase)
        book.save()

    def _ask_engine(self) -> Planned | Unclear | Undecomposed | RefusedPlan:
        if self._context.engine is None:
            raise ValueError("a task without a plan needs an engine")
        engine, said = self._context.engine(), self._unheard()
        try:
            return engine.plan("\n\n".join([self._task.words, *said.values()]))
        finally:
            usage = TokenUsage.total(engine.spent.values())
            self.book.add("planning", sum_spent({SpentOn.PLANNING: usage}, usage.cost_usd or 0.0))
            self.book.set(heard=(*self.book.process.heard, *said))

    def _unheard(self) -> dict[str, str]:
        process = self.book.process
        found = self._context.store.processes.feedback(process.run_id) if process.run_id else ()
        return {one.feedback_id: one.text for one in found if one.feedback_id not in process.heard}

    def _ask_person(self, outcome: Unclear | Undecomposed | RefusedPlan) -> None:
        book = self.book
        hint = ""
        if isinstance(outcome, RefusedPlan):
            hint = "\n".join(f"{one.kind}: {one.subject}" for one in outcome.findings)
        book.enter(_P.WAITING_FOR_CLARIFICATION)
        now = self._context.clock.now()
        book.set(plan=outcome.document, waits=Wait.CLARIFICATION, waiting_since=now, hint=hint)
        book.save()

    # --- execution -----------------------------------------------------------------------------------------

    def _advance(self) -> None:
        book = self.book
        if book.seconds_left() <= 0:
            seconds = f"{self._execution.total_timeout:g}"
            hint = Text("Raise planning.execution.total_timeout, or make the task smaller.")
            reason = Text(
                "it took longer than {seconds} s (planning.execution.total_timeout)", seconds=seconds
            )
            self._judgement.stop(reason, (hint,))
            book.save()
            return
        match due(book.process, book.records):
            case Waiting(record):
                self._take_outcomes(self._actions.look_outside(record))
            case UnfinishedActions(records):
                self._take_outcomes(self._actions.carry_out(records))
            case Direct(actions, group):
                meant = [Meant(id_, one, one.tool or "", arguments_of(one)) for id_, one in actions]
                self._actions.begin(meant, group)
            case PlanningTurn() as turn:
                self._take_turn(turn)
            case None:
                complete(book, self._context.clock.now())
                book.save()

    def _take_outcomes(self, records: tuple[ActionRecord, ...]) -> None:
        book = self.book
        if records:
            if any(record.error for record in records) or not book.has_begun():
                self._context.model.settle(usable=not any(record.error for record in records))
            self._judgement.after(records)
            book.set(done=(*book.process.done, *find_completed(book.process, book.records)))
            if book.process.ending and not book.has_begun():
                self._end_tasks()
        book.save()

    def _take_turn(self, turn: PlanningTurn) -> None:
        book = self.book
        if book.process.turns >= self._context.most_turns:
            reason = Text("the model took {turns} turns", turns=book.process.turns)
            self._judgement.stop(reason, (Text("Make the step smaller, or say what is missing."),))
            book.save()
            return
        tools, most = self._context.tools.list_tools(), self._context.context_tokens
        prompt = prompt_for(self._task, book.process, turn, book.records, tools, most)
        self._context.on_event(Text("the model works, turn {turn}", turn=book.process.turns + 1))
        try:
            answer = self._context.model.ask(prompt, kind_for(book.process, tools))
        finally:
            book.charge("execution")
        self._note(answer)
        first = turn.tasks[0].id
        meant = [
            Meant(f"{first}_turn_{book.process.turns}_{at}", PlannedAction(task_id=first), *one)
            for at, one in enumerate(calls_of(answer), 1)
        ]
        if meant:
            self._actions.begin(meant, book.process.turns)
            return
        self._context.model.settle(usable=book.process.ending)
        if book.process.ending:
            self._end_tasks()
        else:
            book.set(failures=book.process.failures + 1, hint=_EMPTY)
            self._judgement.has_given_up(Text("the model did nothing"))
        book.save()

    def _note(self, answer: NewTurn) -> None:
        process, note = self.book.process, self._context.mask(answer.note.strip())
        notes = (*process.notes, note)[-_MOST_NOTES:] if note else process.notes
        early = self._execution.early_termination.enabled
        finished = isinstance(answer, NewPlanTurn) and answer.finished and early
        self.book.set(
            turns=process.turns + 1,
            notes=notes,
            hint="",
            ending=answer.done or finished,
            finishing=finished,
        )
        if note:
            self._context.on_event(Text("{line}", line=note))

    def _end_tasks(self) -> None:
        book = self.book
        ids = [task.id for task in current(book.process)]
        if book.process.finishing:
            book.say(Component.EXECUTION, "Ended early: the model says that nothing more is needed")
            ids = [task.id for task in book.process.plan.subtasks if task.id not in book.process.done]
        book.set(done=(*book.process.done, *ids), ending=False, finishing=False)
