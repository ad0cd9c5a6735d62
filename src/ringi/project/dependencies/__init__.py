"""Which file uses which (CP-3, CP-10), read from the bytes of a snapshot. No code of the workspace is run
or imported.
"""

from ringi.project.dependencies.graph import (
    SourceFile,
    analyse,
    analyser,
    dependents,
    is_final,
    unknown_users,
)

__all__ = ["SourceFile", "analyse", "analyser", "dependents", "is_final", "unknown_users"]
