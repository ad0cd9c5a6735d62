"""The part of the configuration that the use cases need, from what was loaded."""

import msgspec

from ringi.approvals.configured_permits import run_budget
from ringi.config.keys import MOST_DOLLARS, MOST_TOKENS, TASK_SPECIFIC, Role, key_of
from ringi.config.load import Loaded, Origin
from ringi.config.settings import (
    BesideSettings,
    DiagnosticCommand,
    DiagnosticSettings,
    RoleSettings,
    RunSettings,
    Settings,
)
from ringi.engine.levels import Level, PlanningSettings, Strategy
from ringi.engine.run_plan import RunRole
from ringi.forges.configured import forge_settings
from ringi.metrics.configured import metric_settings
from ringi.runs.document import RoleHow


def for_task(loaded: Loaded, task: str) -> Loaded:
    """As if what is set for a kind of task were set for all of them."""
    begin = f"{TASK_SPECIFIC}.{task}."
    named = {name: source for name, (_, source) in loaded.by_task.items() if name.startswith(begin)}
    if not named:
        return loaded
    config = msgspec.structs.replace(loaded.config, planning=loaded.planning_of(task))
    own = {key_of(name).name: source for name, source in named.items()}
    return loaded._replace(config=config, sources={**loaded.sources, **own})


def settings_of(loaded: Loaded) -> Settings:
    beside, diagnostics, keep = loaded.config.beside, loaded.config.diagnostics, loaded.config.keep
    return Settings(
        beside=BesideSettings(
            carry=beside.carry,
            checks=beside.checks,
            sandbox=beside.sandbox,
            writable=beside.writable,
            copies_days=keep.copies_days,
            copies_mb=keep.copies_mb,
        ),
        diagnostics=DiagnosticSettings(
            commands=_diagnostics(loaded), format=diagnostics.format, timeout_sec=diagnostics.timeout_sec
        ),
        check_timeout_sec=loaded.config.checks.timeout_sec,
        planning=planning_settings(loaded),
        runs=run_settings(loaded),
        metrics=metric_settings(loaded.config),
        forge=forge_settings(loaded.config.forge),
    )


def run_settings(loaded: Loaded) -> RunSettings:
    config = loaded.config
    prices = (item.split() for item in config.llm.prices)
    return RunSettings(
        roles={role: _role(loaded, role) for role in RunRole},
        budget=run_budget(config.runs),
        prices={name: (float(read), float(written)) for name, read, written in prices},
        never_send=config.context.never_send,
        main_branches=config.runs.main_branches,
    )


def _role(loaded: Loaded, name: RunRole) -> RoleSettings:
    told: Role = getattr(loaded.config.roles, name)
    keys = (f"roles.{name}.{key}" for key in ("how", "command", "model"))
    by_itself = RoleHow.COMMAND if told.command else RoleHow.MODEL if told.model else None
    return RoleSettings(
        how=by_itself if told.how == "auto" else None if told.how == "off" else RoleHow(told.how),
        command=told.command,
        model=told.model or loaded.config.model,
        timeout_sec=told.timeout_sec,
        output_bytes=told.output_bytes,
        max_tokens=told.max_tokens if told.max_tokens < MOST_TOKENS else None,
        max_dollars=told.max_dollars if told.max_dollars < MOST_DOLLARS else None,
        untrusted=any(loaded.sources[key].origin is Origin.IGNORED for key in keys),
    )


def planning_settings(loaded: Loaded) -> PlanningSettings:
    planning = loaded.config.planning
    unset = loaded.sources["planning.max_subtasks"].origin is Origin.DEFAULT
    return PlanningSettings(
        enabled=planning.enabled,
        strategy=Strategy(planning.strategy),
        level=Level(planning.decomposition_level),
        auto_adjust_level=planning.auto_adjust_level,
        simple_tokens=planning.complexity_threshold.simple,
        moderate_tokens=planning.complexity_threshold.moderate,
        max_subtasks=None if unset else planning.max_subtasks,
        allowed_tools=planning.security.allowed_tools,
        forbidden_tools=planning.security.forbidden_tools,
        detailed_log=loaded.config.logs.detailed,
        confidential=loaded.config.logs.confidential,
        require_approval=planning.security.require_approval,
    )


def _diagnostics(loaded: Loaded) -> tuple[DiagnosticCommand, ...]:
    name = "diagnostics.commands"
    own = loaded.config.diagnostics.commands
    commands = tuple(DiagnosticCommand(text) for text in own)
    overruled = loaded.sources[name].origin is Origin.ENVIRONMENT
    if loaded.trust is None or loaded.trust.trusted or overruled:
        return commands
    others = (text for text in loaded.trust.lines(name) if text not in own)
    return (*commands, *(DiagnosticCommand(text, trusted=False) for text in others))
