"""The checks of a plan under review: they run again after each change, and a decision waits for them."""

from ringi.errors import NoSandbox
from ringi.kernel.lines import Style, TextSpan
from ringi.kernel.text import Text
from ringi.plans.check import commands_of
from ringi.plans.review_loop import PlanPrompter, RunningChecks, StartChecks
from ringi.plans.review_view import check_outcome
from ringi.plans.reviewed_plan import ReviewedPlan


class ReviewCheckRuns:
    def __init__(self, plan: ReviewedPlan, prompter: PlanPrompter, start: StartChecks) -> None:
        self._plan = plan
        self._prompter = prompter
        self._start = start
        self._running: RunningChecks | None = None

    def warn_untested(self) -> None:
        """Says it before the first change, if none will be tested."""
        if commands_of(self._plan.document) and not self._is_sandboxed():
            text = Text("no sandbox: the tests do not run again after a change (ringi doctor)")
            self._prompter.tell_checks(TextSpan(text, Style.WARNING))

    def run_again(self) -> None:
        if not commands_of(self._plan.document):
            return
        if not self._is_sandboxed():
            self._prompter.tell_checks(
                TextSpan(Text("tests not run: no sandbox (ringi doctor)"), Style.WARNING)
            )
            return
        self._running = self._start(self._plan.plan_id)
        try:
            self._prompter.watch(self._running, self._end)
        except KeyboardInterrupt:
            self.stop()

    def _is_sandboxed(self) -> bool:
        """Looking at a plan is no permission to run its code, except in a sandbox."""
        try:
            return self._plan.workspace.check.uses_sandbox()
        except NoSandbox:
            return False

    def _end(self) -> None:
        checks, self._running = self._running, None
        if checks is None:  # stopped meanwhile
            return
        if (why := checks.why_not) is not None:
            self._prompter.tell_checks(TextSpan(Text("tests not run: {why}", why=why), Style.WARNING))
            return
        self._plan.find_change()
        results = self._plan.document.state.checks
        said, output = check_outcome(results) if results else (None, ())
        self._prompter.tell_checks(said, output)

    def stop(self) -> None:
        checks, self._running = self._running, None
        if checks is not None:
            checks.stop()
            self._prompter.tell_checks(TextSpan(Text("the tests were stopped"), Style.WARNING))

    def wait_for_end(self) -> bool:
        """Waits for the checks before a decision; False if the person decides nothing now.

        Nobody has decided on checks that could not run: then they decide again.
        """
        checks = self._running
        if checks is None:
            return True
        return self._prompter.watch(checks, self._end, until_end=True) and checks.why_not is None
