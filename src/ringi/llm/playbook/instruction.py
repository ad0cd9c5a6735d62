"""Parses an instruction: which kinds of change it asks for, what it already says, and what it is about."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final, NamedTuple

from ringi.domain.session import Brief
from ringi.llm.playbook.book import Kind, Said, chapters, vocabulary
from ringi.llm.playbook.quote import one_line
from ringi.llm.playbook.words import Searched, searched, searched_whole, term

_MOST_READ: Final = 4_000
"""What follows is a pasted log or file."""
_MOST_KINDS: Final = 3
_SECONDARY: Final = 3
_SENSITIVE: Final = {Kind.SECURITY: 2}
"""For something new, a hint is enough."""
_VERB_COUNTS: Final = 2
_NEAR_THE_END: Final = 16
_LEAST: Final = 2
"""A single ambiguous word is not enough."""
_FIRST_MEANT: Final = (
    Kind.MIGRATION, Kind.PERFORMANCE, Kind.DOCS, Kind.TESTS, Kind.RELEASE, Kind.DEPENDENCY, Kind.BUILD,
    Kind.ENCRYPTION, Kind.SECURITY, Kind.PURGE, Kind.REMOVAL, Kind.RENAME, Kind.REFACTOR, Kind.BUG, Kind.UI,
    Kind.FEATURE,
)  # fmt: skip
"""If two fit equally well as the main kind, the earlier one wins."""
_BESIDE: Final = (
    Kind.FEATURE, Kind.BUG, Kind.REFACTOR, Kind.RENAME, Kind.PERFORMANCE, Kind.TESTS, Kind.DOCS,
    Kind.DEPENDENCY, Kind.RELEASE, Kind.BUILD, Kind.PURGE, Kind.REMOVAL, Kind.ENCRYPTION, Kind.SECURITY,
    Kind.MIGRATION, Kind.UI,
)  # fmt: skip
"""If two fit equally well besides the main kind, the earlier one comes first."""
_LONGEST_LIMIT: Final = 160

_URL: Final = re.compile(r"[a-z]{1,10}://[!-~]+", re.IGNORECASE)
_FENCED: Final = re.compile(r"^(?:```|~~~)", re.MULTILINE)
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
_AUTOMATIONS: Final = frozenset(
    [".github", ".gitlab-ci.yml", ".circleci", "Jenkinsfile", ".travis.yml", "azure-pipelines.yml"]
)
_DERIVED: Final = frozenset([Said.KEPT, Said.TARGET, Said.EXTENSION, Said.FRESH, Said.CHECKS, Said.OUTPUT])
"""Implied by other things, so they add no detail."""
_MOST_PLACES: Final = 3
_LONGEST_PLACE: Final = 60
_TOKEN: Final = re.compile(r"[A-Za-z0-9_./()-]+")
_CODE_NAME: Final = re.compile(r"[A-Za-z_][\w.:]*(?:\(\))?\Z", re.ASCII)
_EXTENSION: Final = re.compile(
    r"\.(?:c|cc|cfg|cpp|cs|css|dart|ex|go|h|hpp|html|ini|java|js|json|jsx|kt|lock|lua|md|php|po|proto|py|rb|rs|rst"
    r"|scala|scss|sh|sql|swift|tf|toml|ts|tsx|txt|vue|xml|ya?ml|zig)\Z"
)
_NOT_FILES: Final = frozenset(
    ["node.js", "vue.js", "next.js", "react.js", "nuxt.js", "express.js", "three.js"]
)
_FILE_NAMES: Final = frozenset(["readme", "changelog", "makefile", "dockerfile", "contributing.md"])
_FOLDERS: Final = frozenset(
    [
        "app", "apps", "cmd", "docs", "internal", "lib", "libs", "packages", "pkg", "scripts", "src", "test",
        "tests", "tools",
    ]
)  # fmt: skip


class Gist(NamedTuple):
    sentence: str
    """The first sentence, or as much of it as fits; empty if there are no words."""
    matter: str
    """The sentence without its verb; empty if nothing is left."""
    thing: str
    """The verb's object."""


