"""Reads a request: which kind of change it asks for, what it already says, and what it names.

The title, or the first sentence, tells the kind. The rest of a long text speaks of many things; it only
tells a fault from a wish.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ringi.project.request import without_machine
from ringi.sessions.playbook.book import Kind, Said, Signs, Words, chapters, vocabulary
from ringi.sessions.playbook.quote import one_line
from ringi.sessions.playbook.words import Searched, split_words

MOST_READ: Final = 6_000
"""What follows is a pasted log or file."""
_LONGEST_TITLE: Final = 400
_LONGEST_QUOTATION: Final = 200
_LONGEST_LABEL: Final = 120
_FEW_WORDS: Final = 4

_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCED: Final = re.compile(r"^[ >]*(?:```|~~~)", re.MULTILINE)
_INDENTED: Final = re.compile(r"^(?: {4}|\t|>>> |In \[\d|\$ ).*$", re.MULTILINE)
_TRACE: Final = re.compile(r"^[ \t]*(?:Traceback \(|File \"|at [\w.$]+\(|\^+[ \t]*$).*$", re.MULTILINE)
_DIFF: Final = re.compile(r"^(?:diff --git|[+-]{3}) \S.*$", re.MULTILINE)
_ERROR: Final = re.compile(r"\b[A-Za-z]{2,40}(?:Error|Exception|Warning)\b|\bpanic(?:ked)?\b", re.ASCII)
_URL: Final = re.compile(r"[a-z]{1,10}://[!-~]+", re.IGNORECASE)
_CODE: Final = re.compile(r"`[^`\n]{1,200}`|\w{1,60}\([^()\n]{0,80}\)\w{0,20}")
# A call in backticks.
_CALL: Final = re.compile(r"`[^`\n]{0,100}\w\([^`\n]{0,100}`")
_FIGURE: Final = re.compile(
    r"(?<![\w.])\d{1,9}(?:\.\d{1,6})?\s?(?:ms|s|sec|secs|seconds?|minutes?|min|%|x|mb|gb|kb|rps|qps|req/s|fps)(?!\w)"
    r"|(?<!\d)\d{1,9}(?:\.\d{1,6})?(?:秒|ミリ秒|分|倍|%|mb|gb|kb|ms)|半分に",
    re.IGNORECASE | re.ASCII,
)
_VERSION: Final = re.compile(
    r"(?<![\w.])v?\d{1,4}(?:\.\d{1,4}){1,3}(?![\w.])"
    r"|\b(?:to|version|below|above|before) v?\d{1,4}\b|[<>=]=?\s?\d|\d系",
    re.ASCII,
)
_NEW_NAME: Final = re.compile(
    r"\S\s+(?:to|into|as|->|=>|→)\s+[`'\"“]?\w|\bfrom\s+\S+\s+to\b|から.+(?:へ|に)|を\s?\S+\s?に"
)
_FILE: Final = re.compile(
    r"[\w-]\.(?:py|pyi|js|jsx|ts|tsx|go|rs|java|kt|rb|php|c|h|cc|cpp|cs|swift|sh|md|rst|txt|toml|ya?ml|json|cfg|ini|html|css|sql)(?!\w)",
    re.ASCII,
)
_ITEM: Final = re.compile(r"^[ \t]*(?:[-*+・]|\d{1,2}[.)])[ \t]+(?:\[ \][ \t]+)?(.+)$")
_MOST_GOALS: Final = 8
_PARTS: Final = re.compile(r"[,;(、]| - ")
_CLAUSE: Final = re.compile(r"[,;.!?。、\n]")

# --- the title ---------------------------------------------------------------------------------------------

_WORDED: Final = re.compile(r"[^\W_]")
_LINE_MARKS: Final = re.compile(r"^[\s#>*+\-=]+(?:\[[ xX]\]\s)?|^\d{1,3}[.)]\s+")
_SENTENCE_END: Final = re.compile(r"[。！？]|[.!?;](?=\s+[A-Z\"'`(]|\s*$)")  # noqa: RUF001
_TAG: Final = re.compile(
    r"^(?:\[([^\]]{1,30})\]|【([^】]{1,20})】|((?:feature |new |bug )?\w{2,15}(?:\([^)]{1,30}\))?!?)\s?:"
    r"|(BUG|DOCS?|ENH|FEAT|FIX|PERF)(?=\s))"
    r"[\s:\-–]*"  # noqa: RUF001
)


class PlaybookInstruction(NamedTuple):
    kind: Kind
    said: frozenset[Said]
    title: str
    """The request in one line, for a quotation."""
    kept: str
    """What the request says must stay as it is, in its own words."""
    expected: str
    """What a longer text says should happen."""
    goals: tuple[str, ...]
    """What it lists as things to do; empty if it asks for one thing."""
    verb: str
    """That it begins with, if it is one of the book's."""
    text: str
    """As far as it is read."""
    plain: str
    """Without code and traces; of a pasted diff, the names of the files."""
    traced: str
    """The lines of traces in it."""
    words: Searched


