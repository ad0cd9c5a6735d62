"""What comes after a page that was full and the last one when it was read.

The tags of the server are of the body alone, as GitLab's are: a page that was full stays the same when
another one follows it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest

from ringi.approvals.forge import ForgeKind, Item, ItemKind
from ringi.forges.document import NewChangeRequest
from tests.support.forge_server import ChangeThing, Thing
from tests.support.forge_state import Event
from tests.unit.forges.conftest import Here

pytestmark = pytest.mark.req("PP-20", "PP-25")


class Listed(NamedTuple):
    """One kind of list: how something is added to it, and how it is read."""

    add: Callable[[str], object]
    read: Callable[[], Sequence[str]]


def change_of(here: Here) -> ChangeThing:
    if not here.repo.changes:
        here.repo.commit("aiflow/1", {"a.py": "x = 2\n"})
        here.host.changes.open(NewChangeRequest("aiflow/1", "main", "Faster", "Report"))
    return next(iter(here.repo.changes.values()))


def comments(here: Here, thing: Thing, kind: ItemKind) -> Listed:
    item = Item(kind, thing.number)
    return Listed(
        lambda words: here.repo.comment(thing, "bob", words),
        lambda: [one.body for one in here.host.items.comments(item)],
    )


def of_issue(here: Here) -> Listed:
    return comments(here, here.repo.issue("alice", "Slow"), ItemKind.ISSUE)


def of_change(here: Here) -> Listed:
    return comments(here, change_of(here), ItemKind.CHANGE)


def reviews(here: Here) -> Listed:
    number = change_of(here).number
    return Listed(
        lambda words: here.repo.review(number, "alice", "request_changes", words),
        lambda: [one.id for one in here.host.changes.reviews(number)],
    )


def remarks(here: Here) -> Listed:
    number = change_of(here).number
    return Listed(
        lambda words: here.repo.remark(number, "bob", "a.py", 1, words),
        lambda: [one.body for one in here.host.changes.remarks(number)],
    )


def commits(here: Here) -> Listed:
    change, made = change_of(here), list[str]()

    def read() -> Sequence[str]:
        """Git is given all of them at once."""
        marks = [f"committer Bob <bob@example.invalid> {at} +0000\ndata 1\n." for at in range(len(made))]
        first, *others = [f"commit refs/heads/many\n{one}\n" for one in marks]
        stream = "".join([f"{first}from {here.repo.tip('main')}\n", *others])
        here.repo.git("fast-import", "--quiet", "--force", data=stream.encode())
        change.head_commit = here.repo.tip("many")
        return here.host.changes.commits(change.number)

    return Listed(made.append, read)


LISTS = [of_issue, of_change, reviews, remarks, commits]


@pytest.mark.parametrize("pages", [1, 2])
@pytest.mark.parametrize("make", LISTS, ids=lambda one: one.__name__)
def test_what_comes_after_a_full_page_is_read(here: Here, make: Callable[[Here], Listed], pages: int):
    listed = make(here)
    for number in range(100 * pages):
        listed.add(f"{number}")
    first = listed.read()
    assert listed.read() == first
    listed.add("late")
    assert len(listed.read()) == len(first) + 1
    listed.add("later")
    assert len(listed.read()) == len(first) + 2


def test_change_of_the_base_after_a_full_page_is_known(here: Here):
    """GitHub has a list of events, GitLab notes of its own."""
    change = change_of(here)
    for number in range(100):
        if here.forge.kind is ForgeKind.GITHUB:
            user = here.forge.users["bob"]
            change.events.append(Event(here.forge.next_id(), user, "renamed", here.forge.now()))
        else:
            here.repo.system_note(change, here.forge.users["bob"], f"marked this as draft {number}")
    assert here.host.changes.base_changed_at(change.number) == ""
    assert here.host.changes.base_changed_at(change.number) == ""
    here.repo.retarget(change.number, "hide", "ringi")
    assert here.host.changes.base_changed_at(change.number)


def test_changes_of_a_branch_after_a_full_page_are_known(here: Here):
    change = change_of(here)
    here.forge.largest_page = 3
    for _ in range(2):
        change.open = False
        change = here.repo.open_change("ringi", "aiflow/1", "main", "Again")
    found = [here.host.changes.from_branch("aiflow/1") for _ in range(2)]
    assert [one and one.number for one in found] == [change.number] * 2
    change.open = False
    newest = here.repo.open_change("ringi", "aiflow/1", "main", "Again")
    last = here.host.changes.from_branch("aiflow/1")
    assert last is not None
    assert last.number == newest.number


def test_pages_shift_and_nothing_is_lost(here: Here):
    """A comment is deleted: the page is full no more, full again, and goes on."""
    issue = here.repo.issue("alice", "Slow")
    listed = comments(here, issue, ItemKind.ISSUE)
    for number in range(200):
        listed.add(f"{number}")
    assert len(listed.read()) == 200
    for gone in (150, 20, 0):
        del issue.comments[gone]
        assert listed.read() == [one.body for one in issue.comments]
    for number in range(6):
        listed.add(f"late {number}")
        assert listed.read() == [one.body for one in issue.comments]
    del issue.comments[100:]
    assert listed.read() == [one.body for one in issue.comments]
    listed.add("after the rest was deleted")
    assert listed.read() == [one.body for one in issue.comments]


def test_a_last_page_with_room_is_not_sent_again(here: Here):
    listed = of_issue(here)
    for number in range(199):
        listed.add(f"{number}")
    listed.read()
    here.forge.requests.clear()
    listed.read()
    assert [one.answered for one in here.forge.calls()] == [304, 304]
    listed.add("199")
    listed.read()
    here.forge.requests.clear()
    listed.read()
    assert [one.answered for one in here.forge.calls()] == [304, 200]


def test_server_with_smaller_pages(here: Here):
    here.forge.largest_page = 20
    listed = of_issue(here)
    for number in range(40):
        listed.add(f"{number}")
    for _ in range(2):
        assert len(listed.read()) == 40
    listed.add("late")
    assert len(listed.read()) == 41


def test_project_that_moved_has_full_pages_too(here: Here):
    listed = of_issue(here)
    for number in range(100):
        listed.add(f"{number}")
    listed.read()
    (path,) = {one.path for one in here.forge.calls("GET", "/(comments|notes)$")}
    where = path.replace("acme/app", "acme%2Fapp") if here.forge.kind is ForgeKind.GITLAB else path
    moved = {"Location": f"{where}?sort=asc&order_by=created_at&per_page=100&moved=1"}
    for late in (0, 0, 1):
        for _ in range(late):
            listed.add("late")
        here.forge.fault("GET", "/(comments|notes)$", status=301, headers=moved)
        assert len(listed.read()) == 100 + late


def test_page_that_follows_is_known_from_an_answer_without_a_body(here: Here):
    """Some servers tell it beside the tag that did not change."""
    listed = of_issue(here)
    for number in range(99):
        listed.add(f"{number}")
    listed.read()
    tag = '"the same"'
    (path,) = {one.path for one in here.forge.calls("GET", "/(comments|notes)$")}
    link = f'<{here.forge.url}{path}?page=2>; rel="next"'
    here.forge.fault("GET", "/(comments|notes)$", status=304, body=b"", headers={"ETag": tag, "Link": link})
    listed.read()
    assert here.forge.calls("GET", "/(comments|notes)$")[-1].query["page"] == "2"


def test_notes_that_are_not_shown_count(here: Here):
    """GitLab cuts pages before it leaves out what is internal."""
    if here.forge.kind is ForgeKind.GITHUB:
        pytest.skip("GitHub has no internal comments")
    issue = here.repo.issue("alice", "Slow")
    listed = comments(here, issue, ItemKind.ISSUE)
    for number in range(100):
        listed.add(f"{number}")
    issue.comments[7].internal = True
    for _ in range(2):
        assert len(listed.read()) == 99
    listed.add("late")
    assert len(listed.read()) == 100
