"""Reads an instruction: which kinds of work it asks for, and what it already says."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from ringi.domain.session import Brief
from ringi.llm.playbook.kinds import Said, Trait
from ringi.llm.playbook.quoting import one_line
from ringi.llm.playbook.vocabulary import (
    DATA,
    MIGRATION_NOUNS,
    ON_THE_WAY,
    SAID,
    SIGN_INS,
    SILENT,
    STORED_NAMES,
    TRAITS,
    WHICH_DATA,
    Term,
    terms,
)
from ringi.llm.playbook.wanted import Wanted, first_sentence, wanted, without_politeness

_MOST_READ: Final = 4_000
"""What follows is a pasted log or file."""
_MOST_TRAITS: Final = 3
_SECONDARY: Final = 3
_NEW: Final = frozenset([Trait.FEATURE, Trait.UI])
_SENSITIVE: Final = {Trait.SECURITY: 2}
"""In something new, a hint of it is enough."""
_VERB_COUNTS: Final = 2
_NEAR_THE_END: Final = 16
_LEAST: Final = 2
"""A single word that may mean anything is not enough."""
_MOST_PLACES: Final = 3
_LONGEST_PLACE: Final = 60
_LONGEST_LIMIT: Final = 160

_WORD: Final = re.compile(r"[a-z0-9](?:[a-z0-9_.+#-]*[a-z0-9_+#])?")
_URL: Final = re.compile(r"[a-z]{1,10}://[!-~]+", re.IGNORECASE)
_FENCED: Final = re.compile(r"^(?:```|~~~)", re.MULTILINE)
_TOKEN: Final = re.compile(r"[A-Za-z0-9_./()-]+")
_CODE_NAME: Final = re.compile(r"[A-Za-z_][\w.:]*(?:\(\))?\Z", re.ASCII)
_EXTENSION: Final = re.compile(
    r"\.(?:c|cc|cfg|cpp|cs|css|dart|ex|go|h|hpp|html|ini|java|js|json|jsx|kt|lock|lua|md|php|po|proto|py|rb|rs|rst"
    r"|scala|scss|sh|sql|swift|tf|toml|ts|tsx|txt|vue|xml|ya?ml|zig)\Z"
)
_NO_FILES: Final = frozenset(
    ["node.js", "vue.js", "next.js", "react.js", "nuxt.js", "express.js", "three.js"]
)
_FOLDERS: Final = frozenset(
    [
        "app",
        "apps",
        "cmd",
        "docs",
        "internal",
        "lib",
        "libs",
        "packages",
        "pkg",
        "scripts",
        "src",
        "test",
        "tests",
        "tools",
    ]
)
_MEASURE: Final = re.compile(
    r"(?<![\w.])\d{1,9}(?:\.\d{1,6})?\s?(?:ms|s|sec|secs|seconds?|minutes?|min|%|mb|gb|kb|rps|qps|req/s|rows|fps)\b"
    r"|(?<!\d)\d{1,9}(?:\.\d{1,6})?(?:秒|ミリ秒|分|倍|件|%|万|mb|gb|kb|ms)",
    re.IGNORECASE | re.ASCII,
)
_TARGET: Final = re.compile(
    r"\b(?:under|within|below|less than|at most|at least|down to|target|to|by)(?: of| is|:)? (?:about )?\d"
    r"|目標|(?:秒|分|倍|件|%|mb|gb|kb|ms)(?:以内|以下|未満|まで|に(?!一|1|かか)|を切)|半分に",
    re.IGNORECASE | re.ASCII,
)
_VERSION: Final = re.compile(
    r"(?<![\w.])v?\d{1,4}(?:\.\d{1,4}){1,3}(?![\w.])|\b(?:to|version) v?\d{1,4}\b|\d系",
    re.ASCII,
)
_ERROR_NAME: Final = re.compile(r"\b[A-Z][A-Za-z]{2,40}(?:Error|Exception)\b", re.ASCII)
_LONG_OPTION: Final = re.compile(r"(?<![\w-])--[a-z]", re.ASCII)
_CLAUSE_END: Final = re.compile(r", | so that | because | and |、| without | but ")
_PARTICLES: Final = ("で", "に", "は", "を", "の", "へ", "も", "と")
"""After one of these, the verb is still to come."""
_RAISING: Final = terms("update|move to|switch to|更新|上げ|アップデート")
_TAKING: Final = terms("takes|take|under|within|load*|respond*|以内|以下|かか")
_ADDING: Final = terms("add|adds|adding|implement|build|create|追加|増や|実装")
_MAJORS: Final = re.compile(
    r"\bv?(\d{1,3})(?:\.\d{1,4}){0,3}(?: to |-> ?| ?→ ?|から)[^\d\n]{0,20}(\d{1,3})", re.ASCII
)
_EXTENDING: Final = re.compile(
    r"^extend |^(?:make|let) .{1,60}(?: support | work with | handle |as well)|^support .{1,60} in the "
    r"|を.{1,40}に(?:も)?対応|を拡張",
    re.IGNORECASE,
)
_NEW_PART: Final = re.compile(r" (?:support|work with|handle) (?:both )?([^…]{3,60})$")
_TRANSLATING: Final = re.compile(
    r"^(?:translate|locali[sz]e) |(?:翻訳|日本語化|英語化|多言語化)(?:する|して|したい|をお願い|$)",
    re.IGNORECASE,
)
_SETTING_UP: Final = terms("set up|setup|introduce|create|start using|導入|構築|立ち上げ|用意|整備")
_AUTOMATIONS: Final = frozenset(
    [".github", ".gitlab-ci.yml", ".circleci", "Jenkinsfile", ".travis.yml", "azure-pipelines.yml"]
)
_DERIVED: Final = frozenset([Said.KEPT, Said.TARGET, Said.EXTENSION, Said.FRESH, Said.CHECKS, Said.OUTPUT])
"""Nothing more is said by them than by what they follow from."""
_FILE_NAMES: Final = frozenset(["readme", "changelog", "makefile", "dockerfile", "contributing.md"])


class Reading(NamedTuple):
    traits: tuple[Trait, ...]
    """The main one first."""
    said: frozenset[Said]
    wanted: Wanted
    places: tuple[str, ...]
    """Files and functions that it names."""
    limit: str
    """The sentence that keeps something out."""
    far: bool
    """Over several major versions at once."""

    @property
    def main(self) -> Trait:
        return self.traits[0]

    @property
    def details(self) -> int:
        """How much is said."""
        return len(self.said - _DERIVED)


class Searched(NamedTuple):
    """A text made ready for terms."""

    latin: str
    """Its Latin words in small letters, one space around each."""
    raw: str

    def has(self, term: Term) -> bool:
        return term.pattern in (self.latin if term.latin else self.raw)

    def has_any(self, terms: Iterable[Term]) -> bool:
        return any(self.has(term) for term in terms)


def searched(text: str, *, quiet: bool = True) -> Searched:
    low = text.lower()
    words = _WORD.findall(low.replace("'", "").replace("\u2019", ""))
    found = Searched(f" {' '.join(words)} ", low)
    return _quiet(found) if quiet else found


def _quiet(text: Searched) -> Searched:
    latin, raw = text
    for phrase in SILENT:
        if phrase.isascii():
            latin = latin.replace(phrase, "  ")
        else:
            raw = raw.replace(phrase, " ")
    return Searched(latin, raw)


def read(brief: Brief) -> Reading:
    text = brief.instruction[:_MOST_READ]
    bare = _URL.sub(" ", text)
    places = tuple(_places(bare, frozenset(brief.project.entries)))
    prose = "".join(_FENCED.split(bare)[::2])
    loud = searched(prose, quiet=False)
    said = _said(bare, loud, places)
    traits = _traits(prose, _quiet(loud), said)
    sentence = first_sentence(prose)
    said |= set(_about(without_politeness(sentence), traits[0], brief))
    if Said.OUTPUT in said:
        said -= {Said.ADDITIVE}
    about = wanted(text, brief.language)
    if Said.EXTENSION in said:
        # What is there already is not what is wanted.
        about = about._replace(thing=_new_part(about))
    return Reading(
        traits=traits,
        said=said,
        wanted=about,
        places=places,
        limit=_limit(prose) if Said.LIMIT in said else "",
        far=_is_far(prose),
    )


def _about(sentence: str, main: Trait, brief: Brief) -> Iterator[Said]:
    text = searched(sentence)
    if main is Trait.MIGRATION and text.has_any(_ADDING):
        yield Said.ADDITIVE
    if main is Trait.FEATURE and _EXTENDING.search(sentence):
        yield Said.EXTENSION
    if (
        main is Trait.BUILD
        and text.has_any(_SETTING_UP)
        and not _AUTOMATIONS & {entry.rstrip("/") for entry in brief.project.entries}
    ):
        yield Said.FRESH


def _new_part(about: Wanted) -> str:
    named = _NEW_PART.search(about.subject)
    if named:
        return named[1]
    return about.subject if "を" in about.subject else about.matter or about.subject


def _is_far(prose: str) -> bool:
    found = _MAJORS.search(prose)
    return found is not None and int(found[2]) - int(found[1]) > 1


def things_said(text: str) -> frozenset[Said]:
    """In a text that is no instruction."""
    bare = _URL.sub(" ", text[:_MOST_READ])
    return _said(bare, searched(bare, quiet=False), tuple(_places(bare, frozenset())))


def _said(bare: str, loud: Searched, places: tuple[str, ...]) -> frozenset[Said]:
    text = _quiet(loud)
    found = {said for said, terms in SAID.items() if text.has_any(terms)}
    # What is silent otherwise speaks of dependencies all the same.
    found |= {Said.DEPENDENCIES} if loud.has_any(SAID[Said.DEPENDENCIES]) else set()
    found |= {Said.PLACE} if places else set()
    found |= {Said.MEASURE} if _MEASURE.search(bare) else set()
    found |= {Said.TARGET} if Said.MEASURE in found and _TARGET.search(bare) else set()
    found |= {Said.VERSION} if _VERSION.search(bare) else set()
    found |= {Said.ERROR} if _ERROR_NAME.search(bare) else set()
    found |= {Said.SWITCH} if _LONG_OPTION.search(bare) else set()
    return frozenset(found)


def _limit(prose: str) -> str:
    for sentence in re.split(r"[\n。.;!?](?=\s|$|[^\x00-\x7f])", prose):
        if searched(sentence).has_any(SAID[Said.LIMIT]):
            return one_line(sentence, _LONGEST_LIMIT)
    return ""


# --- kinds of work ---------------------------------------------------------------------------------


def _traits(prose: str, text: Searched, said: frozenset[Said]) -> tuple[Trait, ...]:
    everything = _scores(text, said)
    if not everything:
        return (Trait.GENERAL,)
    sentence = without_politeness(first_sentence(prose))
    clauses = [sentence[: end.start()] for end in _CLAUSE_END.finditer(sentence)]
    heads = [*(clause for clause in clauses if not clause.endswith(_PARTICLES)), sentence]
    main = next((found for head in heads if (found := _main(head, said))), None) or _best(everything)
    if main is None and _EXTENDING.search(sentence):
        main = Trait.FEATURE
    if main is None or (main in _NEW and _TRANSLATING.search(sentence)):
        return (Trait.GENERAL,)
    sensitive = _SENSITIVE if main in _NEW else {}
    others = [
        trait
        for trait, score in everything.items()
        if score >= sensitive.get(trait, _SECONDARY) and trait is not main
    ]
    others.sort(key=lambda trait: -everything[trait])
    return (main, *others[: _MOST_TRAITS - 1])


def _main(head: str, said: frozenset[Said]) -> Trait | None:
    text = searched(head)
    scores = _scores(text, said)
    if not scores:
        return None
    # The verb counts more: it comes last in Japanese and first in English.
    last = {trait: _last(text.raw, TRAITS[trait]) for trait in scores}
    end = max(last.values())
    if end >= 0:
        near = len(text.raw) - end <= _NEAR_THE_END
        verbs = [trait for trait, at in last.items() if at == end and near]
    else:
        verbs = [trait for trait in scores if any(text.latin.startswith(t.pattern) for t in TRAITS[trait])]
    for trait in verbs:
        scores[trait] += _VERB_COUNTS
    return _best(scores)


def _last(raw: str, terms: Iterable[Term]) -> int:
    return max((raw.rfind(term.pattern) for term in terms if not term.latin), default=-1)


def _best(scores: Mapping[Trait, int]) -> Trait | None:
    best = max(scores, key=lambda trait: (scores[trait], -list(Trait).index(trait)))
    return best if scores[best] >= _LEAST else None


def _scores(text: Searched, said: frozenset[Said]) -> dict[Trait, int]:
    found = {trait: sum(term.weight for term in terms if text.has(term)) for trait, terms in TRAITS.items()}
    if Said.VERSION in said and text.has_any(_RAISING):
        found[Trait.DEPENDENCY] += 2
    if Said.MEASURE in said and text.has_any(_TAKING):
        found[Trait.PERFORMANCE] += 4 if Said.TARGET in said else 3
    if text.has_any(SIGN_INS) and text.has_any(_ADDING):
        # Something to build, no hole to close.
        found[Trait.SECURITY] = _SENSITIVE[Trait.SECURITY]
    if Said.ERROR in said:
        found[Trait.BUG] += 2
    if found[Trait.MIGRATION] and not text.has_any(MIGRATION_NOUNS):
        found[Trait.REFACTOR] += found.pop(Trait.MIGRATION)
    # Of two kinds that share their words, one is meant.
    found.pop(Trait.REMOVAL if text.has_any(DATA) and text.has_any(WHICH_DATA) else Trait.PURGE)
    if found[Trait.ENCRYPTION] and text.has_any(ON_THE_WAY):
        found[Trait.SECURITY] += found.pop(Trait.ENCRYPTION)
    if found[Trait.RENAME] and text.has_any(STORED_NAMES):
        found[Trait.MIGRATION] = found.get(Trait.MIGRATION, 0) + found.pop(Trait.RENAME)
    return {trait: score for trait, score in found.items() if score}


# --- places ----------------------------------------------------------------------------------------


def _places(text: str, entries: frozenset[str]) -> list[str]:
    found: dict[str, None] = {}
    spans = {span for span in text.split("`")[1::2] if _CODE_NAME.match(span)}
    for token in dict.fromkeys(_TOKEN.findall(text)):
        name = token.strip("().-/") + ("()" if token.endswith("()") else "")
        if len(token) <= _LONGEST_PLACE and (token in spans or _is_place(token.rstrip(".)-"), entries)):
            found.setdefault(name)
            if len(found) == _MOST_PLACES:
                break
    return list(found)


def _is_place(token: str, entries: frozenset[str]) -> bool:
    if token.lower() in _NO_FILES:
        return False
    if token.lower() in _FILE_NAMES:
        return True
    if _EXTENSION.search(token) and not token.startswith("."):
        return True
    if token.endswith("(") or (token.rstrip("/") in entries and not token.isalpha()):
        return True
    first, slash, rest = token.partition("/")
    return bool(slash and rest) and (
        first in _FOLDERS or first in entries or (rest.count("/") > 0 and "." in rest)
    )
