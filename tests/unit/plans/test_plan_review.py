"""A review, whatever it is shown on: what each act does, asks and refuses."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ringi.app.api import Workspace, open_workspace
from ringi.approvals.feedback import Side
from ringi.errors import NoSandbox
from ringi.kernel.process.capture import CommandResult
from ringi.kernel.text import Text
from ringi.ledger.event import Actor
from ringi.plans.check import add_checks
from ringi.plans.diff_view import Row, RowKind
from ringi.plans.document import PlanDocument, PlanState, PlanStatus
from ringi.plans.propose import set_specs
from ringi.plans.review_loop import ReviewAct, ReviewChoice, ReviewEnd
from ringi.plans.review_merge import NOTHING_LEFT
from ringi.plans.review_plan import PlanReview
from ringi.plans.review_view import heading_of
from ringi.plans.reviewed_plan import News, ReviewedPlan
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec
from ringi.tree.check_result import CheckResult
from tests.fakes.prompters import Answer, ScriptedPrompter, Step
from tests.helpers import Person, approve, create, delete, ledger_of, open_scratch, proposed, write

MANY = "\n".join(f"line {number}" for number in range(1, 41)) + "\n"
CHANGED = MANY.replace("line 3\n", "line three\n").replace("line 30\n", "line thirty\n")
LINE_3 = Row(RowKind.ADDED, hunk=1, old=3, new=3)
COMMENT = ReviewChoice(ReviewAct.COMMENT, 0, row=LINE_3)


class Checks:
    """Has run, unless it says why not."""

    def __init__(self, why_not: Text | None = None, runs: Callable[[], object] = lambda: None) -> None:
        self.why_not = why_not
        self.stopped = False
        self._runs = runs
        self.seconds = 0
        self.ended = True

    def wait(self) -> None:
        self._runs()

    def stop(self) -> None:
        self.stopped = True


class Sandboxed:
    """Says whether there is one; nothing runs here."""

    def __init__(self, sandboxed: bool | None) -> None:
        self._sandboxed = sandboxed

    def uses_sandbox(self) -> bool:
        if self._sandboxed is None:
            raise NoSandbox(why=Text("none"))
        return self._sandboxed

    def run(self, argv: object, folder: str, *, timeout_sec: float, sandboxed: bool) -> CommandResult:
        raise AssertionError((argv, folder, timeout_sec, sandboxed))


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with open_scratch(tmp_path, {"many.txt": MANY, "README.md": "# Sample\n", "data.bin": b"\0\1"}) as opened:
        yield opened


@pytest.fixture
def plan_id(workspace: Workspace) -> str:
    return proposed(workspace, write("many.txt", CHANGED), create("notes.txt", "new\n"))


class SandboxedChecks:
    """The review starts them by itself."""

    def __init__(self, sandboxed: bool | None) -> None:
        self._sandboxed = Sandboxed(sandboxed).uses_sandbox

    def uses_sandbox(self) -> bool:
        return self._sandboxed()

    def __call__(
        self, commands: object, files: object, phase: object, reviewer: int = 0
    ) -> tuple[CheckResult, ...]:
        raise AssertionError((commands, files, phase, reviewer))


class Sitting:
    """One review, from its first look to its end."""

    def __init__(
        self,
        workspace: Workspace,
        plan_id: str,
        *steps: Step,
        answers: tuple[Answer, ...] = (),
        checks: Checks | None = None,
        sandboxed: bool | None = True,
    ) -> None:
        self.plan = ReviewedPlan(workspace, plan_id)
        self.plan.workspace = workspace.replace(
            commands=Sandboxed(sandboxed), check=SandboxedChecks(sandboxed)
        )
        self.prompter = ScriptedPrompter(steps, answers)
        self.review = PlanReview(self.plan, self.prompter, lambda _: checks or Checks())

    def run(self) -> ReviewEnd:
        return self.review.run()

    @property
    def document(self) -> PlanDocument:
        return self.plan.tool.get(self.plan.plan_id)

    @property
    def state(self) -> PlanState:
        return self.document.state

    def content(self, spec: int = 0) -> str:
        return self.state.action_specs[spec].base.content or ""

    def heard(self, words: str) -> bool:
        return any(words in said for said in self.prompter.said)


def test_apply(workspace: Workspace, plan_id: str) -> None:
    sitting = Sitting(workspace, plan_id, ReviewAct.APPLY)
    assert sitting.run() is ReviewEnd.APPLY
    assert sitting.prompter.shown == 1
    assert sitting.prompter.asked == []
    assert sitting.state.status is PlanStatus.APPROVED


@pytest.fixture
def with_commit(repo: Path) -> Iterator[tuple[Workspace, str]]:
    with open_workspace(repo, environment=dict(os.environ), person=Person(), at_once=True) as opened:
        plan_id = proposed(opened, write("README.md", "more\n"))
        opened.plan.wish_commit(plan_id, "Say more\n\nIt was short.")
        yield opened, plan_id


def approved_message(workspace: Workspace, plan_id: str) -> str:
    [approval] = ledger_of(workspace).approvals.of(plan_id)
    return json.loads(approval.subject)["commit"]["message"]


@pytest.mark.req("PT-8")
@pytest.mark.parametrize(
    ("typed", "message"),
    [("Say more", "Say more\n\nIt was short."), (" Say much more ", "Say much more\n\nIt was short.")],
)
def test_the_commits_subject_is_shown_and_may_be_edited(
    with_commit: tuple[Workspace, str], typed: str, message: str
) -> None:
    workspace, plan_id = with_commit
    sitting = Sitting(workspace, plan_id, ReviewAct.APPLY, answers=(typed,))
    assert sitting.run() is ReviewEnd.APPLY
    assert sitting.heard("The commit's subject; Enter takes it as it is.")
    assert approved_message(workspace, plan_id) == message


@pytest.mark.req("PT-8")
@pytest.mark.parametrize("typed", [None, "  "])
def test_without_a_subject_nothing_is_approved(with_commit: tuple[Workspace, str], typed: str | None) -> None:
    workspace, plan_id = with_commit
    sitting = Sitting(workspace, plan_id, ReviewAct.APPLY, answers=(typed,))
    assert sitting.run() is ReviewEnd.LEFT
    assert sitting.heard("Nothing was approved.")
    assert sitting.state.approvals == ()
    assert sitting.state.commit
    assert sitting.state.commit.message == "Say more\n\nIt was short."


@pytest.mark.req("PT-8")
def test_a_subject_that_cannot_be_one(with_commit: tuple[Workspace, str]) -> None:
    workspace, plan_id = with_commit
    sitting = Sitting(workspace, plan_id, ReviewAct.APPLY, answers=("Ringi-Plan: another",))
    assert sitting.run() is ReviewEnd.LEFT
    assert sitting.heard("no_commit")
    assert sitting.state.approvals == ()


def wanted(question: Text) -> str:
    return str(question.details["wanted"])


@pytest.mark.req("PT-8")
def test_a_high_risk_is_typed(workspace: Workspace) -> None:
    plan_id = proposed(workspace, delete("README.md"))
    sitting = Sitting(workspace, plan_id, ReviewAct.APPLY, ReviewAct.APPLY, answers=("yes", None))
    assert sitting.run() is ReviewEnd.LEFT
    assert sitting.prompter.said.count("That was not it; nothing was approved.") == 2
    assert sitting.state.approvals == ()
    sitting = Sitting(workspace, plan_id, ReviewAct.APPLY, answers=(lambda asked: f" {wanted(asked)} ",))
    assert sitting.run() is ReviewEnd.APPLY
    [approval] = ledger_of(workspace).approvals.of(plan_id)
    assert sitting.heard(f"What you approve is sha256 {approval.digest}")
    assert sitting.state.status is PlanStatus.APPROVED


@pytest.mark.req("PT-8", "PT-16")
def test_a_failed_check_asks_once_more(workspace: Workspace, plan_id: str) -> None:
    add_checks(workspace, plan_id, [CheckResult("make test", 1, 0.1, "", "1 failed")])
    sitting = Sitting(workspace, plan_id, ReviewAct.APPLY, ReviewAct.APPLY, answers=("a", "y"))
    assert sitting.run() is ReviewEnd.APPLY
    assert sitting.prompter.asked == ["A check failed. Apply it all the same? [y/n]"] * 2
    assert sitting.prompter.said == ["Nothing was approved."]


def test_approve_with_a_note(workspace: Workspace, plan_id: str) -> None:
    sitting = Sitting(workspace, plan_id, ReviewAct.APPROVE, ReviewAct.APPROVE, answers=(" ", " as agreed "))
    assert sitting.run() is ReviewEnd.APPROVED
    assert sitting.prompter.said == ["Nothing was approved."]
    [approval] = ledger_of(workspace).approvals.of(plan_id)
    assert approval.note == "as agreed"
    sitting = Sitting(workspace, plan_id, ReviewAct.APPLY, ReviewAct.APPLY, answers=("n", "y"))
    assert sitting.run() is ReviewEnd.APPLY
    assert sitting.prompter.asked == ["p1 is approved already. Carry it out now? [y/n]"] * 2


@pytest.mark.req("PT-6")
def test_reject_needs_words(workspace: Workspace, plan_id: str) -> None:
    sitting = Sitting(workspace, plan_id, ReviewAct.REJECT, ReviewAct.REJECT, answers=(None, " not so "))
    assert sitting.run() is ReviewEnd.REJECTED
    assert sitting.heard("To reject it, say what should change")
    assert sitting.state.status is PlanStatus.PROPOSED
    assert [given.text for given in sitting.state.feedback] == ["not so"]


@pytest.mark.req("PT-8")
def test_drop_and_take_back(workspace: Workspace, plan_id: str) -> None:
    sitting = Sitting(
        workspace,
        plan_id,
        ReviewChoice(ReviewAct.DROP_HUNK, 0, 2),
        ReviewChoice(ReviewAct.DROP, 1),
        ReviewChoice(ReviewAct.DROP, 0),
        *[ReviewAct.TAKE_BACK] * 3,
    )
    assert sitting.run() is ReviewEnd.LEFT
    assert sitting.prompter.said == [
        "hunk 2 of many.txt dropped · still applies · low · version 2",
        "notes.txt dropped · still applies · low · version 3",
        "It is the only file; reject the plan instead.",
        "taken back: 1 file dropped · still applies · low · version 4",
        "taken back: 1 hunk dropped · still applies · low · version 5",
        "There is no change of yours to take back.",
    ]
    assert sitting.content() == CHANGED
    assert len(sitting.state.action_specs) == 2


def test_a_change_of_the_risk_is_said(workspace: Workspace) -> None:
    plan_id = proposed(workspace, delete("README.md"), create("notes.txt", "new\n"))
    sitting = Sitting(workspace, plan_id, ReviewChoice(ReviewAct.DROP, 0))
    sitting.run()
    assert sitting.prompter.said == ["README.md dropped · still applies · now low · version 2"]


@pytest.mark.req("PT-8")
def test_lines(workspace: Workspace, plan_id: str) -> None:
    removed = Row(RowKind.REMOVED, hunk=1, old=3, new=2, data=b"line 3")
    sitting = Sitting(
        workspace,
        plan_id,
        ReviewChoice(ReviewAct.EDIT_LINE, 0, row=LINE_3),
        ReviewChoice(ReviewAct.EDIT_LINE, 0, row=LINE_3),
        ReviewChoice(ReviewAct.EDIT_LINE, 0, row=Row(RowKind.KEPT, new=99)),
        ReviewChoice(ReviewAct.ADD_LINE, 0, row=LINE_3),
        ReviewChoice(ReviewAct.ADD_LINE, 0, row=LINE_3),
        ReviewChoice(ReviewAct.DELETE_LINE, 0, row=Row(RowKind.KEPT, old=1, new=1, data=b"line 1")),
        ReviewChoice(ReviewAct.DELETE_LINE, 0, row=removed),
        answers=("…!", "…", "and more", None),
    )
    assert sitting.run() is ReviewEnd.LEFT
    assert sitting.prompter.asked == ["Line 3:", "Line 3:", "A new line 4:", "A new line 4:"]
    assert sitting.heard("Nothing was changed.")
    assert sitting.heard("There is no line with that number.")
    assert sitting.content().startswith("line 2\nline three!\nline 3\nand more\nline 4\n")
    assert "line thirty" in sitting.content()


def test_what_has_no_lines_is_only_dropped(workspace: Workspace) -> None:
    plan_id = proposed(workspace, delete("README.md"), create("notes.txt", "new\n"))
    sitting = Sitting(
        workspace,
        plan_id,
        ReviewChoice(ReviewAct.EDIT_LINE, 0, row=LINE_3),
        ReviewChoice(ReviewAct.EDIT_FILE, 0),
    )
    sitting.run()
    assert sitting.prompter.said == ["It can only be dropped whole."] * 2


def test_the_whole_file(workspace: Workspace, plan_id: str) -> None:
    sitting = Sitting(workspace, plan_id, *[ReviewChoice(ReviewAct.EDIT_FILE, 0)] * 3)
    results = iter([(b"", 4), (CHANGED.encode(), 0), (CHANGED.replace("thirty", "30").encode(), 0)])
    sitting.prompter.edited = lambda _: next(results)
    sitting.run()
    assert sitting.prompter.said == [
        "The editor ended with exit code 4; nothing was changed.",
        "Nothing was changed.",
        "1 line edited · still applies · low · version 2",
    ]
    assert "line 30\n" in sitting.content()


def test_what_was_written_for_another_version_is_kept(workspace: Workspace, plan_id: str) -> None:
    sitting = Sitting(workspace, plan_id, ReviewChoice(ReviewAct.EDIT_FILE, 0))

    def edited(data: bytes) -> tuple[bytes, int]:
        workspace.plan.set_action_specs(plan_id, [write("many.txt", "other\n")])
        return data + b"mine\n", 0

    sitting.prompter.edited = edited
    sitting.run()
    assert sitting.prompter.said == ["not_taken"]
    assert sitting.prompter.shown == 2
    assert sitting.content() == "other\n"


@pytest.mark.req("PT-6")
def test_comments_are_on_lines_of_either_side(workspace: Workspace, plan_id: str) -> None:
    removed = Row(RowKind.REMOVED, hunk=2, old=30, new=29)
    sitting = Sitting(
        workspace,
        plan_id,
        ReviewChoice(ReviewAct.COMMENT, 0, row=LINE_3),
        ReviewChoice(ReviewAct.COMMENT, 0, row=removed),
        ReviewChoice(ReviewAct.COMMENT, 0, row=removed),
        answers=(" why? ", "keep it", "keep it all"),
    )
    sitting.run()
    said = [(one.line, one.side, one.text) for one in sitting.state.comments or ()]
    assert said == [(3, Side.NEW, "why?"), (30, Side.OLD, "keep it all")]
    assert sitting.prompter.said.count("Noted; it goes to the proposer with your answer.") == 3


def test_a_comment_on_a_line_that_was_renamed_away(workspace: Workspace) -> None:
    plan_id = proposed(workspace)
    patch = (
        "diff --git a/many.txt b/moved.txt\nsimilarity index 90%\nrename from many.txt\nrename to moved.txt\n"
        "--- a/many.txt\n+++ b/moved.txt\n@@ -1,2 +1,2 @@\n-line 1\n+line one\n line 2\n"
    )
    spec = ActionSpec(SpecKind.PATCH, "moved.txt", patch)
    assert workspace.plan.set_action_specs(plan_id, [spec]).ok
    removed = ReviewChoice(ReviewAct.COMMENT, 0, row=Row(RowKind.REMOVED, old=1, new=0))
    sitting = Sitting(workspace, plan_id, removed, answers=("hm",))
    sitting.run()
    assert sitting.prompter.asked == ["Your comment on many.txt:1"]


def test_a_plan_that_is_only_a_text(workspace: Workspace) -> None:
    plan_id = proposed(workspace)
    sitting = Sitting(workspace, plan_id)
    for act in (ReviewAct.DROP, ReviewAct.DROP_HUNK, ReviewAct.EDIT_LINE, ReviewAct.COMMENT):
        assert sitting.review.do(ReviewChoice(act, 0, row=LINE_3)) is None
    assert sitting.prompter.said == ["It is only a text; there is nothing to change in it."] * 4


@pytest.mark.req("PT-8")
def test_what_was_not_shown_is_not_approved(workspace: Workspace, plan_id: str) -> None:
    other = create("new.txt", "other\n")
    sitting = Sitting(
        workspace,
        plan_id,
        lambda: workspace.plan.set_action_specs(plan_id, [other]),
        ReviewAct.APPLY,
        ReviewAct.APPLY,
    )
    assert sitting.run() is ReviewEnd.APPLY
    assert sitting.prompter.said == ["plan_changed"]
    assert sitting.prompter.shown == 2


@pytest.mark.req("PT-8")
def test_what_changes_at_the_last_question_is_not_approved(workspace: Workspace) -> None:
    plan_id = proposed(workspace, delete("README.md"))

    def answer(question: Text) -> str:
        workspace.plan.set_action_specs(plan_id, [delete("many.txt")])
        return wanted(question)

    sitting = Sitting(workspace, plan_id, ReviewAct.APPLY, answers=(answer,))
    assert sitting.run() is ReviewEnd.LEFT
    assert sitting.state.approvals == ()
    assert sitting.prompter.shown == 2


def test_decided_elsewhere(workspace: Workspace, plan_id: str) -> None:
    sitting = Sitting(workspace, plan_id, lambda: workspace.plan.reject(plan_id, "no"), ReviewAct.APPLY)
    assert sitting.run() is ReviewEnd.ELSEWHERE
    assert sitting.state.approvals == ()


def test_taken_up_again(workspace: Workspace, plan_id: str) -> None:
    workspace.plan.reject(plan_id, "no")
    sitting = Sitting(workspace, plan_id, answers=("n",))
    assert sitting.run() is ReviewEnd.LEFT
    assert sitting.state.status is PlanStatus.PROPOSED
    sitting = Sitting(workspace, plan_id, ReviewAct.APPLY, answers=("y",))
    assert sitting.run() is ReviewEnd.APPLY
    assert sitting.prompter.asked == ["p1 is not open. Reopen it? [y/n]"]
    assert sitting.document.plan.version == 2


@pytest.mark.req("PT-12")
def test_files_that_changed_since(workspace: Workspace, plan_id: str) -> None:
    file = workspace.places.root / "many.txt"
    file.write_text("mine\n" + MANY)
    sitting = Sitting(workspace, plan_id, ReviewAct.APPLY)
    assert sitting.run() is ReviewEnd.APPLY
    assert sitting.heard("merged with your 1 line")
    assert sitting.state.merged_lines == 1
    assert sitting.document.plan.version == 2
    assert (sitting.document.state.action_specs[0].base.content or "").startswith("mine\nline 1\n")


@pytest.fixture
def both(workspace: Workspace, plan_id: str) -> str:
    """A plan that changes two lines, of which the person changed one meanwhile and wrote another."""
    mine = MANY.replace("line 3\n", "mine\n").replace("line 20\n", "line 20\nmore\n")
    (workspace.places.root / "many.txt").write_text(mine)
    return plan_id


@pytest.mark.parametrize(
    ("act", "lines", "reasons"),
    [
        (ReviewAct.TAKE_MINE, "mine\n", []),
        (ReviewAct.TAKE_THEIRS, "line three\n", [("your_lines", "1")]),
        (ReviewAct.TAKE_BOTH, "mine\nline three\n", []),
    ],
)
def test_a_conflict_is_decided(
    workspace: Workspace, both: str, act: ReviewAct, lines: str, reasons: list[tuple[str, str]]
) -> None:
    """Nothing happens before, and what the person wrote goes only if they say so."""
    sitting = Sitting(workspace, both, ReviewAct.APPLY, act, ReviewAct.APPLY)
    assert sitting.run() is ReviewEnd.APPLY
    assert sitting.prompter.said[:2] == ["You both changed many.txt:3. Decide it first."] * 2
    spec = sitting.state.action_specs[0]
    merged = CHANGED.replace("line three\n", lines).replace("line 20\n", "line 20\nmore\n")
    assert spec.base.content == merged
    assert [(one.code, one.subject) for one in spec.risk_reasons] == reasons
    assert spec.risk is (Risk.MEDIUM if reasons else Risk.LOW)
    assert sitting.document.plan.version == 2
    preview = workspace.plan.preview(both)
    assert preview.conflicts == ()
    assert preview.diffs[0].your_lines == ((3,) if reasons else ())


def test_a_conflict_of_one_line_is_edited_in_place(workspace: Workspace, both: str) -> None:
    sitting = Sitting(workspace, both, ReviewAct.EDIT_CONFLICT, answers=("… and three",))
    sitting.run()
    assert sitting.prompter.asked == ["Line 3:"]
    assert "mine and three\n" in sitting.content()


def test_a_longer_conflict_is_edited_in_the_editor(workspace: Workspace, plan_id: str) -> None:
    file = workspace.places.root / "many.txt"
    file.write_text(MANY.replace("line 3\n", "mine\nmine too\n"))
    sitting = Sitting(workspace, plan_id, ReviewAct.EDIT_CONFLICT, ReviewAct.EDIT_CONFLICT)
    seen = []

    def edited(data: bytes) -> tuple[bytes, int]:
        seen.append(data)
        return (data, 0) if len(seen) == 1 else (b"together\n", 0)

    sitting.prompter.edited = edited
    sitting.run()
    assert seen == [b"mine\nmine too\nline three\n"] * 2
    assert sitting.heard("Nothing was changed.")
    assert "line 2\ntogether\nline 4\n" in sitting.content()


def test_update_keeps_the_persons_lines_in_a_conflict(workspace: Workspace, both: str) -> None:
    sitting = Sitting(workspace, both, ReviewAct.TAKE_BACK, ReviewAct.APPLY)
    assert sitting.run() is ReviewEnd.APPLY
    assert sitting.heard("merged with your 2 lines; yours stays at many.txt:3")
    assert "mine\n" in sitting.content()


def test_while_a_conflict_is_open_nothing_else_changes_the_lines(workspace: Workspace, both: str) -> None:
    acts = [
        ReviewAct.APPROVE,
        ReviewAct.DROP_HUNK,
        ReviewAct.EDIT_FILE,
        ReviewChoice(ReviewAct.EDIT_LINE, row=LINE_3),
    ]
    sitting = Sitting(workspace, both, *acts)
    assert sitting.run() is ReviewEnd.LEFT
    assert sitting.prompter.said == ["You both changed many.txt:3. Decide it first."] * 5
    assert sitting.document.plan.version == 1
    assert sitting.plan.tool.conflicts(both)[0].line == 3


def test_what_is_decided_about_other_bytes_counts_no_more(workspace: Workspace, both: str) -> None:
    file = workspace.places.root / "many.txt"
    steps = [lambda: file.write_text(MANY.replace("line 3\n", "again\n")), ReviewAct.TAKE_THEIRS]
    sitting = Sitting(workspace, both, *steps, ReviewAct.APPLY, ReviewAct.TAKE_MINE)
    assert sitting.run() is ReviewEnd.LEFT
    assert sitting.heard("Your file changed meanwhile; look again.")
    assert "again\n" in sitting.content()


def test_a_decision_for_another_version_counts_no_more(workspace: Workspace, both: str) -> None:
    (workspace.places.root / "README.md").write_text("mine\n")

    def proposed_anew() -> None:
        specs = [write("many.txt", CHANGED.replace("three", "3")), write("README.md", "agent\n")]
        basis = {spec.base.path: spec.before for spec in sitting.plan.specs}
        set_specs(workspace, both, specs, basis=basis, actor=Actor.AI)

    sitting = Sitting(workspace, both, proposed_anew, ReviewAct.TAKE_THEIRS)
    sitting.run()
    assert sitting.prompter.said[-1] == "plan_changed"
    assert sitting.plan.decisions == {}


def test_if_everything_stays_the_persons_nothing_is_left_to_apply(workspace: Workspace) -> None:
    plan_id = proposed(workspace, write("README.md", "# Agent\n"))
    (workspace.places.root / "README.md").write_text("# Mine\n")
    sitting = Sitting(workspace, plan_id, ReviewAct.TAKE_MINE, ReviewAct.APPLY, ReviewAct.TAKE_THEIRS)
    sitting.run()
    assert sitting.prompter.said[1:3] == [str(NOTHING_LEFT)] * 2
    assert sitting.content() == "# Agent\n"
    assert sitting.document.plan.version == 2


def test_both_of_a_file_that_is_no_text_cannot_be_had(workspace: Workspace) -> None:
    plan_id = proposed(workspace, write("data.bin", "agent\n"))
    (workspace.places.root / "data.bin").write_bytes(b"\0mine")
    acts = [ReviewAct.TAKE_BOTH, ReviewAct.EDIT_CONFLICT, ReviewAct.TAKE_THEIRS]
    sitting = Sitting(workspace, plan_id, *acts)
    sitting.run()
    assert sitting.heard("It has no lines")
    assert sitting.heard("It has no lines")
    assert sitting.document.state.action_specs[0].risk is not Risk.LOW


def test_a_second_review_does_not_merge_twice(workspace: Workspace, plan_id: str) -> None:
    first, second = Sitting(workspace, plan_id), Sitting(workspace, plan_id, ReviewAct.APPLY)
    (workspace.places.root / "many.txt").write_text("mine\n" + MANY)
    first.run()
    assert second.run() is ReviewEnd.APPLY
    assert second.document.plan.version == 2


def test_a_file_that_changes_between_look_and_answer_is_merged_and_shown(
    workspace: Workspace, plan_id: str
) -> None:
    file = workspace.places.root / "many.txt"
    sitting = Sitting(workspace, plan_id, lambda: file.write_text("mine\n" + MANY), ReviewAct.APPLY)
    assert sitting.run() is ReviewEnd.LEFT
    assert sitting.prompter.said == ["merged with your 1 line"]
    assert sitting.state.approvals == ()


def test_what_was_carried_out_can_only_be_looked_at_and_undone(workspace: Workspace, plan_id: str) -> None:
    sitting = Sitting(workspace, plan_id, ReviewAct.UNDO)
    sitting.run()
    assert sitting.heard("It was not carried out")
    approve(workspace, plan_id)
    assert workspace.plan.execute(plan_id).overall_success
    steps = [ReviewAct.APPLY, ReviewAct.REJECT, ReviewAct.SHOW_INFO, ReviewAct.SHOW_AGAIN, ReviewAct.UNDO]
    sitting = Sitting(workspace, plan_id, *steps)
    assert sitting.run() is ReviewEnd.UNDO
    assert sitting.prompter.said == ["p1 was carried out already."] * 2 + ["info"]
    assert sitting.prompter.shown == 2


@pytest.mark.req("PT-15")
def test_what_changed_since_the_approval(workspace: Workspace, plan_id: str) -> None:
    sitting = Sitting(workspace, plan_id, ReviewAct.SHOW_DELTA, ReviewAct.APPROVE, answers=("fine",))
    sitting.run()
    sitting_again = Sitting(workspace, plan_id, ReviewAct.SHOW_DELTA, ReviewAct.QUIT)
    sitting_again.run()
    assert sitting.prompter.said == ["No version of it was approved before."]
    assert sitting_again.prompter.said == ["Nothing changed since version 1, which was approved."]
    sitting = Sitting(workspace, plan_id, ReviewChoice(ReviewAct.DROP, 1), ReviewAct.SHOW_DELTA)
    sitting.run()
    assert [one.path for one in sitting.prompter.deltas[0].differences] == ["notes.txt"]


def with_checks(workspace: Workspace, plan_id: str) -> None:
    add_checks(workspace, plan_id, [CheckResult("make test", 0, 0.1, "", "2 passed")])


@pytest.mark.req("PT-16")
def test_checks_run_again_after_a_change(workspace: Workspace, plan_id: str) -> None:
    with_checks(workspace, plan_id)
    results = [CheckResult("make test", 0, 0.1, "", "== 2 passed ==")]
    checks = Checks(runs=lambda: add_checks(workspace, plan_id, results))
    sitting = Sitting(workspace, plan_id, ReviewChoice(ReviewAct.DROP, 1), ReviewAct.APPLY, checks=checks)
    assert sitting.run() is ReviewEnd.APPLY
    assert sitting.prompter.said[-1] == "tests: exit code 0, == 2 passed =="


@pytest.mark.req("PT-16")
def test_a_check_in_doubt_is_not_said_to_have_passed(workspace: Workspace, plan_id: str) -> None:
    """Whichever check comes last: nobody reads the others in one line."""
    with_checks(workspace, plan_id)
    results = [
        CheckResult("make test", 0, 0.1, "", "2 passed", doubt="PYTHONPATH"),
        CheckResult("make lint", 0, 0.1, "", "1 passed"),
    ]
    checks = Checks(runs=lambda: add_checks(workspace, plan_id, results))
    sitting = Sitting(workspace, plan_id, ReviewChoice(ReviewAct.DROP, 1), checks=checks)
    sitting.run()
    assert "perhaps on other bytes: PYTHONPATH" in sitting.prompter.said[-1]
    said = heading_of(workspace.plan.ref(plan_id), workspace.plan.get(plan_id)).said
    assert "perhaps on other bytes: PYTHONPATH" in str(said[-1].text)


@pytest.mark.parametrize("sandboxed", [False, None])
def test_without_a_sandbox_no_check_runs(workspace: Workspace, plan_id: str, sandboxed: bool | None) -> None:
    with_checks(workspace, plan_id)
    sitting = Sitting(workspace, plan_id, ReviewChoice(ReviewAct.DROP, 1), sandboxed=sandboxed)
    sitting.run()
    assert sitting.prompter.said[-1] == "tests not run: no sandbox (ringi doctor)"


def test_why_no_check_could_run(workspace: Workspace, plan_id: str) -> None:
    with_checks(workspace, plan_id)
    sitting = Sitting(
        workspace, plan_id, ReviewChoice(ReviewAct.DROP, 1), checks=Checks(why_not=Text("the disk is full"))
    )
    sitting.run()
    assert sitting.prompter.said[-1] == "tests not run: the disk is full"


@pytest.mark.req("PT-8")
def test_whoever_does_not_wait_for_the_checks_decides_nothing(workspace: Workspace, plan_id: str) -> None:
    with_checks(workspace, plan_id)
    checks = Checks()
    acts = [ReviewAct.APPLY, ReviewAct.APPROVE, ReviewAct.STOP_CHECKS, ReviewAct.APPLY]
    sitting = Sitting(workspace, plan_id, ReviewChoice(ReviewAct.DROP, 1), *acts, checks=checks)
    sitting.prompter.waits_for_checks = False
    sitting.prompter.patience = [False, False]
    assert sitting.run() is ReviewEnd.APPLY
    assert checks.stopped
    assert sitting.prompter.patience == []
    assert sitting.prompter.asked == []
    sitting.prompter.checks_done()
    assert sitting.prompter.said[-1] == "the tests were stopped"


@pytest.mark.req("PT-8")
@pytest.mark.parametrize(
    ("code", "answers", "end"),
    [(0, (), ReviewEnd.APPLY), (1, ("n",), ReviewEnd.LEFT), (1, ("y",), ReviewEnd.APPLY)],
)
def test_an_answer_waits_for_the_checks(
    workspace: Workspace, plan_id: str, code: int, answers: tuple[str, ...], end: ReviewEnd
) -> None:
    with_checks(workspace, plan_id)
    results = [CheckResult("make test", code, 0.1, "", "")]
    checks = Checks(runs=lambda: add_checks(workspace, plan_id, results))
    steps = (ReviewChoice(ReviewAct.DROP, 1), ReviewAct.APPLY)
    sitting = Sitting(workspace, plan_id, *steps, answers=answers, checks=checks)
    sitting.prompter.waits_for_checks = False
    assert sitting.run() is end
    asked = ["A check failed. Apply it all the same? [y/n]"] if code else []
    assert sitting.prompter.asked == asked


def test_checks_that_could_not_run_are_no_answer(workspace: Workspace, plan_id: str) -> None:
    with_checks(workspace, plan_id)
    checks = Checks(why_not=Text("the disk is full"))
    sitting = Sitting(workspace, plan_id, ReviewChoice(ReviewAct.DROP, 1), ReviewAct.APPLY, checks=checks)
    sitting.prompter.waits_for_checks = False
    assert sitting.run() is ReviewEnd.LEFT
    assert sitting.prompter.said[-1] == "tests not run: the disk is full"


def test_the_checks_end_with_the_review(workspace: Workspace, plan_id: str) -> None:
    with_checks(workspace, plan_id)
    checks = Checks()
    sitting = Sitting(workspace, plan_id, ReviewChoice(ReviewAct.DROP, 1), checks=checks)
    sitting.prompter.waits_for_checks = False
    assert sitting.run() is ReviewEnd.LEFT
    assert checks.stopped


def test_an_interrupt_stops_the_checks_only(workspace: Workspace, plan_id: str) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with_checks(workspace, plan_id)
    checks = Checks(runs=interrupt)
    sitting = Sitting(workspace, plan_id, ReviewChoice(ReviewAct.DROP, 1), ReviewAct.APPLY, checks=checks)
    assert sitting.run() is ReviewEnd.APPLY
    assert checks.stopped
    assert sitting.heard("the tests were stopped")


@pytest.mark.req("PT-8")
def test_what_came_while_the_checks_ran_is_shown_first(workspace: Workspace, plan_id: str) -> None:
    with_checks(workspace, plan_id)
    checks = Checks(runs=lambda: workspace.plan.set_action_specs(plan_id, [create("new.txt", "evil\n")]))
    sitting = Sitting(workspace, plan_id, ReviewChoice(ReviewAct.DROP, 1), checks=checks)
    sitting.run()
    assert sitting.prompter.said[-1] == "plan_changed"
    assert sitting.prompter.shown == 3
    assert sitting.plan.specs[0].base.path == "new.txt"


@pytest.mark.req("PT-8")
@pytest.mark.parametrize(
    "act", [ReviewAct.APPROVE, ReviewAct.REJECT, ReviewChoice(ReviewAct.COMMENT, 0, row=LINE_3)]
)
def test_the_end_of_input_is_no_answer(workspace: Workspace, plan_id: str, act: Step) -> None:
    sitting = Sitting(workspace, plan_id, act)
    assert sitting.run() is ReviewEnd.LEFT
    state = sitting.state
    assert (state.status, state.approvals, state.feedback) == (PlanStatus.PENDING_REVIEW, (), ())
    assert not state.comments


def test_an_interrupt_is_no_answer(workspace: Workspace, plan_id: str) -> None:
    assert Sitting(workspace, plan_id, ReviewAct.INTERRUPT).run() is ReviewEnd.INTERRUPTED


def test_a_change_elsewhere_is_told_once(workspace: Workspace, plan_id: str) -> None:
    plan = ReviewedPlan(workspace, plan_id)
    news = News(plan)
    assert news.look() is None
    workspace.plan.set_action_specs(plan_id, [create("new.txt", "new\n")])
    told = news.look()
    assert told is not None
    assert str(told.text) == "The plan was changed: version 2. [s] shows it."
    assert news.look() is None
    workspace.plan.reject(plan_id, "no")
    told = news.look()
    assert told is not None
    assert str(told.text) == "p1 was decided elsewhere: proposed"
    plan.look()
    assert news.look() is None


def test_a_comment_by_somebody_else_is_no_other_plan(workspace: Workspace, plan_id: str) -> None:
    plan = ReviewedPlan(workspace, plan_id)
    workspace.plan.comment(plan_id, "many.txt", 3, "hm")
    assert News(plan).look() is None
    assert plan.document.state.comments
    assert plan.sections()[0].count > ReviewedPlan(workspace, proposed(workspace)).sections()[0].count
