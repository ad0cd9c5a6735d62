"""Patches turned round, cut down and written: always valid, always saying what they should."""

import subprocess
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tools import history

from ringi.errors import NotFound, PatchMismatch
from ringi.patch.apply import apply_patch
from ringi.patch.parse import parse_patch
from ringi.patch.patch import Patch, PatchKind, dump
from ringi.patch.render import FileDelta, FileSide, render_patch
from ringi.patch.rework import drop_hunks, reverse
from tests.unit.patch.generated import Git, bodies, edits

OLD = b"".join(b"%d\n" % number for number in range(60))
NEW = OLD.replace(b"5\n6\n", b"five\n6\nsix\n").replace(b"20\n", b"").replace(b"40\n", b"forty\nvierzig")
FILE = "100644"


def change(old: bytes | None, new: bytes | None, path: str = "f", **more) -> FileDelta:
    sides = [None if data is None else FileSide(data, FILE) for data in (old, new)]
    return FileDelta(path, *sides, **more)


@st.composite
def pairs(draw) -> tuple[bytes, bytes]:
    old = draw(bodies)
    return old, draw(edits(old) | bodies)


@pytest.mark.req("CP-4")
@settings(max_examples=300)
@given(pairs())
def test_what_is_rendered_applies_and_goes_back(pair: tuple[bytes, bytes]):
    old, new = pair
    patch = render_patch([change(old, new)])
    if old == new:
        assert patch == b""
        return
    assert apply_patch(patch, {"f": old}.get) == {"f": new}
    parsed = parse_patch(patch)
    assert dump(parsed) == patch
    back = dump(reverse(parsed))
    assert apply_patch(back, {"f": new}.get) == {"f": old}
    assert dump(reverse(parse_patch(back))) == dump(Patch((parsed.files[0]._replace(header=b""),)))


@pytest.mark.req("CP-4")
@given(pairs())
def test_new_and_deleted_files_are_each_others_reverse(pair: tuple[bytes, bytes]):
    text = pair[0]
    made = render_patch([change(None, text)])
    assert apply_patch(made, {}.get) == {"f": text}
    assert dump(reverse(parse_patch(made))) == render_patch([change(text, None)])
    assert apply_patch(dump(reverse(parse_patch(made))), {"f": text}.get) == {"f": None}


@pytest.mark.req("CP-4")
@settings(max_examples=60)
@given(pair=pairs(), copied=st.booleans())
def test_renames_are_said_as_git_says_them(tmp_path_factory, pair: tuple[bytes, bytes], copied: bool):
    old, new = pair
    git = Git(tmp_path_factory.getbasetemp() / "renames")
    patch = render_patch(
        [change(old, new, "to here", old_path="from\there", copied=copied), change(b"a", None, "a")]
    )
    git.lay_out({"from\there": FileSide(old, FILE), "a": FileSide(b"a", FILE)})
    assert git.takes(patch)
    kept = {"from\there": old} if copied else {}
    assert {name: side.data for name, side in git.found().items()} == {"to here": new, **kept}
    gone = {} if copied else {"from\there": None}
    files = {"from\there": old, "a": b"a"}
    assert apply_patch(patch, files.get) == {"to here": new, "a": None, **gone}
    assert parse_patch(patch).files[1].likeness.startswith(b"similarity index ")
    assert (b"index 100%" in patch) is (old == new)


def test_files_come_in_the_order_of_their_paths():
    patch = render_patch([change(b"", b"1", name) for name in ("z", "a/b", "é", "a", "Z")])
    assert [file.path for file in parse_patch(patch).files] == ["Z", "a", "a/b", "z", "é"]


def test_a_copy_goes_back_only_with_its_content():
    patch = parse_patch(b"diff --git a/a b/b\nsimilarity index 100%\ncopy from a\ncopy to b\n")
    with pytest.raises(PatchMismatch, match="whole content"):
        reverse(patch)
    for content in (b"", b"1\n2\n", b"1\n2"):
        back = reverse(patch, {"b": content}.get)
        assert back.files[0].kind is PatchKind.DELETED
        assert apply_patch(dump(back), {"b": content}.get) == {"b": None}


