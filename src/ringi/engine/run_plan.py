"""planning.json (RN-1): the plan of a run, in small steps with limits, criteria and gates."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from ringi.kernel.document import WORDS, Document
from ringi.kernel.text import Text

VERSION: Final = "1.0"
REQUEST_FILE: Final = "request.md"
"""In the folder of a run, if its request is no file of the project."""
MAIN_BRANCH: Final = "main"
"""The base branch if git names none."""
FEWEST_CRITERIA: Final = 3
MOST_STEPS: Final = 99
"""S01 to S99."""
LONGEST_LINE: Final = 200
LONGEST_TEXT: Final = 2_000
STEP_ID: Final = r"^S[0-9][0-9]$(?!\n)"


def _text(pattern: str, words: Text, most: int) -> Meta:
    return Meta(min_length=1, max_length=most, pattern=pattern, description=str(words), extra={WORDS: words})


# `$` alone also matches before a newline at the end.
Line = Annotated[str, _text(r"^[^\x00-\x1f\x7f]*$(?!\n)", Text("one line of text"), LONGEST_LINE)]
Prose = Annotated[str, Meta(min_length=1, max_length=LONGEST_TEXT)]
Lines = Annotated[tuple[Prose, ...], Meta(max_length=50)]
Command = Annotated[str, _text(r"^[^\x00-\x1f\x7f]*$(?!\n)", Text("a command on one line"), 1_000)]
Commands = Annotated[tuple[Command, ...], Meta(max_length=20)]
Name = Annotated[
    str,
    _text(
        r"^[A-Za-z0-9](?!.*\.\.)[A-Za-z0-9._-]*(?<!\.)(?<!\.lock)$(?!\n)",
        Text("a name of letters, digits, ., _ and -, such as RQ-20251214-008"),
        100,
    ),
]
"""It becomes a folder and a part of a branch."""
Branch = Annotated[
    str,
    _text(
        r"^(?![-/.@]$|[-/.])(?!.*(\.\.|//|@\{|/\.|\.lock(/|$)|[/.]$))[^\x00-\x20\x7f~^:?*\[\\]+$(?!\n)",
        Text("a name that git takes for a branch"),
        250,
    ),
]
Path = Annotated[
    str,
    _text(
        r"^(?!/|~)(?!(.*/)?\.\.(/|$))[^\x00-\x1f\x7f]+$(?!\n)",
        Text("a path below the workspace, without .."),
        500,
    ),
]
RunPath = Annotated[
    str,
    _text(
        r"^runs/(?!(.*/)?\.\.(/|$))[^\x00-\x1f\x7f]+$(?!\n)",
        Text("a path that begins with runs/, without .."),
        500,
    ),
]
Paths = Annotated[tuple[Path, ...], Meta(max_length=200)]
StepId = Annotated[str, _text(STEP_ID, Text("S and two digits, such as S01"), 3)]
CriterionId = Annotated[str, _text(r"^\S+$(?!\n)", Text("an id without spaces, such as AC-01"), 40)]
Count = Annotated[int, Meta(ge=0, le=1_000_000)]
Least1 = Annotated[int, Meta(ge=1, le=1_000_000)]
Seconds = Annotated[float, Meta(gt=0, le=1_000_000)]


class RunRole(StrEnum):
    IMPLEMENTER = "implementer"
    REVIEWER = "reviewer"
    QA = "qa"
    PLANNER = "planner"


class CriterionType(StrEnum):
    FUNCTIONAL = "functional"
    REGRESSION = "regression"
    NONFUNCTIONAL = "nonfunctional"


class RiskLevel(StrEnum):
    LOW = "low"
    MID = "mid"
    HIGH = "high"


class RunLimits(Document, frozen=True, kw_only=True):
    max_diff_lines: Least1
    """Of one step: lines added plus lines removed."""
    max_files_changed: Least1 | UnsetType = UNSET
    """More only warns; the scope's own limit binds."""
    timeout_sec: Seconds
    """Of one test command. How long a role may take is the person's to say: roles.*.timeout_sec"""
    max_steps_per_run: Annotated[int, Meta(ge=1, le=MOST_STEPS)]
    max_autofix_cycles: Annotated[int, Meta(ge=0, le=100)]


class AcceptanceCriterion(Document, frozen=True, kw_only=True):
    id: CriterionId
    given: Prose
    when: Prose
    then: Prose
    type: CriterionType | UnsetType = UNSET


