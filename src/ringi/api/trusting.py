"""`ringi trust`: a person allows what a project's own files would have run or believed (rule 9)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ringi.api.workspace import Workspace
from ringi.domain.approval import TypedAnswer
from ringi.errors import NoChannel, WrongAnswer
from ringi.integrations.person import TerminalPerson
from ringi.plans.proofs import TYPED_LENGTH
from ringi.text import Text
from ringi.wiring.config import executable
from ringi.wiring.system import SystemClock
from ringi.wiring.trust import Pin, Trust, Verdict

COMMAND = "ringi trust"


def look(root: Path, environment: Mapping[str, str]) -> Verdict:
    return Trust(root, environment).state(executable(root))


def trust(workspace: Workspace, environment: Mapping[str, str], answer: TypedAnswer) -> Pin:
    """Pins what the person saw. It is looked at again: what changed while they read is not what they saw."""
    person, root = workspace.person, workspace.places.root
    if refusal := person.refusal():
        raise NoChannel(why=refusal, command=COMMAND)
    parts = executable(root)
    trusted = Trust(root, environment)
    digest = trusted.state(parts).digest
    if digest != answer.digest:
        raise WrongAnswer(why=Text("the answer was given for something else than what stands there now"))
    if answer.answer != digest[:TYPED_LENGTH]:
        raise WrongAnswer(why=Text("trust needs the {count} characters shown", count=TYPED_LENGTH))
    return trusted.pin(parts, at=workspace.clock.now(), by=person.user(), channel=person.name())


def revoke(root: Path, environment: Mapping[str, str]) -> Pin | None:
    """Needs no proof of a person: from here on less is allowed. What was pinned; None where nothing was."""
    who = TerminalPerson(environment).user()
    return Trust(root, environment).revoke(at=SystemClock().now(), by=who)


def document(root: Path, verdict: Verdict) -> dict[str, Any]:
    pin = verdict.pin
    return {
        "workspace": str(root),
        "state": verdict.state,
        "digest": verdict.digest,
        "parts": verdict.parts,
        "changed": verdict.changed if pin else (),
        "trusted": {"digest": pin.digest, "at": pin.at, "by": pin.by} if pin else None,
        "problem": str(verdict.note) if verdict.note else None,
    }
