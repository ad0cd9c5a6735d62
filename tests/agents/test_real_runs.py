"""Real agents in the roles of a run: they make the steps, mend what the tests found, and judge."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ringi import open_workspace
from ringi.approvals.document import TypedAnswer
from ringi.engine.run_state import RunPhase, StepStatus
from ringi.runs.document import Run, StopCode
from ringi.runs.drive import RunOptions, run_steps
from ringi.runs.start import ReviewedRun, start_from_file
from tests.agents.agent_desk import AgentDesk, agent_desk
from tests.agents.cases import CASES, CLAUDE, CODEX, OPENCODE, Case, installed
from tests.agents.scripted_model import Asked, Call, Say
from tests.fakes.people import SeatedPerson
from tests.functional.beside_desk import walled
from tests.functional.run_desk import a_plan, a_step, git
from tests.helpers import approve

WRONG = "it does not say good day"
TEST = f"from app.hello import hello\n\nassert hello() == 'good day', '{WRONG}'\n"
UNIT = "python3 -B test_hello.py"
BRANCH = "aiflow/RQ-20260101-001/20260101-000000"
GREET = a_step(1, title="Greet", scope={"target_paths": ["app/hello.py"]}, commands={"unit": [UNIT]})
NOTES = a_step(2, title="Write it down", scope={"target_paths": ["NOTES.md"]}, commands={"unit": [UNIT]})


class RunOfAgent:
    def __init__(self, desk: AgentDesk, roles: Mapping[str, Any]) -> None:
        self._desk = desk
        self.root = desk.root
        (desk.root / "test_hello.py").write_text(TEST)
        git(desk.root, "add", ".")
        git(desk.root, "-c", "user.name=Hanako", "-c", "user.email=h@example.org", "commit", "-qm", "A test")
        file = desk.home / ".config/ringi/config.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"roles": roles}))  # JSON is YAML
        (desk.home / ".gitconfig").write_text("[user]\nname = Hanako\nemail = h@example.org\n")
        self._run_id = ""

    def _open(self) -> Any:
        return open_workspace(
            self.root, environment=self._desk.environment, person=SeatedPerson(), at_once=True
        )

    def start(self, *steps: Mapping[str, Any], **fields: Any) -> None:
        with self._open() as workspace:
            run = start_from_file(workspace, json.dumps(a_plan(*steps, **fields)).encode(), "planning.json")
            reviewed = ReviewedRun(workspace, run.run_id)
            reviewed.approve(TypedAnswer(reviewed.digest, "yes"))
        self._run_id = run.run_id

    def go(self) -> Run:
        """Without a terminal, up to where a person is needed."""
        done = self._desk.run("continue")
        run = self.now()
        told = done.stdout + done.stderr + str([one.said for one in self._desk.model.turns])
        assert run.stop is not None, told
        assert (done.returncode, run.stop.reason_code) == (3, StopCode.APPROVAL_NEEDED), told
        return run

    def decide(self) -> Run:
        with self._open() as workspace:
            for step in self.now().steps:
                there = workspace.of_plan(step.plan_id)
                approve(there, step.plan_id)
                there.plan.execute(step.plan_id)
        with self._open() as workspace:
            return run_steps(workspace, self._run_id, RunOptions())

    def now(self) -> Run:
        with self._open() as workspace:
            return workspace.store.runs.get(self._run_id)


@walled
@pytest.mark.req("RN-9", "RN-15")
@pytest.mark.parametrize("root", [True, False], ids=["root", "person"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_agent_makes_two_steps_and_a_person_approves_them(case: Case, root: bool, base: Path) -> None:
    scripts = {"# S02": case.more(base / "repo"), "# S01": case.work(base / "repo")}
    with agent_desk(installed(case), base, root=root, scripts=scripts) as desk:
        run = RunOfAgent(desk, {"implementer": {"command": case.role}})
        run.start(GREET, NOTES)
        steps = run.go().steps
        assert [step.status for step in steps] == [StepStatus.PROPOSED, StepStatus.PROPOSED]
        assert [len(step.attempts) for step in steps] == [1, 1]
        assert [(one.command, one.exit_code) for step in steps for one in step.evidence] == [(UNIT, 0)] * 2
        if case.tests:
            assert any("tested good day" in text for asked in desk.model.turns for text in asked.results)
        assert run.decide().phase is RunPhase.COMPLETED
        assert git(run.root, "show", f"{BRANCH}:NOTES.md") == "notes"
        assert git(run.root, "log", "--format=%s", f"main..{BRANCH}").split("\n") == [
            "Write it down",
            "Greet",
        ]
        who = git(run.root, "log", "--format=%(trailers:key=Assisted-by,valueonly)", f"main..{BRANCH}")
        assert who.split() == [case.name, case.name]
        assert git(run.root, "status", "--porcelain") == ""
        assert (run.root / "app/hello.py").read_text().endswith("'hello'\n")


@walled
@pytest.mark.req("RN-6", "RN-9")
def test_claude_mends_what_the_tests_found(base: Path) -> None:
    file = f"{base}/repo/app/hello.py"
    scripts = {
        # The brief always shows the test; what the test printed only after it failed.
        f"AssertionError: {WRONG}": [
            Call("Read", {"file_path": file}),
            Call("Edit", {"file_path": file, "old_string": "'bye'", "new_string": "'good day'"}),
            Say("Mended."),
        ],
        "# S01": [
            Call("Read", {"file_path": file}),
            Call("Edit", {"file_path": file, "old_string": "'hello'", "new_string": "'bye'"}),
            Say("Done."),
        ],
    }
    with agent_desk(installed(CLAUDE), base, scripts=scripts) as desk:
        run = RunOfAgent(desk, {"implementer": {"command": "claude"}})
        run.start(GREET)
        [step] = run.go().steps
        assert len(step.attempts) == 2
        assert run.decide().phase is RunPhase.COMPLETED
        assert git(run.root, "show", f"{BRANCH}:app/hello.py").endswith("return 'good day'")


@walled
@pytest.mark.req("RN-9")
def test_what_the_settings_of_opencode_ask_about_is_allowed_in_the_sandbox(base: Path) -> None:
    with agent_desk(installed(OPENCODE), base, scripts={"# S01": OPENCODE.work(base / "repo")}) as desk:
        settings = desk.home / ".config/opencode/opencode.json"
        asking = {"permission": {"edit": "ask", "bash": "ask"}}
        settings.write_text(json.dumps({**json.loads(settings.read_text()), **asking}))
        run = RunOfAgent(desk, {"implementer": {"command": OPENCODE.role}})
        run.start(GREET)
        run.go()
        assert "tested good day" in desk.model.turns[-1].results[-1]


_REASON = "Say in a docstring why it greets"
_DOCUMENTED = "def hello():\n    'Politely.'\n    return 'good day'\n"


def _verdict(asked: Asked) -> Say:
    """About the file as it read it."""
    if "Politely" in asked.results[0]:
        return Say(json.dumps({"passed": True, "findings": []}))
    finding = {
        "severity": "error",
        "message": _REASON,
        "path": "app/hello.py",
        "line": 2,
        "criterion": "AC-01",
    }
    return Say(json.dumps({"passed": False, "findings": [finding]}))


_WRITE = f"printf %s {shlex.quote(_DOCUMENTED)} > app/hello.py"
_READ = "cat app/hello.py; touch new.txt || echo it cannot write"
_SHELL = {"claude": ("Bash", "command"), "codex": ("exec_command", "cmd")}


def _shell(case: Case, command: str) -> Call:
    tool, name = _SHELL[case.name]
    return Call(tool, {name: command})


def _reviewed(case: Case, base: Path, reviewer: Mapping[str, str], phrase: str, look: Call) -> list[Asked]:
    """Sent back once, then passed. Gives what the reviewer asked its model."""
    scripts = {
        phrase: [look, _verdict],
        _REASON: [_shell(case, _WRITE), Say("Documented.")],
        "# S01": case.work(base / "repo"),
    }
    with agent_desk(installed(case), base, scripts=scripts) as desk:
        run = RunOfAgent(desk, {"implementer": {"command": case.role}, "reviewer": reviewer})
        run.start(GREET)
        [step] = run.go().steps
        assert [one.role for one in step.attempts] == ["implementer", "reviewer"] * 2
        assert run.decide().phase is RunPhase.COMPLETED
        assert git(run.root, "show", f"{BRANCH}:app/hello.py") == _DOCUMENTED.strip()
        return [asked for asked in desk.model.turns if phrase in asked.said[-1]]


def _look(case: Case, base: Path) -> Call:
    return Call("Read", {"file_path": f"{base}/repo/app/hello.py"}) if case is CLAUDE else _shell(case, _READ)


@walled
@pytest.mark.req("RN-9", "RN-15")
def test_claude_asked_as_a_model_reviews_the_copy_of_the_run(base: Path) -> None:
    phrase = "You are in a read-only copy of the project"
    asked = _reviewed(CLAUDE, base, {"model": "command:claude"}, phrase, _look(CLAUDE, base))
    assert asked
    assert not {tool for one in asked for tool in one.tools} & {"Edit", "Write", "Bash", "WebFetch"}


@walled
@pytest.mark.req("RN-9", "RN-15")
@pytest.mark.parametrize("case", [CLAUDE, CODEX], ids=lambda case: case.name)
def test_an_agent_as_a_command_reviews_what_it_cannot_change(case: Case, base: Path) -> None:
    asked = _reviewed(case, base, {"command": case.role}, "Review what this step", _look(case, base))
    if case is CODEX:
        assert "it cannot write" in asked[-1].results[0]
