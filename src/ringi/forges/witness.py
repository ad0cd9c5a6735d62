"""In a clone: whether the review that a note names is on the forge, and what the person saw there.

Anyone who can push can write a note, so nothing in it is believed. What counts is what the forge has: the
commit that was approved, and how it differs from the one that the change begins from. What a commit in
between had and the last one has not, nobody saw.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

from msgspec.structs import replace

from ringi.approvals.forge import ConfirmedReview, ItemKind, Project, ReviewHow, ReviewProof
from ringi.approvals.statement import NOT_THERE, FileAt, PathChange
from ringi.config.load import load
from ringi.errors import ForgeConflict, ForgeMissing, ReviewRefused
from ringi.forges.configured import KnownForges
from ringi.forges.document import ChangeState
from ringi.forges.port import CodeHost, FileOnForge
from ringi.forges.review_lookup import (
    NO_SUCH_REVIEW,
    look_up_yes,
    require,
    why_no_access,
    why_objected,
    why_other_base,
    why_own_change,
)
from ringi.kernel.text import COMMIT_SHOWN, Text

MOST: Final = 100
"""How many reviews are looked up at most: anyone who can push can name more."""
_MOST_COMMITS: Final = 250
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
Files = Mapping[str, FileOnForge]


class _SeenReview(NamedTuple):
    """A review with the commits of its change, from the one that it begins from to the approved one."""

    review: ReviewProof
    commits: tuple[str, ...]
    net: Mapping[str, PathChange]


def witness_of(folder: Path, environment: Mapping[str, str]) -> "tuple[ForgeWitness, str]":
    """The forge of the clone's own remote, whatever a note says, and how people call the project.

    Raises NoForge if no remote leads to one, ReviewRefused if reviews do not count here.
    """
    root = next((one for one in (folder, *folder.parents) if (one / ".agent").is_dir()), None)
    config = load(root, environment)
    if not config.forge.accepts_reviews:
        raise ReviewRefused(why=Text("reviews on a forge do not count here"))
    forges = KnownForges(config, environment, folder)
    project = forges.here().project
    return ForgeWitness(project, forges.host), f"{project.base_url}/{project.path}"


class ForgeWitness:
    """Of the project that the clone's own remote leads to; no other is asked."""

    def __init__(self, project: Project, host: Callable[[Project], CodeHost]) -> None:
        self._project = project
        self._host = host
        self._lock = Lock()
        self._seen: dict[ReviewProof, _SeenReview | ReviewRefused | None] = {}
        self._trees: dict[str, Files] = {}

    def confirm(self, review: ReviewProof, steps: Sequence[PathChange]) -> ConfirmedReview | None:
        require(self._why_elsewhere(review))
        with self._lock:
            plain = replace(review, step_commit="")
            if plain not in self._seen:
                self._seen[plain] = self._look_up_once(plain)
            seen = self._seen[plain]
            if isinstance(seen, ReviewRefused):
                raise ReviewRefused(why=seen.details["why"])
            if seen is None:
                return None
            require(self._why_other_files(seen, review.step_commit, steps))
        return ConfirmedReview(replace(seen.review, step_commit=review.step_commit), seen.net)

    def _why_elsewhere(self, review: ReviewProof) -> Text | None:
        there, here = review.project, self._project
        same = (there.kind, there.base_url, there.path.casefold())
        if same != (here.kind, here.base_url, here.path.casefold()):
            return Text("it is about {project} on {host}", project=there.path, host=there.host)
        ids = (review.commit, review.step_commit)
        if review.item.kind is not ItemKind.CHANGE or not _ID.fullmatch(review.id):
            return NO_SUCH_REVIEW
        if not all(map(_COMMIT.fullmatch, ids)) or review.item.number < 1:
            return NO_SUCH_REVIEW
        return None

    def _look_up_once(self, review: ReviewProof) -> _SeenReview | ReviewRefused | None:
        if len(self._seen) >= MOST:
            return ReviewRefused(why=Text("more than {count} reviews are named; this one was not looked up",
                                          count=MOST))  # fmt: skip
        try:
            return self._look_up(self._host(self._project), review)
        except ReviewRefused as error:
            return error
        except (ForgeMissing, ForgeConflict):
            return ReviewRefused(why=NO_SUCH_REVIEW)

    def _look_up(self, host: CodeHost, review: ReviewProof) -> _SeenReview | None:
        found = look_up_yes(host, review)
        if review.how is ReviewHow.COMMENT and found.named != review.commit:
            # Whoever may push could look for another commit that begins like that.
            return None
        number = review.item.number
        change = host.changes.change(number)
        if change.state is ChangeState.CLOSED:
            raise ReviewRefused(why=Text("the change was closed"))
        require(why_other_base(host, change, review.base, found.at))
        require(why_own_change(change, found.author))
        require(why_no_access(host, found.author))
        require(why_objected(host, number, review.commit))
        commits = _line_up(host, list(host.changes.commits(number)), review.commit)
        before, after = (self._files(host, commit) for commit in (commits[0], commits[-1]))
        net = {
            path: PathChange(path, _at(before, path), _at(after, path))
            for path in {*before, *after}
            if before.get(path) != after.get(path)
        }
        confirmed = replace(
            review, project=self._project, login=found.author.login, at=found.at, url=found.url
        )
        return _SeenReview(confirmed, commits, net)

    def _why_other_files(
        self, seen: _SeenReview, step_commit: str, steps: Sequence[PathChange]
    ) -> Text | None:
        """Whether the commit of the step changes its files as the note says."""
        if step_commit not in seen.commits[1:]:
            return Text("the change does not have commit {id}", id=step_commit[:COMMIT_SHOWN])
        host, place = self._host(self._project), seen.commits.index(step_commit)
        before, after = (self._files(host, seen.commits[one]) for one in (place - 1, place))
        for step in steps:
            if (_at(before, step.path), _at(after, step.path)) != (step.before, step.after):
                return Text("{path} is not changed like that in commit {id}", path=step.path,
                            id=step_commit[:COMMIT_SHOWN])  # fmt: skip
        return None

    def _files(self, host: CodeHost, commit: str) -> Files:
        if commit not in self._trees:
            self._trees[commit] = host.commits.files(commit)
        return self._trees[commit]


def _line_up(host: CodeHost, commits: list[str], head: str) -> tuple[str, ...]:
    """The commit that the change begins from, and its own up to the approved one, each on the one before."""
    if head not in commits or len(commits) > _MOST_COMMITS:
        raise ReviewRefused(why=Text("the change does not have commit {id}", id=head[:COMMIT_SHOWN]))
    found = [head]
    for commit in [*reversed(commits[: commits.index(head)]), ""]:
        parents = host.commits.parents(found[-1])
        if len(parents) != 1 or (commit and parents[0] != commit):
            raise ReviewRefused(why=Text("the commits of the change do not follow one another"))
        found.append(parents[0])
    return tuple(reversed(found))


def _at(files: Files, path: str) -> FileAt:
    found = files.get(path)
    return FileAt(found.mode, found.blob) if found else NOT_THERE
