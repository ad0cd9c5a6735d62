import os
import shutil
import socket
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringi.errors import CopyFailed, NotFound, PathRefused, StorageFailed
from ringi.tree.copy import Supervisor, WorkCopy
from ringi.tree.difference import LARGEST_FILE, CopyChange
from ringi.tree.tree_capture import WorktreeCapture
from tests.helpers import deep_folders, holds_soon, shallow_stack
from tests.unit.tree.repositories import (
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
def make(tmp_path):
    """Makes a copy; nothing of the person's own may change by it."""

    def made(root: Path, **options) -> WorkCopy:
        with untouched(root):
            return WorkCopy.make(root, tmp_path / "state", tmp_path / "cache", **options)

    return made


def files(folder: Path) -> dict[str, str]:
    return {name: facts for name, facts in fingerprint(folder).items() if name.split("/")[0] != ".git"}


def changed(copy: WorkCopy) -> dict[str, bytes | None]:
    return {change.path: change.after for change in copy.difference().changes}


def subject(copy: WorkCopy) -> str | None:
    told = copy.head_message()
    return told[0] if told else None


def left_out(copy: WorkCopy) -> dict[str, str]:
    return {path: str(why) for path, why in copy.difference().left_out}


class TestMake:
    def test_files_and_status_are_the_persons(self, tmp_path, make):
        root = repository(
            tmp_path / "r",
            {"a": "1", "b": "2", "gone": "3", "run": "#!", "d/e": "4", ".gitignore": "*.log\n"},
        )
        write(root, {"b": "dirty", "new/x": "5", "crlf": b"1\r\n", "日本\n": "6", "y.log": "ignored"})
        (root / "run").chmod(0o755)
        (root / "gone").unlink()
        (root / "link").symlink_to("b")
        copy = make(root)
        expected = files(root)
        del expected["y.log"]
        assert files(copy.tree) == expected
        status = ("status", "--porcelain=v1", "-z", "--branch", "--untracked-files=all")
        assert git(copy.tree, *status) == git(root, *status)
        assert git(copy.tree, "diff") == git(root, "diff")
        assert copy.left_behind == ("y.log",)
        assert copy.difference().changes == ()
        assert copy.difference().left_out == ()

    def test_history_branches_and_tags(self, tmp_path, make):
        root = repository(tmp_path / "r", {"a": "1"})
        git(root, "tag", "-a", "-m", "tag", "v1")
        git(root, "branch", "feature/x")
        write(root, {"a": "2"})
        commit(root, "two")
        git(root, "switch", "-q", "feature/x")
        git(root, "remote", "add", "origin", "https://user:secret@example.org/x")
        git(root, "update-ref", "refs/remotes/origin/trunk", "trunk")
        copy = make(root)
        for question in (
            ("for-each-ref",),
            ("log", "--format=%H %s", "--all"),
            ("symbolic-ref", "HEAD"),
            ("rev-parse", "v1^{}"),
        ):
            assert git(copy.tree, *question) == git(root, *question)
        assert git(copy.tree, "remote") == ""
        assert "secret" not in (copy.tree / ".git" / "config").read_text()
        assert not (copy.tree / ".git" / "hooks").exists()
        assert git(copy.tree, "fsck", "--no-dangling") == ""

    def test_detached(self, tmp_path, make):
        root = repository(tmp_path / "r", {"a": "1"})
        git(root, "checkout", "-q", "--detach")
        copy = make(root)
        assert git(copy.tree, "symbolic-ref", "-q", "HEAD", check=False) == ""
        assert git(copy.tree, "rev-parse", "HEAD") == git(root, "rev-parse", "HEAD")

    def test_without_a_commit(self, tmp_path, make):
        root = repository(tmp_path / "r")
        write(root, {"a": "1"})
        copy = make(root)
        assert git(copy.tree, "status", "--porcelain", "--branch") == "## No commits yet on trunk\n?? a\n"
        commit(copy.tree, "first")
        assert subject(copy) == "first"

    def test_folder_without_git(self, tmp_path, make):
        root = tmp_path / "r"
        write(root, {"a": "1", "d/b": "2"})
        copy = make(root)
        assert git(copy.tree, "status", "--porcelain", "--branch") == "## main\n"
        assert git(copy.tree, "log", "--format=%an %s") == "Hanako state before\n"
        assert subject(copy) is None
        write(copy.tree, {"a": "2"})
        assert changed(copy) == {"a": b"2"}
        assert not (root / ".git").exists()

    def test_the_agent_can_commit_as_the_person(self, tmp_path, make, home):
        root = repository(tmp_path / "r", {"a": "1"})
        git(root, "config", "user.name", 'Tarō "\\ #;x')
        (home / ".gitconfig").unlink()
        copy = make(root)
        commit(copy.tree, "x")
        assert git(copy.tree, "log", "-1", "--format=%an <%ae>") == 'Tarō "\\ #;x <ringi@localhost>\n'

    def test_line_ends_as_the_repository_has_them(self, tmp_path, make):
        root = repository(tmp_path / "r")
        git(root, "config", "core.autocrlf", "true")
        write(root, {"a": b"1\r\n", ".gitattributes": "* text=auto\n"})
        commit(root)
        copy = make(root)
        assert (copy.tree / "a").read_bytes() == b"1\r\n"
        assert git(copy.tree, "status", "--porcelain") == git(root, "status", "--porcelain") == ""
        write(copy.tree, {"a": b"1\n"})
        assert changed(copy) == {"a": b"1\n"}

    def test_own_folder(self, tmp_path, make):
        root = repository(
            tmp_path / "r", {"a": "1", ".agent/config.yaml": "x: 1\n", ".agent/.gitignore": "logs/\n"}
        )
        write(root, {".agent/logs/secret": "x", ".agent/untracked": "x"})
        copy = make(root)
        assert git(copy.tree, "status", "--porcelain") == ""
        assert {name for name in files(copy.tree) if "/" in name} == {
            ".agent/config.yaml",
            ".agent/.gitignore",
        }
        assert copy.left_behind == ()
        assert left_out(copy) == {}
        write(copy.tree, {".agent/config.yaml": "x: 2\n", ".agent/more": "y"})
        (copy.tree / ".agent/.gitignore").unlink()
        assert changed(copy) == {}
        assert set(left_out(copy)) == {".agent/config.yaml", ".agent/more", ".agent/.gitignore"}

    def test_own_folder_that_leads_elsewhere(self, tmp_path, make, monkeypatch):
        """Whatever an agent makes of it: a link is not followed, and no file is read without end."""
        copy = make(repository(tmp_path / "r", {"a": "1"}))
        write(tmp_path / "elsewhere", {"secret": "x"})
        read = []
        real = Path.read_bytes
        monkeypatch.setattr(Path, "read_bytes", lambda path: (read.append(path.name), real(path))[1])
        (copy.tree / ".agent").symlink_to(tmp_path / "elsewhere")
        assert set(left_out(copy)) == {".agent"}
        (copy.tree / ".agent").unlink()
        (copy.tree / ".agent").mkdir()
        with (copy.tree / ".agent" / "sparse").open("wb") as file:
            file.truncate(LARGEST_FILE + 1)
        assert set(left_out(copy)) == {".agent/sparse"}
        assert not {"secret", "sparse"} & set(read)

    def test_a_record_that_cannot_be_written_is_told_and_stays(self, tmp_path, make):
        copy = make(repository(tmp_path / "r", {"a": "1"}))
        record = copy.folder / "copy.json"
        record.rename(record.with_name("kept"))
        record.mkdir()  # nothing can be put in its place
        with pytest.raises(StorageFailed, match=r"copy\.json"):
            copy.note(plan_id="1")
        assert record.is_dir()
        assert sorted(path.name for path in copy.folder.glob(".copy.json.*")) == []

    def test_who_claims_it_reads_what_was_noted_last(self, tmp_path, make):
        copy = make(repository(tmp_path / "r", {"a": "1"}))
        other = WorkCopy.open(copy.folder)
        copy.note(plan_id="1")
        with other.claim():
            assert other.record.plan_id == "1"
        (copy.folder / "copy.json").unlink()
        with pytest.raises(CopyFailed), other.claim():
            pass

    def test_submodule_and_nested(self, tmp_path, make):
        inner = repository(tmp_path / "inner", {"x": "1"})
        root = repository(tmp_path / "r", {"a": "1"})
        git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
        commit(root)
        repository(root / "other")
        copy = make(root)
        assert copy.nested == ("other", "sub")
        assert git(copy.tree, "status", "--porcelain") == ""
        assert copy.difference().changes == ()

    def test_linked_worktree_and_shallow_clone(self, tmp_path, make):
        root = repository(tmp_path / "r", {"a": "1"})
        write(root, {"a": "2"})
        commit(root, "two")
        git(root, "worktree", "add", "-q", "-b", "side", "../linked")
        git(tmp_path, "clone", "-q", "--depth=1", f"file://{root}", "shallow")
        with untouched(root):
            linked = make(tmp_path / "linked")
        assert git(linked.tree, "log", "--format=%s") == "two\none\n"
        assert git(linked.tree, "status", "--porcelain", "--branch") == "## side\n"
        shallow = make(tmp_path / "shallow")
        assert git(shallow.tree, "log", "--format=%s") == "two\n"
        assert git(shallow.tree, "status", "--porcelain") == ""

    def test_sha256(self, tmp_path, make):
        git(tmp_path, "init", "-q", "--object-format=sha256", "r")
        write(tmp_path / "r", {"a": "1"})
        commit(tmp_path / "r")
        copy = make(tmp_path / "r")
        assert git(copy.tree, "status", "--porcelain") == ""
        commit(copy.tree, "more")
        write(copy.tree, {"a": "2"})
        assert changed(copy) == {"a": b"2"}
        assert subject(copy) == "more"

    def test_hostile_repository(self, tmp_path, make):
        root = repository(tmp_path / "r", {"a": "1"})
        hostile(root, tmp_path / "marker")
        (tmp_path / "marker").unlink(missing_ok=True)
        copy = make(root)
        write(copy.tree, {"a": "2"})
        assert changed(copy) == {"a": b"2"}
        assert not (tmp_path / "marker").exists()
        text = (copy.tree / ".git" / "config").read_text()
        assert "trap" not in text
        assert "include" not in text

    def test_objects_that_were_pruned_since_the_last_time(self, tmp_path, make):
        root = repository(tmp_path / "r", {"a": "1"})
        write(root, {"b": "staged once"})
        git(root, "add", "b")
        make(root)
        git(root, "rm", "-q", "--cached", "b")
        git(root, "prune", "--expire=now")
        assert (make(root).tree / "b").read_text() == "staged once"

    def test_private_and_registered(self, tmp_path, make):
        root = repository(tmp_path / "r", {"a": "1"})
        copy = make(root)
        for folder in (tmp_path / "state", tmp_path / "cache", copy.folder, copy.tree):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        copy.note(supervisor=Supervisor(42, "start"), command=(), taken=False)
        found = WorkCopy.open(copy.folder)
        assert found.record == copy.record
        assert found.record.workspace == str(root)
        assert found.record.supervisor == Supervisor(42, "start")
        write(found.tree, {"a": "2"})
        assert changed(found) == {"a": b"2"}

    def test_whose_it_is_is_known_from_the_start(self, tmp_path, make, monkeypatch):
        root = repository(tmp_path / "r", {"a": "1"})
        seen = []

        def look(*_: object) -> None:
            seen.extend(copy.record for copy in WorkCopy.all(tmp_path / "cache"))
            raise KeyboardInterrupt

        monkeypatch.setattr(shutil, "copyfile", look)  # of the index, into the repository of the copy
        with pytest.raises(KeyboardInterrupt):
            make(root, supervisor=Supervisor(42, "start"))
        assert [record.supervisor for record in seen] == [Supervisor(42, "start")]

    def test_what_an_agent_leaves_for_itself_is_ignored(self, tmp_path, make):
        root = repository(tmp_path / "r", {"a": "1"})
        (root / ".git" / "info").mkdir(exist_ok=True)
        (root / ".git" / "info" / "exclude").write_text("mine")  # no end of line
        copy = make(root, ignored=[".agentx*"])
        write(copy.tree, {".agentx.log": "1", "mine": "2", "b": "3"})
        assert changed(copy) == {"b": b"3"}
        assert git(copy.tree, "status", "--porcelain").strip() == "?? b"

    def test_a_failure_leaves_nothing(self, tmp_path, make, monkeypatch):
        root = repository(tmp_path / "r", {"a": "1"})

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(shutil, "copyfile", interrupted)
        with pytest.raises(KeyboardInterrupt):
            make(root)
        assert list((tmp_path / "cache").iterdir()) == []


class TestCarry:
    @pytest.fixture
    def root(self, tmp_path):
        root = repository(
            tmp_path / "r", {"a": "1", ".gitignore": "node_modules/\n.venv\n*.log\n", "sub/b": "1"}
        )
        write(
            root,
            {
                "node_modules/p/index.js": "js",
                ".venv/bin/python": "py",
                "x.log": "",
                "sub/node_modules/q": "",
            },
        )
        (root / ".venv/bin/python").chmod(0o755)
        (root / "node_modules/.bin").symlink_to("p")
        (root / "out").symlink_to(tmp_path)
        write(tmp_path, {"secret": "x"})
        return root

    def test_what_stays_behind_is_named(self, root, make):
        copy = make(root)
        assert copy.left_behind == (".venv/", "x.log")
        assert copy.record.dependencies == ("node_modules", "sub/node_modules")

    def test_an_environment_is_known_by_what_is_in_it(self, root, make):
        write(root, {".venv/pyvenv.cfg": ""})
        assert make(root).record.dependencies == (".venv", "node_modules", "sub/node_modules")

    def test_brought_as_real_files(self, root, make):
        copy = make(root, carry=["node_modules/", ".venv", "sub/node_modules"])
        assert copy.left_behind == ("x.log",)
        for name in ("node_modules", ".venv", "sub/node_modules"):
            assert fingerprint(copy.tree / name) == fingerprint(root / name)
        assert (copy.tree / "node_modules/.bin").is_symlink()
        before = (root / "node_modules/p/index.js").stat()
        assert (copy.tree / "node_modules/p/index.js").stat().st_ino != before.st_ino
        write(copy.tree, {"node_modules/p/index.js": "changed"})
        assert (root / "node_modules/p/index.js").read_text() == "js"
        assert copy.difference().changes == ()

    def test_not_taken_back_even_when_no_longer_ignored(self, root, make):
        copy = make(root, carry=["node_modules"])
        write(copy.tree, {".gitignore": "", "node_modules/new": "x"})
        assert set(changed(copy)) == {".gitignore"}
        assert left_out(copy)["node_modules/new"] == "it was carried into the copy"

    def test_a_nested_repository(self, root, make):
        repository(root / "nested", {"x": "1"})
        copy = make(root, carry=["nested"])
        assert (copy.tree / "nested/x").read_text() == "1"
        assert left_out(copy) == {}

    def test_refused(self, root, make, tmp_path):
        outside = ("../secret", "/etc", "node_modules/../../secret", "out/secret")
        for name in (*outside, ".git", ".agent", "", ".", "sub/.GIT/x"):
            with pytest.raises(PathRefused):
                make(root, carry=[name])
            assert not (tmp_path / "cache").exists()
        with pytest.raises(NotFound, match="nothing"):
            make(root, carry=["nothing"])
        with pytest.raises(PathRefused, match="in the copy already"):
            make(root, carry=["sub"])
        assert list((tmp_path / "cache").iterdir()) == []

    def test_unreadable(self, tmp_path, root):
        (root / "node_modules/p/index.js").chmod(0)
        give_away(tmp_path)
        open_up(tmp_path)

        def work() -> None:
            with pytest.raises(CopyFailed, match=r"node_modules could not be carried: .*Permission denied"):
                WorkCopy.make(root, tmp_path / "state", tmp_path / "cache", carry=["node_modules"])

        as_another_user(work)


class TestDifference:
    def test_every_kind_of_change(self, tmp_path, make):
        root = repository(
            tmp_path / "r", {"a": "1", "b": "2", "gone": "3", "mode": "4", "d/e": "5", "same": "6"}
        )
        copy = make(root)
        write(
            copy.tree,
            {"a": "new", "n/new": b"\0\xff\r\n", "empty": "", "-x": "", "ü": "", "a\nb": "", "same": "6"},
        )
        (copy.tree / "gone").unlink()
        (copy.tree / "mode").chmod(0o755)
        (copy.tree / "d/e").rename(copy.tree / "moved")
        with untouched(root):
            difference = copy.difference()
        assert difference.left_out == ()
        assert difference.changes == (
            CopyChange("-x", None, "100644", None, b""),
            CopyChange("a", "100644", "100644", b"1", b"new"),
            CopyChange("a\nb", None, "100644", None, b""),
            CopyChange("d/e", "100644", None, b"5", None),
            CopyChange("empty", None, "100644", None, b""),
            CopyChange("gone", "100644", None, b"3", None),
            CopyChange("mode", "100644", "100755", b"4", b"4"),
            CopyChange("moved", None, "100644", None, b"5"),
            CopyChange("n/new", None, "100644", None, b"\0\xff\r\n"),
            CopyChange("ü", None, "100644", None, b""),
        )
        assert difference.base == WorktreeCapture(tmp_path / "state/git", root).capture().tree
        for change in difference.changes:
            apply(root, change)
        assert difference.tree == WorktreeCapture(tmp_path / "state/git", root).capture().tree

    @pytest.mark.parametrize(
        "deed",
        [
            commit,
            lambda tree: git(tree, "stash", "-u"),
            lambda tree: shutil.rmtree(tree / ".git"),
            lambda tree: (shutil.rmtree(tree / ".git"), git(tree, "init", "-q"), commit(tree)),
            lambda tree: (shutil.rmtree(tree / ".git"), (tree / ".git").symlink_to("/nowhere")),
            lambda tree: (shutil.rmtree(tree / ".git"), (tree / ".git").write_text("gitdir: /nowhere")),
            lambda tree: (shutil.rmtree(tree / ".git"), os.mkfifo(tree / ".git")),
            lambda tree: write(tree, {".git/index": "nonsense"}),
            lambda tree: write(tree, {".git/config": "nonsense"}),
            lambda tree: (commit(tree), git(tree, "reset", "-q", "--hard", "HEAD~2")),
            lambda tree: git(tree, "checkout", "-q", "--orphan", "new"),
        ],
    )
    def test_whatever_is_done_to_the_repository_inside(self, tmp_path, make, deed):
        root = repository(tmp_path / "r", {"a": "1", "b": "2"})
        write(root, {"a": "3"})
        commit(root)
        copy = make(root)
        write(copy.tree, {"new": "x"})
        with untouched(root, copy.folder / "base.git" / "objects"):
            deed(copy.tree)
        before = {"a": b"3", "b": b"2"}
        now = {p.name: p.read_bytes() for p in copy.tree.iterdir() if p.name != ".git"}
        expected = {name: now.get(name) for name in before | now if before.get(name) != now.get(name)}
        with untouched(root):
            assert changed(copy) == expected
            subject(copy)

    def test_rules_changed_by_the_agent(self, tmp_path, make):
        root = repository(tmp_path / "r", {"a": "1", ".gitignore": "out/\n"})
        copy = make(root)
        write(copy.tree, {".gitignore": "a\nb\n", "a": "2", "b": "3", "out/x": "4"})
        assert changed(copy) == {"a": b"2", ".gitignore": b"a\nb\n", "out/x": b"4"}

    def test_added_by_force(self, tmp_path, make):
        root = repository(tmp_path / "r", {"a": "1", ".gitignore": "out/\n"})
        copy = make(root)
        write(copy.tree, {"out/x": "4", "out/y": "5"})
        git(copy.tree, "add", "-f", "out/x")
        commit(copy.tree)
        assert changed(copy) == {"out/x": b"4"}

    def test_what_cannot_be_carried_is_named(self, tmp_path, make, monkeypatch):
        root = repository(tmp_path / "r", {"file": "1", "kept": "2", "d/e": "3", ".gitignore": "tmp/\n"})
        (root / "link").symlink_to("kept")
        (root / "dead").symlink_to("nowhere")
        commit(root)
        copy = make(root)
        tree = copy.tree
        (tree / "file").unlink()
        (tree / "file").symlink_to("/etc/passwd")
        (tree / "new-link").symlink_to("kept")
        (tree / "link").unlink()
        (tree / "link").write_text("now a file")
        (tree / "dead").unlink()
        (tree / "kept").unlink()
        os.mkfifo(tree / "kept")
        os.mkfifo(tree / "pipe")
        (tree / "tmp").mkdir()
        os.mkfifo(tree / "tmp" / "ignored-pipe")
        write(tree, {"bad\udcff": "x", "back\\slash": "x", "~home": "x", "fine": "x", "git~1": "x"})
        repository(tree / "nested", {"x": "1"})
        repository(tree / "bare-nested")
        monkeypatch.chdir(tree)  # the path of a socket must be short
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket")
        assert changed(copy) == {"fine": b"x"}
        assert left_out(copy) == {
            "file": "a file became a link, or a link a file",
            "link": "a file became a link, or a link a file",
            "new-link": "it is a symbolic link",
            "dead": "it is a symbolic link",
            "kept": "it is neither a file nor a folder",
            "pipe": "it is neither a file nor a folder",
            "socket": "it is neither a file nor a folder",
            "bad\udcff": "its name is not valid UTF-8",
            "back\\slash": "it contains a backslash",
            "~home": "it starts with ~, which some programs take for a home folder",
            "git~1": "it cannot be read",
            "nested": "it is a repository of its own",
            "bare-nested": "it is a repository of its own",
        }
        assert copy.difference() == copy.difference()

    @pytest.mark.parametrize("name", [".gitignore", ".gitattributes", "d/.gitignore", "n/.git/HEAD"])
    def test_pipes_that_git_would_wait_for(self, tmp_path, make, name):
        root = repository(tmp_path / "r", {"a": "1", "d/e": "2"})
        copy = make(root)
        write(copy.tree, {"a": "2", "n/x": "3"})
        (copy.tree / name).parent.mkdir(exist_ok=True)
        os.mkfifo(copy.tree / name)
        with pytest.raises(CopyFailed) as refused:
            copy.difference(living=True)
        assert str(copy.tree / name) in str(refused.value)
        assert (copy.tree / name).is_fifo()
        assert changed(copy) == {"a": b"2", "n/x": b"3"}

    def test_unreadable_is_not_deleted(self, tmp_path):
        root = repository(tmp_path / "r", {"a": "1", "b": "2", "d/e": "3", "f/g": "4", "ok": "5"})
        give_away(tmp_path)
        open_up(tmp_path)

        def work() -> None:
            copy = WorkCopy.make(root, tmp_path / "state", tmp_path / "cache")
            write(copy.tree, {"a": "changed", "ok": "changed", "new": "x"})
            for name, mode in {"a": 0, "b": 0, "new": 0, "d": 0, "f": 0o600}.items():
                (copy.tree / name).chmod(mode)
            difference = copy.difference()
            assert [change.path for change in difference.changes] == ["ok"]
            assert {path.split("/")[0] for path, _ in difference.left_out} == {"a", "b", "new", "d", "f"}
            copy.remove()
            assert list((tmp_path / "cache").iterdir()) == []

        as_another_user(work)

    def test_no_depth_loses_the_rest(self, tmp_path):
        root = repository(tmp_path / "r", {"a": "1"})
        give_away(tmp_path)
        open_up(tmp_path)

        def work() -> None:
            copy = WorkCopy.make(root, tmp_path / "state", tmp_path / "cache")
            write(copy.tree, {"a": "2", "long/x": "3"})
            deep_folders(copy.tree, 200)
            deep_folders(copy.tree / "long", 17, "x" * 250, mode=0o500)
            (copy.tree / ".agent").mkdir()
            deep_folders(copy.tree / ".agent", 200)
            with shallow_stack():
                difference = copy.difference()
            assert [change.path for change in difference.changes] == ["a", "long/x"]
            found = {path.split("/")[0]: str(why) for path, why in difference.left_out}
            assert found == {
                ".agent": "it lies in .agent",
                "d": "it lies more than 128 folders deep",
                "long": "its path is longer than 2048 bytes",
            }
            copy.remove()
            assert list((tmp_path / "cache").iterdir()) == []

        as_another_user(work)

    def test_huge(self, tmp_path, make):
        root = repository(tmp_path / "r", {"a": "1"})
        copy = make(root)
        with (copy.tree / "big").open("wb") as file:
            file.truncate(64 * 1024 * 1024 + 1)
        assert changed(copy) == {}
        assert "bytes" in left_out(copy)["big"]

    def test_a_base_object_pruned_meanwhile(self, tmp_path, make):
        root = repository(tmp_path / "r", {"a": "1"})
        write(root, {"b": "staged once"})
        git(root, "add", "b")
        copy = make(root)
        git(root, "rm", "-q", "--cached", "b")
        git(root, "prune", "--expire=now")
        write(copy.tree, {"b": "changed"})
        with pytest.raises(CopyFailed, match="missing"):
            copy.difference()

    def test_gone(self, tmp_path, make):
        root = repository(tmp_path / "r", {"a": "1"})
        for deed in (
            lambda copy: shutil.rmtree(copy.folder),
            lambda copy: shutil.rmtree(copy.tree),
            lambda copy: (shutil.rmtree(copy.tree), copy.tree.symlink_to(root)),
        ):
            copy = make(root)
            deed(copy)
            with pytest.raises(CopyFailed, match="gone"):
                copy.difference()
            assert subject(copy) is None

    def test_traps_set_beside_the_copy(self, tmp_path, make):
        copy = make(repository(tmp_path / "r", {"a": "1"}))
        hostile(repository(tmp_path / "evil", {"x": "1"}), tmp_path / "marker")
        (tmp_path / "marker").unlink(missing_ok=True)
        base = copy.folder / "base.git"
        shutil.copyfile(tmp_path / "evil/.git/config", base / "config")
        write(base, {"info/attributes": "* filter=evil\n", "commondir": str(tmp_path / "evil/.git")})
        write(copy.tree, {"a": "2"})
        assert changed(copy) == {"a": b"2"}
        assert not (tmp_path / "marker").exists()

    def test_base_replaced_by_a_link(self, tmp_path, make):
        root = repository(tmp_path / "r", {"a": "1"})
        copy = make(root)
        shutil.rmtree(copy.folder / "base.git")
        (copy.folder / "base.git").symlink_to(root / ".git")
        commit(copy.tree, "x")
        with untouched(root), pytest.raises(CopyFailed, match="is a link"):
            copy.difference()
        with untouched(root):
            assert subject(copy) is None

    @pytest.mark.parametrize("hidden", [False, True])
    def test_a_change_in_the_same_second_is_seen(self, tmp_path, make, hidden):
        """Of the same length, in the same file, and if need be with its old time put back."""
        names = {f"f{number}": "1" for number in range(20)}
        root = repository(tmp_path / "r", names)
        for _ in range(3):
            copy = make(root)
            for name in names:
                path = copy.tree / name
                times = path.stat()
                with path.open("r+b") as file:
                    file.write(b"2")
                if hidden:
                    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            assert changed(copy) == dict.fromkeys(names, b"2")
            assert changed(copy) == dict.fromkeys(names, b"2")
            copy.remove()

    def test_nothing_at_all_is_a_copy_that_is_gone(self, tmp_path, make):
        copy = make(repository(tmp_path / "r", {"a": "1"}))
        (copy.tree / "a").unlink()
        assert changed(copy) == {"a": None}
        shutil.rmtree(copy.tree / ".git")
        assert copy.is_gone
        with pytest.raises(CopyFailed, match="gone"):
            copy.difference()


class TestHeadSubject:
    def test_all_of_the_message(self, tmp_path, make):
        copy = make(repository(tmp_path / "r", {"a": "1"}))
        git(copy.tree, "commit", "-q", "--allow-empty", "-m", "Subject", "-m", "One.", "-m", "Two.")
        assert copy.head_message() == ("Subject", "One.\n\nTwo.")

    def test_only_of_commits_made_in_the_copy(self, tmp_path, make):
        root = repository(tmp_path / "r", {"a": "1"})
        write(root, {"a": "2"})
        commit(root, "two")
        copy = make(root)
        assert subject(copy) is None
        git(copy.tree, "reset", "-q", "--hard", "HEAD~1")
        assert subject(copy) is None
        commit(copy.tree, "Mend the thing\n\nAt length.")
        assert subject(copy) == "Mend the thing"
        git(copy.tree, "pack-refs", "--all")
        git(copy.tree, "checkout", "-q", "--detach")
        commit(copy.tree, "Detached")
        assert subject(copy) == "Detached"

    def test_nothing_configured_there_runs(self, tmp_path, make):
        copy = make(repository(tmp_path / "r", {"a": "1"}))
        commit(copy.tree, "Subject")
        hostile(copy.tree, tmp_path / "marker")
        (tmp_path / "marker").unlink(missing_ok=True)
        assert subject(copy) == "Subject"
        assert ".gitattributes" in changed(copy)
        assert not (tmp_path / "marker").exists()

    def test_in_doubt_none(self, tmp_path, make):
        copy = make(repository(tmp_path / "r", {"a": "1"}))
        for head in (
            b"",
            b"nonsense",
            b"ref: refs/heads/../../../../secret",
            b"ref: /etc/passwd",
            b"ref: refs/heads/none",
            b"1" * 40,
        ):
            (copy.tree / ".git/HEAD").write_bytes(head)
            assert subject(copy) is None


class TestRemove:
    def test_without_waiting(self, tmp_path, make):
        root = repository(tmp_path / "r", {"a": "1"})
        copy, other = make(root), make(root)
        copy.remove(wait=False)
        assert not copy.folder.exists()
        assert [found.id for found in WorkCopy.all(tmp_path / "cache")] == [other.id]
        assert holds_soon(lambda: [path.name for path in (tmp_path / "cache").iterdir()] == [other.id])
        other.remove(wait=False)
        other.remove()
        assert not [path for path in (tmp_path / "cache").iterdir() if path.name == other.id]

    def test_follows_no_link(self, tmp_path, make):
        root = repository(tmp_path / "r", {"a": "1"})
        write(tmp_path, {"outside/precious": "x"})
        copy = make(root)
        (copy.tree / "way-out").symlink_to(tmp_path / "outside")
        (copy.tree / "hard").hardlink_to(tmp_path / "outside/precious")
        with untouched(root, tmp_path / "outside"):
            copy.remove()
        assert not copy.folder.exists()
        copy.remove()

    def test_closed_folders_and_hard_links(self, tmp_path):
        root = repository(tmp_path / "r", {"a": "1"})
        write(tmp_path, {"outside/precious": "x"})
        (tmp_path / "outside/precious").chmod(0o400)
        give_away(tmp_path)
        open_up(tmp_path)

        def work() -> None:
            copy = WorkCopy.make(root, tmp_path / "state", tmp_path / "cache")
            write(copy.tree, {"d/e/f": "x"})
            (copy.tree / "d/e/hard").hardlink_to(tmp_path / "outside/precious")
            (copy.tree / "d/e").chmod(0o555)
            (copy.tree / "d").chmod(0)
            with untouched(tmp_path / "outside"):
                copy.remove()
            assert list((tmp_path / "cache").iterdir()) == []

        as_another_user(work)

    def test_all(self, tmp_path, make):
        root = repository(tmp_path / "r", {"a": "1"})
        assert WorkCopy.all(tmp_path / "cache") == []
        first, second = make(root), make(root)
        write(tmp_path / "cache", {"broken/copy.json": "{", ".removed-x/copy.json": "{}", "stray": ""})
        found = WorkCopy.all(tmp_path / "cache")
        assert {copy.id for copy in found} == {first.id, second.id}
        first.remove()
        assert [copy.id for copy in WorkCopy.all(tmp_path / "cache")] == [second.id]
        assert not (tmp_path / "cache/.removed-x").exists()


def apply(root: Path, change: CopyChange) -> None:
    path = root / change.path
    if change.after is None:
        path.unlink()
        return
    for parent in reversed(path.relative_to(root).parents):
        if (root / parent).is_file():
            (root / parent).unlink()
    if path.is_dir():
        shutil.rmtree(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(change.after)
    path.chmod(0o755 if change.after_mode == "100755" else 0o644)


NAMES = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a", "e", "e/a", "ü", "-r", "x y", "new\nline", "A"])
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, st.binary(max_size=6)),
        st.tuples(st.just("delete"), NAMES, st.none()),
        st.tuples(st.just("chmod"), NAMES, st.sampled_from([0o644, 0o755])),
        st.tuples(st.just("rename"), NAMES, NAMES),
    ),
    max_size=12,
)


