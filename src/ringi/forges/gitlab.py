"""GitLab over REST, also self-managed.

It has no reviews with a commit of their own: see `reviews_of`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final
from urllib.parse import quote

import msgspec

from ringi.approvals.forge import Item, ItemKind, Project, page_of
from ringi.errors import ForgeConflict, ForgeMissing, ForgeRejected
from ringi.forges.connection import ForgeToken
from ringi.forges.document import (
    Access,
    Account,
    ChangeRequest,
    ChangeState,
    Comment,
    CommitStatus,
    ForgeReview,
    Issue,
    NewChangeRequest,
    Remark,
    ReviewVerdict,
    StatusState,
)
from ringi.forges.http import ForgeClient, to_utc
from ringi.forges.marks import (
    add_mark,
    adopt_open,
    clean_body,
    find_ours,
    newest_status,
    reads_same,
    status_fields,
    status_says,
)
from ringi.forges.port import CodeHost, FileOnForge
from ringi.kernel.text import lazy_pattern

_TREE: Final = "tree"
_BOT: Final = lazy_pattern(r"(?:project|group)_\d+_bot(?:_.*)?")
"""An account that a token of a project or group has."""
_STATES: Final = {
    StatusState.PENDING: "pending",
    StatusState.SUCCESS: "success",
    StatusState.FAILURE: "failed",
}
_PLACES: Final = {ItemKind.ISSUE: "issues", ItemKind.CHANGE: "merge_requests"}
_SIGNS: Final = {ItemKind.ISSUE: "#", ItemKind.CHANGE: "!"}


# ---------------------------------------------------------------- what it answers, as far as it is read


DIFF_NOTE: Final = "DiffNote"
DEVELOPER: Final = 30
MAINTAINER: Final = 40
ACTIVE: Final = "active"
STATES: Final = {
    "opened": ChangeState.OPEN,
    "locked": ChangeState.OPEN,  # it is being merged
    "closed": ChangeState.CLOSED,
    "merged": ChangeState.MERGED,
}
_DRAFT: Final = lazy_pattern(r"\s*(?:(?:\[draft\]|\(draft\)|draft:)\s*)+", re.IGNORECASE)
# What the forge writes into the history of a change; it is not translated.
_SAID: Final = {
    "approved this merge request": ReviewVerdict.APPROVED,
    "unapproved this merge request": ReviewVerdict.DISMISSED,
    "requested changes": ReviewVerdict.CHANGES_REQUESTED,
}
BASE_CHANGED: Final = lazy_pattern(
    r"changed target branch from `|deleted the `[^\n]+ branch\. This merge request now targets the `"
)
"""Likewise: by hand, or because the branch is gone."""


class GitlabUser(msgspec.Struct):
    id: int
    username: str
    bot: bool | None = None
    """Not told everywhere."""


class Job(msgspec.Struct):
    user: GitlabUser


class Member(msgspec.Struct):
    username: str
    access_level: int
    state: str = ACTIVE
    """Of the account."""
    membership_state: str = ACTIVE
    """It can wait for a seat."""


class ProjectShape(msgspec.Struct):
    id: int
    path_with_namespace: str


class GitlabIssue(msgspec.Struct):
    iid: int
    title: str
    state: str
    web_url: str
    author: GitlabUser
    description: str | None = None
    labels: list[str] = []


class MergeRequest(GitlabIssue):
    source_branch: str = ""
    target_branch: str = ""
    source_project_id: int | None = None
    target_project_id: int = 0
    sha: str | None = None
    draft: bool = False


class GitlabPosition(msgspec.Struct):
    head_sha: str | None = None
    old_path: str | None = None
    new_path: str | None = None
    old_line: int | None = None
    new_line: int | None = None


class Note(msgspec.Struct):
    id: int
    author: GitlabUser
    created_at: str
    updated_at: str
    body: str = ""
    system: bool = False
    type: str | None = None
    position: GitlabPosition | None = None


class Discussion(msgspec.Struct):
    id: str
    notes: list[Note] = []


class Version(msgspec.Struct):
    created_at: str
    head_commit_sha: str | None = None
    """None if it was not collected, or not yet."""


class Approver(msgspec.Struct):
    user: GitlabUser
    approved_at: str | None = None
    """Newer ones tell it."""


class GitlabApprovals(msgspec.Struct):
    approved_by: list[Approver] = []


class GitlabCommit(msgspec.Struct):
    id: str
    parent_ids: list[str] = []


class GitlabStatus(msgspec.Struct):
    state: str = msgspec.field(name="status")
    context: str = msgspec.field(name="name", default="")
    description: str | None = None
    target_url: str | None = None


class GitlabEntry(msgspec.Struct):
    id: str
    type: str
    path: str
    mode: str


def strip_draft(title: str) -> str:
    """Without what makes it a draft."""
    found = _DRAFT.match(title)
    return title[found.end() :] if found else title


def reviews_of(
    notes: Iterable[tuple[Note, Account]], approvers: Iterable[tuple[Approver, Account]],
    versions: Sequence[Version], page: str,
) -> Sequence[ForgeReview]:  # fmt: skip
    """From the history: it says who approved when, and the versions say what was the head then.

    An approval counts while its author is among those who approve; the forge takes them off after a push,
    if it is told to. The history is written later, by a worker that may be busy: newer servers tell when it
    was given, and the earlier moment is the one whose head was seen. Until it is in the history it does not
    count, because it has no name by which it is found again.
    """
    approving = {account.id: told.approved_at or "" for told, account in approvers}
    said = [(_SAID[note.body.strip()], note, account) for note, account in notes
            if note.system and note.body.strip() in _SAID]  # fmt: skip
    last = {account.id: note.id for _, note, account in said}
    found = []
    for verdict, note, account in said:
        given, at = verdict, to_utc(note.created_at)
        if verdict is ReviewVerdict.APPROVED:
            if account.id in approving and last[account.id] == note.id:
                at = min(at, to_utc(approving[account.id] or note.created_at))
            else:
                given = ReviewVerdict.DISMISSED
        if verdict is not ReviewVerdict.DISMISSED:
            url = f"{page}#note_{note.id}"
            found.append(ForgeReview(str(note.id), account, given, "", _head_at(versions, at), at, url))
    return sorted(found, key=lambda one: one.at)


def _head_at(versions: Sequence[Version], at: str) -> str:
    """Empty if none is older, or it is not known. One of the same moment does not count: it was not seen."""
    older = [one for one in versions if to_utc(one.created_at) < at]
    return max(older, key=lambda one: to_utc(one.created_at)).head_commit_sha or "" if older else ""


# ---------------------------------------------------------------- one project


def api_url(base_url: str) -> str:
    return f"{base_url}/api/v4"


def token_headers(token: str, *, job: bool = False) -> ForgeToken:
    return ForgeToken({"JOB-TOKEN": token} if job else {"Authorization": f"Bearer {token}"})


def gitlab(client: ForgeClient, project: Project) -> CodeHost:
    people = _GitlabPeople(client, project)
    return CodeHost(
        project,
        people,
        _GitlabItems(client, project, people),
        _GitlabChanges(client, project, people),
        _GitlabCommits(client, project),
    )


class _GitlabPart:
    def __init__(self, client: ForgeClient, project: Project) -> None:
        self._client = client
        self._project = project
        self._at = f"/projects/{quote(project.path, safe='')}"


def _name(project: Project, item: Item) -> str:
    return f"{project.path}{_SIGNS[item.kind]}{item.number}"


def _mr(project: Project, number: int) -> str:
    return _name(project, Item(ItemKind.CHANGE, number))


def _page(project: Project, number: int) -> str:
    return page_of(project, Item(ItemKind.CHANGE, number))


class _GitlabPeople(_GitlabPart):
    def __init__(self, client: ForgeClient, project: Project) -> None:
        super().__init__(client, project)
        self._bots: dict[int, bool] = {}
        self._ids: dict[str, int | None] = {}

    def me(self) -> Account:
        return self._me

    @cached_property
    def _me(self) -> Account:
        try:
            return self.account(self._client.get("/user", GitlabUser, "/user"))
        except ForgeRejected as error:
            refused = error
        try:  # the token of a job belongs to no account
            return self.account(self._client.get("/job", Job, "/job").user)
        except (ForgeRejected, ForgeMissing):
            raise refused from None

    def account(self, user: GitlabUser) -> Account:
        return Account(user.username, user.id, bot=self._is_bot(user))

    def _is_bot(self, user: GitlabUser) -> bool:
        if user.bot is not None:
            return user.bot
        if user.id not in self._bots:
            try:
                told = self._client.get(f"/users/{user.id}", GitlabUser, user.username)
                self._bots[user.id] = bool(told.bot or _BOT.fullmatch(user.username))
            except ForgeMissing:
                self._bots[user.id] = True  # unknown: not a person
        return self._bots[user.id]

    def access(self, login: str) -> Access:
        level = self._level(f"{self._at}/members/all", login)
        if level >= MAINTAINER:
            return Access.ADMIN
        return Access.WRITE if level >= DEVELOPER else Access.READ if level > 0 else Access.NONE

    def is_member(self, login: str, group: str) -> bool:
        there = f"/groups/{quote(group, safe='')}"
        if self._level(f"{there}/members/all", login) > 0:
            return True
        if not self._client.exists(f"{there}?with_projects=false", group):
            raise ForgeMissing(host=self._project.host, what=group)
        return False

    def _level(self, members: str, login: str) -> int:
        """0 if they are not a member."""
        identity = self._id(login)
        if identity is None:
            return 0
        try:
            found = self._client.get(f"{members}/{identity}", Member, f"{self._project.path}: {login}")
        except ForgeMissing:
            return 0
        if found.username.lower() != login.lower():  # renamed since, and another account may have the name
            del self._ids[login]
            return 0
        return found.access_level if found.state == found.membership_state == ACTIVE else 0

    def _id(self, login: str) -> int | None:
        if login not in self._ids:
            found = self._client.get("/users", list[GitlabUser], login, username=login)
            same_name = (one.id for one in found if one.username.lower() == login.lower())
            self._ids[login] = next(same_name, None)
        return self._ids[login]


class _GitlabItems(_GitlabPart):
    def __init__(self, client: ForgeClient, project: Project, people: _GitlabPeople) -> None:
        super().__init__(client, project)
        self._people = people

    def issue(self, number: int) -> Issue:
        item = Item(ItemKind.ISSUE, number)
        found = self._client.get(self._place(item), GitlabIssue, _name(self._project, item))
        return Issue(
            item,
            found.title,
            found.description or "",
            self._people.account(found.author),
            tuple(found.labels),
            STATES.get(found.state) is ChangeState.OPEN,
            found.web_url,
        )

    def comments(self, item: Item) -> Sequence[Comment]:
        path, name = f"{self._place(item)}/notes", _name(self._project, item)
        notes = self._client.pages(path, Note, name, sort="asc", order_by="created_at")
        return [self._comment(item, note) for note in notes if _is_comment(note)]

    def comment(self, item: Item, comment_id: str) -> Comment:
        name = f"{_name(self._project, item)} ({comment_id})"
        note = self._client.get(f"{self._place(item)}/notes/{quote(comment_id, safe='')}", Note, name)
        if not _is_comment(note):
            raise ForgeMissing(host=self._project.host, what=name)
        return self._comment(item, note)

    def write(self, item: Item, mark: str, body: str) -> Comment:
        told, name = {"body": add_mark(body, mark)}, _name(self._project, item)
        path, me = f"{self._place(item)}/notes", self._people.me()
        written = self._client.once(
            lambda: find_ours(self.comments(item), mark, me),
            lambda: self._comment(item, self._client.change("POST", path, told, Note, name)),
        )
        if reads_same(written.body, told["body"]):
            return written
        return self._comment(item, self._client.change("PUT", f"{path}/{written.id}", told, Note, name))

    def label(self, item: Item, name: str, *, on: bool) -> None:
        what = _name(self._project, item)
        found = self._client.get(self._place(item), GitlabIssue, what)
        if (name in found.labels) is not on:
            told = {"add_labels" if on else "remove_labels": [name]}
            self._client.change("PUT", self._place(item), told, GitlabIssue, what)

    def _place(self, item: Item) -> str:
        return f"{self._at}/{_PLACES[item.kind]}/{item.number}"

    def _comment(self, item: Item, note: Note) -> Comment:
        return Comment(
            str(note.id),
            self._people.account(note.author),
            note.body,
            to_utc(note.created_at),
            to_utc(note.updated_at),
            f"{page_of(self._project, item)}#note_{note.id}",
        )


def _is_comment(note: Note) -> bool:
    return not note.system and note.type != DIFF_NOTE


class _GitlabChanges(_GitlabPart):
    def __init__(self, client: ForgeClient, project: Project, people: _GitlabPeople) -> None:
        super().__init__(client, project)
        self._people = people
        self._projects: dict[int, str] = {}

    def change(self, number: int) -> ChangeRequest:
        return self._change(self._client.get(self._place(number), MergeRequest, _mr(self._project, number)))

    def from_branch(self, branch: str) -> ChangeRequest | None:
        path, what = f"{self._at}/merge_requests", f"{self._project.path}: {branch}"
        found = self._client.pages(path, MergeRequest, what, source_branch=branch, state="all")
        own = [one for one in found if one.source_project_id == one.target_project_id
               and one.source_branch == branch]  # fmt: skip
        best = max(own, key=lambda one: (STATES.get(one.state) is ChangeState.OPEN, one.iid), default=None)
        return self._change(best) if best else None

    def open(self, wanted: NewChangeRequest) -> ChangeRequest:
        body = clean_body(wanted.body)
        title = strip_draft(wanted.title)
        told = {
            "source_branch": wanted.branch,
            "target_branch": wanted.base,
            "title": _make_title(title, draft=wanted.draft),
            "description": body,
        }
        path, what = f"{self._at}/merge_requests", f"{self._project.path}: {wanted.branch}"

        def make() -> ChangeRequest:
            try:
                return self._change(self._client.change("POST", path, told, MergeRequest, what))
            except ForgeConflict:
                if found := adopt_open(self, wanted, self._project, self._people):  # it was opened meanwhile
                    return found
                raise

        found = self._client.once(lambda: adopt_open(self, wanted, self._project, self._people), make)
        if found.title == title and reads_same(found.body, body):
            return found
        return self._edit(found.number, {"title": _make_title(title, draft=found.draft), "description": body})

    def edit(
        self,
        number: int,
        *,
        title: str = "",
        body: str = "",
        state: ChangeState | None = None,
        draft: bool | None = None,
    ) -> ChangeRequest:
        now, text = self.change(number), clean_body(body)
        told = {}
        wanted = _make_title(strip_draft(title) or now.title, draft=now.draft if draft is None else draft)
        if wanted != _make_title(now.title, draft=now.draft):
            told["title"] = wanted
        if text and not reads_same(text, now.body):
            told["description"] = text
        if state is not None and state is not now.state:
            told["state_event"] = "reopen" if state is ChangeState.OPEN else "close"
        return self._edit(number, told) if told else now

    def _edit(self, number: int, told: Mapping[str, str]) -> ChangeRequest:
        found = self._client.change(
            "PUT", self._place(number), told, MergeRequest, _mr(self._project, number)
        )
        return self._change(found)

    def reviews(self, number: int) -> Sequence[ForgeReview]:
        name, place = _mr(self._project, number), self._place(number)
        notes = self._history(number)
        approvals = self._client.get(f"{place}/approvals", GitlabApprovals, name)
        versions = self._client.pages(f"{place}/versions", Version, name)
        account = self._people.account
        return reviews_of(
            [(note, account(note.author)) for note in notes],
            [(one, account(one.user)) for one in approvals.approved_by],
            versions,
            _page(self._project, number),
        )

    def is_edited(self, number: int, review_id: str) -> bool:
        del number, review_id
        return False  # an approval has no words

    def base_changed_at(self, number: int) -> str:
        changes = (to_utc(one.created_at) for one in self._history(number) if BASE_CHANGED.match(one.body))
        return max(changes, default="")

    def _history(self, number: int) -> Sequence[Note]:
        """What the forge itself wrote there."""
        path, name = f"{self._place(number)}/notes", _mr(self._project, number)
        notes = self._client.pages(path, Note, name, sort="asc", order_by="created_at")
        return [one for one in notes if one.system]

    def remarks(self, number: int) -> Sequence[Remark]:
        path, page = f"{self._place(number)}/discussions", _page(self._project, number)
        threads = self._client.pages(path, Discussion, _mr(self._project, number))
        found = [_remark(self._people, page, thread, note) for thread in threads for note in thread.notes
                 if note.type == DIFF_NOTE and not note.system]  # fmt: skip
        return sorted(found, key=lambda one: one.created_at)

    def answer(self, number: int, remark: Remark, mark: str, body: str) -> None:
        place = f"{self._place(number)}/discussions/{quote(remark.thread, safe='')}"
        name, me = f"{_mr(self._project, number)} ({remark.id})", self._people.me()
        told, page = {"body": add_mark(body, mark)}, _page(self._project, number)

        def find() -> Remark | None:
            thread = self._client.get(place, Discussion, name)
            remarks = (_remark(self._people, page, thread, note) for note in thread.notes)
            return find_ours(remarks, mark, me)

        def make() -> Remark:
            note = self._client.change("POST", f"{place}/notes", told, Note, name)
            return _remark(self._people, page, Discussion(remark.thread, [note]), note)

        self._client.once(find, make)

    def commits(self, number: int) -> Sequence[str]:
        found = self._client.pages(f"{self._place(number)}/commits", GitlabCommit, _mr(self._project, number))
        return [one.id for one in reversed(found)]

    def _place(self, number: int) -> str:
        return f"{self._at}/merge_requests/{number}"

    def _change(self, found: MergeRequest) -> ChangeRequest:
        return ChangeRequest(
            found.iid,
            strip_draft(found.title),
            found.description or "",
            self._people.account(found.author),
            STATES.get(found.state, ChangeState.CLOSED),
            found.draft,
            found.source_branch,
            found.sha or "",
            self._source(found),
            found.target_branch,
            found.web_url,
            tuple(found.labels),
        )

    def _source(self, found: MergeRequest) -> str:
        """The path of the project that it comes from; empty if that is gone, or not to be seen."""
        identity = found.source_project_id
        if identity is None or identity == found.target_project_id:
            return "" if identity is None else self._project.path
        if identity not in self._projects:
            try:
                there = self._client.get(f"/projects/{identity}", ProjectShape, str(identity))
                self._projects[identity] = there.path_with_namespace
            except (ForgeMissing, ForgeRejected):
                return ""
        return self._projects[identity]


def _make_title(title: str, *, draft: bool) -> str:
    return f"Draft: {title}" if draft else title


def _remark(people: _GitlabPeople, page: str, thread: Discussion, note: Note) -> Remark:
    place = note.position or GitlabPosition()
    first = thread.notes[0].id
    old_side = place.new_line is None and place.old_line is not None
    return Remark(
        str(note.id),
        thread.id,
        people.account(note.author),
        (place.old_path if old_side else place.new_path) or "",
        place.new_line or place.old_line or 0,
        old_side,
        note.body,
        place.head_sha or "",
        to_utc(note.created_at),
        f"{page}#note_{note.id}",
        "" if first == note.id else str(first),
    )


class _GitlabCommits(_GitlabPart):
    def set_status(self, commit: str, status: CommitStatus) -> None:
        sha, what = quote(commit, safe=""), f"{self._project.path}@{commit}"
        told = {"state": _STATES[status.state], "name": status.context, **status_fields(status)}

        def there() -> GitlabStatus | None:
            listed = f"{self._at}/repository/commits/{sha}/statuses"
            return newest_status(
                self._client.get(listed, list[GitlabStatus], what, name=status.context), status
            )

        def find() -> GitlabStatus | None:
            found = there()
            return found if status_says(found, told) else None

        def make() -> GitlabStatus:
            path = f"{self._at}/statuses/{sha}"
            try:
                return self._client.change("POST", path, told, GitlabStatus, what)
            except ForgeConflict:  # it does not like the same state twice
                found = there()
                if found is None or found.state != told["state"]:
                    raise
                return found

        self._client.once(find, make)

    def files(self, commit: str) -> Mapping[str, FileOnForge]:
        entries = self._client.pages(
            f"{self._at}/repository/tree", GitlabEntry, f"{self._project.path}@{commit}",
            ref=commit, recursive="true", pagination="keyset",
        )  # fmt: skip
        return {one.path: FileOnForge(one.mode, one.id) for one in entries if one.type != _TREE}

    def parents(self, commit: str) -> tuple[str, ...]:
        path = f"{self._at}/repository/commits/{quote(commit, safe='')}"
        return tuple(self._client.get(path, GitlabCommit, f"{self._project.path}@{commit}").parent_ids)
