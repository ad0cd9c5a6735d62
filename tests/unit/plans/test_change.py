"""Change plans: each rule when one is made, and again when it is used."""

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from ringi.app.api import Workspace
from ringi.approvals.document import TypedAnswer
from ringi.errors import (
    BadPatch,
    BinaryPatch,
    ChangeFixed,
    ChangeRefused,
    InvalidSpecs,
    NoBasis,
    NoDiagnostics,
    NoDiff,
    NoSuchForm,
    NotAnEdit,
    NotApproved,
    PartialChange,
    PatchMismatch,
    PathMismatch,
    PathRefused,
    PlanChanged,
    RiskMismatch,
    ScopeMismatch,
    StateIncomplete,
    Superseded,
    UnknownDiagnostic,
    WrongAnswer,
)
from ringi.ledger.event import NewEvent
from ringi.plans import capture as project
from ringi.plans import export
from ringi.plans import from_patch as patches
from ringi.plans.change import ChangeDraft, propose_change
from ringi.plans.change_plan import (
    ChangeApproval,
    DiagnosticRef,
    FileDiff,
    PlanBasis,
    PlanExplanation,
    Trigger,
)
from ringi.plans.document import PlanDocument, PlanStatus, change_plan_of, with_state
from ringi.plans.propose import keep_specs
from ringi.plans.tool import PlanTool
from ringi.plans.view import PlanFacts, plan_lines
from ringi.policy.risk_level import Risk, RiskCode
from ringi.policy.spec_kind import SpecKind
from ringi.project.state import Diagnostic, EditorState
from ringi.tree.action_spec import ActionSpec, SpecSelection
from tests.fakes.world import with_most_bytes
from tests.helpers import (
    answer,
    approve,
    assert_whole,
    kinds,
    ledger_of,
    open_scratch,
    proposed,
    undo,
    untouched,
    write,
)

FILES = {
    "pkg/__init__.py": "",
    "pkg/base.py": "def base():\n    return 1\n",
    "pkg/middle.py": "from pkg.base import base\n\n\ndef middle():\n    return base()\n",
    "tests/test_middle.py": "from pkg.middle import middle\n\n\ndef test():\n    assert middle() == 1\n",
    "pyproject.toml": '[project]\nname = "pkg"\n',
    "data/app.sqlite3": "not really\n",
    "latin.txt": "caf\xe9\n".encode("latin-1"),
    "run.sh": "#!/bin/sh\necho hello\n",
}
ASKED = PlanBasis(Trigger.USER_REQUEST, ())
TOKEN = "ghp_" + "NqVwYS81VP7Hb1DX8pPd5khxE3pyIgKpaUnA"
BASE_DIFF = """\
diff --git a/pkg/base.py b/pkg/base.py
--- a/pkg/base.py
+++ b/pkg/base.py
@@ -1,2 +1,2 @@
 def base():
-    return 1
+    return 2
"""


@pytest.fixture
def ws(tmp_path: Path):
    with open_scratch(tmp_path, FILES) as workspace:
        yield workspace


def patch_of(workspace: Workspace, **contents: str | bytes | None) -> bytes:
    files = {name: data.encode() if isinstance(data, str) else data for name, data in contents.items()}
    return patches.patch_of(patches.changes_of_contents(workspace, files))


def make(
    workspace: Workspace, diffs: Sequence[FileDiff] | bytes, basis: PlanBasis = ASKED, title: str = "Change"
) -> str:
    if isinstance(diffs, bytes):
        diffs = patches.file_diffs(diffs)
    return patches.propose_change(workspace, ChangeDraft(title, diffs, basis, PlanExplanation("why", "more")))


def facts_of(document: PlanDocument):
    assert document.change
    return document.change


