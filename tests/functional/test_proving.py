"""Keys, standing approvals, proofs, undo and recovery, as a person and a script use them."""

import json
import os
import resource
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import ringi
from tests.fakes.signing import RealKey
from tests.functional.conftest import USER, signers
from tests.functional.desk import MENU, RINGI, Desk
from tests.helpers import PATIENCE_SEC

TWO = "echo one > one.txt; echo two > two.txt"


def fingerprint(key: RealKey) -> str:
    shown = subprocess.run(["ssh-keygen", "-lf", key.path], capture_output=True, text=True, check=True)
    return shown.stdout.split()[1]


def proposed(desk: Desk, *specs: dict[str, object]) -> str:
    """By specs, so that each stands for itself."""
    (desk.root / "specs.json").write_text(json.dumps(specs))
    done = desk.run("--json", "propose", "--specs", "specs.json", "--title", "A change")
    (desk.root / "specs.json").unlink()
    if done.returncode != 0:
        pytest.fail(done.stderr)
    return str(json.loads(done.stdout)["id"])


def carried_out(desk: Desk, plan: str, key: RealKey, *options: str) -> None:
    for command in (["approve", plan, "--sign", str(key.path), *options], ["execute", plan]):
        done = desk.run(*command)
        assert done.returncode == 0, done.stderr


def ledger() -> Path:
    [found] = Path(os.environ["XDG_STATE_HOME"]).glob("ringi/*/ringi.db")
    return found


# --- whether a signature counts could not be found out ----------------------------------------------


