"""A goal, subtasks and a design become planning.json, and whatever they are, it passes the check."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.engine.compile import RunNames, compile_run_plan
from ringi.engine.design import Criterion, Design, DesignStep, TargetPath
from ringi.engine.document import ActionPlan, Complexity, GoalUnderstanding, PlannedAction, Subtask
from ringi.engine.request import Request
from ringi.engine.run_parts import PartsInput, RunWishes, only_tests
from ringi.engine.run_plan import AcceptanceCriterion, RunPlan
from ringi.engine.run_plan_rules import run_plan_problems
from ringi.kernel import codec
from ringi.kernel.problems import Level
from ringi.policy.globs import inside
from ringi.project.context import FileKind, FoundFile, ProjectFacts

NAMES = RunNames("RQ-20251214-008", "20251214-210501-a1b2c3", "2025-12-14T21:05:01+09:00", "main")
PROJECT = ProjectFacts(
    languages=("Python",),
    entries=("src", "tests", "vendor"),
    rules=("AGENTS.md",),
    test_commands=("make test", "pytest"),
    found=(FoundFile(path="src/report.py", kind=FileKind.SOURCE, tests=("tests/test_report.py",)),),
)


def task(id_: str, *paths: str, **more: Any) -> Subtask:
    return Subtask(id=id_, description=f"Do {id_}", writes=tuple(TargetPath(path) for path in paths), **more)


def made(planned: PartsInput, **wishes: Any) -> RunPlan:
    plan = compile_run_plan(planned, NAMES, RunWishes(**wishes))
    data = codec.canonical(plan)
    assert codec.decode_foreign(data, RunPlan, "planning.json") == plan
    assert [one for one in run_plan_problems(codec.parse_json(data, "it")) if one.level is Level.FAIL] == []
    return plan


def paths(plan: RunPlan) -> list[tuple[str, ...]]:
    return [step.scope.target_paths for step in plan.steps]


@pytest.mark.req("RN-1", "RN-16")
def test_an_instruction_alone_is_one_step():
    plan = made(PartsInput("Add an install section to README.md", project=PROJECT))
    [step] = plan.steps
    assert (step.step_id, step.title, step.role) == (
        "S01",
        "Add an install section to README.md",
        "implementer",
    )
    assert plan.work_branch == "aiflow/RQ-20251214-008/20251214-210501-a1b2c3"
    assert plan.outputs.planning_json == "runs/RQ-20251214-008/20251214-210501-a1b2c3/planning.json"
    assert step.outputs.patch_path == "runs/RQ-20251214-008/20251214-210501-a1b2c3/patches/S01.patch"
    assert step.commands.unit == ("make test",)
    assert plan.context.test_instructions["unit"] == "make test"
    assert [one.type for one in plan.context.acceptance_criteria] == [
        "regression",
        "nonfunctional",
        "nonfunctional",
    ]
    assert plan.context.acceptance_criteria[0].when == "make test runs after the last step"
    assert step.links_to_ac == ("AC-01", "AC-02", "AC-03")
    assert step.scope.forbidden_paths == (".git", ".agent", "vendor")
    assert plan.risks == ("Which files change is not known yet.",)
    assert plan.limits.max_steps_per_run == 1


@pytest.mark.req("RN-16")
def test_reading_is_no_step_and_tests_go_with_what_they_test():
    """As the specification decomposes a small task: get the file, edit it, write it back, test."""
    subtasks = (
        task("t1", required_tools=("get_file",)),
        task("t2", "src/report.py", dependencies=("t1",)),
        task("t3", "src/report.py", dependencies=("t2",)),
        task("t4", "src/other.py", dependencies=("t1",)),
        task("t5", "tests/test_report.py", dependencies=("t3",)),
        task("t6", "docs/report.md", dependencies=("t3",)),
        task("t7", dependencies=("t6",)),
    )
    plan = made(PartsInput("Report", subtasks=subtasks, project=PROJECT))
    assert paths(plan) == [("src/report.py", "tests/test_report.py"), ("src/other.py",), ("docs/report.md",)]
    assert plan.limits.max_steps_per_run == 3
    assert made(PartsInput("Report", subtasks=subtasks), max_steps=1).limits.max_steps_per_run == 1


@pytest.mark.req("RN-16")
def test_tests_beside_what_changes_may_change_with_it():
    plan = made(PartsInput("Report", subtasks=(task("t1", "src/report.py"),), project=PROJECT))
    assert paths(plan) == [("src/report.py", "tests/test_report.py")]


@pytest.mark.req("RN-16")
def test_tests_that_come_first_join_the_change():
    subtasks = (task("t1", "tests/test_a.py"), task("t2", "src/a.py", dependencies=("t1",)))
    assert paths(made(PartsInput("A", subtasks=subtasks))) == [("src/a.py", "tests/test_a.py")]
    [step] = made(PartsInput("A", subtasks=subtasks[:1])).steps
    assert step.role == "implementer", "one that judges would write nothing"


def test_actions_say_which_files_if_tasks_do_not():
    subtasks = (Subtask(id="1", description="look"), Subtask(id="2", description="write"))
    actions = ActionPlan(
        actions=(
            PlannedAction(task_id="1", tool="get_file_contents", file="README.md"),
            PlannedAction(
                task_id="2", tool="create_or_update_file", file="README.md", expected_outcome="it is there"
            ),
        )
    )
    [step] = made(PartsInput("Readme", subtasks=subtasks, actions=actions)).steps
    assert (step.scope.target_paths, step.title) == (("README.md",), "write")
    assert step.success_criteria == ("it is there",)


@pytest.mark.req("RN-1")
def test_criteria_of_the_design_are_linked_and_not_padded():
    design = Design(
        acceptance_criteria=tuple(Criterion(f"g{n}", f"w{n}", f"t{n}") for n in range(4)),
        target_paths=(TargetPath("src/new.py", new=True), TargetPath("../up"), TargetPath("/etc/passwd")),
        test_commands=("tox", "make lint"),
        assumptions=("it is git",),
        out_of_scope=("colours",),
        open_points=("the name",),
    )
    plan = made(PartsInput("New", design=design, project=PROJECT))
    assert [one.then for one in plan.context.acceptance_criteria] == ["t0", "t1", "t2", "t3"]
    [step] = plan.steps
    assert step.links_to_ac == ("AC-01", "AC-02", "AC-03", "AC-04")
    assert step.scope.target_paths == ("src/new.py",)
    assert step.commands.unit == plan.context.test_instructions["unit"] == ("tox", "make lint")
    assert (plan.assumptions, plan.risks) == (("it is git",), ("the name",))
    assert plan.context.constraints == ("Out of scope: colours",)


def own(title: str, *paths: str, **more: Any) -> DesignStep:
    return DesignStep(title=title, target_paths=paths, **more)


def designed(*steps: DesignStep, **more: Any) -> Design:
    named = dict.fromkeys(path for step in steps for path in step.target_paths)
    fields = {"target_paths": tuple(map(TargetPath, named)), "test_commands": ("make test",), **more}
    return Design(steps=steps, **fields)


@pytest.mark.req("RN-3", "RN-16")
def test_the_steps_of_a_design_become_the_steps_of_the_run():
    criteria = tuple(Criterion(f"g{n}", f"w{n}", f"t{n}") for n in (1, 2, 3))
    design = designed(
        own("Read it", "src/read.py", criteria=(2,), test_commands=("pytest tests/test_read.py",)),
        own("Show it", "src/show.py", "tests/test_show.py", criteria=(1,)),
        own("Say it", "docs/it.md"),
        acceptance_criteria=criteria,
    )
    plan = made(PartsInput("It", design=design))
    assert [step.title for step in plan.steps] == ["Read it", "Show it", "Say it"]
    assert paths(plan) == [("src/read.py",), ("src/show.py", "tests/test_show.py"), ("docs/it.md",)]
    assert [step.commands.unit for step in plan.steps] == [
        ("pytest tests/test_read.py",), ("make test",), ("make test",)
    ]  # fmt: skip
    assert [step.links_to_ac for step in plan.steps] == [("AC-02",), ("AC-01",), ("AC-03",)]
    assert plan.steps[0].success_criteria == ("t2", "pytest tests/test_read.py exits with 0")
    assert plan.limits.max_steps_per_run == 3
    assert plan.gates.require_unit_pass


@pytest.mark.req("RN-16")
def test_the_last_step_passes_the_tests_of_all():
    steps = (own("A", "a.py", test_commands=("pytest a",)), own("B", "b.py", test_commands=("pytest b",)))
    plan = made(PartsInput("It", design=designed(*steps)))
    assert [step.commands.unit for step in plan.steps] == [("pytest a",), ("pytest b", "make test")]
    asked = Request(title="It", test_instructions={"unit": "tox"})
    plan = made(PartsInput("It", design=designed(*steps), request=asked))
    assert [step.commands.unit for step in plan.steps] == [("tox",), ("tox",)]


@pytest.mark.req("RN-16")
def test_steps_that_would_not_stand_alone_are_joined():
    code, tests = own("Code", "src/a.py"), own("Tests", "tests/test_a.py")
    other = own("Other", "src/b.py")
    for steps in ((code, other, tests), (code, tests, other)):
        plan = made(PartsInput("It", design=designed(*steps)))
        assert paths(plan) == [("src/a.py", "tests/test_a.py"), ("src/b.py",)]
    assert paths(made(PartsInput("It", design=designed(tests, code)))) == [("src/a.py", "tests/test_a.py")]
    twice = made(PartsInput("It", design=designed(code, own("More", "src/a.py"))))
    [step] = twice.steps
    assert step.intent == "Code\nMore"
    more = own("Tests of b", "tests/test_b.py")
    assert len(made(PartsInput("It", design=designed(tests, more))).steps) == 2, "nothing but tests changes"


@pytest.mark.req("RN-16")
def test_a_file_that_no_step_names_belongs_to_one_of_them():
    steps = (own("A", "src/a.py"), own("B", "src/b.py"))
    named = ("src/a.py", "src/b.py", "tests/test_a.py", "CHANGELOG.md")
    plan = made(PartsInput("It", design=designed(*steps, target_paths=tuple(map(TargetPath, named)))))
    assert paths(plan) == [("src/a.py", "tests/test_a.py"), ("src/b.py", "CHANGELOG.md")]


FEW = ["src/a.py", "src/b.py", "tests/test_a.py", "tests/test_b.py", "tests/test_c.py", "docs/x.md"]


@pytest.mark.req("RN-16")
@given(st.lists(st.lists(st.sampled_from(FEW), min_size=1, max_size=4, unique=True), min_size=1, max_size=6))
def test_whatever_the_steps_of_a_design_no_tests_are_without_their_code(named: list[list[str]]):
    steps = (own(f"Step {at}", *files) for at, files in enumerate(named))
    found = paths(made(PartsInput("It", design=designed(*steps))))
    assert {path for files in found for path in files} == {path for files in named for path in files}
    assert all(map(only_tests, found)) or not any(map(only_tests, found))


@pytest.mark.req("RN-13", "RN-16")
def test_a_step_that_the_request_does_not_allow_is_left_out():
    design = designed(own("A", "src/a.py"), own("B", "lib/b.py", "src/b.py"), own("C", "lib/c.py"))
    asked = Request(title="It", test_instructions={}, allowed_paths=("src/",))
    plan = made(PartsInput("It", design=design, request=asked))
    assert [step.title for step in plan.steps] == ["A", "B"]
    assert paths(plan) == [("src/a.py",), ("src/b.py",)]
    assert any("lib/c.py" in one for one in plan.risks or ())


def test_criteria_of_the_goal_belong_to_the_tasks_that_claim_them():
    goal = GoalUnderstanding(main_objective="Sort", success_criteria=("sorted", "fast"))
    subtasks = (task("1", "a.py", criteria=(2,)), task("2", "b.py", criteria=(1,)), task("3", "c.py"))
    plan = made(
        PartsInput("Sort", goal=goal, subtasks=subtasks, project=ProjectFacts(test_commands=("pytest",)))
    )
    assert [one.then for one in plan.context.acceptance_criteria] == ["sorted", "fast", "they still pass"]
    assert [step.links_to_ac for step in plan.steps] == [("AC-02", "AC-03"), ("AC-01", "AC-03"), ("AC-03",)]


def test_in_japanese_and_without_tests():
    plan = made(PartsInput("日付順に並べる", language="ja"))
    assert plan.context.acceptance_criteria[0].then == "ステップに挙げたファイルだけが変わっている"
    assert not plan.gates.require_unit_pass
    assert plan.context.test_instructions == {"unit": "", "e2e": ""}


@pytest.mark.req("RN-7")
def test_what_is_too_large_is_split_by_files_with_their_tests():
    files = [f"src/m{n}.py" for n in range(12)]
    many = task(
        "t", *files, *(f"tests/test_m{n}.py" for n in range(12)), estimated_complexity=Complexity.HIGH
    )
    plan = made(PartsInput("Many", subtasks=(many,)))
    assert [step.title for step in plan.steps] == [f"Do t ({n} of 3)" for n in (1, 2, 3)]
    for step in plan.steps:
        assert len(step.scope.target_paths) == 8
        sources = [path for path in step.scope.target_paths if path.startswith("src/")]
        assert {f"tests/test_{path[4:]}" for path in sources} < set(step.scope.target_paths)
    tight = made(PartsInput("Many", subtasks=(many,)), max_diff_lines=100)
    assert len(tight.steps) == 4
    assert all(step.expected_diff.lines_max <= 100 for step in tight.steps)


def test_the_same_input_gives_the_same_bytes():
    planned = PartsInput(
        "Report", subtasks=tuple(task(str(n), f"f{n}.py") for n in range(5)), project=PROJECT
    )
    assert len({codec.canonical(made(planned)) for _ in range(3)}) == 1


texts = st.text(max_size=12) | st.sampled_from(
    ["x" * 3000, "a\nb", "\x1b[2J", "…", "{title}", "tests/test_a.py"]
)
files = texts | st.sampled_from(
    ["a.py", "src/b.py", "../c", "/d", "tests/test_a.py", "~/e", ".git/config", "a/./b.py"]
)
ids = st.sampled_from("123456789")
subtasks = st.builds(
    Subtask,
    id=ids,
    description=texts,
    dependencies=st.lists(ids, max_size=2).map(tuple),
    estimated_complexity=st.sampled_from(Complexity),
    writes=st.lists(st.builds(TargetPath, files), max_size=30).map(tuple),
    reads=st.lists(files, max_size=3).map(tuple),
    criteria=st.lists(st.integers(-1, 5), max_size=3).map(tuple),
)
lists = st.lists(texts, max_size=12).map(tuple)
words = st.sampled_from(["a report", "…", "x" * 2000, "a\nb"])
places = st.lists(st.sampled_from(["src/", "a.py", ".", "tests", "docs/x.md"]), max_size=3).map(tuple)
requests = st.builds(
    Request,
    title=st.just("Sort by date"),
    acceptance_criteria=st.lists(
        st.builds(
            AcceptanceCriterion,
            id=st.integers(1, 200).map("AC-{:02}".format),
            given=words,
            when=words,
            then=words,
        ),
        unique_by=lambda one: one.id,
        max_size=100,
    ).map(tuple),
    constraints=st.lists(words, max_size=50).map(tuple),
    test_instructions=st.dictionaries(
        st.sampled_from(["unit", "e2e", "load"]),
        st.sampled_from(["", "make test", ("make test", "make e2e"), ()]),
        max_size=3,
    ),
    allowed_paths=places,
    forbidden_paths=places,
)
plans = st.builds(
    PartsInput,
    instruction=texts,
    goal=st.none()
    | st.builds(GoalUnderstanding, main_objective=texts, success_criteria=lists, constraints=lists),
    subtasks=st.lists(subtasks, max_size=15).map(tuple),
    actions=st.none()
    | st.builds(
        ActionPlan,
        actions=st.lists(
            st.builds(PlannedAction, task_id=ids, file=files, expected_outcome=texts), max_size=5
        ).map(tuple),
    ),
    design=st.none()
    | st.builds(
        Design,
        acceptance_criteria=st.lists(st.builds(Criterion, texts, texts, texts), max_size=120).map(tuple),
        target_paths=st.lists(st.builds(TargetPath, files), max_size=250).map(tuple),
        test_commands=lists,
        assumptions=lists,
        out_of_scope=lists,
        open_points=lists,
        steps=st.lists(
            st.builds(
                DesignStep,
                title=texts,
                target_paths=st.lists(files, max_size=12).map(tuple),
                criteria=st.lists(st.integers(1, 10), max_size=3).map(tuple),
                test_commands=lists,
            ),
            max_size=10,
        ).map(tuple),
    ),
    project=st.builds(
        ProjectFacts,
        rules=lists,
        about=texts,
        test_commands=lists,
        found=st.lists(
            st.builds(FoundFile, path=files, kind=st.sampled_from(FileKind), tests=lists), max_size=3
        ).map(tuple),
    ),
    language=st.sampled_from(["en", "ja"]),
    request=st.none() | requests,
)


@pytest.mark.req("RN-1", "RN-2", "RN-16")
@settings(max_examples=60)
@given(
    planned=plans, lines=st.integers(1, 1000), files=st.integers(1, 20), steps=st.none() | st.integers(1, 200)
)
def test_whatever_it_makes_passes_the_check(planned: PartsInput, lines: int, files: int, steps: int | None):
    plan = made(planned, max_diff_lines=lines, max_files_changed=files, max_steps=steps)
    assert [step.step_id for step in plan.steps] == [f"S{n:02}" for n in range(1, len(plan.steps) + 1)]
    found = run_plan_problems(codec.parse_json(codec.canonical(plan), "it"))
    assert not {"AC_UNLINKED", "AC_TOO_FEW"} & {str(one.code) for one in found}
    if planned.request:
        asked = {one.id for one in planned.request.acceptance_criteria}
        assert asked <= {one.id for one in plan.context.acceptance_criteria}
        targets = [path for step in plan.steps for path in step.scope.target_paths]
        allowed = planned.request.allowed_paths
        assert not allowed or all(inside(path, allowed) for path in targets)


def test_a_thousand_files_stay_below_the_most_steps():
    many = tuple(task(str(n), *(f"m{n}/f{k}.py" for k in range(100))) for n in range(15))
    assert len(made(PartsInput("Many", subtasks=many), max_files_changed=1).steps) <= 99
