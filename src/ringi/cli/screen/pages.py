"""The pages besides the diffs: everything known about the plan, and the keys."""

from typing import Final

from ringi.cli.app import App
from ringi.cli.screen.cells import Piece, Pieces
from ringi.cli.screen.draw import shown
from ringi.cli.screen.viewport import Page
from ringi.cli.ui import shown as words_of
from ringi.cli.ui import translated
from ringi.domain.plan import PlanDocument, PlanPreview, PlanRef
from ringi.text import Text
from ringi.usecases.plan_facts import facts_of
from ringi.views import lines as view
from ringi.views.plan import plan_lines, total_line

KEYS: Final = (
    ("j k ↓ ↑", Text("a line down, up; PgDn PgUp Home End further; ← → sideways")),
    ("n p", Text("the next hunk, the one before; N P or Tab: the next file, the one before")),
    ("Enter", Text("fold or unfold the file")),
    ("a", Text("apply: approve what you see and carry it out")),
    ("m", Text("approve with a note, and carry it out later")),
    ("d", Text("drop the hunk under the cursor; D drops the whole file or command")),
    ("e", Text("edit the line under the cursor; o adds a line below it")),
    ("x", Text("delete the line under the cursor; one that the plan removes is kept")),
    ("E", Text("edit the file, as the plan would leave it, in $VISUAL or $EDITOR")),
    ("c", Text("comment on the line, for whoever proposed it")),
    ("r", Text("reject, with words for whoever proposed it")),
    ("u", Text("take back your last change; if files changed: update to them as they are now")),
    ("t", Text("only what changed since the version that was approved last, or all of it again")),
    ("i", Text("everything known about the plan: risk, checks, other plans, comments")),
    ("s", Text("show the plan as it is now")),
    ("U", Text("undo a plan that was carried out")),
    ("q", Text("quit; nothing is decided")),
)
_WIDEST: Final = 9


def help_page() -> Page:
    lines = ((Piece(f"  {key:<{_WIDEST}}", "bold"), Piece(translated(words))) for key, words in KEYS)
    return Page((Piece(translated(Text("Keys")), "bold"),), tuple(lines))


def info_page(app: App, ref: PlanRef, document: PlanDocument, preview: PlanPreview) -> Page:
    """The same as `ringi show`."""
    lines = [
        *plan_lines(facts_of(app.workspace, ref, document, preview)),
        *filter(None, [total_line(document)]),
    ]
    title, *rest = (_pieces(line) for line in lines)
    return Page(title, tuple(rest))


def _pieces(line: view.Line) -> Pieces:
    pieces = (Piece(shown(words_of(span.text)), span.style) for span in line.spans)
    return (Piece(" " * line.indent), *pieces)
