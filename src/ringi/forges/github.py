"""GitHub, and GitHub Enterprise Server, over REST."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Final, TypeVar
from urllib.parse import quote, urlsplit

import msgspec

from ringi.approvals.forge import Item, ItemKind, Project
from ringi.errors import ForgeConflict, ForgeFailed, ForgeMissing, ForgeRejected
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

T = TypeVar("T")
_PUBLIC: Final = "github.com"
_VERSION: Final = "2022-11-28"
_TREE: Final = "tree"
_ACTIVE: Final = "active"
_ACCESS: Final = {
    "admin": Access.ADMIN, "maintain": Access.WRITE, "write": Access.WRITE,
    "triage": Access.READ, "read": Access.READ,
}  # fmt: skip
_READY: Final = (
    "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
)
_DRAFT: Final = (
    "mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) { clientMutationId } }"
)
_VIEWER: Final = "query { viewer { login databaseId } }"
_EDITED: Final = "query($id: ID!) { node(id: $id) { ... on Comment { lastEditedAt } } }"


# ---------------------------------------------------------------- what it answers, as far as it is read


OPEN: Final = "open"
VERDICTS: Final = {
    "APPROVED": ReviewVerdict.APPROVED,
    "CHANGES_REQUESTED": ReviewVerdict.CHANGES_REQUESTED,
    "COMMENTED": ReviewVerdict.COMMENTED,
    "DISMISSED": ReviewVerdict.DISMISSED,
}

# It changes by hand, and by itself if the branch is deleted after its own merge.
BASE_CHANGED: Final = frozenset(["base_ref_changed", "automatic_base_change_succeeded"])


class GithubUser(msgspec.Struct):
    login: str
    id: int
    type: str = "User"


class Label(msgspec.Struct):
    name: str = ""


class Pointer(msgspec.Struct):
    """Only whether it is there counts."""


class GithubIssue(msgspec.Struct):
    number: int
    title: str
    state: str
    html_url: str
    body: str | None = None
    user: GithubUser | None = None
    labels: list[Label | str] = []
    pull_request: Pointer | None = None


class CommentShape(msgspec.Struct):
    id: int
    node_id: str
    issue_url: str
    created_at: str
    updated_at: str
    html_url: str
    body: str | None = None
    user: GithubUser | None = None


class GithubRepository(msgspec.Struct):
    full_name: str


class GithubSide(msgspec.Struct):
    ref: str
    sha: str
    repo: GithubRepository | None = None


class Pull(GithubIssue):
    head: GithubSide = msgspec.field(default_factory=lambda: GithubSide("", ""))
    base: GithubSide = msgspec.field(default_factory=lambda: GithubSide("", ""))
    draft: bool = False
    merged_at: str | None = None
    node_id: str = ""


class ReviewShape(msgspec.Struct):
    id: int
    node_id: str
    state: str
    html_url: str
    body: str | None = None
    user: GithubUser | None = None
    commit_id: str | None = None
    submitted_at: str | None = None


class EventShape(msgspec.Struct):
    event: str
    created_at: str


class RemarkShape(msgspec.Struct):
    id: int
    path: str
    created_at: str
    html_url: str
    body: str | None = None
    user: GithubUser | None = None
    line: int | None = None
    original_line: int | None = None
    side: str | None = None
    subject_type: str | None = None
    commit_id: str | None = None
    original_commit_id: str | None = None
    in_reply_to_id: int | None = None


class GithubCommit(msgspec.Struct):
    sha: str


class GithubStatus(msgspec.Struct):
    state: str
    context: str = ""
    description: str | None = None
    target_url: str | None = None


class GithubEntry(msgspec.Struct):
    path: str
    mode: str
    type: str
    sha: str


class GithubTree(msgspec.Struct):
    tree: list[GithubEntry]
    truncated: bool = False


class ParentShape(msgspec.Struct):
    sha: str


class GitCommitShape(msgspec.Struct):
    parents: list[ParentShape]


class Permission(msgspec.Struct):
    permission: str
    role_name: str = ""


class Membership(msgspec.Struct):
    state: str


class Viewer(msgspec.Struct):
    login: str
    databaseId: int = 0  # noqa: N815  # its name there


class GithubEdit(msgspec.Struct):
    lastEditedAt: str | None  # noqa: N815


class GraphData(msgspec.Struct):
    viewer: Viewer | None = None
    node: GithubEdit | None = None


class GraphError(msgspec.Struct):
    message: str = ""


class GraphAnswer(msgspec.Struct):
    data: GraphData | None = None
    errors: list[GraphError] = []


def account_of(user: GithubUser | None) -> Account:
    if user is None:  # the account is gone
        return Account("ghost", 0, bot=False)
    return Account(user.login, user.id, bot=user.type != "User" or user.login.endswith("[bot]"))


def labels_of(found: GithubIssue) -> tuple[str, ...]:
    return tuple(one if isinstance(one, str) else one.name for one in found.labels)


def comment_of(found: CommentShape) -> Comment:
    return Comment(
        str(found.id),
        account_of(found.user),
        found.body or "",
        to_utc(found.created_at),
        to_utc(found.updated_at),
        found.html_url,
    )


def change_of(found: Pull) -> ChangeRequest:
    closed = ChangeState.MERGED if found.merged_at else ChangeState.CLOSED
    return ChangeRequest(
        found.number,
        found.title,
        found.body or "",
        account_of(found.user),
        ChangeState.OPEN if found.state == OPEN else closed,
        found.draft,
        found.head.ref,
        found.head.sha,
        found.head.repo.full_name if found.head.repo else "",
        found.base.ref,
        found.html_url,
        labels_of(found),
    )


def review_of(found: ReviewShape) -> ForgeReview:
    return ForgeReview(
        str(found.id),
        account_of(found.user),
        VERDICTS[found.state],
        found.body or "",
        found.commit_id or "",
        to_utc(found.submitted_at or ""),
        found.html_url,
    )


def dismiss_superseded(reviews: Sequence[ForgeReview]) -> Sequence[ForgeReview]:
    """Oldest first. An approval is dismissed once the same person asks for changes."""
    ordered = sorted(reviews, key=lambda one: one.at)
    asking = {
        one.author.id: at for at, one in enumerate(ordered) if one.verdict is ReviewVerdict.CHANGES_REQUESTED
    }
    return [
        one._replace(verdict=ReviewVerdict.DISMISSED)
        if one.verdict is ReviewVerdict.APPROVED and asking.get(one.author.id, -1) > at
        else one
        for at, one in enumerate(ordered)
    ]


def remark_of(found: RemarkShape) -> Remark:
    answers = str(found.in_reply_to_id) if found.in_reply_to_id else ""
    return Remark(
        str(found.id),
        answers or str(found.id),
        account_of(found.user),
        found.path,
        0 if found.subject_type == "file" else found.original_line or found.line or 0,
        found.side == "LEFT",
        found.body or "",
        found.original_commit_id or found.commit_id or "",
        to_utc(found.created_at),
        found.html_url,
        answers,
    )


# ---------------------------------------------------------------- one project


def api_url(base_url: str) -> str:
    """Where the interface is, from where the pages are."""
    parts = urlsplit(base_url)
    cloud = parts.netloc == _PUBLIC or parts.netloc.endswith(".ghe.com")
    return f"https://api.{parts.netloc}" if cloud else f"{base_url}/api/v3"


def token_headers(token: str) -> ForgeToken:
    return ForgeToken(
        {
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": _VERSION,
        }
    )


def github(client: ForgeClient, project: Project) -> CodeHost:
    people = _GithubPeople(client, project)
    return CodeHost(
        project,
        people,
        _GithubItems(client, project, people),
        _GithubChanges(client, project, people),
        _GithubCommits(client, project),
    )


class _GithubPart:
    def __init__(self, client: ForgeClient, project: Project) -> None:
        self._client = client
        self._project = project
        self._at = f"/repos/{quote(project.path)}"

    def _name(self, number: int) -> str:
        return f"{self._project.path}#{number}"


class _GithubPeople(_GithubPart):
    def me(self) -> Account:
        return self._me

    @cached_property
    def _me(self) -> Account:
        try:
            return account_of(self._client.get("/user", GithubUser, "/user"))
        except ForgeRejected as error:
            # The token of a workflow belongs to no user; only GraphQL tells whose it is.
            refused = error
        try:
            found = _graph(self._client, _VIEWER, {})
        except ForgeFailed:
            raise refused from None
        if found.viewer is None:
            raise refused
        login = found.viewer.login
        return Account(login, found.viewer.databaseId, bot=login.endswith("[bot]"))

    def access(self, login: str) -> Access:
        path = f"{self._at}/collaborators/{quote(login, safe='')}/permission"
        try:
            found = self._client.get(path, Permission, f"{self._project.path}: {login}")
        except ForgeMissing:
            return Access.NONE
        return _ACCESS.get(found.permission, Access.NONE)

    def is_member(self, login: str, group: str) -> bool:
        org, _, team = group.partition("/")
        name = quote(login, safe="")
        there = f"/orgs/{quote(org, safe='')}"
        if not team:
            return self._client.exists(f"{there}/members/{name}", group) or self._check_group(there, group)
        there += f"/teams/{quote(team, safe='')}"
        try:
            found = self._client.get(f"{there}/memberships/{name}", Membership, group)
        except ForgeMissing:
            return self._check_group(there, group)
        return found.state == _ACTIVE

    def _check_group(self, path: str, group: str) -> bool:
        """False, but only if the token may see the group at all. Raises ForgeMissing."""
        if not self._client.exists(path, group):
            raise ForgeMissing(host=self._project.host, what=group)
        return False


def _graph(client: ForgeClient, query: str, variables: Mapping[str, str]) -> GraphData:
    """Beside the interface: https://api.github.com/graphql, https://HOST/api/graphql."""
    url = f"{client.address.api.removesuffix('/v3')}/graphql"
    body = {"query": query, "variables": dict(variables)}
    found = client.repeat("POST", url, body, GraphAnswer, "graphql")
    if found.errors or found.data is None:
        said = "; ".join(error.message for error in found.errors[:3])
        raise ForgeConflict(host=client.address.host, why=client.scrub(said))
    return found.data


