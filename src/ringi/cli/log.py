"""`ringi log`: what happened, and whether the record of it is whole."""

import click

from ringi.cli.app import App, pass_app
from ringi.cli.input import require_long
from ringi.domain.events import LoggedEvent
from ringi.domain.session import is_session, short
from ringi.domain.subject import SubjectKind
from ringi.errors import LogBroken
from ringi.text import Text


@click.command()
@click.argument("plan", required=False)
@click.option("--verify", is_flag=True, help="Check that nothing in the log was changed, removed or moved.")
@pass_app
def log(app: App, plan: str | None, verify: bool) -> None:
    """Show the events of a plan, of a planning session, or of all."""
    if verify:
        _verify(app)
        return
    if plan is not None and is_session(plan):
        require_long(plan)
    events = app.workspace.log(plan)
    if app.ui.as_json:
        app.ui.document(list(events))
        return
    names = {ref.id: ref.name for ref in app.plans.refs()}
    for logged in events:
        app.ui.line(console_line(logged, names.get(logged.event.subject_id, "-")))


def console_line(logged: LoggedEvent, name: str) -> Text:
    event = logged.event
    kind, subject_id = event.subject
    if kind in {SubjectKind.SESSION, SubjectKind.RUN}:
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


def _verify(app: App) -> None:
    breaks = app.workspace.verify_log()
    count = sum(1 for _ in app.workspace.log()) if not breaks else 0
    if app.ui.as_json:
        app.ui.document({"ok": not breaks, "breaks": [str(place) for place in breaks]})
    if breaks:
        for place in breaks:
            app.ui.line(Text("✗ {place}", place=place), style="red")
        raise LogBroken(count=len(breaks))
    if not app.ui.as_json:
        app.ui.line(
            Text("✓ {count} events, unbroken; plans, sessions, approvals and results agree", count=count),
            style="green",
        )
