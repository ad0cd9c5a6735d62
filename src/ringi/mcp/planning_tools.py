"""Planning sessions as tools: an agent hands on what its user says. None of them approves or rejects."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ringi.domain.events import Actor
from ringi.errors import BadDocument
from ringi.mcp import arguments, planning_answers
from ringi.mcp.toolkit import Hints, Tool
from ringi.text import Text

if TYPE_CHECKING:
    from ringi.domain.session_view import SessionView
    from ringi.planning.tool import PlanningTool


def _start(tool: "PlanningTool", given: arguments.PlanningStart) -> "SessionView":
    return tool.start(given.instruction, actor=Actor.AI)


def _answer(tool: "PlanningTool", given: arguments.PlanningAnswer) -> "SessionView":
    if [bool(given.answer), given.skip, given.resume].count(True) != 1:
        why = Text("exactly one of answer, skip and resume is needed")
        raise BadDocument(what="The arguments of planning_answer", why=why)
    if given.resume:
        return tool.resume(given.session_id)
    if given.skip:
        return tool.skip(given.session_id, question_id=given.question_id, actor=Actor.AI)
    return tool.answer(given.session_id, given.answer, question_id=given.question_id, actor=Actor.AI)


def _decide(tool: "PlanningTool", given: arguments.PlanningDecide) -> "SessionView":
    return tool.decide(
        given.session_id, given.option, given.reason, decision_id=given.decision_id, actor=Actor.AI
    )


TOOLS: Final[Mapping[str, Tool]] = {
    "planning_start": Tool(
        "Begin a planning session",
        "From what your user wants done to a design that they approve: a few questions, the design "
        "decisions, a summary. Answers with the first question. All questions are for your user: ask them "
        "one at a time and hand on what they say; never answer for them. No file of the workspace changes.",
        arguments.PlanningStart,
        planning_answers.PlanningState,
        Hints(open_world=True),
        None,
        _start,
    ),
    "planning_answer": Tool(
        "Hand on your user's answer",
        "What your user said to the question that is asked now, or skip: true where they do not want to "
        "answer. Answers with what comes next. With resume: true instead, a session that failed or was "
        "stopped goes on. Never answer for your user.",
        arguments.PlanningAnswer,
        planning_answers.PlanningState,
        Hints(open_world=True),
        None,
        _answer,
    ),
    "planning_decide": Tool(
        "Hand on your user's decision",
        "Which option your user chose, and why. Show them all options with their pros and cons first. After "
        "the last decision comes a summary; approving it stays with the person, in a terminal of their "
        "own: no tool approves or rejects it.",
        arguments.PlanningDecide,
        planning_answers.PlanningState,
        Hints(open_world=True),
        None,
        _decide,
    ),
    "planning_get": Tool(
        "See where a planning session stands",
        "The question, decision or summary that waits for your user. While the model works for the session, "
        "waits for it, `seconds` at most. Without session_id: the sessions that can be gone on with.",
        arguments.PlanningGet,
        planning_answers.Sessions,
        Hints(read_only=True, idempotent=True),
        None,
    ),
}
