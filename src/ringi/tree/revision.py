"""What somebody made elsewhere in git: a branch, a range, another worktree.

Reads refs, objects and files. Runs nothing that a repository names, and changes no ref, index or file.
"""

import hashlib
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import CopyFailed, NotFound, Unreviewable
from ringi.kernel.process.git import (
    ABSENT,
    Git,
    TreeChange,
    join_names,
    last_line,
    names_in,
    read_blobs,
    settings,
    tree_changes,
)
from ringi.kernel.process.repository import Repository
from ringi.kernel.text import Text
from ringi.tree.difference import (
    REPOSITORY,
    TreeDifference,
    below,
    difference_of,
    too_large,
    too_many,
    unfit,
    unreadable,
)
from ringi.tree.private_git import OWN
from ringi.tree.tree_capture import CapturedTree, WorktreeCapture

_NOT_IN_A_REF: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|@\{|\.\.")
_PLACES: Final = ("refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD", "refs/tags/{}")
_COMMIT_FORM: Final = "--format=%an%x00%s%x00%b%x00"
_MOST_COMMITS: Final = 100
_LONGEST_SUBJECT: Final = 200
_LONGEST_BODY: Final = 10_000


class RevisionForm(StrEnum):
    BRANCH = "branch"
    RANGE = "range"
    WORKTREE = "worktree"


class Commit(NamedTuple):
    author: str
    subject: str
    body: str


class Revision(NamedTuple):
    form: RevisionForm
    name: str
    """The same for as long as it is the same thing: the name of a ref, a range, a path."""
    label: str
    """As a person calls it."""
    start: str | None
    """The commit at which its change begins; None if all of it is new."""
    head: str | None
    """Its newest commit; None if it has none."""
    base: str
    """The tree at the start."""
    tree: str
    commits: tuple[Commit, ...] = ()
    """From the start to the head, newest first; not all of very many."""
    ahead: int = 0
    """How many commits it has since the start."""
    captured: CapturedTree | None = None
    """Of a worktree: what its files are now."""
    folder: Path | None = None
    """Of a worktree, where it is."""
    checked_out: str = ""
    """Of a branch, the worktree in which it is checked out; what is not committed there is not part of it."""


class _CommitHistory:
    """The commits and trees of a repository; `objects` has more of them, such as those of a worktree."""

    def __init__(self, repository: Repository, objects: Path | None = None) -> None:
        self._repository = repository
        self.git = Git(repository.git_dir, more_objects=objects)

    def run(self, name: str, *words: str) -> bytes:
        try:
            return self.git.run(*words)
        except CopyFailed as error:
            raise Unreviewable(name=name, why=error.details["why"], command="git fsck") from None

    def commit(self, name: str) -> str | None:
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        finished = self.git.attempt(*words)
        return None if finished.code else finished.out.decode("ascii").strip()

    def merge_base(self, name: str, one: str, two: str) -> str:
        finished = self.git.attempt("merge-base", one, two)
        if finished.code == 0:
            return finished.out.decode("ascii").strip()
        if (self._repository.common / "shallow").is_file():
            raise _too_short(name)
        if finished.code == 1:
            raise _explain_unrelated(name)
        raise Unreviewable(name=name, why=last_line(finished.err), command="git fsck")

    def tree_of(self, commit: str | None) -> str:
        if commit is None:
            return self.empty()
        return self.run(commit, "rev-parse", f"{commit}^{{tree}}").decode("ascii").strip()

    def empty(self) -> str:
        """The tree without files, which git knows without having it."""
        return self.git.run("hash-object", "-t", "tree", "--stdin", stdin=b"").decode("ascii").strip()

    def revision(
        self, form: RevisionForm, name: str, label: str, start: str | None, head: str | None
    ) -> Revision:
        commits, ahead = self._commits(label, start, head) if head and head != start else ((), 0)
        return Revision(
            form, name, label, start, head, self.tree_of(start), self.tree_of(head), commits, ahead
        )

    def _commits(self, name: str, start: str | None, head: str) -> tuple[tuple[Commit, ...], int]:
        between = [head, f"^{start}"] if start else [head]
        count = int(self.run(name, "rev-list", "--count", *between))
        words = ("log", "--no-show-signature", "--no-mailmap", "--encoding=UTF-8", "--no-color", "--no-notes")
        most = f"--max-count={_MOST_COMMITS}"
        out = self.run(name, *words, most, _COMMIT_FORM, *between, "--")
        fields = out.decode("utf-8", "replace").split("\0")
        authors, subjects, bodies = fields[:-1:3], fields[1::3], fields[2::3]
        found = (
            Commit(_cut(author), _cut(subject), body.strip()[:_LONGEST_BODY])
            for author, subject, body in zip(authors, subjects, bodies, strict=False)
        )
        return tuple(found), count


class Revisions:
    """Those that can be named in the checkout at `root`. `records` is a folder of ringi's own."""

    def __init__(self, root: Path, records: Path) -> None:
        self._root = root
        self._records = records
        found = Repository.at(root)
        if found is None:
            why = Text("there is no git repository in {folder}", folder=str(root))
            raise Unreviewable(name=str(root), why=why, command="ringi propose --tree FOLDER")
        self._repository = found
        self._history = _CommitHistory(found)

    def find(self, name: str, here: Path) -> Revision:
        """Raises NotFound, or Unreviewable if it cannot be compared with the checkout."""
        folder = here / Path(name).expanduser()
        if name.startswith(("/", "./", "../", "~/")) or name in {".", ".."}:
            return self._worktree(folder)
        if ref := self._ref(name):
            return self._branch(name, *ref)
        if (folder / ".git").exists():
            return self._worktree(folder)
        if ".." in name:
            return self._range(name)
        if self._history.commit(name):
            command = f"ringi review {shlex.quote(f'{name}^..{name}')}"
            raise Unreviewable(name=name, why=Text("it is a single commit, not a range"), command=command)
        raise NotFound(what=Text("plan, branch, range or worktree"), name=name, see="git branch -a")

    def ref_named(self, name: str) -> str | None:
        """The full name of the branch or tag that is called so; quickly, for every review of a plan asks."""
        if _NOT_IN_A_REF.search(name):
            return None
        places = [place.format(name) for place in _PLACES]
        out = self._history.git.attempt("for-each-ref", "--format=%(refname)", *places).out
        there = os.fsdecode(out).splitlines()
        return next((place for place in places if place in there), None)

    def record_of(self, name: str) -> Path:
        """A folder of ringi's own for what it knows about the revision of this name."""
        return self._records / hashlib.sha256(os.fsencode(name)).hexdigest()[:32]

    def continues(self, revision: Revision, commit: str | None) -> bool:
        """Whether the revision was built on this commit, or has none yet, as before."""
        if commit is None or revision.head is None:
            return commit == revision.head
        return (
            self._history_of(revision.folder)
            .git.attempt("merge-base", "--is-ancestor", commit, revision.head)
            .code
            == 0
        )

    def has_tree(self, revision: Revision, tree: str) -> bool:
        return self._history_of(revision.folder).git.attempt("cat-file", "-e", f"{tree}^{{tree}}").code == 0

    # ------------------------------------------------------------------ what a name means

    def _ref(self, name: str) -> tuple[str, str] | None:
        """Its full name and its commit; a branch comes before a tag."""
        if not name or _NOT_IN_A_REF.search(name):
            return None
        for place in ("{}",) if name.startswith("refs/") else _PLACES:
            full = place.format(name)
            if commit := self._history.commit(full):
                return full, commit
        return None

    def _branch(self, name: str, ref: str, commit: str) -> Revision:
        head = self._history.commit("HEAD")
        start = self._history.merge_base(name, head, commit) if head else None
        made = self._history.revision(RevisionForm.BRANCH, ref, _shorten(ref), start, commit)
        return made._replace(checked_out=_find_checkout(self._history.git, ref, self._root))

    def _range(self, name: str) -> Revision:
        first, dots, last = re.split(r"(\.{2,3})", name, maxsplit=1)
        end = self._end(last)
        # Both kinds of dots: what the second has and the first has not, never the first one's own taken back.
        start = self._history.merge_base(name, self._end(first), end)
        return self._history.revision(RevisionForm.RANGE, f"{first}{dots}{last}", name, start, end)

    def _end(self, name: str) -> str:
        found = self._ref(name)
        commit = found[1] if found else self._history.commit(name or "HEAD")
        if commit is None:
            raise NotFound(what=Text("branch or commit"), name=name or "HEAD", see="git log --oneline")
        return commit

    def _worktree(self, folder: Path) -> Revision:
        name = str(folder)
        try:
            folder = folder.resolve(strict=True)
        except OSError:
            raise NotFound(what=Text("worktree"), name=name, see="git worktree list") from None
        top = next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)
        if top == self._root:
            why = Text("it is the checkout that plans are compared with")
            raise Unreviewable(name=name, why=why, command="git worktree list")
        other = Repository.at(top)
        if other is None:
            bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir()
            why = Text("it is a bare repository, without files") if bare else Text("it is no git worktree")
            raise Unreviewable(name=name, why=why, command="ringi review BRANCH")
        captured = self._shadow_of(top).capture()
        ours, head = self._history.commit("HEAD"), _CommitHistory(other).commit("HEAD")
        history = self._history_of(top)
        if (ours is None) is not (head is None):
            raise _explain_unrelated(name)
        start = history.merge_base(name, ours, head) if ours and head else None
        made = history.revision(RevisionForm.WORKTREE, str(top), _label_of(top), start, head)
        return made._replace(tree=captured.tree, captured=captured, folder=top)

    def _shadow_of(self, worktree: Path) -> WorktreeCapture:
        # A later review compares with what this one saw.
        return WorktreeCapture(self.record_of(str(worktree)) / "git", worktree, keeps_all=True)

    def _history_of(self, worktree: Path | None) -> _CommitHistory:
        """Also of what is only in a worktree."""
        if worktree is None:
            return self._history
        return _CommitHistory(self._repository, self.record_of(str(worktree)) / "git" / "objects")

    # ------------------------------------------------------------------ its change

    def difference(self, revision: Revision, base: str, most: int) -> TreeDifference:
        """From a tree, such as that of its start, to what it is now. `most` is how many files may differ."""
        history = self._history_of(revision.folder)
        left_out: dict[str, Text] = {}
        wanted: list[TreeChange] = []
        skipped = self._shadow_of(revision.folder).list_skipped() if revision.folder else ()
        for change in _changes(history, revision, base):
            path = os.fsdecode(change.path)
            if change.path in skipped or _is_there(revision, path, change):
                continue
            if why := unfit(path, change):
                left_out[path] = why
            else:
                wanted.append(change)
        if why := too_many(wanted, most):
            raise Unreviewable(name=revision.label, why=why, command="ringi review START..END")
        for name in revision.captured.unreadable if revision.captured else ():
            left_out[name] = unreadable(name)
        left_out |= _large(history.git, wanted) | _not_here(self._repository, self._root, wanted)
        wanted = [change for change in wanted if not below(os.fsdecode(change.path), left_out)]
        return difference_of(base, revision.tree, wanted, _blobs(history.git, revision, wanted), left_out)


