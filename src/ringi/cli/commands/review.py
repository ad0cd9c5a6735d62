"""`ringi review`: look at a plan and decide."""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from ringi.beside.copies import remove_settled
from ringi.beside.resume import agent_to_resume
from ringi.beside.words import document_of, tell_left_out, tell_plan
from ringi.cli.app import EXIT_DECLINED, EXIT_PERSON_NEEDED, EXIT_STALE, App
from ringi.cli.arguments import require_text
from ringi.cli.ask import require_terminal
from ringi.cli.commands.execute import carry_out
from ringi.cli.commands.undo import undo
from ringi.cli.plan_names import REVIEWED
from ringi.cli.plan_output import tell_discarded, tell_sent_back
from ringi.cli.recheck import Recheck
from ringi.cli.review_dialogue import DialoguePrompter
from ringi.cli.screen.cells import has_many_colours
from ringi.cli.screen.prompter import ScreenPrompter
from ringi.cli.screen.terminal import Terminal
from ringi.cli.ui import speaks_unicode
from ringi.errors import Busy, Interrupted, NoChannel, NotFound, RingiError
from ringi.kernel.process.progress import watch_progress
from ringi.kernel.text import Text
from ringi.plans.commit import standing
from ringi.plans.document import ENDED, PlanDocument, PlanRef, PlanStatus, undone_at
from ringi.plans.from_revision import TakenRevision, revisions_of, take_revision
from ringi.plans.review_loop import PlanPrompter, ReviewEnd, StartChecks
from ringi.plans.review_plan import PlanReview
from ringi.plans.review_view import format_notice
from ringi.plans.reviewed_plan import ReviewedPlan, is_dormant
from ringi.plans.status import refusal
from ringi.plans.words import STATUS
from ringi.tree.action_spec import select_specs
from ringi.tree.copy_run import remove_kept
from ringi.tree.revision import Revision, RevisionForm

_LEAST: Final = (20, 5)
_NOTHING: Final = (0, 0)
_SHORT: Final = 8
_LIKE_A_PLAN: Final = re.compile(r"p?[0-9]+")


@click.command()
@click.argument("plan", metavar="[PLAN|BRANCH|RANGE|WORKTREE]", type=REVIEWED, required=False)
@click.option("--plain", is_flag=True, help="As a dialogue, line by line.")
@click.option("--commit", is_flag=True, help="Commit what is approved, too.")
@click.pass_context
def review(ctx: click.Context, plan: str | None, plain: bool, commit: bool) -> None:
    """Look at a plan, and decide.

    Without PLAN, the newest that waits. A branch, a range or the folder of another worktree
    becomes a plan first: what it changes since it left your branch. The answer has to be typed by a person at
    a terminal.
    """
    app: App = ctx.obj
    full = not plain and can_be_full(app)
    if plan is None:
        plan_id = _newest_waiting(app)
        if plan_id is not None:
            decide(ctx, plan_id, full=full, commit=commit)
            return
        app.ui.line(Text("Nothing waits for you."))
        if app.ui.as_json:
            app.ui.document({"waiting": []})
        return
    try:
        plan_id = app.find_plan(plan)
    except NotFound as error:
        plan_id = _review_revision(app, plan, error)
    else:
        _tell_namesake(app, plan)
    if plan_id is not None:
        decide(ctx, plan_id, full=full, commit=commit)


def decide(
    ctx: click.Context,
    plan_id: str,
    *,
    full: bool,
    prompter: type[DialoguePrompter] = DialoguePrompter,
    commit: bool = False,
) -> None:
    """Shows the plan, on a full screen or to the prompter, and does what the person decides."""
    app: App = ctx.obj
    app.switch_to(plan_id)
    ref = app.workspace.plan.ref(plan_id)
    done = ref.status is PlanStatus.COMPLETED
    looks = done and (ref.undone or (full and app.workspace.person.refusal() is None))
    if not looks and is_over(app, ref, commit=commit):
        return
    require_terminal(app, f"ringi {ctx.info_name} {ref.name}")
    if commit and not done:
        wish_commit(app, plan_id)
    looked, ended = _review_until_decided(app, plan_id, full=full, prompter=prompter)
    if ended is ReviewEnd.UNDO:
        ctx.invoke(undo, plan=ref.name, commit=None, sign=None)
        return
    _finish(app, looked, ended)


