"""`ringi status`: planning sessions that are open, runs, and where one of them stands."""

from gettext import gettext as _
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from ringi.cli.app import App, pass_app
from ringi.errors import Ambiguous, NotFound
from ringi.text import Text

if TYPE_CHECKING:
    from ringi.cli.planning.going import Going
    from ringi.domain.run import Run
    from ringi.domain.session_view import SessionView

_MOST_RUNS: Final = 20


@click.command()
@click.option(
    "--session", "name", metavar="ID", help="A planning session or a run, by its id or the beginning of it."
)
@pass_app
def status(app: App, name: str | None) -> None:
    """Show the open planning sessions and the runs, or where one of them stands."""
    if name is None:
        _show_all(app)
        return
    if not name:
        raise click.UsageError(_("--session needs an ID"))
    from ringi.cli.planning.naming import require_long  # noqa: PLC0415  # not needed to show help

    require_long(name)
    session_id, run_id = _found(app, name)
    if session_id is not None:
        _show_session(app, session_id)
    elif run_id is not None:
        _show_run(app, app.workspace.parts.ledger.run(run_id))


def _found(app: App, name: str) -> tuple[str | None, str | None]:
    """A session, or a run: never both."""
    ledger = app.workspace.parts.ledger
    found: list[str | None] = []
    for find in (ledger.find_session, ledger.find_run):
        try:
            found.append(find(name))
        except NotFound:
            found.append(None)
    session_id, run_id = found
    if session_id and run_id:
        raise Ambiguous(name=name, candidates=f"{session_id}, {run_id}")
    if not (session_id or run_id):
        raise NotFound(what=Text("planning session or run"), name=name, see="ringi status")
    return session_id, run_id


def _show_all(app: App) -> None:
    from ringi.cli.planning.choosing import show_sessions  # noqa: PLC0415  # not needed to show help
    from ringi.cli.planning.naming import short_names  # noqa: PLC0415  # not needed to show help

    refs, runs = app.workspace.planning.list(open_only=True), app.workspace.parts.ledger.runs()
    if app.ui.as_json:
        app.ui.document({"planning": refs, "runs": runs})
        return
    if refs:
        app.ui.line(Text("{count} being planned", count=len(refs)), style="bold")
        show_sessions(app, refs)
        newest = refs[0].session_id
        app.ui.next_step(f"ringi plan --resume {short_names(ref.session_id for ref in refs)[newest]}")
    if runs:
        app.ui.line(Text("Runs: {count}", count=len(runs)), style="bold")
        titles = _titles(app)
        for run in runs[:_MOST_RUNS]:
            _show_line(app, run, titles.get(run.planning_session_id, ""))
        if len(runs) > _MOST_RUNS:
            app.ui.line(Text("and {count} more", count=len(runs) - _MOST_RUNS), indent=2)
        app.ui.next_step(f"ringi status --session {runs[0].run_id}")
    if not (refs or runs):
        app.ui.line(Text("No planning session is open, and there are no runs."))
        app.ui.next_step('ringi plan "…"')


def _titles(app: App) -> dict[str, str]:
    return {ref.session_id: ref.title for ref in app.workspace.planning.list()}


def _show_line(app: App, run: "Run", title: str) -> None:
    from ringi.cli.planning.naming import age  # noqa: PLC0415  # not needed to show help
    from ringi.cli.planning.wrapping import columns, cut  # noqa: PLC0415  # not needed to show help

    app.ui.line(cut(title, columns(app.ui) - 2) or "—", style="bold", indent=2)
    app.ui.line(
        Text("{run} · {age} · {phase}", run=run.run_id, age=age(run.updated_at), phase=_phase(run)), indent=2
    )


def _phase(run: "Run") -> Text:
    from ringi.domain.run import RunPhase  # noqa: PLC0415  # not needed to show help

    words = {
        RunPhase.PLANNING: Text("waits to be started"),
        RunPhase.EXECUTING: Text("running"),
        RunPhase.INTEGRATING: Text("being put together"),
        RunPhase.COMPLETED: Text("done"),
        RunPhase.NEEDS_INPUT: Text("needs an answer"),
        RunPhase.CANCELLED: Text("cancelled"),
        RunPhase.FAILED: Text("failed"),
    }
    return words[run.phase]


def _show_session(app: App, session_id: str) -> None:
    from ringi.cli.planning.going import Going  # noqa: PLC0415  # not needed to show help
    from ringi.cli.planning.naming import PHASE, age  # noqa: PLC0415  # not needed to show help
    from ringi.cli.planning.showing import (  # noqa: PLC0415  # not needed to show help
        show_answers,
        show_feedback,
        show_pending,
    )
    from ringi.cli.planning.wrapping import paragraph  # noqa: PLC0415  # not needed to show help
    from ringi.domain.session import OPEN_SESSIONS  # noqa: PLC0415  # not needed to show help
    from ringi.domain.session_view import ApprovalPending  # noqa: PLC0415  # not needed to show help

    going = Going(app, session_id)
    view = going.view()
    if app.ui.as_json:
        app.ui.document(_document(going, view))
        return
    stored = going.tool.get(session_id)
    session = stored.session
    app.ui.line(Text("{session} · {age} · {phase}", session=session.session_id, age=age(session.updated_at),
                     phase=PHASE[session.status]), style="bold")  # fmt: skip
    if not isinstance(view.pending, ApprovalPending):  # which shows all of it
        paragraph(app.ui, session.instruction, indent=2)
        show_answers(app.ui, session)
        show_feedback(app.ui, stored.facts)
    show_pending(app.ui, stored, view.pending)
    going.tell_approval()
    going.tell_given()
    going.tell_totals(view)
    if session.status in OPEN_SESSIONS:
        app.ui.next_step(going.command)
    elif session.planner_session_id:
        app.ui.next_step(f"ringi status --session {session.planner_session_id}")


def _document(going: "Going", view: "SessionView") -> dict[str, Any]:
    """The view, with who said what in it."""
    from ringi.cli.planning.showing import given_by_agent  # noqa: PLC0415  # not needed to show help

    begun, count = given_by_agent(going.app.workspace.log(view.session_id))
    document: dict[str, Any] = msgspec.to_builtins(view)
    document["byAgent"] = {"instruction": begun, "answers": count}
    approval = going.app.workspace.parts.ledger.session_approval(view.session_id)
    if approval is not None:
        proof = approval.proof
        document["approval"] = {
            "approver": approval.approver,
            "timestamp": approval.timestamp,
            "proof": proof.kind,
            "strength": proof.strength,
            "by": proof.principal or proof.user,
        }
    return document


def _show_run(app: App, run: "Run") -> None:
    from ringi.cli.planning.wrapping import shown_lines  # noqa: PLC0415  # not needed to show help

    if app.ui.as_json:
        app.ui.document(run)
        return
    _show_line(app, run, _titles(app).get(run.planning_session_id, ""))
    for line in shown_lines(run.instruction):
        app.ui.line(line, indent=4 if line else 0)
    app.ui.line(Text("It comes from {session}.", session=run.planning_session_id), indent=2)
    app.ui.next_step(f"ringi status --session {run.planning_session_id}")
