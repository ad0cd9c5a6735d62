"""Every call meets every fault at each of its requests: nothing is made twice, no error shows the token."""

import copy
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from ringi.approvals.forge import ForgeKind, Item, ItemKind
from ringi.errors import (
    BadForgeAnswer,
    ForgeBusy,
    ForgeConflict,
    ForgeFailed,
    ForgeMissing,
    ForgeRejected,
    ForgeUnreachable,
)
from ringi.forges.document import ChangeState, CommitStatus, NewChangeRequest, StatusState
from ringi.forges.port import CodeHost
from tests.support.forge_server import HTML, Fault
from tests.unit.forges.conftest import Here, Time, host_of

pytestmark = pytest.mark.req("PP-19", "PP-20", "PP-25")
ISSUE = Item(ItemKind.ISSUE, 1)
SAID = b'{"message": "it is %s that fails"}'
STATUS = CommitStatus(StatusState.SUCCESS, "ok")


def _remark(host: CodeHost) -> Any:
    (remark,) = host.changes.remarks(_number(host))
    return remark


def _number(host: CodeHost) -> int:
    found = host.changes.from_branch("aiflow/1")
    assert found is not None
    return found.number


CALLS: dict[str, Callable[[CodeHost], Any]] = {
    "me": lambda host: host.people.me(),
    "access": lambda host: host.people.access("alice"),
    "is_member": lambda host: host.people.is_member("alice", "acme/core"),
    "issue": lambda host: host.items.issue(1),
    "comments": lambda host: host.items.comments(ISSUE),
    "comment": lambda host: host.items.comment(ISSUE, host.items.comments(ISSUE)[0].id),
    "write a new one": lambda host: host.items.write(ISSUE, "new", "Begun").body,
    "write an old one": lambda host: host.items.write(ISSUE, "old", "Done").body,
    "label": lambda host: host.items.label(ISSUE, "help", on=True),
    "no label": lambda host: host.items.label(ISSUE, "bug", on=False),
    "change": lambda host: host.changes.change(_number(host)),
    "open": lambda host: host.changes.open(NewChangeRequest("aiflow/2", "main", "New", "Report")).title,
    "open again": lambda host: (
        host.changes.open(NewChangeRequest("aiflow/1", "main", "Newer", "Report")).title
    ),
    "edit": lambda host: host.changes.edit(_number(host), title="Other", state=ChangeState.CLOSED).title,
    "ready": lambda host: host.changes.edit(_number(host), draft=False).draft,
    "reviews": lambda host: host.changes.reviews(_number(host)),
    "remarks": lambda host: host.changes.remarks(_number(host)),
    "answer": lambda host: host.changes.answer(_number(host), _remark(host), "m", "Because"),
    "commits": lambda host: host.changes.commits(_number(host)),
    "parents": lambda host: host.commits.parents(host.changes.change(_number(host)).head_commit),
    "status": lambda host: host.commits.set_status(host.changes.change(_number(host)).head_commit, STATUS),
    "files": lambda host: len(host.commits.files(host.changes.change(_number(host)).head_commit)),
}


class Case(NamedTuple):
    name: str
    fault: dict[str, Any]
    error: type[ForgeFailed] | None
    """None: it works all the same."""


CASES = (
    Case("token revoked", {"status": 401}, ForgeRejected),
    Case("not allowed", {"status": 403}, ForgeRejected),
    Case("missing", {"status": 404}, ForgeMissing),
    Case("gone", {"status": 410}, ForgeMissing),
    Case("conflict", {"status": 409}, ForgeConflict),
    Case("invalid", {"status": 422}, ForgeConflict),
    Case("teapot", {"status": 418}, ForgeFailed),
    Case("later", {"status": 429, "headers": {"Retry-After": "7"}}, None),
    Case("limited", {"status": 403, "headers": {"Retry-After": "7"}}, None),
    Case("much later", {"status": 429, "headers": {"Retry-After": "3600"}}, ForgeBusy),
    Case("always later", {"status": 429, "headers": {"Retry-After": "20"}, "times": 0}, ForgeBusy),
    Case("fails", {"status": 500}, None),
    Case("fails, but did it", {"status": 502, "done": True}, None),
    Case("fails always", {"status": 503, "body": HTML, "kind": "text/html", "times": 0}, ForgeBusy),
    Case("cut before", {"cut": "before"}, None),
    Case("cut after", {"cut": "after"}, None),
    Case("cut in the middle", {"cut": "middle"}, None),
    Case("cut always", {"cut": "before", "times": 0}, ForgeUnreachable),
    Case("page", {"status": 200, "body": HTML, "kind": "text/html"}, BadForgeAnswer),
    Case("no JSON", {"status": 200, "body": b"{", "times": 0}, BadForgeAnswer),
    Case("other JSON", {"status": 200, "body": b'[{"a": 1}, 7]', "times": 0}, BadForgeAnswer),
    Case("elsewhere", {"status": 302, "headers": {"Location": "http://127.0.0.2:9/x"}}, ForgeFailed),
    Case("packed", {"status": 200, "headers": {"Content-Encoding": "gzip"}}, BadForgeAnswer),
)
# What these answers mean to those who ask whether something is there.
FINE = {
    ("access", "missing"), ("access", "gone"), ("is_member", "missing"), ("is_member", "gone"),
    ("no label", "missing"), ("no label", "gone"),
}  # fmt: skip
ASKING = {name for name, _ in FINE}


