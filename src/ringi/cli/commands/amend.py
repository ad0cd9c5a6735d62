"""`ringi amend`: what d, e and c do in a review, by script."""

from collections.abc import Collection, Iterator
from gettext import gettext as _
from typing import Final

import click

from ringi.approvals.feedback import Side
from ringi.cli.app import App, pass_app
from ringi.cli.arguments import STDIN, read_named, require_one_stdin, require_text
from ringi.cli.commands.approve import require_version, seen_version
from ringi.cli.commands.review import starter
from ringi.cli.plan_names import PLAN
from ringi.cli.plan_output import tell_report
from ringi.cli.review_dialogue import DialoguePrompter
from ringi.kernel.text import Text, translate
from ringi.plans.amend_by_script import Drop, ScriptedChanges, ScriptedComment, ScriptedWrite, amend_plan
from ringi.plans.review_checks import ReviewCheckRuns
from ringi.plans.review_document import path_after, review_document
from ringi.plans.review_view import amendments, format_amended, format_changed
from ringi.plans.reviewed_plan import ReviewedPlan
from ringi.tree.copy_run import remove_kept

_MOST_DIGITS: Final = 10


@click.command()
@click.argument("plan", type=PLAN)
@seen_version
@click.option("--drop", "drops", metavar="PATH[#HUNK]", multiple=True, help="Leave out a file or a hunk.")
@click.option("--write", "writes", metavar="PATH=FILE|-", multiple=True, help="PATH gets this content.")
@click.option(
    "--comment",
    "comments",
    metavar="PATH:LINE TEXT|-",
    nargs=2,
    multiple=True,
    help="Say something about a line, for whoever proposed it.",
)
@click.option("--remove-comment", "removed", metavar="PATH:LINE", multiple=True, help="Take a comment back.")
@click.option(
    "--revert", type=click.IntRange(1), metavar="VERSION", help="Give it the specs of this earlier version."
)
@click.option("--old", is_flag=True, help="The lines of comments are those before the change.")
@click.option("--no-check", is_flag=True, help="Do not run the plan's checks on the new version.")
@pass_app
def amend(
    app: App,
    plan: str,
    seen: int | None,
    drops: tuple[str, ...],
    writes: tuple[str, ...],
    comments: tuple[tuple[str, str], ...],
    removed: tuple[str, ...],
    revert: int | None,
    old: bool,
    no_check: bool,
) -> None:
    """Change a plan that waits: drop or rewrite parts of it, comment on its lines.

    As d, e and c in ringi review, for editors and scripts. All of it makes one new version, which nobody has
    approved. Hunks and lines have the numbers that ringi show PLAN --as review gives; with --seen, nothing is
    done if the plan changed since.
    """
    changes = bool(drops or writes or comments or removed)
    if changes == (revert is not None):
        raise click.UsageError(
            _("Say what to change: --drop, --write, --comment and --remove-comment, or --revert alone")
        )
    if revert is not None:
        _revert(app, plan, revert, seen)
        return
    given = [*drops, *writes, *removed, *(word for pair in comments for word in pair)]
    require_text(*given)
    require_one_stdin(
        sum(name.endswith(f"={STDIN}") for name in writes) + [text for _at, text in comments].count(STDIN)
    )
    plan_id = app.find_plan(plan)  # first: the workspace is then where the plan is carried out
    looked = ReviewedPlan(app.workspace, plan_id)
    risk, side = looked.document.risk(), Side.OLD if old else Side.NEW
    paths = {path for spec in looked.specs for path in (path_after(spec), *spec.changed_paths)}
    wanted = ScriptedChanges(
        [_parse_drop(name, paths) for name in drops],
        [_parse_write(name, paths) for name in writes],
        [*(_parse_comment(at, text, side) for at, text in comments), *_parse_removals(removed, side)],
    )
    is_new = amend_plan(looked, wanted, seen)
    if is_new:
        what = format_amended(amendments(looked.document)[-1:])
        said = format_changed(what, looked.document, risk)
        app.ui.line(said.text, style=said.style)
        if not no_check:
            _check(app, looked)
    elif not wanted.comments:
        app.ui.line(Text("Nothing was changed."))
    if comments:
        app.ui.line(Text("Noted; it goes to the proposer with your answer."))
    elif removed:
        app.ui.line(Text("The comment was removed."))
    if app.ui.as_json:
        app.ui.document(review_document(ReviewedPlan(app.workspace, looked.plan_id), translate))
    app.ui.next_step(f"ringi review {looked.name}")


def _revert(app: App, plan: str, version: int, seen: int | None) -> None:
    """Makes a new version; the others stay."""
    plan_id = app.find_plan(plan)
    if seen is not None:
        require_version(app, app.workspace.plan.get(plan_id), seen)
    report = app.workspace.versions.revert(plan_id, version, actor=app.actor)
    ref = app.workspace.plan.ref(plan_id)
    if app.ui.as_json:
        app.ui.document(report)
    tell_report(app, report, ref.name)
    line = Text("{plan} has the specs of version {old} again, as version {new}.",
                plan=ref.name, old=version, new=ref.version)  # fmt: skip
    app.ui.line(line)
    app.ui.next_step(f"ringi review {ref.name}")


def _check(app: App, looked: ReviewedPlan) -> None:
    """As after a change in a review: in a sandbox or not at all."""
    checks = ReviewCheckRuns(looked, DialoguePrompter(app, looked), starter(app))
    try:
        checks.run_again()
    finally:
        checks.stop()
        remove_kept(app.workspace.places.copies)


def _parse_drop(name: str, paths: Collection[str]) -> Drop:
    """PATH#2 is a hunk, unless only a file has that whole name; PATH# is always the file."""
    path, mark, hunk = name.rpartition("#")
    if mark and path in paths and not hunk:
        return Drop(path)
    if mark and path in paths and hunk.isascii() and hunk.isdigit() and len(hunk) < _MOST_DIGITS:
        return Drop(path, int(hunk))
    return Drop(name)


def _parse_write(name: str, paths: Collection[str]) -> ScriptedWrite:
    """A path may hold an equals sign itself."""
    places = [at for at, character in enumerate(name) if character == "="]
    for at in reversed(places):
        if name[:at] in paths and name[at + 1 :]:
            return ScriptedWrite(name[:at], read_named(name[at + 1 :]))
    path, equals, source = name.partition("=")
    if not (path and equals and source):
        raise click.BadParameter(_("{value} is not {form}").format(value=name, form="PATH=FILE"))
    return ScriptedWrite(path, b"")  # no file of the plan, which is said later


def _parse_comment(at: str, text: str, side: Side) -> ScriptedComment:
    if text == STDIN:
        text = read_named(STDIN).decode("utf-8", "replace")
    if not text.strip():
        raise click.UsageError(_("A comment needs words"))
    return _parse_place(at)._replace(text=text.strip(), side=side)


def _parse_removals(removed: Collection[str], side: Side) -> Iterator[ScriptedComment]:
    for at in removed:
        yield _parse_place(at)._replace(side=side)


def _parse_place(at: str) -> ScriptedComment:
    path, _colon, line = at.rpartition(":")
    if not (path and line.isascii() and line.isdigit() and len(line) < _MOST_DIGITS):
        raise click.BadParameter(_("{value} is not {form}").format(value=at, form="PATH:LINE"))
    return ScriptedComment(path, int(line), "")
