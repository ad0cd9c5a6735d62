"""A plan's diff as rows: what each spec does, why that is risky, its hunks line by line, comments on them.

Content is loaded when first shown, and any row takes the same time to produce.
"""

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum, auto
from itertools import accumulate
from typing import Final, NamedTuple

from ringi.approvals.feedback import LineComment, Side
from ringi.errors import BadPatch
from ringi.kernel.lines import Style, TextSpan
from ringi.kernel.text import Text
from ringi.patch.changed_words import ChangedWords, Ranges
from ringi.patch.conflict import Clash, Decision
from ringi.patch.parse import parse_patch
from ringi.patch.patch import Hunk
from ringi.patch.rework import with_context
from ringi.plans import words
from ringi.plans.document import PlanComparison
from ringi.plans.merge import OpenConflict
from ringi.plans.view import difference_span

MOST_NOTES: Final = 500
_MORE_LINES: Final = (0, 10, 50, sys.maxsize)
"""Around a hunk, besides its usual context; each time the person asks for more."""
_NAMED: Final = b"--- a/x\n+++ b/x\n"


class RowKind(Enum):
    FILE = auto()
    NOTE = auto()
    HUNK = auto()
    KEPT = auto()
    ADDED = auto()
    REMOVED = auto()
    MARK = auto()
    """Says that the line before has no newline."""
    COMMENT = auto()
    LABEL = auto()
    """In a conflict: whose lines follow."""
    BEFORE = auto()
    """In a conflict: a line that both changed."""
    MINE = auto()
    THEIRS = auto()


_KINDS = {b" ": RowKind.KEPT, b"+": RowKind.ADDED, b"-": RowKind.REMOVED}
LINES = frozenset(_KINDS.values())
CONFLICTING = frozenset([RowKind.BEFORE, RowKind.MINE, RowKind.THEIRS])
_CHANGES = LINES - {RowKind.KEPT}


class Row(NamedTuple):
    kind: RowKind
    hunk: int = 0
    """From 1; 0 before the first one."""
    old: int = 0
    """Lines of the old file up to and including this row."""
    new: int = 0
    data: bytes = b""
    """The line itself, without sign and newline."""
    note: TextSpan = TextSpan("")
    """Shown in place of a line."""
    yours: bool = False
    """A removed line that the person wrote since the proposer saw the file."""


class ConflictHunk(NamedTuple):
    """A place where the person and the proposer changed the same; one of them has to be chosen."""

    conflict: OpenConflict
    total: int
    """How many conflicts the file has."""
    decision: Decision | None
    who: str
    """The proposer."""

    @property
    def old_at(self) -> int:
        return max(0, self.conflict.about.line - 1)

    @property
    def new_at(self) -> int:
        return self.old_at

    @property
    def heading(self) -> bytes:
        return b""

    @property
    def body(self) -> bytes:
        """What a search looks at."""
        rows = [row.data or str(row.note.text).encode() for row in self.rows]
        return b"".join(row + b"\n" for row in rows)

    @property
    def rows(self) -> list[Row]:
        one = self.conflict
        if not one.in_lines or one.about.kind is Clash.LINE_ENDS:
            return [Row(RowKind.LABEL, note=TextSpan(words.clash(one.about.kind, self.who)))]
        parts = (
            (RowKind.BEFORE, Text("before:"), Text("before: nothing"), one.base),
            (RowKind.MINE, Text("yours:"), Text("yours: nothing, you deleted them"), one.mine),
            (
                RowKind.THEIRS,
                Text("{who}:", who=self.who),
                Text("{who}: nothing, deleted there", who=self.who),
                one.theirs,
            ),
        )
        found = []
        for kind, label, nothing, lines in parts:
            found.append(Row(RowKind.LABEL, note=TextSpan(label if lines else nothing, Style.FAINT)))
            found += [Row(kind, data=line.rstrip(b"\n")) for line in lines]
        return found


