"""What was answered and approved before, to be used again: how much there is, and when it counts."""

from collections.abc import Callable
from typing import Final

from ringi.domain.cache import AnswerOrigin, KeptCounts
from ringi.domain.run import Run, RunPhase, StepStatus
from ringi.domain.session import SessionStatus, is_session
from ringi.errors import RingiError
from ringi.ports import SessionStore
from ringi.ports.cache import Vault
from ringi.text import Text

PLAN: Final = "plan"


class PlanCache:
    """Of one workspace."""

    def __init__(
        self,
        vault: Vault,
        ttl_sec: int,
        tally: Callable[[], tuple[int, int]],
        why_not: Callable[[], Text | None],
    ) -> None:
        """`tally` tells the calls and tokens that were saved; `why_not`, why it keeps nothing."""
        self._vault = vault
        self._ttl_sec = ttl_sec
        self._tally = tally
        self.why_not = why_not
        self.reads = True
        """A person who wants everything anew switches it off."""

    def counts(self) -> KeptCounts:
        files = [*self._vault.files()]
        calls, tokens = self._tally()
        why = self.why_not()
        plans = sum(1 for one in files if one.name.startswith(PLAN))
        return KeptCounts(
            enabled=why is None,
            why_not="" if why is None else str(why),
            answers=len(files) - plans,
            plans=plans,
            bytes=sum(one.size for one in files),
            ttl=self._ttl_sec,
            saved_calls=calls,
            saved_tokens=tokens,
        )

    def clear(self) -> int:
        return self._vault.clear()

    def sweep(self) -> int:
        """Removes what has expired."""
        return self._vault.sweep(self._ttl_sec)


def accepted(store: SessionStore, origin: AnswerOrigin) -> bool:
    """Whether what an answer was for came to a good end, by what the ledger says now."""
    try:
        if origin.step_id:
            return _step_done(store.run(origin.subject), origin)
        if is_session(origin.subject):
            session = store.session(origin.subject).session
            if session.status is not SessionStatus.APPROVED:
                return False
            return not session.planner_session_id or _stands(store.run(session.planner_session_id))
    except RingiError:  # gone, or unreadable
        return False
    return True


def _step_done(run: Run, origin: AnswerOrigin) -> bool:
    """The turn was the last of its role at the step, and the step was approved and committed."""
    step = next((one for one in run.steps if one.step_id == origin.step_id), None)
    if step is None or step.status is not StepStatus.DONE or run.undone:
        return False
    turns = [number for number, one in enumerate(step.attempts, 1) if one.role == origin.role]
    return turns[-1:] == [origin.turn] and not step.attempts[origin.turn - 1].problem


def _stands(run: Run) -> bool:
    """Nobody took it back, ended it or planned it anew."""
    return not (run.undone or run.replaced_by or run.phase is RunPhase.CANCELLED)
