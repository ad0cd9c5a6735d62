"""The gate between an AI coding agent and a repository."""

from ringi._version import __version__

__all__ = ["__version__"]
