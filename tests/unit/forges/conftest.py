"""Both forges, each with a project that alice owns and that ringi may write to."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ringi.approvals.forge import ForgeKind, Project
from ringi.forges import github, gitlab
from ringi.forges.connection import ForgeAddress
from ringi.forges.http import CallTiming, ForgeClient
from ringi.forges.port import CodeHost
from ringi.policy.masking import hiding
from tests.support.forge_server import ForgeServer, Repo


class Time:
    """Goes on only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    @property
    def pace(self) -> CallTiming:
        return CallTiming(
            monotonic=lambda: self.now, wall=lambda: self.now, sleep=self.sleep, jitter=lambda: 0.5
        )


class Here(NamedTuple):
    forge: ForgeServer
    repo: Repo
    host: CodeHost
    time: Time


def host_of(forge: ForgeServer, path: str, login: str, pace: CallTiming, **how: str) -> CodeHost:
    token = forge.users[login].token
    of = github if forge.kind is ForgeKind.GITHUB else gitlab
    project = Project(forge.kind, forge.url, path)
    address = ForgeAddress(of.api_url(forge.url), project.host, **how)
    make: Callable[[ForgeClient, Project], CodeHost] = getattr(of, forge.kind.value)
    return make(ForgeClient(address, of.token_headers(token), hiding([token]), pace), project)


@pytest.fixture(params=list(ForgeKind), ids=str)
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Here]:
    with ForgeServer(request.param, tmp_path / "forge") as forge:
        forge.user("alice")
        forge.user("bob")
        forge.user("ringi", bot=True)
        members = {"alice": "admin", "bob": "read", "ringi": "write"}
        repo = forge.project("acme/app", {"a.py": "x = 1\n", "lib/b.py": "y = 1\n"}, members)
        time = Time()
        yield Here(forge, repo, host_of(forge, "acme/app", "ringi", time.pace), time)
