"""A request in Markdown (RN-13): what is wanted, with acceptance criteria, written by a person.

    # Title
    What is wanted, and why.
    ## Acceptance criteria
    - AC-01: Given a report, When --json is passed, Then it prints JSON
    ## Constraints | ## Tests | ## Allowed paths | ## Forbidden paths
    - one item a line

Headings and the words of a criterion may be Japanese. Other sections belong to the body; HTML comments do not
count.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Annotated, Final, NamedTuple

from msgspec import Meta

from ringi.engine.run_plan import FEWEST_CRITERIA, AcceptanceCriterion, Line, Lines, Paths, TestInstructions
from ringi.engine.run_plan_rules import check_unique_ids
from ringi.kernel.document import Document
from ringi.kernel.problems import Level, Problem, ReasonCode, schema_problems
from ringi.kernel.text import Text, lazy_pattern

MOST_BYTES: Final = 1024 * 1024
_SECTIONS: Final[Mapping[str, str]] = {
    "acceptance criteria": "criteria",
    "acceptance criterion": "criteria",
    "受け入れ基準": "criteria",
    "受入基準": "criteria",
    "受け入れ条件": "criteria",
    "constraints": "constraints",
    "制約": "constraints",
    "制約条件": "constraints",
    "tests": "tests",
    "test": "tests",
    "testing": "tests",
    "test instructions": "tests",
    "テスト": "tests",
    "テスト手順": "tests",
    "allowed paths": "allowed",
    "変更してよいパス": "allowed",
    "許可パス": "allowed",
    "forbidden paths": "forbidden",
    "変更してはいけないパス": "forbidden",
    "禁止パス": "forbidden",
}
_FENCE: Final = ("```", "~~~")
_BULLET: Final = lazy_pattern(r"(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_ID: Final = lazy_pattern(r"(AC-[A-Za-z0-9]{1,20})(?:[:：.)]|\s|$)\s*")  # noqa: RUF001
_COLON: Final = r"\s*[:：、,]?\s*"  # noqa: RUF001
_CLAUSES: Final = {"given": "前提(?:条件)?", "when": "操作", "then": "期待(?:結果|値)"}
_BEGINS: Final = {
    # At the start of a line or after a comma.
    name: lazy_pattern(
        rf"(?:^|[,.;、。])\s*(?:{name}\b{_COLON}|{word}{_COLON})", re.IGNORECASE | re.MULTILINE
    )
    for name, word in _CLAUSES.items()
}
_ANYWHERE: Final = {name: lazy_pattern(rf"\b{name}\b{_COLON}", re.IGNORECASE) for name in _CLAUSES}
_KEY: Final = lazy_pattern(r"([A-Za-z0-9_]{1,20})\s*[:：]\s*")  # noqa: RUF001


_REQUEST_ID: Final = lazy_pattern(r"RQ-(\d{8})-(\d{3,6})")


def next_request_id(day: str, taken: Iterable[str]) -> str:
    """RQ-20251214-008: the day, and the number after the highest one of that day."""
    found = [int(id_[2]) for one in taken if (id_ := _REQUEST_ID.fullmatch(one)) and id_[1] == day]
    return f"RQ-{day}-{max(found, default=0) + 1:03}"


class Request(Document, frozen=True, kw_only=True):
    title: Line
    body: Annotated[str, Meta(max_length=50_000)] = ""
    acceptance_criteria: Annotated[tuple[AcceptanceCriterion, ...], Meta(max_length=100)] = ()
    constraints: Lines = ()
    test_instructions: TestInstructions
    allowed_paths: Paths = ()
    forbidden_paths: Paths = ()


class ReadRequest(NamedTuple):
    raw: dict[str, object]
    """The fields of a Request, as far as they could be read."""
    problems: tuple[Problem, ...]


def looks_like_request(text: str) -> bool:
    return any(line.startswith("# ") for line in text.splitlines()[:50])


def read_request(text: str) -> ReadRequest:
    title, sections = _sections(without_comments(text))
    criteria = _assign_ids(list(_criteria(sections["criteria"])))
    raw: dict[str, object] = {
        "title": title,
        "body": "\n".join(sections["body"]).strip(),
        "acceptance_criteria": criteria,
        "constraints": list(_items(sections["constraints"])),
        "test_instructions": _tests(sections["tests"]),
        "allowed_paths": [item.strip("`") for item in _items(sections["allowed"])],
        "forbidden_paths": [item.strip("`") for item in _items(sections["forbidden"])],
    }
    problems = list(_as_written(schema_problems(raw, Request)))
    problems += check_unique_ids([one["id"] for one in criteria], "$.acceptance_criteria")
    if len(criteria) < FEWEST_CRITERIA:
        # No failure: planning drafts the rest, and a person confirms them.
        message = Text("1 acceptance criterion; a plan needs {least}, so planning will suggest more",
        "{count} acceptance criteria; a plan needs {least}, so planning will suggest more",
                       count=len(criteria), least=FEWEST_CRITERIA)  # fmt: skip
        problems.append(Problem(ReasonCode.AC_TOO_FEW, Level.WARN, "$.acceptance_criteria", message))
    return ReadRequest(raw, tuple(problems))


def without_comments(text: str) -> str:
    """Without what the template explains."""
    return re.sub(r"<!--.*?-->[ \t]*\n?", "", text, flags=re.DOTALL)


def _as_written(found: Iterable[Problem]) -> Iterator[Problem]:
    """In the words of a person who writes a request, and knows no fields."""
    said = set()
    for one in found:
        if one.path == "$.title":
            yield one._replace(message=Text("it has no title: begin with a line such as # Sort by date"))
        elif clause := re.fullmatch(r"(\$\.acceptance_criteria\[\d+\])\.(given|when|then)", one.path):
            if clause[1] not in said:
                message = Text("write a criterion as Given …, When …, Then …")
                yield one._replace(path=clause[1], message=message)
            said.add(clause[1])
        else:
            yield one


def _assign_ids(criteria: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Those without an id get the next free one."""
    used = {one["id"] for one in criteria if "id" in one}
    free = (id_ for number in count(1) if (id_ := f"AC-{number:02}") not in used)
    return [one if "id" in one else {"id": next(free), **one} for one in criteria]


