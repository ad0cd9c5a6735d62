"""The part of the configuration that the use cases need, from what was config."""

from ringi.approvals.configured_permits import run_budget
from ringi.config.keys import MOST_DOLLARS, MOST_TOKENS, Config, Origin, Role
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


def settings_of(config: Config) -> Settings:
    beside, diagnostics, keep = config.beside, config.diagnostics, config.keep
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
            commands=_diagnostics(config), format=diagnostics.format, timeout_sec=diagnostics.timeout_sec
        ),
        check_timeout_sec=config.checks.timeout_sec,
        planning=planning_settings(config),
        runs=run_settings(config),
        metrics=metric_settings(config),
        forge=forge_settings(config.forge),
    )


def run_settings(config: Config) -> RunSettings:
    prices = (item.split() for item in config.llm.prices)
    return RunSettings(
        roles={role: _role(config, role) for role in RunRole},
        budget=run_budget(config.runs),
        prices={name: (float(read), float(written)) for name, read, written in prices},
        never_send=config.context.never_send,
        main_branches=config.runs.main_branches,
    )


def _role(config: Config, name: RunRole) -> RoleSettings:
    told: Role = getattr(config.roles, name)
    keys = (f"roles.{name}.{key}" for key in ("how", "command", "model"))
    by_itself = RoleHow.COMMAND if told.command else RoleHow.MODEL if told.model else None
    return RoleSettings(
        how=by_itself if told.how == "auto" else None if told.how == "off" else RoleHow(told.how),
        command=told.command,
        model=told.model or config.model,
        timeout_sec=told.timeout_sec,
        output_bytes=told.output_bytes,
        max_tokens=told.max_tokens if told.max_tokens < MOST_TOKENS else None,
        max_dollars=told.max_dollars if told.max_dollars < MOST_DOLLARS else None,
        untrusted=any(map(config.is_untrusted, keys)),
    )


def planning_settings(config: Config) -> PlanningSettings:
    planning = config.planning
    unset = not config.is_set("planning.max_subtasks")
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
        detailed_log=config.logs.detailed,
        confidential=config.logs.confidential,
        require_approval=planning.security.require_approval,
    )


def _diagnostics(config: Config) -> tuple[DiagnosticCommand, ...]:
    name = "diagnostics.commands"
    own = config.diagnostics.commands
    commands = tuple(DiagnosticCommand(text) for text in own)
    overruled = config.source(name).origin is Origin.ENVIRONMENT
    if config.trust is None or config.trust.trusted or overruled:
        return commands
    others = (text for text in config.trust.lines(name) if text not in own)
    return (*commands, *(DiagnosticCommand(text, trusted=False) for text in others))