def _is_edited(client: ForgeClient, node_id: str) -> bool:
    """REST tells whole seconds: who is fast edits in the one in which it was written."""
    found = _graph(client, _EDITED, {"id": node_id}).node
    return found is None or found.lastEditedAt is not None


class _GithubItems(_GithubPart):
    def __init__(self, client: ForgeClient, project: Project, people: _GithubPeople) -> None:
        super().__init__(client, project)
        self._people = people

    def issue(self, number: int) -> Issue:
        found = self._client.get(f"{self._at}/issues/{number}", GithubIssue, self._name(number))
        kind = ItemKind.CHANGE if found.pull_request else ItemKind.ISSUE
        return Issue(
            Item(kind, found.number),
            found.title,
            found.body or "",
            account_of(found.user),
            labels_of(found),
            found.state == OPEN,
            found.html_url,
        )

    def comments(self, item: Item) -> Sequence[Comment]:
        path = f"{self._at}/issues/{item.number}/comments"
        return [comment_of(one) for one in self._client.pages(path, CommentShape, self._name(item.number))]

    def comment(self, item: Item, comment_id: str) -> Comment:
        path = f"{self._at}/issues/comments/{quote(comment_id, safe='')}"
        found = self._client.get(path, CommentShape, f"{self._name(item.number)} ({comment_id})")
        if urlsplit(found.issue_url).path.rpartition("/")[2] != str(item.number):
            raise ForgeMissing(host=self._project.host, what=f"{self._name(item.number)} ({comment_id})")
        return comment_of(found)._replace(rewritten=_is_edited(self._client, found.node_id))

    def write(self, item: Item, mark: str, body: str) -> Comment:
        text, name = add_mark(body, mark), self._name(item.number)
        path = f"{self._at}/issues/{item.number}/comments"
        me = self._people.me()
        written = self._client.once(
            lambda: find_ours(self.comments(item), mark, me),
            lambda: comment_of(self._client.change("POST", path, {"body": text}, CommentShape, name)),
        )
        if reads_same(written.body, text):
            return written
        there = f"{self._at}/issues/comments/{written.id}"
        return comment_of(self._client.change("PATCH", there, {"body": text}, CommentShape, name))

    def label(self, item: Item, name: str, *, on: bool) -> None:
        path = f"{self._at}/issues/{item.number}/labels"
        what = self._name(item.number)
        if (name in self.issue(item.number).labels) is on:
            return
        if on:
            self._client.repeat("POST", path, {"labels": [name]}, list[Label], what)
            return
        with suppress(ForgeMissing):  # it was taken off meanwhile
            self._client.repeat("DELETE", f"{path}/{quote(name, safe='')}", None, list[Label], what)


