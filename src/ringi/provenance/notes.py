"""The notes that prove approvals, in the person's own repository: added to, and rebuilt if damaged."""

import errno
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ringi.approvals.statement import NOTES
from ringi.errors import CopyFailed, NoCommit, NotesDamaged, NotesFailed, StorageFailed
from ringi.kernel.process.durable import sync_refs
from ringi.kernel.process.git import NO_FETCH, Git, read_available
from ringi.kernel.process.ref_files import LOCKED, Damage, glance, is_partial
from ringi.kernel.process.refs import examine, put_aside
from ringi.kernel.process.repository import Mended, Repository
from ringi.kernel.text import COMMIT_SHOWN, Text
from ringi.provenance.history import MOST_NOTE, OBJECT_ID, list_notes
from ringi.provenance.notes_remains import ADDED, REBUILT, NotesRemains
from ringi.tree.personal_git import GitFailed, PersonalGit

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
_SHOWN: Final = 10
_FULL: Final = ("No space left", "Out of diskspace")
_FATAL: Final = re.compile(rb"^fatal: (.*)$", re.MULTILINE)
# It writes one into the git directory, in which nothing of ours may stay.
_CRASH: Final = re.compile(rb"^fast-import: dumping crash report to (.*fast_import_crash_\d+)$", re.MULTILINE)

Lines = Mapping[str, Sequence[bytes]]
"""By the blob that they hang on."""


class Rebuilt(NamedTuple):
    """Damaged notes that were moved aside and rebuilt."""

    why: Text
    """What was wrong."""
    aside: str
    """The folder with the damaged files."""
    lost: frozenset[str] = frozenset()
    """The blobs whose newest note cannot be read."""
    is_whole: bool = True
    """False if there may have been more notes; how many is unknown."""

    def describe(
        self, what: Text, known: frozenset[str] = frozenset(), plans: tuple[str, ...] = ()
    ) -> Mended:
        """Names each note and plan that could not be kept. `known` are the blobs that the ledger knew."""
        lost, lines = tuple(sorted(self.lost - known)), [what]
        if plans:
            lines.append(
                Text(
                    "{count} proofs could not be kept, because their files are not in the ledger any more: "
                    "{plans}. No clone can verify these plans.",
                    count=len(plans),
                    plans=", ".join(plans),
                )
            )
        if lost:
            shown = ", ".join(blob[:COMMIT_SHOWN] for blob in lost[:_SHOWN])
            lines.append(
                Text(
                    "{count} notes that others wrote could not be kept, on the blobs {blobs}. "
                    "If they were pushed, get them back: ringi sync",
                    count=len(lost),
                    blobs=f"{shown} …" if len(lost) > _SHOWN else shown,
                )
            )
        if not self.is_whole:
            lines.append(
                Text(
                    "The newest list of the notes cannot be read: what others added last may be missing. "
                    "If it was pushed, get it back: ringi sync"
                )
            )
        return Mended(NOTES, tuple(lines), self.aside, lost, plans)


