"""`ringi run`: from a request to commits with evidence."""

from gettext import gettext as _
from pathlib import Path
from typing import Any, Final

import click

from ringi.cli.app import App
from ringi.cli.arguments import no_cache, read_named, require_long, require_text, text_of
from ringi.cli.plan_names import RUN
from ringi.cli.planning.driver import interactive_or_json
from ringi.cli.planning.entry import Then, accepts, can_ask, plan_item, plan_request, plan_session
from ringi.cli.progress import progress_on
from ringi.cli.run_driver import RunDriver
from ringi.engine.document import OutlineOutcome
from ringi.engine.run_plan import RunRole
from ringi.errors import NotFound
from ringi.forges.terms import terms_here, why_approved_here
from ringi.kernel.lines import Style
from ringi.kernel.text import Text, translate, visible
from ringi.project.context import FileKind, Gathered
from ringi.runs.document import Review, Run
from ringi.runs.drive import RunOptions
from ringi.runs.replan import replan
from ringi.runs.role_work import example_of
from ringi.runs.start import begin_task, planner_of, start_from_file, start_from_request, start_from_session
from ringi.sessions.outline import outline, similar_outline
from ringi.sessions.outline_view import outline_lines
from ringi.sessions.request_files import new_request
from ringi.sessions.view import restless_words

_KINDS: Final = {
    FileKind.SOURCE: Text("source"),
    FileKind.TEST: Text("test"),
    FileKind.DOC: Text("document"),
    FileKind.OTHER: Text("other"),
}
_OUTLINE_EXIT: Final = {
    OutlineOutcome.UNCLEAR_GOAL: 3,
    OutlineOutcome.DECOMPOSITION_FAILED: 1,
    OutlineOutcome.REFUSED: 6,
}
_SOURCES: Final = ("request", "issue", "plan", "session", "again", "new_request")
_OF_WORDS: Final = ("models", "outline", "context")


@click.command()
@click.argument("words", metavar="[REQUEST|RUN|SESSION]", nargs=-1)
@click.option("--request", metavar="FILE", help="Plan the request in this Markdown file.")
@click.option("--issue", metavar="URL|#N", help="Plan what an issue, a pull or merge request asks for.")
@click.option("--plan", metavar="FILE|-", help="Carry out a planning.json made elsewhere.")
@click.option("--session", metavar="ID", help="Carry out what this planning session was approved with.")
@click.option("--again", metavar="RUN", type=RUN, help="Plan a stopped run anew.")
@click.option(
    "--new-request",
    metavar="[TITLE]",
    is_flag=False,
    flag_value="",
    default=None,
    help="Write an empty request to fill in.",
)
@click.option("--in-place", is_flag=True, help="Switch your own checkout to the work branch.")
@click.option("--with", "command", metavar="CMD", default="", help="Who implements it.")
@click.option("--models", is_flag=True, help="With models alone: one plans, one makes each step.")
@click.option(
    "--outline", is_flag=True, help="Only show the goal, the steps and their order; nothing is carried out."
)
@click.option("--context", is_flag=True, help="Only show what a model would be sent about the project.")
@click.option(
    "--review",
    type=click.Choice([*map(str, Review)]),
    help="Ask after each step, at the end, or in a pull or merge request.",
)
@click.option("--max-steps", type=click.IntRange(1, 99), metavar="N", help="Pause after so many steps.")
@click.option(
    "--sign", metavar="KEY", type=click.Path(path_type=Path), help="Approve the plan with this SSH key."
)
@click.option(
    "--unattended",
    metavar="KEY",
    type=click.Path(path_type=Path),
    help="Ask nothing: sign for its steps with this SSH key.",
)
@no_cache
@click.pass_context
def run(ctx: click.Context, /, words: tuple[str, ...], **given: Any) -> None:
    """Carry out a request in small tested steps, a commit for each.

    A sentence or a request file is planned first, as with ringi plan. Your checkout, index and stash stay as
    they are: the commits are on a branch of their own. Without a terminal it ends with exit code 3 where a
    person is needed, and ringi continue goes on; what an issue asked for is answered there, too: ringi watch.
    With --review forge the result becomes a draft pull or merge request, and the review there approves it.

    With --models the configured model has every role; with planning.enabled false it is one step.
    """
    app: App = ctx.obj
    sources = [name for name in _SOURCES if given[name] is not None]
    if len(sources) + bool(words) != 1:
        message = _(
            'Say what to run: "…", --request FILE, --issue URL, --plan FILE, --session ID or --again RUN'
        )
        raise click.UsageError(message)
    if only := [name for name in _OF_WORDS if given[name]]:
        raise click.exceptions.Exit(_with_words(ctx, words, given, only))
    if given["sign"] and {*sources} & {"request", "issue", "new_request"}:
        raise _sign_error()
    if given["new_request"] is not None:
        path = new_request(app.workspace, given["new_request"], translate)
        app.ui.line(Text("Fill in {path}, then:", path=str(path)))
        app.ui.next_step(f"ringi run --request {path}")
        if app.ui.as_json:
            app.ui.document({"request": str(path)})
        return
    then = _carrier(ctx, given, in_place=given["in_place"], role=given["command"])
    raise click.exceptions.Exit(_begin(app, words, given, then))


