"""A patient person: reads what stands there, answers it, and follows a hint or two if something stops.

Whoever must do more than that has not been served well: the journey fails then.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.walk.terminal import Asks, Ended, Stuck, Terminal

RINGI = Path(__file__).resolve().parents[2] / ".make" / "installed" / "bin" / "ringi"
MOST_ANSWERS = 40
MOST_HINTS = 3
"""Commands beyond those of the journey."""

_HINT = re.compile(r"^\s*→ (ringi [^\n]+)$", re.MULTILINE)
_NOT_FOUND = re.compile(r"(?:not found|No such file or directory|No module named)")
_IDENTITY = "[user]\n\tname = Hanako\n\temail = hanako@example.com\n[init]\n\tdefaultBranch = main\n"
_TOOLS = ("git", "node", "npm")


class Answers(NamedTuple):
    """What the person knows that the repository does not say."""

    example: str
    test: str
    """The command they would type to test the project."""


class Person:
    def __init__(self, base: Path, root: Path, answers: Answers, *, activated: bool) -> None:
        """`activated`: the virtual environment of the project comes first on the PATH."""
        self.root = root
        self.answers = answers
        self.seen = ""
        """Everything on every screen."""
        self.extra: dict[str, str] = {}
        self.leaves_reviews = False
        """They quit the review of a change, to sign it by another command."""
        self._base = base
        self._venv = root / ".venv" if activated else None
        (base / "home").mkdir()
        (base / "home" / ".gitconfig").write_text(_IDENTITY)
        tools = base / "bin"
        tools.mkdir()
        (tools / "ringi").symlink_to(RINGI)
        (tools / "python3").symlink_to(os.path.realpath(sys.executable))
        for name in _TOOLS:
            if found := shutil.which(name):
                (tools / name).symlink_to(os.path.realpath(found))

    @property
    def environment(self) -> dict[str, str]:
        path = [self._base / "bin", "/usr/bin", "/bin"]
        found = {"HOME": str(self._base / "home"), "TERM": "xterm-256color", "LANG": "C.UTF-8",
                 "SHELL": "/bin/sh", "NO_PROXY": "127.0.0.1", **self.extra}  # fmt: skip
        if self._venv:
            path.insert(0, self._venv / "bin")
            found["VIRTUAL_ENV"] = str(self._venv)
        return {**found, "PATH": os.pathsep.join(map(str, path))}

    def type(self, *words: str, cwd: Path | None = None) -> Ended:
        """A command of the program at a terminal, with every question answered."""
        terminal = Terminal(["ringi", *words], cwd=cwd or self.root, environment=self.environment)
        self.seen += f"\n$ ringi {shlex.join(words)}\n"
        try:
            for _ in range(MOST_ANSWERS):
                moment = terminal.wait()
                if isinstance(moment, Ended):
                    return moment
                self._answer(terminal, moment)
            raise Stuck(f"it asks and asks:\n{terminal.page}")
        finally:
            self.seen += terminal.seen
            terminal.close()

    def follow(self, ended: Ended) -> Ended:
        """Does what the screen says until the program is done or patience is; nobody tries the same twice."""
        tried: list[Sequence[str]] = []
        for _ in range(MOST_HINTS):
            hints = _HINT.findall(ended.seen)
            if ended.code == 0 or not hints or (words := self._sensible(hints[-1], ended.seen)) in tried:
                break
            tried.append(words)
            ended = self.type(*words)
        return ended

    def _sensible(self, hint: str, seen: str) -> Sequence[str]:
        """The hint; if the test command cannot be found, with the one that works here."""
        words = shlex.split(hint)[1:]
        if words[0] == "continue" and _NOT_FOUND.search(seen) and "--test" not in self.seen:
            return ["continue", *words[1:2], "--test", self.answers.test]
        return words

    def _answer(self, terminal: Terminal, moment: Asks) -> None:
        if moment is Asks.KEY:
            leaves = self.leaves_reviews and "[a]pply" in terminal.page
            terminal.answer("q" if leaves else "a", enter=not terminal.whole_screen)
        elif moment is Asks.YES:
            terminal.answer("y", enter=not terminal.whole_screen)
        else:
            terminal.answer(self._words(terminal.page), enter=True)

    def _words(self, page: str) -> str:
        """Of the question that is the last on the page."""
        question = page[-1500:]
        if code := re.findall(r"type ([0-9a-f]{6}):", question):
            return str(code[-1])  # for what is a high risk
        if re.search(r"^\s*Subject:", question, re.MULTILINE):
            return ""
        if re.search(r"[Ww]hich command|How is it tested|how .* tests? ", question):
            return self.answers.test
        # Options are numbered, and the first is the one that is recommended; Enter takes it where it may.
        if re.search(r"^\s*1[.)]? .+\n(?:.*\n)*?\s*2[.)]? ", question, re.MULTILINE):
            return "1"
        if re.search(r"\b[Ww]hy\b.*\?|reason", question.rsplit("\n", 3)[-2] if "\n" in question else ""):
            return ""
        return self.answers.example

    def ask_json(self, *words: str, cwd: Path | None = None) -> Any:
        """What a script would read; None if there is no answer."""
        done = self.run("ringi", "--json", *words, cwd=cwd)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return None

    def run(self, *words: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        """Another program, without a terminal."""
        return subprocess.run(
            words,
            cwd=cwd or self.root,
            env={**self.environment, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=600,
        )

    def git(self, *words: str, cwd: Path | None = None) -> str:
        done = self.run("git", *words, cwd=cwd)
        assert done.returncode == 0, f"git {shlex.join(words)}\n{done.stdout}{done.stderr}"
        return done.stdout.strip()
