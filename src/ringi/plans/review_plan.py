"""The review of a plan: what a person can do with it, what they are asked, what is refused."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from ringi.approvals.document import TypedAnswer
from ringi.approvals.feedback import Side
from ringi.approvals.prompter import NOT_APPROVED, agrees, ask_digest
from ringi.approvals.proof import require_typing
from ringi.errors import (
    BadTransition,
    ChangeRefused,
    LostRace,
    NotRequested,
    NotTaken,
    PlanChanged,
    RingiError,
    Stale,
    StateIncomplete,
    Superseded,
)
from ringi.kernel.lines import Style, TextSpan
from ringi.kernel.text import Text
from ringi.plans import edits
from ringi.plans import review_view as views
from ringi.plans.check import describe_end, failing_test
from ringi.plans.diff_view import Row, RowKind
from ringi.plans.document import PlanDocument, PlanStatus, comments_now
from ringi.plans.review_checks import ReviewCheckRuns
from ringi.plans.review_loop import (
    ACTS_OF_ANY,
    PlanPrompter,
    ReviewAct,
    ReviewChoice,
    ReviewEnd,
    ReviewLoop,
    StartChecks,
    ask_rejection,
)
from ringi.plans.review_merge import (
    AFTER_CONFLICTS,
    DECIDING,
    decision_of,
    describe_block,
    merge_if_clean,
    settle_conflict,
    update,
)
from ringi.plans.reviewed_plan import (
    ReviewedPlan,
    comment,
    comment_on,
    discard,
    drop,
    drop_hunk,
    find_undecided,
    is_dormant,
    open_again,
    path_of,
    remove_comment,
    rename_commit,
    rewrite,
    take_up,
)
from ringi.policy.risk_level import Risk
from ringi.tree.action_spec import ActionSpecExt
from ringi.tree.check_result import CheckResult

KEYS: Final[Mapping[str, ReviewAct]] = {
    "a": ReviewAct.APPLY,
    "m": ReviewAct.APPROVE,
    "c": ReviewAct.COMMENT,
    "r": ReviewAct.REJECT,
    "X": ReviewAct.DISCARD,
    "<": ReviewAct.TAKE_MINE,
    ">": ReviewAct.TAKE_THEIRS,
    "=": ReviewAct.TAKE_BOTH,
    "u": ReviewAct.TAKE_BACK,
    "t": ReviewAct.SHOW_SEEN,
    "T": ReviewAct.SHOW_DELTA,
    "i": ReviewAct.SHOW_INFO,
    "s": ReviewAct.SHOW_AGAIN,
    "q": ReviewAct.QUIT,
}
"""Those that mean the same on a full screen and in a dialogue."""
_WHOLE: Final = Text("It can only be dropped whole.")
_UNCHANGED: Final = Text("Nothing was changed.")


class PlanReview(ReviewLoop[ReviewedPlan, PlanPrompter]):
    """`agent` names the one that can continue its work on the plan, if there is one.

    `back` is what to say if it has just done so: then the review begins with what changed since.
    """

    def __init__(
        self,
        plan: ReviewedPlan,
        prompter: PlanPrompter,
        start_checks: StartChecks,
        agent: Callable[[], str] = lambda: "",
        back: Text | None = None,
    ) -> None:
        super().__init__(plan, prompter)
        self.plan = plan
        self.agent = agent
        self.checks = ReviewCheckRuns(plan, prompter, start_checks)
        self._back = back

    def prepare(self) -> TextSpan | None:
        # Another review merged it first, or the project is in no state for a change plan.
        with suppress(PlanChanged, LostRace, ChangeRefused, StateIncomplete):
            return self._bring_up_to_date()
        self.plan.look()
        return None

    def _bring_up_to_date(self) -> TextSpan | None:
        """Merges it with the files as they are now; says what was merged, or what is to be decided."""
        said = merge_if_clean(self.plan)
        if said is None:
            said = describe_block(self.plan) if find_undecided(self.plan) else self._back
        return None if said is None else TextSpan(said, Style.WARNING)

    def begin(self) -> bool:
        if is_dormant(self.plan):
            question = Text("{plan} is not open. Reopen it? [y/n]", plan=self.plan.name)
            if not agrees(self.prompter, question):
                return False
            take_up(self.plan)
            self.prompter.show()
        elif self._back is not None:
            _show_seen(self, ReviewChoice(ReviewAct.SHOW_SEEN))
        self.checks.warn_untested()
        return True

    def act(self, choice: ReviewChoice) -> ReviewEnd | None:
        if self.plan.status is PlanStatus.COMPLETED and choice.act not in _AFTERWARDS:
            if self.plan.ref.undone and choice.act is ReviewAct.APPLY:
                _open_again(self)
            else:
                self.prompter.say(Text("{plan} was carried out already.", plan=self.plan.name))
            return None
        if self.plan.conflicts and choice.act in AFTER_CONFLICTS:
            self.prompter.say(describe_block(self.plan), Style.WARNING)
            return None
        return _ACTS[choice.act](self, choice)

    def settle(self, error: RingiError) -> ReviewEnd | None:
        """Shows a changed plan before anything else can be done with it."""
        match error:
            case Superseded():
                self.plan.look()
                said = self.prepare()
                if said is None:
                    raise error
                self.prompter.show(said, anew=True)
            case BadTransition():
                return ReviewEnd.ELSEWHERE
            case PlanChanged() | LostRace() | NotRequested():
                self.plan.look()
                self.prompter.show(error=error)
            case Stale():
                self.plan.look()
                said = self.prepare()
                self.prompter.show(said, error=None if said else error, anew=True)
            case NotTaken():
                self.plan.look()
                self.prompter.show(error=error, anew=True)
            case _:
                self.prompter.fail(error)
        return None

    def close(self) -> None:
        self.checks.stop()

    def show_change(self, what: Text, risk_before: Risk) -> None:
        """After the person's change: shows the plan again before they can decide."""
        self.checks.stop()
        self.prompter.tell_checks(None)
        self.prompter.show(views.format_changed(what, self.plan.document, risk_before))
        self.checks.run_again()
        # The checks used the plan as it was when they began, which may not be the one shown.
        self.plan.require_as_shown()

    def spec(self, choice: ReviewChoice) -> ActionSpecExt | None:
        if not self.plan.specs:
            self.prompter.say(Text("It is only a text; there is nothing to change in it."))
            return None
        return self.plan.specs[choice.spec]

    def line(self, choice: ReviewChoice) -> tuple[ActionSpecExt, Row, bytes] | None:
        """The chosen line, with its whole file."""
        spec = self.spec(choice)
        if spec is None or choice.row is None:
            return None
        new = self.plan.sections()[choice.spec].content.new
        if new is None:
            self.prompter.refuse(_WHOLE)
            return None
        return spec, choice.row, new


