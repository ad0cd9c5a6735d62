"""The servers of a configuration."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from ringi.app.doctor import Doctor
from ringi.config.keys import Config, Planning, Security
from ringi.runs.configured_tools import server_tools
from ringi.tools.effects import ToolEffect
from tests.fakes import mcp_server
from tests.fakes.mcp_http import HttpTools
from tests.helpers import environment_of

pytestmark = pytest.mark.req("PP-15")
WAIT = 30.0


def command(how: str = "plain") -> str:
    return shlex.join([sys.executable, mcp_server.__file__, how])


def test_a_server_gets_its_own_variables_and_no_others(tmp_path: Path):
    config = Config(
        mcp_servers=(f"a: {command()}", f"b: {command()}"), mcp_environment=("a: SECRET_KEY OTHER",)
    )
    environment = {"PATH": "/usr/bin", "SECRET_KEY": "hunter2hunter2"}
    with server_tools(config, environment, tmp_path) as tools:
        assert tools.call("a_read", {"what": "x"}, WAIT).text == "read x KEY=(masked: a key)"
        assert tools.call("b_read", {"what": "x"}, WAIT).text == "read x KEY="


def test_the_rules_of_the_configuration_count(tmp_path: Path):
    security = Security(allowed_tools=("a_*",), forbidden_tools=("*_slow",), require_approval=("a_r*",))
    config = Config(mcp_servers=(f"a: {command()}", f"b: {command()}"), planning=Planning(security=security))
    with server_tools(config, {"PATH": "/usr/bin"}, tmp_path) as tools:
        assert {tool.name: tool.effect for tool in tools.list_tools()} == dict.fromkeys(
            ["a_read", "a_create", "a_delete_all"], ToolEffect.OUTSIDE
        )


def test_a_token_comes_from_the_environment(tmp_path: Path):
    with HttpTools() as web:
        config = Config(mcp_servers=(f"my-web: {web.address}",))
        with server_tools(config, {"RINGI_MCP_MY_WEB_TOKEN": "t0ken"}, tmp_path) as tools:
            assert tools.call("my-web_read", {}, WAIT).text == "over http"
    assert set(web.authorization) == {"Bearer t0ken"}


@pytest.mark.parametrize(
    ("address", "token", "says"),
    [("http://192.0.2.1/mcp", "x", "plain HTTP"), ("https://192.0.2.1/mcp", "a\nb", "characters")],
)
def test_a_token_is_not_sent_where_others_could_read_it(tmp_path: Path, address: str, token: str, says: str):
    with server_tools(
        Config(mcp_servers=(f"w: {address}",)), {"RINGI_MCP_W_TOKEN": token}, tmp_path
    ) as tools:
        (state,) = tools.states()
    assert says in str(state.problem)


def test_the_doctor_looks_at_each_server(tmp_path: Path):
    repo = tmp_path / "ws"
    repo.mkdir()
    environment = environment_of(tmp_path)
    mine = Path(environment["HOME"], ".config", "ringi", "config.yaml")
    mine.parent.mkdir(parents=True, exist_ok=True)
    good, bad = (json.dumps(command(how)) for how in ("names", "dies at start"))
    mine.write_text(f"mcp_servers:\n  good: {good}\n  bad: {bad}\n")
    found = {str(one.text): str(one.mend) for one in Doctor(repo, environment).examine()}
    assert "server good answers; it has 3 tools" in found
    assert any("good: twice is left out" in text or "good: create is left out" in text for text in found)
    bad = next(text for text in found if "server bad" in text)
    assert "cannot start" in bad
    assert "mcp_servers" in found[bad]
