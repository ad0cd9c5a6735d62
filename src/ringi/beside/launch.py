"""An agent works in a copy of the repository; what it changed becomes a plan."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UNSET, UnsetType

from ringi.agents.conversation import conversation_of
from ringi.agents.sandbox import AgentSandbox, enclose
from ringi.agents.socket import AgentSocket, SocketServer
from ringi.agents.state import AgentState, Replaced, SandboxContext
from ringi.agents.table import agent_of
from ringi.approvals.who import FROM_COPY
from ringi.beside.copies import agent_copies, plan_of
from ringi.errors import RingiError, StorageFailed
from ringi.kernel.process.environment import WITH_VARIABLE
from ringi.kernel.process.program import in_copy, program_name
from ringi.kernel.process.terminal import Ended
from ringi.kernel.text import Text
from ringi.plans.check import add_checks
from ringi.plans.document import PlanRef
from ringi.plans.from_difference import DifferenceOrigin, Taken, propose_difference
from ringi.plans.overlaps import overlaps
from ringi.tree.check_result import CheckResult
from ringi.tree.commands import Invocation
from ringi.tree.copy import Supervisor, WorkCopy
from ringi.tree.copy_run import CopyRun, Enclosing, ScratchCopies
from ringi.tree.copy_steps import files_of_tree
from ringi.tree.difference import TreeDifference
from ringi.tree.editable_installs import why_unreliable

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

MCP_SOCKET: Final = "RINGI_MCP_SOCKET"
FEEDBACK_FILE: Final = "RINGI_FEEDBACK"


def make_copy(
    workspace: Workspace,
    argv: Sequence[str],
    carry: Sequence[str],
    on_progress: Callable[[Text], None],
    start: str = "",
) -> WorkCopy:
    """`start` is the subfolder in which the command runs."""
    places = workspace.places
    return WorkCopy.make(
        places.root,
        places.state,
        places.copies,
        carry=carry,
        ignored=agent_of(argv).ignored,
        supervisor=Supervisor.this_process(),
        command=argv,
        start=start,
        on_progress=on_progress,
    )


def run_agent(
    workspace: Workspace,
    copy: WorkCopy,
    argv: Sequence[str],
    environment: Mapping[str, str],
    sandbox: AgentSandbox,
    *,
    output: int = 1,
    feedback: Path | None = None,
    told_at: str = "",
    on_replaced: Callable[[Replaced], None] = lambda _: None,
) -> Ended:
    """Runs the command in the copy, in its own terminal, and ends the processes it leaves behind.

    `on_replaced` is told each link to settings that the agent had replaced.
    """
    began = workspace.clock.now()
    with agent_place(workspace, copy, argv, environment, sandbox, feedback=feedback) as place:
        ended = place.run.run_in_terminal(place.argv, place.more, output=output, listener=place.socket)
    found = ""
    if sandbox.bwrap:
        alone = not any(other.is_running for other in agent_copies(workspace) if other.id != copy.id)
        folder = workspace.places.root / copy.record.start
        found = conversation_of(argv, environment, folder, began, alone=alone)
    settle(
        workspace,
        copy,
        argv,
        environment,
        sandbox,
        conversation=found,
        told_at=told_at,
        on_replaced=on_replaced,
    )
    return ended


class AgentPlace(NamedTuple):
    """What an agent is started with."""

    run: CopyRun
    argv: tuple[str, ...]
    more: Mapping[str, str]
    """Variables besides the person's."""
    socket: AgentSocket


@contextlib.contextmanager
def agent_place(
    workspace: SandboxContext,
    copy: WorkCopy,
    argv: Sequence[str],
    environment: Mapping[str, str],
    sandbox: AgentSandbox,
    *,
    feedback: Path | None = None,
    once: bool = False,
) -> Iterator[AgentPlace]:
    """With a socket that leads to our server until the block ends. `once` as in `enclosed`."""
    with AgentSocket(_server(workspace, copy, argv, environment)) as socket:
        more = {MCP_SOCKET: socket.path, FEEDBACK_FILE: feedback}
        visible = [path for path in (socket.folder, feedback) if path is not None]

        def enclosing(invocation: Invocation) -> Invocation:
            return enclose(workspace, copy, sandbox, invocation, visible=visible, once=once)

        yield AgentPlace(
            CopyRun(copy, environment, enclosing=enclosing),
            in_copy(argv, copy.folder_of_commands, workspace.places.root / copy.record.start),
            {name: str(path) for name, path in more.items() if path is not None},
            socket,
        )


def settle(
    workspace: Workspace,
    copy: WorkCopy,
    argv: Sequence[str],
    environment: Mapping[str, str],
    sandbox: AgentSandbox,
    *,
    conversation: str = "",
    told_at: str = "",
    on_replaced: Callable[[Replaced], None] = lambda _: None,
) -> None:
    """After the agent has ended: takes its state back, and notes which conversation it had."""
    if sandbox.bwrap:
        state = AgentState(workspace, copy, argv, environment)
        state.take_back()
        for replaced in state.put_back_links():
            on_replaced(replaced)
    with contextlib.suppress(StorageFailed):  # a deleted copy is reported when it is read
        copy.note(
            ended_at=workspace.clock.now(),
            told_at=told_at or copy.record.told_at,
            conversation=conversation or copy.record.conversation,
        )


