"""What an approval says about a repository, and the notes it leaves, with git itself as the judge."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.approvals.statement import NOTES
from ringi.errors import NotesFailed
from ringi.kernel.codec import blob_id
from ringi.provenance.history import GitHistory
from ringi.provenance.repository import GitRepository
from tests.helpers import ROOT, fingerprint
from tests.support.damage import loosen

SHA1 = "0" * 40
LINE = b'{"payload":"one"}'


def git(root: Path, *words: str, stdin: bytes | None = None) -> str:
    done = subprocess.run(["git", *words], cwd=root, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return os.fsdecode(done.stdout)


def new_repository(root: Path, *options: str) -> Path:
    git(root.parent, "init", "-q", "-b", "main", *options, str(root))
    (root / "README.md").write_text("# Sample\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")
    return root


def note(root: Path, blob: str) -> bytes:
    words = ["git", "notes", "--ref", NOTES, "show", blob]
    return subprocess.run(words, cwd=root, capture_output=True, check=False).stdout


def at(root: Path) -> GitRepository:
    return GitRepository(root, dict(os.environ))


def ids(count: int, like: str = SHA1) -> list[str]:
    return [blob_id(str(number).encode(), like=like) for number in range(count)]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repository")


class TestRoots:
    def test_all_of_them_sorted(self, repository: Path) -> None:
        git(repository, "checkout", "-q", "--orphan", "other")
        git(repository, "commit", "-qm", "a second root")
        git(repository, "merge", "-q", "--allow-unrelated-histories", "--no-edit", "main")
        found = at(repository).roots()
        assert found == tuple(sorted(git(repository, "rev-list", "--max-parents=0", "HEAD").split()))
        assert len(found) == 2

    def test_nothing_without_a_commit_or_a_repository(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "-q", "empty")
        (tmp_path / "plain").mkdir()
        assert at(tmp_path / "empty").roots() == ()
        assert at(tmp_path / "plain").roots() == ()

    def test_a_repository_above_is_another_one(self, repository: Path) -> None:
        (repository / "inside").mkdir()
        inside = at(repository / "inside")
        assert inside.roots() == ()
        assert inside.filter_tracked(["a.txt"]) == frozenset()
        with pytest.raises(NotesFailed):
            inside.attach(LINE, ids(1))
        assert git(repository, "for-each-ref", "refs/notes") == ""

    def test_where_a_shallow_clone_is_cut_off_is_no_root(self, repository: Path, tmp_path: Path) -> None:
        git(repository, "commit", "-q", "--allow-empty", "-m", "second")
        git(tmp_path, "clone", "-q", "--depth=1", f"file://{repository}", "shallow")
        assert at(tmp_path / "shallow").roots() == ()


class TestPublished:
    def test_what_git_tracks_or_would(self, repository: Path, tmp_path: Path) -> None:
        (repository / ".gitignore").write_text("*.log\n/secret/\n")
        (repository / "kept.log").write_text("x")
        git(repository, "add", "-f", "kept.log")
        other = new_repository(tmp_path / "other")
        git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
        git(repository, "commit", "-qam", "submodule")
        git(repository, "submodule", "deinit", "-q", "-f", "sub")
        git(repository, "init", "-q", "inner")
        paths = [
            "new.txt",
            "README.md",
            "kept.log",
            "x.log",
            "secret/key",
            "sub/x",
            "inner/y",
            ":(top)a",
            "*.py",
        ]
        assert at(repository).filter_tracked(paths) == {"new.txt", "README.md", "kept.log", ":(top)a", "*.py"}


ATTRIBUTES = """\
*.txt text
*.crlf text eol=crlf
*.auto text=auto
*.old crlf
*.raw -text
*.id ident
*.u16 working-tree-encoding=UTF-16LE text
"""
ENDINGS = ("txt", "crlf", "auto", "old", "raw", "id", "u16", "plain")
pieces = st.sampled_from(
    [b"a", b"\n", b"\r\n", b"\r", b"\0", b"$Id: x$", b"$Id$", b"\xff", "ü".encode("utf-16-le")]
)


class TestStored:
    @pytest.mark.parametrize("autocrlf", ["", "true", "input", "false"])
    @settings(max_examples=15)
    @given(data=st.lists(pieces, max_size=8).map(b"".join), before=st.lists(pieces, max_size=4).map(b"".join))
    def test_as_git_stores_it(
        self, tmp_path_factory: pytest.TempPathFactory, autocrlf: str, data: bytes, before: bytes
    ) -> None:
        root = new_repository(tmp_path_factory.mktemp("stored") / "r")
        (root / ".gitattributes").write_text(ATTRIBUTES)
        for ending in ENDINGS:
            (root / f"file.{ending}").write_bytes(before if ending != "u16" else b"a\0")
        git(root, "-c", "core.autocrlf=false", "add", "-A")
        if autocrlf:
            git(root, "config", "core.autocrlf", autocrlf)
        found = at(root).blob_ids({f"file.{ending}": [data, before] for ending in ENDINGS})
        names = [f"file.{ending}" for ending in ENDINGS if ending != "u16"]
        for number, content in enumerate((data, before)):
            for name in names:
                (root / name).write_bytes(content)
            assert [found[name][number] for name in names] == git(root, "hash-object", *names).split()
            words = ["git", "hash-object", "--stdin", "--path=file.u16"]  # which may have no such encoding
            theirs = subprocess.run(words, cwd=root, input=content, capture_output=True, check=False)
            assert found["file.u16"][number] == theirs.stdout.decode().strip()

    def test_nothing_of_the_repository_runs(self, repository: Path) -> None:
        mark = repository.parent / "ran"
        for name in ("clean", "process", "smudge"):
            git(repository, "config", f"filter.evil.{name}", f"touch {mark}; cat")
        git(repository, "config", "core.fsmonitor", f"touch {mark}")
        (repository / ".gitattributes").write_text(
            "*.evil filter=evil text\n* filter=none\n*.evil filter=evil\n"
        )
        found = at(repository).blob_ids({"a.evil": [b"a\r\n", b"b"], "b.txt": [b"c\n"]})
        assert found == {"a.evil": ("", ""), "b.txt": (blob_id(b"c\n", like=SHA1),)}
        assert not mark.exists()

    def test_lfs(self, repository: Path) -> None:
        (repository / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
        big = b"\0" * 5000
        pointer = (
            b"version https://git-lfs.github.com/spec/v1\n"
            b"oid sha256:4a3f0eba6b6c1a3eb1ba8e1ee3a0a8b2d6a39cb3b5a6e7e3e8e4d8a5d1c9b6a0\nsize 5000\n"
        )
        plain = at(repository).blob_ids({"a.bin": [big]})
        assert plain == {"a.bin": (blob_id(big, like=SHA1),)}, "without git-lfs, git stores the bytes"
        git(repository, "config", "filter.lfs.clean", "git-lfs clean -- %f")
        git(repository, "config", "filter.lfs.required", "true")
        words = "head -c 5000 /dev/zero | sha256sum"
        sha256 = subprocess.run(["sh", "-c", words], capture_output=True, check=True).stdout.split()[0]
        text = b"version https://git-lfs.github.com/spec/v1\noid sha256:%b\nsize 5000\n" % sha256
        made = git(repository, "hash-object", "--stdin", stdin=text).strip()
        found = at(repository).blob_ids({"a.bin": [big, b"", pointer]})
        assert found == {"a.bin": (made, blob_id(b"", like=SHA1), blob_id(pointer, like=SHA1))}
        git(repository, "config", "lfs.extension.fold.clean", "fold %f")
        assert at(repository).blob_ids({"a.bin": [big]}) == {"a.bin": ("",)}

    def test_in_a_repository_with_long_ids(self, tmp_path: Path) -> None:
        root = new_repository(tmp_path / "wide", "--object-format=sha256")
        [found] = at(root).blob_ids({"a.txt": [b"a\n"]})["a.txt"]
        assert found == git(root, "hash-object", "--stdin", stdin=b"a\n").strip()
        at(root).attach(LINE, [found])
        assert note(root, found) == LINE + b"\n"

    def test_outside_a_repository(self, tmp_path: Path) -> None:
        assert at(tmp_path).blob_ids({"a": [b"x", b"y"]}) == {"a": ("", "")}


class TestAttach:
    def test_git_shows_it(self, repository: Path) -> None:
        blob = git(repository, "rev-parse", "HEAD:README.md").strip()
        at(repository).attach(LINE, [blob, *ids(3)])
        for one in (blob, *ids(3)):
            assert note(repository, one) == LINE + b"\n"

    def test_the_same_line_once(self, repository: Path) -> None:
        at(repository).attach(LINE, ids(2))
        tip = git(repository, "rev-parse", NOTES)
        at(repository).attach(LINE, ids(2))
        at(repository).attach(LINE, [])
        assert git(repository, "rev-parse", NOTES) == tip
        at(repository).attach(LINE, ids(3))
        assert [note(repository, one) for one in ids(3)] == [LINE + b"\n"] * 3

    def test_nothing_else_changes_and_no_hook_runs(self, repository: Path) -> None:
        hook = repository / ".git" / "hooks" / "reference-transaction"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {repository.parent / 'ran'}\n")
        hook.chmod(0o755)
        (repository / "README.md").write_text("# Changed\n")
        git(repository, "stash")
        (repository / "new.txt").write_text("new\n")
        git(repository, "add", "new.txt")
        (repository.parent / "ran").unlink(missing_ok=True)
        before = fingerprint(repository)
        at(repository).attach(LINE, ids(5))
        after = fingerprint(repository)
        notes = {".git/refs/notes", ".git/logs/refs/notes", f".git/{NOTES}", f".git/logs/{NOTES}"}
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        assert {path for path in changed - notes if not path.startswith(".git/objects/")} <= {
            ".git/refs",
            ".git/logs/refs",
        }
        assert before.keys() <= after.keys()
        assert not (repository.parent / "ran").exists()

    def test_without_an_identity(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in list(os.environ):
            if name.startswith(("GIT_AUTHOR", "GIT_COMMITTER", "EMAIL")):
                monkeypatch.delenv(name)
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        git(repository, "config", "user.useConfigOnly", "true")
        at(repository).attach(LINE, ids(1))
        assert git(repository, "log", "-1", "--format=%cn <%ce>", NOTES) == "ringi <ringi@localhost>\n"

    def test_at_every_depth_and_twice(self, repository: Path) -> None:
        """Notes of a large tree lie in folders; two people's may lie at two depths."""
        flat, deep, both = ids(3)
        tree = b"".join(
            b"M 100644 inline %b\ndata %d\n%b\n" % (place.encode(), len(text), text)
            for place, text in (
                (flat, b"flat\n"),
                (f"{deep[:2]}/{deep[2:4]}/{deep[4:6]}/{deep[6:]}", b"deep"),
                (both, b"one\n"),
                (f"{both[:2]}/{both[2:]}", b"two\n"),
                ("a file of somebody's", b"kept"),
            )
        )
        start = b"commit %b\ncommitter a <a@b> 1 +0000\ndata 0\n" % NOTES.encode()
        git(repository, "fast-import", "--quiet", stdin=start + tree)
        at(repository).attach(LINE, [flat, deep, both])
        assert note(repository, flat) == b"flat\n" + LINE + b"\n"
        assert note(repository, deep) == b"deep\n" + LINE + b"\n"
        assert sorted(note(repository, both).split()) == sorted([b"one", b"two", LINE])
        listing = git(repository, "ls-tree", "-r", "--name-only", NOTES).splitlines()
        assert sorted(listing) == sorted(
            [*(f"{one[:2]}/{one[2:]}" for one in ids(3)), "a file of somebody's"]
        )

    def test_a_note_that_cannot_be_read_is_not_lost(self, repository: Path) -> None:
        at(repository).attach(LINE, ids(1))
        loosen(repository)
        oid = git(repository, "rev-parse", f"{NOTES}:{ids(1)[0][:2]}/{ids(1)[0][2:]}").strip()
        (repository / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
        tip = git(repository, "rev-parse", NOTES)
        with pytest.raises(NotesFailed):
            at(repository).attach(b"other", ids(2))
        assert git(repository, "rev-parse", NOTES) == tip

    def test_refused(self, repository: Path) -> None:
        with pytest.raises(NotesFailed):
            at(repository).attach(LINE, ["no\nid"])
        git(repository, "update-ref", f"{NOTES}/below", "HEAD")
        with pytest.raises(NotesFailed, match="ringi"):
            at(repository).attach(LINE, ids(1))
        assert not list((repository / ".git").glob("fast_import_crash*"))

    def test_a_held_ref_is_waited_for(self, repository: Path) -> None:
        at(repository).attach(LINE, ids(1))
        lock = repository / ".git" / f"{NOTES}.lock"
        lock.touch()
        with ThreadPoolExecutor() as pool:
            writing = pool.submit(at(repository).attach, b"later", ids(1))
            lock.unlink()
            writing.result()
        assert note(repository, ids(1)[0]) == LINE + b"\nlater\n"

    def test_notes_of_another_work_tree(self, repository: Path, tmp_path: Path) -> None:
        tree = new_repository(tmp_path / "tree")
        (tree / ".gitattributes").write_text("*.txt text\n")
        ours = GitRepository(tree, dict(os.environ), notes_root=repository)
        [blob] = ours.blob_ids({"a.txt": [b"a\r\n"]})["a.txt"]
        assert blob == blob_id(b"a\n", like=SHA1)
        ours.attach(LINE, [blob])
        assert note(repository, blob) == LINE + b"\n"
        assert git(tree, "for-each-ref", "refs/notes") == ""

    def test_in_a_linked_worktree(self, repository: Path, tmp_path: Path) -> None:
        git(repository, "worktree", "add", "-q", str(tmp_path / "linked"))
        at(tmp_path / "linked").attach(LINE, ids(1))
        assert note(repository, ids(1)[0]) == LINE + b"\n"

    def test_many_at_once_lose_nothing(self, repository: Path) -> None:
        """Processes that write to the same blob in the same moment."""
        script = (
            "import os, sys; from pathlib import Path\n"
            "from ringi.provenance.repository import GitRepository\n"
            "at = GitRepository(Path(sys.argv[1]), dict(os.environ))\n"
            "for n in range(3): at.attach(f'{sys.argv[2]}-{n}'.encode(), sys.argv[3:])"
        )
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", script, str(repository), str(number), *ids(4)], env=environment
            )
            for number in range(5)
        ]
        assert [writer.wait() for writer in writers] == [0] * 5
        wanted = sorted(f"{who}-{number}".encode() for who in range(5) for number in range(3))
        for blob in ids(4):
            assert sorted(note(repository, blob).split()) == wanted

    def test_ten_thousand(self, repository: Path) -> None:
        many = ids(10_000)
        at(repository).attach(LINE, many)
        at(repository).attach(b"second", many[:500])
        git(repository, "hash-object", "-w", "--stdin", stdin=b"0")
        text = "".join(f"line {number}\n" for number in range(98))
        git(repository, "notes", "--ref", NOTES, "append", "-m", text, many[0])
        assert len([line for line in note(repository, many[0]).splitlines() if line]) == 100
        at(repository).attach(b"last", many[:1])
        assert len(note(repository, many[0]).splitlines()) == 101
        listed = git(repository, "notes", "--ref", NOTES, "list").splitlines()
        assert {line.split()[1] for line in listed} == set(many)
        history = GitHistory(repository)
        found = history.notes(many)
        assert found[many[0]] == note(repository, many[0])
        assert found[many[499]] == LINE + b"\nsecond\n"
        assert found[many[9_999]] == LINE + b"\n"
        assert dict(history.all_notes()) == found