class Instruction(NamedTuple):
    """What an instruction asks for and says."""

    kinds: tuple[Kind, ...]
    """The main one first."""
    said: frozenset[Said]
    gist: Gist
    places: tuple[str, ...]
    """Files and functions that it names."""
    limit: str
    """The sentence that keeps something out."""
    far: bool
    """An upgrade over several major versions."""

    @property
    def main(self) -> Kind:
        return self.kinds[0]

    @property
    def lenders(self) -> list[Kind]:
        """The other kinds that are worth a question and a decision."""
        return [kind for kind in self.kinds[1:] if chapters()[kind].lends]

    @property
    def details(self) -> int:
        """How much is said."""
        return len(self.said - _DERIVED)


def read(brief: Brief) -> Instruction:
    text = brief.instruction[:_MOST_READ]
    bare = _URL.sub(" ", text)
    named = _places(bare, frozenset(brief.project.entries))
    prose = "".join(_FENCED.split(bare)[::2])
    whole = searched_whole(prose)
    said = _said(bare, whole, named)
    kinds = _kinds(prose, whole.without(vocabulary().silent), said)
    said |= set(_about(_without_politeness(_first_sentence(prose)), kinds[0], brief))
    if Said.OUTPUT in said:
        said -= {Said.ADDITIVE}
    gist = _gist_of(text, brief.language)
    if Said.EXTENSION in said:
        # What exists already is not what the instruction asks for.
        gist = gist._replace(thing=_new_part(gist))
    return Instruction(
        kinds=kinds,
        said=said,
        gist=gist,
        places=named,
        limit=_limit(prose) if Said.LIMIT in said else "",
        far=_is_far(prose),
    )


def things_said(text: str) -> frozenset[Said]:
    """In a text other than the instruction."""
    bare = _URL.sub(" ", text[:_MOST_READ])
    return _said(bare, searched_whole(bare), _places(bare, frozenset()))


def _said(bare: str, whole: Searched, named: tuple[str, ...]) -> frozenset[Said]:
    words = vocabulary()
    text = whole.without(words.silent)
    found = {said for said, listed in words.said.items() if text.has_any(listed)}
    # Filler phrases can still mention dependencies.
    found |= {Said.DEPENDENCIES} if whole.has_any(words.said[Said.DEPENDENCIES]) else set()
    found |= {Said.PLACE} if named else set()
    found |= {Said.MEASURE} if _MEASURE.search(bare) else set()
    found |= {Said.TARGET} if Said.MEASURE in found and _TARGET.search(bare) else set()
    found |= {Said.VERSION} if _VERSION.search(bare) else set()
    found |= {Said.ERROR} if _ERROR_NAME.search(bare) else set()
    found |= {Said.SWITCH} if _LONG_OPTION.search(bare) else set()
    return frozenset(found)


def _about(sentence: str, main: Kind, brief: Brief) -> Iterator[Said]:
    """What follows from the main kind and the first sentence."""
    text = searched(sentence)
    if main is Kind.MIGRATION and text.has_any(vocabulary().adding):
        yield Said.ADDITIVE
    if main is Kind.FEATURE and _EXTENDING.search(sentence):
        yield Said.EXTENSION
    if (
        main is Kind.BUILD
        and text.has_any(vocabulary().setting_up)
        and not _AUTOMATIONS & {entry.rstrip("/") for entry in brief.project.entries}
    ):
        yield Said.FRESH


def _new_part(gist: Gist) -> str:
    named = _NEW_PART.search(gist.sentence)
    if named:
        return named[1]
    return gist.sentence if "を" in gist.sentence else gist.matter or gist.sentence


def _is_far(prose: str) -> bool:
    found = _MAJORS.search(prose)
    return found is not None and int(found[2]) - int(found[1]) > 1


def _limit(prose: str) -> str:
    for sentence in re.split(r"[\n。.;!?](?=\s|$|[^\x00-\x7f])", prose):
        if searched(sentence).has_any(vocabulary().said[Said.LIMIT]):
            return one_line(sentence, _LONGEST_LIMIT)
    return ""


# --- the kinds of change ---------------------------------------------------------------------------


