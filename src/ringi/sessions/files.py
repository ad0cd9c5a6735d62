"""Planning sessions and their logs in `.agent/` (IP-17)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from ringi.kernel import codec
from ringi.kernel.fs import OsFileSystem, open_own, publish
from ringi.ledger.agentfolder import AGENT_FOLDER, AgentFolder, Expected, Folder, Place
from ringi.ledger.subject import Subject, SubjectKind
from ringi.sessions.document import PlanningSession, SessionStatus, StoredSession
from ringi.sessions.rows import LOG_PHASES

if TYPE_CHECKING:
    from ringi.app.store import Store

SESSIONS: Final = (AGENT_FOLDER, "planning-sessions")
LOGS: Final = (AGENT_FOLDER, "logs")
_JSON: Final = ".json"
_LINE_END: Final = b"\n"


class SessionFiles:
    """Each save rewrites the session; its logs only grow, and may be long."""

    def __init__(self, agent: AgentFolder, most: int) -> None:
        """At most so many of the newest are written out."""
        self._agent = agent
        self._most = most
        self._fs = OsFileSystem()

    def show(self, ledger: Store, changed: Mapping[str, StoredSession], since: Collection[Subject]) -> None:
        """Writes what changed now, and the sessions that changed since the last time."""
        missed = {name for kind, name in since if kind is SubjectKind.SESSION} - changed.keys()
        if not changed and not missed:
            return
        with self._agent.folder(*SESSIONS) as folder:
            names = {name for name in self._fs.names(folder) if not name.startswith(".")}
        newest, older = self._split_by_age(ledger)
        for session_id in newest if not names else newest & {*changed, *missed}:
            stored = changed.get(session_id)
            if stored is None or ledger.sessions.revision(session_id) != stored.revision:
                stored = ledger.sessions.get(session_id)
            # First the logs, which the session names.
            self._append_logs(ledger, session_id)
            self._write(stored.session)
        self._drop(older)

    def _split_by_age(self, ledger: Store) -> tuple[set[str], set[str]]:
        """The newest, and those too old to have files."""
        ids = ledger.sessions.ids()
        border = max(0, len(ids) - self._most)
        return {*ids[border:]}, {*ids[:border]}

    def _drop(self, older: Collection[str]) -> None:
        for name in self.names() if older else ():
            if (session_id := name.removesuffix(_JSON)) in older:
                self._agent.drop((*LOGS, session_id), [*map(log_name, LOG_PHASES)])
                self._agent.drop(SESSIONS, [name])

    def write_all(self, ledger: Store) -> None:
        newest, older = self._split_by_age(ledger)
        self._drop(older)
        for session_id in newest:
            self._write(ledger.sessions.get(session_id).session)
            logs = _logs(ledger, session_id)
            if not logs and not self._agent.differing((*LOGS, session_id), _with_missing(logs)):
                continue
            with self._agent.folder(*LOGS, session_id) as folder:
                for name, data in _with_missing(logs).items():
                    if data is not None:
                        publish(folder, name, data)
                    else:
                        # Not ours: the ledger does not know it.
                        with contextlib.suppress(FileNotFoundError):
                            self._fs.remove(folder, name)

    def places(self, ledger: Store, only: str = "") -> Iterator[Place]:
        newest, older = self._split_by_age(ledger)
        there = {name.removesuffix(_JSON) for name in (*self.names(), *self._agent.names(LOGS))}
        for session_id in [only] if only else sorted(newest | (older & there)):
            expected: dict[Folder, Callable[[], Expected]] = {
                SESSIONS: partial(_session_file, ledger, session_id),
                (*LOGS, session_id): partial(_log_files, ledger, session_id),
            }
            for folder, files in expected.items():
                yield (
                    folder,
                    partial(self._agent.those_there, folder, files) if session_id in older else files,
                )

    def names(self) -> list[str]:
        return self._agent.names(SESSIONS)

    def foreign(self, ledger: Store, names: Collection[str]) -> list[str]:
        """Those of the names that the ledger does not know, as paths below the workspace."""
        known = {file_name(session_id) for session_id in ledger.sessions.ids()}
        return ["/".join((*SESSIONS, name)) for name in sorted(names) if known and name not in known]

    def _write(self, session: PlanningSession) -> None:
        with self._agent.folder(*SESSIONS) as folder:
            publish(folder, file_name(session.session_id), codec.pretty(session))

    def _append_logs(self, ledger: Store, session_id: str) -> None:
        sizes = {phase: ledger.sessions.log_size(session_id, phase) for phase in LOG_PHASES}
        if not any(sizes.values()):
            return
        with self._agent.folder(*LOGS, session_id) as folder:
            for phase, size in sizes.items():
                if size:
                    _append(ledger, folder, session_id, phase)


def file_name(session_id: str) -> str:
    return session_id + _JSON


def log_name(phase: SessionStatus) -> str:
    return f"{phase}.log"


def _logs(ledger: Store, session_id: str) -> dict[str, bytes]:
    found = {log_name(phase): ledger.sessions.log_after(session_id, phase, 0)[1] for phase in LOG_PHASES}
    return {name: data for name, data in found.items() if data}


def _with_missing(logs: Mapping[str, bytes]) -> dict[str, bytes | None]:
    return {log_name(phase): logs.get(log_name(phase)) for phase in LOG_PHASES}


def _session_file(ledger: Store, session_id: str) -> Expected:
    return {file_name(session_id): codec.pretty(ledger.sessions.get(session_id).session)}


def _log_files(ledger: Store, session_id: str) -> Expected:
    return _with_missing(_logs(ledger, session_id))


def _append(ledger: Store, folder: int, session_id: str, phase: SessionStatus) -> None:
    """The file's length shows what it has; an entry truncated by a crash is written again."""
    descriptor = open_own(folder, log_name(phase), os.O_RDWR)
    try:
        size = os.fstat(descriptor).st_size
        begins, data = ledger.sessions.log_after(session_id, phase, size)
        if begins and os.pread(descriptor, 1, begins - 1) != _LINE_END:
            # Every entry ends with a newline, so others wrote into it.
            begins, data = ledger.sessions.log_after(session_id, phase, 0)
        if begins != size:
            os.ftruncate(descriptor, begins)
        while data:
            written = os.pwrite(descriptor, data, begins)
            begins, data = begins + written, data[written:]
    finally:
        os.close(descriptor)
