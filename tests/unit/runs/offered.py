"""A step of a run whose commit was made before anybody approved it."""

import os
import subprocess
from pathlib import Path

from msgspec.structs import replace

from ringi.app.api import Workspace
from ringi.approvals.forge import ForgeTerms
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans.commit_message import message_of_offer
from ringi.plans.document import PlannedCommit, with_state
from ringi.runs.document import Offer, OfferedStep
from tests.helpers import ledger_of
from tests.unit.runs.steps import RUN, Files

WHO = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ringi"), ("EMAIL", "ringi@example.com"), ("DATE", "@1767322800 +0000"))
}


def run_git(folder: Path, *words: str, stdin: bytes = b"", **variables: str) -> str:
    environment = {**os.environ, **WHO, **variables}
    done = subprocess.run(
        ["git", *words], cwd=folder, env=environment, input=stdin, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def tree_with(folder: Path, parent: str, files: Files) -> str:
    """The parent's tree with these files; None: without it."""
    index = {"GIT_INDEX_FILE": str(folder / ".git/offered-index")}
    run_git(folder, "read-tree", parent, **index)
    for path, data in files.items():
        if data is None:
            run_git(folder, "update-index", "--force-remove", path, **index)
        else:
            blob = run_git(folder, "hash-object", "-w", "--stdin", stdin=data)
            run_git(folder, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", **index)
    return run_git(folder, "write-tree", **index)


def commit_with(folder: Path, parent: str, files: Files, message: str) -> str:
    tree = tree_with(folder, parent, files)
    return run_git(folder, "commit-tree", tree, "-p", parent, stdin=message.encode())


def message_of(workspace: Workspace, plan_id: str) -> str:
    document = workspace.plan.get(plan_id)
    assert document.step
    assert document.state.commit
    return message_of_offer(document.state.commit.message, plan_id, document.step)


def offer(workspace: Workspace, plan_id: str, commit: str) -> None:
    """Says in the plan that this is its commit."""
    store = ledger_of(workspace)
    with store.transaction() as transaction:
        stored = transaction.plans.get(plan_id)
        planned = stored.document.state.commit
        assert isinstance(planned, PlannedCommit)
        document = with_state(stored.document, commit=replace(planned, offered=commit))
        transaction.plans.save(stored, document, NewEvent(EventKind.AMENDED, Actor.SYSTEM, "offered"))


def offered_step(workspace: Workspace, plan_id: str, files: Files, parent: str = "") -> str:
    """Makes the commit of the step in the folder of the run, and says so in the plan."""
    there = workspace.of_plan(plan_id)
    folder = there.places.root
    parent = parent or run_git(folder, "rev-parse", "HEAD")
    commit = commit_with(folder, parent, files, message_of(workspace, plan_id))
    offer(workspace, plan_id, commit)
    return commit


def offer_on_forge(workspace: Workspace, terms: ForgeTerms, number: int, **commits: tuple[str, str]) -> None:
    """The run has put these steps there: for each its plan and its commit, the newest last."""
    steps = [
        OfferedStep(step_id, plan_id, workspace.plan.get(plan_id).plan.version, commit)
        for step_id, (plan_id, commit) in commits.items()
    ]
    head, ledger = steps[-1].commit, ledger_of(workspace)
    offer = Offer(head=head, steps=tuple(steps), pushed=head, number=number)
    with ledger.transaction() as transaction:
        run = replace(ledger.runs.get(RUN), forge=terms, offer=offer)
        transaction.runs.save(run, NewEvent(EventKind.RUN_ADVANCED, Actor.SYSTEM))
