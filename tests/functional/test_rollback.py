"""An older copy of the ledger, and files in `.agent/` that the ledger does not know."""

import contextlib
import json
import os
import shutil
import sqlite3
import uuid
from pathlib import Path

import pytest

from tests.fakes.signing import RealKey
from tests.functional.desk import Desk
from tests.functional.test_proving import carried_out, proposed

NEW: dict[str, object] = {"kind": "create", "path": "new.txt", "content": "new\n"}


def state() -> Path:
    [found] = Path(os.environ["XDG_STATE_HOME"]).glob("ringi/*/")
    return found


def backed_up(tmp_path: Path) -> Path:
    return Path(shutil.copytree(state(), tmp_path / "backup"))


def restore(backup: Path) -> None:
    """As a person or an attacker does: only the ledger's folder, with all in it."""
    place = state()
    shutil.rmtree(place)
    shutil.copytree(backup, place)


def accept(desk: Desk) -> str:
    terminal = desk.terminal("doctor", "--accept-backup")
    code, seen = terminal.end()
    assert code == 0, seen
    return seen


@pytest.mark.req("PT-8", "PT-11")
def test_an_older_ledger_is_noticed_and_not_written_to(desk: Desk, tmp_path: Path):
    proposed(desk, NEW)
    backup = backed_up(tmp_path)
    assert desk.run("reject", "p1", "--feedback", "no").returncode == 0
    restore(backup)
    for command in (["log", "--verify"], ["doctor"]):
        done = desk.run(*command)
        assert done.returncode == 1
        assert "the ledger is an older copy" in done.stdout
    done = desk.run("--json", "verify", "p1")
    assert done.returncode == 1
    assert any("older copy" in problem for problem in json.loads(done.stdout)["problems"])
    before = (state() / "ringi.db").read_bytes()
    done = desk.run("reject", "p1", "--feedback", "no")
    assert done.returncode == 1
    assert "The ledger is an older copy" in done.stderr
    assert "ringi doctor --accept-backup" in done.stderr
    assert (state() / "ringi.db").read_bytes() == before
    assert desk.run("list").returncode == 0


@pytest.mark.req("PT-11")
def test_a_restored_backup_can_be_accepted(desk: Desk, tmp_path: Path):
    proposed(desk, NEW)
    backup = backed_up(tmp_path)
    assert desk.run("reject", "p1", "--feedback", "no").returncode == 0
    restore(backup)
    done = desk.run("doctor", "--accept-backup")
    assert done.returncode == 3, "nobody is there to say it"
    assert desk.run("reject", "p1", "--feedback", "no").returncode == 1
    assert "the ledger counts as it is" in accept(desk)
    assert desk.run("reject", "p1", "--feedback", "no").returncode == 0
    assert desk.run("log", "--verify").returncode == 0
    assert desk.run("doctor", "--repair").returncode == 0


@pytest.mark.req("PT-11")
def test_an_older_ledger_that_went_on_is_noticed(desk: Desk, tmp_path: Path):
    """Whoever writes to the older copy elsewhere cannot catch up with what was committed here."""
    proposed(desk, NEW)
    backup = backed_up(tmp_path)
    here = Path(shutil.copytree(state(), tmp_path / "here"))
    head = state().with_name(state().name + ".head")
    noted = head.read_bytes()
    for _ in range(3):
        proposed(desk, NEW)
    later = Path(shutil.copytree(state(), tmp_path / "later"))
    restore(backup)
    head.write_bytes(noted)
    for _ in range(2):
        proposed(desk, {**NEW, "content": "other\n"})
    assert desk.run("log", "--verify").returncode == 0
    restore(later)
    assert desk.run("log", "--verify").returncode == 1
    restore(here)
    assert desk.run("log", "--verify").returncode == 1


