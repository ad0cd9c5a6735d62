"""The screen of a review as lines of text; only what is seen is looked at."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ringi.cli.reviewing.model import Message, Model, Page, Place, Question, visible_rows
from ringi.cli.reviewing.rows import LINES, Kind, Part, Row
from ringi.cli.term.cells import Line, Span, clip, pad, width
from ringi.cli.term.highlight import plain
from ringi.cli.term.terminal import Size
from ringi.cli.ui import translated
from ringi.domain.plan import PlanDocument, PlanStatus
from ringi.text import Text, visible
from ringi.views import words

KEYS: Final = Text("[a]pply [d]rop [e]dit [c]omment [r]eject [n]ext hunk [i]nfo [?] [q]uit")
_FEW_KEYS: Final = Text("[a] [d] [e] [r] [?] [q]")
_STALE_KEYS: Final = Text("[u]pdate to the files as they are now [d]rop [r]eject [?] [q]uit")
_DONE_KEYS: Final = Text("[U]ndo [i]nfo [?] [q]uit")
_PAGE_KEYS: Final = Text("[q] back")
_TAB: Final = 4
_LONG: Final = 2000
"""Characters; of a longer line only what is seen is looked at."""
_ROOM_FOR_NUMBERS: Final = 50
_ROOM_FOR_SUMMARY: Final = 8
_ROOM_FOR_WARNINGS: Final = 14
_MOST_OUTPUT: Final = 6
_HANG: Final = 2
_MOST_WARNINGS: Final = 3
_MOST_STATUS: Final = 3
_SIGNS: Final = {Kind.KEPT: " ", Kind.ADDED: "+", Kind.REMOVED: "-"}
_STYLES: Final = {Kind.KEPT: "", Kind.ADDED: "add", Kind.REMOVED: "remove"}
_TINTS: Final = {Kind.KEPT: "", Kind.ADDED: "add-tint", Kind.REMOVED: "remove-tint"}

Cursor = tuple[int, int] | None


class Highlights:
    """The lines of files in colours; empty until somebody had the time to make them."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Sequence[Line] | None, Sequence[Line] | None]] = {}

    def known(self, part: Part) -> bool:
        return part.key in self._known

    def put(self, part: Part, old: Sequence[Line] | None, new: Sequence[Line] | None) -> None:
        self._known[part.key] = old, new

    def line(self, part: Part, row: Row) -> Line | None:
        old, new = self._known.get(part.key, (None, None))
        lines, number = (old, row.old) if row.kind is Kind.REMOVED else (new, row.new)
        return lines[number - 1] if lines and 0 < number <= len(lines) else None


class Screen(NamedTuple):
    lines: list[Line]
    cursor: Cursor
    places: Sequence[Place]
    """What of the plan is on it."""


def screen(model: Model, size: Size, highlights: Highlights) -> Screen:
    columns, rows = size
    if model.page is not None:
        return Screen(_page(model, model.page, columns, rows), None, ())
    above = list(_above(model, columns, rows))
    below, cursor = _below(model, columns, rows)
    height = max(1, rows - len(above) - len(below))
    places = visible_rows(model, height)
    body = [_row(model, place, columns, highlights) for place in places]
    body += [()] * (height - len(body))
    # Where there is no room for all of it, what is asked stays.
    lines = [*above, *body, *below][-rows:]
    if cursor is not None:
        cursor = (len(lines) - len(below) + cursor[0], cursor[1])
    return Screen(lines, cursor, places)


def _above(model: Model, columns: int, rows: int) -> Iterator[Line]:
    yield _title(model, columns)
    if rows < _ROOM_FOR_SUMMARY:
        return
    if model.facts.said:
        yield _shortened(
            _joined([Span(translated(one.words), one.style) for one in model.facts.said]), columns
        )
    if rows >= _ROOM_FOR_WARNINGS:
        yield from (
            _shortened(((Span(translated(one.words), one.style)),), columns) for one in _warnings(model)
        )
    yield _where(model, columns)


def _shortened(line: Line, columns: int) -> Line:
    """What does not fit is not cut without a sign; [i] shows all of it."""
    if sum(width(span.text) for span in line) <= columns:
        return line
    return (*clip(line, columns - 1), Span("…"))


