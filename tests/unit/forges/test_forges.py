"""Both adapters do the same, each in the words of its forge."""

import pytest

from ringi.approvals.forge import Item, ItemKind
from ringi.errors import ForgeConflict, ForgeMissing
from ringi.forges.document import (
    Access,
    Account,
    ChangeState,
    CommitStatus,
    ForgeReview,
    NewChangeRequest,
    ReviewVerdict,
    StatusState,
)
from ringi.forges.gitlab import BASE_CHANGED, Approver, GitlabUser, Note, Version, reviews_of
from tests.support.forge_server import ReviewGiven
from tests.tables import each
from tests.unit.forges.conftest import Here

pytestmark = pytest.mark.req("PP-19", "PP-20", "PP-25")
HOSTILE = "\x1b[31m<b>\u202eevil\u2066 & \"quotes\" \\ 'x' `ls` 漢字 🎉"


def offered(here: Here, branch: str = "aiflow/1") -> tuple[int, str]:
    head = here.repo.commit(branch, {"a.py": f"x = {branch!r}\n"})
    return here.host.changes.open(NewChangeRequest(branch, "main", "Faster", "Report")).number, head


def test_who_may_do_what(here: Here):
    people = here.host.people
    me = people.me()
    assert (me.login, me.id, me.bot) == ("ringi", here.forge.users["ringi"].id, True)
    logins = ("alice", "ringi", "bob", "nobody", "../alice", "")
    found = [people.access(login) for login in logins]
    assert found == [Access.ADMIN, Access.WRITE, Access.READ, *[Access.NONE] * 3]
    here.repo.members["alice"] = "read"
    assert people.access("alice") is Access.READ


def test_whoever_takes_over_a_name_has_not_its_rights(here: Here):
    """Also if the same process has asked before."""
    assert here.host.people.access("alice") is Access.ADMIN
    before = here.forge.users.pop("alice")
    before.login = "alice2"
    here.forge.users["alice2"] = before
    here.repo.members["alice2"] = here.repo.members.pop("alice")
    here.forge.user("alice")
    assert here.host.people.access("alice") is Access.NONE
    assert here.host.people.access("alice2") is Access.ADMIN


def test_token_of_a_job_is_somebody_s_too(here: Here):
    here.forge.fault("GET", "/user$", status=403, times=0)
    assert here.host.people.me().login == "ringi"


@pytest.mark.req("PP-18", "PP-27")
def test_members_of_groups(here: Here):
    here.forge.group("acme/core", ["alice"])
    people = here.host.people
    assert people.is_member("alice", "acme/core")
    assert not people.is_member("bob", "acme/core")
    with pytest.raises(ForgeMissing):  # not known to be no member: a list that restricts must not let pass
        people.is_member("bob", "acme/secret")


def test_issue_is_read_as_it_is(here: Here):
    made = here.repo.issue("alice", HOSTILE, HOSTILE, ["bug"])
    found = here.host.items.issue(made.number)
    assert (found.title, found.body, found.labels, found.open) == (HOSTILE, HOSTILE, ("bug",), True)
    assert (found.author.login, found.author.bot) == ("alice", False)
    assert found.url.startswith(here.repo.url)
    with pytest.raises(ForgeMissing, match=r"acme/app#99"):
        here.host.items.issue(99)


def test_thousand_comments_are_all_read_in_order(here: Here):
    issue = here.repo.issue("alice", "Long")
    for number in range(1_000):
        here.repo.comment(issue, "bob" if number % 2 else "alice", f"{number}")
    found = here.host.items.comments(Item(ItemKind.ISSUE, issue.number))
    assert [one.body for one in found] == [str(number) for number in range(1_000)]
    assert len(here.forge.calls("GET", r"/(comments|notes)$")) == 10
    assert not any(one.author.bot for one in found)


