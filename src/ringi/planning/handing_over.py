"""What an approved session hands to the run: the enhanced instruction (IP-8)."""

from ringi.domain.session import HANDED_ON, PlanningSession


def enhanced_instruction(session: PlanningSession) -> str:
    """The parts of the specification in its order; what was skipped is left out."""
    requirements = "\n".join(
        f"- {_within(question.question)}\n  Answer: {_within(question.answer)}"
        for question in session.questions
        if question.type in HANDED_ON and question.answer is not None
    )
    decisions = "\n".join(
        f"- {_within(decision.topic)}: {_within(decision.selected.name)}\n"
        f"  Reason: {_within(decision.rationale or 'N/A')}"
        for decision in session.decisions
        if decision.selected
    )
    return (
        f"Original Instruction: {session.instruction}\n\n"
        f"## Clarified Requirements\n{requirements}\n\n"
        f"## Design Decisions\n{decisions}\n\n"
        f"## Design Summary\n{session.design_summary or ''}"
    ).strip()


def _within(words: str) -> str:
    """Several lines stay inside their item."""
    return "\n  ".join(words.splitlines())
