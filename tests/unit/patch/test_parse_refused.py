"""Patches that must not be applied, each with its own reason, and nothing half done."""

# ruff: noqa: E501  # one case a line reads best

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ringi.errors import BadPatch, BinaryPatch, PatchMismatch, RingiError
from ringi.patch.apply import apply_patch, outcome
from ringi.patch.parse import parse_patch
from ringi.patch.patch import Patch, PatchKind
from tests.tables import each

MARK = b"\\ No newline at end of file\n"
FILES = {
    "x": b"a\nb\nc\n",
    "y": b"1\n2\n3\n4\n5\n6\n7\n8\n9\n",
    "bare": b"a\nb",
    "empty": b"",
    "crlf": b"a\r\nb\r\n",
    "tail": b"z\nxa\n",
}
HEAD = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n"
GOOD = HEAD + b"@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
NEW = b"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n"
Y = b"diff --git a/y b/y\n--- a/y\n+++ b/y\n"


def applied(patch: bytes) -> dict[str, bytes | None]:
    return apply_patch(patch, FILES.get)


def reason(patch: bytes) -> str:
    with pytest.raises(RingiError) as caught:
        applied(patch)
    return f"{caught.value.code}: {caught.value}"


BAD = {
    b"": "it is empty (line 1)",
    b"\n \n": "it is empty (line 1)",
    b"just words\n": "no file is named in it (line 1)",
    HEAD: "two files are named and no hunk follows (line 1)",
    b"--- a/x\n+++ b/x\n": "two files are named and no hunk follows (line 1)",
    b"diff --git b/k b/k\nnew file mode 100644\n+++ b/f\n": "a --- or a +++ line stands alone (line 1)",
    b"diff --git a/f b/f\ndeleted file mode 100644\n--- a/g\n": "a --- or a +++ line stands alone (line 1)",
    b"diff --git a/x b/x\n": "a file is named and nothing is changed (line 1)",
    b"diff --git a/x b/x\nindex 1234..5678 100644\n": "a file is named and nothing is changed (line 1)",
    b"diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n": "a hunk without a --- and a +++ line (line 1)",
    b"@@ -1 +1 @@\n-a\n+b\n": "a hunk without a file (line 1)",
    HEAD + b"@@ -1,3 +1,3 @@\n a\n-b\n": "the patch ends inside a hunk (line 7)",
    HEAD + b"@@ -1,3 +1,3 @@\n a\n-b\n+B\n c": "the patch ends inside a hunk (line 8)",
    HEAD + b"@@ -1,3 +1,3 @@\n a\n-b\n+B\n cx": "the patch ends inside a hunk (line 8)",
    HEAD + b"@@ -1,3 +1,3 @@": "the header of a hunk cannot be read (line 1)",
    HEAD + b"@@ ... @@\n-b\n+B\n": "the header of a hunk cannot be read (line 1)",
    HEAD
    + b"@@ -1,4 +1,4 @@\n a\n-b\n+B\n c\n"
    + Y
    + b"@@ -1 +1 @@\n-1\n+I\n": "a hunk has fewer lines than its header says (line 9)",
    HEAD + b"@@ -1,2 +1,2 @@\n a\n-b\n+B\n c\n": "a hunk has more lines than its header says (line 8)",
    GOOD + b"+more\n": "a hunk has more lines than its header says (line 9)",
    GOOD + b"\n+more\n": "a hunk has more lines than its header says (line 9)",
    GOOD + b"@@ what @@\n": "the header of a hunk cannot be read (line 9)",
    HEAD
    + b"@@ -1,3 +1,1 @@\n a\n-b\n+B\n c\n": "the lines of a hunk are not those that its header counts (line 7)",
    HEAD
    + b"@@ -1,3 +1,3 @@\n a\n-b\ngarbage\n+B\n c\n": "a hunk has fewer lines than its header says (line 7)",
    HEAD + b"@@ -1,3 +1,3 @@\n a\n b\n c\n": "a hunk changes nothing (line 4)",
    HEAD + b"@@ -1,0 +1,0 @@\n": "a hunk changes nothing (line 4)",
    HEAD + b"@@ -0,3 +1,3 @@\n a\n-b\n+B\n c\n": "a hunk begins at line 0; lines count from 1 (line 4)",
    HEAD
    + b"@@ -1,2 +1,2 @@\n a\n"
    + MARK
    + b"-b\n+B\n": "a line in the middle is said to have no newline (line 6)",
    HEAD
    + b"@@ -1,3 +2,3 @@\n a\n-b\n+B\n c\n": "a hunk claims to begin at new line 2; after the hunks before it that is line 1 (line 4)",
    Y
    + b"@@ -1,3 +1,3 @@\n 1\n-2\n+B\n 3\n@@ -3,3 +3,3 @@\n 3\n-4\n+D\n 5\n": "a hunk overlaps the one before it or stands before it (line 9)",
    Y
    + b"@@ -5,3 +5,3 @@\n 5\n-6\n+B\n 7\n@@ -1,3 +1,3 @@\n 1\n-2\n+D\n 3\n": "a hunk overlaps the one before it or stands before it (line 9)",
    HEAD
    + b"@@ -1 +1 @@\n-a\n"
    + MARK
    + b"+A\n@@ -1,0 +2 @@\n+c\n": "a hunk follows one that ends the file (line 8)",
    GOOD + GOOD: "x is in it twice (line 9)",
    GOOD
    + b"diff --git a/x b/z\nsimilarity index 100%\nrename from x\nrename to z\n": "z is in it twice (line 9)",
    b"diff --git a/x b/z\nrename from x\nrename to z\ndiff --git a/x b/w\nrename from x\nrename to w\n": "w is in it twice (line 4)",
    b"diff --git a/x b/z\nrename from x\nrename to z\n" + GOOD: "x is in it twice (line 4)",
    b"diff --git a/x b/y\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+A\n": "the lines of the header name different files (line 1)",
    b"diff --git a/x b/x\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+A\n": "the lines of the header name different files (line 1)",
    b"--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+A\n": "the lines of the header name different files (line 1)",
    b"diff --git a/x b/z\nrename from x\nrename to w\n": "the lines of the header name different files (line 1)",
    b"diff --git a/x b/x\nrename from x\nrename to x\n": "the lines of the header name different files (line 1)",
    b"diff --git a/x b/z\nrename from x\n": "a renamed or copied file needs both names (line 1)",
    b"diff --git a/x b/x\nold mode 100644\n": "a changed mode needs the old and the new one (line 1)",
    b"diff --git a/x b/x\nold mode 644\nnew mode 755\n": "the mode of a file is six octal digits (line 1)",
    b"diff --git a/n b/n\nnew file mode 100644\ndeleted file mode 100644\n": "a file cannot be two of new, deleted, renamed and copied (line 1)",
    b"diff --git a/n b/n\nnew file mode 100644\nold mode 100644\nnew mode 100755\n": "a new or deleted file has one mode only (line 1)",
    b"diff --git a/x b/x\nold mode 100644\nold mode 100644\nnew mode 100755\n": "the header says old mode twice (line 3)",
    b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\nindex 12..34 120000\n": "the header gives different modes (line 1)",
    b"diff --git a/x b/x\nindex what\n": "the header has a line that cannot be read (line 1)",
    b"diff --git a/x b/z\nsimilarity index 300%\nrename from x\nrename to z\n": "the header has a line that cannot be read (line 1)",
    b"diff --git a/n b/n\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n": "the header does not say clearly whether the file is new or deleted (line 1)",
    b"diff --git a/n b/n\nnew file mode 100644\n--- a/n\n+++ b/n\n@@ -0,0 +1 @@\n+n\n": "the header does not say clearly whether the file is new or deleted (line 1)",
    b"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -1 +1 @@\n-a\n+n\n": "a new file cannot have old lines (line 1)",
    b"diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1,3 +1 @@\n a\n-b\n-c\n": "a deleted file cannot keep lines (line 1)",
    NEW + b"@@ -0,0 +1,3 @@\n+a\n+b\n": "the patch ends inside a hunk (line 8)",
    NEW + b"@@ -0,0 +1,2 @@\n+a\n+b\n+c\n": "a hunk has more lines than its header says (line 8)",
    NEW + b"@@ -0,0 +1,2 @@\n+a\n b\n": "the lines of a hunk are not those that its header counts (line 7)",
    NEW + b"@@ -0,0 +1,3 @@\n+a\n+b\ngarbage\n": "a hunk has fewer lines than its header says (line 8)",
    b"diff --git x x\n--- x\n+++ x\n@@ -1 +1 @@\n-a\n+A\n": "a file is named without a prefix as a/ or b/ (line 1)",
    b'diff --git "a/x b/x\nold mode 100644\nnew mode 100755\n': "the name of the file cannot be told from the diff --git line (line 1)",
    b"diff --git a/\0 b/\0\n--- a/\0\n+++ b/\0\n@@ -1 +1 @@\n-a\n+A\n": "the name of a file cannot be read (line 1)",
    b'diff --git "a/\\000" "b/\\000"\nold mode 100644\nnew mode 100755\n': "the name of a file cannot be read (line 1)",
    GOOD.replace(b"\n", b"\r\n"): "its lines end with CR LF, so it was converted on the way (line 1)",
    b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\nfoo\n@@ -1 +1 @@\n-a\n+b\n": "a hunk without a file (line 5)",
}


