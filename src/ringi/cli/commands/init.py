"""`ringi init`."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from gettext import gettext as _
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from ringi.agents.record import Agent
from ringi.agents.table import CONFIGURABLE
from ringi.api.doctor import doctor_of
from ringi.cli.app import EXIT_DECLINED, EXIT_PERSON_NEEDED, EXIT_STALE, App, pass_app
from ringi.cli.ask import confirmed
from ringi.cli.commands.doctor import show_finding
from ringi.errors import NoWorkspace
from ringi.integrations.person import TerminalPerson
from ringi.text import Text
from ringi.usecases.agent_setup import Change, Offer, Return, present, program
from ringi.usecases.doctor import Mark
from ringi.usecases.prompter import require_person
from ringi.wiring.setup import agent_setup, initialise, users_signers

_UNDO: Final = "ringi init --undo"


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
        _undo_agents(app)
        return
    root = _root_or_here(app)
    wanted = _chosen_agents(agents) if agents is not None else present(root, app.environment)
    made = initialise(root)
    for path in made:
        app.ui.line(Text("created {path}", path=str(path.relative_to(root))))
    app.ui.line(Text("✓ {path} is a workspace", path=str(root)), style="green")
    configured = _configure_agents(app, root, wanted, asked_for=agents is not None)
    if app.ui.as_json:
        told = [str(path) for path in made]
        app.ui.document({"workspace": str(root), "made": told, "agents": configured.documents})
    if configured.stale:
        raise click.exceptions.Exit(EXIT_STALE)
    if app.ui.as_json:
        return
    bad = [finding for finding in doctor_of(root, app.environment).examine() if finding.mark is Mark.BAD]
    for finding in bad:
        show_finding(app, finding)
    app.ui.next_step("ringi doctor" if bad else _start(wanted))


def _start(agents: Sequence[Agent]) -> str:
    beside = [agent.name for agent in agents if agent.resume]  # editors do not start in a copy
    return f"ringi with {beside[0] if beside else '-- COMMAND'}"


def _chosen_agents(names: str) -> list[Agent]:
    """From `claude,codex`."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in CONFIGURABLE]
    if unknown or not wanted:
        words = _("Choose from: {names}").format(names=", ".join(CONFIGURABLE))
        raise click.BadParameter(words, param_hint="--agents")
    return [agent for name, agent in CONFIGURABLE.items() if name in wanted]


class _Configured(NamedTuple):
    documents: list[dict[str, Any]]
    """The result for each agent, as JSON."""
    stale: bool
    """Somebody wrote to a file before the question was answered."""


def _configure_agents(app: App, root: Path, agents: Sequence[Agent], *, asked_for: bool) -> _Configured:
    """Shows every line before it writes it. If nobody can answer, that is an error only if `asked_for`."""
    words, setup = program(app.environment, sys.argv[0]), agent_setup(root, app.environment)
    offers = [setup.offer(agent, words) for agent in agents]
    changes = [change for offer in offers for change in offer.changes]
    for offer in offers:
        _tell_left_alone(app, offer)
    conflicts = _decide_offers(app, root, offers, changes, asked_for=asked_for) if changes else None
    return _Configured([_offer_document(offer, conflicts) for offer in offers], stale=bool(conflicts))


def _offer_document(offer: Offer, conflicts: Mapping[str, Text] | None) -> dict[str, Any]:
    files = [change.file for change in offer.changes]
    theirs = {file: why for file, why in (conflicts or {}).items() if file in files}
    return {
        "agent": offer.agent.name,
        "files": files,
        "written": bool(files) and conflicts is not None and not theirs,
        "left_alone": {file: str(why) for file, why in {**offer.problems, **theirs}.items()},
    }


def _tell_left_alone(app: App, offer: Offer) -> None:
    for file, why in offer.problems.items():
        _tell_kept(app, file, why)
    if offer.problems:
        app.ui.next_step(_agents_command([offer.agent]))
    elif not offer.changes:
        app.ui.line(Text("✓ {agent} is set up", agent=offer.agent.title), style="green")


