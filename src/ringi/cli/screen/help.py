"""The page that lists the keys of a review."""

from typing import Final

from ringi.cli.screen.cells import StyledText
from ringi.cli.screen.viewport import TextPage
from ringi.kernel.text import Text, translate

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
    ("t", Text("only what changed since you last looked, or all of it again")),
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