@pytest.mark.req("CP-4")
@each(("patch", "why"), BAD.items())
def test_what_cannot_be_read(patch: bytes, why: str):
    assert reason(patch) == f"bad_patch: The patch cannot be read: {why}"


MISMATCHED = {
    HEAD + b"@@ -1,3 +1,3 @@\n a\n-B\n+b\n c\n": "x: line 2 is “b”, and hunk 1 says “B”",
    HEAD + b"@@ -2,2 +2,2 @@\n a\n-b\n+B\n": "x: line 2 is “b”, and hunk 1 says “a”",
    HEAD + b"@@ -1,3 +1,3 @@\n a\n-b \n+B\n c\n": "x: line 2 is “b”, and hunk 1 says “b ”",
    HEAD + b"@@ -1,3 +1,3 @@\n a\n-b\r\n+B\n c\n": "x: line 2 ends differently than hunk 1 says",
    HEAD + b"@@ -3,2 +3,2 @@\n c\n-d\n+D\n": "x: hunk 1 goes on at line 4, after its end",
    HEAD + b"@@ -9,2 +9,2 @@\n c\n-d\n+D\n": "x: hunk 1 begins at line 9, after its end",
    HEAD + b"@@ -3,0 +4 @@\n+D\n@@ -7,0 +9 @@\n+E\n": "x: hunk 2 begins at line 7, after its end",
    HEAD + b"@@ -3 +3 @@\n-c\n" + MARK + b"+C\n": "x: line 3 ends differently than hunk 1 says",
    HEAD + b"@@ -1 +1 @@\n-a\n+A\n" + MARK: "x: hunk 1 ends the file at line 1, and the file goes on",
    b"--- a/bare\n+++ b/bare\n@@ -2 +2 @@\n-b\n+B\n": "bare: line 2 ends differently than hunk 1 says",
    b"--- a/bare\n+++ b/bare\n@@ -2,0 +3 @@\n+c\n": "bare: hunk 1 begins at line 2, after its end",
    b"--- a/no\n+++ b/no\n@@ -1 +1 @@\n-a\n+b\n": "no: there is no such file",
    b"diff --git a/no b/no\nold mode 100644\nnew mode 100755\n": "no: there is no such file",
    b"diff --git a/no b/n\nrename from no\nrename to n\n": "no: there is no such file",
    b"diff --git a/x b/y\nrename from x\nrename to y\n": "y: it is there already",
    b"diff --git a/x b/y\ncopy from x\ncopy to y\n": "y: it is there already",
    b"diff --git a/x b/x\nnew file mode 100644\n": "x: it is there already",
    b"diff --git a/empty b/empty\nnew file mode 100644\n": "empty: it is there already",
    b"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n": "x: it is there already",
    NEW.replace(b"/n", b"/x").replace(b"dev/xull", b"dev/null")
    + b"@@ -0,0 +1 @@\n+a\n": "x: it is there already",
    b"--- a/tail\n+++ b/tail\n@@ -2 +2 @@\n-a\n+b\n": "tail: line 2 is “xa”, and hunk 1 says “a”",
    HEAD.replace(b"\n", b"\nindex 12..34 120000\n", 1)
    + b"@@ -1 +1 @@\n-a\n+b\n": "x: it is a link or a repository of its own, not a file",
    b"diff --git a/x b/x\ndeleted file mode 100644\n": "x: it is to be deleted and has more lines than the patch removes",
    b"--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n": "x: it is to be deleted and has more lines than the patch removes",
    b"--- a/x\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a\n-b\n-d\n": "x: line 3 is “c”, and hunk 1 says “d”",
    b"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+x\n"
    + MARK: "l: it is a link or a repository of its own, not a file",
    b"diff --git a/m b/m\nindex 1234567..89abcde 160000\n--- a/m\n+++ b/m\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n": "m: it is a link or a repository of its own, not a file",
}


