"""For each kind of subject: which bytes are approved, and which events give, refuse and end a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from ringi.approvals.document import (
    Act,
    ApprovalRequest,
    ApprovalSubject,
    CommitSubject,
    RevisionSubject,
    RunSubject,
    SessionSubject,
    SignedAct,
    SignersSubject,
    SubjectSpec,
    changes_of,
)
from ringi.approvals.forge import ForgeTerms
from ringi.approvals.grant_document import GrantSubject
from ringi.errors import RingiError
from ringi.kernel import codec
from ringi.kernel.system import Ids
from ringi.ledger import subject as subjects
from ringi.ledger.event import EventKind
from ringi.ledger.subject import Subject, SubjectKind
from ringi.tree.action_spec import ALL_SPECS, SpecSelection, select_specs

if TYPE_CHECKING:
    from ringi.engine.run_plan import RunPlan
    from ringi.plans.document import PlanDocument
    from ringi.runs.document import Run
    from ringi.sessions.document import PlanningSession

T = TypeVar("T")
_E = EventKind


class Bound(NamedTuple):
    """What the approved bytes of every kind have in common."""

    about: Subject
    workspace: str
    act: SignedAct
    """What a key signs to approve it."""
    given: EventKind
    """The event that records an approval of it."""
    expires_at: str | None
    document: ApprovalSubject | SessionSubject | RunSubject | RevisionSubject | GrantSubject | SignersSubject


class ApprovalKind(NamedTuple):
    read: Callable[[str], Bound | None]
    """None if the bytes are not a document of ours, spelled as we spell it."""
    given: frozenset[EventKind]
    refused: frozenset[EventKind]
    """After one of these, no earlier approval counts."""
    overtaken: frozenset[EventKind] = frozenset()
    """Events that end a request without an answer."""
    asked: bool = False
    """Whether requests are stored and expire; a session in review is its own request."""


def as_written(text: str, kind: type[T]) -> T | None:
    """None if it is not a document of ours, spelled as we spell it."""
    try:
        found = codec.decode_own(text.encode(), kind, "")
    except RingiError:
        return None
    return found if codec.canonical(found) == text.encode() else None


_PLAN_ACTS: Final = {
    Act.EXECUTE: (SignedAct.APPROVE, _E.APPROVED),
    Act.UNDO: (SignedAct.UNDO, _E.UNDO_APPROVED),
}


def _plan(text: str) -> Bound | None:
    if (said := as_written(text, ApprovalSubject)) is None:
        return None
    return Bound(subjects.plan(said.plan_id), said.workspace, *_PLAN_ACTS[said.kind], said.expires_at, said)


def _session(text: str) -> Bound | None:
    if (said := as_written(text, SessionSubject)) is None:
        return None
    about = subjects.session(said.session_id)
    return Bound(about, said.workspace, SignedAct.APPROVE, _E.SESSION_APPROVED, None, said)


def _run(text: str) -> Bound | None:
    if (part := as_written(text, RevisionSubject)) is not None:
        about = subjects.run(part.run_id)
        return Bound(about, part.workspace, SignedAct.APPROVE, _E.RUN_REVISION_APPROVED, None, part)
    if (said := as_written(text, RunSubject)) is None:
        return None
    return Bound(subjects.run(said.run_id), said.workspace, SignedAct.APPROVE, _E.RUN_APPROVED, None, said)


def _grant(text: str) -> Bound | None:
    if (said := as_written(text, GrantSubject)) is None:
        return None
    return Bound(subjects.grant(said.id), said.workspace, SignedAct.GRANT, _E.GRANTED, said.expires_at, said)


def _signers(text: str) -> Bound | None:
    if (said := as_written(text, SignersSubject)) is None:
        return None
    return Bound(subjects.SIGNERS, said.workspace, SignedAct.SIGNERS, _E.SIGNERS_SET, None, said)


KINDS: Final[Mapping[SubjectKind, ApprovalKind]] = {
    SubjectKind.PLAN: ApprovalKind(
        _plan,
        given=frozenset([_E.APPROVED, _E.UNDO_APPROVED]),
        refused=frozenset([_E.DECLINED, _E.SENT_BACK, _E.DISCARDED]),
        overtaken=frozenset([_E.SPECS_SET, _E.AMENDED, _E.REVERTED, _E.SUPERSEDED]),
        asked=True,
    ),
    SubjectKind.SESSION: ApprovalKind(
        _session,
        given=frozenset([_E.SESSION_APPROVED]),
        refused=frozenset([_E.SESSION_REJECTED, _E.SESSION_CANCELLED]),
    ),
    SubjectKind.RUN: ApprovalKind(
        _run, given=frozenset([_E.RUN_APPROVED]), refused=frozenset([_E.RUN_CANCELLED])
    ),
    SubjectKind.GRANT: ApprovalKind(
        _grant, given=frozenset([_E.GRANTED]), refused=frozenset([_E.GRANT_REVOKED])
    ),
    SubjectKind.SIGNERS: ApprovalKind(_signers, given=frozenset([_E.SIGNERS_SET]), refused=frozenset()),
}


def of_plan(
    document: PlanDocument,
    selection: SpecSelection,
    workspace: str,
    expires_at: str,
    *,
    sandboxed: bool | UnsetType = UNSET,
    commit: CommitSubject | UnsetType = UNSET,
) -> ApprovalSubject:
    specs = select_specs(document.state.action_specs, selection)
    checks = document.state.planned_checks
    return ApprovalSubject(
        kind=Act.EXECUTE,
        workspace=workspace,
        plan_id=document.plan.id,
        plan_version=document.plan.version,
        specs=tuple(
            # The hash of the resulting file binds the content; explanations are not bound.
            SubjectSpec(spec.id, order, msgspec.structs.replace(spec.base, content=None, description=""))
            for order, spec in enumerate(specs)
        ),
        changes=changes_of(specs),
        expires_at=expires_at,
        snapshot_id=document.change.snapshot_id if document.change else UNSET,
        checks=checks if checks and (checks.before or checks.after or checks.tests) else UNSET,
        sandboxed=sandboxed,
        commit=commit,
        requester=document.state.requester,
        step=document.step,
    )


def of_session(
    session: PlanningSession,
    workspace: str,
    instruction: str,
    plan: RunPlan,
    forge: ForgeTerms | None,
) -> SessionSubject:
    """`instruction`, `plan` and `forge` are what the run receives."""
    return SessionSubject(
        workspace=workspace,
        session_id=session.session_id,
        reject_count=session.reject_count,
        instruction=instruction,
        planning_json=plan,
        forge=forge or UNSET,
    )


def of_run(run: Run, plan: RunPlan, workspace: str) -> RunSubject:
    return RunSubject(
        workspace=workspace,
        run_id=run.run_id,
        session_id=run.planning_session_id,
        instruction=run.instruction,
        planning_json=plan,
        forge=run.forge or UNSET,
    )


def request_of(
    about: Subject,
    version: int,
    data: bytes,
    *,
    ids: Ids,
    requested_at: str,
    expires_at: str,
    selection: SpecSelection = ALL_SPECS,
    act: Act | UnsetType = UNSET,
    requester: str | UnsetType = UNSET,
) -> ApprovalRequest:
    """Fixes what is asked: the digest of `data` identifies it."""
    return ApprovalRequest(
        id=ids() if KINDS[about.kind].asked else "",
        subject_id=about.id,
        subject_kind=UNSET if about.kind is SubjectKind.PLAN else about.kind,
        version=version,
        selection=selection,
        digest=codec.digest(data),
        requested_at=requested_at,
        expires_at=expires_at,
        act=act,
        requester=requester,
    )
