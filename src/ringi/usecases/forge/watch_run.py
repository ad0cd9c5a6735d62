"""A run whose result is reviewed on a forge: what is said there reaches it, and it goes on (PP-20)."""

from collections.abc import Iterator
from typing import Final

from ringi.domain.forge import ChangeState, ReviewVerdict, mark_line
from ringi.domain.plan import PlanStatus
from ringi.domain.run import OVER, Run, RunPhase, StepStatus, StopCode
from ringi.errors import Busy, ForgeFailed, ReviewRefused, RingiError
from ringi.planning.prompts import language_of
from ringi.text import COMMIT_SHOWN, Text, in_language
from ringi.usecases.forge.answers import heard
from ringi.usecases.forge.approve_review import approve_offer, approve_revision, yes_key, yeses
from ringi.usecases.forge.listen import Page, Spoken, Verb, newest_verdicts
from ringi.usecases.forge.markdown import literal
from ringi.usecases.forge.offer import is_due, is_offered
from ringi.usecases.forge.progress import mark_of
from ringi.usecases.forge.send_back import send_back
from ringi.usecases.forge.take_words import take_words, unclear_words
from ringi.usecases.forge.unclear import add_to_progress, tell
from ringi.usecases.forge.watching import About, NewsKind, Standing, Watching
from ringi.usecases.revision import waiting_revision
from ringi.usecases.run import RunOptions
from ringi.views.run import stop_words

_K = NewsKind
_WITH_WORDS: Final = frozenset(
    [
        *(StopCode.HELP_NEEDED, StopCode.ROLE_FAILED, StopCode.ROLE_TIMEOUT, StopCode.NO_CHANGES),
        *(StopCode.OUT_OF_SCOPE, StopCode.STEP_TOO_LARGE, StopCode.INPUT_CONTRADICTION, StopCode.DECLINED),
        *(StopCode.STOP_CONDITION, StopCode.UNIT_TEST_FAILED, StopCode.E2E_FAILED, StopCode.TEST_TIMEOUT),
        StopCode.REVIEW_FINDINGS,
    ]
)
"""Where a person's words are enough to try again."""
_DECIDED: Final = frozenset([PlanStatus.APPROVED, PlanStatus.COMPLETED, PlanStatus.DISCARDED])


