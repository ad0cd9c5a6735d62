"""A planning session as a person has it at a terminal, with a model that a test writes."""

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ringi.app.api import open_workspace
from tests.functional.desk import Desk, Terminal
from tests.helpers import modules_after

PROMPT = r"\n(?:\x1b\[[0-9;]*m)?> "
MENU = r"\[q\]\S* "
YES_NO = r"\[y/n\](?:\x1b\[0m)? "

# Whatever is asked for stands first in the schema of the answer.
SCRIPT = """\
prompt=$(cat)
case "$prompt" in
*'"properties":{{"paths"'*) what=files;;
*'"properties":{{"changed"'*) what=revision;;
*'"properties":{{"questions"'*) what=questions;;
*'"properties":{{"summary"'*) what=summary;;
*) what=decisions;;
esac
cd {folder} || exit 1
if [ "$what" = files ]; then echo '{{"paths": []}}'; exit; fi
echo "$what" >> asked
if [ -e "$what.slow" ]; then sleep "$(cat "$what.slow")"; fi
sed "s/(round)/$(grep -c revision asked)/g" "$what.json"
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
        self.revises(
            changed=[
                {"id": "d-1", **decision("Where it is kept", "In a file", "In memory", "Way (round)")},
                {"id": "d-2", **decision("How it is named", "Short", "Long", "Way (round)")},
            ]
        )

    def revises(self, **given: object) -> None:
        """What feedback changes."""
        (self.folder / "revision.json").write_text(json.dumps(given))

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


class Talk(Terminal):
    """`ringi plan` at a terminal."""

    def read(self, pattern: str = PROMPT) -> str:
        return super().read(pattern)

    def say(self, words: str, pattern: str = PROMPT) -> str:
        """Answers what is asked; answers with what was shown before."""
        return self.answer(pattern, words)

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


class PlanningDesk(Desk):
    """With the sessions that are kept."""

    def step(self, *words: str, **variables: str) -> tuple[int, Any]:
        """The exit code and the document; None where there is none."""
        done = self.run("plan", *words, **variables)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None

    def talk(self, *words: str, columns: int = 80, rows: int = 40, **variables: str) -> Talk:
        return Talk(self.root, words, variables, columns=columns, rows=rows)

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


LOADED_TO_PLAN = (
    "ringi.engine.call_log",
    "ringi.engine.compile",
    "ringi.engine.decompose",
    "ringi.engine.engine",
    "ringi.engine.levels",
    "ringi.engine.order",
    "ringi.engine.phases",
    "ringi.engine.plan_checks",
    "ringi.engine.plan_prompts",
    "ringi.sessions.prompts",
    "ringi.engine.revise",
    "ringi.engine.run_parts",
    "ringi.engine.split",
    "ringi.models.backend",
    "ringi.models.cached",
    "ringi.models.client",
    "ringi.models.command_backend",
    "ringi.models.http_backend",
    "ringi.models.providers",
    "ringi.models.reply",
    "ringi.models.turns",
    "ringi.sessions.agent_input",
    "ringi.sessions.approve",
    "ringi.sessions.design",
    "ringi.sessions.import_session",
    "ringi.sessions.model",
    "ringi.sessions.operations",
    "ringi.sessions.playbook",
    "ringi.sessions.playbook.book",
    "ringi.sessions.playbook.case",
    "ringi.sessions.playbook.instruction",
    "ringi.sessions.playbook.outline",
    "ringi.sessions.playbook.questions",
    "ringi.sessions.playbook.quote",
    "ringi.sessions.playbook.summary",
    "ringi.sessions.playbook.words",
    "ringi.sessions.save",
    "ringi.sessions.save",
    "ringi.sessions.tool",
)
"""Nobody needs these to look at what waits."""


def imported(root: Path, *words: str) -> set[str]:
    """The modules that are loaded when a command has ended; it is without a terminal."""
    return modules_after("import sys; from ringi.cli.main import main; main(sys.argv[1:])", *words, cwd=root)
