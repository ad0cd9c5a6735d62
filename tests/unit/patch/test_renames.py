"""Which file became which: git is asked the same."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.patch.renames import renames, similarity

HALF = b"".join(b"line %d\n" % number for number in range(10))


def tree_of(folder: Path, files: Mapping[str, bytes]) -> str:
    index = folder / "index"
    index.unlink(missing_ok=True)
    entries = []
    for path, data in files.items():
        blob = git(folder, "hash-object", "-w", "--stdin", given=data).strip()
        entries.append(b"100644 %s\t%s\n" % (blob, path.encode()))
    git(folder, "update-index", "--index-info", given=b"".join(entries), GIT_INDEX_FILE=str(index))
    return git(folder, "write-tree", GIT_INDEX_FILE=str(index)).decode().strip()


def git(folder: Path, *words: str, given: bytes = b"", **environment: str) -> bytes:
    done = subprocess.run(
        ["git", *words], cwd=folder, input=given, capture_output=True, check=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), **environment},
    )  # fmt: skip
    return done.stdout


def by_git(folder: Path, deleted: Mapping[str, bytes], created: Mapping[str, bytes]) -> dict[str, str]:
    trees = [tree_of(folder, files) for files in (deleted, created)]
    said = git(folder, "diff-tree", "-r", "-M", "-z", "--name-status", *trees).decode().split("\0")
    words = iter(said[:-1])
    found = {}
    for status in words:
        old = next(words)
        if status.startswith("R"):
            found[next(words)] = old
    return found


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("git")
    git(folder, "init", "-q")
    return folder


LINES = [b"%s %d\n" % (word, number) for word in (b"alpha", b"beta", b"\xff") for number in range(6)]
# Git compares hashes of 64 bytes, and those of 64 x and 64 y are equal: the long line is of many letters.
LINES += [b"x" * 63 + b"\n", b"x" * 64 + b"\n", bytes(range(0x21, 0x7B)) * 2 + b"\n", b"crlf\r\n", b"\n"]
bodies = st.lists(st.sampled_from(LINES), max_size=12).map(b"".join)


@settings(max_examples=60, deadline=None)
@given(old=bodies, new=bodies)
def test_one_file_is_renamed_if_git_says_so(repository: Path, old: bytes, new: bytes):
    assert renames({"old": old}, {"new": new}) == by_git(repository, {"old": old}, {"new": new})


@settings(max_examples=60, deadline=None)
@given(contents=st.lists(bodies, min_size=6, max_size=6, unique=True), shared=bodies, data=st.data())
def test_no_file_is_used_twice_and_each_pair_is_alike(repository, contents, shared, data):
    paths = ["a/one", "a/two", "b/three"]
    old = {path: shared + body for path, body in zip(paths, contents, strict=False)}
    names = data.draw(st.permutations(["c/one", "c/two", "d/four"]))
    new = {path: shared + body for path, body in zip(names, contents[3:], strict=True)}
    found = renames(old, new)
    assert len(set(found.values())) == len(found)
    assert all(similarity(old[before], new[after]) >= 0.5 for after, before in found.items())
    assert bool(found) == bool(by_git(repository, old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"a/x": HALF, "b/y": HALF}, {"c/y": HALF, "c/x": HALF}),
        ({"a/x": HALF * 2, "a/y": HALF + b"y\n" * 5}, {"b/z": HALF + b"y\n" * 4, "b/x": HALF + HALF[:80]}),
        ({"a": b""}, {"b": b""}),
        ({"a": b"\0\1\2" * 100}, {"b": b"\0\1\2" * 90 + b"\n"}),
        ({"a": HALF}, {"b": HALF, "c": HALF}),
        ({"a": HALF}, {"b": HALF.replace(b"\n", b"\r\n")}),
        ({"a": HALF}, {"b": HALF + b"x" * len(HALF) + b"\n"}),
        ({"a": HALF + b"x" * (len(HALF) - 1) + b"\n"}, {"b": HALF}),
    ],
)
def test_several_files_are_paired_as_git_pairs_them(repository: Path, old, new):
    assert renames(old, new) == by_git(repository, old, new)


def test_equal_files_are_found_among_very_many():
    old = {f"old/{number}": b"%d\n" % number * 50 for number in range(3000)}
    new = {f"new/{number}": data for number, (_, data) in enumerate(old.items())}
    found = renames(old, new)
    assert len(found) == 3000
    assert found["new/7"] == "old/7"


def test_too_many_to_compare_are_left_as_they_are():
    old = {f"old/{number}": HALF + b"%d\n" % number for number in range(300)}
    new = {f"new/{number}": HALF + b"other %d\n" % number for number in range(300)}
    assert renames(old, new) == {}
