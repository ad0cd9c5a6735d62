"""How people decide: from the events, the approvals and the plans, each read once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UNSET

from ringi.approvals.document import Approval, ProofKind
from ringi.ledger.event import Actor, Event, EventKind
from ringi.ledger.subject import short
from ringi.metrics.code import Generated
from ringi.metrics.document import AgentFigures, Day, Reason
from ringi.metrics.tasks import seconds_between
from ringi.plans.document import PlanDocument

if TYPE_CHECKING:
    from ringi.app.store import Store

_E = EventKind
_GIVEN: Final = frozenset([_E.APPROVED, _E.UNDO_APPROVED, _E.SESSION_APPROVED, _E.RUN_APPROVED])
"""Each came with one approval of its subject, in this order."""
_REFUSED: Final = frozenset([_E.DECLINED, _E.SESSION_REJECTED])
_MADE: Final = frozenset([_E.SPECS_SET, _E.SESSION_PREPARED, _E.SESSION_BROUGHT, _E.RUN_CREATED])
"""Something new waits from here on."""
_ASKED: Final = frozenset([_E.MARKED_PENDING, _E.APPROVAL_REQUESTED])
_WENT_WRONG: Final = frozenset([_E.RUN_STOPPED, _E.RUN_ADVANCED])
_DAY: Final = len("2026-11-17")
_LONGEST_REASON: Final = 300
MOST_REASONS: Final = 10


class TimedDecision(NamedTuple):
    at: str
    yes: bool
    seconds: float | None
    """Since it waited; None if that is not known."""


class PeopleFacts(NamedTuple):
    """What the events and approvals say, from the given moment on."""

    events: int
    """How many there are."""
    reasons: dict[str, list[str]]
    """By run: what went wrong. Of all time."""
    decisions: tuple[TimedDecision, ...]
    said_no: tuple[Reason, ...]
    """The newest first; `what` is the subject's id."""
    proofs: Counter[str]
    strengths: Counter[str]
    carried_out: frozenset[str]
    undone: frozenset[str]
    """Plans."""
    undone_runs: frozenset[str]
    approved: frozenset[str]
    rejects: Counter[str]
    """By plan."""
    days: tuple[Day, ...]


def read_events(history: Store, since: str) -> PeopleFacts:
    reader = _Events(history, since)
    for logged in history.events():
        reader.take(logged.event)
    return reader.read()


class _Events:
    def __init__(self, history: Store, since: str) -> None:
        self._history = history
        self._since = since
        self._approvals: dict[str, list[Approval]] = defaultdict(list)
        for approval in history.approvals.every():
            self._approvals[approval.subject_id].append(approval)
        self._given: Counter[str] = Counter()
        self._rejected: Counter[str] = Counter()
        self._waits: dict[str, str] = {}
        """By subject: since when."""
        self._count = 0
        self._reasons: dict[str, list[str]] = defaultdict(list)
        self._decisions: list[TimedDecision] = []
        self._no: list[Reason] = []
        self._proofs: Counter[str] = Counter()
        self._strengths: Counter[str] = Counter()
        self._carried_out: set[str] = set()
        self._undone: set[str] = set()
        self._undone_runs: set[str] = set()
        self._approved: set[str] = set()
        self._rejects: Counter[str] = Counter()
        self._days: dict[str, Counter[str]] = defaultdict(Counter)

    def take(self, event: Event) -> None:
        kind, subject = event.event, event.subject_id
        if kind in _WENT_WRONG:
            self._reasons[subject].append(event.reason)
        if event.at >= self._since:
            self._count += 1
            self._note(event)
        if kind in _GIVEN:
            self._approve(event)
        elif kind in _REFUSED or (
            kind is _E.DISCARDED and event.actor is Actor.USER and subject in self._waits
        ):
            self._refuse(event)
        elif kind in _MADE and event.actor is not Actor.USER:
            self._waits[subject] = event.at
        elif kind in _MADE or kind in _ASKED:
            self._waits.setdefault(subject, event.at)

    def _note(self, event: Event) -> None:
        day = self._days[event.at[:_DAY]]
        if event.event is _E.EXECUTED:
            self._carried_out.add(event.subject_id)
        elif event.event is _E.UNDONE:
            self._undone.add(event.subject_id)
            day["undone"] += 1
        elif event.event is _E.RUN_UNDONE:
            self._undone_runs.add(event.subject_id)
            day["undone"] += 1

    def _approve(self, event: Event) -> None:
        subject = event.subject_id
        given, at = self._approvals.get(subject, []), self._given[subject]
        self._given[subject] += 1
        approval = given[at] if at < len(given) else None
        waited = self._waits.pop(subject, None)
        if event.at < self._since:
            return
        day, proof = self._days[event.at[:_DAY]], approval.proof if approval else None
        if proof:
            self._proofs[proof.kind] += 1
            self._strengths[proof.strength] += 1
        if event.event is _E.UNDO_APPROVED:
            return
        self._approved.add(subject)
        day["approved"] += 1
        if proof and proof.kind is ProofKind.GRANT:
            day["granted"] += 1  # no person decided
            return
        seconds = seconds_between(waited, event.at) if waited else None
        self._decisions.append(TimedDecision(event.at, yes=True, seconds=seconds))

    def _refuse(self, event: Event) -> None:
        subject, text = event.subject_id, event.reason
        if event.event is _E.SESSION_REJECTED:
            # The session has the words, in the same order.
            said, at = self._history.sessions.get(subject).facts.feedback, self._rejected[subject]
            text = said[at] if at < len(said) else text
        self._rejected[subject] += 1
        waited = self._waits.pop(subject, None)
        if event.at < self._since:
            return
        seconds = seconds_between(waited, event.at) if waited else None
        self._decisions.append(TimedDecision(event.at, yes=False, seconds=seconds))
        self._rejects[subject] += 1
        self._days[event.at[:_DAY]]["rejected"] += 1
        self._no.append(Reason(event.at, subject, text))

    def read(self) -> PeopleFacts:
        days = (
            Day(
                day=day,
                approved=found["approved"],
                granted=found["granted"],
                rejected=found["rejected"],
                undone=found["undone"],
            )
            for day, found in sorted(self._days.items())
            if found.total()
        )
        return PeopleFacts(
            events=self._count,
            reasons=self._reasons,
            decisions=tuple(self._decisions),
            said_no=tuple(reversed(self._no[-MOST_REASONS:])),
            proofs=self._proofs,
            strengths=self._strengths,
            carried_out=frozenset(self._carried_out),
            undone=frozenset(self._undone),
            undone_runs=frozenset(self._undone_runs),
            approved=frozenset(self._approved),
            rejects=self._rejects,
            days=tuple(days),
        )


