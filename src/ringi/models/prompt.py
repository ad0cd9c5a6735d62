"""What a language model is asked, and what it answers with."""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Generic, Literal, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec import Meta

from ringi.kernel.document import Document
from ringi.kernel.text import Text
from ringi.models.usage import Purpose, TokenUsage

if TYPE_CHECKING:
    from ringi.engine.document import PlanningBrief
    from ringi.sessions.document import Brief

T = TypeVar("T")


class Material(NamedTuple):
    """A text from outside: data for the model, never an instruction. Adapters fence it."""

    name: str
    text: str


class Prompt(NamedTuple):
    purpose: Purpose
    rules: str
    """Ours: what to do, and how to answer. The same in every call of a session."""
    material: tuple[Material, ...]
    """What does not change in a session comes first."""
    brief: "Brief | None" = None
    """The same as a document, for the playbook, which does not read prompts."""
    session: str = ""
    """The planning session it belongs to: its prompts have the same fences and begin alike, so that a service
    can reuse what it has read."""
    task: str = ""
    """Ours too: what this call asks for. It follows the material."""
    planning: "PlanningBrief | None" = None
    """Instead of the brief, if a plan is made: see `planning.engine`."""


class Budget(NamedTuple):
    """Limits for one question."""

    seconds: float
    """Including all retries."""
    output_tokens: int
    """Of each answer."""
    most_output_tokens: int = 0
    """Of an answer that is asked for again because it was cut off; 0 if it gets no more room."""
    key: str = "llm.timeout_sec"
    """Of the configuration: says how many seconds."""


class Exchange(NamedTuple):
    """One request to a model and what came back, for the log."""

    request: str
    """The prompt as it was sent."""
    reply: str
    """What came back, as far as it got."""
    problem: str = ""
    """Why it was not accepted; empty if it was."""


def _unkept(_: bool) -> None:
    pass


class ModelAnswer(NamedTuple, Generic[T]):
    value: T
    usage: TokenUsage
    exchanges: tuple[Exchange, ...]
    model: str
    """Which one answered, as people name it: openai:gpt-5."""
    settle: Callable[[bool], None] = _unkept
    """Says whether it could be used. A cache keeps only what could, and drops what could not."""


class ModelProgress(NamedTuple):
    """The progress of a call, for display."""

    elapsed_sec: float
    output_tokens: int
    """As far as known; models that do not stream report nothing until the end."""
    note: Text | str = ""
    """Why it takes longer: the answer was asked for again, or the service said to wait."""
    spent: TokenUsage = TokenUsage()
    """All it took so far; estimated for a call that has not ended."""
    purpose: Purpose | None = None
    model: str = ""


OnProgress = Callable[[ModelProgress], None]


# Every length of an answer is bounded: otherwise a small model would never stop. The rules name the aim; only
# an answer far above it is refused.

MOST_QUESTIONS = 5
"""In a whole session."""
MOST_DECISIONS = 3
"""In one answer."""
MOST_FILES = 8
MOST_FINDINGS = 20
"""Of an agent, in a whole session."""
MOST_SPECS = 50
MOST_OWN_STEPS = 10
"""Of one summary; a plan with more is cut too finely."""
LINE_AIM = 300
PHRASE_AIM = 120
SUMMARY_AIM = 4_000
_TOLERANCE = 4

_Line = Annotated[str, Meta(min_length=1, max_length=_TOLERANCE * LINE_AIM)]
_Phrase = Annotated[str, Meta(min_length=1, max_length=_TOLERANCE * PHRASE_AIM)]
_Reasons = Annotated[tuple[_Phrase, ...], Meta(min_length=1, max_length=4)]
_Lines = Annotated[tuple[_Line, ...], Meta(max_length=10)]
_Path = Annotated[str, Meta(max_length=300)]
_Id = Annotated[str, Meta(min_length=1, max_length=40)]


class NewFiles(Document, frozen=True):
    """What a model wants to read before it answers."""

    paths: Annotated[tuple[_Path, ...], Meta(max_length=MOST_FILES)]


class QuestionType(StrEnum):
    CLARIFICATION = "clarification"
    SCOPE = "scope"
    TECHNICAL = "technical"
    PRIORITY = "priority"
    CONSTRAINT = "constraint"


class NewQuestion(Document, frozen=True):
    type: QuestionType
    question: _Line
    context: Annotated[str, Meta(max_length=_TOLERANCE * LINE_AIM)] = ""
    options: Annotated[tuple[_Phrase, ...], Meta(max_length=6)] = ()


_Questions = Annotated[tuple[NewQuestion, ...], Meta(max_length=MOST_QUESTIONS)]


class NewQuestions(Document, frozen=True):
    questions: _Questions