def _kinds(prose: str, text: Searched, said: frozenset[Said]) -> tuple[Kind, ...]:
    scores = _scores(text, said)
    if not scores:
        return (Kind.GENERAL,)
    sentence = _without_politeness(_first_sentence(prose))
    clauses = [sentence[: end.start()] for end in _CLAUSE_END.finditer(sentence)]
    heads = [*(clause for clause in clauses if not clause.endswith(_PARTICLES)), sentence]
    main = next((found for head in heads if (found := _main(head, said))), None) or _best(scores)
    if main is None and _EXTENDING.search(sentence):
        main = Kind.FEATURE
    if main is None or (chapters()[main].new and _TRANSLATING.search(sentence)):
        return (Kind.GENERAL,)
    enough = _SENSITIVE if chapters()[main].new else {}
    others = [kind for kind in scores if scores[kind] >= enough.get(kind, _SECONDARY) and kind is not main]
    others.sort(key=lambda kind: -scores[kind])
    return (main, *others[: _MOST_KINDS - 1])


def _main(head: str, said: frozenset[Said]) -> Kind | None:
    text = searched(head)
    scores = _scores(text, said)
    if not scores:
        return None
    # The verb counts more: it comes last in Japanese and first in English.
    terms = {kind: [term(word) for word in chain(*chapters()[kind].words.values())] for kind in scores}
    last = {
        kind: max((text.raw.rfind(pattern) for pattern, latin in found if not latin), default=-1)
        for kind, found in terms.items()
    }
    end = max(last.values())
    if end >= 0:
        near = len(text.raw) - end <= _NEAR_THE_END
        verbs = [kind for kind, at in last.items() if at == end and near]
    else:
        verbs = [
            kind
            for kind, found in terms.items()
            if any(text.latin.startswith(pattern) for pattern, _ in found)
        ]
    for kind in verbs:
        scores[kind] += _VERB_COUNTS
    return _best(scores)


def _best(scores: Mapping[Kind, int]) -> Kind | None:
    best = max(scores, key=lambda kind: (scores[kind], -_FIRST_MEANT.index(kind)))
    return best if scores[best] >= _LEAST else None


def _scores(text: Searched, said: frozenset[Said]) -> dict[Kind, int]:
    words = vocabulary()
    found = {kind: _weight(text, chapters()[kind].words) for kind in _BESIDE}
    if Said.VERSION in said and text.has_any(words.raising):
        found[Kind.DEPENDENCY] += 2
    if Said.MEASURE in said and text.has_any(words.taking):
        found[Kind.PERFORMANCE] += 4 if Said.TARGET in said else 3
    if text.has_any(words.sign_in) and text.has_any(words.adding):
        # Something to build, not a vulnerability to fix.
        found[Kind.SECURITY] = _SENSITIVE[Kind.SECURITY]
    if Said.ERROR in said:
        found[Kind.BUG] += 2
    if found[Kind.MIGRATION] and not text.has_any(words.migrated):
        found[Kind.REFACTOR] += found.pop(Kind.MIGRATION)
    # Two kinds that share words: keep one.
    found.pop(Kind.REMOVAL if text.has_any(words.data) and text.has_any(words.which_data) else Kind.PURGE)
    if found[Kind.ENCRYPTION] and text.has_any(words.in_transit):
        found[Kind.SECURITY] += found.pop(Kind.ENCRYPTION)
    if found[Kind.RENAME] and text.has_any(words.stored_names):
        found[Kind.MIGRATION] = found.get(Kind.MIGRATION, 0) + found.pop(Kind.RENAME)
    return {kind: score for kind, score in found.items() if score}


def _weight(text: Searched, words: Mapping[int, tuple[str, ...]]) -> int:
    return sum(weight for weight, listed in words.items() for word in listed if text.has(word))


# --- files and functions that a text names -----------------------------------------------------------------


def _places(text: str, entries: frozenset[str]) -> tuple[str, ...]:
    """`entries` are the project's top-level names."""
    found: dict[str, None] = {}
    spans = {span for span in text.split("`")[1::2] if _CODE_NAME.match(span)}
    for token in dict.fromkeys(_TOKEN.findall(text)):
        name = token.strip("().-/") + ("()" if token.endswith("()") else "")
        if len(token) <= _LONGEST_PLACE and (token in spans or _is_place(token.rstrip(".)-"), entries)):
            found.setdefault(name)
            if len(found) == _MOST_PLACES:
                break
    return tuple(found)


def _is_place(token: str, entries: frozenset[str]) -> bool:
    if token.lower() in _NOT_FILES:
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


# --- what it is about, in a few of its own words -----------------------------------------------------------

