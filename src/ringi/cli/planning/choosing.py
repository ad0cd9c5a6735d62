"""Open sessions as a list, and one of them by its number."""

from collections.abc import Sequence
from unicodedata import normalize

from ringi.cli.app import App
from ringi.cli.planning.lines import Lines, prompt_of
from ringi.cli.planning.naming import age, phase, short_names
from ringi.cli.planning.wrapping import columns, cut
from ringi.domain.session import SessionRef
from ringi.text import Text

_LEAST_TITLE = 12


def show_sessions(app: App, refs: Sequence[SessionRef], *, numbered: bool = False) -> None:
    """Two lines each: what it is about, and how to name it."""
    names = short_names(ref.session_id for ref in refs)
    for number, ref in enumerate(refs, 1):
        mark = f"{number}  " if numbered else ""
        room = columns(app.ui) - len(mark) - 2
        app.ui.line(mark + cut(ref.title, max(room, _LEAST_TITLE)), style="bold", indent=2)
        facts = Text(
            "{name} · {age} · {phase}", name=names[ref.session_id], age=age(ref.updated_at), phase=phase(ref)
        )
        app.ui.line(facts, indent=2 + len(mark))


def choose(app: App, refs: Sequence[SessionRef]) -> SessionRef | None:
    """None where the person leaves."""
    lines = Lines(app.ui)
    question = prompt_of(app.ui, Text("Which one? 1 to {count}, empty to leave:", count=len(refs)))
    try:
        while answer := normalize("NFKC", lines.ask(question).strip()):
            found = [ref for number, ref in enumerate(refs, 1) if str(number) == answer]
            if found:
                return found[0]
            app.ui.line(Text("There is no session with that number."), style="yellow")
    except EOFError:
        pass
    return None
