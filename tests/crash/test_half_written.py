"""The storage fails in the middle and goes on failing: nobody says that nothing is half-written."""

import errno
import os
from pathlib import Path

import pytest

from ringi.errors import HalfWritten
from ringi.plans.execution import ExecutionResult
from tests.crash.foreign import Desk
from tests.crash.scenarios import PLAIN, Scenario
from tests.helpers import write

FILES = 30
SWAP = "exchange"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    names = [f"{number}.txt" for number in range(FILES)]
    before = dict.fromkeys(names, (b"before\n", PLAIN))
    specs = tuple(write(name, "after\n", group="all") for name in names)
    return Desk(tmp_path_factory.mktemp("half"), Scenario("half", before, specs))


class Broken:
    """From the given swap on every swap fails, back as well as forward."""

    def __init__(self, swap: int, error: int) -> None:
        self._left, self._error = swap, error

    def __call__(self, _: int, name: str) -> None:
        self._left -= name == SWAP
        if name == SWAP and self._left < 0:
            raise OSError(self._error, os.strerror(self._error))


def written(root: Path) -> int:
    return sum(path.read_bytes() == b"after\n" for path in root.glob("*.txt"))


@pytest.mark.req("PT-9")
@pytest.mark.parametrize("error", [errno.EIO, errno.EMFILE, errno.ENOSPC])
@pytest.mark.parametrize("swap", [0, 1, FILES // 2, FILES - 1])
def test_it_says_how_far_it_came(desk: Desk, swap: int, error: int):
    found = desk.execute(Broken(swap, error))
    there = written(desk.root)
    assert there == swap
    if swap == 0:
        assert isinstance(found, ExecutionResult), "nothing had to be taken back"
        return
    assert isinstance(found, HalfWritten)
    assert str(found) == f"Stopped with {there} of {FILES} files written: {os.strerror(error)}"
    assert "ringi recover" in found.hint
    with desk.world(Broken(0, error)) as world, pytest.raises(HalfWritten) as caught:
        world.tool.recover()
    assert caught.value.details["done"] == there
    desk.settled(found)
    assert written(desk.root) == FILES
