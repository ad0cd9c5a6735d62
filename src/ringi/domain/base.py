from typing import Annotated, Final

import msgspec

from ringi.errors import NewerVersion

KNOWN_VERSION: Final = 1


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A closed document: a field it does not know is an error."""


class CamelDocument(Document, frozen=True, rename="camel"):
    """Field names in camelCase, as in the specification of change plans."""


class Versioned(Document, frozen=True, kw_only=True):
    """A document in a file or a row of its own. An absent version means 1."""

    schema_version: Annotated[int, msgspec.Meta(ge=1)] = 1

    def __post_init__(self) -> None:
        if self.schema_version > KNOWN_VERSION:
            raise NewerVersion(what=type(self).__name__, found=self.schema_version, known=KNOWN_VERSION)
