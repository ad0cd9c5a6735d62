"""An approved diff on another base gives what git makes of it, or nothing."""

import subprocess
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringi.approvals.statement import NOT_THERE, FileAt, PathChange
from ringi.patch.render import FileDelta, FileSide, render_patch
from ringi.provenance.replay import Diff, Replay, part_of
from ringi.provenance.verdict import Evidence, Level
from tests.fakes.past import stored
from tests.tables import each

SIGNED = Evidence(level=Level.SIGNED, by="alice", at="")
BASE = [b"line %d\n" % number for number in range(24)]
edits = st.dictionaries(
    st.integers(0, 23), st.sampled_from(["drop", "change", "add"]), min_size=1, max_size=4
)


def edited(lines: list[bytes], changes: dict[int, str], who: bytes) -> list[bytes]:
    """Every line is a line of its own, so that there is only one place for it."""
    found: list[bytes] = []
    for number, line in enumerate(lines):
        match changes.get(number):
            case "drop":
                pass
            case "change":
                found.append(b"%s instead of %d\n" % (who, number))
            case "add":
                found += [line, b"%s after %d\n" % (who, number)]
            case _:
                found.append(line)
    return found


def merged_by_git(folder: Path, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """None if it has conflicts."""
    for name, data in (("base", base), ("ours", ours), ("theirs", theirs)):
        (folder / name).write_bytes(data)
    words = ["git", "merge-file", "-p", "ours", "base", "theirs"]
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def a_diff(path: str, before: bytes | None, after: bytes, mode: str = "100644") -> Diff:
    old = None if before is None else FileSide(before, "100644")
    patch = render_patch([FileDelta(path, old, FileSide(after, mode))])
    part = part_of(patch.decode(), path)
    assert part is not None
    return Diff(PathChange(path, stored(before), stored(after, mode)), part, SIGNED)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(mine=edits, others=edits, known=st.booleans())
def test_as_git_merges_it_or_not_at_all(
    tmp_path: Path, mine: dict[int, str], others: dict[int, str], known: bool
) -> None:
    base = b"".join(BASE)
    approved, moved = (
        b"".join(edited(BASE, changes, who)) for changes, who in ((mine, b"I"), (others, b"you"))
    )
    wanted = merged_by_git(tmp_path, base, moved, approved)
    contents = {stored(moved).blob: moved, **({stored(base).blob: base} if known else {})}
    replay = Replay([a_diff("f", base, approved)], contents)
    if wanted is not None and wanted != moved and known:
        assert replay.links(stored(moved), stored(wanted)) is not None
    for wrong in (moved + b"!", approved + b"!", (wanted or b"") + b"\n"):
        if wrong != wanted:
            assert replay.links(stored(moved), stored(wrong)) is None


def test_a_new_file_and_a_new_mode() -> None:
    replay = Replay([a_diff("f", None, b"new\n")], {})
    links = replay.links(NOT_THERE, stored(b"new\n"))
    assert links is not None
    assert (links[0].level, links[0].evidence.replayed) == (Level.SIGNED, True)
    assert replay.links(NOT_THERE, stored(b"new\n", "100755")) is None
    base, moved = b"".join(BASE), b"first\n" + b"".join(BASE)
    changed = base.replace(b"line 9\n", b"nine\n")
    replay = Replay([a_diff("f", base, changed, "100755")], {stored(moved).blob: moved})
    after = moved.replace(b"line 9\n", b"nine\n")
    assert replay.links(stored(moved), stored(after, "100755")) is not None
    assert replay.links(stored(moved), stored(after)) is None


def test_what_cannot_be_replayed() -> None:
    base = b"".join(BASE)
    diff = a_diff("f", base, base.replace(b"line 9\n", b"nine\n"))
    replay = Replay([diff], {})
    assert replay.links(stored(base), stored(b"x")) is None  # its bytes are not known
    assert Replay([diff], {stored(base).blob: base}).links(stored(base), NOT_THERE) is None
    assert Replay([], {}).links(NOT_THERE, stored(b"x")) is None


@each(
    "diff",
    [
        "",
        "no diff",
        "diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n",
        "diff --git a/other b/other\n--- a/other\n+++ b/other\n@@ -1 +1 @@\n-a\n+b\n",
        "diff --git a/f b/f\nindex 1..2 100644\nBinary files a/f and b/f differ\n",
        "\ud800",
    ],
)
def test_diffs_that_say_nothing_about_the_path_alone(diff: str) -> None:
    assert part_of(diff, "f") is None


def test_a_state_is_named_as_git_names_it() -> None:
    assert stored(b"").blob == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert stored(None) == FileAt("000000", "")