@settings(max_examples=10)
@given(
    acts=st.lists(
        st.tuples(
            st.sampled_from(["ours", "append", "remove", "prune"]),
            st.sets(st.integers(0, 5), min_size=1),
            st.sampled_from([b"x", b"y", b"a b", b"\xe3\x81\x82"]),
        ),
        max_size=8,
    )
)
def test_beside_git_itself(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, set[int], bytes]]
) -> None:
    """Whatever git and we write by turns, both read the same lines."""
    root = new_repository(tmp_path_factory.mktemp("beside") / "r")
    blobs = ids(6)
    for number in range(6):
        git(root, "hash-object", "-w", "--stdin", stdin=str(number).encode())
    wanted: dict[str, set[bytes]] = {blob: set() for blob in blobs}
    for kind, chosen, line in acts:
        some = [blobs[number] for number in sorted(chosen)]
        if kind == "ours":
            at(root).attach(line, some)
        for blob in some:
            if kind == "append":
                git(root, "notes", "--ref", NOTES, "append", "-m", os.fsdecode(line), blob)
            if kind == "remove":
                git(root, "notes", "--ref", NOTES, "remove", "--ignore-missing", blob)
                wanted[blob] = set()
            elif kind != "prune":
                wanted[blob].add(line)
        if kind == "prune" and any(wanted.values()):
            git(root, "notes", "--ref", NOTES, "prune")
    found = GitHistory(root).notes(blobs)
    for blob in blobs:
        theirs = {line for line in note(root, blob).split(b"\n") if line}
        assert theirs == wanted[blob] == {line for line in found.get(blob, b"").split(b"\n") if line}
