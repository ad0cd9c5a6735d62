"""What git writes into a person's repository is synced, whatever their configuration says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ringi.approvals.statement import NOTES
from ringi.kernel.process.durable import DurableGit
from ringi.kernel.process.repository import Repository
from ringi.provenance.exchange import GitTransport
from ringi.tree.personal_git import PersonalGit
from tests.helpers import ROOT

WEAK = {
    "core.fsync": "none",
    "core.fsyncMethod": "writeout-only",
    "core.fsyncObjectFiles": "false",
    "fastimport.unpackLimit": "1000",
    "fetch.unpackLimit": "1000",
    "transfer.unpackLimit": "1000",
}
WANTED = ["all", "fsync", "1", "1", "1"]
ASKED = [
    "core.fsync",
    "core.fsyncMethod",
    "fastimport.unpackLimit",
    "fetch.unpackLimit",
    "transfer.unpackLimit",
]


@pytest.fixture
def weak(repo: Path) -> Path:
    for name, value in WEAK.items():
        subprocess.run(["git", "config", name, value], cwd=repo, check=True)
    return repo


def test_no_configuration_weakens_it(weak: Path) -> None:
    repository = Repository.at(weak)
    assert repository is not None
    personal, network = PersonalGit(weak, dict(os.environ)), GitTransport(weak, dict(os.environ))
    ways = (
        lambda name: DurableGit(repository).write("config", "--get", name).decode(),
        lambda name: personal.work("config", "--get", name).decode(),
        lambda name: network.run("config", "--get", name).stdout,
    )
    for ask in ways:
        assert [ask(name).strip() for name in ASKED] == WANTED


def test_no_variable_switches_it_off(weak: Path) -> None:
    network = GitTransport(weak, {**os.environ, "GIT_TEST_FSYNC": "0"})
    assert network.run("-c", "alias.x=!printenv GIT_TEST_FSYNC || echo none", "x").stdout.strip() == "none"


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_what_is_synced(weak: Path) -> None:
    """The pack, its index and the ref before they get their names; then the log and every folder."""
    script = (
        "import os, sys; from pathlib import Path\n"
        "from ringi.provenance.repository import GitRepository\n"
        "GitRepository(Path(sys.argv[1]), dict(os.environ)).attach(b'one', ['1' * 40])\n"
    )
    words = ["strace", "-f", "-y", "-e", "trace=fsync", sys.executable, "-c", script, str(weak)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if "ptrace" in done.stderr:
        pytest.skip("strace may not trace here")
    top = f"{os.path.realpath(weak)}/.git/"
    synced = [path.removeprefix(top) for path in re.findall(r"fsync\(\d+<([^>]*)>", done.stderr)]
    kinds = [re.sub(r"tmp_(pack|idx)_\w+", r"\1", path) for path in synced]
    assert kinds[:3] == ["objects/pack/pack", "objects/pack/idx", f"{NOTES}.lock"]
    assert {f"logs/{NOTES}", "objects/pack", "refs/notes", "refs", "logs/refs/notes", "logs/refs"} <= {*kinds}
