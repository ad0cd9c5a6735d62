"""Metrics in words: each figure with its value, its target, a mark, and what it is computed from."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from ringi.kernel.lines import EMPTY, Line, Style, TextSpan, line, prose, step
from ringi.kernel.text import Text, moment, restore_text
from ringi.metrics.document import AgentFigures, Basis, Figure, FigureName, Group, GroupName, Metrics, Unit
from ringi.metrics.figures import LABELS

_F = FigureName
GROUPS: Final = {
    GroupName.PLANNING: Text("Plans"),
    GroupName.TIME: Text("Time per task"),
    GroupName.RESOURCES: Text("Language models"),
    GroupName.QUALITY: Text("Results"),
    GroupName.PEOPLE: Text("How people decide"),
}
PARTS: Final = {
    "planning": Text("planning"),
    "execution": Text("execution"),
    "reflection": Text("reflection"),
    "input": Text("input"),
    "output": Text("output"),
    "material": Text("material from the project"),
    "cached": Text("cached"),
    "reviewer": Text("reviewer"),
    "qa": Text("qa"),
    "people": Text("people"),
    "dropped": Text("dropped"),
    "edited": Text("edited"),
    "typed": Text("typed"),
    "signed": Text("signed"),
    "grant": Text("by a standing approval"),
    "review": Text("by a review on the forge"),
}
_BY_TURN: Final = frozenset([_F.LLM_CALLS, _F.TOKENS_USED, _F.API_COST])
NO_DATA: Final = Text("no data yet")
MET: Final = Text("met")
MISSED: Final = Text("missed")
_MARKS: Final = {True: "✓", False: "✗", None: "·"}
_STYLES: Final = {True: Style.GOOD, False: Style.BAD, None: Style.PLAIN}
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_IN: Final = {"milliseconds": 0.001, "ms": 0.001, "seconds": 1, "minutes": _MINUTE, "hours": _HOUR}
_PERCENT: Final = 100
_EXACT: Final = 10


class FigureRow(NamedTuple):
    mark: str
    label: Text | str
    value: Text | str
    target: Text | str
    basis: Text | str
    style: Style
    parts: Text | str = ""
    """On a line of its own."""


def title(metrics: Metrics) -> Text:
    if metrics.since:
        return Text(
            "Metrics since {moment} (UTC), from 1 event",
            "Metrics since {moment} (UTC), from {count} events",
            moment=moment(metrics.since),
            count=number(metrics.events),
        )
    return Text("Metrics, from 1 event", "Metrics, from {count} events", count=number(metrics.events))


def is_empty(metrics: Metrics) -> bool:
    return not metrics.events and not metrics.tasks


def empty_lines(metrics: Metrics) -> Iterator[Line]:
    if metrics.since:
        yield line(Text("Nothing is recorded since {moment} (UTC).", moment=moment(metrics.since)))
        yield step("ringi metrics")
    else:
        yield line(Text("Nothing is recorded yet: figures come from plans, runs and decisions."))
        yield step("ringi run '…'")


def rows(group: Group) -> Iterator[FigureRow]:
    for figure in group.figures:
        yield FigureRow(
            mark=_MARKS[figure.met],
            label=label(figure),
            value=NO_DATA if figure.value is None else value(figure, figure.value),
            target=target(figure),
            basis=basis(figure),
            style=Style.FAINT if figure.value is None else _STYLES[figure.met],
            parts=parts(figure),
        )


def label(figure: Figure) -> Text | str:
    return figure.measure or LABELS[figure.name]


def target(figure: Figure) -> Text | str:
    if not figure.target:
        return ""
    return Text("target {target}", target=aim(figure))


def aim(figure: Figure) -> str:
    """The target, with its unit."""
    return figure.target + (" s" if figure.target and figure.unit is Unit.SECONDS else "")


def basis(figure: Figure) -> Text | str:
    if figure.value is None:
        return restore_text(figure.note) if figure.note else _unknown(figure)
    counted = _count(figure.basis, number(figure.of))
    for note in filter(None, (_unknown(figure), restore_text(figure.note) if figure.note else "")):
        counted = Text("{counted}, {note}", counted=counted, note=note)
    return counted


def _unknown(figure: Figure) -> Text | str:
    if not figure.without:
        return ""
    count = number(figure.without)
    if figure.name in _BY_TURN:
        return Text("not known of turns: {count}", count=count)
    if figure.name is _F.TASK_COMPLETION_RATE:
        return Text("still open: {count}", count=count)
    return Text("not known: {count}", count=count)


def _count(of: Basis, count: str) -> Text:
    """The number comes last, so that one and many need no words of their own."""
    return {
        Basis.TASKS: Text("tasks: {count}", count=count),
        Basis.PLANS: Text("plans: {count}", count=count),
        Basis.STEPS: Text("steps: {count}", count=count),
        Basis.CALLS: Text("calls: {count}", count=count),
        Basis.TOKENS: Text("tokens: {count}", count=count),
        Basis.TURNS: Text("turns of models: {count}", count=count),
        Basis.REFLECTIONS: Text("reflections: {count}", count=count),
        Basis.ERRORS: Text("errors: {count}", count=count),
        Basis.FILES: Text("files: {count}", count=count),
        Basis.LINES: Text("lines: {count}", count=count),
        Basis.DECISIONS: Text("decisions: {count}", count=count),
        Basis.APPROVALS: Text("approvals: {count}", count=count),
        Basis.HUNKS: Text("hunks: {count}", count=count),
    }[of]


def parts(figure: Figure) -> Text | str:
    """What it is made of, or how it is spread."""
    said: Text | str = ""
    if figure.value is None:
        return said
    for name, found in figure.parts.items():
        one = Text("{part} {value}", part=PARTS.get(name, name), value=_part(figure, found))
        said = Text("{before} · {next}", before=said, next=one) if said else one
    if not said and figure.of > 1 and figure.median is not None and figure.p90 is not None:
        said = Text("9 of 10 at most {p90}", p90=value(figure, figure.p90))
        if figure.median != figure.value:
            said = Text("median {median} · {rest}", median=value(figure, figure.median), rest=said)
    return said


def _part(figure: Figure, found: float) -> Text | str:
    return number(found) if figure.unit is Unit.SHARE else value(figure, found)


def value(figure: Figure, found: float) -> Text | str:
    match figure.unit:
        case Unit.SHARE:
            return f"{_PERCENT * found:.0f} %"
        case Unit.SECONDS:
            scale = _IN.get(figure.shown_in)
            return f"{found / scale:,.1f} {figure.shown_in}" if scale else duration(found)
        case Unit.DOLLARS:
            return f"{found:,.4f} USD" if found < 1 else f"{found:,.2f} USD"
    return number(found)


def number(found: float) -> str:
    return f"{found:,.0f}" if found == int(found) or found >= _PERCENT else f"{found:,.1f}"


def duration(seconds: float) -> Text | str:
    if seconds < _MINUTE:
        return Text("{count} s", count=f"{seconds:.1f}" if seconds < _EXACT else f"{seconds:.0f}")
    if seconds < _HOUR:
        return Text("{count} min {rest} s", count=int(seconds // _MINUTE), rest=int(seconds % _MINUTE))
    if seconds < 2 * _DAY:
        minutes = int(seconds % _HOUR // _MINUTE)
        return Text("{count} h {rest} min", count=int(seconds // _HOUR), rest=minutes)
    return Text("{count} days", count=int(seconds // _DAY))


def agent_words(agent: AgentFigures) -> Text:
    share = agent.share
    return Text(
        "{agent}: plans {plans}, approved {approved}, rejected {rejected}, undone {undone},"
        " hunks changed {share}",
        agent=agent.agent,
        plans=agent.plans,
        approved=agent.approved,
        rejected=agent.rejected,
        undone=agent.undone,
        share=NO_DATA if share is None else f"{_PERCENT * share:.0f} %",
    )


def agent_lines(metrics: Metrics) -> Iterator[Line]:
    if metrics.agents:
        yield EMPTY
        yield line(Text("By agent"), Style.STRONG)
        yield from (line(agent_words(agent), indent=2) for agent in metrics.agents)


def reason_lines(metrics: Metrics) -> Iterator[Line]:
    if metrics.reasons:
        yield EMPTY
        yield line(Text("Why they said no, newest first"), Style.STRONG)
    for one in metrics.reasons:
        words = one.text or Text("(no reason given)")
        yield prose(words, indent=2, mark=f"{moment(one.at)} {one.what}  ")


def group_title(group: Group) -> Line:
    return Line((TextSpan(GROUPS[group.name], Style.STRONG),))
