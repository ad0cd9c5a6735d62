"""`ringi verify RANGE --reviews` in real clones, with a forge that is asked over HTTP."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ringi.approvals.forge import ForgeKind, Item, ItemKind, Project, ReviewHow, ReviewProof
from ringi.approvals.statement import NOTES
from tests.functional.range_desk import AGENT, Clone, Office
from tests.support.forge_server import ForgeServer, Repo, ReviewGiven

pytestmark = [
    pytest.mark.req("PP-19", "PP-25"),
    pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed"),
]


class Team:
    """Two steps on a branch, a change, and a review by alice; the notes name it."""

    def __init__(self, forge: ForgeServer, folder: Path) -> None:
        self.forge, self.office = forge, Office(folder)
        for name in ("alice", "ringi", "ci", "eve"):
            forge.user(name)
        members = {"alice": "admin", "ringi": "write", "ci": "write"}
        self.repo: Repo = forge.project("acme/app", {"README.md": "x\n"}, members)
        office = self.office
        office.git("checkout", "-q", "-b", "work")
        office.edit("numbers.txt", "\n10\n", "\nten\n")
        self.first = office.commit(f"Step 1{AGENT}")
        office.edit("numbers.txt", "\n40\n", "\nforty\n")
        office.write("new.txt", "new\n")
        self.second = office.commit(f"Step 2{AGENT}")
        office.git("push", "-qf", self.repo.folder.as_uri(), "main", "work")
        self.number = self.repo.open_change("ringi", "work", "main", "Spell the numbers").number
        self.given = self.repo.review(self.number, "alice", "approve")

    @property
    def project(self) -> Project:
        return Project(self.forge.kind, self.forge.url, "acme/app")

    def proof(self, given: ReviewGiven, step: str) -> ReviewProof:
        return ReviewProof(
            project=self.project, item=Item(ItemKind.CHANGE, self.number), how=ReviewHow.REVIEW,
            id=str(given.id), login=given.author.login, commit=self.second, step_commit=step,
            base="main", at="2026-01-02T03:04:05Z", url=f"{self.project.base_url}/acme/app",
        )  # fmt: skip

    def note(self, **changes: object) -> None:
        for before, step in ((self.office.base, self.first), (self.first, self.second)):
            proof = replace(self.proof(self.given, step), **changes)
            self.office.approve(before, step, review=proof, step=step[:7])

    def squashed(self, name: str = "clone", more: str = "", agent: str = AGENT) -> Clone:
        """A clone in which the change is one commit on main, as a forge merges it."""
        clone = self.office.cloned(name)
        clone.git("checkout", "-q", "main")
        clone.git("merge", "-q", "--squash", "origin/work")
        if more:
            clone.edit("new.txt", "new\n", f"new\n{more}")
        clone.commit(f"Spell the numbers{agent}")
        clone.git("remote", "set-url", "origin", self.repo.git_url)
        return clone

    def ask(self, clone: Clone, *words: str, login: str = "ci", **more: str):
        environment = {**self.forge.environment(login), **more}
        return clone.desk.run("--json", "verify", "HEAD", "--mode", "agents", *words, **environment)

    def levels(self, clone: Clone, *words: str, **more: str) -> set[str]:
        done = self.ask(clone, *words, **more)
        assert done.returncode in {0, 6}, done.stderr
        return {file["level"] for file in json.loads(done.stdout)["files"]}


@pytest.fixture(params=ForgeKind, ids=str)
def team(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Team]:
    with ForgeServer(request.param, tmp_path / "forge") as forge:
        yield Team(forge, tmp_path)


def test_the_merged_change_is_covered_and_one_byte_more_is_not(team: Team) -> None:
    team.note()
    clone = team.squashed()
    assert team.ask(clone).returncode == 6
    assert team.levels(clone) == {"typed"}
    assert team.forge.calls() == []
    done = team.ask(clone, "--reviews")
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert {file["level"] for file in told["files"]} == {"confirmed"}
    assert told["files"][0]["chain"][0]["by"] == f"alice@{team.project.host}"
    assert told["forge"] == f"{team.forge.url}/acme/app"
    token = team.forge.users["ci"].token
    assert token not in done.stdout + done.stderr
    shown = clone.desk.run("verify", "HEAD", "--reviews", **team.forge.environment("ci")).stdout
    assert f"reviewed on the forge by alice@{team.project.host}" in shown
    strict = clone.desk.run("verify", "HEAD", "--mode", "strict", "--reviews", **team.forge.environment("ci"))
    assert strict.returncode == 6
    more = team.squashed("more", "!")
    assert team.levels(more, "--reviews") == {"confirmed", "none"}
    # Without its notes, a squash that names no agent looks like a person's own change.
    bare = team.squashed("bare", agent="")
    assert "has no notes" not in bare.desk.run("verify", "HEAD").stdout
    bare.git("update-ref", "-d", NOTES)
    assert "has no notes" not in bare.desk.run("verify", "HEAD").stdout
    told = bare.desk.run("verify", "HEAD", "--reviews", **team.forge.environment("ci"))
    assert (told.returncode, "This clone has no notes" in told.stdout) == (0, True)


def test_whoever_has_no_access_any_more_confirms_nothing(team: Team) -> None:
    team.note()
    team.repo.members["alice"] = "read"
    assert team.levels(team.squashed(), "--reviews") == {"none"}


def test_a_review_does_not_cover_what_was_pushed_after_it(team: Team) -> None:
    office = team.office
    office.write("later.txt", "later\n")
    later = office.commit(f"Step 3{AGENT}")
    office.git("push", "-q", team.repo.folder.as_uri(), "work")
    team.repo.pushed()
    team.note()
    for commit in (team.second, later):
        claimed = replace(team.proof(team.given, later), commit=commit)
        office.approve(team.second, later, review=claimed)
    done = team.ask(team.squashed(), "--reviews")
    levels = {file["path"]: file["level"] for file in json.loads(done.stdout)["files"]}
    assert levels == {"later.txt": "none", "numbers.txt": "confirmed", "new.txt": "confirmed"}


def test_no_token_goes_where_only_a_note_points(team: Team, tmp_path: Path) -> None:
    with ForgeServer(team.forge.kind, tmp_path / "evil") as evil:
        evil.user("alice")
        team.note(project=replace(team.project, base_url=evil.url))
        assert team.levels(team.squashed(), "--reviews") == {"none"}
        assert evil.requests == []
    assert team.forge.calls() == []


def test_a_project_cannot_say_where_to_ask_or_that_it_counts(team: Team, tmp_path: Path) -> None:
    """What is verified has no say: neither by its configuration nor by what it calls itself."""
    team.note()
    with ForgeServer(team.forge.kind, tmp_path / "evil") as evil:
        evil.user("alice")
        clone = team.squashed()
        clone.write(
            ".agent/config.yaml",
            f'forge:\n  reviews: "on"\n  base_url: {evil.url}\n  kind: {team.forge.kind}\n',
        )
        assert team.levels(clone, "--reviews") == {"confirmed"}
        off = team.ask(clone, "--reviews", RINGI_FORGE_REVIEWS="off")
        assert off.returncode == 6
        assert "review_refused" in off.stderr + off.stdout
        clone.git("remote", "set-url", "origin", f"{evil.url}/acme/app.git")
        assert team.ask(clone, "--reviews").returncode == 2
        assert evil.requests == []


def test_a_project_may_switch_it_off(team: Team) -> None:
    team.note()
    clone = team.squashed()
    clone.write(".agent/config.yaml", 'forge:\n  reviews: "off"\n')
    assert team.ask(clone, "--reviews").returncode == 6


def test_without_a_token_or_an_answer_it_says_so(team: Team) -> None:
    team.note()
    clone = team.squashed()
    environment = team.forge.environment("ci")
    team.forge.revoke("ci")
    done = clone.desk.run("--json", "verify", "HEAD", "--reviews", **environment)
    assert done.returncode == 1
    assert "forge_rejected" in done.stdout + done.stderr
    bare = {"RINGI_FORGE_BASE_URL": team.forge.url, "RINGI_FORGE_KIND": str(team.forge.kind)}
    nothing = clone.desk.run("verify", "HEAD", "--reviews", **bare)
    assert nothing.returncode == 2
    clone.git("remote", "remove", "origin")
    alone = clone.desk.run("verify", "HEAD", "--reviews", **bare)
    assert alone.returncode == 2
    assert alone.stderr.endswith(": git remote add origin URL\n")


def test_it_belongs_to_a_range(team: Team) -> None:
    for words in (("--all", "--reviews"), ("--pre-receive", "--reviews")):
        assert team.office.desk.run("verify", *words).returncode == 2
    assert team.office.git("for-each-ref", NOTES) == ""
