"""The enhanced instruction, as the specification spells it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.sessions import operations
from ringi.sessions.approve import build_enhanced_instruction
from tests.unit.sessions.test_operations import NOW, asked, begun, designed, in_review


@pytest.mark.req("IP-8")
def test_exactly_those_parts_in_that_order():
    state = asked()
    for answer in ("password", "speed", "the API\nand its client"):
        state = operations.answer_question(state, answer, NOW)
    state = state.with_session(decisions=designed().session.decisions)
    state = operations.decide(state, "opt-b", "it lasts", NOW)
    state = operations.decide(state, "opt-a", "", NOW)
    state = operations.set_summary(state, "Short and good.", NOW)
    assert build_enhanced_instruction(state.session) == (
        "Original Instruction: Add a login\n"
        "\n"
        "## Clarified Requirements\n"
        "- Which logins?\n"
        "  Answer: password\n"
        "- Which part?\n"
        "  Answer: the API\n"
        "  and its client\n"
        "\n"
        "## Design Decisions\n"
        "- Where sessions live: Table\n"
        "  Reason: it lasts\n"
        "- How it is tested: Unit\n"
        "  Reason: N/A\n"
        "\n"
        "## Design Summary\n"
        "Short and good."
    )


@pytest.mark.req("IP-8", "IP-10")
def test_what_was_skipped_is_left_out():
    state = operations.skip_question(asked(), NOW)
    assert "Which logins?" not in build_enhanced_instruction(state.session)


@pytest.mark.req("IP-8")
def test_nothing_answered_and_nothing_decided_keeps_the_headings():
    words = build_enhanced_instruction(begun().session)
    assert words == (
        "Original Instruction: Add a login\n\n## Clarified Requirements\n\n\n"
        "## Design Decisions\n\n\n## Design Summary"
    )
    assert build_enhanced_instruction(in_review().session).startswith(
        "Original Instruction: Add a login\n\n## C"
    )


@pytest.mark.req("IP-8")
@given(st.text("-# \n\r\x0b\x85\u2028AD", min_size=1, max_size=40).filter(str.strip))
def test_no_answer_and_no_reason_gets_out_of_its_item(words: str):
    state = asked()
    for _ in range(3):
        state = operations.answer_question(state, words, NOW)
    state = state.with_session(decisions=designed().session.decisions)
    for _ in range(2):
        state = operations.decide(state, "opt-a", words, NOW)
    lines = build_enhanced_instruction(operations.set_summary(state, "So.", NOW).session).splitlines()
    left = [line for line in lines if line and not line.startswith("  ")]
    assert left == [
        "Original Instruction: Add a login",
        "## Clarified Requirements",
        "- Which logins?",
        "- Which part?",
        "## Design Decisions",
        "- Where sessions live: Memory",
        "- How it is tested: Unit",
        "## Design Summary",
        "So.",
    ]
