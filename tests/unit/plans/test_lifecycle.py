"""From a proposal to a finished plan through the API, and every refusal on the way."""

import inspect
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

import ringi
from ringi import errors
from ringi.errors import (
    AlreadyDone,
    Ambiguous,
    BadDocument,
    BadTransition,
    InvalidSpecs,
    NotApproved,
    NotFound,
    NothingToUndo,
    UnfitSpecs,
)
from ringi.kernel.text import Text
from ringi.ledger.event import Actor
from ringi.plans.check import add_checks
from ringi.plans.document import MessageRef, PlanStatus
from ringi.plans.tool import PlanTool
from ringi.tree.action_spec import ALL_SPECS
from ringi.tree.check_result import CheckResult
from tests.helpers import (
    HELLO,
    Person,
    answer,
    approve,
    approved,
    assert_whole,
    create,
    delete,
    kinds,
    open_scratch,
    proposed,
    python,
    undo,
    untouched,
    write,
)

P = PlanStatus


@pytest.fixture
def ws(tmp_path: Path):
    with open_scratch(tmp_path) as workspace:
        yield workspace


@pytest.fixture
def root(ws) -> Path:
    return ws.places.root


@pytest.mark.req("PT-4", "PT-6", "PT-11")
def test_the_whole_way(ws, root: Path):
    sources = [MessageRef("m1", "2026-01-01T00:00:00Z")]
    plan_id = ws.plan.propose("# Say more\n\nBecause.", sources, "to greet", ["a", "b"], proposer="claude")
    assert ws.plan.get_state(plan_id).status is P.PROPOSED
    assert ws.plan.get_current().id == plan_id
    report = ws.plan.set_action_specs(
        plan_id, [write("app/hello.py", HELLO * 2), create("new/a.txt", "a\n"), delete("README.md")]
    )
    assert (report.ok, report.issues) == (True, ())
    preview = ws.plan.preview(plan_id)
    assert preview.files == ("README.md", "app/hello.py", "new/a.txt")
    assert [(diff.added, diff.removed) for diff in preview.diffs] == [(2, 0), (1, 0), (0, 1)]
    assert preview.stale == ()
    approve(ws, plan_id)
    assert ws.plan.get_state(plan_id).status is P.APPROVED
    result = ws.plan.execute(plan_id)
    assert result.overall_success
    assert ws.plan.get_state(plan_id).status is P.COMPLETED
    assert ws.plan.get_current() is None
    assert (root / "app/hello.py").read_text() == HELLO * 2
    assert (root / "new/a.txt").read_text() == "a\n"
    assert not (root / "README.md").exists()
    assert kinds(ws, plan_id) == [
        "plan_proposed", "specs_set", "approval_requested", "approved", "executed", "completed",
    ]  # fmt: skip
    document = ws.plan.get(plan_id)
    assert document.plan.title == "Say more"
    assert document.plan.sources == tuple(sources)
    assert (document.approval, document.result) == ("approval.json", "result.json")
    assert_whole(ws)


@pytest.mark.req("PT-6", "PT-9")
@pytest.mark.parametrize("stage", ["proposed", "pending_review", "requested", "sent back"])
def test_execute_without_approval_changes_nothing(ws, root: Path, stage: str):
    plan_id = ws.plan.propose("A change")
    if stage != "proposed":
        ws.plan.set_action_specs(plan_id, [write("README.md", "changed\n")])
    if stage == "requested":
        ws.plan.request_approval(plan_id, ALL_SPECS)
    if stage == "sent back":
        ws.plan.reject(plan_id, "no")
    with untouched(root, agent=True), pytest.raises(NotApproved) as caught:
        ws.plan.execute(plan_id)
    assert caught.value.exit_code == 3
    assert "p1" in str(caught.value)
    assert "ringi review p1" in caught.value.hint.format_map(caught.value.details)


@pytest.mark.req("PT-6", "PT-9")
@pytest.mark.parametrize("undone", [False, True])
def test_nothing_is_carried_out_twice(ws, root: Path, undone: bool):
    plan_id = approved(ws, write("README.md", "changed\n"))
    ws.plan.execute(plan_id)
    if undone:
        undo(ws, plan_id)
    became = "and undone" if undone else "already"
    with untouched(root, agent=True), pytest.raises(AlreadyDone, match=f"p1 was carried out {became}"):
        ws.plan.execute(plan_id)


