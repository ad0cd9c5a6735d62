"""Whose events are meant: a plan's, a planning session's or a run's."""

from pathlib import Path

import pytest

from ringi.errors import NotFound
from ringi.sessions.document import SessionStatus
from tests.helpers import kinds, ledger_of, open_scratch, proposed, write
from tests.unit.sessions.made_sessions import added, approved, id_of


@pytest.mark.req("PT-11")
def test_by_the_names_that_people_use(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        proposed(ws, write("README.md", "x\n"))
        stored = approved(ledger_of(ws), added(ledger_of(ws), 1, status=SessionStatus.REVIEW))
        of_session = ["session_started", "session_approved"]
        for name in (id_of(1), "planning-0000", "00000001-0000"):
            assert kinds(ws, name) == of_session
        assert kinds(ws, str(stored.session.planner_session_id)) == ["run_created"]
        assert kinds(ws, "1")[0] == "plan_proposed"
        for name, what in (("planning-ffff", "planning session"), ("ffffffff", "plan"), ("p9", "plan")):
            with pytest.raises(NotFound) as caught:
                ws.log(name)
            assert str(caught.value.details["what"]) == what
