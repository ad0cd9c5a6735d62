"""kill -9 at every audited event of an execution: opening the workspace again settles it.

The fast version: Python reports file and database calls before it makes them, and a hook in the child
kills it there. What Python does not report (syncs, exchanges, the database's own writes) is in
test_strace.py.
"""

import itertools

import pytest

from tests.crash import scenarios
from tests.crash.killing import EVERY, FULL, KILLED, Victim

PARTS = 2
SOME = (
    (scenarios.SMALL, "execute"),
    (scenarios.SMALL, "undo"),
    (scenarios.EDITED, "undo"),
    (scenarios.MIXED, "execute"),
)
ALL = tuple(itertools.product((scenarios.SMALL, *scenarios.ALL), ("execute", "undo")))
CASES = ALL if FULL else SOME


@pytest.mark.req("PT-6", "PT-12")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("scenario", "kind"), CASES, ids=lambda value: getattr(value, "name", value))
def test_killed_at_every_event(driver, tmp_path, scenario, kind, part):
    victim = Victim(tmp_path, scenario, kind)
    event = 1 + part + PARTS * (CASES.index((scenario, kind)) % EVERY)
    while (code := driver.run(victim.fresh(event=event))) == KILLED:
        assert victim.problems() == [], f"killed before event {event}"
        event += PARTS * EVERY
    assert code == 0
    assert event > 50
    assert victim.problems() == []
