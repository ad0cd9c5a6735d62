"""One at a time: waited for, named, and free again when its holder is gone."""

import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ringi.errors import Busy, StorageFailed
from ringi.kernel.lock import FileLock, PassingLock
from tests.helpers import open_scratch, proposed, python, write

HOLD = """
import sys
from pathlib import Path
from ringi.kernel.lock import FileLock
with FileLock(Path(sys.argv[1]), 1)("execute"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path):
    child = python(HOLD, str(tmp_path / "lock"), stdin=subprocess.PIPE)
    assert child.stdout.readline() == "held\n"
    yield child
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()


def test_held_by_a_living_process(holder, tmp_path: Path):
    lock = FileLock(tmp_path / "lock", 0.2)
    with pytest.raises(Busy, match=f"process {holder.pid} \\(execute\\)") as caught, lock("undo"):
        pytest.fail("two hold it")
    assert caught.value.exit_code == 7
    holder.stdin.close()
    holder.wait()
    with FileLock(tmp_path / "lock", 0.2)("undo"):
        assert (tmp_path / "lock").read_text().rstrip() == f"{os.getpid()} undo"


def test_waited_for(holder, tmp_path: Path):
    holder.stdin.close()
    with FileLock(tmp_path / "lock", 30)("undo"):
        assert holder.wait() == 0


def test_taken_over_from_a_dead_process(holder, tmp_path: Path):
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert (tmp_path / "lock").read_text().rstrip() == f"{holder.pid} execute"
    with FileLock(tmp_path / "lock", 0.2)("undo"):
        assert (tmp_path / "lock").read_text().rstrip() == f"{os.getpid()} undo"


def test_released_after_an_error(tmp_path: Path):
    lock = FileLock(tmp_path / "lock", 0)
    with pytest.raises(ZeroDivisionError), lock("one"):
        raise ZeroDivisionError
    with lock("two"):
        assert (tmp_path / "lock").exists()


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"12345", b"x" * 10_000, b"1 \x1b[2J"])
def test_the_content_of_the_file_decides_nothing(holder, tmp_path: Path, text: bytes):
    (tmp_path / "lock").write_bytes(text)
    with pytest.raises(Busy), FileLock(tmp_path / "lock", 0)("undo"):
        pytest.fail("two hold it")


def test_a_link_in_its_place_is_refused(tmp_path: Path):
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageFailed), FileLock(tmp_path / "lock", 0)("x"):
        pytest.fail("followed")
    assert not (tmp_path / "elsewhere").exists()


def test_execute_while_somebody_else_does(tmp_path: Path):
    with open_scratch(tmp_path, RINGI_LOCK_WAIT_SEC="0.1") as ws:
        plan_id = proposed(ws, write("README.md", "x\n"))
        child = python(HOLD, str(ws.places.state / "lock"), stdin=subprocess.PIPE)
        try:
            assert child.stdout.readline() == "held\n"
            for call in (lambda: ws.plan.execute(plan_id), ws.plan.recover):
                with pytest.raises(Busy, match=f"process {child.pid}"):
                    call()
            # Deciding does not need it.
            ws.plan.request_approval(plan_id)
        finally:
            child.kill()
            child.communicate()


def test_a_lock_of_one_of_many_leaves_no_file(tmp_path: Path):
    lock = PassingLock(tmp_path / "lock", 0)
    with lock("one"):
        assert (tmp_path / "lock").exists()
        with pytest.raises(Busy), lock("two"):
            pytest.fail("two hold it")
        assert (tmp_path / "lock").exists(), "who waited in vain removes nothing"
    with pytest.raises(ZeroDivisionError), lock("three"):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "lock").write_bytes(b"left by one that was killed")
    with lock("four"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_never_two_hold_it_though_its_file_comes_and_goes(tmp_path: Path):
    inside, most = [0], [0]

    def take(_: int) -> None:
        for _ in range(5):
            with PassingLock(tmp_path / "lock", 30)("x"):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0)
                inside[0] -= 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(take, range(4)))
    assert most == [1]
    assert list(tmp_path.iterdir()) == []
