"""A workspace to try things on, with a person who is always there and a clock that can be set."""

import hashlib
import importlib.util
import inspect
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from ringi.app.api import Workspace, open_workspace
from ringi.app.store import Store
from ringi.approvals.document import ApprovalRequest, RequiredProof, TypedAnswer
from ringi.approvals.signers import digest_of
from ringi.kernel.text import Text
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ALL_SPECS, ActionSpec, SpecSelection

ROOT: Final = Path(__file__).resolve().parents[1]
NOBODY: Final = 65534
PYTHON: Final = os.path.realpath(sys.executable)
"""For what needs nothing else: a script can begin with it, and a sandbox shows it, wherever the clone is."""
HELLO: Final = 'def hello():\n    return "hello"\n'
PATIENCE_SEC: Final = 120.0
"""How long a test waits for what must happen; only one that fails gets to the end of it."""
_START: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FILES: Final = {"README.md": "# Sample\n", "app/hello.py": HELLO}


class Person:
    """Always there, unless a test says why not."""

    def __init__(self, why: Text | None = None) -> None:
        self.why = why

    def agent(self) -> Text | None:
        return None

    def refusal(self) -> Text | None:
        return self.why

    def name(self) -> str:
        return "/dev/pts/7"

    def since(self) -> str:
        return ""

    def user(self) -> str:
        return "hanako"

    def requester(self) -> str:
        return f"user:{self.user()}"


def accept_signers(workspace: Workspace, proof: RequiredProof | None = None) -> None:
    """As a person does with `ringi config signers --accept`."""
    subject = workspace.signers.draft(lists=True, proof=proof)
    workspace.signers.accept(subject, "hanako", TypedAnswer(digest_of(subject), "y"))


def accept_signers_in(root: Path) -> None:
    with open_workspace(root, person=Person()) as workspace:
        accept_signers(workspace)


class SetClock:
    """Goes with the system's until a test holds it, and then stands still until the test moves it."""

    def __init__(self, *, held: bool = True) -> None:
        self._moment = _START if held else None

    def hold(self) -> None:
        self._moment = _START

    def now(self) -> str:
        return self.after(0)

    def after(self, seconds: float) -> str:
        moment = self._moment or datetime.now(UTC)
        return (moment + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def pass_by(self, seconds: float) -> None:
        assert self._moment
        self._moment += timedelta(seconds=seconds)


def rewire(workspace: Workspace, **parts: object) -> None:
    """With these in place of what its tools know of the world."""
    workspace.__dict__.update(parts)


def ledger_of(workspace: Workspace) -> Store:
    """The store itself, for what no tool of a workspace tells."""
    store = workspace.store
    assert isinstance(store, Store)
    return store


def visible_folder() -> str:
    """For projects that a sandbox shows: it has another /tmp and /dev."""
    return os.environ.get("TESTS_VISIBLE", "/var/tmp")


def environment_of(tmp_path: Path, **variables: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "RINGI_STATE_DIR": str(tmp_path / "state"),
        "RINGI_CACHE_DIR": str(tmp_path / "cache"),
        **variables,
    }


def make_files(root: Path, files: Mapping[str, str | bytes]) -> None:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)


def deep_folders(top: Path, count: int, name: str = "d", mode: int = 0o755) -> None:
    """Folders in each other, and a file in the innermost; their path may be longer than the system takes.

    The mode is that of the innermost.
    """
    at = os.open(top, os.O_RDONLY)
    try:
        for _ in range(count):
            os.mkdir(name, dir_fd=at)
            inner = os.open(name, os.O_RDONLY, dir_fd=at)
            os.close(at)
            at = inner
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=at))
        os.fchmod(at, mode)
    finally:
        os.close(at)


