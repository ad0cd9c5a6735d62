"""kill -9 anywhere in planning sessions: what was acknowledged stands, and the next process goes on."""

import json
import os
import random
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ringi.app.api import open_workspace
from ringi.app.doctor import Doctor
from ringi.engine.run_state import RunPhase
from ringi.errors import NotFound
from ringi.kernel import codec
from ringi.models.usage import TokenUsage
from ringi.sessions.document import PlanningSession, SessionStatus
from ringi.sessions.operations import is_consistent
from tests.fakes.model_server import ModelServer, Request
from tests.helpers import environment_of, ledger_of, make_files, open_scratch, python

FULL = os.environ.get("RINGI_CAMPAIGN") == "full"
KILLS = 600 if FULL else 30
CALLS = 150_000
"""A whole session makes about as many calls of functions, those of the database included."""

# One that has everything loaded; what it forks goes on with the session that is open, or begins one.
DRIVER = """
import json, os, signal, sys, tempfile
from ringi.app.api import open_workspace
from ringi.approvals.document import TypedAnswer
from tests.fakes.people import SeatedPerson

root, environment = sys.argv[1], json.loads(sys.argv[2])
told = os.open(sys.argv[3], os.O_WRONLY | os.O_APPEND)

def tell(session_id, key, words):
    os.write(told, (json.dumps([session_id, key, words]) + "\\n").encode())

def lead(planning):
    refs = planning.list(open_only=True)
    session_id = refs[0].session_id if refs else planning.start("Migrate the users table").session_id
    tell(session_id, "instruction", "Migrate the users table")
    while True:
        pending = planning.go_on(session_id).pending
        again = planning.get(session_id).session.reject_count
        match pending.__struct_config__.tag:
            case "question":
                name = pending.question.id
                planning.answer(session_id, f"because of {name}", question_id=name)
                tell(session_id, name, f"because of {name}")
            case "decision":
                name = pending.decision.id
                planning.decide(session_id, "opt-b", f"for {name}", decision_id=name)
                if again:
                    tell(session_id, name, f"for {name}")
            case "approval" if not again:
                planning.reject(session_id, "smaller")
                tell(session_id, "feedback", "smaller")
            case "approval":
                answer = TypedAnswer(planning.request(session_id).digest, "y")
                tell(session_id, "run", planning.approve(session_id, "person", answer).pending.run_id)
                return

def killed_after(calls):
    def hook(*_):
        nonlocal calls
        calls -= 1
        if calls <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.setprofile(hook)

def child(calls):
    killed_after(calls)
    with open_workspace(root, environment=environment, person=SeatedPerson(), at_once=True) as workspace:
        lead(workspace.planning)

# What a first session loads is loaded before anybody is killed.
with tempfile.TemporaryDirectory() as folder:
    os.makedirs(folder + "/ws/.agent")
    aside = {**environment, "RINGI_STATE_DIR": folder + "/state"}
    with open_workspace(folder + "/ws", environment=aside, person=SeatedPerson(), at_once=True) as workspace:
        workspace.planning.go_on(workspace.planning.start("Migrate the users table").session_id)
with open_workspace(root, environment=environment, at_once=True) as workspace:
    workspace.planning.list()
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        child(int(line))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


def found(tmp_path: Path) -> dict[tuple[str, str], str]:
    """What the ledger has of each thing that can be told; the ledger is whole."""
    have: dict[tuple[str, str], str] = {}
    with open_scratch(tmp_path) as workspace:
        assert workspace.verify_log() == []
        ledger = ledger_of(workspace)
        for ref in workspace.planning.list():
            session, facts, _ = workspace.planning.get(ref.session_id)
            name = session.session_id
            assert is_consistent(session)
            assert session.status not in {SessionStatus.FAILED, SessionStatus.CANCELLED}
            have[name, "instruction"] = session.instruction
            have |= {(name, question.id): question.answer or "" for question in session.questions}
            have |= {(name, decision.id): decision.rationale or "" for decision in session.decisions}
            have[name, "feedback"] = "\n".join(facts.feedback)
            if run_id := session.planner_session_id:
                have[name, "run"] = run_id
                assert ledger.runs.get(run_id).phase is RunPhase.PLANNING
            assert (ledger.approvals.of(name) == ()) == (run_id is None)
        assert len(ledger.runs.all()) == sum(key == "run" for _, key in have)
    return have


@pytest.mark.req("IP-11", "IP-14")
def test_killed_anywhere(tmp_path: Path):
    with open_scratch(tmp_path):
        told = tmp_path / "told"
        told.touch()
    environment = json.dumps(environment_of(tmp_path))
    chance = random.Random(2026)  # the same places every time
    ends = []
    child = python(DRIVER, str(tmp_path / "ws"), environment, str(told), stdin=subprocess.PIPE)
    with child:
        for _ in range(KILLS):
            child.stdin.write(f"{chance.randrange(CALLS)}\n")
            child.stdin.flush()
            ends.append(int(child.stdout.readline()))
            have = found(tmp_path)
            for line in told.read_text().splitlines():
                name, key, words = json.loads(line)
                assert have[name, key] == words, line
            for path in (tmp_path / "ws" / ".agent" / "planning-sessions").glob("planning-*.json"):
                assert codec.decode_foreign(path.read_bytes(), PlanningSession, "x"), "never half written"
        child.stdin.close()
    assert ends.count(-signal.SIGKILL) > KILLS // 2
    assert set(ends) == {0, -signal.SIGKILL}
    assert sum(key == "run" for _, key in have) > 1, "some came to their end"
    list(Doctor(tmp_path / "ws", environment_of(tmp_path)).repair(_no_copy))
    assert [
        str(one.text) for one in Doctor(tmp_path / "ws", environment_of(tmp_path)).examine() if one.mend
    ] == []


def _no_copy(*_: object) -> None:
    raise NotFound(what="copy", name="")


# As above, killed at one of the moments that a session with a model consists of; `at` 0 lives.
STEPS_DRIVER = """
import json, os, signal, sys
import openai, pydantic_ai.models.openai, pydantic_ai.providers.openai
import ringi.cli.planning.entry, ringi.models.client, ringi.models.http_backend, ringi.models.providers
from ringi.app.api import open_workspace
from ringi.approvals.document import TypedAnswer
from tests.fakes.people import SeatedPerson

