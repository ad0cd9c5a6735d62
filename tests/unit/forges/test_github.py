"""GitHub's adapter against a forge on loopback."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.api.workspace import open_workspace
from ringi.domain.forge import Access, ChangeState, CommitStatus, ForgeKind, NewChange, StatusState
from ringi.ports.forge import CodeHost
from tests.support.forge_server import ForgeServer


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[ForgeServer]:
    with ForgeServer(ForgeKind.GITHUB, tmp_path / "forge") as server:
        server.user("alice")
        server.user("ringi", bot=True)
        server.project("acme/app", {"a.py": "x = 1\n"}, {"alice": "admin", "ringi": "write"})
        yield server


@pytest.fixture
def host(forge: ForgeServer, tmp_path: Path) -> Iterator[CodeHost]:
    clone = tmp_path / "clone"
    url = forge.clone_url(forge.repos["acme/app"], "ringi")
    subprocess.run(["git", "clone", "-q", url, str(clone)], check=True)
    with open_workspace(
        clone, environment={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **forge.environment("ringi")}
    ) as workspace:
        yield workspace.forge()


def test_everything_works(forge: ForgeServer, host: CodeHost):
    repo = forge.repos["acme/app"]
    issue = repo.issue("alice", "Slow", "Make it fast")
    assert host.people.me().login == "ringi"
    assert host.people.access("alice") is Access.ADMIN
    found = host.items.issue(issue.number)
    assert (found.title, found.author.login) == ("Slow", "alice")
    first = host.items.write(found.item, "run 1 progress", "Begun")
    second = host.items.write(found.item, "run 1 progress", "Done")
    assert first.id == second.id
    assert [one.body.splitlines()[0] for one in host.items.comments(found.item)] == ["Done"]
    host.items.label(found.item, "help", on=True)
    assert host.items.issue(issue.number).labels == ("help",)
    head = repo.commit("ringi/1", {"a.py": "x = 2\n"})
    change = host.changes.open(NewChange("ringi/1", "main", "Faster", "Report"))
    assert (change.draft, change.head_commit, change.state) == (True, head, ChangeState.OPEN)
    assert host.changes.open(NewChange("ringi/1", "main", "Faster", "More")).number == change.number
    assert not host.changes.edit(change.number, draft=False).draft
    repo.review(change.number, "alice", "approve")
    assert [(one.author.login, one.commit) for one in host.changes.reviews(change.number)] == [
        ("alice", head)
    ]
    repo.remark(change.number, "alice", "a.py", 1, "Why?")
    (remark,) = host.changes.remarks(change.number)
    host.changes.answer(change.number, remark, "run 1 answer", "Because")
    host.changes.answer(change.number, remark, "run 1 answer", "Because")
    assert len(host.changes.remarks(change.number)) == 2
    host.commits.set_status(head, CommitStatus(StatusState.SUCCESS, "ok"))
    host.commits.set_status(head, CommitStatus(StatusState.SUCCESS, "ok"))
    assert len(repo.statuses[head]) == 1
    assert list(host.commits.files(head)) == ["a.py"]
    assert host.changes.commits(change.number) == [head]
