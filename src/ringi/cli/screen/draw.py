"""The screen of a review as lines of text. Only what is visible is computed."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ringi.cli.app import App
from ringi.cli.screen.cells import Pieces, StyledText, break_rows, clip, pad, restyle
from ringi.cli.screen.highlight import plain
from ringi.cli.screen.terminal import Size
from ringi.cli.screen.viewport import FileList, RowPlace, ScreenQuestion, TextPage, Viewport, visible_rows
from ringi.cli.ui import cut, width
from ringi.kernel.lines import Line, Style, TextSpan
from ringi.kernel.text import Text, translate, visible
from ringi.kernel.text import show_value as words_of
from ringi.patch.changed_words import Ranges
from ringi.plans import words
from ringi.plans.diff_view import (
    CONFLICTING,
    ConflictHunk,
    DiffSection,
    Row,
    RowKind,
    conflict_at,
    deletes_yours,
)
from ringi.plans.document import PlanDocument, PlanPreview, PlanRef, PlanStatus, files_changed
from ringi.plans.facts import facts_of
from ringi.plans.view import plan_lines, total_line
from ringi.plans.waiting_view import stale_spans

_ALL_KEYS: Final = Text(
    "[a]pply [d]rop [e]dit [c]omment [r]eject [n]ext hunk [+] more lines [w]rap [f]iles [/] [i]nfo [?] [q]uit"
)
KEYS: Final = Text("[a]pply [d]rop [e]dit [c]omment [r]eject [n]ext hunk [i]nfo [?] [q]uit")
_FEW_KEYS: Final = Text("[a] [d] [e] [r] [?] [q]")
_STALE_KEYS: Final = Text("[u]pdate to the files as they are now [d]rop [r]eject [?] [q]uit")
_CONFLICT_KEYS: Final = Text("[<] yours [>] theirs [=] both [e]dit [n]ext [r]eject [?] [q]uit")
_DONE_KEYS: Final = Text("[U]ndo [i]nfo [?] [q]uit")
_UNDONE_KEYS: Final = Text("[a]pply again [i]nfo [?] [q]uit")
_PAGE_KEYS: Final = Text("[q] back")
_MORE_KEYS: Final = Text("[PgDn] more [q] back")
_FILE_KEYS: Final = Text("[Enter] go there [q] back")
_TAB: Final = 4
_LONG: Final = 2000
"""Characters; of a longer line only the visible part is processed."""
_ROOM_FOR_NUMBERS: Final = 50
_ROOM_FOR_SUMMARY: Final = 8
_ROOM_FOR_WARNINGS: Final = 14
_MOST_OUTPUT: Final = 6
_HANG: Final = 2
_MOST_WARNINGS: Final = 3
_MOST_STATUS: Final = 3
_SIGNS: Final = {
    RowKind.KEPT: " ", RowKind.ADDED: "+", RowKind.REMOVED: "-",
    RowKind.BEFORE: "|", RowKind.MINE: "<", RowKind.THEIRS: ">",
}  # fmt: skip
_STYLES: Final = {
    RowKind.KEPT: "", RowKind.ADDED: Style.ADDED, RowKind.REMOVED: Style.REMOVED,
    RowKind.BEFORE: Style.FAINT, RowKind.MINE: "cyan", RowKind.THEIRS: "magenta",
}  # fmt: skip
_TINTS: Final = {RowKind.ADDED: "add-tint", RowKind.REMOVED: "remove-tint"}
_WORD_TINTS: Final = {RowKind.ADDED: "add-word", RowKind.REMOVED: "remove-word"}

Cursor = tuple[int, int] | None


class Highlights:
    """Highlighted lines of files, filled in while the person is idle."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Sequence[Pieces] | None, Sequence[Pieces] | None]] = {}

    def has(self, section: DiffSection) -> bool:
        return section.key in self._known

    def put(self, section: DiffSection, old: Sequence[Pieces] | None, new: Sequence[Pieces] | None) -> None:
        self._known[section.key] = old, new

    def line(self, section: DiffSection, row: Row) -> Pieces | None:
        old, new = self._known.get(section.key, (None, None))
        if row.kind in CONFLICTING:
            return None
        lines, number = (old, row.old) if row.kind is RowKind.REMOVED else (new, row.new)
        return lines[number - 1] if lines and 0 < number <= len(lines) else None


class Screen(NamedTuple):
    lines: list[Pieces]
    cursor: Cursor
    places: Sequence[RowPlace]
    """The visible rows of the plan."""


