"""Whose signatures count in a workspace, and whether a typed answer does."""

from enum import StrEnum
from typing import Literal

from ringi.kernel.document import Document, Versioned


class RequiredProof(StrEnum):
    """From the loosest to the strictest."""

    ANY = "any"
    SIGNED = "signed"
    """A typed answer never suffices."""


class SignerFile(Document, frozen=True):
    path: str
    """Absolute, or relative to the workspace for the list of the project."""
    sha256: str
    lines: tuple[str, ...]
    """In the format of allowed_signers(5), without comments."""


class SignersSubject(Versioned, frozen=True, kw_only=True):
    """The bytes of this document, as stored, are what the person said yes to."""

    kind: Literal["signers"] = "signers"
    workspace: str
    lists: tuple[SignerFile, ...]
    proof: RequiredProof
    replaces: str
    """SHA-256 of the document before it; empty for the first."""

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(line for file in self.lists for line in file.lines)
