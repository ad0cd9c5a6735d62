"""Every command that decides, with a plan in every state: what is refused says the next command."""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ringi import Workspace, open_workspace
from ringi.cli.main import main
from ringi.plans import capture as project
from ringi.plans.change import ChangeDraft
from ringi.plans.change_plan import FileDiff, PlanBasis, Trigger
from ringi.plans.from_patch import propose_change
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ALL_SPECS, ActionSpec, SpecSelection
from tests.functional.desk import Desk
from tests.helpers import Person, approve, proposed, undo, untouched, write

SPECS = (write("README.md", "# Other\n"), write("notes.txt", "new\n"))
NEVER = "id_ed25519"  # a key that does not exist: what is refused is refused before anybody signs
COMMANDS = {
    "approve": ("approve", "p1", "--sign", NEVER),
    "approve a version": ("approve", "p1", "--seen", "1", "--sign", NEVER),
    "approve another version": ("approve", "p1", "--seen", "2", "--sign", NEVER),
    "apply": ("apply", "p1", "--sign", NEVER),
    "apply and commit": ("apply", "p1", "--commit", "--sign", NEVER),
    "apply by typing": ("apply", "p1"),
    "review": ("review", "p1"),
    "request": ("request", "p1"),
    "execute": ("execute", "p1"),
    "try": ("execute", "p1", "--dry-run"),
    "discard": ("discard", "p1"),
    "reject": ("reject", "p1", "--feedback", "no"),
    "amend": ("amend", "p1", "--drop", "README.md"),
    "comment": ("amend", "p1", "--comment", "README.md:1", "why"),
    "undo": ("undo", "p1", "--sign", NEVER),
    "pending": ("request", "p1", "--pending"),
    "not pending": ("request", "p1", "--no-pending"),
}


def approved(ws: Workspace, plan_id: str, selection: SpecSelection = ALL_SPECS) -> None:
    approve(ws, plan_id, selection)


def done(ws: Workspace, plan_id: str, selection: SpecSelection = ALL_SPECS) -> None:
    approve(ws, plan_id, selection)
    assert ws.plan.execute(plan_id).overall_success


def done_in_part(ws: Workspace, plan_id: str) -> None:
    done(ws, plan_id, SpecSelection(all=False, ids=("s1",)))


def undone(ws: Workspace, plan_id: str) -> None:
    done(ws, plan_id)
    undo(ws, plan_id)


def aborted(ws: Workspace, plan_id: str) -> None:
    failing = ActionSpec(SpecKind.RUN, argv=("false",))
    ws.plan.set_action_specs(plan_id, [SPECS[0], failing])
    approve(ws, plan_id)
    assert not ws.plan.execute(plan_id).overall_success


def rejected_change(ws: Workspace, plan_id: str) -> None:
    change(ws, plan_id)
    ws.plan.reject("p2", "not so")


def superseded_change(ws: Workspace, plan_id: str) -> None:
    change(ws, plan_id)
    (ws.places.root / "other.txt").write_text("new\n")
    assert project.capture(ws).superseded == ("p2",)


def change(ws: Workspace, plan_id: str) -> None:
    diffs = [
        FileDiff(one.path, one.diff) for one in ws.plan.preview(plan_id).diffs if one.path == "README.md"
    ]
    propose_change(ws, ChangeDraft("Change", diffs, PlanBasis(Trigger.USER_REQUEST, ())))


