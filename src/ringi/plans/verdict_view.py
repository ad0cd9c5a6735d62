"""What `ringi verify` and `ringi log` show: what was approved, by whom, and what happened."""

from collections.abc import Iterator
from typing import Final

from ringi.approvals.document import Act, ProofKind, Strength
from ringi.kernel.lines import Line, Style, line, step
from ringi.kernel.text import GRANT_SHOWN, Text, moment
from ringi.ledger.event import LoggedEvent
from ringi.ledger.subject import SubjectKind, short
from ringi.plans.verdict import FileStanding, GivenApproval, GivenProof, Proven, ProvenFile, ProvenSession

_MOST: Final = 20


def proven_lines(document: Proven) -> Iterator[Line]:
    done = [one for one in document.executions if one.kind is Act.EXECUTE and one.finished_at]
    approvals = list({one.approval.id: one.approval for one in done if one.approval}.values())
    if not approvals:
        only_read = Text("✓ {plan} only read; there was nothing to approve", plan=document.name)
        yield line(only_read, Style.GOOD)
        return
    [*earlier, newest] = approvals
    what, who = _what(document), _who(newest)
    yield line(Text("✓ {plan}: {what} · {who}", plan=document.name, what=what, who=who), Style.GOOD)
    yield from _note_lines(newest)
    for approval in reversed(earlier):
        when = moment(approval.at)
        yield line(Text("and {when} · {who}", when=when, who=_who(approval)), indent=2)
        yield from _note_lines(approval)
    yield from _file_lines(document)
    for one in document.executions:
        if one.kind is Act.UNDO and one.finished_at and one.approval:
            when = moment(one.finished_at)
            undone = Text("undone {when} · {who}", when=when, who=_who(one.approval))
            if one.approval in approvals:
                undone = Text("taken back {when}, as approved, because a check failed", when=when)
            yield line(undone, indent=2)


def format_unexecuted(document: Proven) -> Iterator[Line]:
    """A plan that was not carried out."""
    yield line(Text("{plan} was not carried out", plan=document.name))
    under = {one.approval.id: one.approval for one in document.executions if one.approval}
    for approval in (*under.values(), *document.unused):
        when = moment(approval.at)
        yield line(Text("approved {when} · {who}", when=when, who=_who(approval)), indent=2)
        yield from _note_lines(approval)
    yield step(f"ringi show {document.name}")


def session_lines(document: ProvenSession) -> Iterator[Line]:
    name = short(document.session_id)
    if document.approval is None:
        yield line(Text("{session} was not approved", session=name))
        yield step(f"ringi plan --resume {name}")
        return
    proven = Text(
        "✓ {session}: run {run} got exactly what was approved · {who}",
        session=name,
        run=document.run_id,
        who=_who(document.approval),
    )
    yield line(proven, Style.GOOD)
    for path in document.forged:
        yield _format_forged(path)


def doubt_lines(document: Proven) -> Iterator[Line]:
    """Changes without a record, and files in `.agent` that contradict the ledger."""
    for what in document.unrecorded[:_MOST]:
        unrecorded = Text("! what this changed is not recorded: {what}", what=what)
        yield line(unrecorded, Style.WARNING, indent=2)
    for path in document.forged:
        yield _format_forged(path)


def _format_forged(path: str) -> Line:
    forged = Text("! {path} does not say what the ledger says; it is not followed", path=path)
    return line(forged, Style.WARNING, indent=2)


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
        typed = Text(
            "{name}, typed at a terminal (weak; a signature is stronger: ringi init --key)",
            name=approval.approver,
        )
        if proof.fresh_since:
            return Text("{typed}; fresh terminal: opened after it was proposed", typed=typed)
        return typed
    if proof.kind is ProofKind.REVIEW:
        return _review(approval, proof)
    signed = Text("{name}, signed with {key}", name=_name(approval, proof), key=proof.key)
    if proof.kind is ProofKind.SIGNED:
        return signed
    return Text("standing approval {grant} of {who}", grant=proof.grant[:GRANT_SHOWN], who=signed)


def _review(approval: GivenApproval, proof: GivenProof) -> Text:
    told = {"name": approval.approver, "url": proof.url}
    if proof.strength is Strength.WEAK:
        return Text("{name}, in {url} (weak: this machine held credentials of that account)", **told)
    return Text("{name}, in {url} (medium: the forge confirmed it at that time)", **told)


def _name(approval: GivenApproval, proof: GivenProof) -> Text | str:
    """The signers' list says whose key it is; the approver is only a claim."""
    if proof.principal in {"", approval.approver}:
        return approval.approver
    return Text("{name} (listed as {principal})", name=approval.approver, principal=proof.principal)


def _note_lines(approval: GivenApproval) -> Iterator[Line]:
    if approval.note:
        yield line(Text("note: {note}", note=approval.note), indent=4)


def _file_lines(document: Proven) -> Iterator[Line]:
    """Only files that the first line does not cover."""
    lines = [found for found in map(_file_line, document.files) if found is not None]
    yield from lines[:_MOST]
    if len(lines) > _MOST:
        yield line(Text("… and {count} more", count=len(lines) - _MOST), indent=2)


def _file_line(file: ProvenFile) -> Line | None:
    path = file.path
    if file.status is FileStanding.CHANGED_SINCE and file.since:
        by_plan = Text("! {path} was changed since, by {plan}", path=path, plan=file.since)
        return line(by_plan, Style.WARNING, indent=2)
    if file.status is FileStanding.CHANGED_SINCE:
        return line(Text("! {path} was changed since, by somebody", path=path), Style.WARNING, indent=2)
    if file.status is FileStanding.UNDONE:
        return line(Text("- {path}: undone", path=path), Style.FAINT, indent=2)
    if file.command:
        written = Text(
            "{path} was written by the approved command {command}", path=path, command=file.command
        )
        return line(written, Style.FAINT, indent=2)
    return None


def event_line(logged: LoggedEvent, name: str) -> Text:
    """`name` is the plan's short name."""
    event = logged.event
    kind, subject_id = event.subject
    if kind is not SubjectKind.PLAN and kind is not SubjectKind.GRANT:
        return Text(
            "{at}  {session}  {event}  {actor}  {reason}",
            at=event.at[:19].replace("T", " "),
            session=short(subject_id) if kind is SubjectKind.SESSION else subject_id,
            event=event.event,
            actor=event.actor,
            reason=event.reason[:100],
        )
    return Text(
        "{at}  {plan}  {event}  {actor}  {files} files, risk {risk}  {reason}",
        at=event.at[:19].replace("T", " "),
        plan=name,
        event=event.event,
        actor=event.actor,
        files=event.counts.files,
        risk=event.risk_score,
        reason=event.reason[:100],
    )
