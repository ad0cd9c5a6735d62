"""Commits in the person's own repository, made the way their own `git commit` makes them.

Inspecting runs nothing from the repository. Only making a commit uses its hooks, its filters, the person's
identity and their signing key: because the person asked for a commit.
"""

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import UNSET

from ringi.errors import NoCommit
from ringi.kernel.codec import blob_id
from ringi.kernel.fs import read_bounded
from ringi.kernel.process.git import (
    ABSENT,
    Git,
    IndexEntry,
    index_entries,
    join_names,
    last_line,
    names_in,
    tree_changes,
    tree_files,
)
from ringi.kernel.process.repository import Repository
from ringi.kernel.text import COMMIT_SHOWN, Text
from ringi.tree.commit_order import CommitChange, CommitOrder, CommitOutcome, CommitPlace, Committed
from ringi.tree.personal_git import GitFailed, PersonalGit

# In the order in which they run; the last two run at any change of a ref, and of the index.
_HOOKS: Final = (
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-auto-gc",
    "reference-transaction",
    "post-index-change",
)
_HOOKS_IN_SETTINGS: Final = (2, 54)
_UNDER_WAY: Final = {
    "MERGE_HEAD": Text("a merge is under way"),
    "CHERRY_PICK_HEAD": Text("a cherry-pick is under way"),
    "REVERT_HEAD": Text("a revert is under way"),
    "rebase-merge": Text("a rebase is under way"),
    "rebase-apply": Text("a rebase is under way"),
    "sequencer": Text("a cherry-pick is under way"),
}
_LARGEST: Final = 1 << 30
_CHECKSUM: Final = 20
_TRAILER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*: ?\S")
_SEARCHED: Final = 1000
_SHOWN: Final = 5
_TRIES: Final = 10
_PAUSE: Final = 0.2


