"""How an interface asks a person, and the questions that all approvals share."""

from collections.abc import Sequence
from typing import Final, Protocol

from ringi.approvals.document import TypedAnswer
from ringi.approvals.person import PersonChannel
from ringi.approvals.proof import TYPED_LENGTH, YES
from ringi.errors import NoChannel
from ringi.kernel.lines import Style
from ringi.kernel.text import Text

APPROVE: Final = Text("Approve? [y/n]")
NOT_APPROVED: Final = Text("Nothing was approved.")
_DIGEST_SHOWN: Final = 12


class Asker(Protocol):
    """Input typed before a question appears must not answer it. Raises EOFError if no answer can come."""

    def answer(self, question: Text) -> str:
        """One key if the interface reads keys, else a line."""


class Prompter(Asker, Protocol):
    def ask(self, question: Text, *, start: str = "", above: Sequence[Text] = ()) -> str | None:
        """A line of text; None if the person cancels.

        `start` is the text to edit; `above` is what the person must see to answer.
        """

    def say(self, text: Text, style: Style = Style.PLAIN) -> None: ...


def is_yes(answer: str) -> bool:
    return answer.lower() in YES - {"a"}  # "a" applies a plan; it is not a yes


def agrees(asker: Asker, question: Text) -> bool:
    return is_yes(asker.answer(question))


def ask_yes(asker: Asker, question: Text, digest: str) -> TypedAnswer | None:
    """The answer as proof for this digest; None if it was not a yes."""
    answer = asker.answer(question)
    return TypedAnswer(digest, answer) if is_yes(answer) else None


def ask_digest(prompter: Prompter, digest: str) -> TypedAnswer | None:
    """For a high risk: shows the digest and asks for its first characters; None if they do not match."""
    wanted = digest[:TYPED_LENGTH]
    question = Text("HIGH risk. To apply it, type {wanted}:", wanted=wanted)
    answer = prompter.ask(question, above=[Text("What you approve is sha256 {digest}", digest=digest)])
    if (answer or "").strip() != wanted:
        prompter.say(Text("That was not it; nothing was approved."), Style.WARNING)
        return None
    return TypedAnswer(digest, wanted)


def ask_approval(prompter: Prompter, digest: str) -> TypedAnswer | None:
    """Shows the beginning of the digest and asks for a yes; says so if it was none."""
    prompter.say(Text("What you approve is sha256 {digest}…", digest=digest[:_DIGEST_SHOWN]))
    proof = ask_yes(prompter, APPROVE, digest)
    if proof is None:
        prompter.say(NOT_APPROVED, Style.WARNING)
    return proof


def require_person(person: PersonChannel, command: str, *, also: Text | None = None) -> None:
    """Call it before showing anything: raises NoChannel, with the command to type, if no person can answer.

    `also` is a reason that only the interface knows.
    """
    refusal = person.refusal() or also
    if refusal is not None:
        raise NoChannel(why=refusal, command=command)
