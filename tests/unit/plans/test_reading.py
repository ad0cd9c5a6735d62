"""Reading is free, except for what git ignores, credential files, and what leaves over MCP."""

import base64
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.app.api import Workspace, open_workspace
from ringi.approvals.feedback import Side
from ringi.errors import ReadNotApproved
from ringi.ledger.event import Actor
from ringi.mcp import arguments
from ringi.mcp.answers import to_builtins
from ringi.mcp.tools import TOOLS
from ringi.plans.document import PlanStatus
from ringi.plans.reading import NOT_SHOWN, answer_for_clients, find_guarded
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec, Encoding
from tests.fakes.people import AgentAtWork
from tests.helpers import Person, SetClock, approve, create, environment_of, proposed, rewire, write

SECRET = "correct-horse-battery-staple"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
FILES = {
    ".gitignore": "/private/\n*.log\n",
    "README.md": f"# Sample\ntoken = '{TOKEN}'\n",
    ".env": f"PASSWORD={SECRET}\nOTHER=1\n",
    "private/notes.txt": f"{SECRET}\n",
    "kept.log": "tracked although ignored\n",
    "run.log": f"{SECRET}\n",
    "sub/mine.txt": f"{SECRET}\n",
    "sub/.gitignore": "mine.txt\n",
}


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    root = tmp_path / "ws"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for words in (("init", "-q"), ("add", ".gitignore", "README.md"), ("add", "-f", "kept.log")):
        subprocess.run(["git", *words], cwd=root, check=True)
    subprocess.run(["git", "init", "-q", "sub"], cwd=root, check=True)
    (root / ".agent").mkdir()
    with open_workspace(
        root, environment=environment_of(tmp_path), person=Person(), clock=SetClock(held=False), at_once=True
    ) as workspace:
        yield workspace


def reading(ws: Workspace, *paths: str, kind: SpecKind = SpecKind.READ) -> str:
    return proposed(ws, *(ActionSpec(kind, path) for path in paths))


def over_mcp(ws: Workspace, name: str, given: object) -> str:
    """Everything that the client gets."""
    work = TOOLS[name].work
    assert work
    return json.dumps(to_builtins(work(ws, given, "a client")))


@pytest.mark.parametrize("path", ["README.md", "kept.log", ".gitignore"])
def test_what_belongs_to_the_project_is_free(ws: Workspace, path: str):
    plan_id = reading(ws, path)
    assert ws.plan.execute(plan_id).overall_success
    assert ws.plan.get_state(plan_id).status is PlanStatus.COMPLETED


@pytest.mark.parametrize("kind", [SpecKind.READ, SpecKind.ANALYZE])
@pytest.mark.parametrize("path", [".env", "private/notes.txt", "run.log", "sub/mine.txt"])
def test_what_git_ignores_and_credentials_need_an_approval(ws: Workspace, path: str, kind: SpecKind):
    plan_id = reading(ws, "README.md", path, kind=kind)
    before = ws.plan.get(plan_id)
    with pytest.raises(ReadNotApproved, match=path.replace(".", "[.]")):
        ws.plan.execute(plan_id)
    assert ws.plan.get(plan_id) == before
    approve(ws, plan_id)
    result = ws.plan.execute(plan_id)
    assert result.overall_success
    assert all(outcome.output for outcome in result.results)


def test_what_git_ignores_is_what_git_says(ws: Workspace):
    """Git check-ignore as the oracle, repository by repository."""
    root = ws.places.root
    for folder in (root, root / "sub"):
        names = [name.removeprefix("sub/") for name in FILES if (folder / name.removeprefix("sub/")).exists()]
        asked = "\n".join(names)
        said = subprocess.run(
            ["git", "check-ignore", "--stdin"],
            cwd=folder,
            input=asked,
            capture_output=True,
            text=True,
            check=False,
        ).stdout.split()
        prefix = "sub/" if folder != root else ""
        expected = {prefix + name for name in said} | {prefix + name for name in names if name == ".env"}
        assert find_guarded(ws, [prefix + name for name in names]) == expected


