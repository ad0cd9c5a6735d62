"""Which file uses which (CP-3, CP-10), read from the bytes of a snapshot. No code of the workspace is run
or imported.
"""

from ringi.workspace.dependencies.graph import SourceFile, analyse, dependents, unknown_users

__all__ = ["SourceFile", "analyse", "dependents", "unknown_users"]
