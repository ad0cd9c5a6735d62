"""What a tool may change, why a call failed, and why a plan must not name a tool."""

from enum import StrEnum
from typing import Final

from ringi.kernel.text import Text


class ToolEffect(StrEnum):
    """What a call may change."""

    READS = "reads"
    COPY = "copy"
    """Files of the copy, which can be put back."""
    OUTSIDE = "outside"
    """Anything else: it waits for a person, as a spec of the kind call."""


class ErrorKind(StrEnum):
    """Why an action did not do what it should (PP-24)."""

    NOT_FOUND = "not_found"
    MISMATCH = "mismatch"
    """A patch that does not fit."""
    INVALID_ARGUMENTS = "invalid_arguments"
    NOT_ALLOWED = "not_allowed"
    UNKNOWN_TOOL = "unknown_tool"
    TIMEOUT = "timeout"
    DIED = "died"
    """The server is gone."""
    FLOODED = "flooded"
    TOOL_ERROR = "tool_error"
    COMMAND_FAILED = "command_failed"
    UNEXPECTED = "unexpected"
    """It worked, and the result is not the expected one."""
    SIDE_EFFECT = "side_effect"
    """It changed something that it should not."""
    PRECONDITION = "precondition"
    DECLINED = "declined"
    """A person said no."""
    UNKNOWN_OUTCOME = "unknown_outcome"
    """It was started, and nobody knows how it ended."""
    NO_ANSWER = "no_answer"
    """The model gave none that can be used."""


LIMIT_OF_SPEC: Final = Text("timeout_sec in the spec, or else run.timeout_sec")
"""What says how long one of these may take."""


class FindingKind(StrEnum):
    """Why a plan is refused (PP-16)."""

    ENDLESS_LOOP = "endless_loop"
    RESOURCE_EXHAUSTION = "resource_exhaustion"
    PRIVILEGE_ESCALATION = "privilege_escalation"
    LEAKING_SECRETS = "leaking_secrets"
    FORBIDDEN_TOOL = "forbidden_tool"
    UNKNOWN_TOOL = "unknown_tool"
    DISGUISED_TOOL = "disguised_tool"
