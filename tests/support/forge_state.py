"""What a small forge knows: accounts, groups, projects with real git repositories, issues, changes, reviews.

The methods that change something are the buttons that people press there.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from ringi.approvals.forge import ForgeKind

LEVELS = {"none": 0, "read": 20, "write": 30, "admin": 40}
"""As GitLab counts them."""
_SEED = datetime(2026, 1, 1, tzinfo=UTC)


class Refused(Exception):
    """Answered with this status and these words."""

    def __init__(self, status: int, words: str, **more: Any) -> None:
        super().__init__(words)
        self.status = status
        self.words = words
        self.more = more


@dataclass
class User:
    login: str
    id: int
    token: str
    bot: bool = False
    scopes: str = "repo"


@dataclass
class Note:
    """A comment. `system`: written by the forge itself; `internal`: not for everybody (GitLab)."""

    id: int
    author: User
    body: str
    created: datetime
    updated: datetime
    system: bool = False
    edited: datetime | None = None
    internal: bool = False


@dataclass
class LineNote(Note):
    path: str = ""
    line: int | None = None
    """None: the line is not there any more, or the file as a whole."""
    original: int = 0
    old_side: bool = False
    commit: str = ""
    thread: str = ""
    answers: int | None = None
    review: int | None = None


@dataclass
class ReviewGiven:
    id: int
    author: User
    state: str
    """APPROVED, CHANGES_REQUESTED, COMMENTED or DISMISSED"""
    body: str
    commit: str
    at: datetime
    edited: datetime | None = None


@dataclass
class Event:
    id: int
    actor: User
    event: str
    at: datetime


@dataclass
class Thing:
    """An issue or a change."""

    number: int
    title: str
    body: str
    author: User
    created: datetime
    labels: list[str] = field(default_factory=list)
    open: bool = True
    comments: list[Note] = field(default_factory=list)


@dataclass
class ChangeThing(Thing):
    head: str = ""
    base: str = ""
    draft: bool = False
    merged: bool = False
    head_project: str = ""
    head_commit: str = ""
    """The newest one that was seen."""
    versions: list[tuple[int, str, datetime]] = field(default_factory=list)
    """Number, head and time, oldest first."""
    reviews: list[ReviewGiven] = field(default_factory=list)
    remarks: list[LineNote] = field(default_factory=list)
    requested: dict[str, str] = field(default_factory=dict)
    """The state of each reviewer by login (GitLab)."""
    events: list[Event] = field(default_factory=list)
    """GitHub's; GitLab writes notes."""


