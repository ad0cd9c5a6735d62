"""Real commands in real folders; in a real sandbox if bubblewrap works."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.config.keys import RunConfig
from ringi.errors import Interrupted, NoSandbox, NoSuchProgram, PathRefused
from ringi.kernel.process import sandbox
from ringi.kernel.process.capture import CommandResult
from ringi.kernel.process.environment import SYSTEM_PATH
from ringi.kernel.process.hidden import Hidden, find_hidden
from ringi.kernel.process.sandbox import How, Mount, SandboxPlaces, arguments, list_protected, sees
from ringi.kernel.process.supervisor import read_stat
from ringi.tree.commands import WorkspaceCommands
from tests.helpers import python

PATIENCE = 90.0


class Place:
    """A workspace with its own home and state beside it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "ws"
        self.state = base / "state"
        for folder in (self.root / ".agent", self.root / "app", self.state, base / "home"):
            folder.mkdir(parents=True)
        (self.state / "ringi.db").write_text("ledger")
        (self.root / ".agent" / "config.yaml").write_text("language: ja\n")
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(base / "home")}

    def commands(self, kind: str = "off", *, output_bytes: int = 65536, **more: object) -> "Commands":
        environment = self.environment | more.get("environment", {})
        names = more.get("names", ())
        hidden = more.get("hidden", (self.state,))
        settings = RunConfig(kind, environment=names, output_bytes=output_bytes)
        path = more.get("environment", {}).get("PATH", SYSTEM_PATH)
        return Commands(self.root, environment, settings, hidden, sandbox_path=path)

    def sh(
        self,
        script: str,
        kind: str = "off",
        *,
        folder: str = "",
        timeout_sec: float = PATIENCE,
        **more: object,
    ):
        return self.commands(kind, **more).run(["sh", "-c", script], folder, timeout_sec=timeout_sec)


class Commands(WorkspaceCommands):
    """As it was approved: in a sandbox where there is one."""

    def run(self, argv, folder, *, timeout_sec, sandboxed=None):
        boxed = self.uses_sandbox() if sandboxed is None else sandboxed
        return super().run(argv, folder, timeout_sec=timeout_sec, sandboxed=boxed)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def boxed(place: Place) -> Place:
    if not place.commands("auto").uses_sandbox():
        pytest.skip("bubblewrap is not installed here or not allowed to work")
    return place


def gone(pid: int) -> bool:
    until = time.monotonic() + PATIENCE
    while (found := read_stat(pid)) is not None and not found.dead:
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


# Without a sandbox


@pytest.mark.req("PT-7")
def test_arguments_are_no_shell_words(place: Place):
    ran = place.commands().run(["printf", "%s|", "a b", "$HOME", ";", "*", ""], "", timeout_sec=PATIENCE)
    assert ran._replace(duration_sec=0) == CommandResult(0, 0, b"a b|$HOME|;|*||")


def test_folder_exit_code_and_both_outputs(place: Place):
    ran = place.sh('pwd; echo "$PWD"; echo wrong >&2; exit 3', folder="app")
    assert (ran.exit_code, ran.text) == (3, f"{place.root}/app\n{place.root}/app\nwrong\n")
    assert place.sh("kill -KILL $$").exit_code == 137


def test_it_has_neither_input_nor_terminal_and_leads_a_session(place: Place):
    assert place.sh("cat; (: < /dev/tty) 2>/dev/null || echo none").text == "none\n"
    code = "import os; print(os.getsid(0) == os.getpgid(0) == os.getpid())"
    assert place.commands().run([sys.executable, "-c", code], "", timeout_sec=PATIENCE).text == "True\n"


def test_what_was_left_behind_is_ended(place: Place):
    ran = place.sh("setsid sleep 1000 & echo $! > pid; sleep 1000 & echo over")
    assert (ran.exit_code, ran.text, ran.timed_out) == (0, "over\n", False)
    assert gone(int((place.root / "pid").read_text()))