MOMENTS = {
    "SnapshotContext.gather", "SnapshotContext.read", "ModelClient.ask", "_Question._send", "_Turn._keep",
    "OpenCalls.__setitem__", "OpenCalls.__delitem__", "save", "add", "kept", "PlanningTool.start",
    "PlanningTool.answer", "PlanningTool.decide", "PlanningTool.reject", "PlanningTool.approve",
}

def lead(planning):
    if any(ref.status == "approved" for ref in planning.list()):
        return
    refs = planning.list(open_only=True)
    session_id = refs[0].session_id if refs else planning.start("Make it faster").session_id
    while True:
        pending = planning.go_on(session_id).pending
        match pending.__struct_config__.tag:
            case "question":
                planning.answer(session_id, "because of " + pending.question.id)
            case "decision":
                planning.decide(session_id, "opt-b", "for " + pending.decision.id)
            case "approval" if not planning.get(session_id).session.reject_count:
                planning.reject(session_id, "smaller: only work_3")
            case "approval":
                answer = TypedAnswer(planning.request(session_id).digest, "y")
                planning.approve(session_id, "person", answer)
                return

def child(told, root, environment, at):
    seen = []
    def hook(frame, event, _):
        code = frame.f_code
        if event in {"call", "return"} and code.co_qualname in MOMENTS and "ringi" in code.co_filename:
            seen.append(code.co_qualname + " " + event)
            if len(seen) == at:
                os.write(told, seen[-1].encode())
                os.kill(os.getpid(), signal.SIGKILL)
    sys.setprofile(hook)
    with open_workspace(root, environment=environment, person=SeatedPerson(), at_once=True) as workspace:
        lead(workspace.planning)
    os.write(told, str(len(seen)).encode())

for line in sys.stdin:
    heard, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            child(told, *json.loads(line))
        finally:
            sys.excepthook(*sys.exc_info()) if sys.exc_info()[0] else None
            os._exit(1)
    os.close(told)
    print(os.read(heard, 100).decode(), flush=True)
    os.waitpid(pid, 0)
    os.close(heard)
