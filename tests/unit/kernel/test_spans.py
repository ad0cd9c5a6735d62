"""Spans as a receiver gets them: sent over a socket, decoded with the official package."""

import json
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes

from ringi.app.telemetry import has_receiver, telemetry_of
from ringi.config.keys import Config, Logs, Tracing
from ringi.errors import ModelRejected
from ringi.kernel.telemetry import port
from ringi.kernel.telemetry.port import NO_SPANS, Phase, Spans, tool_call
from ringi.kernel.telemetry.sending import Closing, provider_of
from ringi.kernel.telemetry.spans import OtelSpans, SpanContent
from ringi.models.backend import Reply, RetryLater
from ringi.models.client import ModelClient
from ringi.models.prompt import Material, NewSummary, Prompt
from ringi.models.usage import Purpose
from tests.fakes.people import SteppingClock
from tests.fakes.trace_receiver import Answers, TraceReceiver
from tests.helpers import PATIENCE_SEC
from tests.unit.models.test_model_client import BUDGET, GOOD, Clock, Scripted

MARKER = "mauve-okapi"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
RUN = "20260101-000000-a1b2c3"


def mask(text: str) -> str:
    return text.replace(SECRET, "(masked)")


class Sender:
    """What a process has; `flush` sends what it has so far."""

    def __init__(self, receiver: TraceReceiver, *, content: bool = False, **variables: str) -> None:
        self.environment = receiver.environment() | variables
        self.problems: list[str] = []
        provider = provider_of(self.environment, self.problems.append)
        assert provider is not None
        self.provider: TracerProvider = provider
        self.content = content

    def spans(self, *phases: str, namespace: str = "w") -> Spans:
        shown = SpanContent(phases or tuple(Phase), self.content, mask)
        return OtelSpans(self.provider, shown, self.environment, namespace)


@contextmanager
def sending(receiver: TraceReceiver, *, content: bool = False, **variables: str) -> Iterator[Sender]:
    sender = Sender(receiver, content=content, **variables)
    try:
        yield sender
    finally:
        sender.provider.shutdown()


@pytest.fixture(autouse=True)
def ended(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What would happen at the end of the process; no thread is left behind."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.5")
    yield
    logger = logging.getLogger("opentelemetry")
    logger.addHandler(logging.NullHandler())
    for handler in [one for one in logger.handlers if isinstance(one, Closing)]:
        handler.at_exit()
        handler.thread.join(PATIENCE_SEC)
        logger.removeHandler(handler)


@pytest.fixture
def receiver() -> Iterator[TraceReceiver]:
    with TraceReceiver() as receiver:
        yield receiver


@pytest.mark.req("PP-22")
def test_the_attributes_are_those_of_the_installed_conventions():
    known = {value for value in vars(gen_ai_attributes).values() if isinstance(value, str)}
    ours = {value for value in vars(port).values() if isinstance(value, str) and value.startswith("gen_ai.")}
    assert len(ours) > 12
    assert ours <= known
    assert error_attributes.ERROR_TYPE == port.ERROR_TYPE


@pytest.mark.req("PP-22")
def test_the_six_spans_and_what_is_called_in_them(receiver: TraceReceiver):
    with sending(receiver) as sender:
        spans = sender.spans()
        with spans.root("ringi.run", RUN, {port.RUN_ID: RUN}):
            for phase in Phase:
                with spans.span(phase) as span:
                    span.note({port.COUNT: 3, port.OUTCOME: "completed"})
                    with tool_call(spans, "github_get_file_contents"):
                        pass
    root = receiver.one("ringi.run")
    assert root.attributes["ringi.run.id"] == RUN
    for phase in Phase:
        assert receiver.above(receiver.one(phase)) == ["ringi.run"]
        assert receiver.one(phase).attributes == {"ringi.count": 3, "ringi.outcome": "completed"}
    calls = receiver.named("execute_tool github_get_file_contents")
    assert [receiver.above(call) for call in calls] == [[phase, "ringi.run"] for phase in Phase]
    assert calls[0].attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "github_get_file_contents",
        "gen_ai.tool.type": "function",
    }
    assert sender.problems == []


@pytest.mark.req("PP-22")
def test_all_turns_of_a_run_are_one_trace_in_whatever_process(receiver: TraceReceiver):
    for _ in range(2):  # a process each
        with sending(receiver) as sender, sender.spans().root("ringi.run", RUN):
            pass
    with sending(receiver) as sender:
        with sender.spans().root("ringi.run", "another"):
            pass
        with sender.spans(namespace="elsewhere").root("ringi.run", RUN):
            pass
        with sender.spans().span("chat x"):  # of no run
            pass
    first, second, *others = receiver.spans
    assert (first.trace_id, first.parent_id) == (second.trace_id, "")
    assert first.span_id != second.span_id
    assert len({span.trace_id for span in [first, *others]}) == 4