class GitCommits:
    def __init__(
        self,
        root: Path,
        environment: Mapping[str, str],
        on_progress: Callable[[Text], None] = lambda _: None,
    ) -> None:
        self._root = Path(os.path.realpath(root))
        self._git = PersonalGit(self._root, environment)
        self._on_progress = on_progress

    def place(self, paths: Sequence[str], *, unstaged: bool = False) -> CommitPlace:
        """Raises NoCommit if these cannot be committed now; `unstaged`: or if something is staged there."""
        git_dir, place = self._repository()
        for name, why in _UNDER_WAY.items():
            if os.path.lexists(git_dir / name):
                raise NoCommit(why=why)
        try:
            self._require_fit({os.fsencode(path): path for path in paths}, place.parent, unstaged=unstaged)
        except GitFailed as error:
            raise NoCommit(why=str(error)) from None
        return place

    def _head(self) -> str:
        return self._git.line("rev-parse", "-q", "--verify", "HEAD^{commit}")

    def _repository(self) -> tuple[Path, CommitPlace]:
        """Its git folder, and where HEAD is."""
        if not os.path.lexists(self._root / ".git"):
            raise NoCommit(why=Text("there is no git repository in {folder}", folder=str(self._root)))
        try:
            out = self._ask_folders_and_head()
        except GitFailed as error:
            raise NoCommit(why=str(error)) from None
        top, git_dir, hooks, head, branch, *_ = [*os.fsdecode(out).split("\n"), "", "", "", ""]
        if Path(os.path.realpath(top)) != self._root:
            raise NoCommit(why=Text("the work tree of its repository is {folder}", folder=top))
        branch = "" if branch == "HEAD" else branch
        return Path(git_dir), CommitPlace(branch, head, self._hooks(self._root / hooks))

    def _ask_folders_and_head(self) -> bytes:
        """One line for each; in one process unless there is no commit yet."""
        folders = ("rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-path", "hooks")
        with contextlib.suppress(GitFailed):
            return self._git.look(*folders, "HEAD^{commit}", "--abbrev-ref=loose", "HEAD", "--")
        branch = self._git.line("symbolic-ref", "-q", "--short", "HEAD")
        return self._git.look(*folders) + os.fsencode(f"{self._head()}\n{branch}\n")

    def _hooks(self, folder: Path) -> tuple[str, ...]:
        named = set[str]()
        if self._git.version() >= _HOOKS_IN_SETTINGS:
            out = self._git.line("config", "-z", "--get-regexp", r"^hook\..*\.event$")
            named = {setting.partition("\n")[2] for setting in out.split("\0")}
        return tuple(name for name in _HOOKS if name in named or os.access(folder / name, os.X_OK))

    def _require_fit(self, wanted: Mapping[bytes, str], head: str, *, unstaged: bool) -> None:
        known = _list_staged(self._root)
        links = {entry.path for entry in known if entry.is_link}
        for name, path in wanted.items():
            if inside := repository_around(self._root, name, links):
                raise NoCommit(
                    why=Text("{path} belongs to the repository {inside}", path=path, inside=inside)
                )
        if torn := [wanted[one.path] for one in known if one.stage != b"0" and one.path in wanted]:
            raise NoCommit(why=Text("{path} is in conflict", path=torn[0]))
        index = {entry.path: entry.oid.decode() for entry in known}
        # After a commit the index has what was committed; staged content that is in no file would go.
        other = [
            name for name in wanted if unstaged or not _holds(self._root / wanted[name], index.get(name, ""))
        ]
        words = ("diff-index", "--cached", "--name-only", "-z")
        staged = self._git.look(*words, head) if head and other else b""
        for name in sorted(set(other) & set(staged.split(b"\0"))):
            why = (
                Text("something is staged in {path}; commit or unstage that", path=wanted[name])
                if unstaged
                else Text(
                    "{path} is staged otherwise than the file is; commit or unstage that", path=wanted[name]
                )
            )
            raise NoCommit(why=why)
        new = wanted.keys() - index.keys()
        if not new:
            return
        # This command has no option for literal names; written like this, none looks like a pattern.
        asked = join_names([b"./" + name for name in sorted(new)])
        if out := self._git.look("check-ignore", "-z", "--stdin", stdin=asked, fine=(0, 1)):
            ignored = os.fsdecode(out.split(b"\0")[0]).removeprefix("./")
            raise NoCommit(why=Text("git ignores {path}", path=ignored))

    def make(self, order: CommitOrder) -> CommitOutcome:
        """Uses the person's own settings and hooks; leaves everything else that is staged or changed."""
        with self._git.keeping("HEAD"):
            with tempfile.TemporaryDirectory(prefix="ringi-commit-") as folder:
                try:
                    tree = self._stage(Path(folder, "index"), order)
                except GitFailed as error:
                    return CommitOutcome("", str(error))
                if order.offered:
                    if why := _unlike_order(self._git, order, tree) or _not_taken(self._git, order):
                        return CommitOutcome("", str(why))
                    left = self._follow(order.offered, order.files)
                    return CommitOutcome(order.offered, "; ".join(map(str, left)))
                self._on_progress(Text("committing …"))
                said = self._git.commit(Path(folder), order.message)
            found = self._find_marked(order.parent, order.marks)
            if found is None and said is None:
                found = _newest(self._git, order.parent)
            if found is None:
                return CommitOutcome("", said or str(Text("git made no commit")))
            if found.parents != _parents(order.parent):
                # Somebody committed between our check and git's: our commit would revert theirs.
                why = Text("somebody else committed at the same moment")
                return _withdraw(self._git, found, str(why))
            if order.exact and (taken_back := self._unlike(found, tree, order)):
                return taken_back
            notes = [*self._differences(found, tree, order), *self._follow(found.commit, order.files)]
            return CommitOutcome(found.commit, "; ".join(map(str, notes)))

    def _unlike(self, found: "_Made", tree: str, order: CommitOrder) -> CommitOutcome | None:
        """Takes the commit back if a hook did more than to add trailers."""
        notes = list(self._differences(found, tree, order))
        if found.tree == tree and _adds_trailers(order.message, found.message):
            return None
        taken_back = _withdraw(self._git, found, "; ".join(map(str, notes)))
        return CommitOutcome(
            taken_back.commit, taken_back.why, rewritten=UNSET if taken_back.commit else True
        )

    def _stage(self, index: Path, order: CommitOrder) -> str:
        """An index with only the parent and the plan's files; the person's own stays as it is."""

        def git(*words: str, stdin: bytes = b"") -> bytes:
            return self._git.work(*words, stdin=stdin, GIT_INDEX_FILE=str(index))

        git("read-tree", order.parent or "--empty")
        gone = [os.fsencode(path) for path, data in order.files.items() if data is None]
        there = {os.fsencode(path): data for path, data in order.files.items() if isinstance(data, bytes)}
        if gone:
            git("update-index", "-z", "--force-remove", "--stdin", stdin=join_names(gone))
        exact = [
            f"{file.mode} {_write_blob(git, file.data)}\t".encode() + os.fsencode(path)
            for path, file in order.files.items()
            if isinstance(file, Committed)
        ]
        if exact:
            git("update-index", "--add", "--replace", "-z", "--index-info", stdin=join_names(exact))
        if there:
            git("update-index", "--add", "--replace", "-z", "--stdin", stdin=join_names(there))
        staged = {entry.path: entry.oid.decode() for entry in index_entries(git("ls-files", "-s", "-z"))}
        for name, data in there.items():
            oid = staged.get(name, "")
            if oid != blob_id(data, like=oid) and oid != _convert(self._git, name, data):
                raise GitFailed(str(Text("{path} was changed meanwhile", path=os.fsdecode(name))))
        return git("write-tree").decode().strip()

    def find(self, order: CommitOrder) -> CommitOutcome | None:
        """The commit that was made to this order before a crash; None if there is none."""
        if order.offered:
            known = (one.commit for one in _since(self._git, order.parent, "--branches"))
            return CommitOutcome(order.offered) if order.offered in known else None
        # On any branch: the person may have switched since.
        found = self._find_marked(order.parent, order.marks, "--branches")
        if found is None and order.exact and self._head() != order.parent:
            found = _newest(self._git, order.parent)
        if found is None or found.parents != _parents(order.parent):
            return None
        if order.exact:
            with tempfile.TemporaryDirectory(prefix="ringi-commit-") as folder:
                try:
                    tree = self._stage(Path(folder, "index"), order)
                except GitFailed:  # a hook changed a file
                    tree = ""
            if taken_back := self._unlike(found, tree, order):
                return taken_back
        return CommitOutcome(found.commit)

    def _find_marked(self, parent: str, marks: Sequence[str], *where: str) -> "_Made | None":
        marked = [
            made for made in _since(self._git, parent, *where) if set(marks) <= set(made.message.split("\n"))
        ]
        # An amended one comes later.
        return marked[-1] if marked else None

    def _differences(self, found: "_Made", tree: str, order: CommitOrder) -> Iterator[Text]:
        if found.tree != tree:
            out = self._git.look("diff-tree", "-r", "-z", "--name-only", "--no-renames", tree, found.commit)
            names = [os.fsdecode(name) for name in names_in(out)]
            shown = names if len(names) <= _SHOWN else [*names[:_SHOWN], f"+{len(names) - _SHOWN}"]
            yield Text("a hook changed in the commit: {paths}", paths=", ".join(shown))
        if found.message.strip("\n") != order.message.strip("\n"):
            yield Text("a hook changed the message")

    def settle(self, commit: str) -> None:
        """Updates the index to the commit, if a crash prevented that and nobody staged anything since."""
        # Whoever made it may have been killed before it was kept.
        with self._git.keeping("HEAD", since_ns=0), contextlib.suppress(GitFailed):
            if self._head() == commit:
                _bring_index(self._git, commit, ())

    def _follow(self, commit: str, paths: Collection[str]) -> Iterator[Text]:
        try:
            _bring_index(self._git, commit, {os.fsencode(path) for path in paths})
        except GitFailed as error:
            yield Text("the index still has the files as before: {why}", why=str(error))

    def files(self, commit: str, paths: Sequence[str]) -> dict[str, Committed | None]:
        """What is at these paths in the commit; None if there is no file. Raises NoCommit if it is gone."""
        try:
            listing = self._git.look("ls-tree", "-r", "-z", "--full-tree", commit)
            known = {file.path: file for file in tree_files(listing)}
            found = {path: known.get(os.fsencode(path)) for path in paths}
            asked = "".join(f"{file.oid}\n" for file in found.values() if file)
            data = _blobs(self._git.look("cat-file", "--batch", stdin=asked.encode()))
        except GitFailed as error:
            raise NoCommit(why=str(error)) from None
        return {
            path: Committed(file.mode, data[file.oid]) if file and file.oid in data else None
            for path, file in found.items()
        }

    def change(self, commit: str) -> CommitChange:
        """Raises NoCommit if the current branch does not have the commit, or if it is a merge."""
        shown = commit[:COMMIT_SHOWN]
        if self._git.line("merge-base", commit, "HEAD") != commit:
            raise NoCommit(why=Text("commit {id} is not on this branch", id=shown))
        parents = self._git.line("rev-parse", f"{commit}^@").split()
        if len(parents) > 1:
            raise NoCommit(why=Text("commit {id} is a merge", id=shown))
        words = ("diff-tree", "--root", "--no-commit-id", "-r", "-z", "--no-renames", commit)
        try:
            found = tree_changes(self._git.look(*words))
        except GitFailed as error:
            raise NoCommit(why=str(error)) from None
        return CommitChange("".join(parents), tuple(os.fsdecode(one.path) for one in found))


