"""Each reason to refuse, found by a real process that it applies to."""

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

import ringi
from ringi.kernel.process import ancestors
from ringi.kernel.process.ancestors import process_start
from tests.helpers import PYTHON

PATIENCE = 90
SOURCES = str(Path(ringi.__file__).parents[1])
# Nothing of what the tests themselves may run below.
ENV = {"PATH": os.environ["PATH"], "PYTHONPATH": SOURCES, "LC_ALL": "C"}
ASK = """
import os, sys
from ringi.approvals.person import TerminalPerson
supervisors = [(int(pid), start, "") for pid, _, start in (word.partition("=") for word in sys.argv[1:])]
person = TerminalPerson(os.environ, lambda: supervisors)
print("refusal:", person.refusal(), "|", person.name(), "|", person.user(), flush=True)
"""


@pytest.fixture
def orphaned(tmp_path: Path) -> str:
    """Starts a command at a terminal and below no process of the tests, which an agent may have started."""
    starter = tmp_path / "starter.py"
    starter.write_text(
        "import os, sys, time\n"
        "master, slave = os.openpty()\n"
        "if os.fork():\n"
        "    os.close(slave)\n"
        "    while True:\n"
        "        try: data = os.read(master, 1000)\n"
        "        except OSError: break\n"
        "        os.write(1, data)\n"
        "    os._exit(0)\n"
        "parent = os.getpid()\n"
        "if os.fork(): os._exit(0)\n"
        "while os.getppid() == parent: time.sleep(0.001)\n"
        "os.setsid()\n"
        "for fd in 0, 1, 2: os.dup2(slave, fd)\n"
        "os.close(master)\n"
        "os.execvpe(sys.argv[1], sys.argv[1:], os.environ)\n"
    )
    return str(starter)


def ask(starter: str, *command: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, starter, *command],
        env=ENV | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    return done.stdout.decode()