STATES: Mapping[str, Callable[[Workspace, str], object]] = {
    "proposed": lambda ws, plan_id: ws.plan.mark_pending(plan_id, pending=False),
    "sent back": lambda ws, plan_id: ws.plan.reject(plan_id, "shorter, please"),
    "pending": lambda ws, plan_id: None,
    "approved": approved,
    "aborted": aborted,
    "done": done,
    "done in part": done_in_part,
    "undone": undone,
    "discarded": lambda ws, plan_id: ws.plan.discard(plan_id, ""),
    "rejected change": rejected_change,
    "superseded change": superseded_change,
}
NOBODY = {"apply by typing": "no_channel", "review": "no_channel"}
OTHER = {"approve another version": "plan_changed"}
NOT_DONE = {**NOBODY, **OTHER, "undo": "nothing_to_undo"}
SIGNED = ("approve", "approve a version", "apply", "apply and commit")
CLOSED = {**NOT_DONE, **dict.fromkeys((*SIGNED, "request", "reject", "not pending"), "not_now")}
OF_CHANGES = (*SIGNED, "request", "execute", "reject", "pending", "not pending")
DONE = {**dict.fromkeys(COMMANDS, "already_done"), **OTHER, "undo": "signing_failed"}
REFUSED: Mapping[str, Mapping[str, str]] = {
    "proposed": {**CLOSED, "execute": "not_approved"},
    "sent back": {**CLOSED, "execute": "not_approved"},
    "pending": {**NOT_DONE, "execute": "not_approved", "pending": "not_now"},
    "approved": {**NOT_DONE, "request": "not_now", "not pending": "not_now"},
    "aborted": {
        **NOBODY,
        **dict.fromkeys((*SIGNED, "request", "not pending"), "not_now"),
        "approve a version": "plan_changed",
        "undo": "signing_failed",
    },
    "done": {name: code for name, code in DONE.items() if name not in {"apply", *NOBODY}},
    "done in part": DONE,
    "undone": {**dict.fromkeys(COMMANDS, "already_undone"), **NOT_DONE},
    "discarded": {**dict.fromkeys(COMMANDS, "not_now"), **OTHER, "undo": "nothing_to_undo"},
    "rejected change": {**NOT_DONE, **dict.fromkeys(OF_CHANGES, "change_rejected"), "amend": "change_fixed"},
    "superseded change": {
        **NOT_DONE,
        **dict.fromkeys((*OF_CHANGES, "try"), "superseded"),
        "amend": "change_fixed",
    },
}
NEXT = {
    "proposed": "→ ringi request p1 --pending",
    "sent back": "→ ringi request p1 --pending",
    "pending": "→ ringi review p1",
    "approved": "→ ringi execute p1",
    "aborted": "→ ringi execute p1",
    "done": "p1",
    "done in part": "p1",
    "undone": "→ ringi review p1",
    "discarded": "p1",
    "rejected change": "→ ringi propose --again p2",
    "superseded change": "→ ringi propose --again p2",
}
EXITS = {
    "superseded": 4,
    "change_rejected": 5,
    "no_channel": 3,
    "not_approved": 3,
    "plan_changed": 4,
    "signing_failed": 1,
}
COMMAND = re.compile(r"(ringi|ssh-keygen) [a-z-].*?(?=[、。()]|$)")


@pytest.mark.req("PT-4", "PT-6", "PT-8")
@pytest.mark.parametrize("state", STATES)
def test_what_cannot_be_done_now_says_what_can(
    state: str, desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_workspace(desk.root, person=Person()) as ws:
        STATES[state](ws, proposed(ws, *SPECS))
        plan = "p2" if "change" in state else "p1"
        plan_id = ws.plan.find(plan)
        before = ws.plan.get(plan_id)
    monkeypatch.chdir(desk.root)
    monkeypatch.setenv("RINGI_LANGUAGE", "ja")
    capsys.readouterr()
    with untouched(desk.root):
        for name, wanted in REFUSED[state].items():
            code = main(["--json", *(plan if word == "p1" else word for word in COMMANDS[name])])
            error = json.loads(capsys.readouterr().out)["error"]
            assert (code, error["code"]) == (EXITS.get(wanted, 6), wanted), name
            assert COMMAND.search(error["hint"]), error
            if wanted != "signing_failed":  # says what another program said
                words = COMMAND.sub("", error["message"] + error["hint"])
                assert not re.search(r"[A-Za-z]{3}", words), error
    with open_workspace(desk.root) as ws:
        assert ws.plan.get(plan_id) == before
    assert main(["show", plan]) == 0
    assert NEXT[state] in capsys.readouterr().out


@pytest.mark.req("PT-6")
def test_what_is_done_as_asked_is_no_failure(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_workspace(desk.root, person=Person()) as ws:
        done(ws, proposed(ws, *SPECS))
    monkeypatch.chdir(desk.root)
    for name in ("apply", *NOBODY):
        capsys.readouterr()
        assert main(["--json", *COMMANDS[name]]) == 0
        assert json.loads(capsys.readouterr().out)["status"] == "completed"


@pytest.mark.req("PT-4")
@pytest.mark.parametrize("sandbox", [True, False])
def test_an_agent_away_from_the_ledger_is_told_who_decides(
    sandbox: bool,
    desk: Desk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A sandbox hides the ledger; without one, the copy is a workspace that has no plans."""
    tree = tmp_path / "work" / "a project" / "a copy" / "tree"
    shutil.copytree(desk.root, tree)
    monkeypatch.chdir(desk.root if sandbox else tree)
    monkeypatch.setenv("RINGI_WITH", "1")
    monkeypatch.setenv("RINGI_CACHE_DIR", str(tmp_path))
    if sandbox:
        monkeypatch.setenv("RINGI_STATE_DIR", str(desk.root / "README.md" / "hidden"))
    for name in ("approve", "apply", "review", "reject", "discard", "amend", "execute"):
        capsys.readouterr()
        assert main(["--json", *COMMANDS[name]]) == 3
        error = json.loads(capsys.readouterr().out)["error"]
        assert error["code"] == "out_of_reach"
        assert error["hint"].endswith(f": ringi --json {' '.join(COMMANDS[name])}")
