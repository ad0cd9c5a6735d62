"""The command line. `main` is what the installed program calls."""

import gc
import sys


def main() -> int:
    # Loading modules makes no garbage; collecting would cost a tenth of every start.
    gc.disable()
    if sys.argv[1:] == ["hook", "claude"]:
        from ringi.cli.claude_hook import answer  # noqa: PLC0415  # at every edit of an agent: without click

        return answer()
    if sys.argv[1:] == ["hook", "claude-shell"]:
        from ringi.cli.claude_hook import watch_shell  # noqa: PLC0415  # around every command of an agent

        return watch_shell()
    from ringi.cli.main import main as run  # noqa: PLC0415  # after the line above

    return run()
