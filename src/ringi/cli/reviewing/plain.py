"""A review as a dialogue, line by line: for terminals that can do no more, and for those who like it so."""

from collections.abc import Callable, Mapping
from typing import Final

from ringi.cli.app import App
from ringi.cli.ask import FAILED, LONGEST_DIFF, ask, digest_typed, is_yes
from ringi.cli.describing import describe, totals
from ringi.cli.reviewing import editing
from ringi.cli.reviewing.acts import Review, joined, must_be_taken_up, reject, take_up, to_type, update
from ringi.cli.reviewing.beside import told_of
from ringi.cli.reviewing.checking import Checking, can_check
from ringi.cli.reviewing.ends import End
from ringi.cli.reviewing.loading import Loader
from ringi.cli.reviewing.rows import Kind, Row
from ringi.cli.versions import show_comparison
from ringi.domain.feedback import Side
from ringi.domain.plan import ActionSpecExt, PlanPreview, PlanStatus, risk_of
from ringi.domain.risk import Risk
from ringi.errors import BadTransition, LostRace, NotRequested, PlanChanged, RingiError, Stale, Superseded
from ringi.plans.check import commands_of
from ringi.text import Text
from ringi.views import words

_CHOICES: Final = Text("[a]pply  [d]rop  [e]dit  [c]omment  [r]eject  [s]how again  [?]  [q]uit")
_WHOLE: Final = Text("[a]pply  [c]omment  [r]eject  [s]how again  [?]  [q]uit")
_UPDATE: Final = Text("[u]pdate to the files as they are now  [d]rop  [r]eject  [s]how again  [?]  [q]uit")
_HELP: Final = (
    Text("a  apply: approve what you see and carry it out"),
    Text("m  approve with a note, and carry it out later"),
    Text("d  drop a file by its number, as 2, or a hunk of it, as 2.3"),
    Text("e  edit a line by file and number, as 2:14; or the whole file in your editor, as 2"),
    Text("c  comment on a line, as 2:14, for whoever proposed it"),
    Text("r  reject, with words for whoever proposed it"),
    Text("u  take back your last change; where files changed: update to them as they are now"),
    Text("t  only what changed since the version that was approved last"),
    Text("i  what is known of the plan, without its diffs"),
    Text("s  show all of it again"),
    Text("q  quit; nothing is decided"),
)
_NO_SUCH_FILE: Final = Text("There is no file with that number.")


