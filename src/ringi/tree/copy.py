"""Work copies, in which an agent works freely, and the difference it leaves."""

import fcntl
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from ringi.errors import Busy, CopyFailed, NotFound, PathRefused, RingiError, StorageFailed, TooManyFiles
from ringi.kernel.codec import decode_own, pretty
from ringi.kernel.document import Document, Versioned
from ringi.kernel.fs import read_bounded, replace_file, walk
from ringi.kernel.process.ancestors import process_start
from ringi.kernel.process.environment import CACHE_VARIABLE, STATE_VARIABLE
from ringi.kernel.process.erase import erase, erase_later
from ringi.kernel.process.git import ABSENT, TreeChange
from ringi.kernel.text import Text, why_failed
from ringi.tree.copy_layout import (
    carriable,
    carry_over,
    complete,
    head_of,
    holds_dependencies,
    is_cache,
    lent_by,
    make_repository,
    private_folder,
)
from ringi.tree.difference import (
    LARGEST_FILE,
    TreeDifference,
    below,
    difference_of,
    too_large,
    too_many,
    unfit,
    unreadable,
)
from ringi.tree.private_git import OWN, GitFacts
from ringi.tree.tree_capture import CapturedTree, CopyShadow, WorktreeCapture, doubt

REMOVED: Final = ".removed-"
"""The names of folders that are being deleted begin with it."""
_UNNAMED: Final = ".new-"
_UNNAMED_SEC: Final = 3_600.0
LENT: Final = "lent"
INCLUDE: Final = ".worktreeinclude"
"""Patterns as in `.gitignore`."""
_LONGEST_SUBJECT: Final = 200
_LONGEST_BODY: Final = 10_000


class Supervisor(Document, frozen=True):
    pid: int
    start: str
    """When that process started; its number may have been reused since."""

    @classmethod
    def this_process(cls) -> "Supervisor":
        return cls.of(os.getpid())

    @classmethod
    def of(cls, pid: int) -> "Supervisor":
        return cls(pid, process_start(pid) or "")

    @property
    def is_running(self) -> bool:
        return process_start(self.pid) == self.start


class CopyRecord(Versioned, frozen=True, kw_only=True):
    """copy.json: written as soon as the copy exists, so that an abandoned one is found."""

    workspace: str
    created_at: str
    base: str
    head: str | None = None
    object_format: str = "sha1"
    ignorecase: bool = False
    precompose: bool = False
    carried: tuple[str, ...] = ()
    own_files: Mapping[str, str] = {}
    """Digests of what the copy got below `.agent`; the difference names changes to it but leaves them out."""
    nested: tuple[str, ...] = ()
    """Repositories inside the workspace; they are not in the copy, and nothing below them is taken over."""
    laid_at: int = 0
    """When its files had been written, by the file system's clock, in nanoseconds."""
    supervisor: Supervisor | None = None
    command: tuple[str, ...] = ()
    """What runs in the copy."""
    kept_for: Supervisor | None = None
    """A scratch copy waits for this process, which removes it."""
    taken: bool = False
    """Its difference has become a plan, or there is none; the next fields say why the copy is kept."""
    plan_id: str = ""
    """The plan that its difference became, or is about to become."""
    planned_tree: str = ""
    """The tree that the plan already describes; a difference from it is a new version."""
    planned_version: int = 0
    """The version of the plan with that tree; a later one is the person's."""
    left_out: bool = False
    """The agent changed something that the plan could not contain."""
    ended_at: str = ""
    """When the agent last ended."""
    told_at: str = ""
    """The person's feedback up to then has been passed to the agent."""
    ignored: tuple[str, ...] = ()
    """Patterns of files that the agent leaves here but that are not part of its change."""
    dependencies: tuple[str, ...] = ()
    """Ignored folders with interpreters and installed packages; in a sandbox they are there, read-only."""
    start: str = ""
    """The subfolder that commands start in."""
    conversation: str = ""
    """The agent's name of its conversation here; empty if it is not known."""
    by_editor: bool = False
    """An editor started the agent, and speaks with it."""
    emptied: bool = False
    """Its files are gone, except those with which the agent can continue in another copy."""


