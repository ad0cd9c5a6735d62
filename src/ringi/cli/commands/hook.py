import click

from ringi.cli.claude_hook import answer


@click.group()
def hook() -> None:
    """Answer an agent's own hooks."""


@hook.command()
def claude() -> None:
    """Let Claude Code edit in a work copy only.

    Reads what Claude Code sends to a PreToolUse hook. Exit code 2 means that the edit is refused.
    """
    answer()


# Settings of the version before still call it, and a failure would block every command of the agent.
@hook.command("claude-shell", hidden=True)
def claude_shell() -> None:
    pass
