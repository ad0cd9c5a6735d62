"""What the answers speak for, and which decisions they make needless."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ringi.domain.session import Brief
from ringi.llm.playbook.asking import worded_question
from ringi.llm.playbook.asks import ASKS
from ringi.llm.playbook.kinds import Lean, Reply, Said
from ringi.llm.playbook.reading import Reading, Searched, searched, things_said
from ringi.llm.playbook.slots import Slots
from ringi.llm.playbook.vocabulary import SAID, Term, terms

_MOST_OF_AN_ANSWER: Final = 1_000
_NO_DEPENDENCY: Final = terms(
    "no new dependenc*|without new dependenc*|no dependenc*|no extra dependenc*|without adding|"
    "standard library|stdlib|no external|"
    "依存を増やさ|依存関係を増やさ|依存は増やさ|依存を追加しない|依存なし|標準ライブラリ"
)
_TERMS: Final[Mapping[Lean, tuple[Term, ...]]] = {
    Lean.SOON: terms("soon|quick|quickly|asap|urgent*|hurry|hotfix|早く|早急|急ぎ|急い|すぐ|至急|緊急"),
    Lean.SOUND: terms("maintain*|clean|properly|root cause|readab*|保守|きれい|根本|読みやす|分かりやす"),
    Lean.SPEED: terms("performan*|latency|run time|throughput|実行速度|高速|性能|パフォーマンス"),
    Lean.CAREFUL: terms(
        "safe|safely|safety|rollback|roll back|revert*|careful*|安全|戻せる|取り消|慎重|ロールバック"
    ),
    Lean.NO_DEPENDENCY: _NO_DEPENDENCY,
    Lean.KEEP: SAID[Said.COMPATIBILITY],
    Lean.OUTSIDERS: terms(
        "customer*|other team*|third part*|external users|outside users|外部|他チーム|顧客|お客様"
    ),
    Lean.NARROW: SAID[Said.LIMIT],
    Lean.UNTESTED: terms("no tests|not covered|untested|テストがない|テストはない|テストなし"),
    Lean.UNKNOWN: terms(
        "not sure|dont know|do not know|unknown|no idea|not known|わからない|分からない|不明|未定"
    ),
    Lean.MUCH: terms("million*|billion*|terabyte*|huge|大量|万件|億"),
}
# Of a free answer; the rest is too easily said in passing.
_SETTLING: Final = frozenset([Said.PLACE, Said.SWITCH, Said.LEVEL, Said.ACCEPTANCE])


class Leaning(NamedTuple):
    leans: frozenset[Lean]
    settled: tuple[str, ...]
    """Topics with their option: feature.home=own."""
    said: frozenset[Said]
    """By the instruction and in free answers."""
    free: tuple[Searched, ...]
    """Answers in people's own words."""
    unknown: frozenset[str]
    """Questions to which nobody knew the answer."""


def leaning(brief: Brief, reading: Reading, values: Slots) -> Leaning:
    offered = _offered(brief, values)
    leans = set(_from_instruction(brief, reading))
    settled: list[str] = []
    own: list[str] = []
    unknown: list[str] = []
    for question in brief.questions:
        reply = offered.get((question.question, question.answer or ""))
        if reply:
            leans |= reply.leans
            unknown += [question.question] if Lean.UNKNOWN in reply.leans else []
            settled += [reply.settles] if reply.settles else []
        elif question.answer:
            own.append(question.answer[:_MOST_OF_AN_ANSWER])
    # Told by the instruction itself, whatever was answered.
    settled += ["migration.way=add"] if Said.ADDITIVE in reading.said else []
    settled += ["migration.way=output"] if Said.OUTPUT in reading.said else []
    free = tuple(searched(answer) for answer in own)
    for answer, text in zip(own, free, strict=True):
        leans |= {lean for lean, words in _TERMS.items() if text.has_any(words)}
        leans |= {Lean.NO_DEPENDENCY} if says_no_dependency(answer) else set()
    said = [things_said(answer) & _SETTLING for answer in own]
    return Leaning(frozenset(leans), tuple(settled), reading.said.union(*said), free, frozenset(unknown))


def says_no_dependency(text: str) -> bool:
    low = text[:_MOST_OF_AN_ANSWER].lower()
    return searched(low, quiet=False).has_any(_NO_DEPENDENCY)


def _offered(brief: Brief, values: Slots) -> dict[tuple[str, str], Reply]:
    """By the question and the option, both as they were worded."""
    return dict(_replies(brief, values))


def _replies(brief: Brief, values: Slots) -> Iterator[tuple[tuple[str, str], Reply]]:
    asked = {question.question for question in brief.questions}
    for asks in ASKS.values():
        for ask in asks:
            worded = worded_question(ask, brief.language, values)
            if worded.question in asked:
                yield from zip(
                    ((worded.question, option) for option in worded.options), ask.replies, strict=True
                )


def _from_instruction(brief: Brief, reading: Reading) -> Iterator[Lean]:
    if Said.COMPATIBILITY in reading.said:
        yield Lean.KEEP
    if Said.PRIORITY in reading.said:
        yield Lean.SOON
    if Said.LIMIT in reading.said:
        yield Lean.NARROW
    if Said.UNUSED in reading.said:
        yield Lean.FREE
    if Said.OUTPUT in reading.said:
        yield Lean.NONE_STORED
    if Said.FRESH in reading.said:
        yield Lean.FRESH
    if reading.far:
        yield Lean.FAR
    if says_no_dependency(brief.instruction):
        yield Lean.NO_DEPENDENCY
