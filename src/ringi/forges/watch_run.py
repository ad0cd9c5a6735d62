"""A run whose result is reviewed on a forge: what is said there reaches it, and it goes on (PP-20)."""

from collections.abc import Iterator
from typing import Final

from ringi.approvals.feedback import rejections
from ringi.approvals.forge import ForgeTerms
from ringi.engine.instruction import language_of
from ringi.engine.run_state import OVER, RunPhase, StepStatus
from ringi.errors import Busy, ForgeFailed, ReviewRefused, RingiError
from ringi.forges.answers import find_used_comments
from ringi.forges.approve_review import approve_offer, approve_revision, find_approvals, yes_key
from ringi.forges.document import ChangeState, ReviewVerdict, mark_line
from ringi.forges.listen import ForgePage, Spoken, Verb, newest_verdicts
from ringi.forges.markdown import escape
from ringi.forges.misread_commands import add_to_progress, explain_misread, tell
from ringi.forges.offer import is_due, is_offered
from ringi.forges.progress import mark_of
from ringi.forges.run_feedback import find_start, list_unheard, record_words, send_back
from ringi.forges.watch_project import NewsKind, ProjectWatch, Standing, WatchTarget
from ringi.kernel.text import COMMIT_SHOWN, Text, in_language
from ringi.plans.document import PlanStatus
from ringi.runs.document import Run, StopCode
from ringi.runs.drive import RunOptions
from ringi.runs.revision import waiting_revision

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


def look_at_run(watch: ProjectWatch, run_id: str) -> Standing:
    """Raises ForgeFailed."""
    run = watch.workspace.store.runs.get(run_id)
    if run.forge is None or (run.phase in OVER and not is_due(run)):
        return Standing.OVER
    if run.phase in OVER:
        with watch.lock(run_id):
            return RunWatch(watch, run, run.forge, ForgePage(None)).tell_end()
    page = _drop_used(watch, run, watch.listener.page(run, run.forge))
    record_words(watch, run, run.forge, page)
    try:
        with watch.lock(run_id):
            found = RunWatch(watch, watch.workspace.store.runs.get(run_id), run.forge, page)
            found.decide()
    except Busy:
        return Standing.AT_WORK
    found.reply()
    _say_unclear(watch, found.run, found.about, page)
    return Standing.OVER if found.run.phase in OVER else Standing.WAITS


def _drop_used(watch: ProjectWatch, run: Run, page: ForgePage) -> ForgePage:
    """Without the comments that answered its planning session, or that it refused."""
    if not run.planning_session_id or not page.comments:
        return page
    used = find_used_comments(watch.workspace.store.events(run.planning_session_id))
    refused = watch.find_refused(run.planning_session_id, page.comments)
    left = (one for one in page.comments if one.id not in used and one.ref not in refused)
    return page._replace(comments=tuple(left))


