"""Waiting plans: how they stand, why they are risky, which of them change the same files."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import UNSET

from ringi.kernel.lines import Line, Style, TextSpan, line
from ringi.kernel.text import Text, moment
from ringi.plans import words
from ringi.plans.document import ENDED, PlanDocument, PlanRef, PlanStatus, undone_at
from ringi.plans.overlaps import Shared
from ringi.policy.risk_level import Risk

_MOST_REASONS: Final = 3


def waiting_lines(ref: PlanRef, document: PlanDocument, stale: Sequence[str]) -> Iterator[Line]:
    """Below the title of a plan that waits: how it stands, why it is risky, and what its checks said."""
    if ref.status is not PlanStatus.PENDING_REVIEW:
        yield line(words.STATUS[ref.status], indent=6)
    yield from risk_lines(ref, document, stale)
    failed_first = sorted(document.state.checks, key=lambda result: result.passed)
    yield from _some([words.tests(result) for result in failed_first])


def risk_lines(ref: PlanRef, document: PlanDocument, stale: Sequence[str]) -> Iterator[Line]:
    yield from (Line((span,), indent=6) for span in standing(document, stale))
    yield from _some(
        [
            Text("{risk} because {reason}", risk=words.RISK[risk], reason=reason)
            for risk, reason in _reasons(ref, document)
        ]
    )


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


def format_shared(shared: Iterable[Shared]) -> Iterator[Line]:
    for plans, paths in shared:
        *names, last = (ref.name for ref in plans)
        same = Text(
            "{plans} change the same files: {paths}",
            plans=Text("{first} and {last}", first=", ".join(names), last=last),
            paths=words.some(paths, _MOST_REASONS),
        )
        yield line(same, Style.WARNING, indent=2)


def standing(document: PlanDocument, stale: Sequence[str] = ()) -> Iterator[TextSpan]:
    if at := undone_at(document):
        line = Text("undone {when}: the files are back to before", when=moment(at))
        yield TextSpan(line, Style.WARNING)
    exit_code = document.state.agent_exit if document.state.status not in ENDED else UNSET
    if exit_code is None:
        yield TextSpan(Text("! the agent was cut off; this is what it had done by then"), Style.WARNING)
    elif exit_code is not UNSET:
        yield TextSpan(Text("! the agent ended with exit code {code}", code=exit_code), Style.WARNING)
    yield from stale_spans(stale)


def stale_spans(stale: Sequence[str]) -> Iterator[TextSpan]:
    if stale:
        line = Text("! {path} changed since the proposer saw it", path=words.some(stale, 2))
        yield TextSpan(line, Style.WARNING)
