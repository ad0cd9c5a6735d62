"""A step is approved by a review, looked up over HTTP with the token of the environment."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.app.api import Workspace
from ringi.approvals.document import ReviewAnswer
from ringi.approvals.forge import ForgeKind, ForgeTerms, Item, ItemKind, Project, ReviewHow, ReviewProof
from ringi.errors import ReviewRefused
from ringi.runs.step_plan import step_end
from ringi.tree.action_spec import ALL_SPECS
from tests.functional.desk import Desk
from tests.support.forge_server import ForgeServer
from tests.unit.runs.offered import offer_on_forge, offered_step, run_git
from tests.unit.runs.steps import MORE, README, WORK, begun, git, opened, proposed_step

pytestmark = pytest.mark.req("PP-19", "PP-20")


class Table:
    """A step that is offered in a change on a forge."""

    def __init__(self, forge: ForgeServer, root: Path) -> None:
        self.forge, self.root = forge, root
        for name in ("alice", "bob", "ringi"):
            forge.user(name)
        members = {"alice": "write", "bob": "write", "ringi": "write"}
        self.repo = forge.project("acme/app", {"x": "x\n"}, members)
        self.project = Project(forge.kind, forge.url, "acme/app")

    def offered(self, workspace: Workspace) -> None:
        begun(workspace)
        self.plan_id = proposed_step(workspace, README, MORE)
        self.commit = offered_step(workspace, self.plan_id, MORE)
        folder = workspace.of_plan(self.plan_id).places.root
        place = self.repo.folder.as_uri()
        run_git(self.root, "push", "-qf", place, "main")
        run_git(folder, "push", "-q", place, f"{self.commit}:refs/heads/{WORK}")
        self.number = self.repo.open_change("ringi", WORK, "main", "More", draft=True).number
        terms = ForgeTerms(project=self.project, remote="origin", remote_url=self.repo.git_url)
        offer_on_forge(workspace, terms, self.number, S01=(self.plan_id, self.commit))

    def proof(self, name: object, login: str, how: ReviewHow = ReviewHow.REVIEW) -> ReviewProof:
        return ReviewProof(
            project=self.project, item=Item(ItemKind.CHANGE, self.number), how=how, id=str(name), login=login,
            commit=self.commit, step_commit=self.commit, at="", url="",
        )  # fmt: skip

    def approve(self, workspace: Workspace, proof: ReviewProof):
        there = workspace.of_plan(self.plan_id)
        answer = ReviewAnswer(there.plan.ask(self.plan_id).digest, proof)
        return there.plan.approve(self.plan_id, "x", ALL_SPECS, answer).approval


@pytest.fixture(params=ForgeKind, ids=str)
def table(
    request: pytest.FixtureRequest, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Table]:
    with ForgeServer(request.param, tmp_path / "forge") as forge:
        made = Table(forge, repo)
        for name, value in forge.environment("ringi").items():
            monkeypatch.setenv(name, value)
        yield made


def test_a_review_over_http_becomes_the_approval_and_the_branch(table: Table, repo: Path):
    with opened(repo) as workspace:
        table.offered(workspace)
        own = table.repo.review(table.number, "ringi", "approve")
        with pytest.raises(ReviewRefused, match="opened the change"):
            table.approve(workspace, table.proof(own.id, "ringi"))
        given = table.repo.review(table.number, "alice", "approve")
        approval = table.approve(workspace, table.proof(given.id, "alice"))
        assert (approval.approver, approval.proof.strength) == (f"alice@{table.project.host}", "medium")
        assert approval.proof.review
        assert approval.proof.review.url.startswith(table.forge.url)
        there = workspace.of_plan(table.plan_id)
        there.plan.execute(table.plan_id)
        end = step_end(there, table.plan_id)
        assert end
        assert end.commit == table.commit == git(repo, "rev-parse", WORK).strip()
    token = table.forge.users["ringi"].token
    assert token not in approval.subject + str(approval.proof)
    # What it left in the repository proves it there, if the forge is asked.
    desk, words = Desk(repo), ("verify", f"main..{WORK}", "--mode", "agents")
    git(repo, "remote", "add", "origin", table.repo.git_url)
    assert desk.run(*words).returncode == 6
    alone = desk.run("verify", f"main..{WORK}").stdout
    assert "not confirmed here" in alone
    assert f"→ ringi verify main..{WORK} --reviews" in alone
    shown = desk.run(*words, "--reviews")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert f"✓ README.md  reviewed on the forge by alice@{table.project.host} · step S01" in shown.stdout
    assert f"Reviews looked up in {table.forge.url}/acme/app" in shown.stdout
    ledger = desk.run("verify", "p1")
    assert ledger.returncode == 0, ledger.stdout + ledger.stderr
    assert "medium: the forge confirmed it at that time" in ledger.stdout
    assert "(medium)" in desk.run("show", "p1").stdout
