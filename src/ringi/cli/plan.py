"""`ringi plan`: from an instruction, through questions and decisions, to a design that a person approved."""

from gettext import gettext as _
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ringi.cli.app import EXIT_PERSON_NEEDED, App, pass_app
from ringi.cli.input import STDIN, read_named
from ringi.cli.ui import Ui
from ringi.text import Text

if TYPE_CHECKING:
    from ringi.cli.planning.going import Going
    from ringi.cli.planning.steps import Order
    from ringi.domain.session_view import SessionView

_CHOOSE: Final = ""
"""As the id of a session: one of the list."""
_START: Final = 'ringi plan "…"'


@click.command()
@click.argument("words", metavar="[INSTRUCTION|-]", nargs=-1)
@click.option(
    "--resume",
    metavar="[ID]",
    is_flag=False,
    flag_value=_CHOOSE,
    default=None,
    help="Go on with a session; without ID, choose one.",
)
@click.option("--from", "file", metavar="FILE|-", help="Take in a session from a file.")
@click.option("--answers", metavar="FILE|-", help="Answer from a YAML file, without a terminal.")
@click.option(
    "--answer", metavar="TEXT|-", help="Answer what is asked: in words, or the option of a decision."
)
@click.option("--reason", metavar="TEXT", default="", help="Why this option of a decision.")
@click.option("--skip", is_flag=True, help="Leave the question without an answer.")
@click.option(
    "--to", metavar="ID", default="", help="With --answer or --skip: only if q-2 or d-1 is asked now."
)
@click.option("--reject", metavar="TEXT|-", help="Send the summary back with what should be different.")
@click.option("--approve", is_flag=True, help="Approve the summary.")
@click.option("--sign", metavar="KEY", type=click.Path(path_type=Path), help="Approve with this SSH key.")
@click.option("--cancel", is_flag=True, help="End the session for good.")
@pass_app
def plan(app: App, /, words: tuple[str, ...], **options: Any) -> None:
    """Plan a change: a few questions, the design decisions, a summary to approve.

    At a terminal it is a dialogue. Without one, what is asked comes as JSON with exit code 3, and --answer
    goes on. Everything is saved at once; nothing is executed.
    """
    from ringi.cli.planning.going import at_terminal  # noqa: PLC0415  # not needed to show help

    _require_sense(words, options)
    seated = at_terminal(app)
    if not seated and not app.ui.as_json:
        # Whatever reads here is no person: a document on standard output, and words beside it.
        app.ui = Ui(as_json=True, environment=app.environment)
    if options["resume"] == _CHOOSE:
        chosen = _chosen(app)
        if chosen is None:
            return
        options["resume"] = chosen
    order = _order(options)
    raise click.exceptions.Exit(_go_on(app, _opened(app, words, options), order, seated=seated))


def _require_sense(words: tuple[str, ...], given: dict[str, Any]) -> None:
    begins = [bool(words), given["resume"] is not None, given["file"] is not None]
    if sum(begins) != 1:
        raise click.UsageError(_('Say what should change, as in: ringi plan "…"; or --resume, or --from'))
    steps = [
        name
        for name in ("answer", "skip", "reject", "cancel", "approve", "answers")
        if _is_given(given[name])
    ]
    if len(steps) > 1 and steps != ["approve", "answers"]:
        raise click.UsageError(_("One thing at a time: {options}").format(options=_named(steps)))
    alone = [name for name in steps if name != "answers"]
    if given["resume"] == _CHOOSE and steps:
        raise click.UsageError(_("{options} needs a session: --resume ID").format(options=_named(steps)))
    if given["resume"] is None and alone and "answers" not in steps:
        raise click.UsageError(_("{options} needs a session: --resume ID").format(options=_named(alone)))
    if given["reason"] and given["answer"] is None:
        raise click.UsageError(_("--reason belongs to --answer"))
    if given["to"] and given["answer"] is None and not given["skip"]:
        raise click.UsageError(_("--to belongs to --answer or --skip"))
    if given["sign"] and not given["approve"]:
        raise click.UsageError(_("--sign belongs to --approve"))
    once = [*words, given["file"], given["answers"], given["answer"], given["reject"]]
    if once.count(STDIN) > 1:
        raise click.UsageError(_("Standard input can be read only once"))


def _is_given(value: object) -> bool:
    return value is not None and value is not False


def _named(options: list[str]) -> str:
    return ", ".join(f"--{name}" for name in options)


def _opened(app: App, words: tuple[str, ...], given: dict[str, Any]) -> "SessionView":
    """Begun, taken in, or found."""
    tool = app.workspace.planning
    if given["resume"] is not None:
        return tool.view(given["resume"]) if given["cancel"] else tool.resume(given["resume"])
    if given["file"] is not None:
        return tool.take_in(read_named(given["file"]), given["file"])
    return tool.start(_text(" ".join(words)))


def _text(given: str) -> str:
    """A dash is standard input, which must be text."""
    return read_named(STDIN).decode("utf-8", "surrogateescape") if given == STDIN else given


def _order(given: dict[str, Any]) -> "Order":
    from ringi.cli.planning.answers import read_answers  # noqa: PLC0415  # not needed to show help
    from ringi.cli.planning.steps import Order  # noqa: PLC0415  # not needed to show help

    answers = given["answers"]
    return Order(
        answers=None if answers is None else read_answers(read_named(answers), answers),
        answer=None if given["answer"] is None else _text(given["answer"]),
        reason=given["reason"],
        to=given["to"],
        skip=given["skip"],
        reject=None if given["reject"] is None else _text(given["reject"]),
        cancel=given["cancel"],
        approve=given["approve"],
        sign=given["sign"],
    )


def _go_on(app: App, view: "SessionView", order: "Order", *, seated: bool) -> int:
    from ringi.cli.planning.going import EXIT_INTERRUPTED, Going  # noqa: PLC0415  # not needed to show help
    from ringi.cli.planning.steps import carry_out  # noqa: PLC0415  # not needed to show help

    going = Going(app, view.session_id)
    if seated and not order.anything:
        return _talk(going, view)
    try:
        return carry_out(going, view, order)
    except KeyboardInterrupt:
        app.ui.line()
        going.tell_saved()
        return EXIT_INTERRUPTED


def _talk(going: "Going", view: "SessionView") -> int:
    from ringi.cli.planning.dialogue import Dialogue  # noqa: PLC0415  # only where a person sits
    from ringi.cli.planning.lines import Lines  # noqa: PLC0415  # only where a person sits

    skip_after = going.app.workspace.configuration.config.planning.skip_after_sec
    return Dialogue(going, Lines(going.ui), skip_after).run(view)


def _chosen(app: App) -> str | None:
    """One of the open sessions, by its number; None where there are none. Without a person, only the list."""
    refs = app.workspace.planning.list(open_only=True)
    if app.ui.as_json:
        app.ui.document(refs)
        raise click.exceptions.Exit(EXIT_PERSON_NEEDED if refs else 0)
    if not refs:
        app.ui.line(Text("No planning session is open."))
        app.ui.next_step(_START)
        return None
    from ringi.cli.planning.choosing import choose, show_sessions  # noqa: PLC0415  # not needed to show help

    show_sessions(app, refs, numbered=True)
    chosen = choose(app, refs)
    if chosen is None:
        raise click.exceptions.Exit(EXIT_PERSON_NEEDED)
    return chosen.session_id
