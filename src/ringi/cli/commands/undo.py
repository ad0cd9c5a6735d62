"""`ringi undo`: bring the files back to before a plan."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click
from msgspec import UNSET

from ringi.approvals.document import ApprovalRequest, CommitSubject, Proof, SignedAct
from ringi.approvals.prompter import ask_yes
from ringi.cli.app import EXIT_PERSON_NEEDED, App
from ringi.cli.ask import LinePrompter, confirm, require_terminal, sign_statement
from ringi.cli.plan_names import PLAN
from ringi.cli.runs import lock_of
from ringi.errors import EffectsUnknown, ExecutionAborted, NoCommit, NotFound, RevertFailed, UndoStale
from ringi.forges.offer import offer_run
from ringi.kernel.text import Text, restore_text
from ringi.plans import words
from ringi.plans.commit import standing
from ringi.plans.execution import ExecutionResult
from ringi.plans.result_view import commit_lines, restore_words, result_lines, short_id
from ringi.plans.undo import Undoable
from ringi.runs.undo import mark_undone, undo_run
from ringi.runs.view import remainder_lines
from ringi.tree.file_state import FileChange, OpStatus

_MOST: Final = 50


@click.command()
@click.argument("plan", type=PLAN, metavar="[PLAN|RUN]", required=False)
@click.option("--commit/--no-commit", default=None, help="Revert the plan's commit with a new one, or not.")
@click.option("--sign", metavar="KEY", type=click.Path(path_type=Path), help="Sign with this SSH key.")
@click.pass_context
def undo(ctx: click.Context, plan: str | None, commit: bool | None, sign: Path | None) -> None:
    """Restore the files to before a plan or a run.

    Without PLAN, the newest that was carried out. Lines written to its files since stay; if they conflict
    with the undo, the file is left alone and named. If the plan was committed, a new commit can revert that.
    Of a run, the branch goes, unless it was merged.
    """
    app: App = ctx.obj
    if plan and (run_id := _find_run(app, plan)):
        _undo_run(ctx, app, run_id, sign)
        return
    tool = app.workspace.plan
    if sign is None:
        name = app.workspace.plan_name(plan) if plan else ""
        command = f"ringi undo {name}".rstrip()
        app.workspace.signers.require_typing(f"{command} --sign KEY")
        require_terminal(app, command)
    plan_id = tool.to_undo(plan)
    name = app.workspace.plan_name(plan_id)
    made = [short_id(one) for one in standing(app.workspace.log(plan_id))]
    commits = _to_commit(app, plan_id, made, wanted=False if sign and commit is None else commit)
    asked, found = tool.ask_undo(plan_id, commit=commits)
    _show(app, found, name)
    who = app.workspace.person.user()
    if sign is None:
        proof = _ask_typed(app, asked, found, name)
    else:
        proof = sign_statement(app, sign, tool.statement(asked, who, act=SignedAct.UNDO))
    result = tool.undo(asked.subject_id, who, proof)
    if app.ui.as_json:
        app.ui.document(result)
    _tell(app, result, found, name)
    if made and not found.commit:
        app.ui.line(
            Text("Commit {id} stays. To take it back in git too, commit the restored files.", id=made[0])
        )
        app.ui.next_step("git status")


def _find_run(app: App, name: str) -> str:
    """Empty if it is the name of a plan. Raises NotFound if it is neither."""
    try:
        app.find_plan(name)
    except NotFound:
        with contextlib.suppress(NotFound):
            return app.workspace.planning.find_run(name)
        raise
    return ""


def _undo_run(ctx: click.Context, app: App, run_id: str, sign: Path | None) -> None:
    require_terminal(app, f"ringi undo {run_id}")
    run = app.workspace.planning.run(run_id)
    question = Text("The branch {branch} goes, with all that run {run} committed. Go? [y/n]",
                    branch=run.work_branch, run=run_id)  # fmt: skip
    if not any(step.commit for step in run.steps):
        question = Text("Run {run} has committed nothing. Cancel it? [y/n]", run=run_id)
    if not run.in_place and not confirm(app, question):
        app.ui.line(Text("Nothing was undone."))
        raise click.exceptions.Exit(EXIT_PERSON_NEEDED)
    with lock_of(app.places.state, run_id)("undo"):
        undone = undo_run(app.workspace, run_id)
        left = offer_run(app.workspace, run_id).offer if run.forge else None
    for plan_id in undone.to_undo:
        ctx.invoke(undo, plan=app.workspace.plan_name(plan_id), commit=True, sign=sign)
    if run.in_place:
        app.switch_to(None)
        with lock_of(app.places.state, run_id)("undo"):
            undone_now = mark_undone(app.workspace, run_id)
        if undone_now:
            app.ui.line(Text("✓ Run {run} is undone", run=run_id), style="green")
    if app.ui.as_json and undone.branch:
        app.ui.document({"run": run_id, "branch": undone.branch})
    if undone.branch:
        gone = Text("✓ The branch {branch} is gone", branch=undone.branch)
        made = any(step.commit for step in run.steps)
        app.ui.line(gone if made else Text("✓ Run {run} is cancelled", run=run_id), style="green")
    if left and left.left:
        app.ui.show(remainder_lines(run_id, left))


def _to_commit(app: App, plan_id: str, made: Sequence[str], *, wanted: bool | None) -> bool:
    """Whether a new commit reverts the plan's own: as the option says, else the person is asked."""
    if wanted is False or not (made or wanted):
        return False
    name = app.workspace.plan_name(plan_id)
    try:
        commit = app.workspace.plan.revert_commit(plan_id)
    except NoCommit as error:
        if wanted:
            raise
        line = Text("! {plan} was committed as {id}, which cannot be reverted here: {why}",
                    plan=name, id=made[0], why=error.details["why"])  # fmt: skip
        app.ui.line(line, style="yellow")
        return False
    if commit is None:
        raise NoCommit(why=Text("{plan} was not committed", plan=name))
    if wanted:
        return True
    question = Text("{plan} was committed as {id}. Revert it with a new commit? [y/n]",
                    plan=name, id=", ".join(made))  # fmt: skip
    return confirm(app, question)


