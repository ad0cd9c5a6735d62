"""What an instruction is about, in a few of its own words."""

import re
from typing import Final, NamedTuple

from ringi.llm.playbook.quote import one_line
from ringi.llm.playbook.vocabulary import vocabulary

_MOST: Final = {"en": 70, "ja": 45}
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


class Gist(NamedTuple):
    sentence: str
    """The first sentence, or as much of it as fits; empty if there are no words."""
    matter: str
    """The sentence without its verb; empty if nothing is left."""
    thing: str
    """The verb's object."""


def gist_of(instruction: str, language: str) -> Gist:
    first = first_sentence(instruction)
    most = _MOST[language]
    if not first:
        return Gist("", "", "")
    sentence, matter, thing = _english(first) if first.isascii() or language == "en" else _japanese(first)
    short = one_line(sentence, most)
    telling = one_line(matter, most) if matter.lower() not in vocabulary().vague else ""
    return Gist(short, telling, _named(thing, most, _LEAST_THING[language]) or telling or short)


def first_sentence(instruction: str) -> str:
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
    sentence = without_politeness(sentence)
    verb, _, rest = sentence.partition(" ")
    if verb.lower() not in vocabulary().verbs or not rest:
        return sentence, sentence, ""
    rest = _SECOND_PART.sub("", rest)
    matter = _ARTICLE.sub("", rest)
    ends = [at for end in vocabulary().object_ends if (at := f" {matter}".find(end)) >= 0]
    thing = matter[: max(min(ends, default=len(matter) + 1) - 1, 0)]
    # "make X faster": the last word says how.
    return sentence, matter, thing.rpartition(" ")[0] if verb.lower() == "make" else thing


def without_politeness(sentence: str) -> str:
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
