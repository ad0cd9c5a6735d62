"""The planning engine: with a model whose words are written down, and with the playbook."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from ringi.config.keys import Config, DecompositionLevel, PlanningStrategy
from ringi.config.rules import Value
from ringi.engine.document import DecompositionFailed, GoalUnderstanding, PlanningDocument, UnclearGoal
from ringi.engine.engine import EngineContext, Planned, PlanningEngine, RefusedPlan, Unclear, Undecomposed
from ringi.engine.levels import measure_of
from ringi.engine.plan_prompts import RULES, task_for
from ringi.errors import ModelUnreachable
from ringi.kernel import codec
from ringi.kernel.tokens import tokens as count
from ringi.models.prompt import Budget, LanguageModel
from ringi.models.turns import turns
from ringi.models.usage import Purpose
from ringi.project.context import Context, FileKind, FoundFile, Gathered, ProjectFacts
from ringi.sessions.playbook import Playbook
from tests.fakes.config import config_with
from tests.fakes.models import ScriptedModel
from tests.tables import each

SMALL = "add an install section to README.md"
LARGE = "word " * 600
FILES = ("README.md", "src/app.py", "tests/test_app.py", "CHANGELOG.md")


class Project:
    """A project of four files."""

    def snapshot(self) -> str:
        return "s1"

    def gather(
        self, request: str, *, tokens: int | None = None, limit: int | None = None, about: Sequence[str] = ()
    ) -> Gathered:
        del request, tokens, limit
        found = FoundFile(path="src/app.py", kind=FileKind.SOURCE, tests=("tests/test_app.py",))
        readme = FoundFile(path="README.md", kind=FileKind.DOC)
        facts = ProjectFacts(found=(found, readme), test_commands=("pytest -q",), changelog="CHANGELOG.md")
        return Gathered(Context((), 3, "src/app.py: main"), facts, "s1")

    def read(self, paths: Sequence[str], tokens: int) -> str:
        raise NotImplementedError

    def has(self, path: str, line: int = 0) -> bool:
        return path in FILES and not line


def task(number: int, **more: Any) -> dict[str, Any]:
    return {"id": f"task_{number}", "description": f"Do {number}", "required_tools": ["read"]} | more


GOAL = {"main_objective": "Say how it is installed", "success_criteria": ["It says how", "It is right"]}
TASKS = {
    "reasoning": "README first",
    "subtasks": [
        task(1, reads=["README.md"]),
        task(2, dependencies=["task_1"], writes=[{"path": "README.md"}], required_tools=["Patch "]),
    ],
}
ACTIONS = {"actions": [{"task_id": "task_2", "tool": "patch", "purpose": "Add it"}]}


def outline(**changes: Any) -> dict[str, Any]:
    whole = {"goal_understanding": GOAL, "task_decomposition": TASKS, "action_plan": ACTIONS}
    return whole | changes


def planning_with(**values: Value) -> Config:
    return config_with(**{f"planning.{name}": value for name, value in values.items()})


def engine_of(model: LanguageModel, **settings: Any) -> PlanningEngine:
    workspace = EngineContext(
        model=lambda: model,
        budget=Budget(10, 1000),
        config=planning_with(**settings),
        count=lambda text: len(text.split()),
        code=Project(),
    )
    return PlanningEngine(workspace)


def scripted(**words: Any) -> ScriptedModel:
    defaults = {"outline": outline(), "goal": GOAL, "subtasks": TASKS, "actions": ACTIONS}
    return ScriptedModel(**(defaults | words))


def answers(*said: Any) -> Any:
    rest = list(said)
    return lambda _prompt: rest.pop(0) if len(rest) > 1 else rest[0]


GATHERED = Project().gather("")


@pytest.mark.req("PP-2", "PP-5")
def test_a_small_task_is_one_call_that_fills_all_three():
    model = scripted()
    engine = engine_of(model)
    found = engine.plan(SMALL, GATHERED)
    assert isinstance(found, Planned)
    assert [prompt.purpose for prompt in model.asked] == [Purpose.OUTLINE]
    document = found.document
    assert document.goal_understanding
    assert document.goal_understanding.main_objective == "Say how it is installed"
    assert document.task_decomposition
    assert document.task_decomposition.reasoning == "README first"
    assert document.action_plan
    assert document.action_plan.execution_order == ("task_1", "task_2")
    assert [(one.task_id, one.tool, one.parallel_group) for one in document.action_plan.actions or ()] == [
        ("task_2", "patch", 2)
    ]
    assert document.task_decomposition.subtasks[1].required_tools == ("patch",)
    assert engine.spent[Purpose.OUTLINE].input_tokens == 100
    assert codec.decode_foreign(codec.pretty(document), PlanningDocument, "it") == document


@pytest.mark.req("PP-2", "PP-5", "PP-28")
def test_a_large_task_is_planned_document_by_document():
    model = scripted()
    assert isinstance(engine_of(model).plan(LARGE, GATHERED), Planned)
    assert [str(prompt.purpose) for prompt in model.asked] == ["goal", "subtasks", "actions"]
    assert "parent" in model.asked[1].task
    assert "10 to 15" in model.asked[1].task
    told = {material.name: material.text for prompt in model.asked for material in prompt.material}
    assert told["context"] == "src/app.py: main"
    assert "criterion 2: It is right" in told["goal"]
    assert "task_2: Do 2 (after task_1" in told["subtasks"]


@pytest.mark.req("PP-5")
@each(
    ("tokens", "settings", "expected"),
    [
        (100, {}, (DecompositionLevel.MINIMAL, 2, 5, False, True)),
        (101, {}, (DecompositionLevel.MODERATE, 5, 10, False, False)),
        (501, {}, (DecompositionLevel.DETAILED, 10, 15, True, False)),
        (501, {"max_subtasks": 8}, (DecompositionLevel.DETAILED, 8, 8, True, False)),
        (10, {"max_subtasks": 1}, (DecompositionLevel.MINIMAL, 1, 1, False, True)),
        (10, {"complexity_threshold.simple": 5}, (DecompositionLevel.MODERATE, 5, 10, False, False)),
        (501, {"strategy": PlanningStrategy.SIMPLE}, (DecompositionLevel.DETAILED, 10, 15, False, True)),
        (10, {"strategy": PlanningStrategy.HIERARCHICAL}, (DecompositionLevel.MINIMAL, 2, 5, True, True)),
        (10, {"auto_adjust_level": False}, (DecompositionLevel.MODERATE, 5, 10, False, False)),
        (
            10,
            {"auto_adjust_level": False, "decomposition_level": DecompositionLevel.DETAILED},
            (DecompositionLevel.DETAILED, 10, 15, True, False),
        ),
    ],
)
def test_levels(tokens: int, settings: dict[str, Any], expected: tuple[Any, ...]):
    found = measure_of(tokens, planning_with(**settings))
    assert (found.level, found.least, found.most, found.hierarchical, found.at_once) == expected


@pytest.mark.req("PP-23")
@each("strategy", PlanningStrategy)
@each("tokens", [1, 9999])
def test_rules_name_the_process_in_few_words(strategy: PlanningStrategy, tokens: int):
    measure = measure_of(tokens, planning_with(strategy=strategy))
    for purpose in (Purpose.OUTLINE, Purpose.GOAL, Purpose.SUBTASKS, Purpose.ACTIONS, Purpose.REPLAN):
        rules = f"{RULES}\n{task_for(purpose, measure, again=True)}"
        assert count(rules) <= 600, purpose
        assert "{" not in rules
        assert ("step by step" in rules) is (strategy is not PlanningStrategy.SIMPLE)
    rules = task_for(Purpose.OUTLINE, measure)
    for word in ("success criteria", "constraints", "dependencies", "expected outcome", "fallback_strategy"):
        assert word in rules


@pytest.mark.req("PP-23")
def test_all_calls_begin_alike_up_to_what_the_calls_before_them_made():
    model = scripted()
    engine_of(model).plan(LARGE, GATHERED)
    sent = ["\n".join(turn.text for turn in turns(prompt, None)) for prompt in model.asked]
    assert [prompt.purpose for prompt in model.asked] == [Purpose.GOAL, Purpose.SUBTASKS, Purpose.ACTIONS]
    end = next(at for at, letters in enumerate(zip(*sent, strict=False)) if len(set(letters)) > 1)
    assert all(part in sent[0][:end] for part in (RULES, "src/app.py: main", LARGE.strip(), "patch"))


@pytest.mark.req("PP-28")
def test_every_goal_is_kept():
    goal = GOAL | {"goals": ["Ship it", "Test it"], "reasoning": "two"}
    found = engine_of(scripted(outline=outline(goal_understanding=goal))).plan(SMALL, GATHERED)
    assert found.document.goal_understanding
    assert found.document.goal_understanding.goals == ("Ship it", "Test it")


@pytest.mark.req("PP-10")
def test_an_unclear_goal_is_an_outcome_with_a_provisional_plan():
    goal = GOAL | {"clarification_needed": ["Which readme?"]}
    model = scripted(outline=outline(goal_understanding=goal), goal=goal)
    for words in (SMALL, LARGE):
        found = engine_of(model).plan(words, GATHERED)
        assert isinstance(found, Unclear)
        assert found.error.clarification_needed == ("Which readme?",)
        assert found.document.action_plan
        assert found.document.error is found.error
    only = engine_of(model).understand_goal(SMALL, GATHERED)
    assert isinstance(only, UnclearGoal)


CYCLE = {"subtasks": [task(1, dependencies=["task_2"]), task(2, dependencies=["task_1"]), task(3)]}


@pytest.mark.req("PP-10")
@each(
    ("tasks", "problem"),
    [
        (CYCLE, "wait for each other: task_1 → task_2 → task_1"),
        ({"subtasks": []}, "no subtasks"),
        ({"subtasks": [task(n) for n in range(10_000)]}, "there are 10000 subtasks"),
        ({"subtasks": [task(1, dependencies=["ghost"])]}, "task_1 depends on ghost"),
        ({"subtasks": [task(1), task(1)]}, "several subtasks have the id task_1"),
    ],
)
def test_one_coarser_try_and_then_decomposition_failed(tasks: Any, problem: str):
    model = scripted(outline=outline(task_decomposition=tasks))
    found = engine_of(model).plan(SMALL, GATHERED)
    assert isinstance(found, Undecomposed)
    assert len(model.asked) == 2
    last = model.asked[1]
    assert problem in {material.name: material.text for material in last.material}["problems"]
    assert "coarser" in last.task
    assert isinstance(found.error.partial_plan, msgspec.Struct)
    assert found.error.partial_plan.alternative_approaches
    assert len(found.error.partial_plan.feasible_subtasks or ()) <= 15
    assert len(codec.canonical(found.document)) < 10_000


@pytest.mark.req("PP-10")
def test_the_coarser_try_may_succeed():
    model = scripted(outline=answers(outline(task_decomposition=CYCLE), outline()))
    assert isinstance(engine_of(model).plan(SMALL, GATHERED), Planned)


@pytest.mark.req("PP-10")
def test_what_cannot_be_done_is_told_apart():
    tasks = TASKS | {"infeasible_subtasks": ["Ship the parcel"], "alternative_approaches": ["Send a letter"]}
    model = scripted(outline=outline(task_decomposition=tasks))
    found = engine_of(model).plan(SMALL, GATHERED)
    assert isinstance(found, Undecomposed)
    assert len(model.asked) == 1
    partial = found.error.partial_plan
    assert partial
    assert [one.id for one in partial.feasible_subtasks or () if not isinstance(one, str)] == [
        "task_1",
        "task_2",
    ]
    assert partial.infeasible_subtasks == ("Ship the parcel",)
    assert partial.alternative_approaches == ("Send a letter",)


@pytest.mark.req("PP-16")
@each("tool", ["hammer", "re\u0430d", "delete"])
def test_bad_tools_are_asked_about_once_and_then_refused(tool: str):
    tasks = {"subtasks": [task(1, required_tools=[tool])]}
    model = scripted(outline=outline(task_decomposition=tasks))
    found = engine_of(model, **{"security.forbidden_tools": ("del*",)}).plan(SMALL, GATHERED)
    assert isinstance(found, RefusedPlan)
    assert len(model.asked) == 2
    assert [one.subject for one in found.findings] == [tool]


@pytest.mark.req("PP-2")
def test_every_path_exists_or_is_marked_new():
    writes = [{"path": "docs/new.md"}, {"path": "./README.md", "new": True}]
    tasks = {"subtasks": [task(1, reads=["ghost.py", "docs/new.md"], writes=writes)]}
    found = engine_of(scripted(outline=outline(task_decomposition=tasks))).plan(SMALL, GATHERED)
    assert isinstance(found, Planned)
    assert found.document.task_decomposition
    one = found.document.task_decomposition.subtasks[0]
    assert [(path.path, path.new) for path in one.writes or ()] == [
        ("docs/new.md", True),
        ("README.md", False),
    ]
    assert one.reads == ("docs/new.md",)
    assert [str(note) for note in found.notes] == [
        "docs/new.md does not exist; it is taken for a new file",
        "ghost.py does not exist; nothing is read there",
    ]


def test_strange_ids_are_replaced_and_actions_follow():
    tasks = {"subtasks": [task(1, id="\x1b[2J"), task(2, id="b b", dependencies=["\x1b[2J"])]}
    actions = {"actions": [{"task_id": "b b", "tool": "read", "purpose": "…"}]}
    found = engine_of(scripted(outline=outline(task_decomposition=tasks, action_plan=actions))).plan(SMALL)
    assert isinstance(found, Planned)
    assert found.document.action_plan
    assert found.document.action_plan.execution_order == ("task_1", "task_2")
    assert [one.task_id for one in found.document.action_plan.actions or ()] == ["task_2"]


@pytest.mark.req("PP-28")
def test_without_planning_the_request_is_the_only_step():
    model = scripted()
    found = engine_of(model, enabled=False).plan(SMALL, GATHERED)
    assert isinstance(found, Planned)
    assert model.asked == []
    assert found.order.tasks == ("task_1",)
    assert found.document.task_decomposition
    assert found.document.task_decomposition.subtasks[0].description == SMALL


def test_a_failing_model_raises_and_is_counted():
    engine = engine_of(scripted(outline=ModelUnreachable(model="m", why="down")))
    with pytest.raises(ModelUnreachable):
        engine.plan(SMALL, GATHERED)
    assert [call.purpose for call in engine.asked] == [Purpose.OUTLINE]


@pytest.mark.req("PP-2")
def test_the_operations_one_by_one():
    engine = engine_of(scripted())
    goal = engine.understand_goal(SMALL, GATHERED)
    assert isinstance(goal, GoalUnderstanding)
    tasks = engine.decompose_task(goal, ["read", "patch"], context=GATHERED)
    assert not isinstance(tasks, DecompositionFailed)
    plan = engine.generate_action_plan(tasks.subtasks, GATHERED)
    assert not isinstance(plan, DecompositionFailed)
    assert plan.execution_order == ("task_1", "task_2")
    failed = engine_of(scripted(subtasks=CYCLE)).decompose_task(goal, ["read"])
    assert isinstance(failed, DecompositionFailed)


@pytest.mark.req("PP-2", "PP-8", "PP-28")
def test_a_revision_changes_what_it_names_and_nothing_else():
    planned = engine_of(scripted()).plan(SMALL, GATHERED)
    change = {
        "type": "add_action",
        "before_task": "task_2",
        "description": "Ask",
        "tool": "read",
        "purpose": "…",
    }
    model = scripted(replan={"reason": "asked", "changes": [change]})
    found, revision = engine_of(model).revise_plan(planned.document, "Ask first", GATHERED)
    assert isinstance(found, Planned)
    assert revision.reason == "asked"
    assert found.order.tasks == ("task_1", "task_0", "task_2")
    tasks = found.document.task_decomposition
    assert tasks
    assert planned.document.task_decomposition
    assert tasks.subtasks[0] == planned.document.task_decomposition.subtasks[0]
    gone = {"reason": "no need", "changes": [{"type": "remove_action", "action_id": "task_1"}]}
    found, _ = engine_of(scripted(replan=gone)).revise_plan(found.document, "…", GATHERED)
    assert isinstance(found, Planned)
    assert found.order.tasks == ("task_0", "task_2")


# --- the playbook ------------------------------------------------------------------------------------------


@pytest.mark.req("PP-2", "PP-5")
@each("words", [SMALL, LARGE, "fix the crash in src/app.py", "READMEにインストール手順を追加"])
def test_the_playbook_plans_with_what_is_there(words: str):
    engine = engine_of(Playbook())
    found = engine.plan(words, GATHERED)
    assert isinstance(found, Planned)
    assert found.notes == ()
    assert found.document.task_decomposition
    assert 2 <= len(found.document.task_decomposition.subtasks) <= 10
    again = engine_of(Playbook()).plan(words, GATHERED)
    assert codec.canonical(again.document) == codec.canonical(found.document)


def test_the_playbook_changes_the_file_that_is_named():
    found = engine_of(Playbook()).plan(SMALL, GATHERED)
    assert found.document.task_decomposition
    tasks = found.document.task_decomposition.subtasks
    assert [one.path for task in tasks for one in task.writes or ()] == ["README.md"]
    assert found.document.action_plan
    assert (found.document.action_plan.actions or ())[-1].arguments == {"argv": ["pytest", "-q"]}


@pytest.mark.req("PP-28", "PP-10")
def test_the_playbook_finds_every_goal_and_says_if_there_is_none():
    found = engine_of(Playbook()).plan("Please:\n- add login\n- add logout\n", GATHERED)
    assert found.document.goal_understanding
    assert found.document.goal_understanding.goals == ("add login", "add logout")
    for words in ("", "?", "  12 "):
        assert isinstance(engine_of(Playbook()).plan(words, GATHERED), Unclear)


@each("most", [1, 2, 3, 4])
def test_the_playbook_keeps_the_limit(most: int):
    found = engine_of(Playbook(), max_subtasks=most).plan("fix the crash in src/app.py", GATHERED)
    assert isinstance(found, Planned)
    assert len(found.order.tasks) == most
    revised, _ = engine_of(Playbook()).revise_plan(found.document, "Name the cause", GATHERED)
    assert isinstance(revised, Planned)
    assert len(revised.order.tasks) == most + 1
