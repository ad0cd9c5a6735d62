"""Every call of the adapters, read by prism with the forge's own description in hand."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tools.forges import GITHUB

from ringi.approvals.forge import ForgeKind, Project
from ringi.forges.connection import ForgeAddress, ForgeToken
from ringi.forges.github import github
from ringi.forges.github import token_headers as github_token
from ringi.forges.gitlab import gitlab
from ringi.forges.gitlab import token_headers as gitlab_token
from ringi.forges.http import ForgeClient
from ringi.forges.port import CodeHost
from tests.fakes.loopback import Handler
from tests.forges.calls import all_calls, recorded, use_everything
from tests.forges.conftest import pytestmark
from tests.forges.prism import Prism, Violation, described, prism
from tests.support.forge_hands import FakeHands
from tests.support.forge_server import ForgeServer

__all__ = ["pytestmark"]
OF_GITHUB = ("/user", "/repos/{owner}/{repo}", "/orgs/{org}")
_OF_GITLAB = ("/user", "/users", "/projects/{id}", "/groups/{id}")
OF_GITLAB = (*_OF_GITLAB, *(f"/api/v4{path}" for path in _OF_GITLAB))
PATH = "acme/app"
ANYTHING = {"description": "", "content": {"application/json": {"schema": {"type": "object"}}}}
NOT_DESCRIBED = "Selected route not found"
LACKING = ("must have required property", "must match exactly one", "must match a schema in anyOf")
OF_A_GENERATOR = ("must be string", "must be object", "Unable to match the returned status code")
"""GitLab's writes `string` if nobody said a type, one item for a list of them, and lacks status codes."""


class Forgetful(ForgeServer):
    """Sends everything anew: prism cannot pass on an answer without a body."""

    def answered(self, asked: Handler) -> None:
        del asked.headers["If-None-Match"]
        super().answered(asked)


@pytest.fixture
def forge(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ForgeServer]:
    kind: ForgeKind = request.param
    with Forgetful(kind, tmp_path / "forge") as made:
        for name in ("alice", "eve"):
            made.user(name)
        made.user("ringi", bot=True)
        made.group("acme/core", ["alice"])
        made.project(PATH, {"a.py": "x = 1\n"}, {"alice": "admin", "ringi": "write"})
        yield made


def client(url: str, forge: ForgeServer, token: ForgeToken) -> ForgeClient:
    return ForgeClient(ForgeAddress(url, forge.url.partition("://")[2]), token, str)


def project(forge: ForgeServer) -> Project:
    return Project(forge.kind, forge.url, PATH)


def used(host: CodeHost, forge: ForgeServer, *, draft: bool) -> None:
    called: set[str] = set()
    use_everything(recorded(host, called), FakeHands(forge.repos[PATH]), me="ringi", draft=draft)
    assert called == all_calls(host)


@pytest.mark.parametrize("forge", [ForgeKind.GITHUB], indirect=True)
@pytest.mark.req("PP-19", "PP-20")
def test_github_would_refuse_no_request_of_ours(forge: ForgeServer, tmp_path: Path) -> None:
    description = described(GITHUB, OF_GITHUB)
    description["paths"]["/graphql"] = {"post": {"requestBody": ANYTHING, "responses": {"200": ANYTHING}}}
    with prism(description, f"{forge.url}/api/v3", tmp_path / "prism") as between:
        host = github(client(between.url, forge, github_token(forge.users["ringi"].token)), project(forge))
        # That a draft is ready is said over GraphQL, which the description has nothing about.
        used(host, forge, draft=False)
        assert refused(between) == []


def refused(between: Prism, loose: Sequence[str] = LACKING) -> list[Violation]:
    """Requests, and answers of the small forge of the other tests that have not the shape of the real ones.

    It leaves fields out that we do not read, so answers that lack some do not count.
    """
    found = between.violations()
    assert found, "it compares"
    return [one for one in found if one.side == "request" or not any(words in one.words for words in loose)]


@pytest.mark.skipif(not os.environ.get("GITLAB_OPENAPI"), reason="GITLAB_OPENAPI names no description")
@pytest.mark.parametrize("forge", [ForgeKind.GITLAB], indirect=True)
@pytest.mark.req("PP-19", "PP-20")
def test_gitlab_would_refuse_no_request_of_ours(forge: ForgeServer, tmp_path: Path) -> None:
    description = described(Path(os.environ["GITLAB_OPENAPI"]), OF_GITLAB)
    below = "" if any(path.startswith("/api/v4/") for path in description["paths"]) else "/api/v4"
    with prism(description, f"{forge.url}{below}", tmp_path / "prism") as between:
        url = between.url if below else f"{between.url}/api/v4"
        host = gitlab(client(url, forge, gitlab_token(forge.users["ringi"].token)), project(forge))
        used(host, forge, draft=True)
        found = refused(between, (*LACKING, *OF_A_GENERATOR))
        assert [one for one in found if one.words != NOT_DESCRIBED] == []
        if found:
            calls = ", ".join(sorted({one.call for one in found}))
            pytest.skip(f"what it describes is as it says; it does not describe: {calls}")