class _GithubChanges(_GithubPart):
    def __init__(self, client: ForgeClient, project: Project, people: _GithubPeople) -> None:
        super().__init__(client, project)
        self._people = people

    def change(self, number: int) -> ChangeRequest:
        return change_of(self._pull(number))

    def from_branch(self, branch: str) -> ChangeRequest | None:
        owner = self._project.path.partition("/")[0]
        what = f"{self._project.path}: {branch}"
        found = self._client.pages(f"{self._at}/pulls", Pull, what, head=f"{owner}:{branch}", state="all")
        # The filter is by owner, who may have two projects with such a branch; some servers ignore it.
        own = [one for one in map(change_of, found) if self._is_from(one, branch)]
        return max(own, key=lambda one: (one.state is ChangeState.OPEN, one.number), default=None)

    def _is_from(self, change: ChangeRequest, branch: str) -> bool:
        return change.head_branch == branch and change.head_project.lower() == self._project.path.lower()

    def open(self, wanted: NewChangeRequest) -> ChangeRequest:
        body = clean_body(wanted.body)
        told = {"title": wanted.title, "body": body, "head": wanted.branch, "base": wanted.base}
        path, what = f"{self._at}/pulls", f"{self._project.path}: {wanted.branch}"

        def make() -> ChangeRequest:
            try:
                made = self._client.change("POST", path, {**told, "draft": wanted.draft}, Pull, what)
            except ForgeConflict as conflict:
                # Somebody opened it meanwhile, or the project has no drafts.
                if found := adopt_open(self, wanted, self._project, self._people):
                    return found
                if not wanted.draft or "draft" not in str(conflict.details.get("why", "")).lower():
                    raise
                made = self._client.change("POST", path, told, Pull, what)
            return change_of(made)

        found = self._client.once(lambda: adopt_open(self, wanted, self._project, self._people), make)
        if found.title == wanted.title and reads_same(found.body, body):
            return found
        return self._edit(found.number, {"title": wanted.title, "body": body})

    def edit(
        self,
        number: int,
        *,
        title: str = "",
        body: str = "",
        state: ChangeState | None = None,
        draft: bool | None = None,
    ) -> ChangeRequest:
        now = self._pull(number)
        if draft is not None and draft is not now.draft:
            _graph(self._client, _DRAFT if draft else _READY, {"id": now.node_id})
        text = clean_body(body)
        told = {}
        if title and title != now.title:
            told["title"] = title
        if text and not reads_same(text, now.body or ""):
            told["body"] = text
        if state is not None and state is not change_of(now).state:
            told["state"] = state.value
        return self._edit(number, told) if told else self.change(number)

    def _edit(self, number: int, told: Mapping[str, str]) -> ChangeRequest:
        path = f"{self._at}/pulls/{number}"
        return change_of(self._client.change("PATCH", path, told, Pull, self._name(number)))

    def reviews(self, number: int) -> Sequence[ForgeReview]:
        found = self._list(number, "reviews", ReviewShape)
        return dismiss_superseded([review_of(one) for one in found if one.state in VERDICTS])

    def is_edited(self, number: int, review_id: str) -> bool:
        path = f"{self._at}/pulls/{number}/reviews/{quote(review_id, safe='')}"
        found = self._client.get(path, ReviewShape, f"{self._name(number)} ({review_id})")
        return _is_edited(self._client, found.node_id)

    def base_changed_at(self, number: int) -> str:
        path = f"{self._at}/issues/{number}/events"
        events = self._client.pages(path, EventShape, self._name(number))
        return max((to_utc(one.created_at) for one in events if one.event in BASE_CHANGED), default="")

    def remarks(self, number: int) -> Sequence[Remark]:
        return [remark_of(one) for one in self._list(number, "comments", RemarkShape)]

    def answer(self, number: int, remark: Remark, mark: str, body: str) -> None:
        path = f"{self._at}/pulls/{number}/comments/{quote(remark.thread, safe='')}/replies"
        me, what = self._people.me(), f"{self._name(number)} ({remark.id})"
        told = {"body": add_mark(body, mark)}
        self._client.once(
            lambda: find_ours((one for one in self.remarks(number) if one.thread == remark.thread), mark, me),
            lambda: remark_of(self._client.change("POST", path, told, RemarkShape, what)),
        )

    def commits(self, number: int) -> Sequence[str]:
        return [one.sha for one in self._list(number, "commits", GithubCommit)]

    def _pull(self, number: int) -> Pull:
        return self._client.get(f"{self._at}/pulls/{number}", Pull, f"{self._project.path}#{number}")

    def _list(self, number: int, name: str, kind: type[T]) -> Sequence[T]:
        path = f"{self._at}/pulls/{number}/{name}"
        return self._client.pages(path, kind, self._name(number))


