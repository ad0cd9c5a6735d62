"""Every test runs in a world of its own: no settings of the person, the agent or git reach it."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tools import catalog

from ringi.agents.recognition import PRIVATE_VARIABLES

# No deadlines: a busy machine is no failure.
settings.register_profile(
    "default", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("default"), max_examples=200, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# `nohup make test &` lets every process ignore the signals that tests send and expect to work.
for number, usual in (
    (signal.SIGHUP, signal.SIG_DFL),
    (signal.SIGTERM, signal.SIG_DFL),
    (signal.SIGQUIT, signal.SIG_DFL),
    (signal.SIGINT, signal.default_int_handler),
):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, usual)


# Whoever runs pytest without make sees the translations that are there now.
catalog.compile_all()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as processors: much of the time goes into waiting for terminals."""
    processors = os.cpu_count() or 1
    return processors + processors // 2


LOOKS = (
    "LC_",
    "LANGUAGE",
    "NO_COLOR",
    "FORCE_COLOR",
    "COLUMNS",
    "LINES",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "LESS",
)
AGENTS = (
    "CLAUDE",
    "CODEX_",
    "GEMINI_",
    "AIDER_",
    "CURSOR_",
    "OPENCODE",
    "COPILOT_",
    "GOOSE_",
    "AMP_",
    "AGENT",
    *PRIVATE_VARIABLES,
)
FOREIGN = ("RINGI_", "GIT_", "XDG_", *LOOKS, *AGENTS)

GIT_SETTINGS = """\
[user]
    name = Test Person
    email = person@example.invalid
[init]
    defaultBranch = main
[commit]
    gpgSign = false
[gc]
    auto = 0
[maintenance]
    auto = false
"""


@pytest.fixture(autouse=True)
def isolated(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own; `tmp_path` stays empty for the test."""
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith(FOREIGN)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for variable, folder in (("STATE", "state"), ("CACHE", "cache"), ("CONFIG", "config")):
        (home / folder).mkdir()
        monkeypatch.setenv(f"XDG_{variable}_HOME", str(home / folder))
    monkeypatch.setenv("LANG", "C.UTF-8")
    (home / "gitconfig").write_text(GIT_SETTINGS)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return home


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A git repository with two files and one commit."""
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "README.md").write_text("# Sample\n")
    (folder / "app").mkdir()
    (folder / "app" / "hello.py").write_text('def hello():\n    return "hello"\n')
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder
