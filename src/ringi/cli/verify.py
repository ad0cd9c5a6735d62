"""`ringi verify` and `ringi log`: what happened, and the proof that a person approved exactly that."""

from collections.abc import Sequence
from gettext import gettext as _

import click

from ringi.api.verifying import Examination, Verdict
from ringi.api.verifying_commits import CommitStanding
from ringi.cli.app import EXIT_PERSON_NEEDED, App, pass_app
from ringi.cli.input import require_long
from ringi.cli.results import fail
from ringi.domain.session import is_session
from ringi.errors import LogBroken, NotFound, NotProven
from ringi.text import Text
from ringi.views import words
from ringi.views.proof import doubt_lines, event_line, proven_lines, unexecuted_lines


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
        ui.show(proven_lines(document))
    else:
        ui.show(unexecuted_lines(document))
    _tell_commit(app, verdict.commit)
    ui.show(doubt_lines(document))


def _tell_commit(app: App, commit: CommitStanding) -> None:
    if commit.as_approved:
        line = Text("commit {id} holds exactly the approved bytes", id=commit.commit[: words.COMMIT_SHOWN])
        app.ui.line(line, indent=2)
    for note in commit.notes:
        app.ui.line(Text("! {note}", note=note), style="yellow", indent=2)


@click.command()
@click.argument("plan", required=False)
@click.option("--verify", is_flag=True, help="Check that nothing in the log was changed, removed or moved.")
@pass_app
def log(app: App, plan: str | None, verify: bool) -> None:
    """Show the events of a plan, of a planning session, or of all."""
    if verify:
        _verify_log(app)
        return
    if plan is not None and is_session(plan):
        require_long(plan)
    events = app.workspace.log(plan)
    if app.ui.as_json:
        app.ui.document(list(events))
        return
    names = {ref.id: ref.name for ref in app.plans.refs()}
    for logged in events:
        app.ui.line(event_line(logged, names.get(logged.event.subject_id, "-")))


def _verify_log(app: App) -> None:
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