def mask_reasons(
    said: Iterable[Reason], names: dict[str, str], mask: Callable[[str], str]
) -> Iterator[Reason]:
    """With names that people type, masked before they are cut: half of a secret would not be recognised."""
    for one in said:
        words = " ".join(mask(one.text).split())
        cut = words if len(words) <= _LONGEST_REASON else f"{words[:_LONGEST_REASON]}…"
        yield Reason(one.at, names.get(one.what) or short(one.what), cut)


class PlanCounts(NamedTuple):
    """What the plans say, from the given moment on."""

    agents: tuple[AgentFigures, ...]
    names: dict[str, str]
    """By id: p7."""
    proposed: int
    comments: int
    """On single lines, by people."""
    undone: int
    carried_out: int
    uncounted: int
    """Plans made before hunks were counted."""
    generated: tuple[Generated, ...]


def count_plans(plans: Iterable[tuple[int, PlanDocument]], read: PeopleFacts, since: str) -> PlanCounts:
    agents: dict[str, Counter[str]] = defaultdict(Counter)
    names: dict[str, str] = {}
    whole: Counter[str] = Counter()
    generated: list[Generated] = []
    for number, document in plans:
        plan, state = document.plan, document.state
        names[plan.id] = f"p{number}"
        undone = plan.id in read.undone or bool(document.step and document.step.run_id in read.undone_runs)
        carried_out = plan.id in read.carried_out
        whole["undone"] += undone and carried_out
        whole["carried_out"] += carried_out
        if plan.created_at < since or state.previews is None:
            continue
        agent = agents[plan.proposer or plan.requester or "-"]
        whole["proposed"] += 1
        generated.append(Generated(plan.id, state.amended_from or plan.version))
        whole["comments"] += len(state.comments or ())
        agent["plans"] += 1
        agent["approved"] += plan.id in read.approved
        agent["rejected"] += read.rejects[plan.id]
        agent["undone"] += undone
        amended = [given.amended for given in state.feedback if given.amended]
        hunks = max((one.of for one in amended), default=state.previews.hunks or 0)
        # A command or an empty file has none.
        whole["uncounted"] += not hunks and (bool(amended) or state.previews.hunks is UNSET)
        agent["hunks"] += hunks
        agent["dropped"] += min(hunks, sum(one.dropped for one in amended))
        agent["edited"] += min(hunks, sum(one.edited for one in amended))
    return PlanCounts(
        agents=tuple(_agent(name, found) for name, found in sorted(agents.items())),
        names=names,
        proposed=whole["proposed"],
        comments=whole["comments"],
        undone=whole["undone"],
        carried_out=whole["carried_out"],
        uncounted=whole["uncounted"],
        generated=tuple(generated),
    )


def _agent(name: str, found: Counter[str]) -> AgentFigures:
    return AgentFigures(
        agent=name,
        plans=found["plans"],
        approved=found["approved"],
        rejected=found["rejected"],
        undone=found["undone"],
        hunks=found["hunks"],
        dropped=found["dropped"],
        edited=found["edited"],
    )
