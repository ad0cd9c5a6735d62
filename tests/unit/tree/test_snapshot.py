"""One id for the exact bytes and modes of a tree; git and a plain walk are the oracles."""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.errors import NotFound, Unreadable
from ringi.kernel.codec import canonical
from ringi.tree.snapshot import Snapshot, Snapshots
from ringi.tree.tree_capture import WorktreeCapture
from tests.unit.tree.repositories import (
    WatchedGit,
    as_another_user,
    commit,
    fingerprint,
    git,
    give_away,
    hostile,
    isolate,
    open_up,
    repository,
    untouched,
    write,
)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    return isolate(monkeypatch, tmp_path / "home")


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


def take(state: Path, root: Path) -> Snapshot:
    with untouched(root):
        return Snapshots(state, root).take()


def listed(state: Path, root: Path) -> dict[str, tuple[str, bytes]]:
    """Mode and bytes of every file of a snapshot taken now, names that no document can hold included."""
    snapshots = Snapshots(state, root)
    snapshot = take(state, root)
    listing = snapshots.files(snapshot)
    found = {file.path: (file.mode, data) for file, data in snapshots.contents(snapshot, listing.files)}
    assert list(found) == sorted(found) or snapshot.nested
    return found | {name: ("", snapshots.read(snapshot, name)) for name in listing.not_utf8}


def walked(root: Path, *, without: tuple[str, ...] = ()) -> dict[str, tuple[str, bytes]]:
    """The same by a plain walk; nothing below `.git` counts."""
    found = {}
    for place, folders, names in os.walk(root):
        links = [name for name in folders if Path(place, name).is_symlink()]
        folders[:] = [name for name in folders if name != ".git"]
        for name in names + links:
            path = Path(place, name)
            relative = str(path.relative_to(root))
            if name == ".git" or relative in without:
                continue
            if path.is_symlink():
                found[relative] = ("120000", os.fsencode(path.readlink()))
            else:
                mode = "100755" if path.stat().st_mode & stat.S_IXUSR else "100644"
                found[relative] = (mode, path.read_bytes())
    return found


class TestId:
    @pytest.mark.req("CP-9", "CP-10")
    def test_bytes_modes_and_names_count_and_nothing_else(self, tmp_path, state):
        root = repository(tmp_path / "r", {"a": "1", "d/b": "2", ".gitignore": "*.log\n"})
        first = take(state, root)
        assert len(first.id) == 64
        ids = {first.id}

        def changed() -> None:
            found = take(state, root).id
            assert found not in ids
            ids.add(found)

        write(root, {"d/b": "3"})
        changed()
        (root / "a").chmod(0o755)
        changed()
        write(root, {"new": ""})
        changed()
        (root / "new").rename(root / "newer")
        changed()
        (root / "newer").unlink()
        (root / "newer").symlink_to("a")
        changed()
        (root / "newer").unlink()
        write(root, {"d/b": "2"})
        (root / "a").chmod(0o644)
        assert take(state, root) == first

    @pytest.mark.req("CP-9")
    def test_git_commands_and_ignored_files_do_not_count(self, tmp_path, state):
        root = repository(tmp_path / "r", {"a": "1", ".gitignore": "*.log\n"})
        write(root, {"a": "2", "b": "new"})
        before = take(state, root)
        write(root, {"x.log": "x", ".agent/tmp/x": "x"})
        os.utime(root / "a", (1, 1))
        (root / "a").chmod(0o664)
        (root / "empty").mkdir()
        for command in (["add", "a"], ["add", "-A"], ["commit", "-q", "-m", "two"], ["gc", "-q"]):
            git(root, *command)
            assert take(state, root) == before
        git(root, "checkout", "-q", "-b", "other")
        assert take(state, root) == before

    @pytest.mark.req("CP-9")
    def test_two_states_of_the_program_agree(self, tmp_path, state):
        root = repository(tmp_path / "r", {"a": "1"})
        repository(root / "sub", {"b": "1"})
        assert take(state, root) == take(tmp_path / "other", root)

    @settings(max_examples=8)
    @given(
        st.lists(
            st.tuples(st.sampled_from(["a", "d/b", "sub/c", "sub/e"]), st.sampled_from(["", "1", "2"])),
            max_size=3,
        )
    )
    def test_equal_ids_and_equal_bytes_are_the_same(self, tmp_path_factory, edits):
        folder = tmp_path_factory.mktemp("any")
        root = repository(folder / "r", {"a": "1", "d/b": "1"})
        repository(root / "sub", {"c": "1"})
        first, before = take(folder / "s", root), walked(root)
        write(root, dict(edits))
        assert (take(folder / "s", root).id == first.id) is (walked(root) == before)
        assert listed(folder / "s", root) == walked(root)


