"""Work copies: where an agent works freely, and the difference it leaves."""

import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ringi.domain.base import Document, Versioned
from ringi.domain.codec import pretty, trusted
from ringi.errors import CopyFailed, PathRefused, RingiError, StorageFailed
from ringi.text import Text
from ringi.workspace.carry import carriable, carry_over, erase, private_folder
from ringi.workspace.checkout import head_of, make_repository
from ringi.workspace.git import Git, quoted
from ringi.workspace.paths import normalise
from ringi.workspace.private_folder import OWN, Surroundings
from ringi.workspace.private_git import Captured, PrivateGit, tracked_files
from ringi.workspace.shadow import Shadow

LARGEST_FILE: Final = 64 * 1024 * 1024
_REGULAR: Final = frozenset(["100644", "100755"])
_ABSENT: Final = "000000"
_REMOVED: Final = ".removed-"


class CopyChange(NamedTuple):
    path: str
    before_mode: str | None
    after_mode: str | None
    before: bytes | None
    after: bytes | None


class Difference(NamedTuple):
    base: str
    tree: str
    changes: tuple[CopyChange, ...]
    left_out: tuple[tuple[str, Text], ...]


class Supervisor(Document, frozen=True):
    pid: int
    start: str
    """When that process began; a number alone may by now belong to another."""


class CopyRecord(Versioned, frozen=True, kw_only=True):
    """copy.json: written as soon as the copy exists, so that one left behind is found."""

    workspace: str
    created_at: str
    base: str
    head: str | None = None
    object_format: str = "sha1"
    ignorecase: bool = False
    precompose: bool = False
    carried: tuple[str, ...] = ()
    own_files: Mapping[str, str] = {}
    """Digests of what was laid below `.agent`, which the difference leaves out but names."""
    nested: tuple[str, ...] = ()
    """Repositories inside the workspace; they are not in the copy, and nothing below them is taken."""
    supervisor: Supervisor | None = None
    command: tuple[str, ...] = ()
    """What works in the copy."""
    taken: bool = False
    """Its difference is a plan; it is kept for what the plan could not carry."""


class _Raw(NamedTuple):
    path: bytes
    before: str
    after: str
    old_blob: str
    blob: str


