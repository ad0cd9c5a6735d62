"""The adapter of GitHub with a GitHub that remembers: emulate."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.approvals.forge import ForgeKind, Project
from ringi.forges.connection import ForgeAddress
from ringi.forges.github import github, token_headers
from ringi.forges.http import ForgeClient
from tests.forges.calls import all_calls, recorded, use_everything
from tests.forges.conftest import pytestmark
from tests.forges.emulated import API, EmulatedForge, EmulatedHands, emulated

__all__ = ["pytestmark"]
PATH = "acme/app"


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[EmulatedForge]:
    members = {"alice": "admin", "ringi": "write"}
    with emulated(tmp_path, ["alice", "ringi", "eve"], PATH, {"a.py": "x = 1\n"}, members) as made:
        yield made


@pytest.mark.req("PP-19", "PP-20")
def test_every_call(forge: EmulatedForge) -> None:
    address = ForgeAddress(f"{forge.url}{API}", forge.url.partition("://")[2])
    client = ForgeClient(address, token_headers(forge.users["ringi"].token), str)
    host = github(client, Project(ForgeKind.GITHUB, forge.url, PATH))
    called: set[str] = set()
    use_everything(recorded(host, called), EmulatedHands(forge, forge.repos[PATH]), me="ringi")
    assert called == all_calls(host)
