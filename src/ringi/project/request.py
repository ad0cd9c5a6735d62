"""What a request says: which words, with which weight, and which files it names."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from ringi.project.words import count_terms, terms_of, words_in

MOST: Final = 64 * 1024
"""Characters of a request that count: its beginning and its end, where an error is."""
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
# What a reporter pastes about the machine says nothing about the code: versions, plugins, the platform.
_NOISE: Final = re.compile(
    r"[ \t]*(?:[\w.-]+[ \t]+v?\d+(?:\.\d+)+\S*(?:[ \t]+\S+)?|[\w.-]+==\S+"
    r"|(?:plugins|platform|rootdir|cachedir|Python version)\b.*)[ \t]*"
)
_FACT: Final = re.compile(
    r"[ \t]*(?:[-*+][ \t]+)?(?:\*\*)?[\w.() /-]{1,30}(?:\*\*)?[ \t]*(?::|==?|\t|  )[ \t]*"
    r"\S{0,60}(?:[ \t]\S{1,20})?(?<![:(,])[ \t]*"
)
_FACTS: Final = 4
"""So many short lines `name: value` in a row describe a machine."""
_HEADING: Final = re.compile(r"\s*(?:#{1,6}\s|\*\*[^*]+\*\*:?\s*$|<summary>)")
_MACHINE: Final = frozenset(["environment", "system", "version", "versions", "platform", "os", "installed"])
_MACHINE_TOO: Final = frozenset([
    "your", "my", "and", "the", "of", "info", "information", "details", "python", "package", "packages",
    "software", "operating", "output", "pip", "list", "additional", "dependencies", "relevant", "summary",
    "strong", "configuration",
])  # fmt: skip
_MOST_OF_A_HEADING: Final = 60
_DOCS: Final = re.compile(
    r"\b(?:docs?|documentation|read ?me|change ?log|tutorial|guide|typos?)\b|ドキュメント|文書|説明書",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"`([^`\n]{2,60})`")
_QUOTED_COUNTS: Final = 2


class ContextRequest(NamedTuple):
    text: str
    """Without what says nothing."""
    terms: Mapping[str, int]
    """How often each term occurs; what is in backticks counts more."""
    words: frozenset[str]
    """As they are written."""
    spelled: Mapping[str, str]
    """For each term the shortest word with it."""
    is_about_docs: bool


def read_request(text: str) -> ContextRequest:
    if len(text) > MOST:
        text = f"{text[: MOST // 2]}\n{text[-MOST // 2 :]}"
    text = _COMMENT.sub("", text.replace("\0", " ").replace("\r", "\n"))
    text = "\n".join(_about_the_code(without_machine(text.split("\n"))))
    terms = Counter(count_terms(text))
    for quoted in _QUOTED.findall(text):
        for term in set(count_terms(quoted)):
            terms[term] += _QUOTED_COUNTS
    words = frozenset(words_in(text))
    by_length = sorted(words, key=lambda word: (-len(word), word))
    spelled = {term: word for word in by_length for term in terms_of(word)}
    about_docs = bool(_DOCS.search(text.strip().partition("\n")[0]))
    return ContextRequest(text, terms, words, spelled, about_docs)


def without_machine(lines: Iterable[str]) -> Iterator[str]:
    """Without the sections about the reporter's machine."""
    skipping = False
    for line in lines:
        if _HEADING.match(line):
            skipping = _is_machine(line)
        if not skipping:
            yield line


def _is_machine(heading: str) -> bool:
    """As in “System information”; the name of a program may come before: “Pylint version”."""
    words = re.findall(r"[a-z]+", heading.lower()) if len(heading) <= _MOST_OF_A_HEADING else []
    if len(words) > 1 and words[-1] in {"version", "versions"}:
        words = words[1:]
    return bool(_MACHINE.intersection(words)) and not set(words) - _MACHINE - _MACHINE_TOO


def _about_the_code(lines: Iterable[str]) -> Iterator[str]:
    """Without lists of facts about the reporter's machine."""
    facts: list[str] = []
    for line in lines:
        if _NOISE.fullmatch(line) or not line.strip():
            continue
        if _FACT.fullmatch(line):
            facts.append(line)
            continue
        if len(facts) < _FACTS:
            yield from facts
        facts.clear()
        yield line
    if len(facts) < _FACTS:
        yield from facts


