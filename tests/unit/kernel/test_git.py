import os
from pathlib import Path

import pytest

from ringi.errors import CopyFailed, Unsupported
from ringi.kernel.process.git import Git, quote, require_version, settings, version
from ringi.kernel.process.repository import Repository
from tests.unit.tree.repositories import (
    as_another_user,
    commit,
    git,
    give_away,
    isolate,
    open_up,
    repository,
    untouched,
    write,
)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    return isolate(monkeypatch, tmp_path / "home")


def test_runs_git_in_the_named_directory(tmp_path):
    root = repository(tmp_path / "r", {"a": "1"})
    with untouched(root):
        assert Git(root / ".git", root).run("ls-files", "-z") == b"a\0"


def test_nothing_that_steers_git_is_inherited(tmp_path, monkeypatch):
    root = repository(tmp_path / "r", {"a": "1"})
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    assert Git(root / ".git", root).run("ls-files") == b"a\n"
    assert not (tmp_path / "trace").exists()


def test_no_hook_runs_whatever_we_do(tmp_path):
    root = repository(tmp_path / "r", {"a": "1"})
    (root / ".git/hooks").mkdir(exist_ok=True)
    for name in ("reference-transaction", "post-index-change"):
        hook = root / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\necho {name} >> {tmp_path / 'ran'}\n")
        hook.chmod(0o755)
    git(root, "update-ref", "refs/ours/one", "HEAD")
    assert (tmp_path / "ran").exists(), "it would"
    (tmp_path / "ran").unlink()
    ours = Git(root / ".git", root)
    ours.run("update-ref", "refs/ours/two", "HEAD")
    ours.run("read-tree", "HEAD")
    assert not (tmp_path / "ran").exists()


def test_the_persons_configuration_is_read_only_when_asked(tmp_path):
    root = repository(tmp_path / "r")
    git(root, "config", "user.name", "Local")
    assert settings(Git(root / ".git", root), r"^user\.") == {("local", "user.name"): "Local"}
    found = settings(Git(root / ".git", root, personal=True), r"^user\.")
    assert found["global", "user.name"] == "Hanako"
    assert found["local", "user.name"] == "Local"


def test_a_failure_says_what_git_said(tmp_path):
    root = repository(tmp_path / "r")
    with pytest.raises(CopyFailed, match="git cat-file failed: fatal: Not a valid object name nonsense"):
        Git(root / ".git", root).run("cat-file", "-p", "nonsense")


def test_a_vanished_folder_is_named(tmp_path):
    with pytest.raises(CopyFailed, match=r"gone\.git"):
        Git(tmp_path / "gone.git").run("version")


def test_without_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unsupported, match="the program git"):
        Git(tmp_path).run("version")


def test_a_git_in_the_repository_is_not_found_through_the_path(tmp_path, monkeypatch):
    root = repository(tmp_path / "r")
    (root / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/marker\n")
    (root / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f".::{os.environ['PATH']}")
    monkeypatch.chdir(root)
    Git(root / ".git", root).run("version")
    assert not (tmp_path / "marker").exists()


def test_a_git_that_hangs_is_ended(tmp_path):
    root = repository(tmp_path / "r")
    os.mkfifo(root / ".gitignore")
    with pytest.raises(CopyFailed, match=r"git ls-files did not end in 0\.3 s"):
        Git(root / ".git", root, time_limit=0.3).run("ls-files", "-o", "--exclude-standard")


def test_one_that_nobody_waits_for_is_ended(tmp_path):
    root = repository(tmp_path / "r")
    with (
        pytest.raises(KeyError),
        Git(root / ".git", root).start("cat-file", "--batch", stdin=b""),
    ):
        raise KeyError


def test_no_transport_is_ever_used(tmp_path):
    """A partial clone with a missing object would start its own ssh program to fetch it."""
    root = repository(tmp_path / "r", {"a": "1"})
    (tmp_path / "ssh").write_text(f"#!/bin/sh\ntouch {tmp_path}/marker\n")
    (tmp_path / "ssh").chmod(0o755)
    for name, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": "ssh://nowhere/x",
        "core.sshCommand": str(tmp_path / "ssh"),
        "protocol.ssh.allow": "always",
        "protocol.allow": "always",
    }.items():
        git(root, "config", name, value)
    git(root, "cat-file", "-p", "1" * 40, check=False, protocols="ssh")
    (tmp_path / "marker").unlink()  # git alone runs it
    missing = Git(root / ".git", root).attempt("cat-file", "-p", "2" * 40)
    assert missing.code != 0
    assert not (tmp_path / "marker").exists()