class Notes:
    def __init__(self, person: PersonalGit, repository: Repository) -> None:
        self._person = person
        self._repository = repository
        self._git = Git(repository.git_dir)

    def add(self, lines: Lines) -> None:
        """All or none; does nothing where a line is there already.

        Raises NotesDamaged, or NotesFailed, or StorageFailed if the disk is full.
        """
        if strange := [blob for blob in lines if not OBJECT_ID.fullmatch(blob)]:
            raise NotesFailed(why=Text("{blob} is not the id of a blob", blob=strange[0]))
        try:
            self._add(lines)
        except (CopyFailed, NoCommit) as error:
            self._refuse_damaged()
            raise NotesFailed(why=error.details["why"]) from None
        except GitFailed as error:
            self._refuse_damaged()
            if any(words in str(error) for words in _FULL):
                raise StorageFailed(what=NOTES, why=os.strerror(errno.ENOSPC)) from None
            raise NotesFailed(why=str(error)) from None

    def lacks(self, lines: Lines) -> bool:
        """Whether one of them is not there. Raises NotesDamaged."""
        try:
            return bool(_plan_changes(self._git, self._tip(), lines))
        except CopyFailed:
            return True

    def lines(self) -> Iterator[bytes]:
        """Of all notes. Raises NotesDamaged, NotesFailed."""
        try:
            entries = list_notes(self._git, self._tip())
            ids = sorted({entry.oid for some in entries.values() for entry in some})
            for one in read_available(self._git, ids, MOST_NOTE):
                yield from (line for line in one[1].split(b"\n") if line) if one else ()
        except CopyFailed as error:
            raise NotesFailed(why=error.details["why"]) from None

    def damage(self) -> Damage | None:
        """Reads every note."""
        if (found := examine(self._repository, NOTES)) or is_partial(self._repository):
            return found
        entries = list_notes(self._git, notes_tip(self._git))
        ids = sorted({entry.oid for some in entries.values() for entry in some})
        read = zip(ids, read_available(self._git, ids, MOST_NOTE), strict=True)
        unread = {oid for oid, one in read if one is None}
        blob = next((blob for blob, some in entries.items() if any(one.oid in unread for one in some)), None)
        return Damage(NOTES, Text("the note of {blob} cannot be read", blob=blob)) if blob else None

    def rebuild(self) -> Rebuilt | None:
        """From whatever can be read of them; None if they are not damaged.

        Raises NotesFailed, StorageFailed.
        """
        try:
            if self.damage() is None:
                return None
            with put_aside(self._repository) as aside:
                locked = aside.take_lock(NOTES)
                found = self.damage()
                if found is None:
                    return Rebuilt(LOCKED, str(aside.folder)) if locked else None
                remains = NotesRemains(self._git, self._repository)
                values = remains.list_own_values()
                aside.take_objects(values)
                if aside.take_ref(NOTES):
                    self._write_ref("-d", NOTES)
                kept = remains.collect(values)
                self._restore(kept.base, kept.lines)
        except (CopyFailed, NoCommit) as error:
            raise NotesFailed(why=error.details["why"]) from None
        except GitFailed as error:
            raise NotesFailed(why=str(error)) from None
        return Rebuilt(found.why, str(aside.folder), kept.lost, kept.is_whole)

    def _tip(self) -> str:
        # Before git looks, which waits for ever for a pipe.
        if found := glance(self._repository, NOTES):
            raise NotesDamaged(why=found.why)
        return notes_tip(self._git)

    def _refuse_damaged(self) -> None:
        if found := self.damage():
            raise NotesDamaged(why=found.why) from None

    def _add(self, lines: Lines) -> None:
        committer = self._committer()
        for attempt in range(TRIES):
            tip = self._tip()
            if not tip and (found := examine(self._repository, NOTES)):
                raise NotesDamaged(why=found.why)
            wanted = _plan_changes(self._git, tip, lines)
            if not wanted:
                return
            try:
                self._write(_commit_of(wanted, tip, committer))
            except GitFailed as error:
                if not is_lost_race(self._git, tip, error) or attempt == TRIES - 1:
                    raise
                pause(attempt)
            else:
                return

    def _committer(self) -> bytes:
        asked = ("var", "GIT_COMMITTER_IDENT")
        known = os.fsencode(self._person.line(*asked))
        return (known or self._person.look(*NOBODY, *asked)).strip()

    def _write(self, stream: bytes) -> None:
        above = {"GIT_CEILING_DIRECTORIES": str(self._person.root.parent)}
        words = ("-c", f"core.hooksPath={os.devnull}", "fast-import", "--quiet", "--done")
        since = time.time_ns()
        try:
            self._person.work(*words, stdin=stream, LC_ALL="C", **NO_FETCH, **above)
        except GitFailed as error:
            if report := _CRASH.search(error.whole):
                (self._person.root / os.fsdecode(report[1])).unlink(missing_ok=True)
            fatal = _FATAL.search(error.whole)
            raise GitFailed(fatal[1].decode("utf-8", "replace") if fatal else str(error)) from None
        sync_refs(self._repository, (NOTES,), since)

    def _write_ref(self, *words: str) -> None:
        since = time.time_ns()
        self._person.work("-c", f"core.hooksPath={os.devnull}", "update-ref", *words, LC_ALL="C")
        sync_refs(self._repository, (NOTES,), since)

    def _restore(self, base: str, lines: Lines) -> None:
        if wanted := _plan_changes(self._git, base, lines):
            self._write(_commit_of(wanted, base, self._committer(), REBUILT))
        elif base:
            self._write_ref("-m", "ringi: rebuilt", NOTES, base, "0" * len(base))


def pause(attempt: int) -> None:
    """Longer from one attempt to the next, at random so that two processes do not keep colliding."""
    share = os.urandom(1)[0] / 255
    time.sleep(share * min(_PAUSE * 2**attempt, _LONGEST_PAUSE))


def notes_tip(git: Git, ref: str = NOTES) -> str:
    finished = git.attempt("rev-parse", "-q", "--verify", f"{ref}^{{commit}}")
    return "" if finished.code else finished.out.decode().strip()


def is_lost_race(git: Git, tip: str, error: GitFailed) -> bool:
    """Only that is worth another try: the notes have moved on, or are held right now."""
    return notes_tip(git) != tip or ".lock" in str(error)


class _Note(NamedTuple):
    blob: str
    data: bytes
    elsewhere: tuple[str, ...]
    """Where it lay before, in the tree of the notes."""


def _place(blob: str) -> str:
    return f"{blob[:2]}/{blob[2:]}"


def _plan_changes(git: Git, tip: str, wanted: Lines) -> list[_Note]:
    """The notes that change."""
    blobs = sorted(wanted)
    near = sorted({place for blob in blobs for place in (blob, blob[:2])}) if len(blobs) <= _FEW else []
    there = list_notes(git, tip, *near)
    old = sorted({entry.oid for blob in blobs for entry in there.get(blob, ())})
    read = dict(zip(old, read_available(git, old, MOST_NOTE), strict=True))
    changed = []
    for blob in blobs:
        lines = []
        for entry in there.get(blob, ()):
            found = read[entry.oid]
            if found is None:  # it would be lost
                raise CopyFailed(why=Text("the note of {blob} cannot be read", blob=blob))
            lines += [text for text in found[1].split(b"\n") if text]
        new = [line for line in dict.fromkeys(wanted[blob]) if line not in lines]
        if new:
            data = b"".join(text + b"\n" for text in [*lines, *new])
            places = tuple(entry.path.decode("ascii") for entry in there.get(blob, ()))
            changed.append(_Note(blob, data, places))
    return changed


def _commit_of(notes: Sequence[_Note], tip: str, committer: bytes, message: bytes = ADDED) -> bytes:
    """For `git fast-import`, whose own command for notes takes only those of commits."""
    marks = {data: number for number, data in enumerate({note.data: None for note in notes}, 1)}
    parts = [b"blob\nmark :%d\ndata %d\n%b\n" % (mark, len(data), data) for data, mark in marks.items()]
    parts.append(b"commit %b\ncommitter %b\ndata %d\n%b" % (NOTES.encode(), committer, len(message), message))
    if tip:
        parts.append(f"from {tip}\n".encode())
    for note in notes:
        parts += (f"D {place}\n".encode() for place in note.elsewhere)
        parts.append(b"M 100644 :%d %b\n" % (marks[note.data], _place(note.blob).encode()))
    return b"".join([*parts, b"done\n"])
