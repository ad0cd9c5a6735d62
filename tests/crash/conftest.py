import contextlib
from collections.abc import Iterator

import pytest

from tests.crash.killing import Driver


@pytest.fixture(scope="session")
def driver() -> Iterator[Driver]:
    with contextlib.closing(Driver()) as driver:
        yield driver
