"""How a run's branch reaches its forge: whose login goes where, over HTTPS and SSH, and what nobody sees."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ringi.approvals.forge import ForgeKind
from ringi.errors import BranchOvertaken, PushFailed
from ringi.provenance.exchange import BranchExchange, GitLogin
from tests.fakes.loopback import Handler, Loopback
from tests.functional.forge_desk import BRANCH, ForgeDesk, forge_desk
from tests.functional.run_desk import git

pytestmark = pytest.mark.req("PP-25")


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[ForgeDesk]:
    with forge_desk(monkeypatch, ForgeKind.GITHUB) as desk:
        yield desk


class Elsewhere(Loopback):
    """Answers with a redirection, or with 401; remembers who was told what."""

    def __init__(self, to: str = "") -> None:
        self.to = to
        self.told: list[str] = []
        super().__init__()

    def handler(self, *given: Any) -> Handler:
        server = self

        class Asked(Handler):
            def do_GET(self) -> None:  # noqa: N802  # its name there
                server.told.append(self.headers.get("Authorization", ""))
                code, more = (302, {"Location": f"{server.to}{self.path}"}) if server.to else (401, {})
                self.whole(code, "text/plain", b"", more)

        return Asked(*given)


def exchange(desk: ForgeDesk, address: str, login: GitLogin | None = None) -> BranchExchange:
    return BranchExchange(desk.root, dict(os.environ), address, login=login)


def login(desk: ForgeDesk, url: str) -> GitLogin:
    return GitLogin(f"{url}/", "x-access-token", desk.forge.users["ringi"].token)


def test_a_login_is_told_to_its_own_server_only(desk: ForgeDesk):
    with Elsewhere() as other, Elsewhere(other.url) as server:
        with pytest.raises(PushFailed):
            exchange(desk, f"{server.url}/a/b.git", login(desk, server.url)).tip("main")
        assert len(server.told) == 1
        assert server.told[0].startswith("Basic ")
        assert other.told == []
        with pytest.raises(PushFailed):
            exchange(desk, f"{other.url}/a/b.git", login(desk, server.url)).tip("main")
        assert set(other.told) == {""}
    assert desk.forge.users["ringi"].token not in repr(login(desk, "https://forge.test"))


def test_a_login_that_a_checkout_left_is_not_told_twice(desk: ForgeDesk):
    with Elsewhere() as server:
        git(desk.root, "config", f"http.{server.url}/.extraheader", "AUTHORIZATION: basic b3RoZXI6dG9rZW4=")
        with pytest.raises(PushFailed):
            exchange(desk, f"{server.url}/a/b.git", login(desk, server.url)).tip("main")
        assert server.told[0] == "basic b3RoZXI6dG9rZW4="


def test_only_onto_what_is_expected(desk: ForgeDesk):
    main, url = desk.repo.tip("main"), desk.repo.git_url
    there = exchange(desk, url, login(desk, desk.forge.url))
    assert (there.tip("main"), there.tip("none")) == (main, "")
    there.push("a/b", main, "")
    assert desk.repo.tip("a/b") == main
    theirs = desk.repo.commit("a/b", {"theirs.txt": "theirs\n"})
    with pytest.raises(BranchOvertaken):
        there.push("a/b", git(desk.root, "rev-parse", "HEAD"), main)
    assert desk.repo.tip("a/b") == theirs
    there.push("a/b", main, theirs)
    assert desk.repo.tip("a/b") == main
    with pytest.raises(PushFailed):
        exchange(desk, url).push("c", main, "")  # nobody says who it is, and nobody is asked


def test_over_ssh_as_git_does_it(desk: ForgeDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    log, ssh = tmp_path / "log", tmp_path / "ssh"
    ssh.write_text(
        f'#!/bin/sh\necho "$@" >> {log}\nfor last; do :; done\n'
        f'cd {desk.forge.folder} && GIT_PROTOCOL= sh -c "$last"\n'
    )
    ssh.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    monkeypatch.setenv("GIT_SSH_VARIANT", "ssh")
    git(desk.root, "remote", "set-url", "origin", "git@127.0.0.1:acme/app.git")
    desk.begin()
    run = desk.go()
    assert run.offer is not None
    assert (run.offer.left, desk.repo.tip(BRANCH)) == ("", run.offer.head)
    assert "git@127.0.0.1 git-receive-pack 'acme/app.git'" in log.read_text()
    assert desk.forge.users["ringi"].token not in log.read_text()


def test_a_token_in_the_address_is_in_no_argument(
    desk: ForgeDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Git hands the address of a remote to another program, and everybody can list those."""
    argv, folder = tmp_path / "argv", tmp_path / "core"
    real = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()
    folder.mkdir()
    for program in Path(real).iterdir():
        (folder / program.name).symlink_to(program)
    for name in ("git-remote-http", "git-remote-https"):
        (folder / name).unlink()
        (folder / name).write_text(f'#!/bin/sh\necho "$0 $@" >> {argv}\nexec {real}/{name} "$@"\n')
        (folder / name).chmod(0o755)
    monkeypatch.setenv("GIT_EXEC_PATH", str(folder))
    git(desk.root, "remote", "set-url", "origin", desk.forge.clone_url(desk.repo, "ringi"))
    desk.begin()
    assert desk.run().forge.remote_url == desk.repo.git_url
    run = desk.go()
    assert run.offer is not None
    assert desk.repo.tip(BRANCH) == run.offer.head
    assert desk.repo.git_url in argv.read_text()
    assert desk.forge.users["ringi"].token not in argv.read_text()