def read(text: str) -> PlaybookInstruction:
    text = "\n".join(without_machine(text[:MOST_READ].split("\n")))
    prose = _prose(text)
    title, rest = _title(prose)
    words = split_words(prose)
    verb = _verb(_head(split_words(_main(_bare(title)))))
    kind = _kind(title, rest, text)
    said = frozenset(things_said(text)) | frozenset(_about(kind, title, text))
    quotation = one_line(prose if "\n" not in prose else title or prose, _LONGEST_QUOTATION)
    return PlaybookInstruction(
        kind=kind,
        said=said,
        title=quotation,
        kept=_find_what_stays(prose),
        expected=_find_expectation(text),
        goals=() if kind is Kind.BUG else tuple(_goals(prose)),
        verb=verb,
        text=text,
        plain="\n".join([_strip_code(text), *_DIFF.findall(text)]),
        traced="\n".join(found[0] for found in _TRACE.finditer(text)),
        words=words,
    )


def _prose(text: str) -> str:
    """Without comments, code, traces and addresses."""
    return _URL.sub(" ", _strip_code(text)).strip()


def _strip_code(text: str) -> str:
    blocks = _FENCED.split(_COMMENT.sub(" ", text))
    outside = "\n".join(blocks[::2]) or text
    for noise in (_TRACE, _INDENTED):
        outside = noise.sub(" ", outside)
    return outside


def _title(prose: str) -> tuple[str, str]:
    """The first sentence, and what follows it."""
    for at, line in enumerate(lines := prose.splitlines()):
        if _WORDED.search(line):
            bare = one_line(_LINE_MARKS.sub("", line), _LONGEST_TITLE)
            end = _SENTENCE_END.search(bare)
            first = bare[: end.end()] if end and end.start() else bare
            return first.strip(), "\n".join([bare[len(first) :], *lines[at + 1 :]])
    return "", ""


# --- the kind of change ------------------------------------------------------------------------------------

_TAGGED: Final = 10
_NOUN: Final = 6
_MOST_BY_TITLE: Final = 6
_MOST_BESIDE_A_VERB: Final = 4
_MOST_BY_BODY: Final = 2
_LEAST: Final = 1
_BY_ERROR: Final = 2
_BY_OUTCOME: Final = 2
_WEAK: Final = 2
"""A sign of this weight counts in the main clause only."""
_ENDINGS: Final = (("ies", "y"), ("es", ""), ("s", ""))


def _kind(title: str, rest: str, text: str) -> Kind:
    tag, bare = _TAG.match(title), _bare(title)
    verb = _verb(_head(split_words(_main(bare))))
    # A verb that tells nothing by itself, such as “write”, leaves it to the rest.
    return _by_signs(tag, bare, rest, text, verb) or _by_signs(tag, bare, rest, text, "") or Kind.GENERAL


