"""The documents of runs in `.agent/` (RN-11); patches and logs are beside them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from ringi.approvals.document import Approval
from ringi.engine.run_plan import REQUEST_FILE, RunPlan
from ringi.errors import NotFound
from ringi.kernel import codec
from ringi.kernel.fs import publish
from ringi.ledger.agentfolder import AGENT_FOLDER, AgentFolder, Expected, Folder, Place
from ringi.ledger.subject import Subject, SubjectKind
from ringi.runs.document import Run, RunApproval, RunFacts, errors_of, stage_of

if TYPE_CHECKING:
    from ringi.app.store import Store

RUNS: Final = (AGENT_FOLDER, "runs")
BESIDE: Final = ("patches", "logs")
"""Folders that the runner fills."""
_NAMES: Final = ("planning.json", "stage.json", "report.md", "errors.json", REQUEST_FILE)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

Report = Callable[[Run, RunPlan | None, RunFacts], str]
"""Writes report.md."""


class RunDocuments:
    def __init__(self, agent: AgentFolder, most: int, report: Report) -> None:
        """At most so many of the newest are written out."""
        self._agent = agent
        self._most = most
        self._report = report

    def show(self, ledger: Store, changed: Collection[str], since: Collection[Subject]) -> None:
        """Writes the runs that changed, and those that changed since the last time."""
        ids = {*changed, *(name for kind, name in since if kind is SubjectKind.RUN)}
        if not ids:
            return
        newest, older = self._split_by_age(ledger)
        there = bool(self._agent.names(RUNS))
        for run_id in ids & newest if there else newest:
            self._write(ledger, ledger.runs.get(run_id))
        self._drop(older)

    def write_all(self, ledger: Store) -> None:
        newest, older = self._split_by_age(ledger)
        self._drop(older)
        for run_id in newest:
            self._write(ledger, ledger.runs.get(run_id))

    def places(self, ledger: Store, only: str = "") -> Iterator[Place]:
        newest, older = self._split_by_age(ledger)
        for run_id in sorted((newest | older).intersection([only]) if only else newest | older):
            run = ledger.runs.get(run_id)
            expected = partial(self._build_files, ledger, run)
            if (folder := folder_of(run)) is None:
                continue
            yield folder, expected if run_id in newest else partial(self._agent.those_there, folder, expected)

    def foreign(self, ledger: Store) -> list[str]:
        """Runs that the ledger does not know, as paths below the workspace."""
        there, known = self._there(), {*ledger.runs.ids()}
        # A ledger without any was lost.
        return sorted("/".join(folder) for folder in there if known and folder[-1] not in known)

    def _there(self) -> list[Folder]:
        requests = self._agent.names(RUNS)
        return [(*RUNS, request, run) for request in requests for run in self._agent.names((*RUNS, request))]

    def _split_by_age(self, ledger: Store) -> tuple[set[str], set[str]]:
        """The newest, and those too old to have files."""
        ids = ledger.runs.ids()
        border = max(0, len(ids) - self._most)
        return {*ids[border:]}, {*ids[:border]}

    def _drop(self, older: Collection[str]) -> None:
        for folder in self._there() if older else ():
            if folder[-1] in older:
                for name in BESIDE:
                    self._agent.drop((*folder, name), self._agent.names((*folder, name)))
                self._agent.drop(folder, _NAMES)
                self._agent.drop(folder[:-1], ())

    def _write(self, ledger: Store, run: Run) -> None:
        if (folder := folder_of(run)) is None:
            return
        wanted = self._build_files(ledger, run)
        with self._agent.folder(*folder) as at:
            for name, data in wanted.items():
                if isinstance(data, bytes):
                    publish(at, name, data)
        self._agent.remove(folder, [name for name, data in wanted.items() if data is None])

    def _build_files(self, ledger: Store, run: Run) -> Expected:
        plan = ledger.runs.plan(run.run_id)
        from ringi.runs.changed_steps import follow_plans  # noqa: PLC0415  # only a run needs it

        run = follow_plans(ledger, run, plan)
        errors = errors_of(run)
        return {
            "planning.json": codec.pretty(plan) if plan else None,
            "stage.json": codec.pretty(stage_of(run)),
            "report.md": self._report(run, plan, facts_of_run(ledger, run)).encode(),
            "errors.json": codec.pretty(errors) if errors else None,
            REQUEST_FILE: f"{run.instruction}\n".encode() if plan and _has_request(run, plan) else None,
        }


def _has_request(run: Run, plan: RunPlan) -> bool:
    """Whether its steps name the request beside it: no file of the project has it."""
    beside = "/".join([*RUNS[1:], run.request_id, run.run_id, REQUEST_FILE])
    return any(step.inputs.request_path == beside for step in plan.steps)


def folder_of(run: Run) -> Folder | None:
    """None if its names cannot be those of folders."""
    named = (run.request_id, run.run_id)
    return (*RUNS, *named) if all(map(_NAME.fullmatch, named)) else None


def facts_of_run(ledger: Store, run: Run) -> RunFacts:
    given = [
        ("", one)
        for name in (run.planning_session_id, run.run_id)
        if name
        for one in ledger.approvals.of(name)
    ]
    plans = plan_names(ledger, run)
    for step in run.steps:
        if step.step_id in plans:
            given += [(step.step_id, one) for one in ledger.approvals.of(step.plan_id)]
    return RunFacts(approvals=tuple(_approval(*one) for one in given), plans=plans)


def plan_names(ledger: Store, run: Run) -> dict[str, str]:
    """By step: the short name of its plan."""
    found: dict[str, str] = {}
    for step in run.steps:
        if step.plan_id:
            with contextlib.suppress(NotFound):  # chosen, but not proposed yet
                found[step.step_id] = ledger.plans.ref(step.plan_id).name
    return found


def _approval(step_id: str, given: Approval) -> RunApproval:
    proof = given.proof
    return RunApproval(
        step_id, given.approver, given.timestamp, proof.kind, proof.strength, proof.grant or ""
    )
