"""`ringi help`."""

import gettext
from collections.abc import Sequence

import click

from ringi.cli.app import EVERYTHING

_ = gettext.gettext


@click.command("help")
@click.argument("command", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Show all commands, by what they are for.")
@click.pass_context
def help_(ctx: click.Context, command: Sequence[str], everything: bool) -> None:
    """Show what ringi can do, or how COMMAND is used.

    The same as --help behind it.
    """
    root = ctx.find_root()
    root.meta[EVERYTHING] = everything
    click.echo(_find(root, command).get_help(), color=ctx.color)


def _find(page: click.Context, words: Sequence[str]) -> click.Context:
    for word in words:
        group = page.command
        if not isinstance(group, click.Group):
            told = _("{command} has no commands of its own.").format(command=page.command_path)
            raise click.UsageError(told, page)
        _name, found, _rest = group.resolve_command(page, [word])
        if found is not None:  # or it raised
            page = click.Context(found, parent=page, info_name=word)
    return page
