"""`ringi verify PLAN`: by the ledger, whether the files are exactly what a person approved."""

from collections.abc import Sequence

import click
from msgspec import UNSET
from msgspec.structs import replace

from ringi.cli.app import EXIT_PERSON_NEEDED, App
from ringi.cli.arguments import require_long
from ringi.errors import NotFound, NotProven
from ringi.kernel.text import COMMIT_SHOWN, Text
from ringi.ledger.subject import is_session, short
from ringi.plans.verdict import Proven
from ringi.plans.verdict_view import doubt_lines, format_unexecuted, proven_lines, session_lines
from ringi.plans.verify import CommitStanding, Examination, PlanVerdict, SessionVerdict
from ringi.runs.ref_damage import find_lost_proofs


def verify_plans(app: App, plan: str | None, *, every: bool) -> None:
    if plan and is_session(plan):
        require_long(plan)
    with app.workspace.one_moment():
        only = "" if not plan or is_session(plan) else app.workspace.plan.find(plan)
        looked = Examination(app.workspace, only=only, every=every)
        verdicts, sessions = _verdicts(looked, plan, every=every)
    if app.ui.as_json:
        app.ui.document(_documents(verdicts, sessions, one=not every))
    if not verdicts and not sessions:
        app.ui.line(Text("No plan was carried out yet."))
    for path in looked.foreign:
        app.ui.line(
            Text("! {path} is not from this ledger; ringi does not rely on it", path=path), style="yellow"
        )
    _tell_lost(app, [one.document for one in verdicts])
    _tell_all(app, verdicts, sessions)


def _tell_lost(app: App, verdicts: Sequence[Proven]) -> None:
    """The ledger proves it here; a clone has only the notes."""
    lost = find_lost_proofs(app.workspace, [one.plan_id for one in verdicts if one.carried_out])
    if lost:
        text = Text(
            "! the notes do not have the proof of {plans}: no clone can verify it", plans=", ".join(lost)
        )
        app.ui.line(text, style="yellow")
        app.ui.next_step("ringi recover --notes")


def _verdicts(
    looked: Examination, plan: str | None, *, every: bool
) -> tuple[list[PlanVerdict], list[SessionVerdict]]:
    if plan and is_session(plan):
        return [], [looked.session(plan)]
    names = list(looked.list_carried_out()) if every else [plan or next(looked.list_carried_out(), "")]
    sessions = [] if plan else [looked.session(name) for name in looked.list_approved_sessions()]
    if not every and not names[0] and not sessions:
        raise NotFound(what=Text("plan"), name=Text("that was carried out"))
    return [looked.plan(name) for name in names if name], sessions


def _documents(verdicts: Sequence[PlanVerdict], sessions: Sequence[SessionVerdict], *, one: bool) -> object:
    """One plan with the sessions in it, or one session; else a list."""
    approved = tuple(session.document for session in sessions)
    if one and verdicts:
        return replace(verdicts[0].document, sessions=approved or UNSET)
    if one and len(approved) == 1:
        return approved[0]
    return [*(verdict.document for verdict in verdicts), *approved]


def _tell_all(app: App, verdicts: Sequence[PlanVerdict], sessions: Sequence[SessionVerdict]) -> None:
    told: set[Text] = set()
    for verdict in verdicts:
        _tell(app, verdict, told)
    for session in sessions:
        if not _tell_problems(app, session.problems, short(session.document.session_id), told):
            app.ui.show(session_lines(session.document))
    forged = [*(one.document.forged for one in verdicts), *(one.document.forged for one in sessions)]
    if any(forged):
        app.ui.next_step("ringi doctor --repair")
    contradicted = [(one.document.name, one.problems[0]) for one in verdicts if one.problems]
    contradicted += [(short(one.document.session_id), one.problems[0]) for one in sessions if one.problems]
    if contradicted:
        app.fail(NotProven(plan=", ".join(name for name, _ in contradicted), why=contradicted[0][1]))
    carried_out = all(verdict.document.carried_out for verdict in verdicts)
    if not carried_out or not all(session.document.approval for session in sessions):
        raise click.exceptions.Exit(EXIT_PERSON_NEEDED)


def _tell_problems(app: App, problems: Sequence[Text], name: str, told: set[Text]) -> bool:
    """True if there are any. A problem that affects everything, such as a broken log, is printed once."""
    fresh = [problem for problem in problems if problem not in told]
    told.update(fresh)
    for problem in fresh:
        app.ui.line(Text("✗ {problem}", problem=problem), style="red")
    if problems:
        app.ui.line(Text("{plan} is not proven", plan=name), style="red")
    return bool(problems)


def _tell(app: App, verdict: PlanVerdict, told: set[Text]) -> None:
    document, ui = verdict.document, app.ui
    if _tell_problems(app, verdict.problems, document.name, told):
        pass
    elif document.carried_out:
        ui.show(proven_lines(document))
    else:
        ui.show(format_unexecuted(document))
    _tell_commit(app, verdict.commit)
    ui.show(doubt_lines(document))


def _tell_commit(app: App, commit: CommitStanding) -> None:
    if commit.as_approved:
        line = Text("commit {id} holds exactly the approved bytes", id=commit.commit[:COMMIT_SHOWN])
        app.ui.line(line, indent=2)
    for note in commit.notes:
        app.ui.line(Text("! {note}", note=note), style="yellow", indent=2)
