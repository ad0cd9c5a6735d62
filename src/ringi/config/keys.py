"""The configuration: every key with its type, its default, and what a project's file may do with it."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, Self, TypeVar, get_args

import msgspec
from msgspec.structs import replace

from ringi.config import HELP_LABEL
from ringi.config.pins import TrustVerdict
from ringi.config.rules import (
    ADDRESS,
    CENTURY_DAYS,
    COMMAND,
    EXPRESSION,
    EXTENSION,
    FOLDER,
    GLOB,
    LONGEST_WAIT_SEC,
    MODEL,
    OPTIONAL_COMMAND,
    OPTIONAL_MODEL,
    OPTIONAL_PATH,
    OPTIONAL_PLACE,
    OPTIONAL_WORDS,
    PLACE,
    PRICE,
    SERVER,
    SERVER_VARIABLES,
    TARGET,
    TOOL,
    USER,
    VARIABLE,
    WORDS,
    Guard,
    Rule,
    Section,
    Value,
)
from ringi.kernel.text import Text, lazy_pattern

T = TypeVar("T", bound=msgspec.Struct)

UNJUDGED: Final = (
    ".exe", ".dll", ".so", ".dylib", ".pyc", ".class", ".jar", ".whl", ".node", ".wasm",
)  # fmt: skip
"""Extensions of programs that no review can judge."""


class ApprovalConfig(Section, frozen=True):
    expires_sec: Annotated[int, Rule(Guard.SMALLER, least=1, most=CENTURY_DAYS * 86_400)] = 86_400
    together: Annotated[Literal["medium", "low", "none"], Rule(Guard.LARGER)] = "none"
    """Up to which risk several plans can be approved with one answer."""
    proof: Annotated[Literal["any", "signed"], Rule(Guard.LARGER, strictest=True)] = "any"
    """Whether a typed answer suffices. What the ledger says counts too."""


class RiskConfig(Section, frozen=True):
    large_overwrite_lines: Annotated[int, Rule(Guard.SMALLER)] = 300
    large_overwrite_bytes: Annotated[int, Rule(Guard.SMALLER)] = 65_536
    critical: Annotated[tuple[str, ...], Rule(Guard.ADDED, form=GLOB)] = ()
    """Globs in addition to the built-in ones."""
    mutable: Annotated[tuple[str, ...], Rule(Guard.ADDED, form=GLOB)] = ()


class LimitsConfig(Section, frozen=True):
    max_file_bytes: Annotated[int, Rule(Guard.SMALLER)] = 10_485_760
    max_specs: Annotated[int, Rule(Guard.SMALLER, least=1)] = 10_000
    forbidden_extensions: Annotated[tuple[str, ...], Rule(Guard.ADDED, form=EXTENSION)] = UNJUDGED
    """The built-in ones bind agents, others everybody."""


class Lock(Section, frozen=True):
    wait_sec: Annotated[float, Rule(most=LONGEST_WAIT_SEC)] = 2.0


class Checks(Section, frozen=True):
    before: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=COMMAND)] = ()
    after: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=COMMAND)] = ()
    on_failure: Annotated[Literal["keep", "undo"], Rule(Guard.LARGER)] = "undo"
    timeout_sec: Annotated[float, Rule(least=0.1, most=LONGEST_WAIT_SEC)] = 600.0


class RunConfig(Section, frozen=True):
    """Specs of the kind run."""

    sandbox: Annotated[Literal["off", "auto", "required"], Rule(Guard.LARGER)] = "auto"
    allowed: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=COMMAND)] = ()
    environment: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=VARIABLE)] = ()
    """Variables that commands get in addition to the usual harmless ones."""
    timeout_sec: Annotated[int, Rule(least=1, most=LONGEST_WAIT_SEC)] = 600
    output_bytes: Annotated[int, Rule(most=16 * 1024 * 1024)] = 65_536


class Diagnostics(Section, frozen=True):
    commands: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=COMMAND)] = ()
    format: Annotated[Literal["auto", "sarif", "ruff", "lines"], Rule()] = "auto"
    timeout_sec: Annotated[float, Rule(least=0.1, most=LONGEST_WAIT_SEC)] = 600.0


class Keep(Section, frozen=True):
    """What is removed in time. The ledger keeps every plan, approval and event."""

    replaced_days: Annotated[int, Rule(Guard.LARGER, most=CENTURY_DAYS)] = 30
    """Replaced bytes, which an undo needs."""
    copies_days: Annotated[int, Rule(most=CENTURY_DAYS)] = 14
    """The copy of an open plan, for `ringi with --resume`."""
    copies_mb: Annotated[int, Rule()] = 10_000
    """All copies of a workspace."""
    projections: Annotated[int, Rule()] = 1_000
    """So many of the newest plans, and of the newest sessions, have files in `.agent/`."""

    @property
    def replaced_sec(self) -> int:
        return self.replaced_days * 86_400


class BesideConfig(Section, frozen=True):
    carry: Annotated[tuple[str, ...], Rule(form=FOLDER)] = ()
    checks: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=COMMAND)] = ()
    sandbox: Annotated[Literal["off", "auto", "required"], Rule(Guard.LARGER)] = "auto"
    writable: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=PLACE)] = ()
    """Folders outside the copy that the agent may write to in its sandbox, such as package caches."""


class Notify(Section, frozen=True):
    """How to tell a person that something waits."""

    how: Annotated[Literal["off", "bell", "desktop"], Rule()] = "bell"


class PlanningStrategy(StrEnum):
    """How a task is planned."""

    CHAIN_OF_THOUGHT = "chain_of_thought"
    HIERARCHICAL = "hierarchical"
    SIMPLE = "simple"


class DecompositionLevel(StrEnum):
    """How finely a task is decomposed."""

    DETAILED = "detailed"
    MODERATE = "moderate"
    MINIMAL = "minimal"


class Depth(StrEnum):
    """How thoroughly a process looks back at what it did."""

    DEEP = "deep"
    """With everything that was done so far."""
    MODERATE = "moderate"
    SHALLOW = "shallow"
    """By rules alone; no model is asked."""


class RoleHow(StrEnum):
    """Who does the work of a role."""

    COMMAND = "command"
    MODEL = "model"
    PERSON = "person"


class Llm(Section, frozen=True):
    """Language models. Their keys come only from the environment."""

    base_url: Annotated[str, Rule(Guard.TRUSTED, form=ADDRESS)] = ""
    """The address of an openai: model's service, if it is not OpenAI."""
    timeout_sec: Annotated[float, Rule(least=0.1, most=LONGEST_WAIT_SEC)] = 600.0
    """For one question, retries included."""
    max_output_tokens: Annotated[int, Rule(Guard.SMALLER, least=64, most=1_000_000)] = 4_096
    """They cost money, so a project may not raise the limit."""
    prices: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=PRICE)] = ()
    """Of models that do not say what they cost."""

    @property
    def price_by_model(self) -> Mapping[str, tuple[float, float]]:
        """Dollars for a million tokens that it reads, and that it writes."""
        prices = (item.split() for item in self.prices)
        return {name: (float(read), float(written)) for name, read, written in prices}