def edit(tree: Path, edits) -> None:
    for kind, name, value in edits:
        path = tree / name
        try:
            if kind == "write":
                if path.is_dir():
                    shutil.rmtree(path)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(value)
            elif kind == "delete":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            elif kind == "chmod":
                if path.is_file():
                    path.chmod(value)
            else:
                (tree / value).parent.mkdir(parents=True, exist_ok=True)
                path.rename(tree / value)
        except OSError:
            continue  # the name is taken by something of another kind, or nothing is there


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=EDITS, dirty=EDITS, after=EDITS, in_git=st.booleans())
def test_the_difference_turns_the_base_into_the_final_tree(tmp_path, before, dirty, after, in_git):
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    root = folder / "r"
    root.mkdir()
    edit(root, before)
    if in_git:
        git(root, "init", "-q")
        commit(root)
        edit(root, dirty)
    with untouched(root):
        copy = WorkCopy.make(root, folder / "state", folder / "cache")
    assert plain_files(copy.tree) == plain_files(root)
    edit(copy.tree, after)
    difference = copy.difference()
    assert difference.left_out == ()
    # Deletions first, so that a folder can become a file.
    for change in sorted(difference.changes, key=lambda change: change.after is not None):
        apply(root, change)
    assert plain_files(root) == plain_files(copy.tree)
    assert WorktreeCapture(folder / "state/git", root).capture().tree == difference.tree
    copy.remove()


