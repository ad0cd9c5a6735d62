"""Whose signatures count is in the ledger: no environment, file or second process changes it unasked."""

import json
import os
import shlex
import sqlite3
import subprocess
from pathlib import Path

import pytest

from ringi.app.api import open_workspace, verify_plan
from ringi.approvals.document import RequiredProof, TypedAnswer
from ringi.approvals.signers import digest_of
from ringi.errors import SignatureNeeded
from tests.fakes.people import SeatedPerson
from tests.fakes.signing import MadeUpKeys, RealKey
from tests.functional.conftest import signers
from tests.functional.desk import MENU, RINGI, Desk
from tests.functional.screens import Screen
from tests.functional.test_plan_script import ANSWERS, Room, room  # noqa: F401  # fixtures
from tests.functional.test_proving import proposed
from tests.helpers import accept_signers, create, rewire
from tests.helpers import proposed as proposed_in

NEW: dict[str, object] = {"kind": "create", "path": "new.txt", "content": "new\n"}
TYPED = "A typed answer does not suffice here"
NOT_ACCEPTED = "has not accepted that line"
OLD_KEY = "only with a signature by a key that counts now"


class Other:
    """A key and a list that somebody else of the same user made, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.key = RealKey(folder, "other")
        self.line = f"other {self.key.public}\n"
        self.config = folder / "other-config"
        file = self.config / "ringi" / "allowed_signers"
        file.parent.mkdir(parents=True)
        file.write_text(self.line)
        file.chmod(0o600)

    @property
    def environment(self) -> dict[str, str]:
        return {"XDG_CONFIG_HOME": str(self.config)}


@pytest.fixture
def other(tmp_path: Path) -> Other:
    return Other(tmp_path)


@pytest.fixture
def strict(listed: RealKey, desk: Desk) -> RealKey:
    """Only signatures count."""
    with open_workspace(desk.root, person=SeatedPerson()) as workspace:
        accept_signers(workspace, RequiredProof.SIGNED)
    return listed


def add(line: str) -> None:
    with signers().open("a") as file:
        file.write(line)


def sound(desk: Desk) -> None:
    done = desk.run("log", "--verify")
    assert done.returncode == 0, done.stdout + done.stderr


# --- whose signatures count -----------------------------------------------------------------------


@pytest.mark.req("PT-8")
@pytest.mark.parametrize("variable", ["XDG_CONFIG_HOME", "HOME"])
def test_a_list_of_another_environment_counts_nowhere(
    desk: Desk,
    listed: RealKey,
    other: Other,
    variable: str,
    tmp_path: Path,
):
    plan = proposed(desk, NEW)
    environment = other.environment
    if variable == "HOME":
        (tmp_path / "home").mkdir()
        other.config.rename(tmp_path / "home" / ".config")
        environment = {"XDG_CONFIG_HOME": "", "HOME": str(tmp_path / "home")}
    done = desk.run("approve", plan, "--sign", str(other.key.path), **environment)
    assert (done.returncode, NOT_ACCEPTED in done.stderr) == (6, True), done.stderr
    done = desk.run("grant", "new", "--for", "user:x", "--path", "docs/**", "--until", "7d",
                    "--sign", str(other.key.path), **environment)  # fmt: skip
    assert (done.returncode, NOT_ACCEPTED in done.stderr) == (6, True), done.stderr
    # The person's key counts there too: what counts is not what the caller's environment says.
    assert desk.run("approve", plan, "--sign", str(listed.path), **environment).returncode == 0
    assert desk.run("execute", plan, **environment).returncode == 0
    assert desk.run("verify", plan, **environment).returncode == 0


@pytest.mark.req("PT-8")
def test_before_a_list_is_accepted_no_signature_counts(desk: Desk, other: Other):
    plan = proposed(desk, NEW)
    done = desk.run("approve", plan, "--sign", str(other.key.path), **other.environment)
    assert (done.returncode, NOT_ACCEPTED in done.stderr) == (6, True), done.stderr
    done = desk.run("config", "signers", "--accept", "--sign", str(other.key.path), **other.environment)
    assert done.returncode == 6, "a list cannot accept itself"
    done = desk.run("config", "signers", "--accept", **other.environment)
    assert (done.returncode, "not a terminal" in done.stderr) == (3, True)
    done = desk.run("config", "signers", "--accept", CLAUDECODE="1", **other.environment)
    assert done.returncode == 3


@pytest.mark.req("PT-8")
def test_an_added_line_counts_once_it_is_accepted(desk: Desk, listed: RealKey, other: Other):
    add(other.line)
    plan = proposed(desk, NEW)
    words = ("approve", plan, "--sign", str(other.key.path))
    assert NOT_ACCEPTED in desk.run(*words).stderr
    shown = desk.run("config", "signers").stdout
    assert f"+ {other.line}" in shown
    assert "ringi config signers --accept" in shown
    with desk.terminal("config", "signers", "--accept") as terminal:
        shown = terminal.answer(r"\[y/n\]", "y")
        assert "+ other ssh-ed25519" in shown
        assert terminal.end()[0] == 0
    assert desk.run(*words).returncode == 0
    assert "+ other" not in desk.run("config", "signers").stdout
    sound(desk)


@pytest.mark.req("PT-8")
def test_a_line_that_was_removed_stops_counting_at_once(desk: Desk, listed: RealKey):
    plan = proposed(desk, NEW)
    assert desk.run("approve", plan, "--sign", str(listed.path)).returncode == 0
    signers().write_text("")
    assert desk.run("execute", plan).returncode == 6
    assert "! not in the file any more" in desk.run("config", "signers").stdout
    again = proposed(desk, NEW)
    assert desk.run("approve", again, "--sign", str(listed.path)).returncode == 6


@pytest.mark.parametrize("how", ["writable", "moved into the project"])
def test_a_list_that_others_could_write_does_not_count(desk: Desk, listed: RealKey, how: str):
    plan = proposed(desk, NEW)
    if how == "writable":
        signers().chmod(0o666)
    else:
        signers().rename(desk.root / "list")
        signers().symlink_to(desk.root / "list")
    done = desk.run("approve", plan, "--sign", str(listed.path))
    assert done.returncode == 6, done.stderr


@pytest.mark.req("PT-8")
def test_the_projects_list_counts_once_trusted_and_accepted(desk: Desk, other: Other):
    file = desk.root / ".agent" / "allowed_signers"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"# the team\n{other.line}")
    plan = proposed(desk, NEW)
    words = ("approve", plan, "--sign", str(other.key.path))
    assert desk.run(*words).returncode == 6
    with desk.terminal("trust") as terminal:
        terminal.type(terminal.wanted())
        assert "counts in this workspace" in terminal.end()[1]
    assert desk.run(*words).returncode == 0
    assert desk.run("trust", "--revoke").returncode == 0
    assert desk.run("execute", plan).returncode == 1, "without trust it is not read"


def test_trust_alone_adds_no_signer_if_only_signatures_count(desk: Desk, strict: RealKey, other: Other):
    file = desk.root / ".agent" / "allowed_signers"
    file.parent.mkdir(exist_ok=True)
    file.write_text(other.line)
    with desk.terminal("trust") as terminal:
        terminal.type(terminal.wanted())
        assert "ringi config signers --accept --sign KEY" in terminal.end()[1]
    plan = proposed(desk, NEW)
    assert desk.run("approve", plan, "--sign", str(other.key.path)).returncode == 6
    assert desk.run("config", "signers", "--accept", "--sign", str(strict.path)).returncode == 0
    assert desk.run("approve", plan, "--sign", str(other.key.path)).returncode == 0


# --- only signatures count ------------------------------------------------------------------------


@pytest.mark.req("PT-8")
def test_where_only_signatures_count_nothing_typed_does(desk: Desk, strict: RealKey):
    plan = proposed(desk, NEW)
    with desk.terminal("approve", plan) as terminal:
        code, said = terminal.end()
        assert (code, TYPED in said) == (6, True)
    with desk.terminal("review", plan, "--plain") as terminal:
        terminal.answer(MENU, "a")
        said = terminal.read(TYPED)
        terminal.answer(MENU, "q")
    with desk.terminal("apply", plan) as terminal:
        terminal.answer(MENU, "a")
        terminal.read(TYPED)
        terminal.answer(MENU, "q")
    with Screen.ringi(desk.root, "review", "p1") as screen:
        screen.wait(r"\[q\]uit")
        screen.settle()
        screen.child.send(b"a")
        screen.wait(r"approve p1 --seen 1 --sign KEY")
    assert desk.json("list")[0]["status"] == "pending_review"
    assert desk.run("approve", plan, "--sign", str(strict.path)).returncode == 0
    assert desk.run("execute", plan).returncode == 0
    with desk.terminal("undo", "p1") as terminal:
        code, said = terminal.end()
        assert (code, "ringi undo p1 --sign KEY" in said) == (6, True)
    assert (desk.root / "new.txt").exists()
    assert desk.run("undo", "p1", "--sign", str(strict.path)).returncode == 0
    sound(desk)
    assert desk.run("verify", plan).returncode == 0


@pytest.mark.req("IP-9")
def test_a_planning_session_is_signed_too(room: Room, strict: RealKey):  # noqa: F811
    desk = room.desk
    assert desk.step("Add JSON", "--answers", room.file(ANSWERS))[1]["pending"]["kind"] == "approval"
    session = desk.short_id()
    with desk.terminal("plan", "--resume", session, "--approve") as terminal:
        code, said = terminal.end()
        assert (code, TYPED in said) == (6, True), said
    done = desk.run("plan", "--resume", session, "--approve", "--sign", str(strict.path))
    assert done.returncode == 0, done.stderr


def test_the_python_interface_takes_no_typed_answer_either(desk: Desk, strict: RealKey):
    with open_workspace(desk.root, person=SeatedPerson()) as workspace:
        plan_id = proposed_in(workspace, create("x.txt", "x\n"))
        request = workspace.plan.ask(plan_id)
        with pytest.raises(SignatureNeeded):
            workspace.plan.approve(plan_id, "me", proof=TypedAnswer(request.digest, "y"))


@pytest.mark.req("PT-8")
def test_an_answer_typed_before_does_not_cover_any_more(desk: Desk, listed: RealKey):
    done, plan = proposed(desk, NEW), proposed(desk, {**NEW, "path": "other.txt"})
    for name in (done, plan):
        with desk.terminal("approve", name) as terminal:
            terminal.answer(r"\[y/n\]", "y")
            assert terminal.end()[0] == 0
    assert desk.run("execute", done).returncode == 0
    with desk.terminal("config", "signers", "--proof", "signed") as terminal:
        terminal.answer(r"\[y/n\]", "y")
        assert terminal.end()[0] == 0
    assert TYPED in desk.run("execute", plan).stderr
    assert not (desk.root / "other.txt").exists()
    assert desk.run("verify", done).returncode == 0, "it was in order when it was typed"


@pytest.mark.req("PT-8")
def test_verify_names_what_was_typed_although_only_signatures_counted(desk: Desk, strict: RealKey):
    with open_workspace(desk.root, person=SeatedPerson()) as workspace:
        kept = workspace.signatures
        rewire(workspace, signatures=MadeUpKeys())
        plan_id = proposed_in(workspace, create("x.txt", "x\n"))
        workspace.plan.approve(plan_id, "me", proof=TypedAnswer(workspace.plan.ask(plan_id).digest, "y"))
        assert workspace.plan.execute(plan_id).overall_success
        rewire(workspace, signatures=kept)
        found = verify_plan(workspace, plan_id)
        assert not found.proven
        assert "it was given without a signature when only signatures counted" in found.problems[0]


# --- changing that --------------------------------------------------------------------------------


@pytest.mark.req("PT-8")
def test_another_list_needs_a_key_of_the_old_one(desk: Desk, strict: RealKey, other: Other):
    with desk.terminal("config", "signers", "--accept", **other.environment) as terminal:
        code, said = terminal.end()
        assert (code, OLD_KEY in " ".join(said.split())) == (6, True), said
    for environment in (other.environment, {}):
        if not environment:
            add(other.line)
        done = desk.run("config", "signers", "--accept", "--sign", str(other.key.path), **environment)
        assert (done.returncode, OLD_KEY in done.stderr) == (6, True), done.stderr
    plan = proposed(desk, NEW)
    assert desk.run("approve", plan, "--sign", str(other.key.path)).returncode == 6
    assert desk.run("config", "signers", "--accept", "--sign", str(strict.path)).returncode == 0
    assert desk.run("approve", plan, "--sign", str(other.key.path)).returncode == 0
    sound(desk)
    assert desk.run("verify", "--all").returncode in {0, 2}


@pytest.mark.req("PT-8")
@pytest.mark.parametrize("how", ["edited", "deleted"])
def test_the_old_key_accepts_although_its_line_is_gone(desk: Desk, strict: RealKey, other: Other, how: str):
    """The ledger knows it."""
    environment = {}
    if how == "edited":
        signers().write_text(other.line)
    else:
        signers().unlink()
        environment = other.environment
    done = desk.run("config", "signers", "--accept", "--sign", str(strict.path), **environment)
    assert done.returncode == 0, done.stderr
    plan = proposed(desk, NEW)
    assert desk.run("approve", plan, "--sign", str(strict.path)).returncode == 6
    assert desk.run("approve", plan, "--sign", str(other.key.path)).returncode == 0
    assert desk.run("execute", plan).returncode == 0
    assert desk.run("verify", plan).returncode == 0


@pytest.mark.req("PT-8")
def test_switching_it_off_needs_a_key_of_the_list(desk: Desk, strict: RealKey, other: Other):
    with desk.terminal("config", "signers", "--proof", "any") as terminal:
        code, said = terminal.end()
        assert (code, "ringi config signers --proof any --sign KEY" in said) == (6, True), said
    done = desk.run("config", "signers", "--proof", "any", "--sign", str(other.key.path))
    assert (done.returncode, OLD_KEY in done.stderr) == (6, True)
    assert desk.run("config", "signers", "--proof", "any", "--sign", str(strict.path)).returncode == 0
    plan = proposed(desk, NEW)
    with desk.terminal("approve", plan) as terminal:
        terminal.answer(r"\[y/n\]", "y")
        assert terminal.end()[0] == 0


def test_nobody_is_locked_out_by_a_rule_without_a_key(desk: Desk):
    for words in (["--proof", "signed"], ["--accept", "--proof", "signed"]):
        done = desk.run("config", "signers", *words)
        assert (done.returncode, "Nobody could approve" in done.stderr) == (6, True)


def test_the_last_list_is_not_taken_away(desk: Desk, strict: RealKey):
    signers().write_text("# nobody\n")
    done = desk.run("config", "signers", "--accept", "--sign", str(strict.path))
    assert (done.returncode, "Nobody could approve" in done.stderr) == (6, True)


def configure(text: str, folder: Path | None = None) -> None:
    file = (folder or Path(os.environ["XDG_CONFIG_HOME"])) / "ringi" / "config.yaml"
    file.write_text(text)


SIGNED = "approval:\n  proof: signed\n"


@pytest.mark.req("PT-8")
@pytest.mark.parametrize("source", ["file", "variable"])
def test_what_the_configuration_demands_holds_in_another_one(
    desk: Desk,
    listed: RealKey,
    other: Other,
    source: str,
):
    if source == "file":
        configure(SIGNED)
    demanding = {} if source == "file" else {"RINGI_APPROVAL_PROOF": "signed"}
    assert desk.run("config", "signers", **demanding).returncode == 0
    plan = proposed(desk, NEW)
    for environment in (other.environment, {"RINGI_CONFIG": "/nowhere"}, {"RINGI_APPROVAL_PROOF": "any"}):
        with desk.terminal("approve", plan, **environment) as terminal:
            code, said = terminal.end()
            assert (code, TYPED in said) == (6, True), said
    assert desk.run("approve", plan, "--sign", str(listed.path)).returncode == 0
    sound(desk)


def test_the_strictest_source_counts(desk: Desk, listed: RealKey):
    project = desk.root / ".agent" / "config.yaml"
    project.parent.mkdir(exist_ok=True)
    project.write_text(SIGNED)
    done = desk.run("config", "signers", RINGI_APPROVAL_PROOF="any")
    assert "Only signatures count" in done.stdout
    project.write_text("")
    assert "A typed answer counts too" in desk.run("config", "signers").stdout, (
        "a pulled file locks nobody out"
    )


def test_the_rule_is_not_loosened_under_a_configuration_that_demands_it(desk: Desk, strict: RealKey):
    configure(SIGNED)
    done = desk.run("config", "signers", "--proof", "any", "--sign", str(strict.path))
    assert (done.returncode, "change it there first" in done.stderr) == (2, True), done.stderr


def test_a_configuration_alone_asks_for_a_list_first(desk: Desk, other: Other):
    """Nobody can sign before one was accepted, so the first is accepted by typing."""
    configure(SIGNED, other.config)
    plan = proposed(desk, NEW)
    with desk.terminal("approve", plan, **other.environment) as terminal:
        assert terminal.end()[0] == 6
    with desk.terminal("config", "signers", "--accept", **other.environment) as terminal:
        terminal.answer(r"\[y/n\]", "y")
        assert terminal.end()[0] == 0
    assert "Only signatures count" in desk.run("config", "signers").stdout
    assert desk.run("approve", plan, "--sign", str(other.key.path)).returncode == 0


# --- init -----------------------------------------------------------------------------------------


@pytest.mark.req("PT-8")
def test_init_lists_a_key_accepts_it_and_offers_signed_only(desk: Desk, tmp_path: Path):
    mine = RealKey(tmp_path, "mine")
    with desk.terminal("init", "--key", f"{mine.path}.pub", "--as", "hanako") as terminal:
        terminal.answer(r"\[y/n\]", "y")
        assert "it counts in this workspace" in terminal.end()[1]
    with desk.terminal("init") as terminal:
        shown = terminal.answer(r"no typed answer\? \[y/n\]", "n")
        assert "hanako namespaces=" in shown
        assert terminal.end()[0] == 0
    assert "A typed answer counts too" in desk.run("config", "signers").stdout
    with desk.terminal("init") as terminal:
        terminal.answer(r"no typed answer\? \[y/n\]", "y")
        assert terminal.end()[0] == 0
    assert "Only signatures count" in desk.run("config", "signers").stdout
    with desk.terminal("init") as terminal:
        code, said = terminal.end()
        assert (code, "[y/n]" in said) == (0, False), "it is asked once"
    plan = proposed(desk, NEW)
    assert desk.run("approve", plan, "--sign", str(mine.path)).returncode == 0


def test_init_accepts_only_what_it_showed(desk: Desk, listed: RealKey, other: Other, tmp_path: Path):
    """Somebody added a line before: it does not slip in with the person's own."""
    add(other.line)
    mine = RealKey(tmp_path, "mine")
    with desk.terminal("init", "--key", f"{mine.path}.pub") as terminal:
        terminal.answer(r"\[y/n\]", "y")
        assert "ringi config signers --accept" in terminal.end()[1]
    plan = proposed(desk, NEW)
    for one in (mine, other.key):
        assert desk.run("approve", plan, "--sign", str(one.path)).returncode == 6


