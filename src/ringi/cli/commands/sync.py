"""`ringi sync`: the notes that prove approvals, from a remote and to it."""

import sys

import click
from msgspec.structs import asdict

from ringi.approvals.statement import Synced
from ringi.cli.app import App, pass_app
from ringi.kernel.text import Text
from ringi.plans import attest
from ringi.provenance.clone import mend_clone
from ringi.provenance.exchange import NotesExchange, sync_notes


@click.command()
@click.argument("remote", required=False)
@click.option("--no-push", is_flag=True, help="Only fetch and merge.")
@pass_app
def sync(app: App, remote: str | None, no_push: bool) -> None:
    """Exchange the notes that prove approvals with a remote.

    Without REMOTE, the one that git would choose. Notes of both sides are merged line by line; none is
    overwritten, and nothing else of the repository changes. Needs no workspace.
    """
    mended = mend_clone(
        app.start, app.environment, lambda: attest.mend(app.workspace) if app.has_ledger else None
    )
    for line in mended.lines if mended else ():
        app.ui.line(line, style="yellow")
    exchange = NotesExchange(app.start, app.environment, prompts=sys.stdin.isatty())
    done = sync_notes(exchange, remote or "", push=not no_push, on_progress=app.tell_progress)
    if app.ui.as_json:
        app.ui.document(done)
    else:
        _tell(app, done)


def _tell(app: App, done: Synced) -> None:
    details = asdict(done)
    if not done.total:
        app.ui.line(Text("There are no notes yet, here or in {remote}.", **details))
        return
    if done.came or done.went:
        words = Text("✓ Notes exchanged with {remote}: {came} came, {went} went.", **details)
    elif done.waiting:
        words = Text("✓ No new notes in {remote}.", **details)
    else:
        words = Text("✓ {remote} has the same {total} notes.", **details)
    app.ui.line(words, style="green")
    if done.waiting:
        app.ui.line(Text("Not in {remote} yet: {waiting}", **details), indent=2)
        app.ui.next_step("ringi sync")