"""
SUMMARY = {"summary": "Do it.", "target_paths": [{"path": "src/nowhere.py"}], "test_commands": []}


def said(request: Request) -> Any:
    """The same to the same prompt: every kind of step that a session has."""
    assert request.schema
    answered = "→ because of q-1" in request.text
    decision = {"topic": "Where", "options": [option("here"), option("there")]}
    match next(iter(request.schema["properties"])):
        case "paths":
            return {"paths": ["src/part1.py", "src/gone.py"]}
        case "questions":
            return {
                "questions": [{"type": "scope", "question": "What is slow?", "context": "", "options": []}]
            }
        case "decisions" if answered and "→ because of q-2" not in request.text:
            further = {"type": "scope", "question": "Since when?", "context": "", "options": []}
            return {"decisions": [], "further_questions": [further]}
        case "decisions":
            return {"decisions": [decision, {**decision, "topic": "When"}], "further_questions": []}
        case "changed":
            return {"changed": [{**decision, "id": "d-2", "topic": "When then"}], "added": [], "dropped": []}
        case "summary":
            return {
                **SUMMARY,
                "acceptance_criteria": [],
                "assumptions": [],
                "out_of_scope": [],
                "open_points": [],
            }
    return {"target_paths": [{"path": "src/part2.py", "new": False}], "test_commands": []}


def option(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": name,
        "pros": ["short"],
        "cons": ["new"],
        "recommendation": name == "here",
    }


class Ended(NamedTuple):
    """What came of a session, without its ids and times."""

    told: tuple[object, ...]
    usage: TokenUsage


def ended(root: Path, environment: Mapping[str, str]) -> Ended:
    with open_workspace(root, environment=environment) as workspace:
        assert workspace.verify_log() == []
        [ref] = workspace.planning.list()
        session, facts, _ = workspace.planning.get(ref.session_id)
        told = (
            session.status,
            [(one.id, one.question, one.answer) for one in session.questions],
            [(one.id, one.topic, one.selected_option_id, one.rationale) for one in session.decisions],
            session.design_summary,
            [(one.role, one.content) for one in session.conversation_history],
            (facts.feedback, facts.files, facts.missing, facts.read_in, facts.design, facts.project),
            len(ledger_of(workspace).runs.all()),
        )
        assert not list(workspace.places.state.glob("*.call")), "nothing is left of it"
    return Ended(told, facts.usage)


@pytest.mark.req("IP-14")
def test_killed_at_the_steps_of_a_session_with_a_model(tmp_path: Path):
    files = {f"src/part{n}.py": f"def work_{n}(value):\n    return {n}\n" for n in range(40)}
    with ModelServer(said) as server, python(STEPS_DRIVER, stdin=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout

        def led(number: int, at: int) -> str:
            folder = tmp_path / str(number)
            if not folder.exists():
                (folder / "ws" / ".agent").mkdir(parents=True)
                make_files(folder / "ws", files)
            environment = environment_of(folder, **server.environment(), RINGI_MODEL="openai:m")
            child.stdin.write(json.dumps([str(folder / "ws"), environment, at]) + "\n")
            child.stdin.flush()
            return child.stdout.readline().strip()

        def result(number: int) -> Ended:
            return ended(tmp_path / str(number) / "ws", environment_of(tmp_path / str(number)))

        led(0, 0)
        calls, whole = len(server.requests), result(0)
        assert whole.usage.requests == calls == 10
        chance = random.Random(2026)  # the same places every time
        places: set[str] = set()
        for number in range(1, 25 if FULL else 2):
            before, kills = len(server.requests), 0
            while not (place := led(number, chance.randrange(6, 32))).isdigit():
                places.add(place)
                kills += 1
            answered, again = len(server.requests) - before, result(number)
            assert again.told == whole.told
            assert answered <= calls + kills
            # Every call that was answered is counted; so is one that was about to be sent.
            assert 0 <= again.usage.requests - answered <= kills
            assert again.usage.input_tokens >= whole.usage.input_tokens
        child.stdin.close()
    assert len(places) > (20 if FULL else 4), places


FULL_DISK = """
import json, resource, sys
from pathlib import Path
from ringi.app.api import open_workspace
from ringi.errors import StorageFailed
from tests.fakes.people import SeatedPerson

root, environment = sys.argv[1], json.loads(sys.argv[2])
with open_workspace(root, environment=environment, person=SeatedPerson(), at_once=True) as workspace:
    planning = workspace.planning
    session_id = planning.go_on(planning.start("Migrate the users table").session_id).session_id
    before = planning.get(session_id)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    sizes = [path.stat().st_size for path in workspace.places.state.iterdir() if path.is_file()]
    resource.setrlimit(resource.RLIMIT_FSIZE, (max(sizes), hard))
    failed = 0
    for number in range(40):
        try:
            planning.answer(session_id, f"{number} " + "long " * 1900)
            planning.back(session_id)
        except StorageFailed as error:
            failed += 1
            break
    kept = planning.get(session_id)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    breaks = workspace.verify_log()
    view = planning.answer(session_id, "short", question_id=planning.view(session_id).pending.question.id)
    workspace.flush()
    print(json.dumps([failed, number, kept.revision - before.revision, list(map(str, breaks)),
                      list(map(str, workspace.verify_log())), view.pending.number]))
"""


@pytest.mark.req("IP-11")
def test_a_disk_that_is_full(tmp_path: Path):
    open_scratch(tmp_path).close()
    child = python(FULL_DISK, str(tmp_path / "ws"), json.dumps(environment_of(tmp_path)))
    with child:
        failed, number, saves, breaks, after, asked = json.loads(child.stdout.readline())
    assert failed == 1
    assert saves in {2 * number, 2 * number + 1}, "what was acknowledged is there, and nothing else"
    assert (breaks, after) == ([], [])
    assert asked >= 2
