"""Which tests a plan takes away, as far as its specs tell."""

import pytest

from ringi.plans.view import find_lost_tests
from ringi.policy.risk_level import Risk, RiskCode, RiskReason
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec, ActionSpecExt, Preflight


def spec(path: str, *codes: RiskCode) -> ActionSpecExt:
    base = ActionSpec(kind=SpecKind.WRITE, path=path, content="")
    reasons = tuple(RiskReason(code, path) for code in codes)
    preflight = Preflight(exists=True, overwrite=True, diff_summary="")
    return ActionSpecExt("s1", base, Risk.LOW, validated=True, preflight=preflight, risk_reasons=reasons)


@pytest.mark.parametrize("code", [RiskCode.DELETE, RiskCode.EMPTIED])
@pytest.mark.parametrize("path", ["tests/test_app.py", "test/app.js", "src/app.test.ts", "pkg/app_test.go"])
def test_deleted_and_emptied_tests_are_named(path: str, code: RiskCode) -> None:
    found = find_lost_tests([spec("src/app.py", code), spec(path, code), spec("README.md", code)])
    assert str(found) == f"! tests were deleted or emptied: {path}"


def test_changed_tests_and_other_files_are_not() -> None:
    changed = spec("tests/test_app.py", RiskCode.LARGE_OVERWRITE)
    assert find_lost_tests([changed, spec("src/app.py", RiskCode.EMPTIED), spec("tests/test_b.py")]) is None


def test_many_are_counted() -> None:
    found = find_lost_tests([spec(f"test/{name}.js", RiskCode.EMPTIED) for name in "abcd"])
    assert str(found) == "! tests were deleted or emptied: test/a.js, test/b.js and 2 more"