class RunWatch:
    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self._workspace = watching.workspace

    def look(self, run_id: str) -> Standing:
        """Raises ForgeFailed."""
        watching = self._watching
        run = self._workspace.sessions.run(run_id)
        if run.forge is None or run.phase in OVER:
            return self._told(run)
        page = self._unused(run, watching.listener.page(run, run.forge))
        take_words(watching, run, run.forge, page)
        try:
            with watching.hands.lock(run_id):
                run = self._decide(run_id, page)
        except Busy:
            return Standing.AT_WORK
        self._reply(run, page)
        _say_unclear(watching, run, page)
        return Standing.OVER if run.phase in OVER else Standing.WAITS

    def _unused(self, run: Run, page: Page) -> Page:
        """Without the comments that answered its planning session, or that it refused."""
        if not run.planning_session_id or not page.comments:
            return page
        used = heard(self._workspace.sessions.events(run.planning_session_id))
        refused = self._watching.refused(_about(run)._replace(id=run.planning_session_id), page.comments)
        left = (one for one in page.comments if one.id not in used and one.ref not in refused)
        return page._replace(comments=tuple(left))

    def _told(self, run: Run) -> Standing:
        """One that has ended, once the forge knows."""
        if not is_due(run):
            return Standing.OVER
        with self._watching.hands.lock(run.run_id):
            run = self._watching.hands.offer(run.run_id)
        if is_due(run) and run.offer and run.offer.left:
            self._once(run, f"left {run.offer.left}", Text("{why}", why=stop_words(run.offer.left)))
        return Standing.WAITS if is_due(run) else Standing.OVER

    def _decide(self, run_id: str, page: Page) -> Run:
        run = self._workspace.sessions.run(run_id)  # as it is under the lock
        stop = run.stop
        if run.phase in OVER:
            return run
        if stop is None:  # approved and not begun, or whoever worked on it is gone
            return self._go_on(run)
        if stop.reason_code is StopCode.REVISION_WAITS:
            return self._revision(run, page)
        waits = stop.reason_code is StopCode.APPROVAL_NEEDED and run.stopped_in is not RunPhase.PLANNING
        if waits or is_offered(run):
            return self._reviewed(run, page)
        said = self._watching.unheard(run)
        # It may stop again before anybody has heard them.
        key = f"tried {run.run_id} {' '.join(one.feedback_id for one in said)}"
        if said and stop.reason_code in _WITH_WORDS and self._watching.is_new(key):
            return self._go_on(run, retry=run.phase is RunPhase.FAILED)
        return run

    # ------------------------------------------------------------------ its result waits for a review

    def _reviewed(self, run: Run, page: Page) -> Run:
        if self._is_decided_here(run):
            return self._go_on(run)
        if not self._stands(run, page):
            return self._workspace.sessions.run(run.run_id)
        if requests := [*self._requests(run, page)]:
            by = self._watching.who(requests[-1])
            steps = send_back(self._workspace, run.run_id, page.all, by)
            names = ", ".join(step.step_id for step in steps)
            words = Text("{steps} sent back by {who}", steps=names, who=by)
            self._watching.say(run.run_id, _K.SENT_BACK, words, requests[-1])
            return self._go_on(run)
        for said in self._approvals(run, page):
            if self._approve(run, said):
                return self._go_on(run)
        if page.change and page.change.state is ChangeState.MERGED:
            words = Text("{url} was merged, and nobody has approved it. Approve it where the run is, with "
                         "ringi review, or end the run with: ringi cancel {run}",
                         url=page.change.url, run=run.run_id)  # fmt: skip
            if self._once(run, f"merged {page.change.number}", words):
                _add_there(self._watching, run, words)
        return run

    def _is_decided_here(self, run: Run) -> bool:
        """By somebody at a terminal, or before a crash."""
        for step in run.steps:
            if step.status is StepStatus.PROPOSED:
                state = self._workspace.plan.get_state(step.plan_id)
                told = step.attempts[-1].ended_at if step.attempts else ""
                declined = any(one.is_rejection and one.timestamp > told for one in state.feedback)
                if declined or state.status in _DECIDED:
                    return True
        return False

    def _stands(self, run: Run, page: Page) -> bool:
        """Whether the change there is the one that is offered, and open to decisions."""
        offer, change = run.offer, page.change
        if change is not None and change.state is ChangeState.CLOSED:
            words = Text("{url} was closed: reopen it there, or end the run with: ringi cancel {run}",
                         url=change.url, run=run.run_id)  # fmt: skip
            _left_there(self._watching, run, f"closed {change.number}")
            self._once(run, f"closed {change.number}", words)
            return False
        pushed = offer is not None and offer.pushed == offer.head
        if offer and change and pushed and change.head_commit != offer.head:
            there = change.head_commit[:COMMIT_SHOWN] or "?"
            words = Text("{branch} is at {commit} there, which this run did not push: nothing is approved",
                         branch=change.head_branch, commit=there)  # fmt: skip
            if _left_there(self._watching, run, f"moved {change.head_commit}"):
                self._once(run, f"moved {change.head_commit}", words)
            return False
        if change is None or not pushed or (offer and offer.left):
            run = self._watching.hands.offer(run.run_id)
            if run.offer and run.offer.left:
                self._once(run, f"left {run.offer.left}", Text("{why}", why=stop_words(run.offer.left)))
                return False
            if change is None or run.offer is None or change.head_commit != run.offer.head:
                return False
        if change.base_branch != run.base_branch:  # who approves it like that is told why it does not count
            words = Text("{url} goes into {found} there: set it back to {base}, then approve it again",
                         url=change.url, found=change.base_branch, base=run.base_branch)  # fmt: skip
            self._once(run, f"base {change.base_branch}", words)
        return True

    def _requests(self, run: Run, page: Page) -> Iterator[Spoken]:
        """Requested changes that nobody has worked on yet."""
        unheard = {one.ref for one in self._watching.unheard(run)}
        for said in newest_verdicts(page.reviews):
            asked = said.review and said.review.verdict is ReviewVerdict.CHANGES_REQUESTED
            if asked and said.ref in unheard and self._watching.listener.counts(said.author):
                yield said
        for said in page.comments:
            asked = said.command and said.command.verb is Verb.REJECT
            if asked and said.ref in unheard and self._watching.listener.counts(said.author):
                yield said

    def _approvals(self, run: Run, page: Page) -> Iterator[Spoken]:
        """Each yes to exactly what is offered; of another it is said once that it does nothing."""
        head = run.offer.head if run.offer else ""
        for said in yeses(self._watching, run, _about(run), page, head):
            digits = said.review.commit if said.review else said.command.words if said.command else ""
            if digits and head.startswith(digits):
                yield said
            else:
                why = Text("the approval is of {commit}; what is offered now is {head}",
                           commit=digits[:COMMIT_SHOWN] or "?", head=head[:COMMIT_SHOWN])  # fmt: skip
                self._watching.refuse(_about(run), said, why)

    def _approve(self, run: Run, said: Spoken) -> bool:
        """Whether the run can go on."""
        watching = self._watching
        try:
            steps = approve_offer(self._workspace, watching.host, run.run_id, said)
        except ReviewRefused as error:
            watching.refuse(_about(run), said, Text(error.message, **error.details))
            return self._is_decided_here(run)  # a step before may be committed
        except ForgeFailed:
            watching.again(yes_key(said, run.offer.head if run.offer else ""))
            raise
        except RingiError as error:
            watching.say(run.run_id, _K.FAILED, Text(error.message, **error.details), said)
            return True
        words = Text("{steps} approved by {who}", steps=", ".join(steps), who=watching.who(said))
        watching.say(run.run_id, _K.APPROVED, words, said)
        return True

    # ------------------------------------------------------------------ a revision of its plan waits

    def _revision(self, run: Run, page: Page) -> Run:
        watching = self._watching
        found = waiting_revision(self._workspace, run, watching.hands.revision_timeout)
        if found is None or found.is_expired:  # somebody has answered, or it is dropped
            return self._go_on(run)
        for said in yeses(watching, run, _about(run), page, found.digest):
            if said.command and found.digest.startswith(said.command.words):
                approve_revision(watching.host, found, said)
                words = Text("the revision of the plan approved by {who}", who=watching.who(said))
                watching.say(run.run_id, _K.APPROVED, words, said)
                return self._go_on(run)
        for said in self._requests(run, page):
            if said.command:
                found.decline("")  # what should be different is feedback already
                words = Text("the revision of the plan declined by {who}", who=watching.who(said))
                watching.say(run.run_id, _K.SENT_BACK, words, said)
                return self._go_on(run)
        return run

    # ------------------------------------------------------------------ what follows

    def _go_on(self, run: Run, *, retry: bool = False) -> Run:
        run = self._watching.hands.go_on(run.run_id, RunOptions(retry=retry))
        words = Text("completed") if run.phase is RunPhase.COMPLETED else Text("paused")
        if run.stop:
            code = str(run.stop.reason_code)
            words = Text("{why} ({code})", why=stop_words(run.stop.message), code=code)
        self._watching.say(run.run_id, _K.WORKED, words, url=run.offer.url if run.offer else "")
        return run

    def _reply(self, run: Run, page: Page) -> None:
        """In the thread of each remark that was worked in, once: the commit that has it."""
        watching, offer = self._watching, run.offer
        if offer is None or offer.pushed != offer.head or not self._is_offered(run):
            return
        rows = self._workspace.sessions.feedback(run.run_id)
        told = {one.ref for one in rows if one.feedback_id in run.heard}
        ours = "\n".join(one.body for one in page.remarks if watching.listener.is_ours(one))
        for said in page.remarks:
            mark = f"run {run.run_id} reply {said.ref}"
            if said.remark is None or said.ref not in told or mark_line(mark) in ours:
                continue
            if watching.is_new(mark):
                say = in_language(language_of(run.instruction))
                answer = say(Text("Worked in: {commit}", commit=offer.head))
                watching.host.changes.answer(offer.number, said.remark, mark, answer)
                words = Text("answered {who} in the thread", who=watching.who(said))
                watching.say(run.run_id, _K.REPLIED, words, said)

    def _is_offered(self, run: Run) -> bool:
        """Whether what is there is what its steps made last."""
        waits = run.stop is not None and run.stop.reason_code is StopCode.APPROVAL_NEEDED
        return run.phase is RunPhase.COMPLETED or (waits and not self._is_decided_here(run))

    def _once(self, run: Run, key: str, words: Text) -> bool:
        """Whether nobody was told before."""
        untold = self._watching.hands.is_untold(f"{run.run_id} {key}")
        if untold:
            url = run.offer.url if run.offer else ""
            self._watching.say(run.run_id, _K.STANDS, words, url=url)
        return untold


def _about(run: Run) -> About:
    assert run.forge is not None  # noqa: S101  # only such runs are watched
    return About(run.run_id, run.forge, language_of(run.instruction))


def _say_unclear(watching: Watching, run: Run, page: Page) -> None:
    """What was meant to decide something and does not, in the comment that the run has."""
    about = _about(run)
    lines = tell(watching, about, unclear_words(watching, run, about.terms, page))
    add_to_progress(watching, about, mark_of(run.planning_session_id, run.run_id), lines)


def _add_there(watching: Watching, run: Run, words: Text) -> None:
    """In the comment that the run has."""
    about = _about(run)
    line = literal(in_language(about.language)(words))
    add_to_progress(watching, about, mark_of(run.planning_session_id, run.run_id), [line])


def _left_there(watching: Watching, run: Run, key: str) -> str:
    """Why nothing can be decided there, which the run and its comment say from now on."""
    left = run.offer.left if run.offer else ""
    if not left or watching.is_new(f"{run.run_id} {key}"):
        offer = watching.hands.offer(run.run_id).offer
        left = offer.left if offer else ""
    return left