@pytest.mark.req("CP-1", "CP-3", "CP-5", "CP-6", "CP-8")
def test_a_change_plan_has_every_field(ws):
    plan_id = make(ws, [FileDiff("pkg/base.py", BASE_DIFF)])
    view = export.as_change_plan(ws, plan_id)
    assert view.version == "1.0"
    assert view.plan_id == plan_id
    assert view.created_at > 1_700_000_000_000
    assert view.basis == ASKED
    assert view.scope.target_files == ("pkg/base.py",)
    assert view.scope.affected_files == ("pkg/middle.py", "tests/test_middle.py")
    assert [(diff.file, diff.diff) for diff in view.changes] == [("pkg/base.py", BASE_DIFF)]
    assert view.validations.project_state_complete is True
    assert view.validations.no_conflict_files == ("pkg/base.py",)
    assert (view.risk.level, view.risk.reasons) == (Risk.LOW, ())
    assert view.explanation == PlanExplanation("why", "more")
    assert view.approval.status is ChangeApproval.PENDING
    written = ws.places.root / ".agent/logs/plans" / plan_id / "change-plan.json"
    assert msgspec.json.decode(written.read_bytes(), type=type(view)) == view
    assert_whole(ws)


@pytest.mark.req("CP-8", "CP-4")
def test_it_is_approved_carried_out_and_undone(ws):
    plan_id = make(ws, [FileDiff("pkg/base.py", BASE_DIFF)])
    with untouched(ws.places.root), pytest.raises(NotApproved):
        ws.plan.execute(plan_id)
    approve(ws, plan_id)
    view = export.as_change_plan(ws, plan_id)
    assert view.approval.status is ChangeApproval.APPROVED
    assert view.approval.decided_by == "user"
    before = (ws.places.root / "pkg/base.py").read_bytes()
    assert ws.plan.execute(plan_id).overall_success
    assert (ws.places.root / "pkg/base.py").read_text() == "def base():\n    return 2\n"
    undo(ws, plan_id)
    assert (ws.places.root / "pkg/base.py").read_bytes() == before
    assert_whole(ws)


@pytest.mark.req("CP-3", "CP-4")
def test_a_rename_is_a_deletion_and_a_new_file(ws):
    patch = b"""\
diff --git a/pkg/base.py b/pkg/bottom.py
similarity index 50%
rename from pkg/base.py
rename to pkg/bottom.py
--- a/pkg/base.py
+++ b/pkg/bottom.py
@@ -1,2 +1,2 @@
 def base():
-    return 1
+    return 3
"""
    plan_id = make(ws, patch)
    view = export.as_change_plan(ws, plan_id)
    assert view.scope.target_files == ("pkg/base.py", "pkg/bottom.py")
    assert view.scope.target_files == tuple(diff.file for diff in view.changes)
    assert ["deleted file mode" in diff.diff for diff in view.changes] == [True, False]
    assert "rename" not in str(view.changes)
    assert view.scope.affected_files == ("pkg/middle.py", "tests/test_middle.py")
    approve(ws, plan_id)
    assert ws.plan.execute(plan_id).overall_success
    assert not (ws.places.root / "pkg/base.py").exists()
    assert (ws.places.root / "pkg/bottom.py").read_text().endswith("return 3\n")
    undo(ws, plan_id)
    assert (ws.places.root / "pkg/base.py").read_text() == FILES["pkg/base.py"]
    assert not (ws.places.root / "pkg/bottom.py").exists()


@pytest.mark.req("CP-3", "CP-4")
def test_a_copy_is_a_new_file(ws):
    patch = b"""\
diff --git a/pkg/base.py b/pkg/other.py
similarity index 100%
copy from pkg/base.py
copy to pkg/other.py
"""
    view = export.as_change_plan(ws, make(ws, patch))
    assert view.scope.target_files == tuple(diff.file for diff in view.changes) == ("pkg/other.py",)
    assert "new file mode 100644" in view.changes[0].diff


@pytest.mark.req("CP-2")
@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("pkg/base.py", 2, "it is raining"),
        ("pkg/base.py", 1, "returns the wrong number"),
        ("pkg/middle.py", 2, "returns the wrong number"),
    ],
)
def test_an_error_that_nothing_reports_is_no_basis(ws, file, line, message):
    project.capture(ws, editor=EditorState(editor="vi", diagnostics=(REPORTED,)))
    with pytest.raises(UnknownDiagnostic):
        make(ws, BASE_DIFF.encode(), PlanBasis(Trigger.ERROR, (DiagnosticRef(file, message, line),)))
    assert ws.plan.list() == []


