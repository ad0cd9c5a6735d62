"""Bytes to documents and back: strict on the way in, canonical on the way out."""

import hashlib
import json
from typing import Any, Final, TypeVar

import msgspec

from ringi.errors import BadDocument, NewerVersion
from ringi.text import Text

T = TypeVar("T")

MAX_DOCUMENT_BYTES: Final = 64 * 1024 * 1024
KNOWN_VERSION: Final = 1

_encoder: Final = msgspec.json.Encoder(order="sorted")


def canonical(document: object) -> bytes:
    """One spelling for one document: sorted keys, no spaces, UTF-8. This is what is hashed."""
    return _encoder.encode(document)


def pretty(document: object) -> bytes:
    """For files that people open: fields in the order they were declared."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def trusted(data: bytes, kind: type[T], what: str) -> T:
    """Decode what the program itself wrote into the ledger."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        _refuse_newer(data, what)
        raise BadDocument(what=what, why=str(error)) from None


def foreign(data: bytes, kind: type[T], what: str) -> T:
    """Decode a document from outside: bounded in size and depth, no key twice, no unknown field."""
    if len(data) > MAX_DOCUMENT_BYTES:
        raise BadDocument(
            what=what,
            why=Text("it has {size} bytes, {limit} are allowed", size=len(data), limit=MAX_DOCUMENT_BYTES),
        )
    if not data.strip():
        raise BadDocument(what=what, why=Text("it is empty"))
    try:
        raw = json.loads(data.decode("utf-8"), object_pairs_hook=_no_key_twice)
    except UnicodeDecodeError as error:
        raise BadDocument(what=what, why=Text("it is not UTF-8 at byte {at}", at=error.start)) from None
    except RecursionError:
        raise BadDocument(what=what, why=Text("it is nested too deeply")) from None
    except json.JSONDecodeError as error:
        where = Text(
            "line {line} column {column}: {problem}", line=error.lineno, column=error.colno, problem=error.msg
        )
        raise BadDocument(what=what, why=where) from None
    except _KeyTwice as error:
        raise BadDocument(what=what, why=Text("the key {key} stands in it twice", key=error.key)) from None
    _check_version(raw, what)
    try:
        return msgspec.convert(raw, type=kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise BadDocument(what=what, why=str(error)) from None


class _KeyTwice(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _KeyTwice(key)
            seen.add(key)
    return found


def _check_version(raw: object, what: str) -> None:
    if isinstance(raw, dict):
        version = raw.get("schema_version", raw.get("schemaVersion", 1))
        if isinstance(version, int) and version > KNOWN_VERSION:
            raise NewerVersion(what=what, found=version, known=KNOWN_VERSION)


def _refuse_newer(data: bytes, what: str) -> None:
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return
    _check_version(raw, what)
