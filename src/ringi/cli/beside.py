"""`ringi with`: an agent works in a copy; what it changed becomes a plan."""

import shlex
import time
from collections.abc import Sequence
from gettext import gettext as _

import click

from ringi.api import beside
from ringi.cli import words
from ringi.cli.app import App, pass_app
from ringi.domain.plan import PlanStatus
from ringi.errors import NoSuchProgram
from ringi.text import Text
from ringi.workspace.copy import WorkCopy


@click.command("with", context_settings={"allow_interspersed_args": False})
@click.option(
    "--check",
    "checks",
    multiple=True,
    metavar="CMD",
    help="Run CMD in the copy afterwards; its result is shown.",
)
@click.option(
    "--carry", multiple=True, metavar="PATH", help="Bring an ignored folder such as node_modules along."
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@pass_app
def with_(app: App, checks: tuple[str, ...], carry: tuple[str, ...], command: tuple[str, ...]) -> None:
    """Run COMMAND, usually an agent, in a copy of the project.

    It edits and tests freely there; your files do not change. When it ends, the difference becomes a plan.
    """
    if not all(check.strip() for check in checks):
        raise click.BadParameter(_("a check needs a command"), param_hint="--check")
    ui, settings = app.ui, app.workspace.configuration.config.beside
    started = time.monotonic()
    ui.line(Text("Making a copy of the project …"), style="dim")
    carried = (*settings.carry, *carry)
    copy = beside.make_copy(app.workspace, command, carried, lambda text: ui.line(text, style="dim"))
    for name in copy.nested:
        ui.line(Text("! not in the copy: {path} (a repository of its own)", path=name), style="yellow")
    for name in copy.unreadable:
        ui.line(Text("! not in the copy: {path} (it cannot be read)", path=name), style="yellow")
    if copy.left_behind:
        _tell_left_behind(app, copy)
    took = round(time.monotonic() - started, 1)
    ui.line(Text("Ready in {seconds} s: {path}", seconds=took, path=str(copy.tree)), style="dim")
    try:
        code = _run(app, copy, command)
        complete = _take(app, copy, command, (*settings.checks, *checks), code)
    except NoSuchProgram:
        copy.remove()
        raise
    except BaseException:
        _keep(app, copy)
        raise
    if complete:
        copy.remove()
    else:
        copy.mark_taken()
        ui.line(Text("The copy is kept for what is not in the plan: {path}", path=str(copy.tree)), indent=2)
    if code:
        raise click.exceptions.Exit(1)


def _keep(app: App, copy: WorkCopy) -> None:
    if not copy.tree.is_dir():  # the command deleted it; there is nothing to keep
        copy.remove()
        return
    app.ui.line(Text("The agent's copy is kept: {path}", path=str(copy.tree)), style="yellow")
    app.ui.next_step("ringi doctor --repair")


def _tell_left_behind(app: App, copy: WorkCopy) -> None:
    shown = ", ".join(copy.left_behind[:5])
    app.ui.line(Text("Ignored by git, so not in the copy: {paths}", paths=shown), style="dim")
    folder = copy.left_behind[0].rstrip("/")
    app.ui.line(
        Text("If the agent needs one: {option}", option=f"--carry {shlex.quote(folder)}"),
        style="dim",
        indent=2,
    )


def _run(app: App, copy: WorkCopy, command: Sequence[str]) -> int:
    ui = app.ui
    try:
        ended = beside.run_agent(copy, command, app.environment, output=ui.out.fileno())
    except (FileNotFoundError, PermissionError):
        raise NoSuchProgram(name=command[0]) from None
    if ended.leftovers:
        ui.line(
            Text("{count} processes it had left running were ended.", count=ended.leftovers), style="yellow"
        )
    if ended.survivors:
        ui.line(
            Text("{count} processes it left running could not be ended.", count=ended.survivors), style="red"
        )
    if ended.exit_code:
        ui.line(
            Text("{command} ended with exit code {code}.", command=command[0], code=ended.exit_code),
            style="yellow",
        )
    return ended.exit_code


def _take(app: App, copy: WorkCopy, command: Sequence[str], checks: Sequence[str], code: int) -> bool:
    """Whether all that the agent changed is in the plan."""
    ui = app.ui
    taken = beside.take(
        app.workspace,
        copy,
        command,
        checks=checks,
        environment=app.environment,
        on_check=lambda check: ui.line(Text("Checking: {command} …", command=check), style="dim"),
    )
    for path, why in taken.left_out:
        ui.line(Text("! not in the plan: {path} ({why})", path=path, why=why), style="yellow")
    if ui.as_json:
        ui.document(
            {
                "plan": taken.plan,
                "exit_code": code,
                "checks": taken.checks,
                "issues": [str(problem) for problem in taken.problems],
                "left_out": [{"path": path, "why": str(why)} for path, why in taken.left_out],
            }
        )
    if taken.plan is None:
        ui.line(Text("It changed nothing in its copy; there is no plan."))
        return not taken.left_out
    for problem in taken.problems:
        ui.line(Text("! {problem}", problem=problem), style="yellow")
    for result in taken.checks:
        ui.line(words.check(result), style="green" if result.exit_code == 0 else "red")
    if taken.checks_changed_files:
        ui.line(Text("! the checks changed files in the copy; that is not in the plan"), style="yellow")
    ref = taken.plan
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
    return not taken.left_out
