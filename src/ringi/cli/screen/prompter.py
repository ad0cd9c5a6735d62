"""A review on a full screen: drawing, the keys, and work done between keys."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Final

from ringi.cli import editor
from ringi.cli.app import App
from ringi.cli.screen.cells import Pieces, StyledText
from ringi.cli.screen.draw import Highlights, info_page, screen
from ringi.cli.screen.highlight import highlighting
from ringi.cli.screen.line_editor import LineEditor
from ringi.cli.screen.search import Finder
from ringi.cli.screen.terminal import Terminal
from ringi.cli.screen.viewport import (
    FIRST,
    FileList,
    RowPlace,
    ScreenQuestion,
    TextPage,
    Viewport,
    beginning,
    fold,
    jump,
    step,
    to_conflict,
    to_hunk,
    to_section,
    widen,
)
from ringi.errors import RingiError
from ringi.kernel.lines import Style, TextSpan
from ringi.kernel.text import Text, translate
from ringi.plans.diff_view import LINES, DiffSection, Row, RowKind, conflict_at, delta_sections
from ringi.plans.document import Overlap, PlanComparison, PlanDocument, PlanStatus
from ringi.plans.review_loop import ReviewAct, ReviewChoice, RunningChecks
from ringi.plans.review_plan import KEYS
from ringi.plans.review_view import heading_of, preview_of, stale_paths
from ringi.plans.reviewed_plan import News, ReviewedPlan, find_undecided, overlaps_of, warnings_of

_HELP: Final = (
    ("j k ↓ ↑", Text("a line down, up; PgDn PgUp Home End further; ← → sideways")),
    ("n p", Text("the next hunk, the one before; N P or Tab: the next file, the one before")),
    ("Enter", Text("fold or unfold the file")),
    ("+ -", Text("more or fewer lines around the hunk, up to the whole file; on a file's title: all hunks")),
    ("w", Text("wrap long lines, or cut them at the edge again")),
    ("f", Text("the list of files: Enter goes to the one under the cursor")),
    ("/", Text("search; then n is the next match, N the one before, Esc ends the search")),
    ("a", Text("apply: approve what you see and carry it out; one that was undone is opened again")),
    ("m", Text("approve with a note, and carry it out later")),
    ("d", Text("drop the hunk under the cursor; D drops the whole file or command")),
    ("e", Text("edit the line under the cursor; o adds a line below it")),
    ("x", Text("delete the line under the cursor; one that the plan removes is kept")),
    ("E", Text("edit the file at this line, as the plan would leave it, in $VISUAL or $EDITOR")),
    ("< > =", Text("in a conflict: take yours, theirs, or yours and then theirs; e edits it")),
    ("c", Text("comment on the line, for whoever proposed it; again: change or remove the comment")),
    ("r", Text("reject, with words for whoever proposed it, or only with your comments")),
    ("X", Text("throw the plan away: no list shows it any more")),
    ("u", Text("take back your last change; if files changed: update to them as they are now")),
    ("t", Text("only what changed since you last looked")),
    ("T", Text("only what changed since the version that was approved last")),
    ("i", Text("everything known about the plan: risk, checks, other plans, comments")),
    ("s", Text("show the plan as it is now")),
    ("U", Text("undo a plan that was carried out")),
    ("q", Text("quit; nothing is decided")),
)
_WIDEST_KEY: Final = 9


def help_page() -> TextPage:
    lines = (
        (StyledText(f"  {key:<{_WIDEST_KEY}}", "bold"), StyledText(translate(words))) for key, words in _HELP
    )
    return TextPage((StyledText(translate(Text("Keys")), "bold"),), tuple(lines))


_LOOK_SEC: Final = 1.0
_IGNORE_SEC: Final = 1.5
_PAGE: Final = 10
_SIDEWAYS: Final = 16
_LONGEST_LINE: Final = 2000
"""Longest line, in bytes, that can be edited in place."""
_ACTS: Final[Mapping[str, ReviewAct]] = {
    **KEYS,
    "d": ReviewAct.DROP_HUNK,
    "D": ReviewAct.DROP,
    "e": ReviewAct.EDIT_LINE,
    "o": ReviewAct.ADD_LINE,
    "x": ReviewAct.DELETE_LINE,
    "E": ReviewAct.EDIT_FILE,
    "U": ReviewAct.UNDO,
    "esc": ReviewAct.STOP_CHECKS,
    "eof": ReviewAct.QUIT,
    "stop": ReviewAct.INTERRUPT,
    "ctrl-c": ReviewAct.INTERRUPT,
}
_GONE: Final = frozenset(["eof", "stop", "ctrl-c"])
"""The person has gone, or wants to leave."""
_DECIDING: Final = frozenset([ReviewAct.APPLY, ReviewAct.APPROVE])
_ON_LINES: Final = frozenset([ReviewAct.EDIT_LINE, ReviewAct.ADD_LINE, ReviewAct.DELETE_LINE])
_TAKING: Final = frozenset([ReviewAct.TAKE_MINE, ReviewAct.TAKE_THEIRS, ReviewAct.TAKE_BOTH])
_OF_CONFLICTS: Final = {
    **{act: act for act in _TAKING},
    ReviewAct.DROP_HUNK: ReviewAct.TAKE_MINE,
    ReviewAct.EDIT_LINE: ReviewAct.EDIT_CONFLICT,
    ReviewAct.EDIT_FILE: ReviewAct.EDIT_CONFLICT,
}
"""What a key does on a conflict."""
_ON_SPECS: Final = frozenset(
    [*_ON_LINES, *_TAKING, ReviewAct.DROP, ReviewAct.DROP_HUNK, ReviewAct.EDIT_FILE, ReviewAct.COMMENT]
)


class IgnoredTyping:
    """Ignores letters while the person keeps typing; a key that is not a letter ends it."""

    def __init__(self) -> None:
        self._until = 0.0

    def begin(self) -> None:
        self._until = time.monotonic() + _IGNORE_SEC

    def swallows(self, key: str) -> bool:
        if len(key) > 1 or time.monotonic() >= self._until:
            self._until = 0.0
            return False
        self.begin()
        return True


class ScreenPrompter:
    def __init__(self, app: App, plan: ReviewedPlan, terminal: Terminal, *, colour: bool) -> None:
        self._app = app
        self._plan = plan
        self._terminal = terminal
        self.view = Viewport(heading_of(plan.ref, plan.document), plan.sections())
        self.view.cursor = beginning(self.view, 0)
        self._ignored = IgnoredTyping()
        self._finder = Finder(self.view, lambda: terminal.size.columns)
        self._checks: RunningChecks | None = None
        self._checks_done: Callable[[], None] = lambda: None
        self._idle = Idle(plan, self.view, colour=colour)

    def choose(self) -> ReviewChoice:
        while True:
            key = self._next_key()
            if key not in _GONE and self._ignored.swallows(key):
                continue
            if key == "ctrl-z":
                self._terminal.suspend_self()
            elif self.view.page is not None and key not in _GONE:
                _turn(self.view, self.view.page, key)
            elif self.view.files is not None and key not in _GONE:
                _list_key(self.view, self.view.files, key)
            elif key == "/":
                self._finder.search(self.ask(Text("Search for:"), start=self._finder.words))
            elif (
                not self._finder.took(key)
                and not _move(self.view, key, self._terminal.size.rows)
                and key in _ACTS
            ):
                self.view.message = None
                choice = self._choice(_ACTS[key])
                if choice is not None:
                    return choice

    def _choice(self, act: ReviewAct) -> ReviewChoice | None:
        """Adds what is under the cursor; None, and a message, if the act does not apply to it."""
        view = self.view
        if act is ReviewAct.STOP_CHECKS:
            view.output = ()
        if view.delta is not None and act in {ReviewAct.SHOW_DELTA, ReviewAct.SHOW_SEEN}:
            view.show_delta(None)
            return None
        if act not in _ON_SPECS or not self._plan.specs or self._plan.status is PlanStatus.COMPLETED:
            return ReviewChoice(act)
        if view.delta is not None:
            self.say(Text("This is only what changed; [t] shows all of it again."))
            return None
        choice = _choice_on(view, self._plan, act)
        if isinstance(choice, ReviewChoice):
            return choice
        (self.say if act is ReviewAct.DROP_HUNK else self.refuse)(choice)
        return None

    def _next_key(self, goes_on: Callable[[], bool] = lambda: True) -> str:
        """Draws, and does idle work, until a key is typed; "" if the wait is over before that."""
        while goes_on():
            self._draw()
            key = self._terminal.key(_LOOK_SEC if self._idle.waits else 0)
            if self._checks is not None and self._checks.ended:
                self._checks = None
                self._checks_done()
            if key and key not in {"wake", "resize"}:
                return key
            if not key:
                self._idle.do_something()
        return ""

    def _draw(self, *, asks: bool = False) -> None:
        """With `asks`, discards what was typed before the question is on the screen."""
        view = self.view
        if self._plan.document is not view.document:
            view.heading = heading_of(self._plan.ref, self._plan.document)
            view.show(self._plan.sections())
        view.stale, view.undecided = self._plan.stale, len(find_undecided(self._plan))
        if self._checks is not None:
            seconds = self._checks.seconds
            view.checks = TextSpan(Text("the tests run … {seconds} s (esc stops them)", seconds=seconds))
        drawn = screen(view, self._terminal.size, self._idle.highlights)
        self._idle.see([view.shown[number] for number in sorted({place.section for place in drawn.places})])
        if asks:
            self._terminal.discard_pending()
        self._terminal.draw(drawn.lines, drawn.cursor)

    def say(self, text: Text, style: Style = Style.PLAIN) -> None:
        self.view.message = TextSpan(text, style)

    def refuse(self, text: Text) -> None:
        self.say(text)
        self._ignored.begin()

    def fail(self, error: RingiError) -> None:
        self.say(Text(error.message, **error.details), Style.WARNING)

    def ask(self, question: Text, *, start: str = "", above: Sequence[Text] = ()) -> str | None:
        typed = LineEditor(start)
        self.view.question = ScreenQuestion(question, typed, above)
        try:
            self._draw(asks=True)
            while True:
                ended = typed.feed(self._next_key())
                if ended is not None:
                    return typed.text if ended == "done" else None
        finally:
            self.view.question = None

    def answer(self, question: Text) -> str:
        self.view.question = ScreenQuestion(question, None)
        try:
            self._draw(asks=True)
            return self._next_key()
        finally:
            self.view.question = None

    def show(
        self, said: TextSpan | None = None, *, error: RingiError | None = None, anew: bool = False
    ) -> None:
        view, plan = self.view, self._plan
        view.heading = heading_of(plan.ref, plan.document)
        view.delta, view.output = None, ()
        view.show(plan.sections(anew=anew))
        if said is not None:
            view.message = said
        if error is not None:
            self.fail(error)
        self._idle.begin_again()
        if find_undecided(plan):  # looking for one reads every file
            to_conflict(view)
        elif view.undecided:
            view.cursor, view.top = beginning(view, 0), FIRST
        self._draw(asks=True)

    def show_delta(self, found: PlanComparison) -> None:
        self.view.show_delta(delta_sections(found), since=found.version)

    def show_info(self) -> None:
        plan, overlaps = self._plan, self._idle.overlaps
        preview = preview_of(plan.document, self.view.sections, overlaps)
        self.view.page = info_page(self._app, plan.ref, plan.document, preview)

    def edit(self, path: str, data: bytes, line: int) -> tuple[bytes, int]:
        with self._terminal.suspend():
            return editor.edit(path, data, self._app.environment, line)

    def watch(self, checks: RunningChecks, done: Callable[[], None], *, until_end: bool = False) -> bool:
        self._checks, self._checks_done = checks, done
        if not until_end:
            return False
        self.say(Text("Waiting for the tests; any other key cancels."))
        key = self._next_key(lambda: self._checks is not None)
        while _ACTS.get(key) in _DECIDING:  # an impatient person
            key = self._next_key(lambda: self._checks is not None)
        self.view.message = None
        return not key

    def tell_checks(self, said: TextSpan | None, output: Sequence[str] = ()) -> None:
        self._checks = None
        self.view.checks, self.view.output = said, output


class Idle:
    """Work done while nobody types; the first screen does not wait for it."""

    def __init__(self, plan: ReviewedPlan, view: Viewport, *, colour: bool) -> None:
        self._plan = plan
        self._view = view
        self._colour = colour
        self._news = News(plan)
        self._seen: Sequence[DiffSection] = ()
        self.highlights = Highlights()
        self.begin_again()

    def begin_again(self) -> None:
        """The plan has changed."""
        self._overlaps: tuple[Overlap, ...] | None = None
        self._warned = False
        self._begin()

    def _begin(self) -> None:
        self.waits = False
        """Nothing is left to do."""
        self._work: Iterator[None] = self._to_do(self._plan.document)

    def see(self, sections: Sequence[DiffSection]) -> None:
        """Tells which sections are on the screen now."""
        if sections != self._seen:
            self._seen = sections
            self._begin()

    @property
    def overlaps(self) -> tuple[Overlap, ...]:
        if self._overlaps is None:
            self._overlaps = overlaps_of(self._plan)
        return self._overlaps

    def do_something(self) -> None:
        if not self.waits:
            self.waits = next(self._work, self) is self
        elif (news := self._news.look()) is not None:
            self._view.message = news

    def _to_do(self, document: PlanDocument) -> Iterator[None]:
        """Most urgent first: other plans, colours of visible sections, then of the rest."""
        if not self._warned:
            self._warned = True
            self._view.warnings = warnings_of(self._plan, self.overlaps)
            yield
        for section in self._seen if self._colour else ():
            if not self.highlights.has(section):
                yield from _highlight_section(section, self.highlights)
                yield
        sections = self._view.sections
        for section in sections:
            if not section.loaded:
                section.load()
                yield
        self._plan.stale = stale_paths(document, sections)


def _highlight_section(section: DiffSection, highlights: Highlights) -> Iterator[None]:
    """A little at a time, so that no key waits for it."""
    old = yield from _lines(section.path, section.content.old)
    new = yield from _lines(section.path, section.content.new)
    highlights.put(section, old, new)


def _lines(path: str, data: bytes | None) -> Generator[None, None, list[Pieces] | None]:
    try:
        text = (data or b"").decode()
    except UnicodeDecodeError:
        return None
    return (yield from highlighting(path, text)) if text else None


def _choice_on(view: Viewport, plan: ReviewedPlan, act: ReviewAct) -> ReviewChoice | Text:
    """The act on what is under the cursor, or why it does not apply to that."""
    open_ = view.section.key not in view.folded
    if act is ReviewAct.EDIT_LINE and open_:
        _to_replacement(view)
    hunk = view.section.hunk_at(view.cursor.row) if open_ else 0
    conflict = conflict_at(view.section, hunk)
    if conflict is not None and act in _OF_CONFLICTS:
        return ReviewChoice(_OF_CONFLICTS[act], view.cursor.section, hunk, conflict=conflict.conflict)
    if (act in _ON_LINES and plan.conflicts) or act in _TAKING:
        return ReviewChoice(act)  # refused, or about the first conflict
    row = _line(view, act) if open_ else None
    return _why_not(act, hunk, row) or ReviewChoice(act, view.cursor.section, hunk, row)


def _why_not(act: ReviewAct, hunk: int, row: Row | None) -> Text | None:
    """Why the act does not apply to what is under the cursor."""
    editable = row is not None and (act is not ReviewAct.EDIT_LINE or row.kind is not RowKind.REMOVED)
    if act is ReviewAct.DROP_HUNK and not hunk:
        return Text("There is no hunk under the cursor; [D] drops the whole of it.")
    if act is ReviewAct.COMMENT and row is None:
        return Text("The cursor is on no line; comments are about lines.")
    if act in _ON_LINES and not editable:
        return Text("The cursor is on no line that can be edited.")
    if act in _ON_LINES and row is not None and len(row.data) > _LONGEST_LINE:
        return Text("The line is too long to be edited here; [E] opens your editor.")
    return None


def _line(view: Viewport, act: ReviewAct) -> Row | None:
    """The line under the cursor; for a comment, a comment below it counts too."""
    at = view.cursor.row
    while act is ReviewAct.COMMENT and view.section.row(at).kind is RowKind.COMMENT:
        at -= 1
    row = view.section.row(at)
    return row if row.kind in LINES else None


def _to_replacement(view: Viewport) -> None:
    """From a removed line to the first of those that replace it."""
    section, at = view.cursor
    while view.section.row(at).kind is RowKind.REMOVED and at + 1 < view.section.count:
        at += 1
    if view.section.row(at).kind is RowKind.ADDED:
        view.cursor = RowPlace(section, at)


def _turn(view: Viewport, page: TextPage, key: str) -> None:
    steps = {
        "j": 1, "down": 1, "k": -1, "up": -1, "pgdn": _PAGE, " ": _PAGE, "pgup": -_PAGE,
        "home": -len(page.lines) ** 2, "end": len(page.lines) ** 2,
    }  # fmt: skip
    if key in steps:
        view.page_top += steps[key]
    elif key in {"q", "esc", "enter", "i", "?"}:
        view.page, view.page_top = None, 0


def _list_key(view: Viewport, files: FileList, key: str) -> None:
    count = len(view.shown)
    steps = {
        "j": 1, "down": 1, "n": 1, "tab": 1, "k": -1, "up": -1, "p": -1, "backtab": -1,
        "pgdn": _PAGE, " ": _PAGE, "pgup": -_PAGE, "home": -count, "g": -count, "end": count, "G": count,
    }  # fmt: skip
    if key in steps:
        files.move(steps[key], count)
    elif key in {"enter", "q", "esc", "f"}:
        view.files = None
        if key == "enter":
            jump(view, files.cursor)


def _move(view: Viewport, key: str, rows: int) -> bool:
    page = max(1, rows - _PAGE // 2)
    steps = {"j": 1, "down": 1, "k": -1, "up": -1, "pgdn": page, " ": page, "pgup": -page}
    view.reach = 0
    if key in steps:
        view.cursor = step(view, view.cursor, steps[key])
    elif key in {"home", "g"}:
        view.cursor, view.left = RowPlace(0, 0), 0
    elif key in {"end", "G"}:
        last = len(view.shown) - 1
        view.cursor = RowPlace(last, view.rows_of(last) - 1)
    elif key in {"left", "right"}:
        view.left = max(0, view.left + (_SIDEWAYS if key == "right" else -_SIDEWAYS))
    elif key in {"n", "p"}:
        to_hunk(view, 1 if key == "n" else -1)
    elif key in {"N", "tab", "P", "backtab"}:
        to_section(view, 1 if key in {"N", "tab"} else -1)
    else:
        return _arrange(view, key)
    return True


def _arrange(view: Viewport, key: str) -> bool:
    """Whether the key is about how the plan is shown."""
    if key == "enter":
        fold(view)
    elif key in {"+", "-"}:
        wider = widen(view, -1 if key == "-" else 1)
        view.message = None if wider else TextSpan(Text("There are no more lines to show, or to hide."))
    elif key == "w":
        view.wrap, view.left = not view.wrap, 0
        view.message = TextSpan(Text("Long lines are wrapped.") if view.wrap else Text("Long lines are cut."))
    elif key == "f":
        view.files = FileList(view.cursor.section)
    elif key == "?":
        view.page = help_page()
    else:
        return False
    return True
