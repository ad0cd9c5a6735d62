"""Changed files as an editor applies them: the parts we write of the WorkspaceEdit of the Language Server
Protocol 3.17.

Whole lines are replaced, and positions are counted as editors do. The text of a file is all of its bytes: a
byte order mark is its first character.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from ringi.errors import BadDocument, NotAnEdit
from ringi.kernel.codec import decode_foreign
from ringi.kernel.document import CamelDocument, prepare
from ringi.kernel.text import Text
from ringi.patch.render import matching_blocks

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


# The four kinds of change are in one list, and only three of them have a `kind`. msgspec encodes such a union
# but cannot decode it.


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


_NEW_PLACE: Final = PlacingOptions(overwrite=False, ignore_if_exists=False)
_THIS_FILE: Final = DeleteOptions(recursive=False, ignore_if_not_exists=False)


class EditedFile(NamedTuple):
    path: str
    old_path: str | None
    """The old path, if it was renamed. A copy is a new file."""
    old: bytes | None
    """None for a file to create."""
    new: bytes | None
    """None for a file to delete."""


def workspace_edit(changes: Sequence[EditedFile], base_uri: str) -> WorkspaceEdit:
    """The files below the folder `base_uri`, in an order in which no step finds its path taken.

    Deletions come first, then renames, then edited and new files.
    """
    for change in changes:
        _check(change)
    deleted = [change for change in changes if change.new is None]
    edited = [change for change in changes if change.new is not None and not _renames(change)]
    renamed, stuck = _order([change for change in changes if _renames(change)])
    for change in stuck:
        deleted.append(EditedFile(change.old_path or change.path, None, change.old, None))
        edited.append(EditedFile(change.path, None, None, change.new))
    _check_places([*deleted, *renamed], [*renamed, *(change for change in edited if change.old is None)])
    base = base_uri if base_uri.endswith("/") else f"{base_uri}/"
    steps = (*sorted(deleted, key=_path), *renamed, *sorted(edited, key=_path))
    return WorkspaceEdit(tuple(step for change in steps for step in _steps(change, base)))


def _path(change: EditedFile) -> str:
    return change.path


def _renames(change: EditedFile) -> bool:
    return change.old_path not in (None, change.path) and change.old is not None and change.new is not None


def _check(change: EditedFile) -> None:
    for path in (change.path, change.old_path or ""):
        try:
            path.encode()
        except UnicodeEncodeError:
            raise NotAnEdit(path=path, why=Text("its name is not valid Unicode")) from None
    for data in (change.old, change.new):
        if b"\0" in (data or b""):
            raise NotAnEdit(path=change.path, why=Text("it is not text"))
        try:
            (data or b"").decode()
        except UnicodeDecodeError as error:
            why = Text("it is not UTF-8 at byte {at}", at=error.start)
            raise NotAnEdit(path=change.path, why=why) from None
    if change.old == change.new and not _renames(change):
        raise NotAnEdit(path=change.path, why=Text("its text stays the same"))


def _order(renamed: Sequence[EditedFile]) -> tuple[list[EditedFile], list[EditedFile]]:
    """Each after the file whose path it takes; also returns those that wait for each other, as in a swap."""
    left = {change.old_path: change for change in sorted(renamed, key=_path)}
    result: list[EditedFile] = []
    for start in list(left):
        chain: dict[str, EditedFile] = {}
        at = left.get(start)
        while at is not None and at.path not in chain:
            chain[at.path] = at
            at = next((left[place] for place in _places(at.path) if place in left), None)
        if at is None:
            for change in reversed(chain.values()):
                del left[change.old_path]
                result.append(change)
    return result, list(left.values())


def _places(path: str) -> Iterator[str]:
    """The path and its parents: none of them may still be a file."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def _check_places(leaving: Sequence[EditedFile], coming: Sequence[EditedFile]) -> None:
    """Git removes an empty folder by itself; an editor does not."""
    gone = (change.old_path if _renames(change) else change.path for change in leaving)
    folders = {place for path in gone if path for place in _places(path.rpartition("/")[0])}
    for change in coming:
        if change.path in folders:
            raise NotAnEdit(path=change.path, why=Text("a file takes the place of a folder"))


def _steps(change: EditedFile, base: str) -> Iterator[DocumentChange]:
    uri = _uri(base, change.path)
    if change.new is None:
        yield DeleteFile(uri, _THIS_FILE)
        return
    if change.old is None:
        yield CreateFile(uri, _NEW_PLACE)
    elif change.old_path is not None and _renames(change):
        yield RenameFile(_uri(base, change.old_path), uri, _NEW_PLACE)
    if edits := tuple(_edits(change.old or b"", change.new)):
        yield TextDocumentEdit(VersionedDocument(uri), edits)


def _uri(base: str, path: str) -> str:
    return base + quote(path, safe="/")


def _edits(old: bytes, new: bytes) -> Iterator[TextEdit]:
    # For bytes, unlike str, these are exactly the line ends of the protocol.
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    a = b = 0
    for block in matching_blocks(before, after):
        if a < block.a or b < block.b:
            place = Range(_position(before, a), _position(before, block.a))
            yield TextEdit(place, b"".join(after[b : block.b]).decode())
        a, b = block.a + block.size, block.b + block.size


def _position(lines: Sequence[bytes], at: int) -> Position:
    """The start of a line, or the end of the text."""
    if at and at == len(lines) and not lines[-1].endswith((b"\n", b"\r")):
        return Position(at - 1, len(lines[-1].decode().encode("utf-16-le")) // 2)
    return Position(at, 0)
