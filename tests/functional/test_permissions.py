"""Who may plan and run, who is always asked, who asks for danger: the users of this machine, and others."""

import getpass
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ringi.app.api import open_workspace
from ringi.approvals.document import ProofKind, TypedAnswer
from ringi.engine.run_state import RunPhase
from ringi.errors import BadGrant, InvalidSpecs, NotPermitted, NotTogether, UnfitSpecs
from ringi.policy.spec_kind import SpecKind
from ringi.runs.document import Review, StopCode
from ringi.sessions.outline import outline
from ringi.tree.action_spec import ALL_SPECS, ActionSpec
from tests.fakes.people import SeatedPerson
from tests.functional.beside_desk import walled
from tests.functional.desk import Desk
from tests.functional.mcp_desk import RawClient, talks
from tests.functional.planning_desk import YES_NO, PlanningDesk, ScriptedModel
from tests.functional.run_desk import FIX, RunDesk, a_plan, a_step, at_home, by_step, project
from tests.tables import each

talk = talks
ME = getpass.getuser()
TWO = a_plan(a_step(1), a_step(2, scope={"target_paths": ["README.md"]}))
BOTH = by_step(FIX, "echo 'It adds.' >> README.md")


class Somebody(SeatedPerson):
    def __init__(self, name: str) -> None:
        self._name = name

    def user(self) -> str:
        return self._name


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        yield project(base / "project")


@pytest.fixture
def desk(root: Path) -> RunDesk:
    return RunDesk(root, implementer=BOTH)


def permit(desk: RunDesk, **lists: str) -> None:
    """On top of its roles."""
    lines = "".join(f"    {name}: {names}\n" for name, names in lists.items())
    path = Path(os.environ["HOME"]) / ".config/ringi/config.yaml"
    roles = path.read_text().partition("planning:")[0]
    desk.configure(f"{roles}planning:\n  permissions:\n{lines}")


COMMANDS = (
    ("plan", "Add JSON"),
    ("run", "Add JSON"),
    ("run", "--outline", "Add JSON"),
    ("run", "--plan", "plan.json"),
)


@pytest.mark.req("PP-18", "PP-27")
@each("words", COMMANDS)
def test_only_those_named_plan_and_run(root: Path, words: tuple[str, ...]):
    desk, told = Desk(root), RunDesk(root)
    (root / "plan.json").write_text(json.dumps(TWO))
    permit(told, allowed_users="[somebody-else, group:none-such]")
    done = desk.process("--json", *words)
    assert done.returncode == 6
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "not_permitted"
    assert f"{ME} may not plan or run tasks here" in error["message"]
    assert "somebody-else, group:none-such" in error["message"]
    assert "ringi config show" in error["hint"]
    with open_workspace(root) as workspace:
        assert workspace.planning.list() == []
        assert workspace.planning.runs() == []


@pytest.mark.req("PP-27")
@each("form", ["{user}", "user:{user}", "group:{group}"])
def test_the_machine_says_who_is_in_a_group(root: Path, form: str):
    group = subprocess.run(["id", "-gn"], capture_output=True, text=True, check=True).stdout.strip()
    permit(RunDesk(root), allowed_users=f'["{form.format(user=ME, group=group)}"]')
    assert Desk(root).process("--json", "run", "--outline", "Add JSON to calc.py").returncode == 0


@pytest.mark.req("PP-27")
def test_settings_for_one_repository(root: Path, desk: RunDesk):
    other = project(root.parent / "other")
    permissions = "planning: {permissions: {allowed_users: [nobody-here], dangerous_operations: [boss]}}"
    desk.configure(f"repositories:\n  {other}:\n    {permissions}\n")
    assert Desk(root).process("run", "--outline", "Add JSON to calc.py").returncode == 0
    assert Desk(other).process("run", "--outline", "Add JSON to calc.py").returncode == 6
    spec = {"kind": "write", "path": "pyproject.toml", "content": "[project]\n"}
    for place, code in ((root, 0), (other, 6)):
        (root.parent / "specs.json").write_text(json.dumps([spec]))
        done = Desk(place).process("propose", "--title", "x", "--specs", str(root.parent / "specs.json"))
        assert done.returncode == code, done.stderr


