"""A review as a dialogue, line by line: for simple terminals, and for people who prefer it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ringi.cli import editor
from ringi.cli.app import App
from ringi.cli.ask import LONGEST_DIFF, LinePrompter
from ringi.cli.plan_output import show_comparison
from ringi.cli.ui import help_lines
from ringi.errors import RingiError
from ringi.kernel.lines import Line, Style, TextSpan, line
from ringi.kernel.text import Text
from ringi.plans import words
from ringi.plans.diff_view import ConflictHunk, Row, RowKind
from ringi.plans.document import PlanComparison, PlanPreview, PlanStatus
from ringi.plans.facts import facts_of
from ringi.plans.review_loop import ReviewAct, ReviewChoice, RunningChecks
from ringi.plans.review_plan import KEYS
from ringi.plans.reviewed_plan import ReviewedPlan, find_undecided, preview_of
from ringi.plans.view import plan_lines, total_line

_CHOICES: Final = Text("[a]pply  [d]rop  [e]dit  [c]omment  [r]eject  [s]how again  [?]  [q]uit")
_WHOLE: Final = Text("[a]pply  [c]omment  [r]eject  [s]how again  [?]  [q]uit")
_UPDATE: Final = Text("[u]pdate to the files as they are now  [d]rop  [r]eject  [s]how again  [?]  [q]uit")
_DECIDE: Final = Text("[<] yours  [>] theirs  [=] both  [e]dit  [d]rop  [r]eject  [s]how again  [?]  [q]uit")
_APPLY: Final = Text("[a]pply  [s]how again  [q]uit")
_DECISIONS: Final = frozenset("<>=e")
_TO_APPLY: Final = frozenset("asq")
_SIGNS: Final = {RowKind.BEFORE: "|", RowKind.MINE: "<", RowKind.THEIRS: ">"}
_HELP: Final = (
    ("a", Text("apply: approve what you see and carry it out")),
    ("m", Text("approve with a note, and carry it out later")),
    ("d", Text("drop a file by its number, as 2, or a hunk of it, as 2.3")),
    ("e", Text("edit a line by file and number, as 2:14; or the whole file in your editor, as 2")),
    ("< > =", Text("in a conflict: take yours, theirs, or yours and then theirs; e edits it")),
    ("c", Text("comment on a line, as 2:14, for whoever proposed it")),
    ("r", Text("reject, with words for whoever proposed it, or only with your comments")),
    ("X", Text("throw the plan away: no list shows it any more")),
    ("u", Text("take back your last change; if files changed: update to them as they are now")),
    ("t", Text("only what changed since you last looked")),
    ("T", Text("only what changed since the version that was approved last")),
    ("i", Text("everything known about the plan: risk, checks, other plans, comments")),
    ("s", Text("show the plan as it is now")),
    ("q", Text("quit; nothing is decided")),
)


class DialoguePrompter(LinePrompter):
    _offer: Text | None = None

    def __init__(self, app: App, plan: ReviewedPlan) -> None:
        super().__init__(app)
        self._plan = plan
        self._preview: PlanPreview | None = None
        self._offered = False

    def choose(self) -> ReviewChoice:
        if self._plan.status is PlanStatus.APPROVED:
            # The only decision left is whether to carry it out.
            offered, self._offered = self._offered, True
            return ReviewChoice(ReviewAct.QUIT if offered else ReviewAct.APPLY)
        while True:
            self._app.ui.show(_conflict_lines(self._plan))
            offer = _DECIDE if find_undecided(self._plan) else self._offer or _choices(self._plan)
            choice = self._choice(self.answer(offer))
            if choice is not None:
                return choice

    def _choice(self, answer: str) -> ReviewChoice | None:
        match answer:
            case "e" if find_undecided(self._plan):
                return ReviewChoice(ReviewAct.EDIT_CONFLICT)
            case "?":
                self._app.ui.show(help_lines(_HELP))
            case "d":
                return self._to_drop()
            case "e":
                return self._to_edit()
            case "c":
                return self._to_comment()
            case _ if answer in KEYS:
                return ReviewChoice(KEYS[answer])
            case _:
                self.say(Text("Please type one of the letters in brackets."))
        return None

    def _to_drop(self) -> ReviewChoice | None:
        count = len(self._plan.specs)
        question = Text("Which file? Its number, or file.hunk as 2.3; 1 to {count}:", count=count)
        file, _, hunk = self.answer(question).partition(".")
        spec = self._spec(file)
        if spec is None:
            return None
        return (
            ReviewChoice(ReviewAct.DROP_HUNK, spec, _number(hunk) or 0)
            if hunk
            else ReviewChoice(ReviewAct.DROP, spec)
        )

    def _to_edit(self) -> ReviewChoice | None:
        spec, line = self._place(Text("Which line? As 2:14; or only the file, as 2, for your editor:"))
        if spec is None:
            return None
        if line is None:
            return ReviewChoice(ReviewAct.EDIT_FILE, spec)
        return ReviewChoice(ReviewAct.EDIT_LINE, spec, row=Row(RowKind.KEPT, new=line))

    def _to_comment(self) -> ReviewChoice | None:
        spec, line = self._place(Text("Which line? As 2:14 (file 2, line 14 as it will be):"))
        if spec is None or line is None:
            return None
        kind = RowKind.REMOVED if self._plan.specs[spec].after is None else RowKind.KEPT
        return ReviewChoice(ReviewAct.COMMENT, spec, row=Row(kind, old=line, new=line))

    def _place(self, question: Text) -> tuple[int | None, int | None]:
        """A file by number or path, and a line of it."""
        file, _, line = self.answer(question).rpartition(":")
        file, line = (file, line) if file else (line, "")
        return self._spec(file), _number(line)

    def _spec(self, file: str) -> int | None:
        number, specs = _number(file), self._plan.specs
        if number is not None and number <= len(specs):
            return number - 1
        for index, spec in enumerate(specs):
            if file in {touched.path for touched in spec.touched}:
                return index
        self.say(Text("There is no file with that number."), Style.WARNING)
        return None

    def refuse(self, text: Text) -> None:
        self.say(text, Style.WARNING)

    def fail(self, error: RingiError) -> None:
        self._app.ui.error(error)

    def show(
        self, said: TextSpan | None = None, *, error: RingiError | None = None, anew: bool = False
    ) -> None:
        del anew  # a dialogue always reads it again
        if error is not None:
            self.fail(error)
        ui, plan = self._app.ui, self._plan
        self._preview = preview_of(plan)
        plan.stale = self._preview.stale
        ui.line()
        for part in self._preview.diffs:
            if part.diff:
                ui.diff(part.diff, most=LONGEST_DIFF, yours=part.your_lines)
                ui.line()
        self.show_info()
        ui.show(filter(None, [total_line(plan.document)]))
        if said is not None:
            ui.line(said.text, style=said.style)

    def show_delta(self, found: PlanComparison) -> None:
        show_comparison(self._app, found, most=LONGEST_DIFF)

    def show_info(self) -> None:
        if self._preview is not None:
            plan = self._plan
            facts = facts_of(self._app.workspace, plan.ref, plan.document, self._preview)
            self._app.ui.show(plan_lines(facts))

    def edit(self, path: str, data: bytes, line: int) -> tuple[bytes, int]:
        return editor.edit(path, data, self._app.environment, line)

    def watch(self, checks: RunningChecks, done: Callable[[], None], *, until_end: bool = False) -> bool:
        del until_end  # a dialogue always waits
        self.say(Text("The tests run; Ctrl-C stops them …"), Style.FAINT)
        checks.wait()
        done()
        return True

    def tell_checks(self, said: TextSpan | None, output: Sequence[str] = ()) -> None:
        if said is not None:
            self._app.ui.line(said.text, style=said.style)
        for said_line in output:
            self._app.ui.line(Text("{line}", line=said_line), indent=6)


class ApplyPrompter(DialoguePrompter):
    """Offers nothing but to apply the plan."""

    _offer = _APPLY

    def _choice(self, answer: str) -> ReviewChoice | None:
        if find_undecided(self._plan) and answer in _DECISIONS:
            return super()._choice(answer)
        if answer in _TO_APPLY:
            return ReviewChoice(KEYS[answer])
        self.say(Text("Please type one of the letters in brackets."))
        return None


def _conflict_lines(plan: ReviewedPlan) -> Iterator[Line]:
    """The first conflict that is undecided."""
    for conflict in find_undecided(plan)[:1]:
        who = plan.document.plan.proposer
        yield line(words.conflict(conflict.about, who), Style.WARNING)
        for row in ConflictHunk(conflict, 1, None, who).rows:
            text = row.data.decode("utf-8", "backslashreplace")
            sign = _SIGNS.get(row.kind)
            yield line(Text("{sign} {line}", sign=sign, line=text) if sign else row.note.text, indent=2)


def _choices(plan: ReviewedPlan) -> Text:
    if plan.document.change:
        return _WHOLE
    return _UPDATE if plan.stale else _CHOICES


def _number(text: str) -> int | None:
    """From 1 on."""
    if not (text.isascii() and text.isdigit() and len(text) < len(str(10**9))):
        return None
    return int(text) or None
