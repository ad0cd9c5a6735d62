"""What every test of a real agent needs: a folder that is not below /tmp, and the wish to run it."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_WANTED = os.environ.get("RINGI_AGENTS") == "1"


@pytest.fixture
def base() -> Iterator[Path]:
    if not _WANTED:
        pytest.skip("real agents take minutes: make test-agents")
    with tempfile.TemporaryDirectory(prefix="ringi-agents-", dir="/var/tmp") as folder:
        yield Path(folder).resolve()
