"""Drives a run for a command, until a person has to decide; they are asked in place."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Final, TextIO

import click

from ringi.approvals.document import Proof, TypedAnswer
from ringi.approvals.prompter import ask_approval, ask_digest
from ringi.cli.app import EXIT_DECLINED, EXIT_PERSON_NEEDED, EXIT_STALE, App
from ringi.cli.ask import LinePrompter, sign_statement
from ringi.cli.commands.grant import grant_for_run
from ringi.cli.commands.review import can_be_full, decide
from ringi.cli.progress import ProgressPace, StatusLine
from ringi.cli.runs import Looked, document, lock_of, reading, show
from ringi.cli.ui import help_lines, width
from ringi.engine.instruction import title_of
from ringi.engine.run_state import RunPhase, StepStatus
from ringi.errors import Interrupted, NotFound, Refused, RevisionExpired, RingiError
from ringi.forges.offer import is_due, is_offered, offer_run
from ringi.forges.progress import tell_when_working
from ringi.forges.terms import require_approved_so
from ringi.kernel.lines import Line as ViewLine
from ringi.kernel.lines import Style, TextSpan, line
from ringi.kernel.process.progress import watch_progress
from ringi.kernel.text import Text, translate
from ringi.models.budget_view import forecast_line
from ringi.plans import words
from ringi.plans.reviewed_plan import ReviewedPlan
from ringi.policy.risk_level import Risk
from ringi.runs.changed_steps import RESULT_WAITS
from ringi.runs.criteria import results_of
from ringi.runs.document import Review, Run, RunEvent, StepState, StopCode
from ringi.runs.drive import RunOptions, run_steps
from ringi.runs.model_budget import forecast_run
from ringi.runs.report import STEP
from ringi.runs.revision import ReviewedRevision
from ringi.runs.revision_view import proposal_lines
from ringi.runs.start import ReviewedRun, covering
from ringi.runs.view import finding_line, step_facts
from ringi.sessions.run_plan_view import plan_lines

_REFUSED: Final = frozenset(
    [
        *(StopCode.NO_GIT, StopCode.UNBORN_BRANCH, StopCode.DETACHED_HEAD, StopCode.BASE_BRANCH_MISSING),
        *(StopCode.DIRTY_WORKTREE, StopCode.WORK_BRANCH_EXISTS, StopCode.GH_FORBIDDEN, StopCode.OUT_OF_SCOPE),
        *(StopCode.STEP_TOO_LARGE, StopCode.UNFIT_CHANGES, StopCode.UNIT_TEST_FAILED, StopCode.E2E_FAILED),
        *(StopCode.TEST_TIMEOUT, StopCode.COMMIT_REWRITTEN, StopCode.MAIN_BRANCH),
    ]
)
_ASKED: Final = frozenset([StopCode.APPROVAL_NEEDED, StopCode.REVISION_WAITS])
_CHOICES: Final = Text("[a]pprove all  [1] look into one  [r]eject one  [s]how again  [?]  [q]uit")
_HELP: Final = (
    ("a", Text("approve every step that is listed: each becomes a commit")),
    ("1", Text("look into step 1: see its diff, drop or edit parts of it, approve or reject it alone")),
    ("r", Text("send a step back with what should be different; the steps after it are made anew")),
    ("s", Text("show the list again")),
    ("q", Text("quit; nothing is decided, and ringi continue asks again")),
)


def exit_code(run: Run) -> int:
    stop = run.stop
    if run.phase is RunPhase.CANCELLED or (stop and stop.reason_code is StopCode.DECLINED):
        return EXIT_DECLINED
    if stop is None or run.phase is RunPhase.COMPLETED:
        return 0
    if stop.reason_code is StopCode.BRANCH_MOVED:
        return EXIT_STALE
    if stop.reason_code in _REFUSED:
        return Refused.exit_code
    return 1 if run.phase is RunPhase.FAILED else EXIT_PERSON_NEEDED


class RunDriver:
    def __init__(
        self,
        ctx: click.Context,
        run_id: str,
        options: RunOptions,
        key: Path | None = None,
        unattended: Path | None = None,
    ) -> None:
        """A key approves the plan; the results are asked for all the same, unless one signs for them, too."""
        self._ctx = ctx
        self._app: App = ctx.obj
        self._ui = self._app.ui
        self._run_id = run_id
        self._options = options
        self._key = key
        self._unattended = unattended
        self._revisions = RevisionDecisions(self._app, run_id, key)

    def go(self) -> int:
        """The exit code."""
        require_approved_so(self._app.workspace, self._run_id, self._options.review)
        try:
            amends = self._options.allow or self._options.tests
            if is_due(self._app.workspace.planning.run(self._run_id)) and not amends:
                return self._tell(_offer(self._app, self._run_id))
            self._tell_budget()
            while True:
                self._sign_for_steps()
                run = self._run_steps()
                if not self._is_asked(run):
                    return self._tell(run)
                self._tell_why(run)
                if run.stop and run.stop.reason_code is StopCode.REVISION_WAITS:
                    decided = self._revisions.decide()
                elif run.stopped_in is RunPhase.PLANNING:
                    decided = self._approve_plan()
                else:
                    decided = self._decide(run)
                if not decided:
                    return self._tell(run)
        except (KeyboardInterrupt, Interrupted):
            self._ui.line()
            self._ui.line(Text("Interrupted; nothing is half-written. Go on with:"))
            self._ui.next_step(f"ringi continue {self._run_id}")
            return Interrupted.exit_code

    def _tell_budget(self) -> None:
        """Before anything is spent."""
        if found := forecast_run(self._app.workspace, self._run_id, self._options.role):
            self._ui.show([forecast_line(found)])

    def _sign_for_steps(self) -> None:
        """Once its plan is approved, and before anybody works on it."""
        if self._unattended and covering(self._app.workspace, self._run_id) is not None:
            grant_for_run(self._app, self._run_id, self._unattended)
            self._unattended = None

    def _run_steps(self) -> Run:
        app = self._app
        wait = app.workspace.config.lock.wait_sec
        lock = lock_of(app.places.state, self._run_id, wait)
        with lock("run"), ending_alike(), watch_progress(None), Watching(app) as watching:
            hear = tell_when_working(app.workspace, watching.hear)
            run = run_steps(app.workspace, self._run_id, self._options, hear)
            if run.forge:
                run = offer_run(app.workspace, self._run_id, watching.hear)
        self._options = self._options._replace(retry=False, allow=(), tests=())  # the run has them now
        return run

    def _is_asked(self, run: Run) -> bool:
        """Whether a person can decide now, here."""
        needed = run.stop is not None and run.stop.reason_code in _ASKED
        if needed and is_offered(run):
            return False
        if needed and self._key and (run.stopped_in is RunPhase.PLANNING or self._revisions.signs()):
            return True
        return needed and not self._ui.as_json and self._app.workspace.person.refusal() is None

    def _tell_why(self, run: Run) -> None:
        """Why no standing approval covers it, if there is one."""
        if run.stop and run.stop.reason_code is StopCode.REVISION_WAITS:
            return
        if run.stop and run.stop.message != str(RESULT_WAITS) and run.stop.step_id:
            why = Text("{step}: {why}", step=run.stop.step_id, why=run.stop.why)
            self._ui.line(why, style="yellow")

    def _tell(self, run: Run) -> int:
        with reading(self._app) as reader:
            looked: Looked = reader.look(self._run_id)
        if self._ui.as_json:
            self._ui.document(document(looked))
        show(self._app, looked)
        return exit_code(run)

    def _approve_plan(self) -> bool:
        """A plan made elsewhere: nobody has approved it yet."""
        found = ReviewedRun(self._app.workspace, self._run_id)
        if self._key is None:
            self._app.workspace.signers.require_typing(found.signing)
        self._ui.line(title_of(found.run.instruction), style="bold")
        self._ui.show(plan_lines(found.plan, forge=found.run.forge))
        proof: Proof | None
        if self._key is not None:
            proof = sign_statement(self._app, self._key, found.statement(self._app.workspace.person.user()))
        else:
            proof = ask_approval(LinePrompter(self._app), found.digest)
        if proof is not None:
            found.approve(proof)
        return proof is not None

    def _decide(self, run: Run) -> bool:
        """Whether anything was decided, so that the run can go on."""
        waiting = [step for step in run.steps if step.status is StepStatus.PROPOSED]
        if run.review is Review.EACH or len(waiting) == 1:
            return self._look_into(waiting[0])
        return self._decide_together(waiting)

    def _look_into(self, step: StepState) -> bool:
        """The ordinary review of the step's plan."""
        app = self._app
        before = app.workspace.plan.ref(step.plan_id)
        app.switch_to(step.plan_id)
        try:
            decide(self._ctx, step.plan_id, full=can_be_full(app), commit=True)
        except click.exceptions.Exit as left:
            if left.exit_code == Interrupted.exit_code:
                raise Interrupted from None
        finally:
            app.switch_to(None)
        after = app.workspace.plan.ref(step.plan_id)
        return (before.status, before.version) != (after.status, after.version)

    def _decide_together(self, waiting: list[StepState]) -> bool:
        self._show_waiting(waiting)
        prompter = LinePrompter(self._app)
        while True:
            try:
                answer = prompter.answer(_CHOICES)
            except EOFError:
                return False
            if answer == "a":
                return self._approve_all(waiting)
            if answer == "q":
                return False
            if answer == "?":
                self._ui.show(help_lines(_HELP))
            elif answer == "s":
                self._show_waiting(waiting)
            elif answer == "r":
                if self._send_back(waiting, prompter):
                    return True
            elif (step := _find_step(waiting, answer)) is not None:
                return self._look_into(step)
            else:
                self._ui.line(Text("Please type one of the letters in brackets."))

    def _show_waiting(self, waiting: list[StepState]) -> None:
        self._ui.line(
            Text("1 finished step waits for you", "{count} finished steps wait for you", count=len(waiting)),
            style="bold",
        )
        with reading(self._app) as reader:
            now = {step.step_id: step for step in reader.look(self._run_id).run.steps}
        for number, step in enumerate((now[one.step_id] for one in waiting), 1):
            ref = self._app.workspace.plan.ref(step.plan_id)
            risk = TextSpan(words.RISK[ref.risk], words.RISK_STYLE[ref.risk])
            spans = [TextSpan(ref.title, Style.STRONG), TextSpan(" · ", Style.FAINT), risk]
            for text in step_facts(step, STEP[step.status]):
                spans += [TextSpan(" · ", Style.FAINT), TextSpan(text)]
            mark = f"{number}  {step.step_id}  "
            self._ui.show([ViewLine(tuple(spans), indent=2, mark=mark, folds=True)])
            self._ui.show(finding_line(one, indent=2 + width(mark)) for one in step.findings)
            for proof in results_of(step):
                text = Text("{command}: exit code {code}", command=proof.command, code=proof.exit_code)
                self._ui.show([line(text, Style.FAINT, indent=2 + width(mark))])

    def _approve_all(self, waiting: list[StepState]) -> bool:
        """The answer is about what was listed: a step that changed since then is not approved."""
        app, any_done = self._app, False
        for step in waiting:
            app.switch_to(step.plan_id)
            try:
                plan = ReviewedPlan(app.workspace, step.plan_id)
                if plan.document.plan.version != step.plan_version:
                    words = Text("{step} changed since it was tested: look into it", step=step.step_id)
                    self._ui.line(words, style="yellow")
                    return any_done
                if not self._approve(plan):
                    return any_done
                app.workspace.plan.execute(step.plan_id)
            except RingiError as error:
                self._ui.error(error)
                return any_done
            finally:
                app.switch_to(None)
            any_done = True
            self._ui.line(Text("✓ {step} approved and committed", step=step.step_id), style="green")
        return any_done

    def _approve(self, plan: ReviewedPlan) -> bool:
        asked = plan.ask()
        if asked is None:  # a standing approval covers it
            return True
        proof: TypedAnswer | None = TypedAnswer(asked.digest, "a")
        if plan.document.risk() is Risk.HIGH:
            self._ui.prose(plan.document.plan.title, Style.STRONG)
            proof = ask_digest(LinePrompter(self._app), asked.digest)
        if proof is not None:
            plan.approve(proof)
        return proof is not None

    def _send_back(self, waiting: list[StepState], prompter: LinePrompter) -> bool:
        step = _find_step(waiting, prompter.answer(Text("Which step? 1 to {count}:", count=len(waiting))))
        if step is None:
            self._ui.line(Text("There is no step with that number."), style="yellow")
            return False
        feedback = prompter.answer(Text("What should be different?"))
        if not feedback:
            self._ui.line(Text("To reject it, say what should change; nothing was decided."), style="yellow")
            return False
        self._app.workspace.plan.reject(step.plan_id, feedback)
        return True