_FILTERS: Final = r"^filter\..*\.(smudge|clean|process)$"


def branches(root: Path, most: int) -> list[tuple[str, str]]:
    """The names of branches, the newest first, each with the subject of its last commit."""
    found = Repository.at(root)
    if found is None:
        return []
    form = "--format=%(refname)%00%(HEAD)%00%(subject)"
    words = ("for-each-ref", f"--count={most}", "--sort=-committerdate", form, "refs/heads", "refs/remotes")
    lines = Git(found.git_dir, time_limit=2).run(*words).decode("utf-8", "replace").splitlines()
    parts = [line.split("\0") for line in lines]
    return [(_shorten(ref), subject) for ref, here, subject in parts if here != "*" and ref[-5:] != "/HEAD"]


def _shorten(ref: str) -> str:
    for place in ("refs/heads/", "refs/remotes/", "refs/tags/"):
        if ref.startswith(place):
            return ref.removeprefix(place)
    return ref


def _label_of(folder: Path) -> str:
    return folder.name or str(folder)


def _cut(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_SUBJECT]


def _explain_unrelated(name: str) -> Unreviewable:
    why = Text("it has no commit in common with the checkout")
    return Unreviewable(name=name, why=why, command="ringi review START..END")


def _is_there(revision: Revision, path: str, change: TreeChange) -> bool:
    """Whether a file that seems deleted in a worktree is there, but was not read."""
    if revision.folder is None or change.after != ABSENT:
        return False
    ours = path.split("/", 1)[0] == OWN
    return (change.before == REPOSITORY or ours) and os.path.lexists(revision.folder / path)


