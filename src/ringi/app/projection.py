"""`.agent/`: the ledger written out for people, editors and grep. Compared, never trusted."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Final

from ringi.app.store import Store
from ringi.approvals.document import ApprovalHistory
from ringi.errors import Busy, RingiError, StorageFailed
from ringi.kernel import codec
from ringi.kernel.fs import OsFileSystem, publish
from ringi.kernel.lock import wait_for
from ringi.kernel.text import Text
from ringi.ledger import subject
from ringi.ledger.agentfolder import AGENT_FOLDER, IDENTITY, AgentFolder, Expected, Folder, Place, Sha256
from ringi.ledger.event import LoggedEvent
from ringi.ledger.events import PendingProjections
from ringi.ledger.subject import SESSION_PREFIX, Subject, SubjectKind, is_plan_id
from ringi.plans.document import PlanDocument, PlanPage, StoredPlan, change_plan_of
from ringi.runs.document import Run
from ringi.runs.documents import Report, RunDocuments
from ringi.sessions.document import StoredSession
from ringi.sessions.files import SessionFiles

PLANS: Final = (AGENT_FOLDER, "logs", "plans")
RECENT: Final = 100
PAGE_SIZE: Final = 100
_PLAN: Final = "plan.json"
_EVENTS: Final = "events.jsonl"
_INDEX: Final = "index.json"
_PREVIEW: Final = "preview"
_SOMETIMES: Final = frozenset(["change-plan.json", "approval.json", "result.json"])
"""Optional files."""
_PRIVATE: Final = frozenset(["result.json"])
"""It holds what was read."""
_HISTORY: Final = "history"
_PAGES: Final = "history/<page, six digits>.json"
_MARK_LENGTH: Final = 20
_TAIL: Final = 65536
_Diffs = Mapping[str, Mapping[str, bytes]]
"""By plan and file name."""
_AT_ONCE: Final = 200
"""Plans whose files are removed after one commit."""
_MOMENT_SEC: Final = 0.1
_WAIT_SEC: Final = 10.0
"""Far longer than writing takes; a process that holds it longer was suspended."""


class _Comparison:
    """What should be in `.agent/`, and what is there."""

    def __init__(self, agent: AgentFolder, sessions: SessionFiles, runs: RunDocuments, most: int) -> None:
        self._agent = agent
        self._sessions = sessions
        self._runs = runs
        self._most = most

    def foreign(self, ledger: Store) -> list[str]:
        """Plans, sessions and runs in `.agent/` that the ledger does not know: paths below the workspace."""
        # The files first: what is written was committed before.
        plans, sessions, runs = self._agent.names(PLANS), self._sessions.names(), self._runs.foreign(ledger)
        ids = ledger.plans.ids()
        known = {*ids, _INDEX, _HISTORY}
        # A ledger without any was lost: they are what comes back.
        found = ["/".join((*PLANS, name)) for name in plans if ids and name not in known]
        return sorted(found) + self._sessions.foreign(ledger, sessions) + runs

    def older(self, ledger: Store) -> Iterator[str]:
        """Plans that have files and are too old for them."""
        there = {*self._agent.names(PLANS)} - {_INDEX, _HISTORY}
        if len(there) > self._most:
            older = there.difference(ledger.plans.ids(self._most))
            yield from (name for name in older if ledger.plans.revision(name))

    def differing(
        self, ledger: Store, subject_id: str, among: Collection[Folder] = ()
    ) -> Iterator[tuple[Folder, str]]:
        if subject_id.startswith(SESSION_PREFIX):
            places = self._sessions.places(ledger, subject_id)
        elif subject_id and not is_plan_id(subject_id):
            places = self._runs.places(ledger, subject_id)
        elif subject_id:
            older = subject_id not in ledger.plans.ids(self._most)
            places = self._places_of(ledger, subject_id, older=older)
        else:
            places = chain(
                self._plan_places(ledger), self._sessions.places(ledger), self._runs.places(ledger)
            )
        for folder, expected in places:
            if not among or folder in among:
                yield from ((folder, name) for name in self._agent.differing(folder, expected()))

    def _plan_places(self, ledger: Store) -> Iterator[Place]:
        newest, there = {*ledger.plans.ids(self._most)}, {*self._agent.names(PLANS)}
        for plan_id in ledger.plans.ids():
            if plan_id in newest or plan_id in there:
                yield from self._places_of(ledger, plan_id, older=plan_id not in newest)
        if count := ledger.plans.count():
            yield PLANS, lambda: {_INDEX: _index(ledger)}
            pages = range(1, _page_of(count - RECENT) + 1)
            yield (*PLANS, _HISTORY), lambda: {_page_name(page): _page(ledger, page) for page in pages}

    def _places_of(self, ledger: Store, plan_id: str, *, older: bool) -> Iterator[Place]:
        folder = (*PLANS, plan_id)
        expected = partial(_files_of, ledger, plan_id)
        yield folder, partial(self._agent.those_there, folder, expected) if older else expected
        yield (*folder, _PREVIEW), partial(self.previews, ledger, plan_id)

    def previews(self, ledger: Store, plan_id: str) -> Expected:
        """Those that are there: the ledger has their hashes, so it cannot write them again."""
        known = ledger.plans.previews(plan_id)
        if known is None:
            return {}
        names = self._agent.names((*PLANS, plan_id, _PREVIEW))
        return {name: Sha256(known[name]) if name in known else None for name in names}


class Projection:
    def __init__(self, root: Path, lock: Path, most: int, report: Report) -> None:
        """Of the newest plans, sessions and runs, at most so many each are written out."""
        self._root = root
        self._lock = lock
        self._most = most
        self._fs = OsFileSystem()
        self._agent = AgentFolder(root)
        self._sessions = SessionFiles(self._agent, most)
        self._runs = RunDocuments(self._agent, most, report)
        self._comparison = _Comparison(self._agent, self._sessions, self._runs, most)
        self._identity_written = False
        self.problem: RingiError | None = None
        """The last write error; the ledger has everything all the same."""

    def __call__(self, ledger: Store, changed: PendingProjections) -> None:
        if not changed.saved or changed.held_back:
            return
        try:
            with self._lock_marker() as marker:
                self._write_since(ledger, marker, changed)
        except RingiError as error:
            self.problem = error
        except OSError as error:
            self.problem = StorageFailed(
                what=error.filename or AGENT_FOLDER, why=error.strerror or str(error)
            )

    def _write_since(self, ledger: Store, marker: int, changed: PendingProjections) -> None:
        since = list(ledger.events(after=_read_mark(marker))) or changed.events
        if not self._identity_written:
            self._write_identity(ledger)
        self._show(ledger, changed, {logged.event.subject for logged in since})
        if since:
            _mark(marker, since[-1].event.seq)

    def _show(self, ledger: Store, changed: PendingProjections, since: Collection[Subject]) -> None:
        """Also writes what a process committed before it died."""
        saved = changed.of(StoredPlan)
        missed = {name for kind, name in since if kind is SubjectKind.PLAN} - saved.keys()
        if saved or missed:
            with self._agent.folder(*PLANS) as plans:
                if self._fs.entry(plans, _INDEX) is None and ledger.plans.count() > len(saved):
                    self._write_all(ledger, changed.diffs)
                else:
                    self._write_changed(ledger, plans, changed, missed)
        self._sessions.show(ledger, changed.of(StoredSession), since)
        self._runs.show(ledger, {*changed.of(Run), *_stepping(ledger, saved.values(), missed)}, since)

    def _write_changed(
        self, ledger: Store, plans: int, changed: PendingProjections, missed: set[str]
    ) -> None:
        for plan_id, stored in changed.of(StoredPlan).items():
            newest = (
                stored if ledger.plans.revision(plan_id) == stored.revision else ledger.plans.get(plan_id)
            )
            if self._shows(ledger, newest):
                self._write_plan(ledger, plans, newest.document, changed.diffs.get(plan_id))
            self._write_pages(ledger, plans, stored.number, new=subject.plan(plan_id) in changed.new)
        publish(plans, _INDEX, _index(ledger))
        for plan_id in missed:
            found = ledger.plans.get(plan_id)
            if self._shows(ledger, found):
                self._write_plan(ledger, plans, found.document, None)
                self._drop_altered_previews(ledger, plan_id)  # of an earlier version of the plan
            self._write_pages(ledger, plans, found.number, new=True)
        if changed.new or missed:
            for plan_id in islice(self._comparison.older(ledger), _AT_ONCE):
                _drop(self._agent, plan_id)

    def _shows(self, ledger: Store, plan: StoredPlan) -> bool:
        """Whether the plan is new enough to have files; an older one loses them."""
        if plan.number > ledger.plans.count() - self._most:
            return True
        _drop(self._agent, plan.document.plan.id)
        return False

    def rebuild(self, ledger: Store, diffs: _Diffs | None = None) -> None:
        try:
            with self._lock_marker() as marker:
                last = ledger.last_seq()
                self._write_all(ledger, diffs or {})
                self._sessions.write_all(ledger)
                self._runs.write_all(ledger)
                _mark(marker, last)
        except OSError as error:
            raise StorageFailed(
                what=error.filename or AGENT_FOLDER, why=error.strerror or str(error)
            ) from None

    def differences(self, ledger: Store, subject_id: str = "") -> list[str]:
        """Files that are missing or differ from the ledger, as paths below the workspace."""
        with ledger.one_moment():
            found = list(self._comparison.differing(ledger, subject_id))
        if not found:
            return []
        # Other processes commit and write meanwhile: look again at these under the lock.
        with contextlib.suppress(Busy, OSError), self._lock_marker() as marker, ledger.one_moment():
            self._write_since(ledger, marker, PendingProjections())
            found = list(self._comparison.differing(ledger, subject_id, {folder for folder, _ in found}))
        return ["/".join((*folder, name)) for folder, name in found]

    def foreign(self, ledger: Store) -> list[str]:
        return self._comparison.foreign(ledger)

    def _write_all(self, ledger: Store, diffs: _Diffs | None = None) -> None:
        self._write_identity(ledger)
        with self._agent.folder(*PLANS) as plans:
            for plan_id in self._comparison.older(ledger):
                _drop(self._agent, plan_id)
            for plan_id in ledger.plans.ids(self._most):
                stored = ledger.plans.get(plan_id)
                with self._agent.subfolder(plans, plan_id) as folder, contextlib.suppress(FileNotFoundError):
                    self._fs.remove(folder, _EVENTS)
                self._write_plan(ledger, plans, stored.document, (diffs or {}).get(plan_id))
                self._drop_altered_previews(ledger, plan_id)
            for page in range(1, _page_of(ledger.plans.count() - RECENT) + 1):
                self._write_page(ledger, plans, page)
            publish(plans, _INDEX, _index(ledger))

    def _write_plan(
        self, ledger: Store, plans: int, document: PlanDocument, diffs: Mapping[str, bytes] | None
    ) -> None:
        with self._agent.subfolder(plans, document.plan.id) as folder:
            files = _plan_files(ledger, document)
            for name, data in files.items():
                publish(folder, name, data, private=name in _PRIVATE)
            for name in _SOMETIMES - {*files}:
                # Not ours: the ledger does not know it.
                with contextlib.suppress(OSError):
                    self._fs.remove(folder, name)
            self._append_events(ledger, folder, document.plan.id)
            if diffs is not None:
                with self._agent.subfolder(folder, _PREVIEW) as preview:
                    for name in set(self._fs.names(preview)) - set(diffs):
                        self._fs.remove(preview, name)
                    for name, data in diffs.items():
                        publish(preview, name, data, private=True)

    def _drop_altered_previews(self, ledger: Store, plan_id: str) -> None:
        place = (*PLANS, plan_id, _PREVIEW)
        altered = self._agent.differing(place, self._comparison.previews(ledger, plan_id))
        if altered:
            with self._agent.folder(*place) as preview:
                for name in altered:
                    self._fs.remove(preview, name)

    def _append_events(self, ledger: Store, folder: int, plan_id: str) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(_EVENTS, flags, 0o644, dir_fd=folder)
        try:
            last = _last_seq(descriptor)
            data = _event_lines(ledger, plan_id, after=last)
            if last == 0:
                os.ftruncate(descriptor, 0)
            while data:
                data = data[os.write(descriptor, data) :]
        finally:
            os.close(descriptor)

    def _write_identity(self, ledger: Store) -> None:
        """So that a moved workspace can find its ledger again."""
        with self._agent.folder(AGENT_FOLDER) as folder:
            expected = codec.pretty({"schema_version": 1, "workspace_id": ledger.meta("workspace_id")})
            # In a copied folder, or after the ledger was lost, the identity is another one's.
            if self._agent.differing((AGENT_FOLDER,), {IDENTITY[-1]: expected}):
                publish(folder, IDENTITY[-1], expected)
            self._identity_written = True

    def _write_pages(self, ledger: Store, plans: int, number: int, *, new: bool) -> None:
        """The plan's own page once it is no longer among the newest; a new plan pushes another one out."""
        if number <= ledger.plans.count() - RECENT:
            self._write_page(ledger, plans, _page_of(number))
        if new and number > RECENT:
            self._write_page(ledger, plans, _page_of(number - RECENT))

    def _write_page(self, ledger: Store, plans: int, page: int) -> None:
        with self._agent.subfolder(plans, _HISTORY) as folder:
            publish(folder, _page_name(page), _page(ledger, page))

    @contextlib.contextmanager
    def _lock_marker(self) -> Iterator[int]:
        """The open file also says how far the log has been written out."""
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not wait_for(descriptor, _WAIT_SEC):
                raise Busy(holder=Text("another process is writing the files in .agent"))
            yield descriptor
        finally:
            os.close(descriptor)


