"""A file merged as git merges it: text, mode, link, or not there at all."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

from ringi.patch.merge import (
    Clash,
    Conflicted,
    ConflictedFile,
    MergedFile,
    MergedText,
    RegionKind,
    merge_file,
)
from ringi.patch.render import FileSide
from tests.tables import each
from tests.unit.patch.generated import Git

PLAIN, RUNNABLE, LINK = "100644", "100755", "120000"
TEXT = b"".join(b"line %d\n" % number for number in range(9))
TOP, END = TEXT.replace(b"line 0", b"top"), TEXT.replace(b"line 8", b"end")
OTHER_TOP = TEXT.replace(b"line 0", b"other top")
STATES = [
    None,
    FileSide(TEXT, PLAIN),
    FileSide(TOP, PLAIN),
    FileSide(END, RUNNABLE),
    FileSide(OTHER_TOP, PLAIN),
    FileSide(TEXT, RUNNABLE),
    FileSide(b"", PLAIN),
    FileSide(b"\0" + TEXT, PLAIN),
    FileSide(b"\0" + END, PLAIN),
    FileSide(TEXT.replace(b"\n", b"\r\n"), PLAIN),
    FileSide(TEXT.removesuffix(b"\n"), PLAIN),
    FileSide(b"here", LINK),
    FileSide(b"there", LINK),
]


def told_by_git(git: Git, cases: list[tuple[FileSide | None, ...]]) -> list[FileSide | str | None]:
    """For each case the merged file, or the word conflict; all of them in one merge of two commits."""
    git.run("fast-import", "--quiet", given=b"".join(imported(cases)))
    words = ["-c", "merge.renameLimit=1", "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z"]
    tree, *conflicts = git.run(*words, "ours", "theirs", check=False).decode().split("\0")
    listed = git.run("ls-tree", "-z", tree).decode().split("\0")[:-1]
    found = {row.partition("\t")[2]: row.split()[0:3:2] for row in listed}
    data = contents(git, {object_name for _, object_name in found.values()})
    result: list[FileSide | str | None] = []
    for number in range(len(cases)):
        name = f"{number:05}"
        # Of a file and a link git keeps both, one below another name.
        if any(path.partition("~")[0] == name for path in conflicts):
            result.append("conflict")
        elif name in found:
            mode, object_name = found[name]
            result.append(FileSide(data[object_name], mode))
        else:
            result.append(None)
    return result


def imported(cases: list[tuple[FileSide | None, ...]]) -> Iterator[bytes]:
    for at, name in enumerate((b"base", b"ours", b"theirs")):
        yield b"commit refs/heads/%s\ncommitter A <a@example.invalid> 0 +0000\ndata 0\n" % name
        if at:
            yield b"from refs/heads/base\ndeleteall\n"
        for number, case in enumerate(cases):
            if side := case[at]:
                head = b"M %s inline %05d\ndata %d\n" % (side.mode.encode(), number, len(side.data))
                yield head + side.data + b"\n"


def contents(git: Git, names: set[str]) -> dict[str, bytes]:
    ordered = sorted(names)
    told = git.run("cat-file", "--batch", given="\n".join(ordered).encode() + b"\n")
    result = {}
    at = 0
    for name in ordered:
        start = told.index(b"\n", at) + 1
        size = int(told[at:start].split()[2])
        result[name] = told[start : start + size]
        at = start + size + 1
    return result


def told_apart(side: FileSide | None, number: int) -> FileSide | None:
    """Git takes equal contents in two places for a rename, and cannot be told not to."""
    if side is None or not side.data:
        return side
    mark = b" of case %d" % number
    return side._replace(
        data=side.data + mark if side.mode == LINK else side.data.replace(b"line 4", b"line 4" + mark)
    )


def test_every_three_states_end_as_in_git(tmp_path: Path):
    cases = [
        tuple(told_apart(side, number) for side in case)
        for number, case in enumerate(product(STATES, repeat=3))
    ]
    told = told_by_git(Git(tmp_path / "repository"), cases)
    differ = []
    for case, expected in zip(cases, told, strict=True):
        result = merge_file(*case)
        ours = result.side if isinstance(result, MergedFile) else "conflict"
        if ours != expected:
            differ.append((case, ours, expected))
    assert not differ
    assert 100 < told.count("conflict") < len(cases) - 100


def test_a_file_deleted_by_one_and_changed_by_the_other():
    base, new = FileSide(TEXT, PLAIN), FileSide(TOP, PLAIN)
    assert merge_file(base, None, new) == ConflictedFile((Clash.DELETED_BY_OURS,))
    assert merge_file(base, new, None) == ConflictedFile((Clash.DELETED_BY_THEIRS,))
    assert merge_file(base, None, None) == MergedFile(None)
    assert merge_file(base, None, base) == MergedFile(None)
    assert merge_file(base, FileSide(TEXT, RUNNABLE), None) == ConflictedFile((Clash.DELETED_BY_THEIRS,))


def test_content_of_one_and_mode_of_the_other():
    base = FileSide(TEXT, PLAIN)
    assert merge_file(base, FileSide(TOP, PLAIN), FileSide(TEXT, RUNNABLE)) == MergedFile(
        FileSide(TOP, RUNNABLE)
    )
    result = merge_file(base, FileSide(TOP, PLAIN), FileSide(END, RUNNABLE))
    assert isinstance(result, MergedFile)
    assert result.side == FileSide(TOP.replace(b"line 8", b"end"), RUNNABLE)
    assert result.text is not None
    assert [one.kind for one in result.text.regions] == [RegionKind.OURS, RegionKind.SAME, RegionKind.THEIRS]


def test_two_new_files_that_differ():
    assert merge_file(None, FileSide(TEXT, PLAIN), FileSide(TEXT, PLAIN)) == MergedFile(FileSide(TEXT, PLAIN))
    result = merge_file(None, FileSide(TOP, PLAIN), FileSide(OTHER_TOP, RUNNABLE))
    assert isinstance(result, ConflictedFile)
    assert (result.clashes, result.data, result.mode) == ((Clash.TEXT, Clash.MODE), None, None)
    assert isinstance(result.text, Conflicted)
    assert [(one.ours, one.theirs) for one in result.text.conflicts] == [([b"top\n"], [b"other top\n"])]


def test_two_modes_leave_the_text_merged():
    result = merge_file(FileSide(TEXT, "100600"), FileSide(TOP, PLAIN), FileSide(END, RUNNABLE))
    assert isinstance(result, ConflictedFile)
    assert (result.clashes, result.mode) == ((Clash.MODE,), None)
    assert isinstance(result.text, MergedText)
    assert result.data == result.text.content == TOP.replace(b"line 8", b"end")


@each(
    ("sides", "clash"),
    [
        ((FileSide(TEXT, PLAIN), FileSide(b"\0" + TEXT, PLAIN), FileSide(TOP, PLAIN)), Clash.BINARY),
        ((FileSide(b"here", LINK), FileSide(b"there", LINK), FileSide(b"elsewhere", LINK)), Clash.LINK),
        ((FileSide(TEXT, PLAIN), FileSide(TOP, PLAIN), FileSide(b"there", LINK)), Clash.KIND),
        ((FileSide(b"here", LINK), FileSide(TOP, PLAIN), FileSide(b"there", LINK)), Clash.KIND),
        ((), Clash.TOO_LARGE),
    ],
)
def test_what_has_no_lines_is_decided_whole(sides: tuple[FileSide, ...], clash: Clash):
    # Made here: as a parameter they would stay in memory.
    result = merge_file(
        *(sides or (FileSide(letter * ((64 << 20) + 1), PLAIN) for letter in (b"a", b"b", b"c")))
    )
    assert isinstance(result, ConflictedFile)
    assert (result.clashes, result.data, result.text) == ((clash,), None, None)
