"""The one comment on an issue or change that says how far a request is, and what a person can do now.

A function for each state gives its text and whether a person is needed. It is in the language of the request.
How questions are answered there is in `answers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.approvals.forge import ForgeTerms
from ringi.approvals.view import change_name
from ringi.engine.instruction import language_of
from ringi.engine.run_state import OVER, STOPPED, RunPhase, StepStatus
from ringi.errors import ForgeFailed, NoExtra, NoForge, NoForgeToken
from ringi.forges.document import approval_command, mark_line
from ringi.forges.markdown import as_block, escape, escape_line
from ringi.forges.terms import reviews_count
from ringi.kernel.lines import Line
from ringi.kernel.text import COMMIT_SHOWN, Text, in_language
from ringi.ledger.subject import short
from ringi.runs.changed_steps import follow_plans
from ringi.runs.criteria import criteria, summary
from ringi.runs.document import Run, RunEvent, StepState, StopCode
from ringi.runs.report import status_of
from ringi.runs.revision import waiting_revision
from ringi.runs.revision_view import proposal_lines
from ringi.runs.view import step_facts
from ringi.sessions.document import (
    ApprovalPending,
    ApprovedSession,
    CancelledSession,
    DecisionPending,
    DecisionPoint,
    FailedPending,
    Question,
    QuestionPending,
)
from ringi.sessions.operations import pending, state_of
from ringi.sessions.view import review_lines

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace
    from ringi.engine.run_plan import RunPlan
    from ringi.runs.revision import ReviewedRevision
    from ringi.sessions.document import StoredSession

Say = Callable[[Text], str]
DIGEST_SHOWN: Final = 16
"""Digits of what is approved that a person types; 12 are enough."""
LONGEST: Final = 60_000
"""Characters of a comment; GitHub takes a few more."""
_DECIDED_HERE: Final = Text("A comment here decides nothing: a person decides it where the run is.")
_REJECT: Final = "```text\n/ringi reject …\n```"
_MARKS: Final = {StepStatus.DONE: "[x]"}


class ProgressComment(NamedTuple):
    body: str
    person_needed: bool


def mark_of(session_id: str, run_id: str) -> str:
    """What the comment is found again by: a session and its run share it."""
    return f"session {session_id} progress" if session_id else f"run {run_id} progress"


# Of a session.


def describe_session(stored: StoredSession, digest: str = "") -> ProgressComment:
    """`digest` is of what a person would approve now; without it the comment names no way to."""
    say, due = in_language(stored.facts.language), pending(state_of(stored))
    match due:
        case QuestionPending() | DecisionPending():
            return show_questions(stored, say)
        case ApprovalPending():
            return show_plan(stored, due, digest, say)
        case FailedPending(error=error):
            why = escape_line(error)
            return _progress(
                Text("Planning failed"), [why, _format_resume(stored, say)], say, person_needed=True
            )
        case ApprovedSession(run_id=run_id):
            words = Text("Its run is {run}.", run=f"`{run_id}`")
            return _progress(Text("The plan is approved"), [say(words)], say)
        case CancelledSession():
            return _progress(Text("Cancelled"), [say(Text("Nothing of it will be done."))], say)
    return _progress(Text("Being planned"), [say(Text("Questions or a plan follow here."))], say)


def show_questions(stored: StoredSession, say: Say) -> ProgressComment:
    """The open questions or decisions, with the number that an answer begins with."""
    session = stored.session
    questions = [*enumerate(session.questions, 1)][session.current_question_index :]
    parts = [_question(number, one) for number, one in questions]
    example = "1. …"
    if not parts:
        open_ = [*enumerate(session.decisions, 1)][session.current_decision_index :]
        parts = [_decision(number, one, say) for number, one in open_]
        example = "d1. 2\n…"
    how = Text(
        "Answer in a comment that begins with the number, one line for each; options by number or in words. "
        "A decision's reason goes below its line. {skip} leaves a question open. Only answers of people "
        "who may write to this project count, and none of the account that writes this.",
        skip="`/ringi skip 1`",
    )
    parts += [say(how), f"```text\n{example}\n```", _format_resume(stored, say)]
    return _progress(Text("Questions before this can be planned"), parts, say, person_needed=True)


def _question(number: int, asked: Question) -> str:
    why = [f"_{escape_line(asked.context)}_"] if asked.context else []
    rows = [f"  - **{at}** {escape_line(one)}" for at, one in enumerate(asked.options or (), 1)]
    return "\n".join([f"**{number}.** {escape(asked.question)}", *why, "", *rows]).rstrip()


def _decision(number: int, asked: DecisionPoint, say: Say) -> str:
    rows = []
    for at, one in enumerate(asked.options, 1):
        more = f" ({say(Text('recommended'))})" if one.recommendation else ""
        rows.append(f"  - **{at}** {escape_line(one.name)}{more}: {escape_line(one.description)}")
    return "\n".join([f"**d{number}.** {escape_line(asked.topic)}", "", *rows])


def show_plan(stored: StoredSession, due: ApprovalPending, digest: str, say: Say) -> ProgressComment:
    """What a person would approve, whole; if that is too long for a comment, it is approved elsewhere."""
    lines = list(plain_lines(review_lines(stored, due), say))
    whole = as_block(lines[1:] if not lines[0] else lines)
    if len(whole) > LONGEST:
        words = Text(
            "The plan is too long for a comment: it is read and approved at the terminal, with the command "
            "below. Or a person who may write to this project sends it back, for instance for a smaller part:"
        )
        parts = [say(words), _REJECT]
    else:
        parts = [say(Text("This is what would be done. Nothing has been changed yet.")), whole]
    if digest and len(whole) <= LONGEST:
        words = Text(
            "To approve exactly this, a person who may write to this project comments the first of these; to "
            "send it back, the second, with what should be different."
        )
        parts += [say(words), *_commands(digest)]
    parts.append(_format_resume(stored, say))
    return _progress(Text("A plan waits for approval"), parts, say, person_needed=True)


def _commands(digest: str) -> Iterator[str]:
    """Each to be copied by itself: both in one comment approve nothing."""
    yield f"```text\n{approval_command(digest[:DIGEST_SHOWN])}\n```"
    yield _REJECT


def _format_resume(stored: StoredSession, say: Say) -> str:
    command = f"`ringi plan --resume {short(stored.session.session_id)}`"
    return say(Text("At the terminal: {command}", command=command))


# Of a run.


def describe_run(
    run: Run,
    plan: RunPlan | None,
    revision: ReviewedRevision | None = None,
    *,
    counts: bool = True,
) -> ProgressComment:
    """`revision`: the one of how a step is made that waits for a person. `counts`: a yes there does."""
    say = in_language(language_of(run.instruction))
    if run.phase is RunPhase.COMPLETED:
        return show_result(run, plan, say)
    if run.phase is RunPhase.CANCELLED:
        return show_cancelled(run, plan, say)
    if revision is not None:
        return show_revision(run, plan, revision, say, counts=counts)
    if run.phase in STOPPED:
        waits = run.stop is not None and run.stop.reason_code is StopCode.APPROVAL_NEEDED
        if waits and run.offer and run.offer.number and not run.offer.left:
            return show_offer(run, plan, say, counts=counts)
        return show_stop(run, plan, say)
    return show_work(run, plan, say)


def show_work(run: Run, plan: RunPlan | None, say: Say) -> ProgressComment:
    """No person is needed."""
    return _progress(Text("At work"), [*_steps(run, plan, say), *_where(run, say)], say)


def show_stop(run: Run, plan: RunPlan | None, say: Say) -> ProgressComment:
    """It cannot go on without a person; the output of what failed stays on the machine of the run."""
    parts = []
    if run.stop:
        why = escape_line(say(run.stop.why))
        parts.append(f"**{run.stop.step_id}:** {why}" if run.stop.step_id else why)
        action = run.stop.next_action
        known = f"`{action}`" if action.startswith("ringi ") and "`" not in action else escape_line(
            say(run.stop.todo))  # fmt: skip
        parts.append(f"→ {known}")
    return _progress(
        Text("A person is needed"), [*parts, *_steps(run, plan, say), *_where(run, say)], say,
        person_needed=True,
    )  # fmt: skip


def show_revision(
    run: Run, plan: RunPlan | None, found: ReviewedRevision, say: Say, *, counts: bool = True
) -> ProgressComment:
    """The step rests until a person decides or the time for that is up."""
    parts = [as_block(plain_lines(proposal_lines(found.process, found.record, found.lines), say))]
    words = Text(
        "To approve exactly this, a person who may write to this project comments the first of these; to "
        "decline it, the second, with what should be different. Without an answer in time it is dropped."
    )
    parts += [say(words), *_commands(found.digest)] if counts else [say(_DECIDED_HERE)]
    parts += [*_steps(run, plan, say), *_where(run, say)]
    return _progress(Text("A revision of the plan waits for approval"), parts, say, person_needed=True)


def show_offer(run: Run, plan: RunPlan | None, say: Say, *, counts: bool = True) -> ProgressComment:
    """Its steps are in a pull or merge request and wait for a review."""
    change = change_name(run.forge.project) if run.forge else Text("pull request")
    words = Text(
        "The result is in a {change} and waits for a review. An approving review of its newest commit "
        "approves it; requested changes are worked in.",
        change=change,
    )
    if not counts:
        words = Text(
            "The result is in a {change}. A review there approves nothing here: a person approves it where "
            "the run is, with {command}; requested changes are worked in.",
            change=change,
            command="`ringi review`",
        )
    parts = [say(words), *_where(run, say), *_steps(run, plan, say)]
    return _progress(Text("Ready for review"), parts, say, person_needed=True)


def show_result(run: Run, plan: RunPlan | None, say: Say) -> ProgressComment:
    parts = [*_where(run, say), *_steps(run, plan, say)]
    if run.offer and run.offer.number and not run.undone:
        change = change_name(run.forge.project) if run.forge else Text("pull request")
        words = Text("It is approved. Mark the {change} as ready and merge it there.", change=change)
        parts.insert(0, say(words))
    if plan is not None:
        parts.append(escape_line(say(summary(criteria(run, plan)))))
    return _progress(Text("Undone") if run.undone else Text("Done"), parts, say)


def show_cancelled(run: Run, plan: RunPlan | None, say: Say) -> ProgressComment:
    words = Text("Nothing more of it will be done.")
    if run.replaced_by:
        words = Text("It is planned anew as {run}.", run=f"`{run.replaced_by}`")
    return _progress(Text("Cancelled"), [say(words), *_steps(run, plan, say)], say)


def _steps(run: Run, plan: RunPlan | None, say: Say) -> list[str]:
    titles = {one.step_id: one.title for one in plan.steps} if plan else {}
    rows = [_step(run, one, titles.get(one.step_id, ""), say) for one in run.steps]
    return ["\n".join(rows)] if rows else []


def _step(run: Run, state: StepState, title: str, say: Say) -> str:
    facts = " · ".join(escape_line(say(one)) for one in step_facts(state, status_of(run, state)))
    return f"- {_MARKS.get(state.status, '[ ]')} **{state.step_id}** {escape_line(title)} — {facts}"


def _where(run: Run, say: Say) -> Iterator[str]:
    if run.offer and run.offer.url:
        head = f"`{run.offer.head[:COMMIT_SHOWN]}`"
        yield say(Text("{url} at commit {commit}", url=run.offer.url, commit=head))
    if run.phase not in OVER:
        command = f"`ringi status {run.run_id}`"
        yield say(Text("At the terminal: {command}", command=command))


# Common to all.


def _progress(title: Text, parts: Iterable[str], say: Say, *, person_needed: bool = False) -> ProgressComment:
    body = "\n\n".join([f"### {say(title)}", *filter(None, parts)])
    return ProgressComment(body if len(body) <= LONGEST * 1.05 else f"{body[:LONGEST]}\n\n…", person_needed)


def plain_lines(lines: Iterable[Line], say: Say) -> Iterator[str]:
    """Lines of a view without styles."""
    for one in lines:
        words = (say(span.text) if isinstance(span.text, Text) else span.text for span in one.spans)
        rows = (one.mark + "".join(words)).split("\n")
        hanging = " " * (one.indent + len(one.mark))
        yield " " * one.indent + rows[0]
        yield from (hanging + row for row in rows[1:])


# Said there.


def tell_session(
    workspace: Workspace, session_id: str, *, only_known: bool = False, more: Sequence[str] = ()
) -> bool:
    """Writes or edits the comment, and sets the label. `only_known`: if there is a comment already.

    `more` goes below it. Whether a comment there can decide what is due.

    Raises NoForge, NoForgeToken, ForgeFailed.
    """
    stored = workspace.planning.get(session_id)
    terms = stored.facts.forge
    if terms is None or not terms.item or not (terms.comments or terms.label):
        return False
    mark = mark_of(stored.session.session_id, "")
    if only_known:
        written = workspace.forges.host(terms.project).items.comments(terms.item)
        if not any(mark_line(mark) in one.body for one in written):
            return False
    in_review = isinstance(pending(state_of(stored)), ApprovalPending)
    digest = workspace.planning.request(session_id).digest if in_review and reviews_count(workspace) else ""
    found = describe_session(stored, digest)
    _write(workspace, terms, mark, found._replace(body="\n\n".join([found.body, *more])))
    can_approve = bool(digest) and approval_command(digest[:DIGEST_SHOWN]) in found.body
    return terms.comments and (can_approve or not in_review)


def tell_run(workspace: Workspace, run: Run) -> None:
    """The same for a run: a session and its run share the comment."""
    if run.forge is not None:
        plan, revision = workspace.store.runs.plan(run.run_id), waiting_revision(workspace, run)
        now = follow_plans(workspace.store, run, plan)
        shown = describe_run(now, plan, revision, counts=reviews_count(workspace))
        _write(workspace, run.forge, mark_of(run.planning_session_id, run.run_id), shown)


def _write(workspace: Workspace, terms: ForgeTerms, mark: str, progress: ProgressComment) -> None:
    """As far as the terms have a comment and a label."""
    if not terms.item:
        return
    items = workspace.forges.host(terms.project).items
    if terms.comments:
        items.write(terms.item, mark, workspace.mask(progress.body))
    if terms.label:
        items.label(terms.item, terms.label, on=progress.person_needed)


def tell_when_working(
    workspace: Workspace, on_event: Callable[[RunEvent], None]
) -> Callable[[RunEvent], None]:
    """Once work begins, also says on the item of the run that no person is needed for now.

    A forge that does not answer stops no work.
    """
    told = False

    def hear(event: RunEvent) -> None:
        nonlocal told
        if not told and event.step_id and event.run.phase is RunPhase.EXECUTING:
            told = True
            with suppress(ForgeFailed, NoExtra, NoForge, NoForgeToken):
                tell_run(workspace, event.run)
        on_event(event)

    return hear