class DeferredProjection:
    """Writes a moment after a commit, so that a burst of calls is written once.

    If a process dies before it has written, the next one that commits does it.
    """

    def __init__(
        self, projection: Projection, folder: Path, wait_sec: float, *, moment_sec: float = _MOMENT_SEC
    ) -> None:
        self._projection = projection
        self._folder = folder
        self._wait_sec = wait_sec
        self._moment_sec = moment_sec
        self._changing = threading.Lock()
        self._writing = threading.Lock()
        self._waiting: PendingProjections | None = None
        self._timer: threading.Timer | None = None

    def __call__(self, changed: PendingProjections) -> None:
        if not changed.saved:
            return
        with self._changing:
            if self._waiting is None:
                self._waiting = PendingProjections()
            self._waiting.take(changed)
            if self._timer is None:
                self._timer = threading.Timer(self._moment_sec, self.flush)
                self._timer.start()

    def flush(self) -> None:
        """Writes what is pending. Afterwards nothing is in progress."""
        with self._writing:
            with self._changing:
                waiting, self._waiting = self._waiting, None
                timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            if waiting is not None:
                try:
                    # A connection of its own: this may run in another thread.
                    with contextlib.closing(Store(self._folder, self._wait_sec)) as reader:
                        self._projection(reader, waiting)
                except RingiError as error:
                    # The next process that commits sees from the mark what is missing.
                    self._projection.problem = error


