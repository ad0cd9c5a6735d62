"""A process as spans and as lines of the log: planning, execution and reflection with their six names."""

from pathlib import Path

import pytest

from ringi.config.keys import Config, Logs
from ringi.kernel.telemetry.port import Telemetry
from ringi.kernel.telemetry.spans import OtelSpans, SpanContent
from ringi.policy.masking import mask_secrets
from ringi.runs.process.coordinator import ExecutionCoordinator
from ringi.runs.process_log import ProcessLogFile
from tests.fakes.people import SteppingClock
from tests.fakes.trace_receiver import TraceReceiver
from tests.unit.kernel.test_spans import Phase, sending
from tests.unit.runs.process_desk import ProcessDesk, plan

MARKER = "mauve-okapi"


def gone_wrong(
    folder: Path, receiver: TraceReceiver, *, content: bool = False, **settings: bool
) -> ProcessDesk:
    """Two files are read at once, the second is not where it should be; then one is written."""
    desk = ProcessDesk(folder, *[{"note": MARKER, "done": True}] * 4)
    desk.tools.files["a.py"] = MARKER
    desk.task = desk.task._replace(
        plan=plan(
            {"tool": "read", "arguments": {"path": "a.py"}},
            {"tool": "read", "arguments": {"path": f"{MARKER}.py"}},
            {"tool": "write", "arguments": {"path": "b.py", "content": MARKER}},
        )
    )
    with sending(receiver, content=content) as sender:
        log = ProcessLogFile(folder, SteppingClock(), mask_secrets, Config(logs=Logs(**settings)))
        spans = OtelSpans(sender.provider, SpanContent(tuple(Phase), content, mask_secrets), {}, "w")
        services = desk.services()._replace(telemetry=Telemetry(spans, log))
        with spans.root("ringi.run", "r1"):
            ExecutionCoordinator(services).execute_with_planning(desk.task)
    return desk


@pytest.mark.req("PP-22")
def test_actions_and_what_is_made_of_their_results(tmp_path: Path):
    with TraceReceiver() as receiver:
        desk = gone_wrong(tmp_path, receiver)
    actions = receiver.named("execution.execute_action")
    assert len(actions) == len(desk.tools.called)
    tools = [span for span in receiver.spans if span.name.startswith("execute_tool ")]
    assert {receiver.above(tool)[0] for tool in tools} == {"execution.execute_action"}
    failed = [span for span in actions if span.failed]
    assert failed[0].attributes["error.type"] == failed[0].attributes["ringi.outcome"] == "not_found"
    judged = receiver.named("reflection.evaluate_action")
    assert judged[0].attributes["ringi.action.id"] == failed[0].attributes["ringi.action.id"]
    assert receiver.named("reflection.revise_plan")
    assert {span.trace_id for span in receiver.spans} == {receiver.one("ringi.run").trace_id}
    assert MARKER.encode() not in receiver.raw
    lines = [line[22:] for line in (tmp_path / ".agent/logs/process.log").read_text().splitlines()]
    assert "[INFO] [Reflection] Evaluating action: read" in lines
    assert f"[WARN] [Reflection] Action failed: not_found: {MARKER}.py is not there." in lines
    assert [line for line in lines if line.startswith("[INFO] [Reflection] Plan revision suggested")]


@pytest.mark.req("PP-22", "PP-17", "PP-27")
def test_arguments_and_results_only_if_asked_for(tmp_path: Path):
    with TraceReceiver() as receiver:
        gone_wrong(tmp_path, receiver, content=True, confidential=True)
    first = receiver.named("execute_tool read")[0].attributes
    assert (first["gen_ai.tool.call.arguments"], first["gen_ai.tool.call.result"]) == (
        '{"path":"a.py"}',
        MARKER,
    )
    assert MARKER not in (tmp_path / ".agent/logs/process.log").read_text()