def test_one_comment_by_mark_is_edited_and_only_ours(here: Here):
    issue = here.repo.issue("alice", "Slow")
    item, items = Item(ItemKind.ISSUE, issue.number), here.host.items
    here.repo.comment(issue, "alice", "Look:\n\n<!-- ringi:run 1 progress -->")
    first = items.write(item, "run 1 progress", "Begun\n\n<!-- ringi:run 2 progress -->")
    again = items.write(item, "run 1 progress", "Begun\n\n<!-- ringi:run 2 progress -->")
    assert again == first
    assert items.write(item, "run 1 progress", "Done").id == first.id
    other = items.write(item, "run 2 progress", "Other")
    assert other.id != first.id
    assert [one.body.splitlines()[0] for one in issue.comments] == ["Look:", "Done", "Other"]
    assert items.comment(item, first.id).body.startswith("Done")
    assert items.comment(item, first.id).updated_at > first.created_at
    with pytest.raises(ForgeMissing):
        items.comment(item, "999999")


def test_comment_of_another_item_is_not_found(here: Here):
    issue, other = here.repo.issue("alice", "One"), here.repo.issue("alice", "Two")
    note = here.repo.comment(other, "alice", "/ringi approve")
    with pytest.raises(ForgeMissing):
        here.host.items.comment(Item(ItemKind.ISSUE, issue.number), str(note.id))


def test_words_of_others_become_no_commands_of_ours(here: Here):
    issue = here.repo.issue("alice", "Slow")
    here.host.items.write(Item(ItemKind.ISSUE, issue.number), "m", "They said:\n/merge\n\r/close\nok")
    assert issue.comments[0].body.startswith("They said:\n /merge\n /close\nok")
    number, _ = offered(here)
    here.host.changes.edit(number, body="/approve\n" + "x" * 100_000)
    body = here.repo.changes[number].body
    assert body.startswith(" /approve\n")
    assert len(body) <= 65_536


def test_words_that_were_edited_at_once_are_edited(here: Here):
    """GitHub tells whole seconds over REST."""
    number, _ = offered(here)
    item, change = Item(ItemKind.CHANGE, number), here.repo.changes[number]
    said, fast, slow = (here.repo.comment(change, "alice", "Fine") for _ in range(3))
    assert not here.host.items.comment(item, str(said.id)).edited
    here.repo.edit_comment(slow, "/ringi approve it")
    assert here.host.items.comment(item, str(slow.id)).edited
    review = here.repo.review(number, "alice", "approve", "Fine")
    assert not here.host.changes.is_edited(number, str(review.id))
    if here.forge.kind == "github":  # the other one tells milliseconds, and an approval has no words
        here.repo.edit_at_once(fast, "/ringi approve it")
        found = here.host.items.comment(item, str(fast.id))
        assert (found.created_at, found.edited) == (found.updated_at, True)
        review.edited = review.at
        assert here.host.changes.is_edited(number, str(review.id))


def test_label_is_put_on_and_taken_off(here: Here):
    issue = here.repo.issue("alice", "Slow", labels=["bug"])
    item, label = Item(ItemKind.ISSUE, issue.number), "coding agent help needed"
    for on in (True, True, False, False):
        here.host.items.label(item, label, on=on)
        assert (label in issue.labels) is on
    assert issue.labels == ["bug"]
    assert label in here.repo.labels
    number, _ = offered(here)
    here.host.items.label(Item(ItemKind.CHANGE, number), label, on=True)
    assert here.host.changes.change(number).labels == (label,)


def test_change_is_opened_once_and_follows(here: Here):
    changes = here.host.changes
    assert changes.from_branch("aiflow/1") is None
    number, head = offered(here)
    found = changes.change(number)
    assert (found.title, found.body, found.draft, found.state) == ("Faster", "Report", True, ChangeState.OPEN)
    assert (found.head_branch, found.head_commit, found.head_project) == ("aiflow/1", head, "acme/app")
    assert (found.base_branch, found.author.login, found.item) == (
        "main",
        "ringi",
        Item(ItemKind.CHANGE, number),
    )
    again = changes.open(NewChangeRequest("aiflow/1", "main", "Faster still", "More"))
    assert (again.number, again.title, again.body, again.draft) == (number, "Faster still", "More", True)
    newer = here.repo.commit("aiflow/1", {"a.py": "x = 3\n"})
    assert changes.change(number).head_commit == newer
    assert changes.commits(number) == [head, newer]
    assert len(here.repo.changes) == 1
    ready = changes.edit(number, draft=False)
    assert (ready.draft, ready.title) == (False, "Faster still")
    assert changes.edit(number, title="New", draft=True)[1:3] == ("New", "More")
    assert changes.edit(number, state=ChangeState.CLOSED).state is ChangeState.CLOSED
    assert changes.edit(number, state=ChangeState.CLOSED).state is ChangeState.CLOSED
    second = changes.open(NewChangeRequest("aiflow/1", "main", "Again", "", draft=False))
    assert (second.number != number, second.draft) == (True, False)
    assert changes.from_branch("aiflow/1") == second
    with pytest.raises(ForgeMissing):
        changes.change(99)