REPORTED = Diagnostic("pkg/base.py", "returns the  wrong number", 2, code="X1")


@pytest.mark.req("CP-2", "CP-10")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (2, "returns the wrong number"),
        (None, "returns the wrong number"),
        (2, "X1 returns the wrong number"),
        (2, "X1: returns the wrong number"),
        (2, "returns the wrong number [X1]"),
    ],
)
def test_an_error_that_is_in_the_project_state_is_a_basis(ws, line, message):
    project.capture(ws, editor=EditorState(editor="vi", diagnostics=(REPORTED,)))
    basis = PlanBasis(Trigger.ERROR, (DiagnosticRef("pkg/base.py", message, line),))
    assert facts_of(ws.plan.get(make(ws, BASE_DIFF.encode(), basis))).basis == basis


@pytest.mark.req("CP-6")
@pytest.mark.parametrize(
    ("contents", "level", "reason"),
    [
        ({"pyproject.toml": "x\n"}, Risk.HIGH, "pyproject.toml is a build or deploy file"),
        ({"data/app.sqlite3": "x\n"}, Risk.MEDIUM, "data/app.sqlite3 is a database or a file of state"),
        ({f"new{n}.txt": "x\n" for n in range(5)}, Risk.LOW, None),
        ({f"new{n}.txt": "x\n" for n in range(6)}, Risk.MEDIUM, "6 files change"),
        ({f"new{n}.txt": "x\n" for n in range(20)}, Risk.MEDIUM, "20 files change"),
        ({f"new{n}.txt": "x\n" for n in range(21)}, Risk.HIGH, "21 files change"),
    ],
)
def test_risk_from_the_three_criteria_only(ws, contents, level, reason):
    view = export.as_change_plan(ws, make(ws, patch_of(ws, **contents)))
    assert view.risk.level is level
    assert view.risk.reasons == ((reason,) if reason else ())


UNREAD = {
    "lib/a.rb": "puts 1\n",
    "lib/b.rb": "require_relative 'a'\n",
    "odd.py": "def (:\n",
    "notes.txt": "a\n",
}
COUNTED = "files that could not be analysed and may depend on it: 1"


@pytest.mark.req("CP-3", "CP-6", "CP-10")
@pytest.mark.parametrize(
    ("path", "unknown"),
    [("lib/a.rb", "lib/b.rb"), ("pkg/base.py", "odd.py"), ("notes.txt", "odd.py"), ("odd.py", None)],
)
def test_files_that_cannot_be_analysed_make_the_affected_ones_incomplete(tmp_path, path, unknown):
    with open_scratch(tmp_path, FILES | UNREAD) as ws:
        plan_id = make(ws, patch_of(ws, **{path: "x = 1\n"}))
        facts = facts_of(ws.plan.get(plan_id))
        preview = ws.plan.preview(plan_id)
        facts_shown = PlanFacts(ledger_of(ws).plans.ref(plan_id), ws.plan.get(plan_id), preview)
        page = "\n".join(str(span.text) for line in plan_lines(facts_shown) for span in line.spans)
        assert facts.risk.level is Risk.LOW
        if unknown is None:
            assert facts.unknown_users is msgspec.UNSET
            assert facts.risk.reasons == ()
            assert "no other file depends on it" in page
            return
        assert (facts.unknown_users.count, facts.unknown_users.first) == (1, unknown)
        assert facts.risk.reasons == (COUNTED,)
        assert COUNTED in export.as_change_plan(ws, plan_id).risk.reasons
        assert "no other file depends on it" not in page
        assert "not complete: 1 file could not be analysed" in page
        approve(ws, plan_id)
        assert ws.plan.execute(plan_id).overall_success


@pytest.mark.req("CP-6", "CP-3")
def test_what_is_not_known_cannot_be_taken_out_of_the_risk(tmp_path):
    with open_scratch(tmp_path, FILES | UNREAD) as ws:
        plan_id = make(ws, BASE_DIFF.encode())
        rewritten(ws, plan_id, unknown_users=msgspec.UNSET)
        with pytest.raises(RiskMismatch):
            ws.plan.ask(plan_id)


