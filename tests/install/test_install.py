"""`make test-install`: each way of the README, in a home where nothing is installed. Needs a network."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.helpers import ROOT

pytestmark = pytest.mark.skipif(not os.environ.get("RINGI_INSTALL"), reason="make test-install runs it")
GREETING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def ways() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.partition("\n## Install\n")[2].partition("\n## ")[0]
    return re.findall(r"^```\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both installers, in an environment of their own."""
    folder = tmp_path_factory.mktemp("tools")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run([str(folder / "bin" / "pip"), "install", "-q", "pipx", "uv"], check=True)
    return folder / "bin"


@pytest.mark.parametrize("way", ways(), ids=lambda way: way.split()[0])
def test_a_way_of_the_readme_on_a_fresh_account(way: str, tools: Path, tmp_path: Path):
    home, clone = tmp_path / "home", tmp_path / "clone"
    home.mkdir()
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    kept = ("PIP_", "UV_INDEX", "SSL_", "HTTP", "http", "ALL_PROXY", "NO_PROXY", "no_proxy")
    environment = {name: value for name, value in os.environ.items() if name.startswith(kept)}
    environment |= {"HOME": str(home), "PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    subprocess.run(["sh", "-e", "-c", way], cwd=clone, env=environment, check=True)
    ringi = home / ".local" / "bin" / "ringi"
    project = tmp_path / "project"
    subprocess.run(["git", "init", "-q", str(project)], env=environment, check=True)

    def say(words: Sequence[str], given: str = "") -> str:
        done = subprocess.run(
            [str(ringi), *words], cwd=project, env=environment, input=given, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        return done.stdout

    assert say(["--version"]).startswith("ringi ")
    assert say(["help"]) == say(["--help"])
    assert "is a workspace" in say(["init"])
    answer = json.loads(say(["mcp"], json.dumps(GREETING) + "\n").splitlines()[0])
    assert answer["result"]["serverInfo"]["name"] == "ringi"
    python = ringi.resolve().parent / "python"
    code = "import ringi.cli.main as one, os; raise SystemExit(not os.path.exists(one.__cached__))"
    assert subprocess.run([str(python), "-B", "-c", code], env=environment, check=False).returncode == 0
