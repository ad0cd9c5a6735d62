"""A run as a command finds it, looks at it and watches it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

import msgspec

from ringi.app.store import Store
from ringi.approvals.grant_document import GrantSubject
from ringi.cli.app import App
from ringi.cli.arguments import require_long
from ringi.engine.process import Process, RevisionRecord
from ringi.engine.run_plan import RunPlan
from ringi.engine.run_state import OVER, RunPhase
from ringi.errors import NoRun
from ringi.kernel import codec
from ringi.kernel.lines import Line
from ringi.kernel.lock import PassingLock
from ringi.kernel.text import translate
from ringi.models.budget import by_phase
from ringi.runs.changed_steps import follow_plans
from ringi.runs.criteria import CriterionResult, criteria
from ringi.runs.document import Run, errors_of, stage_of
from ringi.runs.documents import plan_names
from ringi.runs.files import RunFiles
from ringi.runs.report import status_of
from ringi.runs.view import phase_now, run_lines, step_facts

GOING_ON: Final = frozenset(RunPhase) - OVER
_WAIT_SEC: Final = 2.0
_TAIL: Final = 4000
_AGAIN_SEC: Final = 0.5
_SMALL: Final = 24
"""Rows of a terminal that does not know its size."""
_STILL, _FOLDING = "\x1b[?7l", "\x1b[?7h"
"""A line that is too long for the terminal is cut, so that each takes one row."""


class Looked(NamedTuple):
    run: Run
    plan: RunPlan | None
    working: bool
    """Somebody carries it out just now."""
    printed: tuple[str, ...]
    """The last lines of what its command printed."""
    plans: Mapping[str, str]
    """By step: the short name of its plan, such as p7."""
    standing: tuple[tuple[str, str], ...] = ()
    """Standing approvals for its steps that nobody revoked: id, and until when."""
    processes: tuple[Process, ...] = ()
    """How its steps were worked on by a model."""

    def lines(self, most: int = 99) -> Iterator[Line]:
        return run_lines(
            self.run,
            self.plan,
            self.printed,
            self.plans,
            working=self.working,
            most=most,
            standing=self.standing,
            processes=self.processes,
        )


class RunReader:
    """Only reads; opens no workspace, so that it can look again and again."""

    def __init__(self, app: App) -> None:
        self._places = app.places
        self.ledger = Store(app.places.state, _WAIT_SEC)

    def find(self, name: str | None, phases: Collection[RunPhase] = frozenset(RunPhase)) -> str:
        """By its id or the beginning of it; without a name, the newest in one of these phases."""
        if name is not None:
            require_long(name)
            return self.ledger.runs.find(name)
        for run_id in reversed(self.ledger.runs.ids()):
            if self.ledger.runs.get(run_id).phase in phases:
                return run_id
        raise NoRun

    def look(self, run_id: str) -> Looked:
        working = lock_of(self._places.state, run_id).is_held()
        with self.ledger.one_moment():
            plan = self.ledger.runs.plan(run_id)
            run = follow_plans(self.ledger, self.ledger.runs.get(run_id), plan)
            plans = plan_names(self.ledger, run)
            standing = tuple(self._standing(run)) if run.phase not in OVER else ()
            processes = tuple(self.ledger.processes.of(run_id))
        printed = self._last_output(run) if working else ()
        return Looked(run, plan, working, printed, plans, standing, processes)

    def _standing(self, run: Run) -> Iterator[tuple[str, str]]:
        for grant, revoked_at in self.ledger.grants.all():
            subject = codec.decode_own(grant.subject.encode(), GrantSubject, "standing approval")
            if revoked_at is None and subject.scope.run and subject.scope.run.run_id == run.run_id:
                yield grant.id, subject.expires_at

    def _last_output(self, run: Run) -> tuple[str, ...]:
        files = RunFiles(self._places.root, run.request_id, run.run_id, str)
        lines = files.tail(files.newest_log(), _TAIL).splitlines() if run.request_id else []
        return tuple(line for line in lines if line.strip())


@contextlib.contextmanager
def reading(app: App) -> Iterator[RunReader]:
    reader = RunReader(app)
    try:
        yield reader
    finally:
        reader.ledger.close()


def lock_of(state: Path, run_id: str, wait_sec: float = _WAIT_SEC) -> PassingLock:
    """Held by the process that carries out the run."""
    return PassingLock(state / f"{run_id}.lock", wait_sec)


def document(looked: Looked) -> dict[str, Any]:
    run = looked.run
    found: dict[str, Any] = {**msgspec.to_builtins(run), **stage_of(run), "working": looked.working}
    found["plans"] = dict(looked.plans)
    found["shown"] = _terminal_document(looked)
    found["tokens_by_phase"] = {str(phase): count for phase, count in by_phase(run.spent).items()}
    if looked.plan:
        found["criteria"] = [_criterion(one) for one in criteria(run, looked.plan)]
    if revisions := [_revision(one, record) for one in looked.processes for record in one.revisions]:
        found["revisions"] = revisions
    if errors := errors_of(run):
        found["errors"] = errors
    return found


def _terminal_document(looked: Looked) -> dict[str, Any]:
    """As a terminal shows it, in the reader's language."""
    run = looked.run
    titles = {step.step_id: step.title for step in looked.plan.steps} if looked.plan else {}
    steps = [
        {
            "step_id": state.step_id,
            "title": titles.get(state.step_id, ""),
            "facts": [translate(fact) for fact in step_facts(state, status_of(run, state))],
        }
        for state in run.steps
    ]
    phase = translate(phase_now(run, working=looked.working))
    return {"phase": phase, "why": translate(run.stop.why) if run.stop else "", "steps": steps}


def _revision(process: Process, record: RevisionRecord) -> dict[str, Any]:
    return {
        "step_id": process.step_id,
        "number": record.number,
        "by": record.by,
        "strategy": record.strategy,
        "reason": record.revision.reason or "",
        "approved": record.approved,
    }


def _criterion(one: CriterionResult) -> dict[str, Any]:
    return {
        "id": one.criterion.id,
        "verdict": one.verdict,
        "lacks": str(one.lacks) if one.lacks else None,
        "steps": [step.step.step_id for step in one.steps],
        "commits": [step.state.commit for step in one.steps if step.state.commit],
        "evidence": one.evidence,
    }


def show(app: App, looked: Looked) -> None:
    app.ui.show(looked.lines())


def watch(app: App, reader: RunReader, run_id: str) -> Looked:
    """Draws it again and again in the same place until nobody works on it any more."""
    out, rows = app.ui.out, 0
    looked = reader.look(run_id)
    try:
        while looked.working:
            text = "\n".join(_fitting(app, looked, _height(out) - 1))
            out.write(f"{_back(rows)}{_STILL}{text}\n{_FOLDING}")
            out.flush()
            rows = text.count("\n") + 1
            time.sleep(_AGAIN_SEC)
            looked = reader.look(run_id)
    finally:
        out.write(_FOLDING)
    out.write(_back(rows))
    return looked


def _fitting(app: App, looked: Looked, height: int) -> list[str]:
    """As many steps as fit, around the current one; in a narrow terminal each takes several rows."""
    most = max(1, height)
    while True:
        rows = [*app.ui.rows(looked.lines(most))]
        if len(rows) <= height or most == 1:
            return rows[:height]
        most = max(1, min(most - 1, most * height // len(rows)))


def _back(rows: int) -> str:
    return f"\x1b[{rows}F\x1b[J" if rows else ""


def _height(out: TextIO) -> int:
    try:
        return os.get_terminal_size(out.fileno()).lines or _SMALL
    except (OSError, ValueError):
        return _SMALL
