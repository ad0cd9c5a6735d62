"""How a person is asked, whatever they sit at, and the questions that every approval has in common."""

from collections.abc import Sequence
from typing import Final, Protocol

from ringi.approvals.proof import TYPED_LENGTH, YES
from ringi.domain.approval import TypedAnswer
from ringi.errors import NoChannel
from ringi.ports import PersonChannel
from ringi.text import Text
from ringi.views.lines import Style

APPROVE: Final = Text("Approve? [y/n]")
NOT_APPROVED: Final = Text("Nothing was approved.")


class Asker(Protocol):
    """What was typed before a question appeared does not answer it; EOFError if nobody can answer."""

    def answer(self, question: Text) -> str:
        """One key, if keys are heard as they are typed; else a line."""


class Prompter(Asker, Protocol):
    def ask(self, question: Text, *, start: str = "", above: Sequence[Text] = ()) -> str | None:
        """A line of words; None if the person thinks better of it.

        `start` is what can be changed into the answer, `above` what has to be seen to give one.
        """

    def say(self, text: Text, style: Style = Style.PLAIN) -> None: ...


def is_yes(answer: str) -> bool:
    return answer.lower() in YES - {"a"}  # which applies a plan, and is no word


def agrees(asker: Asker, question: Text) -> bool:
    return is_yes(asker.answer(question))


def typed_yes(asker: Asker, question: Text, digest: str) -> TypedAnswer | None:
    """The answer as a proof for what has this digest; None if it was no yes."""
    answer = asker.answer(question)
    return TypedAnswer(digest, answer) if is_yes(answer) else None


def typed_digest(prompter: Prompter, digest: str) -> TypedAnswer | None:
    """For a high risk: the digest is shown in full, and its beginning typed; None if something else was."""
    wanted = digest[:TYPED_LENGTH]
    question = Text("HIGH risk. To apply it, type {wanted}:", wanted=wanted)
    answer = prompter.ask(question, above=[Text("What you approve is sha256 {digest}", digest=digest)])
    if (answer or "").strip() != wanted:
        prompter.say(Text("That was not it; nothing was approved."), Style.WARNING)
        return None
    return TypedAnswer(digest, wanted)


def require_person(person: PersonChannel, command: str, *, also: Text | None = None) -> None:
    """Before anything is shown: raises NoChannel, with the command for a person, if nobody can answer here.

    `also` is a reason that the interface knows of.
    """
    refusal = person.refusal() or also
    if refusal is not None:
        raise NoChannel(why=refusal, command=command)