_LONGEST_GIST: Final = {"en": 70, "ja": 45}
_LEAST_THING: Final = {"en": 4, "ja": 2}
_LONGEST_LINE: Final = 400
_LINE_MARKS: Final = re.compile(r"^[\s#>*+\-]+(?:\[[ xX]\]\s)?|^\d{1,3}[.)]\s+")
_SENTENCE_END: Final = re.compile(r"[。！？!?]|[.;](?=\s|$)")  # noqa: RUF001
_WORDED: Final = re.compile(r"[^\W_]")
_ARTICLE: Final = re.compile(r"^(?:a|an|the|our|some|my|this|that|all)\s+", re.IGNORECASE)
# A particle between two things, not a syllable of a word: no hiragana next to it.
_PARTICLE: Final = re.compile(r"(?<=[^ぁ-ん\s])(?:には|では|から|への|へ|に|で|は)\s*(?=[^ぁ-ん\s])")
_SECOND_PART: Final = re.compile(r"^(?:up|out|rid of)\s+")
_TOPIC: Final = re.compile(r"^(.{2,30}?)(?:が|は)(?=.)")
# What people should be able to do, if it ends in a whole word.
_ABILITY: Final = re.compile(r"^(.{4,40}[^ぁ-ん])(?:でき|出せ)るように")
_WHOLE_WORD: Final = re.compile(r"[^ぁ-ん]{2}\Z")


def _gist_of(instruction: str, language: str) -> Gist:
    first = _first_sentence(instruction)
    most = _LONGEST_GIST[language]
    if not first:
        return Gist("", "", "")
    sentence, matter, thing = _english(first) if first.isascii() or language == "en" else _japanese(first)
    short = one_line(sentence, most)
    telling = one_line(matter, most) if matter.lower() not in vocabulary().vague else ""
    return Gist(short, telling, _named(thing, most, _LEAST_THING[language]) or telling or short)


def _first_sentence(instruction: str) -> str:
    """From the first line with words, without code and Markdown marks."""
    in_code = False
    for line in instruction[: 15 * _LONGEST_LINE].splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
        elif not in_code and _WORDED.search(line):
            bare = one_line(_LINE_MARKS.sub("", line), _LONGEST_LINE)
            end = _SENTENCE_END.search(bare)
            return (bare[: end.start()] if end and end.start() else bare).strip(" .。:：")  # noqa: RUF001
    return ""


def _named(thing: str, most: int, least: int) -> str:
    short = one_line(thing.strip(" `\"'“”「」"), most * 2 // 3)
    usable = (len(short) >= least or short.isupper()) and short.lower() not in vocabulary().vague
    return short if usable and not short.endswith("…") else ""


def _english(sentence: str) -> tuple[str, str, str]:
    sentence = _without_politeness(sentence)
    verb, _, rest = sentence.partition(" ")
    if verb.lower() not in vocabulary().verbs or not rest:
        return sentence, sentence, ""
    rest = _SECOND_PART.sub("", rest)
    matter = _ARTICLE.sub("", rest)
    ends = [at for end in vocabulary().object_ends if (at := f" {matter}".find(end)) >= 0]
    thing = matter[: max(min(ends, default=len(matter) + 1) - 1, 0)]
    # "make X faster": the last word says how.
    return sentence, matter, thing.rpartition(" ")[0] if verb.lower() == "make" else thing


def _without_politeness(sentence: str) -> str:
    before = ""
    while before != sentence:
        before = sentence
        for words in vocabulary().polite:
            if sentence.lower().startswith(words):
                sentence = sentence[len(words) :].lstrip()
    return sentence


def _japanese(sentence: str) -> tuple[str, str, str]:
    sentence = _without_ending(sentence, vocabulary().polite_endings)
    matter = _without_ending(sentence, vocabulary().fault_endings)
    able = _ABILITY.match(sentence)
    if able and "を" in able[1]:
        return sentence, matter, able[1]
    clause = next((clause for clause in sentence.split("、") if "を" in clause), "")
    topic = _TOPIC.match(sentence)
    named = clause.rpartition("を")[0] or (topic[1] if topic else "")
    return sentence, matter, _PARTICLE.split(named)[-1]


def _without_ending(text: str, endings: tuple[str, ...]) -> str:
    """Only if a whole word is left: 直して is one itself."""
    found = next((ending for ending in endings if text.endswith(ending)), "")
    rest = text.removesuffix(found)
    return rest if _WHOLE_WORD.search(rest) else text