@pytest.mark.req("PP-22")
def test_what_started_us_is_the_parent_and_the_runs_own_trace_is_linked(receiver: TraceReceiver):
    with sending(receiver) as sender, sender.spans().root("ringi.run", RUN):
        pass
    with sending(receiver, TRACEPARENT=PARENT, TRACESTATE="a=b") as sender:
        spans = sender.spans()
        with spans.root("ringi.run", RUN), spans.span(Phase.EXECUTE_ACTION):
            pass
    own, below, inside = receiver.spans[0], *reversed(receiver.spans[1:])
    assert (below.trace_id, below.parent_id) == ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
    assert below.links == (own.trace_id,)
    assert inside.trace_id == below.trace_id
    for wrong in ("", "00-nonsense", PARENT.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32)):
        with sending(receiver, TRACEPARENT=wrong) as sender, sender.spans().root("again", RUN):
            pass
    assert {(span.trace_id, span.parent_id) for span in receiver.named("again")} == {(own.trace_id, "")}


@pytest.mark.req("PP-22")
def test_parallel_actions_are_below_the_run(receiver: TraceReceiver):
    with sending(receiver) as sender:
        spans = sender.spans()

        def act() -> None:
            with spans.span(Phase.EXECUTE_ACTION), tool_call(spans, "read"):
                pass

        with spans.root("ringi.run", RUN), spans.span("invoke_agent implementer"):
            threads = [threading.Thread(target=act) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    calls = receiver.named("execute_tool read")
    assert [receiver.above(call) for call in calls] == [
        ["execution.execute_action", "invoke_agent implementer", "ringi.run"]
    ] * 4
    assert {span.trace_id for span in receiver.spans} == {receiver.one("ringi.run").trace_id}


@pytest.mark.req("PP-22")
def test_what_is_called_in_a_phase_that_is_not_chosen_is_left_out_with_it(receiver: TraceReceiver):
    with sending(receiver) as sender:
        spans = sender.spans("planning.*", Phase.REVISE_PLAN)
        with spans.root("ringi.run", RUN):
            with spans.span(Phase.EXECUTE_ACTION) as span, tool_call(spans, "write"):
                span.note({port.COUNT: 1})
                with spans.span(Phase.REVISE_PLAN), spans.span("chat x"):
                    pass
                with tool_call(spans, "write"):
                    pass
            with spans.span(Phase.UNDERSTAND_GOAL):
                pass
    names = ["chat x", "planning.understand_goal", "reflection.revise_plan", "ringi.run"]
    assert sorted(span.name for span in receiver.spans) == names
    assert receiver.above(receiver.one("chat x")) == ["reflection.revise_plan", "ringi.run"]


def _content(spans: Spans) -> None:
    with spans.root("ringi.run", RUN), tool_call(spans, "write") as span:
        span.content(port.TOOL_ARGUMENTS, f"{MARKER} {SECRET}")
        span.content(port.TOOL_RESULT, "x" * 1_000_000 + MARKER)
        said = [("system", f"{MARKER} {SECRET}"), ("user", "y" * 1_000_000), ("assistant", "\ud800 end")]
        span.messages(port.INPUT_MESSAGES, said)
        span.messages(port.OUTPUT_MESSAGES, [("assistant", MARKER)])


@pytest.mark.req("PP-22", "PP-17")
def test_content_is_left_out_or_masked_and_cut(receiver: TraceReceiver):
    with sending(receiver) as sender:
        _content(sender.spans())
    assert MARKER.encode() not in receiver.raw
    with sending(receiver, content=True) as sender:
        _content(sender.spans())
    assert SECRET.encode() not in receiver.raw
    found = receiver.named("execute_tool write")[1].attributes
    assert found["gen_ai.tool.call.arguments"] == f"{MARKER} (masked)"
    assert len(found["gen_ai.tool.call.result"]) < 33_000
    system, user, last = json.loads(found["gen_ai.input.messages"])
    assert system == {"role": "system", "parts": [{"type": "text", "content": f"{MARKER} (masked)"}]}
    assert len(user["parts"][0]["content"]) < 33_000
    assert last["parts"][0]["content"] == " […]"
    [said] = json.loads(found["gen_ai.output.messages"])
    assert said["finish_reason"] == "stop"


@pytest.mark.req("PP-22", "PP-17")
def test_an_error_is_named_and_its_words_are_not(receiver: TraceReceiver):
    with sending(receiver) as sender:
        spans = sender.spans()
        for error in (ModelRejected(model="m", why=MARKER), ValueError(MARKER), KeyboardInterrupt(MARKER)):
            with pytest.raises(type(error)), spans.root("ringi.run", RUN):
                raise error
        with tool_call(spans, f"to\x1b]0;{SECRET}\nol" + "o" * 500) as span:
            span.note_failure("timeout")
    *turns, tool = receiver.spans
    assert [(turn.failed, turn.attributes["error.type"]) for turn in turns] == [
        (True, "model_rejected"),
        (True, "ValueError"),
        (True, "KeyboardInterrupt"),
    ]
    assert (tool.failed, tool.attributes["error.type"]) == (True, "timeout")
    assert tool.name.startswith("execute_tool to\\x1b]0;(masked)\\nolooo")
    assert len(tool.name) == len(tool.attributes["gen_ai.tool.name"]) == 200
    assert MARKER.encode() not in receiver.raw


class Named(Scripted):
    name = "openai:gpt-5"


def asked(spans: Spans, name: str, *steps: object) -> None:
    clock = Clock()
    backend = Named(clock, *steps)
    backend.name = name
    prompt = Prompt(Purpose.REVIEW, f"Sum {MARKER} up.", (Material("instruction", SECRET),), session=MARKER)
    client = ModelClient(backend, clock=clock, sleep=clock.sleep, spans=spans)
    client.ask(prompt, NewSummary, BUDGET, lambda _: None)


@pytest.mark.req("PP-22")
def test_each_request_to_a_model_is_a_span(receiver: TraceReceiver):
    with sending(receiver) as sender:
        spans = sender.spans()
        with spans.root("ringi.plan", "s-1"), spans.span(Phase.UNDERSTAND_GOAL):
            asked(spans, "openai:gpt-5", RetryLater("busy", 0.0), "no JSON", GOOD)
            asked(
                spans, "command:/opt/bin/claude --key abc", Reply(GOOD, 7, 3, cut_short=True, cached_tokens=2)
            )
        with pytest.raises(ModelRejected):
            asked(spans, "ollama:llama3", ModelRejected(model="m", why=MARKER))
    busy, unusable, good = receiver.named("chat gpt-5")
    assert receiver.above(good) == ["planning.understand_goal", "ringi.plan"]
    assert (busy.failed, busy.attributes["error.type"]) == (True, "RetryLater")
    assert not unusable.failed
    assert good.kind == 3  # a client
    assert good.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.request.max_tokens": 1000,
        "gen_ai.output.type": "json",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 0,
        "gen_ai.response.finish_reasons": ["stop"],
        "ringi.purpose": "review",
        "ringi.cost_usd": 0.25,
    }
    program = receiver.one("chat claude").attributes
    assert (program["gen_ai.provider.name"], program["gen_ai.request.model"]) == ("command", "claude")
    assert program["gen_ai.response.finish_reasons"] == ["length"]
    assert program["gen_ai.usage.cache_read.input_tokens"] == 2
    assert receiver.one("chat llama3").attributes["error.type"] == "model_rejected"
    assert MARKER.encode() not in receiver.raw
    with sending(receiver, content=True) as sender:
        asked(sender.spans(), "openai:gpt-6", GOOD)
    said = json.loads(receiver.one("chat gpt-6").attributes["gen_ai.input.messages"])
    assert MARKER in said[0]["parts"][0]["content"]
    assert SECRET.encode() not in receiver.raw