@pytest.mark.req("CP-6", "PT-7")
def test_a_secret_raises_the_spec_and_not_the_change_plan(ws):
    plan_id = make(ws, patch_of(ws, **{"pkg/base.py": f'TOKEN = "{TOKEN}"\n'}))
    document = ws.plan.get(plan_id)
    assert facts_of(document).risk.level is Risk.LOW
    assert document.state.action_specs[0].risk is Risk.HIGH
    assert ledger_of(ws).plans.ref(plan_id).risk is Risk.HIGH
    assert TOKEN not in str(document.state.action_specs[0].risk_reasons)


BINARY = (
    b"diff --git a/x.png b/x.png\nnew file mode 100644\nindex 0000000..1\n"
    b"Binary files /dev/null and b/x.png differ\n"
)
MODE_ONLY = b"diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
ERROR = PlanBasis(Trigger.ERROR, ())
TWO_FILES = BASE_DIFF + BASE_DIFF.replace("base.py", "b.py")
ELSEWHERE = BASE_DIFF.replace("return 1", "return 7")
LATIN = {"latin.txt": "th\xe9\n".encode("latin-1")}


def about(file: str, diff: str) -> list[FileDiff]:
    return [FileDiff(file, diff)]


WRONG = [
    ("no basis", NoBasis, lambda ws: make(ws, BASE_DIFF.encode(), PlanBasis("whim", ()))),
    ("an error without diagnostics", NoDiagnostics, lambda ws: make(ws, BASE_DIFF.encode(), ERROR)),
    (
        "a diagnostic of no file",
        ChangeRefused,
        lambda ws: make(ws, BASE_DIFF.encode(), PlanBasis(Trigger.ERROR, (DiagnosticRef("no.py", "bad"),))),
    ),
    ("no diff at all", NoDiff, lambda ws: make(ws, [])),
    ("an empty diff", NoDiff, lambda ws: make(ws, about("pkg/base.py", ""))),
    ("another path in the diff", PathMismatch, lambda ws: make(ws, about("pkg/middle.py", BASE_DIFF))),
    ("two files in one diff", PathMismatch, lambda ws: make(ws, about("pkg/base.py", TWO_FILES))),
    ("the same file twice", ChangeRefused, lambda ws: make(ws, about("pkg/base.py", BASE_DIFF) * 2)),
    ("a diff that does not apply", PatchMismatch, lambda ws: make(ws, about("pkg/base.py", ELSEWHERE))),
    ("no diff but words", BadPatch, lambda ws: make(ws, about("pkg/base.py", "please change it"))),
    ("outside", PathRefused, lambda ws: make(ws, about("../x", BASE_DIFF))),
    ("binary", BinaryPatch, lambda ws: make(ws, BINARY)),
    ("permission bits", NotAnEdit, lambda ws: make(ws, MODE_ONLY)),
    ("not UTF-8", NotAnEdit, lambda ws: make(ws, patch_of(ws, **LATIN))),
    ("not UTF-8 and deleted", NotAnEdit, lambda ws: make(ws, patch_of(ws, **{"latin.txt": None}))),
]


