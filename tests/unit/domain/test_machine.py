"""Every pair of states, against a table of its own."""

import itertools

import pytest

from ringi.domain.plan import PLAN_MACHINE, PLAN_TRANSITIONS, WAITING, PlanStatus
from ringi.errors import BadTransition

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
}
PAIRS = list(itertools.product(PlanStatus, PlanStatus))


@pytest.mark.req("PT-6")
@pytest.mark.parametrize(("current", "target"), PAIRS, ids=str)
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
