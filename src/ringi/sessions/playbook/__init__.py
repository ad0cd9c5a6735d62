"""The built-in default, which plans without a model, in English and Japanese."""

from typing import Final, TypeVar

import msgspec

from ringi.engine.document import PlanningBrief
from ringi.kernel.document import Document, prepare
from ringi.models.prompt import Budget, Exchange, ModelAnswer, OnProgress, Prompt
from ringi.models.usage import PLAYBOOK, Purpose, TokenUsage
from ringi.sessions.document import Brief
from ringi.sessions.playbook import outline
from ringi.sessions.playbook.questions import decisions, questions, revision
from ringi.sessions.playbook.summary import summary

T = TypeVar("T")

_COMPOSERS: Final = {
    Purpose.DISCOVERY: questions,
    Purpose.DESIGN: decisions,
    Purpose.REVISION: revision,
    Purpose.REVIEW: summary,
}

_PLANNERS: Final = {
    Purpose.OUTLINE: outline.outline,
    Purpose.GOAL: outline.goal,
    Purpose.SUBTASKS: outline.subtasks,
    Purpose.ACTIONS: outline.actions,
    Purpose.REPLAN: outline.replan,
}

# What needs a model: reading files, placing what the parser could not place, explaining a change. No role of
# a run asks the playbook, so that its silence is not taken for a verdict.
_NOTHING: Final = {
    Purpose.FILES: {"paths": []},
    Purpose.TARGETS: {},
    Purpose.EXTRACTION: {"specs": []},
    Purpose.EXPLANATION: {"summary": ""},
    Purpose.REFLECTION: {"status": "failure", "evaluation": "…", "missing": "…"},
    Purpose.STEP: {},
    Purpose.VERDICT: {"passed": True},
}


class Playbook:
    """Plans without a model: the same brief always gives the same bytes."""

    name: Final = PLAYBOOK
    sees_project: Final = True

    def ask(self, prompt: Prompt, kind: type[T], budget: Budget, on_progress: OnProgress) -> ModelAnswer[T]:
        """Reads the brief, not the prompt; needs no time and no tokens."""
        del budget, on_progress
        document = _document(prompt)
        value = msgspec.convert(document, type=prepare(kind))
        exchange = Exchange(f"playbook: {prompt.purpose}", msgspec.json.encode(document).decode())
        return ModelAnswer(value, TokenUsage(requests=1), (exchange,), self.name)


def _document(prompt: Prompt) -> object:
    planner = _PLANNERS.get(prompt.purpose)
    if planner is not None:
        return msgspec.to_builtins(planner(prompt.planning or PlanningBrief("")))
    composer = _COMPOSERS.get(prompt.purpose)
    if composer is None:
        return _NOTHING[prompt.purpose]
    made: Document = composer(prompt.brief or Brief(instruction=""))
    return msgspec.to_builtins(made)