class WorkCopy:
    def __init__(self, folder: Path, record: CopyRecord) -> None:
        self.folder = folder
        self.tree = folder / "tree"
        self.record = record
        self.left_behind: tuple[str, ...] = ()
        """Ignored files and folders that are not in the copy; known where it was made."""
        self.nested: tuple[str, ...] = ()
        self.unreadable: tuple[str, ...] = ()
        self._shadow = _CopyShadow(folder / "base.git", self.tree, record)

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def base(self) -> str:
        return self.record.base

    # ------------------------------------------------------------------ making and finding

    @classmethod
    def make(
        cls,
        root: Path,
        state: Path,
        cache: Path,
        *,
        carry: Sequence[str] = (),
        on_progress: Callable[[Text], None] = lambda _: None,
    ) -> "WorkCopy":
        root = root.resolve()
        carried = tuple(dict.fromkeys(carriable(root, name) for name in carry))
        for folder in (state, cache):
            private_folder(folder)
        on_progress(Text("Reading the workspace"))
        shadow = Shadow(state / "git", root)
        captured = shadow.capture()
        on_progress(Text("Laying out the copy"))
        try:
            made = cls._lay_out(shadow, captured, cache)
        except CopyFailed:
            # Objects that another repository lent us may be gone by now; with all of our own it must work.
            captured = shadow.rebuild()
            made = cls._lay_out(shadow, captured, cache)
        try:
            made._take_along(shadow, captured, carried, on_progress)  # noqa: SLF001  # of this class
        except BaseException:
            made.remove()
            raise
        return made

    @classmethod
    def _lay_out(cls, shadow: Shadow, captured: Captured, cache: Path) -> "WorkCopy":
        now = datetime.now(UTC)
        folder = cache / f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
        record = CopyRecord(
            workspace=_printable(str(shadow.work_tree)),
            created_at=now.isoformat(timespec="microseconds"),
            base=captured.tree,
            nested=tuple(map(_printable, captured.nested)),
            object_format=shadow.around.object_format,
            ignorecase=shadow.around.ignorecase,
            precompose=shadow.around.precompose,
        )
        made = cls(folder, record)
        try:
            made.tree.mkdir(mode=0o700, parents=True)
            folder.chmod(0o700)
            made._save()
            lent = (quoted(shadow.git_dir / "objects"), *shadow.around.alternates)
            made._shadow.folder.prepare(shadow.around._replace(alternates=lent))
            made._shadow.lay_out(captured.tree)
            head = make_repository(made.tree, shadow, made._shadow.git_dir / "index", captured.tree, lent)
            made._save(head=head, own_files=_digests(made.tree / OWN))
        except OSError as error:
            made.remove()
            raise StorageFailed(what=str(folder), why=error.strerror or str(error)) from None
        except BaseException:
            made.remove()
            raise
        return made

    def _take_along(
        self,
        shadow: Shadow,
        captured: Captured,
        carried: tuple[str, ...],
        on_progress: Callable[[Text], None],
    ) -> None:
        self.nested, self.unreadable = captured.nested, captured.unreadable
        self.left_behind = tuple(name for name in shadow.ignored() if not _below(name.rstrip("/"), carried))
        for name in carried:
            on_progress(Text("Carrying {path}", path=name))
            carry_over(shadow.work_tree, self.tree, name)
        self._save(carried=carried)

    @classmethod
    def open(cls, folder: Path) -> "WorkCopy":
        try:
            data = (folder / "copy.json").read_bytes()
        except OSError as error:
            why = Text("{folder} cannot be read: {problem}", folder=folder, problem=error.strerror)
            raise CopyFailed(why=why) from None
        return cls(folder, trusted(data, CopyRecord, str(folder / "copy.json")))

    @classmethod
    def all(cls, cache: Path) -> list["WorkCopy"]:
        """Every copy that was not removed, oldest first."""
        found = []
        for path in sorted(cache.glob("[!.]*/copy.json")):
            with suppress(RingiError):  # one that was cut off before it had a record
                found.append(cls.open(path.parent))
        return found

    def mark_running(self, pid: int, start: str, command: Sequence[str] = ()) -> None:
        self._save(supervisor=Supervisor(pid, start), command=tuple(map(_printable, command)))

    def mark_taken(self) -> None:
        self._save(taken=True)

    def _save(self, **changes: object) -> None:
        self.record = msgspec.structs.replace(self.record, **changes)
        fresh = self.folder / "copy.json.fresh"
        fresh.write_bytes(pretty(self.record))
        fresh.replace(self.folder / "copy.json")

    # ------------------------------------------------------------------ what the agent left

    def difference(self) -> Difference:
        if self.tree.is_symlink() or not self.tree.is_dir():
            raise CopyFailed(why=Text("its folder {folder} is gone", folder=self.tree))
        special = list(self._special_files())
        captured = self._shadow.capture()
        left_out = {name: Text("it is a repository of its own") for name in captured.nested}
        left_out |= dict.fromkeys(captured.unreadable, Text("it cannot be read"))
        outside = self._shadow.without_ignored([os.fsencode(name) for name in special])
        left_out |= dict.fromkeys(map(os.fsdecode, outside), Text("it is neither a file nor a folder"))
        left_out |= dict.fromkeys(_changed_own_files(self), Text("it lies in {folder}", folder=OWN))
        left_out = {name: why for name, why in left_out.items() if not _below(name, self.record.carried)}
        wanted: list[_Raw] = []
        for raw in self._shadow.changes(captured.tree):
            path = os.fsdecode(raw.path)
            if _below(path, left_out):
                continue
            if reason := self._refusal(path, raw):
                left_out[path] = reason
            else:
                wanted.append(raw)
        blobs = self._shadow.blobs(
            [raw.blob for raw in wanted if raw.after != _ABSENT]
            + [raw.old_blob for raw in wanted if raw.before != _ABSENT]
        )
        changes = tuple(
            CopyChange(
                raw.path.decode(),
                _mode(raw.before),
                _mode(raw.after),
                blobs.get(raw.old_blob),
                blobs.get(raw.blob),
            )
            for raw in sorted(wanted)
        )
        named = tuple(sorted(left_out.items(), key=lambda pair: os.fsencode(pair[0])))
        return Difference(self.base, captured.tree, changes, named)

    def _refusal(self, path: str, raw: _Raw) -> Text | None:
        modes = {raw.before, raw.after} - {_ABSENT}
        if _below(path, self.record.carried):
            return Text("it was carried into the copy")
        if _below(path, self.record.nested):
            return Text("it lies in a repository of its own")
        if not modes <= _REGULAR:
            if len(modes) > 1:
                return Text("a file became a link, or a link a file")
            return Text("it is a symbolic link")
        try:
            normalise(path)
        except PathRefused as error:
            why = error.details["why"]
            return why if isinstance(why, Text) else Text("its name is refused")
        if raw.after != _ABSENT and (size := (self.tree / path).lstat().st_size) > LARGEST_FILE:
            return Text("it has {size} bytes, {limit} are allowed", size=size, limit=LARGEST_FILE)
        return None

    def head_subject(self) -> str | None:
        """The first line of the newest commit made in the copy. Nothing configured there is read."""
        git_dir = self.tree / ".git"
        commit = head_of(git_dir)
        if commit is None or commit == self.record.head:
            return None
        reader = Git(self._shadow.git_dir, more_objects=git_dir / "objects", time_limit=20)
        try:
            self._shadow.guard_again()
            if self._shadow.git.attempt("cat-file", "-e", commit).code == 0:
                return None  # another commit of the person's own was checked out
            subject = reader.run("log", "-1", "--no-show-signature", "--format=%s", commit, "--")
        except RingiError:
            return None
        return subject.decode("utf-8", "replace").strip()[:200] or None

    def remove(self) -> None:
        """The copy goes at once; what cannot be deleted now is deleted with the next one."""
        if self.folder.is_dir() and not self.folder.is_symlink():
            self.folder.rename(self.folder.with_name(_REMOVED + self.folder.name))
        for gone in self.folder.parent.glob(_REMOVED + "*"):
            erase(gone)

    def _special_files(self) -> Iterator[str]:
        waiting = [self.tree]
        while waiting:
            with suppress(OSError), os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    path = Path(entry.path)
                    if entry.is_dir(follow_symlinks=False):
                        if path != self.tree / ".git":
                            waiting.append(path)
                    elif not entry.is_file(follow_symlinks=False) and not entry.is_symlink():
                        inside = path.relative_to(self.tree)
                        if any(part.startswith(".git") for part in inside.parts):
                            path.unlink()  # git would open it, and could wait for ever
                        yield str(inside)


