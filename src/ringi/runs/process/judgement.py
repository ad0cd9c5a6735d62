"""What follows from a result or from feedback: nothing, another plan, or a person (PP-8, PP-9)."""

from collections.abc import Sequence

from msgspec.structs import replace

from ringi.engine.document import PlannedAction
from ringi.engine.process import RUN, ActionRecord, ProcessPhase, RecoveryRecord, RevisionRecord, Wait
from ringi.kernel.telemetry.port import ACTION_ID, OUTCOME, RUN_ID, Component, LogLevel, Phase
from ringi.kernel.text import Text
from ringi.runs.process.actions import Actions
from ringi.runs.process.context import ProcessContext
from ringi.runs.process.process_record import ProcessRecord, needs_person
from ringi.runs.process.reflection import ReflectionTrigger, Suggestion, advice
from ringi.runs.process.revisions import Revised, Stuck, accept, decline, revise
from ringi.tools.effects import ErrorKind, ToolEffect

_P = ProcessPhase


class Judgement:
    def __init__(self, context: ProcessContext, book: ProcessRecord, actions: Actions) -> None:
        self._context = context
        self._planning = context.config.planning
        self._book = book
        self._actions = actions
        self._spans = context.telemetry.spans

    def after(self, ended: Sequence[ActionRecord]) -> None:
        """Counts what failed, remembers what helped, and reflects if it is time."""
        book, failed = self._book, [record for record in ended if record.error is not None]
        book.learn(helped=not failed)
        for record in ended:
            book.set(failures=self._failures(record), since=book.process.since + 1)
        if failed:
            book.set(ending=False, finishing=False)
        if failed and self.has_given_up(Text("{tool} failed", tool=failed[-1].tool), failed):
            return
        looked = failed[0] if failed else ended[-1]
        trigger = self._context.reflection.trigger(looked, book.process.since)
        if trigger is not None:
            self._reflect(looked, trigger)

    def _failures(self, record: ActionRecord) -> int:
        """In a row: between two changes that fail, looking at something or changing nothing is no success."""
        failures = self._book.process.failures
        if record.error is not None:
            return failures + 1
        earlier = [one for one in self._book.records if one.error is not None]
        idle = record.effect is ToolEffect.READS or (
            record.tree and not record.changed and record.tool != RUN
        )
        return failures if idle and earlier and earlier[-1].effect is not ToolEffect.READS else 0

    def has_given_up(self, what: Text, failed: Sequence[ActionRecord] = ()) -> bool:
        early, failures = self._planning.execution.early_termination, self._book.process.failures
        if not early.enabled or failures < early.max_consecutive_failures:
            return False
        reason = Text("1 failure: {what}", "{count} failures in a row: {what}", count=failures, what=what)
        told = [record.message for record in failed]
        self.stop(reason, [*told, *(advice(kind, self._book.process) for kind in _kinds(failed))])
        return True

    def stop(self, reason: Text, recommendations: Sequence[str | Text] = ()) -> None:
        needs_person(self._book, self._context.clock.now(), reason, recommendations, self._context.mask)

    def hear(self) -> None:
        """Feedback since the last action becomes a revision (PP-20)."""
        book = self._book
        if not book.process.run_id or book.process.phase is not _P.EXECUTION:
            return
        for one in self._context.store.processes.feedback(book.process.run_id):
            # What was said before the turn began is in its brief.
            if one.feedback_id in book.process.heard or one.at < book.process.created_at:
                continue
            book.set(heard=(*book.process.heard, one.feedback_id))
            book.enter(_P.REFLECTION)
            try:
                suggestion = self._context.reflection.incorporate_human_feedback(book.process, one)
            finally:
                book.charge("reflection")
            self._follow(suggestion, None)
            book.save()
            if book.process.waits is not None:
                return

    def decide(self) -> None:
        """About the revision that waited for a person: approved, declined or expired."""
        book, revision = self._book, self._planning.revision
        proposed = book.process.proposed
        if proposed is None or book.process.waits is not Wait.REVISION:
            return
        if proposed.approved is None:
            due = self._context.clock.after(-revision.approval_timeout)
            if book.process.waiting_since > due:
                return
            book.set(proposed=None, waits=None)
            self.stop(Text("nobody approved the revision of the plan in time"), ())
        elif proposed.approved:
            found = accept(book.process, revision)
            book.set(proposed=None, waits=None, waiting_since="")
            about = [one for one in book.records if one.action_id == proposed.reflection.action]
            made = found if isinstance(found, Stuck) else Revised(found, proposed)
            self._take_revision(made, about[-1] if about else None)
        else:
            book.process = decline(book.process, revision)
            book.enter(_P.EXECUTION)
        book.save()

    def _reflect(self, record: ActionRecord, trigger: ReflectionTrigger) -> None:
        book, reflection, planned = self._book, self._context.reflection, self._actions.find_planned(record)
        book.say(Component.REFLECTION, f"Evaluating action: {record.tool}")
        book.enter(_P.REFLECTION)
        action = planned or PlannedAction(task_id=record.task_id, tool=record.tool)
        with self._spans.span(Phase.EVALUATE_ACTION, {ACTION_ID: record.action_id}) as span:
            evaluation = reflection.evaluate_action(action, record)
            span.note({OUTCOME: str(evaluation.status or "")})
            if record.error:
                book.say(
                    Component.REFLECTION, f"Action failed: {record.error}", record.message, LogLevel.WARN
                )
            for issue in reflection.identify_issues(evaluation):
                book.say(Component.REFLECTION, "Issue identified", issue)
            book.set(since=0)
            # Only a person can find out what such a call has done.
            unknown = record.error is ErrorKind.UNKNOWN_OUTCOME
            # The model sees the first failure of a turn anyway, and says itself what to do next.
            turns = (
                planned is None
                and not unknown
                and trigger in {ReflectionTrigger.ERROR, ReflectionTrigger.UNEXPECTED}
                and book.process.failures <= 1
            )
            try:
                suggestion = reflection.suggest_revision(
                    book.process, book.records, evaluation, ask=not (turns or unknown), trigger=trigger
                )
            finally:
                book.charge("reflection")
        if turns and not self._has_helped(record, suggestion.strategy):
            suggestion = suggestion._replace(revision=None, recommendations=())
        self._follow(suggestion, record)

    def _has_helped(self, record: ActionRecord, strategy: str) -> bool:
        known = self._context.store.processes.recoveries(record.error) if record.error else ()
        return any(one.strategy == strategy and one.helped > one.failed for one in known)

    def _follow(self, suggestion: Suggestion, record: ActionRecord | None) -> None:
        book, found = self._book, suggestion.reflection
        if record is None or record.error is not None:
            words = found.root_cause_analysis or found.evaluation or found.feedback_summary or ""
            book.set(hint=self._context.mask(words))
        if suggestion.recommendations:
            why = Text("{why}", why=found.evaluation or found.error or "")
            if record is not None and record.message:
                why = Text("{tool} failed: {why}", tool=record.tool, why=record.message)
            self.stop(why, suggestion.recommendations)
        elif suggestion.revision is None or not suggestion.revision.changes:
            book.enter(_P.EXECUTION)
        else:
            book.say(Component.REFLECTION, "Plan revision suggested", suggestion.revision.reason or "")
            with self._spans.span(Phase.REVISE_PLAN, {RUN_ID: book.process.run_id}):
                self._revise(suggestion, record)

    def _revise(self, suggestion: Suggestion, record: ActionRecord | None) -> None:
        book, revision, now = self._book, self._planning.revision, self._context.clock.now()
        book.enter(_P.PLAN_REVISION)
        made = revise(book.process, suggestion, revision, self._context.rules, now)
        if revision.require_human_approval and isinstance(made, Revised):
            book.set(proposed=made.record, waits=Wait.REVISION, waiting_since=now)
        else:
            self._take_revision(made, record)

    def _take_revision(self, made: Revised | Stuck, record: ActionRecord | None) -> None:
        book = self._book
        if isinstance(made, Stuck):
            self.stop(made.reason, made.recommendations)
            return
        trying = _recovery(record, made.record) if record else None
        book.process = replace(made.process, trying=trying, ending=False)
        book.enter(_P.EXECUTION)


def _kinds(failed: Sequence[ActionRecord]) -> list[ErrorKind]:
    return list(dict.fromkeys(record.error for record in failed if record.error is not None))


def _recovery(record: ActionRecord, made: RevisionRecord) -> RecoveryRecord | None:
    """What is tried, if it is about an error and has a name."""
    if record.error is None or not made.strategy:
        return None
    return RecoveryRecord(kind=record.error, tool=record.tool, strategy=made.strategy, helped=0, failed=0)