@contextmanager
def shallow_stack(depth: int = 150) -> Iterator[None]:
    """Calls may be nested only so deep: what would end at some depth ends sooner."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + depth)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def copied(repository: Path, to: Path) -> Path:
    shutil.copytree(repository, to, symlinks=True)
    # The index also remembers the inodes of the files it lists.
    subprocess.run(["git", "update-index", "-q", "--refresh"], cwd=to, check=True)
    return to


def open_scratch(
    tmp_path: Path,
    files: Mapping[str, str | bytes] = FILES,
    *,
    person: Person | None = None,
    **variables: str,
) -> Workspace:
    """The workspace `tmp_path/ws`; made with these files the first time."""
    root = tmp_path / "ws"
    if not root.exists():
        (root / ".agent").mkdir(parents=True)
        make_files(root, files)
    return open_workspace(
        root,
        environment=environment_of(tmp_path, **variables),
        person=person or Person(),
        clock=SetClock(held=False),
        at_once=True,
    )


def set_clock(workspace: Workspace) -> SetClock:
    """The clock of a scratch workspace, which stands still from now on."""
    clock = workspace.clock
    assert isinstance(clock, SetClock)
    clock.hold()
    return clock


def write(path: str, content: str, **more: object) -> ActionSpec:
    return ActionSpec(SpecKind.WRITE, path, content, **more)


def create(path: str, content: str, **more: object) -> ActionSpec:
    return ActionSpec(SpecKind.CREATE, path, content, **more)


def delete(path: str, **more: object) -> ActionSpec:
    return ActionSpec(SpecKind.DELETE, path, **more)


def proposed(workspace: Workspace, *specs: ActionSpec, title: str = "A change") -> str:
    plan_id = workspace.plan.propose(title)
    if specs:
        report = workspace.plan.set_action_specs(plan_id, specs)
        assert report.ok, report.issues
    return plan_id


def answer(request: ApprovalRequest) -> TypedAnswer:
    """What a person types who has seen exactly this request; right for every risk."""
    return TypedAnswer(request.digest, request.digest[:6])


def approve(workspace: Workspace, plan_id: str, selection: SpecSelection = ALL_SPECS) -> None:
    request = workspace.plan.ask(plan_id, selection)
    workspace.plan.approve(plan_id, "hanako", selection, answer(request))


def approved(workspace: Workspace, *specs: ActionSpec) -> str:
    plan_id = proposed(workspace, *specs)
    approve(workspace, plan_id)
    return plan_id


def undo(workspace: Workspace, plan_id: str) -> None:
    request, _ = workspace.plan.ask_undo(plan_id)
    assert workspace.plan.undo(plan_id, "hanako", answer(request)).overall_success


def fingerprint(root: Path, *, agent: bool = False) -> dict[str, str]:
    """Every byte, mode and link below the folder; what ringi writes out for people only if asked for."""
    found = {}
    for place, folders, names in os.walk(root):
        if not agent and Path(place) == root:
            folders[:] = [name for name in folders if name != ".agent"]
        for name in folders + names:
            path = Path(place, name)
            mode = path.lstat().st_mode
            data = b""
            if stat.S_ISLNK(mode):
                data = os.fsencode(path.readlink())
            elif stat.S_ISREG(mode):
                data = path.read_bytes()
            found[str(path.relative_to(root))] = f"{mode:o} {hashlib.sha256(data).hexdigest()}"
    return found


def _unless_gone(_call: object, _path: str, error: tuple[object, BaseException, object]) -> None:
    """What the program throws away is erased in the background, possibly at the same moment."""
    if not isinstance(error[1], FileNotFoundError):
        raise error[1]


@contextmanager
def rewinding(*folders: Path) -> Iterator[Callable[[], None]]:
    """A call puts the folders back as they are now: that is quicker than to make them anew."""
    with tempfile.TemporaryDirectory(prefix="ringi-test-") as kept:
        copies = [Path(kept, str(number)) for number in range(len(folders))]
        for folder, copy in zip(folders, copies, strict=True):
            shutil.copytree(folder, copy, symlinks=True)

        def rewind() -> None:
            for folder, copy in zip(folders, copies, strict=True):
                for child in folder.iterdir():
                    if child.is_dir() and not child.is_symlink():
                        shutil.rmtree(child, onerror=_unless_gone)
                    else:
                        child.unlink()
                shutil.copytree(copy, folder, symlinks=True, dirs_exist_ok=True)

        yield rewind


@contextmanager
def untouched(root: Path, *, agent: bool = False) -> Iterator[None]:
    before = fingerprint(root, agent=agent)
    yield
    assert fingerprint(root, agent=agent) == before


def statuses(workspace: Workspace) -> dict[str, str]:
    return {ref.id: str(ref.status) for ref in workspace.plan.list()}


def kinds(workspace: Workspace, plan_id: str) -> list[str]:
    return [str(logged.event.event) for logged in workspace.log(plan_id)]


def assert_whole(workspace: Workspace) -> None:
    """The log holds together and the files in .agent say what the ledger says."""
    assert [str(text) for text in workspace.verify_log()] == []
    assert workspace.upkeep._projection.differences(ledger_of(workspace)) == []


@contextmanager
def reachable_folder() -> Iterator[Path]:
    """A folder that every user can reach and write to; pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="ringi-test-"))
    folder.chmod(0o777)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def steps_of(work: Callable[[], object]) -> int:
    """How many calls the work takes: what a stop-watch would say, were it not for the rest of the machine."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def open_descriptors() -> list[str]:
    return sorted(path.name for path in Path("/dev/fd").iterdir())


def in_child(work: Callable[[], None], *, uid: int | None = None) -> int:
    """Runs it in a forked child, as another user if one is named; answers with the exit code."""
    import ctypes  # noqa: F401  # the other user may not be able to read Python's own files
    import sqlite3  # noqa: F401  # as above

    with warnings.catch_warnings():
        # Newer Pythons warn of threads; those of the test runner hold no lock that the child needs.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            if uid is not None and os.getuid() == 0:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)
            work()
            code = 0
        except BaseException as error:  # noqa: BLE001  # the parent has to hear of it
            import traceback

            traceback.print_exception(error)
            sys.stderr.flush()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def python(code: str, *arguments: str, **options: object) -> subprocess.Popen[str]:
    """A process of its own that knows ringi and these helpers."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        text=True,
        stdout=subprocess.PIPE,
        **options,
    )


def modules_after(code: str, *arguments: str, **options: object) -> set[str]:
    """What a fresh Python has loaded when it has run this code; what the code prints is not looked at."""
    last = "\nimport sys; sys.stdout.flush(); sys.stderr.write('\\nLOADED ' + ' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code + last, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SEC,
        check=False,
        **options,
    )
    _, mark, loaded = done.stderr.rpartition("LOADED ")
    assert mark, done.stderr
    return set(loaded.split())


def assert_not_loaded(loaded: Iterable[str], *names: str) -> None:
    """Neither these modules nor any below them. A name that nothing has would always pass: it fails."""
    for name in names:
        assert importlib.util.find_spec(name), f"there is no module {name} any more"
    assert not [one for one in loaded if f"{one}.".startswith(tuple(f"{name}." for name in names))]


def holds_soon(condition: Callable[[], bool]) -> bool:
    """Waits for it; a busy machine may need a while."""
    until = time.monotonic() + PATIENCE_SEC
    while not (held := condition()) and time.monotonic() < until:
        time.sleep(0.02)
    return held