TestInstructions = Annotated[
    Mapping[Line, Annotated[str, Meta(max_length=LONGEST_TEXT)] | Commands], Meta(max_length=20)
]
"""unit and e2e, each one text or a list; an empty one means there is none."""


class RunContext(Document, frozen=True, kw_only=True):
    summary: Prose
    constraints: Lines
    acceptance_criteria: Annotated[
        tuple[AcceptanceCriterion, ...], Meta(min_length=FEWEST_CRITERIA, max_length=100)
    ]
    test_instructions: TestInstructions
    project_facts: Mapping[str, Any] | UnsetType = UNSET


class StepScope(Document, frozen=True, kw_only=True):
    target_paths: Paths
    forbidden_paths: Paths | UnsetType = UNSET
    max_diff_lines: Least1
    max_files_changed: Least1 | UnsetType = UNSET


class StepInputs(Document, frozen=True, kw_only=True):
    request_path: Path
    context_files: Paths | UnsetType = UNSET
    code_files_hint: Paths | UnsetType = UNSET


class StepCommands(Document, frozen=True, kw_only=True):
    unit: Commands | UnsetType = UNSET
    e2e: Commands | UnsetType = UNSET


class ExpectedDiff(Document, frozen=True, kw_only=True):
    lines_max: Count
    files_max: Count
    risk_level: RiskLevel


class StepOutputs(Document, frozen=True, kw_only=True):
    patch_path: RunPath
    log_prefix: RunPath


class RunStep(Document, frozen=True, kw_only=True):
    """One step is one commit, complete in itself."""

    step_id: StepId
    title: Line
    role: RunRole
    intent: Prose
    scope: StepScope
    inputs: StepInputs
    commands: StepCommands
    success_criteria: Lines
    links_to_ac: Annotated[tuple[CriterionId, ...], Meta(max_length=100)]
    expected_diff: ExpectedDiff
    outputs: StepOutputs
    fallback: Mapping[str, Any] | UnsetType = UNSET
    stop_conditions: Lines | UnsetType = UNSET


class RunGates(Document, frozen=True, kw_only=True):
    require_clean_worktree: bool
    require_work_branch: bool
    require_unit_pass: bool
    require_e2e_for_regression_ac: bool
    forbid_gh: bool
    """Always true."""
    max_step_too_large_retries: Annotated[int, Meta(ge=0, le=10)]


class RunOutputs(Document, frozen=True, kw_only=True):
    planning_json: RunPath
    stage_json: RunPath
    report_md: RunPath
    errors_json: RunPath | UnsetType = UNSET


class RunPlan(Document, frozen=True, kw_only=True):
    """planning.json. `run_plan_rules` has what types cannot say."""

    version: Literal["1.0"]
    request_id: Name
    run_id: Name
    created_at: Annotated[str, Meta(min_length=1, max_length=40)]
    base_branch: Branch
    work_branch: Branch
    limits: RunLimits
    context: RunContext
    steps: Annotated[tuple[RunStep, ...], Meta(min_length=1, max_length=MOST_STEPS)]
    gates: RunGates
    outputs: RunOutputs
    assumptions: Lines | UnsetType = UNSET
    risks: Lines | UnsetType = UNSET


def commands_after(plan: RunPlan, step: RunStep) -> tuple[str, ...]:
    """All that run after the step, unless a person gives others later."""
    return tuple(dict.fromkeys([*unit_commands_of(plan, step), *e2e_commands(plan, step)]))


def unit_commands_of(plan: RunPlan, step: RunStep) -> tuple[str, ...]:
    return step.commands.unit or _test_commands(plan, "unit")


def e2e_commands(plan: RunPlan, step: RunStep) -> tuple[str, ...]:
    return (
        (step.commands.e2e or _test_commands(plan, "e2e"))
        if is_regression(plan, step)
        else step.commands.e2e or ()
    )


def _test_commands(plan: RunPlan, kind: str) -> tuple[str, ...]:
    found = plan.context.test_instructions.get(kind, ())
    lines = found.splitlines() if isinstance(found, str) else found
    return tuple(line.strip() for line in lines if line.strip())


def is_regression(plan: RunPlan, step: RunStep) -> bool:
    kinds = {one.id: one.type for one in plan.context.acceptance_criteria}
    return any(kinds.get(link) is CriterionType.REGRESSION for link in step.links_to_ac)
