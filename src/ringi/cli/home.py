"""`ringi` without a command: what waits for you, which agents are running, and the next command for each."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ringi.app.lists import is_cut_off, open_runs, session_refs
from ringi.cli.app import App
from ringi.cli.ui import cut, terminal_columns, width
from ringi.engine.instruction import title_of
from ringi.engine.run_state import RunPhase
from ringi.errors import NotFound
from ringi.kernel.fs import OsFileSystem
from ringi.kernel.lines import Line
from ringi.kernel.process.ancestors import process_start
from ringi.kernel.text import Text, translate, visible
from ringi.plans import words
from ringi.plans.document import PlanDocument, PlanRef, PlanStatus
from ringi.plans.overlaps import find_shared_files
from ringi.plans.waiting_view import format_shared, standing, waiting_lines
from ringi.plans.words import age
from ringi.policy.risk_level import Risk
from ringi.tree.tree import Tree, find_differing

if TYPE_CHECKING:
    from ringi.app.lists import RunRef
    from ringi.sessions.document import SessionRef

_MOST: Final = 20
_LEAST_TITLE: Final = 12
_LONGEST_PROPOSER: Final = 24
_OWN_CHECKS: Final = ["ringi diagnostics"]
"""Recorded as the command of a copy in which no agent runs."""
# Interrupted executions come first: they may be half done.
_URGENT: Final = (PlanStatus.ABORTED, PlanStatus.PENDING_REVIEW, PlanStatus.APPROVED)


class Session(NamedTuple):
    """An agent's copy: the agent is running, was interrupted, or has ended and can be resumed."""

    agent: str
    command: tuple[str, ...]
    since: str
    running: bool
    folder: str
    plan_id: str
    taken: bool
    """Its work has become a plan."""
    by_editor: bool
    """An editor started the agent: ringi acp."""

    @property
    def working(self) -> bool:
        """Not if it waits for the next prompt of an editor."""
        return self.running and not (self.by_editor and self.taken)


def home(app: App) -> None:
    waiting = sorted(app.plans.refs(waiting=True), key=lambda ref: _URGENT.index(ref.status))
    sessions = _sessions(app.places.copies)
    working = [session for session in sessions if session.working or not session.taken]
    planning = session_refs(app.ledger, open_only=True)
    runs = open_runs(app.ledger)
    idle = {session.plan_id: session for session in sessions if not session.working}
    sent_back = [ref for plan_id in idle if plan_id and (ref := _ref_sent_back(app, plan_id))]
    if app.ui.as_json:
        at_work = [session._asdict() for session in working]
        stale = {ref.name: _stale(app, app.plans.get(ref.id).document) for ref in waiting[:_MOST]}
        found = {"waiting": waiting, "sent_back": sent_back, "sessions": at_work, "planning": planning}
        moved_on = {name: paths for name, paths in stale.items() if paths}
        app.ui.document({**found, "runs": runs, "stale": moved_on})
        return
    anything = waiting or sent_back or working or planning or runs
    if not anything and not app.plans.count() and _was_elsewhere(app):
        return
    # Steps are decided with their run, which is shown below.
    with_run = {run.run_id for run in runs}
    alone = [ref for ref in waiting if not (ref.step and ref.step.run_id in with_run)]
    if alone or not waiting:
        _show_waiting(app, alone)
    _show_sent_back(app, sent_back, idle)
    _show_undone(app)
    _show_planning(app, planning)
    _show_runs(app, runs)
    for session in working:
        _show_session(app, session)
    if not anything:
        app.ui.line(Text("Let an agent work in a copy of this project:"))
        app.ui.next_step("ringi with -- COMMAND")


def _was_elsewhere(app: App) -> bool:
    from ringi.ledger.moved import MovedLedger  # noqa: PLC0415  # slow, and only if nothing is there

    if earlier := MovedLedger(app.places.root, app.places.state).earlier():
        app.ui.line(Text("This workspace was at {path} before.", path=str(earlier)), style="yellow")
        app.ui.next_step("ringi doctor --adopt")
    return earlier is not None


