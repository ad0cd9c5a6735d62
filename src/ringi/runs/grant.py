"""A standing approval for a run, as wide as its plan unless the person says otherwise."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UNSET

from ringi.agents.sandbox import agent_sandbox
from ringi.approvals.grant_document import GrantScope, GrantSubject, RunTerms
from ringi.engine.run_plan import RunPlan, RunRole
from ringi.errors import BadGrant, NoCommit, NotFound
from ringi.kernel.text import Text
from ringi.ledger.subject import requester_of_run
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import CHANGING
from ringi.runs.start import require_no_main_branch, require_open

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

MOST_FILES: Final = 1_000_000
"""Only lines and steps are counted for a run."""


class GrantOptions(NamedTuple):
    """Where nothing is said, the plan of the run decides."""

    globs: tuple[str, ...] = ()
    lines: int | None = None
    risk: Risk = Risk.MEDIUM
    hooks: bool = False
    """The repository's hooks may run with each commit."""


def draft_for_run(workspace: Workspace, name: str, wanted: GrantOptions, expires_at: str) -> GrantSubject:
    """What to sign. Raises BadGrant if the run could not use it, RunOver, MainBranch, NotFound."""
    run = workspace.store.runs.get(workspace.store.runs.find(name))
    plan = workspace.store.runs.plan(run.run_id)
    if plan is None:
        raise NotFound(what=Text("planning.json"), name=run.run_id, see=f"ringi status {run.run_id}")
    require_open(run)
    if why := workspace.permits.check_always_asked(run.created_by, workspace.person.user()):
        raise BadGrant(why=why)
    require_no_main_branch(workspace, run)
    lines = wanted.lines or sum(
        min(step.scope.max_diff_lines, plan.limits.max_diff_lines) for step in plan.steps
    )
    dollars = workspace.config.runs.dollar_limit
    terms = RunTerms(
        run_id=run.run_id,
        plan_sha256=run.plan_sha256,
        branch=run.work_branch,
        steps=len(plan.steps),
        dollars=UNSET if dollars is None else dollars,
        hooks=_hooks(workspace, run.run_id, allowed=wanted.hooks),
    )
    scope = GrantScope(
        requester=requester_of_run(run.run_id),
        globs=wanted.globs or tuple(dict.fromkeys(_globs(workspace, plan))),
        kinds=tuple(sorted(CHANGING)),
        max_risk=wanted.risk,
        files_per_use=MOST_FILES,
        lines_per_use=lines,
        files_total=MOST_FILES,
        lines_total=lines,
        run=terms,
    )
    _require_unseen(workspace)
    return workspace.grants.draft(scope, expires_at)


def _require_unseen(workspace: Workspace) -> None:
    """Code that no person has looked at does not run outside a sandbox: every step would wait."""
    sandbox, checks = agent_sandbox(workspace), workspace.checks
    if sandbox.bwrap is None:
        raise BadGrant(why=Text("the tests of its steps need a sandbox: {why}", why=sandbox.why or Text("")))
    if checks.before or checks.after:
        why = Text("the configured checks would run code that nobody has looked at outside a sandbox")
        raise BadGrant(why=why)


def _hooks(workspace: Workspace, run_id: str, *, allowed: bool) -> tuple[str, ...]:
    found: tuple[str, ...] = ()
    with suppress(NoCommit):  # the run says so
        found = workspace.commits().place(()).hooks
    if found and not allowed:
        why = Text("the hook {hook} runs with each commit, outside a sandbox. To allow it: {command}",
                   hook=", ".join(found), command=f"ringi grant new --run {run_id} --hooks")  # fmt: skip
        raise BadGrant(why=why)
    return found


def _globs(workspace: Workspace, plan: RunPlan) -> Iterator[str]:
    """The paths of its steps; a name that is no file yet may become a folder."""
    for step in plan.steps:
        if step.role is not RunRole.IMPLEMENTER:
            continue
        if not step.scope.target_paths:
            yield "**"
        for path in step.scope.target_paths:
            name = path.strip("/").removeprefix("./")
            if name in {"", "."}:
                yield "**"
                continue
            there = workspace.places.root / name
            if not (path.endswith("/") or there.is_dir()):
                yield glob.escape(name)
            if path.endswith("/") or there.is_dir() or not (there.is_file() or PurePosixPath(name).suffix):
                yield f"{glob.escape(name)}/**"
