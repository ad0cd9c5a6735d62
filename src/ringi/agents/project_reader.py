"""An agent that is asked as a model looks around in a copy of the project that it cannot change."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ringi.agents.reading import Enclosed
from ringi.agents.sandbox import AgentSandbox, agent_sandbox, enclose
from ringi.agents.state import AgentState, SandboxContext
from ringi.kernel.text import Text
from ringi.tree.commands import Invocation
from ringi.tree.copy import WorkCopy
from ringi.tree.copy_run import ScratchCopies


class CopyReader:
    """As an agent of `ringi with`, in a copy that is read-only to it; what git ignores is not in it."""

    def __init__(
        self, workspace: SandboxContext, *, withheld: bool = False, copy: WorkCopy | None = None
    ) -> None:
        """`withheld` if some files are shown to no model: a copy, with its history, would show them.

        Without a `copy`, a temporary one is made.
        """
        self._workspace = workspace
        self._withheld = withheld
        self._copy = copy

    def lacks(self) -> Text | None:
        if self._withheld:
            return Text("context.never_send keeps files from models, so it sees only the context")
        return self._box().why

    def _box(self) -> AgentSandbox:
        return agent_sandbox(self._workspace)

    @contextmanager
    def enclose(
        self, argv: Sequence[str], env: Mapping[str, str], visible: Sequence[Path]
    ) -> Iterator[Enclosed]:
        workspace = self._workspace
        with ExitStack() as stack:
            copy = self._copy or stack.enter_context(ScratchCopies(workspace.places, env)).current().copy
            inside = enclose(
                workspace, copy, self._box(), Invocation(tuple(argv), env), visible=visible, reading=True
            )
            try:
                yield Enclosed(inside.argv, copy.folder_of_commands, inside.env, inside.confined)
            finally:
                state = AgentState(workspace, copy, argv, env)
                state.take_back()
                state.put_back_links()
