"""Planning sessions against a service that misbehaves: the right state, and on they go afterwards."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ringi.app.api import Workspace, open_workspace
from ringi.errors import SessionFailed
from ringi.sessions.document import DecisionPending, QuestionPending, SessionStatus
from tests.fakes.model_server import (
    ANTHROPIC_KEY,
    OPENAI_KEY,
    Cut,
    Huge,
    ModelServer,
    Never,
    Refuse,
    Request,
    Say,
    Status,
)
from tests.fakes.models import DECISIONS, QUESTIONS, SUMMARY
from tests.fakes.people import SeatedPerson
from tests.functional import warm
from tests.helpers import PATIENCE_SEC, assert_not_loaded, modules_after

ANSWERS: dict[str, Any] = {
    "files": {"paths": []},
    "discovery": QUESTIONS,
    "design": DECISIONS,
    "revision": {},
    "review": SUMMARY,
}
FAULTS: dict[str, tuple[Any, str]] = {
    "401": (Status(401, "bad key {key}"), "refused the call"),
    "500": (Status(500, "oops"), "takes no calls now"),
    "cut": (Cut(), ""),
    "wrong shape": (Say({"questions": [{"question": 5}], "decisions": 1, "summary": []}), "cannot be used"),
    "refused": (Refuse(), "did not answer"),
    "5 MB": (Huge(), "cannot be used"),
    "never": (Never(), "did not answer within"),
}


ASKED_FOR = {
    "paths": "files",
    "questions": "discovery",
    "decisions": "design",
    "changed": "revision",
    "summary": "review",
}


def purpose_of(request: Request) -> str:
    """By what stands first in the schema of the answer."""
    text = request.text + json.dumps(request.schema, separators=(",", ":"))
    [found] = [name for name in ASKED_FOR if f'"properties":{{"{name}"' in text]
    return ASKED_FOR[found]


class Service:
    """Answers a whole session; one phase goes wrong as long as it is told to."""

    def __init__(self, phase: str, fault: Any) -> None:
        self.phase = phase
        self.fault = fault

    def __call__(self, request: Request) -> Any:
        purpose = purpose_of(request)
        return self.fault if self.fault is not None and purpose == self.phase else ANSWERS[purpose]


def opened(repo: Path, server: ModelServer, model: str, patience: str = "60") -> Workspace:
    environment = {
        **os.environ,
        **server.environment(),
        "RINGI_MODEL": model,
        "RINGI_LLM_TIMEOUT_SEC": patience,
    }
    return open_workspace(repo, environment=environment, person=SeatedPerson(), at_once=True)


def lead(workspace: Workspace, session_id: str) -> None:
    while True:
        match workspace.planning.go_on(session_id).pending:
            case QuestionPending(question=question):
                workspace.planning.answer(session_id, f"re {question.id}")
            case DecisionPending():
                workspace.planning.decide(session_id, "opt-b", "it lasts")
            case _:
                return


@pytest.mark.req("IP-12", "IP-14", "PP-17")
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_ends_as_specified_and_the_session_can_be_resumed(repo: Path, name: str):
    fault, words = FAULTS[name]
    # Every fault of every service in every phase would take long, and the adapters have tests of their own.
    at = list(FAULTS).index(name)
    phase, model = ["discovery", "design", "review"][at % 3], ["openai:m", "anthropic:m"][at % 2]
    service = Service(phase, fault)
    with ModelServer(service) as server:
        # Only these wait until the time is up; the others must not, however busy the machine is.
        with opened(repo, server, model, "5" if name in {"500", "never"} else "60") as workspace:
            session_id = workspace.planning.start("Add a login").session_id
            with pytest.raises(SessionFailed) as caught:
                lead(workspace, session_id)
            assert words in str(caught.value)
            session = workspace.planning.get(session_id).session
            assert session.status is SessionStatus.FAILED
            assert session.error_message
            assert words in session.error_message
            answers = [question.answer for question in session.questions]
            written = json.loads((repo / ".agent/planning-sessions" / f"{session_id}.json").read_bytes())
            assert (written["status"], written["errorMessage"]) == ("failed", session.error_message)
            log = (repo / ".agent" / written[f"{phase}LogPath"]).read_text()
            assert "Traceback (most recent call last)" in log
            assert "ringi.errors" in log
            everything = str(caught.value) + log + json.dumps(written)
            assert OPENAI_KEY not in everything
            assert ANTHROPIC_KEY not in everything
        service.fault = None
        with opened(repo, server, model) as workspace:
            workspace.planning.resume(session_id)
            lead(workspace, session_id)
            session = workspace.planning.get(session_id).session
            assert (session.status, session.error_message) == (SessionStatus.REVIEW, None)
            assert [question.answer for question in session.questions][: len(answers)] == answers
            assert workspace.verify_log() == []


@pytest.mark.req("IP-12")
def test_a_wrong_answer_is_asked_for_again_and_the_session_never_notices(repo: Path):
    steps = iter([Say("no JSON at all"), Say({"questions": "none"})])

    def service(request: Request) -> Any:
        return next(steps, None) or ANSWERS[purpose_of(request)]

    with ModelServer(service) as server, opened(repo, server, "openai:m") as workspace:
        session_id = workspace.planning.start("Add a login").session_id
        assert isinstance(workspace.planning.go_on(session_id).pending, QuestionPending)
        stored = workspace.planning.get(session_id)
        assert stored.facts.usage.requests == 3
        assert "must be a list" in server.requests[-1].text
        log = (repo / ".agent" / str(stored.session.discovery_log_path)).read_text()
        assert log.count("-- request") == 3


@pytest.mark.req("IP-12", "IP-6")
def test_on_the_command_line_it_says_what_to_do_next(repo: Path):
    service = Service("discovery", Status(401, "who are you?"))
    with ModelServer(service) as server:
        environment = {**os.environ, **server.environment(), "RINGI_MODEL": "openai:m"}

        def ringi(*words: str, **more: str) -> "subprocess.CompletedProcess[str]":
            return warm.run(
                [*warm.RINGI, *words],
                cwd=repo,
                env={**environment, **more},
                stdin=subprocess.DEVNULL,
                timeout=PATIENCE_SEC,
            )

        failed = ringi("plan", "Add a login")
        assert failed.returncode == 1
        assert "who are you?" in failed.stderr
        name = failed.stderr.split("ringi plan --resume ")[1].split()[0]
        asked = ringi("plan", "--resume", name, RINGI_MODEL="playbook")
        assert asked.returncode == 3, asked.stderr
        assert json.loads(asked.stdout)["pending"]["question"]["id"] == "q-1"


def test_commands_that_need_no_model_load_no_model_library(repo: Path):
    """One process for all of them: what one of them loads, all would show."""
    script = (
        "import json, sys\n"
        "from ringi.cli.main import main\n"
        "codes = [main(words) for words in json.loads(sys.argv[1])]\n"
        "assert codes == [0, 3, 3, 0, 0, 0, 0, 0], codes\n"
        "assert 'ringi.sessions.playbook' in sys.modules\n"
    )
    commands = [
        ["plan", "--help"],
        ["plan", "Add a login"],
        ["plan", "--resume"],
        ["status"],
        [],
        ["list"],
        ["doctor"],
        ["config", "show"],
    ]
    environment = {**os.environ, "RINGI_MODEL": "playbook"}
    loaded = modules_after(script, json.dumps(commands), cwd=repo, env=environment)
    assert_not_loaded(loaded, "pydantic", "pydantic_ai", "openai", "anthropic", "httpx2")