class Repo:
    """One project; `folder` is its bare repository."""

    def __init__(self, forge: Forge, path: str, folder: Path, *, public: bool) -> None:
        self.forge = forge
        self.path = path
        self.folder = folder
        self.public = public
        self.id = forge.next_id()
        self.members: dict[str, str] = {}
        self.issues: dict[int, Thing] = {}
        self.changes: dict[int, ChangeThing] = {}
        self.labels: set[str] = set()
        self.statuses: dict[str, list[dict[str, str]]] = {}
        self._numbers = count(1)
        self._own_numbers = count(1)

    @property
    def url(self) -> str:
        return f"{self.forge.url}/{self.path}"

    @property
    def git_url(self) -> str:
        return f"{self.url}.git"

    def git(self, *words: str, data: bytes = b"") -> str:
        done = subprocess.run(
            ["git", f"--git-dir={self.folder}", *words],
            input=data, capture_output=True, check=True, env=self.forge.git_environment(),
        )  # fmt: skip
        return os.fsdecode(done.stdout).strip()

    def tip(self, branch: str) -> str:
        """Empty if there is no such branch."""
        done = subprocess.run(
            ["git", f"--git-dir={self.folder}", "rev-parse", "-q", "--verify", f"refs/heads/{branch}"],
            capture_output=True, check=False, env=self.forge.git_environment(),
        )  # fmt: skip
        return os.fsdecode(done.stdout).strip()

    def commit(self, branch: str, files: Mapping[str, str | None], message: str = "Change files") -> str:
        """Somebody else's commit, pushed to the branch (made from the base branch if it is new)."""
        base = self.tip(branch) or self.tip("main")
        message = f"{message}\n"  # as git commit does
        stream = [
            f"commit refs/heads/{branch}",
            f"committer Forge <forge@example.invalid> {int(self.forge.now().timestamp())} +0000",
            f"data {len(message.encode())}\n{message}",
            *([f"from {base}"] if base else []),
        ]
        for path, text in files.items():
            change = f"M 100644 inline {path}\ndata {len((text or '').encode())}\n{text}"
            stream.append(f"D {path}" if text is None else change)
        self.git("fast-import", "--quiet", "--force", data="\n".join([*stream, ""]).encode())
        self.pushed()
        return self.tip(branch)

    def level(self, user: User | None) -> str:
        if user is None:
            return "read" if self.public else "none"
        return self.members.get(user.login, "read" if self.public else "none")

    def number(self, *, change: bool) -> int:
        """GitHub counts issues and changes together."""
        if self.forge.kind is ForgeKind.GITLAB and change:
            return next(self._own_numbers)
        return next(self._numbers)

    # What people and programs do.

    def issue(self, author: str, title: str, body: str = "", labels: Sequence[str] = ()) -> Thing:
        self.labels |= set(labels)
        made = Thing(
            self.number(change=False), title, body, self.forge.users[author], self.forge.now(), list(labels)
        )
        self.issues[made.number] = made
        return made

    def comment(self, thing: Thing, author: str, body: str) -> Note:
        at = self.forge.now()
        made = Note(self.forge.next_id(), self.forge.users[author], body, at, at)
        thing.comments.append(made)
        return made

    def system_note(self, thing: Thing, author: User, body: str) -> Note:
        at = self.forge.now()
        made = Note(self.forge.next_id(), author, body, at, at, system=True)
        thing.comments.append(made)
        return made

    def edit_comment(self, note: Note, body: str) -> None:
        note.body, note.updated = body, self.forge.now()
        note.edited = note.updated

    def edit_at_once(self, note: Note, body: str) -> None:
        """In the second in which it was written, by a program that waited for it."""
        note.body, note.edited = body, note.updated

    def open_change(
        self, author: str, head: str, base: str, title: str, body: str = "", *, draft: bool = False
    ) -> ChangeThing:
        commit = self.tip(head)
        if not commit:
            raise Refused(422, "Validation Failed", field="head", code="invalid")
        if not self.tip(base):
            raise Refused(422, "Validation Failed", field="base", code="invalid")
        if any(change.open and change.head == head for change in self.changes.values()):
            raise Refused(422, f"A pull request already exists for {self.owner}:{head}.")
        if commit == self.tip(base):
            raise Refused(422, f"No commits between {base} and {head}")
        made = ChangeThing(
            self.number(change=True), title, body, self.forge.users[author], self.forge.now(),
            head=head, base=base, draft=draft, head_project=self.path,
        )  # fmt: skip
        self.changes[made.number] = made
        self.pushed()
        return made

    @property
    def owner(self) -> str:
        return self.path.partition("/")[0]

    def pushed(self) -> None:
        """Notes the new heads of the open changes, as a forge does after every push."""
        for change in self.changes.values():
            tip = self.tip(change.head)
            if change.open and tip and tip != change.head_commit:
                change.head_commit = tip
                change.versions.append((self.forge.next_id(), tip, self.forge.now()))
                for remark in change.remarks:
                    remark.line = remark.line if self._has_line(tip, remark) else None

    def _has_line(self, commit: str, remark: LineNote) -> bool:
        done = subprocess.run(
            ["git", f"--git-dir={self.folder}", "diff", "--quiet", remark.commit, commit, "--", remark.path],
            capture_output=True, check=False, env=self.forge.git_environment(),
        )  # fmt: skip
        return done.returncode == 0

    def review(
        self,
        number: int,
        author: str,
        state: str,
        body: str = "",
        lines: Iterable[tuple[str, int, str]] = (),
        commit: str = "",
    ) -> ReviewGiven:
        """`state`: approve, request_changes or comment. `lines`: path, line, words."""
        change, user, at = self.changes[number], self.forge.users[author], self.forge.now()
        word = {"approve": "APPROVED", "request_changes": "CHANGES_REQUESTED", "comment": "COMMENTED"}[state]
        gitlab = self.forge.kind is ForgeKind.GITLAB
        identity = self.forge.next_id()
        if gitlab and state != "comment":
            said = "approved this merge request" if state == "approve" else "requested changes"
            identity = self.system_note(change, user, said).id  # by a worker, so it is later
            change.requested[author] = "approved" if state == "approve" else "requested_changes"
            for before in change.reviews:
                if before.author is user:  # it keeps one verdict of each
                    before.state = "DISMISSED"
            if body:
                self.comment(change, author, body)
        made = ReviewGiven(identity, user, word, body, commit or change.head_commit, at)
        change.reviews.append(made)
        for path, line, words in lines:
            self.remark(number, author, path, line, words, review=made.id)
        return made

    def remark(
        self, number: int, author: str, path: str, line: int, body: str, *, old_side: bool = False,
        review: int | None = None, answers: int | None = None,
    ) -> LineNote:  # fmt: skip
        change, at, identity = self.changes[number], self.forge.now(), self.forge.next_id()
        first = next((one for one in change.remarks if one.id == answers), None)
        made = LineNote(
            identity, self.forge.users[author], body, at, at,
            path=path, line=line or None, original=line, old_side=old_side, commit=change.head_commit,
            thread=first.thread if first else f"{identity:040x}", answers=answers, review=review,
        )  # fmt: skip
        change.remarks.append(made)
        return made

    def dismiss(self, number: int, review: ReviewGiven) -> None:
        """On GitLab: whoever approved takes it back."""
        review.state = "DISMISSED"
        if self.forge.kind is ForgeKind.GITLAB:
            change = self.changes[number]
            change.requested[review.author.login] = "unapproved"
            self.system_note(change, review.author, "unapproved this merge request")

    def retarget(self, number: int, base: str, author: str) -> None:
        change, user = self.changes[number], self.forge.users[author]
        before, change.base = change.base, base
        if self.forge.kind is ForgeKind.GITHUB:
            made = Event(self.forge.next_id(), user, "base_ref_changed", self.forge.now())
            change.events.append(made)
        else:
            change.versions.append((self.forge.next_id(), change.head_commit, self.forge.now()))
            self.system_note(change, user, f"changed target branch from `{before}` to `{base}`")

    def close(self, thing: Thing) -> None:
        thing.open = False

    def merge(self, number: int, *, squash: bool = False, author: str = "") -> str:
        """The new tip of the base branch."""
        change = self.changes[number]
        base, head = self.tip(change.base), change.head_commit
        tree = self.git("merge-tree", "--write-tree", base, head).splitlines()[0]
        parents = ["-p", base] if squash else ["-p", base, "-p", head]
        who = self.forge.users[author] if author else change.author
        message = f"{change.title} (#{number})" if squash else f"Merge {change.head}\n\n{change.title}"
        names = ("-c", f"user.name={who.login}", "-c", f"user.email={who.login}@example.invalid")
        new = self.git(*names, "commit-tree", tree, *parents, "-m", message)
        self.git("update-ref", f"refs/heads/{change.base}", new, base)
        change.open, change.merged = False, True
        return new

    def delete_branch(self, branch: str) -> None:
        self.git("update-ref", "-d", f"refs/heads/{branch}")


