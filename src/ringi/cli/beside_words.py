"""What `ringi with` says."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ringi.api.beside import Taken
from ringi.api.beside_copies import plan_of
from ringi.api.beside_resume import Handed
from ringi.api.beside_walls import Walls
from ringi.api.workspace import Workspace
from ringi.cli.ui import Ui
from ringi.domain.plan import PlanRef, PlanStatus
from ringi.process.terminal import Ended
from ringi.text import Text
from ringi.views import words
from ringi.workspace.copy import WorkCopy


def tell_copy(ui: Ui, copy: WorkCopy) -> None:
    for name in copy.nested:
        ui.line(Text("! not in the copy: {path} (a repository of its own)", path=name), style="yellow")
    for name in copy.unreadable:
        ui.line(Text("! not in the copy: {path} (it cannot be read)", path=name), style="yellow")
    if copy.left_behind:
        shown = ", ".join(copy.left_behind[:5])
        ui.line(Text("Ignored by git, so not in the copy: {paths}", paths=shown), style="dim")
        option = f"--carry {shlex.quote(copy.left_behind[0].rstrip('/'))}"
        ui.line(Text("If the agent needs one: {option}", option=option), style="dim", indent=2)


def tell_walls(ui: Ui, walls: Walls, writable: Sequence[Path]) -> None:
    if walls.bwrap is None:
        line = Text(
            "NOT in a sandbox ({why}): nothing keeps the command from writing elsewhere.", why=walls.why or ""
        )
        ui.line(line, style="yellow")
    elif writable:
        places = words.some([str(path) for path in writable], 6)
        ui.line(Text("In a sandbox: it can write to its copy, a /tmp of its own, {places}.", places=places))
    else:
        ui.line(Text("In a sandbox: it can write to its copy and a /tmp of its own."))


def tell_handed(ui: Ui, copy: WorkCopy, handed: Handed) -> None:
    ui.line(Text("Going on in {path}", path=str(copy.tree)), style="dim")
    if handed.laid:
        ui.line(Text("Laid in, as you left it: {paths}", paths=words.some(handed.laid)))
    for path in handed.not_laid:
        ui.line(Text("! not laid in, the agent went on with it: {path}", path=path), style="yellow")
    if handed.as_file:
        ui.line(Text("What you said is in {path} ($RINGI_FEEDBACK).", path=str(handed.feedback)))
    else:
        ui.line(Text("What you said is its first message; it is also in {path}", path=str(handed.feedback)))


def tell_ended(ui: Ui, ended: Ended, name: str) -> None:
    if ended.leftovers:
        line = Text("{count} processes it had left running were ended.", count=ended.leftovers)
        ui.line(line, style="yellow")
    if ended.survivors:
        line = Text("{count} processes it left running could not be ended.", count=ended.survivors)
        ui.line(line, style="red")
    if ended.exit_code:
        line = Text("{command} ended with exit code {code}.", command=name, code=ended.exit_code)
        ui.line(line, style="yellow")


def tell_taken(ui: Ui, copy: WorkCopy, taken: Taken) -> None:
    for path, why in taken.left_out:
        ui.line(Text("! not in the plan: {path} ({why})", path=path, why=why), style="yellow")
    if taken.plan is None:
        ui.line(Text("It changed nothing in its copy; there is no plan."))
    elif taken.empty:
        line = Text("It took back all it had changed; {plan} stays as it was.", plan=taken.plan.name)
        ui.line(line, style="yellow")
        ui.next_step(f"ringi review {taken.plan.name}")
    elif not taken.new:
        ui.line(Text("It changed nothing more; {plan} stays as it was.", plan=taken.plan.name))
        ui.next_step(f"ringi review {taken.plan.name}")
    else:
        _tell_plan(ui, taken, taken.plan)
    if taken.left_out:
        line = Text("The copy is kept for what is not in the plan: {path}", path=str(copy.tree))
        ui.line(line, indent=2)


def _tell_plan(ui: Ui, taken: Taken, ref: PlanRef) -> None:
    for problem in taken.problems:
        ui.line(Text("! {problem}", problem=problem), style="yellow")
    for result in taken.checks:
        ui.line(words.check(result), style="green" if result.exit_code == 0 else "red")
    if taken.checks_changed_files:
        ui.line(Text("! the checks changed files in the copy; that is not in the plan"), style="yellow")
    if taken.no_commit is not None:
        ui.line(Text("! it will not be committed: {why}", why=taken.no_commit), style="yellow")
    for other in taken.overlaps:
        line = Text(
            "! {other} ({title}) changes the same: {paths}",
            other=other.name,
            title=other.title,
            paths=words.some(other.paths),
        )
        ui.line(line, style="yellow")
    if taken.meanwhile:
        line = Text(
            "! you changed {plan} while the agent worked; version {version} has that, the newest one has not",
            plan=ref.name,
            version=taken.meanwhile,
        )
        ui.line(line, style="yellow")
    if taken.again:
        ui.line(Text("{plan} is now version {version}.", plan=ref.name, version=ref.version))
    ui.line(
        Text("{name}  {title}   {size}   {risk}", name=ref.name, title=ref.title,
             size=words.size(ref.files, ref.added, ref.removed), risk=words.RISK[ref.risk]),
        style="bold",
    )  # fmt: skip
    ui.line(Text("ringi has not touched your files."), indent=2)
    if ref.status is PlanStatus.APPROVED:
        ui.line(Text("A standing approval covers it."), style="green", indent=2)
        ui.next_step(f"ringi execute {ref.name}")
    else:
        ui.next_step(f"ringi review {ref.name}")


def tell_abandoned(ui: Ui, copies: Sequence[WorkCopy]) -> None:
    for copy in copies:
        line = Text("! the work of an agent that was cut off is not a plan yet: {path}", path=str(copy.tree))
        ui.line(line, style="yellow")
    if copies:
        ui.line(Text("Go on with it: {command}", command="ringi with --resume"), indent=2)
        ui.line(Text("Or make it a plan: {command}", command="ringi doctor --repair"), indent=2)


def tell_cut_off(ui: Ui, workspace: Workspace, copy: WorkCopy) -> None:
    """Something went wrong after the agent had worked; its work is somewhere, and this says where."""
    if copy.is_gone:  # the command deleted it; there is nothing to keep
        if copy.folder.is_dir() and not copy.record.plan_id:
            copy.remove()
        return
    plan = plan_of(workspace, copy) if copy.record.taken else None
    if plan is not None:
        line = Text("The work is in {plan}; what came after was cut off.", plan=plan.name)
        ui.line(line, style="yellow")
        ui.next_step(f"ringi review {plan.name}")
        return
    ui.line(Text("The agent's copy is kept: {path}", path=str(copy.tree)), style="yellow")
    ui.next_step("ringi doctor --repair")


def document_of(taken: Taken, code: int) -> dict[str, Any]:
    return {
        "plan": taken.plan,
        "new_version": taken.again and taken.new,
        "exit_code": code,
        "checks": taken.checks,
        "issues": [str(problem) for problem in taken.problems],
        "left_out": [{"path": path, "why": str(why)} for path, why in taken.left_out],
        "overlaps": taken.overlaps,
    }
