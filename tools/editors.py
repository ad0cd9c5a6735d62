"""Real parts for `make test-editors`, at pinned versions, in .make/editors: the official SDK of the Agent
Client Protocol, which is the editor there, and the adapters through which Claude Code and Codex speak it. The
other agents are those of tools/agents.py.
"""

import hashlib
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".make" / "editors"
SDK = FOLDER / "sdk" / "bin" / "python"
REQUIREMENTS = ROOT / "requirements" / "editors.txt"
_SCOPE = "@agentclientprotocol"
PACKAGES = (f"{_SCOPE}/claude-agent-acp@0.99.1", f"{_SCOPE}/codex-acp@2.6.0")
ADAPTERS = {
    name: FOLDER / "node_modules" / _SCOPE / name / "dist" / "index.js"
    for name in ("claude-agent-acp", "codex-acp")
}


def main() -> int:
    import pinned  # noqa: PLC0415  # beside this file only when it runs as a script

    def all_of_them() -> bool:
        sdk = pinned.with_pip(SDK.parents[1], ["--require-hashes", "-r", str(REQUIREMENTS)])
        npm = shutil.which("npm")
        if npm is None:
            print("npm is not installed; it has the adapters", file=sys.stderr)
            return False
        return pinned.with_npm([npm], FOLDER, PACKAGES) and sdk

    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    return pinned.set_up(FOLDER, [wanted, *PACKAGES], "850 MB", all_of_them)


if __name__ == "__main__":
    sys.exit(main())