def screen(view: Viewport, size: Size, highlights: Highlights) -> Screen:
    columns, rows = size
    if view.page is not None:
        return Screen(_page(view, view.page, columns, rows), None, ())
    if view.files is not None:
        return Screen(_files(view, view.files, columns, rows), None, ())
    above = list(_above(view, columns, rows))
    below, cursor = _below(view, columns, rows)
    height = max(1, rows - len(above) - len(below))
    drawn = _Drawn(view, columns, height if view.wrap else 1, highlights)
    places = visible_rows(view, height, drawn.tall) if view.wrap else visible_rows(view, height)
    body = [line for place in places for line in drawn.lines(place)][:height]
    body += [()] * (height - len(body))
    # If there is no room for everything, the question stays.
    lines = [*above, *body, *below][-rows:]
    if cursor is not None:
        cursor = (len(lines) - len(below) + cursor[0], cursor[1])
    return Screen(lines, cursor, places)


def _above(view: Viewport, columns: int, rows: int) -> Iterator[Pieces]:
    yield _title(view, columns)
    if rows < _ROOM_FOR_SUMMARY:
        return
    if rows >= _ROOM_FOR_WARNINGS and view.document.plan.rationale.strip():
        why = Text("why: {reason}", reason=" ".join(view.document.plan.rationale.split()))
        yield _shorten((StyledText(one_line(translate(why)), "dim"),), columns)
    roomy = rows >= _ROOM_FOR_WARNINGS
    if said := view.heading.said if roomy else (*view.heading.standing, *view.heading.said):
        yield _shorten(_join([_piece(one) for one in said]), columns)
    if roomy:
        yield from (_shorten((_piece(one),), columns) for one in _warnings(view))
    yield _where(view, columns)


def _shorten(line: Pieces, columns: int) -> Pieces:
    """Marks the cut if the line does not fit; [i] shows all of it."""
    if sum(width(piece.text) for piece in line) <= columns:
        return line
    return (*clip(line, columns - 1), StyledText("…"))