@pytest.mark.req("PT-6")
@pytest.mark.parametrize(
    ("stage", "refused"),
    [
        ("proposed", ["request", "reject", "send back"]),
        ("pending_review", ["mark pending"]),
        ("approved", ["request", "approve", "send back"]),
        ("completed", ["request", "reject", "send back", "set specs", "mark pending"]),
    ],
)
def test_every_call_in_the_wrong_state_names_it_and_a_command(ws, root: Path, stage: str, refused: list[str]):
    plan_id = ws.plan.propose("A change")
    if stage != "proposed":
        ws.plan.set_action_specs(plan_id, [write("README.md", "changed\n")])
        request = ws.plan.ask(plan_id)
    if stage in {"approved", "completed"}:
        ws.plan.approve(plan_id, "hanako", ALL_SPECS, answer(request))
    if stage == "completed":
        ws.plan.execute(plan_id)
    calls = {
        "request": lambda: ws.plan.request_approval(plan_id, ALL_SPECS),
        "approve": lambda: ws.plan.approve(plan_id, "hanako", ALL_SPECS, answer(request)),
        "reject": lambda: ws.plan.reject(plan_id, "no"),
        "send back": lambda: ws.plan.mark_pending(plan_id, False),
        "mark pending": lambda: ws.plan.mark_pending(plan_id, True),
        "set specs": lambda: ws.plan.set_action_specs(plan_id, [write("README.md", "again\n")]),
    }
    before = ws.plan.get(plan_id)
    for name in refused:
        with (
            untouched(root, agent=True),
            pytest.raises(BadTransition, match=r"^Plan p1 .*; n") as caught,
        ):
            calls[name]()
        assert "ringi" in str(Text(caught.value.hint, **caught.value.details))
    assert ws.plan.get(plan_id) == before
    assert_whole(ws)


@pytest.mark.req("PT-6")
def test_a_person_sends_a_plan_back(ws):
    plan_id = proposed(ws, write("README.md", "x\n"))
    assert ws.plan.reject(plan_id, "too short").feedback == "too short"
    state = ws.plan.get_state(plan_id)
    assert (state.status, state.feedback[0].text) == (P.PROPOSED, "too short")
    assert ws.plan.mark_pending(plan_id, True).status is P.PENDING_REVIEW
    assert ws.plan.mark_pending(plan_id, False).status is P.PROPOSED
    assert kinds(ws, plan_id)[-3:] == ["declined", "marked_pending", "sent_back"]


@pytest.mark.req("PT-6", "PT-8")
def test_a_person_thinks_again(ws, root: Path):
    plan_id = approved(ws, write("README.md", "x\n"))
    ws.plan.reject(plan_id, "not after all")
    assert ws.plan.get_state(plan_id).status is P.PROPOSED
    ws.plan.mark_pending(plan_id, True)
    with untouched(root), pytest.raises(NotApproved):
        ws.plan.execute(plan_id)


@pytest.mark.req("PT-6", "PT-12")
def test_failed_validation_stays_in_review_and_cannot_be_requested(ws, root: Path):
    plan_id = ws.plan.propose("A change")
    report = ws.plan.set_action_specs(plan_id, [write("../outside", "x"), write("README.md", "fine\n")])
    assert not report.ok
    assert ws.plan.get_state(plan_id).status is P.PENDING_REVIEW
    with untouched(root), pytest.raises(InvalidSpecs, match=r"\.\./outside"):
        ws.plan.request_approval(plan_id, ALL_SPECS)
    assert ws.plan.set_action_specs(plan_id, [write("README.md", "fine\n")]).ok
    assert ws.plan.get(plan_id).plan.version == 2
    assert ws.plan.get_state(plan_id).status is P.PENDING_REVIEW


@pytest.mark.req("PT-13")
def test_a_plan_without_words_or_specs_is_no_plan(ws):
    for content in ("", "\n \n", "#"):
        with pytest.raises(UnfitSpecs):
            ws.plan.propose(content)
    assert ws.plan.list() == []
    plan_id = ws.plan.propose("Only words")
    ws.plan.mark_pending(plan_id, True)
    with pytest.raises(InvalidSpecs, match="there are no specs"):
        ws.plan.request_approval(plan_id, ALL_SPECS)
    assert not ws.plan.set_action_specs(plan_id, []).ok


@pytest.mark.req("PT-9", "PT-13")
def test_no_fallback_file_ever_appears(ws, root: Path):
    """Whatever is proposed, refused or asked for, only what was approved comes into the workspace."""
    with untouched(root):
        plan_id = ws.plan.propose("Please implement everything. Go ahead and implement!")
        for attempt in (
            lambda: ws.plan.execute(plan_id),
            lambda: ws.plan.set_action_specs(plan_id, []),
            lambda: ws.plan.request_approval(plan_id, ALL_SPECS),
            lambda: ws.plan.approve(plan_id, "claude"),
            lambda: ws.plan.execute(plan_id),
        ):
            with suppress(errors.PersonNeeded, errors.Refused):
                attempt()
    assert not list(root.rglob("minimal_implementation*"))
    assert "minimal_implementation" not in "".join(
        path.read_text() for path in Path(ringi.__file__).parent.rglob("*.py")
    )


