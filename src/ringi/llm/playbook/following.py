"""Whether the decisions that were taken follow the feedback."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from ringi.domain.session import Brief
from ringi.llm.playbook.deciding import feedback_choice, option_name, stances, topic_text
from ringi.llm.playbook.feedback import contradicted, heard, kind_of
from ringi.llm.playbook.slots import Slots
from ringi.llm.playbook.topics import TOPICS


class Followed(NamedTuple):
    kind: str
    """What it asks for, as the decision about feedback names it."""
    spoken_of: bool
    """Whether it speaks of a decision at all."""
    against: tuple[tuple[str, str], ...]
    """Decisions that were taken otherwise: topic and choice, in words."""


def followed(brief: Brief, values: Slots, decided: Sequence[str]) -> tuple[Followed, ...]:
    """One for each feedback."""
    if not brief.feedback:
        return ()
    # What was chosen last counts.
    taken = dict(key.split("=", 1) for key in decided)
    topics = [
        topic
        for topic in chain(*TOPICS.values())
        # An instruction can settle one in a way that is not offered.
        if taken.get(topic.key) in {choice.key for choice in topic.choices}
    ]
    found = []
    for words, text in zip(brief.feedback, heard(brief.feedback), strict=True):
        kind = feedback_choice(words, brief) or kind_of(words)
        stands = {topic: stances(topic, (text,), brief, values) for topic in topics}
        against = [topic for topic in topics if contradicted(stands[topic], taken[topic.key])]
        taken_otherwise = tuple(
            (
                topic_text(topic.key, brief.language, values),
                option_name(topic, taken[topic.key], brief, values),
            )
            for topic in against
        )
        found.append(Followed(kind, any(any(stand.values()) for stand in stands.values()), taken_otherwise))
    return tuple(found)
