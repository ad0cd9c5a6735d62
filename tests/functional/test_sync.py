"""`ringi sync` between real clones and bare repositories on this machine."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from ringi.approvals.statement import NOTES
from ringi.kernel.codec import blob_id
from ringi.provenance.repository import GitRepository
from tests.fakes.loopback import Handler, Loopback
from tests.functional.desk import RINGI, Desk
from tests.functional.range_desk import AGENT, SIGNERS, Clone, Office, line
from tests.helpers import ROOT, fingerprint, holds_soon

BLOBS = [blob_id(str(number).encode(), like="0" * 40) for number in range(8)]


def git(root: Path, *words: str, stdin: bytes | None = None) -> str:
    done = subprocess.run(["git", *words], cwd=root, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return os.fsdecode(done.stdout)


def attach(root: Path, line: str, *blobs: str) -> None:
    GitRepository(root, dict(os.environ)).attach(line.encode(), blobs)


def lines(root: Path, blob: str) -> list[str]:
    words = ["git", "notes", "--ref", NOTES, "show", blob]
    return subprocess.run(words, cwd=root, capture_output=True, text=True, check=False).stdout.splitlines()


def hook(repository: Path, name: str, script: str) -> None:
    path = repository / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


class Team(NamedTuple):
    hub: Path
    one: Desk
    two: Desk

    def at_hub(self, blob: str) -> list[str]:
        return lines(self.hub, blob)


Make = Callable[..., Team]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(*options: str) -> Team:
        git(tmp_path, "init", "-q", "--bare", "-b", "main", *options, "hub")
        git(tmp_path, "init", "-q", "-b", "main", *options, "one")  # a clone of nothing forgets the format
        git(tmp_path / "one", "remote", "add", "origin", "../hub")
        (tmp_path / "one" / "a.txt").write_text("a\n")
        git(tmp_path / "one", "add", "-A")
        git(tmp_path / "one", "commit", "-qm", "start")
        git(tmp_path / "one", "push", "-q", "origin", "HEAD:main")
        git(tmp_path, "clone", "-q", "hub", "two")
        return Team(tmp_path / "hub", Desk(tmp_path / "one"), Desk(tmp_path / "two"))

    return made


@pytest.fixture
def team(make: Make) -> Team:
    return make()


def synced(desk: Desk, *words: str) -> str:
    done = desk.run("sync", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


class TestTwoPeople:
    def test_nothing_is_lost(self, team: Team) -> None:
        assert "There are no notes yet, here or in origin." in synced(team.one)
        attach(team.one.root, "by one", *BLOBS[:3])
        attach(team.two.root, "by two", *BLOBS[2:4])
        assert "0 came, 3 went" in synced(team.one)
        assert "3 came, 2 went" in synced(team.two)
        assert "2 came, 0 went" in synced(team.one)
        assert "origin has the same 4 notes" in synced(team.one)
        for root in (team.hub, team.one.root, team.two.root):
            found = [lines(root, blob) for blob in BLOBS[:4]]
            assert found == [["by one"], ["by one"], ["by one", "by two"], ["by two"]]

    def test_only_fetched(self, team: Team) -> None:
        attach(team.one.root, "by one", *BLOBS[:2])
        attach(team.two.root, "by two", BLOBS[0])
        said = synced(team.one, "--no-push")
        assert "No new notes in origin" in said
        assert "Not in origin yet: 2" in said
        assert team.at_hub(BLOBS[0]) == []
        synced(team.two)
        assert team.one.json("sync", "--no-push") == {
            "schema_version": 1, "remote": "origin", "came": 1, "went": 0, "waiting": 2, "total": 2,
        }  # fmt: skip
        assert lines(team.one.root, BLOBS[0]) == ["by one", "by two"]

    def test_both_at_once(self, team: Team) -> None:
        """Each approves and syncs again and again, and so does a third process in the first clone."""
        script = (
            "import os, subprocess, sys; from pathlib import Path\n"
            "from ringi.provenance.repository import GitRepository\n"
            "root, who, *blobs = sys.argv[1:]\n"
            "for n in range(2):\n"
            "    GitRepository(Path(root), dict(os.environ)).attach(f'{who}-{n}'.encode(), blobs)\n"
            "    done = subprocess.run([sys.executable, '-m', 'ringi', 'sync'], cwd=root)\n"
            "    assert done.returncode == 0\n"
        )
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        places = [(team.one.root, "a"), (team.two.root, "b"), (team.one.root, "c")]
        people = [
            subprocess.Popen(
                [sys.executable, "-c", script, str(root), who, *BLOBS],
                env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
            for root, who in places
        ]  # fmt: skip
        said = [person.communicate()[0] for person in people]
        assert [person.returncode for person in people] == [0, 0, 0], said
        wanted = sorted(f"{who}-{number}" for _, who in places for number in range(2))
        for desk in (team.one, team.two):
            synced(desk)
            assert [sorted(lines(desk.root, blob)) for blob in BLOBS] == [wanted] * len(BLOBS)
        assert sorted(team.at_hub(BLOBS[0])) == wanted

    def test_somebody_is_faster(self, team: Team) -> None:
        """Another push comes between our fetch and ours."""
        attach(team.two.root, "faster", BLOBS[0])
        git(team.two.root, "push", "-q", "origin", f"{NOTES}:refs/heads/waiting")
        hook(
            team.hub, "pre-receive",
            f"unset GIT_QUARANTINE_PATH\n[ -e once ] || {{ : > once; git update-ref {NOTES} waiting; }}",
        )  # fmt: skip
        attach(team.one.root, "slower", BLOBS[0])
        assert "1 came, 1 went" in synced(team.one)
        assert team.at_hub(BLOBS[0]) == ["faster", "slower"]
        assert (team.hub / "once").exists()

    def test_always_somebody_is_faster(self, team: Team) -> None:
        hook(
            team.hub, "pre-receive",
            f"unset GIT_QUARANTINE_PATH\nwhile read old new ref; do :; done\n"
            f"tree=$(git rev-parse -q --verify {NOTES}^{{tree}} || git write-tree)\n"
            f"git update-ref {NOTES} $(echo x | git commit-tree $tree $(git rev-parse -q --verify {NOTES} "
            f"| sed 's/^/-p /'))",
        )  # fmt: skip
        attach(team.one.root, "mine", BLOBS[0])
        done = team.one.run("sync")
        assert done.returncode == 1
        assert "others kept pushing at the same moment" in done.stderr
        assert lines(team.one.root, BLOBS[0]) == ["mine"]


class TestRemotes:
    def test_the_one_that_git_would_choose(self, team: Team, tmp_path: Path) -> None:
        attach(team.one.root, "mine", BLOBS[0])
        for name in ("fork", "other"):
            git(tmp_path, "init", "-q", "--bare", name)
            git(team.one.root, "remote", "add", name, f"../{name}")
        branch = git(team.one.root, "symbolic-ref", "--short", "HEAD").strip()
        git(team.one.root, "config", f"branch.{branch}.remote", "fork")
        assert "with fork" in synced(team.one)
        assert lines(tmp_path / "fork", BLOBS[0]) == ["mine"]
        git(team.one.root, "config", f"branch.{branch}.remote", "gone")
        assert "with origin" in synced(team.one)
        git(team.one.root, "remote", "remove", "origin")
        done = team.one.run("sync")
        assert done.returncode == 2
        assert "there are several remotes: fork, other" in done.stderr
        assert "with other" in synced(team.one, "other")
        git(team.one.root, "remote", "remove", "fork")
        assert "other has the same 1 notes" in synced(team.one)
        git(team.one.root, "remote", "remove", "other")
        done = team.one.run("sync")
        assert done.returncode == 2
        assert "this repository has no remote" in done.stderr

    def test_out_of_reach(self, team: Team) -> None:
        git(team.one.root, "remote", "set-url", "origin", "http://127.0.0.1:1/hub")
        done = team.one.run("sync")
        assert done.returncode == 1
        assert "127.0.0.1" in done.stderr
        assert "run the same command again" in done.stderr

    def test_it_takes_no_push(self, team: Team) -> None:
        attach(team.two.root, "theirs", BLOBS[1])
        synced(team.two)
        hook(team.hub, "pre-receive", "echo 'Only the release team pushes here.' >&2; exit 1")
        attach(team.one.root, "mine", BLOBS[0])
        done = team.one.run("sync")
        assert done.returncode == 1
        assert "origin did not take the notes: Only the release team pushes here." in done.stderr
        assert "ringi sync --no-push" in done.stderr
        assert lines(team.one.root, BLOBS[0]) == ["mine"]
        assert lines(team.one.root, BLOBS[1]) == ["theirs"]


class TestEveryKindOfClone:
    @pytest.mark.parametrize("kind", ["sha1", "sha256"])
    def test_bare_linked_and_below(self, make: Make, tmp_path: Path, kind: str) -> None:
        team = make(f"--object-format={kind}")
        blobs = [blob_id(b"x", like="0" * (64 if kind == "sha256" else 40))]
        (team.one.root / "folder").mkdir()
        git(team.one.root, "worktree", "add", "-q", str(tmp_path / "linked"))
        git(tmp_path, "clone", "-q", "--bare", "hub", "bare")
        for number, place in enumerate((team.one.root / "folder", tmp_path / "linked", tmp_path / "bare")):
            top = place.parent if place.name == "folder" else place
            if place.name != "bare":
                attach(top, f"line {number}", *blobs)
            synced(Desk(place))
        assert lines(tmp_path / "bare", blobs[0]) == ["line 0", "line 1"]

    def test_shallow_and_partial(self, team: Team, tmp_path: Path) -> None:
        attach(team.one.root, "mine", *BLOBS)
        synced(team.one)
        git(team.hub, "config", "uploadpack.allowFilter", "true")
        for name, option in (("shallow", "--depth=1"), ("partial", "--filter=blob:none")):
            git(tmp_path, "clone", "-q", option, f"file://{team.hub}", name)
            assert "8 came" in synced(Desk(tmp_path / name))
            attach(tmp_path / name, name, BLOBS[0])
            assert "1 went" in synced(Desk(tmp_path / name))
            assert not git(tmp_path / name, "rev-list", "--objects", "--missing=print", NOTES).count("?")
        assert sorted(team.at_hub(BLOBS[0])) == ["mine", "partial", "shallow"]


class TestTheCloneIsLeftAlone:
    def test_only_the_notes_change(self, team: Team) -> None:
        attach(team.two.root, "theirs", *BLOBS)
        synced(team.two)
        (team.two.root / "b.txt").write_text("b\n")
        git(team.two.root, "add", "-A")
        git(team.two.root, "commit", "-qm", "more")
        git(team.two.root, "tag", "v1")
        git(team.two.root, "push", "-q", "origin", "HEAD:main", "v1")
        attach(team.one.root, "mine", BLOBS[0])
        before = fingerprint(team.one.root)
        synced(team.one)
        after = fingerprint(team.one.root)
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        kept = {path for path in changed if not path.startswith(".git/objects/")}
        assert kept <= {f".git/{NOTES}", f".git/logs/{NOTES}"}
        assert git(team.hub, "for-each-ref", "--format=%(refname)").split() == [
            "refs/heads/main",
            NOTES,
            "refs/tags/v1",
        ]

    def test_no_program_that_the_clone_names(self, team: Team, tmp_path: Path) -> None:
        mark = tmp_path / "ran"
        program = f"touch {shlex.quote(str(mark))};"
        for name in ("pre-push", "reference-transaction", "post-merge", "pre-auto-gc"):
            hook(team.one.root / ".git", name, program)
        for key, value in (
            ("core.sshCommand", program), ("credential.helper", f"!{program}"), ("core.askPass", program),
            ("remote.origin.uploadpack", f"{program} git-upload-pack"), ("core.fsmonitor", program),
            ("remote.origin.receivepack", f"{program} git-receive-pack"), ("protocol.ext.allow", "always"),
            ("core.alternateRefsCommand", program), ("gc.auto", "1"), ("http.proxy", "http://127.0.0.1:1"),
        ):  # fmt: skip
            git(team.one.root, "config", key, value)
        attach(team.one.root, "mine", BLOBS[0])
        synced(team.one)
        assert team.at_hub(BLOBS[0]) == ["mine"]
        git(team.one.root, "remote", "set-url", "origin", "ssh://127.0.0.1:1/x")
        done = team.one.run("sync")
        assert done.returncode == 1
        assert "core.sshcommand" in done.stderr
        assert "is not used: it names a program" in done.stderr
        git(team.one.root, "remote", "set-url", "origin", f"ext::sh -c {shlex.quote(program)}")
        assert team.one.run("sync").returncode == 1
        assert not mark.exists()

    def test_no_repository_that_came_with_the_clone(self, team: Team, tmp_path: Path) -> None:
        """Git runs the hooks of whatever it pushes to."""
        mark = tmp_path / "ran"
        git(team.one.root, "init", "-q", "--bare", "inside")
        for name in ("pre-receive", "update", "post-receive"):
            hook(team.one.root / "inside", name, f"touch {mark}")
        (tmp_path / "link").symlink_to(team.one.root / "inside")
        attach(team.one.root, "mine", BLOBS[0])
        for key in ("url", "pushurl"):
            for address in ("inside", "./inside", f"file://{team.one.root}/%69nside", "../link"):
                git(team.one.root, "config", f"remote.origin.{key}", address)
                done = team.one.run("sync")
                assert done.returncode == 2, address
                assert "origin leads into this very repository" in done.stderr
            git(team.one.root, "config", f"remote.origin.{key}", str(team.hub))
        git(team.one.root, "config", f"url.{team.one.root}/inside.pushInsteadOf", str(team.hub))
        assert "1 went" in synced(team.one)
        assert team.at_hub(BLOBS[0]) == ["mine"]
        assert not mark.exists()

    def test_the_persons_own_settings_count(
        self, team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Their ssh, even if they set it for a folder only."""
        mark = tmp_path / "ran"
        (tmp_path / "work").write_text(f'[core]\n\tsshCommand = "touch {mark}; false"\n')
        (tmp_path / "personal").write_text(
            f'[includeIf "gitdir:{tmp_path}/one/"]\n\tpath = {tmp_path}/work\n'
            "[user]\n\tname = Hanako\n\temail = hanako@example.org\n"
        )
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "personal"))
        for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
            monkeypatch.delenv(name, raising=False)
        attach(team.two.root, "theirs", BLOBS[1])
        synced(team.two)
        attach(team.one.root, "mine", BLOBS[0])
        synced(team.one)
        assert git(team.one.root, "log", "-1", "--format=%an", NOTES) == "Hanako\n"
        git(team.one.root, "remote", "set-url", "origin", "ssh://127.0.0.1:1/x")
        assert team.one.run("sync").returncode == 1
        assert mark.exists()

    def test_without_a_terminal_nobody_is_asked(self, team: Team) -> None:
        class Asks(Handler):
            def do_GET(self) -> None:  # noqa: N802  # the name is the server's
                self.whole(401, "text/plain", b"", {"WWW-Authenticate": 'Basic realm="hub"'})

        with _Served(Asks) as server:
            git(team.one.root, "remote", "set-url", "origin", f"{server.url}/hub")
            done = team.one.process("sync")
        assert done.returncode == 1
        assert "could not read Username" in done.stderr


