"""kill -9 at every file-system call of an execution, and how often an execution waits for the disk.

strace kills the process when it is about to make a call, without the program's knowledge. Everything is
tried with RINGI_CAMPAIGN=full; without it one plan that creates, overwrites and deletes, at some calls.
"""

from collections import Counter
from pathlib import Path

import pytest

from tests.crash import scenarios
from tests.crash.killing import FULL, KILLED, Driver, Victim, moments
from tests.crash.scenarios import PLAIN, Scenario
from tests.crash.tracing import SYNCS, counted, killed, refusal

SCENARIOS = (scenarios.SMALL, *scenarios.ALL) if FULL else (scenarios.SMALL,)
CHANGING = (
    *("openat", "write", "pwrite64", "ftruncate", "fchmod", "mkdirat", "unlinkat", "linkat", "renameat"),
    *("renameat2", "fsync", "fdatasync", "syncfs", "flock"),
)
# Under another kernel or C library the same functions may make these instead.
ALSO_CHANGING = (
    *(
        "open",
        "creat",
        "openat2",
        "writev",
        "pwritev",
        "pwritev2",
        "truncate",
        "fallocate",
        "copy_file_range",
    ),
    *("sendfile", "chmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utimensat"),
    *("mkdir", "rmdir", "unlink", "link", "symlink", "symlinkat", "rename", "msync", "sync"),
    *("sync_file_range", "setxattr", "fsetxattr", "mknodat"),
)
MOST_SYNCS = 12
SIZES = (("2000",), ("2000", "2000", "1"), ("2000",) * 3, ("100",) * 60)


@pytest.fixture(scope="module", autouse=True)
def strace():
    if why := refusal():
        pytest.skip(why)


@pytest.mark.req("PT-6", "PT-12")
@pytest.mark.parametrize("call", CHANGING)
@pytest.mark.parametrize("kind", ["execute", "undo"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_killed_at_every_call(driver, tmp_path, scenario, kind, call):
    victim = Victim(tmp_path, scenario, kind)
    code, calls = counted(driver, victim.fresh(), [call])
    assert code == 0
    for number in moments(calls[call], CHANGING.index(call), kind == "undo"):
        assert killed(driver, victim.fresh(), call, number) == KILLED
        assert victim.problems() == [], f"killed before {call} number {number} of {calls[call]}"
    assert killed(driver, victim.fresh(), call, calls[call] + 1) == 0
    assert victim.problems() == []


@pytest.mark.parametrize("kind", ["execute", "undo"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_no_changing_call_is_left_out(driver, tmp_path, scenario, kind):
    victim = Victim(tmp_path, scenario, kind)
    code, calls = counted(driver, victim.fresh())
    assert code == 0
    assert calls["openat"] > 10
    assert [call for call in ALSO_CHANGING if calls[call]] == []


def syncs(driver: Driver, folder: Path, scenario: Scenario) -> Counter[str]:
    victim = Victim(folder, scenario, "execute")
    code, calls = counted(driver, victim.fresh(), SYNCS)
    assert code == 0
    return calls


@pytest.mark.parametrize("count", [1, 3, 50, 500])
@pytest.mark.parametrize("what", ["create", "overwrite", "delete"])
def test_few_syncs_whatever_the_number_of_files(driver, tmp_path, record_property, what, count):
    names = [f"folder/{number:03}.txt" for number in range(count)]
    before = {} if what == "create" else {name: (name.encode(), PLAIN) for name in names}
    make = scenarios.delete if what == "delete" else lambda name: scenarios.write(name, f"after {name}\n")
    calls = syncs(driver, tmp_path, Scenario(what, before, [make(name) for name in names]))
    record_property("syncs", dict(calls))
    assert 1 <= calls.total() <= MOST_SYNCS, calls


@pytest.mark.parametrize("sizes", SIZES, ids=lambda sizes: f"{len(sizes)} up to {sizes[0]} from {sizes[-1]}")
@pytest.mark.parametrize("what", ["create", "overwrite"])
def test_few_syncs_whatever_the_size_of_files(driver, tmp_path, record_property, what, sizes):
    """Large ones lie beside the ledger, and many make it longer than it lets its own log grow."""
    kilobytes = {f"folder/{number:03}.txt": size for number, size in enumerate(map(int, sizes))}
    before = {name: (name.encode() * 100 * size, PLAIN) for name, size in kilobytes.items()}
    specs = [scenarios.write(name, f"{name}\n" * 70 * size) for name, size in kilobytes.items()]
    calls = syncs(driver, tmp_path, Scenario(what, {} if what == "create" else before, specs))
    record_property("syncs", dict(calls))
    assert 1 <= calls.total() <= MOST_SYNCS, calls