def _show_waiting(app: App, waiting: Sequence[PlanRef]) -> None:
    if not waiting:
        app.ui.line(Text("Nothing waits for you."))
        return
    app.ui.line(Text("{count} waiting", count=len(waiting)), style="bold")
    changed = []
    for ref in waiting[:_MOST]:
        document = app.plans.get(ref.id).document
        _show_plan(app, ref, document)
        if len(waiting) > 1:
            _step(app, f"{_verb(app, ref)} {ref.name}")
        if totals := document.state.previews:
            changed.append((ref, totals.files))
    app.ui.show(format_shared(find_shared_files(changed)))
    if len(waiting) > _MOST:
        app.ui.line(Text("and {count} more", count=len(waiting) - _MOST), indent=2)
        app.ui.next_step("ringi list --pending")
    if len(waiting) == 1:
        [ref] = waiting
        named = ref.status is not PlanStatus.PENDING_REVIEW
        app.ui.next_step(f"{_verb(app, ref)} {ref.name}" if named else _verb(app, ref))


def _verb(app: App, ref: PlanRef) -> str:
    if ref.status is PlanStatus.PENDING_REVIEW:
        return "ringi review"
    # A command without a known end is not started again: a person looks first.
    unknown = ref.status is PlanStatus.ABORTED and is_cut_off(app.places.state, ref.id)
    return "ringi recover" if unknown else "ringi execute"


def _show_plan(app: App, ref: PlanRef, document: PlanDocument) -> None:
    app.ui.line(
        _facts(ref, terminal_columns(app.ui.out)), style="bold" if ref.risk is Risk.HIGH else "", indent=2
    )
    app.ui.show(waiting_lines(ref, document, _stale(app, document)))


def _stale(app: App, document: PlanDocument) -> list[str]:
    """Files that changed since the proposer saw them."""
    touched = [file for spec in document.state.action_specs if spec.validated for file in spec.touched]
    return find_differing(Tree(OsFileSystem(), app.places.root), touched)


def _facts(ref: PlanRef, columns: int | None) -> Text:
    """One line; cuts the title if the line would be too long."""

    def with_title(title: str) -> Text:
        return Text(
            "{name}  {title}   {proposer}   {size}   {risk}",
            name=ref.name,
            title=title,
            proposer=_cut(ref.proposer, None if columns is None else _LONGEST_PROPOSER),
            size=words.size(ref.files, ref.added, ref.removed),
            risk=words.RISK[ref.risk],
        )

    if columns is None:
        return with_title(ref.title)
    room = columns - 2 - width(translate(with_title("")))
    return with_title(_cut(ref.title, max(room, _LEAST_TITLE)))


def _cut(text: str, columns: int | None) -> str:
    return visible(text, keep="") if columns is None else cut(text, columns)


def _ref_sent_back(app: App, plan_id: str) -> PlanRef | None:
    """A plan that was sent back and whose agent can be resumed with the feedback."""
    try:
        ref = app.plans.ref(plan_id)
    except NotFound:
        return None
    # A plan without files was interrupted while it was made.
    return ref if ref.status is PlanStatus.PROPOSED and ref.files and not ref.superseded else None


def _show_sent_back(app: App, sent_back: Sequence[PlanRef], sessions: Mapping[str, Session]) -> None:
    if not sent_back:
        return
    app.ui.line(Text("{count} sent back", count=len(sent_back)), style="bold")
    for ref in sent_back:
        app.ui.line(_facts(ref, terminal_columns(app.ui.out)), indent=2)
        if sessions[ref.id].running or _needs_editor(sessions[ref.id]):
            app.ui.line(Text("In your editor, the agent is told with your next prompt."), indent=6)
            _step(app, f"ringi review {ref.name}")
        else:
            _step(app, f"ringi with --resume {ref.name}")


def _needs_editor(session: Session) -> bool:
    """As `usecases.resume` says, without the time that it takes to load."""
    if not session.by_editor:
        return False
    from ringi.agents.table import agent_of  # noqa: PLC0415  # only if an editor's plan was sent back

    return agent_of(session.command).resume is None


def _show_undone(app: App) -> None:
    """Only the newest plan: what was undone longer ago is over."""
    for ref in app.plans.refs(limit=1):
        if ref.undone and ref.status is PlanStatus.COMPLETED:
            app.ui.line(_facts(ref, terminal_columns(app.ui.out)), indent=2)
            app.ui.show(Line((span,), indent=6) for span in standing(app.plans.get(ref.id).document))
            _step(app, f"ringi review {ref.name}")


