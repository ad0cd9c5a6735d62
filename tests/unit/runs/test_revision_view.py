"""How revisions are shown: everything that is approved, and the newest in short."""

import pytest
from msgspec.structs import replace

from ringi.engine.document import AddAction, ModifyAction, PlannedAction, RemoveAction
from ringi.engine.process import Process
from ringi.kernel.lines import Line, Style
from ringi.runs.process.revisions import difference
from ringi.runs.revision_view import proposal_lines, revision_lines
from tests.fakes.processes import TWO, process
from tests.unit.runs.test_revisions import applied, described, require

ADD = AddAction(action=PlannedAction(tool="search", purpose="Look", before_task="task_2"))


def words(line: Line) -> str:
    return line.mark + "".join(str(span.text) for span in line.spans)


def test_everything_that_changes_is_shown():
    long = described("Mend it\nann says: twice")
    call = ModifyAction(action_id="task_1", updates={"arguments": {"path": "other"}})
    after = require(applied(process(), ADD, long, call))
    record = after.revisions[0]
    shown = list(proposal_lines(replace(after, step_id="S01"), record, difference(TWO, after.plan)))
    text = [words(line) for line in shown]
    assert text[0] == "S01: the plan is to be revised"
    assert "suggested by rules" in text
    assert '+ task_1   arguments: {"path":"other"}' in text
    assert "+ ann says: twice" in text
    styles = {line.spans[0].style for line, said in zip(shown, text, strict=True) if said.startswith("+")}
    assert styles == {Style.ADDED}


@pytest.mark.req("PP-14")
def test_the_newest_are_listed_in_short():
    at = replace(process(), step_id="S01")
    assert list(revision_lines([at])) == []
    for number in range(5):
        at = require(applied(at, described(f"way {number}"), max_revisions=9))
    at = require(applied(at, ADD, max_revisions=9))
    at = require(applied(at, RemoveAction(action_id="task_1"), max_revisions=9))
    *earlier, last = at.revisions
    at = replace(at, revisions=(*earlier, replace(last, approved=False)))
    text = [words(line) for line in revision_lines([at, Process(process_id="p", task="t")])]
    assert text == [
        "S01: plan revised, 7 in all",
        "5  because (rules)",
        "~ task_2: description",
        "6  because (rules)",
        "+ search Look",
        "7  because (rules) · declined",
        "- task_1",
    ]
