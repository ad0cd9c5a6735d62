"""Why a role cannot be asked, and what to do."""

from typing import Final

from ringi.domain.run import Stop, StopCode
from ringi.domain.run_plan import RunRole
from ringi.text import Text
from ringi.usecases.settings import RoleSettings

_EXAMPLE: Final = "roles: {{{role}: {{command: claude}}}}"


def stop(code: StopCode, message: Text, then: Text) -> Stop:
    return Stop(reason_code=code, message=str(message), next_action=str(then))


def gh_stop(command: str, then: Text) -> Stop:
    message = Text("A command of the run uses gh, which is never allowed in one: {command}", command=command)
    return stop(StopCode.GH_FORBIDDEN, message, then)


def nobody(role: RunRole, settings: RoleSettings) -> Stop:
    if settings.untrusted:
        message = Text("roles.{role} comes from the project, and nobody has trusted it yet.", role=role)
        return stop(StopCode.NO_ROLE, message, Text("ringi trust"))
    message = Text("Nobody has the role {role}.", role=role)
    example = _EXAMPLE.format(role=role)
    if role is RunRole.IMPLEMENTER:
        then = Text("ringi retry --with claude; or in your configuration: {example}", example=example)
    else:
        then = Text("In your configuration: {example}", example=example)
    return stop(StopCode.NO_ROLE, message, then)
