"""Tools of MCP servers that behave, and of those that do not."""

import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ringi.kernel.process.supervisor import processes
from ringi.models.http_backend import client
from ringi.tools.effects import ErrorKind, ToolEffect
from ringi.tools.mcp_child import Amounts, Program
from ringi.tools.mcp_connection import McpServer, ServerLimits
from ringi.tools.mcp_servers import McpServers
from ringi.tools.rules import ToolRules, effect_of
from tests.fakes import mcp_server
from tests.fakes.mcp_http import HttpTools
from tests.tables import each

pytestmark = pytest.mark.req("PP-15")

RULES = ToolRules((), forbidden=("*_secret_*",), approval=("*_private",))
SMALL = ServerLimits(start_sec=20, amounts=Amounts(message_bytes=2_000_000, error_bytes=1_000_000))
WAIT = 30.0
SHORT = 0.5


def judge(name: str, read_only: bool) -> ToolEffect | None:
    return effect_of(name, RULES, read_only=read_only)


def stdio(how: str, folder: Path, name: str = "s", **environment: str) -> McpServer:
    argv = (sys.executable, mcp_server.__file__, how, str(folder))
    return McpServer(name, Program(argv, folder, {"PATH": os.defpath, **environment}))


def masked(text: str) -> str:
    return text.replace("hunter2hunter2", "***")


def of(*servers: McpServer, limits: ServerLimits = SMALL) -> McpServers:
    return McpServers(servers, judge, masked, limits)


@pytest.fixture
def nothing_left(tmp_path: Path) -> Iterator[None]:
    yield
    mark = os.fsencode(tmp_path)
    assert not [one.name for one in processes() if not one.dead and mark in _command_line(one.pid)]


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_tools_have_the_name_of_their_server_and_an_effect(tmp_path: Path, nothing_left: None):
    with of(stdio("plain", tmp_path)) as servers:
        found = {tool.name: tool.effect for tool in servers.list_tools()}
    assert found == {
        "s_read": ToolEffect.READS,
        "s_create": ToolEffect.OUTSIDE,
        "s_delete_all": ToolEffect.OUTSIDE,  # although it says that it only reads
        "s_slow": ToolEffect.READS,
    }


def test_a_call_gives_its_text(tmp_path: Path, nothing_left: None):
    with of(stdio("plain", tmp_path, SECRET_KEY="hunter2hunter2")) as servers:
        result = servers.call("s_read", {"what": "this"}, WAIT)
    assert (result.text, result.error) == ("read this KEY=***", None)


def test_a_server_gets_only_the_given_variables(tmp_path: Path):
    with of(stdio("plain", tmp_path)) as servers:
        assert servers.call("s_read", {"what": "x"}, WAIT).text == "read x KEY="


def test_what_may_change_something_is_only_called_if_approved(tmp_path: Path):
    log = tmp_path / "log"
    with of(stdio("plain", tmp_path)) as servers:
        refused = servers.call("s_create", {"log": str(log)}, WAIT)
        assert (refused.error, log.exists()) == (ErrorKind.NOT_ALLOWED, False)
        assert "person" in refused.message
        assert servers.call("s_delete_all", {"log": str(log)}, WAIT).error is ErrorKind.NOT_ALLOWED
        assert servers.call_approved("s_create", {"log": str(log)}, WAIT).error is None
    assert log.read_text() == "create\n"


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("s_read", {}, ErrorKind.INVALID_ARGUMENTS),
        ("s_read", {"what": 3}, ErrorKind.INVALID_ARGUMENTS),
        ("s_missing", {}, ErrorKind.UNKNOWN_TOOL),
        ("S_read", {"what": "x"}, ErrorKind.UNKNOWN_TOOL),
        ("other_read", {"what": "x"}, ErrorKind.UNKNOWN_TOOL),
        ("read", {"what": "x"}, ErrorKind.UNKNOWN_TOOL),
    ],
)
def test_a_wrong_call_is_not_sent(tmp_path: Path, name: str, arguments: dict[str, object], kind: ErrorKind):
    with of(stdio("plain", tmp_path)) as servers:
        assert servers.call(name, {**arguments, "log": str(tmp_path / "log")}, WAIT).error is kind
    assert not (tmp_path / "log").exists()


def test_calls_run_at_once(tmp_path: Path):
    """Each answer waits until all of them are there."""
    here = tmp_path / "here"
    here.mkdir()
    servers_wanted = [stdio("plain", tmp_path, "a"), stdio("plain", tmp_path, "b")]
    with of(*servers_wanted) as servers, ThreadPoolExecutor(10) as pool:
        names = ["a_slow"] * 5 + ["b_slow"] * 5
        found = list(pool.map(lambda name: servers.call(name, {"here": str(here), "all": 5}, WAIT), names))
    assert [result.text for result in found] == ["together"] * 10


