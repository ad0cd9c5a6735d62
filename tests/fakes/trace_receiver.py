"""A receiver of traces on loopback: decodes OTLP protobuf with the official package, or misbehaves."""

import threading
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from tests.fakes.loopback import Handler, Loopback


class Received(NamedTuple):
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    attributes: dict[str, Any]
    failed: bool
    links: tuple[str, ...]
    """The traces that it names."""


class Hangs(NamedTuple):
    """Takes the request and never answers."""


class Answers(NamedTuple):
    code: int = 200
    size: int = 0


class TraceReceiver(Loopback):
    def __init__(self, how: Hangs | Answers = Answers()) -> None:  # noqa: B008  # a tuple
        super().__init__()
        self.how = how
        self.spans: list[Received] = []
        self.resources: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.raw = b""
        self.asked = 0
        self.lock = threading.Lock()

    def handler(self, *given: Any) -> Handler:
        return _Handler(self, *given)

    def environment(self) -> dict[str, str]:
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url}

    def take(self, data: bytes, headers: dict[str, str]) -> None:
        request = ExportTraceServiceRequest.FromString(data)
        with self.lock:
            self.raw += data
            self.headers.append(headers)
            for group in request.resource_spans:
                self.resources.append(_values(group.resource.attributes))
                for scope in group.scope_spans:
                    self.spans += map(_received, scope.spans)

    def named(self, name: str) -> list[Received]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> Received:
        [found] = self.named(name)
        return found

    def parent(self, span: Received) -> Received | None:
        return next((one for one in self.spans if one.span_id == span.parent_id), None)

    def above(self, span: Received) -> list[str]:
        """The names of the spans around it, the nearest first."""
        at = self.parent(span)
        return [at.name, *self.above(at)] if at else []


class _Handler(Handler):
    def __init__(self, receiver: TraceReceiver, *given: Any) -> None:
        self._receiver = receiver
        super().__init__(*given)

    def do_POST(self) -> None:  # noqa: N802  # the name that http.server calls
        data, receiver = self.body(), self._receiver
        headers = {name.lower(): value for name, value in self.headers.items()}
        with receiver.lock:
            receiver.asked += 1
        if isinstance(receiver.how, Hangs):
            receiver.closing.wait()
            return
        if self.path == "/v1/traces" and receiver.how.code == 200:
            receiver.take(data, headers)
        self.whole(receiver.how.code, "application/x-protobuf", b"x" * receiver.how.size)


def _received(span: Any) -> Received:
    return Received(
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        kind=span.kind,
        attributes=_values(span.attributes),
        failed=span.status.code == 2,
        links=tuple(link.trace_id.hex() for link in span.links),
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: _value(one.value) for one in attributes}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, kind) if kind else None
