"""Real commands at once, each below a supervisor of its own, with processes that try to get away."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ringi
from ringi.kernel.process.capture import CommandResult, at_most, last, run, shell
from ringi.kernel.process.supervisor import read_stat
from tests.helpers import holds_soon

PATIENCE = 60.0
ENV = {**os.environ, "PYTHONPATH": str(Path(ringi.__file__).parents[1]), "LC_ALL": "C"}
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the group is ended")

# Each leaves a process of its own behind and writes its number into a file.
ESCAPES = {
    "setsid": "setsid sh -c 'echo $$ > {file}; exec sleep 1000' &",
    "twice": "(setsid sh -c '(sh -c \"echo \\$\\$ > {file}; exec sleep 1000\" &) ; exit' &)",
    "bare": "env -i setsid sh -c 'echo $$ > {file}; exec sleep 1000' &",
    "deaf": "(env -i setsid sh -c 'trap \"\" TERM HUP INT; echo $$ > {file}; while :; do sleep 1; done' &)",
    "nohup": "nohup sh -c 'echo $$ > {file}; exec sleep 1000' > /dev/null 2>&1 &",
}


def is_gone(pid: int) -> bool:
    found = read_stat(pid)
    return found is None or found.dead


def number_in(file: Path) -> int:
    assert holds_soon(lambda: file.exists() and file.read_text().endswith("\n"))
    return int(file.read_text())


def escaping(folder: Path, then: str) -> str:
    """Starts one process of each kind, waits for them, goes on."""
    lines = [line.format(file=folder / name) for name, line in ESCAPES.items()]
    waits = [f"while [ ! -s {folder / name} ]; do sleep 0.02; done" for name in ESCAPES]
    return "\n".join([*lines, *waits, then])


def all_gone(folder: Path) -> bool:
    return all(is_gone(number_in(folder / name)) for name in ESCAPES)


@pytest.fixture
def drivers() -> Iterator[list["subprocess.Popen[bytes]"]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for driver in started:
        driver.kill()
        driver.wait(PATIENCE)


def driver(folder: Path, script: str) -> "subprocess.Popen[bytes]":
    """A ringi that runs one command."""
    code = (
        "import os, sys\nfrom pathlib import Path\n"
        "from ringi.kernel.process.capture import last, run, shell\n"
        "run(shell(sys.argv[1]), cwd=Path.cwd(), env=os.environ, timeout_sec=1000, output=last(100))\n"
    )
    return subprocess.Popen([sys.executable, "-c", code, script], cwd=folder, env=ENV)


@on_linux
class TestMany:
    def test_ten_at_once_end_what_is_theirs_and_nothing_else(self, tmp_path: Path) -> None:
        folders = [tmp_path / str(number) for number in range(10)]
        for folder in folders:
            folder.mkdir()
        # One of them goes on while the nine others end, and so do its processes.
        (held, *others), barrier = folders, threading.Barrier(10)

        def one(folder: Path) -> CommandResult:
            barrier.wait(PATIENCE)
            wait = f"while [ ! -e {folder / 'go'} ]; do sleep 0.02; done; " if folder is held else ""
            script = escaping(folder, f"{wait}echo {folder.name}; exit {folder.name}")
            return run(shell(script), cwd=folder, env=ENV, timeout_sec=PATIENCE, output=last(1000))

        with ThreadPoolExecutor(10) as pool:
            running = {folder: pool.submit(one, folder) for folder in folders}
            ended = {folder: running[folder].result(2 * PATIENCE) for folder in others}
            assert all(map(all_gone, others))
            assert not any(is_gone(number_in(held / name)) for name in ESCAPES)
            (held / "go").touch()
            ended[held] = running[held].result(2 * PATIENCE)
        assert all_gone(held)
        for folder, ran in ended.items():
            assert (ran.exit_code, ran.text, ran.timed_out) == (int(folder.name), f"{folder.name}\n", False)

    def test_a_timeout_ends_its_own_command_alone(self, tmp_path: Path) -> None:
        folders = [tmp_path / "slow", tmp_path / "quick"]
        for folder in folders:
            folder.mkdir()
        slow, quick = folders

        def one(folder: Path) -> CommandResult:
            seconds = 5.0 if folder is slow else PATIENCE
            wait = "sleep 1000" if folder is slow else f"while [ ! -e {quick / 'go'} ]; do sleep 0.02; done"
            script = escaping(folder, wait)
            return run(shell(script), cwd=folder, env=ENV, timeout_sec=seconds, output=last(1000))

        with ThreadPoolExecutor(2) as pool:
            running = {folder: pool.submit(one, folder) for folder in folders}
            assert running[slow].result(2 * PATIENCE).timed_out
            assert all_gone(slow)
            assert not any(is_gone(number_in(quick / name)) for name in ESCAPES)
            (quick / "go").touch()
            assert running[quick].result(2 * PATIENCE).exit_code == 0
        assert all_gone(quick)


@on_linux
class TestDeath:
    def test_when_ringi_is_killed_all_of_its_command_ends(
        self, tmp_path: Path, drivers: list["subprocess.Popen[bytes]"]
    ) -> None:
        script = escaping(tmp_path, "echo $$ > main; trap '' TERM; while :; do sleep 1; done")
        drivers.append(driver(tmp_path, script))
        main = number_in(tmp_path / "main")
        drivers[0].kill()
        assert holds_soon(lambda: is_gone(main) and all_gone(tmp_path))

    def test_another_ringi_is_not_touched(
        self, tmp_path: Path, drivers: list["subprocess.Popen[bytes]"]
    ) -> None:
        for name in ("killed", "other"):
            (tmp_path / name).mkdir()
            drivers.append(driver(tmp_path / name, escaping(tmp_path / name, "echo $$ > main; sleep 1000")))
        main = number_in(tmp_path / "other" / "main")
        number_in(tmp_path / "killed" / "main")
        drivers[0].kill()
        assert holds_soon(lambda: all_gone(tmp_path / "killed"))
        assert not is_gone(main)
        assert not any(is_gone(number_in(tmp_path / "other" / name)) for name in ESCAPES)
        drivers[1].terminate()
        assert drivers[1].wait(PATIENCE) != 0
        assert all_gone(tmp_path / "other")

    def test_a_command_that_kills_its_supervisor_is_ended_by_its_mark(self, tmp_path: Path) -> None:
        leave = "setsid sh -c 'echo $$ > left; exec sleep 1000' & while [ ! -s left ]; do :; done"
        env = {**ENV, "TMPDIR": "/nowhere/of-this-test-alone"}
        ran = run(
            shell(f"{leave}; kill -9 $PPID; sleep 1000"),
            cwd=tmp_path,
            env=env,
            timeout_sec=PATIENCE,
            output=last(100),
            mark="/nowhere/of-this-test-alone",
        )
        assert (ran.exit_code, ran.timed_out) == (128 + signal.SIGKILL, False)
        assert is_gone(number_in(tmp_path / "left"))

    def test_a_command_that_kills_its_supervisor_at_once_has_ended(self, tmp_path: Path) -> None:
        script = "kill -9 $PPID; sleep 1000"
        for _ in range(20):  # often before the supervisor can report that the command has started
            ran = run(shell(script), cwd=tmp_path, env=ENV, timeout_sec=PATIENCE, output=last(100))
            assert (ran.exit_code, ran.timed_out) == (128 + signal.SIGKILL, False)

    @pytest.mark.parametrize("before", ["", ESCAPES["bare"].format(file="left")])
    def test_a_stopped_supervisor_is_continued(self, tmp_path: Path, before: str) -> None:
        script = f"{before}\nkill -STOP $PPID; exit 5"
        ran = run(shell(script), cwd=tmp_path, env=ENV, timeout_sec=PATIENCE, output=last(100))
        assert (ran.exit_code, ran.timed_out) == (5, False)
        assert not (tmp_path / "left").exists() or is_gone(number_in(tmp_path / "left"))

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
    def test_a_stopped_supervisor_ends_its_command_with_ringi(
        self, tmp_path: Path, drivers: list["subprocess.Popen[bytes]"], number: int
    ) -> None:
        script = escaping(tmp_path, "kill -STOP $PPID; echo $$ > main; exec sleep 1000")
        drivers.append(driver(tmp_path, script))
        main = number_in(tmp_path / "main")
        drivers[0].send_signal(number)
        assert holds_soon(lambda: is_gone(main) and all_gone(tmp_path))

    def test_a_supervisor_that_is_stopped_again_and_again_lets_nothing_escape(
        self, tmp_path: Path, drivers: list["subprocess.Popen[bytes]"]
    ) -> None:
        again = 'trap "" TERM; echo $$ > stopper; while kill -STOP $0; do :; done'
        then = f"env -i setsid sh -c '{again}' $PPID & echo $$ > main; exec sleep 1000"
        drivers.append(driver(tmp_path, escaping(tmp_path, then)))
        stopper, main = number_in(tmp_path / "stopper"), number_in(tmp_path / "main")
        drivers[0].terminate()
        assert drivers[0].wait(PATIENCE) != 0
        # What was killed may take a moment to go: the stopper kept a core busy.
        assert holds_soon(lambda: is_gone(stopper) and is_gone(main) and all_gone(tmp_path))

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
    def test_a_supervisor_does_not_heed_signals(self, tmp_path: Path, number: int) -> None:
        script = f"setsid sleep 1000 & echo $! > left; kill -{int(number)} $PPID; sleep 0.2; exit 5"
        ran = run(shell(script), cwd=tmp_path, env=ENV, timeout_sec=PATIENCE, output=last(100))
        assert ran.exit_code == 5
        assert is_gone(number_in(tmp_path / "left"))


class TestLimits:
    def test_a_flood_ends_the_command_and_is_kept_up_to_the_limit(self, tmp_path: Path) -> None:
        ran = run(
            shell("echo $$ > main; yes; sleep 1000"),
            cwd=tmp_path,
            env=ENV,
            timeout_sec=PATIENCE,
            output=at_most(100_000),
            errors=at_most(100),
        )
        assert (ran.too_long, ran.timed_out, len(ran.output)) == (True, False, 100_000)
        assert is_gone(number_in(tmp_path / "main"))

    def test_a_flood_of_which_the_end_is_kept_does_not_end_it(self, tmp_path: Path) -> None:
        script = "head -c 3000000 /dev/zero; echo end"
        ran = run(shell(script), cwd=tmp_path, env=ENV, timeout_sec=PATIENCE, output=last(4))
        assert (ran.exit_code, ran.text, ran.cut, ran.too_long) == (0, "end\n", True, False)

    def test_a_command_that_ignores_the_signal_is_killed(self, tmp_path: Path) -> None:
        script = "trap '' TERM HUP INT; echo $$ > main; while :; do sleep 1; done"
        ran = run(shell(script), cwd=tmp_path, env=ENV, timeout_sec=1.0, output=last(100))
        assert (ran.exit_code, ran.timed_out) == (124, True)
        assert is_gone(number_in(tmp_path / "main"))

    def test_what_is_given_is_read_and_need_not_be(self, tmp_path: Path) -> None:
        text = b"x" * 300_000
        options = {"cwd": tmp_path, "env": ENV, "timeout_sec": PATIENCE, "given": text}
        assert run(["cat"], output=at_most(10**6), **options).output == text
        assert run(["true"], output=at_most(10), **options).exit_code == 0
        assert run(["wc", "-c"], output=last(10), **(options | {"given": b""})).text.strip() == "0"


class TestAsWithoutASupervisor:
    def test_the_environment_is_exactly_what_was_said(self, tmp_path: Path) -> None:
        env = {"PATH": os.environ["PATH"], "ODD": "a=b\nc", "BYTES": os.fsdecode(b"\xff")}
        ran = run(["env", "-0"], cwd=tmp_path, env=env, timeout_sec=PATIENCE, output=last(10_000))
        said = dict(line.split(b"=", 1) for line in ran.output.split(b"\0") if line)
        assert said == {os.fsencode(name): os.fsencode(value) for name, value in env.items()}

    @on_linux
    def test_signals_are_as_a_program_expects_them(self, tmp_path: Path) -> None:
        words = ["grep", "SigIgn", "/proc/self/status"]
        ran = run(words, cwd=tmp_path, env=ENV, timeout_sec=PATIENCE, output=last(1000))
        ignored = int(ran.text.split()[1], 16)
        assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGTERM - 1 | 1 << signal.SIGCHLD - 1)

    @on_linux
    def test_an_interrupt_is_heard_even_if_we_ignore_it(self, tmp_path: Path) -> None:
        """As below a shell that starts us with `&`."""
        words = ["grep", "SigIgn", "/proc/self/status"]
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            ran = run(words, cwd=tmp_path, env=ENV, timeout_sec=PATIENCE, output=last(1000))
        finally:
            signal.signal(signal.SIGINT, before)
        assert not int(ran.text.split()[1], 16) & 1 << signal.SIGINT - 1

    @pytest.mark.parametrize("word", ["a\0b", "\ud800"])
    def test_characters_that_no_system_takes(self, tmp_path: Path, word: str) -> None:
        with pytest.raises(ValueError, match=r"null byte|surrogates"):
            run(["echo", word], cwd=tmp_path, env=ENV, timeout_sec=PATIENCE, output=last(10))

    def test_too_many_words(self, tmp_path: Path) -> None:
        with pytest.raises(OSError, match="Argument list too long"):
            run(["echo", "x" * 10**6], cwd=tmp_path, env=ENV, timeout_sec=PATIENCE, output=last(10))


@on_linux
def test_a_supervisor_that_cannot_start_is_named_as_the_cause(tmp_path: Path) -> None:
    (tmp_path / "libc.so.6").write_bytes(b"not a library")
    program = (
        "import os, sys; from pathlib import Path; from ringi.kernel.process.capture import last, run\n"
        "os.environ['LD_LIBRARY_PATH'] = sys.argv[1]\n"
        "try: run(['true'], cwd=Path('/'), env={}, timeout_sec=30, output=last(100))\n"
        "except OSError as error: print(error.strerror)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], env=ENV, capture_output=True, text=True, check=True
    )
    assert said.stdout == "the process that supervises it ended first\n"