@pytest.fixture
def ready(here: Here) -> Here:
    """With an issue and a change, and something of everything."""
    forge, repo = here.forge, here.repo
    forge.group("acme/core", ["alice"])
    issue = repo.issue("alice", "Slow", "Very", ["bug"])
    repo.comment(issue, "alice", "Please")
    repo.comment(issue, "ringi", "Begun\n\n<!-- ringi:old -->")
    for branch in ("aiflow/1", "aiflow/2"):
        repo.commit(branch, {"a.py": f"{branch}\n"})
    title = "Draft: Faster" if forge.kind is ForgeKind.GITLAB else "Faster"
    change = repo.open_change("ringi", "aiflow/1", "main", title, "Report", draft=True)
    repo.review(change.number, "alice", "approve")
    repo.remark(change.number, "alice", "a.py", 1, "Why?")
    return here


def _kept(here: Here) -> Callable[[], None]:
    """Puts everything back as it is now."""
    names = ("issues", "changes", "statuses", "labels")
    users = {id(user): user for user in here.forge.users.values()}
    saved = copy.deepcopy({name: getattr(here.repo, name) for name in names}, dict(users))

    def restore() -> None:
        here.forge.faults.clear()
        here.forge.requests.clear()
        for name, value in copy.deepcopy(saved, dict(users)).items():
            setattr(here.repo, name, value)

    return restore


def _counts(here: Here) -> dict[str, int]:
    repo = here.repo
    things = (*repo.issues.values(), *repo.changes.values())
    return {
        "comments": sum(len(thing.comments) for thing in things),
        "changes": len(repo.changes),
        "remarks": sum(len(change.remarks) for change in repo.changes.values()),
        "statuses": sum(map(len, repo.statuses.values())),
    }


def _requests(
    here: Here, call: Callable[[CodeHost], Any]
) -> tuple[list[tuple[str, str]], Any, dict[str, int]]:
    """Those that the call makes if nothing fails, and what comes of it."""
    result = call(host_of(here.forge, "acme/app", "ringi", Time().pace))
    asked = list(dict.fromkeys((one.method, one.path) for one in here.forge.calls()))
    return asked, result, _counts(here)


def _faults(here: Here, name: str, read: set[str]) -> Iterator[tuple[Case, str, str, Any, dict[str, int]]]:
    """Without what an earlier call has read from there: it is read in the same way."""
    restore = _kept(here)
    asked, result, counts = _requests(here, CALLS[name])
    for method, path in asked:
        if method == "GET" and path in read and name not in ASKING:
            continue
        read.add(path)
        for case in CASES:
            restore()
            yield case, method, path, result, counts
    restore()


def test_every_call_meets_every_fault(ready: Here):
    read: set[str] = set()
    tried = [_meets_every_fault(ready, name, read) for name in CALLS]
    assert sum(tried) >= len(CALLS) * len(CASES)


def _meets_every_fault(ready: Here, name: str, read: set[str]) -> int:
    """How many of them."""
    token, tried = ready.forge.users["ringi"].token, 0
    for case, method, path, result, counts in _faults(ready, name, read):
        tried += 1
        body = SAID % token.encode()
        made = Fault(**{"body": body, **case.fault}, method=method, path=f"^{path}$")
        ready.forge.faults.append(made)
        time = Time()
        where = f"{name}: {case.name} at {method} {path}"
        found, error = _outcome(name, ready, time)
        if error is not None:
            assert isinstance(error, case.error or ()), f"{where}: {error!r}"
            shown = "".join(traceback.format_exception(error)) + repr(error) + repr(error.details)
            assert token not in shown, where
            assert sum(time.slept) <= 120, where
        else:
            fine = case.error is None or (name, case.name) in FINE or made in ready.forge.faults
            assert fine or _is_settled(case, path), where
            if case.error is None:
                assert _alike(found) == _alike(result), where
                assert _counts(ready) == counts, where
        now = _counts(ready)
        assert all(now[thing] <= counts[thing] for thing in counts), where
    return tried


def _outcome(name: str, here: Here, time: Time) -> tuple[Any, ForgeFailed | None]:
    try:
        return CALLS[name](host_of(here.forge, "acme/app", "ringi", time.pace)), None
    except ForgeFailed as error:
        return None, error


def _is_settled(case: Case, path: str) -> bool:
    """A conflict is looked into: somebody else may have done the same. An account may be gone. Whose a token
    of a job is, is told elsewhere.
    """
    gone = case.error is ForgeMissing and "/users/" in path
    return gone or case.error is ForgeConflict or (case.error is ForgeRejected and path.endswith("/user"))


def _alike(found: Any) -> Any:
    """Without the moments."""
    return found if isinstance(found, str | bool | int | type(None)) else len(found)