@pytest.mark.req("CP-4")
@each(("patch", "why"), MISMATCHED.items())
def test_what_does_not_fit(patch: bytes, why: str):
    assert reason(patch) == f"patch_does_not_apply: The patch does not apply to {why}"
    # What fits does not help what does not.
    both = b"--- a/crlf\n+++ b/crlf\n@@ -1 +1 @@\n-a\r\n+A\r\n" + patch
    assert reason(both) == reason(patch)


def test_a_long_line_is_cut_in_the_reason():
    why = reason(HEAD + b"@@ -1 +1 @@\n-" + b"q" * 1000 + b"\xff\n+a\n")
    assert why.endswith("“" + "q" * 60 + "…”")
    why = reason(HEAD + b"@@ -1 +1 @@\n-\xff\n+a\n")
    assert why.endswith(r"“\xff”")


@pytest.mark.req("CP-4")
@each(
    ("patch", "path", "line"),
    [
        (b"diff --git a/p.png b/p.png\nindex 12..34 100644\nGIT binary patch\nliteral 0\n", "p.png", 3),
        (b"diff --git a/p.png b/p.png\nindex 12..34\nBinary files a/p.png and b/p.png differ\n", "p.png", 3),
        (GOOD + b"Binary files a/p and b/p differ\n", "a/p and b/p differ", 9),
        (b"Only in a: q\nBinary files a/p and b/p differ\n", "a/p and b/p differ", 2),
        (b"diff --git a/o b/p\nrename from o\nrename to p\nBinary files a/o and b/p differ\n", "p", 4),
    ],
)
def test_files_that_are_not_text_are_refused_by_name(patch: bytes, path: str, line: int):
    with pytest.raises(BinaryPatch) as caught:
        applied(patch)
    assert caught.value.details == {"path": path, "line": line}


