"""`ringi with`: an agent works in a copy; what it changed becomes a plan."""

import os
import shlex
import time
from collections.abc import Sequence
from gettext import gettext as _
from pathlib import Path

import click
from msgspec import UNSET

from ringi.agents.command_line import batch_command, with_message
from ringi.agents.sandbox import AgentSandbox, agent_sandbox, writable_places
from ringi.agents.table import agent_of
from ringi.app.notify import notify
from ringi.app.workspace import Workspace
from ringi.beside import launch as beside
from ringi.beside.copies import find_abandoned, make_room, plan_of, remove_settled
from ringi.beside.resume import Resumption, find_copy, is_applied, resume_from, resume_in
from ringi.beside.words import document_of, tell_copy, tell_replaced, tell_sandbox, tell_taken
from ringi.cli.app import App, pass_app
from ringi.cli.arguments import choose_one, require_text
from ringi.cli.plan_names import PLAN
from ringi.cli.ui import Ui
from ringi.errors import CheckFailed, Failed, Interrupted, NoSuchProgram, NothingToDo, TooManyFiles, WorkKept
from ringi.kernel.process.program import from_here, in_copy, program_of
from ringi.kernel.process.terminal import Ended, somebody_types
from ringi.kernel.text import Text
from ringi.plans import words
from ringi.plans.document import PlanStatus
from ringi.plans.from_difference import Taken
from ringi.tree.copy import WorkCopy


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
@click.option("--commit", is_flag=True, help="Commit what is approved, too.")
@click.option("--title", metavar="TEXT", default="", help="What the plan is called, and its commit.")
@click.option(
    "--resume",
    type=PLAN,
    metavar="[PLAN]",
    is_flag=False,
    flag_value="",
    help="Resume the agent of a plan in its copy, with your feedback. Words after -- go to the agent.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@pass_app
def with_(
    app: App,
    checks: tuple[str, ...],
    carry: tuple[str, ...],
    commit: bool,
    title: str,
    resume: str | None,
    command: tuple[str, ...],
) -> None:
    """Run an agent in a copy of the project.

    It edits and tests freely there; your files do not change. When it ends, the difference becomes a plan.
    claude, codex, gemini, aider and opencode need nothing more: ringi with claude
    """
    if not all(check.strip() for check in checks):
        raise click.BadParameter(_("a check needs a command"), param_hint="--check")
    if resume is None and not command:
        raise click.UsageError(_("Which command? For example: ringi with claude"))
    if resume is not None and (carry or title):
        raise choose_one("--carry" if carry else "--title", "--resume")
    require_text(title)
    settings = app.workspace.config.beside
    session = _Session(app, agent_sandbox(app.workspace), commit=commit, title=title.strip())
    if resume is None:
        for told in (*remove_settled(app.workspace), *make_room(app.workspace)):
            app.ui.line(told, style="dim")
        _tell_abandoned(app.ui, find_abandoned(app.workspace))
        code = session.start(command, (*settings.carry, *carry), (*settings.checks, *checks))
    else:  # remove no old copies first: the person may resume one of them
        code = session.go_on(resume, command, (*settings.checks, *checks))
    if code:
        raise click.exceptions.Exit(code)


class _Session:
    """One agent at work, from its copy to its plan."""

    def __init__(self, app: App, sandbox: AgentSandbox, *, commit: bool, title: str) -> None:
        self._app = app
        self._ui = app.ui
        self._sandbox = sandbox
        self._commit = commit
        self._title = title

    def start(self, command: Sequence[str], carry: Sequence[str], checks: Sequence[str]) -> int:
        workspace, here = self._app.workspace, Path.cwd()
        program_of(command, here, self._app.environment)
        argv = from_here(command, here, workspace.places.root)
        words = argv if somebody_types() else _for_batch(argv)
        self._writable(command)  # refused before a copy is made
        ui, started = self._ui, time.monotonic()
        ui.line(Text("Making a copy of the project …"), style="dim")
        begin = _start(here, workspace.places.root)
        copy = beside.make_copy(workspace, argv, carry, self._app.tell_progress, begin)
        with copy.claim():
            tell_copy(ui, copy, sandboxed=self._sandbox.bwrap is not None)
            took = round(time.monotonic() - started, 1)
            ui.line(Text("Ready in {seconds} s: {path}", seconds=took, path=str(copy.tree)), style="dim")
            if words != argv:
                ui.line(Text("There is no terminal, so this runs: {command}", command=shlex.join(words)))
            return self._work(copy, words, command, checks, None)

    def go_on(self, plan: str, more: Sequence[str], checks: Sequence[str]) -> int:
        workspace = self._app.workspace
        copy = find_copy(workspace, plan)
        if is_applied(workspace, copy):
            return self._go_on_afresh(copy, more, checks)
        with copy.claim():
            own = workspace.places.root / copy.record.start
            argv = in_copy(copy.record.command, copy.folder_of_commands, own)
            program_of(argv, copy.folder_of_commands, self._app.environment)
            resumption = resume_in(workspace, copy, more, terminal=somebody_types())
            _tell_resumption(self._ui, copy, resumption)
            known: Sequence[str] = ()
            if copy.record.plan_id:
                known = workspace.plan.get_state(copy.record.plan_id).check_commands or ()
            again = tuple(dict.fromkeys([*checks, *known]))
            return self._work(copy, resumption.argv, copy.record.command, again, resumption)

    def _go_on_afresh(self, before: WorkCopy, more: Sequence[str], checks: Sequence[str]) -> int:
        """After the plan was carried out: the same conversation, in a copy of the project as it is now."""
        workspace, ui, command = self._app.workspace, self._ui, before.record.command
        self._writable(command)
        ui.line(Text("Making a copy of the project …"), style="dim")
        carry = workspace.config.beside.carry
        fresh = beside.make_copy(
            workspace, command, carry, lambda text: ui.line(text, style="dim"), before.record.start
        )
        with fresh.claim():
            tell_copy(ui, fresh, sandboxed=self._sandbox.bwrap is not None)
            own = workspace.places.root / fresh.record.start
            argv = in_copy(command, fresh.folder_of_commands, own)
            program_of(argv, fresh.folder_of_commands, self._app.environment)
            resumption = resume_from(workspace, before, fresh, more, terminal=somebody_types())
            _tell_resumption(ui, fresh, resumption)
            return self._work(fresh, resumption.argv, command, checks, resumption)

    def _writable(self, command: Sequence[str]) -> tuple[Path, ...]:
        if self._sandbox.bwrap is None:
            return ()
        return writable_places(self._app.workspace, command, self._app.environment)

    def _work(
        self,
        copy: WorkCopy,
        argv: Sequence[str],
        command: Sequence[str],
        checks: Sequence[str],
        resumption: Resumption | None,
    ) -> int:
        """Returns the exit code. `argv` is what runs; `command` is what the person typed."""
        app, ui = self._app, self._ui
        tell_sandbox(ui, self._sandbox, self._writable(command))
        try:
            ended = self._run(copy, argv, resumption)
            taken = self._take(copy, command, checks, ended)
        except (NoSuchProgram, TooManyFiles):
            raise
        except Failed as error:
            if not _tell_cut_off(ui, app.workspace, copy):
                raise
            why = Text(error.message, **error.details)
            raise WorkKept(why=why, path=str(copy.tree)) from error
        except BaseException:
            if _tell_cut_off(ui, app.workspace, copy):
                ui.line(Text("The agent's copy is kept: {path}", path=str(copy.tree)), style="yellow")
                ui.next_step("ringi doctor --repair")
            raise
        if taken.plan is None and not taken.left_out:
            copy.remove(wait=False)
        if ended.signal is not None:
            return Interrupted.exit_code
        if any(result.exit_code for result in taken.checks):
            return CheckFailed.exit_code
        return 1 if ended.exit_code else 0

    def _run(self, copy: WorkCopy, argv: Sequence[str], resumption: Resumption | None) -> Ended:
        try:
            ended = beside.run_agent(
                self._app.workspace,
                copy,
                argv,
                self._app.environment,
                self._sandbox,
                output=self._ui.out.fileno(),
                feedback=resumption.feedback if resumption else None,
                told_at=resumption.at if resumption else "",
                on_replaced=lambda replaced: tell_replaced(self._ui, replaced),
            )
        except (FileNotFoundError, PermissionError, NoSuchProgram) as error:
            # Nothing was started.
            if resumption is None:
                copy.remove()
            else:
                copy.note(taken=True)
            raise error if isinstance(error, NoSuchProgram) else NoSuchProgram(name=argv[0]) from None
        _tell_ended(self._ui, ended, argv[0])
        return ended

    def _take(self, copy: WorkCopy, command: Sequence[str], checks: Sequence[str], ended: Ended) -> Taken:
        app, ui = self._app, self._ui
        taken = beside.take(
            app.workspace,
            copy,
            command,
            sandbox=self._sandbox,
            environment=app.environment,
            checks=checks,
            commit=self._commit,
            title=self._title,
            agent_exit=None if ended.signal is not None else ended.exit_code or UNSET,
            on_check=lambda check: ui.line(Text("Checking: {command} …", command=check), style="dim"),
        )
        if ui.as_json:
            ui.document(document_of(taken, exit_code=ended.exit_code))
        tell_taken(ui, copy, taken)
        if taken.plan is not None and taken.new and taken.plan.status is not PlanStatus.APPROVED:
            how = app.workspace.config.notify.how
            words = Text("{plan} waits for you: {title}", plan=taken.plan.name, title=taken.plan.title)
            output = ui.out.fileno() if os.isatty(ui.out.fileno()) else None
            notify(how, words, environment=app.environment, output=output)
        return taken


def _for_batch(argv: tuple[str, ...]) -> tuple[str, ...]:
    """An agent with a screen would wait for keys that nobody types."""
    resume = agent_of(argv).resume
    if resume is None:
        return argv
    words = batch_command(resume, argv)
    if words is None:
        command = ("ringi", "with", *with_message(resume, argv[0], "…"))
        raise NothingToDo(agent=argv[0], command=shlex.join(command))
    return words


def _start(here: Path, root: Path) -> str:
    """The subfolder of the project that the person is in; empty at the top, or outside."""
    inside = Path(os.path.realpath(here))
    return str(inside.relative_to(root)) if inside != root and inside.is_relative_to(root) else ""


def _tell_resumption(ui: Ui, copy: WorkCopy, resumption: Resumption) -> None:
    ui.line(Text("Resuming in {path}", path=str(copy.tree)), style="dim")
    if resumption.laid:
        ui.line(Text("Your changes are now in the copy: {paths}", paths=words.some(resumption.laid)))
    for path in resumption.not_laid:
        ui.line(
            Text("! your change is not in the copy, the agent changed it too: {path}", path=path),
            style="yellow",
        )
    if resumption.as_file:
        ui.line(Text("Your feedback is in {path} ($RINGI_FEEDBACK).", path=str(resumption.feedback)))
    else:
        ui.line(
            Text("Your feedback is its first message; it is also in {path}", path=str(resumption.feedback))
        )


def _tell_ended(ui: Ui, ended: Ended, name: str) -> None:
    if ended.leftovers:
        line = Text(
            "1 process it had left running was ended.",
            "{count} processes it had left running were ended.",
            count=ended.leftovers,
        )
        ui.line(line, style="yellow")
    if ended.survivors:
        line = Text(
            "1 process it left running could not be ended.",
            "{count} processes it left running could not be ended.",
            count=ended.survivors,
        )
        ui.line(line, style="red")
    if ended.exit_code:
        line = Text("{command} ended with exit code {code}.", command=name, code=ended.exit_code)
        ui.line(line, style="yellow")


def _tell_abandoned(ui: Ui, copies: Sequence[WorkCopy]) -> None:
    for copy in copies:
        line = Text("! an agent's work is not a plan yet: {path}", path=str(copy.tree))
        ui.line(line, style="yellow")
    if copies:
        ui.line(Text("Resume it: {command}", command="ringi with --resume"), indent=2)
        ui.line(Text("Or make it a plan: {command}", command="ringi doctor --repair"), indent=2)


def _tell_cut_off(ui: Ui, workspace: Workspace, copy: WorkCopy) -> bool:
    """Something failed after the agent had worked. True if its work is in the copy alone."""
    if copy.is_gone:  # the command deleted it
        if copy.folder.is_dir() and not copy.record.plan_id:
            copy.remove()
        return False
    plan = plan_of(workspace, copy) if copy.record.taken else None
    if plan is not None:
        line = Text("The work is in {plan}; what came after was interrupted.", plan=plan.name)
        ui.line(line, style="yellow")
        ui.next_step(f"ringi review {plan.name}")
        return False
    return True