# Whether anything is sent, and where to


ON = Config(tracing=Tracing(enabled=True))
SOMEWHERE = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}


def spans_of(root: Path, config: Config, environment: Mapping[str, str]) -> Spans:
    return telemetry_of(root, config, environment, SteppingClock(), lambda: "w").spans


@pytest.mark.req("PP-22")
def test_nothing_is_sent_unless_it_is_on_and_somebody_is_named(tmp_path: Path):
    for variables in (
        {},
        {"OTEL_SERVICE_NAME": "x", "TRACEPARENT": PARENT},
        SOMEWHERE | {"OTEL_SDK_DISABLED": " TRUE "},
        SOMEWHERE | {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
    ):
        assert not has_receiver(variables)
        assert spans_of(tmp_path, ON, variables) is NO_SPANS
    assert spans_of(tmp_path, Config(), SOMEWHERE) is NO_SPANS
    for variables in (SOMEWHERE, {"OTEL_TRACES_EXPORTER": "otlp"},
                      {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9/v1/traces"}):  # fmt: skip
        assert has_receiver(variables)
        assert spans_of(tmp_path, ON, variables) is not NO_SPANS


@pytest.mark.req("PP-22")
def test_the_standard_variables_count(receiver: TraceReceiver, monkeypatch: pytest.MonkeyPatch):
    with sending(receiver) as sender, sender.spans().root("plain", RUN):
        pass
    assert receiver.resources[-1]["service.name"] == "ringi"
    for name, value in {
        "OTEL_SERVICE_NAME": "our-gate",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=ci",
        "OTEL_EXPORTER_OTLP_HEADERS": "x-team=blue",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
        "OTEL_EXPERIMENTAL_RESOURCE_DETECTORS": "otel,process",
    }.items():
        monkeypatch.setenv(name, value)
    with sending(receiver, OTEL_SERVICE_NAME="our-gate") as sender, sender.spans().root("told", RUN):
        pass
    found = receiver.resources[-1]
    assert (found["service.name"], found["deployment.environment.name"]) == ("our-gate", "ci")
    assert receiver.headers[-1]["x-team"] == "blue"
    # The arguments of the process would hold the request.
    assert "process.pid" in found
    assert not [name for name in found if name.startswith("process.command")]
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    with sending(receiver) as sender, sender.spans().root("unseen", RUN) as span:
        span.note({port.COUNT: 1})
    assert not receiver.named("unseen")


@pytest.mark.req("PP-22")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "no address"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://[::1"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "-1"),
        ("OTEL_BSP_SCHEDULE_DELAY", "soon"),
        ("OTEL_TRACES_SAMPLER", "dice"),
        ("OTEL_TRACES_SAMPLER_ARG", "dice"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "pigeon"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_TRACES_EXPORTER", "zipkin,,otlp"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere.pem"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "=;,\x01"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "later"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "zip"),
        ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "-5"),
        ("OTEL_RESOURCE_ATTRIBUTES", "=,=x,%%%"),
    ],
)
def test_a_variable_that_makes_no_sense_fails_nothing(
    name: str, value: str, receiver: TraceReceiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    environment = receiver.environment() | {name: value}
    for told in environment.items():
        monkeypatch.setenv(*told)
    spans = spans_of(tmp_path, ON, environment)
    done = []
    with spans.root("ringi.run", RUN) as span, spans.span(Phase.EXECUTE_ACTION):
        span.note({port.COUNT: 1})
        done.append(name)
    assert done == [name]


@pytest.mark.req("PP-22")
def test_what_goes_wrong_in_the_background_is_said_once_in_the_log():
    with TraceReceiver(Answers(400)) as receiver, sending(receiver) as sender:
        for _ in range(3):
            with sender.spans().root("ringi.run", RUN):
                pass
            sender.provider.force_flush()
    assert len(sender.problems) == 1
    assert "400" in sender.problems[0]


@pytest.mark.req("PP-22", "PP-27")
def test_a_confidential_repository_sends_no_content(receiver: TraceReceiver, tmp_path: Path):
    asked_for = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}
    cases = [
        (Tracing(enabled=True), Logs(), {}, False),
        (Tracing(enabled=True), Logs(), dict.fromkeys(asked_for, "EVENT_ONLY"), False),
        (Tracing(enabled=True, content="on"), Logs(), {}, True),
        (Tracing(enabled=True), Logs(), asked_for, True),
        (Tracing(enabled=True, content="on"), Logs(confidential=True), asked_for, False),
    ]  # fmt: skip
    for tracing, logs, variables, shown in cases:
        config = Config(tracing=tracing, logs=logs)
        spans = spans_of(tmp_path, config, receiver.environment() | variables)
        with spans.span("x"):
            pass
        made = spans._make()
        assert isinstance(made, OtelSpans)
        assert made._shown.content is shown


@given(st.text(), st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.lists(st.text())))
def test_no_attribute_breaks_a_span(name, value):
    provider, kept = TracerProvider(shutdown_on_exit=False), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    spans = OtelSpans(provider, SpanContent(tuple(Phase), True, mask), {}, "w")
    with spans.root(name, name, {"key": 1}) as span:
        span.note({name: value})
        span.content("gen_ai.tool.call.result", name)
        span.messages(port.INPUT_MESSAGES, [(name, name)])
    [found] = kept.get_finished_spans()
    assert len(found.name) <= 200
    assert json.loads(str(found.attributes[port.INPUT_MESSAGES]))
