"""Everything that is wrong with a document at once: msgspec itself stops at the first fault."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import inspect as kinds

from ringi.errors import BadDocument, NewerVersion
from ringi.kernel import codec
from ringi.kernel.document import WORDS, Document, OpenDocument, prepare
from ringi.kernel.open_documents import fold
from ringi.kernel.text import Text

T = TypeVar("T")
MOST_FAULTS: Final = 100
"""That are listed of one document; a list of a million wrong items needs no million lines."""
_MOST_NAMED: Final = 12
_LONGEST_KEY: Final = 40
_MOST_CHOICES: Final = 20
_CLOSE: Final = 0.7


class Level(StrEnum):
    FAIL = "FAIL"
    WARN = "WARN"


class ReasonCode(StrEnum):
    """The problems that a document of ours can have (RN-2)."""

    JSON_PARSE_ERROR = "JSON_PARSE_ERROR"
    SCHEMA_INVALID = "SCHEMA_INVALID"
    VERSION_UNSUPPORTED = "VERSION_UNSUPPORTED"
    STEPS_EMPTY = "STEPS_EMPTY"
    STEP_ID_INVALID = "STEP_ID_INVALID"
    STEP_ID_DUPLICATE = "STEP_ID_DUPLICATE"
    EXPECTED_DIFF_TOO_LARGE = "EXPECTED_DIFF_TOO_LARGE"
    SCOPE_DIFF_TOO_LARGE = "SCOPE_DIFF_TOO_LARGE"
    GH_NOT_FORBIDDEN = "GH_NOT_FORBIDDEN"
    AC_TOO_FEW = "AC_TOO_FEW"
    AC_UNKNOWN = "AC_UNKNOWN"
    FILES_MAX_HIGH = "FILES_MAX_HIGH"
    TOO_MANY_STEPS = "TOO_MANY_STEPS"
    TOO_MANY_ASSUMPTIONS = "TOO_MANY_ASSUMPTIONS"
    AC_UNLINKED = "AC_UNLINKED"


WARNINGS: Final = frozenset(
    [
        ReasonCode.FILES_MAX_HIGH,
        ReasonCode.TOO_MANY_STEPS,
        ReasonCode.TOO_MANY_ASSUMPTIONS,
        ReasonCode.AC_UNLINKED,
    ]
)


class Problem(NamedTuple):
    code: ReasonCode
    level: Level
    path: str
    """$.steps[0].title; $ is the document itself."""
    message: Text


class ProblemRow(Document, frozen=True):
    """A problem as programs read it."""

    code: ReasonCode
    level: Level
    path: str
    message: str


class Fault(NamedTuple):
    """A value that is not what its type says."""

    path: str
    message: Text


def faults(raw: object, kind: Any) -> tuple[Fault, ...]:
    """Where parsed JSON is not a document of the kind; none exactly if msgspec takes it."""
    try:
        if isinstance(kind, type) and issubclass(kind, OpenDocument):
            raw = fold(raw, kind)
        found = tuple(islice(_faults(raw, _info(kind), "$"), MOST_FAULTS + 1))
    except RecursionError:
        return (Fault("$", Text("it is nested too deeply")),)
    if len(found) > MOST_FAULTS:
        return (*found[:MOST_FAULTS], Fault("$", Text("there are more problems than these")))
    if not found:
        try:
            msgspec.convert(raw, type=prepare(kind))
        except (msgspec.ValidationError, RecursionError) as error:
            return (Fault("$", Text("{why}", why=str(error))),)
        except NewerVersion as error:
            return (Fault("$", Text("{why}", why=Text(error.message, **error.details))),)
    return found


def decode_or_explain(data: bytes, kind: type[T], what: str) -> T:
    """Like `codec.foreign`, but the error names everything that is wrong: each further try costs somebody."""
    try:
        return codec.decode_foreign(data, kind, what)
    except BadDocument as error:
        if isinstance(error.details["why"], Text):
            raise
        raise BadDocument(what=what, why=in_words(faults(codec.parse_json(data, what), kind))) from None


def in_words(found: Sequence[Fault]) -> str:
    """In a line."""
    return str(format_faults(found))


def format_faults(found: Sequence[Fault]) -> Text:
    """As `in_words`, for a reader in another language."""
    details: dict[str, object] = {}
    for n, fault in enumerate(found[:_MOST_NAMED]):
        details |= {f"path{n}": fault.path, f"why{n}": fault.message}
    named = [f"{{path{n}}}: {{why{n}}}" for n in range(len(found[:_MOST_NAMED]))]
    return Text("; ".join([*named, "…"] if len(found) > _MOST_NAMED else named), **details)


def problem(code: ReasonCode, path: str, message: Text) -> Problem:
    return Problem(code, Level.WARN if code in WARNINGS else Level.FAIL, path, message)


def schema_problems(raw: object, kind: Any) -> Iterator[Problem]:
    return (problem(ReasonCode.SCHEMA_INVALID, fault.path, fault.message) for fault in faults(raw, kind))


def below(path: str, key: str | int) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", key) and len(key) <= _LONGEST_KEY:
        return f"{path}.{key}"
    return f"{path}[{json.dumps(key[:_LONGEST_KEY], ensure_ascii=False)}]"


@cache
def _info(kind: Any) -> kinds.Type:
    return kinds.type_info(prepare(kind))


_OBJECT: Final = ((dict,), Text("an object"))
_LIST: Final = ((list,), Text("a list"))
_SORTS: Final[Mapping[type[kinds.Type], tuple[tuple[type, ...], Text]]] = {
    kinds.StructType: _OBJECT,
    kinds.DictType: _OBJECT,
    kinds.VarTupleType: _LIST,
    kinds.ListType: _LIST,
    kinds.StrType: ((str,), Text("a text")),
    kinds.BoolType: ((bool,), Text("true or false")),
    kinds.IntType: ((int,), Text("a whole number")),
    kinds.FloatType: ((int, float), Text("a number")),
    kinds.NoneType: ((type(None),), Text("null")),
}
"""What a type looks like in parsed JSON, and for people."""


def _faults(value: Any, info: kinds.Type, path: str, words: Text | None = None) -> Iterator[Fault]:
    match info:
        case kinds.Metadata():
            yield from _faults(value, info.type, path, (info.extra or {}).get(WORDS))
        case kinds.UnionType():
            yield from _of_union(value, info, path)
        case _ if not _fits(value, info):
            yield _unlike(value, info, path)
        case kinds.StructType():
            yield from _of_struct(value, info, path)
        case kinds.DictType():
            yield from _of_dict(value, info, path)
        case kinds.VarTupleType() | kinds.ListType():
            yield from _of_length(len(value), info, path, Text("items"))
            for at, item in enumerate(value):
                yield from _faults(item, info.item_type, below(path, at))
        case kinds.StrType():
            yield from _of_text(value, info, path, words)
        case kinds.IntType() | kinds.FloatType():
            yield from _of_bounds(value, info, path)


def _fits(value: object, info: kinds.Type) -> bool:
    """Whether it is of the right sort; what it holds is another matter."""
    match info:
        case kinds.Metadata():
            return _fits(value, info.type)
        case kinds.UnionType():
            return any(_fits(value, one) for one in info.types)
        case kinds.LiteralType() | kinds.EnumType():
            return any(value == choice and type(value) is type(choice) for choice in _choices(info))
        case _:
            sort = _SORTS.get(type(info))
            return sort is None or type(value) in sort[0]


def _of_text(value: str, info: kinds.StrType, path: str, words: Text | None) -> Iterator[Fault]:
    too_long_or_short = list(_of_length(len(value), info, path, Text("characters")))
    yield from too_long_or_short
    if info.pattern is not None and not too_long_or_short and not re.search(info.pattern, value):
        wanted = words or Text("a text that matches {pattern}", pattern=info.pattern)
        yield Fault(path, Text("it must be {wanted}", wanted=wanted))


def _of_union(value: object, info: kinds.UnionType, path: str) -> Iterator[Fault]:
    structs = {one.tag: one for one in info.types if isinstance(one, kinds.StructType)}
    if len(structs) > 1 and isinstance(value, dict):
        field = next(iter(structs.values())).tag_field or ""
        tag = value.get(field)
        if not isinstance(tag, str | int) or tag not in structs:
            known = ", ".join(str(one) for one in structs)
            yield Fault(below(path, field), Text("it must be {wanted}", wanted=_one_of(known)))
            return
        yield from _of_struct(value, structs[tag], path)
        return
    fitting = [one for one in info.types if _fits(value, one)]
    if not fitting:
        yield _unlike(value, info, path)
    elif all((found := list(_faults(value, one, path))) for one in fitting):
        yield from found


def _of_struct(value: Mapping[str, Any], info: kinds.StructType, path: str) -> Iterator[Fault]:
    known = {field.encode_name: field for field in info.fields}
    for name, field in known.items():
        if name in value:
            yield from _faults(value[name], field.type, below(path, name))
        elif field.required:
            yield Fault(below(path, name), Text("it is missing"))
    tag = info.tag_field
    if tag is not None and value.get(tag, info.tag) != info.tag:
        yield Fault(below(path, tag), Text("it must be {wanted}", wanted=json.dumps(info.tag)))
    if info.forbid_unknown_fields:
        for name in value:
            if name not in known and name != tag:
                yield Fault(below(path, name), _no_field(name, list(known)))


def _no_field(name: str, known: list[str]) -> Text:
    import difflib  # noqa: PLC0415  # only for a typo

    near = difflib.get_close_matches(name[:_LONGEST_KEY], known, n=1, cutoff=_CLOSE)
    if near:
        return Text("there is no such field; did you mean {nearest}?", nearest=near[0])
    return Text("there is no such field")


def _of_dict(value: Mapping[str, object], info: kinds.DictType, path: str) -> Iterator[Fault]:
    yield from _of_length(len(value), info, path, Text("fields"))
    for key, item in value.items():
        yield from _faults(key, info.key_type, below(path, key))
        yield from _faults(item, info.value_type, below(path, key))


def _of_length(count: int, info: Any, path: str, what: Text) -> Iterator[Fault]:
    if info.min_length is not None and count < info.min_length:
        if count == 0:
            yield Fault(path, Text("it is empty"))
        else:
            yield Fault(path, Text("it has {count} {what}, at least {least} are needed", count=count,
                                   what=what, least=info.min_length))  # fmt: skip
    if info.max_length is not None and count > info.max_length:
        yield Fault(path, Text("it has {count} {what}, {limit} are allowed", count=count, what=what,
                               limit=info.max_length))  # fmt: skip


def _of_bounds(value: Any, info: Any, path: str) -> Iterator[Fault]:
    if info.ge is not None and value < info.ge:
        yield Fault(path, Text("it must be at least {least}, not {found}", least=info.ge, found=value))
    if info.gt is not None and value <= info.gt:
        yield Fault(path, Text("it must be more than {least}, not {found}", least=info.gt, found=value))
    if info.le is not None and value > info.le:
        yield Fault(path, Text("it must be at most {most}, not {found}", most=info.le, found=value))
    if info.lt is not None and value >= info.lt:
        yield Fault(path, Text("it must be less than {most}, not {found}", most=info.lt, found=value))


def _choices(info: Any) -> Iterable[Any]:
    return [one.value for one in info.cls] if hasattr(info, "cls") else info.values


def _one_of(known: str) -> Text:
    return Text("one of {known}", known=known)


def _unlike(value: object, info: kinds.Type, path: str) -> Fault:
    return Fault(
        path,
        Text("it must be {wanted}, not {found}", wanted=_expectation(info), found=_show(value)),
    )


def _expectation(info: kinds.Type) -> Text:
    match info:
        case kinds.Metadata():
            return _expectation(info.type)
        case kinds.LiteralType() | kinds.EnumType():
            choices = [json.dumps(one) for one in islice(_choices(info), _MOST_CHOICES)]
            return _one_of(", ".join(choices)) if len(choices) > 1 else Text("{value}", value=choices[0])
        case kinds.UnionType():
            first, *others = dict.fromkeys(_expectation(one) for one in info.types)
            for other in others:
                first = Text("{one} or {other}", one=first, other=other)
            return first
        case _:
            return _SORTS[type(info)][1]


def _show(value: object) -> Text:
    match value:
        case None:
            return Text("null")
        case dict():
            return Text("an object")
        case list():
            return Text("a list")
        case str() if len(value) <= _LONGEST_KEY:
            return Text("{value}", value=json.dumps(value, ensure_ascii=False))
        case str():
            return Text("a long text")
        case _:
            return Text("{value}", value=json.dumps(value))