class _ConflictLines:
    """The rows of a conflict."""

    words: ChangedWords | None = None

    def __init__(self, hunk: ConflictHunk) -> None:
        self._rows = hunk.rows
        self._at = hunk.old_at

    def at(self, index: int, hunk: int) -> Row:
        return self._rows[index]._replace(hunk=hunk, old=self._at, new=self._at)

    def find(self, side: Side, line: int) -> int | None:
        """No comment is about these lines: they are in neither file."""
        del side, line
        return None


class SectionContent(NamedTuple):
    """The loaded content of a section."""

    hunks: Sequence[Hunk | ConflictHunk] = ()
    notes: Sequence[TextSpan] = ()
    added: int = 0
    removed: int = 0
    old: bytes | None = None
    new: bytes | None = None
    """The whole file, if its lines can be edited."""
    after: bytes | None = None
    """The whole file as it will be, also if it can only be dropped whole; None if it will be gone."""
    fits: bool = True
    """The file is unchanged since its proposer saw it."""
    binary: bool = False
    yours: Collection[int] = ()
    """Removed lines, by number, that the person wrote since the proposer saw the file."""

    @property
    def conflicts(self) -> list[ConflictHunk]:
        return [hunk for hunk in self.hunks if isinstance(hunk, ConflictHunk)]


class _HunkLines:
    """The lines of one hunk, numbered on both sides."""

    def __init__(self, hunk: Hunk, yours: Collection[int] = ()) -> None:
        self._yours = frozenset(yours)
        self.lines = hunk.body.split(b"\n")[:-1]
        signs = [line[:1] for line in self.lines]
        self.old = list(accumulate((sign in b" -" for sign in signs), initial=hunk.old_at))[1:]
        self.new = list(accumulate((sign in b" +" for sign in signs), initial=hunk.new_at))[1:]
        self.words = ChangedWords(self.lines)

    def at(self, index: int, hunk: int) -> Row:
        line = self.lines[index]
        kind = _KINDS.get(line[:1] or b" ", RowKind.MARK)
        old = self.old[index]
        yours = kind is RowKind.REMOVED and old in self._yours
        return Row(kind, hunk, old, self.new[index], line[1:], yours=yours)

    def find(self, side: Side, line: int) -> int | None:
        """The index of a line of one side."""
        numbers = self.old if side is Side.OLD else self.new
        index = bisect_left(numbers, line)
        return index if index < len(numbers) and numbers[index] == line else None


