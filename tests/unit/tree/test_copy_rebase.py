"""A copy follows the project between turns, beside what was changed in it."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringi.kernel.places import Places, places_of
from ringi.tree.copy import WorkCopy
from ringi.tree.copy_rebase import Followed, follow_workspace, rebase
from tests.helpers import environment_of, make_files
from tests.unit.tree.repositories import commit, git

TEN = "".join(f"line {number}\n" for number in range(10))


@pytest.fixture
def places(repo: Path, tmp_path: Path) -> Places:
    make_files(
        repo, {"ten.txt": TEN, "other.txt": "other\n", "data.bin": "\0\1\2", "folder/deep.txt": "deep\n"}
    )
    commit(repo)
    return places_of(repo, environment_of(tmp_path))


@pytest.fixture
def copy(places: Places) -> WorkCopy:
    return WorkCopy.make(places.root, places.state, places.copies)


def follow(copy: WorkCopy, places: Places) -> Followed:
    return follow_workspace(copy, places.root, places.state)


def changed(copy: WorkCopy) -> dict[str, bytes | None]:
    """What a plan of it would hold."""
    return {change.path: change.after for change in copy.difference().changes}


@pytest.mark.req("PT-4")
def test_both_changes_are_there_and_only_the_agents_are_its_own(copy: WorkCopy, places: Places) -> None:
    mine = {"ten.txt": TEN.replace("line 8", "eight"), "new.txt": "new\n", "folder/deep.txt": None}
    theirs = {"ten.txt": TEN.replace("line 1", "one"), "other.txt": None, "theirs/too.txt": "too\n"}
    make_files(copy.tree, {path: text for path, text in mine.items() if text})
    (copy.tree / "folder/deep.txt").unlink()
    make_files(places.root, {path: text for path, text in theirs.items() if text})
    (places.root / "other.txt").unlink()
    (places.root / "data.bin").chmod(0o755)
    (places.root / "link").symlink_to("ten.txt")

    found = follow(copy, places)

    assert found.changed == ("data.bin", "link", "other.txt", "ten.txt", "theirs/too.txt")
    assert found.torn == ()
    both = TEN.replace("line 8", "eight").replace("line 1", "one").encode()
    assert changed(found.copy) == {"ten.txt": both, "new.txt": b"new\n", "folder/deep.txt": None}
    assert [one.before for one in found.copy.difference().changes if one.path == "ten.txt"] == [
        TEN.replace("line 1", "one").encode()
    ]
    assert (copy.tree / "theirs/too.txt").read_text() == "too\n"
    assert not (copy.tree / "other.txt").exists()
    assert (copy.tree / "data.bin").stat().st_mode & 0o111
    assert (copy.tree / "link").readlink() == Path("ten.txt")
    assert follow(found.copy, places) == Followed(found.copy)
    assert WorkCopy.open(copy.folder).base == found.copy.base


def test_the_same_lines_leave_the_copy_as_it_is(copy: WorkCopy, places: Places) -> None:
    make_files(copy.tree, {"ten.txt": "mine\n", "data.bin": "\0mine", "a": "file\n", "both": "mine\n"})
    (copy.tree / "other.txt").unlink()
    make_files(
        places.root,
        {"ten.txt": "theirs\n", "data.bin": "\0theirs", "a/b": "folder\n", "both": "theirs\n"}
        | {"other.txt": "kept\n", "folder/deep.txt": "deeper\n"},
    )
    before = changed(copy)
    found = follow(copy, places)
    assert found.copy is copy
    assert set(found.torn) == {"ten.txt", "data.bin", "a", "both", "other.txt"}
    assert "folder/deep.txt" in found.changed
    assert changed(copy) == before
    assert (copy.tree / "folder/deep.txt").read_text() == "deep\n"


def test_what_both_did_alike_is_nobodys_change(copy: WorkCopy, places: Places) -> None:
    for folder in (copy.tree, places.root):
        make_files(folder, {"ten.txt": "alike\n", "both": "alike\n"})
        (folder / "other.txt").unlink()
    found = follow(copy, places)
    assert found.torn == ()
    assert changed(found.copy) == {}


def test_what_the_agent_keeps_in_git_is_its_own(copy: WorkCopy, places: Places) -> None:
    make_files(copy.tree, {"other.txt": "stashed\n"})
    git(copy.tree, "stash")
    make_files(copy.tree, {"new.txt": "new\n"})
    make_files(places.root, {"other.txt": "theirs\n"})
    commit(places.root, "theirs")
    found = follow(copy, places).copy
    assert (found.tree / "other.txt").read_text() == "theirs\n"
    again = rebase(found, places.root, places.state, found.difference().tree)
    assert again is not None
    assert "stash@{0}" in git(again.tree, "stash", "list")
    assert not (again.tree / "new.txt").exists(), "it was in the plan that was thrown away"


def test_after_its_plan_ended_it_has_the_project_and_what_nobody_has_seen(
    copy: WorkCopy, places: Places
) -> None:
    make_files(copy.tree, {"ten.txt": "planned\n", "a": "planned\n"})
    known = copy.difference().tree
    make_files(copy.tree, {"late.txt": "late\n", "other.txt": "late\n", "b/c": "late\n"})
    make_files(places.root, {"other.txt": "theirs\n", "a/deep": "theirs\n", "b": "theirs\n"})
    make_files(places.root, {".agent/config.yaml": "{}\n"})
    git(places.root, "add", "-f", ".")
    head = commit(places.root, "theirs")
    again = rebase(copy, places.root, places.state, known, plan_id="")
    assert again is not None
    assert changed(again) == {"late.txt": b"late\n", "other.txt": b"late\n", "b/c": b"late\n", "b": None}
    assert (again.tree / "ten.txt").read_text() == TEN
    assert (again.tree / "a/deep").read_text() == "theirs\n"
    assert (again.tree / ".agent/config.yaml").read_text() == "{}\n"
    assert git(again.tree, "rev-parse", "HEAD").strip() == head
    assert again.difference().left_out == ()


def test_a_link_that_the_agent_puts_in_the_way_leads_nowhere(copy: WorkCopy, places: Places) -> None:
    make_files(places.root, {"folder/deep.txt": "theirs\n", "folder/more.txt": "more\n"})
    outside = places.root.parent / "outside"
    make_files(outside, {"deep.txt": "of the person\n"})
    shutil.rmtree(copy.tree / "folder")
    (copy.tree / "folder").symlink_to(outside)
    found = follow(copy, places)
    assert "folder" in found.torn
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"deep.txt": "of the person\n"}


def test_a_mode_of_the_person_stays(copy: WorkCopy, places: Places) -> None:
    for folder in (copy.tree, places.root):
        make_files(folder, {"both": "alike\n"})
    (places.root / "both").chmod(0o755)
    found = follow(copy, places).copy
    assert changed(found) == {}


def test_what_was_planned_before_is_known_with_their_changes(copy: WorkCopy, places: Places) -> None:
    make_files(copy.tree, {"ten.txt": TEN.replace("line 8", "eight")})
    copy.note(planned_tree=copy.difference().tree)
    make_files(copy.tree, {"late.txt": "late\n"})
    make_files(places.root, {"ten.txt": TEN.replace("line 1", "one"), "other.txt": "v2\n"})
    found = follow(copy, places).copy
    make_files(places.root, {"other.txt": "v3\n"})
    again = rebase(found, places.root, places.state, found.record.planned_tree)
    assert again is not None
    assert changed(again) == {"late.txt": b"late\n"}
    assert (again.tree / "other.txt").read_text() == "v3\n"


def test_a_new_file_that_git_ignores_since_is_named(copy: WorkCopy, places: Places) -> None:
    make_files(copy.tree, {"new.dat": "new\n"})
    make_files(places.root, {".gitignore": "*.dat\n"})
    assert follow(copy, places).hidden == ("new.dat",)


def test_cut_off_before_it_was_noted_it_is_done_again(copy: WorkCopy, places: Places) -> None:
    make_files(copy.tree, {"ten.txt": TEN.replace("line 8", "eight")})
    make_files(places.root, {"ten.txt": TEN.replace("line 1", "one"), "other.txt": "theirs\n"})
    follow(copy, places)
    copy.note()  # the record as it was before
    found = follow(WorkCopy.open(copy.folder), places)
    assert found.torn == ()
    both = TEN.replace("line 8", "eight").replace("line 1", "one").encode()
    assert changed(found.copy) == {"ten.txt": both}


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n"]), max_size=6).map("".join)
FILES = st.dictionaries(st.sampled_from(["x", "y", "z", "d/x"]), LINES)


@given(base=FILES, mine=FILES, theirs=FILES)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_projects_own_changes_are_never_in_the_agents_plan(
    base: dict[str, str],
    mine: dict[str, str],
    theirs: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("follow")
    root = folder / "project"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    make_files(root, base)
    places = places_of(root, environment_of(folder))
    copy = WorkCopy.make(root, places.state, places.copies)
    for place, files in ((copy.tree, mine), (root, theirs)):
        for path in base:
            (place / path).unlink()
        make_files(place, files)
    untouched = {path for path in {*base, *mine} if base.get(path) == mine.get(path)}
    found = follow_workspace(copy, root, places.state)
    assert not untouched & changed(found.copy).keys()
    if not found.torn:
        for path in untouched:
            there = found.copy.tree / path
            assert (there.read_text() if there.exists() else None) == theirs.get(path)
