"""Real commands below a real supervisor, which is a process of its own wherever it needs a terminal."""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

import ringi
from ringi.kernel.process.capture import CommandResult, at_most, last, run, shell
from ringi.kernel.process.supervisor import end_group, read_stat
from ringi.kernel.process.terminal import discard_pending_input, run_in_terminal
from tests.functional.desk import ended
from tests.helpers import PYTHON, holds_soon

PATIENCE = 90.0
ENV = {
    **os.environ,
    "PYTHONPATH": str(Path(ringi.__file__).parents[1]),
    "TERM": "xterm",
    "LC_ALL": "C",
}
# Later versions of Python warn of a fork beside threads, which the tests' own runner may have.
beside_threads = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
# Runs a command as `ringi with` would and says in a file how that went; it has a child of its own before.
DRIVER = """
import json, os, subprocess, sys, termios, resource
from pathlib import Path
from ringi.kernel.process.terminal import run_in_terminal
report, output, *argv = sys.argv[1:]
before = termios.tcgetattr(0) if os.isatty(0) else None
earlier = subprocess.Popen(["sleep", "1000"])
Path(report + ".pid").write_text(str(os.getpid()))
try:
    said = run_in_terminal(argv, cwd=Path.cwd(), env=os.environ, output=int(output))._asdict()
except OSError as error:
    said = {"error": type(error).__name__}
said["restored"] = before == (termios.tcgetattr(0) if os.isatty(0) else None)
said["earlier_lives"] = earlier.poll() is None
said["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
earlier.kill(), earlier.wait()
Path(report + ".part").write_text(json.dumps(said))
Path(report + ".part").rename(report)
print("driver done", flush=True)
"""
# Leaves a process behind that nobody's parent is any more, in a session of its own.
DAEMON = """
import os, signal, sys, time
if os.fork():
    os.wait()
    sys.exit(0)
os.setsid()
if os.fork():
    os._exit(0)
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(sys.argv[1] + ".part", "w") as file:
    file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(1000)
"""
# Somebody presses Ctrl-C all the time while commands are started.
_INTERRUPTED_STARTS = """
import os, signal, subprocess, sys
from pathlib import Path
from ringi.errors import Interrupted
from ringi.kernel.process.capture import last, run
from ringi.kernel.process.signals import StopSignals

PRESSING = '''
import os, signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
while os.getppid() == {parent}:
    os.killpg(0, signal.SIGINT)
    time.sleep(0.0002)
'''
with StopSignals():
    subprocess.Popen([sys.executable, "-c", PRESSING.format(parent=os.getpid())])
    for _ in range(40):
        try:
            run(["sleep", "600"], cwd=Path("."), env=os.environ, timeout_sec=600, output=last(100))
        except Interrupted:
            continue
        sys.exit("it was not interrupted")
    os._exit(0)
"""


def is_gone(pid: int) -> bool:
    found = read_stat(pid)
    return found is None or found.dead