class RunWatch:
    """A run as it is under its lock, and what the forge shows of it."""

    def __init__(self, watch: ProjectWatch, run: Run, terms: ForgeTerms, page: ForgePage) -> None:
        self._watch = watch
        self._workspace = watch.workspace
        self._id = run.run_id
        self._page = page
        self._before = [step.tree for step in run.steps]
        self.run = run
        mark = mark_of(run.planning_session_id, run.run_id)
        self.about = WatchTarget(run.run_id, terms, language_of(run.instruction), mark)

    @property
    def _head(self) -> str:
        return self.run.offer.head if self.run.offer else ""

    def tell_end(self) -> Standing:
        """Done once the forge shows the final state."""
        self._offer()
        return Standing.WAITS if is_due(self.run) else Standing.OVER

    def decide(self) -> None:
        run, stop = self.run, self.run.stop
        if run.phase in OVER:
            return
        if stop is None:  # approved and not begun, or its process died
            self._go_on()
        elif stop.reason_code is StopCode.REVISION_WAITS:
            self._decide_revision()
        elif is_offered(run) or (
            stop.reason_code is StopCode.APPROVAL_NEEDED and run.stopped_in is not RunPhase.PLANNING
        ):
            self._decide_result()
        elif said := list_unheard(self._workspace, run):
            # It may stop again before a step has heard them.
            key = f"tried {self._id} {' '.join(one.feedback_id for one in said)}"
            if stop.reason_code in _WITH_WORDS and self._watch.is_new(key):
                self._go_on(retry=run.phase is RunPhase.FAILED)

    # ------------------------------------------------------------------ its result waits for a review

    def _decide_result(self) -> None:
        change = self._page.change
        if self._is_decided_here():
            self._go_on()
        elif not self._stands():
            self.run = self._workspace.store.runs.get(self._id)
        elif requests := [*self._requests()]:
            by = self._watch.who(requests[-1])
            steps = send_back(self._workspace, self._id, self._page.all, by)
            names = ", ".join(step.step_id for step in steps)
            words = Text("{steps} sent back by {who}", steps=names, who=by)
            self._watch.say(self._id, _K.SENT_BACK, words, requests[-1])
            self._go_on()
        elif any(map(self._approve, self._approvals())):
            self._go_on()
        elif change and change.state is ChangeState.MERGED:
            words = Text("{url} was merged, and nobody has approved it. Approve it where the run is, with "
                         "ringi review, or end the run with: ringi cancel {run}",
                         url=change.url, run=self._id)  # fmt: skip
            if self._say_once(f"merged {change.number}", words):
                line = escape(in_language(self.about.language)(words))
                add_to_progress(self._watch, self.about, [line])

    def _is_decided_here(self) -> bool:
        """At a terminal, or before a crash."""
        for step in self.run.steps:
            if step.status is StepStatus.PROPOSED:
                state = self._workspace.plan.get_state(step.plan_id)
                if rejections(state.feedback, step.told_at) or state.status in _DECIDED:
                    return True
        return False

    def _stands(self) -> bool:
        """Whether the change there is the one that is offered, and open to decisions."""
        run, offer, change = self.run, self.run.offer, self._page.change
        if change is not None and change.state is ChangeState.CLOSED:
            words = Text("{url} was closed: reopen it there, or end the run with: ringi cancel {run}",
                         url=change.url, run=run.run_id)  # fmt: skip
            self._find_obstacle(f"closed {change.number}")
            self._say_once(f"closed {change.number}", words)
            return False
        pushed = offer is not None and offer.pushed == offer.head
        if offer and change and pushed and change.head_commit != offer.head:
            there = change.head_commit[:COMMIT_SHOWN] or "?"
            words = Text("{branch} is at {commit} there, which this run did not push: nothing is approved",
                         branch=change.head_branch, commit=there)  # fmt: skip
            if self._find_obstacle(f"moved {change.head_commit}"):
                self._say_once(f"moved {change.head_commit}", words)
            return False
        if (change is None or not pushed or (offer and offer.left)) and self._offer():
            return False
        if change is None or change.head_commit != self._head:
            return False
        if change.base_branch != run.base_branch:  # who approves it like that is told why it does not count
            words = Text("{url} goes into {found} there: set it back to {base}, then approve it again",
                         url=change.url, found=change.base_branch, base=run.base_branch)  # fmt: skip
            self._say_once(f"base {change.base_branch}", words)
        return True

    def _find_obstacle(self, key: str) -> str:
        """Why nothing can be decided there, which the run and its comment say from now on."""
        offer = self.run.offer
        if not (offer and offer.left) or self._watch.is_new(f"{self._id} {key}"):
            offer = self._watch.offer(self._id).offer
        return offer.left if offer else ""

    def _requests(self) -> Iterator[Spoken]:
        """Requested changes that no step has heard yet."""
        unheard = {one.ref for one in list_unheard(self._workspace, self.run)}
        asked = [
            one
            for one in newest_verdicts(self._page.reviews)
            if one.review and one.review.verdict is ReviewVerdict.CHANGES_REQUESTED
        ]
        asked += [one for one in self._page.comments if one.command and one.command.verb is Verb.REJECT]
        return (one for one in asked if one.ref in unheard and self._watch.listener.counts(one.author))

    def _approvals(self) -> Iterator[Spoken]:
        """Each yes to exactly what is offered; of another it is said once that it does nothing."""
        head = self._head
        for said in find_approvals(self._watch, self.run, self.about, self._page, head):
            digits = said.review.commit if said.review else said.command.words if said.command else ""
            if digits and head.startswith(digits):
                yield said
            else:
                why = Text("the approval is of {commit}; what is offered now is {head}",
                           commit=digits[:COMMIT_SHOWN] or "?", head=head[:COMMIT_SHOWN])  # fmt: skip
                self._watch.refuse(self.about, said, why)

    def _approve(self, said: Spoken) -> bool:
        """Whether the run can go on."""
        watch = self._watch
        try:
            steps = approve_offer(self._workspace, watch.host, self._id, said)
        except ReviewRefused as error:
            watch.refuse(self.about, said, Text(error.message, **error.details))
            return self._is_decided_here()  # a step before may be committed
        except ForgeFailed:
            watch.forget(yes_key(said, self._head))
            raise
        except RingiError as error:
            watch.say(self._id, _K.FAILED, Text(error.message, **error.details), said)
            return True
        words = Text("{steps} approved by {who}", steps=", ".join(steps), who=watch.who(said))
        watch.say(self._id, _K.APPROVED, words, said)
        return True

    # ------------------------------------------------------------------ a revision of its plan waits

    def _decide_revision(self) -> None:
        watch = self._watch
        timeout = self._workspace.config.planning.revision.approval_timeout
        found = waiting_revision(self._workspace, self.run, timeout)
        if found is None or found.is_expired:  # answered, or dropped
            self._go_on()
            return
        for said in find_approvals(watch, self.run, self.about, self._page, found.digest):
            if said.command and found.digest.startswith(said.command.words):
                approve_revision(watch.host, found, said)
                words = Text("the revision of the plan approved by {who}", who=watch.who(said))
                watch.say(self._id, _K.APPROVED, words, said)
                self._go_on()
                return
        for said in self._requests():
            if said.command:
                found.decline("")  # what should be different is feedback already
                words = Text("the revision of the plan declined by {who}", who=watch.who(said))
                watch.say(self._id, _K.SENT_BACK, words, said)
                self._go_on()
                return

    # ------------------------------------------------------------------ what follows

    def _go_on(self, *, retry: bool = False) -> None:
        run = self.run = self._watch.go_on(self._id, RunOptions(retry=retry))
        words = Text("completed") if run.phase is RunPhase.COMPLETED else Text("paused")
        if run.stop:
            code = str(run.stop.reason_code)
            words = Text("{why} ({code})", why=run.stop.why, code=code)
        self._watch.say(self._id, _K.WORKED, words, url=run.offer.url if run.offer else "")

    def _offer(self) -> str:
        """Why something is left to do there, which is told."""
        self.run = self._watch.offer(self._id)
        offer = self.run.offer
        if offer is None or not offer.left:
            return ""
        self._say_once(f"left {offer.left}", Text("{why}", why=offer.why_left))
        return offer.left

    def reply(self) -> None:
        """In the thread of each remark that a role was told, once: the commit that came of it."""
        watch, run, offer = self._watch, self.run, self.run.offer
        waits = run.stop is not None and run.stop.reason_code is StopCode.APPROVAL_NEEDED
        if offer is None or offer.pushed != offer.head:
            return
        if run.phase is not RunPhase.COMPLETED and (not waits or self._is_decided_here()):
            return
        rows = self._workspace.store.processes.feedback(self._id)
        told = {one.ref for one in rows if one.feedback_id in run.heard}
        ours = "\n".join(one.body for one in self._page.remarks if watch.listener.is_ours(one))
        for said in self._page.remarks:
            mark = f"run {self._id} reply {said.ref}"
            if said.remark is None or said.ref not in told or mark_line(mark) in ours:
                continue
            if watch.is_new(mark):
                made = _describe_result(offer.head, changed=[step.tree for step in run.steps] != self._before)
                answer = in_language(self.about.language)(made)
                watch.host.changes.answer(offer.number, said.remark, mark, answer)
                words = Text("answered {who} in the thread", who=watch.who(said))
                watch.say(self._id, _K.REPLIED, words, said)

    def _say_once(self, key: str, words: Text) -> bool:
        """Whether it had not been said before."""
        untold = self._watch.is_untold(f"{self._id} {key}")
        if untold:
            url = self.run.offer.url if self.run.offer else ""
            self._watch.say(self._id, _K.STANDS, words, url=url)
        return untold


def _describe_result(commit: str, *, changed: bool) -> Text:
    """Only the reviewer can say whether it is what they asked for."""
    if changed:
        return Text("Made again with this: {commit}", commit=commit)
    return Text("Made again with this, and nothing changed: {commit}", commit=commit)


def _say_unclear(watch: ProjectWatch, run: Run, about: WatchTarget, page: ForgePage) -> None:
    """What was meant to decide something and does not, in the comment that the run has."""
    listener, item = watch.listener, about.terms.item
    tried = [
        (said, words)
        for said in page.comments
        if (words := explain_misread(said)) and listener.is_person(said)
    ]
    since = find_start(watch, run, about.terms, page) if tried else ""
    fresh = (
        (said, words)
        for said, words in tried
        if (said.item != item or said.at >= since) and listener.counts(said.author)
    )
    add_to_progress(watch, about, tell(watch, about, fresh))