def is_over(app: App, ref: PlanRef, *, commit: bool) -> bool:
    """Says so if all of it was carried out; raises if it was discarded, undone or done in part.

    With `commit`, it was done in part if it was not committed. Raises Busy if it is being carried out.
    """
    if ref.status in {PlanStatus.SCHEDULED, PlanStatus.EXECUTING}:
        raise Busy(holder=Text("{plan} is being carried out", plan=ref.name))
    if ref.status not in ENDED:
        return False
    document = app.workspace.plan.get(ref.id)
    if not _is_done(app, document, commit=commit):
        raise refusal(document, ref.name, PlanStatus.APPROVED)
    if app.ui.as_json:
        app.ui.document(ref)
    app.ui.line(Text("{plan} was carried out already.", plan=ref.name))
    app.ui.next_step(f"ringi undo {ref.name}")
    return True


def _is_done(app: App, document: PlanDocument, *, commit: bool) -> bool:
    """Whether all of it was carried out, and stands."""
    if document.state.status is not PlanStatus.COMPLETED or undone_at(document):
        return False
    specs = document.state.action_specs
    whole = len(select_specs(specs, document.state.selection)) == len(specs)
    return whole and not (commit and not standing(app.workspace.log(document.plan.id)))


def wish_commit(app: App, plan_id: str) -> None:
    """With the plan's title, unless it has a message already; the person sees it, and may edit it."""
    document = app.workspace.plan.get(plan_id)
    if not document.state.commit:
        app.workspace.plan.wish_commit(plan_id, document.plan.title)


def _review_until_decided(
    app: App, plan_id: str, *, full: bool, prompter: type[DialoguePrompter]
) -> tuple[ReviewedPlan, ReviewEnd]:
    """As often as the person lets its agent continue."""
    back = None
    while True:
        looked = ReviewedPlan(app.workspace, plan_id)
        try:
            ended = _on_screen(app, looked, back) if full else _in_dialogue(app, looked, prompter, back)
        finally:
            remove_kept(app.workspace.places.copies)
        if ended is not ReviewEnd.RESUME:
            return looked, ended
        back = _resume(app, looked)


def _tell_namesake(app: App, name: str) -> None:
    """A plan comes before a branch of the same name."""
    if not (app.root / ".git").exists():
        return
    with contextlib.suppress(RingiError):
        if ref := revisions_of(app.workspace).ref_named(name):
            app.ui.line(Text("{name} is also a branch; this is the plan.", name=name), style="dim")
            app.ui.next_step(f"ringi review {ref}")


def _newest_waiting(app: App) -> str | None:
    """Of the steps of a run, the first: those after it build on it."""
    waiting = app.workspace.plan.list(waiting=True)
    newest = waiting[0] if waiting else None
    if newest and newest.step:
        run_id = newest.step.run_id
        return [ref.id for ref in waiting if ref.step and ref.step.run_id == run_id][-1]
    return newest.id if newest else None


def can_be_full(app: App) -> bool:
    dumb = app.environment.get("TERM", "dumb") in {"", "dumb"} or not speaks_unicode(app.ui.out)
    if app.ui.as_json or dumb:
        return False
    try:
        size = tuple(os.get_terminal_size(1))
    except OSError:
        return False
    # Assume a usual size if the terminal does not know its own.
    return size == _NOTHING or all(there >= least for there, least in zip(size, _LEAST, strict=True))


def _resume(app: App, looked: ReviewedPlan) -> Text:
    """What to say when the agent is done; ends the command if it changed nothing."""
    version = looked.document.plan.version
    app.ui.out.flush()
    code = _with_agent(app, looked.name)
    if code == Interrupted.exit_code:
        raise click.exceptions.Exit(code)
    if app.workspace.plan.ref(looked.plan_id).version == version:
        raise click.exceptions.Exit(EXIT_DECLINED)
    if code:
        return Text("The agent or a check failed. This changed since you last looked:")
    return Text("This changed since you last looked:")


def _with_agent(app: App, name: str) -> int:
    """Its exit code. A process of its own, by whose arguments everything below it is known as an agent's."""
    root = str(app.workspace.places.root)
    # -P: nothing is imported from the project's folder.
    words = [sys.executable, "-P", "-m", "ringi", "--workspace", root, "with", "--resume", name]
    # Ctrl-C is for it: it saves the agent's work first.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run(words, env=dict(app.environment), check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)


