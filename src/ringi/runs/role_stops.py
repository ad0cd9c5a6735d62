"""Why a role cannot be asked, and what to do."""

import json
from typing import Final

from ringi.config.keys import Config
from ringi.engine.run_plan import RunRole
from ringi.kernel.text import Text
from ringi.runs.document import Stop, StopCode, stop_for

_AGENT: Final = "claude"


def example(role: RunRole, command: str = "") -> str:
    """A line for a configuration."""
    named = command or _AGENT
    return f"roles: {{{role}: {{command: {named if named.isalnum() else json.dumps(named)}}}}}"


def time_key(role: RunRole) -> str:
    return f"roles.{role}.timeout_sec"


def too_slow(who: str, role: RunRole, timeout_sec: float) -> Text:
    seconds = f"{timeout_sec:g}"
    return Text("{who} did not end within {seconds} s ({key}).", who=who, seconds=seconds, key=time_key(role))


def gh_stop(command: str, then: Text) -> Stop:
    message = Text("A command of the run uses gh, which is never allowed in one: {command}", command=command)
    return stop_for(StopCode.GH_FORBIDDEN, message, then)


def nobody(role: RunRole, config: Config) -> Stop:
    if any(config.is_untrusted(f"roles.{role}.{key}") for key in ("how", "command", "model")):
        message = Text("roles.{role} comes from the project, and nobody has trusted it yet.", role=role)
        return stop_for(StopCode.NO_ROLE, message, Text("ringi trust"))
    message = Text("Nobody has the role {role}.", role=role)
    if role is RunRole.IMPLEMENTER:
        then = Text(
            "ringi continue --retry --with claude; or in your configuration: {example}", example=example(role)
        )
    else:
        then = Text("In your configuration: {example}", example=example(role))
    return stop_for(StopCode.NO_ROLE, message, then)