class Dialogue:
    def __init__(self, app: App, review: Review) -> None:
        self.app = app
        self.ui = app.ui
        self.review = review
        self.preview: PlanPreview | None = None

    def run(self) -> End:
        try:
            return self._run()
        except EOFError:
            return End.LEFT

    def _run(self) -> End:
        self.show()
        if must_be_taken_up(self.review):
            question = Text("{plan} does not wait now. Take it up again? [y/n]", plan=self.review.name)
            if not is_yes(self.ask(question)):
                return End.LEFT
            take_up(self.review)
            self.show()
        if self.review.document.state.status is PlanStatus.APPROVED:
            question = Text("{plan} is approved already. Carry it out now? [y/n]", plan=self.review.name)
            return End.APPLY if is_yes(self.ask(question)) else End.LEFT
        while True:
            ended = self._answered(self.ask(self._choices()))
            if ended is not None:
                return ended

    def ask(self, question: Text) -> str:
        """What is typed. Where the terminal is closed that is no answer to anything: EOFError."""
        return ask(self.app, question)

    def show(self) -> None:
        """All of it; from here on this is what the person has seen."""
        document = self.review.look()
        self.preview = self.review.tool.preview(self.review.plan_id)
        self.ui.line()
        for part in self.preview.diffs:
            if part.diff:
                self.ui.diff(part.diff, most=LONGEST_DIFF)
                self.ui.line()
        describe(self.app, self.review.ref, document, self.preview)
        totals(self.app, document)

    def say(self, text: Text, style: str = "yellow") -> None:
        self.ui.line(text, style=style)

    @property
    def stale(self) -> bool:
        return bool(self.preview and self.preview.stale)

    def _choices(self) -> Text:
        if self.review.document.change:
            return _WHOLE
        return _UPDATE if self.stale else _CHOICES

    def _answered(self, answer: str) -> End | None:
        if answer not in ACTS:
            self.say(Text("Please type one of the letters in brackets."), "")
            return None
        try:
            return ACTS[answer](self)
        except BadTransition:
            return End.ELSEWHERE
        except Superseded:
            raise
        except (PlanChanged, LostRace, NotRequested) as error:
            self.ui.error(error)
            self.show()
        except Stale as error:
            self.ui.error(error)
            self.preview = self.review.tool.preview(self.review.plan_id)
        except RingiError as error:
            self.ui.error(error)
        return None

    def changed(self, what: Text, risk_before: Risk) -> None:
        self.show()
        risk = risk_of(self.review.document)
        now = Text("now {risk}", risk=words.RISK[risk]) if risk is not risk_before else words.RISK[risk]
        version = Text("version {version}", version=self.review.document.plan.version)
        self.say(joined([what, Text("still applies"), now, version]), "bold")
        self._check()

    def _check(self) -> None:
        workspace = self.app.workspace
        if not commands_of(self.review.document):
            return
        if not can_check(self.app):
            self.say(Text("tests not run: no sandbox"))
            return
        self.say(Text("The tests run; Ctrl-C stops them …"), "dim")
        checking = Checking(workspace.places.root, self.review.plan_id, self.app.environment)
        try:
            checking.wait()
        except KeyboardInterrupt:
            checking.stop()
            self.say(Text("the tests were stopped"))
            return
        if (why := checking.why_not) is not None:
            self.say(Text("tests not run: {why}", why=why))
            return
        # They ran on the plan as it was when they began, which need not be the one that was shown.
        self.review.require_as_shown()
        results = self.review.document.state.checks
        message, output = told_of(results) if results else (None, ())
        if message is not None:
            self.say(message.words, message.style)
        for line in output:
            self.ui.line(Text("{line}", line=line), indent=6)


def _apply(dialogue: Dialogue) -> End | None:
    return _approved(dialogue, "", End.APPLY)


def _approve_with_note(dialogue: Dialogue) -> End | None:
    note = dialogue.ask(Text("Your note on the approval:"))
    if not note:
        dialogue.say(Text("Nothing was approved."))
        return None
    return _approved(dialogue, note, End.APPROVED)


def _approved(dialogue: Dialogue, note: str, end: End) -> End | None:
    review = dialogue.review
    failed = any(result.exit_code for result in review.document.state.checks)
    if failed and not is_yes(dialogue.ask(FAILED)):
        dialogue.say(Text("Nothing was approved."))
        return None
    asked = review.ask()
    if asked is None:
        return end
    typed = "a"
    if to_type(review.document, asked) is not None:
        given = digest_typed(dialogue.app, asked)
        if given is None:
            return None
        typed = given.answer
    review.approve(asked, typed, note)
    return end


def _drop(dialogue: Dialogue) -> None:
    review = dialogue.review
    specs = review.specs()
    answer = dialogue.ask(
        Text("Which file? Its number, or file.hunk as 2.3; 1 to {count}:", count=len(specs))
    )
    file, _, hunk = answer.partition(".")
    number = _number(file, len(specs))
    if number is None:
        dialogue.say(_NO_SUCH_FILE)
        return
    risk, spec = risk_of(review.document), specs[number - 1]
    if hunk:
        dialogue.changed(review.drop_hunk(spec, _number(hunk, 10**9) or 0), risk)
    elif len(specs) == 1:
        dialogue.say(Text("It is the only file; reject the plan instead."))
    else:
        dialogue.changed(review.drop(spec), risk)


