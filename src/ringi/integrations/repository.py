"""What an approval says about the person's own repository, and the notes that prove it there."""

import errno
import os
import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ringi.domain.codec import blob_id, digest
from ringi.domain.provenance import NOTES
from ringi.errors import CopyFailed, NoCommit, NotesFailed, StorageFailed
from ringi.integrations.commits import repository_around
from ringi.integrations.history import MOST_NOTE, OBJECT_ID, noted, shallow_commits
from ringi.integrations.personal_git import GitFailed, PersonalGit
from ringi.process.git import NO_FETCH, Git, Repository, listed, names_in, read_available
from ringi.text import Text

_MESSAGE: Final = b"Add the proof of an approval\n"
NOBODY: Final = (
    "-c",
    "user.name=ringi",
    "-c",
    "user.email=ringi@localhost",
    "-c",
    "user.useConfigOnly=false",
)
TRIES: Final = 10
_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 1.0
_FEW: Final = 100
_CONVERSIONS: Final = ("filter", "text", "eol", "crlf", "ident", "working-tree-encoding")
_OFF: Final = frozenset(["unspecified", "unset"])
_SETTINGS: Final = r"^(core\.autocrlf|filter\..*\.(clean|process|required)|lfs\.extension\..*)$"
_SHA: Final = {"sha1": "0" * 40, "sha256": "0" * 64}
_POINTER: Final = re.compile(
    rb"version https?://(?:git-lfs\.github\.com/spec/v1|hawser\.github\.com/spec/v1|git-media\.io/v/2)\n"
    rb"(?:ext-.*\n)*oid sha256:[0-9a-f]{64}\nsize [0-9]+\s*"
)
_LARGEST_POINTER: Final = 1024
_FULL: Final = ("No space left", "Out of diskspace")
_FATAL: Final = re.compile(rb"^fatal: (.*)$", re.MULTILINE)
# It writes one into the git directory, in which nothing of ours may stay.
_CRASH: Final = re.compile(rb"^fast-import: dumping crash report to (.*fast_import_crash_\d+)$", re.MULTILINE)


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

    def published(self, paths: Sequence[str]) -> frozenset[str]:
        try:
            if Repository.at(self._root) is None:
                return frozenset()
            outside = {path for path in paths if repository_around(self._root, os.fsencode(path), ())}
            return frozenset(paths).difference(outside, self._ignored(sorted({*paths} - outside)))
        except (GitFailed, CopyFailed, NoCommit):
            return frozenset()

    def _ignored(self, paths: Sequence[str]) -> Iterable[str]:
        if not paths:
            return ()
        # Written like this, no name looks like a pattern.
        asked = listed([b"./" + os.fsencode(path) for path in paths])
        try:
            out = self._git.look("check-ignore", "-z", "--stdin", stdin=asked, fine=(0, 1))
        except GitFailed:
            # Git looks at none of them if one is in a submodule.
            if len(paths) == 1:
                return paths
            half = len(paths) // 2
            return [*self._ignored(paths[:half]), *self._ignored(paths[half:])]
        return [os.fsdecode(name).removeprefix("./") for name in names_in(out)]

    def stored(self, files: Mapping[str, Sequence[bytes]]) -> dict[str, tuple[str, ...]]:
        unknown = {path: ("",) * len(contents) for path, contents in files.items()}
        try:
            if not files or Repository.at(self._root) is None:
                return unknown
            like = _SHA[self._git.line("rev-parse", "--show-object-format") or "sha1"]
            asked = listed(os.fsencode(path) for path in files)
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
                self._stored(_Conversion.of(attributes[path], settings), path, data, like)
                for data in contents
            )
            for path, contents in files.items()
        }

    def _settings(self) -> dict[str, str]:
        out = os.fsdecode(self._git.look("config", "-z", "--get-regexp", _SETTINGS, fine=(0, 1)))
        pairs = (pair.partition("\n") for pair in out.split("\0") if pair)
        return {name: value if given else "true" for name, given, value in pairs}

    def _stored(self, how: "_Conversion", path: str, data: bytes, like: str) -> str:
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
        if strange := [blob for blob in blobs if not OBJECT_ID.fullmatch(blob)]:
            raise NotesFailed(why=Text("{blob} is not the id of a blob", blob=strange[0]))
        try:
            repository = Repository.at(self._theirs.root)
            if repository is None:
                why = Text("there is no git repository in {folder}", folder=str(self._theirs.root))
                raise NotesFailed(why=why)
            self._attach(Git(repository.git_dir), envelope, sorted(set(blobs)))
        except (CopyFailed, NoCommit) as error:
            raise NotesFailed(why=error.details["why"]) from None
        except GitFailed as error:
            if any(words in str(error) for words in _FULL):
                raise StorageFailed(what=NOTES, why=os.strerror(errno.ENOSPC)) from None
            raise NotesFailed(why=str(error)) from None

    def _attach(self, git: Git, envelope: bytes, blobs: Sequence[str]) -> None:
        committer = self._committer()
        for attempt in range(TRIES):
            tip = notes_tip(git)
            wanted = _with_line(git, tip, envelope, blobs)
            if not wanted:
                return
            try:
                self._write(_commit_of(wanted, tip, committer))
            except GitFailed as error:
                if not is_lost_race(git, tip, error) or attempt == TRIES - 1:
                    raise
                pause(attempt)
            else:
                return

    def _committer(self) -> bytes:
        asked = ("var", "GIT_COMMITTER_IDENT")
        known = os.fsencode(self._theirs.line(*asked))
        return (known or self._theirs.look(*NOBODY, *asked)).strip()

    def _write(self, stream: bytes) -> None:
        above = {"GIT_CEILING_DIRECTORIES": str(self._theirs.root.parent)}
        words = ("-c", f"core.hooksPath={os.devnull}", "fast-import", "--quiet", "--done")
        try:
            self._theirs.work(*words, stdin=stream, LC_ALL="C", **NO_FETCH, **above)
        except GitFailed as error:
            if report := _CRASH.search(error.whole):
                (self._theirs.root / os.fsdecode(report[1])).unlink(missing_ok=True)
            fatal = _FATAL.search(error.whole)
            raise GitFailed(fatal[1].decode("utf-8", "replace") if fatal else str(error)) from None


