"""`ringi init`."""

import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from gettext import gettext as _
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from ringi.agents.editor_setup import EditorEntry, editor_entries
from ringi.agents.editors import EDITORS, Editor
from ringi.agents.record import Agent
from ringi.agents.table import CONFIGURABLE
from ringi.app.doctor import Doctor, Mark
from ringi.app.init import PRE_RECEIVE, initialise, install_hook, users_signers
from ringi.approvals.document import RequiredProof, TypedAnswer
from ringi.approvals.forge import ForgeKind
from ringi.approvals.person import TerminalPerson
from ringi.approvals.prompter import require_person
from ringi.approvals.signers import digest_of
from ringi.beside.setup import SetupOffer, make_alias, missing, offer, present, program, propose
from ringi.cli.app import EXIT_PERSON_NEEDED, App
from ringi.cli.arguments import choose_one, only_with
from ringi.cli.ask import confirm
from ringi.cli.commands.doctor import show_finding
from ringi.cli.commands.init_ci import set_up_ci
from ringi.cli.commands.review import decide
from ringi.cli.commands.signers import accept_shown
from ringi.cli.review_dialogue import ApplyPrompter
from ringi.errors import NoChannel, NoExtra, NoWorkspace
from ringi.kernel.process.installation import extending_command
from ringi.kernel.text import Text
from ringi.provenance.clone import hooks_of
from ringi.provenance.verdict import Mode
from ringi.provenance.verify_range import PROJECTS


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
    help="Set up these only: claude,codex,vscode,gemini,opencode,zed,jetbrains,neovim,emacs.",
)
@click.option("--alias", metavar="NAME", help="Instead, make a program of this name that starts ringi.")
@click.option(
    "--hook",
    type=click.Choice([PRE_RECEIVE]),
    help="Instead, on a server: verify what is pushed to this repository.",
)
@click.option(
    "--ci",
    type=click.Choice([*map(str, ForgeKind)]),
    help="Instead, propose a workflow that verifies what is to be merged.",
)
@click.option(
    "--install", metavar="REQUIREMENT", default="", help="What pip installs in CI; ringi as here by default."
)
@click.option(
    "--mode", type=click.Choice([*map(str, Mode)]), help="What the hook demands; agents by default."
)
@click.option(
    "--completion",
    type=click.Choice(["bash", "zsh", "fish"]),
    help="Instead, print what makes this shell complete commands, options and the names of plans.",
)
@click.pass_context
def init(
    ctx: click.Context,
    /,
    key: str | None,
    principal: str,
    agents: str | None,
    alias: str | None,
    hook: str | None,
    ci: str | None,
    install: str,
    mode: str | None,
    completion: str | None,
) -> None:
    """Make this folder a workspace.

    Writes a commented configuration if there is none, and checks that all is well. For the agents that
    it finds, it proposes a plan that changes their own configuration in this project. You see it first, and
    ringi undo takes it back.
    """
    app: App = ctx.obj
    _check_options(
        {
            "--key": key,
            "--agents": agents,
            "--alias": alias,
            "--hook": hook,
            "--ci": ci,
            "--completion": completion,
        },
        {"--as": (principal, "--key"), "--install": (install, "--ci"), "--mode": (mode, "--hook")},
    )
    if completion:
        _print_completion(ctx, completion)
        return
    if ci:
        set_up_ci(ctx, ForgeKind(ci), install)
        return
    if hook:
        _install_hook(app, Mode(mode or Mode.AGENTS))
        return
    if alias is not None:
        _make_alias(app, alias)
        return
    if key is not None:
        _list_key(app, key, principal)
        return
    root = _root_or_here(app)
    wanted, editors = _choose_agents(agents) if agents is not None else (present(root, app.environment), [])
    made = initialise(root)
    for path in made:
        app.ui.line(Text("created {path}", path=str(path.relative_to(root))))
    app.ui.line(Text("✓ {path} is a workspace", path=str(root)), style="green")
    offers = _offers(app, wanted, asked_for=agents is not None)
    entries = editor_entries(editors, app.environment, program(app.environment, sys.argv[0]))
    if app.ui.as_json:
        _answer(app, made, offers, entries, asked_for=agents is not None)
        return
    bad = [finding for finding in Doctor(root, app.environment).examine() if finding.mark is Mark.BAD]
    _tell_entries(app, entries)
    _set_up(ctx, offers, asked_for=agents is not None)
    for finding in bad:
        show_finding(app, finding)
    _offer_signed_only(app)
    if bad or wanted or not entries:  # each entry of an editor says how it goes on
        app.ui.next_step("ringi doctor" if bad else _start(wanted))