class DiffSection:
    """One spec of a plan, or one difference between two versions."""

    def __init__(
        self,
        key: str,
        path: str,
        title: Text | str,
        load: Callable[[], SectionContent],
        *,
        style: Style = Style.PLAIN,
        comments: Sequence[LineComment] = (),
    ) -> None:
        self.key = key
        self.path = path
        self.title = title
        self.style = style
        """The title's style, by risk."""
        self._load = load
        self._content: SectionContent | None = None
        self._lines: dict[int, _HunkLines | _ConflictLines] = {}
        self._comments: Sequence[LineComment] = comments
        self._said: Mapping[int, Sequence[tuple[int, LineComment]]] = {}
        self._notes: Sequence[TextSpan] = ()
        self._starts: list[int] = []
        self._count = 1
        self._narrow: Sequence[Hunk] = ()
        """The hunks as loaded, before the person asked for more lines around them."""
        self._around: dict[int, int] = {}
        """For each such hunk the step of `_MORE_LINES`."""

    @property
    def loaded(self) -> bool:
        return self._content is not None

    @property
    def content(self) -> SectionContent:
        return self.load()

    def load(self) -> SectionContent:
        if self._content is None:
            self._content = self._load()
            self._index(self._content)
        return self._content

    def say(self, comments: Sequence[LineComment]) -> None:
        """Replaces the comments."""
        if comments != self._comments:
            self._comments = comments
            if self._content is not None:
                self._index(self._content)

    @property
    def count(self) -> int:
        self.load()
        return self._count

    @property
    def hunks(self) -> int:
        return len(self.content.hunks)

    def start(self, hunk: int) -> int:
        """The row of a hunk's header; hunks count from 1."""
        self.load()
        return self._starts[hunk - 1]

    def first_change(self, hunk: int) -> int:
        """The row of the hunk's first added or removed line, where drop, edit and comment apply.

        Of a conflict, its header.
        """
        start = self.start(hunk)
        rows = range(start + 1, start + 1 + self.length(hunk))
        return next((row for row in rows if self.row(row).kind in _CHANGES), start)

    def length(self, hunk: int) -> int:
        """Rows after the header."""
        end = self._starts[hunk] if hunk < len(self._starts) else self._count
        return end - self._starts[hunk - 1] - 1

    def hunk_at(self, row: int) -> int:
        """The hunk that a row belongs to; 0 before the first one."""
        self.load()
        return bisect_right(self._starts, row)

    def row(self, index: int) -> Row:
        content = self.content
        if index == 0:
            return Row(RowKind.FILE)
        hunk = bisect_right(self._starts, index)
        if not hunk:
            return Row(RowKind.NOTE, note=self._notes[index - 1])
        within = index - self._starts[hunk - 1] - 1
        if within < 0:
            one = content.hunks[hunk - 1]
            return Row(RowKind.HUNK, hunk, one.old_at, one.new_at, one.heading)
        lines = self._of(hunk)
        line, comment = _line_at(self._said.get(hunk, ()), within)
        if comment is not None:
            found = lines.at(line, hunk)
            said = TextSpan(Text("{text}", text=comment.text), Style.REMARK)
            return Row(RowKind.COMMENT, hunk, found.old, found.new, note=said)
        return lines.at(line, hunk)

    def widen(self, hunk: int, direction: int) -> bool:
        """More lines around the hunk, or fewer, or around all of them (0); False if there are no others."""
        content = self.content
        hunks = [one for one in content.hunks if isinstance(one, Hunk)]
        if content.old is None or len(hunks) < len(content.hunks):
            return False
        self._narrow = self._narrow or hunks
        chosen = [hunk] if hunk else range(1, self.hunks + 1)
        around = dict(self._around)
        for _ in _MORE_LINES:  # a step may show nothing that another hunk does not show
            for number in chosen:
                around[number] = min(max(around.get(number, 0) + direction, 0), len(_MORE_LINES) - 1)
            more = {number: _MORE_LINES[step] for number, step in around.items()}
            wider = with_context(self._narrow, content.old, more)
            if wider != tuple(content.hunks):
                self._around = around
                self._content = content._replace(hunks=wider)
                self._lines.clear()
                self._index(self._content)
                return True
        return False

    def find_changed(self, index: int) -> Ranges:
        """The bytes of a line that differ from the line it replaces or is replaced by."""
        hunk = self.hunk_at(index)
        within = index - self._starts[hunk - 1] - 1 if hunk else -1
        line, comment = _line_at(self._said.get(hunk, ()), within)
        changed = self._of(hunk).words if hunk else None
        return () if comment or within < 0 or changed is None else changed.at(line)

    def _of(self, hunk: int) -> _HunkLines | _ConflictLines:
        if hunk not in self._lines:
            found = self.content.hunks[hunk - 1]
            self._lines[hunk] = (
                _ConflictLines(found)
                if isinstance(found, ConflictHunk)
                else _HunkLines(found, self.content.yours)
            )
        return self._lines[hunk]

    def _index(self, content: SectionContent) -> None:
        self._said, beside = _place_comments(self._comments, content.hunks, self._of)
        self._notes = (*content.notes, *beside)
        sizes = (1 + _length(hunk) + len(self._said.get(n, ())) for n, hunk in enumerate(content.hunks, 1))
        *self._starts, self._count = accumulate(sizes, initial=1 + len(self._notes))


