"""Variables and folders that affect which repository and which tools a program uses."""

import os
from typing import Final

WITH_VARIABLE: Final = "RINGI_WITH"
"""Names the work copy that a command runs in."""

# Variables that would point git to another repository than the one it is started in.
GIT_PLACES: Final = frozenset(
    f"GIT_{name}"
    for name in (
        "DIR", "WORK_TREE", "INDEX_FILE", "OBJECT_DIRECTORY", "ALTERNATE_OBJECT_DIRECTORIES",
        "COMMON_DIR", "NAMESPACE", "PREFIX", "CEILING_DIRECTORIES",
    )
)  # fmt: skip
# Someone who can put a program into PATH must not decide which signatures count or what a sandbox is.
SYSTEM_PATH: Final = os.pathsep.join(
    ["/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin"]
)
