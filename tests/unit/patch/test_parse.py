"""All the forms in which text patches come."""

import subprocess
import tracemalloc
from pathlib import Path

import pytest

from ringi.patch.apply import apply_patch, outcome
from ringi.patch.parse import parse_patch
from ringi.patch.patch import FilePatch, Hunk, Patch, PatchKind, dump
from tests.helpers import steps_of
from tests.tables import each

X = b"a\nb\nc\n"
HUNK = b"@@ -1,3 +1,3 @@ def f():\n a\n-b\n+B\n c\n"
GOOD = b"diff --git a/x b/x\nindex 12..34 100644\n--- a/x\n+++ b/x\n" + HUNK


def test_a_patch_as_data():
    assert parse_patch(GOOD) == Patch(
        (
            FilePatch(
                PatchKind.CHANGED,
                "x",
                "x",
                "100644",
                "100644",
                (Hunk(1, 3, 1, 3, b" def f():", b" a\n-b\n+B\n c\n"),),
                blobs=b"12..34 100644",
                header=GOOD.removesuffix(HUNK),
            ),
        )
    )
    assert parse_patch(GOOD).files[0].hunks[0].lines == [b" a\n", b"-b\n", b"+B\n", b" c\n"]


MAIL = (
    b"From 1234 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.invalid>\nSubject: [PATCH] Change\n\n"
    b"Some words\n--- not a file\n---\n x | 2 +-\n 1 file changed\n\n"
)


@pytest.mark.req("CP-4")
@each(
    "patch",
    [
        GOOD,
        b"--- a/x\n+++ b/x\n" + HUNK,
        b"--- a/x\t2024-01-01 10:00:00.000000000 +0100\n+++ b/x\t2024-01-02 10:00:00 +0100\n" + HUNK,
        b"diff -u old/x new/x\n--- old/x\n+++ new/x\n" + HUNK,
        b"Index: x\n=====\n--- x\n+++ x\n" + HUNK,
        MAIL + GOOD + b"-- \n2.39.5\n\n",
        MAIL + GOOD + b"-- \n2.39.5",
        MAIL + GOOD + b"--\n2.39.5\n",
        GOOD + b"\ncommit 1234\n\n    words with space\n",
        b'diff --git "a/x" "b/x"\n--- "a/x"\n+++ "b/x"\n' + HUNK,
        b"diff --git i/x w/x\n--- i/x\n+++ w/x\n" + HUNK,
        b"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n+B\n-b\n c\n",
        b"--- a/x\n+++ b/x\n@@ -2 +2 @@\n-b\n+B\n",
        b"--- a/x\n+++ b/x\n@@ -2,1 +2,1 @@\n-b\n+B\n",
        b"--- a/x\n+++ b/x\n@@ -1,0 +2 @@\n+B\n@@ -2 +2,0 @@\n-b\n",
    ],
)
def test_one_change_in_many_words(patch: bytes):
    assert apply_patch(patch, {"x": X}.get) == {"x": b"a\nB\nc\n"}
    assert apply_patch(dump(parse_patch(patch)), {"x": X}.get) == {"x": b"a\nB\nc\n"}


@each(
    ("old", "new", "kind"),
    [
        (b"/dev/null", b"b/n", PatchKind.NEW),
        (b"a/n\t1970-01-01 00:00:00.000000000 +0000", b"b/n\t2024-01-01 00:00:00 +0000", PatchKind.NEW),
        (b"a/n\t1970-01-01 09:00:00.000000000 +0900", b"b/n\t2024-01-01 00:00:00 +0000", PatchKind.NEW),
        (b"a/n\t1969-12-31 19:00:00.000000000 -0500", b"b/n", PatchKind.NEW),
        (b"a/n\t1969-12-31 19:00:00.000000000 -0600", b"b/n", PatchKind.CHANGED),
    ],
)
def test_plain_patches_tell_new_files_as_git_does(old: bytes, new: bytes, kind: PatchKind):
    patch = parse_patch(b"--- %s\n+++ %s\n@@ -0,0 +1 @@\n+n\n" % (old, new))
    assert [(file.kind, file.path) for file in patch.files] == [(kind, "n")]


@pytest.mark.req("CP-4")
def test_renames_and_copies_rest_on_the_files_as_they_were():
    patch = (
        b"diff --git a/a b/b\nsimilarity index 50%\nrename from a\nrename to b\n--- a/a\n+++ b/b\n"
        b"@@ -1 +1 @@\n-1\n+one\n"
        b"diff --git a/b b/a\nsimilarity index 100%\nrename from b\nrename to a\n"
        b"diff --git a/a b/c\nsimilarity index 100%\ncopy from a\ncopy to c\n"
        b"diff --git a/m b/m\nold mode 100644\nnew mode 100755\n"
    )
    files = {"a": b"1\n", "b": b"2\n", "m": b"same\n"}
    assert apply_patch(patch, files.get) == {"a": b"2\n", "b": b"one\n", "c": b"1\n", "m": b"same\n"}
    seen = outcome(parse_patch(patch), files.get)
    assert [(file.path, file.old_path, str(file.kind), file.new_mode) for file in seen] == [
        ("b", "a", "renamed", None),
        ("a", "b", "renamed", None),
        ("c", "a", "copied", None),
        ("m", "m", "changed", "100755"),
    ]


def test_a_renamed_file_gives_both_paths():
    patch = b"diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n"
    assert apply_patch(patch, {"a": b"1"}.get) == {"a": None, "b": b"1"}


def test_the_same_as_diff(tmp_path: Path):
    """What diff itself says of two folders, names with blanks and times included."""
    for side, text in (("old", "1\n2\n3\n"), ("new", "1\n2\nthree")):
        (tmp_path / side).mkdir()
        (tmp_path / side / "with blank").write_text(text)
    (tmp_path / "new" / "only").write_text("new\n")
    said = subprocess.run(
        ["diff", "-ruN", "old", "new"], cwd=tmp_path, capture_output=True, check=False
    ).stdout
    assert apply_patch(said, {"with blank": b"1\n2\n3\n"}.get) == {
        "with blank": b"1\n2\nthree",
        "only": b"new\n",
    }


@pytest.mark.req("CP-4")
def test_fifty_megabytes_take_little_more_than_their_size():
    text = b"".join(b"line %d with some words to make it longer\n" % number for number in range(1_100_000))
    size = text.count(b"\n")
    patch = (
        b"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,%d @@\n+" % size
        + text[:-1].replace(b"\n", b"\n+")
        + b"\n"
    )
    assert len(patch) > 50_000_000
    tracemalloc.start()
    assert apply_patch(patch, {}.get) == {"n": text}
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * len(patch)


@pytest.mark.req("CP-4")
def test_a_hundred_thousand_hunks_take_linear_time():
    def steps(count: int) -> int:
        lines = [b"%d\n" % number for number in range(8 * count)]
        hunks = b"".join(
            b"@@ -%d,3 +%d,3 @@\n %s-%s+new\n %s" % (at + 1, at + 1, *lines[at : at + 3])
            for at in range(0, 8 * count, 8)
        )
        old = b"".join(lines)
        results: list[bytes | None] = []
        taken = steps_of(
            lambda: results.append(apply_patch(b"--- a/x\n+++ b/x\n" + hunks, {"x": old}.get)["x"])
        )
        assert results[0].count(b"new\n") == count
        return taken

    assert steps(100_000) < 11 * steps(10_000)
