"""What the walk takes for a claim of success, and what not."""

import pytest

from tests.walk.claims import claims_of_success


@pytest.mark.parametrize(
    "seen",
    [
        "  Acceptance criteria: 3 of 3 met\n",
        "  Acceptance criteria: 1 of 3 met\n",
        "AC-01 — met\n",
        "AC-02 is met: see S01\n",
        "  受け入れ条件: 3 件中 3 件を達成\n",
        "AC-01 — 達成\n",
        "Goal achieved\n",
        "1 criterion verified by pytest\n",
    ],
)
def test_claim_in_words_is_found(seen: str):
    assert claims_of_success(f"something before\n{seen}something after\n")


@pytest.mark.parametrize(
    "seen",
    [
        "  Acceptance criteria: 0 of 3 met\n",
        "AC-01 — not met: S01 is not done\n",
        "AC-01 — not checked\n  `pytest`: exit code 0 · 5.0 s\n",
        "AC-01 is not met: S01 is not done\n",
        "AC-01 は未達成: 理由\n",
        "✓ S01 is committed on the run's branch\n",
        "  tests: passed on exactly these bytes: pytest\n",
        "1 of 1 steps done\n",
        "受け入れ条件: 3 件中 0 件を達成\n",
    ],
)
def test_fact_is_no_claim(seen: str):
    assert claims_of_success(f"something before\n{seen}something after\n") == []


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ({"criteria": [{"id": "AC-01", "met": True}]}, ["criteria.met: True"]),
        ({"criteria": [{"id": "AC-01", "status": "met"}]}, ["criteria.status: met"]),
        ({"met": 3, "count": 3}, ["met: 3"]),
        ({"criteria": [{"id": "AC-01", "met": False}], "met": 0}, []),
        ({"criteria": [{"id": "AC-01", "status": "not_checked", "exit_code": 0}]}, []),
        (None, []),
    ],
)
def test_claim_in_values_is_found(document: object, found: list[str]):
    assert claims_of_success("", document) == found


def test_tests_that_are_gone_cannot_have_passed():
    seen = "  tests: passed on exactly these bytes: npm test\n"
    assert claims_of_success(seen, tests_are_gone=True)
    assert claims_of_success(f"{seen}  ! fewer tests than before\n", tests_are_gone=True) == []
    bare = "  tests: exit code 0 on exactly these bytes: npm test\n"
    assert claims_of_success(bare) == []
    assert claims_of_success(bare, tests_are_gone=True)
    warned = f"  ! tests were deleted or emptied: test/a.js\n{bare}"
    assert claims_of_success(warned, tests_are_gone=True) == []
    assert claims_of_success("  tests: failed with exit code 5: pytest\n", tests_are_gone=True) == []