@pytest.mark.parametrize(
    ("how", "kind", "says"),
    [
        ("dies at start", ErrorKind.DIED, "exit code 1: cannot start"),
        ("dies at list", ErrorKind.DIED, "no list today"),
        ("dies at call", ErrorKind.DIED, "exit code 3: out of memory, token=***"),
        ("floods output", ErrorKind.FLOODED, "2000000 bytes"),
        ("floods lines", ErrorKind.FLOODED, "nobody asked"),
        ("floods notes", ErrorKind.FLOODED, "nobody asked"),
        ("floods errors", ErrorKind.FLOODED, "1000000 bytes of errors"),
        ("many", ErrorKind.FLOODED, "more than 250 tools"),
        ("endless pages", ErrorKind.FLOODED, "more than 250 tools"),
        ("no list", ErrorKind.DIED, "does not follow the protocol"),
        ("schemas", ErrorKind.DIED, "does not follow the protocol"),
        ("old", ErrorKind.DIED, "1999-01-01"),
    ],
)
def test_a_server_that_misbehaves_is_cut_off_and_the_others_go_on(
    tmp_path: Path, how: str, kind: ErrorKind, says: str, nothing_left: None
):
    with of(stdio(how, tmp_path), stdio("plain", tmp_path, "other")) as servers:
        result = servers.call("s_read", {"what": "x"}, WAIT)
        assert (result.error, result.text) == (kind, "")
        assert "server s" in result.message
        assert says in result.message
        assert "ringi doctor" in result.message
        # For good, and nobody waits for it again.
        assert servers.call("s_read", {"what": "x"}, WAIT).error is kind
        assert servers.call("other_read", {"what": "x"}, WAIT).text == "read x KEY="
        assert {tool.name.partition("_")[0] for tool in servers.list_tools()} == {"other"}


@pytest.mark.parametrize("how", ["hangs at start", "hangs at list"])
def test_a_server_that_does_not_start_is_cut_off(tmp_path: Path, how: str, nothing_left: None):
    limits = SMALL._replace(start_sec=SHORT)
    with of(stdio(how, tmp_path), limits=limits) as servers:
        (state,) = servers.states()
        assert "did not start within 0.5 seconds" in str(state.problem)
        assert servers.call("s_read", {"what": "x"}, WAIT).error is ErrorKind.TIMEOUT


def test_a_call_that_hangs_ends_with_its_time(tmp_path: Path, nothing_left: None):
    with of(stdio("hangs at call", tmp_path)) as servers:
        servers.list_tools()
        result = servers.call("s_read", {"what": "x"}, SHORT)
        assert (result.error, result.message) == (
            ErrorKind.TIMEOUT,
            "server s did not answer within 0.5 seconds (planning.execution.action_timeout)",
        )


def test_a_server_that_answers_nothing_any_more_is_cut_off(tmp_path: Path, nothing_left: None):
    with of(stdio("hangs at call", tmp_path), limits=SMALL._replace(ping_sec=SHORT)) as servers:
        servers.list_tools()
        found = [servers.call("s_read", {"what": "x"}, SHORT)]
        while "cannot be used" not in found[-1].message:
            found.append(servers.call("s_read", {"what": "x"}, SHORT))
        assert "it no longer answers" in found[-1].message


def test_a_program_that_is_not_there(tmp_path: Path):
    with of(McpServer("s", Program(("no-such-program",), tmp_path, {"PATH": os.defpath}))) as servers:
        (state,) = servers.states()
    assert "no-such-program" in str(state.problem)


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ("hangs at call", ErrorKind.UNKNOWN_OUTCOME),
        ("dies at call", ErrorKind.UNKNOWN_OUTCOME),
        ("floods output", ErrorKind.UNKNOWN_OUTCOME),
        ("breaks", ErrorKind.UNKNOWN_OUTCOME),
        ("no result", ErrorKind.UNKNOWN_OUTCOME),
        ("refuses", ErrorKind.INVALID_ARGUMENTS),
        ("error", ErrorKind.TOOL_ERROR),
        ("dies at list", ErrorKind.DIED),
    ],
)
def test_nobody_knows_what_a_call_did_that_was_sent_and_not_answered(
    tmp_path: Path, how: str, kind: ErrorKind
):
    with of(stdio(how, tmp_path)) as servers:
        servers.list_tools()
        assert servers.call_approved("s_create", {}, SHORT if how.startswith("hangs") else WAIT).error is kind


def test_results_that_are_not_what_the_server_says(tmp_path: Path):
    """Its own pattern, which would take forever, is not matched."""
    with of(stdio("output", tmp_path)) as servers:
        assert servers.call("s_typed", {"n": 3}, WAIT).text == "fine"
        result = servers.call("s_typed", {"n": "a" * 5_000}, WAIT)
    assert result.error is ErrorKind.UNEXPECTED
    assert "/n must be integer" in result.message


