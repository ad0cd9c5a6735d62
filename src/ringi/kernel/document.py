"""What documents and state machines are made of."""

from _thread import allocate_lock  # threading takes longer to import than a list takes
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, Generic, TypeVar

import msgspec

from ringi.errors import BadTransition, NewerVersion

KNOWN_VERSION: Final = 1
S = TypeVar("S", bound=StrEnum)
T = TypeVar("T")
_decoders: Final[dict[object, msgspec.json.Decoder[Any]]] = {}
_making: Final = allocate_lock()
EXTRA: Final = "$extra"
WORDS: Final = "words"
"""In a `Meta(extra=…)`: what a text that does not match the pattern should have been, for people."""


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """One for each kind of document.

    Making it completes what msgspec knows about the kind. That crashes the interpreter if two threads do it
    at once, so whatever decodes or converts comes here first.
    """
    found = _decoders.get(kind)
    if found is None:
        with _making:
            found = _decoders.setdefault(kind, msgspec.json.Decoder(kind))
    return found


def prepare(kind: type[T]) -> type[T]:
    """The same kind, for whatever decodes or converts without its decoder."""
    decoder(kind)
    return kind


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A closed document: a field it does not know is an error."""


class CamelDocument(Document, frozen=True, rename="camel"):
    """Field names in camelCase, as in the specification of change plans."""


class OpenDocument(Document, frozen=True, kw_only=True):
    """Its specification is a set of examples, so fields it does not know are kept: see `open_documents`.

    A document that contains an open one is open itself.
    """

    extra: dict[str, Any] = msgspec.field(name=EXTRA, default_factory=dict)
    """The fields without a name, as they came."""


class Versioned(Document, frozen=True, kw_only=True):
    """A document in a file or a row of its own. An absent version means 1."""

    schema_version: Annotated[int, msgspec.Meta(ge=1)] = 1

    def __post_init__(self) -> None:
        if self.schema_version > KNOWN_VERSION:
            raise NewerVersion(what=type(self).__name__, found=self.schema_version, known=KNOWN_VERSION)


class Machine(Generic[S]):
    """A state machine is its table; every change of state goes through `advance`."""

    def __init__(self, name: str, transitions: Mapping[S, frozenset[S]]) -> None:
        self.name = name
        self.transitions = transitions

    def allows(self, current: S, target: S) -> bool:
        return target in self.transitions[current]

    def advance(self, current: S, target: S) -> S:
        if not self.allows(current, target):
            allowed = ", ".join(sorted(self.transitions[current])) or "—"
            raise BadTransition(machine=self.name, current=str(current), target=str(target), allowed=allowed)
        return target