def _on_screen(app: App, looked: ReviewedPlan, back: Text | None) -> ReviewEnd:
    colour = not app.environment.get("NO_COLOR")
    # A counter would be drawn over it.
    with (
        watch_progress(None),
        Terminal(colour=colour, many_colours=has_many_colours(app.environment)) as terminal,
    ):
        prompter = ScreenPrompter(app, looked, terminal, colour=colour)
        return _review(app, looked, prompter, starter(app, terminal.wake), back)


def _in_dialogue(
    app: App, looked: ReviewedPlan, prompter: type[DialoguePrompter], back: Text | None
) -> ReviewEnd:
    return _review(app, looked, prompter(app, looked), starter(app), back)


def _review(
    app: App, looked: ReviewedPlan, prompter: PlanPrompter, starter: StartChecks, back: Text | None
) -> ReviewEnd:
    def agent() -> str:
        # Two documents would be no JSON.
        return "" if app.ui.as_json else agent_to_resume(app.workspace, looked.plan_id)

    return PlanReview(looked, prompter, starter, agent, back).run()


def starter(app: App, wake: Callable[[], None] = lambda: None) -> Callable[[str], Recheck]:
    """Runs the checks of a plan again, beside the review."""
    # Not where a step of a run is carried out: there is no ledger there.
    root, environment = app.root, app.environment
    return lambda plan_id: Recheck(root, plan_id, environment, wake)


def _finish(app: App, looked: ReviewedPlan, ended: ReviewEnd) -> None:
    """Reports the outcome on the person's own screen."""
    name = looked.name
    if ended is ReviewEnd.APPLY:
        carry_out(app, looked.plan_id, name)
        _tell_proposer(app, looked)
        remove_settled(app.workspace)
    elif ended is ReviewEnd.APPROVED:
        app.ui.line(Text("{plan} is approved, with your note.", plan=name), style="green")
        _tell_proposer(app, looked)
        app.ui.next_step(f"ringi execute {name}")
    elif ended is ReviewEnd.REJECTED:
        tell_sent_back(app, looked.plan_id, name)
        raise click.exceptions.Exit(EXIT_DECLINED)
    elif ended is ReviewEnd.DISCARDED:
        tell_discarded(app, looked.plan_id, name)
        remove_settled(app.workspace)
        raise click.exceptions.Exit(EXIT_DECLINED)
    elif ended is ReviewEnd.ELSEWHERE:
        app.ui.line(Text("{plan} was decided elsewhere meanwhile; nothing was done here.", plan=name))
        app.ui.next_step(f"ringi show {name}")
        raise click.exceptions.Exit(EXIT_STALE)
    elif ended is ReviewEnd.INTERRUPTED:
        raise Interrupted
    elif looked.status is not PlanStatus.COMPLETED:
        _tell_undecided(app, looked)
        raise click.exceptions.Exit(EXIT_PERSON_NEEDED)


def _tell_undecided(app: App, looked: ReviewedPlan) -> None:
    """A plan that is not open does not wait, so it is said how it can go on."""
    if not is_dormant(looked):
        app.ui.line(Text("Nothing was decided; {plan} still waits.", plan=looked.name))
        return
    app.ui.line(Text("Nothing was decided; {plan} stays as it is: {status}.",
                     plan=looked.name, status=STATUS[looked.status]))  # fmt: skip
    if looked.status is PlanStatus.ABORTED:
        unknown = app.workspace.plan.cut_off(looked.plan_id)
        app.ui.next_step(f"ringi {'recover' if unknown else 'execute'} {looked.name}")
    else:
        app.ui.next_step(f"ringi show {looked.name}")


def _tell_proposer(app: App, looked: ReviewedPlan) -> None:
    if (words := format_notice(looked.document)) is not None:
        app.ui.line(words, indent=2)


def _review_revision(app: App, name: str, no_plan: NotFound) -> str | None:
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
    _tell_revision(app, found)
    plan = found.taken.plan
    if plan is None:
        if app.ui.as_json:
            app.ui.document(_revision_document(found))
        return None
    try:
        require_terminal(app, f"ringi review {plan.name}")
    except NoChannel as error:
        tell_plan(app.ui, found.taken, plan)
        if app.ui.as_json:
            app.ui.document(_revision_document(found))
        app.fail(error)
    return plan.id


def _revision_document(found: TakenRevision) -> dict[str, object]:
    revision = found.revision
    facts = {"form": revision.form, "name": revision.label, "commits": revision.ahead}
    return document_of(found.taken, source={**facts, "start": revision.start, "head": revision.head})


def _tell_revision(app: App, found: TakenRevision) -> None:
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
