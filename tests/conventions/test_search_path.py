"""The programs that tests find are the same on every machine, and a sandbox shows them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from ringi.agents.table import AGENTS
from tests.helpers import ROOT
from tests.search_path import in_sight


def test_no_test_finds_an_agent_of_the_person():
    assert [name for name in AGENTS if shutil.which(name)] == []


def test_a_sandbox_shows_the_python_of_the_tests():
    python = Path(shutil.which("python3") or "")
    assert in_sight(python)
    assert in_sight(python.resolve())


def test_agents_are_left_out_and_what_is_beside_them_is_found(tmp_path: Path):
    """In a process of its own, because the folders that it makes stay as long as it does."""
    for name in ("claude", "beside", "codex"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    code = (
        "import shutil, sys\n"
        "from tests.search_path import search_path\n"
        "path = search_path(sys.argv[1])\n"
        "print(*[name for name in ('claude', 'beside', 'codex') if shutil.which(name, path=path)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT)))},
    )  # fmt: skip
    assert done.stdout == "beside\n"
