"""Errors for an agent: in English, with a tool where a person would type a command."""

import logging
from collections.abc import Iterable
from types import TracebackType
from typing import Final, Self

import mcp_types as types
from mcp.shared.exceptions import MCPError

from ringi.errors import RingiError, StorageFailed
from ringi.kernel.text import ENGLISH, Text, visible
from ringi.mcp.answers import ErrorBody, FailedCall

# What an agent does instead of typing the command that begins like this.
_TOOLS: Final = {
    "ringi specs": "plan_set_action_specs",
    "ringi request": "plan_preview, then plan_request_approval",
    "ringi review": "plan_preview, then plan_request_approval",
    "ringi execute": "plan_execute",
    "ringi show": "plan_get_state",
    "ringi list": "plan_list",
    "ringi plan --resume": "planning_get",
    "ringi status": "planning_get",
}


def english(value: object) -> str:
    """Every detail is filtered, and stays in one line; a detail may be a Text itself."""
    if not isinstance(value, Text):
        return visible(str(value))
    return value.form(ENGLISH).format_map({name: english(detail) for name, detail in value.details.items()})


_LEDGER: Final = "(the ledger)"
_NO_STEP: Final = "Tell your user."

# These replace hints that name a command for people, if agents have a tool for it.
_HINTS: Final = {
    "ambiguous": "Give more characters of the id, or the short name (p7).",
    "bad_document": "Nothing was changed. Compare the arguments with the tool's input schema.",
    "bad_brought": "Nothing was saved. Correct all of it, then call planning_bring again.",
    "bad_transition": "From {current} it can go to: {allowed}. See its state: plan_get_state",
    "busy": "Wait a moment, then make the same call again.",
    "lost_race": "Make the same call again; it will see the newer plan.",
    "invalid_specs": "Set corrected specs: plan_set_action_specs",
    "unfit_specs": "Propose a plan of your own: plan_propose",
    "taken_from_copy": "Change the files in your folder. At the end of your turn they are its next version.",
    "not_approved": "Only a person can approve. Ask with plan_request_approval, tell them to type "
    "`ringi review {plan}`, and wait with plan_wait.",
    "read_not_approved": "Only a person can approve. Ask with plan_request_approval, tell them to type "
    "`ringi review {plan}`, and wait with plan_wait.",
    "expired": "Ask again: plan_request_approval",
    "stale": "Read the files again, set new specs (plan_set_action_specs), then ask again.",
    "not_now": "See its state: plan_get_state",
    "already_undone": "See plan_get_state. To do it again, propose another plan.",
    "already_done": "It is done; see plan_get_state. For more changes, propose another plan.",
    "session_failed": "Nothing your user said is lost. Once the cause is fixed, resume: planning_answer with "
    "resume: true. Or your user types: ringi plan --resume {session}",
    "outline_failed": "Make the same call again later, or plan with your user: planning_start",
    "session_race": "See its state now: planning_get",
    "session_over": "If your user wants another one: planning_start",
    "bad_instruction": "Say in a sentence what your user wants to change: planning_start",
    "bad_answer": "See what is asked: planning_get. Then ask your user again.",
    "model_outside": "Bring questions, decisions and the design yourself: planning_start with bring: true. "
    "Or let your user plan in a terminal of their own: ringi plan",
    "not_asked": "See what is next: planning_get. What is asked is for your user; do not answer for them.",
}


def describe_failure(error: RingiError, hidden: Iterable[str] = ()) -> FailedCall:
    """`hidden` are folders whose paths must not appear in the answer."""
    own = _HINTS.get(error.code) or _lookup(error)
    message, hint = str(error), str(Text(own or error.hint, **error.details))
    for folder in sorted(hidden, key=len, reverse=True):
        message, hint = message.replace(folder, _LEDGER), hint.replace(folder, _LEDGER)
    hint = visible(hint)
    step = hint if own else f"Tell your user: {hint}"
    return FailedCall(ErrorBody(error.code, visible(message), hint), next_step=step if hint else _NO_STEP)


def _lookup(error: RingiError) -> str:
    """The tool that lists what could have been named."""
    command = str(error.details.get("see", "")) if error.code == "not_found" else ""
    found = (tools for start, tools in _TOOLS.items() if command.startswith(start))
    return next((f"See what there is: {tools}" for tools in found), "")


class ErrorBoundary:
    """Reports a bug of ours without its details, and a system error in our own words."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, RingiError | MCPError) or not isinstance(error, Exception):
            return
        if isinstance(error, OSError):
            raise StorageFailed(
                what=str(error.filename or "A file"), why=error.strerror or str(error)
            ) from None
        logging.getLogger(__name__).error("a mistake in ringi", exc_info=error)
        raise MCPError(types.INTERNAL_ERROR, "This is a mistake in ringi, not yours.") from None
