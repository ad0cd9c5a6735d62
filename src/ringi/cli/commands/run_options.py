"""The options of every command that begins a run, and how it is carried out with them."""

from gettext import gettext as _
from pathlib import Path
from typing import Any, Final

import click

from ringi.cli.app import App
from ringi.cli.commands.cache import no_cache
from ringi.cli.commands.run_driver import RunDriver
from ringi.cli.planning.driver import interactive_or_json
from ringi.cli.planning.entry import Then
from ringi.forges.terms import approved_here
from ringi.kernel.lines import Style
from ringi.kernel.text import Text
from ringi.runs.document import Review
from ringi.runs.drive import RunOptions

_KEY: Final = click.Path(path_type=Path)
_OPTIONS: Final = (
    click.option(
        "--review",
        type=click.Choice([*map(str, Review)]),
        help="Ask after each step, at the end, or in a pull or merge request.",
    ),
    click.option("--max-steps", type=click.IntRange(1, 99), metavar="N", help="Pause after so many steps."),
    click.option("--sign", metavar="KEY", type=_KEY, help="Approve the plan with this SSH key."),
    click.option(
        "--unattended", metavar="KEY", type=_KEY, help="Ask nothing: sign for its steps with this SSH key."
    ),
    no_cache,
)


def run_options(command: Any) -> Any:
    # As decorators do: the last one is applied first.
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def run_carrier(ctx: click.Context, given: dict[str, Any], *, in_place: bool = False, role: str = "") -> Then:
    """Carries out a run as its options say, once its plan is there."""
    review = Review(given["review"]) if given["review"] else None
    if review is Review.FORGE and in_place:
        raise click.UsageError(_("What a forge reviews waits on a branch of its own: leave out --in-place"))
    options = RunOptions(review=review, in_place=in_place, max_steps=given["max_steps"] or 0, role=role)

    def then(run_id: str) -> int:
        return RunDriver(ctx, run_id, options, given["sign"], given["unattended"]).go()

    return then


def tell_reviews(app: App, *, program_reads: bool = True) -> None:
    """If the forge is to review it and a person here has to approve it: before anything happens."""
    here = approved_here(app.workspace)
    if here is None:
        return
    if program_reads:
        interactive_or_json(app)
    if here.each:
        words = Text(
            "A review on the forge cannot approve this: {why}. You are asked about each step here, and what "
            "you have approved is put there at the end.",
            why=here.why,
        )
        app.ui.prose(words, Style.WARNING, mark="! ")
        if here.mend:
            app.ui.line(Text("To get one: {mend}", mend=here.mend), style="yellow", indent=2)
        return
    words = Text(
        "A review on the forge cannot approve this: {why}. The result is put there all the same; a person "
        "approves it here:",
        why=here.why,
    )
    app.ui.prose(words, Style.WARNING, mark="! ")
    app.ui.next_step("ringi review")
