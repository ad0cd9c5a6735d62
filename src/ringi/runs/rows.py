"""The runs that approved planning sessions became."""

import sqlite3
from typing import Final

from msgspec.structs import replace

from ringi.approvals.forge import ForgeTerms
from ringi.engine.run_plan import RunPlan
from ringi.engine.run_state import RunPhase
from ringi.errors import BadDocument, NotFound, RunRace, SessionRace
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.ledger import subject
from ringi.ledger.connection import Row, as_bytes
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.events import EventFacts, text_of
from ringi.ledger.ledger import Ledger
from ringi.ledger.subject import short
from ringi.runs.document import Run, StepState, StoredRun, review_of

_RUN: Final = "SELECT document, revision FROM runs WHERE id = ?"
_RUN_PLAN: Final = "SELECT plan FROM runs WHERE id = ?"
_ADD_RUN: Final = (
    "INSERT INTO runs (at, id, revision, document, last_event, plan)"
    " VALUES ((SELECT COALESCE(MAX(at), 0) + 1 FROM runs), ?, 1, ?, ?, ?)"
)
_SAVE_RUN: Final = "UPDATE runs SET revision = revision + 1, document = ?, last_event = ? WHERE id = ?"
_AS_READ: Final = _SAVE_RUN + " AND revision = ?"
_REQUEST_IDS: Final = (
    "SELECT json_extract(facts, '$.runPlan.request_id') FROM sessions WHERE instr(facts, ?1)"
    " UNION SELECT json_extract(document, '$.request_id') FROM runs WHERE instr(document, ?1)"
)
_RUNS: Final = "SELECT document FROM runs ORDER BY at DESC"
_RUN_IDS: Final = "SELECT id FROM runs ORDER BY at"
_RUNS_FROM: Final = "SELECT id FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT 5"


class Runs:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def find(self, name: str) -> str:
        """The id of the run, given its id or the beginning of it."""
        found = self._ledger.find_id(_RUNS_FROM, name, name.lower(), name.lower())
        if found is None:
            raise no_run(name)
        return found

    def get(self, run_id: str) -> Run:
        found = self._ledger.select(_RUN, run_id)
        if not found:
            raise no_run(run_id)
        return _as_run(found[0])

    def get_stored(self, run_id: str) -> StoredRun:
        found = self._ledger.select(_RUN, run_id)
        if not found:
            raise no_run(run_id)
        return StoredRun(_as_run(found[0]), int(str(found[0][1])))

    def plan(self, run_id: str) -> RunPlan | None:
        """Its planning.json, or None if it has none. Raises BadDocument if it is not what the run says."""
        with self._ledger.one_moment():
            run, found = self.get(run_id), self._ledger.select(_RUN_PLAN, run_id)
        if not found or found[0][0] is None:
            return None
        data = as_bytes(found[0][0])
        if codec.digest(data) != run.plan_sha256:
            why = Text("it is not the one that run {run} was approved with", run=run_id)
            raise BadDocument(what="planning.json", why=why)
        return codec.decode_own(data, RunPlan, "planning.json")

    def request_ids(self, day: str) -> set[str]:
        """Of runs, and of sessions that have a plan for one."""
        return {str(row[0]) for row in self._ledger.select(_REQUEST_IDS, f"RQ-{day}-")}

    def ids(self) -> list[str]:
        """In the order they were made."""
        return [str(row[0]) for row in self._ledger.select(_RUN_IDS)]

    def all(self) -> list[Run]:
        """The newest first."""
        return [_as_run(row) for row in self._ledger.select(_RUNS)]

    @staticmethod
    def waiting(
        plan: RunPlan,
        session_id: str,
        instruction: str,
        now: str,
        created_by: str,
        *,
        forge: ForgeTerms | None = None,
        **more: object,
    ) -> Run:
        """A run of this plan in phase planning, to be added; `more` are other fields of it."""
        run = Run(
            run_id=plan.run_id,
            planning_session_id=session_id,
            phase=RunPhase.PLANNING,
            instruction=instruction,
            created_at=now,
            updated_at=now,
            created_by=created_by,
            request_id=plan.request_id,
            plan_sha256=codec.digest(codec.canonical(plan)),
            work_branch=plan.work_branch,
            base_branch=plan.base_branch,
            steps=tuple(StepState(step_id=step.step_id) for step in plan.steps),
            forge=forge,
            review=review_of(forge),
        )
        return replace(run, **more)

    def add(self, run: Run, event: NewEvent, plan: RunPlan | None = None) -> None:
        """With its planning.json, which never changes; `run` has its hash. A run that it replaces is told."""
        text, planned = text_of(run), text_of(plan) if plan else None
        if planned is not None and codec.digest(planned.encode()) != run.plan_sha256:
            raise ValueError("the run does not name this planning.json")
        if run.replaces:
            self._tell_replaced(run)
        hash_ = self._note_run(run, text, event)
        try:
            self._ledger.execute(_ADD_RUN, run.run_id, text, hash_, planned)
        except sqlite3.IntegrityError:
            # Started in the same second with the same digits: try again with others.
            raise SessionRace(session=short(run.planning_session_id)) from None

    def _tell_replaced(self, run: Run) -> None:
        try:
            stored = self.get_stored(run.replaces)
        except NotFound:
            return
        before = replace(stored.run, replaced_by=run.run_id, updated_at=run.created_at)
        event = NewEvent(EventKind.RUN_ADVANCED, Actor.SYSTEM, f"replaced by {run.run_id}")
        self.save(before, event, stored.revision)

    def save(self, run: Run, event: NewEvent, revision: int | None = None) -> None:
        """Raises RunRace if it was saved since that revision was read."""
        text = text_of(run)
        hash_ = self._note_run(run, text, event)
        values = (text, hash_, run.run_id)
        if revision is None:
            saved = self._ledger.execute(_SAVE_RUN, *values).rowcount
        else:
            saved = self._ledger.execute(_AS_READ, *values, revision).rowcount
        if saved != 1:
            raise no_run(run.run_id) if revision is None else RunRace(run=run.run_id)

    def _note_run(self, run: Run, text: str, event: NewEvent) -> str:
        about = subject.run(run.run_id)
        self._ledger.changed.saved[about] = run
        return self._ledger.append(EventFacts(about, text), event)


def no_run(name: str) -> NotFound:
    return NotFound(what=Text("run"), name=name, see="ringi status")


def _as_run(row: Row) -> Run:
    return codec.decode_own(as_bytes(row[0]), Run, "run")
