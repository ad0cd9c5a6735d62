"""The command line. `main` is what the installed program calls."""

import gc
import sys


def main() -> int:
    # Loading modules makes no garbage; collecting would cost a tenth of every start.
    gc.disable()
    if sys.argv[1:] == ["hook", "claude"]:
        from ringi.cli.claude_hook import answer  # noqa: PLC0415  # at every edit of an agent: without click

        return answer()
    from ringi.cli.main import main as run  # noqa: PLC0415  # after the line above

    return run()
