"""Over 100 attempts to get out of every kind of sandbox, as whoever runs this and as a second user."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import msgspec
import pytest

import ringi
from tests.functional.beside_desk import walled
from tests.search_path import in_sight

DRIVER = Path(__file__).with_name("sandbox_driver.py")
KINDS = ("command", "check", "agent")
SECOND = 61234
"""A user that nobody is."""
PATIENCE = 600
PYTHON = os.path.realpath(sys.executable)
"""Itself, because the environment that it was started from may be out of sight in a sandbox."""
NEEDED = ("click", "grimp", "msgspec", "pygments", "pyyaml", "tomlkit", "typing-extensions")


def report(user: str) -> dict[str, Any]:
    """What the attempts achieved, by kind of sandbox."""
    with _folder() as base:
        packages = _packages(base / "packages")
        words = [PYTHON] if user == "this user" else _as_second(base, packages)
        done = subprocess.run(
            [*words, str(DRIVER), str(base / "world")],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": packages, "LANG": "C.UTF-8", "HOME": str(base)},
            cwd=base, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@contextmanager
def _folder() -> Iterator[Path]:
    """Not below /tmp, of which every sandbox has its own."""
    with tempfile.TemporaryDirectory(prefix="ringi-test-", dir="/var/tmp") as folder:
        yield Path(folder).resolve()


def _packages(copies: Path) -> str:
    """Where Python finds ringi, inside a sandbox as well: an attempt to use it there has to get that far."""
    ours = Path(ringi.__file__).parent
    if in_sight(ours) and in_sight(Path(msgspec.__file__)):
        return os.pathsep.join(map(str, (ours.parent, Path(msgspec.__file__).parents[1])))
    shutil.copytree(ours, copies / ours.name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in NEEDED:
        for file in distribution(name).files or ():
            if ".." not in file.parts and file.suffix != ".pyc":
                (copies / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file.locate(), copies / file)
    return str(copies)


def _as_second(base: Path, packages: str) -> list[str]:
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
    loaded = "import os, sys, ringi.tree.copy_run"
    wanted = f"{loaded}; os.execv(sys.executable, [sys.executable, '-c', 'pass'])"
    for python in (PYTHON, "/usr/bin/python3"):
        tried = subprocess.run(
            [*become, python, "-c", wanted], env={"PYTHONPATH": packages}, capture_output=True, check=False
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
