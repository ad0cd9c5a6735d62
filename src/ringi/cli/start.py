"""`ringi init` and `ringi doctor`."""

from collections.abc import Sequence
from gettext import gettext as _
from pathlib import Path

import click

from ringi.agents.record import Agent
from ringi.api.doctor import doctor_of
from ringi.cli import agents_setup
from ringi.cli.app import EXIT_PERSON_NEEDED, EXIT_STALE, App, pass_app
from ringi.cli.ask import ask
from ringi.cli.ui import shown, translated
from ringi.errors import NoChannel, NoWorkspace
from ringi.integrations.person import TerminalPerson
from ringi.text import Text
from ringi.usecases import beside
from ringi.usecases.agent_sandbox import AgentSandbox
from ringi.usecases.agent_setup import present
from ringi.usecases.doctor import Finding, Mark
from ringi.usecases.prompter import is_yes
from ringi.usecases.workspace import OpenWorkspace
from ringi.wiring.setup import initialise, users_signers
from ringi.workspace.copy import WorkCopy

_MARKS = {Mark.GOOD: ("✓", "green"), Mark.NOTE: ("!", "yellow"), Mark.BAD: ("✗", "red")}


@click.command()
@click.option(
    "--key",
    metavar="[KEY.pub]",
    is_flag=False,
    flag_value="",
    help="Instead, list your SSH key, so that approvals can be signed with it.",
)
@click.option("--as", "principal", metavar="NAME", default="", help="The name to list the key under.")
@click.option(
    "--agents",
    metavar="NAMES",
    help="Write the configuration of these agents only: claude,codex,vscode,opencode.",
)
@click.option("--undo", is_flag=True, help="Instead, take back what was written into agents' configuration.")
@pass_app
def init(app: App, key: str | None, principal: str, agents: str | None, undo: bool) -> None:
    """Make this folder a workspace.

    Writes a commented configuration if there is none, and checks that all is well. For the agents that
    it finds, it offers to write their own configuration: you see the difference first.
    """
    if (key is not None) + (agents is not None) + undo > 1:
        raise click.UsageError(_("Choose one: --key, --agents or --undo"))
    if key is not None:
        _list_key(app, key, principal)
        return
    if principal:
        raise click.UsageError(_("--as belongs to --key"))
    if undo:
        agents_setup.undo(app)
        return
    root = _root_or_here(app)
    wanted = agents_setup.chosen(agents) if agents is not None else present(root, app.environment)
    made = initialise(root)
    for path in made:
        app.ui.line(Text("made {path}", path=str(path.relative_to(root))))
    app.ui.line(Text("✓ {path} is a workspace", path=str(root)), style="green")
    configured = agents_setup.configure(app, root, wanted, asked_for=agents is not None)
    if app.ui.as_json:
        told = [str(path) for path in made]
        app.ui.document({"workspace": str(root), "made": told, "agents": configured.documents})
    if configured.stale:
        raise click.exceptions.Exit(EXIT_STALE)
    if app.ui.as_json:
        return
    bad = [finding for finding in doctor_of(root, app.environment).examine() if finding.mark is Mark.BAD]
    for finding in bad:
        _show(app, finding)
    app.ui.next_step("ringi doctor" if bad else _start(wanted))


def _start(agents: Sequence[Agent]) -> str:
    beside = [agent.name for agent in agents if agent.resume]  # editors do not start in a copy
    return f"ringi with {beside[0] if beside else '-- COMMAND'}"


def _list_key(app: App, key: str, principal: str) -> None:
    """A listed key can approve, so a person has to confirm it after seeing which key it is."""
    ui, person = app.ui, TerminalPerson(app.environment)
    if refusal := person.refusal():
        raise NoChannel(why=refusal, command=f"ringi init --key {key}".rstrip())
    signers = users_signers(app.environment)
    file = signers.file
    found = signers.look(Path(key).expanduser() if key else None, principal or person.user())
    ui.line(Text("{line}", line=found.line), indent=2)
    ui.line(Text("its fingerprint is {fingerprint}", fingerprint=found.fingerprint), indent=2)
    ui.line(Text("Whoever holds this key can approve plans in all your workspaces."))
    try:
        answer = ask(app, Text("List it in {file}? [y/n]", file=str(file)))
    except EOFError:
        answer = "n"
    if not is_yes(answer):
        ui.line(Text("Nothing was listed."))
        raise click.exceptions.Exit(EXIT_PERSON_NEEDED)
    added = signers.add(found.line)
    if ui.as_json:
        ui.document({"file": str(file), "line": found.line, "added": added, "fingerprint": found.fingerprint})
    done = Text("✓ listed in {file}", file=str(file)) if added else Text("✓ it was listed already")
    ui.line(done, style="green")
    ui.line(Text("For a team, commit that line in .agent/allowed_signers; each of them runs: ringi trust"))
    ui.next_step("ringi approve PLAN --sign KEY")


def _root_or_here(app: App) -> Path:
    try:
        return app.root
    except NoWorkspace:
        if not app.start.is_dir():
            raise
        return app.start.resolve()


@click.command()
@click.option("--repair", is_flag=True, help="Mend what can be mended.")
@click.option("--adopt", is_flag=True, help="Take over the ledger after the project was moved.")
@pass_app
def doctor(app: App, repair: bool, adopt: bool) -> None:
    """Check that everything is well; each ✗ shows the fix."""
    helper = doctor_of(app.root, app.environment)
    if adopt:
        app.ui.line(helper.adopt(), style="green")
    if repair:
        for done in helper.repair(lambda workspace, copy: _take(app, workspace, copy)):
            app.ui.line(Text("mended: {what}", what=done), style="green")
    findings = helper.examine()
    if app.ui.as_json:
        app.ui.document(
            [
                {"mark": finding.mark, "text": str(finding.text), "mend": str(finding.mend)}
                for finding in findings
            ]
        )
    else:
        for finding in findings:
            _show(app, finding)
    if any(finding.mark is Mark.BAD for finding in findings):
        raise click.exceptions.Exit(1)


def _show(app: App, finding: Finding) -> None:
    mark, style = _MARKS[finding.mark]
    app.ui.line(f"{mark} {translated(finding.text)}", style=style)
    if finding.mend:
        app.ui.line(f"→ {shown(finding.mend)}", indent=4)


def _take(app: App, workspace: OpenWorkspace, copy: WorkCopy) -> Text:
    if copy.is_gone:
        copy.remove()
        return Text("a work copy that was empty is forgotten")
    command = copy.record.command or ("ringi", "with")
    with copy.claimed():
        taken = beside.take(workspace, copy, command, sandbox=AgentSandbox(None), environment=app.environment)
        if taken.plan is None and not taken.left_out:
            copy.remove()
            return Text("an unused work copy was removed")
    if taken.plan is None:
        return Text("a work copy is kept for what no plan can carry: {path}", path=str(copy.tree))
    return Text("an agent's work copy became plan {plan}", plan=taken.plan.name)
