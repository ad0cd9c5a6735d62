"""What proofs in a clone need from git: to write notes, and to read them and the history anywhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from ringi.approvals.signing import Signer, SignerList
    from ringi.approvals.statement import PathChange
    from ringi.kernel.text import Text


class Rebuilt(NamedTuple):
    why: Text
    """What was wrong."""
    aside: str
    """The folder with the damaged files."""
    lost: frozenset[str] = frozenset()
    """The blobs whose newest note cannot be read."""
    is_whole: bool = True
    """False if there may have been more notes, which nobody can count."""


class PersonalRepository(Protocol):
    """The person's own repository, as an approval names it. Inspecting it runs nothing of it."""

    def roots(self) -> tuple[str, ...]:
        """The root commits of HEAD, sorted; empty if there is no commit or no repository."""

    def published(self, paths: Sequence[str]) -> frozenset[str]:
        """Those that git tracks, or would: what it ignores is never named in a note."""

    def stored(self, files: Mapping[str, Sequence[bytes]]) -> dict[str, tuple[str, ...]]:
        """For each path, the blob ids that git would give to these contents there, after line ends and LFS.

        Empty where only a filter of the person's configuration knows.
        """

    def attach(self, envelope: bytes, blobs: Collection[str]) -> None:
        """Adds a line to the notes of these blobs, all or none. Does nothing where it is there already.

        Raises NotesFailed, or NotesDamaged if `rebuild` is needed first.
        """

    def attach_all(self, lines: Mapping[str, Sequence[bytes]]) -> None:
        """As `attach`, for lines by blob."""

    def damage(self) -> Text | None:
        """Why the notes cannot be read; None if they can, or there are none. Raises NotesFailed."""

    def lacking(self, lines: Mapping[str, Sequence[bytes]]) -> bool:
        """Whether one of these is not in the notes. Raises NotesFailed."""

    def lines(self) -> Iterator[bytes]:
        """Of all notes. Raises NotesFailed."""

    def rebuild(self) -> Rebuilt | None:
        """Moves damaged notes aside and restores what can be read, whoever wrote it; None if they are sound.

        Raises NotesFailed.
        """


class PastCommit(NamedTuple):
    id: str
    message: str
    changes: tuple[PathChange, ...]
    """Against each parent; against nothing for a root commit."""
    payload: bytes
    """What its signature is over."""
    signature: str
    """Its SSH signature; empty if there is none, or one of another kind."""
    parents: tuple[str, ...]


class LineOrigin(NamedTuple):
    """The commit that wrote a line, and where the line was then."""

    commit: str
    path: str
    title: str


class History(Protocol):
    """Any clone, bare or not. Never fetches, never runs a hook, a filter or a program that it names."""

    unread: set[str]
    """The notes that could not be read: a partial clone lacks them, or they are damaged or too large."""

    def commit(self, name: str) -> str:
        """The id of the commit. Raises NoSuchCommit, or AmbiguousName: whoever can push can add a tag."""

    def base_of(self, old: str, new: str) -> str:
        """Where they parted; empty if they have nothing in common, or `old` is empty.

        `old` itself if there are several such places: the other side would choose between them.
        """

    def net(self, base: str, head: str) -> list[PathChange]:
        """How the trees differ, without renames; `base` may be empty: everything is new then."""

    def roots(self, commit: str) -> frozenset[str] | None:
        """Its root commits; None if the clone is shallow and cannot know."""

    def notes(self, blobs: Collection[str]) -> dict[str, bytes]:
        """The notes of these blobs, of those that have one."""

    def all_notes(self) -> Iterator[tuple[str, bytes]]:
        """Every note once, with the blob that it hangs on."""

    def commits(self, base: str, head: str) -> Iterator[PastCommit]:
        """Those of `base..head`, newest first."""

    def steps_to(self, commit: str, paths: Collection[str]) -> list[PathChange]:
        """What the commit and those before it did to these paths, newest first."""

    def contents(self, blobs: Collection[str]) -> dict[str, bytes]:
        """The bytes of those that the clone has."""

    def file(self, commit: str, path: str) -> bytes | None:
        """None if there is no such file."""

    def origin(self, commit: str, path: str, line: int) -> LineOrigin:
        """Where this line of the file came from. Raises CloneUnreadable."""


class MergedNotes(NamedTuple):
    before: str
    """The newest commit of our notes; empty if there was none."""
    after: str


class NotesRemote(Protocol):
    """Notes to and from a remote: the person's own git, with their network access and credentials."""

    def remote(self, name: str) -> str:
        """A remote or an address; if it is empty, the remote that git would choose. Raises NoRemote."""

    def fetch(self, remote: str) -> str:
        """The newest commit of its notes; empty if it has none. Raises SyncFailed."""

    def merge(self, theirs: str) -> MergedNotes:
        """Into ours, line by line; what others write meanwhile stays. Raises NotesFailed."""

    def push(self, remote: str, commit: str) -> bool:
        """False if somebody else pushed at the same moment. Raises PushRefused."""

    def count(self, commit: str, without: str) -> int:
        """How many notes the commit has that the other has not, or has otherwise. Raises NotesFailed."""


class PastSignatures(Protocol):
    def signer_at(
        self, message: bytes, signature: str, lists: Sequence[SignerList], at: datetime, namespace: str = ...
    ) -> Signer:
        """Who signed, by these lists, with a key that was valid then. Called from several threads.

        Raises SignatureRefused or one of its kinds, or SignatureUnchecked.
        """