@pytest.mark.req("CP-2", "CP-3", "CP-4", "CP-5")
@pytest.mark.parametrize(("kind", "doing"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_refused_when_made_and_nothing_is_kept(ws, kind, doing):
    with pytest.raises(kind):
        doing(ws)
    assert ws.plan.list() == []


@pytest.mark.req("CP-2", "CP-3", "CP-4", "CP-5", "CP-6", "CP-9")
def test_each_rule_has_its_own_code():
    kinds_of_refusal = [
        NoBasis, NoDiagnostics, UnknownDiagnostic, NoDiff, PathMismatch, NotAnEdit, StateIncomplete,
        ScopeMismatch, RiskMismatch, PartialChange, Superseded, PatchMismatch, BadPatch, BinaryPatch,
    ]  # fmt: skip
    assert len({kind.code for kind in kinds_of_refusal}) == len(kinds_of_refusal)


@pytest.mark.req("CP-5")
def test_an_incomplete_project_state_bears_no_change_plan(ws):
    (ws.places.root / ".agent/config.yaml").write_text("diagnostics:\n  commands: ['echo a.py:1: x']\n")
    ws.close()
    with open_scratch(ws.places.root.parent, FILES) as again:
        with pytest.raises(StateIncomplete):
            make(again, BASE_DIFF.encode())
        assert again.plan.list() == []


def rewritten(ws, plan_id: str, **changes: object) -> None:
    """As somebody would who can write the ledger."""
    with ledger_of(ws).transaction() as transaction:
        stored = transaction.plans.get(plan_id)
        document = msgspec.structs.replace(
            stored.document, change=msgspec.structs.replace(facts_of(stored.document), **changes)
        )
        transaction.plans.save(stored, document, NewEvent("checked", "system"))


@pytest.mark.req("CP-2", "CP-3", "CP-6", "CP-9")
@pytest.mark.parametrize(
    ("kind", "edit"),
    [
        (NoDiagnostics, lambda facts: {"basis": PlanBasis(Trigger.ERROR, ())}),
        (ScopeMismatch, lambda facts: {"scope": msgspec.structs.replace(facts.scope, target_files=("a",))}),
        (RiskMismatch, lambda facts: {"risk": msgspec.structs.replace(facts.risk, level=Risk.MEDIUM)}),
        (Superseded, lambda facts: {"snapshot_id": "0" * 64}),
    ],
)
def test_the_rules_hold_again_at_use(ws, kind, edit):
    plan_id = make(ws, BASE_DIFF.encode())
    approve(ws, plan_id)
    rewritten(ws, plan_id, **edit(facts_of(ws.plan.get(plan_id))))
    # The snapshot is part of what was approved.
    with untouched(ws.places.root), pytest.raises(NotApproved if kind is Superseded else kind):
        ws.plan.execute(plan_id)
    plan_id = make(ws, BASE_DIFF.encode())
    rewritten(ws, plan_id, **edit(facts_of(ws.plan.get(plan_id))))
    with pytest.raises(kind):
        ws.plan.ask(plan_id)


@pytest.mark.req("CP-3", "CP-4")
@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (PathMismatch, {"content": BASE_DIFF.replace("base.py", "middle.py")}),
        (NoDiff, {"content": ""}),
        (NotAnEdit, {"mode": "0755"}),
        (ScopeMismatch, {"kind": SpecKind.WRITE}),
        (ScopeMismatch, {"group": "other"}),
    ],
)
def test_its_diffs_are_looked_at_again_at_use(ws, kind, changes):
    plan_id = make(ws, BASE_DIFF.encode())
    with ledger_of(ws).transaction() as transaction:
        stored = transaction.plans.get(plan_id)
        [spec] = stored.document.state.action_specs
        spec = msgspec.structs.replace(spec, base=msgspec.structs.replace(spec.base, **changes))
        transaction.plans.save(
            stored, with_state(stored.document, action_specs=(spec,)), NewEvent("checked", "system")
        )
    with pytest.raises(kind):
        ws.plan.ask(plan_id)


@pytest.mark.req("CP-9")
def test_the_snapshot_is_part_of_what_is_approved(ws):
    plan_id = make(ws, BASE_DIFF.encode())
    approve(ws, plan_id)
    [approval] = ledger_of(ws).approvals.of(plan_id)
    assert json.loads(approval.subject)["snapshot_id"] == facts_of(ws.plan.get(plan_id)).snapshot_id


@pytest.mark.req("CP-6", "PT-8")
def test_the_risk_of_the_change_plan_decides_how_it_is_answered(ws):
    """21 files, each of low risk: only the number makes it high."""
    plan_id = make(ws, patch_of(ws, **{f"new{n}.txt": "x\n" for n in range(21)}))
    document = ws.plan.get(plan_id)
    assert {spec.risk for spec in document.state.action_specs} == {Risk.LOW}
    assert document.risk() is Risk.HIGH
    request = ws.plan.ask(plan_id)
    with pytest.raises(WrongAnswer):
        ws.plan.approve(plan_id, "hanako", proof=TypedAnswer(request.digest, "a"))
    ws.plan.approve(plan_id, "hanako", proof=answer(request))


