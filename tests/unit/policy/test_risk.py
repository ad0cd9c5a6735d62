"""Risk from facts alone: kind, size, path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ringi.config import keys
from ringi.policy.findings import findings
from ringi.policy.risk import RiskFacts, assess, is_emptied, is_unshown, score
from ringi.policy.risk_level import Risk, RiskCode, highest
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec, ActionSpecExt, Preflight
from tests.tables import each

LIMITS = keys.RiskConfig(large_overwrite_lines=300, large_overwrite_bytes=65_536)


KEY = b"AKIA" + b"Q3EGRX7LZ2MNB4TY"


def facts(
    kind: str = "write",
    path: str = "src/x.py",
    *,
    exists: bool = True,
    lines: int = 1,
    size: int = 0,
    added: bytes = b"",
) -> RiskFacts:
    found = findings(enumerate(added.split(b"\n"), 1)) if added else ()
    return RiskFacts(SpecKind(kind), path, exists, lines, size, found)


@pytest.mark.req("PT-7")
@each(
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
        (facts(added=b"x = 1\ny = 2\n"), []),
        (facts(added=b"x = '" + KEY + b"'"), ["secret"]),
        (facts(added=b"x = '\xe2\x80\xae'"), ["hidden_characters"]),
        (facts(path="Makefile", added=KEY + b"\n\x1b"), ["critical_file", "secret", "hidden_characters"]),
        (facts("delete", "data.db"), ["delete", "mutable_state"]),
    ],
)
def test_cases(given_: RiskFacts, codes: list[str]):
    risk, reasons = assess(given_, LIMITS)
    assert [str(reason.code) for reason in reasons] == codes
    assert risk is (Risk.HIGH if codes else Risk.LOW)


@pytest.mark.req("PT-7")
def test_a_state_file_alone_is_medium():
    risk, reasons = assess(facts(path="var/app.sqlite3"), LIMITS)
    assert risk is Risk.MEDIUM
    assert [(reason.code, reason.subject) for reason in reasons] == [
        (RiskCode.MUTABLE_STATE, "var/app.sqlite3")
    ]
    assert assess(facts(path="var/x.dat"), replace(LIMITS, mutable=("*.dat",)))[0] is Risk.MEDIUM


paths = st.lists(st.text("abxyz.-_", min_size=1, max_size=6), min_size=1, max_size=4).map("/".join)
globs = st.lists(st.text("abx*?.[]-!", min_size=1, max_size=5), min_size=1, max_size=3).map("/".join)
all_facts = st.builds(
    RiskFacts,
    kind=st.sampled_from(SpecKind),
    path=paths,
    exists=st.booleans(),
    changed_lines=st.integers(0, 1000),
    changed_bytes=st.integers(0, 100_000),
)
ORDER = [Risk.LOW, Risk.MEDIUM, Risk.HIGH]


@pytest.mark.req("PT-7")
@given(all_facts, st.lists(globs, max_size=4), globs)
def test_one_more_glob_never_lowers_the_risk(given_: RiskFacts, some: list[str], more: str):
    before, reasons = assess(given_, replace(LIMITS, critical=tuple(some)))
    after, more_reasons = assess(given_, replace(LIMITS, critical=(*some, more)))
    assert ORDER.index(after) >= ORDER.index(before)
    assert {reason.code for reason in more_reasons} >= {reason.code for reason in reasons}


@pytest.mark.req("PT-7")
@given(all_facts, st.integers(0, 500), st.integers(0, 50_000))
def test_stricter_limits_never_lower_the_risk(given_: RiskFacts, lines: int, size: int):
    loose, _ = assess(given_, LIMITS)
    strict, _ = assess(given_, keys.RiskConfig(min(lines, 300), min(size, 65_536)))
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


@pytest.mark.req("PT-7")
@each(
    ("path", "old", "new", "mode", "unshown"),
    [
        ("app.py", b"print()\n", b"import os\n#\0\n", "0644", True),
        ("run", None, b"#!/bin/sh\nrm -rf /\n#\0", "0644", True),
        ("run", None, b"\x7fELF\0", "0755", True),
        ("notes.txt", None, b"a\0", "0644", True),
        ("pic.png", None, b"\x89PNG\0", "0644", False),
        ("pic.png", b"\x89PNG\0", b"\x89PNG\0\1", "0644", False),
        ("app.py", b"print()\n", b"print(1)\n", "0755", False),
        ("app.py", b"print()\n", None, "0", False),
    ],
)
def test_what_is_executed_or_read_and_not_shown(path: str, old, new, mode: str, unshown: bool):
    assert is_unshown(path, old, new, mode) is unshown
    found = assess(RiskFacts(SpecKind.WRITE, path, True, 0, 0, unshown=unshown), LIMITS)
    assert (found[0] is Risk.HIGH) is unshown


@pytest.mark.req("PT-7")
@each(
    ("old", "new", "lost"),
    [
        (b"x\n", b"", True),
        (b"x\n", b"\n\n  \n", True),
        (b"\n", b"", False),
        (None, b"", False),
        (b"x\n", None, False),
        (b"1\n2\n3\n", b"1\n", False),  # small
        (b"".join(b"%d\n" % n for n in range(20)), b"".join(b"%d\n" % n for n in range(10)), False),
        (b"".join(b"%d\n" % n for n in range(20)), b"".join(b"%d\n" % n for n in range(9)), True),
        (b"".join(b"%d\n" % n for n in range(20)), b"0\n" * 400 + b"\n" * 400, True),  # filled up
        (b"x" * 5000, b"x", True),  # one long line
        (bytes(5000), bytes(100), True),
    ],
)
def test_emptying_a_file_counts_like_deleting_it(old: bytes | None, new: bytes | None, lost: bool):
    assert is_emptied(old, new) is lost


@pytest.mark.req("PT-7")
@given(st.lists(st.binary(max_size=20), max_size=30).map(b"\n".join), st.binary(max_size=30))
def test_more_content_never_makes_it_emptier(old: bytes, more: bytes):
    assert not is_emptied(old, old + b"\n" + more)
    assert not is_emptied(old, old)


@pytest.mark.req("PT-7")
@each(
    "start",
    [
        b"\x7fELF",
        b"MZ",
        b"\xcf\xfa\xed\xfe",
        b"\xca\xfe\xba\xbe",
        b"\0asm",
        b"\xa7\r\r\n",
        b"\x80\x04",
        b"\x1bLua",
    ],
)
def test_a_program_is_one_whatever_its_name(start: bytes):
    assert is_unshown("logo.png", None, start + bytes(20), "0644")


@pytest.mark.req("PT-7")
def test_other_binaries_are_unseen_and_at_least_medium():
    image = b"\x89PNG\r\n\x1a\n" + bytes(20)
    assert not is_unshown("logo.png", None, image, "0644")
    risk, reasons = assess(facts(path="logo.png")._replace(binary=True), LIMITS)
    assert (risk, [str(one.code) for one in reasons]) == (Risk.MEDIUM, ["binary"])
    # No difference between a binary and a text is shown.
    assert is_unshown("x", image, b"text now\n", "0644")


@pytest.mark.req("PT-7")
@given(all_facts)
def test_what_cannot_be_seen_is_never_low(given_: RiskFacts):
    for more in ({"binary": True}, {"emptied": True}, {"unshown": True}):
        assert assess(given_._replace(**more), LIMITS)[0] is not Risk.LOW
