"""`ringi with`: an agent works in a copy; what it changed becomes a plan."""

import os
import time
from collections.abc import Sequence
from gettext import gettext as _
from pathlib import Path

import click

from ringi.api import beside
from ringi.api.beside_copies import abandoned
from ringi.api.beside_resume import Handed, find_copy, go_on
from ringi.api.beside_walls import Walls, program_of, walls_of, writable_places
from ringi.cli import beside_words
from ringi.cli.app import App, pass_app
from ringi.domain.plan import PlanStatus
from ringi.errors import NoSuchProgram
from ringi.integrations.notify import notify
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
@click.option("--commit", is_flag=True, help="What is approved is committed, and not only written.")
@click.option(
    "--resume",
    metavar="[PLAN]",
    is_flag=False,
    flag_value="",
    help="Go on with a plan in its copy: the agent is told what you said. Words after -- go to the agent.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@pass_app
def with_(
    app: App,
    checks: tuple[str, ...],
    carry: tuple[str, ...],
    commit: bool,
    resume: str | None,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND, usually an agent, in a copy of the project.

    It edits and tests freely there; your files do not change. When it ends, the difference becomes a plan.
    claude, codex, gemini, aider and opencode need nothing more: ringi with claude
    """
    if not all(check.strip() for check in checks):
        raise click.BadParameter(_("a check needs a command"), param_hint="--check")
    if resume is None and not command:
        raise click.UsageError(_("which command? For example: ringi with claude"))
    if resume is not None and carry:
        raise click.UsageError(_("--carry belongs to a new copy, not to --resume"))
    walls = walls_of(app.workspace)
    for told in beside.remove_settled(app.workspace):
        app.ui.line(told, style="dim")
    if resume is None:
        beside_words.tell_abandoned(app.ui, abandoned(app.workspace))
    settings = app.workspace.configuration.config.beside
    session = _Session(app, walls, commit=commit)
    if resume is None:
        code = session.start(command, (*settings.carry, *carry), (*settings.checks, *checks))
    else:
        code = session.go_on(resume, command, (*settings.checks, *checks))
    if code:
        raise click.exceptions.Exit(1)


class _Session:
    """One agent at work, from its copy to its plan."""

    def __init__(self, app: App, walls: Walls, *, commit: bool) -> None:
        self._app = app
        self._ui = app.ui
        self._walls = walls
        self._commit = commit

    def start(self, command: Sequence[str], carry: Sequence[str], checks: Sequence[str]) -> int:
        if "/" not in command[0]:  # a path may begin in the copy
            program_of(command, Path("/"), self._app.environment)
        ui, started = self._ui, time.monotonic()
        ui.line(Text("Making a copy of the project …"), style="dim")
        copy = beside.make_copy(self._app.workspace, command, carry, lambda text: ui.line(text, style="dim"))
        with copy.claimed():
            beside_words.tell_copy(ui, copy)
            took = round(time.monotonic() - started, 1)
            ui.line(Text("Ready in {seconds} s: {path}", seconds=took, path=str(copy.tree)), style="dim")
            return self._work(copy, command, command, checks, None)

    def go_on(self, plan: str, more: Sequence[str], checks: Sequence[str]) -> int:
        workspace = self._app.workspace
        copy = find_copy(workspace, plan)
        with copy.claimed():
            program_of(copy.record.command, copy.tree, self._app.environment)
            handed = go_on(workspace, copy, more)
            beside_words.tell_handed(self._ui, copy, handed)
            known: Sequence[str] = ()
            if copy.record.plan_id:
                known = workspace.plan.get_state(copy.record.plan_id).check_commands or ()
            again = tuple(dict.fromkeys([*checks, *known]))
            return self._work(copy, handed.argv, copy.record.command, again, handed)

    def _work(
        self,
        copy: WorkCopy,
        argv: Sequence[str],
        command: Sequence[str],
        checks: Sequence[str],
        handed: Handed | None,
    ) -> int:
        """`argv` is started; `command` is what the person called it by."""
        app, ui = self._app, self._ui
        beside_words.tell_walls(ui, self._walls, writable_places(app.workspace, command, app.environment))
        try:
            code = self._run(copy, argv, handed)
            complete = self._take(copy, command, checks, code)
        except NoSuchProgram:
            if handed is None:
                copy.remove()
            else:
                copy.mark_taken()
            raise
        except BaseException:
            beside_words.tell_cut_off(ui, app.workspace, copy)
            raise
        if complete:
            copy.remove(wait=False)
        return code

    def _run(self, copy: WorkCopy, argv: Sequence[str], handed: Handed | None) -> int:
        try:
            ended = beside.run_agent(
                self._app.workspace,
                copy,
                argv,
                self._app.environment,
                self._walls,
                output=self._ui.out.fileno(),
                feedback=handed.feedback if handed else None,
                told_at=handed.at if handed else "",
            )
        except (FileNotFoundError, PermissionError):
            raise NoSuchProgram(name=argv[0]) from None
        beside_words.tell_ended(self._ui, ended, argv[0])
        return ended.exit_code

    def _take(self, copy: WorkCopy, command: Sequence[str], checks: Sequence[str], code: int) -> bool:
        """Whether nobody needs the copy any more."""
        app, ui = self._app, self._ui
        taken = beside.take(
            app.workspace,
            copy,
            command,
            walls=self._walls,
            environment=app.environment,
            checks=checks,
            commit=self._commit,
            on_check=lambda check: ui.line(Text("Checking: {command} …", command=check), style="dim"),
        )
        if ui.as_json:
            ui.document(beside_words.document_of(taken, code))
        beside_words.tell_taken(ui, copy, taken)
        if taken.plan is not None and taken.new and taken.plan.status is not PlanStatus.APPROVED:
            how = app.workspace.configuration.config.notify.how
            words = Text("{plan} waits for you: {title}", plan=taken.plan.name, title=taken.plan.title)
            output = ui.out.fileno() if os.isatty(ui.out.fileno()) else None
            notify(how, words, environment=app.environment, output=output)
        return taken.plan is None and not taken.left_out
