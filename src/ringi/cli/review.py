"""`ringi review`: look at a plan and decide."""

from typing import Final, NoReturn

import click

from ringi.cli.app import EXIT_DECLINED, EXIT_PERSON_NEEDED, EXIT_STALE, App, pass_app
from ringi.cli.ask import ask, is_yes, require_terminal
from ringi.cli.describing import describe, totals
from ringi.cli.results import carry_out
from ringi.domain.approval import ApprovalRequest, ApprovedPlan, TypedAnswer
from ringi.domain.events import Actor
from ringi.domain.plan import ALL_SPECS, PlanDocument, PlanStatus, risk_of
from ringi.domain.risk import Risk
from ringi.errors import BadTransition, Busy, InvalidSpecs, PlanChanged, Stale, Superseded
from ringi.plans.approving import TYPED_LENGTH
from ringi.text import Text

LONGEST_DIFF: Final = 300
_SHOWS_AGAIN: Final = frozenset("dus")
_CHOICES = Text("[a]pply  [d]rop a file  [r]eject  [s]how again  [q]uit")
_WHOLE = Text("[a]pply  [r]eject  [s]how again  [q]uit")
_UPDATE = Text("[u]pdate to the files as they are now  [d]rop a file  [r]eject  [s]how again  [q]uit")


@click.command()
@click.argument("plan", required=False)
@click.option("--plain", is_flag=True, help="As a dialogue, line by line.")
@pass_app
def review(app: App, plan: str | None, plain: bool) -> None:
    """Look at a plan and decide: apply it, drop a file, reject it.

    Without PLAN, the newest that waits. The answer has to be typed by a person at a terminal.
    """
    del plain  # the dialogue is the only form so far
    plan_id = app.workspace.parts.ledger.find(plan) if plan else _newest_waiting(app)
    if plan_id is None:
        app.ui.line(Text("Nothing waits for you."))
        if app.ui.as_json:
            app.ui.document({"waiting": []})
        return
    ref = app.workspace.parts.ledger.ref(plan_id)
    name, status = ref.name, ref.status
    if status is PlanStatus.COMPLETED:
        if app.ui.as_json:
            app.ui.document(ref)
        _tell_done(app, name, undone=ref.undone)
        return
    if status in {PlanStatus.SCHEDULED, PlanStatus.EXECUTING}:
        raise Busy(holder=Text("{plan} is being carried out", plan=name))
    require_terminal(app, f"ringi review {name}")
    _Review(app, plan_id, name).run()


def _newest_waiting(app: App) -> str | None:
    waiting = app.workspace.plan.list(limit=1, waiting=True)
    return waiting[0].id if waiting else None


def _tell_done(app: App, name: str, *, undone: bool) -> None:
    if undone:
        app.ui.line(Text("{plan} was carried out and undone.", plan=name))
        return
    app.ui.line(Text("{plan} was carried out already.", plan=name))
    app.ui.next_step(f"ringi undo {name}")


