"""The answers of `ringi verify RANGE`: for people, as JSON and as SARIF, each compared with a kept one."""

import json
from pathlib import Path

import pytest
from msgspec import UNSET

from ringi.approvals.document import ProofKind
from ringi.cli.ui import Ui
from ringi.kernel import codec
from ringi.ledger.subject import StepOf
from ringi.provenance.sarif import sarif
from ringi.provenance.verdict import Mode, RangeVerdict
from ringi.provenance.verify_range import Asked, Findings, Signing, verify_range
from ringi.provenance.view import range_lines
from tests.fakes.past import ALICE, NOW, MemoryHistory, PastKeys, change, statement, stored
from tests.helpers import ROOT

KEPT = ROOT / "tests" / "golden" / "range-1"


@pytest.fixture
def findings() -> Findings:
    """One file signed in two steps, one typed, one that nobody approved."""
    before = {name: stored(b"one\n") for name in ("signed.py", "typed.py", "nobody.py")}
    history = MemoryHistory(
        before, {**dict.fromkeys(before, stored(b"two\n")), "signed.py": stored(b"three\n")}
    )
    first = statement(change("signed.py", b"one\n", b"two\n"))
    step = StepOf("run-1", "S2", "req-1")
    second = statement(change("signed.py", b"two\n", b"three\n"), step=step)
    history.approve(first)
    history.approve(second)
    history.approve(statement(change("typed.py", b"one\n", b"two\n"), proof=ProofKind.TYPED), "")
    assert first.predicate.step is UNSET
    asked = Asked("range", "base..head", "base", "head", Mode.STRICT)
    return verify_range(history, asked, Signing(PastKeys(ALICE), None, NOW))


def kept(name: str, found: bytes) -> bytes:
    """To keep a new one, remove the file and run the test twice."""
    file: Path = KEPT / name
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(found)
        pytest.fail(f"{name} was written")
    return file.read_bytes()


def test_json(findings: Findings) -> None:
    found = codec.pretty(findings.document)
    assert found == kept("verdict.json", found)
    assert codec.decode_foreign(found, RangeVerdict, "verdict") == findings.document


def test_sarif(findings: Findings) -> None:
    found = codec.pretty(sarif([findings.document], "1.2.3"))
    assert found == kept("verdict.sarif", found)
    rules = json.loads(found)["runs"][0]["tool"]["driver"]["rules"]
    assert len(rules) == 1


def test_lines(findings: Findings) -> None:
    ui = Ui(as_json=False, environment={"NO_COLOR": "1"})
    assert [*ui.rows(range_lines(*findings))] == [
        "Range base..head: base to head",
        "✗ nobody.py",
        "    nobody approved it",
        "✗ typed.py",
        "    alice typed the approval, which proves nothing in a clone",
        "✓ signed.py  signed by AAAA@example.invalid · step S2 of run run-1, request req-1 · 2 steps",
        "✗ Changed files: 1 signed, 1 typed, 1 by nobody; 2 not covered",
    ]
