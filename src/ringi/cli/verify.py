"""`ringi verify`: whether what was carried out is what a person approved, by whom, with which proof."""

from collections.abc import Sequence
from gettext import gettext as _
from typing import Final

import click

from ringi.api.verifying import Examination, Verdict
from ringi.api.verifying_commits import CommitStanding
from ringi.cli.app import EXIT_PERSON_NEEDED, App, pass_app
from ringi.cli.results import fail
from ringi.domain.approval import Act, ProofKind
from ringi.domain.proof import FileStanding, GivenApproval, GivenProof, Proven, ProvenFile
from ringi.errors import NotFound, NotProven
from ringi.text import Text
from ringi.views import words

_MOST: Final = 20
_SHOWN: Final = 8


@click.command()
@click.argument("plan", required=False)
@click.option("--all", "every", is_flag=True, help="Every plan of which something was carried out.")
@pass_app
def verify(app: App, plan: str | None, every: bool) -> None:
    """Prove that the files are, or were at that time, exactly what a person approved.

    Without PLAN, the newest that was carried out. The whole log is checked, and every signature again.
    """
    if plan and every:
        raise click.UsageError(_("Choose one: PLAN or --all"))
    looked = Examination(app.workspace)
    names = list(looked.carried_out()) if every else [plan or next(looked.carried_out(), "")]
    if not every and not names[0]:
        raise NotFound(what=Text("plan"), name=Text("that was carried out"))
    verdicts = [looked.plan(name) for name in names]
    if app.ui.as_json:
        documents = [verdict.document for verdict in verdicts]
        app.ui.document(documents if every else documents[0])
    if not verdicts:
        app.ui.line(Text("No plan was carried out yet."))
    _tell_all(app, verdicts)


def _tell_all(app: App, verdicts: Sequence[Verdict]) -> None:
    told: set[Text] = set()
    for verdict in verdicts:
        _tell(app, verdict, told)
    if any(verdict.document.forged for verdict in verdicts):
        app.ui.next_step("ringi doctor --repair")
    contradicted = [verdict for verdict in verdicts if verdict.problems]
    if contradicted:
        names = ", ".join(verdict.document.name for verdict in contradicted)
        fail(app, NotProven(plan=names, why=contradicted[0].problems[0]))
    if not all(verdict.document.carried_out for verdict in verdicts):
        raise click.exceptions.Exit(EXIT_PERSON_NEEDED)


def _tell(app: App, verdict: Verdict, told: set[Text]) -> None:
    """What speaks against all of them, as a break of the log, is told once."""
    document, ui = verdict.document, app.ui
    fresh = [problem for problem in verdict.problems if problem not in told]
    told.update(fresh)
    for problem in fresh:
        ui.line(Text("✗ {problem}", problem=problem), style="red")
    if verdict.problems:
        ui.line(Text("{plan} is not proven", plan=document.name), style="red")
    elif document.carried_out:
        _tell_proven(app, document)
    else:
        _tell_not_carried_out(app, document)
    _tell_commit(app, verdict.commit)
    for what in document.unrecorded[:_MOST]:
        ui.line(Text("! what this changed is not recorded: {what}", what=what), style="yellow", indent=2)
    for path in document.forged:
        ui.line(Text("! {path} does not say what the ledger says; it is not followed", path=path),
                style="yellow", indent=2)  # fmt: skip


def _tell_commit(app: App, commit: CommitStanding) -> None:
    if commit.as_approved:
        line = Text("commit {id} holds exactly the approved bytes", id=commit.commit[: words.COMMIT_SHOWN])
        app.ui.line(line, indent=2)
    for note in commit.notes:
        app.ui.line(Text("! {note}", note=note), style="yellow", indent=2)


def _tell_proven(app: App, document: Proven) -> None:
    ui = app.ui
    done = [one for one in document.executions if one.kind is Act.EXECUTE and one.finished_at]
    approvals = list({one.approval.id: one.approval for one in done if one.approval}.values())
    if not approvals:
        ui.line(Text("✓ {plan} only read; there was nothing to approve", plan=document.name), style="green")
        return
    [*earlier, newest] = approvals
    line = Text("✓ {plan}: {what} · {who}", plan=document.name, what=_what(document), who=_who(newest))
    ui.line(line, style="green")
    _tell_note(app, newest)
    for approval in reversed(earlier):
        ui.line(Text("and {when} · {who}", when=words.moment(approval.at), who=_who(approval)), indent=2)
        _tell_note(app, approval)
    _tell_files(app, document)
    for one in document.executions:
        if one.kind is Act.UNDO and one.finished_at and one.approval:
            when = words.moment(one.finished_at)
            line = Text("undone {when} · {who}", when=when, who=_who(one.approval))
            if one.approval in approvals:
                line = Text("taken back {when}, as approved, because a check failed", when=when)
            ui.line(line, indent=2)


def _what(document: Proven) -> Text:
    found = {file.status for file in document.files if not file.command}
    if not found:
        return Text("what ran is exactly what was approved")
    if found == {FileStanding.AS_APPROVED}:
        return Text("the files are exactly the approved bytes")
    return Text("the files were exactly the approved bytes at that time")


def _who(approval: GivenApproval) -> Text:
    proof = approval.proof
    if proof.kind is ProofKind.TYPED:
        return Text(
            "{name}, typed at a terminal (weak; a signature is stronger: ringi init --key)",
            name=approval.approver,
        )
    signed = Text("{name}, signed with {key}", name=_name(approval, proof), key=proof.key)
    if proof.kind is ProofKind.SIGNED:
        return signed
    return Text("standing approval {grant} of {who}", grant=proof.grant[:_SHOWN], who=signed)


def _name(approval: GivenApproval, proof: GivenProof) -> Text | str:
    """The list says whose key it is; the approver is only what they called themselves."""
    if proof.principal in {"", approval.approver}:
        return approval.approver
    return Text("{name} (listed as {principal})", name=approval.approver, principal=proof.principal)


def _tell_note(app: App, approval: GivenApproval) -> None:
    if approval.note:
        app.ui.line(Text("note: {note}", note=approval.note), indent=4)


def _tell_files(app: App, document: Proven) -> None:
    lines = [line for line in map(_line, document.files) if line is not None]
    for line, style in lines[:_MOST]:
        app.ui.line(line, style=style, indent=2)
    if len(lines) > _MOST:
        app.ui.line(Text("… and {count} more", count=len(lines) - _MOST), indent=2)


def _line(file: ProvenFile) -> tuple[Text, str] | None:
    """Only what is not as the first line says."""
    if file.status is FileStanding.CHANGED_SINCE and file.since:
        return Text("! {path} was changed since, by {plan}", path=file.path, plan=file.since), "yellow"
    if file.status is FileStanding.CHANGED_SINCE:
        return Text("! {path} was changed since, by somebody", path=file.path), "yellow"
    if file.status is FileStanding.UNDONE:
        return Text("- {path}: undone", path=file.path), "dim"
    if file.command:
        line = Text("{path} was written by the approved command {command}",
                    path=file.path, command=file.command)  # fmt: skip
        return line, "dim"
    return None


def _tell_not_carried_out(app: App, document: Proven) -> None:
    app.ui.line(Text("{plan} was not carried out", plan=document.name))
    under = {one.approval.id: one.approval for one in document.executions if one.approval}
    for approval in (*under.values(), *document.unused):
        app.ui.line(Text("approved {when} · {who}", when=words.moment(approval.at), who=_who(approval)),
                    indent=2)  # fmt: skip
        _tell_note(app, approval)
    app.ui.next_step(f"ringi show {document.name}")