# --- several at once, and ends in the middle ------------------------------------------------------


def test_two_changes_at_once_do_not_both_follow_the_same(desk: Desk, strict: RealKey, other: Other):
    """Both were asked for before either was accepted: the second is told."""
    add(other.line)
    words = [*RINGI, "config", "signers", "--accept", "--sign", str(strict.path)]
    off = [*RINGI, "config", "signers", "--proof", "any", "--sign", str(strict.path)]
    children = [
        subprocess.Popen(one, cwd=desk.root, stdin=subprocess.DEVNULL, stdout=-3, stderr=-3)
        for one in (words, off, words, off)
    ]
    codes = {child.wait(timeout=120) for child in children}
    for child in children:
        child.communicate()
    assert 0 in codes
    assert codes <= {0, 6, 7}
    sound(desk)
    plan = proposed(desk, NEW)
    assert desk.run("approve", plan, "--sign", str(strict.path)).returncode == 0


def test_a_stale_change_is_refused(desk: Desk, strict: RealKey, other: Other):
    with open_workspace(desk.root, person=SeatedPerson()) as workspace:
        found = workspace.signers
        stale = found.draft(lists=False, proof=RequiredProof.ANY)
        signed = strict.sign(found.statement(stale, "me"))
        add(other.line)
        assert desk.run("config", "signers", "--accept", "--sign", str(strict.path)).returncode == 0
        with pytest.raises(Exception, match="something else"):
            found.accept(stale, "me", signed)
        assert found.proof is RequiredProof.SIGNED