def _list_staged(root: Path) -> Sequence[IndexEntry]:
    """Every entry of the index. Raises GitFailed."""
    repository = Repository.at(root)
    if repository is None:
        raise GitFailed(str(Text("there is no git repository in {folder}", folder=str(root))))
    with contextlib.suppress(_IndexMoved):
        if checksum := _index_checksum(repository.git_dir):
            return _entries_of(repository.git_dir, root, checksum)
    return _list_entries(repository.git_dir, root)


class _IndexMoved(Exception):
    """Somebody wrote the index while it was read."""


@lru_cache(2)
def _entries_of(git_dir: Path, root: Path, checksum: bytes) -> tuple[IndexEntry, ...]:
    """Of the index with this checksum: several questions about one plan find the same one."""
    found = _list_entries(git_dir, root)
    if _index_checksum(git_dir) != checksum:
        raise _IndexMoved
    return found


def _list_entries(git_dir: Path, root: Path) -> tuple[IndexEntry, ...]:
    listing = Git(git_dir, root).attempt("ls-files", "-s", "-z")
    if listing.code:
        raise GitFailed(last_line(listing.err), listing.err)
    return tuple(index_entries(listing.out))


def _index_checksum(git_dir: Path) -> bytes:
    """The end of it, which git computes from all the rest; empty if this one has none."""
    try:
        with (git_dir / "index").open("rb") as index:
            index.seek(-_CHECKSUM, os.SEEK_END)
            return index.read().strip(b"\0")
    except OSError:
        return b""