def _stepping(ledger: Store, saved: Collection[StoredPlan], missed: Collection[str]) -> Iterator[str]:
    """Runs of which a step's plan changed: their reports say who approved it."""
    plans = chain(saved, map(ledger.plans.get, missed if ledger.runs.ids() else ()))
    yield from (one.document.step.run_id for one in plans if one.document.step)


def _plan_files(ledger: Store, document: PlanDocument) -> dict[str, bytes]:
    plan_id = document.plan.id
    files = {_PLAN: codec.pretty(document)}
    if change := change_plan_of(document):
        files["change-plan.json"] = codec.pretty(change)
    if document.approval:
        history = ApprovalHistory(
            plan_id=plan_id,
            requests=ledger.approvals.requests(plan_id),
            approvals=ledger.approvals.of(plan_id),
        )
        files["approval.json"] = codec.pretty(history)
    if document.result:
        results = [stored.result for stored in ledger.executions.of(plan_id) if stored.result]
        # If the ledger lost them, verifying the log reports it.
        files |= {"result.json": codec.pretty(results[-1])} if results else {}
    return files


def _files_of(ledger: Store, plan_id: str) -> Expected:
    files = _plan_files(ledger, ledger.plans.get(plan_id).document)
    return {**dict.fromkeys(sorted(_SOMETIMES)), **files, _EVENTS: _event_lines(ledger, plan_id, after=0)}