def _too_short(name: str) -> Unreviewable:
    why = Text("this clone is shallow: the commit where it began is not here")
    return Unreviewable(name=name, why=why, command="git fetch --unshallow")


def _changes(history: _CommitHistory, revision: Revision, base: str) -> Iterator[TreeChange]:
    words = ("diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev", "--no-ext-diff")
    yield from tree_changes(history.run(revision.label, *words, base, revision.tree))


def _blobs(git: Git, revision: Revision, wanted: Sequence[TreeChange]) -> dict[str, bytes]:
    ids = [change.oid for change in wanted if change.after != ABSENT]
    ids += [change.old_oid for change in wanted if change.before != ABSENT]
    ids = list(dict.fromkeys(ids))
    try:
        return dict(zip(ids, read_blobs(git, ids), strict=True))
    except CopyFailed as error:  # a partial clone, or a damaged one
        raise Unreviewable(
            name=revision.label, why=error.details["why"], command="git fetch --refetch"
        ) from None


def _large(git: Git, wanted: Iterable[TreeChange]) -> dict[str, Text]:
    made = [change for change in wanted if change.after != ABSENT]
    names = "".join(f"{change.oid}\n" for change in made).encode()
    out = git.run("cat-file", "--batch-check=%(objectsize)", stdin=names) if made else b""
    sizes = (int(line) if line.isdigit() else 0 for line in out.splitlines())
    found = zip(made, map(too_large, sizes), strict=False)
    return {os.fsdecode(change.path): why for change, why in found if why is not None}


