"""After a loss of power: a command notices damaged notes, or a damaged branch of a run, and mends it."""

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ringi.approvals.statement import NOTES
from ringi.engine.run_state import RunPhase
from ringi.kernel.process.refs import ASIDE
from ringi.runs.undo import undo_run
from tests.fakes.signing import RealKey
from tests.functional.desk import MENU, Desk
from tests.functional.run_desk import FIX, RunDesk, a_plan, a_step, at_home, by_step, project
from tests.functional.test_proving import carried_out, ledger, proposed
from tests.helpers import rewinding
from tests.support.damage import (
    CUT,
    HOSTILE,
    Damage,
    empty_commit,
    empty_everything,
    empty_log,
    empty_ref,
    empty_tree,
    git,
    is_sound,
    locked_ref,
    loosen,
    lost_commit,
    notes_of,
    object_file,
    overwrite,
)
from tests.tables import each

each_cut = each("damage", CUT, between="rewind")
each_damage = each("damage", [*CUT, *HOSTILE], between="rewind")
each_kind = each("damage", [empty_ref, lost_commit, empty_everything, locked_ref], between="rewind")
"""Where every damage is mended in the same way, which other tests show."""
BRANCH = "aiflow/RQ-20260101-001/20260101-000000"


@pytest.fixture
def worked(desk: Desk, listed: RealKey) -> Desk:
    """Two plans were carried out, somebody else hung a note on a file in between, a third plan waits."""
    for number in (1, 2, 3):
        plan = proposed(desk, {"kind": "create", "path": f"n{number}", "content": f"{number}\n"})
        if number == 3:
            assert desk.run("approve", plan, "--sign", str(listed.path)).returncode == 0
        else:
            carried_out(desk, plan, listed)
        if number == 1:
            readme = git(desk.root, "rev-parse", "HEAD:README.md")
            git(desk.root, "notes", "--ref", NOTES, "add", "-m", "theirs", readme)
            git(desk.root, "notes", "--ref", "other", "add", "-m", "elsewhere", readme)
    return desk


@pytest.fixture
def rewind(request: pytest.FixtureRequest) -> Iterator[Callable[[], None]]:
    """Repository, ledger and home as the test found them."""
    if "run" in request.fixturenames:
        desk: RunDesk = request.getfixturevalue("run")
        folders = [desk.root.parent]
    else:
        request.getfixturevalue("worked")
        folders = [request.getfixturevalue(name) for name in ("tmp_path", "isolated")]
    with rewinding(*folders) as call:
        yield call


def aside(root: Path) -> list[str]:
    """What was moved out of the way, under the paths that it had."""
    top = root / ".git" / ASIDE
    return sorted(str(Path(*one.relative_to(top).parts[1:])) for one in top.rglob("*") if not one.is_dir())


def said(desk: Desk, *words: str) -> str:
    done = desk.run(*words)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout + done.stderr


