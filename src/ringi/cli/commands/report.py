"""`ringi report`: the criteria of a run, with what was done and what ran for each."""

import click

from ringi.cli.app import App, pass_app
from ringi.cli.plan_names import RUN
from ringi.cli.runs import document, reading
from ringi.kernel.markdown import markdown
from ringi.kernel.text import translate
from ringi.runs.documents import facts_of_run
from ringi.runs.report import report as written


@click.command()
@click.argument("run", metavar="[RUN]", type=RUN, required=False)
@pass_app
def report(app: App, run: str | None) -> None:
    """Show what a run did for each of its criteria.

    Without RUN, the newest. The same text is in .agent/runs as report.md.
    """
    with reading(app) as reader:
        looked = reader.look(reader.find(run))
        text = written(looked.run, looked.plan, facts_of_run(reader.ledger, looked.run), translate)
        if app.ui.as_json:
            app.ui.document({**document(looked), "report": text})
        elif app.ui.out.isatty():
            app.ui.show(markdown(text, indent=0))
        else:
            app.ui.out.write(text)