class WorkCopy:
    def __init__(self, folder: Path, record: CopyRecord) -> None:
        self.folder = folder
        self.tree = folder / "tree"
        self.record = record
        self.left_behind: tuple[str, ...] = ()
        """Ignored files and folders that are not in the copy; set only when the copy is made."""
        self.nested: tuple[str, ...] = ()
        self.unreadable: tuple[str, ...] = ()
        around = GitFacts(
            object_format=record.object_format, ignorecase=record.ignorecase, precompose=record.precompose
        )
        self.shadow = CopyShadow(folder / "base.git", self.tree, record.base, around)

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def base(self) -> str:
        return self.record.base

    @property
    def is_running(self) -> bool:
        """A process works in it now."""
        return self.record.supervisor is not None and self.record.supervisor.is_running

    @property
    def folder_of_commands(self) -> Path:
        """Where commands start, outside a sandbox."""
        start = self.tree / self.record.start
        return start if start.is_dir() else self.tree

    @property
    def is_gone(self) -> bool:
        """Somebody deleted it. In a sandbox its folder stays, empty."""
        return self.tree.is_symlink() or not self.tree.is_dir() or not any(self.tree.iterdir())

    # ------------------------------------------------------------------ making and finding

    @classmethod
    def make(
        cls,
        root: Path,
        state: Path,
        cache: Path,
        *,
        carry: Sequence[str] = (),
        ignored: Sequence[str] = (),
        supervisor: Supervisor | None = None,
        command: Sequence[str] = (),
        start: str = "",
        on_progress: Callable[[Text], None] = lambda _: None,
    ) -> "WorkCopy":
        """The copy counts as in use from the start, by `supervisor` running `command`."""
        first = {
            "ignored": tuple(ignored),
            "supervisor": supervisor,
            "command": _words(command),
            "start": _printable(start),
        }
        root = root.resolve()
        carried = tuple(dict.fromkeys(carriable(root, name) for name in carry))
        private_folder(state, STATE_VARIABLE)
        private_folder(cache, CACHE_VARIABLE)
        on_progress(Text("Reading the workspace"))
        shadow = WorktreeCapture(state / "git", root)
        captured = shadow.capture()
        on_progress(Text("Laying out the copy"))
        try:
            made = cls._lay_out(shadow, captured, cache, first)
        except CopyFailed:
            # Objects borrowed from another repository may be gone by now; with our own copies it must work.
            captured = shadow.rebuild()
            made = cls._lay_out(shadow, captured, cache, first)
        try:
            take_along(made, shadow, captured, carried, on_progress)
        except BaseException:
            made.remove()
            raise
        return made

    @classmethod
    def _lay_out(
        cls, shadow: WorktreeCapture, captured: CapturedTree, cache: Path, first: Mapping[str, Any]
    ) -> "WorkCopy":
        now = datetime.now(UTC)
        folder = cache / f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
        record = CopyRecord(
            workspace=_printable(str(shadow.work_tree)),
            created_at=now.isoformat(timespec="microseconds"),
            **facts_of(shadow, captured),
            **first,
        )
        made, unnamed = cls(folder, record), folder.with_name(_UNNAMED + folder.name)
        try:
            # Nobody would find a copy without its record: it gets its name when it has one.
            (unnamed / "tree").mkdir(mode=0o700, parents=True)
            unnamed.chmod(0o700)
            put(unnamed / "copy.json", pretty(record))
            unnamed.rename(folder)
            fill(made, shadow)
        except BaseException as error:
            made.remove()
            if unnamed.exists():
                erase(unnamed)
            if isinstance(error, OSError):
                raise StorageFailed(what=str(folder), why=why_failed(error)) from None
            raise
        return made

    @classmethod
    def open(cls, folder: Path) -> "WorkCopy":
        try:
            data = (folder / "copy.json").read_bytes()
        except OSError as error:
            why = Text("{folder} cannot be read: {problem}", folder=folder, problem=error.strerror)
            raise CopyFailed(why=why) from None
        return cls(folder, decode_own(data, CopyRecord, str(folder / "copy.json")))

    @classmethod
    def all(cls, cache: Path) -> list["WorkCopy"]:
        """Every copy that was not removed, oldest first."""
        found = []
        for path in sorted(cache.glob("[!.]*/copy.json")):
            with suppress(RingiError):  # interrupted before its record was written
                found.append(cls.open(path.parent))
        return found

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Reserves the copy until the block ends. Raises Busy if somebody else has it.

        Reads the record again, because the previous owner may have changed it.
        """
        try:
            lock = (self.folder / "lock").open("ab")
        except OSError:
            raise CopyFailed(why=Text("its folder {folder} is gone", folder=self.folder)) from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Busy(holder=Text("another command works in {folder}", folder=self.folder)) from None
            self.record = WorkCopy.open(self.folder).record
            yield

    def note(self, **changes: object) -> None:
        """Saves the record with these fields changed. Raises StorageFailed."""
        self.record = msgspec.structs.replace(self.record, **changes)
        put(self.folder / "copy.json", pretty(self.record))

    # ------------------------------------------------------------------ what the agent left

    def difference(self, most: int | None = None, *, living: bool = False) -> TreeDifference:
        """`living` if an agent may be at work in it. Raises TooManyFiles if more than `most` files differ."""
        captured, special = capture(self, living=living)
        left_out = {name: Text("it is a repository of its own") for name in captured.nested}
        left_out |= {name: unreadable(name) for name in captured.unreadable}
        outside = self.shadow.without_ignored([os.fsencode(name) for name in special])
        left_out |= dict.fromkeys(map(os.fsdecode, outside), Text("it is neither a file nor a folder"))
        left_out |= dict.fromkeys(_list_changed_own_files(self), Text("it lies in {folder}", folder=OWN))
        left_out = {name: why for name, why in left_out.items() if not below(name, self.record.carried)}
        wanted: list[TreeChange] = []
        for change in self.shadow.changes(captured.tree):
            path = os.fsdecode(change.path)
            if below(path, left_out):
                continue
            if reason := _refusal(self, path, change):
                left_out[path] = reason
            else:
                wanted.append(change)
        if most is not None and (why := too_many(wanted, most)):
            raise TooManyFiles(why=why, path=str(self.tree))
        blobs = self.shadow.blobs(
            [change.oid for change in wanted if change.after != ABSENT]
            + [change.old_oid for change in wanted if change.before != ABSENT]
        )
        return difference_of(self.base, captured.tree, wanted, blobs, left_out)

    def began_with(self, paths: Sequence[str]) -> bool:
        """Whether one of the paths was there when the copy was made."""
        if any(path in self.record.own_files for path in paths):
            return True
        return bool(paths) and self.shadow.began_with([os.fsencode(path) for path in paths])

    def head_message(self) -> tuple[str, str] | None:
        """Subject and body of the newest commit in the copy. Reads no configuration from the copy."""
        git_dir = self.tree / ".git"
        commit = head_of(git_dir)
        if commit is None or commit == self.record.head:
            return None
        try:
            self.shadow.guard_again()
            if self.shadow.git.attempt("cat-file", "-e", commit).code == 0:
                return None  # another existing commit was checked out
            words = ("log", "-1", "--no-show-signature", "--format=%s%x00%b", commit, "--")
            told = self.shadow.read_commit(git_dir / "objects", *words)
        except RingiError:
            return None
        subject, _, body = told.decode("utf-8", "replace").partition("\0")
        subject = subject.strip()[:_LONGEST_SUBJECT]
        return (subject, body.strip()[:_LONGEST_BODY]) if subject else None

    def remove(self, *, wait: bool = True) -> None:
        """Removes the copy at once; what cannot be deleted now is deleted with the next copy.

        Without `wait` its files are deleted in the background, even after the caller's end.
        """
        left = [*self.folder.parent.glob(REMOVED + "*"), *_find_unnamed(self.folder.parent)]
        if self.folder.is_dir() and not self.folder.is_symlink():
            gone = self.folder.rename(self.folder.with_name(REMOVED + self.folder.name))
            if wait:
                left.append(gone)
            else:
                erase_later(gone)
        for path in left:
            erase(path)


def _find_unnamed(cache: Path) -> Iterator[Path]:
    """Copies whose process was killed before they got their name."""
    for path in cache.glob(_UNNAMED + "*"):
        with suppress(FileNotFoundError):  # it just got its name
            if time.time() - path.stat().st_mtime > _UNNAMED_SEC:
                yield path


def capture(copy: WorkCopy, *, living: bool = False) -> tuple[CapturedTree, list[str]]:
    """Its files as they are now, also those written as soon as it was made; and what is no file at all."""
    if copy.is_gone:
        raise CopyFailed(why=Text("its folder {folder} is gone", folder=copy.tree))
    special = list(_special_files(copy.tree, copy.record.laid_at, living=living))
    return copy.shadow.capture(), special


def empty(copy: WorkCopy) -> None:
    """Deletes its files, in the background; its record stays, and what the agent needs to continue."""
    copy.note(emptied=True)
    left, gone = copy.folder / "left", copy.folder / f"{REMOVED}{secrets.token_hex(4)}"
    try:
        gone.mkdir()
        left.mkdir(exist_ok=True)
        for path in [path for pattern in copy.record.ignored for path in copy.tree.glob(pattern)]:
            path.rename(left / path.name)
        for folder in (copy.tree, copy.shadow.git_dir, copy.folder / LENT):
            if folder.is_dir():
                folder.rename(gone / folder.name)
        left.rename(copy.tree)
    except OSError as error:
        raise StorageFailed(what=str(copy.folder), why=why_failed(error)) from None
    erase_later(gone)


def facts_of(shadow: WorktreeCapture, captured: CapturedTree) -> dict[str, Any]:
    """What a copy's record says about the workspace."""
    return {
        "base": captured.tree,
        "nested": tuple(map(_printable, captured.nested)),
        "object_format": shadow.around.object_format,
        "ignorecase": shadow.around.ignorecase,
        "precompose": shadow.around.precompose,
    }


