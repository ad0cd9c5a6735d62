"""A copy follows the project between turns, beside what was changed in it."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringi.workspace.copy import WorkCopy
from ringi.workspace.copy_rebase import Followed, followed
from ringi.workspace.places import Places, places_of
from tests.helpers import environment_of, make_files
from tests.unit.workspace.repositories import commit, git

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
    return followed(copy, places.root, places.state)


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


def test_a_commit_of_the_person_is_known_and_one_of_the_agent_is_kept(copy: WorkCopy, places: Places) -> None:
    make_files(copy.tree, {"new.txt": "new\n"})
    make_files(places.root, {"other.txt": "committed\n"})
    head = commit(places.root, "theirs")
    found = follow(copy, places).copy
    assert git(found.tree, "rev-parse", "HEAD").strip() == head
    assert git(found.tree, "status", "--porcelain") == "?? new.txt\n"
    make_files(found.tree, {"mine.txt": "mine\n"})
    own = commit(found.tree, "mine")
    make_files(places.root, {"other.txt": "again\n"})
    commit(places.root, "theirs again")
    again = follow(found, places).copy
    assert git(again.tree, "rev-parse", "HEAD").strip() == own
    assert (again.tree / "other.txt").read_text() == "again\n"
    assert changed(again) == {"new.txt": b"new\n", "mine.txt": b"mine\n"}


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
    found = followed(copy, root, places.state)
    assert not untouched & changed(found.copy).keys()
    if not found.torn:
        for path in untouched:
            there = found.copy.tree / path
            assert (there.read_text() if there.exists() else None) == theirs.get(path)
