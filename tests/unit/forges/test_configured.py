"""From an address to a forge, and which token goes there."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from ringi.approvals.forge import ForgeKind, Item, ItemKind, Project
from ringi.approvals.permits import Permits
from ringi.config.keys import KeyOrigin, ValueSource
from ringi.config.load import load
from ringi.errors import ForgeFailed, NoExtra, NoForge, NoForgeToken, NotPermitted
from ringi.forges.configured import KnownForges
from ringi.kernel.text import Text
from tests.fakes.config import config_with
from tests.helpers import assert_not_loaded, environment_of, modules_after
from tests.support.forge_server import ForgeServer
from tests.tables import each

pytestmark = pytest.mark.req("PP-19", "PP-20", "PP-25")
GITHUB = Project(ForgeKind.GITHUB, "https://github.com", "acme/app")
GITLAB = Project(ForgeKind.GITLAB, "https://gitlab.com", "acme/team/app")
OWN = Project(ForgeKind.GITLAB, "https://git.internal:8443/git", "acme/app")


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def forges(clone: Path, **variables: str) -> KnownForges:
    home = clone.parent / "home"
    home.mkdir(exist_ok=True)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), **variables}
    return KnownForges(load(clone, environment), environment, clone)


@each(
    ("address", "project", "item"),
    [
        ("https://github.com/acme/app", GITHUB, None),
        ("https://GitHub.com/acme/app.git/", GITHUB, None),
        ("https://x-access-token:ghp_secret@github.com:443/acme/app.git", GITHUB, None),
        ("git@github.com:acme/app.git", GITHUB, None),
        ("ssh://git@ssh.github.com:443/acme/app.git", GITHUB, None),
        ("https://github.com/acme/app/issues/7#issuecomment-3", GITHUB, Item(ItemKind.ISSUE, 7)),
        ("https://github.com/acme/app/pull/8/files?w=1", GITHUB, Item(ItemKind.CHANGE, 8)),
        ("git@gitlab.com:acme/team/app.git", GITLAB, None),
        ("https://gitlab.com/acme/team/app/-/issues/7", GITLAB, Item(ItemKind.ISSUE, 7)),
        ("https://gitlab.com/acme/team/app/-/work_items/7", GITLAB, Item(ItemKind.ISSUE, 7)),
        ("https://gitlab.com/acme/team/app/-/merge_requests/8/diffs", GITLAB, Item(ItemKind.CHANGE, 8)),
        ("https://git.internal:8443/git/acme/app.git", OWN, None),
        ("https://git.internal:8443/git/acme/app/-/issues/1", OWN, Item(ItemKind.ISSUE, 1)),
        ("git@git.internal:acme/app.git", OWN, None),
    ],
)
def test_addresses_lead_to_projects(clone: Path, address: str, project: Project, item: Item | None):
    told = {"RINGI_FORGE_BASE_URL": OWN.base_url, "RINGI_FORGE_KIND": "gitlab"}
    assert forges(clone, **told).at(address) == (project, item)


@each(
    "address",
    [
        "", "x", "/srv/app.git", "file:///srv/app.git", "https://example.com/acme/app", "https://github.com",
        "https://github.com/acme", "https://github.com/acme/app/wiki", "https://github.com/../app",
        "https://github.com/acme/..", "https://github.com/a b/c", "https://github.com/acme/app%0a/x",
        "https://github.com.evil.example/acme/app", "https://github.com@evil.example/acme/app",
        "https://evil.example/github.com/acme/app", "https://github.com:99999/acme/app", "https://[/acme/app",
        "https://github.com:8080/acme/app", "ext::sh -c x", "https://git.internal/git/acme/app",
    ],
)  # fmt: skip
def test_other_addresses_lead_nowhere(clone: Path, address: str):
    told = {"RINGI_FORGE_BASE_URL": OWN.base_url, "RINGI_FORGE_KIND": "gitlab"}
    with pytest.raises(NoForge):
        forges(clone, **told).at(address)


def test_remote_leads_to_the_project(clone: Path):
    with pytest.raises(NoForge, match="no remote"):
        forges(clone).here()
    git(clone, "remote", "add", "origin", "https://me:ghp_secret@github.com/acme/app.git")
    git(clone, "remote", "add", "other", "git@gitlab.com:acme/team/app.git")
    assert forges(clone).here() == (GITHUB, "origin", "https://github.com/acme/app.git")
    assert forges(clone).here("other").project == GITLAB
    assert forges(clone, RINGI_FORGE_REMOTE="other").here().remote == "other"
    assert forges(clone).at("#3") == (GITHUB, Item(ItemKind.ISSUE, 3))
    assert forges(clone, RINGI_FORGE_REMOTE="other").at("!3") == (GITLAB, Item(ItemKind.CHANGE, 3))
    for name in ("none", "--upload-pack=x"):
        with pytest.raises(NoForge, match="no remote"):
            forges(clone).here(name)


def hint_of(caught: pytest.ExceptionInfo[NoForge]) -> str:
    return str(Text(caught.value.hint, **caught.value.details))


def test_whoever_has_no_forge_is_told_what_helps(clone: Path):
    with pytest.raises(NoForge) as caught:
        forges(clone).here()
    assert hint_of(caught).endswith(": git remote add origin URL")
    for name in ("left", "right"):
        git(clone, "remote", "add", name, "/srv/app.git")
    with pytest.raises(NoForge, match="several remotes, and none is called origin: left, right") as caught:
        forges(clone).here()
    own = clone.parent / "home/.config/ringi/config.yaml"
    assert f"Choose one in {own}, with: " in hint_of(caught)
    own.parent.mkdir(parents=True)
    own.write_text(hint_of(caught).partition("with: ")[2].replace("NAME", "left"))
    with pytest.raises(NoForge, match=r"/srv/app\.git is no address") as caught:
        forges(clone).here()
    assert "git remote add NAME URL" in hint_of(caught)
    for address in ("x", "https://github.com/acme"):
        with pytest.raises(NoForge) as caught:
            forges(clone).at(address)
        assert "by its number, such as 12" in hint_of(caught)
    address = "https://gitlab.internal/acme/app/-/issues/3"
    with pytest.raises(NoForge, match=r"gitlab\.internal is not known") as caught:
        forges(clone).at(address)
    own.write_text(hint_of(caught).partition("with: ")[2])
    assert forges(clone).at(address)[0].kind is ForgeKind.GITLAB


def test_kind_is_told_or_in_the_name(clone: Path):
    address = "https://gitlab.internal/acme/app"
    assert forges(clone, RINGI_FORGE_BASE_URL="https://gitlab.internal").at(address)[0].kind == "gitlab"
    own = {"RINGI_FORGE_BASE_URL": "https://git.internal"}
    with pytest.raises(NoForge, match=r"forge\.kind"):
        forges(clone, **own).at("https://git.internal/acme/app")
    assert forges(clone, **own).at("https://github.com/acme/app")[0] == GITHUB
    job = {"CI_SERVER_URL": "https://git.internal"}
    assert forges(clone, **own, **job).at("https://git.internal/acme/app")[0].kind == "gitlab"


# --- tokens -------------------------------------------------------------------------------------------------

HEAVY = ("httpx2", "ssl", "ringi.forges.http", "ringi.tree.remotes")
TOKENS = {"GITHUB_TOKEN": "ghp_0123456789", "GITLAB_TOKEN": "glpat-0123456789"}


def token(found: KnownForges, project: Project) -> str | None:
    try:
        return found._token(project)[0]
    except NoForgeToken:
        return None


@pytest.mark.parametrize(
    ("project", "variables", "name"),
    [
        (GITHUB, {}, "GITHUB_TOKEN"),
        (GITHUB, {"GH_TOKEN": "ghp_first"}, "GH_TOKEN"),
        (GITLAB, {}, "GITLAB_TOKEN"),
        (OWN, {}, ""),
        (OWN, {"RINGI_FORGE_BASE_URL": OWN.base_url}, "GITLAB_TOKEN"),
        (OWN, {"CI_SERVER_URL": "https://git.internal:8443"}, "GITLAB_TOKEN"),
        (OWN, {"CI_SERVER_URL": "https://git.internal"}, ""),
        (OWN, {"GITHUB_SERVER_URL": "https://git.internal:8443"}, ""),
        (GITHUB, {"GITHUB_TOKEN": "a\nb"}, ""),
    ],
)  # fmt: skip
def test_token_of_the_environment_goes_to_its_own_forge(
    clone: Path, project: Project, variables: dict[str, str], name: str
):
    told = {**TOKENS, **variables}
    assert token(forges(clone, **told), project) == (told[name] if name else None)


def test_project_cannot_name_where_the_token_goes(clone: Path):
    settings = clone / ".agent" / "config.yaml"
    settings.parent.mkdir()
    settings.write_text("forge:\n  base_url: https://evil.example\n  kind: github\n")
    found = forges(clone, **TOKENS)
    with pytest.raises(NoForge):  # nobody trusted the project
        found.at("https://evil.example/acme/app")
    trusted = msgspec.structs.replace(
        config_with(**{"forge.base_url": "https://evil.example", "forge.kind": "github"}),
        sources={"forge.base_url": ValueSource(KeyOrigin.PROJECT, "config.yaml:2")},
    )
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(clone.parent / "home"), **TOKENS}
    there = KnownForges(trusted, environment, clone)
    project, _ = there.at("https://evil.example/acme/app")
    assert token(there, project) is None
    assert token(there, GITHUB) == TOKENS["GITHUB_TOKEN"]


def helper(path: Path, password: str) -> str:
    path.write_text(f"#!/bin/sh\ntouch {path}.ran\necho username=me\necho password={password}\n")
    path.chmod(0o755)
    return str(path)


def test_credential_helper_of_the_person_is_asked_and_none_of_the_repository(clone: Path, tmp_path: Path):
    own = helper(tmp_path / "own", "ghp_stored0123")
    bad = helper(tmp_path / "bad", "ghp_stolen0123")
    (tmp_path / "home").mkdir()
    git(clone, "config", "credential.helper", bad)
    assert token(forges(clone), GITHUB) is None
    (tmp_path / "home" / ".gitconfig").write_text(f"[credential]\n\thelper = {own}\n")
    found = forges(clone, **TOKENS)
    assert token(forges(clone), GITHUB) == "ghp_stored0123"
    assert token(found, GITHUB) == TOKENS["GITHUB_TOKEN"]
    assert token(found, OWN) == "ghp_stored0123"
    assert not Path(f"{bad}.ran").exists()


def test_only_https_or_this_machine(clone: Path):
    told = {"RINGI_FORGE_BASE_URL": "http://git.internal", "RINGI_FORGE_KIND": "gitlab", **TOKENS}
    project, _ = forges(clone, **told).at("http://git.internal/acme/app")
    with pytest.raises(NoForge, match="https"):
        forges(clone, **told).host(project)


def test_missing_token_says_which_variable(clone: Path):
    with pytest.raises(NoForgeToken) as caught:
        forges(clone).host(GITHUB)
    assert (caught.value.details["host"], caught.value.details["variable"]) == ("github.com", "GITHUB_TOKEN")
    with pytest.raises(NoForgeToken, match=r"gitlab\.com"):
        forges(clone).host(GITLAB)


@pytest.mark.parametrize("kind", list(ForgeKind))
def test_nothing_is_asked_before_it_is_used(clone: Path, tmp_path: Path, kind: ForgeKind):
    with ForgeServer(kind, tmp_path / "forge") as server:
        server.user("ringi")
        server.project("acme/app", members={"ringi": "write"})
        git(clone, "remote", "add", "origin", server.repos["acme/app"].git_url)
        found = forges(clone, **server.environment("ringi"))
        host = found.host()
        assert server.requests == []
        assert found.host(host.project) is host
        assert host.people.me().login == "ringi"
        server.revoke("ringi")
        with pytest.raises(ForgeFailed) as caught:
            host.people.access("ringi")
        assert caught.value.code == "forge_rejected"


def test_without_the_extra_it_says_what_to_install(clone: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(NoExtra) as caught:
        forges(clone, **TOKENS).host(GITHUB)
    assert caught.value.details["extra"] == "forges"
    assert "httpx2" in caught.value.details["command"]


def test_no_library_is_loaded_before_a_forge_is_used(clone: Path):
    git(clone, "remote", "add", "origin", "https://github.com/acme/app.git")
    opened = (
        f"from ringi.app.workspace import open_workspace\nwith open_workspace({str(clone)!r}) as workspace:"
    )
    found = (
        "for forge in (workspace.forges.here(), workspace.forges.host()):"
        " assert forge.project.path == 'acme/app'"
    )
    environment = {**environment_of(clone.parent), **TOKENS, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert_not_loaded(modules_after(f"{opened} pass", env=environment), *HEAVY)
    assert_not_loaded(modules_after(f"{opened}\n    {found}", env=environment), "httpx2")


# --- who may ---------------------------------------------------------------------------------------------


@pytest.mark.req("PP-18", "PP-27")
@pytest.mark.parametrize("kind", list(ForgeKind))
def test_accounts_teams_and_groups_of_a_forge_in_permissions(clone: Path, tmp_path: Path, kind: ForgeKind):
    with ForgeServer(kind, tmp_path / "forge") as server:
        for login in ("alice", "bob", "ringi"):
            server.user(login)
        server.group("acme/core", ["alice"])
        host = server.url.removeprefix("http://")
        settings = tmp_path / "home" / ".config" / "ringi" / "config.yaml"
        settings.parent.mkdir(parents=True)

        def permits(names: str, key: str = "allowed_users"):
            settings.write_text(f"planning:\n  permissions:\n    {key}: [{names}]\n")
            found = forges(clone, **server.environment("ringi"))
            return Permits(found._config.planning.permissions, found)

        team = permits(f"'group:acme/core@{host}', root")
        team.require_allowed(f"alice@{host}", f"Alice@{host}", "root")
        with pytest.raises(NotPermitted, match="bob"):
            team.require_allowed(f"bob@{host}")
        with pytest.raises(NotPermitted):  # the same name on another forge, or on this machine
            team.require_allowed("alice@github.com")
        with pytest.raises(NotPermitted):
            team.require_allowed("alice")
        assert len(server.calls("GET", "/(memberships|members)/")) <= 3
        server.requests.clear()
        permits(f"'Alice@{host}'").require_allowed(f"alice@{host}")
        permits("alice").require_allowed("alice")
        assert server.calls() == []
        asked = permits(f"acme/core@{host}", "always_require_approval")
        assert asked.check_always_asked(f"alice@{host}") is not None
        assert asked.check_always_asked(f"bob@{host}") is None
        unknown = permits(f"'group:acme/secret@{host}'", "always_require_approval")
        with pytest.raises(ForgeFailed):  # nobody knows, so nobody gets through
            unknown.check_always_asked(f"bob@{host}")
