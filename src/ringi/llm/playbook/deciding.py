"""Which decisions are due, and which option to recommend after all that was said."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final, NamedTuple

from ringi.domain.model_output import MOST_DECISIONS, NewDecision, NewDecisions, NewOption
from ringi.domain.session import Brief
from ringi.llm.playbook.asking import LENDING
from ringi.llm.playbook.feedback import AGAINST, FOR, KINDS, SILENT, heard, kind_of, resolved, stance
from ringi.llm.playbook.kinds import Choice, Lean, OptionWords, Topic, TopicWords
from ringi.llm.playbook.leaning import Leaning, leaning
from ringi.llm.playbook.quoting import cut, one_line
from ringi.llm.playbook.reading import Reading, Searched, read
from ringi.llm.playbook.slots import WORDS, Slots, filled, quoted, slots
from ringi.llm.playbook.topics import TOPICS

FEEDBACK: Final = "feedback"

_LINE: Final = 300
_PHRASE: Final = 120
_MOST_OF_FEEDBACK: Final = 60
_BASE: Final = 2
_SUITS: Final = 3
_BREAKS: Final = 8
_FREELY_SAID: Final = 4
_EARLIER: Final = 20
_BY_FEEDBACK: Final = 40
_NEEDLESS: Final = {"migration.fill": Lean.NONE_STORED}


class _Case(NamedTuple):
    brief: Brief
    values: Slots
    lean: Leaning
    chosen: Mapping[str, str]
    """What was chosen before the design was rejected, by topic."""
    heard: tuple[Searched, ...]
    """The feedback."""

    @property
    def sentences(self) -> Mapping[str, str]:
        return WORDS[self.brief.language].sentences

    def words(self, topic: Topic) -> TopicWords:
        return WORDS[self.brief.language].topics[topic.key]

    def name(self, topic: Topic, at: int) -> str:
        return cut(filled(self.words(topic).options[at].name, self.values), _PHRASE)

    def stances(self, topic: Topic, texts: tuple[Searched, ...]) -> dict[str, int]:
        return {
            choice.key: stance(texts, choice, self.name(topic, at)) for at, choice in enumerate(topic.choices)
        }


def decisions(brief: Brief) -> NewDecisions:
    reading = read(brief)
    values = slots(brief, reading)
    chosen = dict(chosen_options(brief, values))
    case = _Case(brief, values, leaning(brief, reading, values), chosen, heard(brief.feedback))
    topics = list(_candidates(reading))
    spoken_of = [t for t in topics if resolved(case.stances(t, case.heard[-1:]), chosen.get(t.key, ""))]
    # What was ever said about a design that was rejected is not forgotten.
    mentioned = [t for t in topics if any(case.stances(t, case.heard).values())]
    due = dict.fromkeys(chain(spoken_of, mentioned, _due(reading, case.lean)))
    made = [_worded(topic, case) for topic in due]
    if brief.feedback and not spoken_of:
        made.insert(0, _about_feedback(case))
    return NewDecisions(tuple(made[:MOST_DECISIONS]))


def topic_text(topic: str, language: str, values: Slots) -> str:
    return cut(filled(WORDS[language].topics[topic].topic, values), _PHRASE)


def chosen_options(brief: Brief, values: Slots) -> list[tuple[str, str]]:
    """The decisions of the brief that are known here: key of the topic, key of what was chosen."""
    if not brief.decisions:
        return []
    texts = {topic_text(topic.key, brief.language, values): topic for topic in chain(*TOPICS.values())}
    found = []
    for decision in brief.decisions:
        topic = texts.get(decision.topic)
        if topic and decision.selected:
            names = [option.name for option in WORDS[brief.language].topics[topic.key].options]
            chosen = [
                choice.key
                for choice, name in zip(topic.choices, names, strict=True)
                if cut(filled(name, values), _PHRASE) == decision.selected.name
            ]
            found += [(topic.key, key) for key in chosen]
    return found


def _candidates(reading: Reading) -> Iterator[Topic]:
    """What matters most first: how the work is done, what else it endangers, then the rest."""
    own = TOPICS[reading.main]
    yield own[0]
    for trait in reading.traits[1:]:
        if trait in LENDING:
            yield TOPICS[trait][0]
    yield from own[1:]


def _due(reading: Reading, lean: Leaning) -> Iterator[Topic]:
    settled = {key.partition("=")[0] for key in lean.settled}
    for topic in _candidates(reading):
        known = topic.key in settled or topic.unless & lean.said
        if not known and len(reading.said) < topic.until and _NEEDLESS.get(topic.key) not in lean.leans:
            yield topic


def _worded(topic: Topic, case: _Case) -> NewDecision:
    stances, earlier = case.stances(topic, case.heard), case.chosen.get(topic.key, "")
    scores = [_score(choice, case.lean, stances[choice.key], earlier) for choice in topic.choices]
    best = scores.index(max(scores))
    spared = next((at for at, choice in enumerate(topic.choices) if stances[choice.key] == AGAINST), None)
    options = [
        _option(words, case.values, recommended=at == best)
        for at, words in enumerate(case.words(topic).options)
    ]
    note = ""
    if case.brief.feedback:
        key = topic.choices[best].key
        note = "wanted" if stances[key] == FOR else "earlier" if key == earlier else ""
        if not note and spared is not None:
            note = "spared"
    if note:
        other = quoted(case.sentences, case.name(topic, spared)) if spared is not None else ""
        description = case.sentences[note].format(description=options[best].description, other=other)
        options[best] = _with_description(options[best], description)
    return NewDecision(topic_text(topic.key, case.brief.language, case.values), tuple(options))


def _score(choice: Choice, lean: Leaning, stand: int, earlier: str) -> int:
    score = _BASE * choice.base
    score += _SUITS * len(choice.suits & lean.leans)
    score -= _BREAKS * len(choice.breaks & lean.leans)
    score += _FREELY_SAID * stance(lean.free, choice, choice.key) if lean.free else SILENT
    score += _BY_FEEDBACK * stand
    return score + (_EARLIER if choice.key == earlier else 0)


def _about_feedback(case: _Case) -> NewDecision:
    words = WORDS[case.brief.language].topics[FEEDBACK]
    wanted = list(KINDS).index(kind_of(case.brief.feedback[-1]))
    text = quoted(case.sentences, one_line(case.brief.feedback[-1], _MOST_OF_FEEDBACK))
    options = [
        _option(option, case.values, recommended=at == wanted) for at, option in enumerate(words.options)
    ]
    return NewDecision(cut(words.topic.format(feedback=text), _PHRASE), tuple(options))


def _option(words: OptionWords, values: Slots, *, recommended: bool) -> NewOption:
    return NewOption(
        name=cut(filled(words.name, values), _PHRASE),
        description=cut(filled(words.description, values), _LINE),
        pros=tuple(cut(filled(pro, values), _PHRASE) for pro in words.pros),
        cons=tuple(cut(filled(con, values), _PHRASE) for con in words.cons),
        recommendation=recommended,
    )


def _with_description(option: NewOption, description: str) -> NewOption:
    return NewOption(option.name, cut(description, _LINE), option.pros, option.cons, option.recommendation)