@pytest.mark.parametrize("answered", [False, True])
def test_killed_in_the_middle(desk: Desk, listed: RealKey, other: Other, answered: bool):
    add(other.line)
    with desk.terminal("config", "signers", "--accept", "--proof", "signed") as terminal:
        terminal.read(r"\[y/n\]")
        if answered:
            terminal.type("y")
        terminal.kill()
    sound(desk)
    found = desk.json("config", "signers")
    whole = (len(found["counting"]), found["proof"])
    assert whole in {(1, "any"), (2, "signed")}, "all of it or nothing"
    assert answered or whole == (1, "any")


# --- the ledger -----------------------------------------------------------------------------------


@pytest.mark.req("PT-11")
@pytest.mark.parametrize("how", ["changed", "removed", "all removed", "put in"])
def test_a_changed_record_counts_for_nothing(desk: Desk, strict: RealKey, other: Other, how: str):
    with open_workspace(desk.root, person=SeatedPerson()) as workspace:
        folder = workspace.places.state
    with sqlite3.connect(folder / "ringi.db") as database:
        [[row_id, document]] = database.execute(
            "SELECT id, document FROM approvals WHERE kind = 'signers' ORDER BY at DESC LIMIT 1"
        ).fetchall()
        forged = document.replace('\\"proof\\":\\"signed\\"', '\\"proof\\":\\"any\\"')
        assert forged != document
        if how == "changed":
            database.execute("UPDATE approvals SET document = ? WHERE id = ?", (forged, row_id))
        elif how == "all removed":
            database.execute("DELETE FROM approvals WHERE kind = 'signers'")
        elif how == "removed":
            database.execute("DELETE FROM approvals WHERE id = ?", (row_id,))
        else:
            text = json.dumps({**json.loads(forged), "id": "0" * 36}, separators=(",", ":"), sort_keys=True)
            database.execute(
                "INSERT INTO approvals (id, subject_id, kind, at, document)"
                " VALUES (?, 'signers', 'signers', 99, ?)",
                ("0" * 36, text),
            )
    database.close()
    assert desk.run("log", "--verify").returncode == 1
    plan = proposed(desk, NEW)
    with desk.terminal("approve", plan) as terminal:
        code, _ = terminal.end()
        assert code == 1
    done = desk.run("approve", plan, "--sign", str(strict.path))
    assert (done.returncode, "not what the log says was accepted" in done.stderr) == (1, True)
    assert desk.run("verify", plan).returncode != 0


