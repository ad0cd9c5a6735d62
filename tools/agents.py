"""Real agents for `make test-agents`, at pinned versions, in .make/agents.

Without words it installs them with npm and pip, as these are set up on this machine. With `offline` it runs
the command that follows in a network namespace of its own, where only loopback is.
"""

import fcntl
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
    """What cannot be had is said; its tests are skipped."""
    stamp = FOLDER.with_suffix(".stamp")
    wanted = "\n".join([sys.version, *PACKAGES, AIDER])
    FOLDER.mkdir(parents=True, exist_ok=True)
    with FOLDER.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return 0
        print("Setting up .make/agents (2 GB) …", file=sys.stderr, flush=True)
        stamp.unlink(missing_ok=True)
        if _install_packages() and _install_aider():
            stamp.write_text(wanted, encoding="utf-8")
    return 0


def _install_packages() -> bool:
    npm = shutil.which("npm")
    if npm is None:
        print("npm is not installed; it has all agents but aider", file=sys.stderr)
        return False
    quiet = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    return _done([npm, "install", "--prefix", str(FOLDER), *quiet, *PACKAGES])


def _install_aider() -> bool:
    python = FOLDER / "aider" / "bin" / "python"
    if not python.exists() and not _done([sys.executable, "-m", "venv", str(FOLDER / "aider")]):
        return False
    return _done([str(python), "-m", "pip", "install", "--quiet", AIDER])


def _done(words: list[str]) -> bool:
    try:
        return subprocess.run(words, check=False, timeout=1200).returncode == 0
    except (OSError, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return False


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
