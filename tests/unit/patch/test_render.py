"""Diffs that `git apply` takes, byte for byte, there and back."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.patch.render import FileSide, Rendered, is_binary, render
from tests.tables import each

NAMES = [
    "plain.txt", "with space.txt", " lead and trail ", "tab\there", 'quo"te', "new\nline", "back\\slash",
    "é.txt", "日本語/名", "deep/er/file", "-dash", "a\x01b", "b/a/b", "x\x7f", "'single'", "#hash",
    "a b/c d",
    "emoji\U0001f600", "cr\r", "bell\x07", "dollar$", "star*", "semi;colon", "per%cent", "nbsp\u00a0x",
    "\u202eright",
]  # fmt: skip
LINES = [
    b"a\n", b"b\n", b"\n", b"crlf\r\n", b"\r\n", b"lone\rcr\n", b"\xff\xfe\n", b"-minus\n", b"+plus\n",
    b" \n",
    b"@@ -1 +1 @@\n", b"diff --git a/x b/x\n", b"\\ No newline\n", "é日\n".encode(), b"--- a/x\n",
    b"+++ b/x\n",
]  # fmt: skip
lines = st.sampled_from(LINES)
bodies = st.builds(
    lambda many, last: b"".join(many) + last,
    st.lists(lines, max_size=25),
    st.sampled_from([b"", b"no newline", b"\r", b"x\ry", b"\xff"]),
)
sides = st.none() | st.builds(FileSide, bodies, st.sampled_from(["100644", "100755"]))
cases = st.lists(st.tuples(sides, sides).filter(any), min_size=len(NAMES), max_size=len(NAMES))


def lay_out(folder: Path, files: dict[str, FileSide | None]) -> None:
    for name, side in files.items():
        if side is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(side.data)
            path.chmod(0o755 if side.mode == "100755" else 0o644)


def found(folder: Path) -> dict[str, FileSide]:
    files = [Path(place, name) for place, _, names in os.walk(folder) for name in names]
    return {
        str(path.relative_to(folder)): FileSide(
            path.read_bytes(), "100755" if path.stat().st_mode & 0o100 else "100644"
        )
        for path in files
    }


def git_apply(folder: Path, diff: bytes, *options: str) -> None:
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", *options],
        cwd=folder,
        input=diff,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode() + diff.decode("utf-8", "backslashreplace")


def check_applies(folder: Path, changes: dict[str, tuple[FileSide | None, FileSide | None]]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    old = {name: pair[0] for name, pair in changes.items() if pair[0] is not None}
    new = {name: pair[1] for name, pair in changes.items() if pair[1] is not None}
    lay_out(folder, old)
    diff = b"".join(render(name, *pair).diff for name, pair in changes.items() if pair[0] != pair[1])
    if not diff:
        return
    git_apply(folder, diff)
    assert found(folder) == new
    git_apply(folder, diff, "-R")
    assert found(folder) == old


@pytest.mark.req("PT-7", "PT-10")
@settings(max_examples=40)
@given(pairs=cases)
def test_git_applies_what_we_render(tmp_path_factory: pytest.TempPathFactory, pairs):
    folder = tmp_path_factory.getbasetemp() / "render"
    check_applies(folder, dict(zip(NAMES, pairs, strict=True)))


@pytest.mark.req("PT-7")
@each(
    ("old", "new"),
    [
        (None, b"new\n"),
        (None, b""),
        (b"", None),
        (b"old", None),
        (b"", b"x\n"),
        (b"x\n", b""),
        (b"x", b"x\n"),
        (b"x\n", b"x"),
        (b"a\r\nb\r\n", b"a\nb\n"),
        (b"a\rb\r", b"a\rc\r"),
        (
            b"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n",
            b"X\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\nY\n",
        ),
        (b"1\n2\n3\n4\n5\n6\n7\n8\n9\n", b"X\n2\n3\n4\n5\n6\n7\n8\nY\n"),
        (b"\x80\x81\n", b"\x82\n"),
    ],
)
def test_corners(tmp_path: Path, old: bytes | None, new: bytes | None):
    sides = [None if data is None else FileSide(data, "100644") for data in (old, new)]
    check_applies(tmp_path / "work", {"file": tuple(sides)})


@pytest.mark.req("PT-7")
def test_modes_alone_and_with_content(tmp_path: Path):
    check_applies(
        tmp_path / "work",
        {
            "only mode": (FileSide(b"x\n", "100644"), FileSide(b"x\n", "100755")),
            "back": (FileSide(b"x\n", "100755"), FileSide(b"x\n", "100644")),
            "both": (FileSide(b"x\n", "100644"), FileSide(b"y\n", "100755")),
            "empty": (FileSide(b"", "100644"), FileSide(b"", "100755")),
            "new": (None, FileSide(b"#!/bin/sh\n", "100755")),
        },
    )


@given(st.tuples(sides, sides))
def test_the_totals_are_those_of_the_diff(pair: tuple[FileSide | None, FileSide | None]):
    rendered = render("x", *pair)
    body = rendered.diff.split(b"\n@@ ", 1)
    inside = (b"@@ " + body[1]).split(b"\n") if len(body) == 2 else []
    assert rendered.added == sum(line.startswith(b"+") for line in inside)
    assert rendered.removed == sum(line.startswith(b"-") for line in inside)
    assert not rendered.binary
    if pair[0] and pair[1] and pair[0].data == pair[1].data:
        assert rendered.added == rendered.removed == 0


def test_binary_files_are_named_not_shown():
    old, new = FileSide(b"a\0b", "100644"), FileSide(b"text\n", "100755")
    assert render("x", old, new) == Rendered(
        b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\nBinary files a/x and b/x differ\n",
        0,
        0,
        binary=True,
        weight=2,
    )
    assert b"\0" not in render("x", old, new).diff
    assert render("x", None, old).diff.endswith(b"Binary files /dev/null and b/x differ\n")
    assert render("x", old, None).diff.endswith(b"Binary files a/x and /dev/null differ\n")
    assert b"differ" not in render("x", old, FileSide(old.data, "100755")).diff


def test_what_counts_as_binary():
    assert is_binary(b"\0")
    assert is_binary(b"x" * 7999 + b"\0")
    assert not is_binary(b"x" * 8000 + b"\0")
    assert not is_binary(b"\xff\xfe\r\n")


def test_nothing_changed_is_an_empty_difference():
    side = FileSide(b"x\n", "100644")
    assert render("x", side, side) == Rendered(b"diff --git a/x b/x\n", 0, 0, binary=False)


def test_long_files_are_rendered_quickly():
    old = b"".join(b"line %d\n" % n for n in range(50_000))
    new = old.replace(b"line 777\n", b"changed\n").replace(b"line 49999\n", b"")
    rendered = render("x", FileSide(old, "100644"), FileSide(new, "100644"))
    assert (rendered.added, rendered.removed) == (1, 2)
