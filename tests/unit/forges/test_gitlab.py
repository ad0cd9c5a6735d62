"""What GitLab alone answers."""

import json

import pytest

from ringi.approvals.forge import ForgeKind
from ringi.forges.document import Access, NewChangeRequest
from tests.unit.forges.conftest import Here

pytestmark = [
    pytest.mark.req("PP-18", "PP-20"),
    pytest.mark.parametrize("here", [ForgeKind.GITLAB], indirect=True),
]


@pytest.mark.parametrize("waits", [{"state": "blocked"}, {"membership_state": "awaiting"}], ids=str)
def test_who_is_blocked_or_waits_for_a_seat_may_do_nothing(here: Here, waits: dict[str, str]):
    alice = here.forge.users["alice"].id
    told = {"id": alice, "username": "alice", "state": "active", "access_level": 40, **waits}
    here.forge.fault("GET", f"/members/all/{alice}$", status=200, body=json.dumps(told).encode())
    assert here.host.people.access("alice") is Access.NONE
    assert here.host.people.access("alice") is Access.ADMIN


def test_version_that_is_not_collected_yet_makes_an_approval_of_nothing_known(here: Here):
    head = here.repo.commit("aiflow/1", {"a.py": "x = 2\n"})
    number = here.host.changes.open(NewChangeRequest("aiflow/1", "main", "Faster", "Report")).number
    here.repo.review(number, "alice", "approve")
    versions = [{"head_commit_sha": None, "created_at": "2020-01-01T00:00:00.000Z"}]
    here.forge.fault("GET", "/versions$", status=200, body=json.dumps(versions).encode())
    assert [one.commit for one in here.host.changes.reviews(number)] == [""]
    assert [one.commit for one in here.host.changes.reviews(number)] == [head]
