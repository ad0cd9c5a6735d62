"""What is open: waiting plans with their risks, planning sessions and runs with their progress."""

import time
from calendar import timegm
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final

from ringi.domain.plan import PlanDocument, PlanRef, PlanStatus
from ringi.domain.risk import Risk
from ringi.domain.run import Run, RunPhase
from ringi.domain.session import SessionRef, SessionStatus
from ringi.domain.subject import SESSION_PREFIX
from ringi.plans.overlaps import Shared
from ringi.text import Text
from ringi.views import words
from ringi.views.lines import Line, Style, line
from ringi.views.standing import standing

_MOST_REASONS: Final = 3
_SHORTEST: Final = 8
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR

SESSION_PHASE: Final = {
    SessionStatus.DISCOVERY: Text("answering questions"),
    SessionStatus.DESIGN: Text("making decisions"),
    SessionStatus.REVIEW: Text("waits for approval"),
    SessionStatus.APPROVED: Text("approved"),
    SessionStatus.CANCELLED: Text("cancelled"),
    SessionStatus.FAILED: Text("stopped by an error"),
}
_RUN_PHASE: Final = {
    RunPhase.PLANNING: Text("waits to be started"),
    RunPhase.EXECUTING: Text("running"),
    RunPhase.INTEGRATING: Text("being put together"),
    RunPhase.COMPLETED: Text("done"),
    RunPhase.NEEDS_INPUT: Text("needs an answer"),
    RunPhase.CANCELLED: Text("cancelled"),
    RunPhase.FAILED: Text("failed"),
}

NO_SESSIONS: Final = Text("No planning session is open.")


def plan_line(ref: PlanRef) -> Line:
    """For an agent: the status by the name that its tools know."""
    facts = Text(
        "{name}  {status} · version {version} · {size} · {risk}  {title}",
        name=ref.name,
        status=str(ref.status),
        version=ref.version,
        size=words.size(ref.files, ref.added, ref.removed),
        risk=words.RISK[ref.risk],
        title=ref.title,
    )
    return line(facts)


def session_line(ref: SessionRef, name: str) -> Line:
    return line(Text("{facts}  {title}", facts=session_facts(ref, name), title=ref.title))


def short_names(ids: Iterable[str]) -> dict[str, str]:
    """The shortest unique prefixes, such as planning-1a2b3c4d."""
    known = ["", *sorted(ids), ""]
    # In sorted order, a name shares its longest prefix with a neighbour.
    return {
        one: one[: max(len(SESSION_PREFIX) + _SHORTEST, _common(before, one) + 1, _common(one, after) + 1)]
        for before, one, after in zip(known, known[1:], known[2:], strict=False)
    }


def _common(one: str, other: str) -> int:
    """The length of their common prefix."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _pair in takewhile(lambda pair: pair[0] == pair[1], pairs))


def session_phase(ref: SessionRef) -> Text:
    """With its progress, if there is something to count."""
    far = _progress(ref)
    if far is None:
        return SESSION_PHASE[ref.status]
    if ref.status is SessionStatus.FAILED:
        return Text("{phase}, {progress}", phase=SESSION_PHASE[ref.status], progress=far)
    return far


def _progress(ref: SessionRef) -> Text | None:
    if ref.status is SessionStatus.DESIGN and ref.decisions:
        return Text("{done} of {count} decisions", done=ref.decisions_done, count=ref.decisions)
    if ref.questions and ref.status in {SessionStatus.DISCOVERY, SessionStatus.DESIGN, SessionStatus.FAILED}:
        return Text("{done} of {count} questions", done=ref.questions_done, count=ref.questions)
    return None


def session_facts(ref: SessionRef, name: str) -> Text:
    return Text("{name} · {age} · {phase}", name=name, age=age(ref.updated_at), phase=session_phase(ref))


def run_facts(run: Run) -> Text:
    phase = _RUN_PHASE[run.phase]
    return Text("{run} · {age} · {phase}", run=run.run_id, age=age(run.updated_at), phase=phase)


def age(moment: str) -> Text:
    """How long ago, as a person would say it."""
    seconds = seconds_since(moment)
    if seconds is None:
        return Text("{moment}", moment=moment)
    if seconds < _MINUTE:
        return Text("just now")
    if seconds < _HOUR:
        return Text("{count} min ago", count=seconds // _MINUTE)
    if seconds < 2 * _DAY:  # so that there is no "1 days"
        return Text("{count} h ago", count=seconds // _HOUR)
    return Text("{count} days ago", count=seconds // _DAY)


def seconds_since(moment: str) -> int | None:
    try:
        return max(0, int(time.time()) - timegm(time.strptime(moment[:19], "%Y-%m-%dT%H:%M:%S")))
    except ValueError:
        return None


def waiting_lines(ref: PlanRef, document: PlanDocument, stale: Sequence[str]) -> Iterator[Line]:
    """Below the title of a plan that waits: how it stands, why it is risky, and what its checks said."""
    if ref.status is not PlanStatus.PENDING_REVIEW:
        yield line(words.STATUS[ref.status], indent=6)
    yield from (Line((span,), indent=6) for span in standing(document, stale))
    yield from _some(
        [
            Text("{risk} because {reason}", risk=words.RISK[risk], reason=reason)
            for risk, reason in _reasons(ref, document)
        ]
    )
    failed_first = sorted(document.state.checks, key=lambda result: result.passed)
    yield from _some([words.tests(result) for result in failed_first])


def _some(texts: Sequence[Text]) -> Iterator[Line]:
    for text in texts[:_MOST_REASONS]:
        yield line(text, indent=6)
    if len(texts) > _MOST_REASONS:
        yield line(Text("and {count} more", count=len(texts) - _MOST_REASONS), indent=6)


def _reasons(ref: PlanRef, document: PlanDocument) -> Iterator[tuple[Risk, Text | str]]:
    """Those of the highest risk first."""
    specs = document.state.action_specs
    if document.change and ref.risk not in {spec.risk for spec in specs}:
        yield from ((document.change.risk.level, reason) for reason in document.change.risk.reasons)
    for risk in reversed(Risk):
        for spec in specs:
            if spec.risk is risk:
                yield from ((risk, words.reason(spec.base.path, given)) for given in spec.risk_reasons)


def shared_lines(shared: Iterable[Shared]) -> Iterator[Line]:
    for plans, paths in shared:
        *names, last = (ref.name for ref in plans)
        same = Text(
            "{plans} change the same files: {paths}",
            plans=Text("{first} and {last}", first=", ".join(names), last=last),
            paths=words.some(paths, _MOST_REASONS),
        )
        yield line(same, Style.WARNING, indent=2)
