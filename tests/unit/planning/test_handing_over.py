"""The enhanced instruction, as the specification spells it."""

import pytest

from ringi.planning import operations
from ringi.planning.handing_over import enhanced_instruction
from tests.unit.planning.test_operations import NOW, asked, begun, designed, in_review


@pytest.mark.req("IP-8")
def test_exactly_those_parts_in_that_order():
    state = asked()
    for answer in ("password", "speed", "the API\nand its client"):
        state = operations.answered(state, answer, NOW)
    state = state.with_(decisions=designed().session.decisions)
    state = operations.decided(state, "opt-b", "it lasts", NOW)
    state = operations.decided(state, "opt-a", "", NOW)
    state = operations.summarised(state, "Short and good.", NOW)
    assert enhanced_instruction(state.session) == (
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
    state = operations.skipped(asked(), NOW)
    assert "Which logins?" not in enhanced_instruction(state.session)


@pytest.mark.req("IP-8")
def test_nothing_answered_and_nothing_decided_keeps_the_headings():
    words = enhanced_instruction(begun().session)
    assert words == (
        "Original Instruction: Add a login\n\n## Clarified Requirements\n\n\n"
        "## Design Decisions\n\n\n## Design Summary"
    )
    assert enhanced_instruction(in_review().session).startswith("Original Instruction: Add a login\n\n## C")
