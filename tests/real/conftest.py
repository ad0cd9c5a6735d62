"""How long each took, at the end."""

from tests.model.conftest import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]
