"""The risk of a change plan: critical files, state files, the number of files, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.policy.risk import change_risk, words
from ringi.policy.risk_level import Risk, RiskCode, RiskReason
from tests.tables import each

FILES = [f"src/{n}.py" for n in range(30)]
ORDER = list(Risk)


@pytest.mark.req("CP-6")
@each(
    ("files", "risk", "reasons"),
    [
        ([], Risk.LOW, []),
        (FILES[:1], Risk.LOW, []),
        (FILES[:5], Risk.LOW, []),
        (FILES[:6], Risk.MEDIUM, ["6 files change"]),
        (FILES[:20], Risk.MEDIUM, ["20 files change"]),
        (FILES[:21], Risk.HIGH, ["21 files change"]),
        (FILES[:5] * 5, Risk.LOW, []),
        (["app.db"], Risk.MEDIUM, ["app.db is a database or a file of state"]),
        (["pyproject.toml"], Risk.HIGH, ["pyproject.toml is a build or deploy file"]),
        (
            ["x.py", "uv.lock", ".env", "a.tfstate"],
            Risk.HIGH,
            [
                ".env is a file for credentials",
                "uv.lock is a lock file",
                "a.tfstate is a database or a file of state",
            ],
        ),
        (
            ["CLAUDE.md", *FILES[:5]],
            Risk.HIGH,
            ["CLAUDE.md is a file that makes tools run code or agents obey", "6 files change"],
        ),
        (["launch/x.sh"], Risk.HIGH, ["launch/x.sh is critical by configuration"]),
        (["cache.dat"], Risk.MEDIUM, ["cache.dat is a database or a file of state"]),
    ],
)
def test_cases(files: list[str], risk: Risk, reasons: list[str]):
    found, why = change_risk(files, ("launch/**",), ("*.dat",))
    assert found is risk
    assert [words(reason) for reason in why] == reasons


@pytest.mark.req("CP-6")
def test_reasons_are_facts():
    _, reasons = change_risk(["Makefile", "x.db", *FILES[:4]])
    assert reasons == (
        RiskReason(RiskCode.CRITICAL_FILE, "Makefile"),
        RiskReason(RiskCode.MUTABLE_STATE, "x.db"),
        RiskReason(RiskCode.MANY_FILES, "6"),
    )


names = st.sampled_from(["Makefile", "x.db", ".env", *FILES])


@pytest.mark.req("CP-6")
@given(st.lists(names, max_size=30), st.lists(names, max_size=10))
def test_more_files_never_lower_the_risk(some: list[str], more: list[str]):
    before, reasons = change_risk(some)
    after, _ = change_risk(some + more)
    assert ORDER.index(after) >= ORDER.index(before)
    assert (before is Risk.LOW) == (not reasons)