class Bench:
    """Where a driver runs and what it reports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.report = folder / "report.json"
        self.started: list[subprocess.Popen[bytes]] = []

    def file(self, name: str) -> Path:
        return self.folder / name

    def argv(self, *command: str, output: int = 1) -> list[str]:
        return [sys.executable, "-c", DRIVER, str(self.report), str(output), *command]

    def run(self, *command: str, output: int = 1, **options: Any) -> subprocess.CompletedProcess[bytes]:
        options = {"stdin": subprocess.DEVNULL, "env": ENV, "timeout": 4 * PATIENCE} | options
        return subprocess.run(
            self.argv(*command, output=output), cwd=self.folder, capture_output=True, check=True, **options
        )

    def start(self, *command: str, **options: Any) -> "subprocess.Popen[bytes]":
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "env": ENV} | options
        self.started.append(subprocess.Popen(self.argv(*command), cwd=self.folder, **options))
        return self.started[-1]

    def close(self) -> None:
        for driver in self.started:
            driver.terminate()
            driver.wait(PATIENCE)

    def said(self) -> dict[str, Any]:
        assert holds_soon(self.report.exists)
        said: dict[str, Any] = json.loads(self.report.read_bytes())
        return said

    def pid(self, name: str) -> int:
        assert holds_soon(lambda: self.file(name).exists() and self.file(name).read_text().strip() != "")
        return int(self.file(name).read_text())

    @contextlib.contextmanager
    def at_terminal(
        self, *command: str, size: tuple[int, int] = (24, 80)
    ) -> Iterator["pexpect.spawn[bytes]"]:
        program, *arguments = self.argv(*command)
        child = pexpect.spawn(
            program, arguments, cwd=str(self.folder), env=ENV, dimensions=size, timeout=PATIENCE
        )
        try:
            yield child
        finally:
            ended(child)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


def captured(command: str, folder: Path, *, keep_bytes: int = 16384, **options: Any) -> CommandResult:
    limits: dict[str, Any] = {"timeout_sec": PATIENCE, "output": last(keep_bytes)}
    return run(shell(command), cwd=folder, env=ENV, **(limits | options))


class TestEnd:
    @pytest.mark.parametrize("code", [0, 7, 255])
    def test_the_exit_code_is_the_commands(self, bench: Bench, code: int) -> None:
        bench.run("sh", "-c", f"exit {code}")
        said = bench.said()
        assert (said["exit_code"], said["leftovers"], said["signal"], said["survivors"]) == (code, 0, None, 0)

    def test_a_death_by_signal_is_128_and_its_number(self, bench: Bench) -> None:
        bench.run("sh", "-c", "kill -9 $$")
        assert bench.said()["exit_code"] == 137

    def test_a_command_that_is_not_there(self, bench: Bench) -> None:
        bench.run("no-such-command-anywhere")
        assert bench.said()["error"] == "FileNotFoundError"

    def test_a_command_that_may_not_be_run(self, bench: Bench) -> None:
        bench.file("notes").write_text("no program")
        bench.run("./notes")
        assert bench.said()["error"] == "PermissionError"

    def test_the_command_is_looked_for_on_its_own_path(self, bench: Bench) -> None:
        bench.file("bin").mkdir()
        tool = bench.file("bin") / "own-tool"
        tool.write_text("#!/bin/sh\nexit 9\n")
        tool.chmod(0o755)
        bench.run("own-tool", env=ENV | {"PATH": f"{bench.file('bin')}:{ENV['PATH']}"})
        assert bench.said()["exit_code"] == 9

    def test_the_duration_is_the_commands(self, bench: Bench) -> None:
        bench.run("sleep", "0.3")
        assert bench.said()["duration_sec"] >= 0.3

    @beside_threads
    def test_it_works_outside_the_main_thread(self, tmp_path: Path) -> None:
        ended = []
        with Path(os.devnull).open("wb") as nowhere:
            thread = threading.Thread(
                target=lambda: ended.append(
                    run_in_terminal(["sh", "-c", "exit 5"], cwd=tmp_path, env=ENV, output=nowhere.fileno())
                )
            )
            thread.start()
            thread.join(PATIENCE)
        assert [end.exit_code for end in ended] == [5]


class TestWithoutTerminal:
    def test_the_command_prints_to_one_of_its_own(self, bench: Bench) -> None:
        code = "import os; print(os.isatty(0), os.ttyname(1) == os.ttyname(2), os.get_terminal_size())"
        done = bench.run(sys.executable, "-c", code)
        assert done.stdout.splitlines()[0] == b"False True os.terminal_size(columns=80, lines=24)"

    def test_a_command_that_reads_finds_the_end_and_does_not_wait(self, bench: Bench) -> None:
        done = bench.run("sh", "-c", "cat; echo over", stdin=None, input=b"not for the command\n")
        assert done.stdout.splitlines()[0] == b"over"

    def test_a_command_that_asks_at_the_terminal_itself_finds_none(self, bench: Bench) -> None:
        done = bench.run("sh", "-c", "read word < /dev/tty; echo over")
        assert done.stdout.splitlines()[-2] == b"over"

    def test_output_can_go_elsewhere(self, bench: Bench) -> None:
        done = bench.run("echo", "to the side", output=2)
        assert done.stderr == b"to the side\r\n"
        assert done.stdout == b"driver done\n"

    def test_no_escape_is_added_to_a_file(self, bench: Bench) -> None:
        assert bench.run("echo", "plain").stdout == b"plain\r\ndriver done\n"

    def test_much_output_arrives_whole_and_is_not_kept(self, bench: Bench) -> None:
        bench.run("true")
        small = bench.said()["memory"]
        bench.report.unlink()
        size = 50_000_000
        with bench.file("output").open("wb") as sink:
            done = bench.start("head", "-c", str(size), "/dev/zero", stdout=sink)
            assert done.wait(4 * PATIENCE) == 0
        assert bench.file("output").stat().st_size == size + len("driver done\n")
        assert bench.said()["memory"] - small < 20_000  # kilobytes

    def test_the_last_words_of_a_command_are_not_lost(self, bench: Bench) -> None:
        for number in range(10):
            done = bench.run("sh", "-c", f"seq 1 3000; echo last {number}")
            assert f"3000\r\nlast {number}\r\n".encode() in done.stdout

    def test_a_reader_that_goes_away_does_not_end_the_command(self, bench: Bench) -> None:
        script = "seq 1 100000; echo yes > done; exit 4"
        driver = bench.start("sh", "-c", script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert driver.stdout is not None
        driver.stdout.read(10)
        driver.stdout.close()
        driver.wait(PATIENCE)
        assert bench.said()["exit_code"] == 4
        assert bench.file("done").read_text() == "yes\n"

    def test_a_command_may_close_its_terminal(self, bench: Bench) -> None:
        bench.run("sh", "-c", "exec <&- >&- 2>&-; sleep 0.3; : > done; exit 3")
        assert bench.said()["exit_code"] == 3
        assert bench.file("done").exists()


class TestAtTerminal:
    def test_the_command_has_another_terminal_than_the_person(self, bench: Bench) -> None:
        with bench.at_terminal("tty") as person:
            person.expect(rb"(/dev/\S+)")
            assert person.match.group(1).decode() != os.ttyname(person.child_fd)
            person.expect("driver done")

    def test_it_has_the_persons_window_and_keys(self, bench: Bench) -> None:
        line = "stty erase '#'; exec \"$@\""
        child = pexpect.spawn(
            "sh",
            ["-c", line, "sh", *bench.argv("stty", "-a")],
            cwd=str(bench.folder),
            env=ENV,
            dimensions=(41, 101),
        )
        child.expect(rb"rows 41; columns 101", timeout=PATIENCE)
        child.expect(rb"erase = #", timeout=PATIENCE)
        child.expect("driver done", timeout=PATIENCE)
        ended(child)
        assert bench.said()["exit_code"] == 0

    def test_a_changed_window_is_passed_on(self, bench: Bench) -> None:
        code = (
            "import os, signal\n"
            # Waited for: a handler does not run if the signal comes just before the program blocks.
            "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\n"
            "print('first', *os.get_terminal_size(), flush=True)\n"
            "signal.sigwait([signal.SIGWINCH])\n"
            "print('now', *os.get_terminal_size(), flush=True)\n"
            "input()\n"
        )
        with bench.at_terminal(sys.executable, "-c", code) as person:
            person.expect("first 80 24")
            person.setwinsize(50, 120)
            assert person.expect("now 120 50") == 0
            person.send("\r")
            person.expect("driver done")

    def test_every_byte_passes_in_both_directions(self, bench: Bench) -> None:
        code = (
            "import os, tty\n"
            "tty.setraw(0)\n"
            "os.write(1, b'ready')\n"
            "got = b''\n"
            "while len(got) < 256: got += os.read(0, 256)\n"
            "os.write(1, b'<' + got.hex().encode() + b'>' + bytes(range(128, 160)) + b'|')\n"
        )
        with bench.at_terminal(sys.executable, "-c", code) as person:
            person.expect("ready")
            person.send(bytes(range(256)))
            person.expect(b"<" + bytes(range(256)).hex().encode() + b">" + bytes(range(128, 160)) + rb"\|")
            person.expect("driver done")
        assert bench.said()["exit_code"] == 0

    def test_ctrl_c_is_for_the_command_alone(self, bench: Bench) -> None:
        with bench.at_terminal("sh", "-c", "echo ready; exec sleep 1000") as person:
            person.expect("ready")
            person.send("\x03")
            person.expect("driver done")
        said = bench.said()
        assert (said["exit_code"], said["signal"]) == (130, None)

    @pytest.mark.parametrize(
        "command", [("true",), ("no-such-command-anywhere",), ("sh", "-c", "kill -9 $$")]
    )
    def test_the_persons_terminal_is_as_before(self, bench: Bench, command: tuple[str, ...]) -> None:
        with bench.at_terminal(*command) as person:
            person.expect("driver done")
        assert bench.said()["restored"] is True

    def test_the_persons_terminal_is_raw_meanwhile_and_restored_after_a_signal(self, bench: Bench) -> None:
        with bench.at_terminal("sh", "-c", "stty -echo; echo ready; exec sleep 1000") as person:
            person.expect("ready")
            assert person.getecho() is False
            os.kill(bench.pid("report.json.pid"), signal.SIGTERM)
            person.expect("driver done")
        said = bench.said()
        assert (said["restored"], said["signal"]) == (True, signal.SIGTERM)

    def test_what_a_screen_program_left_on_is_switched_off(self, bench: Bench) -> None:
        with bench.at_terminal("printf", r"\033[?1049h\033[?25l\033[31mred") as person:
            person.expect("red")
            person.expect_exact(b"\x1b[!p\x1b[?47l")
            person.expect("driver done")
        assert bench.said()["restored"] is True

    def test_a_closed_window_ends_the_command_and_is_reported(self, bench: Bench) -> None:
        with bench.at_terminal("sh", "-c", "echo $$ > pid; exec sleep 1000") as person:
            sleeping = bench.pid("pid")
            person.ptyproc.fileobj.close()
            said = bench.said()
        assert said["signal"] == signal.SIGHUP
        assert is_gone(sleeping)


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
    def test_a_signal_to_us_ends_the_command_and_we_go_on(self, bench: Bench, number: int) -> None:
        driver = bench.start("sh", "-c", "echo $$ > pid; sleep 1000 & wait")
        main = bench.pid("pid")
        driver.send_signal(number)
        assert driver.wait(PATIENCE) == 0
        said = bench.said()
        assert (said["signal"], said["exit_code"], said["leftovers"]) == (number, 143, 1)
        assert is_gone(main)
        assert said["earlier_lives"] is True

    def test_a_command_that_ignores_it_is_ended_too(self, bench: Bench) -> None:
        driver = bench.start("sh", "-c", "trap '' TERM HUP; echo $$ > pid; while :; do sleep 1; done")
        main = bench.pid("pid")
        driver.terminate()
        assert driver.wait(PATIENCE) == 0
        assert bench.said()["exit_code"] == 137
        assert is_gone(main)

    def test_output_that_nobody_takes_does_not_hold_us(self, bench: Bench) -> None:
        reader, writer = os.pipe()
        driver = bench.start("cat", "/dev/zero", stdout=writer)
        try:
            assert holds_soon(lambda: not select.select([], [writer], [], 0)[1])
            driver.terminate()
            assert bench.said()["signal"] == signal.SIGTERM
        finally:
            os.close(reader)
            os.close(writer)

    def test_a_hangup_that_is_ignored_stays_ignored(self, bench: Bench) -> None:
        script = "echo $$ > pid; while [ ! -e go ]; do sleep 0.05; done; exit 6"
        driver = bench.start(
            "sh", "-c", script, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
        )
        bench.pid("pid")
        driver.send_signal(signal.SIGHUP)
        bench.file("go").touch()
        assert driver.wait(PATIENCE) == 0
        said = bench.said()
        assert (said["signal"], said["exit_code"]) == (None, 6)

    def test_ctrl_c_at_any_moment_of_the_start_is_an_interruption(self, tmp_path: Path) -> None:
        done = subprocess.run(
            [sys.executable, "-c", _INTERRUPTED_STARTS], cwd=tmp_path, start_new_session=True, check=False
        )
        assert done.returncode == 0

    @beside_threads
    def test_handlers_and_the_subreaper_flag_are_put_back(self, tmp_path: Path) -> None:
        numbers = [
            signal.SIGHUP,
            signal.SIGINT,
            signal.SIGTERM,
            signal.SIGWINCH,
            signal.SIGCHLD,
            signal.SIGCONT,
        ]
        before = [signal.getsignal(number) for number in numbers]
        with Path(os.devnull).open("wb") as nowhere:
            run_in_terminal(["true"], cwd=tmp_path, env=ENV, output=nowhere.fileno())
        flag = ctypes.c_int(-1)
        ctypes.CDLL(None).prctl(37, ctypes.byref(flag), 0, 0, 0)
        assert [signal.getsignal(number) for number in numbers] == before
        assert flag.value == 0


class TestLeftovers:
    def assert_ended(self, bench: Bench, *command: str, number: int = 1) -> None:
        bench.run(*command)
        said = bench.said()
        assert (said["exit_code"], said["leftovers"], said["survivors"]) == (0, number, 0)
        assert is_gone(int(bench.file("pid").read_text()))
        assert said["earlier_lives"] is True

    def test_a_background_process(self, bench: Bench) -> None:
        # The system's own hangup may come first, so whether it had to be ended is not certain.
        bench.run("sh", "-c", "sleep 1000 & echo $! > pid")
        assert bench.said()["survivors"] == 0
        assert is_gone(bench.pid("pid"))

    def test_one_that_ignores_the_hangup(self, bench: Bench) -> None:
        self.assert_ended(bench, "sh", "-c", "trap '' HUP; sleep 1000 & echo $! > pid")

    def test_a_daemon_in_its_own_session(self, bench: Bench) -> None:
        self.assert_ended(bench, "sh", "-c", f"{PYTHON} -c '{DAEMON}' pid; while [ ! -e pid ]; do :; done")

    def test_a_daemon_that_ignores_sigterm(self, bench: Bench) -> None:
        script = f"{PYTHON} -c '{DAEMON}' pid stubborn; while [ ! -e pid ]; do :; done"
        self.assert_ended(bench, "sh", "-c", script)

    def test_a_stopped_process(self, bench: Bench) -> None:
        self.assert_ended(bench, "sh", "-c", "trap '' HUP; sleep 1000 & echo $! > pid; kill -STOP $!")

    def test_a_process_whose_first_thread_has_ended(self, bench: Bench) -> None:
        code = (
            "import ctypes, os, threading, time\n"
            "threading.Thread(target=time.sleep, args=(1000,)).start()\n"
            "open('pid', 'w').write(str(os.getpid()))\n"
            "ctypes.CDLL(None).pthread_exit(None)\n"
        )
        bench.file("lingering.py").write_text(code)
        wait = 'while ! grep -q "State:.Z" /proc/$!/status; do sleep 0.01; done'
        self.assert_ended(bench, "sh", "-c", f"setsid {PYTHON} lingering.py & {wait}")

    def test_many_generations(self, bench: Bench) -> None:
        inner = "sleep 1000 & sleep 1000 & touch began-$1; wait"
        wait = "while [ $(ls | grep -c began) != 3 ]; do sleep 0.02; done"
        bench.run(
            "sh", "-c", f"for i in 1 2 3; do setsid sh -c '{inner}' sh $i & done; echo $! > pid; {wait}"
        )
        assert bench.said()["leftovers"] == 9
        assert is_gone(int(bench.file("pid").read_text()))

    def test_orphans_that_end_by_themselves_are_reaped_meanwhile(self, bench: Bench) -> None:
        script = "for i in 1 2 3 4 5; do (sleep 0.05 &); done; sleep 1; ps -o stat= --ppid $PPID | grep -c Z"
        done = bench.run("sh", "-c", script)
        assert done.stdout.splitlines()[0] == b"0"
        assert bench.said()["leftovers"] == 0

    def test_processes_that_end_just_after_the_command_were_not_left(self, bench: Bench) -> None:
        watch = "touch began; while kill -0 $0 2> /dev/null; do sleep 0.02; done"
        bench.run("sh", "-c", f"setsid sh -c '{watch}' $$ & while [ ! -e began ]; do sleep 0.02; done")
        assert bench.said()["leftovers"] == 0

    def test_all_are_counted_if_the_supervisor_is_killed(self, bench: Bench) -> None:
        wait = "while [ $(ls | grep -c began) != 3 ]; do sleep 0.02; done"
        each = "trap '' HUP; touch began-$i; exec sleep 1000"
        bench.run(
            "sh", "-c", f"for i in 1 2 3; do ({each}) & done; {wait}; kill -9 $PPID; while :; do :; done"
        )
        said = bench.said()
        assert (said["exit_code"], said["leftovers"], said["survivors"]) == (137, 3, 0)

    def test_unrelated_processes_are_left_alone(self, bench: Bench) -> None:
        script = "sleep 1000 & echo $! > grandchild; wait"
        ours = subprocess.Popen(["sh", "-c", script], cwd=bench.folder, start_new_session=True)
        try:
            below = bench.pid("grandchild")
            ended = captured("sleep 1000 & echo $!", bench.folder)
            assert is_gone(int(ended.text))
            assert ours.poll() is None
            assert not is_gone(below)
        finally:
            os.killpg(ours.pid, signal.SIGKILL)
            ours.wait()

    def test_an_earlier_grandchild_is_left_alone_when_it_is_orphaned_meanwhile(self, bench: Bench) -> None:
        script = "sleep 1000 & echo $! > grandchild; while [ ! -e go ]; do sleep 0.02; done"
        ours = subprocess.Popen(["sh", "-c", script], cwd=bench.folder)
        below = bench.pid("grandchild")
        try:
            captured(f"touch go; while readlink /proc/{ours.pid}/exe; do sleep 0.02; done", bench.folder)
            assert ours.wait(PATIENCE) == 0
            assert not is_gone(below)
        finally:
            os.kill(below, signal.SIGKILL)

    def test_where_orphans_go_elsewhere_the_group_is_ended(self, bench: Bench) -> None:
        script = "trap '' TERM; sleep 1000 & echo $! > pid"
        command = subprocess.Popen(["sh", "-c", script], cwd=bench.folder, start_new_session=True)
        command.wait(PATIENCE)
        assert end_group(command.pid, command.poll) == (1, 0)
        assert is_gone(bench.pid("pid"))

    def test_the_group_of_a_running_command_is_ended_with_it(self, bench: Bench) -> None:
        command = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        assert end_group(command.pid, command.poll) == (1, 0)
        assert command.returncode == -signal.SIGTERM


class TestCaptured:
    def test_both_outputs_and_the_exit_code(self, tmp_path: Path) -> None:
        done = captured("pwd; echo wrong >&2; exit 3", tmp_path)
        assert (done.exit_code, done.text, done.timed_out) == (3, f"{tmp_path}\nwrong\n", False)

    def test_a_death_by_signal(self, tmp_path: Path) -> None:
        assert captured("kill -TERM $$", tmp_path).exit_code == 143

    def test_it_has_neither_input_nor_terminal(self, tmp_path: Path) -> None:
        done = captured("cat; tty; (: < /dev/tty) 2>/dev/null || echo none", tmp_path)
        assert done.text == "not a tty\nnone\n"

    def test_a_timeout_ends_everything(self, bench: Bench) -> None:
        script = f"{PYTHON} -c '{DAEMON}' pid stubborn; echo begun; sleep 1000"
        done = captured(script, bench.folder, timeout_sec=1.5)
        assert (done.exit_code, done.timed_out, done.text) == (124, True, "begun\n")
        assert done.duration_sec >= 1.5
        assert is_gone(bench.pid("pid"))

    def test_a_timeout_also_counts_after_the_output_was_closed(self, tmp_path: Path) -> None:
        assert captured("exec >&- 2>&-; sleep 1000", tmp_path, timeout_sec=0.5).exit_code == 124

    def test_only_the_end_of_the_output_is_kept(self, tmp_path: Path) -> None:
        done = captured("seq 1 100000", tmp_path, keep_bytes=12)
        assert done.text == "9999\n100000\n"
        assert captured("echo something", tmp_path, keep_bytes=0).text == ""

    def test_much_output_is_not_kept(self, bench: Bench) -> None:
        code = (
            "from resource import RUSAGE_SELF, getrusage\n"
            "import os\n"
            "from pathlib import Path\n"
            "from ringi.kernel.process.capture import last, run, shell\n"
            "def measured(command):\n"
            "    kept = last(16384)\n"
            "    done = run(shell(command), cwd=Path.cwd(), env=os.environ, timeout_sec=120, output=kept)\n"
            "    return len(done.output), done.exit_code, getrusage(RUSAGE_SELF).ru_maxrss\n"
            "first = measured('true')\n"
            "then = measured('head -c 50000000 /dev/zero')\n"
            "print(then[0], then[1], then[2] - first[2] < 20000)\n"
        )
        done = subprocess.run([sys.executable, "-c", code], env=ENV, capture_output=True, check=True)
        assert done.stdout == b"16384 0 True\n"

    def test_bytes_that_are_no_text_are_replaced(self, tmp_path: Path) -> None:
        assert captured(r"printf 'a\377b'", tmp_path).text == "a\ufffdb"

    def test_a_process_that_keeps_the_output_open_does_not_hold_us(self, bench: Bench) -> None:
        done = captured("setsid sleep 1000 & echo $! > pid; echo over", bench.folder)
        assert (done.exit_code, done.text, done.timed_out) == (0, "over\n", False)
        assert is_gone(bench.pid("pid"))

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            captured("true", tmp_path / "nowhere")

    def test_a_signal_ends_the_command_and_is_raised(self, bench: Bench) -> None:
        code = (
            "import os\n"
            "from pathlib import Path\n"
            "from ringi.errors import Interrupted\n"
            "from ringi.kernel.process.capture import last, run, shell\n"
            "try:\n"
            "    command = 'echo $$ > pid; sleep 1000'\n"
            "    run(shell(command), cwd=Path.cwd(), env=os.environ, timeout_sec=100, output=last(100))\n"
            "except Interrupted as error:\n"
            "    print(error.code)\n"
        )
        driver = subprocess.Popen(
            [sys.executable, "-c", code], cwd=bench.folder, env=ENV, stdout=subprocess.PIPE
        )
        shell = bench.pid("pid")
        driver.terminate()
        assert driver.communicate(timeout=PATIENCE)[0] == b"interrupted\n"
        assert is_gone(shell)


class TestApart:
    def test_all_that_is_printed_is_kept_apart(self, tmp_path: Path) -> None:
        code = "import sys; sys.stdout.write('a' * 3000000); sys.stderr.write('b' * 3000000)"
        ran = self.run(tmp_path, 10**7, sys.executable, "-c", code)
        assert (ran.exit_code, ran.timed_out, ran.too_long) == (0, False, False)
        assert (ran.output, ran.errors) == (b"a" * 3000000, b"b" * 3000000)
        ran = self.run(tmp_path, 10**6, sys.executable, "-c", code)
        assert ran.too_long
        assert len(ran.output) == 10**6

    def test_a_command_that_closes_its_outputs_keeps_running(self, tmp_path: Path) -> None:
        ran = self.run(tmp_path, 9, *shell("exec >&- 2>&-; sleep 0.2; exit 4"))
        assert (ran.exit_code, ran.output, ran.too_long) == (4, b"", False)

    @staticmethod
    def run(folder: Path, most: int, *argv: str) -> CommandResult:
        limit = at_most(most)
        return run(argv, cwd=folder, env=ENV, timeout_sec=2 * PATIENCE, output=limit, errors=limit)


class TestTypeAhead:
    def test_what_was_typed_before_the_question_is_forgotten(self, tmp_path: Path) -> None:
        code = (
            "import select\n"
            "from ringi.kernel.process.terminal import discard_pending_input\n"
            "print('working', flush=True)\n"
            "select.select([0], [], [])\n"
            "discard_pending_input()\n"
            "print('answer:', input('sure?'), flush=True)\n"
        )
        person = pexpect.spawn(sys.executable, ["-c", code], env=ENV, echo=False, timeout=PATIENCE)
        person.expect("working")
        person.send("yes\r")
        person.expect(r"sure\?")
        person.send("no\r")
        person.expect(r"answer: (\w+)")
        assert person.match.group(1) == b"no"
        ended(person)

    def test_a_pipe_is_left_alone(self) -> None:
        reader, writer = os.pipe()
        os.write(writer, b"kept")
        discard_pending_input(reader)
        assert os.read(reader, 10) == b"kept"
        os.close(reader)
        os.close(writer)


def test_whoever_listens_hears_all_of_it(tmp_path: Path):
    heard: list[bytes] = []
    command = shell("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done")
    ran = run(command, cwd=tmp_path, env=ENV, timeout_sec=PATIENCE, output=last(50), on_output=heard.append)
    assert b"".join(heard) == b"".join(b"line %d\n" % number for number in range(3000))
    assert (len(ran.output), ran.cut) == (50, True)