def test_what_accepted_is_in_the_log(desk: Desk, strict: RealKey):
    events = [one["event"] for one in desk.json("log")]
    found = [one for one in events if one["event"] == "signers_set"]
    assert len(found) == 2  # the list, then the rule
    assert {one["actor"] for one in found} == {"user"}
    with open_workspace(desk.root, person=SeatedPerson()) as workspace:
        said = workspace.signers.last_accepted()
        assert said is not None
        assert [file.path for file in said.lists] == [str(signers())]
        assert digest_of(said) == workspace.store.approvals.of("signers")[-1].digest


# --- fresh terminals ------------------------------------------------------------------------------

SHELL = ["sh", "-c", 'while read -r line; do eval "$line"; done']


def approved_at(screen: Screen, plan: str) -> None:
    command = shlex.join([*RINGI, "approve", plan])
    screen.child.send(f"{command}\n".encode())
    screen.wait(r"Approve\? \[y/n\]")
    screen.child.send(b"y\n")
    screen.wait(r"is approved, until[\s\S]*→ ringi execute")


@pytest.mark.req("PT-8")
def test_a_terminal_younger_than_the_plan_is_recorded_and_shown(desk: Desk):
    before = Screen(SHELL, cwd=desk.root, columns=150)
    with before:
        plan, later = proposed(desk, NEW), proposed(desk, {**NEW, "path": "other.txt"})
        approved_at(before, plan)
        assert "fresh terminal" not in before.text
    with Screen(SHELL, cwd=desk.root, columns=150) as after:
        approved_at(after, later)
        assert "fresh terminal: opened" in after.text
    for name, fresh in ((plan, False), (later, True)):
        assert desk.run("execute", name).returncode == 0
        assert ("fresh terminal" in desk.run("verify", name).stdout) is fresh
        assert ("fresh terminal" in desk.run("show", name).stdout) is fresh


