"""`ringi completion`."""

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes SHELL complete commands, options and the names of plans.

    Put its line below into the file that your shell reads when it starts.
    """
    found = get_completion_class(shell)
    root = click.get_current_context().find_root()
    if found is not None:
        click.echo(found(root.command, {}, "ringi", "_RINGI_COMPLETE").source(), nl=False)