class NewOption(Document, frozen=True):
    name: _Phrase
    description: _Line
    pros: _Reasons
    cons: _Reasons
    recommendation: bool = False


class NewDecision(Document, frozen=True):
    topic: _Phrase
    options: Annotated[tuple[NewOption, ...], Meta(min_length=2, max_length=4)]

    def __post_init__(self) -> None:
        named = {option.name.strip().casefold(): option for option in reversed(self.options)}
        named.pop("", None)
        if len(named) < 2:  # noqa: PLR2004  # one is no choice
            raise ValueError("a decision needs two options with names of their own")
        msgspec.structs.force_setattr(self, "options", tuple(reversed(named.values())))


class NewDecisions(Document, frozen=True, omit_defaults=True):
    decisions: Annotated[tuple[NewDecision, ...], Meta(max_length=MOST_DECISIONS)]
    further_questions: _Questions = ()
    """To be answered before anything can be decided; then the decisions do not count."""


class ChangedDecision(NewDecision, frozen=True, kw_only=True):
    id: _Id
    """Of the decision that it replaces."""


class NewRevision(Document, frozen=True, omit_defaults=True):
    """What feedback changes; every other decision stays as the person made it."""

    changed: Annotated[tuple[ChangedDecision, ...], Meta(max_length=_TOLERANCE * MOST_DECISIONS)] = ()
    added: Annotated[tuple[NewDecision, ...], Meta(max_length=MOST_DECISIONS)] = ()
    dropped: Annotated[tuple[_Id, ...], Meta(max_length=_TOLERANCE * MOST_DECISIONS)] = ()


class NewCriterion(Document, frozen=True):
    given: _Line
    when: _Line
    then: _Line


class NewPath(Document, frozen=True):
    path: Annotated[str, Meta(min_length=1, max_length=300)]
    new: bool = False


_Paths = Annotated[tuple[NewPath, ...], Meta(max_length=40)]
_Commands = Annotated[tuple[_Line, ...], Meta(max_length=5)]


class NewStep(Document, frozen=True, omit_defaults=True):
    """A part of the work that is complete in itself: one commit."""

    title: _Phrase
    target_paths: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=300)], ...], Meta(min_length=1, max_length=40)
    ]
    """As the summary names them."""
    criteria: Annotated[tuple[Annotated[int, Meta(ge=1, le=10)], ...], Meta(max_length=10)] = ()
    """The acceptance criteria that it meets, by number, from 1."""
    test_commands: _Commands = ()
    """None: those of the summary."""


_Steps = Annotated[tuple[NewStep, ...], Meta(max_length=MOST_OWN_STEPS)]


class NewTargets(Document, frozen=True, omit_defaults=True):
    """The paths and commands of a summary, corrected."""

    target_paths: _Paths = ()
    test_commands: _Commands = ()
    steps: _Steps = ()


class NewSummary(Document, frozen=True, omit_defaults=True):
    summary: Annotated[str, Meta(min_length=1, max_length=_TOLERANCE * SUMMARY_AIM)]
    """Markdown."""
    acceptance_criteria: Annotated[tuple[NewCriterion, ...], Meta(max_length=10)] = ()
    target_paths: _Paths = ()
    test_commands: _Commands = ()
    assumptions: _Lines = ()
    out_of_scope: _Lines = ()
    open_points: _Lines = ()
    steps: _Steps = ()
    """In order; none if it is one commit."""

    def __post_init__(self) -> None:
        if not self.summary.strip():
            raise ValueError("the summary is empty")
        known = len(self.acceptance_criteria)
        wrong = [
            f"steps[{at}].criteria: {number}"
            for at, step in enumerate(self.steps)
            for number in step.criteria
            if number > known
        ]
        if wrong:
            raise ValueError(f"there are {known} acceptance criteria, numbered from 1; {', '.join(wrong)}")


class NewSplit(Document, frozen=True):
    """What a step becomes that was too large."""

    steps: Annotated[tuple[NewStep, ...], Meta(min_length=2, max_length=MOST_OWN_STEPS)]


class BroughtFinding(Document, frozen=True):
    """What an agent saw in the project."""

    finding: _Line
    path: _Path = ""
    line: Annotated[int, Meta(ge=0)] = 0
    end: Annotated[int, Meta(ge=0)] = 0
    """The last line; 0 if it is one line."""


class BroughtDecision(NewDecision, frozen=True, kw_only=True):
    id: Annotated[str, Meta(max_length=40)] = ""
    """After a reject: of the decision that it replaces."""


