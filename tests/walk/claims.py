"""What counts as a claim of success: words or values after which a person would take the work for done.

A plain fact is none: "pytest: exit code 0", "2 files written", "1 of 1 steps done". A claim says that
something asked for is there, or that tests passed although they cannot have looked.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_WORDS = (
    r"\b[1-9]\d* of \d+ met\b",
    r"[—-] met\b",
    r"\b(?:is|are) (?:met|proven|fulfilled|satisfied|achieved)\b",
    r"\b[Gg]oal (?:achieved|reached)\b",
    r"\b(?:criterion|criteria)\b[^\n]{0,40}\b(?:passed|proven|verified|satisfied)\b",
    r"件中 [1-9]\d* 件を達成",
    r"— 達成",
    r"(?<!未)達成(?:しました|済み)",
)
_DENIED = re.compile(r"\b(?:not|nothing|none|0 of \d+|no \w+) [^\n]{0,20}$|未$")
_TRUE_KEYS = frozenset(["met", "achieved", "proven", "satisfied", "fulfilled"])
_SUCCESS = frozenset(["met", "achieved", "proven", "verified", "satisfied", "fulfilled"])
_NAMES = frozenset(["status", "state", "verdict", "outcome", "result"])
_TESTS_PASSED = re.compile(
    r"tests?:[^\n]*\b(?:passed\b|exit code 0)|✓[^\n]*\b(?:tests?|checks?) passed\b"
    r"|テスト:[^\n]*(?:成功|合格|通|終了コード 0)"
)
_WARNED = re.compile(
    r"no tests? (?:ran|were run|are left)|fewer tests|tests? (?:was|were) (?:removed|deleted|emptied)"
    r"|removes? (?:all |\d+ )?tests|テストが(?:減|削除|実行されな)"
)


def claims_of_success(seen: str, *documents: Any, tests_are_gone: bool = False) -> list[str]:
    """Each claim, as a person or a script would read it.

    `tests_are_gone`: nothing was left that could fail, so "tests: passed" misleads unless it is said, and
    so does a bare exit code.
    """
    found = [*_in_words(seen)]
    for document in documents:
        found += _in_values(document, "")
    if tests_are_gone and not _WARNED.search(seen):
        found += [line[0].strip() for line in _TESTS_PASSED.finditer(seen) if "before" not in line[0]]
    return list(dict.fromkeys(found))


def _in_words(seen: str) -> Iterator[str]:
    for pattern in _WORDS:
        for match in re.finditer(pattern, seen):
            line = seen[seen.rfind("\n", 0, match.start()) + 1 : match.start()]
            if not _DENIED.search(line):
                yield seen[match.start() - len(line) : match.end()].strip()[-100:]


def _in_values(document: Any, name: str) -> Iterator[str]:
    if isinstance(document, Mapping):
        for key, value in document.items():
            counted = value is True or (isinstance(value, int) and value > 0)
            if (key in _TRUE_KEYS and counted) or (key in _NAMES and str(value) in _SUCCESS):
                yield f"{name}{key}: {value}"
            yield from _in_values(value, f"{name}{key}.")
    elif isinstance(document, list):
        for value in document:
            yield from _in_values(value, name)
