"""What clients see of the tools, and what is taken in."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from ringi.app.api import Workspace
from ringi.approvals.grant_document import GrantScope
from ringi.errors import BadDocument, NotYours
from ringi.kernel import codec
from ringi.mcp import arguments
from ringi.mcp.answers import to_builtins
from ringi.mcp.arguments import input_schema, object_schema
from ringi.mcp.server import TOOLS
from ringi.plans.tool import PlanTool
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import SpecKind
from ringi.sessions.tool import PlanningTool
from ringi.tree.action_spec import ActionSpec
from tests.fakes.people import AgentAtWork
from tests.fakes.signing import MadeUpKeys
from tests.helpers import approve, create, open_scratch, proposed, rewire, write
from tests.tables import each

ME = "a tester"


@each("name", TOOLS)
def test_every_tool_is_described_by_schemas_of_objects(name: str):
    tool = TOOLS[name]
    for schema in (input_schema(tool.arguments), object_schema(tool.answer)):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        for reference in json.dumps(schema).split('"#/$defs/')[1:]:
            assert reference.partition('"')[0] in schema["$defs"]
    for field, words in input_schema(tool.arguments).get("properties", {}).items():
        assert words.get("description"), field
    assert tool.description.endswith(".")
    assert "next_step" in object_schema(tool.answer)["required"]


@pytest.mark.req("PT-4")
def test_the_names_are_those_of_the_plan_tool():
    for name in TOOLS:
        if name in {"planning_outline", "task", "issue", "feedback"}:
            assert hasattr(Workspace, name.removeprefix("planning_"))  # no step of a session
        elif name.startswith("planning_"):
            assert hasattr(PlanningTool, name.removeprefix("planning_"))
        else:
            assert name == "plan_wait" or hasattr(PlanTool, name.removeprefix("plan_"))
    for forbidden in ("approve", "reject", "undo", "grant", "settle", "statement", "trust", "cancel"):
        assert not any(forbidden in name.replace("request_approval", "") for name in TOOLS)


def test_every_field_and_kind_of_a_spec_is_explained():
    assert set(arguments.SPEC_FIELDS) == set(ActionSpec.__struct_fields__)
    specs = msgspec.convert(arguments.SPEC_EXAMPLES, type=list[ActionSpec])
    assert [spec.kind for spec in specs] == list(SpecKind)
    schema = input_schema(arguments.SetActionSpecs)
    jsonschema.validate({"plan_id": "p1", "specs": arguments.SPEC_EXAMPLES}, schema)


def test_the_examples_can_be_carried_out(tmp_path: Path):
    files = {
        "README.md": "a\n",
        "app.py": "import sys\nx = 1\n",
        "old.txt": "x",
        "a.txt": "x",
        "src/b.py": "",
        "pyproject.toml": "",
    }
    with open_scratch(tmp_path, files) as workspace:
        specs = [spec for spec in arguments.SPEC_EXAMPLES if spec["kind"] != "call"]
        given = codec.decode_foreign(
            json.dumps({"plan_id": proposed(workspace), "specs": specs}).encode(),
            arguments.SetActionSpecs,
            "x",
        )
        report = workspace.plan.set_action_specs(given.plan_id, given.specs)
        assert [issue for issue in report.issues if "make" not in issue] == []


@each(
    "wrong",
    [
        {"plan_id": "p1", "specs": []},
        {"plan_id": "p1", "specs": [{"kind": "erase", "path": "x"}]},
        {"plan_id": "p1", "specs": [{"kind": "write", "path": "x", "force": True}]},
        {"plan_id": "", "specs": [{"kind": "read", "path": "x"}]},
        {"plan_id": "p1"},
    ],
)
def test_schema_and_decoder_refuse_alike(wrong: dict[str, object]):
    with pytest.raises(BadDocument):
        codec.decode_foreign(json.dumps(wrong).encode(), arguments.SetActionSpecs, "x")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, input_schema(arguments.SetActionSpecs))


@pytest.mark.req("PT-4", "PT-9")
def test_answers_fit_their_schemas_and_leave_contents_out(tmp_path: Path):
    def call(name: str, **given: object) -> dict[str, object]:
        tool = TOOLS[name]
        assert tool.work
        taken = codec.decode_foreign(json.dumps(given).encode(), tool.arguments, name)
        answered = tool.work(workspace, taken, ME)
        document = json.loads(json.dumps(to_builtins(answered)))
        jsonschema.validate(document, object_schema(tool.answer))
        return document

    with open_scratch(tmp_path) as workspace:
        assert call("plan_get_current")["plan"] is None
        plan = call("plan_propose", content="# A title\nmore", tags=["x"], sources=[])
        assert (plan["name"], plan["title"]) == ("p1", "A title")
        secret = "a line that only the file holds\n" * 5
        report = call(
            "plan_set_action_specs",
            plan_id="p1",
            specs=[{"kind": "create", "path": "new.txt", "content": secret}],
        )
        assert report["ok"]
        assert secret not in json.dumps([report, call("plan_get_state", plan_id="p1")])
        assert "+a line that only" in call("plan_preview", plan_id="p1")["diffs"][0]["diff"]
        bad = call(
            "plan_set_action_specs", plan_id="p1", specs=[{"kind": "write", "path": "../x", "content": ""}]
        )
        assert not bad["ok"]
        assert call("plan_mark_pending", plan_id="p1", pending=False)["status"] == "proposed"
        assert call("plan_mark_pending", plan_id="p1", pending=True)["status"] == "pending_review"
        asked = call("plan_request_approval", plan_id="p1")
        assert (asked["outcome"], asked["person_types"]) == (None, "ringi review p1")
        approve(workspace, "p1")
        done = call("plan_execute", plan_id="p1")
        assert done["result"]["overall_success"]
        assert [one["status"] for one in call("plan_list", limit=1)["plans"]] == ["completed"]
        assert call("plan_list", waiting=True)["plans"] == []
        assert call("plan_clear_current")["cleared"]
        call("plan_propose", content="Another")
        assert call("plan_discard", plan_id="p2")["status"] == "discarded"
        assert [one["number"] for one in call("plan_list")["plans"]] == [1]
        assert (tmp_path / "ws/new.txt").read_text() == secret


def grant_to_hanako(workspace: Workspace) -> str:
    """New files in docs; the statement that she signed."""
    keys = MadeUpKeys("hers")
    rewire(workspace, signatures=keys)
    scope = GrantScope("user:hanako", ("docs/**",), (SpecKind.CREATE,), Risk.LOW, 2, 10, 5, 20)
    subject = workspace.grants.draft(scope, workspace.clock.after(1000))
    statement = workspace.grants.statement(subject, "hanako")
    workspace.grants.add(subject, "hanako", keys.sign("hers", statement))
    return statement


@pytest.mark.parametrize("requester", ["with:agent", "user:taro"])
def test_an_agent_changes_its_own_plans_only_and_uses_nobody_elses_standing_approval(
    tmp_path: Path, requester: str
):
    agent = "an agent"
    theirs = ActionSpec(SpecKind.CREATE, "docs/a.md", "theirs\n")
    with open_scratch(tmp_path) as workspace:

        def call(name: str, given: object) -> Any:
            work = TOOLS[name].work
            assert work
            return work(workspace, given, agent)

        grant_to_hanako(workspace)
        proposed(workspace, create("docs/b.md", "hers\n"))
        before = workspace.plan.get("p1")
        rewire(workspace, person=AgentAtWork(requester))
        for name, given in (
            ("plan_set_action_specs", arguments.SetActionSpecs("p1", (theirs,))),
            ("plan_request_approval", arguments.RequestApproval("p1")),
            ("plan_mark_pending", arguments.MarkPending("p1", pending=False)),
        ):
            with pytest.raises(NotYours, match=f"p1 is not a plan of {requester}"):
                call(name, given)
        assert workspace.plan.get("p1") == before
        call("plan_propose", arguments.Propose("Its own"))
        assert call("plan_set_action_specs", arguments.SetActionSpecs("p2", (theirs,))).ok
        assert call("plan_request_approval", arguments.RequestApproval("p2")).outcome is None
        assert call("plan_mark_pending", arguments.MarkPending("p2", pending=False)).status == "proposed"


def test_a_standing_approval_answers_at_once_and_nothing_of_its_proof_is_told(tmp_path: Path):
    with open_scratch(tmp_path) as workspace:
        statement = grant_to_hanako(workspace)
        proposed(workspace, create("docs/a.md", "x\n"))
        request, execute = TOOLS["plan_request_approval"].work, TOOLS["plan_execute"].work
        assert request
        assert execute
        asked = request(workspace, arguments.RequestApproval("p1"), ME)
        assert asked.outcome == "approved"
        state = TOOLS["plan_get_state"].work(workspace, arguments.OfPlan("p1"), ME)
        told = json.dumps([to_builtins(asked), to_builtins(state)])
        assert "made-up" not in told
        assert statement not in told
        assert execute(workspace, arguments.OfPlan("p1"), ME).status == "completed"


def test_long_diffs_are_cut_and_say_so(tmp_path: Path):
    with open_scratch(tmp_path) as workspace:
        many = "".join(f"line {n}\n" for n in range(30_000))
        proposed(workspace, create("long.txt", many), write("README.md", "# Other\n"))
        tool = TOOLS["plan_preview"]
        answered = tool.work(workspace, arguments.OfPlan("p1"), ME)
        assert sum(len(part.diff) for part in answered.diffs) <= 100_100
        assert all(part.diff.endswith("(cut here)\n") for part in answered.diffs)