class Brought(Document, frozen=True, kw_only=True, omit_defaults=True):
    """What an agent brings in place of a model. None is not brought; an empty list says there are none."""

    findings: Annotated[tuple[BroughtFinding, ...], Meta(max_length=MOST_FINDINGS)] = ()
    questions: _Questions | None = None
    decisions: Annotated[tuple[BroughtDecision, ...], Meta(max_length=_TOLERANCE * MOST_DECISIONS)] | None = (
        None
    )
    dropped: Annotated[tuple[_Id, ...], Meta(max_length=_TOLERANCE * MOST_DECISIONS)] = ()
    """After a reject: ids of decisions that no longer apply."""
    design: NewSummary | None = None


class NewExplanation(Document, frozen=True):
    summary: Annotated[str, Meta(max_length=300)]
    details: Annotated[str, Meta(max_length=2000)] = ""


class NewFile(Document, frozen=True):
    path: _Path
    content: Annotated[str, Meta(max_length=200_000)]


class NewChange(Document, frozen=True):
    """What one step of a run changes."""

    patch: Annotated[str, Meta(max_length=200_000)] = ""
    """A unified diff of files that exist."""
    files: Annotated[tuple[NewFile, ...], Meta(max_length=MOST_SPECS)] = ()
    """Whole files, for those that are new or change almost everywhere."""


_Command = Annotated[str, Meta(max_length=1_000)]


class NewTurn(NewChange, frozen=True, kw_only=True):
    """What a model does next in the copy of a step: it looks first, then changes, then runs."""

    read: Annotated[tuple[_Path, ...], Meta(max_length=MOST_FILES)] = ()
    """Files, folders, or lines of a file: app.py:10-40."""
    search: Annotated[tuple[_Phrase, ...], Meta(max_length=4)] = ()
    run: Annotated[tuple[_Command, ...], Meta(max_length=3)] = ()
    note: Annotated[str, Meta(max_length=_TOLERANCE * LINE_AIM)] = ""
    """What it decided, or why it cannot go on."""
    done: bool = True
    """The step is complete with this."""


class NewCall(Document, frozen=True):
    """Of a tool of a server."""

    tool: _Phrase
    arguments: Annotated[str, Meta(max_length=20_000)] = "{}"
    """A JSON object, as text: services that enforce a schema know no free one."""


class NewTurnWithCalls(NewTurn, frozen=True, kw_only=True):
    call: Annotated[tuple[NewCall, ...], Meta(max_length=8)] = ()


class NewPlanTurn(NewTurnWithCalls, frozen=True, kw_only=True):
    finished: bool = False
    """Every success criterion is met with this; the later tasks need nothing more."""


class Severity(StrEnum):
    ERROR = "error"
    """Goes back to the implementer."""
    WARNING = "warning"
    NOTE = "note"


class NewFinding(Document, frozen=True):
    severity: Severity
    message: _Line
    path: _Path = ""
    line: Annotated[int, Meta(ge=0, le=10_000_000)] = 0
    """0 if it is about no line."""
    criterion: Annotated[str, Meta(max_length=40)] = ""
    """The id of the one that is not met."""


class NewVerdict(Document, frozen=True):
    """What a reviewing role says about a step."""

    passed: bool
    findings: Annotated[tuple[NewFinding, ...], Meta(max_length=MOST_SPECS)] = ()

    def __post_init__(self) -> None:
        if self.passed is any(one.severity is Severity.ERROR for one in self.findings):
            raise ValueError("passed must be true without a finding of severity error, and false with one")


_Words = Annotated[tuple[Annotated[str, Meta(max_length=1000)], ...], Meta(max_length=64)]


class NewSpec(Document, frozen=True):
    """A step of a plan's text; fields its kind does not need are empty. A model cannot name outside tools."""

    kind: Literal["create", "write", "patch", "delete", "move", "mkdir", "read", "analyze", "run"]
    path: _Path = ""
    content: Annotated[str, Meta(max_length=200_000)] = ""
    target: _Path = ""
    argv: _Words = ()
    description: Annotated[str, Meta(max_length=200)] = ""
    line: Annotated[int, Meta(ge=0)] = 0
    """The number of the unplaced piece it is made from; 0 if none."""


class NewSpecs(Document, frozen=True):
    specs: Annotated[tuple[NewSpec, ...], Meta(max_length=MOST_SPECS)]


class LanguageModel(Protocol):
    @property
    def name(self) -> str:
        """As written in the configuration."""

    @property
    def sees_project(self) -> bool:
        """It reads the project by itself, or needs no files: nobody asks it which ones it wants."""

    def ask(self, prompt: Prompt, kind: type[T], budget: Budget, on_progress: OnProgress) -> ModelAnswer[T]:
        """An answer of this kind, validated. Raises a ModelFailed whose `exchanges` say what was tried."""
