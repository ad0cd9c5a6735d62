import pytest

from ringi.engine.run_state import RunPhase
from ringi.runs.document import Run, StepState, Stop, StopCode
from ringi.runs.view import describe_size, stop_lines
from ringi.sessions.run_plan_view import plan_lines
from tests.tables import each
from tests.unit.runs.run_samples import plan_of, step_of


@pytest.mark.req("RN-12")
@each(
    ("files", "lines", "words"),
    [(1, 1, "1 file, 1 line"), (1, 2, "1 file, 2 lines"), (3, 12, "3 files, 12 lines")],
)
def test_one_line_is_no_lines(files: int, lines: int, words: str):
    assert str(describe_size(StepState(step_id="S01", files=files, lines=lines))) == words


@pytest.mark.req("RN-12")
@each(
    ("action", "shown"),
    [
        ("git switch main", ["→ git switch main", "→ ringi continue r1"]),
        ("ringi continue r1 --retry", ["→ ringi continue r1 --retry"]),
        ("commit or stash them, then: ringi continue r1",) * 2,
    ],
)
def test_a_stop_ends_with_what_goes_on_with_the_run(action: str, shown: list[str] | str):
    stop = Stop(reason_code=StopCode.DETACHED_HEAD, message="why", next_action=action)
    run = Run(
        run_id="r1",
        planning_session_id="",
        phase=RunPhase.NEEDS_INPUT,
        instruction="",
        created_at="",
        updated_at="",
        stop=stop,
    )
    lines = [line.mark + "".join(str(span.text) for span in line.spans) for line in stop_lines(run)]
    assert lines[1:] == ([f"→ {shown}"] if isinstance(shown, str) else shown)


@pytest.mark.req("RN-3", "RN-8")
def test_a_plan_shows_every_command_that_will_run():
    commands = {"unit": ["make test"], "e2e": ["make e2e"]}
    plan = plan_of(step_of(1, ["AC-01"], commands=commands), step_of(2, ["AC-01"], commands=commands))
    shown = ["".join(str(span.text) for span in line.spans) for line in plan_lines(plan)]
    assert [text for text in shown if "make" in text] == ["tested with: make test", "tested with: make e2e"]
