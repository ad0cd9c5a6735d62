"""What the process of a task is made of."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ringi.agents.state import Surrounding
from ringi.app.ledger import Ledger
from ringi.config.keys import Config
from ringi.models.configured import mask_of
from ringi.plans.outside_call import PlannedCalls
from ringi.plans.services import Services
from ringi.runs.process.settings import (
    Depth,
    ExecutionSettings,
    ProcessSettings,
    ReflectionSettings,
    RevisionSettings,
)
from ringi.runs.role_process import ProcessParts
from ringi.runs.tool_box import ToolBox, tool_box
from ringi.tools.configured import server_tools
from ringi.tools.ports_process import Tools
from ringi.tree.copy import WorkCopy


def process_parts(
    ledger: Ledger,
    services: Services,
    config: Config,
    workspace: Surrounding,
    environment: Mapping[str, str],
) -> ProcessParts:
    mask = mask_of(config, environment, keep_lines=True)

    @contextmanager
    def tools(copy: WorkCopy, log: Callable[[bytes], None]) -> Iterator[ToolBox]:
        with _servers(config, environment, copy) as servers:
            yield tool_box(workspace, copy, environment, mask, servers, log)

    return ProcessParts(
        store=ledger,
        clock=services.clock,
        ids=services.ids,
        settings=process_settings(config),
        config=config,
        tools=tools,
        outside=lambda run_id, who, language: PlannedCalls(services, run_id, who, language),
        telemetry=services.telemetry,
    )


@contextmanager
def _servers(config: Config, environment: Mapping[str, str], copy: WorkCopy) -> Iterator[Sequence[Tools]]:
    """None is started before somebody asks what it offers; they see the copy."""
    if not config.mcp_servers:
        yield ()
        return
    with server_tools(config, environment, copy.tree) as tools:
        yield (tools,)


def process_settings(config: Config) -> ProcessSettings:
    planning = config.planning
    reflection, revision, execution = planning.reflection, planning.revision, planning.execution
    unset = not config.is_set("planning.reflection.trigger_interval")
    return ProcessSettings(
        reflection=ReflectionSettings(
            enabled=reflection.enabled,
            on_error=reflection.trigger_on_error,
            interval=None if unset else reflection.trigger_interval,
            depth=Depth(reflection.depth),
        ),
        revision=RevisionSettings(
            most=revision.max_revisions,
            needs_approval=revision.require_human_approval,
            approval_timeout=revision.approval_timeout,
            in_memory=revision.max_history_in_memory,
            on_disk=revision.max_history_on_disk,
            summarise=revision.auto_summarize,
        ),
        execution=ExecutionSettings(
            action_timeout=execution.action_timeout,
            total_timeout=execution.total_timeout,
            ends_early=execution.early_termination.enabled,
            most_failures=execution.early_termination.max_consecutive_failures,
        ),
    )
