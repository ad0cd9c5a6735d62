"""The history of any clone, with git itself as the judge; nothing in it has a say in how it is read."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.approvals.statement import NOT_THERE, NOTES, FileAt, PathChange
from ringi.errors import CloneUnreadable, NoSuchCommit, NotesDamaged, NoWorkspace
from ringi.provenance.history import MOST_NOTE, GitHistory
from ringi.provenance.repository import GitRepository
from tests.support.damage import loosen

ODD = [
    "with space.txt",
    "new\nline.txt",
    "日本語/ファイル.txt",
    ":colon",
    'quo"te',
    "tab\there",
    "\udcff.bin",
]
LINE = b"one"


def git(root: Path, *words: str, stdin: bytes | None = None, fine: bool = True) -> str:
    done = subprocess.run(["git", *words], cwd=root, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0 or not fine, (words, done.stderr)
    return os.fsdecode(done.stdout)


def commit(root: Path, message: str = "change", *options: str) -> str:
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", *options, "-m", message)
    return git(root, "rev-parse", "HEAD").strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    git(tmp_path, "init", "-q", "-b", "main", str(root))
    (root / "a.txt").write_text("a\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    commit(root, "start")
    return root


def id_at(root: Path, name: str) -> str:
    return git(root, "rev-parse", name).strip()


def changed(root: Path) -> tuple[str, str]:
    """A commit with a change of every kind."""
    base = id_at(root, "HEAD")
    (root / "a.txt").unlink()
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("run.sh")
    for name in ODD:
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name, errors="surrogateescape")
    return base, commit(root, "all kinds\n\nAssisted-by: somebody")


def test_the_net_difference(repository: Path) -> None:
    base, head = changed(repository)
    found = {one.path: one for one in GitHistory(repository).net(base, head)}
    assert found.keys() == {"a.txt", "run.sh", "link", *ODD}
    shell = id_at(repository, f"{head}:run.sh")
    assert found["a.txt"] == PathChange(
        "a.txt", FileAt("100644", id_at(repository, f"{base}:a.txt")), NOT_THERE
    )
    assert found["run.sh"] == PathChange("run.sh", FileAt("100644", shell), FileAt("100755", shell))
    assert found["link"].after.mode == "120000"
    everything = {one.path for one in GitHistory(repository).net("", head)}
    assert everything == {"run.sh", "link", *ODD}
    assert GitHistory(repository).net(base, base) == []


def test_a_submodule_cannot_be_hidden(repository: Path, tmp_path: Path) -> None:
    """Git leaves it out of a difference if .gitmodules says so."""
    base = id_at(repository, "HEAD")
    (repository / ".gitmodules").write_text(
        '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = all\n'
    )
    git(repository, "config", "diff.ignoreSubmodules", "all")
    (repository / "sub").mkdir()
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{base},sub")
    head = commit(repository)
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare")
    wanted = FileAt("160000", base)
    for place in (repository, tmp_path / "bare"):
        history = GitHistory(place)
        assert {one.path: one.after for one in history.net(base, head)}["sub"] == wanted
        assert PathChange("sub", NOT_THERE, wanted) in next(history.commits(base, head)).changes


def test_names_of_commits(repository: Path) -> None:
    head = id_at(repository, "HEAD")
    git(repository, "tag", "-a", "-m", "tag", "v1")
    history = GitHistory(repository)
    assert [history.commit(name) for name in ("HEAD", "main", "v1", head, head[:10])] == [head] * 5
    for name in ("", "none", "HEAD~5", "HEAD:a.txt", "--all", "-q", "a..b", "f" * 40, "HEAD^{tree}"):
        with pytest.raises(NoSuchCommit):
            history.commit(name)


def test_where_two_parted(repository: Path) -> None:
    base = id_at(repository, "HEAD")
    git(repository, "checkout", "-q", "-b", "work")
    work = commit(repository, "work")
    git(repository, "checkout", "-q", "main")
    main = commit(repository, "main")
    git(repository, "checkout", "-q", "--orphan", "other")
    other = commit(repository, "other")
    history = GitHistory(repository)
    assert history.base_of(main, work) == base
    assert history.base_of(other, work) == ""
    assert history.base_of("", work) == ""
    assert history.roots(main) == {base}
    assert history.roots(other) == {other}


def test_commits_newest_first_with_their_changes(repository: Path) -> None:
    base, head = changed(repository)
    empty = commit(repository, "nothing")
    history = GitHistory(repository)
    first, second = history.commits(base, empty)
    assert (first.id, first.changes, first.message) == (empty, (), "nothing\n")
    assert second.id == head
    assert second.message == "all kinds\n\nAssisted-by: somebody\n"
    assert set(second.changes) == {PathChange(*one) for one in history.net(base, head)}
    root = [*history.commits("", empty)][-1]
    assert {(step.path, step.before) for step in root.changes} == {
        ("a.txt", NOT_THERE),
        ("run.sh", NOT_THERE),
    }
    assert (root.payload, root.signature) == (git(repository, "cat-file", "commit", base).encode(), "")


def test_a_merge_against_each_parent(repository: Path) -> None:
    base = id_at(repository, "HEAD")
    branches = []
    for number in range(3):
        git(repository, "checkout", "-q", "-b", f"b{number}", base)
        (repository / f"{number}.txt").write_text("x")
        branches.append(commit(repository, f"branch {number}"))
    git(repository, "merge", "-q", "--no-edit", "b0", "b1")
    merge = id_at(repository, "HEAD")
    found = {one.id: one for one in GitHistory(repository).commits(base, merge)}
    assert found.keys() == {merge, *branches}
    assert sorted(step.path for step in found[merge].changes) == sorted(["0.txt", "1.txt", "2.txt"] * 2)


def places(repository: Path, tmp_path: Path) -> Iterator[Path]:
    yield repository
    (repository / "folder" / "in").mkdir(parents=True)
    yield repository / "folder" / "in"
    yield repository / ".git"
    git(repository, "worktree", "add", "-q", str(tmp_path / "linked"))
    yield tmp_path / "linked"
    git(tmp_path, "clone", "-q", "--mirror", str(repository), "bare")
    yield tmp_path / "bare"
    git(tmp_path, "clone", "-q", "-s", str(repository), "shared")
    git(tmp_path / "shared", "fetch", "-q", "origin", f"{NOTES}:{NOTES}")
    yield tmp_path / "shared"


@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_in_every_kind_of_clone(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "repository"
    git(tmp_path, "init", "-q", "-b", "main", f"--object-format={kind}", str(root))
    (root / "a.txt").write_text("a\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    commit(root, "start")
    base, head = changed(root)[0], commit(root)
    blob = id_at(root, f"{base}:a.txt")
    GitRepository(root, dict(os.environ)).attach(LINE, [blob])
    wanted = [*GitHistory(root).commits("", head)]
    assert len(wanted) == 3
    for place in places(root, tmp_path):
        history = GitHistory(place)
        assert history.commit("HEAD") == head, place
        assert [*history.commits("", head)] == wanted
        assert history.notes([blob]) == {blob: b"one\n"}
        assert history.contents([blob, "0" * len(blob), head]) == {blob: b"a\n"}
        assert history.file(base, "a.txt") == b"a\n"
        assert history.roots(head) == {base}


def test_files_of_a_commit(repository: Path) -> None:
    _, head = changed(repository)
    history = GitHistory(repository)
    for name in ODD:
        assert history.file(head, name) == os.fsencode(name)
    assert history.file(head, "a.txt") is None
    assert history.file(head, "link") is None, "not where it leads, and not its text"
    assert history.file(head, "日本語") is None
    assert history.file(head, "日本語/") is None
    assert history.file(head, "*") is None
    assert history.file(head, "../a.txt") is None


def test_outside_a_repository(tmp_path: Path) -> None:
    with pytest.raises(NoWorkspace):
        GitHistory(tmp_path)


def test_a_shallow_clone_says_so(repository: Path, tmp_path: Path) -> None:
    base, head = changed(repository)
    last = commit(repository)
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{repository}", "shallow")
    history = GitHistory(tmp_path / "shallow")
    assert history.roots(last) is None
    with pytest.raises(NoSuchCommit):
        history.commit(base)
    found = {one.id: one for one in history.commits("", last)}
    assert found.keys() == {last, head}
    assert found[head].changes == (), "not as if every file were new"


def test_a_partial_clone_never_fetches(repository: Path, tmp_path: Path) -> None:
    base, head = changed(repository)
    blob = id_at(repository, f"{base}:a.txt")
    GitRepository(repository, dict(os.environ)).attach(LINE, [blob])
    git(repository, "config", "uploadpack.allowFilter", "true")
    words = ("-c", "protocol.file.allow=always", "clone", "-q", "--no-checkout", f"file://{repository}")
    git(tmp_path, *words, "--filter=blob:none", "blobless")
    git(tmp_path, *words, "--filter=tree:0", "treeless")
    for name in ("blobless", "treeless"):
        git(
            tmp_path / name,
            "config",
            "remote.origin.uploadpack",
            f"touch {tmp_path}/fetched; git-upload-pack",
        )
    blobless = GitHistory(tmp_path / "blobless")
    assert blobless.contents([blob]) == {}
    assert [*blobless.commits(base, head)] == [*GitHistory(repository).commits(base, head)]
    with pytest.raises(CloneUnreadable):
        blobless.file(base, "a.txt")
    with pytest.raises(CloneUnreadable):
        GitHistory(tmp_path / "treeless").net(base, head)
    assert not (tmp_path / "fetched").exists()


def test_nothing_in_the_clone_has_a_say(repository: Path, tmp_path: Path) -> None:
    base, head = changed(repository)
    mark = tmp_path / "ran"
    wanted = [*GitHistory(repository).commits("", head)], GitHistory(repository).net(base, head)
    hidden = git(repository, "commit-tree", "-m", "replaced", f"{base}^{{tree}}").strip()
    git(repository, "replace", head, hidden)
    (repository / ".git" / "info" / "grafts").write_text(f"{head}\n")
    for key, value in (
        ("log.showSignature", "true"), ("gpg.program", f"touch {mark}"), ("gpg.ssh.program", f"touch {mark}"),
        ("diff.external", f"touch {mark}"), ("diff.renames", "copies"), ("core.fsmonitor", f"touch {mark}"),
        ("diff.evil.textconv", f"touch {mark}"), ("filter.evil.smudge", f"touch {mark}"),
        ("core.pager", f"touch {mark}"), ("diff.noPrefix", "true"), ("core.quotePath", "true"),
        ("core.attributesFile", str(tmp_path / "attributes")), ("diff.relative", "true"),
    ):  # fmt: skip
        git(repository, "config", key, value)
    (tmp_path / "attributes").write_text("* diff=evil filter=evil\n")
    (repository / ".gitattributes").write_text("* diff=evil filter=evil\n")
    history = GitHistory(repository)
    assert ([*history.commits("", head)], history.net(base, head)) == wanted
    assert history.file(base, "a.txt") == b"a\n"
    assert not mark.exists()


class TestSignatures:
    @pytest.fixture
    def key(self, tmp_path: Path) -> Path:
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True
        )  # fmt: skip
        return tmp_path / "key"

    @pytest.mark.parametrize("kind", ["sha1", "sha256"])
    def test_as_ssh_keygen_checks_them(self, tmp_path: Path, key: Path, kind: str) -> None:
        root = tmp_path / "signed"
        git(tmp_path, "init", "-q", f"--object-format={kind}", str(root))
        git(root, "config", "gpg.format", "ssh")
        git(root, "config", "user.signingKey", str(key))
        for message in ("one", "gpgsig no header\n\n indented\n\n\nlast", "日本語"):
            head = commit(root, message, "-S")
            [found] = [one for one in GitHistory(root).commits("", head) if one.id == head]
            (tmp_path / "sig").write_text(found.signature)
            (tmp_path / "allowed").write_text("me " + key.with_suffix(".pub").read_text())
            words = [
                "ssh-keygen",
                "-Y",
                "verify",
                "-n",
                "git",
                "-I",
                "me",
                "-f",
                tmp_path / "allowed",
                "-s",
                tmp_path / "sig",
            ]
            subprocess.run(words, input=found.payload, capture_output=True, check=True)
            wrong = subprocess.run(words, input=found.payload + b"x", capture_output=True, check=False)
            assert wrong.returncode

    def test_none_of_another_kind_and_never_two(self, repository: Path) -> None:
        plain = git(repository, "cat-file", "commit", "HEAD").encode()
        pgp = b"gpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n"
        ssh = b"gpgsig -----BEGIN SSH SIGNATURE-----\n eA==\n -----END SSH SIGNATURE-----\n"
        other = ssh.replace(b"gpgsig", b"gpgsig-sha256")
        head, gap, message = plain.partition(b"\n\n")
        for headers, signed in (
            (pgp, False),
            (ssh + ssh, False),
            (other, False),
            (ssh, True),
            (other + ssh, True),
        ):
            raw = head + b"\n" + headers + b"\n" + message
            oid = git(
                repository, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=raw
            ).strip()
            [found] = GitHistory(repository).commits("", oid)
            assert bool(found.signature) == signed
            assert found.payload == head + gap + message


class TestNotes:
    def test_broken_ones_are_not_passed_over(self, repository: Path) -> None:
        blobs = [
            git(repository, "hash-object", "--stdin", stdin=str(number).encode()).strip()
            for number in range(6)
        ]
        at = GitRepository(repository, dict(os.environ))
        for number, blob in enumerate(blobs):
            at.attach(f"note {number}".encode(), [blob])
        loosen(repository)
        for number, wrong in ((1, b""), (2, b"rubbish"), (3, None)):
            oid = id_at(repository, f"{NOTES}:{blobs[number][:2]}/{blobs[number][2:]}")
            path = repository / ".git" / "objects" / oid[:2] / oid[2:]
            path.unlink()
            if wrong is not None:
                path.write_bytes(wrong)
        whole = {blobs[number]: f"note {number}\n".encode() for number in (0, 4, 5)}
        assert GitHistory(repository).notes(whole) == whole
        for number in (1, 2, 3):
            with pytest.raises(NotesDamaged):
                GitHistory(repository).notes([blobs[number]])
        with pytest.raises(NotesDamaged):
            list(GitHistory(repository).all_notes())

    def test_a_huge_one_is_left_out(self, repository: Path) -> None:
        small, huge = "1" * 40, "2" * 40
        data = b"x" * MOST_NOTE
        stream = (
            b"commit %b\ncommitter a <a@b> 1 +0000\ndata 0\nM 100644 inline %b\ndata %d\n%b\n"
            b"M 100644 inline %b\ndata 1\nx\n"
        )
        git(
            repository, "-c", "core.compression=1", "fast-import", "--quiet",
            stdin=stream % (NOTES.encode(), huge.encode(), len(data), data, small.encode()),
        )  # fmt: skip
        assert GitHistory(repository).notes([huge, small]) == {small: b"x"}

    def test_none_can_be_read_without_a_tree(self, repository: Path) -> None:
        assert GitHistory(repository).notes(["1" * 40]) == {}
        GitRepository(repository, dict(os.environ)).attach(LINE, ["1" * 40])
        loosen(repository)
        tree = id_at(repository, f"{NOTES}^{{tree}}")
        (repository / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
        with pytest.raises(NotesDamaged):
            GitHistory(repository).notes(["1" * 40])
        git(repository, "update-ref", NOTES, id_at(repository, "HEAD:a.txt"))
        with pytest.raises(NotesDamaged):
            list(GitHistory(repository).all_notes())

    def test_of_a_commit_that_is_no_ref_yet(self, repository: Path) -> None:
        GitRepository(repository, dict(os.environ)).attach(LINE, ["1" * 40])
        tip = id_at(repository, NOTES)
        git(repository, "update-ref", "-d", NOTES)
        assert GitHistory(repository).notes(["1" * 40]) == {}
        assert GitHistory(repository, notes=tip).notes(["1" * 40]) == {"1" * 40: b"one\n"}


def test_in_the_quarantine_of_a_push(repository: Path, tmp_path: Path) -> None:
    """A pre-receive hook sees what is pushed before it is in the repository."""
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare")
    hook = tmp_path / "bare" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nenv -0 > {tmp_path}/variables\ncp -r objects {tmp_path}/kept\nexit 1\n")
    hook.chmod(0o755)
    _, head = changed(repository)
    git(repository, "push", "-q", str(tmp_path / "bare"), "main", fine=False)
    given = dict(pair.split("=", 1) for pair in (tmp_path / "variables").read_text().split("\0") if pair)
    # Objects may not be written to, so those that are there already are left.
    subprocess.run(["cp", "-rn", f"{tmp_path}/kept/.", f"{tmp_path}/bare/objects"], check=True)
    with pytest.raises(NoSuchCommit):
        GitHistory(tmp_path / "bare").commit(head)
    history = GitHistory(tmp_path / "bare", quarantine=given)
    assert history.commit(head) == head
    assert [*history.commits("", head)] == [*GitHistory(repository).commits("", head)]


def test_its_own_folder_goes_with_it(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    history = GitHistory(repository)
    assert len([*(tmp_path / "temporary").iterdir()]) == 1
    del history
    assert [*(tmp_path / "temporary").iterdir()] == []