def test_project_without_drafts_gets_a_change_that_is_none(here: Here):
    here.repo.commit("aiflow/1", {"a.py": "x = 2\n"})
    said = b'{"message": "Draft pull requests are not supported in this repository."}'
    if here.forge.kind == "github":
        here.forge.fault("POST", "/pulls$", status=422, body=said)
    found = here.host.changes.open(NewChangeRequest("aiflow/1", "main", "Faster", "Report"))
    assert (found.draft, found.title) == (here.forge.kind == "gitlab", "Faster")
    assert len(here.repo.changes) == 1


def test_merged_and_without_its_branch(here: Here):
    number, head = offered(here)
    here.repo.merge(number, squash=True)
    here.repo.delete_branch("aiflow/1")
    found = here.host.changes.from_branch("aiflow/1")
    assert found is not None
    assert (found.number, found.state, found.head_commit) == (number, ChangeState.MERGED, head)
    with pytest.raises(ForgeConflict):
        here.host.changes.edit(number, state=ChangeState.OPEN)
    with pytest.raises(ForgeConflict):
        here.host.changes.open(NewChangeRequest("aiflow/1", "main", "Again", ""))


def test_reviews_say_which_head_was_meant(here: Here):
    number, head = offered(here)
    first = here.repo.review(number, "alice", "approve")
    assert [(one.author.login, one.verdict, one.commit) for one in here.host.changes.reviews(number)] == [
        ("alice", ReviewVerdict.APPROVED, head)
    ]
    newer = here.repo.commit("aiflow/1", {"a.py": "x = 3\n"})
    assert given(here, number, first).commit == head
    here.repo.review(number, "alice", "request_changes", "No")
    here.repo.review(number, "bob", "approve")
    found = here.host.changes.reviews(number)
    assert [(one.author.login, one.verdict, one.commit) for one in found] == [
        ("alice", ReviewVerdict.DISMISSED, head),
        ("alice", ReviewVerdict.CHANGES_REQUESTED, newer),
        ("bob", ReviewVerdict.APPROVED, newer),
    ]
    assert [one.at for one in found] == sorted(one.at for one in found)


def given(here: Here, number: int, review: ReviewGiven) -> ForgeReview:
    (found,) = [one for one in here.host.changes.reviews(number) if one.id == str(review.id)]
    return found


def test_the_last_change_of_the_base_is_known(here: Here):
    number, _ = offered(here)
    assert here.host.changes.base_changed_at(number) == ""
    first = given(here, number, here.repo.review(number, "alice", "approve"))
    here.repo.retarget(number, "hide", "ringi")
    hidden = here.host.changes.base_changed_at(number)
    here.repo.comment(here.repo.changes[number], "bob", "changed target branch from `hide` to `main`")
    assert here.host.changes.base_changed_at(number) == hidden
    here.repo.retarget(number, "main", "ringi")
    back = here.host.changes.base_changed_at(number)
    again = given(here, number, here.repo.review(number, "alice", "approve"))
    assert first.at < hidden < back < again.at
    assert first.commit == again.commit


def test_the_note_about_an_approval_may_be_written_after_the_next_push():
    """By a worker of GitLab, when it finds the time."""
    alice, user = Account("alice", 1), GitlabUser(1, "alice")
    versions = [
        Version(f"2026-01-02T03:{minute}:00.000Z", head) for head, minute in (("a", "04"), ("b", "06"))
    ]
    note = Note(
        7,
        user,
        "2026-01-02T03:07:00.000Z",
        "2026-01-02T03:07:00.000Z",
        "approved this merge request",
        system=True,
    )

    def heads(*approved_at: str | None) -> list[tuple[str, str]]:
        approvers = [(Approver(user, at), alice) for at in approved_at]
        found = reviews_of([(note, alice)], approvers, versions, "page")
        return [(one.verdict.value, one.commit) for one in found]

    assert heads("2026-01-02T03:05:00.000Z") == [("approved", "a")]
    assert heads("2026-01-02T03:06:30.000Z") == [("approved", "b")]
    assert heads("2026-01-02T03:08:00.000Z") == [("approved", "b")]  # its own note is not there yet
    assert heads(None) == [("approved", "b")]  # an older server
    assert heads() == [("dismissed", "b")]
    assert reviews_of([], [(Approver(user, versions[0].created_at), alice)], versions, "page") == []


