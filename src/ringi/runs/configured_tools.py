"""The tools of the configured MCP servers."""

import shlex
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ringi.config.keys import Config
from ringi.errors import NoExtra
from ringi.kernel.process.environment import harmless
from ringi.models.configured import mask_of
from ringi.tools.rules import ToolRules, effect_of

if TYPE_CHECKING:
    import httpx2

    from ringi.tools.effects import ToolEffect
    from ringi.tools.mcp_connection import McpServer
    from ringi.tools.mcp_servers import McpServers


def server_tools(config: Config, environment: Mapping[str, str], folder: Path) -> "McpServers":
    """Servers that are started run in the folder: the workspace, or a copy of it. To be closed.

    Nothing starts before a tool is listed or called. Raises NoExtra.
    """
    if find_spec("mcp") is None:
        from ringi.kernel.process.installation import extending_command  # noqa: PLC0415  # few have servers

        raise NoExtra(what="mcp_servers", extra="mcp", command=extending_command("mcp"))
    from ringi.tools.mcp_servers import McpServers  # noqa: PLC0415  # as above

    security = config.planning.security
    rules = ToolRules((), security.allowed_tools, security.forbidden_tools, security.require_approval)
    variables = {name: tuple(more.split()) for name, more in _pairs(config.mcp_environment).items()}
    servers = [
        _server(name, what, environment, variables.get(name, ()), folder)
        for name, what in _pairs(config.mcp_servers).items()
    ]

    def judge(name: str, read_only: bool) -> "ToolEffect | None":
        return effect_of(name, rules, read_only=read_only)

    return McpServers(servers, judge, mask_of(config, environment, keep_lines=True))


def outside_tools(
    config: Config, environment: Mapping[str, str], folder: Path
) -> "Callable[[], McpServers] | None":
    """None if no server is configured."""
    return partial(server_tools, config, environment, folder) if config.mcp_servers else None


def _pairs(items: tuple[str, ...]) -> dict[str, str]:
    return {name: rest.strip() for name, _, rest in (item.partition(":") for item in items)}


def token_variable(server: str) -> str:
    return f"RINGI_MCP_{server.upper().replace('-', '_')}_TOKEN"


def _server(
    name: str, what: str, environment: Mapping[str, str], more: tuple[str, ...], folder: Path
) -> "McpServer":
    from ringi.tools.mcp_child import Program  # noqa: PLC0415  # as above
    from ringi.tools.mcp_connection import McpServer  # noqa: PLC0415  # as above

    if what.startswith(("http://", "https://")):
        return McpServer(name, url=what, http=partial(_http, what, token_variable(name), environment))
    passed = {**harmless(environment, more), "PWD": str(folder)}
    return McpServer(name, Program(tuple(shlex.split(what)), folder, passed))


def _http(url: str, variable: str, environment: Mapping[str, str], most_bytes: int) -> "httpx2.AsyncClient":
    from ringi.kernel.process.network import is_here  # noqa: PLC0415  # as above
    from ringi.models.http_backend import client  # noqa: PLC0415  # as above

    token = environment.get(variable, "")
    parts = urlsplit(url)
    if token and parts.scheme == "http" and not is_here(parts.hostname or ""):
        raise ValueError(f"{variable} is not sent over plain HTTP: use an https address")
    if not token.isprintable() or not token.isascii():
        raise ValueError(f"{variable} holds characters that no token has")
    credentials = {"Authorization": f"Bearer {token}"} if token else {}
    return client(url, environment, credentials, most_bytes)
