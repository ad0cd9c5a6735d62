"""A person who does and answers what a test has written down; everything they are told is kept."""

from collections.abc import Callable, Iterable, Sequence

from ringi.errors import RingiError
from ringi.kernel.lines import Style, TextSpan
from ringi.kernel.text import Text
from ringi.plans.document import PlanComparison
from ringi.plans.review_loop import ReviewAct, ReviewChoice, RunningChecks

Step = ReviewChoice | ReviewAct | Callable[[], object]
"""What the person does next, or what happens elsewhere before that."""

Answer = str | None | Callable[[Text], str]
"""None: thinks better of it. One that begins with … is typed behind what was there."""


class ScriptedPrompter:
    def __init__(self, steps: Iterable[Step] = (), answers: Iterable[Answer] = ()) -> None:
        self._steps = list(steps)
        self._answers = list(answers)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.shown = 0
        self.deltas: list[PlanComparison] = []
        self.edited: Callable[[bytes], tuple[bytes, int]] = lambda data: (data, 0)
        self.waits_for_checks = True
        self.patience: list[bool] = []
        """Whether the person waits each time; they do unless it says otherwise."""
        self.checks_done: Callable[[], None] = lambda: None

    def choose(self) -> ReviewChoice:
        while self._steps:
            step = self._steps.pop(0)
            if isinstance(step, ReviewAct):
                return ReviewChoice(step)
            if isinstance(step, ReviewChoice):
                return step
            step()
        return ReviewChoice(ReviewAct.QUIT)

    def _answered(self, question: Text) -> str | None:
        self.asked.append(str(question))
        if not self._answers:
            raise EOFError
        answer = self._answers.pop(0)
        return answer(question) if callable(answer) else answer

    def answer(self, question: Text) -> str:
        return self._answered(question) or ""

    def ask(self, question: Text, *, start: str = "", above: Sequence[Text] = ()) -> str | None:
        self.said += map(str, above)
        typed = self._answered(question)
        return start + typed.removeprefix("…") if typed is not None and typed.startswith("…") else typed

    def say(self, text: Text, style: Style = Style.PLAIN) -> None:
        del style
        self.said.append(str(text))

    def refuse(self, text: Text) -> None:
        self.say(text)

    def fail(self, error: RingiError) -> None:
        self.said.append(error.code)

    def show(
        self, said: TextSpan | None = None, *, error: RingiError | None = None, anew: bool = False
    ) -> None:
        del anew
        self.shown += 1
        if said is not None:
            self.said.append(str(said.text))
        if error is not None:
            self.fail(error)

    def show_delta(self, found: PlanComparison) -> None:
        self.deltas.append(found)

    def show_info(self) -> None:
        self.said.append("info")

    def edit(self, path: str, data: bytes, line: int) -> tuple[bytes, int]:
        del path, line
        return self.edited(data)

    def watch(self, checks: RunningChecks, done: Callable[[], None], *, until_end: bool = False) -> bool:
        waits = until_end and (not self.patience or self.patience.pop(0))
        if waits or self.waits_for_checks:
            checks.wait()
            done()
            return True
        self.checks_done = done
        return False

    def tell_checks(self, said: TextSpan | None, output: Sequence[str] = ()) -> None:
        if said is not None:
            self.said.append(str(said.text))
        self.said += output
