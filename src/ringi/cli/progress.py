"""While something takes long: one line that is rewritten in place and goes when the work is done."""

import contextlib
import sys
import threading
import time
from abc import abstractmethod
from types import TracebackType
from typing import Final, NamedTuple, Self, TextIO

from ringi.cli.app import App
from ringi.cli.ui import Ui, fold, width
from ringi.kernel.process.progress import Count
from ringi.kernel.text import Text, translate
from ringi.models.prompt import ModelProgress
from ringi.sessions.view import progress


class ProgressPace(NamedTuple):
    """When something is shown, in seconds."""

    first: float = 0.3
    """Show nothing for a reply that comes sooner."""
    again: float = 0.25
    once: float = 5.0
    """When the only line is written, if it cannot be rewritten in place."""


_PACE: Final = ProgressPace()
_COUNTING: Final = ProgressPace(first=1.0)


class StatusLine:
    def __init__(self, ui: Ui, *, rewrites: bool, out: TextIO, pace: ProgressPace) -> None:
        self._ui = ui
        self._out = out
        self._rewrites = rewrites
        self._pace = pace
        self._began = time.monotonic()
        self._shown = ""
        self._ended = threading.Event()
        self._ticking = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._ticking.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._ticking.join()
        self._clear()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def _clear(self) -> None:
        if self._rewrites and self._shown:
            self._write(_blank(self._shown))
            self._shown = ""

    @abstractmethod
    def _words(self) -> str: ...

    def _tick(self) -> None:
        wait = self._pace.first if self._rewrites else self._pace.once
        while not self._ended.wait(wait):
            if not self._rewrites:
                self._write(self._words() + "\n")
                return
            self._rewrite(self._words())
            wait = self._pace.again

    def _rewrite(self, words: str) -> None:
        """In place, without escape sequences: a carriage return, and blanks over a longer line."""
        line = fold(words, self._ui.columns - 1)[0]
        self._write(_blank(self._shown) + line)
        self._shown = line

    def _write(self, words: str) -> None:
        # The reader may be gone; the work continues.
        with contextlib.suppress(OSError, ValueError):
            self._out.write(words)
            self._out.flush()


class ModelStatusLine(StatusLine):
    """Of a model: the seconds, the tokens, and why it takes longer. Call it with what the model reports."""

    def __init__(
        self, ui: Ui, *, rewrites: bool, out: TextIO | None = None, pace: ProgressPace = _PACE
    ) -> None:
        super().__init__(ui, rewrites=rewrites, out=out or (ui.out if rewrites else sys.stderr), pace=pace)
        self._last = ModelProgress(0.0, 0)

    def __call__(self, reported: ModelProgress) -> None:
        self._last = reported

    def _words(self) -> str:
        return translate(progress(time.monotonic() - self._began, self._last))


class Counter(StatusLine):
    """Of work that is counted; only for a person at a terminal."""

    def __init__(
        self, ui: Ui, count: Count, *, out: TextIO | None = None, pace: ProgressPace = _COUNTING
    ) -> None:
        super().__init__(ui, rewrites=True, out=out or sys.stderr, pace=pace)
        self._count = count

    def _words(self) -> str:
        done, total = self._count.look()
        words = self._count.words
        if not done:
            return translate(Text("{work} …", work=words))
        if not total:
            return translate(Text("{work}: {done}", work=words, done=f"{done:,}"))
        return translate(Text("{work}: {done} of {total}", work=words, done=f"{done:,}", total=f"{total:,}"))


def progress_on(app: App) -> ModelStatusLine:
    return ModelStatusLine(app.ui, rewrites=app.ui.out.isatty() and app.environment.get("TERM") != "dumb")


def _blank(line: str) -> str:
    return f"\r{' ' * width(line)}\r"