def _apply(review: PlanReview, _: ReviewChoice) -> ReviewEnd | None:
    plan = review.plan
    if plan.status is PlanStatus.APPROVED:
        question = Text("{plan} is approved already. Carry it out now? [y/n]", plan=plan.name)
        return ReviewEnd.APPLY if agrees(review.prompter, question) else None
    return _ask_approval(review, "", ReviewEnd.APPLY)


def _open_again(review: PlanReview) -> None:
    """The old approval covers nothing of it: the person sees it against the current files, and decides."""
    plan, prompter, before = review.plan, review.prompter, review.plan.name
    question = Text("{plan} was undone. Open it again, as a new plan? [y/n]", plan=before)
    if agrees(prompter, question):
        open_again(plan)
        said = Text("{plan} does the same as {before}; [a] applies it", plan=plan.name, before=before)
        prompter.show(TextSpan(said, Style.STRONG), anew=True)


def _approve(review: PlanReview, _: ReviewChoice) -> ReviewEnd | None:
    if not review.checks.wait_for_end():
        return None
    note = (review.prompter.ask(Text("Your note on the approval:")) or "").strip()
    if not note:
        review.prompter.say(NOT_APPROVED)
        return None
    return _ask_approval(review, note, ReviewEnd.APPROVED)


def _ask_approval(review: PlanReview, note: str, end: ReviewEnd) -> ReviewEnd | None:
    plan, prompter = review.plan, review.prompter
    if not review.checks.wait_for_end():
        return None
    if (test := failing_test(plan.document)) is not None:
        prompter.say(_not_committed(plan.document, test), Style.WARNING)
        return None
    failed = any(result.exit_code for result in plan.document.state.checks)
    if failed and not agrees(prompter, Text("A check failed. Apply it all the same? [y/n]")):
        prompter.say(NOT_APPROVED)
        return None
    subject = _subject(plan)
    if subject and not _subject_settled(review, subject):
        prompter.say(NOT_APPROVED)
        return None
    asked = plan.ask()
    if asked is None:
        return end
    seen = f"--seen {plan.document.plan.version}"
    require_typing(plan.workspace.signatures, f"ringi approve {plan.name} {seen} --sign KEY")
    proof: TypedAnswer | None = TypedAnswer(asked.digest, "a")
    if plan.document.risk() is Risk.HIGH:
        proof = ask_digest(prompter, asked.digest)
    if proof is None:
        if _subject(plan) != subject:
            prompter.show()
        return None
    plan.approve(proof, note)
    return end