class Forge:
    """The state behind both faces."""

    url = ""
    repo_type = Repo

    def __init__(self, kind: ForgeKind, folder: Path) -> None:
        self.kind = kind
        self.folder = folder
        self.users: dict[str, User] = {}
        self.groups: dict[str, set[str]] = {}
        self.repos: dict[str, Repo] = {}
        self.ahead = timedelta()
        """How much its clock is ahead of ours."""
        self._ids = count(1001)
        self._last = _SEED

    def next_id(self) -> int:
        return next(self._ids)

    def now(self) -> datetime:
        """In whole seconds, as forges tell it; each moment is later than the one before."""
        real = (datetime.now(UTC) + self.ahead).replace(microsecond=0)
        self._last = max(real, self._last + timedelta(seconds=1))
        return self._last

    def user(self, login: str, *, bot: bool = False, scopes: str = "repo") -> User:
        prefix = "ghp_" if self.kind is ForgeKind.GITHUB else "glpat-"
        token = f"{prefix}{login.replace('[', '').replace(']', '')}{'0123456789abcdefghij' * 2}"[:40]
        made = User(login, self.next_id(), token, bot, scopes)
        self.users[login] = made
        return made

    def group(self, path: str, members: Iterable[str]) -> None:
        """org/team on GitHub, a group on GitLab."""
        self.groups[path] = set(members)

    def project(
        self,
        path: str,
        files: Mapping[str, str] | None = None,
        members: Mapping[str, str] | None = None,
        *,
        public: bool = False,
    ) -> Repo:
        """`members`: read, write or admin by login. The branch is main, with one commit of the files."""
        folder = self.folder / f"{path}.git"
        folder.mkdir(parents=True)
        subprocess.run(
            ["git", "init", "-q", "--bare", "-b", "main", str(folder)], check=True, env=self.git_environment()
        )
        made = self.repo_type(self, path, folder, public=public)
        made.git("config", "http.receivepack", "true")
        made.members |= members or {}
        self.repos[path] = made
        made.commit("main", files or {"README.md": "# App\n"}, "Begin")
        return made

    def by_token(self, token: str) -> User | None:
        return next((user for user in self.users.values() if token and user.token == token), None)

    def revoke(self, login: str) -> None:
        self.users[login].token = ""

    @staticmethod
    def git_environment() -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            **{
                f"GIT_{who}_{what}": value
                for who in ("AUTHOR", "COMMITTER")
                for what, value in (("NAME", "Forge"), ("EMAIL", "forge@example.invalid"))
            },
        }
