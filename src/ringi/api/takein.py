"""When the ledger is lost, plans come back from `.agent/` as proposed; no approval does."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ringi.domain import codec
from ringi.domain.events import Actor, EventKind
from ringi.domain.plan import ALL_SPECS, PlanDocument, PlanStatus, with_state
from ringi.errors import NotFound, RingiError, Unreadable
from ringi.ports import NewEvent
from ringi.store.ledger import Ledger
from ringi.store.projection import PLANS
from ringi.text import Text

_LARGEST = codec.MAX_DOCUMENT_BYTES
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def written_plans(root: Path) -> Iterator[Path]:
    # Only regular files: opening a pipe would wait for whoever put it there.
    found = sorted(root.joinpath(*PLANS).glob("*/plan.json"))
    yield from (path for path in found if path.is_file() and not path.is_symlink())


def take_in(root: Path, ledger: Ledger) -> tuple[int, list[Text]]:
    """How many plans came back, and why others did not. Plans the ledger has are left alone."""
    taken, problems = [], []
    for path in written_plans(root):
        try:
            document = _read(path)
        except RingiError as error:
            problems.append(Text("{path}: {why}", path=str(path.relative_to(root)), why=str(error)))
            continue
        named = document.plan.id == path.parent.name and _UUID.fullmatch(document.plan.id)
        if named and not _known(ledger, document.plan.id):
            taken.append(document)
    for document in sorted(taken, key=lambda document: document.plan.created_at):
        with ledger.transaction() as transaction:
            event = NewEvent(EventKind.TAKEN_IN, Actor.SYSTEM, "from .agent, as the ledger had no such plan")
            transaction.add_plan(document, event)
    return len(taken), problems


def _read(path: Path) -> PlanDocument:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise Unreadable(what=path.name, why=error.strerror or str(error)) from None
    document = codec.foreign(data, PlanDocument, path.name)
    # Nothing that a person decided is believed from a file that anybody can write.
    specs = tuple(
        msgspec.structs.replace(spec, validated=False, notes="to be set again")
        for spec in document.state.action_specs
    )
    document = with_state(
        document,
        status=PlanStatus.PROPOSED,
        action_specs=specs,
        approvals=(),
        executions=(),
        checks=(),
        selection=ALL_SPECS,
    )
    if document.change and document.change.superseded_at is None:
        # What project it was made for is not known any more; it can be carried over.
        superseded = msgspec.structs.replace(document.change, superseded_at=document.plan.created_at)
        document = msgspec.structs.replace(document, change=superseded)
    return msgspec.structs.replace(document, approval=None, result=None)


def _known(ledger: Ledger, plan_id: str) -> bool:
    try:
        ledger.ref(plan_id)
    except NotFound:
        return False
    return True