def _title(model: Model, columns: int) -> Line:
    """The risk and the name are seen however narrow it is; the title gets what is left."""
    document, risk = model.facts.document, model.facts.risk
    risk_words = translated(words.RISK[risk])
    name = f"{model.facts.ref.name} "
    facts = translated(_facts(document))
    room = columns - width(name) - width(risk_words) - 3
    title = cut(visible(document.plan.title, keep=""), max(room - width(facts), min(room, columns // 3)))
    facts = cut(facts, room - width(title))
    line = (
        Span(name + title, "bold"),
        Span("  " + facts, ""),
        Span(" " * max(1, room - width(title) - width(facts) + 1)),
        Span(risk_words, f"bold {words.RISK_STYLE[risk]}"),
    )
    return clip(line, columns)


def _facts(document: PlanDocument) -> Text:
    totals, plan = document.state.previews, document.plan
    size = words.size(len(totals.files), totals.added, totals.removed) if totals else ""
    facts = Text("v{version} · {size}", version=plan.version, size=size)
    return Text("{proposer} · {facts}", proposer=plan.proposer, facts=facts) if plan.proposer else facts


def _warnings(model: Model) -> Iterator[Message]:
    if model.stale:
        line = Text("! {path} changed since the proposer saw it", path=words.some(model.stale, 2))
        yield Message(line, "yellow")
    yield from model.warnings[:_MOST_WARNINGS]
    if len(model.warnings) > _MOST_WARNINGS:
        yield Message(Text("… and {count} more", count=len(model.warnings) - _MOST_WARNINGS), "yellow")


def _where(model: Model, columns: int) -> Line:
    """The file and the hunk that the cursor is in."""
    part, parts = model.part, len(model.shown)
    hunk = 0 if part.key in model.folded else part.hunk_at(model.cursor.row)
    left = "── " + translated(part.title) + "  "
    found = [Text("file {number} of {count}", number=model.cursor.part + 1, count=parts)]
    if hunk:
        found.insert(0, Text("hunk {number} of {count}", number=hunk, count=part.hunks))
    if model.delta is not None:
        found.append(Text("since the version approved last"))
    right = "  ".join(map(translated, found))
    left = cut(left, max(columns - width(right), columns // 2))
    return clip((Span(left, "bold"), Span(right, "cyan")), columns)


def _row(model: Model, place: Place, columns: int, highlights: Highlights) -> Line:
    part = model.shown[place.part]
    here = place == model.cursor and model.question is None
    row = part.row(place.row) if place.row else Row(Kind.FILE)
    gutter = 6 if columns >= _ROOM_FOR_NUMBERS else 0
    mark = Span("▌" if here else " ", "bold cyan")
    if row.kind in LINES:
        number = row.old if row.kind is Kind.REMOVED else row.new
        beside = Span(f"{number:>{gutter - 1}} " if gutter else "", "dim")
        sign = Span(_SIGNS[row.kind], f"bold {_STYLES[row.kind]} {_TINTS[row.kind]}".strip())
        room = columns - 2 - gutter
        text = pad(_code(part, row, model.left, room, highlights), room if _TINTS[row.kind] else 0)
        return clip((mark, beside, sign, *text), columns)
    if row.kind is Kind.HUNK:
        return clip((mark, *_other(part, row, gutter)), columns)
    said = _file_line(model, part) if row.kind is Kind.FILE else _other(part, row, gutter)
    return clip((mark, *_fitted(tuple(said), model.left, columns - 1)), columns)


def _file_line(model: Model, part: Part) -> Iterator[Span]:
    yield Span("▸ " if part.key in model.folded else "▾ ")
    yield Span(shown(translated(part.title)), f"bold {part.style}".strip())
    if part.loaded and (part.content.added or part.content.removed):
        yield Span(f"  +{part.content.added} -{part.content.removed}")
    if part.loaded and not part.content.fits:
        yield Span("  " + translated(Text("changed since the proposer saw it")), "yellow")


def _other(part: Part, row: Row, gutter: int) -> Iterator[Span]:
    indent = " " * gutter
    if row.kind is Kind.HUNK:
        hunk = part.content.hunks[row.hunk - 1]
        place = Text("hunk {number} of {count}", number=row.hunk, count=part.hunks)
        numbers = f"@@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@"
        yield Span(f"{numbers}  {translated(place)}", "cyan")
        yield Span(shown(row.data.decode("utf-8", "backslashreplace")[:_LONG]), "dim")
    elif row.kind is Kind.MARK:
        yield Span(indent + translated(Text("(no newline at the end)")), "dim")
    elif row.kind is Kind.COMMENT:
        yield Span(indent + " » " + shown(translated(row.words)), "magenta")
    else:
        yield Span("  " + shown(translated(row.words)), row.style)


def _code(part: Part, row: Row, left: int, room: int, highlights: Highlights) -> Line:
    """The line from column `left` on, and how much more there is."""
    style, tint = _STYLES[row.kind], _TINTS[row.kind]
    if len(row.data) > _LONG:
        return _long(row.data, left, room, f"{style} {tint}".strip())
    coloured = highlights.line(part, row)
    if coloured is None:
        coloured = tuple(
            Span(span.text, style) for span in plain(row.data.decode("utf-8", "backslashreplace"))
        )
    return _fitted(tuple(Span(span.text, f"{span.style} {tint}".strip()) for span in coloured), left, room)


def _fitted(line: Line, left: int, room: int) -> Line:
    """From column `left` on, with a mark that says how much more there is."""
    size = sum(width(span.text) for span in line) - left
    if size <= room:
        return clip(line, room, start=left)
    more = f"…+{size - room + 6}"
    return (*clip(line, max(0, room - width(more)), start=left), Span(more, "reverse"))


def _long(data: bytes, left: int, room: int, style: str) -> Line:
    """Counted in characters: where its columns are, only all of it could tell."""
    # A character has four bytes at most.
    text = data[: 4 * (left + room)].decode("utf-8", "backslashreplace")[left : left + room]
    rest = len(data) - left - room
    if rest <= 0:
        return clip((Span(shown(text), style),), room)
    more = f"…+{rest + len(str(rest)) + 2}"
    return (*clip((Span(shown(text), style),), max(0, room - width(more))), Span(more, "reverse"))


def _below(model: Model, columns: int, rows: int) -> tuple[list[Line], Cursor]:
    """What a failed check printed, the message, and the keys or what is being typed."""
    if model.question is not None:
        return _asked(model, model.question, columns, rows)
    room = max(0, min(_MOST_OUTPUT, (rows - _ROOM_FOR_SUMMARY) // 2))
    lines = [_one(Text("{line}", line=line), "red", columns) for line in list(model.output)[-room:] if room]
    keys = translated(_keys(model))
    if width(keys) > columns:
        keys = translated(_FEW_KEYS)
    return [*lines, *_status(model, columns, rows), clip((Span(keys, "dim"),), columns)], None


def _asked(model: Model, question: Question, columns: int, rows: int) -> tuple[list[Line], Cursor]:
    asked = wrapped((Span(shown(translated(question.words)), "bold"),), columns)
    room = max(0, rows - len(asked) - 3)
    above = [line for one in question.above for line in wrapped((Span(shown(translated(one))),), columns)]
    if question.editor is None:
        return [*above[:room], *_status(model, columns, rows), *asked], None
    typed, at = question.editor.line(max(1, columns - 3))
    lines = [*above[:room], *asked, clip((Span("> ", "bold"), *typed), columns)]
    return lines, (len(lines) - 1, at + 2)


def _keys(model: Model) -> Text:
    if model.document.state.status is PlanStatus.COMPLETED:
        return _DONE_KEYS
    return _STALE_KEYS if model.stale and not model.document.change else KEYS


def _status(model: Model, columns: int, rows: int) -> list[Line]:
    found = [Span(translated(one.words), one.style) for one in (model.message, model.checks) if one]
    most = _MOST_STATUS if rows >= _ROOM_FOR_WARNINGS else 1
    return [clip(line, columns) for line in wrapped(_joined(found), columns)[:most]]


def _joined(spans: Sequence[Span]) -> Line:
    line: list[Span] = []
    for span in spans:
        line += [Span(" · ")] if line else []
        line.append(Span(shown(span.text), span.style))
    return tuple(line)


def _page(model: Model, page: Page, columns: int, rows: int) -> list[Line]:
    height = max(1, rows - 2)
    lines = _wrapped_page(page, columns)
    model.page_top = max(0, min(model.page_top, len(lines) - height))
    found = [clip(line, columns) for line in lines[model.page_top : model.page_top + height]]
    where = f"{translated(_PAGE_KEYS)}   {min(len(lines), model.page_top + height)}/{len(lines)}"
    empty = [()] * (height - len(found))
    return [clip(page.title, columns), *found, *empty, clip((Span(where, "dim"),), columns)]


@lru_cache(maxsize=1)
def _wrapped_page(page: Page, columns: int) -> list[Line]:
    return [part for line in page.lines for part in wrapped(line, columns)]


def wrapped(line: Line, columns: int) -> list[Line]:
    """In as many lines as it needs, cut between words where that is possible, the later ones indented."""
    text = "".join(span.text for span in line)
    if width(text) <= columns:
        return [line]
    first = line[0].text
    hang = width(first) if len(line) > 1 and first.endswith(" ") else len(text) - len(text.lstrip()) + _HANG
    indent = hang if hang < columns // 2 else 0
    found, start, room = [], 0, columns
    while start < len(text):
        end = _fitting(text, start, room)
        found.append((*((Span(" " * indent),) if start else ()), *_between(line, start, end)))
        start, room = end, columns - indent
    return found


def _fitting(text: str, start: int, room: int) -> int:
    """Where a line that begins here ends: after a blank, or where nothing more fits."""
    end, used = start, 0
    while end < len(text) and used + width(text[end]) <= room:
        used += width(text[end])
        end += 1
    if end == len(text):
        return end
    if width(text[end]) > 1 or (end > start and width(text[end - 1]) > 1):
        return max(end, start + 1)  # Japanese breaks anywhere
    blank = text.rfind(" ", start, end)
    return blank + 1 if text[start : blank + 1].strip() else max(end, start + 1)


def _between(line: Line, start: int, end: int) -> Line:
    found, at = [], 0
    for span in line:
        part = span.text[max(0, start - at) : max(0, end - at)]
        at += len(span.text)
        if part:
            found.append(Span(part, span.style))
    return tuple(found)


def _one(text: Text, style: str, columns: int) -> Line:
    return clip((Span(shown(translated(text)), style),), columns)


def shown(text: str) -> str:
    """One line that a terminal cannot misunderstand, as wide as it looks."""
    return visible(text.expandtabs(_TAB), keep="")


def cut(text: str, columns: int) -> str:
    """Not wider than that, with a mark where something is missing."""
    text = shown(text)
    if width(text) <= columns:
        return text
    return "".join(span.text for span in clip((Span(text),), max(0, columns - 1))) + (
        "…" if columns > 0 else ""
    )
