"""A run whose steps are reviewed on a forge: a clone, a forge on loopback, roles that are small scripts."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ringi.approvals.document import TypedAnswer
from ringi.approvals.forge import ForgeKind, ForgeTerms, Item, ItemKind
from ringi.forges.offer import offer_run
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.runs.document import Review, Run
from ringi.runs.drive import RunOptions, cancel_run, run_steps
from ringi.runs.start import ReviewedRun
from tests.functional.desk import Desk
from tests.functional.run_desk import FILES, FIX, RunDesk, a_plan, a_step, at_home, by_step, git
from tests.support.forge_server import ForgeServer, Repo
from tests.support.forge_state import ChangeThing

BRANCH = "aiflow/RQ-20260101-001/20260101-000000"
KINDS = tuple(ForgeKind)
ALIKE = KINDS if os.environ.get("RINGI_CAMPAIGN") == "full" else (ForgeKind.GITLAB,)
"""For what use cases do alike with both: one of them; both with `make campaign`."""
ONE = a_plan(a_step(1, title="Add instead of subtracting"))
TWO = a_plan(
    a_step(1, title="Add instead of subtracting"),
    a_step(2, scope={"target_paths": ["README.md"]}, title="Say that it adds"),
)
TWO_SCRIPTS = by_step(FIX, "echo 'It adds.' >> README.md")


class ForgeDesk(RunDesk):
    """The token is that of ringi; alice owns the project and wrote issue 1."""

    def __init__(self, root: Path, forge: ForgeServer, repo: Repo, **roles: str) -> None:
        super().__init__(root, **roles)
        self.forge = forge
        self.repo = repo
        self.issue = repo.issue("alice", "It does not add", "Make it add.")
        self.cli = Desk(root)

    def begin(self, plan: Mapping[str, Any] = ONE, review: Review = Review.FORGE, **terms: Any) -> str:
        """A run that does all this on the forge, approved."""
        self.start(plan, approved=False)
        with self.open() as workspace:
            place = workspace.forges.here()
            told = ForgeTerms(
                project=place.project,
                remote=place.remote,
                remote_url=place.remote_url,
                **{"item": Item(ItemKind.ISSUE, self.issue.number), **terms},
            )
            run = replace(workspace.store.runs.get(self.run_id), forge=told, review=review)
            with workspace.store.transaction() as transaction:
                transaction.runs.save(run, NewEvent(EventKind.RUN_ADVANCED, Actor.SYSTEM, "forge"))
            found = ReviewedRun(workspace, self.run_id)
            found.approve(TypedAnswer(found.digest, "yes"))
        return self.run_id

    def go(self, **options: Any) -> Run:
        """As `ringi continue`, without a person."""
        with self.open() as workspace:
            run_steps(workspace, self.run_id, RunOptions(**options))
            return offer_run(workspace, self.run_id)

    def offered(self) -> Run:
        with self.open() as workspace:
            return offer_run(workspace, self.run_id)

    def cancel(self) -> None:
        """Here; the forge is not told."""
        with self.open() as workspace:
            cancel_run(workspace, self.run_id)

    def environment(self) -> dict[str, str]:
        """For a process of its own."""
        kept = ("HOME", "PATH", "LANG", "NO_PROXY")
        own = {name: os.environ[name] for name in kept if name in os.environ}
        return {**own, **self.forge.environment("ringi")}

    @property
    def change(self) -> ChangeThing:
        """The only one there is."""
        (found,) = self.repo.changes.values()
        return found

    def statuses(self, commit: str) -> list[tuple[str, str]]:
        return [(one["state"], one["description"]) for one in self.repo.statuses.get(commit, ())]

    def secrets(self) -> list[str]:
        return [user.token for user in self.forge.users.values() if user.token]


@contextmanager
def forge_desk(monkeypatch: pytest.MonkeyPatch, kind: ForgeKind, **roles: str) -> Iterator[ForgeDesk]:
    with at_home(monkeypatch) as base, ForgeServer(kind, base / "forge") as forge:
        forge.user("alice")
        forge.user("ringi", bot=True)
        repo = forge.project("acme/app", FILES, {"alice": "admin", "ringi": "write"})
        root = base / "project"
        subprocess.run(["git", "clone", "-q", str(repo.folder), str(root)], check=True)
        git(root, "remote", "set-url", "origin", repo.git_url)
        git(root, "config", "user.name", "Hanako")
        git(root, "config", "user.email", "hanako@example.com")
        for name in ("GH_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        for name, value in forge.environment("ringi").items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert os.environ["HOME"].startswith(str(base))
        yield ForgeDesk(root, forge, repo, **(roles or {"implementer": TWO_SCRIPTS}))
