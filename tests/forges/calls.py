"""Every call of the port once, and what came of it; for any forge behind the adapters."""

from collections.abc import Callable, Sequence
from typing import Any

from ringi.approvals.forge import ItemKind
from ringi.forges.document import (
    Access,
    ChangeState,
    CommitStatus,
    NewChangeRequest,
    ReviewVerdict,
    StatusState,
)
from ringi.forges.port import ChangeRequests, CodeHost, ForgeCommits, Items, People
from tests.support.forge_hands import Hands


class Recorded:
    """Notes which methods were called."""

    def __init__(self, part: object, called: set[str]) -> None:
        self._part, self._called = part, called

    def __getattr__(self, name: str) -> Callable[..., Any]:
        self._called.add(f"{type(self._part).__name__.lstrip('_')}.{name}")
        found: Callable[..., Any] = getattr(self._part, name)
        return found


def recorded(host: CodeHost, called: set[str]) -> CodeHost:
    parts = [Recorded(part, called) for part in (host.people, host.items, host.changes, host.commits)]
    return CodeHost(host.project, *parts)  # type: ignore[arg-type]


def all_calls(host: CodeHost) -> set[str]:
    """What an adapter must be able to do."""
    ports = zip(
        (host.people, host.items, host.changes, host.commits),
        (People, Items, ChangeRequests, ForgeCommits),
        strict=True,
    )
    return {
        f"{type(part).__name__.lstrip('_')}.{name}"
        for part, port in ports
        for name in vars(port)
        if not name.startswith("_")
    }


def use_everything(host: CodeHost, hands: Hands, *, me: str, draft: bool = True) -> None:
    """By a writer; alice is an administrator and of the group acme/core, eve a stranger.

    `draft`: the forge can be told that a change is one no longer.
    """
    assert host.people.me().login == me
    assert host.people.access("alice") is Access.ADMIN
    assert host.people.access(me) is Access.WRITE
    assert not host.people.access("eve").writes
    assert host.people.is_member("alice", "acme/core")
    assert not host.people.is_member("eve", "acme/core")

    issue = host.items.issue(hands.issue("alice", "It is slow", "Make it *fast*.\n"))
    assert (issue.title, issue.body.strip(), issue.author.login) == ("It is slow", "Make it *fast*.", "alice")
    assert (issue.item.kind, issue.open) == (ItemKind.ISSUE, True)
    said = host.items.comment(issue.item, hands.comment(issue.item, "alice", "Please."))
    assert (said.author.login, said.body, said.created_at) == ("alice", "Please.", said.updated_at)
    written = [host.items.write(issue.item, "run 1 progress", words).id for words in ("One", "Two", "Two")]
    assert len({*written}) == 1
    assert [one.id for one in host.items.comments(issue.item)] == [said.id, written[0]]
    for on in (True, True, False, False):
        host.items.label(issue.item, "coding agent help needed", on=on)
        assert (host.items.issue(issue.item.number).labels == ("coding agent help needed",)) is on

    head = hands.push("ringi/1", {"a.py": "x = 2\n", "docs/b.md": "# B\n"})
    assert host.changes.from_branch("ringi/1") is None
    wanted = NewChangeRequest("ringi/1", "main", "Make it fast", "The report")
    change = host.changes.open(wanted)
    assert (change.draft, change.head_commit, change.base_branch) == (True, head, "main")
    assert change.head_project == hands.repo.path
    assert host.changes.open(wanted._replace(body="Another report")).number == change.number
    found = host.changes.from_branch("ringi/1")
    assert found is not None
    assert (found.number, found.body) == (change.number, "Another report")
    host.commits.set_status(head, CommitStatus(StatusState.PENDING, "1 step is offered", change.url))
    host.commits.set_status(head, CommitStatus(StatusState.SUCCESS, "approved"))
    files = host.commits.files(head)
    assert {path: file.mode for path, file in files.items()} == {"a.py": "100644", "docs/b.md": "100644"}
    assert host.changes.commits(change.number) == [head]
    assert [*host.commits.parents(head)] == [hands.repo.tip("main")]
    _talk(host, hands, change.number, head)
    if draft:
        assert not host.changes.edit(change.number, draft=False).draft
    assert (
        host.changes.edit(change.number, title="Faster", state=ChangeState.CLOSED).state is ChangeState.CLOSED
    )
    assert host.changes.edit(change.number, state=ChangeState.OPEN).title == "Faster"


def _talk(host: CodeHost, hands: Hands, number: int, head: str) -> None:
    hands.review(number, "alice", "request_changes", "Not yet", [("a.py", 1, "Why 2?")])
    (remark,) = _remarks(host, number)
    assert (remark.path, remark.line, remark.old_side, remark.body) == ("a.py", 1, False, "Why 2?")
    for _ in range(2):
        host.changes.answer(number, remark, "run 1 answer", "Because.")
    assert [one.thread for one in _remarks(host, number)] == [remark.thread] * 2
    newer = hands.push("ringi/1", {"a.py": "x = 3\n"})
    assert host.changes.change(number).head_commit == newer
    hands.review(number, "alice", "approve")
    reviews = host.changes.reviews(number)
    newest = reviews[-1]
    assert (newest.verdict, newest.author.login, newest.commit) == (ReviewVerdict.APPROVED, "alice", newer)
    assert not host.changes.is_edited(number, newest.id)
    assert host.changes.base_changed_at(number) == ""
    hands.push("other", {"c.py": "z = 1\n"})
    hands.retarget(number, "alice", "other", "main")
    assert newest.at < host.changes.base_changed_at(number)
    assert head != newer


def _remarks(host: CodeHost, number: int) -> Sequence[Any]:
    return host.changes.remarks(number)
