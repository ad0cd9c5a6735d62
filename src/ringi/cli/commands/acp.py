"""`ringi acp`: an editor speaks with an agent, which works in a copy of the project."""

import os
import sys
from gettext import gettext as _

import click

from ringi.cli.app import App, pass_app
from ringi.kernel.process.wire import claim_wire


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--check",
    "checks",
    multiple=True,
    metavar="CMD",
    help="Run CMD in the copy after each turn; its result is shown.",
)
@click.option(
    "--carry", multiple=True, metavar="PATH", help="Bring an ignored folder such as node_modules along."
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@pass_app
def acp(app: App, checks: tuple[str, ...], carry: tuple[str, ...], command: tuple[str, ...]) -> None:
    """Run COMMAND, an agent that speaks ACP, in a copy of the project, for an editor.

    The editor starts this instead of the agent. Each turn ends with a plan in the thread, and what you
    decide about it goes into the next turn. No message of the editor approves anything.
    """
    if not command:
        raise click.UsageError(_("Which agent? For example: ringi acp -- opencode acp"))
    if not all(check.strip() for check in checks):
        raise click.BadParameter(_("a check needs a command"), param_hint="--check")
    wire = claim_wire()
    app.ui.out = sys.stderr  # standard output belongs to the protocol
    from ringi.acp.work import Wish, Work  # noqa: PLC0415  # not needed to show help

    work = Work(Wish(command, app.start, app.environment, checks, carry), app.ui)
    work.start_ahead()
    import asyncio  # noqa: PLC0415  # while the agent starts

    from ringi.acp.proxy import Proxy  # noqa: PLC0415  # as above

    async def serve() -> int:
        proxy = Proxy(work, app.ui)
        code = await proxy.run(wire)
        if proxy.stuck:
            os._exit(code)
        return code

    if code := asyncio.run(serve()):
        raise click.exceptions.Exit(code)
