"""`ringi run` from a plan to commits, as a person sees it; and without one, as a script does."""

import re
from pathlib import Path

import msgspec
import pytest

from tests.functional.beside_desk import walled
from tests.functional.desk import Desk
from tests.functional.screens import Screen
from tests.tables import each
from tests.unit.runs.run_samples import RUN_ID, plan_of, step_of

ROLE = "sh {role}"
SCRIPT = """
case "$(head -n 5 "$RINGI_BRIEF")" in
*S01*) sed -i 's/a - b/a + b/' calc.py;;
*S02*) echo "# It adds" > notes.md;;
esac
"""


@pytest.fixture
def project(desk: Desk, tmp_path: Path) -> tuple[Desk, Path, str]:
    """A desk with a small project, a plan of two steps for it, and a command that implements them."""
    (desk.root / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (desk.root / "test_calc.py").write_text("from calc import add\n\nassert add(2, 3) == 5\n")
    desk.git("checkout", "-q", "-B", "main")
    desk.git("add", "-A")
    desk.git("commit", "-q", "-m", "calc")
    scope = {"target_paths": ["calc.py", "notes.md"], "max_diff_lines": 100}
    unit = {"unit": ["python3 test_calc.py"]}
    every = ["AC-01", "AC-02", "AC-03"]
    plan = plan_of(
        step_of(1, every, title="Fix the sum", scope=scope, commands=unit),
        step_of(2, ["AC-03"], title="Note it", scope=scope, commands=unit),
    )
    limits = msgspec.structs.replace(plan.limits, max_steps_per_run=99)
    file, role = tmp_path / "planning.json", tmp_path / "role.sh"
    file.write_bytes(msgspec.json.encode(msgspec.structs.replace(plan, limits=limits)))
    role.write_text(SCRIPT)
    return desk, file, ROLE.format(role=role)


def subjects(desk: Desk, branch: str) -> list[str]:
    return desk.git("log", "--format=%s", f"main..{branch}").splitlines()


@pytest.mark.req("RN-5", "RN-8", "RN-12")
@walled
def test_two_approvals_lead_from_a_plan_to_commits_and_a_report(project: tuple[Desk, Path, str]):
    desk, file, role = project
    before = desk.files(), desk.git("status", "--porcelain")
    with Screen.ringi(desk.root, "run", "--plan", str(file), "--with", role, columns=100, rows=40) as screen:
        screen.wait(r"Approve\? \[y/n\]")
        screen.type("y", enter=True)
        screen.wait("2 finished steps wait for you[^$]*pprove all")
        screen.type("?", enter=True)
        screen.wait("each becomes a commit[^$]*pprove all")
        screen.type("a", enter=True)
        screen.wait("Acceptance criteria: 3, not checked .ran: python3 test_calc.py, exit code 0")
        assert screen.exit_code == 0
        assert f"→ ringi report {RUN_ID}" in screen.text
    document = desk.json("status", RUN_ID)
    assert document["phase"] == "completed"
    assert document["plans"] == {"S01": "p1", "S02": "p2"}
    shown = desk.run("status", RUN_ID).stdout
    assert "S01  Fix the sum · p1 · done" in shown
    assert f"→ git merge {document['work_branch']}" in shown
    desk.run("propose", "--delete", "README.md")
    newest, run, *steps = desk.run("list").stdout.splitlines()
    assert newest.startswith("p3 ")
    assert run.endswith(f"   {RUN_ID}")
    assert [re.split("  +", line) for line in steps] == [
        ["", "p1", "done", "1 file", "+1 -1", "low", "S01", "Fix the sum"],
        ["", "p2", "done", "1 file", "+1 -0", "low", "S02", "Note it"],
    ]
    assert [(one["verdict"], one["lacks"]) for one in document["criteria"]] == [("not_checked", None)] * 3
    assert subjects(desk, document["work_branch"]) == ["Note it", "Fix the sum"]
    assert (desk.files(), desk.git("status", "--porcelain")) == before
    assert "approved by" in desk.run("report").stdout
    assert desk.run("doctor").returncode == 0
    # By the beginning of its id, as everywhere.
    with Screen.ringi(desk.root, "undo", RUN_ID[:-3], columns=100, rows=40) as screen:
        screen.wait(r"Go\? \[y/n\]")
        screen.type("y", enter=True)
        screen.wait("is gone")
        assert screen.exit_code == 0
    shown = desk.run("status", RUN_ID).stdout
    assert " · undone\n" in shown
    assert "  → " not in shown
    assert "**undone**" in desk.run("report").stdout
    assert desk.git("branch", "--list", document["work_branch"]) == ""


@each("command", ["continue", "continue --retry", "cancel", "report"])
def test_where_there_is_no_run(desk: Desk, command: str):
    done = desk.run(*command.split())
    assert done.returncode == 2
    assert "No run is there for this command." in done.stderr
    assert "ringi status" in done.stderr


@each(
    ("words", "see"),
    [
        (["continue", ""], "ringi status"),
        (["report", " "], "ringi status"),
        (["run", "--again", ""], "ringi status"),
        (["run", "--session", ""], "ringi status"),
        (["status", "ab"], "ringi status"),
        (["undo", ""], "ringi list"),
        (["show", ""], "ringi list"),
    ],
)
def test_a_name_that_means_nothing_leads_to_a_list(desk: Desk, words: list[str], see: str):
    done = desk.run(*words)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(f"See what there is: {see}")


@pytest.mark.req("RN-4")
def test_cancel_ends_the_process_that_carries_it_out(project: tuple[Desk, Path, str], tmp_path: Path):
    desk, file, _role = project
    slow = tmp_path / "slow.sh"
    slow.write_text("echo begun; exec sleep 600\n")
    with Screen.ringi(desk.root, "run", "--plan", str(file), "--with", f"sh {slow}", columns=100) as screen:
        screen.wait(r"Approve\? \[y/n\]")
        screen.type("y", enter=True)
        screen.wait("begun")
        assert desk.json("status", RUN_ID)["working"] is True
        ended = desk.process("cancel")
        assert ended.returncode == 0, ended.stderr
        assert "cancelled" in ended.stdout
        screen.wait("half-written")
        assert screen.exit_code == 130
    assert desk.json("status", RUN_ID)["phase"] == "cancelled"


@pytest.mark.req("RN-4")
def test_ctrl_c_leaves_it_resumable(project: tuple[Desk, Path, str], tmp_path: Path):
    desk, file, role = project
    slow = tmp_path / "slow.sh"
    slow.write_text("echo begun; exec sleep 600\n")
    with Screen.ringi(desk.root, "run", "--plan", str(file), "--with", f"sh {slow}", columns=100) as screen:
        screen.wait(r"Approve\? \[y/n\]")
        screen.type("y", enter=True)
        screen.wait("begun")
        screen.send("\x03")  # it draws all the time, so it never settles
        screen.wait(f"→ ringi continue {RUN_ID}")
        assert screen.exit_code == 130
    done = desk.process("continue", "--retry", "--with", role)
    assert done.returncode == 3, done.stderr
    assert "waits for your approval" in done.stdout
    # Who implements it was said once.
    again = desk.process("continue", "--retry")
    assert again.returncode == 3, again.stderr
    assert "waits for your approval" in again.stdout


@pytest.mark.req("RN-13")
def test_a_request_can_be_written_and_wrong_uses_are_named(desk: Desk):
    done = desk.run("run", "--new-request", "Add JSON")
    [path] = (desk.root / "requests").iterdir()
    assert "Add JSON" in path.read_text()
    assert f"→ ringi run --request {path}" in done.stdout
    for words in ([], ["x y", "--session", "20"], ["--plan", "a", "--request", "b"]):
        assert desk.run("run", *words).returncode == 2
    in_place = desk.run("run", "Add a total", "--review", "forge", "--in-place")
    assert in_place.returncode == 2
    assert "leave out --in-place" in in_place.stderr
