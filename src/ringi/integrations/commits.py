"""Commits in the person's own repository, made the way their own `git commit` makes them.

Inspecting runs nothing from the repository. Only making a commit uses its hooks, its filters, the person's
identity and their signing key: because the person asked for a commit.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from ringi.domain.codec import blob_id
from ringi.domain.execution import CommitOutcome
from ringi.errors import NoCommit
from ringi.integrations.commits_git import (
    Entry,
    GitFailed,
    Made,
    PersonalGit,
    blobs,
    commits,
    differences,
    index_records,
    listed,
    tree_records,
)
from ringi.ports import CommitOrder, CommitPlace
from ringi.text import Text

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
_UNDER_WAY: Final = {
    "MERGE_HEAD": Text("a merge is under way"),
    "CHERRY_PICK_HEAD": Text("a cherry-pick is under way"),
    "REVERT_HEAD": Text("a revert is under way"),
    "rebase-merge": Text("a rebase is under way"),
    "rebase-apply": Text("a rebase is under way"),
    "sequencer": Text("a cherry-pick is under way"),
}
_LINK: Final = b"160000"
_GONE: Final = b"000000"
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

    def place(self, paths: Sequence[str]) -> CommitPlace:
        git_dir, hooks = self._repository()
        for name, why in _UNDER_WAY.items():
            if os.path.lexists(git_dir / name):
                raise NoCommit(why=why)
        try:
            self._require_fit({os.fsencode(path): path for path in paths})
        except GitFailed as error:
            raise NoCommit(why=str(error)) from None
        branch = self._git.line("symbolic-ref", "-q", "--short", "HEAD")
        return CommitPlace(branch, self._head(), hooks)

    def _head(self) -> str:
        return self._git.line("rev-parse", "-q", "--verify", "HEAD^{commit}")

    def _repository(self) -> tuple[Path, tuple[str, ...]]:
        """Its git folder, and its hooks."""
        if not os.path.lexists(self._root / ".git"):
            raise NoCommit(why=Text("there is no git repository in {folder}", folder=str(self._root)))
        try:
            out = self._git.look("rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-path", "hooks")
        except GitFailed as error:
            raise NoCommit(why=str(error)) from None
        top, git_dir, hooks, *_ = [*os.fsdecode(out).split("\n"), "", ""]
        if Path(os.path.realpath(top)) != self._root:
            raise NoCommit(why=Text("the work tree of its repository is {folder}", folder=top))
        return Path(git_dir), self._hooks(self._root / hooks)

    def _hooks(self, folder: Path) -> tuple[str, ...]:
        # Since git 2.54 a hook can be a configuration setting.
        out = self._git.line("config", "-z", "--get-regexp", r"^hook\..*\.event$")
        named = {setting.partition("\n")[2] for setting in out.split("\0")}
        return tuple(name for name in _HOOKS if name in named or os.access(folder / name, os.X_OK))

    def _require_fit(self, wanted: Mapping[bytes, str]) -> None:
        known = list(index_records(self._git.look("ls-files", "-s", "-z")))
        links = {name for entry, _, name in known if entry.mode == _LINK}
        for name, path in wanted.items():
            if inside := self._repository_around(name, links):
                raise NoCommit(
                    why=Text("{path} belongs to the repository {inside}", path=path, inside=inside)
                )
        if torn := [wanted[name] for _, stage, name in known if stage != b"0" and name in wanted]:
            raise NoCommit(why=Text("{path} is in conflict", path=torn[0]))
        head = self._head()
        staged = self._git.look("diff-index", "--cached", "--name-only", "-z", head) if head else b""
        index = {name: os.fsdecode(entry.oid) for entry, _, name in known}
        for name in wanted.keys() & set(staged.split(b"\0")):
            # After a commit the index has what was committed; staged content that is in no file would go.
            if not _holds(self._root / wanted[name], index.get(name, "")):
                raise NoCommit(
                    why=Text(
                        "{path} is staged otherwise than the file is; commit or unstage that",
                        path=wanted[name],
                    )
                )
        new = wanted.keys() - {name for _, _, name in known}
        if not new:
            return
        # This command has no option for literal names; written like this, none looks like a pattern.
        asked = listed([b"./" + name for name in sorted(new)])
        if out := self._git.look("check-ignore", "-z", "--stdin", stdin=asked, fine=(0, 1)):
            ignored = os.fsdecode(out.split(b"\0")[0]).removeprefix("./")
            raise NoCommit(why=Text("git ignores {path}", path=ignored))

    def _repository_around(self, name: bytes, links: Collection[bytes]) -> str:
        parts, top = name.split(b"/"), os.fsencode(self._root) + b"/"
        above = [b"/".join(parts[:count]) for count in range(1, len(parts))]
        found = [folder for folder in above if folder in links or os.path.lexists(top + folder + b"/.git")]
        return os.fsdecode(found[0]) if found else ""

    def make(self, order: CommitOrder) -> CommitOutcome:
        with tempfile.TemporaryDirectory(prefix="ringi-commit-") as folder:
            try:
                tree = self._stage(Path(folder, "index"), order)
            except GitFailed as error:
                return CommitOutcome("", str(error))
            self._on_progress(Text("committing …"))
            said = self._git.commit(Path(folder), order.message)
        found = self._made(order.parent, order.marks)
        if found is None and said is None:
            found = self._newest(order.parent)
        if found is None:
            return CommitOutcome("", said or str(Text("git made no commit")))
        if found.parents != _parents(order.parent):
            # Somebody committed between our check and git's: our commit would revert theirs.
            return _withdrawn(self._git, found)
        notes = [*self._differences(found, tree, order), *self._follow(found.commit, order.files)]
        return CommitOutcome(found.commit, "; ".join(map(str, notes)))

    def _stage(self, index: Path, order: CommitOrder) -> str:
        """An index with only the parent and the plan's files; the person's own stays as it is."""

        def git(*words: str, stdin: bytes = b"") -> bytes:
            return self._git.work(*words, stdin=stdin, GIT_INDEX_FILE=str(index))

        git("read-tree", order.parent or "--empty")
        gone = [os.fsencode(path) for path, data in order.files.items() if data is None]
        there = {os.fsencode(path): data for path, data in order.files.items() if data is not None}
        git("update-index", "-z", "--force-remove", "--stdin", stdin=listed(gone))
        git("update-index", "--add", "--replace", "-z", "--stdin", stdin=listed(there))
        entries = {name: entry for entry, _, name in index_records(git("ls-files", "-s", "-z"))}
        for name, data in there.items():
            oid = entries[name].oid.decode() if name in entries else ""
            if oid != blob_id(data, like=oid) and oid != _converted(self._git, name, data):
                raise GitFailed(str(Text("{path} was changed meanwhile", path=os.fsdecode(name))))
        return git("write-tree").decode().strip()

    def find(self, parent: str, marks: Sequence[str]) -> str:
        # On any branch: the person may have switched since.
        found = self._made(parent, marks, "--branches")
        return found.commit if found and found.parents == _parents(parent) else ""

    def _made(self, parent: str, marks: Sequence[str], *where: str) -> Made | None:
        marked = [
            made for made in _since(self._git, parent, *where) if set(marks) <= set(made.message.split("\n"))
        ]
        # An amended one comes later.
        return marked[-1] if marked else None

    def _newest(self, parent: str) -> Made | None:
        """If a hook removed the trailers, its position identifies it."""
        found = _since(self._git, parent)
        return found[0] if found and found[0].parents == _parents(parent) else None

    def _differences(self, found: Made, tree: str, order: CommitOrder) -> Iterator[Text]:
        if self._git.line("rev-parse", f"{found.commit}^{{tree}}") != tree:
            out = self._git.look("diff-tree", "-r", "-z", "--name-only", "--no-renames", tree, found.commit)
            names = [os.fsdecode(name) for name in out.split(b"\0") if name]
            shown = names if len(names) <= _SHOWN else [*names[:_SHOWN], f"+{len(names) - _SHOWN}"]
            yield Text("a hook changed in the commit: {paths}", paths=", ".join(shown))
        if found.message.strip("\n") != order.message.strip("\n"):
            yield Text("a hook changed the message")

    def settle(self, commit: str) -> None:
        with contextlib.suppress(GitFailed):
            if self._head() == commit:
                _bring_index(self._git, commit, ())

    def _follow(self, commit: str, paths: Collection[str]) -> Iterator[Text]:
        try:
            _bring_index(self._git, commit, {os.fsencode(path) for path in paths})
        except GitFailed as error:
            yield Text("the index still has the files as before: {why}", why=str(error))

    def files(self, commit: str, paths: Sequence[str]) -> dict[str, bytes | None]:
        try:
            entries = dict(tree_records(self._git.look("ls-tree", "-r", "-z", "--full-tree", commit)))
            found = {path: entries.get(os.fsencode(path)) for path in paths}
            asked = b"".join(entry.oid + b"\n" for entry in found.values() if entry)
            data = blobs(self._git.look("cat-file", "--batch", stdin=asked))
        except GitFailed as error:
            raise NoCommit(why=str(error)) from None
        return {path: data.get(entry.oid) if entry else None for path, entry in found.items()}


def _holds(file: Path, oid: str) -> bool:
    return bool(oid) and file.is_file() and blob_id(file.read_bytes(), like=oid) == oid


def _parents(parent: str) -> list[str]:
    return [parent] if parent else []


def _withdrawn(git: PersonalGit, found: Made) -> CommitOutcome:
    why = str(Text("somebody else committed at the same moment"))
    try:
        git.work("update-ref", "HEAD", *found.parents[:1], found.commit)
    except GitFailed as error:  # it is in the branch, so report it
        return CommitOutcome(found.commit, f"{why}; {error}")
    return CommitOutcome("", why)


def _since(git: PersonalGit, parent: str, *where: str) -> list[Made]:
    without = [f"^{parent}"] if parent else []
    words = ("rev-list", "-n", str(_SEARCHED), "--encoding=UTF-8", "--format=%P%n%B%x00")
    try:
        return commits(git.look(*words, *where, "HEAD", *without))
    except GitFailed:
        return []


def _converted(git: PersonalGit, name: bytes, data: bytes) -> str:
    """These bytes as git would store them at this path: line ends, encodings, filters."""
    words = ("hash-object", "--stdin", f"--path={os.fsdecode(name)}")
    return git.work(*words, stdin=data).decode().strip()


def _bring_index(git: PersonalGit, commit: str, always: Collection[bytes]) -> None:
    """Updates the index to the commit: paths in `always`, and others only if nothing else is staged there."""
    words = ("diff-tree", "--root", "--no-commit-id", "-r", "-z", "--no-renames", commit)
    staged = {name: entry for entry, _, name in index_records(git.look("ls-files", "-s", "-z"))}
    chosen: dict[bytes, Entry] = {
        name: new
        for name, old, new in differences(git.look(*words))
        if name in always or staged.get(name) == (None if old.mode == _GONE else old)
    }
    if not chosen:
        return
    lines = [b"%s %s\t%s" % (new.mode, new.oid, name) for name, new in chosen.items()]
    _patiently(git, "update-index", "-z", "--index-info", stdin=listed(lines))
    there = [name for name, new in chosen.items() if new.mode != _GONE]
    # Without it git would have to read these files again to see that they are unchanged.
    with contextlib.suppress(GitFailed):
        git.work(
            "--literal-pathspecs", "add", "--refresh", "--pathspec-from-file=-", "--pathspec-file-nul",
            stdin=listed(there),
        )  # fmt: skip


def _patiently(git: PersonalGit, *words: str, stdin: bytes) -> None:
    """The person's own git may hold the index for a moment."""
    for _ in range(_TRIES):
        with contextlib.suppress(GitFailed):
            git.work(*words, stdin=stdin)
            return
        time.sleep(_PAUSE)
    git.work(*words, stdin=stdin)
