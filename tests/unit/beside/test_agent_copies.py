"""Copies stay as long as somebody may go on in them; a crash loses nothing and makes nothing twice."""

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ringi.agents.sandbox import AgentSandbox
from ringi.app.api import Workspace, open_workspace
from ringi.app.doctor import REPAIR, Doctor, Mark
from ringi.app.store import Store
from ringi.beside import launch as beside
from ringi.beside.copies import agent_copies, find_abandoned, find_kept, make_room, remove_settled, size_of
from ringi.beside.resume import find_copy, resume_in
from ringi.errors import BegunInEditor, Busy, CopyFailed, NothingToResume, StorageFailed
from ringi.plans.document import DropSpec, NewContent, PlanStatus
from ringi.plans.from_difference import Taken
from ringi.tree.copy import Supervisor, WorkCopy
from ringi.tree.copy_run import SCRATCH
from tests.fakes.people import InterruptingClock
from tests.helpers import Person, approve, deep_folders, environment_of, ledger_of, rewire, shallow_stack

OLD = "2020-01-01T00:00:00.000000Z"


@pytest.fixture
def workspace(repo: Path, tmp_path: Path) -> Iterator[Workspace]:
    with open_workspace(repo, environment=environment_of(tmp_path), person=Person()) as opened:
        yield opened


def worked(workspace: Workspace, **files: str) -> WorkCopy:
    """A copy in which an agent has just ended."""
    copy = beside.make_copy(workspace, ["agent", "--x"], (), lambda _: None)
    for name, text in files.items():
        (copy.tree / name).write_text(text)
    copy.note(supervisor=None, ended_at=workspace.clock.now())
    return copy


def taken(workspace: Workspace, copy: WorkCopy, **more: object) -> Taken:
    environment = workspace.environment
    return beside.take(
        workspace, copy, ["agent"], sandbox=AgentSandbox(None), environment=environment, **more
    )


def done(workspace: Workspace, plan_id: str) -> None:
    approve(workspace, plan_id)
    assert workspace.plan.execute(plan_id).overall_success


def test_a_copy_stays_while_its_plan_is_open(workspace: Workspace) -> None:
    copy = worked(workspace, new="x\n")
    plan = taken(workspace, copy).plan
    assert plan is not None
    assert remove_settled(workspace) == []
    ((found, ref, days, too_old),) = find_kept(workspace)
    assert (found.id, ref and ref.id, days, too_old) == (copy.id, plan.id, 0, False)
    workspace.plan.reject(plan.id, "no")
    assert workspace.plan.get_state(plan.id).status is PlanStatus.PROPOSED
    assert remove_settled(workspace) == []
    workspace.plan.mark_pending(plan.id, pending=True)
    done(workspace, plan.id)
    assert remove_settled(workspace) == []  # nothing to be told about it
    assert not copy.folder.exists()


def test_an_old_copy_goes_and_that_is_said(workspace: Workspace) -> None:
    for left_out, words in ((False, "was removed (p1)"), (True, "work in it that no plan could hold")):
        copy = worked(workspace, new=str(left_out))
        taken(workspace, copy)
        copy.note(ended_at=OLD, left_out=left_out)
        (told,) = remove_settled(workspace)
        assert words in str(told)
        assert not copy.folder.exists()


def test_what_no_plan_could_carry_outlives_its_plan(workspace: Workspace) -> None:
    copy = worked(workspace, new="x\n")
    (copy.tree / "link").symlink_to("new")
    ref = taken(workspace, copy).plan
    assert ref is not None
    done(workspace, ref.id)
    assert remove_settled(workspace) == []
    assert copy.folder.exists()


def test_an_agent_that_can_continue_elsewhere_keeps_only_what_it_needs(workspace: Workspace) -> None:
    copy = beside.make_copy(workspace, ["aider"], (), lambda _: None)
    for name in ("new", ".aider.chat.history.md"):
        (copy.tree / name).write_text("x\n")
    copy.note(supervisor=None, ended_at=workspace.clock.now())
    ref = beside.take(workspace, copy, ["aider"], sandbox=AgentSandbox(None), environment={}).plan
    assert ref is not None
    done(workspace, ref.id)
    for _ in range(2):
        assert remove_settled(workspace) == []
        assert [path.name for path in copy.tree.iterdir()] == [".aider.chat.history.md"]
    assert find_kept(workspace) == []
    assert find_copy(workspace, ref.name).id == copy.id
    copy.note(emptied=True, ended_at=OLD)
    assert remove_settled(workspace) == []
    assert not copy.folder.exists()