def _with_words(ctx: click.Context, words: tuple[str, ...], given: dict[str, Any], only: list[str]) -> int:
    app: App = ctx.obj
    if not words or len(only) > 1 or given["in_place"] or given["command"]:
        names = ", ".join(f"--{name}" for name in _OF_WORDS)
        raise click.UsageError(_('One of {names} goes with "…" alone').format(names=names))
    request = text_of(" ".join(words))
    require_text(request)
    if not request.strip():
        raise click.UsageError(_("Say what the change is about"))
    if given["outline"]:
        return _show_outline(app, request)
    if given["context"]:
        _show_context(app, request)
        return 0
    then, offers = _carrier(ctx, given), given["review"] == Review.FORGE
    if offers:
        _tell_reviews(app)
    begun = begin_task(app.workspace, request, app.actor, terms_here(app.workspace) if offers else None)
    return then(begun.run_id) if isinstance(begun, Run) else plan_session(app, begun, then, given["sign"])


def _begin(app: App, words: tuple[str, ...], given: dict[str, Any], then: Then) -> int:
    workspace = app.workspace
    offers = given["review"] == Review.FORGE
    if offers:
        _tell_reviews(app, program_reads=given["plan"] is None)
    if given["issue"] is not None:
        view = plan_item(app, given["issue"], opens_change=offers)
        _warn_no_implementer(app, given["command"])
        return plan_session(app, view, then)
    if given["plan"] is not None:
        data, forge = read_named(given["plan"]), terms_here(workspace) if offers else None
        return then(start_from_file(workspace, data, given["plan"], forge).run_id)
    if given["session"] is not None:
        require_long(given["session"])
        return then(start_from_session(workspace, given["session"]).run_id)
    if given["again"] is not None:
        require_long(given["again"])
        anew = replan(workspace, given["again"])
        return then(anew.run_id) if isinstance(anew, Run) else plan_session(app, anew, then, given["sign"])
    if given["request"] is not None:
        _warn_no_implementer(app, given["command"])
        data, forge = read_named(given["request"]), terms_here(workspace) if offers else None
        return plan_session(app, start_from_request(workspace, data, given["request"], forge), then)
    if len(words) == 1 and not any(c.isspace() for c in words[0]):
        try:
            return then(start_from_session(workspace, words[0]).run_id)
        except NotFound:
            pass  # a request of one word
    by_role = planner_of(workspace) is not None
    if given["sign"] and not by_role:
        raise _sign_error()
    _warn_no_implementer(app, given["command"], later=not given["sign"])
    forge = terms_here(workspace) if offers else None
    return plan_request(app, " ".join(words), then, given["sign"], by_role=by_role, forge=forge)