def _write_blob(git: Callable[..., bytes], data: bytes) -> str:
    """The id of these bytes, stored as they are."""
    return git("hash-object", "-w", "--stdin", stdin=data).decode().strip()


def repository_around(root: Path, name: bytes, links: Collection[bytes]) -> str:
    parts, top = name.split(b"/"), os.fsencode(root) + b"/"
    above = [b"/".join(parts[:count]) for count in range(1, len(parts))]
    found = [folder for folder in above if folder in links or os.path.lexists(top + folder + b"/.git")]
    return os.fsdecode(found[0]) if found else ""


def _holds(file: Path, oid: str) -> bool:
    try:
        return bool(oid) and blob_id(read_bounded(file, _LARGEST), like=oid) == oid
    except OSError:
        return False


def _parents(parent: str) -> list[str]:
    return [parent] if parent else []


def _adds_trailers(ours: str, theirs: str) -> bool:
    """Whether theirs is ours, or ours with trailers that are not of our own names."""
    left = [line for line in ours.split("\n") if line]
    for line in filter(None, theirs.split("\n")):
        if left and line == left[0]:
            del left[0]
        elif not _TRAILER.match(line) or line.lower().startswith("ringi-"):
            return False
    return not left


def _withdraw(git: PersonalGit, found: "_Made", why: str) -> CommitOutcome:
    try:
        # Without a hook: it would see a commit go that nobody was told of.
        git.work("-c", f"core.hooksPath={os.devnull}", "update-ref", "HEAD", *found.parents[:1], found.commit)
    except GitFailed as error:  # it is in the branch, so report it
        return CommitOutcome(found.commit, f"{why}; {error}")
    return CommitOutcome("", why)


def _unlike_order(git: PersonalGit, order: CommitOrder, tree: str) -> Text | None:
    """Why the offered commit is not one of exactly this, on exactly that parent."""
    shown = order.offered[:COMMIT_SHOWN]
    try:
        head, _, message = git.look("cat-file", "commit", order.offered).partition(b"\n\n")
    except GitFailed:
        return Text("commit {id}, which was offered, is gone", id=shown)
    fields = [tuple(line.decode("utf-8", "replace").split(" ", 1)) for line in head.split(b"\n")]
    parents = [("parent", one) for one in _parents(order.parent)]
    if [name for name, *_ in fields] != ["tree", *("parent" for _ in parents), "author", "committer"]:
        return Text("commit {id}, which was offered, has other fields than ringi writes", id=shown)
    if fields[0] != ("tree", tree):
        return Text("commit {id}, which was offered, has other files than what was approved", id=shown)
    if fields[1 : 1 + len(parents)] != parents:
        return Text("commit {id}, which was offered, was made on another one", id=shown)
    if message != order.message.encode():
        return Text("commit {id}, which was offered, has another message", id=shown)
    return None