def _edit(dialogue: Dialogue) -> None:
    place = _place(dialogue, Text("Which line? As 2:14; or only the file, as 2, for your editor:"))
    if place is None:
        return
    spec, line = place
    new = _content(dialogue, spec)
    if new is None:
        dialogue.say(Text("It can only be dropped whole."))
        return
    if line is None:
        made, code = editing.in_editor(spec.base.path, new, dialogue.app.environment)
        if code:
            dialogue.say(Text("The editor ended with exit code {code}; nothing was changed.", code=code))
            return
    else:
        lines = new.removesuffix(b"\n").split(b"\n")
        if not 1 <= line <= len(lines):
            dialogue.say(Text("There is no line with that number."))
            return
        row = Row(Kind.KEPT, new=line, data=lines[line - 1])
        dialogue.ui.diff(editing.line_text(row))
        text = dialogue.ask(Text("The line instead (empty: as it is):"))
        made = editing.replaced(new, row, _indented(editing.line_text(row), text)) if text else new
    if made == new:
        dialogue.say(Text("Nothing was changed."))
        return
    risk = risk_of(dialogue.review.document)
    with editing.kept(spec.base.path, made):
        what = dialogue.review.rewrite(spec, made)
    dialogue.changed(what, risk)


def _indented(before: str, text: str) -> str:
    """Blanks at the beginning are lost where a line is asked for; those of the line before stay."""
    return before[: len(before) - len(before.lstrip())] + text


def _content(dialogue: Dialogue, spec: ActionSpecExt) -> bytes | None:
    parts = Loader(dialogue.app.workspace, dialogue.review.document).parts()
    return parts[list(dialogue.review.specs()).index(spec)].content.new


def _comment(dialogue: Dialogue) -> None:
    place = _place(dialogue, Text("Which line? As 2:14 (file 2, line 14 as it will be):"))
    if place is None or place[1] is None:
        return
    spec, line = place
    text = dialogue.ask(Text("Your comment on {path}:{line}", path=spec.base.path, line=line))
    if text:
        side = Side.OLD if spec.after is None else Side.NEW
        dialogue.review.comment(spec.base.path, line or 0, text, side)
        dialogue.say(Text("Noted; it goes to the proposer with your answer."), "")


def _place(dialogue: Dialogue, question: Text) -> tuple[ActionSpecExt, int | None] | None:
    """A file by number or path, and a line of it."""
    specs = dialogue.review.specs()
    file, _, line = dialogue.ask(question).rpartition(":")
    file, line = (file, line) if file else (line, "")
    number = _number(file, len(specs))
    named = (spec for spec in specs if file in {touched.path for touched in spec.touched})
    spec = specs[number - 1] if number else next(named, None)
    if spec is None:
        dialogue.say(_NO_SUCH_FILE)
        return None
    return spec, _number(line, 10**9)


def _number(text: str, most: int) -> int | None:
    if not (text.isascii() and text.isdigit() and len(text) < len(str(10**9))):
        return None
    return int(text) if 1 <= int(text) <= most else None


def _reject(dialogue: Dialogue) -> End | None:
    feedback = dialogue.ask(Text("What should the proposer change?"))
    if not feedback:
        dialogue.say(Text("A reject needs a word of feedback; nothing was decided."))
        return None
    reject(dialogue.review, feedback)
    return End.REJECTED


def _back_or_update(dialogue: Dialogue) -> None:
    review = dialogue.review
    if dialogue.stale and not review.document.change:
        dialogue.say(update(review))
        dialogue.show()
    elif review.can_take_back:
        risk = risk_of(review.document)
        dialogue.changed(review.take_back(), risk)
    else:
        dialogue.say(Text("There is no change of yours to take back."))


def _since_approved(dialogue: Dialogue) -> None:
    found = dialogue.review.tool.delta(dialogue.review.plan_id)
    if found is None:
        dialogue.say(Text("No version of it was approved before."))
    else:
        show_comparison(dialogue.app, found, most=LONGEST_DIFF)


def _info(dialogue: Dialogue) -> None:
    review = dialogue.review
    if dialogue.preview is not None:
        describe(dialogue.app, review.ref, review.document, dialogue.preview)


def _help(dialogue: Dialogue) -> None:
    for line in _HELP:
        dialogue.ui.line(line, indent=2)


def _quit(_: Dialogue) -> End:
    return End.LEFT


ACTS: Final[Mapping[str, Callable[[Dialogue], End | None]]] = {
    "a": _apply,
    "m": _approve_with_note,
    "d": _drop,
    "e": _edit,
    "c": _comment,
    "r": _reject,
    "u": _back_or_update,
    "t": _since_approved,
    "i": _info,
    "?": _help,
    "s": Dialogue.show,
    "q": _quit,
}