def fill(copy: WorkCopy, shadow: WorktreeCapture) -> None:
    """Its tree is empty, or its index knows each file there. Nobody works in it."""
    shadow.objects.lend(copy.base, copy.folder)
    objects, excludes = lent_by(shadow, copy.record.ignored)
    copy.shadow.folder.prepare(shadow.around._replace(objects=objects, excludes=excludes))
    copy.shadow.lay_out(copy.base)
    laid_at = copy.shadow.trust_files(copy.folder / "lock")
    head = own_repository(copy, shadow, copy.tree / ".git")
    if head:
        complete(copy.tree)
    copy.note(head=head, laid_at=laid_at, own_files=digests(copy.tree / OWN))


def own_repository(copy: WorkCopy, shadow: WorktreeCapture, git_dir: Path) -> str | None:
    index, lent, ignored = copy.shadow.git_dir / "index", copy.folder / LENT, copy.record.ignored
    return make_repository(git_dir, copy.tree, shadow, index, copy.base, lent, ignored)


def take_along(
    copy: WorkCopy,
    shadow: WorktreeCapture,
    captured: CapturedTree,
    carried: tuple[str, ...],
    on_progress: Callable[[Text], None],
) -> None:
    copy.nested, copy.unreadable = captured.nested, captured.unreadable
    ignored = [name for name in shadow.list_ignored() if not below(name.rstrip("/"), carried)]
    found = [name.rstrip("/") for name in ignored if holds_dependencies(shadow.work_tree, name)]
    carried += _find_included(shadow, {*carried, *found})
    behind = [name for name in ignored if not below(name.rstrip("/"), carried)]
    copy.left_behind = tuple(
        name for name in behind if name.rstrip("/") not in found and not is_cache(shadow.work_tree, name)
    )
    for name in carried:
        on_progress(Text("Carrying {path}", path=name))
        carry_over(shadow.work_tree, copy.tree, name)
    copy.note(carried=carried, dependencies=tuple(map(_printable, found)))


