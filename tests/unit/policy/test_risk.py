"""Risk from facts alone: kind, size, path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.domain.plan import (
    ActionSpec,
    ActionSpecExt,
    Category,
    Preflight,
    Risk,
    RiskCode,
    SpecKind,
    highest,
)
from ringi.policy.risk import CRITICAL, Facts, Thresholds, assess, critical_category, matches, score

LIMITS = Thresholds(large_overwrite_lines=300, large_overwrite_bytes=65_536)


def facts(
    kind: str = "write", path: str = "src/x.py", *, exists: bool = True, lines: int = 1, size: int = 0
) -> Facts:
    return Facts(SpecKind(kind), path, exists=exists, changed_lines=lines, changed_bytes=size)


@pytest.mark.req("PT-7")
@pytest.mark.parametrize(
    ("given_", "codes"),
    [
        (facts(), []),
        (facts("create", exists=False, lines=100_000), []),
        (facts("write", exists=False, lines=100_000), []),
        (facts(lines=299), []),
        (facts(lines=300), ["large_overwrite"]),
        (facts(lines=0, size=65_535), []),
        (facts(lines=0, size=65_536), ["large_rewrite"]),
        (facts("delete", lines=1), ["delete"]),
        (facts("delete", lines=5000), ["delete"]),
        (facts("delete", ".env"), ["delete", "critical_file"]),
        (facts(path="Makefile", lines=400), ["large_overwrite", "critical_file"]),
        (facts("create", "a/b/conftest.py", exists=False), ["critical_file"]),
    ],
)
def test_cases(given_: Facts, codes: list[str]):
    risk, reasons = assess(given_, LIMITS)
    assert [str(reason.code) for reason in reasons] == codes
    assert risk is (Risk.HIGH if codes else Risk.LOW)


CRITICAL_PATHS = {
    "uv.lock": Category.LOCK,
    "deep/down/Cargo.lock": Category.LOCK,
    "requirements-dev.txt": Category.LOCK,
    "package-lock.json": Category.LOCK,
    ".github/workflows/ci.yml": Category.CI,
    "sub/.github/x": Category.CI,
    ".gitlab-ci.yml": Category.CI,
    ".ci/run": Category.CI,
    "migrations/0001.py": Category.MIGRATION,
    "app/migrations/0001.py": Category.MIGRATION,
    ".env": Category.CREDENTIALS,
    "conf/.env.production": Category.CREDENTIALS,
    "tls/server.KEY": Category.CREDENTIALS,
    "id_rsa.pub": Category.CREDENTIALS,
    ".netrc": Category.CREDENTIALS,
    "Makefile": Category.BUILD,
    "makefile": Category.BUILD,
    "PYPROJECT.TOML": Category.BUILD,
    "Dockerfile.dev": Category.BUILD,
    "infra/main.tf": Category.BUILD,
    "tests/conftest.py": Category.OBEYED,
    ".vscode/settings.json": Category.OBEYED,
    "AGENTS.md": Category.OBEYED,
    "docs/CLAUDE.md": Category.OBEYED,
    ".gitattributes": Category.OBEYED,
    ".husky/pre-commit": Category.OBEYED,
    "x.pth": Category.OBEYED,
}
ORDINARY = [
    "src/main.py", "README.md", "docs/github/x.md", "locks.py", "makefiles/x.py", "migrations", "env",
    "a.env",
    "setup.pyx", "github/x", "mymigrations/x.py", "keys/readme.txt", "conftest.py.txt", "xMakefile",
]  # fmt: skip


@pytest.mark.req("PT-7")
@pytest.mark.parametrize(("path", "category"), CRITICAL_PATHS.items())
def test_critical_files(path: str, category: Category):
    assert critical_category(path) is category


@pytest.mark.req("PT-7")
@pytest.mark.parametrize("path", ORDINARY)
def test_ordinary_files(path: str):
    assert critical_category(path) is None


def test_every_category_has_globs_that_match_something():
    assert set(CRITICAL_PATHS.values()) == set(CRITICAL)
    for globs in CRITICAL.values():
        for glob in globs:
            assert matches(glob.replace("/**", "/x").replace("*", "x"), glob)


@pytest.mark.parametrize(
    ("path", "glob", "expected"),
    [
        ("deploy/x/y", "deploy/**", True),
        ("a/deploy/x", "deploy/**", True),
        ("deploys/x", "deploy/**", False),
        ("deploy", "deploy/**", False),
        ("a/b/c.sql", "*.sql", True),
        ("a/b/c.sql", "a/*.sql", True),
        ("c.sql", "a/*.sql", False),
        ("A/B.SQL", "a/b.sql", True),
        ("[x]", "[x]", False),
    ],
)
def test_globs(path: str, glob: str, expected: bool):
    assert matches(path, glob) is expected


paths = st.lists(st.text("abxyz.-_", min_size=1, max_size=6), min_size=1, max_size=4).map("/".join)
globs = st.lists(st.text("abx*?.[]-!", min_size=1, max_size=5), min_size=1, max_size=3).map("/".join)
all_facts = st.builds(
    Facts,
    kind=st.sampled_from(SpecKind),
    path=paths,
    exists=st.booleans(),
    changed_lines=st.integers(0, 1000),
    changed_bytes=st.integers(0, 100_000),
)
ORDER = [Risk.LOW, Risk.MEDIUM, Risk.HIGH]


@pytest.mark.req("PT-7")
@given(all_facts, st.lists(globs, max_size=4), globs)
def test_one_more_glob_never_lowers_the_risk(given_: Facts, some: list[str], more: str):
    before, reasons = assess(given_, LIMITS._replace(critical=tuple(some)))
    after, more_reasons = assess(given_, LIMITS._replace(critical=(*some, more)))
    assert ORDER.index(after) >= ORDER.index(before)
    assert {reason.code for reason in more_reasons} >= {reason.code for reason in reasons}


@pytest.mark.req("PT-7")
@given(all_facts, st.integers(0, 500), st.integers(0, 50_000))
def test_stricter_limits_never_lower_the_risk(given_: Facts, lines: int, size: int):
    loose, _ = assess(given_, LIMITS)
    strict, _ = assess(given_, Thresholds(min(lines, 300), min(size, 65_536)))
    assert ORDER.index(strict) >= ORDER.index(loose)


def spec(risk: Risk) -> ActionSpecExt:
    flight = Preflight(exists=False, overwrite=False, diff_summary="")
    return ActionSpecExt("s", ActionSpec(SpecKind.WRITE), risk, validated=True, preflight=flight)


@given(st.lists(st.sampled_from(Risk), max_size=30))
def test_the_score_is_between_nothing_and_one_and_follows_the_riskiest(risks: list[Risk]):
    found = score([spec(risk) for risk in risks])
    assert 0.0 <= found <= 1.0
    if risks:
        base = {Risk.LOW: 0.1, Risk.MEDIUM: 0.5, Risk.HIGH: 0.9}[highest(tuple(risks))]
        assert base <= found <= round(base + 0.1, 3)
        assert score([spec(risk) for risk in [*risks, Risk.HIGH]]) >= found


def test_codes_are_told_apart():
    assert (
        len({RiskCode.LARGE_REWRITE, RiskCode.LARGE_OVERWRITE, RiskCode.DELETE, RiskCode.CRITICAL_FILE}) == 4
    )
