"""The last phase: the summary is shown, and a person approves those very words or sends them back."""

from collections.abc import Callable, Mapping
from typing import Final

from ringi.cli.app import EXIT_PERSON_NEEDED
from ringi.cli.ask import is_yes
from ringi.cli.planning.going import Going
from ringi.cli.planning.lines import PROMPT, Lines, prompt_of
from ringi.cli.planning.showing import show_help, show_review
from ringi.cli.planning.slips import plain, slip
from ringi.cli.planning.wrapping import paragraph, shown_lines
from ringi.cli.ui import translated
from ringi.domain.approval import TypedAnswer
from ringi.domain.session_view import ApprovalPending, SessionView
from ringi.errors import NoChannel, WrongAnswer
from ringi.ports import StoredSession
from ringi.text import Text

DIGEST_SHOWN: Final = 12
APPROVE: Final = Text("Approve? [y/n]")
NOT_APPROVED: Final = Text("Nothing was approved.")
_CHOICES: Final = Text("[a]pprove  [r]eject  [s]how again  [b]ack  [?]  [q]uit")
_HELP: Final = (
    Text("a  approve: these words become a run, which waits until you start it"),
    Text("r  reject, with words for what should be different; decisions are made anew"),
    Text("s  show the summary again"),
    Text("i  show word for word what the run gets"),
    Text("b  back to the decision before"),
    Text("c  cancel the session for good"),
    Text("q  quit; everything is saved"),
)


class Shown:
    """What a person is asked to approve; the digest is taken first, so that it covers no later words."""

    def __init__(self, going: Going) -> None:
        self.digest = going.tool.request(going.session_id)
        self.stored: StoredSession = going.tool.get(going.session_id)
        self.view = going.view()

    @property
    def pending(self) -> ApprovalPending | None:
        return self.view.pending if isinstance(self.view.pending, ApprovalPending) else None


class Review:
    def __init__(self, going: Going, lines: Lines) -> None:
        self.going = going
        self.ui = going.ui
        self.lines = lines
        self.shown = Shown(going)

    def run(self) -> SessionView | int:
        """Until the session is elsewhere, or the person leaves."""
        if self.shown.pending is None:
            return self.shown.view
        self.show()
        while True:
            act = _act(self.ask(_CHOICES))
            if act is None:
                self.ui.line(Text("Please type one of the letters in brackets."))
                continue
            done = act(self)
            if done is not None:
                return done

    def ask(self, question: Text) -> str:
        return self.lines.ask(prompt_of(self.ui, question)).strip()

    def say(self, words: Text, style: str = "yellow") -> None:
        paragraph(self.ui, translated(words), style=style)

    def show(self) -> None:
        if self.shown.pending is not None:
            show_review(self.ui, self.shown.stored, self.shown.pending)
            self.going.tell_given()


def _act(answer: str) -> "Callable[[Review], SessionView | int | None] | None":
    """A letter as an input method for Japanese may write it."""
    return ACTS.get(plain(answer))


def _approve(review: Review) -> SessionView | int | None:
    going = review.going
    if refusal := going.app.workspace.parts.person.refusal():
        review.ui.error(NoChannel(why=refusal, command=going.command))
        return None
    tell_digest(going, review.shown.digest)
    answer = review.ask(APPROVE)
    if not is_yes(answer):
        review.say(NOT_APPROVED)
        return None
    try:
        return going.tool.approve(going.session_id, going.user(), TypedAnswer(review.shown.digest, answer))
    except WrongAnswer as error:
        # It is not what it was when it was shown.
        review.ui.error(error)
        return going.view()


def tell_digest(going: Going, digest: str) -> None:
    going.ui.line(Text("What you approve is sha256 {digest}…", digest=digest[:DIGEST_SHOWN]), indent=2)


def _reject(review: Review) -> SessionView | int | None:
    going, pending = review.going, review.shown.pending
    if going.refuses_agent():
        return None
    left = pending.rejects_left if pending else 0
    if left <= 1:
        review.say(Text("This would be the last reject: it cancels the session."))
    else:
        review.say(Text("{left} rejects are left; the last one cancels the session.", left=left), "dim")
    review.say(Text("What should be different? (empty: no reject)"), "bold")
    said = review.lines.ask(PROMPT)
    if act := _act(said):  # /quit, q and the like: a reject is too dear for a slip
        return act(review)
    if words := slip(said, ACTS):
        review.say(words)
        return None
    feedback = said.strip()
    if not feedback:
        review.say(Text("A reject needs a word of feedback; nothing was decided."))
        return None
    return going.tool.reject(going.session_id, feedback)


def _show_again(review: Review) -> None:
    review.show()


def _word_for_word(review: Review) -> None:
    from ringi.planning.handing_over import enhanced_instruction  # noqa: PLC0415  # only who asks for it

    for line in shown_lines(enhanced_instruction(review.shown.stored.session)):
        review.ui.line(line, indent=2 if line else 0)


def _back(review: Review) -> SessionView:
    return review.going.tool.back(review.going.session_id, actor=review.going.actor)


def _cancel(review: Review) -> SessionView | None:
    if review.going.refuses_agent():
        return None
    if is_yes(review.ask(Text("End the session for good? [y/n]"))):
        return review.going.tool.cancel(review.going.session_id)
    return None


def _quit(review: Review) -> int:
    review.going.tell_saved()
    return EXIT_PERSON_NEEDED


def _help(review: Review) -> None:
    show_help(review.ui, _HELP)


ACTS: Final[Mapping[str, Callable[[Review], SessionView | int | None]]] = {
    "a": _approve,
    "r": _reject,
    "s": _show_again,
    "i": _word_for_word,
    "b": _back,
    "/back": _back,
    "c": _cancel,
    "/cancel": _cancel,
    "q": _quit,
    "/quit": _quit,
    "?": _help,
    "/help": _help,
}
