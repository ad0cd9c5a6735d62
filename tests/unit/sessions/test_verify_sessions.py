"""What a run got is what a person approved, and the signature under it is checked again."""

from pathlib import Path

import pytest

from ringi.app.api import Workspace
from ringi.approvals.document import TypedAnswer
from ringi.plans.verify import Examination
from ringi.sessions.tool import PlanningTool
from tests.fakes.signing import MadeUpKeys
from tests.helpers import ledger_of, open_scratch, rewire


@pytest.fixture
def keys() -> MadeUpKeys:
    return MadeUpKeys("hers")


@pytest.fixture
def ws(tmp_path: Path, keys: MadeUpKeys):
    with open_scratch(tmp_path) as workspace:
        rewire(workspace, signatures=keys)
        workspace.planning = PlanningTool(workspace.planning._workspace.replace(signatures=keys))
        yield workspace


def at_review(ws: Workspace) -> str:
    tool = ws.planning
    view = tool.go_on(tool.start("Add a login").session_id)
    while view.pending.__struct_config__.tag in {"question", "decision"}:
        if view.pending.__struct_config__.tag == "question":
            tool.skip(view.session_id)
        else:
            tool.decide(view.session_id, "1")
        view = tool.go_on(view.session_id)
    return str(view.session_id)


def signed(ws: Workspace, keys: MadeUpKeys) -> str:
    session_id = at_review(ws)
    ws.planning.approve(session_id, "hanako", keys.sign("hers", ws.planning.statement(session_id, "hanako")))
    return session_id


def said(ws: Workspace, session_id: str) -> str:
    return "\n".join(Examination(ws).session(session_id).document.problems)


@pytest.mark.req("IP-9", "PT-9")
def test_an_approved_session_is_proven(ws, keys):
    session_id = signed(ws, keys)
    found = Examination(ws)
    assert list(found.list_approved_sessions()) == [session_id]
    document = found.session(session_id[:17]).document
    assert (document.proven, document.problems, document.log_ok) == (True, (), True)
    assert document.run_id == ws.planning.runs()[0].run_id
    assert (document.approval.approver, str(document.approval.proof.strength)) == ("hanako", "strong")


@pytest.mark.req("IP-9")
def test_one_that_nobody_approved(ws):
    session_id = at_review(ws)
    found = Examination(ws)
    assert list(found.list_approved_sessions()) == []
    document = found.session(session_id).document
    assert (document.proven, document.approval, document.run_id) == (True, None, "")


@pytest.mark.req("IP-9", "PT-9")
def test_a_key_that_left_the_list_proves_nothing(ws, keys):
    session_id = signed(ws, keys)
    keys.listed.clear()
    assert "not listed any more" in said(ws, session_id)


@pytest.mark.req("IP-9", "PT-11")
@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE approvals SET document = replace(document, 'hanako', 'taro')", "something else was signed"),
        ("UPDATE approvals SET document = replace(document, 'Add a login', 'Add two')", "was changed"),
        ("UPDATE runs SET document = replace(document, 'Add a login', 'Add two')", "got something else"),
        ("UPDATE approvals SET spent_by = 'another'", "run another is not in the ledger"),
        ("UPDATE approvals SET document = 'x'", "approval"),
    ],
)
def test_hands_in_the_ledger(ws, keys, statement: str, words: str):
    session_id = signed(ws, keys)
    ledger_of(ws).database.execute(statement)
    assert words in said(ws, session_id)


@pytest.mark.req("IP-9")
def test_an_approval_of_another_workspace(ws, keys):
    session_id = signed(ws, keys)
    ledger_of(ws).set_meta("workspace_id", "another")
    assert "another workspace" in said(ws, session_id)


@pytest.mark.req("IP-9")
def test_a_typed_answer_that_is_no_yes(ws):
    session_id = at_review(ws)
    ws.planning.approve(session_id, "hanako", TypedAnswer(ws.planning.request(session_id).digest, "y"))
    assert said(ws, session_id) == ""
    ledger_of(ws).database.execute(
        'UPDATE approvals SET document = replace(document, \'"answer":"y"\', \'"answer":"n"\')'
    )
    assert "no yes" in said(ws, session_id)
