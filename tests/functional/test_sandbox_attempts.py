"""Over 100 attempts to get out of every kind of sandbox, as whoever runs this and as a second user."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

import ringi
from tests.functional.beside_desk import walled

DRIVER = Path(__file__).with_name("sandbox_driver.py")
KINDS = ("command", "check", "agent")
SECOND = 61234
"""A user that nobody is."""
PATIENCE = 600
PYTHONPATH = os.pathsep.join(str(Path(module.__file__ or "").parents[1]) for module in (ringi, msgspec))


def report(user: str) -> dict[str, Any]:
    """What the attempts achieved, by kind of sandbox."""
    with _folder() as base:
        words = [sys.executable] if user == "this user" else _as_second(base)
        done = subprocess.run(
            [*words, str(DRIVER), str(base / "world")],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": PYTHONPATH, "LANG": "C.UTF-8", "HOME": str(base)},
            cwd=base, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@contextmanager
def _folder() -> Iterator[Path]:
    """Not below /tmp, of which every sandbox has its own."""
    with tempfile.TemporaryDirectory(prefix="ringi-test-", dir="/var/tmp") as folder:
        yield Path(folder).resolve()


def _as_second(base: Path) -> list[str]:
    if os.geteuid() != 0:
        pytest.skip("only root can become a second user")
    if (setpriv := shutil.which("setpriv")) is None:
        pytest.skip("setpriv is not installed")
    (base / "world").mkdir()
    os.chown(base, SECOND, SECOND)
    os.chown(base / "world", SECOND, SECOND)
    program = base / "world" / "setuid-id"
    shutil.copy(shutil.which("id") or "", program)
    program.chmod(0o4755)
    become = [setpriv, f"--reuid={SECOND}", f"--regid={SECOND}", "--clear-groups"]
    # Python itself can be started by whoever may read everything until then; what it starts cannot.
    wanted = "import os, sys, ringi.wiring.commands; os.execv(sys.executable, [sys.executable, '-c', 'pass'])"
    for python in (sys.executable, "/usr/bin/python3"):
        tried = subprocess.run(
            [*become, python, "-c", wanted], env={"PYTHONPATH": PYTHONPATH}, capture_output=True, check=False
        )
        if tried.returncode == 0:
            return [*become, python]
    pytest.skip("a second user cannot run Python with ringi here")


@walled
@pytest.mark.parametrize("user", ["this user", "a second user"])
@pytest.mark.req("PT-7")
def test_nothing_gets_out(user: str) -> None:
    found = report(user)
    outside = found.pop("outside")
    # Otherwise they would prove nothing.
    assert outside["tried"] >= 50
    assert all(said.startswith("achieved") for said in outside["told"].values())
    assert len(outside["told"]) == outside["tried"]
    for kind in KINDS:
        assert found[kind].pop("tried") >= 100
        assert found[kind] == {"told": {}, "changed": [], "escaped": [], "alive": True}, kind
