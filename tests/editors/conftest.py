"""Real editors, as `make test-editors` sets them up."""

from tests.functional.conftest import desk, key, listed  # noqa: F401  # fixtures
