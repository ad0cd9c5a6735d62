"""`ringi plan`: from an instruction, through questions and decisions, to a design that a person approved."""

from gettext import gettext as _
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ringi.cli.app import EXIT_PERSON_NEEDED, App, pass_app
from ringi.cli.input import STDIN, read_named
from ringi.cli.ui import Ui, translated
from ringi.text import Text

if TYPE_CHECKING:
    from ringi.cli.planning.going import Going
    from ringi.cli.planning.steps import Order
    from ringi.domain.session_view import SessionView

_CHOOSE: Final = ""
"""As the id of a session: one of the list."""
_START: Final = 'ringi plan "…"'


class _Once(click.Command):
    """Refuses an option that is given twice, where the last one would win in silence."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = [one for one in self.make_parser(ctx).parse_args(list(args))[2] if _takes_value(one)]
        twice = next((one for one in given if given.count(one) > 1), None)
        if twice is not None and not ctx.resilient_parsing:
            words = _("{option} can be given only once").format(option=twice.opts[0])
            raise click.UsageError(words, ctx)
        return super().parse_args(ctx, args)


def _takes_value(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and not parameter.is_flag


@click.command(cls=_Once)
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
    from ringi.cli.planning.naming import require_long  # noqa: PLC0415  # not needed to show help

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
    elif options["resume"] is not None:
        require_long(options["resume"])
    order = _order(options)
    raise click.exceptions.Exit(_go_on(app, _opened(app, words, options), order, seated=seated))


def _require_sense(words: tuple[str, ...], given: dict[str, Any]) -> None:
    steps = [
        name
        for name in ("answer", "skip", "reject", "cancel", "approve", "answers")
        if _is_given(given[name])
    ]
    if len(steps) > 1 and steps != ["approve", "answers"]:
        raise click.UsageError(_("One thing at a time: {options}").format(options=_named(steps)))
    begins = [name for name in ("resume", "file") if given[name] is not None]
    alone = [name for name in steps if name != "answers"]
    nowhere = given["resume"] == _CHOOSE or not (words or begins)
    if (nowhere and steps) or (given["resume"] is None and alone and "answers" not in steps):
        raise click.UsageError(_("{options} needs a session: --resume ID").format(options=_named(steps)))
    _require_one_beginning(words, begins)
    if given["reason"] and given["answer"] is None:
        raise click.UsageError(_("--reason belongs to --answer"))
    if given["to"] and given["answer"] is None and not given["skip"]:
        raise click.UsageError(_("--to belongs to --answer or --skip"))
    if given["sign"] and not given["approve"]:
        raise click.UsageError(_("--sign belongs to --approve"))
    once = [*words, given["file"], given["answers"], given["answer"], given["reject"]]
    if once.count(STDIN) > 1:
        raise click.UsageError(_("Standard input can be read only once"))


def _require_one_beginning(words: tuple[str, ...], begins: list[str]) -> None:
    if not words and not begins:
        raise click.UsageError(_('Say what should change, as in: ringi plan "…"; or --resume, or --from'))
    if words and begins:
        problem = _("{options} brings its own instruction; to answer what is asked: --resume ID --answer …")
        raise click.UsageError(problem.format(options=_named(begins)))
    if len(begins) > 1:
        raise click.UsageError(_("One thing at a time: {options}").format(options=_named(begins)))


def _is_given(value: object) -> bool:
    return value is not None and value is not False


def _named(options: list[str]) -> str:
    return ", ".join("--from" if name == "file" else f"--{name}" for name in options)


def _opened(app: App, words: tuple[str, ...], given: dict[str, Any]) -> "SessionView":
    """Begun, taken in, or found."""
    from ringi.cli.planning.going import actor_at  # noqa: PLC0415  # not needed to show help

    tool = app.workspace.planning
    if given["resume"] is not None:
        return tool.view(given["resume"]) if given["cancel"] else tool.resume(given["resume"])
    if given["file"] is not None:
        return _taken_in(app, given["file"])
    return tool.start(_text(" ".join(words)), actor=actor_at(app))


def _taken_in(app: App, file: str) -> "SessionView":
    """With words for what is other than in the file."""
    from ringi.cli.planning.going import actor_at  # noqa: PLC0415  # not needed to show help
    from ringi.cli.planning.wrapping import paragraph  # noqa: PLC0415  # not needed to show help
    from ringi.planning.taking_in import changes, read_session  # noqa: PLC0415  # only with a file

    tool, data = app.workspace.planning, read_named(file)
    view = tool.take_in(data, file, actor=actor_at(app))
    for change in changes(read_session(data, file), tool.get(view.session_id).session):
        paragraph(app.ui, translated(change), style="yellow", mark="! ")
    return view


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
