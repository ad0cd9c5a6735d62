"""Checks before and after an execution (PT-16): for real, and as a dry run on copies."""

from collections.abc import Sequence
from typing import Final

from ringi.domain.approval import FileChange
from ringi.domain.plan import (
    OPEN,
    PLAN_MACHINE,
    ActionSpecExt,
    CheckPhase,
    CheckResult,
    PlanDocument,
    PlannedChecks,
    PlanStatus,
    selected,
)
from ringi.errors import CheckFailed, Failed, InvalidSpecs, NoSandbox, Refused, Stale, Usage
from ringi.plans.approving import files_of
from ringi.plans.changing import refuse_superseded
from ringi.plans.effects import Invalid
from ringi.plans.looking import differing
from ringi.plans.parts import Parts
from ringi.plans.proposing import add_checks, effects_now, require_as_seen
from ringi.ports import StoredPlan
from ringi.text import Text

CANNOT_RUN: Final = 126
"""As a shell says of what is there and cannot be run."""

Files = dict[str, tuple[bytes, int] | None]


def require_before(parts: Parts, stored: StoredPlan, planned: PlannedChecks) -> tuple[CheckResult, ...]:
    """Raises CheckFailed where one fails; nothing was changed, and the plan tells what the checks said."""
    results = parts.check(planned.before, {}, CheckPhase.BEFORE) if planned.before else ()
    for result in results:
        if result.exit_code:
            _record(parts, stored, results)
            raise CheckFailed(
                plan=f"p{stored.number}",
                command=result.command,
                exit_code=result.exit_code,
                became=Text("nothing was changed"),
            )
    return results


def after(parts: Parts, planned: PlannedChecks) -> tuple[CheckResult, ...]:
    """On the workspace as it is now that the plan was carried out.

    The files are changed by now: a check that could not be run is one that did not pass, not an error.
    """
    if not planned.after:
        return ()
    try:
        return parts.check(planned.after, {}, CheckPhase.AFTER)
    except (Failed, Refused, Usage) as error:
        return (CheckResult(planned.after[0], CANNOT_RUN, 0.0, "", str(error), CheckPhase.AFTER),)


def dry(parts: Parts, stored: StoredPlan) -> tuple[CheckResult, ...]:
    """All checks, those after on a copy with the plan's changes; the workspace stays as it is."""
    state = stored.document.state
    refuse_superseded(stored)
    if state.status not in OPEN:
        PLAN_MACHINE.advance(state.status, PlanStatus.SCHEDULED)  # refused in the machine's own words
    files = _files_after(parts, stored)
    # Not those of today's configuration: an execution runs what the plan was set with, or nothing.
    planned = state.planned_checks or PlannedChecks()
    results = parts.check(planned.before, {}, CheckPhase.BEFORE) if planned.before else ()
    results += parts.check(planned.after, files, CheckPhase.DRY) if planned.after else ()
    if results:
        _record(parts, stored, results)
    return results


def commands_of(document: PlanDocument) -> tuple[str, ...]:
    """What says whether the plan's changes are good: its proposer's checks, and those for after."""
    state = document.state
    planned = state.planned_checks.after if state.planned_checks else ()
    return tuple(dict.fromkeys((*(state.check_commands or ()), *planned)))


def again(parts: Parts, stored: StoredPlan) -> tuple[CheckResult, ...]:
    """The plan's checks on a copy with its changes as they are now. Raises NoSandbox where there is none:

    whoever only wanted to look at a plan has not said that its code may run.
    """
    refuse_superseded(stored)
    commands = commands_of(stored.document)
    if not commands:
        return ()
    if not parts.check.sandboxed():
        raise NoSandbox(why=Text("the checks of a plan under review run in one only"))
    results = parts.check(commands, _files_after(parts, stored), CheckPhase.DRY)
    _record(parts, stored, results)
    return results


def _record(parts: Parts, stored: StoredPlan, results: Sequence[CheckResult]) -> None:
    """Checks take their time; a plan that has other specs by now must not show these results as its own."""
    plan_id = stored.document.plan.id
    require_as_seen(parts.store.plan(plan_id), stored.document)
    add_checks(parts, plan_id, results)


def _files_after(parts: Parts, stored: StoredPlan) -> Files:
    """What the chosen specs leave, by path; specs whose effect is not known beforehand leave nothing."""
    name, state = f"p{stored.number}", stored.document.state
    specs = selected(state.action_specs, state.selection)
    if state.status is PlanStatus.ABORTED:
        specs = tuple(spec for spec in specs if not _carried_out(parts, spec))
    for spec in specs:
        if not spec.validated:
            raise InvalidSpecs(plan=name, issues=spec.notes)
    if wrong := differing(parts.tree, files_of(specs)):
        raise Stale(plan=name, paths=", ".join(wrong))
    files: Files = {}
    for spec in specs:
        try:
            files |= _files_of(parts, spec)
        except Invalid as error:
            raise InvalidSpecs(plan=name, issues=error.why) from None
    return files


def _carried_out(parts: Parts, spec: ActionSpecExt) -> bool:
    left = [FileChange(spec.id, file.path, file.after, file.after) for file in spec.touched]
    return bool(left) and not differing(parts.tree, left)


def _files_of(parts: Parts, spec: ActionSpecExt) -> Files:
    new = {effect.path: effect.new for effect in effects_now(parts, spec)}
    files: Files = {}
    for file in spec.touched:
        if file.before == file.after or (file.after and file.after.folder):
            continue  # only read; or a folder, which a copy has as soon as there is something in it
        data = new.get(file.path)
        files[file.path] = (data, int(file.after.mode, 8)) if file.after and data is not None else None
    return files