def _check_options(ways: Mapping[str, str | None], parts: Mapping[str, tuple[str | None, str]]) -> None:
    """At most one of the ways, and parts only with theirs."""
    if sum(given is not None for given in ways.values()) > 1:
        raise choose_one(*ways)
    for option, (value, way) in parts.items():
        if value and ways[way] is None:
            raise only_with(option, way)


def _print_completion(ctx: click.Context, shell: str) -> None:
    from click.shell_completion import get_completion_class  # noqa: PLC0415  # once, when a shell is set up

    if (found := get_completion_class(shell)) is not None:
        root = ctx.find_root().command
        click.echo(found(root, {}, "ringi", "_RINGI_COMPLETE").source(), nl=False)


def _make_alias(app: App, name: str) -> None:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", name):
        words = _("{value} is not {form}").format(value=name, form="NAME")
        raise click.BadParameter(words, param_hint="--alias")
    made = make_alias(name, app.environment, sys.argv[0])
    if app.ui.as_json:
        app.ui.document({"alias": str(made)})
        return
    app.ui.line(Text("created {path}", path=str(made)))
    if shutil.which(name, path=app.environment.get("PATH")) is None:
        line = Text(
            "! {folder} is not on your PATH, so {name} is not found yet", folder=str(made.parent), name=name
        )
        app.ui.line(line, style="yellow")


def _install_hook(app: App, mode: Mode) -> None:
    path, fresh = install_hook(hooks_of(app.start), program(app.environment, sys.argv[0]), mode)
    if app.ui.as_json:
        app.ui.document({"hook": str(path), "mode": str(mode), "new": fresh})
        return
    if fresh:
        app.ui.line(Text("created {path}", path=str(path)))
    else:
        app.ui.line(Text("updated {path}", path=str(path)))
    app.ui.line(
        Text("✓ pushes to this repository are verified in the mode {mode}", mode=str(mode)), style="green"
    )
    app.ui.line(Text("Whose signatures count: {list} of the branch before the push", list=PROJECTS))


def _start(agents: Sequence[Agent]) -> str:
    beside = [agent.name for agent in agents if agent.resume]  # editors do not start in a copy
    return f"ringi with {beside[0] if beside else '-- COMMAND'}"


