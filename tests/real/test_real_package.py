"""A run on a real package with its real tests, killed at every transition: `make show-runs MIRROR=…`."""

import contextlib
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tools.packages import FOLDER, PACKAGES
from tools.tasks import python_of

from tests.crash.killing import Driver
from tests.crash.run_bureau import Bureau, Story
from tests.functional.run_desk import a_plan, a_step, at_home, by_step

if not os.environ.get("RINGI_MIRROR"):
    pytest.skip("it is fetched first: make show-runs MIRROR=…", allow_module_level=True)

NAME = "click"
PYTEST = f"PYTHONPATH=src {python_of(NAME)} -m pytest -q -p no:cacheprovider"
TESTED = {"unit": [f"{PYTEST} tests/test_utils.py tests/test_formatting.py"]}
TEST = """

def test_short_help_ends_with_a_question():
    assert click.utils.make_default_short_help("Why? Because it is there.", 10) == "Why?"
"""
MORE = """

def test_short_help_ends_with_an_exclamation():
    assert click.utils.make_default_short_help("Stop! It is there already.", 10) == "Stop!"
"""
PAGES = ("CHANGES.rst", "docs/documentation.rst")
LINES = "\\nA short help text ends with the first sentence,\\nalso if that ends with a question mark.\\n"
FINDING = '{"passed": false, "findings": [{"severity": "error", "message": "test ! too"}]}'


def story(package: Path) -> Story:
    """The first step breaks tests of the package, the second is sent back, the third is too large."""
    wrong = """sed -i 's/if word\\[-1\\] == "\\.":/if word[-1] not in ".!?":/' src/click/utils.py"""
    mended = """sed -i 's/if word\\[-1\\] not in/if word[-1] in/' src/click/utils.py"""
    # What is appended stands beside the scripts: a shell would need too many quotes.
    (package.parent / "test").write_text(TEST)
    (package.parent / "more").write_text(MORE)
    tests = f"cat {package.parent}/test >> tests/test_utils.py"
    more = f"if grep -q 'test ! too' $1; then {tests.replace('/test ', '/more ')}; else {tests}; fi"
    pages = "; ".join(f"if grep -q '^- .{page}' $1; then printf '{LINES}' >> {page}; fi" for page in PAGES)
    steps = (
        a_step(1, title="End a short help text with any sentence", commands=TESTED,
               scope={"target_paths": ["src/click/utils.py"]}),
        a_step(2, title="Test it", commands=TESTED, scope={"target_paths": ["tests/test_utils.py"]}),
        a_step(3, title="Document it", commands=TESTED,
               scope={"target_paths": list(PAGES), "max_diff_lines": 4}),
    )  # fmt: skip
    reviewer = (
        'case "$(head -n 5 $1)$(tail -n 3 tests/test_utils.py)" in *S02*Stop*) ;;'
        f" *S02*) echo '{FINDING}'; exit;; esac; echo '{{\"passed\": true, \"findings\": []}}'"
    )
    implementer = by_step(f"if grep -q 'FAILED' $1; then {mended}; else {wrong}; fi", more, pages, pages)
    plan = a_plan(*steps, limits={"timeout_sec": 600})
    return Story(plan, {"implementer": implementer, "reviewer": reviewer}, files=package)


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        yield base


@pytest.fixture
def package(base: Path) -> Path:
    with tarfile.open(FOLDER / f"{NAME}-{PACKAGES[NAME]}.tar.gz") as archive:
        archive.extractall(base, filter="data")
    root = base / f"{NAME}-{PACKAGES[NAME]}"
    for made in root.glob("**/*.egg-info"):
        shutil.rmtree(made)
    return root


@pytest.fixture
def driver() -> Iterator[Driver]:
    with contextlib.closing(Driver()) as driver:
        yield driver


@pytest.mark.req("RN-4", "RN-5", "RN-7", "RN-10", "RN-14")
def test_a_real_package_killed_at_every_transition(
    driver: Driver,
    base: Path,
    package: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
):
    bureau = Bureau(base, monkeypatch, story(package))
    whole = bureau.whole(driver)
    assert [message.partition("\n")[0] for _, message in whole.commits] == [
        "End a short help text with any sentence",
        "Test it",
        "Document it (1 of 2)",
        "Document it (2 of 2)",
    ]
    assert [[step.cycle for step in run.steps] for run in bureau.runs()] == [[1, 1, 0], [1, 1, 0, 0]]
    kills = {}
    for moment in ("call", "return"):
        kills[moment] = bureau.killed_at_saves(driver, moment)
        assert bureau.ended() == whole
    told = (
        f"{NAME}: killed {kills['call']} times before a transition was saved, {kills['return']} times after"
    )
    record_property("story", [told])
