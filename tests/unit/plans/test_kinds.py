"""Every kind of spec: what it does, what is shown of it, and what becomes of it after an undo."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.app.api import Workspace
from ringi.errors import InvalidSpecs, NotApproved, NoTool
from ringi.kernel.fs import OsFileSystem
from ringi.plans.document import PlanStatus
from ringi.plans.execution import ExecutionResult
from ringi.plans.tool import PlanTool
from ringi.policy.risk import is_allowed
from ringi.policy.risk_level import Risk, RiskCode
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec, SpecSelection
from ringi.tree.file_state import OpStatus
from ringi.tree.tree import Tree
from tests.helpers import (
    answer,
    approve,
    approved,
    assert_whole,
    create,
    delete,
    fingerprint,
    ledger_of,
    open_scratch,
    proposed,
    undo,
    untouched,
    write,
)
from tests.tables import each


def move(path: str, target: str, **more: object) -> ActionSpec:
    return ActionSpec(SpecKind.MOVE, path, target=target, **more)


def mkdir(path: str, **more: object) -> ActionSpec:
    return ActionSpec(SpecKind.MKDIR, path, **more)


def run(*argv: str, **more: object) -> ActionSpec:
    return ActionSpec(SpecKind.RUN, argv=argv, **more)


def read(path: str, **more: object) -> ActionSpec:
    return ActionSpec(SpecKind.READ, path, **more)


def patch(path: str, *lines: str) -> ActionSpec:
    return ActionSpec(SpecKind.PATCH, path, "".join(f"{line}\n" for line in lines))


HELLO_PATCH = patch(
    "app/hello.py",
    "--- a/app/hello.py",
    "+++ b/app/hello.py",
    "@@ -1,2 +1,2 @@",
    " def hello():",
    '-    return "hello"',
    '+    return "hi"',
)
KINDS = {
    "create": create("new/deep/a.txt", "a\n"),
    "write": write("README.md", "# Other\n"),
    "patch": HELLO_PATCH,
    "delete": delete("app/hello.py"),
    "move": move("app/hello.py", "lib/deep/hello.py", mode="0755"),
    "mkdir": mkdir("one/two"),
    "mode": write("README.md", None, mode="0600"),
    "run": run("sh", "-c", "echo more >> README.md; mkdir -p out; echo new > out/new.txt; rm app/hello.py"),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with open_scratch(tmp_path, RINGI_RUN_SANDBOX="off") as opened:
        yield opened


def statuses(result: ExecutionResult) -> dict[str, str]:
    return {outcome.spec_id: str(outcome.status) for outcome in result.results}


@pytest.mark.req("PT-3", "PT-12")
@pytest.mark.parametrize("kind", KINDS)
def test_done_and_undone(workspace: Workspace, kind: str):
    root = workspace.places.root
    before = fingerprint(root)
    plan_id = approved(workspace, KINDS[kind])
    assert workspace.plan.execute(plan_id).overall_success
    assert fingerprint(root) != before
    assert workspace.plan.get_state(plan_id).status is PlanStatus.COMPLETED
    assert_whole(workspace)
    undo(workspace, plan_id)
    assert fingerprint(root) == before
    assert_whole(workspace)


@pytest.mark.req("PT-3", "PT-7")
def test_all_kinds_in_one_plan(workspace: Workspace):
    root = workspace.places.root
    before = fingerprint(root)
    plan_id = approved(
        workspace,
        mkdir("out"),
        create("out/a.txt", "a\n"),
        run("sh", "-c", "cat out/a.txt > out/b.txt; printf 'ran in %s' \"$PWD\""),
        HELLO_PATCH,
        move("README.md", "docs/README.md"),
        read("docs/README.md"),
    )
    result = workspace.plan.execute(plan_id)
    assert result.overall_success, result
    outputs = {outcome.spec_id: outcome.output for outcome in result.results if outcome.output}
    assert outputs == {"s3": f"ran in {root}", "s6": "# Sample\n"}
    assert (root / "out/b.txt").read_text() == "a\n"
    undo(workspace, plan_id)
    assert fingerprint(root) == before
    assert_whole(workspace)


@pytest.mark.req("PT-7")
def test_a_folder_that_is_there_is_no_change(workspace: Workspace):
    plan_id = proposed(workspace, mkdir("app/"), write("README.md", "x\n"))
    assert workspace.plan.preview(plan_id).stale == ()
    approve(workspace, plan_id)
    result = workspace.plan.execute(plan_id)
    assert [outcome.path for outcome in result.results] == ["README.md"]


@pytest.mark.req("PT-7")
def test_a_folder_somebody_uses_stays(workspace: Workspace):
    plan_id = approved(workspace, mkdir("made"), write("README.md", "x\n"))
    workspace.plan.execute(plan_id)
    (workspace.places.root / "made" / "theirs.txt").write_text("theirs\n")
    request, found = workspace.plan.ask_undo(plan_id)
    assert [change.path for change in found.changes] == ["made", "README.md"] or found.changes
    result = workspace.plan.undo(plan_id, "hanako", answer(request))
    assert statuses(result) == {"s1": "conflict", "s2": "done"}
    assert (workspace.places.root / "made" / "theirs.txt").exists()
    assert (workspace.places.root / "README.md").read_text() == "# Sample\n"


@pytest.mark.req("PT-7")
@each(
    ("argv", "globs", "expected"),
    [
        (["make", "test"], ["make test"], True),
        (["make", "test", "-j4"], ["make test"], False),
        (["make", "test", "-j4"], ["make test *"], True),
        (["make", "test"], ["make test *"], True),
        (["make"], ["make test *"], False),
        (["pytest", "-k", "a b"], ["pytest *"], True),
        (["pytestx"], ["pytest *"], False),
        (["sh", "-c", "pytest"], ["pytest *"], False),
        (["npm", "run", "lint:fix"], ["npm run lint:*"], True),
        (["rm", "-rf", "/"], ["*"], False),
        (["rm"], [], False),
        (["x"], ['"unclosed'], False),
    ],
)
def test_allowed_commands(argv: list[str], globs: list[str], expected: bool):
    assert is_allowed(argv, globs) is expected


@pytest.mark.req("PT-7")
@given(st.lists(st.text(min_size=1), min_size=1, max_size=4), st.lists(st.text(min_size=1), max_size=3))
def test_a_command_is_matched_word_by_word(argv: list[str], more: list[str]):
    import shlex

    exact = shlex.join(argv)
    plain = not any(c in word for word in argv for c in "*?[")
    if plain:
        assert is_allowed(argv, [exact])
        assert is_allowed([*argv, *more], [exact]) is (not more)


@pytest.mark.req("PT-7")
def test_risk_of_commands_and_calls(tmp_path: Path):
    with open_scratch(tmp_path, RINGI_RUN_ALLOWED="make test") as workspace:
        plan_id = proposed(
            workspace,
            run("make", "test"),
            run("curl", "x"),
            ActionSpec(SpecKind.CALL, tool="issues.close", arguments={"id": 1}),
            read("README.md"),
        )
        specs = workspace.plan.get_state(plan_id).action_specs
        assert [spec.risk for spec in specs] == [Risk.MEDIUM, Risk.HIGH, Risk.HIGH, Risk.LOW]
        assert [spec.risk_reasons[0].code for spec in specs[:3]] == [
            RiskCode.COMMAND,
            RiskCode.FOREIGN_COMMAND,
            RiskCode.TOOL_CALL,
        ]
        assert specs[0].base.timeout_sec == 600, "bound to what the configuration says now"


@pytest.mark.req("PT-3", "PT-9")
def test_a_call_waits_until_there_are_tools(workspace: Workspace):
    call = ActionSpec(SpecKind.CALL, tool="issues.close", arguments={"id": 1})
    plan_id = approved(workspace, write("README.md", "x\n"), call)
    with untouched(workspace.places.root), pytest.raises(NoTool, match=r"issues\.close"):
        workspace.plan.execute(plan_id)
    assert workspace.plan.get_state(plan_id).status is PlanStatus.APPROVED


@pytest.mark.req("PT-3", "PT-9")
def test_reading_needs_no_approval(workspace: Workspace):
    plan_id = proposed(workspace, read("README.md"), ActionSpec(SpecKind.ANALYZE, "app/hello.py"))
    with untouched(workspace.places.root):
        result = workspace.plan.execute(plan_id)
    assert result.overall_success
    assert result.results[0].output == "# Sample\n"
    assert '"app/hello.py"' in str(result.results[1].output)
    assert workspace.plan.get_state(plan_id).status is PlanStatus.COMPLETED
    assert_whole(workspace)


@pytest.mark.req("PT-9")
def test_reading_in_a_plan_that_changes_something_needs_one(workspace: Workspace):
    plan_id = proposed(workspace, read("README.md"), write("README.md", "x\n"))
    with untouched(workspace.places.root), pytest.raises(NotApproved):
        workspace.plan.execute(plan_id)


@pytest.mark.req("PT-3")
def test_a_long_reading_is_cut(tmp_path: Path):
    files = {"long.txt": "日本" * 1000, "bytes": b"\xff\x00"}
    with open_scratch(tmp_path, files, RINGI_RUN_OUTPUT_BYTES="100") as workspace:
        plan_id = proposed(workspace, read("long.txt"), read("bytes"))
        result = workspace.plan.execute(plan_id)
    assert result.results[0].output == "日本" * 16 + "日"
    assert result.results[1].output == "\\xff\x00"


@pytest.mark.req("PT-7")
@pytest.mark.parametrize(
    ("specs", "why"),
    [
        ([move("README.md", "x"), write("README.md", "y")], "README.md: two specs name it"),
        ([move("README.md", "x"), create("x", "y")], "x: two specs name it"),
        ([move("README.md", "x"), move("app/hello.py", "x")], "x: two specs name it"),
        ([delete("README.md"), move("app/hello.py", "README.md")], "nothing is moved onto it"),
        ([mkdir("x"), create("x", "y")], "x: two specs name it"),
        ([move("README.md", "x/y"), create("x", "z")], "x is to be a file and a folder at once"),
        ([mkdir("README.md/x")], "README.md is a file"),
        ([create("x/a.txt", "a"), mkdir("x")], "x: a spec before it makes this folder already"),
        (
            [write("README.md", "x", group="a"), mkdir("b"), create("c", "", group="a")],
            "the specs of group a do not stand together",
        ),
        (
            [write("README.md", "x", group="a", optional=True), create("c", "", group="a")],
            "group a: all of its specs are optional, or none",
        ),
    ],
)
def test_a_plan_is_validated_as_a_whole(workspace: Workspace, specs: list[ActionSpec], why: str):
    report = workspace.plan.set_action_specs(workspace.plan.propose("x"), specs)
    assert not report.ok
    assert why in "; ".join(report.issues)


def test_undo_brings_back_all_it_can(workspace: Workspace):
    """Also what comes after a folder that somebody uses now."""
    root = workspace.places.root
    plan_id = approved(workspace, write("README.md", "x\n"), mkdir("pkg"), create("pkg/m.py", "m\n"))
    workspace.plan.execute(plan_id)
    (root / "pkg" / "m.pyc").write_bytes(b"x")
    request, _ = workspace.plan.ask_undo(plan_id)
    result = workspace.plan.undo(plan_id, "hanako", answer(request))
    assert statuses(result) == {"s1": "done", "s2": "conflict", "s3": "done"}
    assert (root / "README.md").read_text() == "# Sample\n"
    assert not (root / "pkg" / "m.py").exists()


def test_without_a_name_what_was_carried_out_last_is_undone(workspace: Workspace):
    earlier = approved(workspace, create("one.txt", "1\n"))
    later = approved(workspace, create("two.txt", "2\n"))
    for plan_id in (later, earlier):
        assert workspace.plan.execute(plan_id).overall_success
    workspace.plan.ask_undo(later)  # and thought better of
    request, _ = workspace.plan.ask_undo()
    assert request.subject_id == earlier


def test_a_folder_somebody_else_made_stays(workspace: Workspace):
    """An optional mkdir that came too late is no change of the plan, though a command ran in the folder."""
    root = workspace.places.root
    plan_id = approved(workspace, mkdir("d", optional=True), run("true", path="app"), create("x", "x\n"))

    class Racing(OsFileSystem):
        def make_folder(self, at: int, name: str, mode: int) -> None:
            if name == "d":
                os.mkdir(name, mode, dir_fd=at)
            super().make_folder(at, name, mode)

    tree = Tree(Racing(), workspace.places.root)
    result = PlanTool(workspace.replace(tree=tree)).execute(plan_id)
    assert statuses(result) == {"s1": "conflict", "s2": "done", "s3": "done"}
    undo(workspace, plan_id)
    assert (root / "d").is_dir()


def test_what_a_command_made_of_files_is_named(workspace: Workspace):
    """A file that became a folder, and a name that is no text."""
    script = "rm README.md; mkdir README.md; touch README.md/x; touch \"$(printf 'b\\377')\""
    plan_id = approved(workspace, run("sh", "-c", script))
    assert workspace.plan.execute(plan_id).overall_success
    _, found = workspace.plan.ask_undo(plan_id)
    assert "README.md" in found.beyond
    assert any("udcff" in name or "xff" in name for name in found.beyond)
    assert_whole(workspace)


def test_a_command_runs_in_no_link(workspace: Workspace):
    root = workspace.places.root
    (root / "good").mkdir()
    (root / "evil").mkdir()
    plan_id = approved(workspace, run("touch", "here", path="good"))
    (root / "good").rmdir()
    (root / "good").symlink_to("evil")
    assert not workspace.plan.execute(plan_id).overall_success
    assert not (root / "evil" / "here").exists()


@pytest.mark.req("PT-12")
def test_an_optional_spec_may_fail(workspace: Workspace):
    plan_id = approved(
        workspace,
        run("sh", "-c", "exit 3", optional=True),
        create("a.txt", "a\n", optional=True),
        write("README.md", "x\n"),
    )
    (workspace.places.root / ".gitignore").write_text("a.txt\n")
    made: list[str] = []

    class Racing(OsFileSystem):
        def link(self, source: int, name: str, target: int, target_name: str) -> None:
            if target_name == "a.txt" and not made:
                made.append(target_name)
                descriptor = os.open("a.txt", os.O_CREAT | os.O_WRONLY, dir_fd=target)
                os.write(descriptor, b"theirs\n")
                os.close(descriptor)
            super().link(source, name, target, target_name)

    tree = Tree(Racing(), workspace.places.root)
    result = PlanTool(workspace.replace(tree=tree)).execute(plan_id)
    assert statuses(result) == {"s1": "failed", "s2": "conflict", "s3": "done"}
    assert result.overall_success
    assert (workspace.places.root / "a.txt").read_text() == "theirs\n"
    assert_whole(workspace)


@pytest.mark.req("PT-12")
def test_only_what_remains_is_done_again(workspace: Workspace):
    """The command fails at first; what came before it is not done twice."""
    root = workspace.places.root
    before = fingerprint(root)
    plan_id = approved(
        workspace,
        create("a.txt", "a\n"),
        run("sh", "-c", "echo x >> ran.txt; test $(wc -l < ran.txt) = 2"),
        create("b.txt", "b\n"),
    )
    first = workspace.plan.execute(plan_id)
    assert not first.overall_success
    assert statuses(first) == {"s1": "done", "s2": "failed", "s3": "untouched"}
    assert workspace.plan.get_state(plan_id).status is PlanStatus.ABORTED
    second = workspace.plan.execute(plan_id)
    assert statuses(second) == {"s2": "done", "s3": "done"}
    assert workspace.plan.get_state(plan_id).status is PlanStatus.COMPLETED
    assert_whole(workspace)
    undo(workspace, plan_id)
    assert fingerprint(root) == before


@pytest.mark.req("PT-12")
def test_what_an_aborted_plan_did_can_be_undone(workspace: Workspace):
    root = workspace.places.root
    before = fingerprint(root)
    plan_id = approved(workspace, write("README.md", "x\n"), run("sh", "-c", "echo > junk.txt; exit 1"))
    assert not workspace.plan.execute(plan_id).overall_success
    request, found = workspace.plan.ask_undo()
    assert {change.path for change in found.changes} == {"README.md", "junk.txt"}
    assert workspace.plan.undo(plan_id, "hanako", answer(request)).overall_success
    assert fingerprint(root) == before
    # What a person took back is not done again without being asked.
    with untouched(root), pytest.raises(NotApproved):
        workspace.plan.execute(plan_id)
    assert workspace.plan.get_state(plan_id).status is PlanStatus.PENDING_REVIEW
    approve(workspace, plan_id)
    assert statuses(workspace.plan.execute(plan_id)) == {"s1": "done", "s2": "failed"}


@pytest.mark.req("PT-12")
def test_a_command_that_changes_a_file_of_the_plan(workspace: Workspace):
    """As a formatter does: the file goes back to before both."""
    root = workspace.places.root
    before = fingerprint(root)
    plan_id = approved(workspace, write("README.md", "x\n"), run("sh", "-c", "echo formatted > README.md"))
    assert workspace.plan.execute(plan_id).overall_success
    assert (root / "README.md").read_text() == "formatted\n"
    undo(workspace, plan_id)
    assert fingerprint(root) == before


@pytest.mark.req("PT-12")
def test_undo_refuses_file_by_file(workspace: Workspace):
    plan_id = approved(workspace, write("README.md", "x\n"), create("a.txt", "a\n"), create("b.txt", "b\n"))
    workspace.plan.execute(plan_id)
    (workspace.places.root / "a.txt").write_text("theirs\n")
    request, found = workspace.plan.ask_undo(plan_id)
    assert found.refused == ("a.txt",)
    result = workspace.plan.undo(plan_id, "hanako", answer(request))
    assert not result.overall_success
    assert [outcome.path for outcome in result.results if outcome.status is OpStatus.CONFLICT] == ["a.txt"]
    assert (workspace.places.root / "README.md").read_text() == "# Sample\n"
    assert (workspace.places.root / "a.txt").read_text() == "theirs\n"
    assert not (workspace.places.root / "b.txt").exists()
    assert not ledger_of(workspace).plans.ref(plan_id).undone
    (workspace.places.root / "a.txt").write_text("a\n")
    undo(workspace, plan_id)
    assert ledger_of(workspace).plans.ref(plan_id).undone
    assert_whole(workspace)


@pytest.mark.req("PT-12")
def test_of_a_group_all_goes_back_that_can(workspace: Workspace):
    plan_id = approved(
        workspace,
        create("a.txt", "a\n", group="g"),
        create("b.txt", "b\n", group="g"),
        create("c.txt", "c\n"),
    )
    workspace.plan.execute(plan_id)
    (workspace.places.root / "a.txt").write_text("theirs\n")
    request, found = workspace.plan.ask_undo(plan_id)
    assert found.refused == ("a.txt",)
    workspace.plan.undo(plan_id, "hanako", answer(request))
    assert (workspace.places.root / "a.txt").read_text() == "theirs\n"
    assert not (workspace.places.root / "b.txt").exists()
    assert not (workspace.places.root / "c.txt").exists()


@pytest.mark.req("PT-8")
def test_a_selection_is_all_that_runs(workspace: Workspace):
    plan_id = proposed(workspace, create("a.txt", "a\n"), create("b.txt", "b\n"))
    approve(workspace, plan_id, SpecSelection(all=False, ids=("s2",)))
    assert statuses(workspace.plan.execute(plan_id)) == {"s2": "done"}
    assert not (workspace.places.root / "a.txt").exists()


@pytest.mark.req("PT-8")
def test_half_a_group_cannot_be_selected(workspace: Workspace):
    plan_id = proposed(workspace, create("a.txt", "a\n", group="g"), create("b.txt", "b\n", group="g"))
    with pytest.raises(InvalidSpecs, match="group g"):
        workspace.plan.request_approval(plan_id, SpecSelection(all=False, ids=("s2",)))


@pytest.mark.req("PT-3")
@pytest.mark.parametrize(
    ("argv", "check"),
    [
        (("sh", "-c", "exit 7"), lambda o: (o.exit_code, o.status) == (7, OpStatus.FAILED)),
        (("no-such-program",), lambda o: o.exit_code == 127 and "no-such-program" in o.output),
        (("echo", "$HOME", "*"), lambda o: o.output == "$HOME *\n"),
    ],
)
def test_how_a_command_ends(workspace: Workspace, argv: tuple[str, ...], check: Callable[..., bool]):
    plan_id = approved(workspace, run(*argv))
    assert check(workspace.plan.execute(plan_id).results[0])
    assert_whole(workspace)


@pytest.mark.req("PT-3")
def test_a_command_runs_in_its_folder_and_not_too_long(workspace: Workspace):
    plan_id = approved(
        workspace, run("pwd", path="app"), run("sh", "-c", "sleep 60 & sleep 60", timeout_sec=1)
    )
    result = workspace.plan.execute(plan_id)
    assert result.results[0].output == f"{workspace.places.root}/app\n"
    assert result.results[1].exit_code == 124
    told = "it was stopped after 1 s (timeout_sec in the spec, or else run.timeout_sec)"
    assert told in result.results[1].detail
