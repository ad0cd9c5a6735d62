"""`ringi init`, the part for agents: every line is shown before it is written, and a person says yes."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from gettext import gettext as _
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from ringi.agents.record import Agent
from ringi.agents.table import CONFIGURABLE
from ringi.cli.app import EXIT_DECLINED, EXIT_STALE, App
from ringi.cli.ask import ask
from ringi.errors import NoChannel
from ringi.integrations.person import TerminalPerson
from ringi.text import Text
from ringi.usecases.agent_setup import Change, Offer, Return, program
from ringi.usecases.prompter import is_yes
from ringi.wiring.setup import agent_setup

UNDO: Final = "ringi init --undo"


def chosen(names: str) -> list[Agent]:
    """From `claude,codex`."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in CONFIGURABLE]
    if unknown or not wanted:
        words = _("Choose from: {names}").format(names=", ".join(CONFIGURABLE))
        raise click.BadParameter(words, param_hint="--agents")
    return [agent for name, agent in CONFIGURABLE.items() if name in wanted]


class Configured(NamedTuple):
    documents: list[dict[str, Any]]
    """For programs: what became of each agent."""
    stale: bool
    """Somebody wrote to a file before the question was answered."""


def configure(app: App, root: Path, agents: Sequence[Agent], *, asked_for: bool) -> Configured:
    """Offer what the agents need. Where nobody can answer, that is an error only if it was `asked_for`."""
    words, setup = program(app.environment, sys.argv[0]), agent_setup(root, app.environment)
    offers = [setup.offer(agent, words) for agent in agents]
    changes = [change for offer in offers for change in offer.changes]
    for offer in offers:
        _tell_left_alone(app, offer)
    conflicts = _decide(app, root, offers, changes, asked_for=asked_for) if changes else None
    return Configured([_document(offer, conflicts) for offer in offers], stale=bool(conflicts))


def _document(offer: Offer, conflicts: Mapping[str, Text] | None) -> dict[str, Any]:
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
        app.ui.next_step(_command([offer.agent]))
    elif not offer.changes:
        app.ui.line(Text("✓ {agent} is set up", agent=offer.agent.title), style="green")


def _decide(
    app: App, root: Path, offers: Sequence[Offer], changes: Sequence[Change], *, asked_for: bool
) -> Mapping[str, Text] | None:
    """None if nothing was written; else what somebody wrote to meanwhile."""
    ui = app.ui
    agents = [offer.agent for offer in offers if offer.changes]
    if refusal := TerminalPerson(app.environment).refusal():
        if asked_for:
            raise NoChannel(why=refusal, command=_command(agents))
        titles = ", ".join(agent.title for agent in agents)
        ui.line(Text("Found here: {agents}. To let them know ringi, in a terminal:", agents=titles))
        ui.next_step(_command(agents))
        return None
    _show(app, changes)
    if len(agents) > 1:
        ui.line(Text("For one of them alone: {command}", command=_command(agents[:1])), style="dim")
    if not _yes(app, Text("Write this? [y/n]")):
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
    ui.line(Text("To take it back: {command}", command=UNDO), style="dim")
    _tell_conflicts(app, conflicts)
    return conflicts


def undo(app: App) -> None:
    """Take back what was written, and forget it."""
    ui, setup = app.ui, agent_setup(app.root, app.environment)
    returns = setup.way_back()
    changes = [found.change for found in returns if found.change is not None]
    for found in returns:
        _tell_return(app, found)
    if changes:
        if refusal := TerminalPerson(app.environment).refusal():
            raise NoChannel(why=refusal, command=UNDO)
        _show(app, changes)
        if not _yes(app, Text("Take it back? [y/n]")):
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
        app.ui.line(Text("Take the entry ringi out of it by hand, or mend it and run this again."), indent=2)
    elif found.change is not None and not found.exact:
        line = Text("! {file} was changed since; only what ringi wrote is taken out", file=file)
        app.ui.line(line, style="yellow")


def _show(app: App, changes: Iterable[Change]) -> None:
    for change in changes:
        app.ui.diff(change.diff().decode("utf-8", "backslashreplace"))


def _yes(app: App, question: Text) -> bool:
    try:
        return is_yes(ask(app, question))
    except EOFError:
        return False


def _tell_conflicts(app: App, conflicts: Mapping[str, Text]) -> None:
    for file, why in conflicts.items():
        _tell_kept(app, file, why)


def _tell_kept(app: App, file: str, why: object) -> None:
    app.ui.line(Text("! {file} is left as it is: {why}", file=file, why=why), style="yellow")


def _command(agents: Iterable[Agent]) -> str:
    return f"ringi init --agents {','.join(agent.name for agent in agents)}"
