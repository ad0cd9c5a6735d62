"""What the program needs from outside, as small protocols. Adapters implement them; `wiring` picks them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:  # or every start would import documents that most commands never use
    from pathlib import Path

    from ringi.approvals.document import Approval, ApprovalRequest
    from ringi.approvals.grant_document import Grant, StoredGrant
    from ringi.engine.run_plan import RunPlan
    from ringi.errors import RingiError
    from ringi.kernel.text import Text
    from ringi.ledger.event import Actor, Event, LoggedEvent, NewEvent
    from ringi.plans.document import ActionSpecExt, PlanDocument, PlanRef, StoredPlan
    from ringi.plans.execution import (
        CommandEnd,
        CommandStart,
        ExecutionIntent,
        ExecutionResult,
        StoredCommand,
        StoredIntent,
    )
    from ringi.project.state import ProjectState
    from ringi.runs.document import Run, StoredRun
    from ringi.sessions.document import (
        LogEntry,
        PlanningSession,
        SessionFacts,
        SessionRef,
        SessionStatus,
        StoredSession,
    )


class PlanRecord(NamedTuple):
    """A plan with its requests, approvals, events and executions, as of one moment."""

    plan: StoredPlan
    requests: tuple[ApprovalRequest, ...]
    approvals: tuple[Approval, ...]
    events: tuple[Event, ...]
    executions: tuple[StoredIntent, ...]
    granting: bool
    """Whether the workspace has standing approvals."""
    interrupted: bool
    """Whether any execution in the workspace, or its checks, must be recovered."""


class Log(Protocol):
    """The log that every request, proof and approval is checked against."""

    def workspace_id(self) -> str: ...
    def last_hash(self) -> str:
        """Of the newest event; without events, the value that the first one will name."""

    def has_event(self, hash_: str) -> bool:
        """Whether the log has an event with this hash."""

    def events(self, subject_id: str | None = None, *, after: int = 0) -> Iterator[LoggedEvent]: ...
    def approvals(self, subject_id: str) -> tuple[Approval, ...]: ...
    def run(self, run_id: str) -> Run: ...
    def mentions(self, subject_id: str) -> bool:
        """Whether an event or an approval is about it."""


class SessionTransaction(Protocol):
    """What a call about planning sessions saves, all or nothing."""

    def last_hash(self) -> str: ...
    def session(self, session_id: str) -> StoredSession: ...
    def add_session(
        self, session: PlanningSession, facts: SessionFacts, event: NewEvent, logs: Sequence[LogEntry] = ()
    ) -> StoredSession: ...
    def save_session(
        self,
        stored: StoredSession,
        session: PlanningSession,
        facts: SessionFacts,
        event: NewEvent,
        logs: Sequence[LogEntry] = (),
    ) -> StoredSession:
        """Raises SessionRace if somebody saved it since it was read."""

    def add_approval(self, approval: Approval) -> None:
        """Its event is the one that its subject is saved with, and has it as evidence."""

    def spend(self, approval_id: str, run_id: str) -> None:
        """The session became a run."""

    def add_run(self, run: Run, event: NewEvent, plan: RunPlan | None = None) -> None: ...
    def save_run(self, run: Run, event: NewEvent, revision: int | None = None) -> None: ...


class SessionStore(Log, Protocol):
    """The part of the ledger about planning sessions and runs."""

    def transaction(self) -> AbstractContextManager[SessionTransaction]: ...
    def find_session(self, name: str) -> str:
        """The id of the session, given its id or the beginning of it, with or without `planning-`."""

    def session(self, session_id: str) -> StoredSession: ...
    def session_ids(self) -> list[str]: ...
    def session_refs(self, *, open_only: bool = False) -> list[SessionRef]:
        """The newest first."""

    def find_run(self, name: str) -> str: ...
    def stored_run(self, run_id: str) -> StoredRun: ...
    def run_plan(self, run_id: str) -> RunPlan | None: ...
    def runs(self) -> list[Run]: ...
    def request_ids(self, day: str) -> set[str]: ...


class Transaction(Protocol):
    """One API call: saves all or nothing."""

    def plan(self, plan_id: str) -> StoredPlan: ...
    def add_plan(self, document: PlanDocument, *events: NewEvent, current: bool = True) -> StoredPlan:
        """The current plan from now on, if it is not said otherwise."""

    def save_plan(self, stored: StoredPlan, document: PlanDocument, *events: NewEvent) -> StoredPlan: ...
    def clear_current(self) -> None: ...
    def set_checking(self, plan_id: str | None) -> None:
        """The plan whose checks after its execution are under way."""

    def last_hash(self) -> str: ...
    def add_request(self, request: ApprovalRequest) -> None: ...
    def add_approval(self, approval: Approval) -> None:
        """Its event is the one that its subject is saved with, and has it as evidence."""

    def put_bytes(self, data: bytes, kept_until: str) -> None: ...
    def show_diffs(self, plan_id: str, diffs: Mapping[str, bytes]) -> None:
        """For people and editors only: the diffs are written beside the plan, not into the ledger."""

    def set_state(self, state: ProjectState) -> list[str]:
        """Replaces the previous one; returns the ids of open change plans of another snapshot."""

    def hold_back(self) -> None:
        """Delays writing files for people: another transaction follows at once and writes both."""

    def add_intent(self, intent: ExecutionIntent) -> None: ...
    def add_result(self, result: ExecutionResult) -> None: ...
    def start_command(self, start: CommandStart) -> None: ...
    def end_command(self, end: CommandEnd) -> None: ...
    def add_grant(self, grant: Grant) -> None:
        """Writes its own event: a grant belongs to no plan."""

    def revoke_grant(self, grant_id: str, reason: str, actor: Actor) -> None: ...
    def set_signers(self, approval: Approval, actor: Actor) -> None:
        """Whose signatures count from now on; writes its own event."""

    def note_checkout(self, reason: str, files: int) -> None:
        """Files changed without a plan."""


class Store(Log, Protocol):
    """The ledger. Reads see the last commit, and inside a transaction what it has written so far."""

    def transaction(self) -> AbstractContextManager[Transaction]: ...
    def one_moment(self) -> AbstractContextManager[None]:
        """Everything read inside is of one moment."""

    def find(self, name: str) -> str:
        """The id of the plan with this name: p7, an id, or the beginning of one."""

    def ref(self, plan_id: str) -> PlanRef: ...
    def plan(self, plan_id: str) -> StoredPlan: ...
    def record(self, plan_id: str) -> PlanRecord: ...
    def revision(self, plan_id: str) -> int: ...
    def project_state(self, snapshot_id: str | None = None) -> ProjectState | None:
        """The newest; None if it is of another snapshot than the given one."""

    def refs(
        self, *, limit: int | None = None, waiting: bool = False, discarded: bool = False
    ) -> list[PlanRef]: ...
    def get_bytes(self, sha256: str) -> bytes | None: ...
    def unfinished(self) -> tuple[ExecutionIntent, ...]: ...
    def intent(self, execution_id: str) -> ExecutionIntent | None: ...
    def requests(self, plan_id: str) -> tuple[ApprovalRequest, ...]: ...
    def executions(self, plan_id: str) -> tuple[StoredIntent, ...]: ...
    def commands(self, execution_id: str) -> tuple[StoredCommand, ...]: ...
    def plans_that_wrote(self, paths: Collection[str]) -> set[str]:
        """The ids of plans whose executions or commands name one of them."""

    def specs(self, plan_id: str, version: int) -> tuple[ActionSpecExt, ...]:
        """Of an earlier version, too."""

    def overlapping(self, plan_id: str, paths: Sequence[str]) -> dict[str, list[str]]:
        """Other open plans that change one of the paths: their ids, and the paths."""

    def grants(self) -> tuple[StoredGrant, ...]: ...
    def granted(self, grant_id: str) -> tuple[Approval, ...]:
        """The approvals that this standing approval was used for."""

    def forget_bytes(self, now: str) -> None: ...
    def current(self) -> str | None:
        """The plan that was proposed last, until it is carried out."""

    def checking(self) -> str | None: ...


class Upkeep(Protocol):
    """The ledger as a file, and the files in `.agent/` that are written from it."""

    def require_sound(self) -> str:
        """Checks that the ledger can be read and written; returns its path. Raises LedgerCorrupt."""

    def breaks(self, plan_id: str = "") -> list[Text]:
        """Every place where the ledger was changed; with a plan, in the chain and what is about that plan."""

    def is_read_only(self) -> bool: ...
    def is_older(self) -> bool:
        """Whether the ledger is an older copy of itself."""

    def accept_older(self) -> None:
        """From here on it counts."""

    def flush(self) -> None:
        """Writes pending changes to `.agent/` now."""

    def problem(self) -> RingiError | None:
        """Why the last write to `.agent/` failed."""

    def differences(self, subject_id: str = "") -> list[str]:
        """Files in `.agent/` that differ from the ledger; only those of the subject if one is given."""

    def foreign(self) -> list[str]:
        """Plans and sessions in `.agent/` that the ledger does not know."""

    def write_anew(self) -> None: ...
    def written_plans(self) -> list[Path]:
        """Plans in `.agent/`, whatever the ledger says; regular files only."""

    def written_sessions(self) -> list[Path]: ...
    def written_logs(self, session_id: str) -> dict[SessionStatus, Path]: ...


class LedgerFiles(Protocol):
    """The ledger of a workspace that was moved, or that is damaged."""

    def earlier(self) -> Path | None:
        """The earlier path of the workspace, if its ledger still belongs there."""

    def adopt(self) -> Path:
        """Assigns the ledger to the current path; returns the earlier one. Raises NothingToAdopt."""

    def set_aside(self) -> list[Path]:
        """Renames the damaged files; returns their new names."""
