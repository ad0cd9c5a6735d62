import os
import shutil
import socket
import subprocess
import time

import pytest

from ringi.errors import CopyFailed
from ringi.tree.tree_capture import CapturedTree, WorktreeCapture
from tests.unit.tree.repositories import (
    WatchedGit,
    as_another_user,
    commit,
    files_of,
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
def store(tmp_path):
    return tmp_path / "state" / "git"


def captured_files(root, store):
    """A capture in which nothing of the person's own folder may change."""
    with untouched(root):
        captured = WorktreeCapture(store, root).capture()
    return captured, files_of(root, captured.tree, store)


def fresh_tree(root, tmp_path):
    """The tree that a private directory without a past gives for the same state."""
    other = tmp_path / f"fresh-{time.monotonic_ns()}"
    return WorktreeCapture(other, root).capture().tree


class TestExactBytes:
    def test_tracked_dirty_untracked_and_deleted(self, tmp_path, store):
        root = repository(
            tmp_path / "r", {"a": "1", "b": "2", "gone": "3", "dir/c": "4", ".gitignore": "*.log\n"}
        )
        write(root, {"b": "dirty", "new/deep/file": "5", "x.log": "ignored"})
        write(root, {"staged": "staged"})
        git(root, "add", "staged")
        write(root, {"staged": "and changed again"})
        (root / "gone").unlink()
        captured, files = captured_files(root, store)
        assert captured == CapturedTree(captured.tree, (), ())
        assert {name: data for name, (_, data) in files.items()} == {
            ".gitignore": b"*.log\n",
            "a": b"1",
            "b": b"dirty",
            "dir/c": b"4",
            "new/deep/file": b"5",
            "staged": b"and changed again",
        }

    def test_modes_links_and_odd_content(self, tmp_path, store):
        root = repository(
            tmp_path / "r", {"script": "#!/bin/sh\n", "plain": "x", "empty": "", "nul": b"\0\xff\r\n"}
        )
        (root / "script").chmod(0o755)
        (root / "link").symlink_to("nowhere at all")
        (root / "folder-link").symlink_to("/etc")
        _, files = captured_files(root, store)
        assert files == {
            "script": ("100755", b"#!/bin/sh\n"),
            "plain": ("100644", b"x"),
            "empty": ("100644", b""),
            "nul": ("100644", b"\0\xff\r\n"),
            "link": ("120000", b"nowhere at all"),
            "folder-link": ("120000", b"/etc"),
        }

    def test_no_conversion(self, tmp_path, store):
        data = b"one\r\ntwo\n$Id$\r\n\xc3\xa4"
        root = repository(tmp_path / "r", {"a": "x"})
        git(root, "config", "core.autocrlf", "true")
        for attributes in (
            "* text=auto\n",
            "* text eol=crlf\n",
            "* eol=lf ident\n",
            "* crlf\n",
            "* text working-tree-encoding=UTF-16\n",
            "[attr]odd text eol=lf ident\n* odd\n",
            "* binary\n",
        ):
            for folder in ("", "sub/"):
                write(root, {f"{folder}.gitattributes": attributes, f"{folder}a": data})
            _, files = captured_files(root, store)
            assert files["a"] == files["sub/a"] == ("100644", data), attributes

    def test_what_the_index_says_is_not_believed(self, tmp_path, store):
        """With conversion on, git's index calls a file clean whose bytes are not those of its blob."""
        root = repository(tmp_path / "r")
        git(root, "config", "core.autocrlf", "true")
        write(root, {"a": b"1\r\n2\r\n"})
        commit(root)
        assert git(root, "show", "HEAD:a") == "1\n2\n"
        _, files = captured_files(root, store)
        assert files["a"] == ("100644", b"1\r\n2\r\n")

    def test_a_changed_file_with_its_old_time(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1"})
        shadow = WorktreeCapture(store, root)
        os.utime(root / "a", (1, 1))
        first = shadow.capture().tree
        time.sleep(1.1)  # the time of the change of its state is compared in seconds
        (root / "a").write_text("2")
        os.utime(root / "a", (1, 1))
        assert shadow.capture().tree != first

    def test_the_tree_is_gits_own(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1", "b/c": "2"})
        captured, _ = captured_files(root, store)
        assert captured.tree == git(root, "rev-parse", "HEAD^{tree}").strip()


class TestWhatCounts:
    """The tree depends on the files and rules as they are, not on what was captured before."""

    def test_ignored_by_every_rule(self, tmp_path, store, home):
        root = repository(tmp_path / "r", {".gitignore": "/by-tree\n", "sub/.gitignore": "inner\n", "a": "1"})
        write(root, {".git/info/exclude": "by-exclude\n"})
        write(home, {"mine": "by-person\n"})
        git(root, "config", "--global", "core.excludesFile", "~/mine")
        write(root, dict.fromkeys(["by-tree", "by-exclude", "by-person", "sub/inner", ".agent/logs/x"], "x"))
        _, files = captured_files(root, store)
        assert set(files) == {".gitignore", "sub/.gitignore", "a"}
        assert WorktreeCapture(store, root).list_ignored() == (
            "by-exclude",
            "by-person",
            "by-tree",
            "sub/inner",
        )

    def test_default_place_of_the_persons_rules(self, tmp_path, store, home, monkeypatch):
        root = repository(tmp_path / "r", {"a": "1"})
        write(root, {"x.swp": "", "x.bak": ""})
        write(home, {".config/git/ignore": "*.swp\n"})
        assert set(captured_files(root, store)[1]) == {"a", "x.bak"}
        write(home, {"elsewhere/git/ignore": "*.bak\n"})
        monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "elsewhere"))
        assert set(captured_files(root, store)[1]) == {"a", "x.swp"}

    def test_own_folder_stays_out_even_when_a_rule_wants_it(self, tmp_path, store):
        root = repository(tmp_path / "r", {".gitignore": "!.agent/\n!.agent/**\n", ".agent/config.yaml": "x"})
        write(root, {".agent/new": "x"})
        assert set(captured_files(root, store)[1]) == {".gitignore"}

    def test_tracked_although_ignored(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1"})
        write(root, {".gitignore": "build/\n", "build/kept": "kept", "build/other": "other"})
        git(root, "add", "-f", "build/kept")
        _, files = captured_files(root, store)
        assert set(files) == {"a", ".gitignore", "build/kept"}
        write(root, {"build/kept": "changed"})
        assert captured_files(root, store)[1]["build/kept"][1] == b"changed"
        git(root, "rm", "-q", "-f", "--cached", "build/kept")
        assert set(captured_files(root, store)[1]) == {"a", ".gitignore"}

    def test_ignored_later_and_wanted_again(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1"})
        write(root, {"new": "x"})
        for rules, text in ((".gitignore", "new\n"), (".gitignore", ""), (".git/info/exclude", "new\n")):
            write(root, {rules: text})
            assert ("new" in captured_files(root, store)[1]) == (not text)

    def test_rules_in_a_folder_that_are_themselves_ignored(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1", "d/e/x": "1", "d/e/y": "1"})
        write(root, {".git/info/exclude": ".gitignore\n", "d/e/new": "x"})
        for _ in range(2):
            assert set(captured_files(root, store)[1]) == {"a", "d/e/x", "d/e/y", "d/e/new"}
        write(root, {"d/.gitignore": "new\nx\n"})
        for _ in range(2):
            assert set(captured_files(root, store)[1]) == {"a", "d/e/x", "d/e/y"}
        git(root, "rm", "-q", "--cached", "d/e/x")
        assert set(captured_files(root, store)[1]) == {"a", "d/e/y"}
        write(root, {"d/.gitignore": "new\n", "a": "2"})
        assert set(captured_files(root, store)[1]) == {"a", "d/e/x", "d/e/y"}
        (root / "d" / ".gitignore").unlink()
        assert set(captured_files(root, store)[1]) == {"a", "d/e/x", "d/e/y", "d/e/new"}

    def test_what_is_ignored_is_asked_only_when_the_rules_change(self, tmp_path, store, monkeypatch):
        root = repository(tmp_path / "r", {"a": "1", ".gitignore": "*.log\n", "kept.log": "1"})
        git(root, "add", "-f", "kept.log")
        watched = WatchedGit(monkeypatch, tmp_path / "bin")
        shadow = WorktreeCapture(store, root)
        for _ in range(2):
            shadow.capture()
        watched.asked()
        for text in "23":
            write(root, {"a": text, f"new{text}": ""})
            assert files_of(root, shadow.capture().tree, store)["a"][1] == text.encode()
        asked = watched.asked()
        assert asked
        assert not any("-i" in words for words in asked)
        write(root, {".gitignore": "new2\n"})
        assert set(files_of(root, shadow.capture().tree, store)) == {"a", ".gitignore", "kept.log", "new3"}
        assert any("-i" in words for words in watched.asked())

    def test_split_index(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1", "b": "2"})
        git(root, "update-index", "--split-index")
        write(root, {".gitignore": "a\n"})
        assert set(captured_files(root, store)[1]) == {".gitignore", "a", "b"}

    def test_file_becomes_folder_and_back(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1"})
        captured_files(root, store)
        (root / "a").unlink()
        write(root, {"a/b": "2"})
        assert set(captured_files(root, store)[1]) == {"a/b"}
        shutil.rmtree(root / "a")
        write(root, {"a": "3"})
        assert set(captured_files(root, store)[1]) == {"a"}

    def test_tracked_folder_becomes_a_link(self, tmp_path, store):
        root = repository(tmp_path / "r", {"d/a": "1", ".gitignore": "d/\n"})
        git(root, "add", "-f", "d/a")
        write(tmp_path, {"outside/a": "secret"})
        shutil.rmtree(root / "d")
        (root / "d").symlink_to(tmp_path / "outside")
        _, files = captured_files(root, store)
        assert b"secret" not in [data for _, data in files.values()]

    def test_every_state_gives_the_same_tree_as_a_fresh_start(self, tmp_path, store):
        root = repository(tmp_path / "r", {f"d{n}/f": str(n) for n in range(5)})
        shadow = WorktreeCapture(store, root)
        for step in range(5):
            write(root, {f"d{step}/f": "changed", f"new{step}": "x", ".gitignore": f"new{step - 1}\n"})
            assert shadow.capture().tree == fresh_tree(root, tmp_path)
            assert shadow.capture().tree == fresh_tree(root, tmp_path)


class TestKindsOfWorkspace:
    def test_folder_without_git(self, tmp_path, store):
        root = tmp_path / "r"
        write(root, {"a": "1", ".gitignore": "x\n", "x": "ignored", ".agent/y": "own"})
        _, files = captured_files(root, store)
        assert set(files) == {"a", ".gitignore"}

    def test_becomes_a_repository_later(self, tmp_path, store):
        root = tmp_path / "r"
        write(root, {"a": "1"})
        shadow = WorktreeCapture(store, root)
        first = shadow.capture().tree
        git(root, "init", "-q")
        commit(root)
        assert shadow.capture().tree == first

    def test_linked_worktree(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1"})
        git(root, "worktree", "add", "-q", "../linked")
        write(root, {".git/info/exclude": "ignored\n"})
        write(tmp_path / "linked", {"b": "2", "ignored": "x"})
        with untouched(root):
            _, files = captured_files(tmp_path / "linked", store)
        assert set(files) == {"a", "b"}

    def test_objects_are_borrowed_not_copied(self, tmp_path, store):
        root = repository(tmp_path / "r", {f"f{n}": str(n) for n in range(20)})
        write(root, {"dirty": "x"})
        captured_files(root, store)
        assert len(list((store / "objects").glob("??/*"))) == 2  # the new file and the new tree


class TestNested:
    def test_nothing_of_a_nested_repository_runs(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1"})
        nested = repository(root / "sub", {"inner": "1"})
        hostile(nested, tmp_path / "marker")
        (tmp_path / "marker").unlink(missing_ok=True)
        for text in "12":
            write(nested, {"inner": text})
            captured_files(root, store)
        assert not (tmp_path / "marker").exists()


class TestHostile:
    def test_nothing_the_repository_configures_runs(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1", "b": "2"})
        hostile(root, tmp_path / "marker")
        git(root, "add", "a", check=False)
        assert (tmp_path / "marker").exists(), "the traps work"
        (tmp_path / "marker").unlink()
        write(root, {"a": "dirty", "new": "x"})
        git_dir = fingerprint(root / ".git")
        for _ in range(2):
            _, files = captured_files(root, store)
            assert files["a"] == ("100644", b"dirty")
            WorktreeCapture(store, root).list_ignored()
        assert not (tmp_path / "marker").exists()
        assert fingerprint(root / ".git") == git_dir

    def test_what_was_planted_in_our_own_directory_is_put_right(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1"})
        WorktreeCapture(store, root).capture()
        trap = tmp_path / "trap"
        trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/marker\n")
        trap.chmod(0o755)
        with (store / "config").open("a") as config:
            config.write(f'[core]\n\tfsmonitor = {trap}\n[filter "x"]\n\tclean = {trap}\n')
        (store / "info" / "attributes").write_text("* filter=x\n")
        write(root, {"a": "2"})
        captured_files(root, store)
        assert not (tmp_path / "marker").exists()


class TestUnreadable:
    def test_named_and_not_in_the_tree(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1", "tracked": "x", "closed/in": "x", "half/in": "x"})
        write(root, {"secret": "x", "dark\x01/in": "x", ".gitignore": "skip\n", "skip/in": "x"})
        store.mkdir(parents=True)
        give_away(root)
        give_away(tmp_path / "state")
        open_up(tmp_path)

        def work() -> None:
            WorktreeCapture(store, root).capture()
            write(root, {"tracked": "changed"})
            for name, mode in {
                "tracked": 0,
                "secret": 0,
                "closed": 0,
                "half": 0o600,
                "dark\x01": 0,
                "skip": 0,
            }.items():
                (root / name).chmod(mode)
            for _ in range(2):
                captured = WorktreeCapture(store, root).capture()
                assert set(captured.unreadable) >= {"tracked", "secret", "dark\x01"}
                assert any(name.startswith("closed") for name in captured.unreadable)
                assert any(name.startswith("half") for name in captured.unreadable)
                assert not any(name.startswith("skip") for name in captured.unreadable)
                assert set(files_of(root, captured.tree, store)) == {"a", ".gitignore"}
            for name in ("tracked", "secret", "closed", "half", "dark\x01", "skip"):
                (root / name).chmod(0o700)
            captured = WorktreeCapture(store, root).capture()
            assert captured.unreadable == ()
            assert len(files_of(root, captured.tree, store)) == 7

        as_another_user(work)

    def test_pipes_and_sockets(self, tmp_path, store, monkeypatch):
        root = repository(tmp_path / "r", {"a": "1", "b": "2"})
        captured_files(root, store)
        (root / "a").unlink()
        os.mkfifo(root / "a")
        os.mkfifo(root / "new-pipe")
        monkeypatch.chdir(root)  # the path of a socket must be short
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket")
            captured = WorktreeCapture(store, root).capture()
        assert captured.unreadable == ("a",)
        assert set(files_of(root, captured.tree, store)) == {"b"}

    def test_names_that_git_refuses(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1"})
        write(root, {"git~1": "x", "sub/.GIT/config": "x"})
        captured, files = captured_files(root, store)
        assert captured.unreadable == ("git~1", "sub/.GIT/config")
        assert set(files) == {"a"}

    @pytest.mark.skipif(os.getuid() != 0, reason="only root can mount")
    def test_a_full_disk_is_no_unreadable_file(self, tmp_path):
        small = tmp_path / "small"
        small.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", small], check=False).returncode:
            pytest.skip("mounting is not allowed here")
        try:
            root = repository(tmp_path / "r", {"a": "1"})
            write(root, {"big": os.urandom(1_000_000)})
            with pytest.raises(CopyFailed, match=r"No space left|write"):
                WorktreeCapture(small / "git", root).capture()
        finally:
            subprocess.run(["umount", small], check=True)


class TestSurviving:
    def test_locks_of_a_crash(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1"})
        tree = WorktreeCapture(store, root).capture().tree
        write(store, {"index.lock": "x", "index.next": "x", "index.next.lock": "x"})
        assert WorktreeCapture(store, root).capture().tree == tree

    def test_damaged_index(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1"})
        tree = WorktreeCapture(store, root).capture().tree
        for damage in (b"", b"nonsense", b"DIRC\0\0\0\2\0\0\0\1"):
            (store / "index").write_bytes(damage)
            assert WorktreeCapture(store, root).capture().tree == tree

    def test_objects_pruned_from_the_repository(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1"})
        write(root, {"b": "amended away"})
        git(root, "add", "b")
        shadow = WorktreeCapture(store, root)
        shadow.capture()
        git(root, "rm", "-q", "--cached", "b")
        git(root, "prune", "--expire=now")
        write(root, {"c": "3"})
        captured = shadow.rebuild()
        assert files_of(root, captured.tree, store)["b"][1] == b"amended away"

    def test_objects_emptied_by_a_power_loss(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1"})
        write(root, {"b": "2"})
        captured = WorktreeCapture(store, root).capture()
        for path in (store / "objects").glob("??/*"):
            path.chmod(0o600)
            path.write_bytes(b"")
        assert WorktreeCapture(store, root).rebuild() == captured
        assert files_of(root, captured.tree, store)["b"][1] == b"2"

    def test_the_whole_directory_lost(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1"})
        shadow = WorktreeCapture(store, root)
        tree = shadow.capture().tree
        shutil.rmtree(store)
        assert shadow.capture().tree == tree

    def test_a_repeated_capture_asks_git_once(self, tmp_path, store, monkeypatch):
        root = repository(tmp_path / "r", {"a": "1"})
        os.utime(root / "a", (1, 1))
        shadow = WorktreeCapture(store, root)
        first = shadow.capture()
        watched = WatchedGit(monkeypatch, tmp_path / "bin")
        assert shadow.capture() == first
        about_files = [words for words in watched.asked() if "config" not in words]
        assert ["add" in words for words in about_files] == [True]

    def test_private(self, tmp_path, store):
        root = repository(tmp_path / "r", {"a": "1"})
        WorktreeCapture(store, root).capture()
        assert store.stat().st_mode & 0o777 == 0o700
