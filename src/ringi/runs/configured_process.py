"""What the process of a task is made of."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ringi.agents.state import Surrounding
from ringi.config.keys import Config
from ringi.models.configured import mask_of
from ringi.plans.outside_call import PlannedCalls
from ringi.plans.services import Services
from ringi.runs.configured_tools import server_tools
from ringi.runs.role_process import ProcessParts
from ringi.runs.store import Store
from ringi.runs.tool_box import ToolBox, tool_box
from ringi.tools.ports_process import Tools
from ringi.tree.copy import WorkCopy


def process_parts(
    ledger: Store,
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