def plain(folder: Path) -> Path:
    write(folder / "r", {"a": "1", "d/b": "2"})
    return folder / "r"


def empty(folder: Path) -> Path:
    (folder / "r").mkdir()
    return folder / "r"


def unborn(folder: Path) -> Path:
    root = repository(folder / "r")
    write(root, {"a": "1", "staged": "2"})
    git(root, "add", "staged")
    return root


def shallow(folder: Path) -> Path:
    root = repository(folder / "full", {"a": "1"})
    write(root, {"a": "2"})
    commit(root)
    git(folder, "clone", "-q", "--depth=1", f"file://{root}", "r")
    return folder / "r"


def sparse(folder: Path) -> Path:
    root = repository(folder / "r", {"in/a": "1", "out/b": "2", "top": "3"})
    git(root, "sparse-checkout", "set", "--cone", "in")
    assert not (root / "out").exists()
    return root


def sparse_index(folder: Path) -> Path:
    root = sparse(folder)
    git(root, "sparse-checkout", "init", "--cone", "--sparse-index")
    return root


def linked(folder: Path) -> Path:
    root = repository(folder / "main", {"a": "1"})
    git(root, "worktree", "add", "-q", "../r")
    return folder / "r"


def split(folder: Path) -> Path:
    root = repository(folder / "r", {"a": "1", "d/b": "2"})
    git(root, "update-index", "--split-index")
    write(root, {"late": "3"})
    git(root, "add", "late")
    return root


def wide(folder: Path) -> Path:
    git(folder, "init", "-q", "--object-format=sha256", "r")
    write(folder / "r", {"a": "1"})
    commit(folder / "r")
    return folder / "r"


def bare(folder: Path) -> Path:
    """A repository's inside is a folder like any other."""
    git(folder, "init", "-q", "--bare", "r")
    for path in (folder / "r" / "hooks").iterdir():
        path.chmod(0o755)
    return folder / "r"


def submodule(folder: Path) -> Path:
    root = with_submodule(folder)
    return root / "sub"


def with_submodule(folder: Path) -> Path:
    inner = repository(folder / "inner", {"x": "1", "d/y": "2"})
    root = repository(folder / "r", {"a": "1"})
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    commit(root)
    return root


def links(folder: Path) -> Path:
    root = repository(folder / "r", {"a": "1"})
    (root / "broken").symlink_to("nowhere")
    (root / "loop").symlink_to("loop")
    (root / "out").symlink_to("/etc")
    (root / "d").mkdir()
    (root / "d" / "up").symlink_to("..")
    return root


KINDS = (
    plain, empty, unborn, shallow, sparse, sparse_index, linked, split, wide, bare, submodule, with_submodule,
    links,
)  # fmt: skip


@pytest.mark.req("CP-10")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_workspace(tmp_path, state, kind):
    root = kind(tmp_path)
    first = take(state, root)
    assert first.unreadable == ()
    assert listed(state, root) == walked(root)
    write(root, {"dirty": "x"})
    assert take(state, root).id != first.id
    assert listed(state, root) == walked(root)
    (root / "dirty").unlink()
    assert take(state, root) == first


