"""`ringi trust`: a person allows what a project's own files would run or rely on (rule 9)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ringi.approvals.document import TypedAnswer
from ringi.approvals.person import PersonChannel
from ringi.approvals.proof import ELSE, TYPED_LENGTH
from ringi.config.pins import Pin, PinnedPart, Trust, TrustVerdict
from ringi.errors import NoChannel, WrongAnswer
from ringi.kernel.system import Clock
from ringi.kernel.text import Text

COMMAND: Final = "ringi trust"


class ProjectTrust:
    """`parts` reads what the project's files name."""

    def __init__(
        self,
        root: Path,
        pins: Trust,
        parts: Callable[[], tuple[PinnedPart, ...]],
        person: PersonChannel,
        clock: Clock,
    ) -> None:
        self._root = root
        self._pins = pins
        self._parts = parts
        self._person = person
        self._clock = clock

    def look(self) -> TrustVerdict:
        return self._pins.state(self._parts())

    def trust(self, answer: TypedAnswer) -> Pin:
        """Pins what the person saw. Reads the files again, because they may have changed meanwhile."""
        if refusal := self._person.refusal():
            raise NoChannel(why=refusal, command=COMMAND)
        parts = self._parts()
        digest = self._pins.state(parts).digest
        if digest != answer.digest:
            raise WrongAnswer(why=ELSE)
        if answer.answer != digest[:TYPED_LENGTH]:
            raise WrongAnswer(why=Text("trust needs the {count} characters shown", count=TYPED_LENGTH))
        person = self._person
        return self._pins.pin(parts, at=self._clock.now(), by=person.user(), channel=person.name())

    def revoke(self) -> Pin | None:
        """Returns what was pinned, or None. Needs no proof of a person, because it only allows less."""
        return self._pins.revoke(at=self._clock.now(), by=self._person.user())

    def document(self, verdict: TrustVerdict) -> dict[str, Any]:
        pin = verdict.pin
        return {
            "workspace": str(self._root),
            "state": verdict.state,
            "digest": verdict.digest,
            "parts": verdict.parts,
            "changed": verdict.changed if pin else (),
            "trusted": {"digest": pin.digest, "at": pin.at, "by": pin.by} if pin else None,
            "problem": str(verdict.note) if verdict.note else None,
        }