def _decide_offers(
    app: App, root: Path, offers: Sequence[Offer], changes: Sequence[Change], *, asked_for: bool
) -> Mapping[str, Text] | None:
    """None if nothing was written; else the files that somebody wrote to meanwhile."""
    ui = app.ui
    agents = [offer.agent for offer in offers if offer.changes]
    person = TerminalPerson(app.environment)
    if asked_for:
        require_person(person, _agents_command(agents))
    if person.refusal():
        titles = ", ".join(agent.title for agent in agents)
        ui.line(Text("Found here: {agents}. To set them up, type in a terminal:", agents=titles))
        ui.next_step(_agents_command(agents))
        return None
    _show_changes(app, changes)
    if len(agents) > 1:
        ui.line(Text("For one of them alone: {command}", command=_agents_command(agents[:1])), style="dim")
    if not confirmed(app, Text("Write this? [y/n]")):
        ui.line(Text("Nothing was written."))
        if asked_for:
            raise click.exceptions.Exit(EXIT_DECLINED)
        return None
    conflicts = agent_setup(root, app.environment).carry_out(changes)
    for change in changes:
        if change.file not in conflicts:
            ui.line(Text("✓ {file}", file=change.file), style="green")
            if note := CONFIGURABLE[change.agent].note_on(change.file):
                ui.line(note, indent=2)
    ui.line(Text("To take it back: {command}", command=_UNDO), style="dim")
    _tell_conflicts(app, conflicts)
    return conflicts


def _undo_agents(app: App) -> None:
    ui, setup = app.ui, agent_setup(app.root, app.environment)
    returns = setup.way_back()
    changes = [found.change for found in returns if found.change is not None]
    for found in returns:
        _tell_return(app, found)
    if changes:
        require_person(TerminalPerson(app.environment), _UNDO)
        _show_changes(app, changes)
        if not confirmed(app, Text("Take it back? [y/n]")):
            ui.line(Text("Nothing was written."))
            raise click.exceptions.Exit(EXIT_DECLINED)
    else:
        ui.line(Text("There is nothing to take back."))
    conflicts = setup.go_back(returns) if returns else {}
    done = [change.file for change in changes if change.file not in conflicts]
    if ui.as_json:
        problems = {found.written.file: found.problem for found in returns if found.problem}
        kept = {file: str(why) for file, why in {**problems, **conflicts}.items()}
        ui.document({"workspace": str(app.root), "taken_back": done, "left_alone": kept})
    exact = {found.written.file for found in returns if found.exact}
    for file in done:
        words = Text("✓ {file} is as it was", file=file) if file in exact else Text("✓ {file}", file=file)
        ui.line(words, style="green")
    _tell_conflicts(app, conflicts)
    if conflicts:
        raise click.exceptions.Exit(EXIT_STALE)
    if any(found.problem for found in returns):
        raise click.exceptions.Exit(1)


def _tell_return(app: App, found: Return) -> None:
    file = found.written.file
    if found.problem:
        _tell_kept(app, file, found.problem)
        app.ui.line(Text("Remove the entry ringi by hand, or fix the file and run this again."), indent=2)
    elif found.change is not None and not found.exact:
        line = Text("! {file} was changed since; only what ringi wrote is removed", file=file)
        app.ui.line(line, style="yellow")


def _show_changes(app: App, changes: Iterable[Change]) -> None:
    for change in changes:
        app.ui.diff(change.diff().decode("utf-8", "backslashreplace"))


def _tell_conflicts(app: App, conflicts: Mapping[str, Text]) -> None:
    for file, why in conflicts.items():
        _tell_kept(app, file, why)


def _tell_kept(app: App, file: str, why: object) -> None:
    app.ui.line(Text("! {file} is left as it is: {why}", file=file, why=why), style="yellow")


def _agents_command(agents: Iterable[Agent]) -> str:
    return f"ringi init --agents {','.join(agent.name for agent in agents)}"


def _list_key(app: App, key: str, principal: str) -> None:
    """A listed key can approve, so a person has to confirm it after seeing which key it is."""
    ui, person = app.ui, TerminalPerson(app.environment)
    require_person(person, f"ringi init --key {key}".rstrip())
    signers = users_signers(app.environment)
    file = signers.file
    found = signers.look(Path(key).expanduser() if key else None, principal or person.user())
    ui.line(Text("{line}", line=found.line), indent=2)
    ui.line(Text("its fingerprint is {fingerprint}", fingerprint=found.fingerprint), indent=2)
    ui.line(Text("Whoever holds this key can approve plans in all your workspaces."))
    if not confirmed(app, Text("List it in {file}? [y/n]", file=str(file))):
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
