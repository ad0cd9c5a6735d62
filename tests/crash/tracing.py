"""strace on a child that waits for it: counts system calls, or kills at one of them."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.crash.killing import Driver

SYNCS = ("fsync", "fdatasync", "syncfs", "sync_file_range", "msync", "sync")


def refusal() -> str:
    """Why strace cannot be used here; empty where it can. Tried on a process that is no child of strace."""
    if sys.platform != "linux" or not shutil.which("strace"):
        return "there is no strace here"
    probe = "import os\nos.close(os.open('/dev/null', os.O_RDONLY))"
    with tempfile.NamedTemporaryFile() as log:
        command = [
            "strace",
            "-f",
            "-o",
            log.name,
            "-e",
            "trace=none",
            sys.executable,
            "-I",
            "-S",
            "-c",
            probe,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"strace cannot trace here: {done.stderr.strip()[-200:]}"
        command = [sys.executable, "-I", "-S", "-c", "input()"]
        with (
            subprocess.Popen(command, stdin=subprocess.PIPE) as sleeper,
            _attached(sleeper.pid, ["-o", log.name, "-e", "trace=none"]) as refused,
        ):
            sleeper.kill()
        return refused


def counted(driver: Driver, task: Mapping[str, Any], calls: Sequence[str] = ()) -> tuple[int, Counter[str]]:
    """How the child ended, and its calls between the start and the end of the execution."""
    with tempfile.NamedTemporaryFile(mode="r") as log:
        options = ["-f", "-o", log.name, "-e", f"trace={','.join(calls) or 'all'}"]
        code = _traced(driver, task, options)
        # With -f every line starts with a pid; an interrupted call stands on two lines and counts once.
        return code, Counter(re.findall(r"^\d+\s+(\w+)\(", log.read(), re.MULTILINE))


def killed(driver: Driver, task: Mapping[str, Any], call: str, number: int) -> int:
    """How the child ended that strace killed when it was about to make this call for the n-th time."""
    options = ["-f", "-o", os.devnull, "-e", f"trace={call}"]
    return _traced(driver, task, [*options, "-e", f"inject={call}:signal=SIGKILL:when={number}"])


def _traced(driver: Driver, task: Mapping[str, Any], options: list[str]) -> int:
    with contextlib.ExitStack() as stack:

        def attach(pid: int) -> None:
            refused = stack.enter_context(_attached(pid, options))
            os.kill(pid, signal.SIGUSR1)
            assert not refused, refused

        return driver.run(task, attach)


@contextlib.contextmanager
def _attached(pid: int, options: list[str]) -> Iterator[str]:
    """Lets strace watch the process, until that ends; gives its complaint where it could not attach."""
    command = ["strace", *options, "-p", str(pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
        said = strace.stderr.readline()
        try:
            yield "" if "attached" in said else f"strace cannot attach here: {said.strip()}"
            # The traced process has ended, and strace follows it.
            strace.wait(timeout=90)
        finally:
            strace.kill()
