"""Whether the log and what it speaks of are as they were written."""

from collections.abc import Iterator

import msgspec

from ringi.domain import codec
from ringi.domain.events import FIRST_PREVIOUS, Event
from ringi.domain.plan import PlanDocument
from ringi.store import sql
from ringi.store.connection import translated
from ringi.store.ledger import LedgerReader
from ringi.store.rows import as_bytes
from ringi.text import Text


def verify(ledger: LedgerReader) -> list[Text]:
    """Every break, with its place; an empty list means that all holds together."""
    with translated(ledger.folder):
        chain = _Chain(ledger)
        return [*chain.breaks(), *chain.documents()]


class _Chain:
    def __init__(self, ledger: LedgerReader) -> None:
        self._ledger = ledger
        self._documents: dict[str, tuple[int, str]] = {}
        self._evidence: dict[str, int] = {}

    def breaks(self) -> Iterator[Text]:
        previous, expected = FIRST_PREVIOUS, 1
        for seq, plan_id, document, hash_ in self._ledger.database.execute(sql.EVENT_ROWS):
            data = as_bytes(document)
            if seq != expected:
                yield Text(
                    "event {seq}: events {first} to {last} are missing", seq=seq, first=expected, last=seq - 1
                )
            if codec.digest(data) != hash_:
                yield Text("event {seq}: its text was changed", seq=seq)
            try:
                event = msgspec.json.decode(data, type=Event)
            except msgspec.DecodeError:
                yield Text("event {seq}: it cannot be read", seq=seq)
            else:
                if (event.seq, event.plan_id) != (seq, plan_id):
                    yield Text(
                        "event {seq}: it stands in the place of event {other}", seq=seq, other=event.seq
                    )
                if event.previous != previous:
                    yield Text("event {seq}: it does not follow the event before it", seq=seq)
                self._documents[event.plan_id] = (event.seq, event.document)
                if event.evidence:
                    self._evidence[event.evidence] = event.seq
            previous, expected = str(hash_), seq + 1
        head = self._ledger.meta("head")
        if (head or f"0 {FIRST_PREVIOUS}") != f"{expected - 1} {previous}":
            yield Text("event {seq}: the log ends here, but it was longer", seq=expected - 1)

    def documents(self) -> Iterator[Text]:
        for plan_id, number, document, specs in self._ledger.database.execute(sql.SAVED_PLANS):
            data = as_bytes(document)
            seq, expected = self._documents.pop(str(plan_id), (0, ""))
            if codec.digest(data) != expected:
                yield Text(
                    "plan p{number}: it is not what event {seq} says was saved", number=number, seq=seq
                )
            elif specs is None or codec.digest(as_bytes(specs)) != _specs_sha256(data):
                yield Text("plan p{number}: its specs were changed", number=number)
        for plan_id, (seq, _) in self._documents.items():
            yield Text("event {seq}: its plan {plan} is gone", seq=seq, plan=plan_id)
        for plan_id, document in self._ledger.database.execute(sql.EVIDENCE):
            found = codec.digest(as_bytes(document))
            if found not in self._evidence:
                yield Text("plan {plan}: an approval, intent or result was changed or put in", plan=plan_id)
            self._evidence.pop(found, None)
        for seq in self._evidence.values():
            yield Text("event {seq}: the approval, intent or result it speaks of is gone", seq=seq)


def _specs_sha256(document: bytes) -> str:
    return msgspec.json.decode(document, type=PlanDocument).specs_sha256
