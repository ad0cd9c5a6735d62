"""Real MCP servers for `make test-servers`, at pinned versions, in .make/servers."""

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / ".make" / "servers"
PACKAGES = (
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
)


def main() -> int:
    npm = shutil.which("npm")
    if npm is None:
        print("npm is not installed; the tests of real servers are skipped", file=sys.stderr)
        return 0
    stamp, wanted = FOLDER.with_suffix(".stamp"), "\n".join(PACKAGES)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with FOLDER.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return 0
        print("Setting up .make/servers (40 MB) …", file=sys.stderr, flush=True)
        stamp.unlink(missing_ok=True)
        quiet = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        words = [npm, "install", "--prefix", str(FOLDER), *quiet, *PACKAGES]
        if subprocess.run(words, check=False, timeout=1200).returncode == 0:
            stamp.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