def script(path: Path, interpreter: str, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{interpreter}\n{text}\n")
    path.chmod(0o755)
    return str(path)


def below(path: Path) -> str:
    """A program at that path that asks from a child of its own."""
    ask_file = path.parent / "ask.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    ask_file.write_text(ASK)
    text = f"import subprocess, sys; subprocess.run([sys.executable, {str(ask_file)!r}, *sys.argv[1:]])"
    return script(path, PYTHON, text)


class TestAPerson:
    def test_at_a_terminal_is_not_refused(self, orphaned: str) -> None:
        said = ask(orphaned, sys.executable, "-c", ASK)
        user = pwd.getpwuid(os.getuid()).pw_name
        assert said.startswith("refusal: None | /dev/")
        assert said.endswith(f" | {user}\r\n")

    def test_below_an_ordinary_program_is_not_refused(self, orphaned: str, tmp_path: Path) -> None:
        assert "refusal: None" in ask(orphaned, below(tmp_path / "claudette"))

    def test_who_configures_an_agent_is_not_refused(self, orphaned: str) -> None:
        said = ask(
            orphaned,
            sys.executable,
            "-c",
            ASK,
            AIDER_MODEL="some",
            CODEX_HOME="/somewhere",
            GOOSE_PROVIDER="some",
            CLAUDECODE="",
            AGENT="ssh",
        )
        assert "refusal: None" in said

    def test_has_no_terminal_name_without_a_terminal(self) -> None:
        code = "import os; from ringi.approvals.person import TerminalPerson as P; print(repr(P({}).name()))"
        done = subprocess.run(
            [sys.executable, "-c", code], env=ENV, stdin=subprocess.DEVNULL, capture_output=True, check=True
        )
        assert done.stdout == b"''\n"

    def test_without_an_account_is_named_by_number(self) -> None:
        if os.getuid() != 0:
            pytest.skip("only root can become a user without an account")
        code = (
            "import os; from ringi.approvals.person import TerminalPerson as P\n"
            "os.setuid(54321); print(P({}).user())"
        )
        done = subprocess.run([sys.executable, "-c", code], env=ENV, capture_output=True, check=True)
        assert done.stdout == b"54321\n"


class TestNoTerminal:
    def test_for_input(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", ASK], env=ENV, stdin=subprocess.DEVNULL, capture_output=True, check=True
        )
        assert done.stdout.startswith(b"refusal: standard input is not a terminal. |  |")

    def test_for_output(self, tmp_path: Path) -> None:
        ask_file = tmp_path / "ask.py"
        ask_file.write_text(ASK)
        pexpect.run(f"sh -c '{PYTHON} {ask_file} > {tmp_path}/said'", env=ENV, timeout=PATIENCE)
        assert (
            (tmp_path / "said").read_text().startswith("refusal: standard output is not a terminal. | /dev/")
        )


class TestAgentsVariables:
    @pytest.mark.req("PT-9")
    @pytest.mark.parametrize(
        ("variable", "value", "reason"),
        [
            ("CLAUDECODE", "1", "CLAUDECODE is set, so Claude Code started this."),
            ("CODEX_SANDBOX", "seatbelt", "CODEX_SANDBOX is set, so Codex started this."),
            ("GEMINI_CLI", "1", "GEMINI_CLI is set, so Gemini CLI started this."),
            ("AI_AGENT", "anything", "AI_AGENT is set, so an agent started this."),
            ("AGENT", "amp", "AGENT is set, so an agent started this."),
            ("RINGI_WITH", "x", "this runs inside ringi with; the agent could have typed the answer."),
        ],
    )
    def test_a_child_that_inherits_one_is_refused(
        self, orphaned: str, variable: str, value: str, reason: str
    ) -> None:
        said = ask(orphaned, sys.executable, "-c", ASK, **{variable: value})
        assert said.startswith(f"refusal: {reason} |")


class TestAgentsProcesses:
    @pytest.mark.parametrize("name", ["claude", "codex", "cursor-agent", "aider"])
    def test_a_program_of_that_name(self, orphaned: str, tmp_path: Path, name: str) -> None:
        assert f"refusal: this runs below the agent {name} (process " in ask(orphaned, below(tmp_path / name))

    def test_also_further_up(self, orphaned: str, tmp_path: Path) -> None:
        below(tmp_path / "inner")
        outer = script(tmp_path / "gemini", "/bin/sh", f"{tmp_path}/inner; exit 0")
        assert "below the agent gemini (process " in ask(orphaned, outer)

    @pytest.mark.parametrize("options", [[], ["-B"], ["-sB"]])
    def test_a_script_that_an_interpreter_runs(
        self, orphaned: str, tmp_path: Path, options: list[str]
    ) -> None:
        agent = below(tmp_path / "opencode.py")
        assert "below the agent opencode (process " in ask(orphaned, sys.executable, *options, agent)

    def test_a_module_that_an_interpreter_runs(self, orphaned: str, tmp_path: Path) -> None:
        below(tmp_path / "aider.py")
        said = ask(orphaned, sys.executable, "-m", "aider", PYTHONPATH=f"{SOURCES}:{tmp_path}")
        assert "below the agent aider (process " in said

    def test_the_entry_file_of_a_package(self, orphaned: str, tmp_path: Path) -> None:
        agent = below(tmp_path / "@anthropic-ai" / "claude-code" / "cli.js")
        assert "below the agent claude (process " in ask(orphaned, sys.executable, agent)


class TestSupervisors:
    def test_below_one_of_ours(self, orphaned: str, tmp_path: Path) -> None:
        ask_file = tmp_path / "ask.py"
        ask_file.write_text(ASK)
        supervisor = script(
            tmp_path / "supervisor",
            PYTHON,
            "import os, subprocess, sys\n"
            f"sys.path[:0] = {sys.path!r}\n"
            "from ringi.kernel.process.ancestors import process_start\n"
            "own = f'{os.getpid()}={process_start(os.getpid())}'\n"
            f"words = [{sys.executable!r}, {str(ask_file)!r}, own]\n"
            "subprocess.run(['sh', '-c', '\"$0\" \"$@\"; exit 0', *words])\n"
            "print('pid', os.getpid())",
        )
        said = ask(orphaned, supervisor)
        pid = said.split()[-1]
        assert f"this runs below ringi with (process {pid}); the agent could have typed the answer." in said

    def test_another_process_that_got_the_same_number_is_none(self, orphaned: str, tmp_path: Path) -> None:
        said = ask(orphaned, "sh", "-c", f'{PYTHON} -c "$0" "$$=some other time"; exit 0', ASK)
        assert "refusal: None" in said


class TestProcessStart:
    def test_it_stays_the_same_and_differs_between_processes(self) -> None:
        first = subprocess.Popen(["sleep", "1000"])
        start = process_start(first.pid)
        try:
            assert start is not None
            assert process_start(first.pid) == start
            assert process_start(os.getpid()) not in {None, start}
        finally:
            first.kill()
            first.wait()

    def test_an_ended_process_has_none_even_before_it_is_waited_for(self) -> None:
        process = subprocess.Popen(["true"])
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert process_start(process.pid) is None
        process.wait()
        assert process_start(process.pid) is None

    def test_the_list_of_processes_used_elsewhere_says_the_same(self) -> None:
        process = subprocess.Popen(["sleep", "1000"])
        try:
            parent, start, argv = ancestors._ps()[process.pid]
            assert (parent, argv) == (os.getpid(), ("sleep", "1000"))
            assert start == ancestors._ps()[process.pid][1]
        finally:
            process.kill()
            process.wait()
