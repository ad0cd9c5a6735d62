"""What is done in the workspace for an agent in an editor: its copy, its turns, its plan.

Each call opens the workspace anew, as a command would: an editor runs for days, while settings change. Calls
block; each agent has a thread for them.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import UNSET, UnsetType

from ringi.acp.paths import ProjectPaths
from ringi.acp.thread import ShownPlan, ThreadPrinter, render_plan
from ringi.agents.sandbox import AgentSandbox, agent_sandbox, enclose, place_in_sandbox, writable_places
from ringi.agents.socket import AgentSocket
from ringi.agents.state import ProjectSettings
from ringi.app.api import Workspace, open_workspace
from ringi.beside import launch as beside
from ringi.beside.copies import make_room, remove_settled
from ringi.beside.turns import begin_turn, bring, copy_of, find_changed_meanwhile
from ringi.beside.words import Printer, tell_copy, tell_replaced, tell_sandbox, tell_taken
from ringi.errors import NoSuchProgram, RingiError
from ringi.kernel.lines import Line
from ringi.kernel.places import find_root
from ringi.kernel.process.program import from_here, program_of
from ringi.kernel.process.start import RunningCommand
from ringi.kernel.text import Text, shorten_path
from ringi.plans.document import PlanRef
from ringi.plans.waiting_view import risk_lines
from ringi.tree.commands import Invocation
from ringi.tree.copy import Supervisor, WorkCopy
from ringi.tree.copy_run import CopyRun

_LONGEST_TITLE: Final = 72


class Wish(NamedTuple):
    """The command line of `ringi acp`."""

    command: tuple[str, ...]
    start: Path
    environment: Mapping[str, str]
    checks: tuple[str, ...] = ()
    carry: tuple[str, ...] = ()


class StartedAgent(NamedTuple):
    """An agent in its copy."""

    copy: WorkCopy
    paths: ProjectPaths
    around: ProjectSettings
    sandbox: AgentSandbox
    command: RunningCommand
    socket: AgentSocket
    stdin: int
    stdout: int
    warnings: str
    """What the person should know before they work with it."""
    close: Callable[[], None]
    """Ends it and all it started, and lets go of the copy."""


class TurnBegin(NamedTuple):
    copy: WorkCopy
    """As it goes on."""
    news: str
    """What the agent must be told first."""
    words: str
    """What the person must be told."""


class TurnEnd(NamedTuple):
    plan: ShownPlan | None
    """None if there is nothing new to show."""
    words: str


class Work:
    def __init__(self, wish: Wish, log: Printer) -> None:
        self._wish = wish
        self._log = log
        self._ahead: Future[StartedAgent] | None = None
        self.diffs_as_text = False
        """Whether the editor shows no content of tool calls."""

    def start_ahead(self) -> None:
        """Starts the agent that `start` gives first, while the rest of the program loads."""
        thread = ThreadPoolExecutor(1, thread_name_prefix="ringi-acp")
        self._ahead = thread.submit(self._start, "", None)
        thread.shutdown(wait=False)

    @property
    def root(self) -> Path:
        """Raises NoWorkspace."""
        return find_root(self._wish.start)

    def knows(self, conversation: str) -> bool:
        """Whether there is a copy in which that conversation can go on."""
        with self._open() as workspace:
            return copy_of(workspace, conversation) is not None

    @contextlib.contextmanager
    def _open(self) -> Iterator[Workspace]:
        with open_workspace(self._wish.start, environment=self._wish.environment) as workspace:
            yield workspace

    def start(self, conversation: str = "", source: WorkCopy | None = None) -> StartedAgent:
        """In the copy of that conversation if there is one, else in a fresh one with the changes of `source`.

        Raises RingiError.
        """
        ahead = self._ahead
        if ahead is None or conversation or source is not None:
            return self._start(conversation, source)
        self._ahead = None
        return ahead.result()

    def _start(self, conversation: str, source: WorkCopy | None) -> StartedAgent:
        wish, log = self._wish, self._log
        with self._open() as workspace:
            sandbox = agent_sandbox(workspace)
            program_of(wish.command, Path.cwd(), wish.environment)
            argv = from_here(wish.command, Path.cwd(), workspace.places.root)
            places = writable_places(workspace, argv, wish.environment) if sandbox.bwrap else ()
            for told in (*remove_settled(workspace), *make_room(workspace)):
                log.line(told)
            if found := copy_of(workspace, conversation):
                return self._start_in(workspace, found, argv, sandbox, places)
            carry = (*workspace.config.beside.carry, *wish.carry)
            copy = beside.make_copy(workspace, argv, carry, lambda _: None)
            try:
                tell_copy(log, copy, sandboxed=sandbox.bwrap is not None)
                if source is not None:
                    bring(source, copy)
                copy.note(taken=source is None, by_editor=True)  # nothing is lost if it is never used
                return self._start_in(workspace, copy, argv, sandbox, places)
            except (RingiError, OSError):
                copy.remove(wait=False)
                raise

    def _start_in(
        self,
        workspace: Workspace,
        copy: WorkCopy,
        argv: tuple[str, ...],
        sandbox: AgentSandbox,
        places: Sequence[Path],
    ) -> StartedAgent:
        warned = ThreadPrinter()
        tell_sandbox(self._log, sandbox, places)
        if sandbox.bwrap is None:
            tell_sandbox(warned, sandbox, places)
        if copy.left_behind:
            tell_copy(warned, copy, sandboxed=sandbox.bwrap is not None)
        around = ProjectSettings(workspace.places, workspace.config)
        with contextlib.ExitStack() as stack:
            stack.enter_context(copy.claim())
            copy.note(supervisor=Supervisor.this_process())
            command, socket, (stdin, stdout) = self._run(stack, around, copy, argv, sandbox)
            seen = place_in_sandbox(around, copy, sandbox, self._wish.environment)
            return StartedAgent(
                copy=copy,
                paths=ProjectPaths(workspace.places.root, seen),
                around=around,
                sandbox=sandbox,
                command=command,
                socket=socket,
                stdin=stdin,
                stdout=stdout,
                warnings=warned.message if warned.rows else "",
                close=stack.pop_all().close,
            )

    def _run(
        self,
        stack: contextlib.ExitStack,
        around: ProjectSettings,
        copy: WorkCopy,
        argv: tuple[str, ...],
        sandbox: AgentSandbox,
    ) -> tuple[RunningCommand, AgentSocket, tuple[int, int]]:
        place = stack.enter_context(
            beside.agent_place(around, copy, argv, self._wish.environment, sandbox, once=True)
        )
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            reader, stdin = os.pipe()
            stdout, writer = os.pipe()
            for number, ends in ((reader, theirs), (writer, theirs), (stdin, ours), (stdout, ours)):
                ends.callback(os.close, number)
            try:
                command = stack.enter_context(
                    place.run.start(place.argv, place.more, stdin=reader, stdout=writer, stderr=2)
                )
            except (FileNotFoundError, PermissionError):
                raise NoSuchProgram(name=place.argv[0]) from None
            ours.pop_all()
        return command, place.socket, (stdin, stdout)

    def begin(self, started: StartedAgent, session: str) -> TurnBegin:
        """Before a turn."""
        with self._open() as workspace:
            turn = begin_turn(workspace, started.copy)
            turn.copy.note(conversation=session)  # now: at the end we may be gone
        printer = ThreadPrinter()
        if turn.torn:
            printer.line(
                Text(
                    "! The agent works with the project as it was: both changed {paths}. A review of its plan"
                    " merges the two.",
                    paths=shorten_path(", ".join(turn.torn)),
                )
            )
        if turn.hidden:
            names = shorten_path(", ".join(turn.hidden))
            printer.line(Text("! not in the plan any more: {paths} (git ignores it now)", paths=names))
        return TurnBegin(turn.copy, turn.message, printer.message if printer.rows else "")

    def end(
        self,
        started: StartedAgent,
        asked: Sequence[str],
        tell: Callable[[str], None],
        *,
        exit_code: int | UnsetType | None = UNSET,
    ) -> TurnEnd:
        """After a turn: its plan, or the next version of it. `tell` gets what is going on.

        `exit_code` is None if the turn was cut off; then no checks run.
        """
        printer = ThreadPrinter()

        def check(command: str) -> None:
            said = ThreadPrinter()
            said.line(Text("Checking: {command} …", command=command))
            tell(said.message)

        with self._open() as workspace:
            taken = beside.take(
                workspace,
                started.copy,
                self._wish.command,
                sandbox=started.sandbox,
                environment=self._wish.environment,
                checks=() if exit_code is None else (*workspace.config.beside.checks, *self._wish.checks),
                title=_title(asked[-1]),
                asked=" / ".join(" ".join(one.split()) for one in asked),
                agent_exit=exit_code,
                living=True,
                on_check=check,
            )
            if taken.plan is None and not taken.left_out:
                return TurnEnd(None, "")
            plan = None
            if taken.plan and taken.new:
                plan = render_plan(workspace, taken.plan, started.paths, as_text=self.diffs_as_text)
            if plan and plan.unshown:
                printer.line(
                    Text(
                        "1 file is not shown here; the review shows all.",
                        "{count} files are not shown here; the review shows all.",
                        count=plan.unshown,
                    )
                )
            tell_taken(printer, started.copy, taken, _below(workspace, taken.plan))
            return TurnEnd(plan, (plan.diff if plan else "") + printer.message)

    def close(self, started: StartedAgent, session: str) -> str:
        """Ends the agent. What it left becomes a plan, without checks; what is empty goes.

        Returns the name of the plan that holds its work.
        """
        started.close()
        with self._open() as workspace, started.copy.claim():
            copy, argv, environment = started.copy, self._wish.command, self._wish.environment
            beside.settle(
                workspace,
                copy,
                argv,
                environment,
                started.sandbox,
                conversation=session,
                on_replaced=lambda replaced: tell_replaced(self._log, replaced),
            )
            if not copy.record.taken:
                beside.take(workspace, copy, argv, sandbox=started.sandbox, environment=environment)
            if not copy.record.plan_id and not copy.record.left_out:
                copy.remove(wait=False)
                return ""
            return workspace.plan.ref(copy.record.plan_id).name if copy.record.plan_id else ""

    def terminal_in(self, started: StartedAgent) -> CopyRun:
        """Where commands of the agent run: in its sandbox."""

        def enclosing(invocation: Invocation) -> Invocation:
            return enclose(started.around, started.copy, started.sandbox, invocation, terminal=False)

        return CopyRun(started.copy, self._wish.environment, enclosing=enclosing)


def _below(workspace: Workspace, plan: PlanRef | None) -> Iterator[Line]:
    """What to know of a plan beside its size: which files changed meanwhile, and why it is risky."""
    if plan is not None:
        document = workspace.plan.get(plan.id)
        yield from risk_lines(plan, document, find_changed_meanwhile(workspace, document))


def _title(asked: str) -> str:
    line = asked.partition("\n")[0]
    return line if len(line) <= _LONGEST_TITLE else line[: _LONGEST_TITLE - 1] + "…"
