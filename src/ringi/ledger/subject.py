"""What an event, a request or an approval is about."""

import re
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

SESSION_PREFIX: Final = "planning-"
_RUN_REQUESTER: Final = "run:"
_PLAN_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class SubjectKind(StrEnum):
    PLAN = "plan"
    SESSION = "session"
    RUN = "run"
    GRANT = "grant"
    SIGNERS = "signers"


class Subject(NamedTuple):
    kind: SubjectKind
    id: str


class StepOf(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A step of a run."""

    run_id: str
    step_id: str
    request_id: str = ""
    in_place: bool = False
    """The run's branch is checked out in the workspace itself."""


def elsewhere(step: StepOf | msgspec.UnsetType) -> bool:
    """Whether a plan that is this step, or none, is carried out outside the workspace."""
    return isinstance(step, StepOf) and not step.in_place


def requester_of_run(run_id: str) -> str:
    """Who asks for what a step of the run changed, and for the calls of its model."""
    return f"{_RUN_REQUESTER}{run_id}"


def run_of_requester(requester: str) -> str:
    """Empty if it is no run."""
    return requester.removeprefix(_RUN_REQUESTER) if requester.startswith(_RUN_REQUESTER) else ""


def plan(plan_id: str) -> Subject:
    return Subject(SubjectKind.PLAN, plan_id)


def session(session_id: str) -> Subject:
    return Subject(SubjectKind.SESSION, session_id)


def run(run_id: str) -> Subject:
    return Subject(SubjectKind.RUN, run_id)


def grant(grant_id: str) -> Subject:
    return Subject(SubjectKind.GRANT, grant_id)


SIGNERS: Final = Subject(SubjectKind.SIGNERS, "signers")
"""Whose signatures count in the workspace."""


def is_plan_id(text: str) -> bool:
    return _PLAN_ID.fullmatch(text) is not None


_SHOWN: Final = len(SESSION_PREFIX) + 8


_ID: Final = re.compile(SESSION_PREFIX + r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_session(name: str) -> bool:
    """Whether what somebody typed means a planning session."""
    return name.startswith(SESSION_PREFIX)


def is_session_id(text: str) -> bool:
    """Whether it is a whole session id in our exact form: it becomes the name of a file and a folder."""
    return _ID.fullmatch(text) is not None


def short(session_id: str) -> str:
    """What people type; if several sessions match, the lookup reports it."""
    return session_id[:_SHOWN]