def test_a_long_result_is_cut_and_an_error_keeps_its_text(tmp_path: Path):
    with of(stdio("huge", tmp_path), stdio("error", tmp_path, "e")) as servers:
        long = servers.call("s_read", {"what": "x"}, WAIT)
        assert (len(long.text), long.cut, long.error) == (65_536, True, None)
        error = servers.call("e_read", {"what": "x"}, WAIT)
        assert (error.text, error.error) == ("no such thing", ErrorKind.TOOL_ERROR)


def test_tools_with_names_that_deceive_are_left_out(tmp_path: Path):
    with of(stdio("names", tmp_path)) as servers:
        assert {tool.name for tool in servers.list_tools()} == {"s_read", "s_delete_all", "s_slow"}
        (state,) = servers.states()
        assert {own for own, _ in state.left_out} == {
            "create", "Cre-ate", "twice", "re\u0430d", "x\u001b[31m", "",
        }  # fmt: skip
        assert "looks like it" in servers.call("s_twice", {}, WAIT).message


def test_a_tool_that_changes_after_it_was_listed_is_not_called(tmp_path: Path):
    with of(stdio("changes", tmp_path)) as servers:
        servers.list_tools()
        found = [servers.call("s_read", {"what": "x"}, WAIT) for _ in range(2)]
    assert [one.error for one in found] == [ErrorKind.NOT_ALLOWED] * 2
    assert "changed read since" in found[0].message


@pytest.mark.parametrize("how", ["asks", "speaks for others", "stray"])
def test_what_a_server_says_besides_does_no_harm(tmp_path: Path, how: str):
    with of(stdio(how, tmp_path)) as servers:
        assert [servers.call("s_read", {"what": "x"}, WAIT).text for _ in range(2)] == ["read x KEY="] * 2


def test_forbidden_tools_are_neither_offered_nor_called(tmp_path: Path):
    rules = ToolRules((), allowed=("s_*",), forbidden=("*_re-ad",), approval=("s_slow",))
    servers = McpServers(
        [stdio("plain", tmp_path)], lambda name, reads: effect_of(name, rules, read_only=reads), masked, SMALL
    )
    with servers:
        assert {tool.name: tool.effect for tool in servers.list_tools()}["s_slow"] is ToolEffect.OUTSIDE
    rules = rules._replace(forbidden=("S_R?AD",))
    servers = McpServers(
        [stdio("plain", tmp_path)], lambda name, reads: effect_of(name, rules, read_only=reads), masked, SMALL
    )
    with servers:
        assert "s_read" not in {tool.name for tool in servers.list_tools()}
        assert servers.call("s_read", {"what": "x"}, WAIT).error is ErrorKind.UNKNOWN_TOOL
        assert "forbidden" in servers.call_approved("s_read", {"what": "x"}, WAIT).message


def test_what_a_server_started_ends_with_it(tmp_path: Path, nothing_left: None):
    with of(stdio("leaves a child", tmp_path)) as servers:
        assert servers.call("s_read", {"what": "x"}, WAIT).error is None


def test_no_server_starts_before_it_is_needed(tmp_path: Path, nothing_left: None):
    before = threading.active_count()
    with of(stdio("plain", tmp_path)):
        assert threading.active_count() == before


# --- at an address ------------------------------------------------------------------------------------------


def http(server: HttpTools, token: str = "") -> McpServer:
    credentials = {"Authorization": f"Bearer {token}"} if token else {}
    return McpServer("h", url=server.address, http=lambda most: client(server.address, {}, credentials, most))


@each("how", ["", "stream", "back and forth", "hangs at goodbye"])
def test_a_server_at_an_address(how: str):
    with HttpTools(how) as web, of(http(web, "t0ken")) as servers:
        assert [tool.name for tool in servers.list_tools()] == ["h_read", "h_make"]
        assert servers.call("h_read", {"a": 1}, WAIT).text == "over http"
    assert web.calls == [{"name": "read", "arguments": {"a": 1}}]
    assert set(web.authorization) == {"Bearer t0ken"}
    assert web.methods.count("GET") < 25


@each(
    "how",
    [
        "hangs",
        "hangs up",
        "gateway",
        "accepted",
        "page",
        "elsewhere",
        "packed",
        "huge",
        "cut stream",
        "long event",
    ],
)
def test_a_server_at_an_address_that_misbehaves(how: str):
    with HttpTools(how) as web, of(http(web)) as servers:
        servers.list_tools()
        made = servers.call_approved("h_make", {}, SHORT if how == "hangs" else WAIT)
        assert (made.error, made.text) == (ErrorKind.UNKNOWN_OUTCOME, "")
        assert "server h" in made.message
        assert [call["name"] for call in web.calls] == ["make"]  # never twice


def test_nobody_at_the_address():
    with HttpTools() as web:
        gone = http(web)
    with of(gone) as servers:
        (state,) = servers.states()
    assert state.problem is not None
    assert not state.tools
