from pathlib import Path

import pytest

from tests.functional.desk import Desk


@pytest.fixture
def desk(repo: Path) -> Desk:
    return Desk(repo)