@pytest.mark.req("PT-8")
def test_a_revoked_grant_stays_revoked(desk: Desk, listed: RealKey, tmp_path: Path):
    new = ["grant", "new", "--for", "with:sh", "--path", "*.txt", "--sign", str(listed.path)]
    done = desk.run(*new)
    assert done.returncode == 0, done.stderr
    [grant] = desk.json("grant", "list")
    backup = backed_up(tmp_path)
    assert desk.run("grant", "revoke", grant["grant"]["id"]).returncode == 0
    restore(backup)
    accept(desk)
    assert "revoked" in desk.run("grant", "list").stdout
    desk.agent("echo one > one.txt")
    assert desk.json("list")[0]["status"] == "pending_review"
    assert desk.run("log", "--verify").returncode == 0


@pytest.mark.req("PT-8")
def test_a_grant_that_only_its_row_says_is_not_revoked(desk: Desk, listed: RealKey):
    new = ["grant", "new", "--for", "with:sh", "--path", "*.txt", "--sign", str(listed.path)]
    assert desk.run(*new).returncode == 0
    [grant] = desk.json("grant", "list")
    assert desk.run("grant", "revoke", grant["grant"]["id"]).returncode == 0
    with contextlib.closing(sqlite3.connect(state() / "ringi.db")) as database, database:
        database.execute("UPDATE grants SET revoked_at = NULL")
    assert "the ledger is an older copy" in desk.run("doctor").stdout
    done = desk.run("propose", "--title", "x")
    assert done.returncode == 1
    assert "The ledger is an older copy" in done.stderr
    accept(desk)
    assert "revoked" in desk.run("grant", "list").stdout


@pytest.mark.req("PT-11")
def test_a_head_that_is_behind_or_damaged_is_no_alarm(desk: Desk):
    proposed(desk, NEW)
    head = state().with_name(state().name + ".head")
    early = head.read_bytes()
    proposed(desk, NEW)
    for data in (early, b"", early[:-10], b"\xff" * 200, early.replace(b"0 ", b"9 ", 1)):
        head.write_bytes(data)
        assert desk.run("log", "--verify").returncode == 0, data
    head.unlink()
    proposed(desk, NEW)
    assert head.read_bytes()


@pytest.mark.req("PT-11")
def test_a_lost_ledger_is_not_an_older_one(desk: Desk):
    proposed(desk, NEW)
    shutil.rmtree(state())
    said = desk.run("doctor").stdout
    assert "the ledger has no plan, but .agent has 1" in said
    assert "rm -r" not in said
    done = desk.run("doctor", "--repair")
    assert done.returncode == 0, done.stdout
    assert desk.json("list")[0]["status"] == "proposed"
    assert desk.run("log", "--verify").returncode == 0


@pytest.mark.req("PT-10")
def test_a_forged_plan_folder_is_named_and_never_taken_in(desk: Desk, listed: RealKey):
    carried_out(desk, proposed(desk, NEW), listed)
    plans = desk.root / ".agent/logs/plans"
    [own] = [path for path in plans.iterdir() if path.is_dir()]
    forged = plans / str(uuid.uuid4())
    shutil.copytree(own, forged)
    document = (own / "plan.json").read_text().replace(own.name, forged.name)
    (forged / "plan.json").write_text(document)
    name = str(forged.relative_to(desk.root))
    for command in (["verify"], ["doctor"]):
        done = desk.run(*command)
        assert f"{name} is not from this ledger" in done.stdout
    assert f"→ rm -r {name}" in done.stdout
    desk.run("doctor", "--repair")
    assert [ref["id"] for ref in desk.json("list")] == [own.name]
    assert forged.exists()
    shutil.rmtree(forged)
    assert desk.run("doctor").returncode == 0


@pytest.mark.req("PT-10")
def test_an_altered_preview_is_named_and_removed(desk: Desk, listed: RealKey):
    carried_out(desk, proposed(desk, NEW), listed)
    [diff] = desk.root.glob(".agent/logs/plans/*/preview/*.diff")
    assert desk.run("doctor").returncode == 0
    diff.write_text(diff.read_text().replace("+new", "+harmless"))
    other = diff.with_name("s2-other.diff")
    other.write_text("+more\n")
    for command in (["verify"], ["doctor"]):
        done = desk.run(*command)
        for path in (diff, other):
            assert str(path.relative_to(desk.root)) in done.stdout
    done = desk.run("doctor", "--repair")
    assert done.returncode == 0, done.stdout
    assert not diff.exists()
    assert not other.exists()
