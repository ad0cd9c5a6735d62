"""Every pair of states, against a table of its own."""

import itertools

import pytest

from ringi.engine.run_state import RUN_MACHINE, RunPhase
from ringi.errors import BadTransition
from ringi.plans.document import PLAN_MACHINE, PLAN_TRANSITIONS, WAITING, PlanStatus
from ringi.sessions.document import OPEN_SESSIONS, SESSION_MACHINE, SessionStatus
from tests.tables import each

# Written from the specification and the design, not from the code.
ALLOWED = {
    ("proposed", "pending_review"),
    ("pending_review", "approved"),
    ("pending_review", "proposed"),
    ("pending_review", "scheduled"),  # it only reads
    ("approved", "scheduled"),
    ("approved", "pending_review"),
    ("scheduled", "executing"),
    ("executing", "completed"),
    ("executing", "aborted"),
    ("aborted", "scheduled"),
    ("aborted", "pending_review"),
    ("proposed", "discarded"),
    ("pending_review", "discarded"),
    ("approved", "discarded"),
    ("aborted", "discarded"),
}
PAIRS = list(itertools.product(PlanStatus, PlanStatus))


@pytest.mark.req("PT-6")
@each(("current", "target"), PAIRS)
def test_every_pair(current: PlanStatus, target: PlanStatus):
    if (current, target) in ALLOWED:
        assert PLAN_MACHINE.allows(current, target)
        assert PLAN_MACHINE.advance(current, target) is target
        return
    assert not PLAN_MACHINE.allows(current, target)
    with pytest.raises(BadTransition) as caught:
        PLAN_MACHINE.advance(current, target)
    words = str(caught.value)
    assert f"from {current} to {target}" in words
    assert caught.value.exit_code == 6
    hint = caught.value.hint.format_map(caught.value.details)
    assert all(allowed in hint for start, allowed in ALLOWED if start == current)


@pytest.mark.req("PT-6")
def test_the_table_names_every_state():
    assert set(PLAN_TRANSITIONS) == set(PlanStatus)
    assert len(ALLOWED) == sum(len(targets) for targets in PLAN_TRANSITIONS.values())


def test_what_waits_for_a_person_can_be_decided_or_carried_on():
    assert {str(status) for status in WAITING} == {"pending_review", "approved", "aborted"}


# The specification's table, then what the design adds: resuming, no summary, an inconsistent position.
SESSION_ALLOWED = {
    ("discovery", "design"),
    ("design", "review"),
    ("review", "approved"),
    ("review", "design"),
    *((state, "cancelled") for state in ("discovery", "design", "review", "approved", "failed")),
    *((state, "failed") for state in ("discovery", "design", "review", "approved")),
    *(("failed", state) for state in ("discovery", "design", "review", "approved")),
    ("design", "discovery"),
    ("review", "discovery"),
}
RUN_ALLOWED = {
    ("planning", "executing"),
    ("executing", "integrating"),
    ("integrating", "completed"),
    *(
        (phase, stop)
        for phase in ("planning", "executing", "integrating")
        for stop in ("needs_input", "cancelled", "failed")
    ),
    *(("needs_input", phase) for phase in ("planning", "executing", "integrating", "cancelled", "failed")),
    *(("failed", phase) for phase in ("planning", "executing", "integrating", "cancelled")),
}


@pytest.mark.req("IP-1", "IP-2")
@each(("current", "target"), list(itertools.product(SessionStatus, SessionStatus)))
def test_every_pair_of_a_session(current: SessionStatus, target: SessionStatus):
    assert SESSION_MACHINE.allows(current, target) is ((current, target) in SESSION_ALLOWED)


@pytest.mark.req("IP-1")
@each(("current", "target"), list(itertools.product(RunPhase, RunPhase)))
def test_every_pair_of_a_run(current: RunPhase, target: RunPhase):
    assert RUN_MACHINE.allows(current, target) is ((current, target) in RUN_ALLOWED)


def test_open_sessions_are_those_that_go_on():
    ended = {SessionStatus.APPROVED, SessionStatus.CANCELLED}
    assert set(SessionStatus) - ended == OPEN_SESSIONS