def few_descriptors(free: int) -> Callable[[], None]:
    """As in a shell with a low limit."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, free))

    return limit


@pytest.mark.req("PT-8", "PT-9")
def test_a_list_that_is_not_there_voids_nothing(desk: Desk, listed: RealKey, tmp_path: Path) -> None:
    plan = desk.agent(TWO)
    assert desk.run("approve", plan, "--sign", str(listed.path)).returncode == 0
    signers().rename(tmp_path / "list")
    done = desk.run("execute", plan)
    assert done.returncode == 1, done.stderr
    assert "could not be checked" in done.stderr
    assert str(signers()) in done.stderr
    assert "The approval stays as it is" in done.stderr
    assert desk.json("list")[0]["status"] == "approved"
    (tmp_path / "list").rename(signers())
    assert desk.run("execute", plan).returncode == 0


@pytest.mark.req("PT-8", "PT-9")
def test_a_shortage_of_descriptors_voids_nothing(desk: Desk, listed: RealKey) -> None:
    plan = desk.agent(TWO)
    assert desk.run("approve", plan, "--sign", str(listed.path)).returncode == 0
    codes = set()
    for free in range(8, 40):
        done = subprocess.run(
            [*RINGI, "execute", plan],
            cwd=desk.root,
            capture_output=True,
            preexec_fn=few_descriptors(free),
            timeout=60,
            check=False,
        )
        codes.add(done.returncode)
        status = desk.json("list")[0]["status"]
        if status == "completed":
            break
        assert status == "approved", (free, done.stderr)
    assert codes <= {0, 1}
    assert (desk.root / "one.txt").exists()


# --- verify ---------------------------------------------------------------------------------------


@pytest.mark.req("PT-8", "PT-11")
def test_typed_then_changed_then_undone(desk: Desk) -> None:
    assert desk.run("verify").returncode == 2
    desk.agent(TWO)
    assert "p1 was not carried out" in desk.run("verify", "p1").stdout
    assert desk.run("verify", "p1").returncode == 3
    terminal = desk.terminal("review", "p1", "--plain")
    terminal.answer(MENU, "a")
    assert terminal.end()[0] == 0
    done = desk.run("verify")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        f"✓ p1: the files are exactly the approved bytes · {USER}, typed at a terminal "
        "(weak; a signature is stronger: ringi init --key); fresh terminal: opened after it was proposed\n"
    )
    (desk.root / "two.txt").write_text("mine\n")
    done = desk.run("verify", "p1")
    assert done.returncode == 0
    assert "the files were exactly the approved bytes at that time" in done.stdout
    assert "! two.txt was changed since, by somebody" in done.stdout
    (desk.root / "two.txt").write_text("two\n")
    terminal = desk.terminal("undo")
    seen = terminal.answer(r"\[y/n\]", "y")
    assert "one.txt is deleted again" in seen
    assert "2 files go back to before p1" in seen
    assert terminal.end()[0] == 0
    done = desk.run("verify")
    assert done.returncode == 0
    assert "- one.txt: undone" in done.stdout


@pytest.mark.req("PT-8", "PT-10")
def test_a_forged_ledger_and_forged_files(desk: Desk, listed: RealKey) -> None:
    plan = desk.agent(TWO)
    carried_out(desk, plan, listed)
    [approval] = desk.root.glob(".agent/logs/plans/*/approval.json")
    approval.write_text(approval.read_text().replace(f'"approver": "{USER}"', '"approver": "taro"'))
    done = desk.run("verify")
    assert done.returncode == 0
    assert f"! {approval.relative_to(desk.root)} does not say what the ledger says" in done.stdout
    assert "→ ringi doctor --repair" in done.stdout
    with closing(sqlite3.connect(ledger())) as database, database:
        database.execute("UPDATE approvals SET document = replace(document, ?, ?)", (f'"{USER}"', '"taro"'))
    done = desk.run("--json", "verify")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert not document["proven"]
    assert any("something else was signed" in problem for problem in document["problems"])
    assert any("the log does not have it" in problem for problem in document["problems"])
    assert "Plan p1 is not proven" in done.stderr


# --- keys -----------------------------------------------------------------------------------------


@pytest.mark.req("PT-8")
def test_a_key_is_listed_by_a_person_who_saw_it(desk: Desk, key: RealKey) -> None:
    done = desk.run("--json", "init", "--key")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (3, "no_channel")
    assert "ringi init --key" in done.stderr
    terminal = desk.terminal("init", "--key")
    seen = terminal.answer(r"\[y/n\]", "n")
    assert fingerprint(key) in "".join(seen.split("\r\n"))
    code, rest = terminal.end()
    assert (code, signers().exists()) == (3, False)
    assert "Nothing was listed." in rest
    for words in ("✓ listed in", "✓ it was listed already"):
        terminal = desk.terminal("init", "--key", f"{key.path}.pub", "--as", "hanako@example.invalid")
        terminal.answer(r"\[y/n\]", "y")
        code, rest = terminal.end()
        assert code == 0, rest
        assert words in rest
        assert ".agent/allowed_signers" in rest
    assert signers().read_text().split()[:2] == ["hanako@example.invalid", 'namespaces="ringi-approval"']
    carried_out(desk, desk.agent(TWO), key)
    assert f"{USER} (listed as hanako@example.invalid), signed with SHA256:" in desk.run("verify").stdout


def test_an_agent_lists_no_key(desk: Desk, key: RealKey) -> None:
    terminal = desk.terminal("init", "--key", CLAUDECODE="1")
    code, seen = terminal.end()
    assert (code, signers().exists()) == (3, False)
    assert "Claude Code started this" in seen
    done = desk.run("init", "--as", "hanako")
    assert done.returncode == 2
    assert not (desk.root / ".agent").exists()


def test_a_key_before_there_is_a_workspace(tmp_path: Path, key: RealKey) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    terminal = Desk(folder).terminal("init", "--key")
    terminal.answer(r"\[y/n\]", "y")
    code, rest = terminal.end()
    assert code == 0, rest
    assert list(folder.iterdir()) == []


# --- standing approvals ---------------------------------------------------------------------------


@pytest.mark.req("PT-8")
def test_a_standing_approval_from_signing_to_revoking(desk: Desk, listed: RealKey) -> None:
    assert "There is no standing approval" in desk.run("grant", "list").stdout
    new = ("grant", "new", "--for", "with:sh", "--path", "*.txt", "--sign", str(listed.path))
    done = desk.run(*new, "--lines", "2")
    assert done.returncode == 0, done.stderr
    for words in (
        "what sh proposes, started by ringi with",
        "files: *.txt",
        "kinds: create, write, patch",
        "risk: at most low",
        "each time: at most 10 files and 2 lines",
        "in all: at most 100 files and 20 lines",
    ):
        assert words in done.stdout
    [state] = desk.json("grant", "list")
    grant_id = state["grant"]["id"]
    plan = desk.agent(TWO)
    assert desk.json("show", plan)["state"]["status"] == "approved"
    assert desk.run("execute", plan).returncode == 0
    done = desk.run("verify")
    assert done.returncode == 0, done.stderr
    assert f"standing approval {grant_id[:8]} of {USER}, signed with {fingerprint(listed)}" in done.stdout
    assert "uses: 1 · 2 of 100 files · 2 of 20 lines" in desk.run("grant", "list").stdout
    assert desk.run("request", desk.agent("seq 3 > x.txt")).returncode == 0
    assert desk.run("execute", "p2").returncode == 3
    done = desk.run("--json", "grant", "revoke", grant_id[:8], "--reason", "enough")
    assert json.loads(done.stdout)["revoked_at"]
    assert "revoked" in desk.run("grant", "list").stdout
    assert desk.run("verify", "p1").returncode == 0


# --- undo -----------------------------------------------------------------------------------------


@pytest.mark.req("PT-8", "PT-12")
@pytest.mark.parametrize("option", [(), ("--commit",), ("--no-commit",)])
def test_a_signed_undo_asks_nothing_about_the_commit(
    desk: Desk, listed: RealKey, option: tuple[str, ...]
) -> None:
    """A script says it by an option; without one only the files go back."""
    plan = proposed(desk, {"kind": "create", "path": "one.txt", "content": "one"})
    with ringi.open_workspace(desk.root) as workspace:
        workspace.plan.wish_commit(plan, "Add one")
    carried_out(desk, plan, listed)
    made = desk.git("rev-parse", "HEAD").strip()
    done = desk.run("--json", "undo", plan, "--sign", str(listed.path), *option)
    assert done.returncode == 0, done.stderr
    assert not (desk.root / "one.txt").exists()
    now = desk.git("rev-parse", "HEAD").strip()
    commit = json.loads(done.stdout).get("commit", {}).get("commit", made)
    assert commit == now
    assert (now == made) is (option != ("--commit",))
    assert desk.run("verify", plan).returncode == 0


# --- recover --------------------------------------------------------------------------------------


@pytest.fixture
def cut_off(desk: Desk, listed: RealKey) -> Desk:
    """A command was running when the program was killed."""
    script = "if [ -e started ]; then exit 0; fi; touch started; sleep 5"
    plan = proposed(desk, {"kind": "run", "argv": ["sh", "-c", script]})
    assert desk.run("approve", plan, "--sign", str(listed.path)).returncode == 0
    running = subprocess.Popen(
        [*RINGI, "execute", plan], cwd=desk.root, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + PATIENCE_SEC
        while not (desk.root / "started").exists() and time.monotonic() < until:
            time.sleep(0.05)
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    assert (desk.root / "started").exists()
    return desk


@pytest.mark.req("PT-12")
def test_a_command_without_an_end_is_asked_about(cut_off: Desk) -> None:
    done = cut_off.run("--json", "recover")
    assert done.returncode == 3, done.stderr
    [result] = json.loads(done.stdout)
    assert (result["recovered"], result["results"][0]["status"]) == (True, "unknown")
    assert "nobody knows how it ended" in done.stderr
    assert "ringi recover p1 --done s1" in done.stderr
    assert cut_off.run("recover", "--done", "s1").returncode == 2
    assert cut_off.run("recover", "p1", "--done", "s1", "--again", "s1").returncode == 2
    done = cut_off.run("--json", "recover", "p1", "--done", "s1")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (3, "no_channel")
    terminal = cut_off.terminal("recover")
    terminal.answer(r"\[l\]eave it\?", "l")
    assert terminal.end()[0] == 3
    terminal = cut_off.terminal("recover", "p1")
    terminal.answer(r"\[l\]eave it\?", "d")
    code, rest = terminal.end()
    assert code == 0, rest
    assert "→ ringi execute p1" in rest
    assert "✓ nothing is left to settle" in cut_off.run("recover").stdout
    done = cut_off.run("verify", "p1")
    assert done.returncode == 0, done.stderr
    assert "! what this changed is not recorded: sh -c if [ -e started ]" in done.stdout


def test_a_command_can_be_told_to_run_again(cut_off: Desk) -> None:
    assert cut_off.run("execute", "p1").returncode == 3
    terminal = cut_off.terminal("recover", "p1", "--again", "s1")
    code, rest = terminal.end()
    assert code == 0, rest
    assert "→ ringi execute p1" in rest
    assert cut_off.run("execute", "p1").returncode == 0
    assert cut_off.run("verify", "p1").returncode == 0