@pytest.mark.req("PT-4", "PT-13")
def test_the_api_has_the_names_of_the_specification_and_no_force():
    signatures = {
        name: list(inspect.signature(call).parameters)[1:]
        for name, call in inspect.getmembers(PlanTool, inspect.isfunction)
        if not name.startswith("_")
    }
    specified = {
        "propose": ["content", "sources", "rationale", "tags"],
        "set_action_specs": ["plan_id", "specs"],
        "preview": ["plan_id"],
        "request_approval": ["plan_id", "selection"],
        "approve": ["plan_id", "approver", "selection"],
        "execute": ["plan_id"],
        "get_state": ["plan_id"],
        "get_current": [],
        "list": [],
        "mark_pending": ["plan_id", "pending"],
        "clear_current": [],
    }
    for name, arguments in specified.items():
        assert signatures[name][: len(arguments)] == arguments
    assert signatures["execute"] == ["plan_id"]
    forcing = [
        (name, argument)
        for name, arguments in signatures.items()
        for argument in arguments
        if any(word in argument for word in ("force", "skip", "auto", "yes", "unsafe", "bypass"))
    ]
    assert forcing == []


@pytest.mark.req("PT-4")
def test_plans_have_short_names_and_prefixes(ws):
    ids = [ws.plan.propose(f"Plan {number}") for number in range(3)]
    assert [ref.name for ref in ws.plan.list()] == ["p3", "p2", "p1"]
    assert [ref.id for ref in ws.plan.list(limit=2)] == [ids[2], ids[1]]
    for name in ("p2", "2", ids[1], ids[1][:8], ids[1].upper()):
        assert ws.plan.get(name).plan.id == ids[1]
    for name in ("p9", "", "p", "-", "abc", "p" * 40, "\ud800", "%", "p0", "9" * 30, "--------", "p\uff11"):
        with pytest.raises(NotFound):
            ws.plan.get(name)


@pytest.mark.req("PT-4")
def test_a_prefix_that_two_plans_share_is_named_with_both(ws):
    made = iter(["aaaa1111-0000-4000-8000-000000000001", "aaaa1111-0000-4000-8000-000000000002"])
    tool = PlanTool(ws.replace(ids=lambda: next(made)))
    tool.propose("One")
    tool.propose("Two")
    with pytest.raises(Ambiguous, match=r"000000000001, .*000000000002"):
        tool.get("aaaa1111")


@pytest.mark.req("PT-4")
def test_current_is_the_newest_proposal_until_it_is_cleared(ws):
    first, second = ws.plan.propose("One"), ws.plan.propose("Two")
    assert ws.plan.get_current().id == second
    ws.plan.clear_current()
    assert ws.plan.get_current() is None
    ws.plan.clear_current()
    approve(ws, proposed(ws, write("README.md", "x\n")))
    third = ws.plan.get_current().id
    ws.plan.set_action_specs(first, [write("app/hello.py", "y\n")])
    approve(ws, first)
    ws.plan.execute(first)
    assert ws.plan.get_current().id == third


@pytest.mark.req("PT-4")
def test_waiting_are_those_a_person_can_move(ws):
    ws.plan.propose("Only words")
    pending = proposed(ws, write("README.md", "x\n"))
    ready = approved(ws, write("app/hello.py", "x\n"))
    done = approved(ws, create("new.txt", "x\n"))
    ws.plan.execute(done)
    assert {ref.id for ref in ws.plan.list(waiting=True)} == {pending, ready}


@pytest.mark.req("PT-11")
def test_events_say_who_why_how_many_and_how_risky(ws):
    plan_id = ws.plan.propose("A change", proposer="codex")
    ws.plan.set_action_specs(
        plan_id, [delete("README.md"), create("a/b.txt", "x")], actor=Actor.USER, reason="by hand"
    )
    add_checks(ws, plan_id, [CheckResult("true", 0, 0.1, "t", ""), CheckResult("false", 1, 0.1, "t", "")])
    first, second, third = (logged.event for logged in ws.log(plan_id))
    assert (first.actor, first.reason, first.counts.specs) == ("ai", "codex", 0)
    assert (second.actor, second.reason) == ("user", "by hand")
    assert (second.counts.files, second.counts.specs, second.risk_score) == (2, 2, 0.91)
    assert (third.actor, third.reason) == ("system", "1 of 2 checks passed")
    assert ws.plan.get_state(plan_id).checks[1].exit_code == 1