MOST_TOKENS: Final = 1_000_000_000
MOST_DOLLARS: Final = 1_000_000.0
"""So much is no limit."""
N = TypeVar("N", int, float)


def to_limit(configured: N, most: N) -> N | None:
    return configured if configured < most else None


class RoleConfig(Section, frozen=True):
    """Who does the work of a role in a run."""

    how: Annotated[Literal["auto", "command", "model", "person", "off"], Rule(Guard.TRUSTED)] = "auto"
    """auto: the command if there is one, otherwise the model, otherwise nobody."""
    command: Annotated[str, Rule(Guard.TRUSTED, form=OPTIONAL_COMMAND)] = ""
    model: Annotated[str, Rule(Guard.TRUSTED, form=OPTIONAL_MODEL)] = ""
    timeout_sec: Annotated[float, Rule(least=1, most=LONGEST_WAIT_SEC)] = 3_600.0
    output_bytes: Annotated[int, Rule(Guard.SMALLER, least=1_024, most=64 * 1024 * 1024)] = 1_048_576
    """Kept of what it prints."""
    max_tokens: Annotated[int, Rule(Guard.SMALLER, least=1)] = MOST_TOKENS
    max_dollars: Annotated[float, Rule(Guard.SMALLER)] = MOST_DOLLARS

    @property
    def worker(self) -> RoleHow | None:
        """None if nobody has the role."""
        if self.how == "auto":
            return RoleHow.COMMAND if self.command else RoleHow.MODEL if self.model else None
        return None if self.how == "off" else RoleHow(self.how)

    @property
    def token_limit(self) -> int | None:
        return to_limit(self.max_tokens, MOST_TOKENS)

    @property
    def dollar_limit(self) -> float | None:
        return to_limit(self.max_dollars, MOST_DOLLARS)


