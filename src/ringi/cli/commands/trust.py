"""`ringi trust`: look at what a project would run, and allow it."""

import gettext
from collections.abc import Mapping

import click

from ringi.app.init import project_trust
from ringi.approvals.document import TypedAnswer
from ringi.approvals.project_trust import COMMAND
from ringi.approvals.proof import TYPED_LENGTH
from ringi.cli.app import EXIT_PERSON_NEEDED, App, pass_app
from ringi.cli.arguments import choose_one
from ringi.cli.ask import ask, require_terminal
from ringi.cli.commands.signers import accept_shown
from ringi.config.pins import (
    MASKING,
    MODEL_ADDRESS,
    MODELS,
    NO_COMMANDS,
    SIGNERS,
    PinnedPart,
    TrustState,
    TrustVerdict,
)
from ringi.kernel.text import Text

_ = gettext.gettext
_STATES: Mapping[TrustState, tuple[Text, str]] = {
    TrustState.NOTHING: (Text("This project names nothing that would need your trust."), ""),
    TrustState.TRUSTED: (Text("✓ trusted"), "green"),
    TrustState.UNTRUSTED: (Text("! not trusted: none of it runs or counts"), "yellow"),
    TrustState.CHANGED: (Text("! changed since it was trusted: none of it runs or counts"), "yellow"),
}


@click.command()
@click.option("--show", is_flag=True, help="Only show what there is and whether it is trusted.")
@click.option("--revoke", is_flag=True, help="Stop trusting it.")
@pass_app
def trust(app: App, show: bool, revoke: bool) -> None:
    """Allow the commands, the model, the patterns and the signers that the project itself names.

    Until you do, they do nothing; when one of them changes, you are asked again. The answer has to be typed
    by a person at a terminal.
    """
    if show and revoke:
        raise choose_one("--show", "--revoke")
    if revoke:
        _revoke(app)
        return
    project = project_trust(app.root, app.environment)
    verdict = project.look()
    settled = verdict.state in {TrustState.NOTHING, TrustState.TRUSTED}
    if not (show or settled):
        _decide(app, verdict)
        return
    _show(app, verdict)
    _tell_state(app, verdict)
    if app.ui.as_json:
        app.ui.document(project.document(verdict))
    if not settled:
        app.ui.next_step(COMMAND)


def _decide(app: App, verdict: TrustVerdict) -> None:
    ui = app.ui
    require_terminal(app, COMMAND)
    if verdict.problem is not None:  # say so before the person reads everything for nothing
        raise verdict.problem
    _show(app, verdict)
    _explain(app, verdict)
    wanted = verdict.digest[:TYPED_LENGTH]
    ui.line(Text("What you trust is sha256 {digest}", digest=verdict.digest), indent=2)
    try:
        answer = ask(app, Text("To trust it, type {wanted}:", wanted=wanted))
    except EOFError:
        answer = ""
    if answer != wanted:
        ui.line(Text("That does not match; nothing was trusted."), style="yellow")
        raise click.exceptions.Exit(EXIT_PERSON_NEEDED)
    project = project_trust(app.root, app.environment)
    project.trust(TypedAnswer(verdict.digest, answer))
    if ui.as_json:
        ui.document(project.document(project.look()))
    ui.line(Text("✓ trusted, until one of them changes"), style="green")
    if lines := verdict.lines(SIGNERS):
        accept_shown(app, [line.strip() for line in lines])


def _show(app: App, verdict: TrustVerdict) -> None:
    ui = app.ui
    before = {part.name: part for part in verdict.pin.parts} if verdict.pin else {}
    for part in verdict.parts:
        _show_part(app, part, before.get(part.name), known=bool(before))
    now = {part.name for part in verdict.parts}
    for name in (name for name in before if name not in now):
        ui.line(Text("{name} (no longer there)", name=name), style="bold", indent=2)
    if verdict.parts:
        ui.line()


def _show_part(app: App, part: PinnedPart, before: PinnedPart | None, *, known: bool) -> None:
    """Every line; if it was trusted before, with added and removed lines marked."""
    ui = app.ui
    same = before is not None and before.sha256 == part.sha256
    title = Text("{name}", name=part.name)
    if known and not same:
        title = Text("{name} (changed)", name=part.name) if before else Text("{name} (new)", name=part.name)
    ui.line(title, style="bold", indent=2)
    marked = before is not None and not same
    for line in part.lines:
        added = marked and before is not None and line not in before.lines
        ui.line(Text("{mark} {line}", mark="+" if added else " ", line=line), indent=4)
    for line in before.lines if before is not None and marked else ():
        if line not in part.lines:
            ui.line(Text("{mark} {line}", mark="-", line=line), style="dim", indent=4)


def _explain(app: App, verdict: TrustVerdict) -> None:
    ui = app.ui
    names = {part.name for part in verdict.parts}
    if names - NO_COMMANDS:
        ui.line(Text("Once trusted, these commands run with your rights, in copies of the project."))
        ui.line(
            Text(
                "Only the command lines are pinned: a script or Makefile that they run can change unnoticed."
            )
        )
    if MODELS & names:
        ui.line(Text("The model is told what you ask; if it is named command:, it runs with your rights."))
    if MODEL_ADDRESS in names:
        ui.line(
            Text(
                "The address of {key} gets all that is sent to the model, and your key for it.",
                key=MODEL_ADDRESS,
            )
        )
    for key in MASKING:
        if key in names:
            ui.line(Text("What the patterns of {key} match is taken out of logs.", key=key))
    if SIGNERS in names:
        ui.line(Text("Whoever holds one of the keys in {file} can approve plans.", file=SIGNERS))
    ui.line(Text("If a line of it changes, none of it counts until you trust it again."))


def _tell_state(app: App, verdict: TrustVerdict) -> None:
    words, style = _STATES[verdict.state]
    app.ui.line(words, style=style)
    if verdict.trusted and verdict.pin is not None:
        app.ui.line(Text("by {user}, {when}", user=verdict.pin.by, when=verdict.pin.at), indent=2)
    if verdict.note is not None:
        app.ui.line(Text("! {problem}", problem=verdict.note), style="yellow")


def _revoke(app: App) -> None:
    gone = project_trust(app.root, app.environment).revoke()
    if app.ui.as_json:
        app.ui.document({"workspace": str(app.root), "revoked": gone.digest if gone else None})
    if gone is None:
        app.ui.line(Text("Nothing was trusted here."))
    else:
        app.ui.line(Text("✓ no longer trusted"), style="green")
