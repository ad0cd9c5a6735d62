"""Real MCP servers for `make test-servers`, at pinned versions, in .make/servers."""

import shutil
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / ".make" / "servers"
PACKAGES = (
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
)


def main() -> int:
    import pinned  # noqa: PLC0415  # beside this file only when it runs as a script

    npm = shutil.which("npm")
    if npm is None:
        print("npm is not installed; the tests of real servers are skipped", file=sys.stderr)
        return 0
    return pinned.set_up(FOLDER, PACKAGES, "40 MB", lambda: pinned.with_npm([npm], FOLDER, PACKAGES))


if __name__ == "__main__":
    sys.exit(main())