def _find_included(shadow: WorktreeCapture, there: Container[str]) -> tuple[str, ...]:
    """Ignored things that the project's own list brings along, as it does for git worktrees elsewhere."""
    patterns = shadow.work_tree / INCLUDE
    if patterns.is_symlink() or not patterns.is_file():
        return ()
    names = []
    for name in (name.rstrip("/") for name in shadow.list_ignored(patterns)):
        with suppress(PathRefused, NotFound):
            if not below(name, there) and _printable(name) == name:
                names.append(carriable(shadow.work_tree, name))
    return tuple(names)


def put(path: Path, data: bytes) -> None:
    """Replaces the file atomically."""
    try:
        replace_file(path, data, synced=False)
    except OSError as error:
        raise StorageFailed(what=str(path), why=why_failed(error)) from None


def _refusal(copy: WorkCopy, path: str, change: TreeChange) -> Text | None:
    if below(path, copy.record.carried):
        return Text("it was carried into the copy")
    if below(path, copy.record.nested):
        return Text("it lies in a repository of its own")
    if why := unfit(path, change):
        return why
    return too_large((copy.tree / path).lstat().st_size) if change.after != ABSENT else None


def _special_files(tree: Path, laid_at: int, *, living: bool) -> Iterator[str]:
    """What is neither file, folder nor link. Also tells git about files written very early (see `doubt`).

    Deletes pipes at which git would wait. In a living copy nothing is deleted: raises CopyFailed.
    """
    for step in walk(tree):
        if not step.folder and ".git" in step.inner:
            step.inner.remove(".git")
        for entry in step.entries:
            with suppress(OSError):  # deleted since
                if entry.is_file(follow_symlinks=False):
                    doubt(entry, step.at, laid_at)
                elif not entry.is_dir(follow_symlinks=False) and not entry.is_symlink():
                    inside = step.path(entry.name)
                    if _blocks_git(inside) and stat.S_ISFIFO(entry.stat(follow_symlinks=False).st_mode):
                        if living:
                            why = Text("git would wait for the pipe {path}; delete it", path=tree / inside)
                            raise CopyFailed(why=why)
                        os.unlink(entry.name, dir_fd=step.at)
                    yield inside