class RolesConfig(Section, frozen=True):
    implementer: RoleConfig = RoleConfig()
    reviewer: RoleConfig = RoleConfig()
    qa: RoleConfig = RoleConfig()
    planner: RoleConfig = RoleConfig()


class RunsBudget(Section, frozen=True):
    """What models may take in a phase of a run, beside what they read of the project."""

    planning_tokens: Annotated[int, Rule(Guard.SMALLER, least=1)] = MOST_TOKENS
    execution_tokens: Annotated[int, Rule(Guard.SMALLER, least=1)] = MOST_TOKENS
    reflection_tokens: Annotated[int, Rule(Guard.SMALLER, least=1)] = MOST_TOKENS


class RunsConfig(Section, frozen=True):
    """What models may take in a whole run, and where none commits."""

    max_tokens: Annotated[int, Rule(Guard.SMALLER, least=1)] = 5_000_000
    max_dollars: Annotated[float, Rule(Guard.SMALLER)] = MOST_DOLLARS
    budget: RunsBudget = RunsBudget()
    main_branches: Annotated[tuple[str, ...], Rule(Guard.ADDED, form=GLOB)] = ("main", "master")

    @property
    def dollar_limit(self) -> float | None:
        return to_limit(self.max_dollars, MOST_DOLLARS)


# Chapters 9, 11 and 12 of the planning process; what nothing reads yet, the documentation says.


class ComplexityThreshold(Section, frozen=True):
    """Tokens of a task, for the level of its decomposition."""

    simple: Annotated[int, Rule()] = 100
    moderate: Annotated[int, Rule()] = 500
    complex: Annotated[int, Rule()] = 9_999


class ReflectionConfig(Section, frozen=True):
    enabled: Annotated[bool, Rule(variable="REFLECTION_ENABLED")] = True
    trigger_on_error: Annotated[bool, Rule()] = True
    trigger_interval: Annotated[int, Rule(variable="REFLECTION_INTERVAL")] = 3
    """Actions between two; 0 means never."""
    depth: Annotated[Depth, Rule()] = Depth.MODERATE


class RevisionConfig(Section, frozen=True):
    max_revisions: Annotated[int, Rule(variable="MAX_PLAN_REVISIONS")] = 3
    require_human_approval: Annotated[bool, Rule(Guard.LARGER)] = False
    approval_timeout: Annotated[int, Rule(Guard.SMALLER, least=1, most=CENTURY_DAYS * 86_400)] = 3_600
    max_history_in_memory: Annotated[int, Rule()] = 5
    max_history_on_disk: Annotated[int, Rule()] = 50
    auto_summarize: Annotated[bool, Rule()] = True


class CacheConfig(Section, frozen=True):
    enabled: Annotated[bool, Rule()] = True
    ttl: Annotated[int, Rule(most=CENTURY_DAYS * 86_400)] = 86_400


class EarlyTermination(Section, frozen=True):
    enabled: Annotated[bool, Rule()] = True
    max_consecutive_failures: Annotated[int, Rule(least=1)] = 3


