"""Real agents for `make test-agents`, at pinned versions, in .make/agents.

Without words it installs them with npm and pip, as these are set up on this machine. With `offline` it runs
the command that follows in a network namespace of its own, where only loopback is.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent / ".make" / "agents"
_MODULES = FOLDER / "node_modules"
PACKAGES = (
    "@anthropic-ai/claude-code-linux-x64@2.1.325",
    "@openai/codex@0.166.0",
    "opencode-linux-x64@1.18.34",
    "@google/gemini-cli@0.61.0",
)
AIDER = "aider-chat==0.86.2"
PROGRAMS = {
    "claude": _MODULES / "@anthropic-ai/claude-code-linux-x64/claude",
    "codex": _MODULES / "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
    "opencode": _MODULES / "opencode-linux-x64/bin/opencode",
    "gemini": _MODULES / "@google/gemini-cli/bundle/gemini.js",
    "aider": FOLDER / "aider" / "bin" / "aider",
}


def main(words: list[str]) -> int:
    if words[:1] == ["offline"] and len(words) > 1:
        return offline(words[1:])
    if words:
        print(__doc__, file=sys.stderr)
        return 2
    return install()


def install() -> int:
    import pinned  # noqa: PLC0415  # beside this file only when it runs as a script

    def all_of_them() -> bool:
        npm = shutil.which("npm")
        if npm is None:
            print("npm is not installed; it has all agents but aider", file=sys.stderr)
            return False
        return pinned.with_npm([npm], FOLDER, PACKAGES) and pinned.with_pip(FOLDER / "aider", [AIDER])

    return pinned.set_up(FOLDER, [*PACKAGES, AIDER], "2 GB", all_of_them)


def offline(words: list[str]) -> int:
    unshare = shutil.which("unshare")
    if unshare is None:
        print("unshare is not installed", file=sys.stderr)
        return 1
    own = ["--net"] if os.geteuid() == 0 else ["--net", "--map-root-user"]
    script = 'ip link set lo up && exec "$@"'
    return subprocess.run([unshare, *own, "sh", "-c", script, "sh", *words], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
