"""Real parts for `make test-editors`, at pinned versions, in .make/editors: the official SDK of the Agent
Client Protocol, which is the editor there. The agents are those of tools/agents.py.
"""

import fcntl
import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".make" / "editors"
SDK = FOLDER / "sdk" / "bin" / "python"
REQUIREMENTS = ROOT / "requirements" / "editors.txt"


def main() -> int:
    """What cannot be had is said; its tests are skipped."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    stamp = FOLDER.with_suffix(".stamp")
    wanted = sys.version + hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    with FOLDER.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return 0
        print("Setting up .make/editors (30 MB) …", file=sys.stderr, flush=True)
        stamp.unlink(missing_ok=True)
        if _done([sys.executable, "-m", "venv", str(SDK.parents[1])]) and _done(
            [str(SDK), "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(REQUIREMENTS)]
        ):
            stamp.write_text(wanted, encoding="utf-8")
    return 0


def _done(words: list[str]) -> bool:
    try:
        return subprocess.run(words, check=False, timeout=600).returncode == 0
    except (OSError, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return False


if __name__ == "__main__":
    sys.exit(main())