@pytest.mark.parametrize("why", ["running", "not taken", "claimed", "of a check"])
def test_a_copy_that_somebody_needs_never_goes(workspace: Workspace, why: str) -> None:
    copy = worked(workspace, new="x\n")
    ref = taken(workspace, copy).plan
    assert ref is not None
    done(workspace, ref.id)
    copy.note(ended_at=OLD)
    if why == "running":
        copy.note(supervisor=Supervisor.this_process(), command=("agent",), taken=False)
        copy.note(taken=True)
    elif why == "not taken":
        copy.note(taken=False)
    elif why == "of a check":
        copy.note(command=(SCRATCH,))
    if why == "claimed":
        with copy.claim():
            assert remove_settled(workspace) == []
    else:
        assert remove_settled(workspace) == []
    assert copy.folder.exists()


def test_one_copy_is_one_agents(workspace: Workspace) -> None:
    copy = worked(workspace)
    with copy.claim():
        with pytest.raises(Busy, match="another command"), WorkCopy.open(copy.folder).claim():
            pytest.fail("it was claimed twice")
        with pytest.raises(FileNotFoundError):
            (copy.tree / "nowhere").read_bytes()
    with copy.claim():
        copy.remove()
    with pytest.raises(CopyFailed, match="gone"), copy.claim():
        pytest.fail("it is not there")


class DyingLedger:
    """The ledger, until the power goes after so many transactions."""

    def __init__(self, ledger: Store, transactions: int) -> None:
        self._ledger = ledger
        self._left = transactions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def transaction(self) -> Any:
        self._left -= 1
        if self._left < 0:
            raise StorageFailed(what="ledger", why="the power went")
        return self._ledger.transaction()


@pytest.mark.parametrize(("after", "noted"), [(0, False), (1, False), (2, True)])
def test_a_crash_while_it_becomes_a_plan_makes_no_second_one(
    workspace: Workspace, after: int, noted: bool
) -> None:
    """Before the plan is there, before it has specs, and before its checks are saved."""
    copy = worked(workspace, new="x\n")
    ledger = ledger_of(workspace)
    rewire(workspace, store=DyingLedger(ledger, after))
    with pytest.raises(StorageFailed):
        taken(workspace, copy, checks=["true"])
    rewire(workspace, store=ledger)
    copy = WorkCopy.open(copy.folder)
    assert [found.id for found in find_abandoned(workspace)] == ([] if noted else [copy.id])
    again = taken(workspace, copy)
    assert again.plan is not None
    assert [ref.id for ref in workspace.plan.list()] == [again.plan.id]
    assert again.plan.version == 1
    assert workspace.plan.get_state(again.plan.id).previews.files == ("new",)
    assert again.new is not noted


def test_later_work_is_a_new_version_and_no_work_is_none(workspace: Workspace) -> None:
    copy = worked(workspace, new="x\n")
    first = taken(workspace, copy)
    assert (first.again, first.new) == (False, True)
    same = taken(workspace, copy)
    assert (same.again, same.new, same.plan and same.plan.version) == (True, False, 1)
    (copy.tree / "new").write_text("y\n")
    second = taken(workspace, copy)
    assert (second.again, second.new, second.plan and second.plan.version) == (True, True, 2)
    (copy.tree / "new").unlink()
    nothing = taken(workspace, copy)
    assert (nothing.empty, nothing.plan and nothing.plan.version) == (True, 2)


def test_what_the_person_changed_meanwhile_is_pointed_out(workspace: Workspace) -> None:
    copy = worked(workspace, one="1\n", two="2\n")
    ref = taken(workspace, copy).plan
    assert ref is not None
    resume_in(workspace, copy)
    specs = workspace.plan.get_state(ref.id).action_specs
    workspace.plan.amend(ref.id, [DropSpec(specs[0].id)])
    (copy.tree / "two").write_text("3\n")
    assert taken(workspace, copy).meanwhile == 2


