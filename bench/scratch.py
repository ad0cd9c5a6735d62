"""Workspaces to measure on."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ringi.app.api import Workspace, open_workspace
from ringi.app.store import Store
from ringi.approvals.document import TypedAnswer
from ringi.kernel.system import new_id
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans.document import Plan, PlanDocument, PlanState, PlanStatus
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ALL_SPECS, ActionSpec


class SomebodyThere:
    """Stands in for the person at a terminal, whom a measurement does not have."""

    def refusal(self) -> Text | None:
        return None

    def agent(self) -> Text | None:
        return None

    def name(self) -> str:
        return "bench"

    def since(self) -> str:
        return ""

    def user(self) -> str:
        return "bench"

    def requester(self) -> str:
        return "user:bench"


@contextmanager
def scratch() -> Iterator[tuple[Path, Mapping[str, str]]]:
    with tempfile.TemporaryDirectory(prefix="ringi-bench-") as folder:
        root = Path(folder, "project")
        (root / ".agent").mkdir(parents=True)
        base = {name: value for name, value in os.environ.items() if not name.startswith("RINGI_")}
        yield root, {**base, "HOME": folder, "RINGI_STATE_DIR": f"{folder}/state", "LANG": "C.UTF-8"}


def opened(root: Path, environment: Mapping[str, str]) -> Workspace:
    return open_workspace(root, environment=environment, person=SomebodyThere())


def ledger_of(workspace: Workspace) -> Store:
    store = workspace.store
    assert isinstance(store, Store)
    return store


def fill(workspace: Workspace, count: int) -> None:
    """So many plans, in one transaction."""
    with ledger_of(workspace).transaction() as transaction:
        for number in range(count):
            plan = Plan(
                id=new_id(),
                title=f"plan {number}",
                content=f"plan {number}",
                sources=(),
                rationale="",
                tags=(),
                created_at=workspace.clock.now(),
                version=1,
            )
            document = PlanDocument(plan=plan, state=PlanState(status=PlanStatus.PROPOSED))
            transaction.plans.add(document, NewEvent(EventKind.PLAN_PROPOSED, Actor.AI))
        # The files in .agent are not what is measured here: say that they have been written.
        transaction.changed.saved.clear()
    last = ledger_of(workspace).last_seq()
    (workspace.places.state / "projection.lock").write_text(f"{last:020}")


def approved(workspace: Workspace, files: Mapping[str, str]) -> str:
    tool = workspace.plan
    plan_id = tool.propose("bench")
    tool.set_action_specs(
        plan_id, [ActionSpec(SpecKind.WRITE, path, content) for path, content in files.items()]
    )
    asked = tool.ask(plan_id)
    # A high risk wants the beginning of the digest; a low one takes anything.
    tool.approve(plan_id, "bench", ALL_SPECS, TypedAnswer(asked.digest, asked.digest[:6]))
    return plan_id
