"""Patches as models write them: made exact, or refused with what was not found or where it would fit."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.errors import AmbiguousPatch, BadPatch, BinaryPatch, PatchMismatch
from ringi.patch.apply import apply_patch
from ringi.patch.render import FileDelta, FileSide, render_patch
from ringi.patch.repair import normalise
from tests.tables import each
from tests.unit.patch.generated import LINES, Git, bodies, edits

CODE = b"""import os


def one():
    return 1


def two():
    x = 2
    return x


def three():
    x = 2
    return 3
"""
MARK = b"\\ No newline at end of file\n"
FILES = {
    "app/code.py": CODE,
    "crlf.txt": b"a\r\nb\r\nc\r\n",
    "mixed.txt": b"a\r\nb\nc\r\n",
    "bare.txt": b"a\nb",
    "same.txt": b"x\n" * 9,
    "pair.txt": b"s\nt\n1\ns\nt\n2\ns\nt\n",
    "md.md": b"# T\n\n```py\nx\n```\n",
}
ONE = CODE.replace(b"return 1", b"return 10")
HEAD = b"--- a/app/code.py\n+++ b/app/code.py\n"
BODY = b" def one():\n-    return 1\n+    return 10\n"


def mended(patch: bytes) -> dict[str, bytes | None]:
    exact = normalise(patch, FILES.get)
    assert normalise(exact, FILES.get) == exact
    return apply_patch(exact, FILES.get)


REPAIRED = {
    "right": HEAD + b"@@ -4,2 +4,2 @@\n" + BODY,
    "wrong line": HEAD + b"@@ -400,2 +12,2 @@\n" + BODY,
    "wrong counts": HEAD + b"@@ -4,7 +4,9 @@\n" + BODY,
    "counts too small": HEAD + b"@@ -4,1 +4,1 @@\n" + BODY,
    "no numbers": HEAD + b"@@ ... @@\n" + BODY,
    "no numbers, two signs": HEAD + b"@@ @@\n" + BODY,
    "bare signs": HEAD + b"@@\n" + BODY,
    "a heading only": HEAD + b"@@ def one():\n" + BODY,
    "diff --git": b"diff --git a/app/code.py b/app/code.py\n" + HEAD + b"@@ -1 +1 @@\n" + BODY,
    "no --- lines": b"diff --git a/app/code.py b/app/code.py\n@@ -1 +1 @@\n" + BODY,
    "no prefixes": b"--- app/code.py\n+++ app/code.py\n@@ -4,2 +4,2 @@\n" + BODY,
    "git line without prefixes": b"diff --git app/code.py app/code.py\n@@ @@\n" + BODY,
    "fence": b"Here it is:\n\n```diff\n" + HEAD + b"@@ -1 +1 @@\n" + BODY + b"```\n\n- I changed it\n+ all\n",
    "open fence": b"```\n" + HEAD + b"@@ -1 +1 @@\n" + BODY,
    "no last newline": HEAD + b"@@ -1 +1 @@\n" + BODY.removesuffix(b"\n"),
    "prose": b"I did this:\n" + HEAD + b"@@ -1 +1 @@\n" + BODY + b"\nThat is all.\n",
    "mail": b"From: x\n\n---\n" + HEAD + b"@@ -1 +1 @@\n" + BODY + b"-- \n2.39.5\n\n",
    "lost spaces": HEAD + b"@@ -1,9 +1,9 @@\n import os\n\n\n" + BODY + b"\n\n def two():\n",
    "blank lines after": HEAD + b"@@ -1,9 +1,9 @@\n" + BODY + b"\n\n\n\n\n",
    "converted": (HEAD + b"@@ -1 +1 @@\n" + BODY).replace(b"\n", b"\r\n"),
    "times": b"--- a/app/code.py\t2024-01-01\n+++ b/app/code.py\t2024\n@@ -1 +1 @@\n" + BODY,
    "nothing beside": HEAD + b"@@ -1 +1 @@\n" + BODY + b"@@ -9 +9 @@\n import os\n",
}


@pytest.mark.req("CP-4")
@each("patch", REPAIRED.values())
def test_one_change_however_it_is_written(patch: bytes):
    assert mended(patch) == {"app/code.py": ONE}


@pytest.mark.req("CP-4")
@each(
    ("patch", "result"),
    [
        # Two hunks that overlap in their context.
        (
            HEAD
            + b"@@ @@\n def one():\n-    return 1\n+    return 10\n \n \n"
            + b"@@ @@\n \n \n-def two():\n+def zwei():\n",
            {"app/code.py": ONE.replace(b"two", b"zwei")},
        ),
        # Fits twice alone; the hunk before leaves one place.
        (
            HEAD + b"@@ @@\n-def three():\n+def drei():\n@@ @@\n-    x = 2\n+    x = 3\n",
            {"app/code.py": CODE.replace(b"three():\n    x = 2", b"drei():\n    x = 3")},
        ),
        # Ambiguous text, but every number is right.
        (
            b"--- a/same.txt\n+++ b/same.txt\n@@ -3,9 +3,9 @@\n x\n-x\n+y\n x\n",
            {"same.txt": b"x\nx\nx\ny\nx\nx\nx\nx\nx\n"},
        ),
        # CR LF that the patch does not know of.
        (b"--- a/crlf.txt\n+++ b/crlf.txt\n@@ @@\n a\n-b\n+B\n+B2\n", {"crlf.txt": b"a\r\nB\r\nB2\r\nc\r\n"}),
        (b"--- a/crlf.txt\n+++ b/crlf.txt\n@@ -1 +1 @@\n a\r\n-b\r\n+B\n", {"crlf.txt": b"a\r\nB\nc\r\n"}),
        # A missing newline that the patch does not speak of stays missing.
        (b"--- a/bare.txt\n+++ b/bare.txt\n@@ @@\n a\n-b\n+B\n", {"bare.txt": b"a\nB"}),
        (b"--- a/bare.txt\n+++ b/bare.txt\n@@ @@\n-a\n+A\n b\n", {"bare.txt": b"A\nb"}),
        (b"--- a/bare.txt\n+++ b/bare.txt\n@@ @@\n b\n+c\n", {"bare.txt": b"a\nb\nc"}),
        (
            b"--- a/bare.txt\n+++ b/bare.txt\n@@ @@\n-b\n" + MARK + b"+B\n",
            {"bare.txt": b"a\nB\n"},
        ),
        (
            b"--- a/bare.txt\n+++ b/bare.txt\n@@ @@\n-b\n+B\n" + MARK,
            {"bare.txt": b"a\nB"},
        ),
        # New, deleted, renamed, with another mode.
        (b"--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,7 @@\n+x\n+y\n", {"new.py": b"x\ny\n"}),
        (b"--- a/new.py\n+++ b/new.py\n@@ -0,0 +1,7 @@\n+x\n", {"new.py": b"x\n"}),
        (b"diff --git a/n b/n\nnew file mode 100755\n@@ -0,0 +1,7 @@\n+x\n", {"n": b"x\n"}),
        (b"diff --git a/n b/n\nnew file mode 100644\n", {"n": b""}),
        (b"--- a/bare.txt\n+++ /dev/null\n@@ -1,9 +0,0 @@\n-a\n-b\n", {"bare.txt": None}),
        (
            b"diff --git a/bare.txt b/b.txt\nrename from bare.txt\nrename to b.txt\n@@ -7 +7 @@\n-a\n+A\n",
            {"bare.txt": None, "b.txt": b"A\nb"},
        ),
        (
            b"diff --git a/bare.txt b/b.txt\ncopy from bare.txt\ncopy to b.txt\n@@ -7 +7 @@\n-a\n+A\n",
            {"b.txt": b"A\nb"},
        ),
        # A code fence inside the file is no fence of the answer.
        (b"--- a/md.md\n+++ b/md.md\n@@ @@\n ```py\n-x\n+y\n ```\n", {"md.md": b"# T\n\n```py\ny\n```\n"}),
    ],
)
def test_what_follows_from_the_text(patch: bytes, result: dict[str, bytes | None]):
    assert mended(patch) == result


@pytest.mark.req("CP-4")
@each(
    ("patch", "hunk", "candidates"),
    [
        (HEAD + b"@@ @@\n-    x = 2\n+    x = 3\n", 1, "9, 14"),
        (b"--- a/same.txt\n+++ b/same.txt\n@@ @@\n-x\n+y\n", 1, "1, 2, 3, 4, 5, 6, 7, 8, …"),
        (b"--- a/pair.txt\n+++ b/pair.txt\n@@ @@\n s\n-t\n+T\n", 1, "1, 4, 7"),
        (b"--- a/pair.txt\n+++ b/pair.txt\n@@ @@\n-1\n+I\n@@ @@\n-s\n+S\n", 2, "4, 7"),
        (b"--- a/pair.txt\n+++ b/pair.txt\n@@ @@\n-s\n+S\n@@ @@\n-2\n+II\n", 1, "1, 4"),
        (b"--- a/pair.txt\n+++ b/pair.txt\n@@ @@\n+new\n", 1, "1, 2, 3, 4, 5, 6, 7, 8, …"),
    ],
)
def test_what_fits_more_than_once_is_not_guessed(patch: bytes, hunk: int, candidates: str):
    with pytest.raises(AmbiguousPatch) as caught:
        normalise(patch, FILES.get)
    assert (caught.value.details["hunk"], caught.value.details["candidates"]) == (hunk, candidates)


@each(
    ("patch", "why"),
    [
        (
            HEAD + b"@@ @@\n def one():\n-    return 7\n+    return 8\n",
            "hunk 1 is not in it: “    return 7” does not follow “def one():”",
        ),
        (HEAD + b"@@ @@\n-def four():\n+x\n", "hunk 1 is not in it: there is no line “def four():”"),
        (HEAD + b"@@ @@\n-def  one():\n+x\n", "hunk 1 is not in it: there is no line “def  one():”"),
        (
            HEAD + b"@@ @@\n-def three():\n+x\n@@ @@\n-def one():\n+y\n",
            "hunk 2 fits only before or inside the hunk before it",
        ),
        (b"--- a/mixed.txt\n+++ b/mixed.txt\n@@ @@\n-a\n+A\n", "hunk 1 is not in it: there is no line “a”"),
        (b"--- a/no\n+++ b/no\n@@ @@\n-a\n+A\n", "there is no such file"),
        (b"--- /dev/null\n+++ b/bare.txt\n@@ @@\n+A\n", "it is there already"),
        (
            b"--- a/bare.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
            "it is to be deleted and has more lines than the patch removes",
        ),
        (
            b"--- a/crlf.txt\n+++ b/crlf.txt\n@@ @@\n-c\n" + MARK + b"+C\n",
            "hunk 1 says that the file ends without a newline, and it does not",
        ),
        (
            b"--- a/bare.txt\n+++ b/bare.txt\n@@ @@\n-a\n" + MARK + b"+C\n",
            "hunk 1 says that the file ends with it, and it does not",
        ),
        (
            b"diff --git a/l b/l\nnew file mode 120000\n@@ @@\n+x\n",
            "it is a link or a repository of its own, not a file",
        ),
    ],
)
def test_what_is_not_in_the_file_is_named(patch: bytes, why: str):
    with pytest.raises(PatchMismatch) as caught:
        normalise(patch, FILES.get)
    assert str(caught.value.details.get("why")) == why


@each(
    ("patch", "why"),
    [
        (b"", "it is empty (line 1)"),
        (b"I changed nothing.\n", "no file is named in it (line 1)"),
        (b"@@ -1 +1 @@\n-a\n+b\n", "a hunk without a file (line 1)"),
        (HEAD + b"@@ @@\n" + BODY + b"lost its sign\n+x\n", "a line stands outside of every hunk (line 8)"),
        ((HEAD + b"@@ @@\n" + BODY) * 2, "app/code.py is in it twice (line 7)"),
        (
            b"--- a/bare.txt\n+++ b/crlf.txt\n@@ @@\n-a\n+b\n",
            "the lines of the header name different files (line 1)",
        ),
        (
            b"diff --git a/bare.txt b/bare.txt\n--- a/crlf.txt\n+++ b/crlf.txt\n@@ @@\n-a\n+b\n",
            "the lines of the header name different files (line 1)",
        ),
        (HEAD + b"@@ @@\n import os\n", "it changes nothing (line 1)"),
    ],
)
def test_what_cannot_be_made_out(patch: bytes, why: str):
    with pytest.raises(BadPatch) as caught:
        normalise(patch, FILES.get)
    assert str(caught.value) == f"The patch cannot be read: {why}"


def test_files_that_are_not_text_are_refused_by_name():
    with pytest.raises(BinaryPatch):
        normalise(b"diff --git a/p b/p\nBinary files a/p and b/p differ\n", FILES.get)
    with pytest.raises(BinaryPatch):
        normalise(b"```\ndiff --git a/p b/p\nindex 1\nGIT binary patch\n```\n", FILES.get)
    with pytest.raises(BinaryPatch):
        normalise(b"--- a/p\n+++ b/p\n@@ @@\n-a\n+b\n", {"p": b"a\n\0\n"}.get)


def shifted(patch: bytes, by: int) -> bytes:
    return re.sub(
        rb"(?m)^@@ -(\d+)(\S*) \+(\d+)(\S*) @@.*",
        lambda m: b"@@ -%d%s +%d%s @@" % (int(m[1]) + by, m[2], int(m[3]) + by, m[4]),
        patch,
    )


DAMAGE = {
    "none": lambda patch: patch,
    "shifted": lambda patch: shifted(patch, 3),
    "counts": lambda patch: re.sub(rb"(?m)^(@@ -\d+)\S* (\+\d+)\S* @@", rb"\1,99 \2,1 @@", patch),
    "numbers": lambda patch: re.sub(rb"(?m)^@@ -\d+\S* \+\d+\S* @@", rb"@@ ... @@", patch),
    "git line": lambda patch: patch.partition(b"\n")[2],
    "prefix": lambda patch: patch.replace(b"--- a/", b"--- ", 1).replace(b"+++ b/", b"+++ ", 1),
    "fenced": lambda patch: b"Words\n```diff\n" + patch + b"```\nwords\n",
}
plain_lines = [line for line in LINES if not line.startswith((b"@@", b"diff", b"-- ", b"++ "))]
plain = st.lists(st.sampled_from(plain_lines), max_size=30).map(b"".join)


@st.composite
def changes(draw) -> tuple[bytes, bytes]:
    old = draw(plain | bodies)
    return old, draw(edits(old))


@pytest.mark.req("CP-4")
@settings(max_examples=400)
@given(pair=changes(), damage=st.sampled_from(sorted(DAMAGE)))
def test_a_damaged_patch_says_the_same_or_is_refused(pair: tuple[bytes, bytes], damage: str):
    old, new = pair
    if old == new:
        return
    patch = render_patch([FileDelta("f", FileSide(old, "100644"), FileSide(new, "100644"))])
    try:
        result = apply_patch(normalise(DAMAGE[damage](patch), {"f": old}.get), {"f": old}.get)
    except (AmbiguousPatch, PatchMismatch, BadPatch):
        # Lines that look like headers cannot be told from them without numbers.
        odd = re.search(rb"(?m)^(?:@@|diff|-- |\+\+ )", old + b"\n" + new)
        assert damage in {"shifted", "counts", "numbers"} or odd
        return
    assert result == {"f": new}


@given(pair=changes())
def test_unique_lines_are_always_found(pair: tuple[bytes, bytes]):
    """Each line with its number: whatever the header says, only one place fits."""
    old, new = ([b"%d " % at + line for at, line in enumerate(text.split(b"\n")) if line] for text in pair)
    old_text, new_text = b"\n".join([*old, b""]), b"\n".join([b"0 first", *new, b""])
    if not old or any(b"\r" in line for line in old):
        return
    patch = render_patch([FileDelta("f", FileSide(old_text, "100644"), FileSide(new_text, "100644"))])
    for damage in ("shifted", "numbers"):
        exact = normalise(DAMAGE[damage](patch), {"f": old_text}.get)
        assert apply_patch(exact, {"f": old_text}.get) == {"f": new_text}


def test_git_takes_what_is_normalised(tmp_path):
    git = Git(tmp_path / "repository")
    git.lay_out({name: FileSide(data, "100644") for name, data in FILES.items()})
    patch = HEAD + b"@@ -99 +1,4 @@\n" + BODY + b"--- bare.txt\n+++ bare.txt\n@@ @@\n-b\n+B\n"
    assert git.takes(normalise(patch, FILES.get))
    found = {name: side.data for name, side in git.found().items()}
    assert found == {**FILES, "app/code.py": ONE, "bare.txt": b"a\nB"}


def test_many_wrong_numbers_are_found_in_one_pass():
    lines = [b"%d\n" % number for number in range(60_000)]
    hunks = b"".join(b"@@ @@\n %s-%s+new\n" % (lines[at], lines[at + 1]) for at in range(0, 60_000, 3))
    files = {"f": b"".join(lines)}
    exact = normalise(b"--- a/f\n+++ b/f\n" + hunks, files.get)
    assert apply_patch(exact, files.get)["f"].count(b"new\n") == 20_000


@each("header", ["@@ -5,3 +5,4 @@", "@@ -1 +1 @@", "@@ -50,3 +50,4 @@", "@@ @@", "@@"])
def test_a_new_line_without_context_has_no_place(header: str):
    """Its number is wrong by its own count; only `-5,0` says clearly where it goes."""
    text = b"".join(b"line %d\n" % number for number in range(1, 11))
    patch = f"--- a/f\n+++ b/f\n{header}\n+new\n".encode()
    with pytest.raises(AmbiguousPatch):
        normalise(patch, {"f": text}.get)
    exact = normalise(b"--- a/f\n+++ b/f\n@@ -5,0 +6 @@\n+new\n", {"f": text}.get)
    assert apply_patch(exact, {"f": text}.get)["f"] == text.replace(b"line 5\n", b"line 5\nnew\n")