def test_only_what_the_agent_left_alone_is_laid_in(workspace: Workspace) -> None:
    copy = worked(workspace, one="1\n", two="2\n", three="3\n", four="4\n")
    (copy.tree / "README.md").unlink()
    ref = taken(workspace, copy).plan
    assert ref is not None
    specs = {spec.base.path: spec.id for spec in workspace.plan.get_state(ref.id).action_specs}
    dropped = [DropSpec(specs[name]) for name in ("one", "two", "README.md")]
    assert workspace.plan.amend(ref.id, [*dropped, NewContent(specs["three"], "mine\n")]).ok
    (copy.tree / "two").write_text("the agent went on\n")
    handed = resume_in(workspace, copy, ["more"])
    assert handed.laid == ("README.md", "one", "three")
    assert handed.not_laid == ("two",)
    assert not (copy.tree / "one").exists()
    assert (copy.tree / "three").read_text() == "mine\n"
    assert (copy.tree / "README.md").read_text() == "# Sample\n"
    assert (copy.tree / "two").read_text() == "the agent went on\n"
    assert (copy.tree / "four").read_text() == "4\n"
    assert handed.argv == ("agent", "--x", "more")
    assert handed.as_file
    assert not WorkCopy.open(copy.folder).record.taken
    assert "dropped: one" in handed.feedback.read_text()


def test_a_message_too_long_for_a_word_is_a_file(workspace: Workspace) -> None:
    copy = worked(workspace, one="1\n")
    ref = taken(workspace, copy).plan
    assert ref is not None
    copy.note(command=("/opt/claude", "--verbose", "first words"))
    workspace.plan.reject(ref.id, "short")
    handed = resume_in(workspace, copy, ["--model", "x"])
    assert handed.argv[:2] == ("/opt/claude", "--continue")
    assert handed.argv[3:] == ("--verbose", "--model", "x")
    assert "> short" in handed.argv[2]
    workspace.plan.mark_pending(ref.id, pending=True)
    workspace.plan.reject(ref.id, "long " * 30_000)
    handed = resume_in(workspace, copy)
    assert str(handed.feedback) in handed.argv[2]
    assert len(handed.argv[2]) < 500
    assert "> long long" in handed.feedback.read_text()


def test_work_on_a_plan_that_is_done_meanwhile_is_another_plan(workspace: Workspace) -> None:
    copy = worked(workspace, new="x\n")
    first = taken(workspace, copy).plan
    assert first is not None
    done(workspace, first.id)
    (copy.tree / "more").write_text("y\n")
    second = taken(workspace, copy)
    assert second.plan is not None
    assert (second.plan.name, second.again) == ("p2", False)


def test_plans_on_the_same_files_are_pointed_out(workspace: Workspace) -> None:
    taken(workspace, worked(workspace, one="1\n", both="1\n"))
    second = taken(workspace, worked(workspace, two="2\n", both="2\n"))
    assert [(other.name, other.paths) for other in second.overlaps] == [("p1", ("both",))]


def test_the_newest_copy_that_can_be_resumed(workspace: Workspace) -> None:
    with pytest.raises(NothingToResume):
        find_copy(workspace)
    one, two, cut_off = (worked(workspace, new=name) for name in "abc")
    for copy in (one, two):
        taken(workspace, copy)
    assert find_copy(workspace).id == cut_off.id
    cut_off.remove()
    assert find_copy(workspace).id == two.id
    assert find_copy(workspace, "p1").id == one.id
    two.note(by_editor=True)
    assert find_copy(workspace).id == one.id
    with pytest.raises(BegunInEditor):
        find_copy(workspace, "p2")
    two.note(by_editor=False)
    for path in two.tree.iterdir():
        path.rename(one.folder / path.name)
    assert find_copy(workspace).id == one.id
    with pytest.raises(NothingToResume, match="gone"):
        find_copy(workspace, "p2")
    one.remove()
    with pytest.raises(NothingToResume, match="no copy"):
        find_copy(workspace, "p1")
    assert [copy.id for copy in agent_copies(workspace)] == [two.id]


