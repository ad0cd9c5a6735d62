"""All that the playbook says in English."""

from typing import Final

from ringi.llm.playbook.english import (
    decisions,
    decisions_around,
    lookalikes,
    questions,
    questions_around,
    work,
)
from ringi.llm.playbook.kinds import Words

WORDS: Final = Words(
    questions={**questions.QUESTIONS, **questions_around.QUESTIONS, **lookalikes.QUESTIONS},
    topics={**decisions.TOPICS, **decisions_around.TOPICS, **lookalikes.TOPICS},
    work={**work.WORK, **lookalikes.WORK},
    ways={**work.WAYS, **lookalikes.WAYS},
    sentences=work.SENTENCES,
)