def _offer(app: App, run_id: str) -> Run:
    """The run is over, and its forge does not know it yet."""
    with lock_of(app.places.state, run_id)("run"), Watching(app) as watching:
        return offer_run(app.workspace, run_id, watching.hear)


def _find_step(waiting: list[StepState], answer: str) -> StepState | None:
    found = [step for number, step in enumerate(waiting, 1) if answer in {str(number), step.step_id}]
    return found[0] if found else None


@contextlib.contextmanager
def ending_alike() -> Iterator[None]:
    """SIGTERM, as from `ringi cancel` elsewhere, ends it like Ctrl-C: the run can be resumed."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Watching(StatusLine):
    """What happens: a line for each thing, and below it, rewritten, the last line that a command printed."""

    def __init__(self, app: App) -> None:
        rewrites = app.ui.out.isatty() and app.environment.get("TERM", "dumb") != "dumb"
        out: TextIO = app.ui.out if rewrites else sys.stderr
        super().__init__(app.ui, rewrites=rewrites, out=out, pace=ProgressPace(once=1e9))
        self._last = ""
        self._drawing = threading.Lock()
        app.above = self._above

    @contextlib.contextmanager
    def _above(self) -> Iterator[None]:
        """What is written meanwhile comes above the line."""
        with self._drawing:
            self._clear()
            yield

    def hear(self, event: RunEvent) -> None:
        if event.line or not str(event.what):
            self._last = event.line
            return
        with self._above():
            self._last = ""
            self._ui.line(Text("{step}  {what}", step=event.step_id or "·", what=event.what), style="dim")

    def _rewrite(self, words: str) -> None:
        with self._drawing:
            super()._rewrite(words)

    def _words(self) -> str:
        return translate(Text("{seconds} s  {line}", seconds=round(self.seconds), line=self._last.strip()))


_WHAT_ELSE: Final = Text("What should be different? (Enter leaves it open)")


class RevisionDecisions:
    """A key signs the revision that waited when the command was given: nobody has seen a later one."""

    def __init__(self, app: App, run_id: str, key: Path | None) -> None:
        self._app = app
        self._run_id = run_id
        self._key = key
        waiting = self._waiting() if key else None
        self._signed = waiting.digest if waiting else ""

    def _waiting(self) -> ReviewedRevision | None:
        timeout = self._app.workspace.config.planning.revision.approval_timeout
        try:
            return ReviewedRevision(self._app.workspace, self._run_id, timeout)
        except NotFound:
            return None

    def signs(self) -> bool:
        waiting = self._waiting() if self._signed else None
        return waiting is not None and waiting.digest == self._signed

    def decide(self) -> bool:
        """Whether anything was decided, so that the run can go on."""
        found = self._waiting()
        if found is None or found.is_expired:
            return True  # the run says what became of it
        self._app.ui.show(proposal_lines(found.process, found.record, found.lines))
        try:
            return self._signs(found) if found.digest == self._signed else self._ask(found)
        except RevisionExpired as error:  # while the person read it
            self._app.ui.error(error)
            return True
        except EOFError:
            return False

    def _signs(self, found: ReviewedRevision) -> bool:
        app = self._app
        if self._key is not None:
            found.approve(sign_statement(app, self._key, found.statement(app.workspace.person.user())))
        return self._key is not None

    def _ask(self, found: ReviewedRevision) -> bool:
        self._app.workspace.signers.require_typing(found.signing)
        prompter = LinePrompter(self._app)
        if (proof := ask_approval(prompter, found.digest)) is not None:
            found.approve(proof)
        elif words := (prompter.ask(_WHAT_ELSE) or "").strip():
            found.decline(words)
        else:
            return False
        return True