def _not_committed(document: PlanDocument, test: CheckResult) -> Text:
    return Text(
        "{command} {ended}: a step is committed only if its tests pass. Change it, take your change back "
        "with [u], or send it back with [r].",
        command=test.command,
        ended=describe_end(document, test),
    )


def _subject(plan: ReviewedPlan) -> str:
    """Of the commit that follows; empty if there is none."""
    commit = plan.document.state.commit
    return commit.message.partition("\n")[0] if commit else ""


def _subject_settled(review: PlanReview, subject: str) -> bool:
    """Shows the commit's subject to be edited; False if the person decides nothing now."""
    if review.plan.find_change():
        return True  # asking says what changed
    above = [Text("The commit's subject; Enter takes it as it is.")]
    typed = review.prompter.ask(Text("Subject:"), start=subject, above=above)
    if typed is None or not typed.strip():
        return False
    if typed.strip() != subject:
        rename_commit(review.plan, typed.strip())
    return True


def _drop(review: PlanReview, choice: ReviewChoice) -> None:
    spec = review.spec(choice)
    if spec is None:
        return
    if len(review.plan.specs) == 1:
        review.prompter.say(Text("It is the only file; reject the plan instead."), Style.WARNING)
        return
    risk = review.plan.document.risk()
    review.show_change(drop(review.plan, spec), risk)


def _drop_hunk(review: PlanReview, choice: ReviewChoice) -> None:
    spec = review.spec(choice)
    if spec is not None:
        risk = review.plan.document.risk()
        review.show_change(drop_hunk(review.plan, spec, choice.hunk), risk)


def _edit_line(review: PlanReview, choice: ReviewChoice) -> None:
    found = review.line(choice)
    if found is None:
        return
    spec, row, new = found
    lines = new.removesuffix(b"\n").split(b"\n")
    if not 1 <= row.new <= len(lines):
        review.prompter.refuse(Text("There is no line with that number."))
        return
    row = row._replace(data=lines[row.new - 1])
    before = edits.line_text(row)
    text = review.prompter.ask(Text("Line {line}:", line=row.new), start=before)
    if text is None or text == before:
        review.prompter.say(_UNCHANGED)
    else:
        _rewrite(review, spec, edits.replace_line(new, row, text))


def _add_line(review: PlanReview, choice: ReviewChoice) -> None:
    found = review.line(choice)
    if found is None:
        return
    spec, row, new = found
    text = review.prompter.ask(Text("A new line {line}:", line=row.new + 1))
    if text is not None:
        _rewrite(review, spec, edits.add_line_below(new, row, text))


def _delete_line(review: PlanReview, choice: ReviewChoice) -> None:
    found = review.line(choice)
    if found is not None:
        spec, row, new = found
        _rewrite(review, spec, edits.delete_line(new, row))


def _rewrite(review: PlanReview, spec: ActionSpecExt, new: bytes) -> None:
    risk = review.plan.document.risk()
    review.show_change(rewrite(review.plan, spec, new), risk)


def _edit_file(review: PlanReview, choice: ReviewChoice) -> None:
    spec, prompter = review.spec(choice), review.prompter
    if spec is None:
        return
    new = review.plan.sections()[choice.spec].content.new
    if new is None:
        prompter.say(_WHOLE)
        return
    made, code = prompter.edit(spec.base.path, new, choice.row.new if choice.row else 0)
    if code:
        why = Text("The editor ended with exit code {code}; nothing was changed.", code=code)
        prompter.say(why, Style.WARNING)
    elif made == new:
        prompter.say(_UNCHANGED)
    else:
        with edits.keep_on_error(spec.base.path, made):
            risk = review.plan.document.risk()
            what = rewrite(review.plan, spec, made)
        review.show_change(what, risk)


def _decide(review: PlanReview, choice: ReviewChoice) -> None:
    """About a conflict."""
    found, plan = decision_of(review.plan, review.prompter, choice), review.plan
    if found is None:
        return
    shown, risk = plan.document.plan, plan.document.risk()
    said = settle_conflict(plan, *found)
    if (plan.plan_id, plan.document.plan.version) != (shown.id, shown.version):
        review.show_change(said, risk)
    else:
        review.prompter.show(TextSpan(said, Style.WARNING))