@each(
    ("words", "changed"),
    [
        ("changed target branch from `main` to `a` to `b`", True),
        ("deleted the `feature/x` branch. This merge request now targets the `main` branch", True),
        ("changed title from **a** to **changed target branch from `a` to `b`**", False),
        ("deleted the `x` branch", False),
    ],
)
def test_words_of_gitlab_about_the_base(words: str, changed: bool):
    assert bool(BASE_CHANGED.match(words)) is changed


def test_dismissed_review_is_one(here: Here):
    number, _ = offered(here)
    review = here.repo.review(number, "alice", "approve")
    here.repo.dismiss(number, review)
    assert given(here, number, review).verdict is ReviewVerdict.DISMISSED


def test_remarks_on_lines_and_their_answers(here: Here):
    number, head = offered(here)
    here.repo.review(number, "alice", "request_changes", "See", lines=[("a.py", 1, HOSTILE)])
    here.repo.remark(number, "bob", "lib/b.py", 1, "Old", old_side=True)
    first, second = here.host.changes.remarks(number)
    assert (first.path, first.line, first.old_side, first.body) == ("a.py", 1, False, HOSTILE)
    assert (first.commit, first.answers, first.author.login) == (head, "", "alice")
    assert (second.path, second.line, second.old_side) == ("lib/b.py", 1, True)
    for _ in range(2):
        here.host.changes.answer(number, first, "run 1 answer", "Because")
    answers = [one for one in here.host.changes.remarks(number) if one.answers]
    assert [(one.thread, one.answers) for one in answers] == [(first.thread, first.id)]
    here.repo.commit("aiflow/1", {"a.py": "other\n"})
    moved = here.host.changes.remarks(number)[0]
    assert (moved.id, moved.line, moved.commit) == (first.id, 1, head)


def test_comments_of_a_change_are_people_s(here: Here):
    number, _ = offered(here)
    here.repo.comment(here.repo.changes[number], "alice", "Hm")
    here.repo.review(number, "alice", "approve")
    here.repo.remark(number, "bob", "a.py", 1, "Why?")
    found = here.host.items.comments(Item(ItemKind.CHANGE, number))
    assert [one.body for one in found] == ["Hm"]


def test_status_is_set_once(here: Here):
    _, head = offered(here)
    status = CommitStatus(StatusState.PENDING, "x" * 200, here.repo.url)
    for _ in range(2):
        here.host.commits.set_status(head, status._replace(description=status.description))
    here.host.commits.set_status(head, status._replace(description="waits"))
    for _ in range(2):
        here.host.commits.set_status(head, CommitStatus(StatusState.SUCCESS, "ok"))
    here.host.commits.set_status(head, CommitStatus(StatusState.FAILURE, "one byte more"))
    states = [one["state"] for one in here.repo.statuses[head]]
    assert states[:2] == ["failed" if here.forge.kind == "gitlab" else "failure", "success"]
    assert states.count("success") == 1
    with pytest.raises((ForgeMissing, ForgeConflict)):
        here.host.commits.set_status("0" * 40, status)


def test_parents_of_a_commit(here: Here):
    _, head = offered(here)
    base = here.repo.tip("main")
    assert here.host.commits.parents(head) == (base,)
    assert here.host.commits.parents(base) == ()
    with pytest.raises(ForgeMissing):
        here.host.commits.parents("0" * 40)


def test_files_of_a_commit(here: Here):
    _, head = offered(here)
    found = here.host.commits.files(head)
    listed = here.repo.git("ls-tree", "-r", head).splitlines()
    assert {f"{one.mode} blob {one.blob}\t{path}" for path, one in found.items()} == set(listed)
    many = here.repo.commit("many", {f"d{n % 7}/f{n}": f"{n}" for n in range(250)})
    assert len(here.host.commits.files(many)) == 252
    with pytest.raises(ForgeMissing):
        here.host.commits.files("0" * 40)