class TestNotes:
    @each_damage
    def test_execute_mends_them(self, worked: Desk, damage: Damage) -> None:
        before = notes_of(worked.root)
        damage(worked.root, NOTES)
        told = said(worked, "execute", "p3")
        assert "were damaged" in told
        assert ASIDE in told
        after = notes_of(worked.root)
        # Every proof is there again, byte for byte, with the new one, and nothing of others is lost.
        assert before.items() <= after.items()
        assert len(after) == len(before) + 1 == 4
        assert "elsewhere" in git(worked.root, "notes", "--ref", "other", "show", "HEAD:README.md")
        assert is_sound(worked.root)
        assert said(worked, "verify", "--all")
        assert "were damaged" not in said(worked, "recover")

    @each_damage
    def test_doctor_says_so_and_recover_mends_them(self, worked: Desk, damage: Damage) -> None:
        before = notes_of(worked.root)
        damage(worked.root, NOTES)
        done = worked.run("doctor")
        assert done.returncode == 1
        assert f"{NOTES} in the repository is damaged" in done.stdout
        assert "→ ringi recover" in done.stdout
        done = worked.run("verify", "p1")
        assert done.returncode == 1
        assert "are damaged" in done.stdout
        assert "ringi recover" in done.stdout
        assert "were damaged" in said(worked, "recover")
        assert notes_of(worked.root) == before
        assert said(worked, "doctor")
        assert said(worked, "verify", "p1")
        assert is_sound(worked.root)

    @each_kind
    def test_a_clone_without_a_ledger_gets_them_from_the_remote(
        self, worked: Desk, tmp_path: Path, damage: Damage
    ) -> None:
        hub, before = tmp_path / "hub", notes_of(worked.root)
        git(tmp_path, "init", "-q", "--bare", str(hub))
        git(worked.root, "remote", "add", "origin", str(hub))
        said(worked, "sync")
        git(worked.root, "push", "-q", "origin", "HEAD")
        git(tmp_path, "clone", "-q", "--no-hardlinks", str(hub), "clone")
        clone = Desk(tmp_path / "clone")
        said(clone, "sync")
        if damage is not empty_log:  # it has none, because git keeps one only for what it moves
            damage(clone.root, NOTES)
        said(clone, "sync")
        assert notes_of(clone.root) == before
        assert is_sound(clone.root)

    def test_nothing_is_deleted(self, worked: Desk) -> None:
        empty_everything(worked.root, NOTES)
        log = (worked.root / ".git" / "logs" / NOTES).read_bytes()
        said(worked, "recover")
        kept = aside(worked.root)
        assert NOTES in kept
        assert sum(one.startswith("objects/") for one in kept) >= 3
        [folder] = (worked.root / ".git" / ASIDE).iterdir()
        assert (folder / "logs" / NOTES).read_bytes() == log

    def test_notes_of_others_survive_where_no_log_tells_of_them(self, worked: Desk) -> None:
        before = notes_of(worked.root)
        empty_log(worked.root, NOTES)
        (worked.root / ".git" / NOTES).unlink()
        (worked.root / ".git" / NOTES).write_bytes(b"")
        said(worked, "recover")
        assert notes_of(worked.root) == before

    @each("log", ["cut", "empty", "gone"], between="rewind")
    def test_notes_that_git_wrote_survive_whatever_is_left_of_the_log(self, worked: Desk, log: str) -> None:
        git(worked.root, "notes", "--ref", "elsewhere", "add", "-m", "not for here", "HEAD")
        for words in ("first of Bob", "second of Bob"):
            blob = git(worked.root, "hash-object", "-w", "--stdin", stdin=words.encode())
            git(worked.root, "notes", "--ref", "ringi", "add", "-m", words, blob)
        path = worked.root / ".git" / "logs" / NOTES
        lines = path.read_text().splitlines(keepends=True)
        if log == "gone":
            path.unlink()
        else:
            path.write_text("".join(lines[:-1]) if log == "cut" else "")
        empty_ref(worked.root, NOTES)
        assert worked.run("recover").returncode == 0
        kept = [git(worked.root, "cat-file", "blob", line.split()[0]) for line in
                git(worked.root, "notes", "--ref", "ringi", "list").splitlines()]  # fmt: skip
        assert {"first of Bob", "second of Bob"} <= set(kept)
        assert "not for here" not in kept

    def test_notes_of_others_survive_in_a_tip_of_which_only_a_part_is_lost(self, worked: Desk) -> None:
        """The newest commit has a note of somebody else's, and the one of ours in it is empty."""
        readme, blob = (
            git(worked.root, "rev-parse", "HEAD:README.md"),
            git(worked.root, "hash-object", "n2"),
        )
        git(worked.root, "notes", "--ref", NOTES, "append", "-m", "later", readme)
        before = notes_of(worked.root)
        loosen(worked.root)
        note = git(worked.root, "notes", "--ref", NOTES, "list", blob)
        overwrite(object_file(worked.root, note), b"")
        said(worked, "recover")
        after = notes_of(worked.root)
        assert after[readme].split() == before[readme].split() == ["theirs", "later"]
        assert {**after, readme: ""} == {**before, readme: ""}

    def test_a_ref_that_is_gone_without_its_log_is_damaged(self, worked: Desk) -> None:
        """Git deletes both: nobody did this on purpose, and the notes of others come back too."""
        before = notes_of(worked.root)
        (worked.root / ".git" / NOTES).unlink()
        done = worked.run("verify", "p1")
        assert (done.returncode, "it is gone, but its log is there" in done.stdout) == (1, True)
        assert "were damaged" in said(worked, "recover")
        assert notes_of(worked.root) == before
        assert said(worked, "verify", "p1")

    def test_notes_that_somebody_deleted_stay_deleted(self, worked: Desk) -> None:
        before = notes_of(worked.root)
        git(worked.root, "update-ref", "-d", NOTES)
        assert "damaged" not in said(worked, "list")
        assert "→ ringi recover --notes" in said(worked, "verify", "p1")
        told = said(worked, "recover")
        assert "the notes do not have the proofs of p2, p1" in told
        assert "→ ringi recover --notes" in told
        assert worked.json("recover") == []
        assert git(worked.root, "for-each-ref", NOTES) == ""
        [mended] = worked.json("recover", "--notes")
        assert mended["ref"] == NOTES
        readme = git(worked.root, "rev-parse", "HEAD:README.md")
        assert notes_of(worked.root).keys() == before.keys() - {readme}
        assert "do not have the proof" not in said(worked, "verify", "p1")

    @each_kind
    def test_a_range_is_not_verified_by_them(self, worked: Desk, damage: Damage) -> None:
        git(worked.root, "add", "n1", "n2")
        git(worked.root, "commit", "-qm", "Two files")
        verified = ("--json", "verify", "HEAD~1..HEAD", "--mode", "agents")
        whole = json.loads(said(worked, *verified))
        damage(worked.root, NOTES)
        done = worked.run(*verified)
        if damage is locked_ref:  # they can be read all the same
            assert (done.returncode, json.loads(done.stdout)) == (0, whole)
            return
        error = json.loads(done.stdout)["error"]
        assert (done.returncode, error["code"]) == (1, "notes_damaged")
        assert "ringi recover" in done.stderr
        assert worked.run("why", "n1:1").returncode == 1
        said(worked, "recover")
        assert json.loads(said(worked, *verified)) == whole

    @each("words", [(), ("list",), ("status",), ("log",), ("show", "p1"), ("list", "--pending")])
    def test_every_command_says_so(self, worked: Desk, words: tuple[str, ...]) -> None:
        assert "damaged" not in said(worked, *words)
        empty_ref(worked.root, NOTES)
        told = said(worked, *words)
        assert f"! {NOTES} in the repository is damaged: it is empty" in told
        assert "→ ringi recover" in told
        done = worked.run("--json", *words)
        assert json.loads(done.stdout) is not None
        assert "→ ringi recover" in done.stderr
        said(worked, "recover")
        assert "damaged" not in said(worked, *words)

    @each_damage
    def test_each_damage_is_seen_without_git(self, worked: Desk, damage: Damage) -> None:
        damage(worked.root, NOTES)
        assert f"{NOTES} in the repository is damaged" in said(worked, "list")

    @each("packed", [False, True], between="rewind")
    def test_sound_ones_are_not_suspected(self, worked: Desk, packed: bool) -> None:
        if packed:
            git(worked.root, "gc", "-q")
        else:
            loosen(worked.root)
        assert "damaged" not in said(worked, "list")

    def test_a_tree_whose_commit_is_lost_keeps_notes_of_others(self, worked: Desk) -> None:
        readme = git(worked.root, "rev-parse", "HEAD:README.md")
        git(worked.root, "notes", "--ref", NOTES, "append", "-m", "later", readme)
        git(worked.root, "notes", "--ref", "other", "append", "-m", "not for here", readme)
        before = notes_of(worked.root)
        empty_commit(worked.root, NOTES)
        object_file(worked.root, "refs/notes/other").unlink()
        (worked.root / ".git" / "refs" / "notes" / "other").unlink()
        assert "could not be kept" not in said(worked, "recover")
        after = notes_of(worked.root)
        assert after[readme].split() == ["theirs", "later"]
        assert {**after, readme: ""} == {**before, readme: ""}

    def test_notes_that_could_not_be_kept_are_counted(self, worked: Desk) -> None:
        readme = git(worked.root, "rev-parse", "HEAD:README.md")
        loosen(worked.root)
        overwrite(object_file(worked.root, git(worked.root, "notes", "--ref", NOTES, "list", readme)), b"")
        done = worked.run("--json", "recover")
        assert done.returncode == 0
        [mended] = json.loads(done.stdout)
        assert (mended["ref"], mended["lost_notes"], mended["lost_plans"]) == (NOTES, [readme], [])
        assert Path(mended["aside"]).is_dir()
        assert f"1 notes that others wrote could not be kept, on the blobs {readme[:12]}." in done.stderr

    def test_what_others_added_in_a_lost_list_cannot_be_counted(self, worked: Desk) -> None:
        blob = git(worked.root, "hash-object", "-w", "--stdin", stdin=b"x")
        git(worked.root, "notes", "--ref", NOTES, "add", "-m", "last", blob)
        empty_everything(worked.root, NOTES)
        assert "what others added last may be missing" in said(worked, "recover")

    def test_plans_whose_proof_cannot_be_rebuilt_are_named(self, worked: Desk) -> None:
        """The approval was typed: only the files would tell what it was about."""
        plan = proposed(worked, {"kind": "write", "path": "README.md", "content": "new\n"})
        terminal = worked.terminal("apply", plan)
        terminal.answer(MENU, "a")
        assert terminal.end()[0] == 0
        assert len(notes_of(worked.root)) == 4
        (worked.root / "README.md").write_text("newer\n")
        with contextlib.closing(sqlite3.connect(ledger())) as database, database:
            database.execute("DELETE FROM contents")
        empty_everything(worked.root, NOTES)
        done = worked.run("--json", "recover")
        [mended] = json.loads(done.stdout)
        assert mended["lost_plans"] == ["p4"], done.stderr
        assert "1 proofs could not be kept" in done.stderr
        assert "p4" in done.stderr

    def test_other_people_s_objects_stay(self, worked: Desk) -> None:
        """An unfinished commit of the person's own is no affair of ours."""
        readme = git(worked.root, "rev-parse", "HEAD:README.md")
        empty_commit(worked.root, NOTES)
        kept = object_file(worked.root, readme).read_bytes()
        said(worked, "recover")
        assert object_file(worked.root, readme).read_bytes() == kept

    @pytest.mark.parametrize("damaged", [False, True])
    def test_no_git_is_started_by_a_plain_command(self, worked: Desk, tmp_path: Path, damaged: bool) -> None:
        if damaged:
            empty_ref(worked.root, NOTES)
        log, shim = tmp_path / "log", tmp_path / "bin"
        shim.mkdir()
        real = shutil.which("git")
        (shim / "git").write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {real} "$@"\n')
        (shim / "git").chmod(0o755)
        done = worked.process("list", PATH=f"{shim}:/usr/bin:/bin")
        assert (done.returncode, "is damaged" in done.stdout) == (0, damaged)
        assert not log.exists()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[RunDesk]:
    """One step is committed and published; another one comes."""
    more = "printf '\\ndef sub(a, b):\\n    return a - b\\n' >> calc.py"
    with at_home(monkeypatch) as base:
        desk = RunDesk(project(base / "p"), implementer=by_step(FIX, more))
        desk.start(a_plan(a_step(1), a_step(2)))
        desk.go(max_steps=1)
        desk.decide("S01")
        assert len(desk.commits()) == 1
        yield desk


