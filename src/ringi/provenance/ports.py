"""What verifying needs from git and ssh-keygen. Tests have a history and signatures of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from ringi.approvals.signing import Signer, SignerList
    from ringi.approvals.statement import PathChange


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
        """The id of the commit. Raises NoSuchCommit, or AmbiguousName: a push can add a tag."""

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


class PastSignatures(Protocol):
    def signer_at(
        self, message: bytes, signature: str, lists: Sequence[SignerList], at: datetime, namespace: str = ...
    ) -> Signer:
        """Who signed, by these lists, with a key that was valid then. Called from several threads.

        Raises SignatureRefused or one of its kinds, or SignatureUnchecked.
        """
