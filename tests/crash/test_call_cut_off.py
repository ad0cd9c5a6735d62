"""A call of an outside tool is cut off: nobody makes it twice, and a person says how it ended."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.errors import UnknownCommand
from ringi.kernel.process.supervisor import processes
from ringi.plans.document import PlanStatus
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec
from ringi.tree.file_state import OpStatus
from tests.crash.test_cut_off import CHILD, REPOSITORY
from tests.fakes import mcp_server
from tests.helpers import approved, assert_whole, create, environment_of, holds_soon, open_scratch, write

pytestmark = pytest.mark.req("PP-15", "PT-12")


def server(tmp_path: Path, how: str) -> str:
    return "s: " + shlex.join([sys.executable, mcp_server.__file__, how, str(tmp_path)])


def calls(tmp_path: Path) -> list[str]:
    log = tmp_path / "log"
    return log.read_text().splitlines() if log.exists() else []


def alive(tmp_path: Path) -> list[str]:
    found = []
    for one in processes():
        try:
            line = Path(f"/proc/{one.pid}/cmdline").read_bytes()
        except OSError:
            continue
        if not one.dead and b"mcp_server.py" in line and os.fsencode(tmp_path) in line:
            found.append(one.name)
    return found


@pytest.fixture
def calling(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """In the middle of its call, which is never answered."""
    servers = server(tmp_path, "hangs at call")
    with open_scratch(tmp_path, RINGI_MCP_SERVERS=servers) as workspace:
        root = workspace.places.root
        arguments = {"log": str(tmp_path / "log")}
        spec = ActionSpec(SpecKind.CALL, tool="s_create", arguments=arguments, timeout_sec=600)
        plan_id = approved(workspace, write("README.md", "x\n"), spec, create("last.txt", "last\n"))
    environment = environment_of(tmp_path, RINGI_MCP_SERVERS=servers, PYTHONPATH=str(REPOSITORY))
    child = subprocess.Popen([sys.executable, "-c", CHILD, root, plan_id], cwd=REPOSITORY, env=environment)
    try:
        assert holds_soon(lambda: calls(tmp_path) == ["create"])
        yield child, plan_id
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize(
    ("number", "done"),
    [(signal.SIGKILL, True), (signal.SIGKILL, False), (signal.SIGTERM, False), (signal.SIGINT, True)],
)
def test_it_is_unknown_and_never_made_again_by_itself(
    calling: tuple[subprocess.Popen[bytes], str], tmp_path: Path, number: int, done: bool
):
    child, plan_id = calling
    os.kill(child.pid, number)
    child.wait()
    assert holds_soon(lambda: not alive(tmp_path)), "its server stays"
    with open_scratch(tmp_path, RINGI_MCP_SERVERS=server(tmp_path, "plain")) as workspace:
        (result,) = workspace.recovered
        assert {o.spec_id: o.status for o in result.results} == {
            "s1": OpStatus.DONE,
            "s2": OpStatus.UNKNOWN,
            "s3": OpStatus.UNTOUCHED,
        }
        assert workspace.plan.get_state(plan_id).status is PlanStatus.ABORTED
        with pytest.raises(UnknownCommand, match="s_create"):
            workspace.plan.execute(plan_id)
        assert calls(tmp_path) == ["create"]
        workspace.plan.settle(plan_id, "s2", done=done)
        assert workspace.plan.execute(plan_id).overall_success
        assert calls(tmp_path) == (["create"] if done else ["create", "create"])
        assert_whole(workspace)