def _by_signs(tag: re.Match[str] | None, bare: str, rest: str, text: str, verb: str) -> Kind | None:
    words, body = _search_prose(bare), _search_prose(rest)
    scores: dict[Kind, int] = {}
    for kind, chapter in chapters().items():
        signs, own = chapter.signs, _weight(verb, chapter.signs)
        tagged = tag is not None and any(
            split_words(part).has_any(signs.tags) for part in tag.groups() if part
        )
        scores[kind] = (
            _TAGGED * tagged
            + own
            + min(_sum(words, signs.title), _MOST_BESIDE_A_VERB if verb and not own else _MOST_BY_TITLE)
            + (0 if verb and not own else min(sum(map(body.has, signs.body)), _MOST_BY_BODY))
        )
    for kind in _by_noun(words, _head(_search_prose(_main(bare))), verb):
        scores[kind] += _NOUN
    if _ERROR.search(bare) or (verb == "" and _ERROR.search(text)):
        scores[Kind.BUG] += _BY_ERROR
    if verb == "" and _shows_code(text) and words.has_any(vocabulary().outcomes):
        scores[Kind.BUG] += _BY_OUTCOME
    best = max(Kind, key=lambda kind: scores[kind])
    return best if scores[best] >= _LEAST else None


def _bare(title: str) -> str:
    """Without a tag and politeness."""
    tag = _TAG.match(title)
    return _polite(title[tag.end() :] if tag else title)


def _main(bare: str) -> str:
    return _PARTS.split(_CODE.sub(" it ", bare), maxsplit=1)[0]


def _search_prose(text: str) -> Searched:
    """Without code, and without phrases whose words mean something else alone."""
    words = split_words(_CODE.sub(" ", text))
    return words.without(vocabulary().silent)


def _polite(title: str) -> str:
    """Without politeness."""
    before = ""
    while before != title:
        before = title
        for words in vocabulary().polite:
            if title.lower().startswith(words):
                title = title[len(words) :].lstrip()
    return title


def _verb(words: Searched) -> str:
    """The first word in the form that the lists have, if it is a verb of theirs."""
    first, second = (*words.latin.split()[:2], "", "")[:2]
    head = {second, *(words.latin.split() if first in vocabulary().also_nouns else ())}
    if second in vocabulary().behind_nouns or head & vocabulary().predicates:
        return ""
    forms = [first, *(first.removesuffix(end) + more for end, more in _ENDINGS if first.endswith(end))]
    return next((form for form in forms if form in _verbs()), "")


def _verbs() -> frozenset[str]:
    known = (chapter.signs.verbs.values() for chapter in chapters().values())
    return vocabulary().authoring.union(*(words for lists in known for words in lists))


def _weight(verb: str, signs: Signs) -> int:
    return max((weight for weight, verbs in signs.verbs.items() if verb in verbs), default=0)


def _sum(words: Searched, listed: Mapping[int, Words]) -> int:
    places = {weight: _head(words) if weight <= _WEAK else words for weight in listed}
    return sum(weight for weight, terms in listed.items() for word in terms if places[weight].has(word))


def _head(words: Searched) -> Searched:
    """The main clause."""
    ends = [at for clause in vocabulary().clause if (at := words.latin.find(clause)) > 0]
    return Searched(words.latin[: min(ends, default=len(words.latin)) + 1], words.raw)


def _by_noun(words: Searched, head: Searched, verb: str) -> Iterator[Kind]:
    """The kind of what is written: the first noun behind a verb like “add”; in Japanese any."""
    found: dict[Kind, int] = {}
    written = verb in vocabulary().authoring
    for kind, chapter in chapters().items():
        if vocabulary().objects.get(verb, kind) != kind:
            continue
        for noun in chapter.signs.nouns:
            at = (head.find(noun) if written else -1) if noun.isascii() else words.find(noun)
            if at >= 0:
                found[kind] = min(at, found.get(kind, at))
    if found:
        yield min(found, key=lambda kind: found[kind])


# --- what it says ------------------------------------------------------------------------------------------


def things_said(text: str) -> Iterator[Said]:
    """By its words alone."""
    text = text[:MOST_READ]
    prose = split_words(_prose(text))
    for said, words in vocabulary().said.items():
        if said is not Said.NEW and prose.has_any(words):
            yield said
    called = _CALL.search(text) and prose.has_any(vocabulary().said[Said.EXPECTED])
    if _shows_code(text) or _ERROR.search(text) or _DIFF.search(text) or called:
        yield Said.CASE
    if _FIGURE.search(text):
        yield Said.FIGURE
    if _VERSION.search(text):
        yield Said.VERSION
    if _FILE.search(text):
        yield Said.PLACE


