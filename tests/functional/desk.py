"""The program as a person uses it: its command line, a real terminal, a real repository.

`Desk.run` is the one way to run a command and `Terminal` the one way to sit at one. A command runs in this
process, because starting one takes longer than most commands; `Desk.process` starts one if that is the point.
"""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self

import pexpect
import pytest

from ringi.cli.main import main
from tests.functional import warm
from tests.functional.warm import RINGI, Spawn

MENU = r"\[q\]uit"


class Desk:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.world: tuple[str, ...] = ()
        """Words before the program in a process of its own; see `worlds`."""

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Without a terminal."""
        assert "with" not in words[:2] or "--help" in words, (
            "below the process that ran it, all would count as an agent's"
        )
        with (
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as errors,
            pytest.MonkeyPatch.context() as patch,
            contextlib.chdir(self.root),
        ):
            # What a command chooses as its language must not become that of the next one.
            for name, value in {"LANGUAGE": os.environ.get("LANGUAGE", ""), **variables}.items():
                patch.setenv(name, value)
            with _streams(out, errors):
                code = main(words)
            return subprocess.CompletedProcess(words, code, _text(out), _text(errors))

    def process(self, *words: str, below: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        """As `run`, in a process of its own; `below` is a subfolder to start it in."""
        return warm.run(
            [*self.world, *RINGI, *words],
            cwd=self.root / below,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            timeout=120,
        )

    def json(self, *words: str) -> Any:
        done = self.run("--json", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def agent(self, script: str, *options: str) -> str:
        """A command changes files in its copy; answers with the plan's name."""
        done = self.process("--json", "with", *options, "--", "sh", "-c", script)
        assert done.returncode in {0, 6}, done.stderr  # 6: a check failed
        return f"p{json.loads(done.stdout)['plan']['number']}"

    def terminal(self, *words: str, **variables: str) -> "Terminal":
        return Terminal(self.root, words, variables)

    def typed_ahead(self, typed: str, *words: str) -> "Terminal":
        """At which somebody typed before the program began; it gets the terminal only then."""
        with tempfile.NamedTemporaryFile() as held:
            waits = 'while [ -e "$0" ]; do sleep 0.02; done; exec "$@"'
            terminal = Terminal(self.root, words, {}, before=("sh", "-c", waits, held.name))
            terminal.send(typed)
        return terminal

    def files(self) -> dict[str, tuple[bytes, int]]:
        """Everything but what belongs to git and ringi, with permission bits."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            name = str(path.relative_to(self.root))
            if path.is_file() and not name.startswith((".git/", ".agent/")):
                found[name] = (path.read_bytes(), path.stat().st_mode & 0o7777)
        return found

    def git(self, *words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=self.root, capture_output=True, text=True, check=True
        ).stdout


@contextlib.contextmanager
def _streams(out: IO[bytes], errors: IO[bytes]) -> Iterator[None]:
    """The three standard streams, down to their descriptors: commands that are started inherit those."""
    kept = [os.dup(number) for number in range(3)]
    streams = sys.stdin, sys.stdout, sys.stderr
    try:
        with Path(os.devnull).open() as nothing:
            for number, file in enumerate((nothing, out, errors)):
                os.dup2(file.fileno(), number)
            sys.stdin, sys.stdout, sys.stderr = (
                open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115  # they stay open
                for number, mode in enumerate("rww")
            )
            yield
            sys.stdout.flush()
            sys.stderr.flush()
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        for number, descriptor in enumerate(kept):
            os.dup2(descriptor, number)
            os.close(descriptor)


def _text(file: IO[bytes]) -> str:
    """With the line ends that subprocess would give."""
    file.seek(0)
    return io.TextIOWrapper(io.BytesIO(file.read()), "utf-8").read()


def spawned(
    argv: Sequence[str],
    root: Path,
    variables: Mapping[str, str],
    *,
    columns: int,
    rows: int,
    encoding: str | None = None,
) -> Any:
    """A child of pexpect that never sleeps: the program forgets what was typed before it asked, not after."""
    child = Spawn(
        argv[0],
        list(argv[1:]),
        cwd=str(root),
        env={**os.environ, **variables},
        encoding=encoding,
        timeout=60,
        dimensions=(rows, columns),
    )
    child.delaybeforesend = None
    child.delayafterclose = child.delayafterterminate = 0.01
    child.ptyproc.delayafterclose = child.ptyproc.delayafterterminate = 0.01
    return child


def ended(child: Any) -> None:
    """Ended by force if it still runs. A busy machine may take its time to bury what was killed."""
    try:
        child.close(force=True)
    except pexpect.ExceptionPexpect:
        child.wait()


class Terminal:
    """A person at a terminal of 80 columns, line by line."""

    def __init__(
        self,
        root: Path,
        words: Sequence[str],
        variables: Mapping[str, str],
        *,
        columns: int = 80,
        rows: int = 24,
        before: Sequence[str] = (),
    ) -> None:
        plain = {"TERM": "xterm", "NO_COLOR": "1"}
        self.child = spawned(
            [*before, *RINGI, *words],
            root,
            {**plain, **variables},
            columns=columns,
            rows=rows,
            encoding="utf-8",
        )
        self.seen = ""
        """Everything that stood on the screen."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        ended(self.child)

    def read(self, pattern: str) -> str:
        """What stands on the screen up to the pattern, without the line ends of a terminal."""
        self.child.expect(pattern)
        return self.noted(f"{self.child.before}{self.child.after}")

    def noted(self, words: str) -> str:
        words = words.replace("\r\n", "\n")
        self.seen += words
        return words

    def send(self, words: str) -> None:
        self.child.send(words)

    def type(self, words: str) -> None:
        self.send(words + "\n")

    def answer(self, pattern: str, words: str) -> str:
        """Types the words once the pattern is there; answers with what was shown before."""
        shown = self.read(pattern)
        self.type(words)
        return shown

    def end(self) -> tuple[int, str]:
        """The exit code, and the rest of the screen; 128 + n after a death by signal n."""
        self.child.expect(pexpect.EOF)
        rest = self.noted(str(self.child.before))
        self.child.close()
        if self.child.exitstatus is not None:
            return int(self.child.exitstatus), rest
        return 128 + int(self.child.signalstatus or 0), rest

    def kill(self) -> None:
        self.child.kill(signal.SIGKILL)
        self.child.expect(pexpect.EOF)
        self.child.close()

    def hang_up(self) -> None:
        """The window is closed; returns when the program has ended."""
        self.child.ptyproc.fileobj.close()
        self.child.ptyproc.wait()

    def wanted(self) -> str:
        """The characters that a high risk asks for."""
        found = re.search(r"sha256 ([0-9a-f]{6})[0-9a-f]{58}", self.read(r"sha256 [0-9a-f]{64}"))
        assert found
        self.read(found[1])
        return found[1]