def _changed_own_files(copy: WorkCopy) -> list[str]:
    now, before = _digests(copy.tree / OWN), copy.record.own_files
    return [name for name in now.keys() | before.keys() if now.get(name) != before.get(name)]


class _CopyShadow(PrivateGit):
    """That of the copy. The repository in the copy, which an agent may do anything to, has no part in it."""

    def __init__(self, git_dir: Path, work_tree: Path, record: CopyRecord) -> None:
        super().__init__(git_dir, work_tree)
        self._base = record.base
        self._around = Surroundings(
            object_format=record.object_format, ignorecase=record.ignorecase, precompose=record.precompose
        )

    def guard_again(self) -> None:
        self.folder.guard(self._around)  # the agent could reach it

    def _refresh(self) -> None:
        self.guard_again()

    def _tracked(self) -> set[bytes]:
        """The files of the beginning, and what the agent has put under git."""
        found = set(self.git.run("ls-tree", "-r", "-z", "--name-only", self._base).split(b"\0")) - {b""}
        index = self.work_tree / ".git" / "index"
        if index.is_file():
            git = Git(self.git_dir, self.work_tree, index=index, time_limit=60)
            listing = git.attempt("ls-files", "-s", "-z")
            if listing.code == 0:
                found |= tracked_files(listing.out)
        return found

    def _tracked_mark(self) -> bytes:
        return secrets.token_bytes(8)  # taken once or twice: not worth remembering

    def changes(self, tree: str) -> Iterator[_Raw]:
        out = self.git.run("diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev", self._base, tree)
        fields = out.split(b"\0")
        for facts, path in zip(fields[::2], fields[1::2], strict=False):
            before, after, old_blob, blob, _ = facts.decode("ascii").lstrip(":").split(" ")
            yield _Raw(path, before, after, old_blob, blob)

    def blobs(self, ids: list[str]) -> dict[str, bytes]:
        wanted = "".join(f"{blob}\n" for blob in dict.fromkeys(ids))
        out = self.git.run("cat-file", "--batch", stdin=wanted.encode()) if wanted else b""
        found, at = {}, 0
        while at < len(out):
            end = out.index(b"\n", at)
            blob, _, *rest = out[at:end].decode("ascii").split(" ")
            if not rest:  # it was pruned from the repository that lent it
                raise CopyFailed(why=Text("the object {blob} is missing", blob=blob))
            size = rest[0]
            at = end + 1 + int(size) + 1
            found[blob] = out[end + 1 : at - 1]
        return found


def _digests(folder: Path) -> dict[str, str]:
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                data = os.fsencode(path.readlink())
            else:
                data = path.read_bytes() if stat.S_ISREG(mode) and os.access(path, os.R_OK) else b""
            facts = f"{mode:o} {hashlib.sha256(data).hexdigest()}"
            found[_printable(f"{folder.name}/{path.relative_to(folder)}")] = facts
    return found


def _below(path: str, names: Container[str]) -> bool:
    parts = path.split("/")
    return any("/".join(parts[:count]) in names for count in range(1, len(parts) + 1))


def _printable(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _mode(mode: str) -> str | None:
    return None if mode == _ABSENT else mode
