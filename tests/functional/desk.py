"""The program as a person uses it: real processes, a real terminal, a real repository."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pexpect

RINGI = [sys.executable, "-m", "ringi"]
MENU = r"\[q\]uit"


class Desk:
    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Without a terminal."""
        return subprocess.run(
            [*RINGI, *words],
            cwd=self.root,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def json(self, *words: str) -> Any:
        done = self.run("--json", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def agent(self, script: str, *options: str) -> str:
        """A command changes files in its copy; answers with the plan's name."""
        done = self.run("--json", "with", *options, "--", "sh", "-c", script)
        assert done.returncode == 0, done.stderr
        return f"p{json.loads(done.stdout)['plan']['number']}"

    def terminal(self, *words: str, **variables: str) -> "Terminal":
        return Terminal(self.root, words, variables)

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


class Terminal:
    """A person at a terminal of 80 columns."""

    def __init__(self, root: Path, words: tuple[str, ...], variables: dict[str, str]) -> None:
        self.child = pexpect.spawn(
            RINGI[0],
            [*RINGI[1:], *words],
            cwd=str(root),
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "1", **variables},  # type: ignore[arg-type]
            encoding="utf-8",
            timeout=60,
            dimensions=(24, 80),
        )
        # The program discards what was typed before a question stood there.
        self.child.delaybeforesend = 0.3

    def read(self, pattern: str) -> str:
        """What stands on the screen up to the pattern."""
        self.child.expect(pattern)
        return str(self.child.before) + str(self.child.after)

    def type(self, words: str) -> None:
        self.child.sendline(words)

    def answer(self, pattern: str, words: str) -> str:
        seen = self.read(pattern)
        self.type(words)
        return seen

    def end(self) -> tuple[int, str]:
        """The exit code, and the rest of the screen."""
        self.child.expect(pexpect.EOF)
        rest = str(self.child.before)
        self.child.close()
        return self.child.exitstatus if self.child.exitstatus is not None else -1, rest

    def wanted(self) -> str:
        """The characters that a high risk asks for."""
        found = re.search(r"sha256 ([0-9a-f]{6})[0-9a-f]{58}", self.read(r"sha256 [0-9a-f]{64}"))
        assert found
        self.read(found[1])
        return found[1]