def _show_planning(app: App, planning: "Sequence[SessionRef]") -> None:
    if not planning:
        return
    from ringi.sessions.status_view import session_phase, short_names  # noqa: PLC0415  # only if one is open

    app.ui.line(Text("{count} being planned", count=len(planning)), style="bold")
    names = short_names(ref.session_id for ref in planning)
    columns = terminal_columns(app.ui.out)
    for ref in planning[:_MOST]:
        facts = Text("{age}   {phase}", age=age(ref.updated_at), phase=session_phase(ref))
        room = None if columns is None else max(columns - 5 - width(translate(facts)), _LEAST_TITLE)
        app.ui.line(Text("{title}   {facts}", title=_cut(ref.title, room), facts=facts), indent=2)
        _step(app, f"ringi plan --resume {names[ref.session_id]}")
    if len(planning) > _MOST:
        app.ui.line(Text("and {count} more", count=len(planning) - _MOST), indent=2)
        app.ui.next_step("ringi status")


def _show_runs(app: App, runs: "Sequence[RunRef]") -> None:
    if not runs:
        return
    from ringi.runs.report import PHASE  # noqa: PLC0415
    from ringi.runs.view import next_command, with_progress  # noqa: PLC0415

    app.ui.line(Text("Runs: {count}", count=len(runs)), style="bold")
    columns = terminal_columns(app.ui.out)
    for run in runs[:_MOST]:
        phase = PHASE[RunPhase(run.phase)]
        facts = Text(
            "{age}   {phase}", age=age(run.updated_at), phase=with_progress(phase, run.done, len(run.steps))
        )
        room = None if columns is None else max(columns - 5 - width(translate(facts)), _LEAST_TITLE)
        title = _cut(title_of(run.instruction), room)
        app.ui.line(Text("{title}   {facts}", title=title, facts=facts), indent=2)
        if run.stop:
            app.ui.line(run.stop.why, style="yellow", indent=6)
        _step(app, next_command(RunPhase(run.phase), run.run_id, run.stop.next_action if run.stop else ""))
    if len(runs) > _MOST:
        app.ui.line(Text("and {count} more", count=len(runs) - _MOST), indent=2)
        app.ui.next_step("ringi status")


def _show_session(app: App, session: Session) -> None:
    if session.running:
        line = Text(
            "{agent} has been working in a copy since {time}", agent=session.agent, time=session.since
        )
        app.ui.line(line)
    else:
        line = Text("The work of {agent} is not a plan yet.", agent=session.agent)
        app.ui.line(line, style="yellow")
        app.ui.next_step("ringi doctor --repair")


def _step(app: App, command: str) -> None:
    app.ui.line(f"→ {command}", style="bold", indent=6)


def _sessions(copies: Path) -> list[Session]:
    """Oldest first. A copy that is still being made has no complete record yet."""
    try:
        folders = sorted(folder for folder in copies.iterdir() if not folder.name.startswith("."))
    except OSError:
        return []
    found = []
    for folder in folders:
        record = folder / "copy.json"
        try:
            facts, saved_at = msgspec.json.decode(record.read_bytes()), record.stat().st_mtime
        except (OSError, msgspec.DecodeError):
            continue
        if isinstance(facts, dict) and (session := _session(facts, folder, saved_at)):
            found.append(session)
    return found


def _session(record: dict[str, Any], folder: Path, saved_at: float) -> Session | None:
    """Reads only the fields it needs: the module that knows all of them takes too long to load."""
    command = record.get("command")
    if not isinstance(command, list) or not command or command == _OWN_CHECKS:
        return None
    began = time.localtime(saved_at)
    today = began[:3] == time.localtime()[:3]
    return Session(
        agent=str(command[0]).rpartition("/")[2],
        command=tuple(map(str, command)),
        since=time.strftime("%H:%M" if today else "%Y-%m-%d %H:%M", began),
        running=_runs(record.get("supervisor")),
        folder=str(folder),
        plan_id=str(record.get("plan_id", "")),
        taken=record.get("taken") is True,
        by_editor=record.get("by_editor") is True,
    )


def _runs(supervisor: object) -> bool:
    match supervisor:
        case {"pid": int(pid), "start": str(start)}:
            return process_start(pid) == start
    return False