@pytest.mark.req("PP-18")
def test_over_mcp_and_from_python(root: Path, desk: RunDesk, talk: Callable[..., RawClient]):
    permit(desk, allowed_users="[somebody-else]")
    client = talk(root=root)
    client.greet()
    error = client.refused("planning_start", instruction="Add JSON", bring=True)
    assert error["code"] == "not_permitted"
    with open_workspace(root) as workspace, pytest.raises(NotPermitted):
        workspace.planning.start("Add JSON")
    with open_workspace(root) as workspace, pytest.raises(NotPermitted):
        outline(workspace, "Add JSON")


@pytest.mark.req("PP-18")
@walled
def test_a_run_has_at_most_its_creators_permissions_whoever_continues_it(desk: RunDesk):
    desk.person = Somebody("hanako")
    desk.start(TWO)
    assert desk.run().created_by == "hanako"
    permit(desk, allowed_users="[taro]")
    desk.person = Somebody("taro")
    with pytest.raises(NotPermitted) as refused:
        desk.go()
    assert refused.value.details["user"] == "hanako"
    permit(desk, allowed_users="[hanako]")
    with pytest.raises(NotPermitted) as refused:
        desk.go()
    assert refused.value.details["user"] == "taro"
    permit(desk, allowed_users="[hanako, taro]")
    assert desk.go().phase is RunPhase.NEEDS_INPUT
    assert desk.decide("S01", "S02").phase is RunPhase.COMPLETED


@pytest.mark.req("PP-18")
def test_a_session_is_its_creators_too(root: Path, desk: RunDesk):
    desk.person = Somebody("hanako")
    with desk.open() as workspace:
        session = workspace.planning.start("Add JSON to calc.py").session_id
    desk.person = Somebody("taro")
    permit(desk, allowed_users="[taro]")
    with desk.open() as workspace:
        for act in (workspace.planning.go_on, workspace.planning.resume, workspace.planning.back):
            with pytest.raises(NotPermitted):
                act(session)
        assert workspace.planning.view(session).instruction == "Add JSON to calc.py"
        assert workspace.planning.cancel(session).status == "cancelled"


@pytest.mark.req("PP-18")
@walled
def test_no_standing_approval_covers_whom_a_person_always_answers(desk: RunDesk):
    desk.start(TWO)
    key = desk.key()
    grant = desk.grant(key)
    permit(desk, always_require_approval="[person]")
    run = desk.go(review=Review.END)
    assert run.stop
    assert run.stop.reason_code is StopCode.APPROVAL_NEEDED
    assert "what person asks for is always approved by a person" in run.stop.message
    # Each step by itself, before the next one begins.
    assert run.review is Review.EACH
    assert [step.status for step in run.steps] == ["proposed", "waiting"]
    with pytest.raises(BadGrant):
        desk.grant(key)
    assert desk.decide("S01").steps[1].status == "proposed"
    assert desk.decide("S02").phase is RunPhase.COMPLETED
    with desk.open() as workspace:
        proofs = [
            approval.proof.kind
            for step in desk.run().steps
            for approval in workspace.store.approvals.of(step.plan_id)
        ]
        assert proofs == [ProofKind.TYPED, ProofKind.TYPED]
        assert next(state for state in workspace.grants.list() if state.grant.id == grant.id).uses == ()


@pytest.mark.req("PP-18")
@walled
def test_somebody_else_does_not_lend_their_standing_approval(desk: RunDesk):
    desk.person = Somebody("hanako")
    desk.start(TWO)
    permit(desk, always_require_approval="[hanako]")
    desk.person = Somebody("taro")
    with pytest.raises(BadGrant):
        desk.grant(desk.key())
    permit(desk, always_require_approval="[]")
    desk.grant(desk.key("second"))
    permit(desk, always_require_approval="[hanako]")
    run = desk.go()
    assert run.stop
    assert "what hanako asks for" in run.stop.message
    assert [step.commit for step in run.steps] == ["", ""]


HIGH = by_step(FIX, "echo '[project]' > pyproject.toml")
HIGH_PLAN = a_plan(a_step(1), a_step(2, scope={"target_paths": ["pyproject.toml"]}))


