"""Planning sessions as calls (IP-2): each is saved before it comes back, and none needs a terminal."""

from ringi.domain.approval import Proof
from ringi.domain.events import Actor
from ringi.domain.prompt import OnWorking, Working
from ringi.domain.session import SessionRef
from ringi.domain.session_view import SessionView
from ringi.planning.parts import PlanningParts
from ringi.ports import StoredSession


def _quietly(_: Working) -> None:
    pass


class PlanningTool:
    """A session is named by its id or the beginning of it, with or without `planning-`."""

    def __init__(self, parts: PlanningParts) -> None:
        self._parts = parts

    def start(self, instruction: str, *, actor: Actor = Actor.USER) -> SessionView:
        """A new session, saved; the model is next.

        Raises BadInstruction, UnknownModel, NoModelKey, NoExtra.
        """
        raise NotImplementedError

    def go_on(self, session_id: str, on_working: OnWorking = _quietly) -> SessionView:
        """Lets the model do what is due, until a person is needed or the session has ended.

        Where nothing is due it changes nothing. Raises SessionFailed where the model failed: the session is
        saved as failed then, and `resume` goes on. Raises Busy where another process is at it.
        """
        raise NotImplementedError

    def answer(
        self, session_id: str, text: str, *, question_id: str = "", actor: Actor = Actor.USER
    ) -> SessionView:
        """Answers the question that is asked now; a number or the words of an option choose that option.

        With `question_id`, raises NotAsked where another one is asked meanwhile. Raises BadAnswer where it is
        empty or too long, SessionOver. The model may be next: `go_on`.
        """
        raise NotImplementedError

    def skip(self, session_id: str, *, question_id: str = "", actor: Actor = Actor.USER) -> SessionView:
        """The question keeps no answer and is not asked again."""
        raise NotImplementedError

    def back(self, session_id: str) -> SessionView:
        """To the question or decision before; its answer stays until another one is given."""
        raise NotImplementedError

    def decide(
        self,
        session_id: str,
        option: str,
        rationale: str = "",
        *,
        decision_id: str = "",
        actor: Actor = Actor.USER,
    ) -> SessionView:
        """Takes an option by its id, its number, its letter or its name. Raises BadAnswer, NotAsked."""
        raise NotImplementedError

    def request(self, session_id: str) -> str:
        """The digest of what a person is asked to approve now: what the run would get."""
        raise NotImplementedError

    def statement(self, session_id: str, approver: str) -> str:
        """The bytes that a key signs to approve it."""
        raise NotImplementedError

    def approve(self, session_id: str, approver: str, proof: Proof) -> SessionView:
        """Makes the run, which waits in phase planning. Typed answers count only where a person sits."""
        raise NotImplementedError

    def reject(self, session_id: str, feedback: str, *, actor: Actor = Actor.USER) -> SessionView:
        """Back to design, where decisions are made anew with the feedback; the third one cancels."""
        raise NotImplementedError

    def cancel(self, session_id: str, *, actor: Actor = Actor.USER) -> SessionView:
        raise NotImplementedError

    def fail(self, session_id: str, why: str) -> SessionView:
        raise NotImplementedError

    def resume(self, session_id: str) -> SessionView:
        """Goes on at the exact question or decision; what is inconsistent is put right first (IP-14, IP-16).

        A failed session is back in the phase that it failed in. Where nothing is wrong it changes nothing.
        """
        raise NotImplementedError

    def take_in(self, data: bytes, what: str) -> SessionView:
        """A session from a file; nothing that a person approved is believed from it.

        A session with an id that is known comes in under a new one.
        """
        raise NotImplementedError

    def view(self, session_id: str) -> SessionView:
        raise NotImplementedError

    def get(self, session_id: str) -> StoredSession:
        raise NotImplementedError

    def list(self, *, open_only: bool = False) -> list[SessionRef]:
        raise NotImplementedError
