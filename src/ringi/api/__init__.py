"""The public Python API; `ringi` re-exports it."""

from ringi.api.workspace import Workspace, open_workspace

__all__ = ["Workspace", "open_workspace"]