@pytest.mark.req("PP-27", "PP-18")
@pytest.mark.parametrize(("creator", "actor"), [("hanako", "boss"), ("boss", "hanako")])
@walled
def test_a_step_that_is_dangerous_is_refused(root: Path, creator: str, actor: str):
    desk = RunDesk(root, implementer=HIGH)
    permit(desk, dangerous_operations="[boss]")
    desk.person = Somebody(creator)
    desk.start(HIGH_PLAN)
    desk.person = Somebody(actor)
    run = desk.go()
    assert run.stop
    assert (run.stop.reason_code, run.stop.step_id) == (StopCode.UNFIT_CHANGES, "S02")
    assert (
        "pyproject.toml is a critical file, and hanako may not ask for that: only boss may"
        in run.stop.message
    )
    assert [step.commit for step in run.steps] == ["", ""]


@pytest.mark.req("PP-27", "PP-18")
def test_a_dangerous_plan_is_refused_at_every_gate(root: Path, desk: RunDesk):
    """When it is proposed; and if that was before, when it is asked for, approved and carried out."""
    spec = ActionSpec(SpecKind.WRITE, "pyproject.toml", "[project]\n")
    with desk.open() as workspace:
        plan = workspace.plan.propose_specs("Build it", [spec])
        asked = workspace.plan.ask(plan, ALL_SPECS)
    permit(desk, dangerous_operations="[boss]")
    with desk.open() as workspace:
        with pytest.raises(UnfitSpecs):
            workspace.plan.propose_specs("Build it", [spec])
        with pytest.raises(InvalidSpecs, match="may not ask"):
            workspace.plan.ask(plan, ALL_SPECS)
        with pytest.raises(InvalidSpecs, match="may not ask"):
            workspace.plan.approve(plan, "person", ALL_SPECS, TypedAnswer(asked.digest, "y"))
    permit(desk, dangerous_operations="[boss, person]")
    with desk.open() as workspace:
        workspace.plan.approve(plan, "person", ALL_SPECS, TypedAnswer(asked.digest, asked.digest[:6]))
    desk.person = Somebody("taro")
    with desk.open() as workspace, pytest.raises(InvalidSpecs, match="taro may not ask"):
        workspace.plan.execute(plan)
    assert not (root / "pyproject.toml").exists()


@pytest.mark.req("PP-18")
@pytest.mark.parametrize("unasked", [True, False])
def test_some_are_not_asked_when_to_execute_but_for_the_approval(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unasked: bool
):
    model = ScriptedModel(tmp_path / "model")
    model.answers(questions=[], decisions=[], summary="# Goal\n\nDo it.")
    monkeypatch.setenv("RINGI_MODEL", model.name)
    if unasked:
        monkeypatch.setenv("RINGI_PLANNING_PERMISSIONS_AUTO_EXECUTION_ALLOWED", ME)
    desk = PlanningDesk(repo)
    with desk.talk("plan", "Add JSON") as talk:
        talk.approve()
        if not unasked:
            assert "Execute now?" in talk.say("n", YES_NO)
        code, rest = talk.end()
    assert ("Execute now?" in talk.seen + rest) is not unasked
    assert code == (3 if unasked else 0)  # it begins, and nobody has the role
    assert ("Nobody has the role implementer" in rest) is unasked


@pytest.mark.req("PP-18")
def test_not_several_with_one_answer(root: Path, desk: RunDesk):
    permit(desk, always_require_approval=f"[{ME}]")
    shell = Desk(root)
    specs = root.parent / "specs.json"
    names = []
    for name in "ab":
        specs.write_text(json.dumps([{"kind": "create", "path": f"{name}.txt", "content": "x\n"}]))
        done = shell.process("--json", "propose", "--title", name, "--specs", str(specs))
        names.append(f"p{json.loads(done.stdout)['number']}")
    key = desk.key()
    together = {"RINGI_APPROVAL_TOGETHER": "low"}
    done = shell.process("--json", "approve", *names, "--sign", str(key.path), **together)
    assert json.loads(done.stdout)["error"]["code"] == NotTogether.code
    assert "is always approved by a person" in done.stdout
