"""The approvals in the notes of a clone that are about some paths."""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ringi.approvals.document import SignedAct
from ringi.approvals.statement import FileAt, Opened, PathChange, parse_envelope, steps_of
from ringi.errors import BadDocument, NewerVersion
from ringi.kernel.text import Text
from ringi.provenance.ports import History

_PAYLOAD: Final = re.compile(rb'"payload":"([A-Za-z0-9+/=]*)"')
# More intermediate states are rare, and reading all notes at once takes less than as many rounds.
_ROUNDS: Final = 3
_NAME: Final = re.compile(rb'"name":("(?:[^"\\]|\\.)*")')


class Made(NamedTuple):
    """What a run did to a path, says a note; whether it proves an approval is another question."""

    path: str
    before: FileAt
    after: FileAt
    run: str
    diff: str = ""
    """Of the whole approval."""


class CloneNotes:
    """Reads each note once, and opens only envelopes about the paths."""

    def __init__(self, history: History, paths: Iterable[str]) -> None:
        self._history = history
        self._paths = frozenset(paths)
        self._names = frozenset(path.encode("utf-8", "surrogateescape") for path in self._paths)
        self._asked: set[str] = set()
        self._taken: dict[bytes, Text | None] = {}
        """Notes as a whole, with their damage: the same one hangs on each file of an approval."""
        self._lines: set[bytes] = set()
        self._leads: set[str] = set()
        """Blobs before and after what was taken."""
        self.approvals: list[Opened] = []
        self.steps: dict[str, dict[PathChange, list[int]]] = {}
        """For each path its approved changes, with the places of their approvals."""
        self.damaged: dict[str, Text] = {}
        """By the blob that the note hangs on."""
        self.read_all = False

    @property
    def any(self) -> bool:
        """Whether the clone has any notes at all."""
        return bool(self._lines) or next(iter(self._history.all_notes()), None) is not None

    def follow(self, blobs: Iterable[str]) -> None:
        """Reads the notes of these blobs, and of those that they lead to."""
        waiting = {blob for blob in blobs if blob} - self._asked
        rounds = 0
        while waiting and not self.read_all:
            rounds += 1
            if rounds > _ROUNDS:
                self.follow_all()
                return
            self._asked |= waiting
            self._leads.clear()
            for blob, data in self._history.notes(waiting).items():
                self._take(blob, data)
            waiting = self._leads - self._asked - {""}

    def follow_all(self) -> None:
        """A deletion hangs on a blob that may be in neither tree, a replayed approval always does."""
        if not self.read_all:
            self.read_all = True
            for blob, data in self._history.all_notes():
                self._take(blob, data)

    def find_made(self, path: str) -> Iterator[Made]:
        """By the steps of runs, as far as it was read."""
        for step, places in self.steps.get(path, {}).items():
            for said in (self.approvals[place].statement.predicate for place in places):
                if said.step and said.act is SignedAct.APPROVE:
                    yield Made(path, step.before, step.after, said.step.run_id, said.diff or "")

    def _take(self, blob: str, data: bytes) -> None:
        if data not in self._taken:
            self._taken[data] = self._open_lines(data)
        if why := self._taken[data]:
            self.damaged[blob] = why

    def _open_lines(self, data: bytes) -> Text | None:
        """Opens what is new in a note; answers with what is wrong with it."""
        damage: Text | None = None
        for line in data.split(b"\n"):
            if not line.strip() or line in self._lines:
                continue
            self._lines.add(line)
            # A note on one of our files is nearly always about one of the paths.
            if self.read_all and not self._mentions(line):
                continue
            try:
                approval = parse_envelope(line)
            except (BadDocument, NewerVersion) as error:
                damage = Text(error.message, **error.details)
                continue
            about = [step for step in steps_of(approval.statement) if step.path in self._paths]
            for step in about:
                self.steps.setdefault(step.path, {}).setdefault(step, []).append(len(self.approvals))
                self._leads.update((step.before.blob, step.after.blob))
            if about:
                self.approvals.append(approval)
        return damage

    def _mentions(self, line: bytes) -> bool:
        """Whether it may be about one of the paths: opening it takes much longer."""
        found = _PAYLOAD.search(line)
        if found is None:
            return True
        try:
            payload = base64.b64decode(found[1], validate=True)
            names = (_unescape(name) for name in _NAME.findall(payload))
            return any(name in self._names for name in names)
        except (binascii.Error, ValueError):
            return True


def _unescape(name: bytes) -> bytes:
    return json.loads(name).encode() if b"\\" in name else name[1:-1]