class _Served(Loopback):
    def __init__(self, kind: type[Handler]) -> None:
        super().__init__()
        self._kind = kind

    def handler(self, *args: object) -> Handler:
        return self._kind(*args)  # type: ignore[arg-type]


def test_approvals_of_two_clones_prove_a_squash_in_a_third(tmp_path: Path) -> None:
    """Each has notes of its own, even on the same file; a fresh clone with both accepts what is merged."""
    office = Office(tmp_path)
    office.write(SIGNERS, line("alice", office.alice) + line("bob", office.bob))
    base = office.commit("List both")
    office.git("clone", "-q", "--bare", str(office.root), "../hub")
    office.git("remote", "add", "origin", "../hub")
    other = Clone(office.root.parent / "other")
    office.git("clone", "-q", "../hub", str(other.root))
    office.git("checkout", "-q", "-b", "work")
    for number, key in ((10, office.alice), (40, office.bob)):
        office.edit("numbers.txt", f"\n{number}\n", f"\nchanged {number}\n")
        office.commit(f"Change {number}{AGENT}")
        office.approve("HEAD~1", "HEAD", key)
        if key is office.alice:  # the second approval is given elsewhere
            synced(office.desk)
            office.git("update-ref", "-d", NOTES)
    office.git("push", "-q", str(other.root), f"{NOTES}:{NOTES}")
    office.git("update-ref", "-d", NOTES)
    assert "1 came, 1 went" in synced(other.desk)
    office.git("checkout", "-q", "main")
    office.git("merge", "-q", "--squash", "work")
    office.commit(f"Both{AGENT}")
    office.git("push", "-q", "origin", "main")
    third = Clone(office.root.parent / "third")
    office.git("clone", "-q", "../hub", str(third.root))
    assert third.desk.run("verify", f"{base}..main", "--mode", "strict").returncode == 6
    assert "2 came, 0 went" in synced(third.desk)
    third.accepted(f"{base}..main")
    third.edit("numbers.txt", "changed 10", "changed 1O")
    third.commit("One byte")
    third.refused(f"{base}..main")