@pytest.mark.req("PT-7")
def test_the_whole_family_has_one_time(place: Place):
    script = "trap '' TERM; setsid sleep 1000 & echo $! > pid; echo begun; while :; do sleep 1; done"
    ran = place.sh(script, timeout_sec=3)
    assert (ran.exit_code, ran.timed_out, ran.text) == (124, True, "begun\n")
    assert 3 <= ran.duration_sec < PATIENCE
    assert gone(int((place.root / "pid").read_text()))


def test_a_command_that_says_124_itself_was_in_time(place: Place):
    ran = place.sh("exit 124")
    assert (ran.exit_code, ran.output, ran.cut, ran.timed_out) == (124, b"", False, False)


@pytest.mark.req("PT-7")
def test_the_end_of_the_output_is_kept(place: Place):
    ran = place.sh("seq 1 100000", output_bytes=12)
    assert (ran.text, ran.cut) == ("9999\n100000\n", True)
    ran = place.sh("printf 123456789012", output_bytes=12)
    assert (ran.text, ran.cut) == ("123456789012", False)
    assert place.sh(r"printf 'a\377b'").text == "a\ufffdb"


@pytest.mark.req("PT-7")
def test_no_secret_is_passed_on(place: Place):
    secrets = {
        "GITHUB_TOKEN": "x", "AWS_SECRET_ACCESS_KEY": "x", "SSH_AUTH_SOCK": "x", "HTTPS_PROXY": "http://u:p@h",
        "GIT_DIR": "/elsewhere", "LD_PRELOAD": "", "RINGI_STATE_DIR": "x", "XDG_RUNTIME_DIR": "x",
    }  # fmt: skip
    kept = {
        "LANG": "C.UTF-8",
        "LC_TIME": "C",
        "TZ": "UTC",
        "VIRTUAL_ENV": "/venv",
        "CI": "1",
        "PWD": "/wrong",
    }
    environment = secrets | kept | {"MY_FLAG": "1"}
    ran = place.commands(environment=environment, names=("MY_FLAG", "GIT_DIR")).run(
        ["env"], "", timeout_sec=PATIENCE
    )
    passed = dict(line.split("=", 1) for line in ran.text.splitlines())
    assert passed == place.environment | kept | {"MY_FLAG": "1", "PWD": str(place.root)}


