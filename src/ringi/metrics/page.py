"""Metrics as one page: no script, nothing from elsewhere, plots drawn here as SVG, for light and dark."""

import html
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ringi.kernel.text import Text, visible
from ringi.metrics import view as words
from ringi.metrics.document import Day, Figure, Metrics, TaskFigures

Say = Callable[[Text], str]
"""In the reader's language, with every detail filtered."""
_WIDTH: Final = 720
_HEIGHT: Final = 180
_LEFT: Final = 64
_BOTTOM: Final = 22
_TOP: Final = 8
_WIDEST_BAR: Final = 28.0
_MOST_BARS: Final = 60
_MARKS: Final = 3
_ROUND: Final = (1, 2, 3, 4, 5, 6, 8, 10, 20)
"""What the scale of a plot ends with, times a power of ten; the last for what rounding makes of a log."""
_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fff; --faint: #6b6b6b; --rule: #d8d8d8;
  --good: #1a7f37; --bad: #c0261c; --a: #3b6fb6; --b: #e08a1e; --c: #7a4fa3; --d: #4b9c8e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #16181c; --faint: #a0a0a0;
  --rule: #3a3d42; --good: #4cc26a; --bad: #ff7b72; --a: #79a8e8; --b: #f2b25c; --c: #bd97e0;
  --d: #76cfc0; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, "Hiragino Sans", "Noto Sans JP",
  sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p, .faint { color: var(--faint); } .good { color: var(--good); } .bad { color: var(--bad); }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; } th { font-weight: 600; white-space: nowrap; }
.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
td { overflow-wrap: break-word; }
small { display: block; color: var(--faint); white-space: normal; }
table.figures { table-layout: fixed; } .figures th:nth-child(1) { width: 36%; }
.figures th:nth-child(2) { width: 30%; } .figures th:nth-child(3) { width: 14%; }
svg { width: 100%; min-width: 36rem; height: auto; display: block; }
svg text { fill: var(--faint); font-size: 11px; }
svg line { stroke: var(--rule); } .a { fill: var(--a); } .b { fill: var(--b); } .c { fill: var(--c); }
.d { fill: var(--d); } .key { display: inline-block; width: .8em; height: .8em; margin: 0 .4em 0 0; }
.name { display: inline-block; margin-right: 1em; }
.key.a { background: var(--a); } .key.b { background: var(--b); } .key.c { background: var(--c); }
.key.d { background: var(--d); }
@media (max-width: 40rem) { .figures thead { display: none; } .figures, .figures tbody { display: block; }
  .figures tr { display: grid; grid-template-columns: 1fr auto; column-gap: .75rem; padding: .3rem 0;
  border-bottom: 1px solid var(--rule); } .figures td { border: 0; padding: 0; }
  .figures td:nth-child(1), .figures td:nth-child(4) { grid-column: 1 / -1; }
  .figures td:nth-child(3) { text-align: right; } .figures td:nth-child(4) { color: var(--faint); }
  .why .number { white-space: normal; } }