def _sections(text: str) -> tuple[str, dict[str, list[str]]]:
    """The title, and the lines of each section; a line in a code block is no heading."""
    title, current = "", "body"
    found: dict[str, list[str]] = {name: [] for name in ("body", *dict.fromkeys(_SECTIONS.values()))}
    fence = ""
    for line in text.splitlines():
        mark = line.lstrip()[:3]
        if mark in _FENCE:
            fence = "" if mark == fence else fence or mark
        heading = "" if fence else _heading(line)
        if heading.startswith("# ") and not title:
            title = heading[2:].strip()
        elif heading.startswith("## "):
            current = _SECTIONS.get(heading[3:].strip().rstrip(":：").lower(), "body")  # noqa: RUF001
            found["body"] += [line] if current == "body" else []
        elif current == "body" or mark not in _FENCE:
            found[current].append(line)
    return title, found


def _heading(line: str) -> str:
    return line.rstrip().rstrip("#").rstrip() if line.startswith("#") else ""


def _items(lines: Iterable[str]) -> Iterator[str]:
    """One for each line with a bullet or without; an indented line goes on."""
    item = ""
    for line in lines:
        words = line.strip()
        begins = _BULLET.match(words)
        if item and (begins or not words or not line[:1].isspace()):
            yield item
            item = ""
        if words:
            item = f"{item} {words[begins.end() if begins else 0 :]}".strip()
    if item:
        yield item


def _tests(lines: Iterable[str]) -> dict[str, list[str]]:
    """`unit: make test`; a line without a name is a unit test."""
    found: dict[str, list[str]] = {}
    for item in _items(lines):
        named = _KEY.match(item)
        command = item[named.end() if named else 0 :].strip().strip("`")
        if command:
            found.setdefault(named[1].lower() if named else "unit", []).append(command)
    return found


def _criteria(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """In one line each, or given, when and then in a line of their own."""
    for id_, text in _blocks(lines):
        yield ({"id": id_} if id_ else {}) | dict(_clauses(text))


def _blocks(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The id, if it has one, and the lines of each criterion."""
    id_, text = "", ""
    for line in lines:
        words = line.strip().lstrip("#").strip().replace("**", "")
        bullet = _BULLET.match(words)
        words = words[bullet.end() :] if bullet else words
        named = _ID.match(words)
        continues = any(_BEGINS[name].match(words) for name in ("when", "then"))
        begins = _BEGINS["given"].match(words) or (bullet and not line[:1].isspace() and not continues)
        if named or (begins and text):
            if id_ or text:
                yield id_, text
            id_, text = (named[1] if named else ""), ""
        words = words[named.end() :] if named else words
        text = f"{text}\n{words}".strip()
    if id_ or text:
        yield id_, text


def _clauses(text: str) -> Iterator[tuple[str, str]]:
    at, part = 0, ""
    for name in _CLAUSES:
        found = _BEGINS[name].search(text, at) or (at and _ANYWHERE[name].search(text, at)) or None
        if found is None or (name == "given" and found.start() > 0):
            continue
        if part:
            yield part, _join_words(text[at : found.start()])
        at, part = found.end(), name
    if part:
        yield part, _join_words(text[at:])


def _join_words(text: str) -> str:
    return " ".join(text.split()).strip(" ,、;；")  # noqa: RUF001
