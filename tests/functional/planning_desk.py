"""A planning session as a person has it at a terminal, with a model that a test writes."""

import contextlib
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec
import pexpect
import pytest

from ringi.api import open_workspace
from ringi.cli.main import main
from tests.functional.desk import RINGI, Desk

PROMPT = r"\n(?:\x1b\[[0-9;]*m)?> "
MENU = r"\[q\]\S* "
YES_NO = r"\[y/n\](?:\x1b\[0m)? "

# Whatever is asked for stands in the schema of the answer.
SCRIPT = """\
prompt=$(cat)
case "$prompt" in
*'"questions"'*) what=questions;;
*'"summary"'*) what=summary;;
*) what=decisions;;
esac
cd {folder} || exit 1
echo "$what" >> asked
if [ -e "$what.slow" ]; then sleep "$(cat "$what.slow")"; fi
cat "$what.json"
"""


def question(words: str, kind: str = "scope", options: Sequence[str] = (), why: str = "") -> dict[str, Any]:
    return {"type": kind, "question": words, "context": why, "options": list(options)}


def decision(topic: str, *names: str) -> dict[str, Any]:
    """The first option is the recommended one."""
    options = [
        {
            "name": name,
            "description": f"It is {name}.",
            "pros": [f"{name} is quick"],
            "cons": [f"{name} is dear"],
            "recommendation": name == names[0],
        }
        for name in names
    ]
    return {"topic": topic, "options": options}


class ScriptedModel:
    """A command that answers with what stands in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        script = folder / "model.sh"
        script.write_text(SCRIPT.format(folder=shlex.quote(str(folder))))
        self.name = f"command:sh {shlex.quote(str(script))}"
        self.answers(
            questions=[
                question(
                    "Which files?", options=["Only one", "All of them"], why="It decides how much changes."
                ),
                question("What must stay?", "constraint"),
            ],
            decisions=[
                decision("Where it is kept", "In a file", "In memory"),
                decision("How it is named", "Short", "Long"),
            ],
            summary="# Goal\n\nDo it.\n\n- first\n- second",
        )

    def answers(self, **given: object) -> None:
        for what, value in given.items():
            (self.folder / f"{what}.json").write_text(json.dumps({what: value}))

    def breaks(self, what: str) -> None:
        (self.folder / f"{what}.json").unlink()

    def is_slow(self, what: str, seconds: int = 30) -> None:
        (self.folder / f"{what}.slow").write_text(str(seconds))

    @property
    def asked(self) -> list[str]:
        path = self.folder / "asked"
        return path.read_text().split() if path.exists() else []


class Talk:
    """`ringi plan` at a terminal. The prompt stands there only once it listens, so nothing needs to wait."""

    def __init__(
        self,
        root: Path,
        *words: str,
        columns: int = 80,
        rows: int = 40,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", **(variables or {})}
        self.child = pexpect.spawn(
            RINGI[0],
            [*RINGI[1:], *words],
            cwd=str(root),
            env=environment,  # type: ignore[arg-type]
            encoding="utf-8",
            timeout=30,
            dimensions=(rows, columns),
        )
        self.child.delaybeforesend = None
        self.child.delayafterclose = self.child.delayafterterminate = 0.02
        self.child.ptyproc.delayafterclose = self.child.ptyproc.delayafterterminate = 0.02
        self.seen = ""
        """Everything that stood on the screen."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.close(force=True)

    def read(self, pattern: str = PROMPT) -> str:
        """What came up to the pattern, without the line ends of a terminal."""
        self.child.expect(pattern)
        return self._noted(f"{self.child.before}{self.child.after}")

    def _noted(self, words: str) -> str:
        words = words.replace("\r\n", "\n")
        self.seen += words
        return words

    def say(self, words: str, pattern: str = PROMPT) -> str:
        """Answers what is asked; answers with what was shown before."""
        shown = self.read(pattern)
        self.send(words + "\n")
        return shown

    def decide(self, option: str, reason: str = "") -> str:
        shown = self.say(option)
        self.say(reason)
        return shown

    def reject(self, feedback: str) -> str:
        """In the review; answers with what was shown there."""
        shown = self.say("r", MENU)
        self.say(feedback)
        return shown

    def approve(self) -> str:
        shown = self.say("a", MENU)
        self.say("y", YES_NO)
        return shown

    def send(self, words: str) -> None:
        self.child.send(words)

    def end(self) -> tuple[int, str]:
        """The exit code, and the rest of the screen; 128 + n after a death by signal n."""
        self.child.expect(pexpect.EOF)
        rest = self._noted(str(self.child.before))
        self.child.close()
        if self.child.exitstatus is not None:
            return int(self.child.exitstatus), rest
        return 128 + int(self.child.signalstatus or 0), rest

    def kill(self) -> None:
        self.child.kill(signal.SIGKILL)
        self.child.expect(pexpect.EOF)
        self.child.close()


class PlanningDesk(Desk):
    """Calls without a terminal, and what is kept."""

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """In this process, since starting one takes longer than all that a step does."""
        out, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.chdir(self.root),
            Path(os.devnull).open() as nothing,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(errors),
        ):
            patch.setattr(sys, "stdin", nothing)
            for name, value in {"LANGUAGE": os.environ.get("LANGUAGE", ""), **variables}.items():
                patch.setenv(name, value)
            code = main(words)
        for stream in (out, errors):
            stream.seek(0)
        return subprocess.CompletedProcess(words, code, out.read(), errors.read())

    def process(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return super().run(*words, **variables)

    def step(self, *words: str, **variables: str) -> tuple[int, Any]:
        """The exit code and the document; None where there is none."""
        done = self.run("plan", *words, **variables)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None

    def talk(self, *words: str, columns: int = 80, rows: int = 40, **variables: str) -> Talk:
        return Talk(self.root, *words, columns=columns, rows=rows, variables=variables)

    def session(self) -> dict[str, Any]:
        """The only one, as the ledger has it: its file is written a moment later, or never after a kill."""
        with open_workspace(self.root) as workspace:
            [ref] = workspace.planning.list()
            document: dict[str, Any] = msgspec.to_builtins(workspace.planning.get(ref.session_id).session)
        return document

    def short_id(self) -> str:
        return str(self.session()["sessionId"])[:17]

    def answers(self) -> list[str | None]:
        return [question["answer"] for question in self.session()["questions"]]

    def chosen(self) -> list[str | None]:
        return [decision["selectedOptionId"] for decision in self.session()["decisions"]]


def plain(words: str) -> str:
    """Without the blanks and line ends that folding made."""
    return re.sub(r"\s+", " ", words)


def imported(root: Path, *words: str) -> set[str]:
    """The modules that are loaded when a command has ended; it is without a terminal."""
    script = (
        "import sys; from ringi.cli.main import main; main(sys.argv[1:]); sys.stdout.flush(); "
        "sys.stderr.write('\\nLOADED ' + ' '.join(sys.modules))"
    )

    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return set(done.stderr.rpartition("LOADED ")[2].split())
