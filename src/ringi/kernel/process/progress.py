"""How far long work is. Like a log: whoever works says it, without knowing whether somebody looks."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple, TypeVar

from ringi.kernel.text import Text

T = TypeVar("T")


Look = Callable[[], tuple[int, int]]
"""How many are done, and of how many; 0 if nobody knows. Called from another thread."""


class Count(NamedTuple):
    words: Text
    """What is being done."""
    look: Look


Watch = Callable[[Count], AbstractContextManager[object]]
_watch: Final[ContextVar[Watch | None]] = ContextVar("watch", default=None)


def is_watched() -> bool:
    return _watch.get() is not None


@contextmanager
def watch_progress(watch: Watch | None) -> Iterator[None]:
    """Within the block, `watch` is told of all work that is counted; None: nobody."""
    before = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(before)


@contextmanager
def counting(words: Text, look: Look) -> Iterator[None]:
    watch = _watch.get()
    if watch is None:
        yield
    else:
        with watch(Count(words, look)):
            yield


def count_items(words: Text, items: Sequence[T]) -> Iterator[T]:
    done = 0
    with counting(words, lambda: (done, len(items))):
        for item in items:
            yield item
            done += 1