def _choose_agents(names: str) -> tuple[list[Agent], list[Editor]]:
    """From `claude,zed`."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    known = [*CONFIGURABLE, *EDITORS]
    if not wanted or not set(wanted) <= set(known):
        words = _("Choose from: {names}").format(names=", ".join(known))
        raise click.BadParameter(words, param_hint="--agents")
    agents = [agent for name, agent in CONFIGURABLE.items() if name in wanted]
    return agents, [editor for name, editor in EDITORS.items() if name in wanted]


def _tell_entries(app: App, entries: Sequence[EditorEntry]) -> None:
    """Nothing outside the project is written: the person adds it themselves."""
    ui = app.ui
    if entries and not entries[0].found:
        ui.line(Text("! no agent that speaks ACP was found; these are for opencode:"), style="yellow")
    for entry in entries:
        ui.line(
            Text("{editor}: add this to {file}", editor=entry.editor.title, file=entry.file), style="bold"
        )
        for line in entry.text.split("\n"):
            ui.line(Text("{line}", line=line), indent=4)
        ui.line(entry.editor.note, indent=2)


def _offers(app: App, agents: Sequence[Agent], *, asked_for: bool) -> list[SetupOffer]:
    """None without our server: an agent that must have it would not start."""
    if not agents:
        return []
    if find_spec("mcp") is None:
        error = NoExtra(what=Text("The MCP server"), extra="mcp", command=extending_command("mcp"))
        if asked_for:
            raise error
        app.ui.line(Text(error.message, **error.details), style="yellow")
        app.ui.line(Text(error.hint, **error.details), indent=2)
        app.ui.next_step(_agents_command(agents))
        return []
    words = program(app.environment, sys.argv[0])
    return [offer(app.workspace, agent, words) for agent in agents]


def _answer(
    app: App,
    made: Iterable[Path],
    offers: Sequence[SetupOffer],
    entries: Iterable[EditorEntry],
    *,
    asked_for: bool,
) -> None:
    """For a program: only proposes, and only if it asked for it."""
    changing = any(one.files for one in offers)
    plan_id = propose(app.workspace, offers, app.workspace.person.user()) if changing and asked_for else None
    app.ui.document(
        {
            "workspace": str(app.root),
            "made": [str(path) for path in made],
            "agents": [_offer_document(app, one) for one in offers],
            "editors": [
                {"editor": one.editor.name, "file": one.file, "entry": one.text, "found": one.found}
                for one in entries
            ],
            "plan": app.workspace.plan.ref(plan_id) if plan_id else None,
        }
    )
    if plan_id:
        raise click.exceptions.Exit(EXIT_PERSON_NEEDED)


def _offer_document(app: App, found: SetupOffer) -> dict[str, Any]:
    lacking = missing(found.agent, app.root, app.environment)
    return {
        "agent": found.agent.name,
        "files": [*found.files],
        "left_alone": {file: str(why) for file, why in found.problems.items()},
        "missing": [str(lacking.why), *lacking.lines] if lacking else [],
    }


def _set_up(ctx: click.Context, offers: Sequence[SetupOffer], *, asked_for: bool) -> None:
    """Proposes the changes and lets the person decide. Ends the command if they do not apply them."""
    app: App = ctx.obj
    for found in offers:
        _tell_left_alone(app, found)
    changing = [found for found in offers if found.files]
    refusal = app.workspace.person.refusal() if changing else None
    if refusal and not asked_for:
        titles = ", ".join(found.agent.title for found in changing)
        app.ui.line(Text("Found here: {agents}. To set them up:", agents=titles))
        app.ui.next_step(_agents_command(found.agent for found in changing))
        return
    if changing:
        plan_id = propose(app.workspace, changing, app.workspace.person.user())
        name = app.workspace.plan_name(plan_id)
        if refusal:
            app.ui.line(Text("{plan} sets them up; it waits for you.", plan=name))
            raise NoChannel(why=refusal, command=f"ringi apply {name}")
        decide(ctx, plan_id, full=False, prompter=ApplyPrompter)
    for found in offers:
        _tell_rest(app, found)


def _offer_signed_only(app: App) -> None:
    """To a person with a key, as long as typed answers suffice."""
    found = app.workspace.signers
    if found.proof is RequiredProof.SIGNED or app.workspace.person.refusal():
        return
    keys = found.draft(lists=True).lines
    if not keys:
        return
    app.ui.line(Text("These keys can sign approvals here:"))
    for line in keys:
        app.ui.line(Text("{line}", line=line), indent=4)
    app.ui.line(
        Text("A program that runs as you can open a terminal and type; it cannot touch a hardware key.")
    )
    if confirm(app, Text("Let only signatures count here, and no typed answer? [y/n]")):
        subject = found.draft(lists=True, proof=RequiredProof.SIGNED)
        found.accept(subject, app.workspace.person.user(), TypedAnswer(digest_of(subject), "y"))
        app.ui.line(Text("✓ only signatures count here; to change that: ringi config signers"), style="green")


def _tell_left_alone(app: App, found: SetupOffer) -> None:
    for file, why in found.problems.items():
        app.ui.line(Text("! {file} is left as it is: {why}", file=file, why=why), style="yellow")
    if found.problems:
        app.ui.next_step(_agents_command([found.agent]))
    elif not found.files:
        app.ui.line(Text("✓ {agent} is set up", agent=found.agent.title), style="green")


def _tell_rest(app: App, found: SetupOffer) -> None:
    """What the new files mean, and what only the person can do."""
    for file in found.files:
        if note := found.agent.note_on(file):
            app.ui.line(Text("{file}: {note}", file=file, note=note))
    if lacking := missing(found.agent, app.root, app.environment):
        app.ui.line(Text("! {why}", why=lacking.why), style="yellow")
        for line in lacking.lines:
            app.ui.line(Text("{line}", line=line), indent=4)


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
    ui.line(
        Text("Whoever holds this key can approve plans in this workspace, and in others where you accept it.")
    )
    if not confirm(app, Text("List it in {file}? [y/n]", file=str(file))):
        ui.line(Text("Nothing was listed."))
        raise click.exceptions.Exit(EXIT_PERSON_NEEDED)
    added = signers.add(found.line)
    if ui.as_json:
        ui.document({"file": str(file), "line": found.line, "added": added, "fingerprint": found.fingerprint})
    done = Text("✓ listed in {file}", file=str(file)) if added else Text("✓ it was listed already")
    ui.line(done, style="green")
    if _has_workspace(app):
        accept_shown(app, [found.line])
    else:
        ui.line(Text("In each workspace, accept it once: {command}", command="ringi config signers --accept"))
    ui.line(Text("For a team, commit that line in .agent/allowed_signers; each of them runs: ringi trust"))
    ui.next_step("ringi approve PLAN --sign KEY")


def _has_workspace(app: App) -> bool:
    try:
        return app.root.is_dir()
    except NoWorkspace:
        return False


def _root_or_here(app: App) -> Path:
    try:
        return app.root
    except NoWorkspace:
        if not app.start.is_dir():
            raise
        return app.start.resolve()