@pytest.mark.req("CP-5")
def test_bytes_that_are_not_those_of_the_state_are_refused(ws):
    """As when a file changes between the state and the diff, and back."""
    state = project.capture(ws).state
    (ws.places.root / "pkg/base.py").write_text("def base():\n    return 5\n")
    diffs = patches.file_diffs(BASE_DIFF.replace("-    return 1", "-    return 5").encode())
    with pytest.raises(ChangeRefused, match="changed while the plan was made"):
        propose_change(ws, ChangeDraft("x", diffs, ASKED), state, lambda _: ())
    assert ws.plan.list() == []


@pytest.mark.req("CP-4")
def test_a_mode_that_stays_is_no_change(ws):
    patch = b"diff --git a/run.sh b/run.sh\nold mode 100755\nnew mode 100644\n"
    with pytest.raises(NoDiff):
        make(ws, patch)


@pytest.mark.req("CP-5")
def test_a_state_of_other_settings_does_not_stand(ws):
    project.capture(ws)
    (ws.places.root / ".agent/config.yaml").write_text("diagnostics:\n  commands: ['true']\n")
    ws.close()
    with open_scratch(ws.places.root.parent, FILES) as again, pytest.raises(StateIncomplete):
        make(again, BASE_DIFF.encode())


@pytest.mark.req("PT-7")
@pytest.mark.parametrize("verb", ["rename", "copy"])
def test_a_critical_source_and_what_it_holds(ws, verb):
    (ws.places.root / ".env").write_text(f"GITHUB={TOKEN}\n")
    patch = f"diff --git a/.env b/notes.txt\nsimilarity index 100%\n{verb} from .env\n{verb} to notes.txt\n"
    plan_id = patches.propose_patch(ws, "notes", patch.encode())
    [spec] = ws.plan.get_state(plan_id).action_specs
    assert spec.risk is Risk.HIGH
    codes = {reason.code for reason in spec.risk_reasons}
    assert {RiskCode.CRITICAL_SOURCE, RiskCode.SECRET} <= codes
    assert TOKEN not in str(spec.risk_reasons)


@pytest.mark.req("CP-3", "PT-7")
@pytest.mark.parametrize("source", ["pkg/./base.py", "pkg//base.py", "./pkg/base.py"])
def test_a_source_in_another_spelling_is_the_same_file(ws, source):
    patch = f"diff --git a/{source} b/b.py\nsimilarity index 100%\nrename from {source}\nrename to b.py\n"
    plan_id = patches.propose_patch(ws, "moved", patch.encode())
    assert ws.plan.preview(plan_id).files == ("b.py", "pkg/base.py")
    approve(ws, plan_id)
    assert ws.plan.execute(plan_id).overall_success
    assert not (ws.places.root / "pkg/base.py").exists()


@pytest.mark.req("PT-9")
def test_a_limit_that_is_tighter_now_is_told(ws):
    plan_id = patches.propose_patch(ws, "bigger", patch_of(ws, **{"pkg/base.py": "x = 1\n" * 20}))
    approve(ws, plan_id)
    parts = ws
    tight = PlanTool(with_most_bytes(parts, 10))
    with untouched(ws.places.root), pytest.raises(InvalidSpecs):
        tight.execute(plan_id)


@pytest.mark.req("PT-7")
def test_what_was_dropped_leaves_the_other_specs_as_they_were(ws):
    """The file of a kept patch changed meanwhile: still stale against what the proposer saw."""
    patch = patch_of(ws, **{"pkg/base.py": "def base():\n    return 2\n", "one.txt": "1\n"})
    plan_id = patches.propose_patch(ws, "two", patch)
    seen = ws.plan.get(plan_id)
    [kept] = [spec for spec in seen.state.action_specs if spec.base.path == "pkg/base.py"]
    before = (ws.places.root / "pkg/base.py").read_text()
    (ws.places.root / "pkg/base.py").write_text(before + "\n\nx = 1\n")
    keep_specs(ws, plan_id, [kept.id], seen=seen, actor="user", reason="dropped")
    after = ws.plan.get(plan_id)
    assert after.plan.version == 2
    assert after.state.action_specs == (kept,)
    assert ws.plan.preview(plan_id).stale == ("pkg/base.py",)
    with pytest.raises(PlanChanged):
        keep_specs(ws, plan_id, [kept.id], seen=seen, actor="user", reason="again")
    (ws.places.root / "pkg/base.py").write_text(before)
    approve(ws, plan_id)
    assert ws.plan.execute(plan_id).overall_success
    assert (ws.places.root / "pkg/base.py").read_text().endswith("return 2\n")


