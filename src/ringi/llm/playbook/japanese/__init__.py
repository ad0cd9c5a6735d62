"""All that the playbook says in Japanese."""

from typing import Final

from ringi.llm.playbook.japanese import decisions, decisions_around, questions, questions_around, work
from ringi.llm.playbook.kinds import Words

WORDS: Final = Words(
    questions={**questions.QUESTIONS, **questions_around.QUESTIONS},
    topics={**decisions.TOPICS, **decisions_around.TOPICS},
    work=work.WORK,
    ways=work.WAYS,
    sentences=work.SENTENCES,
)