@pytest.mark.req("PT-12")
def test_specs_that_fail_do_not_replace_good_ones(ws):
    plan_id = proposed(ws, write("README.md", "x\n"))
    before = ws.plan.get(plan_id)
    for bad in ([], [write("../out", "x")], [write("\udcff.txt", "x")]):
        assert not ws.plan.set_action_specs(plan_id, bad).ok
        assert ws.plan.get(plan_id) == before


@pytest.mark.req("PT-12")
def test_new_specs_forget_old_checks(ws):
    plan_id = proposed(ws, write("README.md", "x\n"))
    add_checks(ws, plan_id, [CheckResult("true", 0, 0.1, "t", "")])
    ws.plan.set_action_specs(plan_id, [write("README.md", "y\n")])
    assert ws.plan.get_state(plan_id).checks == ()


@pytest.mark.parametrize("call", ["propose", "reject", "specs"])
def test_half_characters_are_refused_and_nothing_is_saved(ws, call: str):
    plan_id = proposed(ws, write("README.md", "x\n"))
    before = ws.plan.get(plan_id)
    calls = {
        "propose": lambda: ws.plan.propose("A \ud800 change"),
        "reject": lambda: ws.plan.reject(plan_id, "\udc80"),
        "specs": lambda: ws.plan.set_action_specs(plan_id, [write("README.md", "\ud800")]),
    }
    with pytest.raises(BadDocument):
        calls[call]()
    assert ws.plan.get(plan_id) == before
    assert len(ws.plan.list()) == 1
    assert_whole(ws)


@pytest.mark.req("PT-12")
def test_undo_brings_everything_back_and_only_once(ws, root: Path):
    (root / "app/hello.py").chmod(0o755)
    with untouched(root):
        plan_id = approved(
            ws,
            write("app/hello.py", "new\n", mode="0644"),
            create("deep/er/file.txt", "new\n"),
            delete("README.md"),
        )
        ws.plan.execute(plan_id)
        undo(ws, plan_id)
    assert kinds(ws, plan_id)[-4:] == ["approval_requested", "undo_approved", "undo_started", "undone"]
    assert ws.plan.list()[0].undone
    with pytest.raises(NothingToUndo):
        ws.plan.ask_undo(plan_id)
    with pytest.raises(NothingToUndo):
        ws.plan.ask_undo()
    assert_whole(ws)


def test_a_plan_that_was_never_carried_out_cannot_be_undone(ws):
    plan_id = approved(ws, write("README.md", "x\n"))
    with pytest.raises(NothingToUndo, match="p1 was not carried out"):
        ws.plan.ask_undo(plan_id)


def test_another_process_sees_everything(tmp_path: Path):
    with open_scratch(tmp_path) as workspace:
        plan_id = approved(workspace, write("README.md", "x\n"))
    code = (
        "import sys; from pathlib import Path; from tests.helpers import open_scratch\n"
        "ws = open_scratch(Path(sys.argv[1])); print(ws.plan.execute(sys.argv[2]).overall_success)"
    )
    child = python(code, str(tmp_path), plan_id)
    output, _ = child.communicate()
    assert (child.returncode, output.strip()) == (0, "True")
    with open_scratch(tmp_path) as workspace:
        assert workspace.plan.get_state(plan_id).status is P.COMPLETED


def test_the_public_names(tmp_path: Path):
    assert {name for name in ringi.__all__ if not getattr(ringi, name, None)} == set()
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    with ringi.open_workspace(tmp_path / "sub", person=Person()) as workspace:
        assert workspace.places.root == tmp_path.resolve()
        assert isinstance(workspace, ringi.Workspace)
    with pytest.raises(AttributeError):
        ringi.nothing  # noqa: B018
    with pytest.raises(errors.NoWorkspace):
        ringi.open_workspace("/", person=Person())


def test_a_real_repository_is_a_workspace(repo: Path, tmp_path: Path):
    with ringi.open_workspace(repo / "app", person=Person()) as workspace:
        plan_id = approved(workspace, write("app/hello.py", "pass\n"))
        workspace.plan.execute(plan_id)
    status = subprocess.run(["git", "status", "--porcelain"], cwd=repo, capture_output=True, check=True)
    assert status.stdout == b" M app/hello.py\n"
    assert list((repo / ".agent" / "tmp").iterdir()) == []