def _carrier(ctx: click.Context, given: dict[str, Any], *, in_place: bool = False, role: str = "") -> Then:
    """Carries out a run as its options say, once its plan is there."""
    review = Review(given["review"]) if given["review"] else None
    if review is Review.FORGE and in_place:
        raise click.UsageError(_("What a forge reviews waits on a branch of its own: leave out --in-place"))
    options = RunOptions(review=review, in_place=in_place, max_steps=given["max_steps"] or 0, role=role)

    def then(run_id: str) -> int:
        return RunDriver(ctx, run_id, options, given["sign"], given["unattended"]).go()

    return then


def _tell_reviews(app: App, *, program_reads: bool = True) -> None:
    """If the forge is to review it and a person here has to approve it: before anything happens."""
    here = why_approved_here(app.workspace)
    if here is None:
        return
    if program_reads:
        interactive_or_json(app)
    if here.each:
        words = Text(
            "A review on the forge cannot approve this: {why}. You are asked about each step here, and what "
            "you have approved is put there at the end.",
            why=here.why,
        )
        app.ui.prose(words, Style.WARNING, mark="! ")
        if here.mend:
            app.ui.line(Text("To get one: {mend}", mend=here.mend), style="yellow", indent=2)
        return
    words = Text(
        "A review on the forge cannot approve this: {why}. The result is put there all the same; a person "
        "approves it here:",
        why=here.why,
    )
    app.ui.prose(words, Style.WARNING, mark="! ")
    app.ui.next_step("ringi review")


def _warn_no_implementer(app: App, command: str, *, later: bool = True) -> None:
    """Before anybody answers questions: without an implementer the run stops after them.

    `later`: without a terminal, another command carries the plan out, once it is approved.
    """
    seated = interactive_or_json(app)  # if not, a program reads the document alone
    if app.workspace.roles(None).has(RunRole.IMPLEMENTER):
        return
    if not seated and later:
        words = Text("Nobody is there to implement it yet.")
        if command:
            words = Text("--with is for this command alone, and the plan is approved later.")
        named = Text("{words} Name who implements it in your configuration: {example}",
                     words=words, example=example_of(RunRole.IMPLEMENTER, command))  # fmt: skip
        app.ui.prose(named, Style.WARNING, mark="! ")
    elif not command:
        line = Text("! Nobody is there to implement it yet; name somebody now, or when it stops:")
        app.ui.line(line, style="yellow")
        app.ui.next_step('ringi run "…" --with claude')


def _sign_error() -> click.UsageError:
    return click.UsageError(_("--sign approves the plan of a run: give RUN, --plan FILE or --again RUN"))


def _show_outline(app: App, request: str) -> int:
    """The goal, the steps and their order for a request; nothing is carried out. Returns the exit code."""
    offer = similar_outline(app.workspace, request)
    use_it = offer is not None and can_ask(app) and accepts(app, offer)
    with progress_on(app) as progress:
        found = outline(app.workspace, request, progress, similar=offer, use_it=use_it)
    if app.ui.as_json:
        app.ui.document(found.document)
    else:
        app.ui.show(outline_lines(found.document, found.notes))
    return _OUTLINE_EXIT.get(found.document.outcome, 0)


def _show_context(app: App, request: str) -> None:
    """Exactly what a model would be sent about the project for a request."""
    found = app.workspace.code.gather(request)
    if app.ui.as_json:
        app.ui.document(found.context)
    else:
        _tell_context(app, found)


def _tell_context(app: App, gathered: Gathered) -> None:
    ui, found = app.ui, gathered.context
    if gathered.restless:
        ui.prose(restless_words(gathered.restless), Style.WARNING, mark="! ")
    if not found.files:
        ui.line(
            Text("No file fits this request; a model would see only what the project is."), style="yellow"
        )
    for number, (file, why) in enumerate(zip(found.files, gathered.why, strict=True), 1):
        ui.line(f"{number:>2}  {visible(file.path)}", style="bold")
        ui.line("; ".join(map(translate, (_KINDS[file.kind], *why))), style="dim", indent=4)
    ui.line()
    ui.line(Text("This would be sent, about {count} tokens:", count=f"{found.tokens:,}"))
    for line in found.text.splitlines():
        ui.line(Text("{line}", line=line), indent=2)