class Execution(Section, frozen=True):
    action_timeout: Annotated[int, Rule(least=1, most=LONGEST_WAIT_SEC)] = 60
    total_timeout: Annotated[int, Rule(least=1, most=LONGEST_WAIT_SEC)] = 3_600
    early_termination: EarlyTermination = EarlyTermination()


class Security(Section, frozen=True):
    """Globs of tools that a plan may name; the strictest wins."""

    allowed_tools: Annotated[tuple[str, ...], Rule(Guard.NARROWED, form=TOOL)] = ()
    """Empty: all that there are."""
    forbidden_tools: Annotated[tuple[str, ...], Rule(Guard.ADDED, form=TOOL)] = ()
    require_approval: Annotated[tuple[str, ...], Rule(Guard.ADDED, form=TOOL)] = ()


class Logging(Section, frozen=True):
    level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], Rule(Guard.LARGER)] = "INFO"
    mask_sensitive_data: Annotated[bool, Rule(Guard.LARGER)] = True
    """Whether `sensitive_patterns` count; what looks like a secret is masked anyway."""
    sensitive_patterns: Annotated[tuple[str, ...], Rule(Guard.ADDED_ONCE_TRUSTED, form=EXPRESSION)] = ()


class Permissions(Section, frozen=True):
    """Users and groups."""

    allowed_users: Annotated[tuple[str, ...], Rule(Guard.NARROWED, form=USER)] = ()
    """Empty: everybody."""
    auto_execution_allowed: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=USER)] = ()
    always_require_approval: Annotated[tuple[str, ...], Rule(Guard.ADDED, form=USER)] = ()
    dangerous_operations: Annotated[tuple[str, ...], Rule(Guard.NARROWED, form=USER)] = ()
    """Who may ask for them. Empty: everybody."""


class Planning(Section, frozen=True):
    enabled: Annotated[bool, Rule(variable="PLANNING_ENABLED")] = True
    strategy: Annotated[PlanningStrategy, Rule(variable="PLANNING_STRATEGY")] = (
        PlanningStrategy.CHAIN_OF_THOUGHT
    )
    max_subtasks: Annotated[int, Rule(least=1, most=99, variable="PLANNING_MAX_SUBTASKS")] = 10
    """If nobody sets it, a complex task may have 15."""
    decomposition_level: Annotated[DecompositionLevel, Rule()] = DecompositionLevel.MODERATE
    auto_adjust_level: Annotated[bool, Rule()] = True
    """Choose the level by the size of the task."""
    complexity_threshold: ComplexityThreshold = ComplexityThreshold()
    reflection: ReflectionConfig = ReflectionConfig()
    revision: RevisionConfig = RevisionConfig()
    cache: CacheConfig = CacheConfig()
    execution: Execution = Execution()
    security: Security = Security()
    logging: Logging = Logging()
    permissions: Permissions = Permissions()
    skip_after_sec: Annotated[float, Rule(most=LONGEST_WAIT_SEC)] = 300.0
    """Seconds without an answer until skipping the question is offered; 0 means never."""


class ContextConfig(Section, frozen=True):
    """What models are shown of the project."""

    tokens: Annotated[int, Rule(Guard.SMALLER, least=100, most=1_000_000)] = 3_000
    """They cost money, so a project may not raise the limit."""
    never_send: Annotated[tuple[str, ...], Rule(Guard.ADDED, form=GLOB)] = ()
    """Globs in addition to files that may hold credentials."""


class Provenance(Section, frozen=True):
    notes: Annotated[bool, Rule(Guard.LARGER)] = True
    """Write the proof of every approval that is used into refs/notes/ringi."""