def _place_comments(
    comments: Sequence[LineComment],
    hunks: Sequence[Hunk | ConflictHunk],
    lines_of: Callable[[int], _HunkLines | _ConflictLines],
) -> tuple[dict[int, list[tuple[int, LineComment]]], list[TextSpan]]:
    """Each comment below its line, or below the file's title if its line is not shown."""
    said: dict[int, list[tuple[int, LineComment]]] = {}
    beside = []
    for comment in comments:
        place = _place(hunks, lines_of, comment)
        if place is None:
            where = Text("line {line}: {text}", line=comment.line, text=comment.text)
            beside.append(TextSpan(where, Style.REMARK))
        else:
            said.setdefault(place[0], []).append((place[1], comment))
    for found in said.values():
        found.sort(key=lambda one: one[0])
    return said, beside


def conflict_at(section: DiffSection, hunk: int) -> ConflictHunk | None:
    """The conflict that a hunk is, if it is one."""
    found = section.content.hunks[hunk - 1] if hunk else None
    return found if isinstance(found, ConflictHunk) else None


def deletes_yours(section: DiffSection, hunk: int) -> bool:
    """Whether the hunk removes a line that the person wrote meanwhile."""
    found = section.content.hunks[hunk - 1]
    if isinstance(found, ConflictHunk):
        return False
    return any(found.old_at < line <= found.old_at + found.old_count for line in section.content.yours)


def _line_at(said: Sequence[tuple[int, LineComment]], within: int) -> tuple[int, LineComment | None]:
    """The line of a hunk that a row shows; for a comment the line above it."""
    for before, (at, comment) in enumerate(said):
        if within - before == at + 1:
            return at, comment
        if within - before <= at:
            return within - before, None
    return within - len(said), None


def _place(
    hunks: Sequence[Hunk | ConflictHunk],
    lines_of: Callable[[int], _HunkLines | _ConflictLines],
    comment: LineComment,
) -> tuple[int, int] | None:
    """The hunk and the line in it that a comment is about."""
    old = comment.side is Side.OLD
    before = [hunk.old_at if old else hunk.new_at for hunk in hunks]
    hunk = bisect_left(before, comment.line)
    index = lines_of(hunk).find(comment.side, comment.line) if hunk else None
    if index is None:
        return None
    # Lines move between versions; the quoted text must still be there.
    said = lines_of(hunk).at(index, hunk).data.decode("utf-8", "backslashreplace")
    return (hunk, index) if said.startswith(comment.quote) else None


def _length(hunk: Hunk | ConflictHunk) -> int:
    return len(hunk.rows) if isinstance(hunk, ConflictHunk) else hunk.body.count(b"\n")


def hunks_of(diff: bytes) -> tuple[Sequence[Hunk], Sequence[TextSpan]]:
    """The hunks of one file's diff; shows the text as it is if it cannot be parsed."""
    if not diff:
        return (), ()
    try:
        files = parse_patch(_NAMED + diff if diff.startswith(b"@@ ") else diff).files
    except BadPatch:
        lines = diff.decode("utf-8", "backslashreplace").split("\n")
        return (), [TextSpan(Text("{line}", line=line)) for line in lines[:MOST_NOTES] if line]
    return tuple(hunk for file in files for hunk in file.hunks), ()


def delta_sections(found: PlanComparison) -> list[DiffSection]:
    """Only what changed from one version to another."""
    sections = []
    for number, one in enumerate(found.differences):
        title = difference_span(one)
        key = f"{number} {one.path}"
        sections.append(DiffSection(key, one.path, title.text, _loading(one.diff), style=title.style))
    return sections


def _loading(diff: str) -> Callable[[], SectionContent]:
    def load() -> SectionContent:
        hunks, notes = hunks_of(diff.encode("utf-8", "surrogatepass"))
        return SectionContent(hunks, notes)

    return load
