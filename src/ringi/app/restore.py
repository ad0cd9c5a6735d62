"""Restores plans and planning sessions from `.agent/` when the ledger is lost; never approvals."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from ringi.errors import BadDocument, RingiError, SessionRace, Unreadable
from ringi.kernel import codec
from ringi.kernel.fs import FileTooLarge, read_bounded
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.subject import is_plan_id
from ringi.plans.document import PlanDocument, PlanStatus, with_state
from ringi.sessions.document import LogEntry, PlanningSession, SessionStatus
from ringi.sessions.import_session import read_session
from ringi.tree.action_spec import ALL_SPECS

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_LARGEST = codec.MAX_DOCUMENT_BYTES


def restore_plans(workspace: Workspace) -> tuple[int, list[Text]]:
    """How many plans were restored, and why others were not. None if the ledger has any: it is not lost."""
    root, store = workspace.places.root, workspace.store
    taken, problems = [], []
    for path in [] if store.plans.refs(limit=1, discarded=True) else workspace.upkeep.find_plan_files():
        try:
            document = _read(path)
        except RingiError as error:
            problems.append(_problem(root, path, error))
            continue
        named = document.plan.id == path.parent.name and is_plan_id(document.plan.id)
        if named:
            taken.append(document)
    if taken:
        event = NewEvent(EventKind.TAKEN_IN, Actor.SYSTEM, "from .agent, as the ledger had no such plan")
        with store.transaction() as transaction:
            for document in sorted(taken, key=lambda document: document.plan.created_at):
                transaction.plans.add(document, event, current=False)
    return len(taken), problems


def restore_sessions(workspace: Workspace) -> tuple[int, list[Text]]:
    """How many planning sessions were restored, and why others were not. None if the ledger has any."""
    root, store = workspace.places.root, workspace.store
    found, problems = [], []
    for path in [] if store.sessions.ids() else workspace.upkeep.find_session_files():
        try:
            found.append(_read_session(path))
        except RingiError as error:
            problems.append(_problem(root, path, error))
    if not found:
        return 0, problems
    found.sort(key=lambda session: session.created_at)
    logs = [_read_logs(workspace.upkeep.find_log_files(session.session_id)) for session in found]
    try:
        workspace.planning.restore(
            [*zip(found, logs, strict=True)], "from .agent, as the ledger had no such session"
        )
    except SessionRace:
        # Another process has just restored them.
        return 0, problems
    return len(found), problems


def _problem(root: Path, path: Path, error: RingiError) -> Text:
    return Text("{path}: {why}", path=str(path.relative_to(root)), why=Text(error.message, **error.details))


def _read_session(path: Path) -> PlanningSession:
    session = read_session(_bytes_of(path), path.name)
    if session.session_id != path.stem:
        why = Text("its id is {id}, not the name of the file", id=session.session_id)
        raise BadDocument(what=path.name, why=why)
    return session


def _read_logs(files: Mapping[SessionStatus, Path]) -> list[LogEntry]:
    """Restores the logs as they are: they prove nothing, but would be lost otherwise."""
    entries: list[LogEntry] = []
    for phase, path in files.items():
        with contextlib.suppress(Unreadable):
            if data := _bytes_of(path):
                entries.append(LogEntry(phase, data.decode("utf-8", "backslashreplace")))
    return entries


def _bytes_of(path: Path) -> bytes:
    try:
        return read_bounded(path, _LARGEST)
    except FileTooLarge:
        size = path.stat().st_size
        why = Text("it has {size} bytes, {limit} are allowed", size=size, limit=_LARGEST)
        raise Unreadable(what=path.name, why=why) from None
    except OSError as error:
        raise Unreadable(what=path.name, why=error.strerror or str(error)) from None


def _read(path: Path) -> PlanDocument:
    document = codec.decode_foreign(_bytes_of(path), PlanDocument, path.name)
    # Anybody can write to this file, so trust no decision in it.
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
        requester=UNSET,
    )
    # No standing approval covers a plan of unknown origin.
    document = msgspec.structs.replace(document, plan=msgspec.structs.replace(document.plan, requester=UNSET))
    if document.change and document.change.superseded_at is None:
        # Its project state is lost; `ringi propose --again` can renew it.
        superseded = msgspec.structs.replace(document.change, superseded_at=document.plan.created_at)
        document = msgspec.structs.replace(document, change=superseded)
    return msgspec.structs.replace(document, approval=None, result=None)