class _GithubCommits(_GithubPart):
    def set_status(self, commit: str, status: CommitStatus) -> None:
        sha, what = quote(commit, safe=""), f"{self._project.path}@{commit}"
        told = {"state": status.state.value, "context": status.context, **status_fields(status)}

        def find() -> bool | None:
            listed = f"{self._at}/commits/{sha}/statuses"
            found = self._client.get(listed, list[GithubStatus], what, per_page="100")
            return True if status_says(newest_status(found, status), told) else None

        def make() -> bool:
            self._client.change("POST", f"{self._at}/statuses/{sha}", told, GithubStatus, what)
            return True

        self._client.once(find, make)

    def files(self, commit: str) -> Mapping[str, FileOnForge]:
        return dict(self._below(commit, "", f"{self._project.path}@{commit}"))

    def parents(self, commit: str) -> tuple[str, ...]:
        path = f"{self._at}/git/commits/{quote(commit, safe='')}"
        found = self._client.get(path, GitCommitShape, f"{self._project.path}@{commit}")
        return tuple(one.sha for one in found.parents)

    def _below(self, tree: str, folder: str, what: str) -> Iterator[tuple[str, FileOnForge]]:
        path = f"{self._at}/git/trees/{quote(tree, safe='')}"
        found = self._client.get(path, GithubTree, what, recursive="1")
        whole = not found.truncated
        if not whole:  # too many to be told at once: folder by folder
            found = self._client.get(path, GithubTree, what)
        for entry in found.tree:
            if entry.type != _TREE:
                yield folder + entry.path, FileOnForge(entry.mode, entry.sha)
            elif not whole:
                yield from self._below(entry.sha, f"{folder}{entry.path}/", what)
