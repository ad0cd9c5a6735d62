"""What an approval says about the person's own repository, and the notes that prove it there."""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import CopyFailed, NoCommit, NotesFailed
from ringi.kernel.codec import blob_id, digest
from ringi.kernel.process.git import join_names, names_in
from ringi.kernel.process.repository import Repository
from ringi.kernel.text import Text
from ringi.provenance.history import shallow_commits
from ringi.provenance.notes import Notes, Rebuilt
from ringi.tree.commits import repository_around
from ringi.tree.personal_git import GitFailed, PersonalGit

_CONVERSIONS: Final = ("filter", "text", "eol", "crlf", "ident", "working-tree-encoding")
_OFF: Final = frozenset(["unspecified", "unset"])
_SETTINGS: Final = r"^(core\.autocrlf|filter\..*\.(clean|process|required)|lfs\.extension\..*)$"
_SHA: Final = {"sha1": "0" * 40, "sha256": "0" * 64}
_POINTER: Final = re.compile(
    rb"version https?://(?:git-lfs\.github\.com/spec/v1|hawser\.github\.com/spec/v1|git-media\.io/v/2)\n"
    rb"(?:ext-.*\n)*oid sha256:[0-9a-f]{64}\nsize [0-9]+\s*"
)
_LARGEST_POINTER: Final = 1024


class GitRepository:
    """`notes_root` is where notes are written, if the work tree is not the person's own."""

    def __init__(self, root: Path, environment: Mapping[str, str], *, notes_root: Path | None = None) -> None:
        self._root = Path(os.path.realpath(root))
        self._git = PersonalGit(self._root, environment)
        theirs = Path(os.path.realpath(notes_root or root))
        self._theirs = PersonalGit(theirs, environment)

    def roots(self) -> tuple[str, ...]:
        try:
            repository = Repository.at(self._root)
            out = self._git.look("rev-list", "--max-parents=0", "HEAD") if repository else b""
        except (GitFailed, CopyFailed, NoCommit):
            return ()
        # Where a shallow clone is cut off is no root.
        cut = shallow_commits(repository.common) if repository else frozenset[str]()
        return tuple(sorted(set(out.decode().split()) - cut))

    def filter_tracked(self, paths: Sequence[str]) -> frozenset[str]:
        try:
            if Repository.at(self._root) is None:
                return frozenset()
            outside = {path for path in paths if repository_around(self._root, os.fsencode(path), ())}
            return frozenset(paths).difference(outside, self._list_ignored(sorted({*paths} - outside)))
        except (GitFailed, CopyFailed, NoCommit):
            return frozenset()

    def _list_ignored(self, paths: Sequence[str]) -> Iterable[str]:
        if not paths:
            return ()
        # Written like this, no name looks like a pattern.
        asked = join_names([b"./" + os.fsencode(path) for path in paths])
        try:
            out = self._git.look("check-ignore", "-z", "--stdin", stdin=asked, fine=(0, 1))
        except GitFailed:
            # Git looks at none of them if one is in a submodule.
            if len(paths) == 1:
                return paths
            half = len(paths) // 2
            return [*self._list_ignored(paths[:half]), *self._list_ignored(paths[half:])]
        return [os.fsdecode(name).removeprefix("./") for name in names_in(out)]

    def blob_ids(self, files: Mapping[str, Sequence[bytes]]) -> dict[str, tuple[str, ...]]:
        unknown = {path: ("",) * len(contents) for path, contents in files.items()}
        try:
            if not files or Repository.at(self._root) is None:
                return unknown
            like = _SHA[self._git.line("rev-parse", "--show-object-format") or "sha1"]
            asked = join_names(os.fsencode(path) for path in files)
            said = self._git.look("check-attr", "-z", "--stdin", *_CONVERSIONS, stdin=asked)
            settings = self._settings()
        except (GitFailed, CopyFailed, NoCommit, KeyError):
            return unknown
        attributes: dict[str, dict[str, str]] = {}
        fields = [os.fsdecode(field) for field in said.split(b"\0")]
        for path, name, value in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
            attributes.setdefault(path, {})[name] = value
        return {
            path: tuple(
                self._blob_id(_Conversion.of(attributes[path], settings), path, data, like)
                for data in contents
            )
            for path, contents in files.items()
        }

    def _settings(self) -> dict[str, str]:
        out = os.fsdecode(self._git.look("config", "-z", "--get-regexp", _SETTINGS, fine=(0, 1)))
        pairs = (pair.partition("\n") for pair in out.split("\0") if pair)
        return {name: value if given else "true" for name, given, value in pairs}

    def _blob_id(self, how: "_Conversion", path: str, data: bytes, like: str) -> str:
        if how.filter and not how.is_lfs:
            return ""
        if how.is_lfs:
            return "" if how.encoded else blob_id(_pointer(data), like=like)
        if not how.changes(data):
            return blob_id(data, like=like)
        try:
            # No filter has a say here, so this runs none.
            return self._git.look("hash-object", "--stdin", f"--path={path}", stdin=data).decode().strip()
        except GitFailed:  # an encoding that the bytes do not have
            return ""

    def attach(self, envelope: bytes, blobs: Collection[str]) -> None:
        self.attach_all({blob: [envelope] for blob in blobs})

    def attach_all(self, lines: Mapping[str, Sequence[bytes]]) -> None:
        self._notes().add(lines)

    def damage(self) -> Text | None:
        """Why the notes cannot be read; None if they can, or there are none."""
        try:
            notes = self._find_notes()
            found = notes.damage() if notes else None
        except (NotesFailed, CopyFailed) as error:
            return Text(error.message, **error.details)
        return found.why if found else None

    def rebuild(self) -> Rebuilt | None:
        notes = self._find_notes()
        return notes.rebuild() if notes else None

    def lines(self) -> Iterator[bytes]:
        return self._notes().lines()

    def lacking(self, lines: Mapping[str, Sequence[bytes]]) -> bool:
        return self._notes().lacks(lines)

    def _notes(self) -> Notes:
        notes = self._find_notes()
        if notes is None:
            why = Text("there is no git repository in {folder}", folder=str(self._theirs.root))
            raise NotesFailed(why=why)
        return notes

    def _find_notes(self) -> Notes | None:
        """None without a repository: then there is nothing that could be damaged."""
        try:
            repository = Repository.at(self._theirs.root)
        except CopyFailed as error:
            raise NotesFailed(why=error.details["why"]) from None
        return Notes(self._theirs, repository) if repository else None