def _find_checkout(git: Git, ref: str, root: Path) -> str:
    """The other worktree that has the branch checked out; empty if none has."""
    finished = git.attempt("worktree", "list", "--porcelain")
    for part in os.fsdecode(finished.out).split("\n\n"):
        lines = part.splitlines()
        if f"branch {ref}" in lines and lines[0].startswith("worktree "):
            place = lines[0].removeprefix("worktree ")
            return place if Path(place).is_dir() and Path(place).resolve() != root else ""
    return ""


def _not_here(repository: Repository, root: Path, wanted: Iterable[TreeChange]) -> dict[str, Text]:
    """Files that the checkout does not have although they are part of it."""
    missing = [
        change.path
        for change in wanted
        if change.before != ABSENT and not os.path.lexists(root / os.fsdecode(change.path))
    ]
    if not missing:
        return {}
    listing = Git(repository.git_dir, root).run("ls-files", "-t", "-z")
    skipped = {line[2:] for line in names_in(listing) if line.startswith(b"S ")}
    why = Text("the sparse checkout here leaves it out")
    return {os.fsdecode(path): why for path in missing if path in skipped}


def find_filtered(root: Path, paths: Sequence[str] | None = None) -> dict[str, str]:
    """Those whose bytes git converts with a program, and its name: they are others here than in git.

    Without paths: of all that are in the index.
    """
    found = Repository.at(root)
    if found is None:
        return {}
    asked = Git(found.git_dir, root, personal=True)
    known = {name.split(".", 1)[1].rpartition(".")[0] for _, name in settings(asked, _FILTERS)}
    if not known:
        return {}
    git = Git(found.git_dir, root)
    names = git.run("ls-files", "-z") if paths is None else join_names(map(os.fsencode, paths))
    out = git.run("check-attr", "-z", "--stdin", "filter", stdin=names) if names else b""
    fields = names_in(out)
    pairs = zip(fields[::3], fields[2::3], strict=False)
    return {os.fsdecode(path): os.fsdecode(name) for path, name in pairs if os.fsdecode(name) in known}
