"""Revisions: as small as possible, checked, counted, never in a circle, and their history bounded."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from ringi.config.keys import RevisionConfig
from ringi.engine.document import (
    ActionPlan,
    AddAction,
    ModifyAction,
    PlannedAction,
    PlanningDocument,
    PlanRevision,
    Reflection,
    RemoveAction,
)
from ringi.engine.plan_checks import PlanRules
from ringi.engine.process import Process, Wait
from ringi.engine.revise import apply_revision, least
from ringi.kernel import codec
from ringi.runs.process.reflection import Suggestion
from ringi.runs.process.revisions import (
    CHANGED,
    EVERYTHING,
    LIMIT,
    LOOP,
    NO_WAY,
    NOTHING,
    REFUSED,
    Revised,
    Stuck,
    accept,
    difference,
    revise,
)
from tests.fakes.processes import RULES, action, plan, process
from tests.tables import each

THREE = plan(
    action("task_1", "read", arguments={"path": "a.py"}),
    action("task_2", "patch", fallback_strategy="use write"),
    action("task_3", "run", arguments={"argv": ["make"]}),
    after={"task_2": ("task_1",), "task_3": ("task_2",)},
)
ADD = AddAction(action=PlannedAction(tool="search", purpose="Look", before_task="task_2"))
DESCRIBE = ModifyAction(action_id="task_2", updates={"description": "Mend it"})


def suggestion(*changes: Any, human: bool = False, **parts: Any) -> Suggestion:
    kind = "human" if human else UNSET
    return Suggestion(
        Reflection(action_id="task_2_action_1", feedback_type=kind),
        PlanRevision(reason="because", changes=changes),
        **parts,
    )


def applied(
    at: Process, *changes: Any, rules: PlanRules = RULES, human: bool = False, **settings: Any
) -> Any:
    return revise(at, suggestion(*changes, human=human), RevisionConfig(**settings), rules, "now")


def require(found: Revised | Stuck) -> Process:
    assert isinstance(found, Revised), found
    return found.process


def described(words: str, task: str = "task_2") -> ModifyAction:
    return ModifyAction(action_id=task, updates={"description": words})


@pytest.mark.req("PP-8")
def test_the_three_types():
    after = require(applied(process(THREE), ADD, DESCRIBE, RemoveAction(action_id="task_3")))
    assert after.plan.action_plan
    assert after.plan.action_plan.execution_order == ("task_1", "task_0", "task_2")
    assert (after.revised, after.attempts, len(after.revisions)) == (1, 1, 1)
    kept = after.revisions[0]
    assert (kept.number, kept.at, kept.by) == (1, "now", "rules")
    assert kept.approved is None
    assert kept.before != kept.digest


@pytest.mark.req("PP-8")
def test_one_of_several_actions_is_named():
    several = replace(
        THREE,
        action_plan=ActionPlan(
            actions=(
                action("task_1", "read", file="a"),
                action("task_1", "read", file="b"),
                action("task_2", "patch"),
            )
        ),
    )
    second = ModifyAction(action_id="task_1_action_2", updates={"file": "c"})
    after = require(applied(process(several), second)).plan
    assert after.action_plan
    assert [one.file for one in after.action_plan.actions or ()] == ["a", "c", UNSET]
    gone = require(applied(process(several), RemoveAction(action_id="task_1_action_1"))).plan
    assert gone.action_plan
    assert [one.file for one in gone.action_plan.actions or ()] == ["b", UNSET]


@pytest.mark.req("PP-9")
@each(
    ("changes", "done", "reason"),
    [
        ((), (), NOTHING),
        (("only words",), (), NOTHING),
        ((RemoveAction(action_id="task_9"),), (), NOTHING),
        (
            (
                ModifyAction(
                    action_id="task_1", updates={"description": "Do task_1", "arguments": {"path": "a.py"}}
                ),
            ),
            (),
            NOTHING,
        ),
        ((ModifyAction(action_id="task_2", updates={"task_id": "task_1", "total": 3}),), (), NOTHING),
        (
            (ModifyAction(action_id="task_2", updates={"tool": 7, "arguments": "x", "writes": [1]}),),
            (),
            NOTHING,
        ),
        ((described("other", "task_1"), RemoveAction(action_id="task_1")), ("task_1",), NOTHING),
        ((AddAction(action=PlannedAction(task_id="task_1", tool="read")),), ("task_1",), NOTHING),
        (tuple(RemoveAction(action_id=f"task_{n}") for n in (1, 2, 3)), (), EVERYTHING),
        (tuple(RemoveAction(action_id=f"task_{n}") for n in (2, 3)), ("task_1",), EVERYTHING),
        ((*(RemoveAction(action_id=f"task_{n}") for n in (1, 2, 3)), ADD), (), EVERYTHING),
        ((ModifyAction(action_id="task_2", updates={"tool": "rm_all"}),), (), REFUSED),
        ((ModifyAction(action_id="task_2", updates={"tool": "p\u0430tch"}),), (), REFUSED),
        ((ModifyAction(action_id="task_3", updates={"arguments": {"argv": ["sudo", "make"]}}),), (), REFUSED),
        ((ModifyAction(action_id="task_1", updates={"file": "../../etc/passwd"}),), (), REFUSED),
        ((ModifyAction(action_id="task_2", updates={"fallback_strategy": "retry forever"}),), (), REFUSED),
        (
            (AddAction(action=PlannedAction(tool="read", extra={"writes": [{"path": ".git/config"}]})),),
            (),
            REFUSED,
        ),
    ],
)
def test_what_never_becomes_the_plan(changes: tuple[Any, ...], done: tuple[str, ...], reason: object):
    found = applied(process(THREE, done=done), *changes)
    assert isinstance(found, Stuck)
    assert found.reason == reason
    assert found.recommendations


def test_too_many_tasks_are_refused():
    many = [AddAction(action=PlannedAction(tool="read", purpose=f"Look {n}")) for n in range(20)]
    found = applied(process(THREE), *many)
    assert isinstance(found, Stuck)
    assert found.reason == REFUSED
    assert "subtasks" in found.recommendations[0]


def test_what_it_says_beside_its_changes_is_cut():
    other = ActionPlan(actions=(action("task_1", "run", arguments={"argv": ["true"]}),))
    more = suggestion()._replace(revision=PlanRevision(changes=(DESCRIBE,), updated_action_plan=other))
    found = revise(process(THREE), more, RevisionConfig(), RULES, "now")
    after = require(found)
    assert after.revisions[0].revision.updated_action_plan is UNSET
    assert after.plan == require(applied(process(THREE), DESCRIBE)).plan


@pytest.mark.req("PP-9")
def test_circles_are_noticed():
    at = require(applied(process(THREE), described("one way"), max_revisions=9))
    back = described("Do task_2")
    found = applied(at, back, max_revisions=9)
    assert isinstance(found, Stuck)
    assert found.reason == LOOP
    # A person may go back.
    assert isinstance(applied(at, back, human=True), Revised)


@pytest.mark.req("PP-9")
def test_the_same_changes_once_more_are_a_circle():
    at = require(applied(process(THREE), ADD, max_revisions=9))
    found = applied(at, ADD, max_revisions=9)
    assert isinstance(found, Stuck)
    assert found.reason == LOOP


@pytest.mark.req("PP-9")
def test_circles_are_noticed_behind_the_summaries():
    at = process(THREE)
    for number in range(8):
        at = require(applied(at, described(f"way {number}"), max_revisions=99, max_history_in_memory=1))
    for number in range(7):
        found = applied(at, described(f"way {number}"), max_revisions=99, max_history_in_memory=1)
        assert isinstance(found, Stuck)
        assert found.reason == LOOP


@pytest.mark.req("PP-9")
def test_a_person_renews_the_attempts_and_an_agent_does_not():
    at = process(THREE)
    for number in range(3):
        at = require(applied(at, described(f"way {number}")))
    found = applied(at, described("one more"))
    assert isinstance(found, Stuck)
    assert found.reason == LIMIT
    agent = Suggestion(
        Reflection(feedback_type="agent"), PlanRevision(changes=(described("as told"),)), by="bot"
    )
    assert isinstance(revise(at, agent, RevisionConfig(), RULES, ""), Stuck)
    at = require(applied(at, described("as told"), human=True))
    assert (at.revised, at.attempts) == (4, 0)
    assert isinstance(applied(at, described("one more")), Revised)


def test_without_a_revision():
    asks = Suggestion(Reflection(), None, recommendations=("Look",))
    assert revise(process(), asks, RevisionConfig(), RULES, "") == Stuck(NO_WAY, ("Look",))


# Approved, and only then applied.


def proposed() -> Process:
    at = process(THREE)
    found = applied(at, DESCRIBE)
    assert isinstance(found, Revised)
    return replace(at, proposed=found.record, waits=Wait.REVISION, waiting_since="then")


@pytest.mark.req("PP-20")
def test_an_approved_revision_is_applied():
    after = accept(proposed(), RevisionConfig())
    assert isinstance(after, Process)
    assert after.revisions[0].approved is True
    assert (after.waits, after.proposed, after.waiting_since) == (None, None, "")
    assert after.plan == require(applied(process(THREE), DESCRIBE)).plan


@pytest.mark.req("PP-20")
def test_another_plan_or_another_revision_is_not_the_approved_one():
    at = proposed()
    assert at.proposed
    moved = replace(at, plan=require(applied(at, described("else"))).plan)
    other = replace(at, proposed=replace(at.proposed, revision=PlanRevision(changes=(ADD,))))
    for changed in (moved, other, replace(at, proposed=None)):
        found = accept(changed, RevisionConfig())
        assert isinstance(found, Stuck)
        assert found.reason == CHANGED


# As a diff.


@pytest.mark.req("PP-8")
def test_difference():
    after = require(
        applied(
            process(THREE),
            ADD,
            ModifyAction(action_id="task_2", updates={"tool": "write", "fallback_strategy": "ask"}),
            RemoveAction(action_id="task_3"),
        )
    ).plan
    assert difference(THREE, after) == (
        "- task_2 patch: Do task_2",
        "- task_2   after: task_1",
        "- task_2   if it fails: use write",
        "- task_3 run: Do task_3",
        "- task_3   after: task_2",
        '- task_3   arguments: {"argv":["make"]}',
        "+ task_0 search: Look",
        "+ task_0   after: task_1",
        "+ task_2 write: Do task_2",
        "+ task_2   after: task_1, task_0",
        "+ task_2   if it fails: ask",
    )
    assert difference(THREE, THREE) == ()


# Whatever is suggested.

_TASKS = st.sampled_from(["task_0", "task_1", "task_2", "task_3", "task_4", "task_2_action_1", "", "task_9"])
_VALUES = st.one_of(st.none(), st.integers(), st.text(max_size=5), st.lists(st.text(max_size=3), max_size=2),
                    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2))  # fmt: skip
_FIELDS = st.sampled_from(
    ["tool", "description", "file", "arguments", "writes", "task_id", "dependencies", "parallel_group", "odd"]
)
_CHANGES = st.one_of(
    st.builds(
        lambda name, tool, before: AddAction(
            action=PlannedAction(task_id=name or UNSET, tool=tool, purpose="p", before_task=before)
        ),
        _TASKS,
        st.sampled_from(["read", "search", "rm"]),
        _TASKS,
    ),
    st.builds(
        lambda name, updates: ModifyAction(action_id=name, updates=updates),
        _TASKS,
        st.dictionaries(_FIELDS, _VALUES, max_size=3),
    ),
    st.builds(lambda name: RemoveAction(action_id=name), _TASKS),
    st.text(max_size=5),
)
_REVISIONS = st.lists(_CHANGES, max_size=4)
_DONE = st.sets(st.sampled_from(["task_1", "task_2", "task_3"]), max_size=2)


def named_in(revision: PlanRevision) -> set[str]:
    found: set[str] = set()
    for one in revision.changes or ():
        if isinstance(one, AddAction):
            found |= {one.action.task_id or "", one.action.before_task or ""}
        elif not isinstance(one, str):
            found.add(one.action_id.removesuffix("_action_1"))
    return found


def parts_of(found: PlanningDocument, *, order: bool) -> dict[str, Any]:
    tasks = found.task_decomposition.subtasks if found.task_decomposition else ()
    actions = (found.action_plan.actions or ()) if found.action_plan else ()
    return {
        task.id: (
            task if order else replace(task, dependencies=()),
            [
                replace(one, parallel_group=UNSET, can_parallelize=UNSET)
                for one in actions
                if one.task_id == task.id
            ],
        )
        for task in tasks
    }


@given(_REVISIONS, _DONE)
def test_a_revision_touches_only_what_it_names(changes: list[Any], done: set[str]):
    revision = PlanRevision(changes=tuple(changes))
    found = applied(process(THREE, done=tuple(done)), *changes)
    if isinstance(found, Stuck):
        return
    before, after = parts_of(THREE, order=False), parts_of(found.process.plan, order=False)
    for task in before.keys() - named_in(revision):
        assert after[task] == before[task]
    # What is done does not even wait for something else, unless what it waited for is gone.
    for task in done:
        assert after[task] == before[task]
    assert named_in(found.record.revision) - {""} <= named_in(revision)
    assert found.process.plan == apply_revision(THREE, found.record.revision)
    assert least(found.process.plan, PlanRevision(changes=()), ()) is None


@given(st.lists(st.tuples(_REVISIONS, st.booleans()), max_size=12), st.integers(0, 4), st.integers(0, 3),
       st.integers(0, 6), st.booleans())  # fmt: skip
def test_revisions_are_limited_and_their_history_is_bounded(
    rounds: list[tuple[list[Any], bool]], most: int, in_memory: int, on_disk: int, summarise: bool
):
    at, automatic = process(THREE), 0
    for number, (changes, human) in enumerate(rounds):
        unlike = described(f"way {number}", "task_1")
        found = applied(
            at,
            *changes,
            unlike,
            human=human,
            max_revisions=most,
            max_history_in_memory=in_memory,
            max_history_on_disk=on_disk,
            auto_summarize=summarise,
        )
        if isinstance(found, Stuck):
            continue
        automatic = 0 if human else automatic + 1
        at = found.process
        assert automatic <= most
        assert at.attempts == automatic
        assert len(at.revisions) <= max(1, in_memory, 0 if summarise else on_disk)
        assert len(at.revisions) + len(at.history) <= max(1, in_memory, on_disk)
        assert at.revised >= len(at.revisions) + len(at.history)
        assert codec.decode_own(codec.canonical(at), Process, "process") == at


@pytest.mark.req("PP-14")
def test_history():
    at = process(THREE)
    for number in range(60):
        at = require(applied(at, described(f"way {number}"), max_revisions=99))
    assert (at.revised, len(at.revisions), len(at.history)) == (60, 5, 45)
    assert [one.number for one in at.revisions] == [56, 57, 58, 59, 60]
    assert at.history[-1].startswith("55 rules ~task_2 ")
    assert at.history[0].startswith("11 ")
    whole = process(THREE)
    for number in range(60):
        whole = require(applied(whole, described(f"way {number}"), max_revisions=99, auto_summarize=False))
    assert (len(whole.revisions), whole.history) == (50, ())