def pause(attempt: int) -> None:
    """Longer from one attempt to the next, and never as long as somebody else's."""
    share = os.urandom(1)[0] / 255
    time.sleep(share * min(_PAUSE * 2**attempt, _LONGEST_PAUSE))


def notes_tip(git: Git, ref: str = NOTES) -> str:
    finished = git.attempt("rev-parse", "-q", "--verify", f"{ref}^{{commit}}")
    return "" if finished.code else finished.out.decode().strip()


def is_lost_race(git: Git, tip: str, error: GitFailed) -> bool:
    """Only that is worth another try: the notes have moved on, or are held right now."""
    return notes_tip(git) != tip or ".lock" in str(error)


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


class _Note(NamedTuple):
    blob: str
    data: bytes
    elsewhere: tuple[str, ...]
    """Where it lay before, in the tree of the notes."""


def _place(blob: str) -> str:
    return f"{blob[:2]}/{blob[2:]}"


def _with_line(git: Git, tip: str, line: bytes, blobs: Sequence[str]) -> list[_Note]:
    """The notes that change."""
    near = sorted({place for blob in blobs for place in (blob, blob[:2])}) if len(blobs) <= _FEW else []
    there = noted(git, tip, *near)
    old = sorted({entry.oid for blob in blobs for entry in there.get(blob, ())})
    read = dict(zip(old, read_available(git, old, MOST_NOTE), strict=True))
    changed = []
    for blob in blobs:
        lines = []
        for entry in there.get(blob, ()):
            found = read[entry.oid]
            if found is None:  # it would be lost
                raise NotesFailed(why=Text("the note of {blob} cannot be read", blob=blob))
            lines += [text for text in found[1].split(b"\n") if text]
        if line not in lines:
            data = b"".join(text + b"\n" for text in [*lines, line])
            places = tuple(entry.path.decode("ascii") for entry in there.get(blob, ()))
            changed.append(_Note(blob, data, places))
    return changed


def _commit_of(notes: Sequence[_Note], tip: str, committer: bytes) -> bytes:
    """For `git fast-import`, whose own command for notes takes only those of commits."""
    marks = {data: number for number, data in enumerate({note.data: None for note in notes}, 1)}
    parts = [b"blob\nmark :%d\ndata %d\n%b\n" % (mark, len(data), data) for data, mark in marks.items()]
    parts.append(
        b"commit %b\ncommitter %b\ndata %d\n%b" % (NOTES.encode(), committer, len(_MESSAGE), _MESSAGE)
    )
    if tip:
        parts.append(f"from {tip}\n".encode())
    for note in notes:
        parts += (f"D {place}\n".encode() for place in note.elsewhere)
        parts.append(b"M 100644 :%d %b\n" % (marks[note.data], _place(note.blob).encode()))
    return b"".join([*parts, b"done\n"])