@pytest.mark.req("CP-4")
def test_every_choice_of_hunks_is_a_patch_that_git_takes(tmp_path: Path):
    git = Git(tmp_path / "repository")
    patch = parse_patch(render_patch([change(OLD, NEW), change(b"x\n", b"y\n", "other")]))
    count = len(patch.files[0].hunks)
    assert count == 3
    for size in range(count + 1):
        for numbers in combinations(range(1, count + 1), size):
            rest = drop_hunks(patch, "f", numbers)
            data = dump(rest)
            kept = [hunk for number, hunk in enumerate(patch.files[0].hunks, 1) if number not in numbers]
            assert parse_patch(data) == rest
            git.lay_out({"f": FileSide(OLD, FILE), "other": FileSide(b"x\n", FILE)})
            assert git.takes(data)
            ours = apply_patch(data, {"f": OLD, "other": b"x\n"}.get)
            assert ours.get("f", OLD) == git.found()["f"].data
            assert sum(len(file.hunks) for file in rest.files) == len(kept) + 1
            assert ("f" in ours) is bool(kept)


@given(pairs(), st.data())
def test_what_is_kept_goes_in_and_out_again(pair: tuple[bytes, bytes], data: st.DataObject):
    old, new = pair
    if old == new:
        return
    patch = parse_patch(render_patch([change(old, new)]))
    dropped = data.draw(st.sets(st.sampled_from(range(1, len(patch.files[0].hunks) + 1))))
    kept = drop_hunks(patch, "f", dropped)
    if not kept.files:
        assert len(dropped) == len(patch.files[0].hunks)
        return
    half = apply_patch(dump(kept), {"f": old}.get)["f"]
    assert apply_patch(dump(reverse(kept)), {"f": half}.get) == {"f": old}
    assert (half == new) is not bool(dropped)


def test_what_stays_when_all_hunks_are_dropped():
    body = b"--- a/a\n+++ b/b\n@@ -1 +1 @@\n-1\n+2\n"
    names = b"diff --git a/a b/b\nsimilarity index 10%\nrename from a\nrename to b\nindex 12..34 100644\n"
    renamed = drop_hunks(parse_patch(names + body), "b", {1})
    assert dump(renamed) == (b"diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n")
    modes = b"diff --git a/a b/a\nold mode 100644\nnew mode 100755\n"
    changed = drop_hunks(parse_patch(modes + body.replace(b"b/b", b"b/a")), "a", {1})
    assert dump(changed) == modes
    new = parse_patch(render_patch([change(None, b"1\n")]))
    assert drop_hunks(new, "f", {1}) == Patch(())
    assert drop_hunks(new, "f", ()) == new


def test_hunks_that_are_not_there():
    patch = parse_patch(render_patch([change(b"1\n", b"2\n")]))
    with pytest.raises(NotFound, match="f: 2, 3"):
        drop_hunks(patch, "f", {1, 2, 3})
    with pytest.raises(NotFound, match="file in the patch g"):
        drop_hunks(patch, "g", {1})
    halves = parse_patch(b"--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n@@ -2 +0,0 @@\n-2\n")
    with pytest.raises(PatchMismatch, match="goes whole or not at all"):
        drop_hunks(halves, "f", {1})


@pytest.mark.req("CP-4")
def test_a_history_is_applied_byte_for_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    for step, (name, data) in enumerate(
        [("a", OLD), ("b", OLD), ("a", NEW), ("crlf", b"1\r\n2"), ("b", b""), ("bin", b"\0"), ("é \n", b"x")]
    ):
        (tmp_path / name).write_bytes(data)
        git("add", "-A")
        git("commit", "-q", "-m", f"step {step}\n\ndiff --git a/x b/x\n@@ -1 +1 @@\n")
    git("mv", "a", "moved")
    git("update-index", "--chmod=+x", "crlf")
    (tmp_path / "link").symlink_to("b")
    git("add", "link")
    git("commit", "-q", "-m", "moved")
    assert history.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == (
        "8 commits, 8 files (4 new, 0 deleted, 1 renamed, 0 copied, 3 changed), 8 hunks; "
        "left out: 1 binary files, 1 links and submodules\n"
    )


def test_a_history_that_differs_is_told(tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]):
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        (tmp_path / "f").write_bytes(OLD)
        subprocess.run(["git", *command], cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.setattr(history.Blobs, "read", lambda self, name: b"other\n")
    assert history.main([str(tmp_path), "--limit", "1"]) == 1
    assert "f has other bytes" in capsys.readouterr().err