def _server(
    workspace: SandboxContext, copy: WorkCopy, argv: Sequence[str], environment: Mapping[str, str]
) -> SocketServer:
    """One per client, outside the sandbox, as a child of this process, which identifies the agent."""
    root = workspace.places.root
    # Keep the workspace off the import path: it may hold modules of the same names.
    python = (sys.executable, "-P", "-m", "ringi")
    words = (*python, "--workspace", str(root), "mcp", "--as", program_name(argv))
    own = {name: value for name, value in environment.items() if name != MCP_SOCKET}
    return SocketServer(words, root, {**own, WITH_VARIABLE: copy.id})


def take(
    workspace: Workspace,
    copy: WorkCopy,
    argv: Sequence[str],
    *,
    sandbox: AgentSandbox,
    environment: Mapping[str, str],
    checks: Sequence[str] = (),
    commit: bool = False,
    title: str = "",
    asked: str = "",
    agent_exit: int | UnsetType | None = UNSET,
    living: bool = False,
    on_check: Callable[[str], None] = lambda _: None,
) -> Taken:
    """Make the difference a plan, or a new version of the plan that the copy has.

    It is saved and linked to the copy before the checks run, on exactly its bytes.
    """
    difference = copy.difference(workspace.config.limits.max_specs, living=living)
    plan = plan_of(workspace, copy)
    same = plan is not None and difference.tree == copy.record.planned_tree
    if same or not difference.changes:
        copy.note(taken=True, left_out=bool(difference.left_out))
        empty = plan is not None and not difference.changes
        return Taken(plan, difference.left_out, again=plan is not None, new=False, empty=empty)
    origin = _origin(copy, argv, title, asked)._replace(checks=tuple(checks), agent_exit=agent_exit)
    plan_id, again, problems = _propose(workspace, copy, difference, plan, origin)
    known, now = copy.record.planned_version, workspace.plan.ref(plan_id)
    meanwhile = plan.version if plan is not None and again and known and plan.version != known else 0
    copy.note(
        taken=True,
        left_out=bool(difference.left_out),
        planned_tree=difference.tree,
        planned_version=now.version,
    )
    no_commit = _wish_commit(workspace, copy, plan_id) if commit else None
    results = _check(workspace, copy, difference, sandbox, environment, checks, on_check)
    if results:
        add_checks(workspace, plan_id, results)
    if all(result.passed for result in results):
        _ask_standing(workspace, plan_id)
    return Taken(
        workspace.plan.ref(plan_id),
        difference.left_out,
        problems,
        tuple(results),
        again,
        overlaps=overlaps(workspace, workspace.plan.get(plan_id)),
        meanwhile=meanwhile,
        no_commit=no_commit,
    )


def _check(
    workspace: Workspace,
    copy: WorkCopy,
    difference: TreeDifference,
    sandbox: AgentSandbox,
    environment: Mapping[str, str],
    checks: Sequence[str],
    on_check: Callable[[str], None],
) -> list[CheckResult]:
    """Not in the copy: the agent may still work there, and what git ignores there is in no plan."""

    def enclosing(scratch: WorkCopy) -> Enclosing:
        # In the agent's sandbox: this runs the agent's code.
        return lambda invocation: enclose(workspace, scratch, sandbox, invocation, terminal=False)

    places, results = workspace.places, list[CheckResult]()
    with ScratchCopies(
        places,
        environment,
        carry=copy.record.carried,
        start=copy.record.start,
        first=lambda scratch: files_of_tree(copy, difference.tree, scratch),
        enclosing=enclosing,
        doubt=why_unreliable(places.root, environment, sandboxed=sandbox.bwrap is not None),
    ) as scratches:
        for check in checks:
            on_check(check)
            results.append(scratches.current().check(check, workspace.config.checks.timeout_sec))
    return results


def _propose(
    workspace: Workspace,
    copy: WorkCopy,
    difference: TreeDifference,
    plan: PlanRef | None,
    origin: DifferenceOrigin,
) -> tuple[str, bool, tuple[Text, ...]]:
    def note(plan_id: str) -> None:
        copy.note(plan_id=plan_id)

    return propose_difference(workspace, difference, origin, plan, note)


def _origin(copy: WorkCopy, argv: Sequence[str], title: str, asked: str) -> DifferenceOrigin:
    """Without a title, it gets that of the newest commit in the copy."""
    told, name = copy.head_message(), program_name(argv)
    return DifferenceOrigin(
        title or (told[0] if told else ""),
        f"Changed in a work copy by: {shlex.join(argv)}",
        proposer=name,
        requester=f"with:{name}",
        tag=FROM_COPY,
        reason=f"{copy.id}: {asked}" if asked else copy.id,
    )


def _wish_commit(workspace: Workspace, copy: WorkCopy, plan_id: str) -> Text | None:
    told = copy.head_message()
    title = workspace.plan.get(plan_id).plan.title
    try:
        workspace.plan.wish_commit(plan_id, f"{title}\n\n{told[1]}" if told and told[1] else title)
    except RingiError as error:  # the plan exists; only the commit could not be requested
        return Text(error.message, **error.details)
    return None


def _ask_standing(workspace: Workspace, plan_id: str) -> None:
    """Asks if a standing approval may cover it; a person can still be asked later."""
    if any(state.revoked_at is None for state in workspace.grants.list()):
        with contextlib.suppress(RingiError):
            workspace.plan.request_approval(plan_id)
