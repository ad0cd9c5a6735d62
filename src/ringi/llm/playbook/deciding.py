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
        return stances(topic, texts, self.brief, self.values)


def decisions(brief: Brief) -> NewDecisions:
    reading = read(brief)
    values = slots(brief, reading)
    chosen = dict(chosen_options(brief, values))
    case = _Case(brief, values, leaning(brief, reading, values), chosen, heard(brief.feedback))
    before = known_topics(brief, values)
    topics = list(dict.fromkeys([*before, *_candidates(reading)]))
    spoken_of = [t for t in topics if resolved(case.stances(t, case.heard[-1:]), chosen.get(t.key, ""))]
    # What was ever said about a design that was rejected is not forgotten.
    mentioned = [t for t in topics if any(case.stances(t, case.heard).values())]
    due = dict.fromkeys(chain(spoken_of, mentioned, before, _due(reading, case.lean)))
    # A decision that was taken stays, whatever else would be worth one.
    about = [text for text in dict.fromkeys(brief.feedback) if feedback_choice(text, brief)]
    room = MOST_DECISIONS - len(before) - len(about)
    if brief.feedback and not spoken_of and room > 0:
        about = list(dict.fromkeys([brief.feedback[-1], *about]))
        room = MOST_DECISIONS - len(before) - len(about)
    first = {made.topic: made for made in (_about_feedback(text, case) for text in about)}
    added = [topic for topic in due if topic not in before][: max(room, 0)]
    made = [_worded(topic, case) for topic in due if topic in [*before, *added]]
    return NewDecisions((*first.values(), *made)[:MOST_DECISIONS])


def topic_text(topic: str, language: str, values: Slots) -> str:
    return cut(filled(WORDS[language].topics[topic].topic, values), _PHRASE)


def known_topics(brief: Brief, values: Slots) -> tuple[Topic, ...]:
    """Of the decisions of the brief."""
    texts = _by_text(brief, values) if brief.decisions else {}
    found = (texts.get(decision.topic) for decision in brief.decisions)
    return tuple(dict.fromkeys(topic for topic in found if topic))[:MOST_DECISIONS]


def _by_text(brief: Brief, values: Slots) -> dict[str, Topic]:
    return {topic_text(topic.key, brief.language, values): topic for topic in chain(*TOPICS.values())}


def stances(topic: Topic, texts: tuple[Searched, ...], brief: Brief, values: Slots) -> dict[str, int]:
    """Of what was said to each of the options."""
    names = [
        cut(filled(option.name, values), _PHRASE)
        for option in WORDS[brief.language].topics[topic.key].options
    ]
    return {
        choice.key: stance(texts, choice, name) for choice, name in zip(topic.choices, names, strict=True)
    }


def option_name(topic: Topic, key: str, brief: Brief, values: Slots) -> str:
    words = WORDS[brief.language].topics[topic.key].options
    names = [option.name for option, choice in zip(words, topic.choices, strict=True) if choice.key == key]
    return cut(filled(names[0], values), _PHRASE)


def chosen_options(brief: Brief, values: Slots) -> list[tuple[str, str]]:
    """The decisions of the brief that are known here: key of the topic, key of what was chosen."""
    if not brief.decisions:
        return []
    texts = _by_text(brief, values)
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
    own = [topic for topic in TOPICS[reading.main] if topic.only is None or topic.only in reading.said]
    yield own[0]
    for trait in reading.traits[1:]:
        if trait in LENDING:
            yield TOPICS[trait][0]
    yield from own[1:]


def _due(reading: Reading, lean: Leaning) -> Iterator[Topic]:
    settled = {key.partition("=")[0] for key in lean.settled}
    for topic in _candidates(reading):
        known = topic.key in settled or topic.unless & lean.said
        if not known and reading.details < topic.until and _NEEDLESS.get(topic.key) not in lean.leans:
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


def feedback_topic(text: str, language: str) -> str:
    words, sentences = WORDS[language].topics[FEEDBACK], WORDS[language].sentences
    return cut(words.topic.format(feedback=quoted(sentences, one_line(text, _MOST_OF_FEEDBACK))), _PHRASE)


def feedback_choice(text: str, brief: Brief) -> str:
    """What was chosen where this feedback was the question."""
    topic = feedback_topic(text, brief.language)
    chosen = [d.selected.name for d in brief.decisions if d.topic == topic and d.selected]
    named = zip(KINDS, WORDS[brief.language].topics[FEEDBACK].options, strict=True)
    return next((kind for kind, option in named if option.name in chosen), "")


def _about_feedback(text: str, case: _Case) -> NewDecision:
    wanted = list(KINDS).index(feedback_choice(text, case.brief) or kind_of(text))
    options = [
        _option(option, case.values, recommended=at == wanted)
        for at, option in enumerate(WORDS[case.brief.language].topics[FEEDBACK].options)
    ]
    return NewDecision(feedback_topic(text, case.brief.language), tuple(options))


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