class Forge(Section, frozen=True):
    """GitHub and GitLab. Their tokens come only from the environment or git's credential helper."""

    kind: Annotated[Literal["auto", "github", "gitlab"], Rule(Guard.TRUSTED)] = "auto"
    base_url: Annotated[str, Rule(Guard.TRUSTED, form=ADDRESS)] = ""
    """Of its pages, if it is neither github.com nor gitlab.com."""
    ca: Annotated[str, Rule(Guard.TRUSTED, form=OPTIONAL_PLACE)] = ""
    """A file with the certificates that count for it."""
    read_all: Annotated[bool, Rule(Guard.SMALLER)] = False
    """Whether models read what people without write access say there."""
    reviews: Annotated[Literal["on", "off"], Rule(Guard.LARGER)] = "on"
    """Whether an approving review there is an approval."""
    label: Annotated[str, Rule(form=OPTIONAL_WORDS)] = HELP_LABEL
    comments: Annotated[bool, Rule()] = True
    poll_sec: Annotated[float, Rule(least=5, most=LONGEST_WAIT_SEC)] = 60.0
    remote: Annotated[str, Rule(form=OPTIONAL_WORDS)] = ""
    """Empty: the one of the branch, or origin."""

    @property
    def accepts_reviews(self) -> bool:
        return self.reviews == "on"


class Logs(Section, frozen=True):
    detail: Annotated[Literal["on", "off"], Rule(Guard.LARGER)] = "on"
    """Keep prompts and answers in the logs."""
    mask: Annotated[tuple[str, ...], Rule(Guard.ADDED_ONCE_TRUSTED, form=EXPRESSION)] = ()
    """Regular expressions for more secrets; matched in a separate process that can be killed."""
    format: Annotated[Literal["text", "json"], Rule()] = "text"
    """Of the process log."""
    confidential: Annotated[bool, Rule(Guard.LARGER, strictest=True)] = False
    """Keep what people, models and tools wrote out of every log and trace."""

    @property
    def detailed(self) -> bool:
        return self.detail == "on" and not self.confidential


# Chapter 16: what is measured, and which values are good.


class Target(Section, frozen=True):
    target: Annotated[str, Rule(form=TARGET)]


class MetricsConfig(Section, frozen=True):
    planning_accuracy: Target = Target("80%")
    revision_rate: Target = Target("<30%")
    avg_revisions: Target = Target("<1.5")


class Measured(Section, frozen=True):
    measure: Annotated[str, Rule(form=WORDS)]
    unit: Annotated[str, Rule(form=WORDS)]


class PerformanceMetrics(Section, frozen=True):
    planning_time: Measured = Measured("time spent planning", "seconds")
    execution_time: Measured = Measured("time spent executing", "seconds")
    reflection_time: Measured = Measured("time spent reflecting", "seconds")
    total_time: Measured = Measured("time of the whole task", "seconds")


class Counted(Section, frozen=True):
    measure: Annotated[str, Rule(form=WORDS)]
    breakdown: Annotated[tuple[str, ...], Rule(form=WORDS, pairs="*")]


class ResourceMetrics(Section, frozen=True):
    llm_calls: Counted = Counted("calls of a language model", ("planning", "execution", "reflection"))
    tokens_used: Counted = Counted("tokens", ("input", "output"))
    api_cost: Measured = Measured("cost of the calls", "USD")


class Rate(Section, frozen=True):
    measure: Annotated[str, Rule(form=WORDS)]
    calculation: Annotated[str, Rule(form=WORDS)]
    target: Annotated[str, Rule(form=TARGET)]


class QualityMetrics(Section, frozen=True):
    task_completion_rate: Rate = Rate("tasks completed", "completed tasks / all tasks", ">90%")
    first_try_success_rate: Rate = Rate(
        "tasks completed at the first try", "completed without a revision / all tasks", ">70%"
    )
    error_recovery_rate: Rate = Rate("errors recovered from", "recovered errors / all errors", ">80%")
    coverage_report: Annotated[str, Rule(form=OPTIONAL_PATH)] = ""
    """Cobertura XML; read by `ringi metrics`."""