def _blocks_git(inside: str) -> bool:
    """Whether git opens what is there without asking what it is."""
    return inside.rpartition("/")[2] in {".gitignore", ".gitattributes"} or "/.git/" in inside


def _list_changed_own_files(copy: WorkCopy) -> list[str]:
    now, before = digests(copy.tree / OWN), copy.record.own_files
    return [name for name in now.keys() | before.keys() if now.get(name) != before.get(name)]


def digests(folder: Path) -> dict[str, str]:
    """Of every file below it, or of the path itself if it is not a folder."""
    if folder.is_symlink() or not folder.is_dir():  # do not read through a link
        return {folder.name: _facts(folder)} if os.path.lexists(folder) else {}
    found: dict[str, str] = {}
    for step in walk(folder):
        names = [entry.name for entry in step.entries if not entry.is_dir(follow_symlinks=False)]
        found |= {_printable(f"{folder.name}/{step.path(name)}"): _facts(name, step.at) for name in names}
    return found


def _facts(name: str | Path, at: int | None = None) -> str:
    found = os.stat(name, dir_fd=at, follow_symlinks=False)
    if stat.S_ISLNK(found.st_mode):
        data = os.fsencode(os.readlink(name, dir_fd=at))
    elif found.st_size > LARGEST_FILE:
        data = f"{found.st_size} {found.st_mtime_ns}".encode()
    else:
        try:
            data = read_bounded(name, LARGEST_FILE, at=at, follow=False)
        except OSError:
            data = b""
    return f"{found.st_mode:o} {hashlib.sha256(data).hexdigest()}"


def _words(command: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(_printable, command))


def _printable(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")