def _title(view: Viewport, columns: int) -> Pieces:
    """The name and the risk fit any width; the title gets the rest."""
    document, risk = view.heading.document, view.heading.risk
    risk_words = translate(words.RISK[risk])
    name = f"{view.heading.ref.name} "
    facts = translate(_facts(document))
    room = columns - width(name) - width(risk_words) - 3
    title = cut(document.plan.title, max(room - width(facts), min(room, columns // 3)))
    facts = cut(facts, room - width(title))
    line = (
        StyledText(name + title, "bold"),
        StyledText("  " + facts, ""),
        StyledText(" " * max(1, room - width(title) - width(facts) + 1)),
        StyledText(risk_words, f"bold {words.RISK_STYLE[risk]}"),
    )
    return clip(line, columns)


def _facts(document: PlanDocument) -> Text:
    totals, plan = document.state.previews, document.plan
    size = words.size(files_changed(document), totals.added, totals.removed) if totals else ""
    facts = Text("v{version} · {size}", version=plan.version, size=size)
    return Text("{proposer} · {facts}", proposer=plan.proposer, facts=facts) if plan.proposer else facts


def _warnings(view: Viewport) -> Iterator[TextSpan]:
    yield from view.heading.standing
    yield from stale_spans(view.stale)
    if lost := sum(
        1 for section in view.sections if section.loaded for line in section.content.yours if line
    ):
        yield TextSpan(words.format_lost(lost), Style.WARNING)
    yield from view.warnings[:_MOST_WARNINGS]
    if len(view.warnings) > _MOST_WARNINGS:
        yield TextSpan(Text("… and {count} more", count=len(view.warnings) - _MOST_WARNINGS), Style.WARNING)


def _where(view: Viewport, columns: int) -> Pieces:
    """The file and the hunk under the cursor."""
    section, sections = view.section, len(view.shown)
    hunk = 0 if section.key in view.folded else section.hunk_at(view.cursor.row)
    left = "── " + words_of(section.title) + "  "
    found = [Text("file {number} of {count}", number=view.cursor.section + 1, count=sections)]
    if hunk:
        found.insert(0, Text("hunk {number} of {count}", number=hunk, count=section.hunks))
    if view.delta is not None:
        found.append(Text("since version {version}", version=view.since))
    right = "  ".join(map(translate, found))
    left = cut(left, max(columns - width(right), columns // 2))
    return clip((StyledText(left, "bold"), StyledText(right, "cyan")), columns)


class _Drawn:
    """The rows of a plan as lines of the screen."""

    def __init__(self, view: Viewport, columns: int, most: int, highlights: Highlights) -> None:
        self._view = view
        self._columns = columns
        self._most = most
        """Lines that a row may take."""
        self._highlights = highlights
        self._known: dict[RowPlace, list[Pieces]] = {}

    def tall(self, place: RowPlace) -> int:
        return len(self.lines(place))

    def lines(self, place: RowPlace) -> list[Pieces]:
        if place not in self._known:
            here = place == self._view.cursor and self._view.question is None
            mark = StyledText("▌" if here else " ", "bold cyan")
            rows = self._rows(place)[: self._most]
            self._known[place] = [clip((mark, *row), self._columns) for row in rows]
        return self._known[place]

    def _rows(self, place: RowPlace) -> list[Pieces]:
        view, columns = self._view, self._columns
        section = view.shown[place.section]
        row = section.row(place.row) if place.row else Row(RowKind.FILE)
        gutter = 6 if columns >= _ROOM_FOR_NUMBERS else 0
        if row.kind in _SIGNS:
            return self._code(row, place, gutter)
        if row.kind is RowKind.HUNK:
            return [tuple(_other(section, row, gutter))]
        said = tuple(_file_line(view, section) if row.kind is RowKind.FILE else _other(section, row, gutter))
        if self._most > 1:
            return wrap(_mark_matches(view, said), columns - 1)
        return [_fit(_mark_matches(view, said), view.left, columns - 1)]

    def _code(self, row: Row, place: RowPlace, gutter: int) -> list[Pieces]:
        style, tint = _STYLES[row.kind], _TINTS.get(row.kind, "")
        sign = StyledText(_SIGNS[row.kind], f"bold {style} {tint}".strip())
        room = max(1, self._columns - 2 - gutter)
        parts = break_rows(_code(self._view, place, room * self._most, self._highlights), room)
        goes_on = (StyledText(" " * gutter), StyledText("…", tint))
        return [
            (*(goes_on if number else (*_beside(row, gutter), sign)), *pad(part, room if tint else 0))
            for number, part in enumerate(parts)
        ]


def _beside(row: Row, gutter: int) -> Iterator[StyledText]:
    """The line's number, and a mark if the person wrote the line meanwhile."""
    number = row.old if row.kind is RowKind.REMOVED else row.new
    if gutter:
        yield StyledText(f"{'' if row.kind in CONFLICTING else number:>{gutter - 1}}", "dim")
    if row.yours:
        yield StyledText("!", "bold yellow")
    elif gutter:
        yield StyledText(" ")


def _mark_matches(view: Viewport, line: Pieces) -> Pieces:
    """What the person searches for stands out."""
    if view.matches is None:
        return line
    return restyle(line, view.matches("".join(piece.text for piece in line)), "reverse")


def _file_line(view: Viewport, section: DiffSection) -> Iterator[StyledText]:
    yield StyledText("▸ " if section.key in view.folded else "▾ ")
    yield StyledText(one_line(words_of(section.title)), f"bold {section.style}".strip())
    if section.loaded and (section.content.added or section.content.removed):
        yield StyledText(f"  +{section.content.added} -{section.content.removed}")
    if section.loaded and not section.content.fits:
        yield StyledText("  " + translate(Text("changed since the proposer saw it")), "yellow")


def _other(section: DiffSection, row: Row, gutter: int) -> Iterator[StyledText]:
    indent = " " * gutter
    if row.kind is RowKind.HUNK and (conflict := conflict_at(section, row.hunk)) is not None:
        yield from _conflict(conflict)
    elif row.kind is RowKind.HUNK:
        hunk = section.content.hunks[row.hunk - 1]
        if isinstance(hunk, ConflictHunk):
            return
        if deletes_yours(section, row.hunk):
            yield StyledText("! ", "bold yellow")
        place = Text("hunk {number} of {count}", number=row.hunk, count=section.hunks)
        numbers = f"@@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@"
        yield StyledText(f"{numbers}  {translate(place)}", "cyan")
        yield StyledText(one_line(row.data.decode("utf-8", "backslashreplace")[:_LONG]), "dim")
    elif row.kind is RowKind.MARK:
        yield StyledText(indent + translate(Text("(no newline at the end)")), "dim")
    elif row.kind is RowKind.COMMENT:
        yield StyledText(indent + " » " + one_line(words_of(row.note.text)), row.note.style)
    elif row.kind is RowKind.LABEL:
        yield StyledText(indent + one_line(words_of(row.note.text)), row.note.style)
    else:
        yield StyledText("  " + one_line(words_of(row.note.text)), row.note.style)


def _conflict(found: ConflictHunk) -> Iterator[StyledText]:
    place = Text("conflict")
    if found.total > 1:
        place = Text("conflict {number} of {count}", number=found.conflict.number + 1, count=found.total)
    yield StyledText(f"=== {translate(place)}  ", "bold yellow")
    yield StyledText(
        translate(words.format_decision(found.decision, found.who)), "bold" if found.decision else "yellow"
    )


def _code(view: Viewport, place: RowPlace, room: int, highlights: Highlights) -> Pieces:
    """The line from the first visible column on, and how much is cut off."""
    section, left = view.shown[place.section], view.left
    row = section.row(place.row)
    style, tint = _STYLES[row.kind], _TINTS.get(row.kind, "")
    if len(row.data) > _LONG:
        return _long(row.data, left, room, f"{style} {tint}".strip())
    coloured = highlights.line(section, row)
    if coloured is None:
        coloured = tuple(
            StyledText(piece.text, style) for piece in plain(row.data.decode("utf-8", "backslashreplace"))
        )
    line = tuple(StyledText(piece.text, f"{piece.style} {tint}".strip()) for piece in coloured)
    if row.kind in _WORD_TINTS:
        line = restyle(line, _char_ranges(row.data, section.find_changed(place.row)), _WORD_TINTS[row.kind])
    return _fit(_mark_matches(view, line), left, room)


def _char_ranges(data: bytes, ranges: Ranges) -> list[tuple[int, int]]:
    """From bytes of a line to characters of what is shown of it."""

    def place(at: int) -> int:
        return len(plain(data[:at].decode("utf-8", "backslashreplace"))[0].text)

    return [(place(begin), place(end)) for begin, end in ranges]


def _fit(line: Pieces, left: int, room: int) -> Pieces:
    """From column `left` on, with a mark that says how much is cut off."""
    size = sum(width(piece.text) for piece in line) - left
    if size <= room:
        return clip(line, room, start=left)
    more = f"…+{size - room + 6}"
    return (*clip(line, max(0, room - width(more)), start=left), StyledText(more, "reverse"))


def _long(data: bytes, left: int, room: int, style: str) -> Pieces:
    """Counts characters: counting columns would mean reading all of it."""
    # A character has four bytes at most.
    text = data[: 4 * (left + room)].decode("utf-8", "backslashreplace")[left : left + room]
    rest = len(data) - left - room
    if rest <= 0:
        return clip((StyledText(one_line(text), style),), room)
    more = f"…+{rest + len(str(rest)) + 2}"
    return (
        *clip((StyledText(one_line(text), style),), max(0, room - width(more))),
        StyledText(more, "reverse"),
    )


def _below(view: Viewport, columns: int, rows: int) -> tuple[list[Pieces], Cursor]:
    """A failed check's output, the message, and the keys or the line being typed."""
    if view.question is not None:
        return _question_lines(view, view.question, columns, rows)
    room = max(0, min(_MOST_OUTPUT, (rows - _ROOM_FOR_SUMMARY) // 2))
    lines = [_one(Text("{line}", line=line), "red", columns) for line in list(view.output)[-room:] if room]
    fitting = (keys for keys in map(translate, _keys(view)) if width(keys) <= columns)
    keys = next(fitting, translate(_FEW_KEYS))
    return [*lines, *_status(view, columns, rows), clip((StyledText(keys, "dim"),), columns)], None


def _question_lines(
    view: Viewport, question: ScreenQuestion, columns: int, rows: int
) -> tuple[list[Pieces], Cursor]:
    asked = wrap((StyledText(one_line(translate(question.words)), "bold"),), columns)
    room = max(0, rows - len(asked) - 3)
    above = [
        line for one in question.above for line in wrap((StyledText(one_line(translate(one))),), columns)
    ]
    if question.editor is None:
        return [*above[:room], *_status(view, columns, rows), *asked], None
    typed, at = question.editor.line(max(1, columns - 3))
    lines = [*above[:room], *asked, clip((StyledText("> ", "bold"), *typed), columns)]
    return lines, (len(lines) - 1, at + 2)


def _keys(view: Viewport) -> tuple[Text, ...]:
    """The first that fits is shown."""
    if view.document.state.status is PlanStatus.COMPLETED:
        return (_UNDONE_KEYS if view.heading.ref.undone else _DONE_KEYS,)
    if view.undecided:
        return (_CONFLICT_KEYS,)
    return (_STALE_KEYS,) if view.stale and not view.document.change else (_ALL_KEYS, KEYS)


def _status(view: Viewport, columns: int, rows: int) -> list[Pieces]:
    """The message and the state of the checks: in one line if there is room, else in two."""
    found = [_piece(one) for one in (view.message, view.checks) if one]
    together = _join(found)
    fits = sum(width(piece.text) for piece in together) <= columns
    lines = [together] if fits else [_join([one]) for one in found]
    most = _MOST_STATUS if rows >= _ROOM_FOR_WARNINGS else 1
    return [row for line in lines for row in wrap(line, columns)][:most]


def _join(pieces: Sequence[StyledText]) -> Pieces:
    line: list[StyledText] = []
    for piece in pieces:
        line += [StyledText(" · ")] if line else []
        line.append(StyledText(one_line(piece.text), piece.style))
    return tuple(line)


def _files(view: Viewport, files: FileList, columns: int, rows: int) -> list[Pieces]:
    count, height = len(view.shown), max(1, rows - 2)
    found = []
    for number in files.visible(height, count):
        mark = StyledText("▌" if number == files.cursor else " ", "bold cyan")
        found.append(
            clip((mark, *_fit(tuple(_file_line(view, view.shown[number])), 0, columns - 1)), columns)
        )
    title = StyledText(translate(Text("Files")), "bold")
    where = f"{translate(_FILE_KEYS)}   {files.cursor + 1}/{count}"
    empty = [()] * (height - len(found))
    return [clip((title,), columns), *found, *empty, clip((StyledText(where, "dim"),), columns)][-rows:]


def _page(view: Viewport, page: TextPage, columns: int, rows: int) -> list[Pieces]:
    height = max(1, rows - 2)
    lines = _wrap_page(page, columns)
    view.page_top = max(0, min(view.page_top, len(lines) - height))
    found = lines[view.page_top : view.page_top + height]
    last = min(len(lines), view.page_top + height)
    where = f"{translate(_MORE_KEYS if last < len(lines) else _PAGE_KEYS)}   {last}/{len(lines)}"
    empty = [()] * (height - len(found))
    return [clip(page.title, columns), *found, *empty, clip((StyledText(where, "dim"),), columns)]


@lru_cache(maxsize=1)
def _wrap_page(page: TextPage, columns: int) -> list[Pieces]:
    return [row for line in page.lines for row in wrap(line, columns)]


def wrap(line: Pieces, columns: int) -> list[Pieces]:
    """Wrapped between words if possible; later lines are indented."""
    text = "".join(piece.text for piece in line)
    if width(text) <= columns:
        return [line]
    first = line[0].text
    hang = width(first) if len(line) > 1 and first.endswith(" ") else len(text) - len(text.lstrip()) + _HANG
    indent = hang if hang < columns // 2 else 0
    found, start, room = [], 0, columns
    while start < len(text):
        end = _fitting(text, start, room)
        row = (*((StyledText(" " * indent),) if start else ()), *_between(line, start, end))
        found.append(clip(row, columns))  # a double-width character does not fit into one column
        start, room = end, columns - indent
    return found


def _fitting(text: str, start: int, room: int) -> int:
    """Where a line that starts here ends: after a blank, or when nothing more fits."""
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


def _between(line: Pieces, start: int, end: int) -> Pieces:
    found, at = [], 0
    for text, style in line:
        part = text[max(0, start - at) : max(0, end - at)]
        at += len(text)
        if part:
            found.append(StyledText(part, style))
    return tuple(found)


def _piece(span: TextSpan) -> StyledText:
    return StyledText(words_of(span.text), span.style)


def _one(text: Text, style: str, columns: int) -> Pieces:
    return clip((StyledText(one_line(translate(text)), style),), columns)


def one_line(text: str) -> str:
    """One line, safe to print and as wide as it looks."""
    return visible(text.expandtabs(_TAB), keep="")


def info_page(app: App, ref: PlanRef, document: PlanDocument, preview: PlanPreview) -> TextPage:
    """The same as `ringi show`."""
    lines = [
        *plan_lines(facts_of(app.workspace, ref, document, preview)),
        *filter(None, [total_line(document)]),
    ]
    title, *rest = (_pieces(line) for line in lines)
    return TextPage(title, tuple(rest))


def _pieces(line: Line) -> Pieces:
    pieces = (StyledText(one_line(words_of(span.text)), span.style) for span in line.spans)
    return (StyledText(" " * line.indent), *pieces)
