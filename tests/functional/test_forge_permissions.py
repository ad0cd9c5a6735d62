"""Who of a forge may have something planned: accounts, and those in a team or group (PP-18, PP-27)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.approvals.forge import ForgeKind
from tests.functional.conftest import USER
from tests.functional.issue_desk import IssueDesk, issue_desk

pytestmark = pytest.mark.req("PP-18", "PP-27")
ALLOWED = "RINGI_PLANNING_PERMISSIONS_ALLOWED_USERS"


@pytest.fixture(params=list(ForgeKind), ids=str)
def desk(request: pytest.FixtureRequest, isolated: Path, tmp_path: Path) -> Iterator[IssueDesk]:
    with issue_desk(request.param, tmp_path / "all") as found:
        yield found


def asked(desk: IssueDesk, author: str, allowed: str) -> int:
    issue = desk.repo.issue(author, "Fix it", "It is wrong.")
    code, _ = desk.ask("run", "--issue", f"#{issue.number}", **{ALLOWED: f"user:{USER},{allowed}"})
    return code


def test_team_may_ask_and_others_may_not(desk: IssueDesk):
    desk.forge.group("acme/core", ["alice"])
    host = desk.forge.url.removeprefix("http://")
    team = f"group:acme/core@{host}"
    assert asked(desk, "alice", team) == 3, desk.told  # a question waits
    code = asked(desk, "bob", team)
    assert (code, f"bob@{host}" in desk.told) == (6, True), desk.told
    assert asked(desk, "bob", f"Bob@{host}") == 3, desk.told
    with desk.opened() as workspace:
        assert len(workspace.planning.list()) == 2


def test_nobody_gets_through_if_the_forge_does_not_tell(desk: IssueDesk):
    host = desk.forge.url.removeprefix("http://")
    code = asked(desk, "alice", f"group:acme/unknown@{host}")
    assert (code, "acme/unknown" in desk.told) == (1, True), desk.told
    with desk.opened() as workspace:
        assert workspace.planning.list() == []