NOT_OURS = """
import os, pty, sys
# An old session opens a new terminal and does not make it its own.
print("ready", flush=True)
sys.stdin.readline()
primary, secondary = pty.openpty()
for number in (0, 1):
    os.dup2(secondary, number)
from ringi.kernel.process.terminal import terminal_opening_time
sys.stderr.write(repr(terminal_opening_time(0)))
"""


@pytest.mark.req("PT-8")
def test_a_new_terminal_of_an_old_session_is_new(tmp_path: Path):
    child = subprocess.Popen(
        [*RINGI[:1], "-c", NOT_OURS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdin
    assert child.stdout
    assert child.stdout.readline() == "ready\n"
    (tmp_path / "mark").touch()
    child.stdin.write("\n")
    child.stdin.flush()
    _, said = child.communicate(timeout=60)
    assert float(said) >= (tmp_path / "mark").stat().st_mtime


@pytest.mark.req("PT-8")
def test_no_program_makes_a_terminal_look_older(tmp_path: Path):
    """Its times can be set, and setting them is a change."""
    code = (
        "import os; from ringi.kernel.process.terminal import terminal_opening_time as o;"
        " a = o(0); os.utime(0, (1, 1)); print(a <= o(0))"
    )
    with Screen([*RINGI[:1], "-c", code], cwd=tmp_path) as screen:
        assert "False" not in screen.wait("True|False")