class TestNested:
    @pytest.mark.req("CP-9", "CP-10")
    def test_with_and_without_a_commit_and_inside_one_another(self, tmp_path, state):
        root = repository(tmp_path / "r", {"a": "1"})
        repository(root / "with", {"x": "1"})
        write(repository(root / "deep" / "without"), {"y": "2"})
        repository(root / "with" / "vendor" / "in", {"z": "3"})
        repository(root / "hollow")
        write(root, {"broken/.git": "gitdir: /nowhere\n", "broken/file": "x"})
        snapshot = take(state, root)
        assert [path for path, _ in snapshot.nested] == ["deep/without", "hollow", "with", "with/vendor/in"]
        assert listed(state, root) == walked(root)
        for path in ("deep/without/y", "with/vendor/in/z", "with/new"):
            before = (root / path).read_bytes() if (root / path).exists() else None
            write(root, {path: "other"})
            assert take(state, root).id != snapshot.id, path
            assert listed(state, root) == walked(root)
            (root / path).unlink()
            if before is not None:
                write(root, {path: before})
            assert take(state, root) == snapshot
        shutil.rmtree(root / "with" / "vendor")
        assert [path for path, _ in take(state, root).nested] == ["deep/without", "hollow", "with"]

    @pytest.mark.req("CP-9")
    def test_commits_in_one_do_not_count(self, tmp_path, state):
        root = repository(tmp_path / "r", {"a": "1"})
        nested = write(repository(root / "sub"), {"x": "1"}) or root / "sub"
        before = take(state, root)
        commit(nested)
        assert take(state, root) == before

    @pytest.mark.req("CP-10")
    def test_its_own_rules_say_what_is_ignored(self, tmp_path, state):
        root = repository(tmp_path / "r", {"a": "1", ".gitignore": "gone/\n*.tmp\n"})
        repository(root / "gone", {"x": "1"})
        nested = repository(root / "sub", {"x": "1", ".gitignore": "*.log\n"})
        write(nested, {".git/info/exclude": "mine\n"})
        write(nested, {"y.log": "", "mine": "", "kept.tmp": "the outer rules end here"})
        assert set(listed(state, root)) == {"a", ".gitignore", "sub/x", "sub/.gitignore", "sub/kept.tmp"}

    @pytest.mark.req("CP-10")
    def test_submodules_initialised_or_not(self, tmp_path, state):
        root = with_submodule(tmp_path)
        git(tmp_path, "clone", "-q", str(root), "clone")
        clone = tmp_path / "clone"
        assert [path for path, _ in take(state, root).nested] == ["sub"]
        other = tmp_path / "other"
        before = take(other, clone)
        assert before.nested == ()
        assert set(listed(other, clone)) == {"a", ".gitmodules"}
        write(clone, {"sub/left here": "x"})
        assert take(other, clone).id != before.id
        (clone / "sub/left here").unlink()
        git(clone, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
        assert listed(other, clone) == walked(clone) == walked(root)
        assert take(other, clone).id == take(state, root).id

    @pytest.mark.req("CP-10")
    def test_a_submodule_counts_even_where_it_is_ignored(self, tmp_path, state):
        root = with_submodule(tmp_path)
        write(root, {".gitignore": "/sub/\n"})
        assert listed(state, root) == walked(root)
        before = take(state, root)
        write(root, {"sub/x": "2"})
        assert take(state, root).id != before.id

    def test_other_formats(self, tmp_path, state):
        root = repository(tmp_path / "r", {"a": "1"})
        git(root, "init", "-q", "--object-format=sha256", "wide")
        write(root, {"wide/x": "1"})
        commit(root / "wide")
        git(root, "worktree", "add", "-q", "tree")
        write(root, {"tree/y": "1"})
        assert [path for path, _ in take(state, root).nested] == ["tree", "wide"]
        assert listed(state, root) == walked(root)

    def test_in_a_folder_without_git(self, tmp_path, state):
        write(tmp_path / "r", {"a": "1"})
        repository(tmp_path / "r" / "sub", {"x": "1"})
        assert listed(state, tmp_path / "r") == walked(tmp_path / "r")

    def test_a_link_is_not_followed_to_one(self, tmp_path, state):
        root = repository(tmp_path / "r", {"a": "1"})
        repository(tmp_path / "outside", {"secret": "1"})
        (root / "sub").symlink_to(tmp_path / "outside")
        snapshot = take(state, root)
        assert snapshot.nested == ()
        assert listed(state, root) == walked(root)

    def test_ignored_later_and_wanted_again(self, tmp_path, state):
        root = repository(tmp_path / "r", {"a": "1", "p/b": "1"})
        write(repository(root / "p" / "sub"), {"x": "1"})
        repository(root / "with", {"y": "1"})
        for rules in (".gitignore", ".git/info/exclude", "p/.gitignore"):
            before = (root / rules).read_bytes() if (root / rules).exists() else b""
            for text, nested in ((b"", ["p/sub", "with"]), (b"sub/\nwith/\n", []), (b"", ["p/sub", "with"])):
                write(root, {rules: before + text})
                expected = ["with"] if text and rules == "p/.gitignore" else nested
                for _ in range(2):
                    assert [path for path, _ in take(state, root).nested] == expected, rules
        (root / "with").rename(tmp_path / "aside")
        (root / "with").symlink_to(tmp_path / "aside")
        assert [path for path, _ in take(state, root).nested] == ["p/sub"]
        assert take(state, root) == take(tmp_path / "other", root)

    @pytest.mark.req("CP-10")
    def test_one_that_becomes_plain_files_and_back(self, tmp_path, state):
        root = repository(tmp_path / "r", {"a": "1"})
        repository(root / "sub", {"x": "1"})
        first = take(state, root)
        (root / "sub" / ".git").rename(tmp_path / "aside")
        assert take(state, root).nested == ()
        assert listed(state, root) == walked(root)
        (tmp_path / "aside").rename(root / "sub" / ".git")
        assert take(state, root) == first


class TestHostile:
    @pytest.mark.req("CP-10")
    @pytest.mark.parametrize("where", ["", "sub", "sub/inner", "unborn"])
    def test_nothing_that_a_repository_configures_runs(self, tmp_path, state, where):
        root = repository(tmp_path / "r", {"a": "1"})
        repository(root / "sub", {"x": "1"})
        repository(root / "sub" / "inner", {"y": "1"})
        write(repository(root / "unborn"), {"z": "1"})
        trapped, marker = root / where, tmp_path / "marker"
        hostile(trapped, marker)
        git(trapped, "config", "filter.evil.process", str(marker.with_name("trap")))
        git(trapped, "config", "core.worktree", str(tmp_path))
        git(trapped, "add", ".gitattributes", check=False)
        assert marker.exists(), "the traps work"
        marker.unlink()
        before = fingerprint(root)
        for text in ("1", "2"):
            write(trapped, {"dirty": text})
            assert listed(state, root) == walked(root)
        (trapped / "dirty").unlink()
        assert not marker.exists()
        assert fingerprint(root) == before

    @pytest.mark.req("CP-10")
    def test_nor_what_a_submodule_configures(self, tmp_path, state):
        root = with_submodule(tmp_path)
        marker = tmp_path / "marker"
        trap = tmp_path / "trap"
        trap.write_text(f"#!/bin/sh\necho x >> {marker}\ncat\n")
        trap.chmod(0o755)
        for name in ("core.fsmonitor", "filter.x.clean", "diff.external", "core.sshCommand"):
            git(root / "sub", "config", name, str(trap))
        write(root, {"sub/.gitattributes": "* filter=x\n", "sub/x": "dirty"})
        marker.unlink(missing_ok=True)
        assert listed(state, root) == walked(root)
        assert not marker.exists()


class TestBadInput:
    @pytest.mark.req("CP-10")
    def test_unreadable_files_are_named_and_part_of_the_id(self, tmp_path, state):
        root = repository(tmp_path / "r", {"a": "1", "closed": "2"})
        write(
            repository(root / "sub"),
            {"x": "1", "dark/y": "2", "secret": "3", ".gitignore": "skip\n", "skip/z": ""},
        )
        state.mkdir()
        give_away(root)
        give_away(state)
        open_up(tmp_path)

        def work() -> None:
            whole = Snapshots(state, root).take()
            time.sleep(1.1)  # a file that git has read is read again when its state changed, in seconds
            for name in ("closed", "sub/secret", "sub/dark", "sub/skip"):
                (root / name).chmod(0)
            snapshot = Snapshots(state, root).take()
            assert snapshot.unreadable == ("closed", "sub/dark", "sub/secret")
            assert [f.path for f in Snapshots(state, root).files(snapshot).files] == [
                "a",
                "sub/.gitignore",
                "sub/x",
            ]
            (root / "closed").chmod(0o600)
            (root / "closed").unlink()
            gone = Snapshots(state, root).take()
            assert gone.unreadable == ("sub/dark", "sub/secret")
            assert (gone.tree, gone.nested) == (snapshot.tree, snapshot.nested)
            assert len({whole.id, snapshot.id, gone.id}) == 3
            (root / "sub" / ".git").chmod(0)
            hidden = Snapshots(state, root).take()
            (root / "sub" / ".git").chmod(0o700)
            assert hidden.id != gone.id
            assert hidden.unreadable

        as_another_user(work)

    @pytest.mark.req("CP-10")
    def test_names_that_are_not_utf8(self, tmp_path, state):
        odd = os.fsdecode(b"\xff\xfe")
        root = repository(tmp_path / "r", {"a": "1", odd: "2", "日本": "3"})
        repository(root / f"sub{odd}", {"x": "4", odd: "5"})
        snapshots, snapshot = Snapshots(state, root), take(state, root)
        listing = snapshots.files(snapshot)
        assert [file.path for file in listing.files] == ["a", "日本"]
        assert listing.not_utf8 == tuple(sorted([odd, f"sub{odd}/x", f"sub{odd}/{odd}"]))
        assert canonical(listing.files)
        assert snapshots.read(snapshot, odd) == b"2"
        assert snapshots.read(snapshot, f"sub{odd}/{odd}") == b"5"
        write(root, {odd: "other"})
        assert take(state, root).id != snapshot.id

    @pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
    def test_another_owner(self, tmp_path, state):
        root = with_submodule(tmp_path)
        give_away(root)
        refused = subprocess.run(["git", "-C", root, "status"], capture_output=True, text=True, check=False)
        assert "dubious ownership" in refused.stderr
        assert listed(state, root) == walked(root)

    def test_the_workspace_is_gone(self, tmp_path, state):
        root = repository(tmp_path / "r", {"a": "1"})
        snapshots = Snapshots(state, root)
        shutil.rmtree(root)
        with pytest.raises(Unreadable, match="is gone"):
            snapshots.take()


def test_several_at_once_agree(tmp_path, state):
    root = repository(tmp_path / "r", {f"f{n}": str(n) for n in range(100)})
    repository(root / "sub", {"x": "1"})
    script = (
        "import sys; from pathlib import Path; from ringi.tree.snapshot import Snapshots\n"
        "snapshots = Snapshots(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "print(*{snapshots.take().id for _ in range(4)})"
    )
    command = [sys.executable, "-c", script, str(state), str(root)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert {process.communicate()[0].strip() for process in running} == {take(tmp_path / "other", root).id}


def looks(watched: WatchedGit) -> int:
    return sum("add" in words for words in watched.asked())


class TestChangesWhileReading:
    @pytest.mark.req("CP-9", "CP-10")
    def test_a_new_id_is_believed_at_the_second_look_only(self, tmp_path, state, monkeypatch):
        root = repository(tmp_path / "r", {"a": "0", "b": "0"})
        then = f"printf 1 > '{root}/a'; printf 1 > '{root}/b'"
        watched = WatchedGit(monkeypatch, tmp_path / "bin", after="add", then=then, times=1)
        snapshot = Snapshots(state, root).take()
        assert looks(watched) == 3
        assert Snapshots(state, root).take() == snapshot
        assert looks(watched) == 1, "known by now"
        monkeypatch.setenv("PATH", os.defpath)
        assert snapshot.id == take(tmp_path / "other", root).id

    @pytest.mark.req("CP-9", "CP-10")
    @pytest.mark.parametrize("name", ["a", "sub/x"])
    def test_endless_writing_is_an_error_that_names_the_file(self, tmp_path, state, monkeypatch, name):
        root = repository(tmp_path / "r", {"a": "0"})
        repository(root / "sub", {"x": "0"})
        then = f"printf $n > '{root}/{name}'"
        WatchedGit(monkeypatch, tmp_path / "bin", after="add", then=then, times=1000)
        with pytest.raises(Unreadable, match=f"^{name} could not be read: somebody keeps writing to it$"):
            Snapshots(state, root).take()

    @pytest.mark.req("CP-10")
    def test_a_nested_repository_that_goes_meanwhile(self, tmp_path, state, monkeypatch):
        root = repository(tmp_path / "r", {"a": "0"})
        repository(root / "sub", {"x": "0"})
        WatchedGit(monkeypatch, tmp_path / "bin", after="add", then=f"rm -rf '{root}/sub'", times=1)
        snapshot = Snapshots(state, root).take()
        assert snapshot.nested == ()

    @pytest.mark.req("CP-9")
    def test_no_id_of_a_state_that_never_was(self, tmp_path, state):
        """A process writes one number into two files, the later one first; they are never seen mixed."""
        root = repository(tmp_path / "r", {"a": "0", "m/x": "0", "z": "0"})
        script = (
            "import sys, itertools, pathlib, time\n"
            "root = pathlib.Path(sys.argv[1])\n"
            "for n in itertools.count():\n"
            "    for name in ('z', 'a'):\n"
            "        (root / 'spare').write_text(f'{n:06}'); (root / 'spare').replace(root / name)\n"
            "    time.sleep(0.15)\n"
        )
        write(root, {".gitignore": "spare\n"})
        snapshots = Snapshots(state, root)
        writer = subprocess.Popen([sys.executable, "-c", script, str(root)])
        seen = []
        try:
            end = time.monotonic() + 3
            while time.monotonic() < end:
                try:
                    snapshot = snapshots.take()
                except Unreadable:
                    continue
                seen.append(tuple(snapshots.read(snapshot, name) for name in ("a", "z")))
        finally:
            writer.kill()
            writer.wait()
        assert seen
        # Between the two renames there is a moment with the one new and the other old.
        assert all(int(a) in {int(z), int(z) - 1} for a, z in seen)

    def test_a_file_of_the_same_size_and_second(self, tmp_path, state):
        root = repository(tmp_path / "r", {"a": "0"})
        for text in "123456789":
            write(root, {"a": text})
            assert listed(state, root)["a"] == ("100644", text.encode())

    def test_the_index_is_as_old_as_the_first_look(self, tmp_path, state):
        root = repository(tmp_path / "r", {"a": "0"})
        start = time.time()
        WorktreeCapture(state / "git", root).capture()
        assert (state / "git" / "index").stat().st_mtime <= start + 0.5
        assert (state / "git" / "index").stat().st_mtime < (state / "git" / "captured").stat().st_mtime


class TestReading:
    def test_every_kind_of_content(self, tmp_path, state):
        files = {
            "empty": b"",
            "nul": b"\0\xff\r\n",
            "big": os.urandom(3_000_000),
            "a\nb": b"1",
            "-x": b"2",
            "*": b"star",
            ":(top)x": b"3",
            "--force": b"4",
            'tab\t quo"te': b"5",
            "日本/é": "é".encode(),
        }
        root = repository(tmp_path / "r", files)
        (root / "link").symlink_to("nowhere")
        snapshots, snapshot = Snapshots(state, root), take(state, root)
        for name, data in files.items():
            assert snapshots.read(snapshot, name) == data
        assert snapshots.read(snapshot, "link") == b"nowhere"
        for file in snapshots.files(snapshot).files:
            data = dict(snapshots.contents(snapshot, [file]))[file]
            assert (
                hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() == file.oid
            )

    def test_many_at_once_and_only_some_of_them(self, tmp_path, state):
        root = repository(tmp_path / "r", {f"d{n % 7}/f{n}": f"{n}" * 50 for n in range(1000)})
        snapshots, snapshot = Snapshots(state, root), take(state, root)
        files = snapshots.files(snapshot).files
        assert len(files) == 1000
        assert {f.path: data for f, data in snapshots.contents(snapshot, files)} == {
            name: data for name, (_, data) in walked(root).items()
        }
        reading = snapshots.contents(snapshot, files)
        next(reading)
        reading.close()
        assert list(snapshots.contents(snapshot, [])) == []

    def test_an_earlier_snapshot_is_still_there(self, tmp_path, state):
        root = repository(tmp_path / "r", {"a": "1"})
        repository(root / "sub", {"x": "1"})
        snapshots, before = Snapshots(state, root), take(state, root)
        write(root, {"a": "2", "sub/x": "2"})
        after = take(state, root)
        assert [snapshots.read(s, p) for s in (before, after) for p in ("a", "sub/x")] == [
            b"1",
            b"1",
            b"2",
            b"2",
        ]

    def test_what_is_not_in_it(self, tmp_path, state):
        root = repository(tmp_path / "r", {"d/a": "1"})
        repository(root / "sub", {"x": "1"})
        snapshot = take(state, root)
        for path in ("nothing", "d", "d/nothing", "sub/nothing", "sub", ""):
            with pytest.raises(NotFound):
                Snapshots(state, root).read(snapshot, path)

    def test_what_its_owner_threw_away(self, tmp_path, state):
        root = repository(tmp_path / "r", {"a": "1"})
        write(root, {"b": "2"})
        git(root, "add", "b")
        snapshots, snapshot = Snapshots(state, root), take(state, root)
        git(root, "rm", "-q", "-f", "--cached", "b")
        git(root, "prune", "--expire=now")
        with pytest.raises(Unreadable, match="missing"):
            list(snapshots.contents(snapshot, snapshots.files(snapshot).files))