def plain_files(tree: Path) -> dict[str, tuple[bool, bytes]]:
    return {
        str(path.relative_to(tree)): (bool(path.stat().st_mode & 0o100), path.read_bytes())
        for path in tree.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


class TestWorktreeInclude:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        root = repository(tmp_path / "included")
        write(
            root,
            {
                ".gitignore": "*.local\nbuild/\nnode_modules/\nsecrets/\n",
                ".worktreeinclude": "*.local\n/secrets/*.json\nnode_modules\nkept.txt\n",
                "kept.txt": "tracked\n",
                ".env.local": "one\n",
                "sub/deep.local": "two\n",
                "secrets/a.json": "{}\n",
                "secrets/b.key": "b\n",
                "build/out": "out\n",
                "node_modules/lib/index.js": "x\n",
            },
        )
        return root

    def test_ignored_files_that_match_come_along(self, make, root: Path) -> None:
        copy = make(root)
        assert copy.record.carried == (".env.local", "secrets/a.json", "sub/deep.local")
        assert (copy.tree / "sub/deep.local").read_text() == "two\n"
        assert not (copy.tree / "secrets/b.key").exists()
        assert "build/" in copy.left_behind
        assert changed(copy) == {}

    def test_what_is_mounted_is_not_carried(self, make, root: Path) -> None:
        copy = make(root)
        assert copy.record.dependencies == ("node_modules",)
        assert not (copy.tree / "node_modules").exists()

    def test_without_the_list_nothing_comes_along(self, make, root: Path) -> None:
        (root / ".worktreeinclude").unlink()
        assert make(root).record.carried == ()
