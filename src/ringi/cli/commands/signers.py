"""`ringi config signers`: whose signatures count here, and whether a typed answer does."""

from collections.abc import Iterable
from pathlib import Path

import click

from ringi.approvals.document import Proof, RequiredProof, SignersSubject, TypedAnswer
from ringi.approvals.prompter import ask_approval
from ringi.approvals.signers import COMMAND, Signers, digest_of, new_lines
from ringi.cli.app import EXIT_PERSON_NEEDED, App, pass_app
from ringi.cli.arguments import only_with
from ringi.cli.ask import LinePrompter, require_terminal, sign_statement
from ringi.errors import BadConfiguration
from ringi.kernel.text import Text

_RULES = {
    RequiredProof.ANY: Text("A typed answer counts too (approval.proof: any)."),
    RequiredProof.SIGNED: Text("Only signatures count (approval.proof: signed)."),
}


@click.command()
@click.option("--accept", is_flag=True, help="Accept the lists as they are now.")
@click.option(
    "--proof",
    type=click.Choice([one.value for one in RequiredProof]),
    help="signed: a typed answer never suffices here.",
)
@click.option(
    "--sign",
    metavar="KEY",
    type=click.Path(path_type=Path),
    help="Sign with this SSH key, which counts here.",
)
@pass_app
def signers(app: App, accept: bool, proof: str | None, sign: Path | None) -> None:
    """Show or change whose signatures count here, and whether a typed answer does.

    The ledger keeps the lines that you accepted. A line that is added to a list later counts once you accept
    it; one that is removed stops counting at once. If only signatures count, a key of the accepted lists has
    to sign the change.
    """
    found = app.workspace.signers
    if not accept and proof is None:
        if sign is not None:
            raise only_with("--sign", "--accept, --proof")
        _show(app, found)
        return
    before = found.last_accepted()
    wanted = RequiredProof(proof) if proof else None
    if wanted is RequiredProof.ANY:
        _refuse_configured(app)
    subject = found.draft(lists=accept or before is None, proof=wanted)
    if before and (before.lists, before.proof) == (subject.lists, subject.proof):
        app.ui.line(Text("✓ that is accepted already"), style="green")
    else:
        _change(app, found, subject, sign)
    if app.ui.as_json:
        app.ui.document(_document(found))


def _refuse_configured(app: App) -> None:
    """The ledger would follow the configuration again."""
    config = app.workspace.config
    if config.approval.proof == RequiredProof.SIGNED.value:
        where = config.source("approval.proof").where
        raise BadConfiguration(where=where, problem=Text("approval.proof is signed; change it there first"))


def _change(app: App, found: Signers, subject: SignersSubject, key: Path | None) -> None:
    who = app.workspace.person.user()
    if key is None:
        found.require_typed_change(subject)
        require_terminal(app, COMMAND)
    _show_change(app, subject, found.last_accepted())
    answer: Proof | None
    if key is None:
        try:
            answer = ask_approval(LinePrompter(app), digest_of(subject))
        except EOFError:
            answer = None
    else:
        answer = sign_statement(app, key, found.statement(subject, who))
    if answer is None:
        raise click.exceptions.Exit(EXIT_PERSON_NEEDED)
    found.accept(subject, who, answer)
    app.ui.line(Text("✓ accepted, in the ledger of this workspace"), style="green")
    app.ui.line(_RULES[found.proof], indent=2)


def _show_change(app: App, subject: SignersSubject, before: SignersSubject | None) -> None:
    ui, known = app.ui, before.lines if before else ()
    for file in subject.lists:
        ui.line(Text("{path}", path=file.path), style="bold", indent=2)
        _show_lines(app, file.lines, {line: "+" for line in file.lines if line not in known})
    gone = [line for line in known if line not in subject.lines]
    if gone:
        ui.line(Text("no longer:"), style="bold", indent=2)
        _show_lines(app, gone, dict.fromkeys(gone, "-"))
    ui.line(Text("Whoever holds one of these keys can approve plans here."))
    ui.line(_RULES[subject.proof])


def _show_lines(app: App, lines: Iterable[str], marks: dict[str, str]) -> None:
    for line in lines:
        app.ui.line(Text("{mark} {line}", mark=marks.get(line, " "), line=line), indent=4)


def _show(app: App, found: Signers) -> None:
    ui, said = app.ui, found.last_accepted()
    counting = {line for one in found.counting() for line in one.data.decode().splitlines()}
    for file in said.lists if said else ():
        ui.line(Text("{path}", path=file.path), style="bold", indent=2)
        _show_lines(app, file.lines, {line: "!" for line in file.lines if line not in counting})
    if said and set(said.lines) - counting:
        ui.line(Text("! not in the file any more, so it does not count"), style="yellow", indent=2)
    offered = found.offered()
    waiting = [line for file in offered for line in file.lines if not said or line not in said.lines]
    if waiting:
        ui.line(Text("listed, but not accepted here:"), style="bold", indent=2)
        _show_lines(app, waiting, dict.fromkeys(waiting, "+"))
    if not said and not waiting:
        ui.line(Text("No key is listed; approvals are typed."))
        ui.next_step("ringi init --key KEY.pub")
    ui.line(_RULES[found.proof])
    if ui.as_json:
        ui.document(_document(found))
    if waiting:
        ui.next_step(found.accepting)


def _document(found: Signers) -> dict[str, object]:
    said = found.last_accepted()
    return {
        "proof": found.proof,
        "accepted": said,
        "counting": [line for one in found.counting() for line in one.data.decode().splitlines()],
        "offered": found.offered(),
    }


def accept_shown(app: App, shown: Iterable[str]) -> None:
    """After a person said yes to these lines: they count here too, if nothing else would with them."""
    found = app.workspace.signers
    subject, before = found.draft(lists=True), found.last_accepted()
    if before and before.lists == subject.lists:
        return
    if found.needs_signature() or not set(new_lines(subject, before)) <= set(shown):
        app.ui.line(Text("Before it counts in this workspace, accept it here:"))
        app.ui.next_step(found.accepting)
        return
    found.accept(subject, app.workspace.person.user(), TypedAnswer(digest_of(subject), "y"))
    app.ui.line(Text("✓ it counts in this workspace"), style="green")
