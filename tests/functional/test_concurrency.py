"""Many processes on one workspace: nothing is lost, nothing runs twice, the files agree."""

import subprocess
from pathlib import Path

import pytest

from ringi.plans.document import PlanStatus
from tests.helpers import approved, assert_whole, ledger_of, open_scratch, python, statuses, write

PROCESSES = 8
UPDATES = 40
START = """
import sys
from pathlib import Path
import msgspec
from ringi.plans.document import PlanStatus
from ringi.errors import Busy, LostRace, NotApproved, RingiError
from ringi.ledger.event import Actor, EventKind, NewEvent
from tests.helpers import ledger_of, open_scratch, write
place, argument = Path(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
EVENT = NewEvent(EventKind.CHECKED, Actor.SYSTEM)

def more(document):
    count = str(int(document.plan.rationale) + 1)
    return msgspec.structs.replace(document, plan=msgspec.structs.replace(document.plan, rationale=count))

"""
PATIENT = {"RINGI_LOCK_WAIT_SEC": "120"}


def race(code: str, tmp_path: Path, arguments: list[str]) -> list[str]:
    """Start one process for each argument, let them go at once, and collect what they say."""
    children = [python(START + code, str(tmp_path), one, stdin=subprocess.PIPE) for one in arguments]
    try:
        assert [child.stdout.readline() for child in children] == ["ready\n"] * len(children)
        for child in children:
            child.stdin.write("go\n")
            child.stdin.flush()
        said = [child.communicate()[0].strip() for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()
    assert [child.returncode for child in children] == [0] * len(children)
    return said


def opened(**variables: str) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in variables.items())
    return f"ws = open_scratch(place, {given})\n"


@pytest.mark.req("PT-6", "PT-10", "PT-11")
def test_eight_processes_lose_no_update(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        plan_id = ws.plan.propose("Counted", rationale="0")
    code = opened(**PATIENT) + (
        "for _ in range(int(argument)):\n"
        "    with ledger_of(ws).transaction() as transaction:\n"
        f"        stored = transaction.plans.get('{plan_id}')\n"
        "        transaction.plans.save(stored, more(stored.document), EVENT)\n"
        "print(ws.upkeep._projection.problem)\n"
    )
    assert race(code, tmp_path, [str(UPDATES)] * PROCESSES) == ["None"] * PROCESSES
    with open_scratch(tmp_path) as ws:
        stored = ws.plan.stored(plan_id)
        assert stored.document.plan.rationale == str(PROCESSES * UPDATES)
        assert stored.revision == PROCESSES * UPDATES + 1
        assert len(list(ws.log(plan_id))) == PROCESSES * UPDATES + 1
        assert_whole(ws)


@pytest.mark.req("PT-6")
def test_a_lost_race_is_told_and_can_be_run_again(tmp_path: Path):
    """Read first, save later: whoever comes second is refused and tries again."""
    with open_scratch(tmp_path) as ws:
        plan_id = ws.plan.propose("Counted", rationale="0")
    code = opened(**PATIENT) + (
        "lost = 0\n"
        "for _ in range(int(argument)):\n"
        "    while True:\n"
        f"        stored = ws.plan.stored('{plan_id}')\n"
        "        try:\n"
        "            with ledger_of(ws).transaction() as transaction:\n"
        "                transaction.plans.save(stored, more(stored.document), EVENT)\n"
        "            break\n"
        "        except LostRace:\n"
        "            lost += 1\n"
        "print(lost)\n"
    )
    race(code, tmp_path, ["15"] * 4)
    with open_scratch(tmp_path) as ws:
        assert ws.plan.stored(plan_id).document.plan.rationale == "60"
        assert ws.plan.stored(plan_id).revision == 61
        assert_whole(ws)


def test_all_open_a_new_workspace_at_once(tmp_path: Path):
    (tmp_path / "ws" / ".agent").mkdir(parents=True)
    code = opened(**PATIENT) + "print(ledger_of(ws).workspace_id(), ws.plan.propose(argument) != '')\n"
    said = race(code, tmp_path, [f"Plan {number}" for number in range(PROCESSES)])
    assert len(set(said)) == 1
    with open_scratch(tmp_path) as ws:
        assert sorted(ref.number for ref in ws.plan.list()) == list(range(1, PROCESSES + 1))
        assert_whole(ws)


@pytest.mark.req("PT-10")
def test_different_plans_are_written_out_at_once(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        ids = [ws.plan.propose(f"Plan {number}") for number in range(4)]
    code = opened(**PATIENT) + (
        "for number in range(10):\n"
        "    ws.plan.set_action_specs(argument, [write('README.md', f'{number}\\n')])\n"
        "    ws.plan.propose('More')\n"
        "print(ws.upkeep._projection.problem)\n"
    )
    assert race(code, tmp_path, ids) == ["None"] * 4
    with open_scratch(tmp_path) as ws:
        assert [ws.plan.get(plan_id).plan.version for plan_id in ids] == [10] * 4
        assert len(ws.plan.list()) == 44
        assert_whole(ws)


@pytest.mark.req("PT-6", "PT-9")
def test_an_approved_plan_is_carried_out_once(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        plan_id = approved(ws, write("README.md", "once\n"))
    code = opened(**PATIENT) + (
        "try:\n"
        "    print(ws.plan.execute(argument).overall_success)\n"
        "except RingiError as error:\n"
        "    print(error.code)\n"
    )
    assert sorted(race(code, tmp_path, [plan_id] * 4)) == ["True", *["already_done"] * 3]
    with open_scratch(tmp_path) as ws:
        assert len(ledger_of(ws).executions.of(plan_id)) == 1
        assert statuses(ws) == {plan_id: str(PlanStatus.COMPLETED)}
        assert (tmp_path / "ws" / "README.md").read_text() == "once\n"
        assert_whole(ws)
