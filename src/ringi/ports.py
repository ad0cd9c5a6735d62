"""What the program needs from outside, as small protocols. Adapters implement them, `wiring` picks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:  # every start would load documents that most commands never see
    from ringi.domain.approval import Approval, ApprovalRequest
    from ringi.domain.base import Document
    from ringi.domain.events import Actor, EventKind, LoggedEvent
    from ringi.domain.execution import ExecutionIntent, ExecutionResult
    from ringi.domain.plan import PlanDocument, PlanRef
    from ringi.domain.project_state import ProjectState
    from ringi.text import Text


class Clock(Protocol):
    def now(self) -> str:
        """UTC as ISO 8601 with microseconds, so that text order is time order."""

    def after(self, seconds: float) -> str: ...


Ids = Callable[[], str]


class EventSink(Protocol):
    def __call__(self, event: LoggedEvent) -> None: ...


class PersonChannel(Protocol):
    """Whether a person can answer here, and who."""

    def refusal(self) -> Text | None:
        """Why an answer typed here would prove nothing; None where it counts."""

    def name(self) -> str:
        """The terminal the answers come from."""

    def user(self) -> str: ...


class NewEvent(NamedTuple):
    kind: EventKind
    actor: Actor
    reason: str = ""
    evidence: Document | None = None
    """The approval, intent or result that the event speaks of; its hash goes into the chain."""


class StoredPlan(NamedTuple):
    document: PlanDocument
    revision: int
    """Counts saves; a save names the revision it read and fails if another came first."""
    number: int


class StoredIntent(NamedTuple):
    intent: ExecutionIntent
    result: ExecutionResult | None


class Transaction(Protocol):
    """One API call: everything in it is saved together or not at all."""

    def plan(self, plan_id: str) -> StoredPlan: ...
    def add_plan(self, document: PlanDocument, *events: NewEvent) -> StoredPlan: ...
    def save_plan(self, stored: StoredPlan, document: PlanDocument, *events: NewEvent) -> StoredPlan: ...
    def set_current(self, plan_id: str | None) -> None: ...
    def last_hash(self) -> str: ...
    def add_request(self, request: ApprovalRequest) -> None: ...
    def add_approval(self, approval: Approval) -> None: ...
    def spend(self, approval_id: str, execution_id: str) -> None: ...
    def put_bytes(self, data: bytes, kept_until: str) -> None: ...
    def show_diffs(self, plan_id: str, diffs: Mapping[str, bytes]) -> None:
        """For people and editors only: the diffs are written beside the plan, not into the ledger."""

    def set_state(self, state: ProjectState) -> list[str]:
        """Replaces the one before; answers with the ids of open change plans of another snapshot."""

    def add_intent(self, intent: ExecutionIntent) -> None: ...
    def add_result(self, result: ExecutionResult) -> None: ...


class Store(Protocol):
    """The ledger. Reads see the last commit, and inside a transaction what it has written so far."""

    def transaction(self) -> AbstractContextManager[Transaction]: ...
    def find(self, name: str) -> str:
        """The id of the plan people call by this name: p7, an id, or the beginning of one."""

    def ref(self, plan_id: str) -> PlanRef: ...
    def plan(self, plan_id: str) -> StoredPlan: ...
    def refs(self, *, limit: int | None = None, waiting: bool = False) -> list[PlanRef]: ...
    def get_bytes(self, sha256: str) -> bytes | None: ...
    def unfinished(self) -> tuple[ExecutionIntent, ...]: ...
    def intent(self, execution_id: str) -> ExecutionIntent | None: ...
    def events(self, plan_id: str | None = None, *, after: int = 0) -> Iterator[LoggedEvent]: ...
    def approvals(self, plan_id: str) -> tuple[Approval, ...]: ...
    def requests(self, plan_id: str) -> tuple[ApprovalRequest, ...]: ...
    def executions(self, plan_id: str) -> tuple[StoredIntent, ...]: ...
    def forget_bytes(self, before: str) -> None: ...
    def current(self) -> str | None: ...
    def workspace_id(self) -> str: ...


class WorkspaceLock(Protocol):
    """Held by whoever is changing the workspace."""

    def __call__(self, what: str) -> AbstractContextManager[None]: ...