def test_the_doctor_names_what_is_kept(workspace: Workspace, repo: Path, tmp_path: Path) -> None:
    open_one, cut_off, left, old = (worked(workspace, new=name) for name in "abcd")
    (left.tree / "link").symlink_to("new")
    for copy in (open_one, left, old):
        taken(workspace, copy)
    old.note(ended_at=OLD)
    found = {
        (finding.mark, str(finding.mend).partition(" ")[0]): str(finding.text)
        for finding in Doctor(repo, environment_of(tmp_path)).examine()
        if "/tree" in str(finding.text)
    }
    assert len(found) == 3
    assert "can resume p1" in found[Mark.GOOD, ""]
    assert "(0 days, 0." in found[Mark.GOOD, ""]
    assert "not all of it is in a plan" in found[Mark.NOTE, "rm"]
    assert "MB" in found[Mark.NOTE, "ringi"] or "not a plan yet" in found[Mark.NOTE, "ringi"]
    assert cut_off.folder.exists()


def test_two_who_take_the_same_copy_make_one_plan(workspace: Workspace) -> None:
    worked(workspace, new="x\n")
    (one,), (two,) = find_abandoned(workspace), find_abandoned(workspace)
    for copy in (one, two):
        with copy.claim():
            assert taken(workspace, copy).plan is not None
    assert ledger_of(workspace).plans.count() == 1


def test_what_somebody_went_on_with_meanwhile_stays(workspace: Workspace) -> None:
    copy = worked(workspace, new="x\n")
    assert taken(workspace, copy).plan
    copy.note(ended_at=OLD)
    assert find_kept(workspace)[0].settled
    real = workspace.clock
    rewire(workspace, clock=InterruptingClock(real, lambda: copy.note(ended_at=real.now())))
    assert remove_settled(workspace) == []
    assert copy.tree.is_dir()
    assert not find_kept(workspace)[0].settled


def times(workspace: Workspace, *days: int) -> list[str]:
    now = datetime.fromisoformat(workspace.clock.now())
    return [(now - timedelta(days=ago)).isoformat() for ago in days]


def test_copies_take_no_more_than_their_room(repo: Path, tmp_path: Path) -> None:
    environment = environment_of(tmp_path, RINGI_KEEP_COPIES_MB="5")
    with open_workspace(repo, environment=environment, person=Person()) as workspace:
        copies = [worked(workspace, new=name) for name in "abcd"]
        (copies[0].tree / "link").symlink_to("new")
        for copy, ended in zip(copies, times(workspace, 4, 3, 2, 1), strict=True):
            taken(workspace, copy)
            (copy.tree / "large").write_bytes(os.urandom(2_000_000))
            copy.note(ended_at=ended)
        found = [str(one.text) for one in Doctor(repo, environment).examine() if one.mend == REPAIR]
        assert found == ["copies take more than 5 MB (keep.copies_mb): 1 of them will go"]
        with copies[1].claim():
            assert make_room(workspace) == [], "somebody is about to use it"
        (told,) = make_room(workspace)
        assert "was removed (p2): copies may take 5 MB" in str(told)
        assert {copy.id for copy in agent_copies(workspace)} == {copies[n].id for n in (0, 2, 3)}
        assert make_room(workspace) == [], "work that no plan holds stays, and so do two that fit"


def test_the_newest_copy_always_has_room(repo: Path, tmp_path: Path) -> None:
    environment = environment_of(tmp_path, RINGI_KEEP_COPIES_MB="0")
    with open_workspace(repo, environment=environment, person=Person()) as workspace:
        old, running, cut_off, newest = (worked(workspace, new=name) for name in "abcd")
        for copy, ended in ((old, times(workspace, 1)[0]), (newest, workspace.clock.now())):
            taken(workspace, copy)
            copy.note(ended_at=ended)
        running.note(supervisor=Supervisor.this_process(), command=("agent",))
        make_room(workspace)
        assert {copy.id for copy in agent_copies(workspace)} == {running.id, cut_off.id, newest.id}


def test_the_true_size_of_a_folder(tmp_path: Path):
    folder, mebibyte = tmp_path / "copy", 1024 * 1024
    (folder / "below").mkdir(parents=True)
    (folder / "data").write_bytes(os.urandom(2 * mebibyte))
    (folder / "below" / "again").hardlink_to(folder / "data")
    with (folder / "holes").open("wb") as file:
        file.truncate(500 * mebibyte)
        os.fsync(file)
    os.sync()
    deep_folders(folder, 200)
    with shallow_stack():
        assert 2 * mebibyte <= size_of(folder) < 4 * mebibyte
