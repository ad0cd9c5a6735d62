"""Who signed something: the answer of whatever checks signatures."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Signer(NamedTuple):
    principal: str
    key: str
    """The public key: its type and its base64."""
    where: str
    """The list it was found in."""


class SignerList(NamedTuple):
    where: str
    """The file's name, for people."""
    data: bytes
    """In the format of allowed_signers(5)."""


class Signatures(Protocol):
    def signer(self, message: bytes, signature: str, lists: Sequence[SignerList] | None = None) -> Signer:
        """Who signed, by these lists, or by those that count in the workspace.

        Raises UnlistedKey, WrongNamespace or BadSignature, or SignatureUnchecked.
        """

    def required(self) -> bool:
        """Whether a typed answer does not suffice here."""
