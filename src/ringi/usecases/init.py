"""`ringi init`: what a new workspace gets."""

from pathlib import Path
from typing import Final

from ringi.errors import InTheWay, StorageFailed
from ringi.text import Text

_CONFIG: Final = """\
# Configuration of ringi for this project; commit it. Every key with its value and source: ringi config show
# Keys that guard can only be made stricter here than in a user's own ~/.config/ringi/config.yaml.
#
# approval:
#   expires_sec: 86400          # how long a request for approval stays open
#   together: none              # one answer for one plan, whatever a user's own file says
# risk:
#   critical: ["deploy/**"]     # beside the built-in globs
#   mutable: ["var/**"]         # files that hold state, beside the built-in globs
# limits:
#   max_file_bytes: 10485760
#   forbidden_extensions: [".pem"]
# checks:                       # in copies, before and after a plan is carried out; needs: ringi trust
#   before: ["make test"]
#   after: ["make test"]
#   on_failure: undo            # whatever a user's own file says
# run:                          # commands of plans
#   sandbox: required           # no command without one
#   allowed: ["make *"]         # no high risk; needs: ringi trust
#   environment: ["BUILD_TYPE"] # further variables they get; needs: ringi trust
#   timeout_sec: 600
# diagnostics:                  # what a project state says about errors; needs: ringi trust
#   commands: ["ruff check --output-format json"]
# with:
#   carry: ["node_modules"]     # ignored folders that agents need in their copy
#   checks: ["make test"]       # after an agent has worked, in its copy; needs: ringi trust
#   sandbox: required           # no agent without one
#   writable: ["~/.cache/pip"]  # what it may write to beside its copy; needs: ringi trust
#   keep_days: 14               # so long the copy of an open plan stays for ringi with --resume
# logs:
#   mask: ["EMP-[0-9]+"]        # more secrets to take out of logs; needs: ringi trust
# notify:
#   how: desktop                # when something waits: bell, desktop or off
"""


def initialise(root: Path, ignored: bytes) -> list[Path]:
    """Leaves existing files alone; returns the created ones. `ignored` is the content of .gitignore."""
    folder = root / ".agent"
    made = []
    try:
        if folder.is_symlink():
            raise InTheWay(what=str(folder), why=Text("it is a symbolic link"))
        folder.mkdir(exist_ok=True)
        for name, data in ((".gitignore", ignored), ("config.yaml", _CONFIG.encode())):
            path = folder / name
            # A dangling link exists too: writing would create its target.
            if not path.exists() and not path.is_symlink():
                path.write_bytes(data)
                made.append(path)
    except OSError as error:
        raise StorageFailed(what=error.filename or str(folder), why=error.strerror or str(error)) from None
    return made
