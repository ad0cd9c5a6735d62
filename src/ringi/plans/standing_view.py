"""What to know of a plan before deciding: it was undone, its agent failed, its files changed since.

The same words in `ringi`, in `ringi show` and in a review.
"""

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from ringi.kernel.lines import Span, Style
from ringi.kernel.text import Text, moment
from ringi.plans import words
from ringi.plans.document import ENDED, PlanDocument, undone_at


def standing(document: PlanDocument, stale: Sequence[str] = ()) -> Iterator[Span]:
    if at := undone_at(document):
        line = Text("undone {when}: the files are back to before", when=moment(at))
        yield Span(line, Style.WARNING)
    exit_code = document.state.agent_exit if document.state.status not in ENDED else UNSET
    if exit_code is None:
        yield Span(Text("! the agent was cut off; this is what it had done by then"), Style.WARNING)
    elif exit_code is not UNSET:
        yield Span(Text("! the agent ended with exit code {code}", code=exit_code), Style.WARNING)
    yield from stale_spans(stale)


def stale_spans(stale: Sequence[str]) -> Iterator[Span]:
    if stale:
        line = Text("! {path} changed since the proposer saw it", path=words.some(stale, 2))
        yield Span(line, Style.WARNING)
