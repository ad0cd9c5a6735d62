"""Commands that only read work on a state folder that cannot be written, such as a read-only mount."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.signing import RealKey
from tests.functional.desk import Desk
from tests.functional.test_proving import carried_out, proposed
from tests.helpers import python

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="the mount is made by bubblewrap")

NEW: dict[str, object] = {"kind": "create", "path": "new.txt", "content": "new\n"}
READS = (
    ("list",),
    ("status",),
    ("show", "p1"),
    ("log",),
    ("log", "--verify"),
    ("verify", "p1"),
    ("verify", "--all"),
    ("grant", "list"),
)
# One process for all of them: starting it takes longer than any.
ALL = """
import json, sys
from ringi.cli.main import main
for words in json.loads(sys.argv[1]):
    assert main(words) == 0, words
"""
DIES = """
import os, signal, sys
from ringi.app.api import open_workspace
workspace = open_workspace(sys.argv[1])
workspace.plan.propose("Another")
os.kill(os.getpid(), signal.SIGKILL)
"""


def read_only(desk: Desk, *words: str) -> subprocess.CompletedProcess[str]:
    states = os.environ["XDG_STATE_HOME"]
    mount = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", states, states, "--"]
    return subprocess.run(
        [*mount, sys.executable, *words],
        cwd=desk.root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.req("PT-11")
@pytest.mark.parametrize("killed", [False, True])
def test_reading(desk: Desk, listed: RealKey, killed: bool):
    """After a kill what was committed last is in SQLite's own log."""
    carried_out(desk, proposed(desk, NEW), listed)
    if killed:
        child = python(DIES, str(desk.root))
        child.communicate()
        assert child.returncode == -signal.SIGKILL
    before = contents(Path(os.environ["XDG_STATE_HOME"]))
    done = read_only(desk, "-c", ALL, json.dumps(READS))
    assert done.returncode == 0, done.stderr
    assert ("Another" in done.stdout) is killed
    assert contents(Path(os.environ["XDG_STATE_HOME"])) == before


@pytest.mark.req("PT-11")
def test_writing_says_why_not(desk: Desk):
    proposed(desk, NEW)
    done = read_only(desk, "-m", "ringi", "reject", "p1", "--feedback", "no")
    assert done.returncode == 1
    assert "readonly" in done.stderr
    assert desk.json("list")[0]["status"] != "rejected"