def test_links_and_submodules_can_be_read():
    patch = parse_patch(
        b"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+x\n" + MARK
    )
    assert (patch.files[0].kind, patch.files[0].new_mode) == (PatchKind.NEW, "120000")
    with pytest.raises(PatchMismatch):
        outcome(patch, FILES.get)


@pytest.mark.req("CP-4")
@each("cut", range(1, len(GOOD)))
def test_a_patch_cut_anywhere_is_refused_or_whole(cut: int):
    """Prose may be cut; what is applied is never less than the patch said."""
    with pytest.raises(BadPatch):
        applied(GOOD[:cut])


@each("line", range(8))
def test_a_patch_with_a_line_missing_is_refused_or_the_same(line: int):
    lines = GOOD.splitlines(keepends=True)
    del lines[line]
    if line == 0:  # a plain patch
        assert applied(b"".join(lines)) == applied(GOOD)
    else:
        with pytest.raises((BadPatch, PatchMismatch)):
            applied(b"".join(lines))


LONG = {"long": b"".join(b"%d\n" % number for number in range(400))}


def many_hunks(change: dict[int, bytes]) -> bytes:
    """Forty hunks, some of them replaced."""
    hunks = (
        change.get(at, b"@@ -%d,3 +%d,3 @@\n %d\n-%d\n+new\n %d\n" % (at, at, at - 1, at, at + 1))
        for at in range(1, 400, 10)
    )
    return b"--- a/long\n+++ b/long\n" + b"".join(hunks)


LENGTHS = pytest.mark.parametrize("rest", [b"", b"rest\n" * 2000], ids=["dense", "sparse"])
FORMS = pytest.mark.parametrize("form", [b"", b"diff --git a/long b/long\n"], ids=["plain", "git"])


@LENGTHS
@FORMS
def test_many_hunks_fit_together(form: bytes, rest: bytes):
    after = apply_patch(form + many_hunks({}), {"long": LONG["long"] + rest}.get)["long"]
    assert after is not None
    assert after.count(b"new\n") == 40


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({21: b"@@ -21,3 +21,3 @@\n 20\n-22\n+new\n 22\n"}, PatchMismatch),
        ({21: b"@@ -21,3 +21,3 @@\n 20\n 21\n 22\n"}, BadPatch),
        ({391: b"@@ -399,3 +399,3 @@\n 398\n-399\n+new\n 400\n"}, PatchMismatch),
        # One line too few and one too many, where the same lines would still stand in the file.
        (
            {
                21: b"@@ -21,4 +21,4 @@\n 20\n-21\n+new\n 22\n",
                31: b"@@ -25,2 +25,2 @@\n 23\n-24\n+new\n 25\n",
            },
            BadPatch,
        ),
        (
            {
                21: b"@@ -21,4 +21,3 @@\n 20\n-21\n+new\n 22\n",
                31: b"@@ -25,2 +24,3 @@\n 23\n-24\n+new\n 25\n",
            },
            BadPatch,
        ),
        ({391: b"@@ -391,3 +391,3 @@\n 390\n-391\n+new\nx392\n"}, BadPatch),
        ({21: b"@@ -21,3 +21,3 @@\n 20\n-21\n+new\n 22\n+more\n"}, BadPatch),
        ({21: b"@@ -21,3 +22,3 @@\n 20\n-21\n+new\n 22\n"}, BadPatch),
    ],
    ids=range(8),
)
@LENGTHS
@FORMS
def test_one_of_many_hunks_is_wrong(
    change: dict[int, bytes], error: type[RingiError], form: bytes, rest: bytes
):
    with pytest.raises(error) as caught:
        apply_patch(form + many_hunks(change), {"long": LONG["long"] + rest}.get)
    assert caught.type is error


