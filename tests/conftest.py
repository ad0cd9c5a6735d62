"""Every test runs in a world of its own: no settings of the person, the agent or git reach it."""

import atexit
import ctypes
import gc
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tools import catalog

from ringi.agents.agent_above import PRIVATE_VARIABLES
from tests.helpers import copied, visible_folder
from tests.search_path import search_path

# No deadlines: a busy machine is no failure.
# `make campaign` tries forty times as many.
settings.register_profile(
    "default", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("default"), print_blob=True)
settings.register_profile("campaign", settings.get_profile("ci"), max_examples=1000)
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


os.umask(0o022)  # what most have; tests of others set them

# In memory if there is room: the ledger syncs at every step, and no test's disk has to outlive it.
MEMORY = Path("/dev/shm")  # pytest makes folders of its own there
ROOM = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 4 << 30
if ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

_NEW_MOUNTS, _SLAVE, _RECURSIVE, _DETACH = 0x20000, 1 << 19, 1 << 14, 2
_ASKED_FOR = {"RINGI_CAMPAIGN", "RINGI_COLD"}


def mount_memory() -> None:
    """Puts projects of tests into memory, where a sandbox shows them: only we and what we start see it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_MOUNTS) or libc.mount(None, b"/", None, _SLAVE | _RECURSIVE, None):
        return
    folder = tempfile.mkdtemp(prefix="ringi-tests-", dir=visible_folder())
    atexit.register(os.rmdir, folder)
    if libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, b"mode=1777") == 0:
        atexit.register(libc.umount2, folder.encode(), _DETACH)
        os.environ["TESTS_VISIBLE"] = folder


# Suites that are started on their own need more room than that.
if (
    ROOM
    and "PYTEST_XDIST_WORKER" not in os.environ
    and os.geteuid() == 0
    and not [name for name in os.environ if name.startswith("RINGI_") and name not in _ASKED_FOR]
):
    mount_memory()

if "PYTEST_XDIST_WORKER" not in os.environ:  # workers get the one of the process that started them
    os.environ["PATH"] = search_path(os.environ.get("PATH", os.defpath))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as processors: much of the time goes into waiting for terminals."""
    processors = os.cpu_count() or 1
    return processors + processors // 2


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Tests, modules and strategies stay: no need to look through them again and again for garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


MOST_PROCESSOR_SEC = 60
"""No test asserts a time; one that takes this much work of the processor has blown up, on any machine."""


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    def blown_up(*_: object) -> None:
        raise AssertionError(f"this test kept the processor busy for {MOST_PROCESSOR_SEC} seconds")

    signal.signal(signal.SIGVTALRM, blown_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_PROCESSOR_SEC)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)


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


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """Whoever uses it gets ordinary paths: memory lies below /dev, of which sandbox and hook are wary."""
    with tempfile.TemporaryDirectory(prefix="ringi-test-") as folder:
        yield Path(folder).resolve()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return _on_disk(request, "tmp") or tmp_path


def _on_disk(request: pytest.FixtureRequest, name: str) -> Path | None:
    if "on_disk" not in request.fixturenames:
        return None
    place: Path = request.getfixturevalue("on_disk") / name
    place.mkdir()
    return place


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders for homes. pytest's own factory looks at all that it made before, thousands of them."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def isolated(request: pytest.FixtureRequest, homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own; `tmp_path` stays empty for the test."""
    home = _on_disk(request, "home")
    if home is None:
        home = next(homes)
        home.mkdir()
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


@pytest.fixture(scope="session")
def first_commit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository with two files and one commit, to be copied."""
    folder = tmp_path_factory.mktemp("first") / "repo"
    (folder / "app").mkdir(parents=True)
    (folder / "README.md").write_text("# Sample\n")
    (folder / "app" / "hello.py").write_text('def hello():\n    return "hello"\n')
    settings = folder.with_name("gitconfig")
    settings.write_text(GIT_SETTINGS)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": str(settings), "GIT_CONFIG_NOSYSTEM": "1"}
    for command in ("init -q --template=", "add -A", "commit -q -m first"):
        subprocess.run(["git", *command.split()], cwd=folder, env=environment, check=True)
    for name in ("hooks", "info"):
        (folder / ".git" / name).mkdir(exist_ok=True)
    return folder


@pytest.fixture
def repo(tmp_path: Path, first_commit: Path) -> Path:
    """A git repository with two files and one commit."""
    return copied(first_commit, tmp_path / "repo")