class _Review:
    def __init__(self, app: App, plan_id: str, name: str) -> None:
        self.app = app
        self.ui = app.ui
        self.tool = app.workspace.plan
        self.plan_id = plan_id
        self.name = name
        self.stale: tuple[str, ...] = ()

    def run(self) -> None:
        document = self._taken_up(self._show())
        if document.state.status is PlanStatus.APPROVED:
            self._carry_out_approved()
            return
        while True:
            answer = self._ask(self._choices(document))
            try:
                if self._answered(answer, document):
                    return
            except BadTransition:
                self.ui.line(
                    Text("{plan} was decided elsewhere meanwhile; nothing was done here.", plan=self.name)
                )
                self.ui.next_step(f"ringi show {self.name}")
                raise click.exceptions.Exit(EXIT_STALE) from None
            except Superseded:
                raise
            except PlanChanged as error:
                self.ui.error(error)
                document = self._show()
                continue
            except (InvalidSpecs, Stale) as error:
                self.ui.error(error)
            if answer in _SHOWS_AGAIN:
                document = self._show()

    def _taken_up(self, document: PlanDocument) -> PlanDocument:
        """Declined, rolled back or brought in from files: it waits again if the person says so."""
        if document.change and document.change.superseded_at:
            raise Superseded(plan=self.name)
        if document.state.status not in {PlanStatus.PROPOSED, PlanStatus.ABORTED}:
            return document
        if not is_yes(self._ask(Text("{plan} does not wait now. Take it up again? [y/n]", plan=self.name))):
            self._leave()
        if document.change:
            self.tool.mark_pending(self.plan_id, pending=True)
        else:
            self._take_up(document)
        return self._show()

    def _choices(self, document: PlanDocument) -> Text:
        if document.change:
            return _WHOLE
        return _UPDATE if self.stale else _CHOICES

    def _ask(self, question: Text) -> str:
        try:
            return ask(self.app, question)
        except EOFError:
            return "q"

    def _answered(self, answer: str, document: PlanDocument) -> bool:
        """Whether that was the end of it."""
        if answer == "a":
            return self._apply(document)
        if answer == "d" and not document.change:
            self._drop(document)
        elif answer == "u" and self.stale and not document.change:
            self._update(document)
        elif answer == "r":
            self._reject()
        elif answer == "q":
            self._leave()
        elif answer != "s":
            self.ui.line(Text("Please type one of the letters in brackets."))
        return False

    def _show(self) -> PlanDocument:
        document = self.tool.get(self.plan_id)
        preview = self.tool.preview(self.plan_id)
        self.ui.line()
        for part in preview.diffs:
            if part.diff:
                self.ui.diff(part.diff, most=LONGEST_DIFF)
                self.ui.line()
        self.stale = preview.stale
        describe(self.app, self.app.workspace.parts.ledger.ref(self.plan_id), document, preview)
        totals(self.app, document)
        return document

    def _apply(self, document: PlanDocument) -> bool:
        asked = self.tool.ask(self.plan_id, seen=document)
        if not isinstance(self.tool.outcome(self.plan_id), ApprovedPlan):  # by a standing approval, at once
            typed = self._typed(document, asked)
            if typed is None:
                return False
            who = self.app.workspace.parts.person.user()
            self.tool.approve(self.plan_id, who, ALL_SPECS, typed)
        carry_out(self.app, self.plan_id, self.name)
        return True

    def _carry_out_approved(self) -> None:
        answer = self._ask(Text("{plan} is approved already. Carry it out now? [y/n]", plan=self.name))
        if not is_yes(answer):
            self._leave()
        carry_out(self.app, self.plan_id, self.name)

    def _leave(self) -> NoReturn:
        self.ui.line(Text("Nothing was decided; {plan} still waits.", plan=self.name))
        raise click.exceptions.Exit(EXIT_PERSON_NEEDED)

    def _typed(self, document: PlanDocument, asked: ApprovalRequest) -> TypedAnswer | None:
        """For a high risk, the beginning of the digest of exactly what will be written is typed."""
        if risk_of(document, ALL_SPECS) is not Risk.HIGH:
            return TypedAnswer(asked.digest, "a")
        return digest_typed(self.app, asked)

    def _drop(self, document: PlanDocument) -> None:
        specs = document.state.action_specs
        answer = ask(self.app, Text("Which file? Its number, 1 to {count}:", count=len(specs)))
        if not (answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(specs)):
            self.ui.line(Text("There is no file with that number."), style="yellow")
            return
        if len(specs) == 1:
            self.ui.line(Text("It is the only file; reject the plan instead."), style="yellow")
            return
        dropped = specs[int(answer) - 1]
        kept = [spec.id for spec in specs if spec.id != dropped.id]
        reason = f"dropped {dropped.base.path}"
        self.tool.keep_specs(self.plan_id, kept, seen=document, actor=Actor.USER, reason=reason)
        self.ui.line(Text("{path} dropped; this is a new version of the plan.", path=dropped.base.path))

    def _take_up(self, document: PlanDocument) -> None:
        specs, reason = document.state.action_specs, "taken up again"
        if all(spec.validated for spec in specs):
            ids = [spec.id for spec in specs]
            self.tool.keep_specs(self.plan_id, ids, seen=document, actor=Actor.USER, reason=reason)
            return
        # Brought in from files: what the proposer saw stays the basis, so that a change since is noticed.
        basis = {file.path: file.before for spec in specs for file in spec.touched}
        bases = [spec.base for spec in specs]
        self.tool.set_specs_on(self.plan_id, bases, basis, actor=Actor.USER, reason=reason)

    def _update(self, document: PlanDocument) -> None:
        bases = [spec.base for spec in document.state.action_specs]
        reason = "brought to the files as they are now"
        report = self.tool.set_action_specs(self.plan_id, bases, actor=Actor.USER, reason=reason)
        if report.ok:
            words = Text("Measured against your files as they are; lines you wrote since may go.")
        else:
            words = Text("It does not fit your files as they are: {why}", why=report.issues[0])
        self.ui.line(words, style="yellow")

    def _reject(self) -> None:
        feedback = ask(self.app, Text("What should the proposer change?"))
        if not feedback:
            self.ui.line(Text("A reject needs a word of feedback; nothing was decided."), style="yellow")
            return
        self.tool.reject(self.plan_id, feedback)
        self.ui.line(Text("{plan} is sent back; your words stand in it.", plan=self.name))
        self.ui.next_step(f"ringi show {self.name}")
        raise click.exceptions.Exit(EXIT_DECLINED)


def digest_typed(app: App, asked: ApprovalRequest) -> TypedAnswer | None:
    """The digest is shown in full, and its beginning typed; None where something else was."""
    app.ui.line(Text("What you approve is sha256 {digest}", digest=asked.digest), indent=2)
    wanted = asked.digest[:TYPED_LENGTH]
    answer = ask(app, Text("HIGH risk. To apply it, type {wanted}:", wanted=wanted))
    if answer != wanted:
        app.ui.line(Text("That was not it; nothing was approved."), style="yellow")
        return None
    return TypedAnswer(asked.digest, answer)