@pytest.mark.req("PT-7")
def test_a_name_that_hides_something(ws):
    plan_id = proposed(ws, ActionSpec(SpecKind.CREATE, "gpj.\u202epy", "x\n"))
    [spec] = ws.plan.get_state(plan_id).action_specs
    assert spec.risk is Risk.HIGH
    assert {reason.code for reason in spec.risk_reasons} == {RiskCode.HIDDEN_NAME}


@pytest.mark.req("PT-8")
def test_what_was_not_shown_is_not_asked_for(ws):
    plan_id = proposed(ws, write("pkg/base.py", "shown\n"))
    seen = ws.plan.get(plan_id)
    ws.plan.set_action_specs(plan_id, [write("pkg/base.py", "not shown\n")])
    with pytest.raises(PlanChanged):
        ws.plan.ask(plan_id, seen=seen)


@pytest.mark.req("CP-9")
def test_superseded_between_question_and_answer(ws):
    plan_id = make(ws, BASE_DIFF.encode())
    request = ws.plan.ask(plan_id)
    (ws.places.root / "unrelated.txt").write_text("new\n")
    project.capture(ws)
    with pytest.raises(Superseded):
        ws.plan.approve(plan_id, "hanako", proof=answer(request))
    with pytest.raises(Superseded):
        ws.plan.mark_pending(plan_id, pending=True)


@pytest.mark.req("CP-4")
def test_a_part_of_it_cannot_be_chosen(ws):
    plan_id = make(ws, patch_of(ws, **{"one.txt": "1\n", "two.txt": "2\n"}))
    with pytest.raises(PartialChange):
        ws.plan.ask(plan_id, SpecSelection(all=False, ids=("s1",)))


def test_its_diffs_are_fixed(ws):
    plan_id = make(ws, BASE_DIFF.encode())
    with pytest.raises(ChangeFixed):
        ws.plan.set_action_specs(plan_id, [write("pkg/base.py", "x\n")])
    assert export.as_change_plan(ws, plan_id).changes[0].diff == BASE_DIFF


@pytest.mark.req("CP-9")
@pytest.mark.parametrize("approved_first", [False, True])
def test_a_newer_state_supersedes(ws, approved_first):
    plan_id = make(ws, BASE_DIFF.encode())
    ordinary = proposed(ws, write("pkg/middle.py", "x\n"))
    if approved_first:
        approve(ws, plan_id)
    (ws.places.root / "unrelated.txt").write_text("new\n")
    captured = project.capture(ws)
    assert captured.superseded == ("p1",)
    view = export.as_change_plan(ws, plan_id)
    assert view.approval.status is ChangeApproval.REJECTED
    assert ws.plan.get_state(plan_id).status is PlanStatus.PROPOSED
    assert "superseded" in kinds(ws, plan_id)
    for use in (ws.plan.ask, ws.plan.execute):
        with untouched(ws.places.root), pytest.raises(Superseded) as caught:
            use(plan_id)
    assert "ringi propose --again p1" in caught.value.hint.format_map(caught.value.details)
    assert ws.plan.get_state(ordinary).status is PlanStatus.PENDING_REVIEW
    again = patches.propose_again(ws, plan_id)
    assert export.as_change_plan(ws, again).approval.status is ChangeApproval.PENDING
    approve(ws, again)
    assert ws.plan.execute(again).overall_success
    assert_whole(ws)


@pytest.mark.req("CP-9")
@pytest.mark.parametrize("moment", ["ask", "approve", "execute"])
def test_a_change_nobody_captured_is_found_at_use(ws, moment):
    plan_id = make(ws, BASE_DIFF.encode())
    request = ws.plan.ask(plan_id) if moment != "ask" else None
    if moment == "execute":
        approve(ws, plan_id)
    (ws.places.root / "unrelated.txt").write_text("new\n")
    use = {
        "ask": lambda: ws.plan.ask(plan_id),
        "approve": lambda: ws.plan.approve(plan_id, "hanako", proof=answer(request)),
        "execute": lambda: ws.plan.execute(plan_id),
    }
    with untouched(ws.places.root), pytest.raises(Superseded):
        use[moment]()
    assert export.as_change_plan(ws, plan_id).approval.status is ChangeApproval.REJECTED