class Tracing(Section, frozen=True):
    enabled: Annotated[bool, Rule(Guard.TRUSTED)] = False
    provider: Annotated[Literal["opentelemetry"], Rule()] = "opentelemetry"
    content: Annotated[Literal["on", "off"], Rule(Guard.LARGER)] = "off"
    """Whether spans have what models were asked and answered, masked."""
    spans: Annotated[tuple[str, ...], Rule(form=TOOL, pairs="name")] = (
        "planning.understand_goal",
        "planning.decompose_task",
        "planning.generate_action_plan",
        "execution.execute_action",
        "reflection.evaluate_action",
        "reflection.revise_plan",
    )


class KeyOrigin(StrEnum):
    DEFAULT = "default"
    USER = "user"
    PROJECT = "project"
    ENVIRONMENT = "environment"
    IGNORED = "project (not trusted, ignored)"


class ValueSource(NamedTuple):
    """Where a value comes from."""

    origin: KeyOrigin
    where: str = ""
    """File and line, or the variable."""
    added: str = ""
    """File and line of the project's part of a list that also has other parts."""


class Config(msgspec.Struct, frozen=True, rename={"beside": "with"}):
    """The one table of keys, with type, default and guard; `KEYS` is derived from it."""

    language: Annotated[Literal["auto", "en", "ja"], Rule()] = "auto"
    model: Annotated[str, Rule(Guard.TRUSTED, form=MODEL)] = "playbook"
    """The language model; the playbook needs none."""
    approval: ApprovalConfig = ApprovalConfig()
    risk: RiskConfig = RiskConfig()
    limits: LimitsConfig = LimitsConfig()
    lock: Lock = Lock()
    checks: Checks = Checks()
    run: RunConfig = RunConfig()
    diagnostics: Diagnostics = Diagnostics()
    keep: Keep = Keep()
    beside: BesideConfig = BesideConfig()
    notify: Notify = Notify()
    llm: Llm = Llm()
    roles: RolesConfig = RolesConfig()
    runs: RunsConfig = RunsConfig()
    planning: Planning = Planning()
    context: ContextConfig = ContextConfig()
    provenance: Provenance = Provenance()
    forge: Forge = Forge()
    logs: Logs = Logs()
    metrics: MetricsConfig = MetricsConfig()
    performance_metrics: PerformanceMetrics = PerformanceMetrics()
    resource_metrics: ResourceMetrics = ResourceMetrics()
    quality_metrics: QualityMetrics = QualityMetrics()
    tracing: Tracing = Tracing()
    mcp_servers: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=SERVER, pairs=":")] = ()
    """Their tools can be planned and called."""
    mcp_environment: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=SERVER_VARIABLES, pairs=":")] = ()
    """Variables that a server gets in addition to the usual harmless ones."""

    # The rest are no keys: they say where the values come from.
    sources: Mapping[str, ValueSource] = {}
    """By the name of the key."""
    notes: tuple[Text, ...] = ()
    files: tuple[Path, ...] = ()
    trust: TrustVerdict | None = None
    """The verdict on the project's commands; None if its file names none."""
    by_task: Mapping[str, tuple[Value, ValueSource]] = {}
    """By the whole name: planning.task_specific.github_issue.max_subtasks."""

    def source(self, name: str) -> ValueSource:
        return self.sources.get(name, _DEFAULT)

    def is_set(self, name: str) -> bool:
        """Whether somebody set it, even to its default."""
        return self.source(name).origin is not KeyOrigin.DEFAULT

    def is_untrusted(self, name: str) -> bool:
        """Whether the project's file sets it in vain, because nobody has trusted it."""
        return self.source(name).origin is KeyOrigin.IGNORED

    def find_ignored(self, name: str) -> tuple[str, ...]:
        """What the project's file has in a list that counts only once somebody trusts it."""
        if self.trust is None or self.trust.trusted or self.source(name).origin is KeyOrigin.ENVIRONMENT:
            return ()
        return self.trust.lines(name)

    def role(self, name: str, *, by_model: bool = False) -> RoleConfig:
        """With what it leaves open settled: who does the work, and which model that would be.

        `by_model` is for a task: models plan and implement, and do what else somebody does at all.
        """
        role: RoleConfig = getattr(self.roles, name)
        role = replace(role, how=role.worker or "off", model=role.model or self.model)
        if by_model and (role.worker or name in {"planner", "implementer"}):
            return replace(role, how=RoleHow.MODEL, command="")
        return role

    def for_task(self, task: str) -> Self:
        """As if what is set for a kind of task, one of TASKS, were set for all of them."""
        begin = f"{TASK_SPECIFIC}.{task}."
        own = [(key_of(name), *found) for name, found in self.by_task.items() if name.startswith(begin)]
        if not own:
            return self
        values = {key.path: value for key, value, _ in own}
        sources = {key.name: source for key, _, source in own}
        return replace(build(self, values), sources={**self.sources, **sources})


