import click

from ringi.cli.claude_hook import answer, watch_shell


@click.group()
def hook() -> None:
    """Answer an agent's own hooks."""


@hook.command()
def claude() -> None:
    """Let Claude Code edit in a work copy only.

    Reads what Claude Code sends to a PreToolUse hook. Exit code 2 means that the edit is refused.
    """
    answer()


@hook.command("claude-shell")
def claude_shell() -> None:
    """Notice what a shell command of Claude Code changes outside a work copy.

    Reads what Claude Code sends before and after a command. It never stops one; it tells Claude Code, you and
    the log.
    """
    watch_shell()
