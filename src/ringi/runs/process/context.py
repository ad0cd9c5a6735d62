"""What a process works with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from ringi.config.keys import DEFAULTS, Config
from ringi.engine.document import PlanningDocument
from ringi.engine.engine import PlanningEngine
from ringi.engine.plan_checks import PlanRules
from ringi.engine.process import ActionRecord
from ringi.kernel.system import Clock
from ringi.kernel.telemetry.port import SILENT, Telemetry
from ringi.kernel.text import Text
from ringi.models.prompt import Material, Prompt
from ringi.models.usage import Spent
from ringi.runs.process.reflection import ReflectionEngine
from ringi.tools.ports_process import CheckedTools, ToolResult

if TYPE_CHECKING:
    from ringi.app.store import Store

T = TypeVar("T")


class ModelAsker(Protocol):
    """A model, as long as the budget lasts."""

    @property
    def spent(self) -> Spent: ...
    def seconds_left(self) -> float:
        """Seconds that the turn may still take."""

    def ask(self, prompt: Prompt, kind: type[T]) -> T:
        """Raises ModelFailed, and BudgetUsed before a call that could not end within the budget."""

    def settle(self, *, usable: bool) -> None:
        """What became of its last answer; one that was of no use is not given again."""


class ToolPlace(Protocol):
    """Where the tools work: a copy that can be put back."""

    def checkout(self, tree: str) -> None:
        """Its files are exactly those of this tree."""

    def has(self, path: str) -> bool: ...
    def beyond(self, changed: tuple[str, ...]) -> tuple[str, ...]:
        """Those of these paths that the task must not change."""


class Outside(Protocol):
    """Calls that change something outside the copy go through the plan tool."""

    def propose(self, record: ActionRecord) -> None:
        """A plan with this one call and the id that the record names; it waits for a person."""

    def result(self, plan_id: str) -> ToolResult | None:
        """None as long as it waits."""


def _unheard(_: Text) -> None:
    pass


class ProcessContext(NamedTuple):
    store: Store
    clock: Clock
    ids: Callable[[], str]
    seconds: Callable[[], float]
    """A clock that is never set back."""
    model: ModelAsker
    tools: CheckedTools
    place: ToolPlace
    outside: Outside
    reflection: ReflectionEngine
    rules: PlanRules
    config: Config = DEFAULTS
    engine: Callable[[], PlanningEngine] | None = None
    """None if a plan is always given."""
    mask: Callable[[str], str] = str
    telemetry: Telemetry = SILENT
    on_event: Callable[[Text], None] = _unheard
    width: int = 10
    """How many actions run at once."""
    most_turns: int = 40
    """Of a model, in one process."""
    context_tokens: int = 16_000
    """Results that a model is shown; the oldest are shortened first."""


class ProcessTask(NamedTuple):
    """What is to be done."""

    process_id: str
    """The same again goes on with it."""
    words: str
    """The task, or the brief of a step."""
    material: tuple[Material, ...] = ()
    """What the model is shown beside it, the same in every turn."""
    plan: PlanningDocument | None = None
    """None: it is planned first."""
    run_id: str = ""
    step_id: str = ""
    session: str = ""
    """Prompts of the same one begin alike."""
    tree: str = ""
    """The files of the copy that it begins with."""
