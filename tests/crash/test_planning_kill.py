"""kill -9 anywhere in planning sessions: what was acknowledged stands, and the next process goes on."""

import json
import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

from ringi.api.doctor import doctor_of
from ringi.domain import codec
from ringi.domain.run import RunPhase
from ringi.domain.session import PlanningSession, SessionStatus
from ringi.errors import NotFound
from ringi.planning.operations import consistent
from tests.helpers import environment_of, ledger_of, open_scratch, python

FULL = os.environ.get("RINGI_CAMPAIGN") == "full"
KILLS = 600 if FULL else 60
CALLS = 150_000
"""A whole session makes about as many calls of functions, those of the database included."""

# One that has everything loaded; what it forks goes on with the session that is open, or begins one.
DRIVER = """
import json, os, signal, sys, tempfile
from ringi.api import open_workspace
from ringi.domain.approval import TypedAnswer
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
            assert consistent(session)
            assert session.status not in {SessionStatus.FAILED, SessionStatus.CANCELLED}
            have[name, "instruction"] = session.instruction
            have |= {(name, question.id): question.answer or "" for question in session.questions}
            have |= {(name, decision.id): decision.rationale or "" for decision in session.decisions}
            have[name, "feedback"] = "\n".join(facts.feedback)
            if run_id := session.planner_session_id:
                have[name, "run"] = run_id
                assert ledger.run(run_id).phase is RunPhase.PLANNING
            assert (ledger.approvals(name) == ()) == (run_id is None)
        assert len(ledger.runs()) == sum(key == "run" for _, key in have)
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
                assert codec.foreign(path.read_bytes(), PlanningSession, "x"), "never half written"
        child.stdin.close()
    assert ends.count(-signal.SIGKILL) > KILLS // 2
    assert set(ends) == {0, -signal.SIGKILL}
    assert sum(key == "run" for _, key in have) > 1, "some came to their end"
    list(doctor_of(tmp_path / "ws", environment_of(tmp_path)).repair(_no_copy))
    assert [
        str(one.text) for one in doctor_of(tmp_path / "ws", environment_of(tmp_path)).examine() if one.mend
    ] == []


def _no_copy(*_: object) -> None:
    raise NotFound(what="copy", name="")


FULL_DISK = """
import json, resource, sys
from pathlib import Path
from ringi.api import open_workspace
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