def folder_of(desk: RunDesk) -> Path:
    with desk.open() as workspace:
        return workspace.branch(desk.run_id).folder


class TestBranch:
    @each_cut
    def test_continue_puts_it_back(self, run: RunDesk, damage: Damage) -> None:
        tip = git(run.root, "rev-parse", BRANCH)
        damage(run.root, f"refs/heads/{BRANCH}")
        assert Desk(run.root).run("doctor").returncode == 1
        run.go()
        assert git(run.root, "rev-parse", BRANCH) == tip
        if damage is CUT[-1]:
            assert run.decide("S02").phase is RunPhase.COMPLETED
            assert len(run.commits()) == 2
        assert is_sound(run.root)

    @each_cut
    def test_a_range_is_not_verified_by_it(self, run: RunDesk, damage: Damage) -> None:
        desk, ref = Desk(run.root), f"refs/heads/{BRANCH}"
        words = ("--json", "verify", f"main..{BRANCH}")
        whole = json.loads(said(desk, *words))
        damage(run.root, ref)
        if damage is not locked_ref:
            done = desk.run(*words)
            error = json.loads(done.stdout)["error"]
            assert (done.returncode, error["code"] in {"ref_damaged", "clone_damaged"}) == (1, True), error
            assert "ringi recover" in done.stderr
            assert "unshallow" not in done.stderr
        assert f"{ref} in the repository is damaged" in said(desk, "list")
        mended = desk.json("recover")
        assert [one["ref"] for one in mended] == [ref]
        assert json.loads(said(desk, *words)) == whole
        assert "damaged" not in said(desk, "list")

    def test_a_branch_that_no_run_made_is_not_suspected(self, run: RunDesk) -> None:
        desk, ref = Desk(run.root), "refs/heads/aiflow/mine"
        git(run.root, "branch", "aiflow/mine")
        empty_ref(run.root, ref)
        assert "damaged" not in said(desk, "list")
        done = desk.run("verify", "main..aiflow/mine")
        assert (done.returncode, f"{ref} in the repository is damaged: it is empty" in done.stderr) == (
            1,
            True,
        )

    @each("damage", HOSTILE, between="rewind")
    def test_a_hostile_one_does_not_hurt(self, run: RunDesk, damage: Damage) -> None:
        tip = git(run.root, "rev-parse", BRANCH)
        damage(run.root, f"refs/heads/{BRANCH}")
        assert "it is back at" in said(Desk(run.root), "recover")
        assert git(run.root, "rev-parse", BRANCH) == tip
        assert is_sound(run.root)

    def test_it_comes_back_although_its_folder_is_gone(self, run: RunDesk) -> None:
        tip = git(run.root, "rev-parse", BRANCH)
        shutil.rmtree(folder_of(run))
        empty_ref(run.root, f"refs/heads/{BRANCH}")
        assert "it is back at" in said(Desk(run.root), "recover")
        assert git(run.root, "rev-parse", BRANCH) == tip
        run.go()
        assert run.decide("S02").phase is RunPhase.COMPLETED

    @each("name", ["HEAD", "index", f"refs/heads/{BRANCH}"], between="rewind")
    def test_a_damaged_folder_is_mended(self, run: RunDesk, name: str) -> None:
        overwrite(folder_of(run) / "tree" / ".git" / name, b"")
        assert "was damaged and is mended" in said(Desk(run.root), "recover")
        run.go()
        assert run.decide("S02").phase is RunPhase.COMPLETED
        assert len(run.commits()) == 2

    def test_a_folder_that_lost_its_alternates_is_made_anew(self, run: RunDesk) -> None:
        own = folder_of(run) / "tree"
        overwrite(own / ".git" / "objects" / "info" / "alternates", b"")
        overwrite(own / ".git" / "refs" / "ringi" / "published", b"")
        overwrite(own / ".git" / "refs" / "heads" / BRANCH, b"")
        assert "made anew" in said(Desk(run.root), "recover")
        run.go()
        assert run.decide("S02").phase is RunPhase.COMPLETED
        assert len(run.commits()) == 2

    @each("damage", [empty_commit, empty_tree, empty_everything], between="rewind")
    def test_what_cannot_be_had_any_more_is_said(self, run: RunDesk, damage: Damage) -> None:
        shutil.rmtree(folder_of(run))
        damage(run.root, f"refs/heads/{BRANCH}")
        told = said(Desk(run.root), "recover")
        assert "no commit of the run can be read any more" in told
        assert f"ringi cancel {run.run_id}" in told
        assert is_sound(run.root)
        stopped = run.go()
        assert stopped.stop is not None
        assert "ringi cancel" in str(stopped.stop.next_action)
        assert said(Desk(run.root), "doctor")
        assert said(Desk(run.root), "cancel", run.run_id)

    @each_kind
    def test_undo_takes_a_damaged_one_back(self, run: RunDesk, damage: Damage) -> None:
        damage(run.root, f"refs/heads/{BRANCH}")
        with run.open() as workspace:
            assert undo_run(workspace, run.run_id).branch == BRANCH
        assert git(run.root, "branch", "--list", BRANCH) == ""
        assert is_sound(run.root)