def _not_taken(git: PersonalGit, order: CommitOrder) -> str:
    """Moves the branch to the offered commit if it is still at its parent; no hook hears of it."""
    title = order.message.partition("\n")[0]
    quietly = ("-c", f"core.hooksPath={os.devnull}", "update-ref", "-m", f"commit: {title}")
    try:
        git.work(*quietly, "HEAD", order.offered, order.parent)
    except GitFailed as error:
        return str(error)
    return ""


def _newest(git: PersonalGit, parent: str) -> "_Made | None":
    """If a hook removed the trailers, its position identifies it."""
    found = _since(git, parent)
    return found[0] if found and found[0].parents == _parents(parent) else None


def _since(git: PersonalGit, parent: str, *where: str) -> list["_Made"]:
    without = [f"^{parent}"] if parent else []
    words = ("rev-list", "-n", str(_SEARCHED), "--encoding=UTF-8", "--format=%P%n%T%n%B%x00")
    try:
        return _commits(git.look(*words, *where, "HEAD", *without))
    except GitFailed:
        return []


def _convert(git: PersonalGit, name: bytes, data: bytes) -> str:
    """These bytes as git would store them at this path: line ends, encodings, filters."""
    words = ("hash-object", "--stdin", f"--path={os.fsdecode(name)}")
    return git.work(*words, stdin=data).decode().strip()


def _bring_index(git: PersonalGit, commit: str, always: Collection[bytes]) -> None:
    """Updates the index to the commit: paths in `always`, and others only if nothing else is staged there."""
    words = ("diff-tree", "--root", "--no-commit-id", "-r", "-z", "--no-renames", commit)
    staged = {entry.path: (entry.mode.decode(), entry.oid.decode()) for entry in _list_staged(git.root)}
    chosen = [
        change
        for change in tree_changes(git.look(*words))
        if change.path in always
        or staged.get(change.path) == (None if change.before == ABSENT else (change.before, change.old_oid))
    ]
    if not chosen:
        return
    lines = [f"{change.after} {change.oid}\t".encode() + change.path for change in chosen]
    _patiently(git, "update-index", "-z", "--index-info", stdin=join_names(lines))
    there = [change.path for change in chosen if change.after != ABSENT]
    # Without it git would have to read these files again to see that they are unchanged.
    with contextlib.suppress(GitFailed):
        git.work(
            "--literal-pathspecs", "add", "--refresh", "--pathspec-from-file=-", "--pathspec-file-nul",
            stdin=join_names(there),
        )  # fmt: skip


def _patiently(git: PersonalGit, *words: str, stdin: bytes) -> None:
    """The person's own git may hold the index for a moment."""
    for _ in range(_TRIES):
        with contextlib.suppress(GitFailed):
            git.work(*words, stdin=stdin)
            return
        time.sleep(_PAUSE)
    git.work(*words, stdin=stdin)


class _Made(NamedTuple):
    commit: str
    parents: list[str]
    tree: str
    message: str


def _blobs(out: bytes) -> dict[str, bytes]:
    """The answers of `cat-file --batch`, without missing objects."""
    found, at = {}, 0
    while at < len(out):
        end = out.index(b"\n", at)
        oid, kind, *size = out[at:end].split(b" ")
        at = end + 1
        if size:
            if kind == b"blob":
                found[oid.decode()] = out[at : at + int(size[0])]
            at += int(size[0]) + 1
    return found


def _commits(out: bytes) -> list["_Made"]:
    """From the output of `rev-list --format=%P%n%T%n%B%x00`, the newest first."""
    records = out.decode("utf-8", "replace").split("\0\n")
    return [_commit(record) for record in records if record.strip()]


def _commit(record: str) -> _Made:
    head, parents, tree, message = record.split("\n", 3)
    return _Made(head.removeprefix("commit "), parents.split(), tree, message)
