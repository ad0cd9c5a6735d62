"""A change plan in a model's words, for people (CP-7): it decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from ringi.models.prompt import Material, NewExplanation, OnProgress, Prompt
from ringi.models.usage import Purpose
from ringi.plans.change import ChangeDraft, Explained
from ringi.plans.change_plan import PlanExplanation
from ringi.policy.masking import mask_secrets

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_MOST: Final = 50_000
"""Characters of all diffs together."""
_RULES: Final = (
    "Explain a change of a software project to the person who will approve or refuse it. Use only what the "
    "title, the diagnostics and the diffs say: no guesses, no praise, no advice whether to approve. summary: "
    "what changes, in one sentence. details: what it does file by file, and what a reviewer should look at, "
    "in a few sentences; may be empty. Write in the language of the title."
)


def explain(workspace: Workspace, change: ChangeDraft, on_progress: OnProgress) -> Explained:
    """Empty if no model is set. Raises ModelFailed, UnknownModel, NoModelKey, NoExtra."""
    prompt = Prompt(Purpose.EXPLANATION, _RULES, tuple(_material(change)))
    budget = workspace.budget
    answer = workspace.model().ask(prompt, NewExplanation, budget, on_progress)
    said = PlanExplanation(answer.value.summary, answer.value.details)
    return Explained(said, answer.model) if any(msgspec.structs.astuple(said)) else Explained()


def _material(change: ChangeDraft) -> Iterator[Material]:
    yield Material("title", change.content)
    if named := change.basis.related_diagnostics:
        yield Material("diagnostics", "\n".join(f"{one.file}:{one.line}: {one.message}" for one in named))
    # A secret in a file must not leave with its diff.
    diffs = mask_secrets("".join(diff.diff for diff in change.diffs))
    yield Material("diffs", diffs if len(diffs) <= _MOST else diffs[:_MOST] + "\n[…]")
