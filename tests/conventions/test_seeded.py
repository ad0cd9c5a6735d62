"""The seeded faults can be put in, and the tests that they name are there; `make seeded` runs those."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tools import seeded

from tests.helpers import make_files

SUBJECTS = ("execute", "recover", "approve", "verify", "sandbox", "undo", "ledger")
FAULTS = seeded.read_faults()


def test_there_are_enough_of_every_subject():
    count = Counter(fault.subject for fault in FAULTS)
    assert len(FAULTS) >= 40
    assert [subject for subject in SUBJECTS if count[subject] < 4] == []
    assert [name for name, times in Counter(fault.name for fault in FAULTS).items() if times > 1] == []


def test_every_fault_applies_exactly_once():
    sources = seeded.Sources()
    places = {fault.name: seeded.place_of(sources, fault) for fault in FAULTS}
    assert {name: place for name, place in places.items() if isinstance(place, str)} == {}


def test_every_fault_says_what_it_does_and_names_tests_that_are_there():
    tests = seeded.Tests()
    for fault in FAULTS:
        assert fault.harm.endswith("."), fault.name
        assert fault.tests, fault.name
        assert [test for test in fault.tests if tests.find(test) is None] == [], fault.name


def fault(find: str, replace: str = "", tests: tuple[str, ...] = ()) -> seeded.Fault:
    return seeded.Fault("subject", "name", "It hurts.", find, replace, tests)


MODULE = """\
class Here:
    def ask(self) -> int:
        if self.sure:

            return 1
        return 2
"""


def test_lines_are_found_wherever_they_are_moved(tmp_path: Path):
    make_files(tmp_path, {"src/ringi/deep/er.py": MODULE, "src/ringi/other.py": "return 21\n"})
    wanted = fault("if self.sure:\n\n    return 1\n", "if not self.sure:\n    return 3\n")
    [(path, text)] = seeded.Sources(tmp_path).patched(wanted)
    assert path == Path("src/ringi/deep/er.py")
    assert text == MODULE.replace(
        "        if self.sure:\n\n            return 1\n", "        if not self.sure:\n            return 3\n"
    )


def test_lines_that_are_gone_or_stand_twice_do_not_apply(tmp_path: Path):
    make_files(tmp_path, {"src/ringi/one.py": MODULE, "src/ringi/two.py": MODULE})
    sources = seeded.Sources(tmp_path)
    assert "gone" in str(seeded.place_of(sources, fault("return 3\n")))
    assert "gone" in str(seeded.place_of(sources, fault("if self.sure:\n    return 1\n")))
    assert "two.py" in str(seeded.place_of(sources, fault("return 2\n")))


def test_a_test_that_was_moved_is_found_unless_two_have_its_name(tmp_path: Path):
    make_files(
        tmp_path,
        {
            "tests/new/test_one.py": "def test_moved():\n    pass\n\ndef test_twice():\n    pass\n",
            "tests/test_two.py": "class TestIt:\n    def test_twice(self):\n        pass\n",
        },
    )
    tests = seeded.Tests(tmp_path)
    assert tests.find("tests/test_one.py::test_moved[a]") == "tests/new/test_one.py::test_moved[a]"
    assert tests.find("tests/test_two.py::TestIt::test_twice") == "tests/test_two.py::TestIt::test_twice"
    assert tests.find("tests/test_one.py::test_twice") is None
    assert tests.find("tests/test_one.py::test_gone") is None


TESTS = """\
import pytest

@pytest.fixture
def broken():
    raise AssertionError("at set-up")

@pytest.fixture
def untidy():
    yield
    raise AssertionError("afterwards")

@pytest.mark.parametrize("number", [1, 2])
def test_asserts(number):
    assert number == 1, "the second"

def test_passes():
    pass

def test_skips():
    pytest.skip("not here")

def test_names_nothing():
    nothing

def test_imports_nothing():
    import nothing

def test_at_set_up(broken):
    pass

def test_afterwards(untidy):
    pass
"""


def test_only_what_a_test_says_itself_is_a_catch(tmp_path: Path):
    make_files(tmp_path, {"test_it.py": TESTS, "pytest.ini": "[pytest]\n"})
    report = tmp_path / "report"
    argv = [sys.executable, "-m", "tools.seeded", "--jobs", "0", "--report", str(report)]
    subprocess.run([*argv, f"{tmp_path}/test_it.py"], cwd=seeded.ROOT, capture_output=True, check=False)
    outcomes = seeded.read_report(report)
    names = [
        "asserts",
        "passes",
        "skips",
        "names_nothing",
        "imports_nothing",
        "at_set_up",
        "afterwards",
        "gone",
    ]
    said = {name: seeded.summary(outcomes, f"test_it.py::test_{name}") for name in names}
    assert {name: one.result for name, one in said.items()} == {
        "asserts": "failed",
        "passes": "passed",
        "skips": "skipped",
        "names_nothing": "error",
        "imports_nothing": "error",
        "at_set_up": "error",
        "afterwards": "error",
        "gone": "error",
    }
    assert "the second" in said["asserts"].why


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        ({"caught_by": {"a": ""}}, True),
        ({}, False),
        ({"not_by": {"a": "passed"}}, False),
        ({"caught_by": {"a": ""}, "not_by": {"b": "passed"}}, False),
        ({"caught_by": {"a": ""}, "trouble": "gone"}, False),
    ],
)
def test_every_named_test_has_to_catch_it(given: dict[str, object], holds: bool):
    verdict = seeded.Verdict(fault("x"), **given)
    assert verdict.holds is holds
    assert ("It hurts." in verdict.show() or "gone" in verdict.show()) is not holds
