"""`ringi help`."""

import gettext
from collections.abc import Iterator, Sequence

import click

_ = gettext.gettext


@click.command("help")
@click.argument("command", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Show the help of every command.")
@click.pass_context
def help_(ctx: click.Context, command: Sequence[str], everything: bool) -> None:
    """Show what ringi can do, or how COMMAND is used.

    The same as --help behind it.
    """
    page = _find(ctx.find_root(), command)
    click.echo(page.get_help(), color=ctx.color)
    if everything:
        for below in _below(page):
            click.echo(f"\n{'─' * 40}\n\n{below.get_help()}", color=ctx.color)


def _find(page: click.Context, words: Sequence[str]) -> click.Context:
    for word in words:
        group = page.command
        if not isinstance(group, click.Group):
            told = _("{command} has no commands of its own.").format(command=page.command_path)
            raise click.UsageError(told, page)
        found = group.get_command(page, word)
        if found is None:
            raise _no_such(group, page, word)
        page = click.Context(found, parent=page, info_name=word)
    return page


def _no_such(group: click.Group, page: click.Context, word: str) -> click.UsageError:
    from difflib import get_close_matches  # noqa: PLC0415  # only for a mistyped command

    told = _("No such command {name!r}.").format(name=word)
    if near := get_close_matches(word, group.list_commands(page), n=1):
        told = f"{told} {_('Did you mean {command}?').format(command=near[0])}"
    return click.UsageError(told, page)


def _below(page: click.Context) -> Iterator[click.Context]:
    if isinstance(page.command, click.Group):
        for name in page.command.list_commands(page):
            below = _find(page, [name])
            yield below
            yield from _below(below)
