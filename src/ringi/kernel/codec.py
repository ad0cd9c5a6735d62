"""Bytes to documents and back: strict on the way in, canonical on the way out."""

import math
import re
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from ringi.errors import BadDocument, NewerVersion
from ringi.kernel.document import KNOWN_VERSION, OpenDocument, decoder, prepare
from ringi.kernel.open_documents import fold, unfold
from ringi.kernel.text import Text

T = TypeVar("T")
NOT_TEXT: Final = Text("it contains half a character (a lone surrogate)")

MAX_DOCUMENT_BYTES: Final = 64 * 1024 * 1024
# Beyond this the ledger and some JSON readers lose precision.
_LARGEST_NUMBER: Final = 2**63 - 1
_SHA256_LENGTH: Final = 64
_SURROGATE: Final = re.compile(rb"\\u[dD][89abcdefABCDEF]")

_encoder: Final = msgspec.json.Encoder(order="sorted")


def canonical(document: object) -> bytes:
    """One spelling for one document: sorted keys, no spaces, UTF-8. This is what is hashed."""
    try:
        return _encoder.encode(_plain(document))
    except UnicodeEncodeError:
        raise BadDocument(what=type(document).__name__, why=NOT_TEXT) from None


def pretty(document: object) -> bytes:
    """For files that people open: fields in the order they were declared."""
    return msgspec.json.format(msgspec.json.encode(_plain(document)), indent=2) + b"\n"


def _plain(document: object) -> object:
    return unfold(document) if isinstance(document, OpenDocument) else document


def _is_open(kind: object) -> bool:
    """A kind may also be a tuple or a union of documents."""
    return isinstance(kind, type) and issubclass(kind, OpenDocument)


def _fold(raw: object, kind: type) -> object:
    return fold(raw, kind) if _is_open(kind) else raw


def digest(data: bytes) -> str:
    import hashlib  # noqa: PLC0415  # it loads a large library, and `ringi` alone often needs none

    return hashlib.sha256(data).hexdigest()


def blob_id(data: bytes, *, like: str) -> str:
    """The name git gives to these bytes, with the same hash algorithm as the other name."""
    import hashlib  # noqa: PLC0415  # as above

    kind = hashlib.sha256 if len(like) == _SHA256_LENGTH else hashlib.sha1
    return kind(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def decode_own(data: bytes, kind: type[T], what: str) -> T:
    """Decode what the program itself wrote into the ledger."""
    try:
        if _is_open(kind):
            return msgspec.convert(_fold(msgspec.json.decode(data), kind), type=prepare(kind))
        return decoder(kind).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        _refuse_newer(data, what)
        raise BadDocument(what=what, why=str(error)) from None


def require(value: object, kind: type[msgspec.Struct], what: str) -> None:
    """Refuses what is no valid document of the kind: Python checks no types of fields."""
    if not isinstance(value, kind):
        why = Text("it is {found}, not {wanted}", found=type(value).__name__, wanted=kind.__name__)
        raise BadDocument(what=what, why=why)
    try:
        msgspec.convert(msgspec.to_builtins(value), prepare(kind))
    except (msgspec.ValidationError, TypeError) as error:
        raise BadDocument(what=what, why=str(error)) from None


def decode_foreign(data: bytes, kind: type[T], what: str | Text) -> T:
    """Decode a document from outside: bounded in size and depth, no key twice, no unknown field."""
    raw = parse_json(data, what)
    _check_version(raw, what)
    try:
        return msgspec.convert(_fold(raw, kind), type=prepare(kind))
    except (msgspec.ValidationError, RecursionError) as error:
        raise BadDocument(what=what, why=str(error)) from None


def parse_json(data: bytes, what: str | Text) -> Any:
    """JSON from outside as Python has it; what cannot be kept exactly is refused."""
    import json  # noqa: PLC0415  # `ringi` alone reads none, and starts sooner

    if len(data) > MAX_DOCUMENT_BYTES:
        raise BadDocument(
            what=what,
            why=Text("it has {size} bytes, {limit} are allowed", size=len(data), limit=MAX_DOCUMENT_BYTES),
        )
    if not data.strip():
        raise BadDocument(what=what, why=Text("it is empty"))
    try:
        raw = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_no_key_twice,
            parse_constant=_no_number,
            parse_float=_number,
            parse_int=_whole_number,
        )
        if _SURROGATE.search(data):
            json.dumps(raw, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise BadDocument(what=what, why=Text("it is not UTF-8 at byte {at}", at=error.start)) from None
    except UnicodeEncodeError:
        raise BadDocument(what=what, why=NOT_TEXT) from None
    except RecursionError:
        raise BadDocument(what=what, why=Text("it is nested too deeply")) from None
    except json.JSONDecodeError as error:
        where = Text(
            "line {line} column {column}: {problem}", line=error.lineno, column=error.colno, problem=error.msg
        )
        raise BadDocument(what=what, why=where) from None
    except _Unfit as error:
        raise BadDocument(what=what, why=error.why) from None
    return raw


class _Unfit(Exception):
    def __init__(self, why: Text) -> None:
        super().__init__(str(why))
        self.why = why


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Unfit(Text("the key {key} is in it twice", key=key))
            seen.add(key)
    return found


def _no_number(written: str) -> NoReturn:
    raise _Unfit(Text("{number} is not a number that can be kept", number=written[:20]))


def _number(written: str) -> float:
    number = float(written)
    return number if math.isfinite(number) else _no_number(written)


def _whole_number(written: str) -> int:
    # Check the length first: Python refuses to parse thousands of digits.
    if len(written) > len(str(-_LARGEST_NUMBER)) or abs(number := int(written)) > _LARGEST_NUMBER:
        _no_number(written)
    return number


def _check_version(raw: object, what: str | Text) -> None:
    if isinstance(raw, dict):
        version = raw.get("schema_version", raw.get("schemaVersion", 1))
        if isinstance(version, int) and version > KNOWN_VERSION:
            raise NewerVersion(what=what, found=version, known=KNOWN_VERSION)


def _refuse_newer(data: bytes, what: str) -> None:
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    _check_version(raw, what)