"""
_COLOURS: Final = ("a", "b", "c", "d")


class _Bar(NamedTuple):
    label: str
    title: str
    values: tuple[float, ...]
    """From the bottom, one for each name of the legend."""


def page(metrics: Metrics, say: Say) -> str:
    title = say(words.title(metrics))
    body = [f"<h1>{_safe(title)}</h1>", f"<p>{_safe(metrics.created_at[:16].replace('T', ' '))} UTC</p>"]
    if words.is_empty(metrics):
        nothing = Text("Nothing is recorded yet: figures come from plans, runs and decisions.")
        body.append(f"<p>{_safe(say(nothing))}</p>")
    else:
        body += _plots(metrics, say)
        body += _groups(metrics, say)
        body += _agents(metrics, say)
        body += _reasons(metrics, say)
    language = say(Text("en"))
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html lang="{_safe(language)}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_safe(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _safe(text: str) -> str:
    """What hides or turns text around is spelled out, and markup is text."""
    return html.escape(visible(text))


def _said(text: Text | str, say: Say) -> str:
    return _safe(say(text) if isinstance(text, Text) else text)


# ---------------------------------------------------------------------------------------- tables


def _groups(metrics: Metrics, say: Say) -> Iterator[str]:
    heads = [Text("figure"), Text("value"), Text("target"), Text("from")]
    for group in metrics.groups:
        yield f"<h2>{_said(words.GROUPS[group.name], say)}</h2>"
        pairs = zip(group.figures, words.rows(group), strict=True)
        rows = (_row(figure, row, say) for figure, row in pairs)
        yield _table([say(head) for head in heads], rows, kind="figures")


def _row(figure: Figure, row: words.FigureRow, say: Say) -> str:
    kind = {True: "good", False: "bad", None: "faint" if figure.value is None else ""}[figure.met]
    mark = "" if figure.met is None else f"{row.mark} {say(words.MET if figure.met else words.MISSED)}"
    label = _said(row.label, say)
    if figure.calculation:
        label += f"<small>{_safe(figure.calculation)}</small>"
    value = _said(row.value, say) + (f"<small>{_said(row.parts, say)}</small>" if row.parts else "")
    target = _said(words.aim(figure), say) + (f'<small class="{kind}">{_safe(mark)}</small>' if mark else "")
    cells = [label, value, target, _said(row.basis, say)]
    styled = ["", f"number {kind}".strip(), "number", ""]
    return "".join(f'<td class="{name}">{cell}</td>' for name, cell in zip(styled, cells, strict=True))


def _table(heads: Sequence[str], rows: Iterable[str], kind: str = "") -> str:
    head = "".join(f"<th>{_safe(one)}</th>" for one in heads)
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    named = f' class="{kind}"' if kind else ""
    parts = f"<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody>"
    return f'<div class="wide"><table{named}>{parts}</table></div>'


def _agents(metrics: Metrics, say: Say) -> Iterator[str]:
    if not metrics.agents:
        return
    yield f"<h2>{_said(Text('By agent'), say)}</h2>"
    heads = [Text("agent"), Text("plans"), Text("approved"), Text("rejected"), Text("undone"),
             Text("hunks dropped"), Text("hunks edited"), Text("hunks")]  # fmt: skip
    rows = (
        "".join(
            f"<td>{_safe(str(cell))}</td>"
            for cell in (one.agent, one.plans, one.approved, one.rejected, one.undone, one.dropped,
                         one.edited, one.hunks)
        )
        for one in metrics.agents
    )  # fmt: skip
    yield _table([say(head) for head in heads], rows)


def _reasons(metrics: Metrics, say: Say) -> Iterator[str]:
    if not metrics.reasons:
        return
    yield f"<h2>{_said(Text('Why they said no, newest first'), say)}</h2>"
    rows = (
        f'<td class="number">{_safe(one.at[:16].replace("T", " "))}</td><td>{_safe(one.what)}</td>'
        f"<td>{_safe(one.text)}</td>"
        for one in metrics.reasons
    )
    yield _table([say(Text("when")), say(Text("what")), say(Text("why"))], rows, kind="why")


# ---------------------------------------------------------------------------------------- plots


def _plots(metrics: Metrics, say: Say) -> Iterator[str]:
    tasks = metrics.tasks[-_MOST_BARS:]
    if any(one.planning_sec + one.execution_sec + one.reflection_sec for one in tasks):
        names = [Text("planning"), Text("execution"), Text("reflection")]
        bars = [_task_bar(one, (one.planning_sec, one.execution_sec, one.reflection_sec)) for one in tasks]
        yield from _plot(Text("Seconds of each task"), names, bars, say)
    if any(one.input_tokens + one.output_tokens for one in tasks):
        names = [Text("input"), Text("output"), Text("material from the project")]
        bars = [_task_bar(one, _tokens(one)) for one in tasks]
        yield from _plot(Text("Tokens of each task"), names, bars, say)
    if metrics.days:
        names = [Text("approved"), Text("by a standing approval"), Text("rejected"), Text("undone")]
        bars = [_day_bar(one) for one in metrics.days[-_MOST_BARS:]]
        yield from _plot(Text("Decisions of each day"), names, bars, say)


def _tokens(task: TaskFigures) -> tuple[float, ...]:
    material = min(task.material_tokens, task.input_tokens)
    return task.input_tokens - material, task.output_tokens, material


def _task_bar(task: TaskFigures, values: tuple[float, ...]) -> _Bar:
    return _Bar(task.began_at[5:10], f"{task.task} {task.began_at[:16].replace('T', ' ')}", values)


def _day_bar(day: Day) -> _Bar:
    return _Bar(day.day[5:], day.day, (day.approved - day.granted, day.granted, day.rejected, day.undone))


def _plot(title: Text, names: Sequence[Text], bars: Sequence[_Bar], say: Say) -> Iterator[str]:
    """Stacked bars, oldest first; each tells its numbers in words too."""
    yield f"<h2>{_said(title, say)}</h2>"
    keys = zip(_COLOURS, names, strict=False)
    legend = (
        f'<span class="name"><span class="key {key}"></span>{_said(name, say)}</span>' for key, name in keys
    )
    yield f"<p>{''.join(legend)}</p>"
    most = _round(max(sum(bar.values) for bar in bars))
    room = (_WIDTH - _LEFT) / len(bars)
    high = _HEIGHT - _BOTTOM - _TOP
    yield (
        f'<div class="wide"><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
        f' role="img" aria-label="{_said(title, say)}">'
    )
    for part in range(_MARKS):
        share = part / (_MARKS - 1)
        y = _TOP + high * (1 - share)
        yield f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
        told = _safe(words.number(most * share))
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{told}</text>'
    for at, bar in enumerate(bars):
        yield from _drawn(bar, names, say, _LEFT + room * at, room, high / most)
    step = max(1, -(-len(bars) * 44 // (_WIDTH - _LEFT)))
    for at in range(0, len(bars), step):
        x = _LEFT + room * (at + 0.5)
        yield f'<text x="{x:.1f}" y="{_HEIGHT - 6}" text-anchor="middle">{_safe(bars[at].label)}</text>'
    yield "</svg></div>"


def _round(most: float) -> float:
    """The next number that has a round half."""
    if most <= 0:
        return 1.0
    scale = 10.0 ** math.floor(math.log10(most))
    return next(step * scale for step in _ROUND if step * scale >= most)


def _drawn(
    bar: _Bar, names: Sequence[Text], say: Say, left: float, room: float, scale: float
) -> Iterator[str]:
    told = ", ".join(
        f"{say(name)} {words.number(value)}" for name, value in zip(names, bar.values, strict=True)
    )
    yield f"<g><title>{_safe(f'{bar.title}: {told}')}</title>"
    wide = min(_WIDEST_BAR, room * 0.8)
    x, y = left + (room - wide) / 2, float(_HEIGHT - _BOTTOM)
    for colour, value in zip(_COLOURS, bar.values, strict=False):
        tall = value * scale
        y -= tall
        if tall > 0:
            yield f'<rect class="{colour}" x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}"/>'
    yield "</g>"
