import msgspec


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A closed document: a field it does not know is an error."""


class Versioned(Document, frozen=True, kw_only=True):
    """A document that stands alone in a file or a row. An absent version means 1."""

    schema_version: int = 1