def test_a_credential_file_is_high_risk_to_read(ws: Workspace):
    specs = ws.plan.get_state(reading(ws, ".env", "README.md")).action_specs
    assert [spec.risk for spec in specs] == [Risk.HIGH, Risk.LOW]


@pytest.mark.req("PP-17")
def test_results_are_masked_and_for_their_owner_alone(ws: Workspace):
    plan_id = reading(ws, "README.md")
    result = ws.plan.execute(plan_id)
    assert "# Sample" in result.results[0].output
    assert TOKEN not in result.results[0].output
    folder = ws.places.root / ".agent/logs/plans" / plan_id
    file = folder / "result.json"
    assert TOKEN not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    running = proposed(ws, ActionSpec(SpecKind.RUN, argv=("cat", "README.md")))
    approve(ws, running)
    assert TOKEN not in ws.plan.execute(running).results[0].output


def test_what_leaves_over_mcp_needs_an_approval(ws: Workspace):
    plan_id = reading(ws, "README.md")
    with pytest.raises(ReadNotApproved, match="leaves over MCP"):
        over_mcp(ws, "plan_execute", arguments.OfPlan(plan_id))
    approve(ws, plan_id)
    told = over_mcp(ws, "plan_execute", arguments.OfPlan(plan_id))
    assert "# Sample" in told
    assert TOKEN not in told


@pytest.mark.parametrize("path", [".env", "private/notes.txt", "sub/mine.txt"])
@pytest.mark.parametrize("how", ["write", "delete", "patch", "encoded", "copy"])
def test_no_plan_shows_a_client_what_it_may_not_read(ws: Workspace, path: str, how: str):
    """Neither the diff nor an error about a patch that does not fit."""
    patch = f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-guessed\n+x\n"
    spec = {
        "write": write(path, "x\n"),
        "delete": ActionSpec(SpecKind.DELETE, path),
        "patch": ActionSpec(SpecKind.PATCH, path, patch),
        "encoded": ActionSpec(
            SpecKind.PATCH, path, base64.b64encode(patch.encode()).decode(), encoding=Encoding.BASE64
        ),
        "copy": ActionSpec(
            SpecKind.PATCH,
            "copy.txt",
            f"diff --git a/{path} b/copy.txt\nsimilarity index 50%\ncopy from {path}\ncopy to copy.txt\n"
            f"--- a/{path}\n+++ b/copy.txt\n@@ -1 +1 @@\n-guessed\n+x\n",
        ),
    }[how]
    rewire(ws, person=AgentAtWork())
    plan_id = ws.plan.propose("A change")
    told = over_mcp(ws, "plan_set_action_specs", arguments.SetActionSpecs(plan_id, (spec,)))
    told += over_mcp(ws, "plan_get_state", arguments.OfPlan(plan_id))
    told += over_mcp(ws, "plan_preview", arguments.OfPlan(plan_id))
    assert SECRET not in told
    assert (NOT_SHOWN.strip() in told) is (how in {"write", "delete"})
    assert ("whose lines are not shown" in told) is (how in {"patch", "encoded", "copy"})


def test_what_a_person_put_into_such_a_file_is_not_told_either(ws: Workspace):
    plan_id = proposed(ws, write(".env", f"PASSWORD={SECRET}2\n"), create("docs/a.md", "words\n"))
    told = over_mcp(ws, "plan_preview", arguments.OfPlan(plan_id))
    assert SECRET not in told
    assert "words" in told
    ws.plan.set_action_specs(plan_id, [write(".env", f"PASSWORD={SECRET}3\n")], actor=Actor.USER)
    ws.plan.comment(plan_id, ".env", 1, "why?", side=Side.OLD)
    told = over_mcp(ws, "plan_get_state", arguments.OfPlan(plan_id))
    assert "why?" in told
    assert SECRET not in told
    answer = answer_for_clients(ws, plan_id)
    assert SECRET not in str(answer.comments)
    assert [one.diff for one in answer.changed if one.path == ".env"] == [NOT_SHOWN]
