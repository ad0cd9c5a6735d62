"""A small forge on loopback, a project on it, and a run or a session that is watched."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ringi.app.api import Workspace
from ringi.approvals.document import TypedAnswer
from ringi.approvals.forge import ForgeKind, ForgeTerms, Item, ItemKind, Project
from ringi.forges.watch import Round, Watcher, lock_watching
from ringi.forges.watch_project import WatchEvent
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.runs.document import Review, Run
from ringi.runs.start import ReviewedRun, start_from_file
from tests.functional.forge_desk import ALIKE
from tests.functional.run_desk import FILES, RunDesk, at_home, git
from tests.support.forge_server import ForgeServer, Repo, Thing

MEMBERS = {"alice": "admin", "bob": "write", "ringi": "write", "reader": "read", "robot[bot]": "write"}


class WatchDesk(RunDesk):
    """Alice asks for something in an issue; the run works with the account `ringi`."""

    def __init__(self, root: Path, forge: ForgeServer, repo: Repo, issue: Thing, **roles: str) -> None:
        self.forge = forge
        self.repo = repo
        self.issue = issue
        self.news: list[WatchEvent] = []
        super().__init__(root, **roles)

    @property
    def terms(self) -> ForgeTerms:
        return ForgeTerms(
            project=Project(self.forge.kind, self.forge.url, self.repo.path),
            remote="origin",
            remote_url=self.repo.git_url,
            item=Item(ItemKind.ISSUE, self.issue.number),
        )

    def begin(self, plan: Mapping[str, Any]) -> str:
        """A run whose plan was approved at a terminal, with what it does on the forge."""
        with self.open() as workspace:
            run = start_from_file(workspace, json.dumps(plan).encode(), "planning.json")
            stored = workspace.store.runs.get_stored(run.run_id)
            with workspace.store.transaction() as transaction:
                transaction.runs.save(
                    replace(run, forge=self.terms, review=Review.FORGE),
                    NewEvent(EventKind.RUN_ADVANCED, Actor.USER, "on a forge"),
                    stored.revision,
                )
            reviewed = ReviewedRun(workspace, run.run_id)
            reviewed.approve(TypedAnswer(reviewed.digest, "yes"))
        self.run_id = run.run_id
        return run.run_id

    def round(self, name: str = "") -> Round:
        """By a watcher of its own, as after a restart."""
        with self.open() as workspace, lock_watching(workspace.places.state):
            return self.watcher(workspace).round(name)

    def watcher(self, workspace: Workspace) -> Watcher:
        return Watcher(workspace, self.news.append)

    def state(self) -> Path:
        """The folder of the ledger."""
        with self.open() as workspace:
            return workspace.places.state

    def said(self) -> list[str]:
        """What was told since the last time, in words."""
        told = [f"{one.kind}: {one.words}" for one in self.news]
        self.news.clear()
        return told

    def comments(self, thing: Thing | None = None) -> list[str]:
        return [one.body for one in (thing or self.issue).comments if one.author.login == "ringi"]


@contextmanager
def watch_desk(kind: ForgeKind, monkeypatch: pytest.MonkeyPatch, **roles: str) -> Iterator[WatchDesk]:
    with at_home(monkeypatch) as base, ForgeServer(kind, base / "forge") as forge:
        for login in MEMBERS:
            forge.user(login, bot=login.endswith("[bot]"))
        forge.user("stranger")
        repo = forge.project("acme/calc", FILES, MEMBERS, public=True)
        for name, value in forge.environment("ringi").items():
            monkeypatch.setenv(name, value)
        git(base, "clone", "-q", forge.clone_url(repo, "ringi"), "project")
        issue = repo.issue("alice", "It does not add", "2 + 3 should be 5.")
        yield WatchDesk(base / "project", forge, repo, issue, **roles)


each_forge = pytest.mark.parametrize("kind", [*ForgeKind])
alike = pytest.mark.parametrize("kind", ALIKE)
github = pytest.mark.parametrize("kind", [ForgeKind.GITHUB])
gitlab = pytest.mark.parametrize("kind", [ForgeKind.GITLAB])


def state(run: Run) -> list[str]:
    return [str(step.status) for step in run.steps]
