"""`ringi plan`: from an instruction, through questions and decisions, to a design that a person approved."""

from gettext import gettext as _
from pathlib import Path
from typing import Any

import click

from ringi.cli.app import App, pass_app
from ringi.cli.arguments import STDIN, choose_one, no_cache, only_with, require_one_stdin
from ringi.cli.planning.entry import CHOOSE, run
from ringi.cli.run_driver import RunDriver
from ringi.runs.drive import RunOptions


class _Once(click.Command):
    """Refuses an option that is given twice; click would silently take the last one."""

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
    flag_value=CHOOSE,
    default=None,
    help="Resume a session; without ID, choose one.",
)
@click.option("--from", "file", metavar="FILE|-", help="Import a session from a file.")
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
@click.option("--show-prompt", is_flag=True, help="Print what the model would be asked now; ask nobody.")
@no_cache
@pass_app
def plan(app: App, /, words: tuple[str, ...], **options: Any) -> None:
    """Plan a change: a few questions, then a summary to approve.

    At a terminal it is a dialogue. Without one, it prints the question as JSON with exit code 3, and --answer
    continues. Everything is saved at once; nothing is executed.
    """
    _require_sense(words, options)
    raise click.exceptions.Exit(run(app, words, options, _carry_out))


def _carry_out(run_id: str) -> int:
    return RunDriver(click.get_current_context(), run_id, RunOptions()).go()


def _require_sense(words: tuple[str, ...], given: dict[str, Any]) -> None:
    steps = [
        name
        for name in ("answer", "skip", "reject", "cancel", "approve", "answers", "show_prompt")
        if _is_given(given[name])
    ]
    if len(steps) > 1 and steps != ["approve", "answers"]:
        raise choose_one(*_option_names(steps))
    begins = [name for name in ("resume", "file") if given[name] is not None]
    alone = [name for name in steps if name not in {"answers", "show_prompt"}]
    nowhere = given["resume"] == CHOOSE or not (words or begins)
    if (nowhere and steps) or (given["resume"] is None and alone and "answers" not in steps):
        raise click.UsageError(
            _("{options} needs a session: --resume ID").format(options=", ".join(_option_names(steps)))
        )
    _require_one_beginning(words, begins)
    if given["show_prompt"] and "file" in begins:
        raise choose_one("--show-prompt", "--from")
    if given["reason"] and given["answer"] is None:
        raise only_with("--reason", "--answer")
    if given["to"] and given["answer"] is None and not given["skip"]:
        raise only_with("--to", "--answer, --skip")
    if given["sign"] and not given["approve"]:
        raise only_with("--sign", "--approve")
    once = [*words, given["file"], given["answers"], given["answer"], given["reject"]]
    require_one_stdin(once.count(STDIN))


def _require_one_beginning(words: tuple[str, ...], begins: list[str]) -> None:
    if not words and not begins:
        raise click.UsageError(_('Say what should change, as in: ringi plan "…"; or --resume, or --from'))
    if words and begins:
        problem = _("{options} brings its own instruction; to answer what is asked: --resume ID --answer …")
        raise click.UsageError(problem.format(options=", ".join(_option_names(begins))))
    if len(begins) > 1:
        raise choose_one(*_option_names(begins))


def _is_given(value: object) -> bool:
    return value is not None and value is not False


def _option_names(options: list[str]) -> list[str]:
    return ["--from" if name == "file" else f"--{name.replace('_', '-')}" for name in options]
