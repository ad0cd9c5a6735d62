"""`ringi with`: an agent works in a copy; what it changed becomes a plan."""

import os
import time
from collections.abc import Sequence
from gettext import gettext as _
from pathlib import Path

import click

from ringi.api import beside
from ringi.api.beside_copies import abandoned
from ringi.api.beside_program import from_here, in_copy, program_of
from ringi.api.beside_resume import Handed, find_copy, go_on
from ringi.api.beside_walls import Walls, walls_of, writable_places
from ringi.cli import beside_words
from ringi.cli.app import App, pass_app
from ringi.domain.plan import PlanStatus
from ringi.errors import Interrupted, NoSuchProgram
from ringi.integrations.notify import notify
from ringi.process.terminal import Ended
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
    settings = app.workspace.configuration.config.beside
    session = _Session(app, walls_of(app.workspace), commit=commit)
    if resume is None:
        for told in beside.remove_settled(app.workspace):
            app.ui.line(told, style="dim")
        beside_words.tell_abandoned(app.ui, abandoned(app.workspace))
        code = session.start(command, (*settings.carry, *carry), (*settings.checks, *checks))
    else:  # nothing is removed before: the one that is wanted may be an old one
        code = session.go_on(resume, command, (*settings.checks, *checks))
    if code:
        raise click.exceptions.Exit(code)


class _Session:
    """One agent at work, from its copy to its plan."""

    def __init__(self, app: App, walls: Walls, *, commit: bool) -> None:
        self._app = app
        self._ui = app.ui
        self._walls = walls
        self._commit = commit

    def start(self, command: Sequence[str], carry: Sequence[str], checks: Sequence[str]) -> int:
        workspace, here = self._app.workspace, Path.cwd()
        program_of(command, here, self._app.environment)
        argv = from_here(command, here, workspace.places.root)
        ui, started = self._ui, time.monotonic()
        ui.line(Text("Making a copy of the project …"), style="dim")
        copy = beside.make_copy(workspace, argv, carry, lambda text: ui.line(text, style="dim"))
        with copy.claimed():
            beside_words.tell_copy(ui, copy)
            took = round(time.monotonic() - started, 1)
            ui.line(Text("Ready in {seconds} s: {path}", seconds=took, path=str(copy.tree)), style="dim")
            return self._work(copy, argv, command, checks, None)

    def go_on(self, plan: str, more: Sequence[str], checks: Sequence[str]) -> int:
        workspace = self._app.workspace
        copy = find_copy(workspace, plan)
        with copy.claimed():
            argv = in_copy(copy.record.command, copy.tree, workspace.places.root)
            program_of(argv, copy.tree, self._app.environment)
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
        """The exit code. `argv` is started; `command` is what the person called it by."""
        app, ui = self._app, self._ui
        beside_words.tell_walls(ui, self._walls, writable_places(app.workspace, command, app.environment))
        try:
            ended = self._run(copy, argv, handed)
            complete = self._take(copy, command, checks, ended.exit_code)
        except NoSuchProgram:
            raise
        except BaseException:
            beside_words.tell_cut_off(ui, app.workspace, copy)
            raise
        if complete:
            copy.remove(wait=False)
        if ended.signal is not None:
            return Interrupted.exit_code
        return 1 if ended.exit_code else 0

    def _run(self, copy: WorkCopy, argv: Sequence[str], handed: Handed | None) -> Ended:
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
        except (FileNotFoundError, PermissionError, NoSuchProgram) as error:
            # Nothing was started.
            if handed is None:
                copy.remove()
            else:
                copy.mark_taken()
            raise error if isinstance(error, NoSuchProgram) else NoSuchProgram(name=argv[0]) from None
        beside_words.tell_ended(self._ui, ended, argv[0])
        return ended

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
