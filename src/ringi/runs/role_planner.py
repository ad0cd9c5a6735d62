"""The role planner: a command or a model brings the design of a run in place of a session's questions.

What it brings is checked like that of an agent over MCP; the second answer is asked for with everything that
is wrong with the first.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

import msgspec

from ringi.agents.output import documents
from ringi.config.keys import RoleConfig, RoleHow
from ringi.engine.run_plan import RunPlan, RunRole
from ringi.errors import BadBrought
from ringi.kernel import codec
from ringi.kernel.document import prepare
from ringi.kernel.problems import faults, in_words
from ringi.kernel.text import Text
from ringi.models.budget import count_planning
from ringi.models.prompt import Material, NewSplit, NewStep, NewSummary, Prompt
from ringi.models.turns import format_prompt
from ringi.models.usage import Purpose, Spent, TokenUsage
from ringi.policy.globs import inside
from ringi.runs.document import StepState, Stop
from ringi.runs.role_command import RoleRun, run_command, words_of
from ringi.runs.role_model import BudgetedModel, TurnTime
from ringi.runs.role_work import describe_timeout, time_key
from ringi.sessions.document import AgentPending, SessionView
from ringi.sessions.tool import PlanningTool
from ringi.tree.copy_run import ScratchCopies

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

T = TypeVar("T")
R = TypeVar("R")
_TRIES: Final = 2
_MOST_BYTES_READ: Final = 1_000_000
_FIRST: Final[Mapping[Purpose, Sequence[str]]] = {
    Purpose.DISCOVERY: ("questions", "decisions"),
    Purpose.DESIGN: ("decisions",),
    Purpose.REVISION: ("decisions",),
}
"""What comes before the design, and is left out: no person is there to be asked."""
_SPLIT: Final = (
    "A step of a change to a software project became too large. Plan it as several smaller steps, in order, "
    "each complete in itself: code together with its tests, and everything works after it. Leave nothing of "
    "it out. Each names target_paths of its own, which are among those of step or changed, and stays within "
    "the limits."
)


class PlannerTools(NamedTuple):
    workspace: "Workspace"
    check: Callable[[], Stop | None]
    """Why it cannot be asked."""
    caller: Callable[[Spent], BudgetedModel]
    """Asks its model, as long as the budget lasts after so much was spent."""


class _Said(NamedTuple, Generic[T]):
    value: T | str
    """The answer, or everything that is wrong with it."""
    text: str
    used: TokenUsage = TokenUsage()
    settle: Callable[[bool], None] = lambda _: None


class Planner:
    def __init__(self, tools: PlannerTools, role: RoleConfig, who: str) -> None:
        self._tools = tools
        self._role = role
        self.who = who

    def bring(self, tool: PlanningTool, session_id: str) -> SessionView:
        """The session with its design, which a person approves.

        Raises BadBrought if the second answer cannot be used either, and what kept it from answering.
        """

        def take(found: NewSummary, used: TokenUsage) -> SessionView:
            view = tool.view(session_id)
            due = view.pending.purpose if isinstance(view.pending, AgentPending) else Purpose.REVIEW
            brought = {**{name: [] for name in _FIRST.get(due, ())}, "design": msgspec.to_builtins(found)}
            return tool.bring(session_id, brought, self.who, used)

        used = count_planning(tool.view(session_id).usage)
        return self._ask(tool.next_prompt(session_id, design=True).prompt, NewSummary, take, used)

    def split(self, plan: RunPlan, state: StepState, changed: Mapping[str, int]) -> Sequence[NewStep]:
        """Smaller steps for one that was too large. Raises like `bring`."""
        step = next(one for one in plan.steps if one.step_id == state.step_id)
        allowed = (*step.scope.target_paths, *changed)

        def take(found: NewSplit, _: TokenUsage) -> Sequence[NewStep]:
            wrong = [path for one in found.steps for path in one.target_paths if not inside(path, allowed)]
            if wrong and step.scope.target_paths:
                why = Text("the step may not change {paths}", paths=", ".join(wrong))
                raise BadBrought(what=self._what(), why=why)
            return found.steps

        lines = "\n".join(f"{path}: {count}" for path, count in changed.items())
        material = (
            Material("request", plan.context.summary),
            Material("step", codec.pretty(step).decode()),
            *([Material("changed", f"Lines by file, as it was made:\n{lines}")] if changed else ()),
        )
        return self._ask(Prompt(Purpose.REVIEW, _SPLIT, material), NewSplit, take, Spent())

    def _ask(self, prompt: Prompt, kind: type[T], take: Callable[[T, TokenUsage], R], spent: Spent) -> R:
        why, caller = "", None
        if stop := self._tools.check():
            raise BadBrought(
                what=self._what(), why=Text("{message} {next}", message=stop.why, next=stop.todo)
            )
        turn = TurnTime(time_key(RunRole.PLANNER), self._role.timeout_sec)
        if self._role.worker is RoleHow.MODEL:
            caller = self._tools.caller(spent)
        for _ in range(_TRIES):
            said = self._answer(prompt, kind, caller, turn)
            if isinstance(said.value, str):
                why = said.value
            else:
                try:
                    taken = take(said.value, said.used)
                except BadBrought as error:
                    said.settle(False)
                    why = str(error.details["why"])
                else:
                    said.settle(bool(prompt.session))
                    return taken
            more = (Material("your last answer", said.text), Material("its problem", why))
            prompt = prompt._replace(material=(*prompt.material, *more))
        raise BadBrought(what=self._what(), why=why)

    def _what(self) -> Text:
        return Text("The plan of {who}", who=self.who)

    def _answer(
        self, prompt: Prompt, kind: type[T], caller: BudgetedModel | None, turn: TurnTime
    ) -> _Said[T]:
        if caller is not None:
            found = caller.ask(prompt, kind)
            text = codec.pretty(found).decode()
            return _Said(found, text, caller.used, lambda usable: caller.settle(usable=usable))
        text = self._run(format_prompt(prompt, kind), turn)
        raw = [one for one in documents(text) if not one.keys().isdisjoint(kind.__struct_fields__)]  # type: ignore[attr-defined]
        if not raw:
            return _Said("it printed no JSON object that begins on a line of its own", text)
        read = msgspec.json.encode(raw[-1]).decode()
        if wrong := faults(raw[-1], kind):
            return _Said(in_words(wrong), read)
        return _Said(msgspec.convert(raw[-1], type=prepare(kind)), read)

    def _run(self, brief: str, turn: TurnTime) -> str:
        """What its command prints, in a copy that it cannot change."""
        workspace, role = self._tools.workspace, self._role
        with ScratchCopies(workspace.places, workspace.environment) as copies:
            order = RoleRun(
                workspace, workspace.environment, copies.current().copy, turn.seconds_left(),
                role.output_bytes, lambda _: None, reading=True,
            )  # fmt: skip
            ran = run_command(order, words_of(role.command), brief)
        if ran.timed_out:
            raise BadBrought(
                what=self._what(), why=describe_timeout(self.who, RunRole.PLANNER, role.timeout_sec)
            )
        return ran.output[-_MOST_BYTES_READ:].decode("utf-8", "replace")