def _drop(agent: AgentFolder, plan_id: str) -> None:
    folder = (*PLANS, plan_id)
    preview = (*folder, _PREVIEW)
    agent.drop(preview, agent.names(preview))
    agent.drop(folder, {_PLAN, _EVENTS, *_SOMETIMES})


def _index(ledger: Store) -> bytes:
    """A PlanIndex with a line for each plan, made from the ledger's columns for lists."""
    facts = {"schema_version": 1, "count": ledger.plans.count(), "page_size": PAGE_SIZE, "pages": _PAGES}
    plans = b",\n".join(ledger.plans.newest_refs(RECENT))
    return codec.canonical(facts)[:-1] + b',"recent":[\n' + plans + b"\n]}\n"


def _page_of(number: int) -> int:
    return (number - 1) // PAGE_SIZE + 1


def _page_name(page: int) -> str:
    return f"{page:06}.json"


def _page(ledger: Store, page: int) -> bytes:
    first, last = (page - 1) * PAGE_SIZE + 1, min(page * PAGE_SIZE, ledger.plans.count() - RECENT)
    return codec.pretty(PlanPage(page=page, plans=tuple(ledger.plans.refs_between(first, last))))


def _read_mark(marker: int) -> int:
    written = os.pread(marker, _MARK_LENGTH, 0)
    return int(written) if written.isdigit() else 0


def _mark(marker: int, seq: int) -> None:
    os.pwrite(marker, f"{seq:0{_MARK_LENGTH}}".encode(), 0)


def _event_lines(ledger: Store, plan_id: str, *, after: int) -> bytes:
    return b"".join(codec.canonical(logged) + b"\n" for logged in ledger.events(plan_id, after=after))


def _last_seq(descriptor: int) -> int:
    """From the last whole line; 0 if the file is empty, truncated or not ours: then it is rewritten."""
    size = os.fstat(descriptor).st_size
    tail = os.pread(descriptor, _TAIL, max(0, size - _TAIL))
    lines = tail.rstrip(b"\n").rsplit(b"\n", 1)
    if not tail.endswith(b"\n"):
        return 0
    try:
        return codec.decode_own(lines[-1], LoggedEvent, _EVENTS).event.seq
    except RingiError:
        return 0
