"""The runs that approved planning sessions became."""

import sqlite3
from typing import Final

from ringi.domain import codec, subject
from ringi.domain.run import Run
from ringi.domain.session import short
from ringi.errors import NotFound, SessionRace
from ringi.ports import NewEvent
from ringi.store.connection import Reader, Row, as_bytes
from ringi.store.events import About, EventLog, text_of
from ringi.store.lists import RUNS
from ringi.text import Text

_RUN: Final = "SELECT document FROM runs WHERE id = ?"
_ADD_RUN: Final = (
    "INSERT INTO runs (at, id, document, last_event)"
    " VALUES ((SELECT COALESCE(MAX(at), 0) + 1 FROM runs), ?, ?, ?)"
)
_SAVE_RUN: Final = "UPDATE runs SET document = ?, last_event = ? WHERE id = ?"
_RUNS_FROM: Final = "SELECT id FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT 5"


class Runs(Reader):
    def find_run(self, name: str) -> str:
        found = self._beginning_with(_RUNS_FROM, name, name.lower(), name.lower())
        if found is None:
            raise no_run(name)
        return found

    def run(self, run_id: str) -> Run:
        found = self._select(_RUN, run_id)
        if not found:
            raise no_run(run_id)
        return _as_run(found[0])

    def runs(self) -> list[Run]:
        return [_as_run(row) for row in self._select(RUNS)]


class RunWrites(EventLog):
    def add_run(self, run: Run, event: NewEvent) -> None:
        text = text_of(run)
        hash_ = self._add_event(About(subject.run(run.run_id), text), self._clock.now(), event)
        try:
            self._database.execute(_ADD_RUN, (run.run_id, text, hash_))
        except sqlite3.IntegrityError:
            # Started in the same second with the same digits: try again with others.
            raise SessionRace(session=short(run.planning_session_id)) from None

    def save_run(self, run: Run, event: NewEvent) -> None:
        text = text_of(run)
        hash_ = self._add_event(About(subject.run(run.run_id), text), self._clock.now(), event)
        if self._database.execute(_SAVE_RUN, (text, hash_, run.run_id)).rowcount != 1:
            raise no_run(run.run_id)


def no_run(name: str) -> NotFound:
    return NotFound(what=Text("run"), name=name, see="ringi status")


def _as_run(row: Row) -> Run:
    return codec.trusted(as_bytes(row[0]), Run, "run")
