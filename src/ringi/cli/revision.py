"""`ringi review BRANCH`: what was made elsewhere in git, as a plan to review."""

import re
import shlex
from pathlib import Path
from typing import Final

from ringi.beside.words import document_of, tell_left_out, tell_plan
from ringi.cli.app import App
from ringi.cli.arguments import require_text
from ringi.cli.ask import require_terminal
from ringi.errors import NoChannel, NotFound
from ringi.kernel.text import Text
from ringi.plans.document import PlanRef, PlanStatus
from ringi.plans.from_revision import TakenRevision, take_revision
from ringi.tree.revision import Revision, RevisionForm

_SHORT: Final = 8
_LIKE_A_PLAN: Final = re.compile(r"p?[0-9]+")


def review_revision(app: App, name: str, no_plan: NotFound) -> str | None:
    """The id of the plan that it became; None if there is nothing to review.

    `no_plan` is raised if it cannot mean anything but a plan.
    """
    require_text(name)
    if not (app.root / ".git").exists():
        raise no_plan
    app.ui.line(Text("Reading {name} …", name=name), style="dim")
    try:
        found = take_revision(app.workspace, name, Path.cwd())
    except NotFound as error:
        raise (no_plan if _LIKE_A_PLAN.fullmatch(name) else error) from None
    _tell(app, found)
    plan = found.taken.plan
    if plan is None:
        if app.ui.as_json:
            app.ui.document(_document(found))
        return None
    try:
        require_terminal(app, f"ringi review {plan.name}")
    except NoChannel as error:
        tell_plan(app.ui, found.taken, plan)
        if app.ui.as_json:
            app.ui.document(_document(found))
        app.fail(error)
    return plan.id


def _document(found: TakenRevision) -> dict[str, object]:
    revision = found.revision
    facts = {"form": revision.form, "name": revision.label, "commits": revision.ahead}
    return document_of(found.taken, source={**facts, "start": revision.start, "head": revision.head})


def _tell(app: App, found: TakenRevision) -> None:
    ui, revision, taken = app.ui, found.revision, found.taken
    if taken.plan is None:
        _tell_nothing(app, revision, found.before)
    elif not taken.new:
        ui.line(Text("{plan} has all of {name}.", plan=taken.plan.name, name=revision.label))
    else:
        ui.line(_describe_plan(revision, taken.plan.name))
    tell_left_out(ui, taken)
    if revision.checked_out:
        line = Text(
            "{name} is checked out in {folder}; with what is not committed there:",
            name=revision.label,
            folder=revision.checked_out,
        )
        ui.line(line, style="dim")
        ui.next_step(f"ringi review {shlex.quote(revision.checked_out)}")


def _tell_nothing(app: App, revision: Revision, before: PlanRef | None) -> None:
    name = revision.label
    if before is not None and before.status is PlanStatus.COMPLETED:
        line = Text("Nothing to take: {plan} brought all of {name} here.", plan=before.name, name=name)
        app.ui.line(line)
        return
    app.ui.line(Text("Nothing to take: your files have all of {name}.", name=name))
    if before is not None:
        app.ui.line(Text("{plan} was made of it and still waits:", plan=before.name), indent=2)
        app.ui.next_step(f"ringi discard {before.name}")


def _describe_plan(revision: Revision, plan: str) -> Text:
    start = (revision.start or "")[:_SHORT]
    facts = {"plan": plan, "name": revision.label, "start": start, "count": revision.ahead}
    if revision.form is RevisionForm.WORKTREE and not revision.ahead:
        return Text("{plan}: what is not committed in {name}", **facts)
    if not revision.start:
        return Text("{plan}: all of {name}", **facts)
    if revision.form is RevisionForm.WORKTREE:
        return Text(
            "{plan}: 1 commit of {name} since {start}, and what is not committed there",
            "{plan}: {count} commits of {name} since {start}, and what is not committed there",
            **facts,
        )
    return Text(
        "{plan}: 1 commit of {name} since {start}", "{plan}: {count} commits of {name} since {start}", **facts
    )