def _comment(review: PlanReview, choice: ReviewChoice) -> None:
    spec, row, prompter = review.spec(choice), choice.row, review.prompter
    if spec is None or row is None:
        return
    side, line = (Side.OLD, row.old) if row.kind is RowKind.REMOVED else (Side.NEW, row.new)
    path = path_of(spec, side)
    before = comment_on(review.plan, path, line, side)
    question = Text("Your comment on {path}:{line}", path=path, line=line)
    if before is not None:
        question = Text("Your comment on {path}:{line} (empty: remove it)", path=path, line=line)
    given = prompter.ask(question, start=before.text if before else "")
    text = (given or "").strip()
    if before is not None and given is not None and not text:
        remove_comment(review.plan, before)
        prompter.say(Text("The comment was removed."))
    elif text and (before is None or text != before.text):
        comment(review.plan, path, line, text, side, instead_of=before)
        prompter.say(Text("Noted; it goes to the proposer with your answer."))


def _reject(review: PlanReview, _: ReviewChoice) -> ReviewEnd | None:
    """Comments are enough: nothing more has to be typed then."""
    otherwise = Text("see the comments") if comments_now(review.plan.document) else None
    ended = ask_rejection(review, Text("What should the proposer change?"), otherwise=otherwise)
    return ReviewEnd.RESUME if ended is ReviewEnd.REJECTED and _continues(review) else ended


def _continues(review: PlanReview) -> bool:
    """Whether the agent is to continue now. It is sent back already, so to leave here is a no."""
    agent = review.agent()
    if not agent:
        return False
    review.plan.look()  # that it was sent back is no news
    question = Text("Sent back. Let {agent} continue now, in this terminal? [y/n]", agent=agent)
    try:
        return agrees(review.prompter, question)
    except (EOFError, KeyboardInterrupt):
        return False


def _discard(review: PlanReview, _: ReviewChoice) -> ReviewEnd | None:
    question = Text("Throw {plan} away? No list shows it any more. [y/n]", plan=review.plan.name)
    if not agrees(review.prompter, question):
        return None
    discard(review.plan)
    return ReviewEnd.DISCARDED


def _take_back(review: PlanReview, _: ReviewChoice) -> None:
    plan, risk = review.plan, review.plan.document.risk()
    if plan.stale:
        said = update(plan)
        if plan.stale:
            review.prompter.show(TextSpan(said, Style.WARNING), anew=True)
        else:
            review.show_change(said, risk)
    elif plan.can_take_back:
        review.show_change(plan.take_back(), risk)
    else:
        review.prompter.say(Text("There is no change of yours to take back."))


def _show_delta(review: PlanReview, _: ReviewChoice) -> None:
    found = review.plan.versions.delta(review.plan.plan_id)
    if found is None:
        review.prompter.say(Text("No version of it was approved before."))
    elif not found.differences:
        version = found.version
        line = Text("Nothing changed since version {version}, which was approved.", version=version)
        review.prompter.say(line)
    else:
        review.prompter.show_delta(found)


def _show_seen(review: PlanReview, _: ReviewChoice) -> None:
    found = review.plan.versions.since_seen(review.plan.plan_id)
    if found is None:
        review.prompter.say(Text("You have not answered an earlier version of it; this is all new."))
    elif not found.differences:
        review.prompter.say(Text("Nothing changed since you last looked; [T] compares with the approval."))
    else:
        review.prompter.show_delta(found)


def _undo(review: PlanReview, _: ReviewChoice) -> ReviewEnd | None:
    if review.plan.status is PlanStatus.COMPLETED and not review.plan.ref.undone:
        return ReviewEnd.UNDO
    review.prompter.say(Text("It was not carried out; [u] takes back your last change."))
    return None


_ACTS: Final[Mapping[ReviewAct, Callable[[PlanReview, ReviewChoice], ReviewEnd | None]]] = {
    **ACTS_OF_ANY,
    **dict.fromkeys(DECIDING, _decide),
    ReviewAct.APPLY: _apply,
    ReviewAct.APPROVE: _approve,
    ReviewAct.DROP: _drop,
    ReviewAct.DROP_HUNK: _drop_hunk,
    ReviewAct.EDIT_LINE: _edit_line,
    ReviewAct.ADD_LINE: _add_line,
    ReviewAct.DELETE_LINE: _delete_line,
    ReviewAct.EDIT_FILE: _edit_file,
    ReviewAct.COMMENT: _comment,
    ReviewAct.REJECT: _reject,
    ReviewAct.DISCARD: _discard,
    ReviewAct.TAKE_BACK: _take_back,
    ReviewAct.SHOW_DELTA: _show_delta,
    ReviewAct.SHOW_SEEN: _show_seen,
    ReviewAct.STOP_CHECKS: lambda review, _: review.checks.stop(),
    ReviewAct.UNDO: _undo,
}
_AFTERWARDS: Final = frozenset(
    [*ACTS_OF_ANY, ReviewAct.SHOW_DELTA, ReviewAct.SHOW_SEEN, ReviewAct.STOP_CHECKS, ReviewAct.UNDO]
)
"""Acts that are possible after a plan was carried out."""