def _show(app: App, found: Undoable, name: str) -> None:
    ui = app.ui
    changes = sorted(found.changes, key=lambda change: change.path)
    # What the person wrote since is always shown, however many files there are.
    shown = [change for n, change in enumerate(changes) if n < _MOST or change.later_lines is not UNSET]
    for change in shown:
        line = change_line(change)
        if change.path in found.by_commands:
            line = Text("{line} (it changed while a command of the plan ran)", line=line)
        ui.line(line, indent=2)
    if len(changes) > len(shown):
        ui.line(Text("… and {count} more", count=len(changes) - len(shown)), indent=2)
    for left in found.left:
        line = Text("! {path} is left alone: {why}", path=left.path, why=left.why)
        ui.line(line, style="yellow", indent=2)
    if found.left:
        ui.next_step(f"ringi show {name} --since")
    for what in (*found.unknown, *found.beyond):
        ui.line(Text("! {what} cannot be brought back", what=what), style="yellow", indent=2)
    if found.commit:
        ui.line(words.commit(found.commit), indent=2)


def _ask_typed(app: App, asked: ApprovalRequest, found: Undoable, name: str) -> Proof:
    try:
        proof = ask_yes(LinePrompter(app), _question(found, name), asked.digest)
    except EOFError:
        proof = None
    if proof is None:
        app.ui.line(Text("Nothing was changed."))
        raise click.exceptions.Exit(EXIT_PERSON_NEEDED)
    return proof


def _tell(app: App, result: ExecutionResult, found: Undoable, name: str) -> None:
    """What was restored, then what was not."""
    ui = app.ui
    failed = [
        outcome
        for outcome in result.results
        if outcome.status is not OpStatus.DONE and outcome.path not in {*found.refused, *found.unknown}
    ]
    if failed:
        app.ui.show(result_lines(result, {}, files=False))
        why = next((outcome.detail for outcome in failed if outcome.detail), "")
        app.fail(ExecutionAborted(plan=name, why=restore_text(why)))
    for path in result.kept:
        ui.line(Text("Somebody wrote meanwhile; their bytes are in {path}", path=path), style="yellow")
    _tell_restored(app, found, name)
    if result.commit:
        ui.show(commit_lines(result.commit))
        if not result.commit.commit:
            app.fail(RevertFailed(plan=name, why=restore_words(result.commit.last_line)))


def _tell_restored(app: App, found: Undoable, name: str) -> None:
    ui = app.ui
    if not (found.merged or found.left or found.by_commands or found.beyond or found.unknown):
        ui.line(Text("✓ restored byte for byte"), style="green")
        return
    for line in _list_restored(found):
        ui.line(line, style="green")
    if found.left:
        app.fail(UndoStale(plan=name, paths=", ".join(found.refused)))
    if found.unknown:
        app.fail(EffectsUnknown(plan=name, commands=", ".join(found.unknown)))
    if found.by_commands or found.beyond:
        line = Text("Not undone: what its commands did to links, ignored files or outside the workspace.")
        ui.line(line, style="yellow", indent=2)


def _list_restored(found: Undoable) -> Iterator[Text]:
    count, merged = len(found.changes) - len(found.merged), len(found.merged)
    if count:
        yield Text("✓ 1 file restored byte for byte", "✓ {count} files restored byte for byte", count=count)
    if merged:
        yield Text(
            "✓ 1 file restored, merged with what you wrote since",
            "✓ {count} files restored, merged with what you wrote since",
            count=merged,
        )


def _question(found: Undoable, name: str) -> Text:
    """What was written since decides whether to go on, so the question counts it."""
    what = _count_restored(len(found.changes), name)
    for more in (_count_merged(found), _count_left(len(found.left)), _name_reverted(found.commit)):
        if more is not None:
            what = Text("{what}; {more}", what=what, more=more)
    return Text("{what}. Go? [y/n]", what=what)


def _count_restored(count: int, name: str) -> Text:
    return Text(
        "1 file goes back to before {plan}", "{count} files go back to before {plan}", count=count, plan=name
    )


def _count_merged(found: Undoable) -> Text | None:
    counts = [change.later_lines for change in found.merged if change.later_lines]
    if not counts:
        return None
    lines = Text("later line", "{count} later lines", count=sum(counts))
    return Text("1 keeps your {lines}", "{count} keep your {lines}", count=len(counts), lines=lines)


def _count_left(count: int) -> Text | None:
    return Text("1 is left alone", "{count} are left alone", count=count) if count else None


def _name_reverted(commit: CommitSubject | None) -> Text | None:
    if commit is None:
        return None
    return Text("a new commit reverts {id}", id=", ".join(map(short_id, commit.reverts or ())))


def change_line(change: FileChange) -> Text:
    if change.after is None:
        return Text("{path} is deleted again", path=change.path)
    if change.later_lines:
        return Text(
            "{path} is restored and keeps your later line",
            "{path} is restored and keeps your {count} later lines",
            path=change.path,
            count=change.later_lines,
        )
    if change.later_lines == 0:
        return Text("{path} is restored and keeps your later changes", path=change.path)
    if change.before is None:
        return Text("{path} comes back", path=change.path)
    return Text("{path} is restored", path=change.path)