@each("body", [b" a\n-b\n+B\n c\n d\n", b" a\n-b\n+B\n", b" a\n b\n c\n", b"-a\n-b\n-c\n+A\n+B\n"])
def test_a_patch_made_by_hand_is_counted_too(body: bytes):
    hunk = parse_patch(GOOD).files[0].hunks[0]._replace(body=body)
    file = parse_patch(GOOD).files[0]._replace(hunks=(hunk,))
    with pytest.raises(PatchMismatch):
        outcome(Patch((file,)), {"x": b"a\nb\nc\nd\n"}.get)


def test_a_line_may_be_replaced_by_its_like():
    assert applied(HEAD + b"@@ -1,2 +1,2 @@\n-a\n+a\n b\n") == {"x": FILES["x"]}


def test_words_after_a_new_file_are_not_its_lines():
    assert applied(NEW + b"@@ -0,0 +1,2 @@\n+a\n+b\nwords\n") == {"n": b"a\nb\n"}


CREATED = b"diff --git a/n b/n\nnew file mode 100644\nindex 0000000..89abcde\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,3 @@\n+a\n++b\n+ c\n"
MIXED = [
    *(GOOD + Y + b"@@ -1,3 +1,4 @@ one\n 1\n-2\n+two\n+and\n 3\n@@ -7 +8,0 @@\n-7\n@@ -9,0 +10,2 @@\n+10\n+@@ -1 +1 @@\n" + CREATED).splitlines(keepends=True),
    *b"diff --git a/bare b/bare\n--- a/bare\n+++ b/bare\n@@ -1,2 +1,2 @@\n a\n-b\n".splitlines(keepends=True),
    MARK,
    b"+B\n",
    *b"diff --git a/empty b/moved\nsimilarity index 100%\nrename from empty\nrename to moved\n".splitlines(keepends=True),
]  # fmt: skip
STRAY = [b"", b"\n", b" \n", b"+a\n", b"-a\n", b" a\n", b" @@ -1 +1 @@\n", b"@@ -1 +1 @@\n", b"@@ -8,0 +9 @@\n", b"garbage\n", b"-- \n", MARK, HEAD, CREATED]  # fmt: skip
spoilt = st.lists(
    st.tuples(st.integers(0, len(MIXED) - 1), st.booleans(), st.sampled_from([*STRAY, *MIXED])), max_size=3
)


def told(give: Callable[[], dict[str, bytes | None]]) -> object:
    try:
        return give()
    except RingiError as error:
        return error.code, str(error)


def in_full(patch: bytes, files: dict[str, bytes]) -> dict[str, bytes | None]:
    outcomes = outcome(parse_patch(patch), files.get)
    gone = {file.old_path: None for file in outcomes if file.kind is PatchKind.RENAMED}
    return gone | {file.path: file.after for file in outcomes}


@pytest.mark.req("CP-4")
@settings(max_examples=1000)
@given(spoilt, st.booleans())
@example([], False)
@example([], True)
def test_the_short_way_takes_only_what_the_long_one_takes(
    changes: list[tuple[int, bool, bytes]], sparse: bool
):
    """Files of the usual form are applied without being read in full, and nobody can tell."""
    lines = list(MIXED)
    for at, instead, line in changes:
        lines[at] = line if instead else lines[at] + line
    patch = b"".join(lines)
    # Where the hunks are a small part of the file they are looked for in another way.
    files = {
        name: data + b"rest\n" * 300 if sparse and len(data) > 4 else data for name, data in FILES.items()
    }
    assert told(lambda: apply_patch(patch, files.get)) == told(lambda: in_full(patch, files))