@pytest.mark.req("CP-9")
def test_the_same_project_does_not_supersede(ws):
    plan_id = make(ws, BASE_DIFF.encode())
    assert project.capture(ws).superseded == ()
    approve(ws, plan_id)
    assert ws.plan.execute(plan_id).overall_success


@pytest.mark.req("CP-7")
def test_the_explanation_decides_nothing(ws):
    silent = patches.propose_change(ws, ChangeDraft("A", patches.file_diffs(BASE_DIFF.encode()), ASKED))
    lying = patches.propose_change(
        ws,
        ChangeDraft(
            "B", patches.file_diffs(BASE_DIFF.encode()), ASKED, PlanExplanation("high, approved", "x")
        ),
    )
    one, other = ws.plan.get(silent), ws.plan.get(lying)
    assert facts_of(one).risk == facts_of(other).risk
    assert facts_of(one).explanation == PlanExplanation("", "")
    assert export.as_change_plan(ws, lying).approval.status is ChangeApproval.PENDING
    approve(ws, silent)
    assert ws.plan.execute(silent).overall_success


@pytest.mark.req("CP-8")
def test_declined_is_rejected_by_the_user(ws):
    plan_id = make(ws, BASE_DIFF.encode())
    ws.plan.reject(plan_id, "not now")
    view = export.as_change_plan(ws, plan_id)
    assert (view.approval.status, view.approval.decided_by) == (ChangeApproval.REJECTED, "user")


def test_an_ordinary_plan_is_no_change_plan(ws):
    plan_id = proposed(ws, write("pkg/base.py", "x\n"))
    assert change_plan_of(ws.plan.get(plan_id)) is None
    with pytest.raises(NoSuchForm):
        export.as_change_plan(ws, plan_id)


@pytest.mark.req("CP-4", "PT-7")
def test_an_ordinary_plan_takes_what_an_editor_cannot(ws):
    latin = patch_of(ws, **{"latin.txt": "th\xe9\n".encode("latin-1")})
    plan_id = patches.propose_patch(ws, "In another encoding", latin + MODE_ONLY)
    approve(ws, plan_id)
    assert ws.plan.execute(plan_id).overall_success
    assert (ws.places.root / "latin.txt").read_bytes() == b"th\xe9\n"
    assert (ws.places.root / "run.sh").stat().st_mode & 0o111 == 0o111
    undo(ws, plan_id)
    assert (ws.places.root / "latin.txt").read_bytes() == FILES["latin.txt"]


@pytest.mark.req("PT-7")
def test_a_patch_spec_is_about_its_own_path_and_one_file(ws):
    plan_id = ws.plan.propose("wrong")
    for path, diff in (("pkg/middle.py", BASE_DIFF), ("pkg/base.py", BASE_DIFF * 2), ("pkg/base.py", None)):
        report = ws.plan.set_action_specs(plan_id, [ActionSpec(SpecKind.PATCH, path, diff)])
        assert not report.ok
        assert not report.normalized[0].validated


@pytest.mark.req("PT-7", "PT-12")
def test_a_copy_is_stale_when_its_source_changes(ws):
    patch = b"""\
diff --git a/pkg/base.py b/pkg/copy.py
similarity index 100%
copy from pkg/base.py
copy to pkg/copy.py
"""
    plan_id = patches.propose_patch(ws, "A copy", patch)
    assert ws.plan.preview(plan_id).files == ("pkg/copy.py",)
    (ws.places.root / "pkg/base.py").write_text("changed\n")
    assert ws.plan.preview(plan_id).stale == ("pkg/base.py",)
    (ws.places.root / "pkg/base.py").write_text(FILES["pkg/base.py"])
    approve(ws, plan_id)
    assert ws.plan.execute(plan_id).overall_success
    assert (ws.places.root / "pkg/copy.py").read_text() == FILES["pkg/base.py"]
