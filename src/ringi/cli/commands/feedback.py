"""`ringi feedback`: what should be different about a run."""

from contextlib import suppress
from gettext import gettext as _

import click

from ringi.cli.app import App, pass_app
from ringi.cli.arguments import text_of
from ringi.cli.runs import GOING_ON, RunReader, lock_of, reading
from ringi.engine.run_state import run_id_in
from ringi.errors import Ambiguous, NotFound
from ringi.kernel.text import Text
from ringi.runs.feedback import give_feedback


def _is_run(reader: RunReader, word: str) -> bool:
    """What looks like one is meant as one, whether it exists or not."""
    if run_id_in(word):
        return True
    with suppress(NotFound, Ambiguous, click.UsageError):
        return reader.find(word) == word
    return False


@click.command()
@click.argument("words", metavar="[RUN] TEXT|-", nargs=-1)
@pass_app
def feedback(app: App, words: tuple[str, ...]) -> None:
    """Say what should be different about a run; it is never an approval.

    Without RUN, the newest that is not over. A run at work hears it before its next action or turn. A step
    that waits or stopped is made again with it: ringi continue. What an agent says is marked as such.
    """
    if not words:
        raise click.UsageError(_("Say what should be different"))
    with reading(app) as reader:
        name = words[0] if len(words) > 1 and _is_run(reader, words[0]) else None
        run_id = reader.find(name, GOING_ON)
    text = text_of(" ".join(words if name is None else words[1:]))
    given = give_feedback(app.workspace, run_id, text, "cli")
    working = lock_of(app.places.state, run_id).is_held()
    if app.ui.as_json:
        said = given.feedback
        told = {name: getattr(said, name) for name in said.__struct_fields__}
        app.ui.document({**told, "working": working})
    if given.feedback.agent:
        app.ui.line(Text("✓ {run} will hear it, as an agent's words", run=run_id), style="green")
    elif working:
        app.ui.line(Text("✓ {run} is at work and hears it next", run=run_id), style="green")
        return
    elif given.reopens:
        app.ui.line(
            Text("✓ {run}: the step is made again with it, once you go on", run=run_id), style="green"
        )
    else:
        app.ui.line(Text("✓ {run} will hear it, once you go on", run=run_id), style="green")
    app.ui.next_step(f"ringi continue {run_id}")