_FRAME: Final = re.compile(
    r"""File\ "(?P<python>[^"\n]{1,500})",\ line\ \d+
    |^[ \t>E|]*(?P<pytest>[\w./\\+-]{1,300}\.\w{1,5}):\d+:
    |\bat\ .{0,200}?\(?(?P<node>[\w./\\@+-]{1,300}\.\w{1,5}):\d+(?::\d+)?\)?""",
    re.VERBOSE | re.MULTILINE,
)
_PATH: Final = re.compile(r"[\w@+.~-]+(?:[/\\][\w@+.~-]+)*")
_MODULE: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)+")
_PLAIN: Final = re.compile(r"[\w@+.~/-]+")
_MOST_ALIKE: Final = 3


class Naming(IntEnum):
    """How a request names a file, weakest first."""

    TRACEBACK = 1
    PART = 2
    """By its module, or by an end of its path that others share."""
    PATH = 3
    """By its path, or by an end of it that no other file has."""


class Names:
    """The files of a project, to look names up."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = frozenset(paths)
        self._by_name: dict[str, list[str]] = {}
        self._by_stem: dict[str, list[str]] = {}
        for path in sorted(self._paths):
            folder, _, name = path.rpartition("/")
            self._by_name.setdefault(name, []).append(path)
            stem = name.partition(".")[0]
            self._by_stem.setdefault(folder.rpartition("/")[2] if stem == "__init__" else stem, []).append(
                path
            )

    def find_named(self, text: str) -> dict[str, Naming]:
        found: dict[str, Naming] = {}
        frames = [match[match.lastgroup or 0] for match in _FRAME.finditer(text)]
        for frame in frames:
            self._add(found, ((path, Naming.TRACEBACK) for path, _ in self._ending(frame)))
        prose = _FRAME.sub(" ", text)
        for token in set(_PATH.findall(prose)):
            self._add(found, self._ending(token))
        for token in set(_MODULE.findall(prose)):
            self._add(found, ((path, Naming.PART) for path in self._module(token)))
        # A name with a space or a bracket in it is no token.
        odd = (path for path in self._paths if not _PLAIN.fullmatch(path) and path in prose)
        self._add(found, ((path, Naming.PATH) for path in odd))
        return found

    @staticmethod
    def _add(found: dict[str, Naming], some: Iterable[tuple[str, Naming]]) -> None:
        for path, naming in some:
            found[path] = max(naming, found.get(path, naming))

    def _ending(self, token: str) -> Iterator[tuple[str, Naming]]:
        """The files whose path ends as the token does: with its folder at least, if it has one."""
        parts = token.replace("\\", "/").rstrip(".").removeprefix("./").split("/")
        alike = self._by_name.get(parts[-1], ())
        if not alike or (len(parts) == 1 and not _is_file_name(parts[0])):
            return
        depths = {path: _common_end(parts, path.split("/")) for path in alike}
        best = max(depths.values())
        if best < min(2, len(parts)):
            return
        hits = [path for path, depth in depths.items() if depth == best]
        whole = "/".join(parts)
        exact = [path for path in alike if path == whole or ("/" in path and whole.endswith(f"/{path}"))]
        if exact or (len(hits) == 1 and best == len(parts)):
            yield from ((path, Naming.PATH) for path in exact or hits)
        if len(hits) <= _MOST_ALIKE:
            yield from ((path, Naming.PART) for path in hits)

    def _module(self, token: str) -> Iterator[str]:
        """`package.module`, and what follows it: a class, a function."""
        parts = token.split(".")
        for count in range(len(parts), 1, -1):
            end = "/".join(parts[:count])
            hits = [path for path in self._by_stem.get(parts[count - 1], ()) if _is_module(path, end)]
            if hits:
                yield from hits[:_MOST_ALIKE]
                return


def _is_file_name(name: str) -> bool:
    """A word alone is a file's name if it has a suffix or is written in capitals: setup.cfg, Makefile."""
    return "." in name.strip(".") or name[:1].isupper()


def _common_end(one: list[str], other: list[str]) -> int:
    count = 0
    for left, right in zip(reversed(one), reversed(other), strict=False):
        if left != right:
            break
        count += 1
    return count


def _is_module(path: str, end: str) -> bool:
    module = path.rpartition(".")[0].removesuffix("/__init__")
    return module == end or module.endswith(f"/{end}")
