"""When an answer is used again: only if what it was for came to a good end."""

from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from ringi.config.keys import RoleHow
from ringi.engine.run_plan import RunRole
from ringi.engine.run_state import RunPhase, StepStatus
from ringi.errors import NotFound
from ringi.models.cache import AnswerOrigin
from ringi.runs.document import Attempt, Run
from ringi.sessions.document import SessionStatus
from ringi.sessions.plan_cache import is_accepted
from tests.tables import each
from tests.unit.runs.run_samples import done, plan_of, run_of, step_of

pytestmark = pytest.mark.req("PP-12")
WORKED, JUDGED = RunRole.IMPLEMENTER, RunRole.REVIEWER


@dataclass
class Session:
    status: SessionStatus
    planner_session_id: str = ""


@dataclass
class Stored:
    session: Session


class Rows(dict[str, Any]):
    def get(self, name: str) -> Any:
        if name not in self:
            raise NotFound(what="row", name=name, see="")
        return self[name]


class Known:
    """As much of the store as is asked."""

    def __init__(
        self, runs: dict[str, Run] | None = None, sessions: dict[str, Session] | None = None
    ) -> None:
        self.runs = Rows(runs or {})
        self.sessions = Rows({name: Stored(one) for name, one in (sessions or {}).items()})


def turn(role: RunRole, problem: str = "") -> Attempt:
    return Attempt(role=role, how=RoleHow.MODEL, who="m", cycle=0, started_at="", problem=problem)


def accepts(attempts: list[Attempt], number: int, role: RunRole = WORKED, **changes: Any) -> bool:
    status = changes.pop("status", StepStatus.DONE)
    run = replace(
        run_of(plan_of(step_of(1, [])), done(1, attempts=tuple(attempts), status=status)), **changes
    )
    origin = AnswerOrigin(subject="r", step_id="S01", role=str(role), turn=number)
    return is_accepted(Known({"r": run}), origin)  # type: ignore[arg-type]  # as far as it is asked


def test_the_last_turn_of_a_step_that_was_committed():
    assert accepts([turn(WORKED)], 1)
    assert accepts([turn(WORKED), turn(JUDGED)], 1)
    assert accepts([turn(WORKED), turn(JUDGED)], 2, JUDGED)


def test_not_a_turn_that_had_to_be_made_again():
    turns = [turn(WORKED), turn(JUDGED), turn(WORKED), turn(JUDGED)]
    assert [accepts(turns, number) for number in (1, 3)] == [False, True]
    assert [accepts(turns, number, JUDGED) for number in (2, 4)] == [False, True]
    assert not accepts([turn(WORKED, "nothing was changed")], 1)


@each("status", [one for one in StepStatus if one is not StepStatus.DONE])
def test_not_before_it_is_committed(status: StepStatus):
    assert not accepts([turn(WORKED)], 1, status=status)


def test_not_if_it_was_taken_back_or_is_unknown():
    assert not accepts([turn(WORKED)], 1, undone=True)
    assert not accepts([], 1)
    assert not accepts([turn(JUDGED)], 1)
    origin = AnswerOrigin(subject="gone", step_id="S01", role="implementer", turn=1)
    assert not is_accepted(Known(), origin)  # type: ignore[arg-type]  # as above


def of_session(status: SessionStatus, **changes: Any) -> bool:
    run = replace(run_of(plan_of(step_of(1, [])), done(1)), **changes)
    store = Known({"r": run}, {"planning-1": Session(status, "r")})
    return is_accepted(store, AnswerOrigin(subject="planning-1"))  # type: ignore[arg-type]  # as above


def test_a_session_must_be_approved_and_its_run_stand():
    assert of_session(SessionStatus.APPROVED)
    assert not any(of_session(status) for status in SessionStatus if status is not SessionStatus.APPROVED)
    for change in ({"undone": True}, {"replaced_by": "r2"}, {"phase": RunPhase.CANCELLED}):
        assert not of_session(SessionStatus.APPROVED, **change)
    assert not is_accepted(Known(), AnswerOrigin(subject="planning-gone"))  # type: ignore[arg-type]  # as above


def test_what_was_judged_by_whoever_asked_needs_no_ledger():
    assert is_accepted(Known(), AnswerOrigin(subject="add a section"))  # type: ignore[arg-type]  # as above