def test_version():
    assert version() >= (2, 32)
    require_version()


class TestRepository:
    def test_none(self, tmp_path):
        assert Repository.at(tmp_path) is None
        (tmp_path / ".git").mkdir()
        assert Repository.at(tmp_path) is None

    @pytest.mark.parametrize("text", [b"", b"nonsense", b"gitdir: /nowhere", b"gitdir: \xff\n", b"gitdir:"])
    def test_a_git_file_that_leads_nowhere(self, tmp_path, text):
        (tmp_path / ".git").write_bytes(text)
        assert Repository.at(tmp_path) is None

    def test_a_pipe_is_no_repository(self, tmp_path):
        os.mkfifo(tmp_path / ".git")
        assert Repository.at(tmp_path) is None

    def test_closed(self, tmp_path):
        root = repository(tmp_path / "r", {"a": "1"})
        give_away(root)
        open_up(tmp_path)

        def work() -> None:
            (root / ".git").chmod(0)
            with pytest.raises(CopyFailed, match="Permission denied"):
                Repository.at(root)

        as_another_user(work)

    def test_linked_worktree(self, tmp_path):
        root = repository(tmp_path / "r", {"a": "1"})
        git(root, "worktree", "add", "-q", "../linked")
        found = Repository.at(tmp_path / "linked")
        assert found == Repository(root / ".git" / "worktrees" / "linked", root / ".git")
        assert found.objects() == (root / ".git" / "objects",)

    def test_submodule(self, tmp_path):
        inner = repository(tmp_path / "inner", {"a": "1"})
        root = repository(tmp_path / "r", {"b": "1"})
        git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
        assert Repository.at(root / "sub") == Repository(
            root / ".git" / "modules" / "sub", root / ".git" / "modules" / "sub"
        )

    def test_chain_of_borrowed_objects(self, tmp_path):
        """A relative, an absolute and a quoted entry; one that closes a circle."""
        first = repository(tmp_path / "first", {"a": "1"})
        git(tmp_path, "clone", "-q", "--shared", "first", "second")
        git(tmp_path, "clone", "-q", "--shared", "second", "third")
        (tmp_path / "second/.git/objects/info/alternates").write_text(
            f'# a comment\n../../../first/.git/objects\n"{tmp_path}/\\303\\274/objects"\n'
        )
        write(first, {".git/objects/info/alternates": str(tmp_path / "third/.git/objects") + "\n"})
        found = Repository.at(tmp_path / "third")
        assert found is not None
        assert list(found.objects()) == [
            tmp_path / "third/.git/objects",
            tmp_path / "second/.git/objects",
            tmp_path / "first/.git/objects",
            tmp_path / "ü/objects",
        ]


def test_a_folder_with_every_awkward_character(tmp_path):
    odd = tmp_path / 'a "b"\\c\nd#'
    root = repository(odd / "r", {"a": "1"})
    head = commit(root)
    store = repository(tmp_path / "store")
    (store / ".git/objects/info/alternates").write_bytes(quote(root / ".git" / "objects") + b"\n")
    assert Git(store / ".git").run("cat-file", "-t", head) == b"commit\n"
    empty = repository(tmp_path / "empty")
    more = Git(empty / ".git", more_objects=root / ".git" / "objects")
    assert more.run("cat-file", "-t", head) == b"commit\n"


def test_quoted():
    assert quote(Path('/a"b\\c\nd')) == b'"/a\\"b\\\\c\\nd"'
