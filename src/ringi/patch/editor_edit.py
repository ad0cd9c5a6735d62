"""What an editor applies: the parts we write of the WorkspaceEdit of the Language Server Protocol 3.17.

The four kinds of change are in one list, and only three of them have a `kind`. msgspec can encode such a
union but not decode it: so edits are encoded like every document, with
`msgspec.json.encode` or the codec, and read back with `read_workspace_edit`.
"""

from typing import Annotated, Any

import msgspec

from ringi.errors import BadDocument
from ringi.kernel.codec import decode_foreign
from ringi.kernel.document import CamelDocument, prepare

Count = Annotated[int, msgspec.Meta(ge=0)]


class Position(CamelDocument, frozen=True, order=True):
    line: Count
    """Counted from 0. A line ends with LF, CR LF or CR alone."""
    character: Count
    """Counted from 0 in UTF-16 code units."""


class Range(CamelDocument, frozen=True):
    start: Position
    end: Position
    """Exclusive."""


class TextEdit(CamelDocument, frozen=True):
    range: Range
    new_text: str


class VersionedDocument(CamelDocument, frozen=True):
    uri: str
    version: int | None = None
    """None: the file as it is on the disk."""


class TextDocumentEdit(CamelDocument, frozen=True):
    """Every range refers to the text before the first of the edits."""

    text_document: VersionedDocument
    edits: tuple[TextEdit, ...]


class PlacingOptions(CamelDocument, frozen=True, omit_defaults=True):
    overwrite: bool | None = None
    ignore_if_exists: bool | None = None


class DeleteOptions(CamelDocument, frozen=True, omit_defaults=True):
    recursive: bool | None = None
    ignore_if_not_exists: bool | None = None


class CreateFile(CamelDocument, frozen=True, tag_field="kind", tag="create", omit_defaults=True):
    uri: str
    options: PlacingOptions | None = None


class RenameFile(CamelDocument, frozen=True, tag_field="kind", tag="rename", omit_defaults=True):
    old_uri: str
    new_uri: str
    options: PlacingOptions | None = None


class DeleteFile(CamelDocument, frozen=True, tag_field="kind", tag="delete", omit_defaults=True):
    uri: str
    options: DeleteOptions | None = None


FileOperation = CreateFile | RenameFile | DeleteFile
DocumentChange = TextDocumentEdit | FileOperation


class WorkspaceEdit(CamelDocument, frozen=True):
    document_changes: tuple[DocumentChange, ...]
    """In the order in which they are applied."""


class _Unsorted(CamelDocument, frozen=True):
    document_changes: tuple[dict[str, Any], ...]


def read_workspace_edit(data: bytes, what: str = "WorkspaceEdit") -> WorkspaceEdit:
    changes = decode_foreign(data, _Unsorted, what).document_changes
    try:
        return WorkspaceEdit(tuple(map(_change, changes)))
    except msgspec.ValidationError as error:
        raise BadDocument(what=what, why=str(error)) from None


def _change(raw: dict[str, Any]) -> DocumentChange:
    if "kind" in raw:
        kinds: Any = FileOperation
        operation: FileOperation = msgspec.convert(raw, type=prepare(kinds))
        return operation
    return msgspec.convert(raw, type=prepare(TextDocumentEdit))
