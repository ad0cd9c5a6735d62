"""`ringi cancel`: a run or a planning session ends for good."""

import click

from ringi.cli.app import App, pass_app
from ringi.cli.arguments import require_long
from ringi.cli.plan_names import RUN
from ringi.cli.planning.entry import cancel_session
from ringi.cli.runs import GOING_ON, document, lock_of, reading, show
from ringi.forges.offer import offer_run
from ringi.kernel.text import Text
from ringi.ledger.subject import is_session
from ringi.runs.drive import cancel_run

_WAIT_SEC = 60.0


@click.command()
@click.argument("run", metavar="[RUN|SESSION]", type=RUN, required=False)
@pass_app
def cancel(app: App, run: str | None) -> None:
    """End a run or a planning session for good, also while another process carries it out.

    Without a name, the newest run that is not over. What was committed stays on its branch: ringi undo RUN.
    """
    if run is not None and is_session(run):
        require_long(run)
        raise click.exceptions.Exit(cancel_session(app, run))
    with reading(app) as reader:
        run_id = reader.find(run, GOING_ON)
        lock = lock_of(app.places.state, run_id, _WAIT_SEC)
        if lock.end_holder():
            app.ui.line(Text("Ending the process that carries it out …"), style="dim")
        with lock("cancel"):
            cancel_run(app.workspace, run_id)
            offer_run(app.workspace, run_id)
        looked = reader.look(run_id)
    if app.ui.as_json:
        app.ui.document(document(looked))
    show(app, looked)