@given(st.dictionaries(st.from_regex(r"[A-Z_]{1,20}", fullmatch=True), st.just("x"), max_size=30))
def test_only_named_variables_are_passed_on(environment: dict[str, str]):
    commands = WorkspaceCommands(Path("/"), environment, RunConfig("off", environment=("MY_FLAG",)), ())
    words = ("TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "PROXY", "SOCK", "_KEY", "PRELOAD", "OPTIONS")
    assert not [
        name
        for name in commands._command_environment(environment, Path("/"))
        if any(word in name for word in words)
    ]


@pytest.mark.parametrize(
    "name", ["no-such-program", "./nowhere", "/no/such/program", "", "a\0b", "app", "./app"]
)
def test_a_program_that_is_not_there(place: Place, name: str):
    with pytest.raises(NoSuchProgram) as caught:
        place.commands().run([name], "", timeout_sec=PATIENCE)
    assert caught.value.details["name"] == name


def test_no_words_at_all(place: Place):
    with pytest.raises(NoSuchProgram):
        place.commands().run([], "", timeout_sec=PATIENCE)


@pytest.mark.parametrize(
    ("mode", "text", "why"),
    [
        (0o644, "#!/bin/sh\n", "that may be executed"),
        (0o755, "no interpreter\n", "Exec format error"),
        (0o755, "#!/no/such/interpreter\n", "No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_started(place: Place, mode: int, text: str, why: str):
    script = place.root / "x"
    script.write_text(text)
    script.chmod(mode)
    with pytest.raises(NoSuchProgram, match=why):
        place.commands().run(["./x"], "", timeout_sec=PATIENCE)


def test_an_argument_that_no_system_takes(place: Place):
    with pytest.raises(NoSuchProgram, match="null byte"):
        place.commands().run(["echo", "a\0b"], "", timeout_sec=PATIENCE)


def test_programs_are_looked_up_from_the_folder(place: Place):
    for folder in ("app", "app/bin"):
        (place.root / folder).mkdir(exist_ok=True)
        tool = place.root / folder / "tool"
        tool.write_text(f"#!/bin/sh\necho {folder}\n")
        tool.chmod(0o755)
    path = f"{place.base}/nowhere:bin:{os.environ['PATH']}"
    commands = place.commands(environment={"PATH": path})
    assert commands.run(["./tool"], "app", timeout_sec=PATIENCE).text == "app\n"
    assert commands.run(["tool"], "app", timeout_sec=PATIENCE).text == "app/bin\n"
    with pytest.raises(NoSuchProgram):
        commands.run(["tool"], "", timeout_sec=PATIENCE)


@pytest.mark.req("PT-7")
def test_a_folder_that_leads_out_is_refused(place: Place):
    (place.root / "out").symlink_to(place.base)
    for folder, why in (("out", "leads out"), ("../state", "leads out"), ("nowhere", "not a folder")):
        with pytest.raises(PathRefused, match=why):
            place.sh("true", folder=folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_command(place: Place, number: signal.Signals):
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from ringi.errors import Interrupted\n"
        "from ringi.config.keys import RunConfig\n"
        "from ringi.tree.commands import WorkspaceCommands\n"
        "try:\n"
        "    commands = WorkspaceCommands(Path(sys.argv[1]), os.environ, RunConfig('off'), ())\n"
        "    script = 'echo $$ > part; mv part pid; sleep 1000'\n"
        "    commands.run(['sh', '-c', script], '', timeout_sec=100, sandboxed=False)\n"
        "except Interrupted as error:\n"
        "    print(error.code)\n"
    )
    driver = python(code, str(place.root))
    until = time.monotonic() + PATIENCE
    while not (place.root / "pid").exists() and time.monotonic() < until:
        time.sleep(0.01)
    driver.send_signal(number)
    assert driver.communicate(timeout=PATIENCE)[0] == f"{Interrupted.code}\n"
    assert gone(int((place.root / "pid").read_text()))


# Whether there is a sandbox


def fake_bwrap(folder: Path, script: str) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "bwrap"
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(0o755)
    return {"PATH": str(folder)}


def test_a_sandbox_that_is_not_installed(place: Place):
    nothing = {"PATH": str(place.base / "nowhere")}
    assert not place.commands("off", environment=nothing).uses_sandbox()
    assert not place.commands("auto", environment=nothing).uses_sandbox()
    required = place.commands("required", environment=nothing)
    with pytest.raises(NoSandbox, match="not installed"):
        required.uses_sandbox()
    with pytest.raises(NoSandbox):
        required.run(["/bin/sh", "-c", "touch made"], "", timeout_sec=PATIENCE)
    assert not (place.root / "made").exists()


@pytest.mark.req("PT-7")
def test_a_sandbox_that_does_not_work(place: Place):
    count = place.base / "count"
    tried = fake_bwrap(place.base / "bin", f"echo x >> {count}\necho 'bwrap: not permitted' >&2\nexit 1\n")
    for _ in range(3):
        assert not place.commands("auto", environment=tried).uses_sandbox()
    assert count.read_text() == "x\n"
    with pytest.raises(NoSandbox, match="exit code 1: not permitted"):
        place.commands("required", environment=tried).uses_sandbox()
    ran = place.commands("auto", environment=tried).run(
        ["/bin/sh", "-c", "echo ran"], "", timeout_sec=PATIENCE
    )
    assert ran.text == "ran\n"


def test_a_sandbox_that_cannot_be_started(place: Place):
    tried = fake_bwrap(place.base / "bin", "")
    (place.base / "bin" / "bwrap").write_text("no program")
    with pytest.raises(NoSandbox, match="cannot be started"):
        place.commands("required", environment=tried).uses_sandbox()


@pytest.mark.req("PT-7")
def test_nobody_else_brings_a_sandbox(place: Place):
    """One in PATH that does nothing would let everything through."""
    fake = fake_bwrap(place.base / "bin", "exit 0\n")
    found = WorkspaceCommands(place.root, place.environment | fake, RunConfig("auto"), ())._bwrap()
    assert found is None or Path(found).parent != place.base / "bin"


def test_approved_for_a_sandbox_and_there_is_none(place: Place):
    nothing = {"PATH": str(place.base / "nowhere")}
    with pytest.raises(NoSandbox):
        place.commands("auto", environment=nothing).run(["true"], "", timeout_sec=PATIENCE, sandboxed=True)


# What is mounted, as words


def paths(*names: str) -> list[Path]:
    return [Path(name) for name in names]


def mounts(root: Path, read_only: list[Path], hidden: list[Path]) -> tuple[Mount, ...]:
    places = SandboxPlaces((Mount(root, How.WRITE),), Hidden(tuple(hidden)), tuple(read_only))
    return sandbox.mounts(places)


def test_the_words_for_a_usual_workspace():
    chosen = mounts(Path("/home/u/ws"), paths("/home/u/ws/.agent"), paths("/run", "/home/u/.config/ringi"))
    assert " ".join(arguments(chosen, Path("/home/u/ws/app"))) == (
        "--unshare-all --cap-drop ALL --new-session --die-with-parent "
        "--ro-bind / / --proc /proc --dev /dev --tmpfs /tmp --tmpfs /run "
        "--ro-bind-try /run/current-system /run/current-system --ro-bind-try /proc/sys /proc/sys "
        "--bind /home/u/ws /home/u/ws --ro-bind /home/u/ws/.agent /home/u/ws/.agent "
        "--tmpfs /home/u/.config/ringi "
        "--remount-ro /run --remount-ro /home/u/.config/ringi "
        "--chdir /home/u/ws/app --"
    )


PARTS = st.sampled_from(["a", "b", "tmp", "home", "ws", ".agent"])
PATHS = st.lists(PARTS, min_size=1, max_size=5).map(lambda parts: Path("/", *parts))


@given(PATHS, st.lists(PATHS, max_size=6))
def test_the_workspace_is_seen_and_what_is_hidden_is_not(root: Path, hidden: list[Path]):
    chosen = mounts(root, [root / ".agent"], hidden)
    order = [len(mount.path.parts) for mount in chosen]
    assert order == sorted(order)
    assert sees(chosen, root)
    assert sees(chosen, root / "file")
    for path in hidden:
        # Visible only on the way to the workspace, which the person wants worked in.
        assert path == root or not sees(chosen, path / "secret") or (path / "secret").is_relative_to(root)
        if path != root and path.is_relative_to(root):
            assert not sees(chosen, path / "secret")
    over = [mount for mount in chosen if (root / ".agent" / "x").is_relative_to(mount.path)]
    assert over[-1].how is not How.WRITE


def test_what_is_hidden_in_something_hidden_is_not_named():
    chosen = mounts(Path("/ws"), [], paths("/a", "/a/b", "/a/c/d"))
    assert [mount.path for mount in chosen if mount.sealed] == paths("/a")


def test_a_link_is_hidden_where_it_leads(place: Place):
    (place.base / "link").symlink_to(place.state)
    found = find_hidden(place.environment, (place.base / "link", place.base / "nowhere"))
    assert place.state in found.folders
    assert place.base / "nowhere" not in found.folders
    assert list_protected(place.root) == (place.root / ".agent",)
    shutil.rmtree(place.root / ".agent")
    assert list_protected(place.root) == ()


# In the sandbox


@pytest.mark.req("PT-7")
def test_only_the_workspace_can_be_written(boxed: Place):
    script = (
        "echo new > made; mkdir -p app/deep; echo x > app/deep/file; rm -f made2\n"
        'for path in "$HOME/x" /etc/ringi-x /usr/x .agent/config.yaml .agent/new; do\n'
        '  (echo x > "$path") 2>/dev/null && echo "wrote $path"\n'
        "done; rm -rf .agent 2>/dev/null; mv .agent other 2>/dev/null; ls -A\n"
        "echo x > /tmp/scratch && ls /tmp"
    )
    ran = boxed.sh(script, "required")
    assert (boxed.root / "made").read_text() == "new\n"
    assert (boxed.root / ".agent" / "config.yaml").read_text() == "language: ja\n"
    assert list((boxed.base / "home").iterdir()) == []
    assert not Path("/tmp/scratch").exists()
    assert "wrote" not in ran.text
    assert ran.text.split()[:3] == [".agent", "app", "made"]
    assert "scratch" in ran.text.split()


@pytest.mark.req("PT-7")
def test_git_reads_in_the_sandbox_and_writes_nothing(boxed: Place):
    """A hook that a command left there would run outside, later."""
    subprocess.run(["git", "init", "-q"], cwd=boxed.root, check=True)
    who = ["-c", "user.name=x", "-c", "user.email=x@x"]
    commit = ["git", *who, "commit", "-q", "--allow-empty", "-m", "one"]
    subprocess.run(commit, cwd=boxed.root, check=True)
    ran = boxed.sh("git log --format=%s && git status --short", "required")
    assert (ran.exit_code, ran.text.split("\n")[0]) == (0, "one")
    assert boxed.sh("echo x > .git/hooks/pre-commit", "required").exit_code != 0
    assert boxed.sh("rm -rf .git", "required").exit_code != 0
    assert (boxed.root / ".git" / "HEAD").is_file()


@pytest.mark.req("PT-7")
def test_there_is_no_network(boxed: Place):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
        path = os.pathsep.join(sys.path)
        more = {"environment": {"PYTHONPATH": path}, "names": ("PYTHONPATH",)}
        argv = [str(Path(sys.executable).resolve()), "-c", code]
        free = boxed.commands("off", **more).run(argv, "", timeout_sec=PATIENCE)
        ran = boxed.commands("required", **more).run(argv, "", timeout_sec=PATIENCE)
    assert free.exit_code == 0
    assert ran.exit_code == 1
    assert "ConnectionRefusedError" in ran.text or "unreachable" in ran.text


@pytest.mark.req("PT-7")
def test_it_has_no_capabilities_no_other_processes_and_a_session_of_its_own(boxed: Place):
    ran = boxed.sh(
        "grep Cap /proc/self/status; ls -d /proc/[0-9]*; cut -d ' ' -f 6 /proc/$$/stat", "required"
    )
    rows = ran.text.split("\n")
    granted = [row.split()[1] for row in rows if row.startswith(("CapInh", "CapPrm", "CapEff", "CapAmb"))]
    assert granted == ["0" * 16] * 4
    assert len([row for row in rows if row.startswith("/proc/")]) <= 4
    assert int(rows[-2]) > 0  # a session of outside would have the number 0 here


@pytest.mark.req("PT-7")
@pytest.mark.parametrize("inside", [True, False])
def test_hidden_folders_are_empty(boxed: Place, inside: bool):
    folder = boxed.root / "private" if inside else boxed.state
    folder.mkdir(exist_ok=True)
    (folder / "secret").write_text("secret")
    ran = boxed.sh(
        f"ls -A {folder}; cat {folder}/secret; echo x > {folder}/new", "required", hidden=(folder,)
    )
    assert ran.exit_code != 0
    assert "cannot create" in ran.text or "nonexistent" in ran.text or "Read-only" in ran.text
    assert sorted(path.name for path in folder.iterdir() if path.name != "ringi.db") == ["secret"]


@pytest.fixture
def elsewhere() -> Iterator[Place]:
    """Not below /tmp, which is empty in the sandbox anyway."""
    import tempfile

    base = Path("/var/tmp")
    with tempfile.TemporaryDirectory(prefix="ringi-test-", dir=base) as folder:
        found = Place(Path(folder).resolve())
        if not found.commands("auto").uses_sandbox():
            pytest.skip("bubblewrap is not installed here or not allowed to work")
        yield found


@pytest.mark.req("PT-7")
def test_a_workspace_below_something_hidden_is_seen(elsewhere: Place):
    more = {"hidden": (elsewhere.base, elsewhere.state)}
    script = f"ls {elsewhere.base}; ls -A; echo x > made; echo x > {elsewhere.base}/y || echo refused"
    ran = elsewhere.sh(script, "required", **more)
    words = ran.text.split()
    assert (words[:3], words[-1]) == (["ws", ".agent", "app"], "refused")
    assert (elsewhere.root / "made").exists()
    assert not (elsewhere.base / "y").exists()


@pytest.mark.req("PT-7")
def test_beside_the_workspace_hidden_folders_are_empty_and_the_rest_is_read_only(elsewhere: Place):
    script = (
        f"ls -A {elsewhere.state} | wc -l; echo x > {elsewhere.state}/y || echo refused\n"
        f"ls {elsewhere.base}; echo x > {elsewhere.base}/z || echo refused"
    )
    ran = elsewhere.sh(script, "required")
    words = [word for word in ran.text.split() if word in {"0", "refused", "home", "state", "ws"}]
    assert words == ["0", "refused", "home", "state", "ws", "refused"]
    assert (elsewhere.state / "ringi.db").read_text() == "ledger"


@pytest.mark.req("PT-7")
def test_what_is_hidden_cannot_be_uncovered(elsewhere: Place):
    """Not even by a command that makes itself an administrator of a world of its own."""
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    state, ours = elsewhere.state, elsewhere.root / ".agent"
    for attempt in (f"umount {state}", f"umount -l {ours}", f"mount -o remount,rw,bind {ours}"):
        script = f"{attempt}; cat {state}/ringi.db; echo x > {ours}/new"
        ran = elsewhere.commands("required").run(
            ["unshare", "-Urm", "sh", "-c", script], "", timeout_sec=PATIENCE
        )
        assert "ledger" not in ran.text
    assert sorted(path.name for path in ours.iterdir()) == ["config.yaml"]


@pytest.mark.req("PT-7")
def test_sockets_of_the_system_cannot_be_reached(boxed: Place):
    ran = boxed.sh("ls /run/ | grep -v current-system; ls /var/run/ | grep -v current-system", "required")
    assert ran.text == ""


def test_a_program_out_of_sight_is_named(boxed: Place):
    tool = boxed.state / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    (boxed.root / "link").symlink_to(tool)
    for name in (str(tool), "./link"):
        with pytest.raises(NoSuchProgram, match="seen in the sandbox"):
            boxed.commands("required").run([name], "", timeout_sec=PATIENCE)


@pytest.mark.req("PT-7")
def test_the_sandbox_has_the_same_time_exit_codes_and_output(boxed: Place):
    assert boxed.sh("exit 7", "required").exit_code == 7
    assert boxed.sh("kill -TERM $$", "required").exit_code == 143
    ran = boxed.sh(
        "pwd; echo $PWD; echo ${TMPDIR-none}", "required", folder="app", environment={"TMPDIR": "/x"}
    )
    assert ran.text == f"{boxed.root}/app\n" * 2 + "none\n"
    ran = boxed.sh("trap '' TERM; echo begun; while :; do sleep 1; done", "required", timeout_sec=1)
    assert (ran.exit_code, ran.timed_out, ran.text) == (124, True, "begun\n")


def test_what_a_sandboxed_command_left_behind_is_ended(boxed: Place):
    # Its number outside is not known inside, so it is found by its words.
    mark = f"10{os.getpid()}.5"
    assert boxed.sh(f"setsid sleep {mark} & sleep 0.1; echo over", "required").text == "over\n"
    found = [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in _read(path)]
    assert found == []


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