def test_killed_in_the_middle(team: Team, tmp_path: Path) -> None:
    """While the remote looks at the push: what was fetched is merged, and the next sync does the rest."""
    attach(team.two.root, "theirs", *BLOBS[:2])
    synced(team.two)
    attach(team.one.root, "mine", BLOBS[0])
    reached, held = tmp_path / "reached", tmp_path / "held"
    held.touch()
    # It outlives the program that is killed: it must not wait for anything that may never come.
    hook(team.hub, "pre-receive", f"touch {reached}; while [ -e {held} ]; do sleep 0.1; done; exit 1")
    running = subprocess.Popen(
        [*RINGI, "sync"], cwd=team.one.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        assert holds_soon(lambda: reached.exists() or running.poll() is not None)
        assert running.poll() is None
    finally:
        running.kill()
        running.wait()
        held.unlink()
    (team.hub / "hooks" / "pre-receive").unlink()
    assert sorted(lines(team.one.root, BLOBS[0])) == ["mine", "theirs"]
    assert "0 came, 1 went" in synced(team.one)
    assert team.at_hub(BLOBS[0]) == ["mine", "theirs"]


def test_git_asks_at_the_terminal(team: Team) -> None:
    """For a name and a password, as it would for the person's own fetch."""
    given: list[str] = []

    class Asks(Handler):
        def do_GET(self) -> None:  # noqa: N802  # the name is the server's
            given.extend(self.headers.get_all("Authorization") or [])
            self.whole(401, "text/plain", b"", {"WWW-Authenticate": 'Basic realm="hub"'})

    with _Served(Asks) as server:
        git(team.one.root, "remote", "set-url", "origin", f"{server.url}/hub")
        terminal = team.one.terminal("sync")
        terminal.answer("Username for", "hanako")
        terminal.answer("Password for", "himitsu")
        code, said = terminal.end()
    assert code == 1
    assert "Authentication failed" in said
    assert "himitsu" not in said
    assert given == ["Basic aGFuYWtvOmhpbWl0c3U="]
