"""`ringi status`: the open planning sessions and the runs, or one of them."""

import contextlib
from gettext import gettext as _
from typing import Any, Final

import click
import msgspec

from ringi.cli.app import App, pass_app
from ringi.cli.arguments import choose_one, require_long
from ringi.cli.plan_names import RUN
from ringi.cli.planning.driver import Driver, show_sessions
from ringi.cli.runs import document, lock_of, reading, show, watch
from ringi.cli.ui import cut
from ringi.engine.instruction import title_of
from ringi.engine.run_state import OVER
from ringi.errors import Ambiguous, NotFound, RingiError
from ringi.kernel.text import Text
from ringi.ledger.subject import is_session
from ringi.plans.words import age
from ringi.runs.view import run_facts
from ringi.sessions.document import OPEN_SESSIONS, ApprovalPending, SessionView
from ringi.sessions.status_view import SESSION_PHASE, short_names
from ringi.sessions.view import answer_lines, count_agent_acts, feedback_lines, pending_lines

_MOST_RUNS: Final = 20


@click.command()
@click.argument("run", metavar="[RUN|SESSION]", type=RUN, required=False)
@click.option(
    "--session", "name", metavar="ID", help="A planning session or a run, by its id or the beginning of it."
)
@pass_app
def status(app: App, run: str | None, name: str | None) -> None:
    """Show what is being planned and carried out.

    Each by its id or the beginning of it. While a run is carried out, a terminal shows it live: its steps,
    the last lines of the current command, time, tokens and cost. Ctrl-C only ends the watching.
    """
    if run is not None and name is not None:
        raise choose_one("RUN", "--session")
    if run is not None and is_session(run):
        run, name = None, run
    if run is not None:
        _show_run(app, run)
        return
    if name is None:
        _show_all(app)
        return
    if not name:
        raise click.UsageError(_("--session needs an ID"))
    require_long(name)
    session_id, run_id = _find(app, name)
    if session_id is not None:
        _show_session(app, session_id)
    elif run_id is not None:
        _show_run(app, run_id)


def _find(app: App, name: str) -> tuple[str | None, str | None]:
    """A session, or a run: never both."""
    planning = app.workspace.planning
    found: list[str | None] = []
    for find in (planning.find, planning.find_run):
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
    refs, runs = app.workspace.planning.list(open_only=True), app.workspace.planning.runs()
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
        for run in runs[:_MOST_RUNS]:
            app.ui.line(cut(title_of(run.instruction), app.ui.columns - 2), style="bold", indent=2)
            working = lock_of(app.places.state, run.run_id).is_held()
            app.ui.line(run_facts(run, working=working), indent=2)
        if len(runs) > _MOST_RUNS:
            app.ui.line(Text("and {count} more", count=len(runs) - _MOST_RUNS), indent=2)
        unfinished = next((run for run in runs if run.phase not in OVER), runs[0])
        app.ui.next_step(f"ringi status {unfinished.run_id}")
    if not (refs or runs):
        app.ui.line(Text("No planning session is open, and there are no runs."))
        app.ui.next_step('ringi plan "…"')


def _show_session(app: App, session_id: str) -> None:
    driver = Driver(app, session_id)
    view = driver.view()
    if app.ui.as_json:
        app.ui.document(_document(driver, view))
        return
    stored = driver.tool.get(session_id)
    session = stored.session
    app.ui.line(Text("{session} · {age} · {phase}", session=session.session_id, age=age(session.updated_at),
                     phase=SESSION_PHASE[session.status]), style="bold")  # fmt: skip
    if not isinstance(view.pending, ApprovalPending):  # a summary shows the answers itself
        app.ui.prose(session.instruction, indent=2)
        app.ui.show(answer_lines(session))
        app.ui.show(feedback_lines(stored.facts))
    app.ui.show(pending_lines(stored, view.pending))
    driver.tell_approval()
    driver.tell_agents_part()
    driver.tell_totals(view)
    if session.status in OPEN_SESSIONS:
        app.ui.next_step(driver.command)
    elif session.planner_session_id:
        app.ui.next_step(f"ringi status {session.planner_session_id}")


def _document(driver: Driver, view: SessionView) -> dict[str, Any]:
    """The view, with who said what in it."""
    done = count_agent_acts(driver.app.workspace.log(view.session_id))
    document: dict[str, Any] = msgspec.to_builtins(view)
    document["byAgent"] = {"instruction": done.began, "answers": done.answers, "design": done.brought}
    approval = None
    with contextlib.suppress(RingiError):  # it does not count any more
        approval = driver.tool.approval(view.session_id)
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


def _show_run(app: App, name: str) -> None:
    with reading(app) as reader:
        run_id = reader.find(name)
        looked = reader.look(run_id)
        if app.ui.as_json:
            app.ui.document(document(looked))
            return
        if looked.working and app.ui.out.isatty() and app.environment.get("TERM", "dumb") != "dumb":
            looked = watch(app, reader, run_id)
        show(app, looked)