class _Conversion(NamedTuple):
    """What git does with a file's bytes before it stores them."""

    filter: str
    """The name of one that is set up; empty if there is none."""
    is_lfs: bool
    lines: bool
    ident: bool
    encoded: bool

    @classmethod
    def of(cls, attributes: Mapping[str, str], settings: Mapping[str, str]) -> "_Conversion":
        name = attributes["filter"]
        made = any(f"filter.{name}.{key}" in settings for key in ("clean", "process", "required"))
        used = name if made and name not in {*_OFF, "set"} else ""
        extended = any(setting.startswith("lfs.extension.") for setting in settings)
        return cls(
            filter=used,
            is_lfs=used == "lfs" and not extended,
            lines=settings.get("core.autocrlf", "").lower() not in {"", "false", "0", "no", "off"}
            or any(attributes[name] not in _OFF for name in ("text", "eol", "crlf")),
            ident=attributes["ident"] == "set",
            encoded=attributes["working-tree-encoding"] not in _OFF,
        )

    def changes(self, data: bytes) -> bool:
        """Whether it may change these bytes; only git knows then to what."""
        return self.encoded or (self.lines and b"\r\n" in data) or (self.ident and b"$Id" in data)


def _pointer(data: bytes) -> bytes:
    """As git-lfs stores a file; an empty one, and one that is a pointer already, as it is."""
    if not data or (len(data) < _LARGEST_POINTER and _POINTER.fullmatch(data)):
        return data
    return (
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest(data)}\nsize {len(data)}\n".encode()
    )