def _shows_code(text: str) -> bool:
    return len(_FENCED.findall(text)) > 1 or _TRACE.search(text) is not None


def _about(kind: Kind, title: str, text: str) -> Iterator[Said]:
    """What depends on the kind of change and the title."""
    if kind is Kind.RENAME and _NEW_NAME.search(title):
        yield Said.NEW_NAME
    words = split_words(title)
    shown = _shows_code(text)
    if kind is Kind.BUG and (
        words.has_any(vocabulary().negations) or (shown and words.has_any(vocabulary().failures))
    ):
        yield Said.EXPECTED
    extending = words.has_any(vocabulary().extending)
    if words.has_any(vocabulary().said[Said.NEW]) and not extending:
        yield Said.NEW


def _goals(prose: str) -> list[str]:
    """The items of the first list in which each begins with a verb, unless it tells steps or alternatives."""
    for intro, items in _lists(prose):
        if len(items) > 1 and _asks(intro, items):
            return items[:_MOST_GOALS]
    return []


def _lists(prose: str) -> Iterator[tuple[str, list[str]]]:
    """Each with the line before it; a line that is indented belongs to the item before."""
    intro, items = "", list[str]()
    for line in prose.splitlines():
        if item := _ITEM.match(line):
            items.append(one_line(item[1], _LONGEST_QUOTATION))
        elif line.strip() and not (items and line.startswith((" ", "\t"))):
            yield intro, items
            intro, items = line, []
    yield intro, items


def _asks(intro: str, items: Sequence[str]) -> bool:
    words = vocabulary()
    if split_words(intro).has_any((*words.no_goals, *words.said[Said.CASE], *words.expected)):
        return False
    return all(_verb(_head(split_words(_main(_bare(one))))) or not one.isascii() for one in items) and all(
        _kind(one, "", one) is not Kind.GENERAL for one in items
    )


def _find_what_stays(prose: str) -> str:
    """From “without changing …” to the end of the clause."""
    low = prose.lower()
    found = [
        (at, word)
        for word in vocabulary().kept
        if (at := low.find(word)) >= 0 and not (word.isascii() and low[at - 1 : at].isalnum())
    ]
    if not found:
        return ""
    at, word = min(found)
    if word.isascii():
        end = _CLAUSE.search(prose, at + len(word))
        return one_line(prose[at : end.start() if end else len(prose)], _LONGEST_QUOTATION)
    begins = [found.end() for found in _CLAUSE.finditer(prose, 0, at)]
    return one_line(prose[begins[-1] if begins else 0 : at + len(word)], _LONGEST_QUOTATION)


def _find_expectation(text: str) -> str:
    """The first words of the section that says so."""
    lines = _COMMENT.sub(" ", text).splitlines()
    for at, line in enumerate(lines):
        label = _LINE_MARKS.sub("", line).strip("* ")
        if len(label) <= _LONGEST_LABEL and label.lower().startswith(vocabulary().expected):
            _, colon, behind = label.partition(":")
            said = [behind.strip("* ")] if colon and behind.strip("* ") else []
            following = next((line.strip() for line in lines[at + 1 :] if line.strip()), "")
            first = (said or [following])[0]
            # What ends with a colon goes on in code.
            whole = _is_sentence(first) and not first.endswith(":")
            words = split_words(first)
            vague = len(first.split()) <= _FEW_WORDS and words.has_any(vocabulary().vague)
            whole = whole and not vague and not words.has_any(vocabulary().unsure)
            return one_line(first, _LONGEST_QUOTATION) if whole else ""
    return ""


def _is_sentence(line: str) -> bool:
    return (
        bool(line)
        and not line.startswith(("```", "~~~", "#", "<", "|", ">>>", "    "))
        and " " in line.strip()
    )
