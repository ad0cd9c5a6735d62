"""Requests for approval, and how they end."""

from msgspec import UNSET, UnsetType

from ringi.approvals.document import (
    Act,
    ApprovalRequest,
)
from ringi.approvals.kinds import KINDS
from ringi.kernel import codec
from ringi.kernel.system import Ids
from ringi.ledger.subject import Subject, SubjectKind
from ringi.tree.action_spec import ALL_SPECS, SpecSelection


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