_DEFAULT: Final = ValueSource(KeyOrigin.DEFAULT)
DEFAULTS: Final = Config()


class Key(NamedTuple):
    name: str
    """As people write it, with a dot: with.carry."""
    path: tuple[str, ...]
    default: Value
    rule: Rule
    choices: tuple[str, ...]

    @property
    def variable(self) -> str:
        return "RINGI_" + self.name.replace(".", "_").upper()

    def of(self, config: Config) -> Value:
        value: Value = attrgetter(".".join(self.path))(config)
        return value


def _keys(struct: msgspec.Struct, name: str = "", path: tuple[str, ...] = ()) -> Iterator[Key]:
    for attribute, written in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True):
        default = getattr(struct, attribute)
        if isinstance(default, Section):
            yield from _keys(default, f"{name}{written}.", (*path, attribute))
            continue
        annotation: Any = type(struct).__annotations__[attribute]
        if rule := getattr(annotation, "__metadata__", ()):
            choices = _choices(default, annotation.__origin__)
            yield Key(name + written, (*path, attribute), default, rule[0], choices)


def _choices(default: Value, kind: Any) -> tuple[str, ...]:
    if isinstance(default, StrEnum):
        return tuple(one.value for one in type(default))
    return get_args(kind) if isinstance(default, str) else ()


def build(struct: T, values: Mapping[tuple[str, ...], Value], path: tuple[str, ...] = ()) -> T:
    """The struct with these values, by their paths and however deep."""
    fields: dict[str, Any] = {}
    for name in struct.__struct_fields__:
        now, here = getattr(struct, name), (*path, name)
        fields[name] = build(now, values, here) if isinstance(now, Section) else values.get(here, now)
    return type(struct)(**fields)


KEYS: Final[Mapping[str, Key]] = {key.name: key for key in _keys(DEFAULTS)}
SECTIONS: Final = frozenset(
    ".".join(parts[:count]) for name in KEYS for parts in [name.split(".")] for count in range(1, len(parts))
)
TASKS: Final = ("github_issue", "github_pr", "gitlab")
TASK_SPECIFIC: Final = "planning.task_specific"
"""Below it and the kind of a task, every key of `planning` again: planning.task_specific.gitlab.strategy."""
REPOSITORIES: Final = "repositories"
"""In the user's file: below the folder of a repository, every key again."""


def key_of(name: str) -> Key:
    """Also of a key for one kind of task."""
    if name.startswith(f"{TASK_SPECIFIC}."):
        _, _, below = name.removeprefix(f"{TASK_SPECIFIC}.").partition(".")
        return KEYS[f"planning.{below}"]
    return KEYS[name]


SERVER_TOKEN: Final = lazy_pattern(r"RINGI_MCP_[A-Z0-9_]+_TOKEN")
"""The variable with the token of an MCP server at an address."""
# Variables of ours that are not keys.
VARIABLES: Final = frozenset(
    [
        "RINGI_STATE_DIR",
        "RINGI_CACHE_DIR",
        "RINGI_WITH",
        "RINGI_MCP_SOCKET",
        "RINGI_FEEDBACK",
        "RINGI_BRIEF",
        "RINGI_CONFIG",
    ]
)
