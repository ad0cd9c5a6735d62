"""How `ringi plan` begins: start, import, find or choose a session, then drive it or open the dialogue."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final
from unicodedata import normalize

import click

from ringi.approvals.forge import ForgeTerms, page_of
from ringi.cli.app import EXIT_PERSON_NEEDED, App
from ringi.cli.arguments import read_named, require_long, text_of
from ringi.cli.ask import confirm
from ringi.cli.planning.answers import read_answers
from ringi.cli.planning.dialogue import Dialogue
from ringi.cli.planning.driver import (
    Driver,
    PlanningRequest,
    approve_summary,
    carry_out,
    interactive_or_json,
    show_pending,
    show_sessions,
)
from ringi.cli.planning.typed import TypedLines
from ringi.cli.ui import cut, safe_lines
from ringi.errors import BadBrought, ForgeFailed, Interrupted, NoExtra, NoForge, NoForgeToken
from ringi.forges.intake import intake_lines, start_from_item
from ringi.forges.progress import tell_session
from ringi.kernel.lines import Style
from ringi.kernel.text import Text
from ringi.models.budget_view import forecast_line
from ringi.models.cache import PlanKind
from ringi.models.configured import PLAYBOOK
from ringi.models.turns import compact_schema, format_messages, turns
from ringi.plans.words import age
from ringi.runs.model_budget import forecast_planning
from ringi.runs.start import planner_of
from ringi.sessions import plan_cache
from ringi.sessions.document import (
    AgentPending,
    ApprovalPending,
    ApprovedSession,
    SessionRef,
    SessionView,
    WorkPending,
)
from ringi.sessions.import_session import describe_changes, read_session
from ringi.sessions.plan_cache import CachedPlanOffer

CHOOSE: Final = ""
"""In place of a session id: the person picks one from a list."""
Then = Callable[[str], int]
"""Carries out the run of this id; returns the exit code."""
_START: Final = 'ringi plan "…"'


def run(app: App, words: Sequence[str], options: dict[str, Any], then: Then) -> int:
    """The exit code. `then` is done if the person wants what they approved carried out now."""
    if options["show_prompt"]:
        return _show_prompt(app, words, options["resume"])
    seated = interactive_or_json(app)
    if options["resume"] == CHOOSE:
        chosen = _choose_open(app)
        if chosen is None:
            return 0
        options["resume"] = chosen
    elif options["resume"] is not None:
        require_long(options["resume"])
    order = _order(options)
    if options["resume"] is not None or options["file"] is not None:
        return _go_on(app, _open(app, options), order, then, seated=seated)
    text = text_of(" ".join(words))
    view, offer = offer_similar(app, text, seated=seated and not order.anything)
    view = view or app.workspace.planning.start(text, actor=app.actor)
    return _go_on(app, view, order, then, seated=seated, offer=offer)


def _show_prompt(app: App, words: Sequence[str], session: str | None) -> int:
    """Without asking anybody; a new session is not stored."""
    tool = app.workspace.planning
    found = tool.first_prompt(text_of(" ".join(words))) if session is None else tool.next_prompt(session)
    schema = compact_schema(found.kind)
    sent = turns(found.prompt, schema)
    if app.ui.as_json:
        app.ui.document(
            {
                "model": found.model,
                "purpose": found.prompt.purpose,
                "messages": [turn._asdict() for turn in sent],
                "schema": schema,
            }
        )
    else:
        for line in safe_lines(format_messages(sent)):
            app.ui.line(line)
    return 0


def _open(app: App, given: dict[str, Any]) -> SessionView:
    """The session that the options name or import."""
    tool = app.workspace.planning
    if given["resume"] is None:
        return _import(app, given["file"])
    return tool.view(given["resume"]) if given["cancel"] else tool.resume(given["resume"])


def _import(app: App, file: str) -> SessionView:
    """Imports it, and reports what differs from the file."""
    tool, data = app.workspace.planning, read_named(file)
    view = tool.take_in(data, file, actor=app.actor)
    for change in describe_changes(read_session(data, file), tool.get(view.session_id).session):
        app.ui.prose(change, Style.WARNING, mark="! ")
    return view


def _order(given: dict[str, Any]) -> PlanningRequest:
    answers = given["answers"]
    return PlanningRequest(
        answers=None if answers is None else read_answers(read_named(answers), answers),
        answer=None if given["answer"] is None else text_of(given["answer"]),
        reason=given["reason"],
        to=given["to"],
        skip=given["skip"],
        reject=None if given["reject"] is None else text_of(given["reject"]),
        cancel=given["cancel"],
        approve=given["approve"],
        sign=given["sign"],
    )


def plan_request(
    app: App,
    words: str,
    then: Then,
    key: Path | None = None,
    *,
    by_role: bool,
    forge: ForgeTerms | None = None,
) -> int:
    """A new session that a run is to come from."""
    view, offer = offer_similar(app, words, seated=interactive_or_json(app), forge=forge)
    view = view or app.workspace.planning.start(words, actor=app.actor, agent_brings=by_role, forge=forge)
    return plan_session(app, view, then, key, offer)


def plan_session(
    app: App, view: SessionView, then: Then, key: Path | None = None, offer: CachedPlanOffer | None = None
) -> int:
    """Drives a session that a run is to come from; an approved one is carried out at once.

    With a key the summary is signed, once everything before it is answered.
    """
    seated = interactive_or_json(app)
    by_model = app.workspace.planning.get(view.session_id).facts.by_model
    driver = Driver(app, view.session_id, planner_of(app.workspace, by_model=by_model), offer)
    if isinstance(view.pending, WorkPending | AgentPending):
        _tell_budget(app, by_model=by_model)
    if seated:
        return _talk(driver, view, then, at_once=True, key=key)

    def act() -> int:
        now = driver.run_model(view)
        if key is not None and isinstance(now.pending, ApprovalPending):
            now = approve_summary(driver, key)
        if isinstance(now.pending, ApprovedSession):
            return then(now.pending.run_id)
        return _tell_where(driver, show_pending(driver, now))

    return _until_interrupted(driver, act)


def _tell_where(driver: Driver, code: int) -> int:
    """Without a terminal, people answer where the request came from."""
    decided_there = tell_forge(driver.app, driver.session_id)
    terms = driver.tool.get(driver.session_id).facts.forge
    if code == EXIT_PERSON_NEEDED and terms and terms.item and decided_there:
        page = page_of(terms.project, terms.item)
        driver.ui.prose(
            Text("It can be answered there, too: {url}. What is said there is read by:", url=page)
        )
        driver.ui.next_step("ringi watch")
    return code


def _tell_budget(app: App, *, by_model: bool) -> None:
    """Before anything is spent."""
    workspace = app.workspace
    model = workspace.config.model
    found = forecast_planning(workspace.config, model, by_model=by_model)
    if found is not None:
        app.ui.show([forecast_line(found)])


def _go_on(
    app: App,
    view: SessionView,
    order: PlanningRequest,
    then: Then,
    *,
    seated: bool,
    offer: CachedPlanOffer | None = None,
) -> int:
    # A task was interrupted before its model had planned it.
    by_model = app.workspace.planning.get(view.session_id).facts.by_model
    planner = planner_of(app.workspace, by_model=True) if by_model else None
    driver = Driver(app, view.session_id, planner, offer)
    if seated and not order.anything:
        return _talk(driver, view, then)
    return _until_interrupted(driver, lambda: _tell_where(driver, carry_out(driver, view, order)))


def cancel_session(app: App, name: str) -> int:
    """A session that is over for good."""
    driver = Driver(app, app.workspace.planning.find(name))
    view = driver.tool.cancel(driver.session_id)
    tell_forge(app, driver.session_id, only_known=True)
    return show_pending(driver, view)


def _until_interrupted(driver: Driver, act: Callable[[], int]) -> int:
    try:
        return act()
    except KeyboardInterrupt:
        driver.ui.line()
        driver.tell_saved()
        return Interrupted.exit_code


def _talk(
    driver: Driver, view: SessionView, then: Then, *, at_once: bool = False, key: Path | None = None
) -> int:
    skip_after = driver.app.workspace.config.planning.skip_after_sec
    dialogue = Dialogue(driver, TypedLines(driver.ui), skip_after, at_once=at_once, key=key)
    code = dialogue.run(view)
    if not dialogue.run_id:
        tell_forge(driver.app, driver.session_id, only_known=True)
    return then(dialogue.run_id) if dialogue.run_id else code


def _choose_open(app: App) -> str | None:
    """The person picks an open session by number; None if there are none. Without a terminal, only lists."""
    refs = app.workspace.planning.list(open_only=True)
    if app.ui.as_json:
        app.ui.document(refs)
        raise click.exceptions.Exit(EXIT_PERSON_NEEDED if refs else 0)
    if not refs:
        app.ui.line(Text("No planning session is open."))
        app.ui.next_step(_START)
        return None
    show_sessions(app, refs, numbered=True)
    chosen = _choose(app, refs)
    if chosen is None:
        raise click.exceptions.Exit(EXIT_PERSON_NEEDED)
    return chosen.session_id


def _choose(app: App, refs: Sequence[SessionRef]) -> SessionRef | None:
    """None if the person leaves."""
    lines = TypedLines(app.ui)
    question = Text("Which one? 1 to {count}, empty to leave:", count=len(refs))
    try:
        while answer := normalize("NFKC", lines.answer(question)):
            found = [ref for number, ref in enumerate(refs, 1) if str(number) == answer]
            if found:
                return found[0]
            app.ui.line(Text("There is no session with that number."), style="yellow")
    except EOFError:
        pass
    return None


def plan_item(app: App, named: str, *, opens_change: bool) -> SessionView:
    interactive_or_json(app)
    view, intake = start_from_item(app.workspace, named, opens_change=opens_change)
    app.ui.show(intake_lines(intake))
    return view


def tell_forge(app: App, session_id: str, *, only_known: bool = False) -> bool:
    """On its issue, if it has one. A forge that does not answer is reported, and stops nothing.

    Whether a comment there can decide what is due.
    """
    try:
        return tell_session(app.workspace, session_id, only_known=only_known)
    except (ForgeFailed, NoExtra, NoForge, NoForgeToken) as error:
        why = Text(error.message, **error.details)
        words = Text(
            "The comment on the issue could not be written ({why}). ringi watch tries again.", why=why
        )
        app.ui.prose(words, Style.WARNING, mark="! ")
        return False


def can_ask(app: App) -> bool:
    """Whether a person reads and answers here; an agent never does."""
    at_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    return at_terminal and not app.ui.as_json and app.workspace.person.refusal() is None


def accepts(app: App, offer: CachedPlanOffer) -> bool:
    """Whether the person wants it; shown as what it is, and never taken for granted."""
    words = {"share": f"{offer.alike:.0%}", "age": age(offer.plan.made_at)}
    app.ui.prose(Text("There is a plan for a similar request ({share} alike, made {age}):", **words))
    app.ui.line(cut(" ".join(offer.plan.task.split()), app.ui.columns - 2), indent=2)
    return confirm(app, Text("Use it? [y/N]"))


def offer_similar(
    app: App, words: str, *, seated: bool, forge: ForgeTerms | None = None
) -> tuple[SessionView | None, CachedPlanOffer | None]:
    """A session with the design of a similar request, if the person wants it; and what could be offered."""
    if app.workspace.config.model == PLAYBOOK and app.workspace.roles(None).planner() is None:
        return None, None  # it costs nothing
    offer = plan_cache.find(app.workspace, PlanKind.DESIGN, words.strip())
    if offer is None or not (seated and can_ask(app)) or not accepts(app, offer):
        return None, offer
    try:
        return plan_cache.start_with(app.workspace, words, offer, app.actor, forge), offer
    except BadBrought as error:
        why = error.details["why"]
        app.ui.prose(Text("It no longer fits: {why}", why=why), Style.WARNING, mark="! ")
        return None, offer
