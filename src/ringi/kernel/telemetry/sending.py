"""Where spans go: as the OTEL_* variables say, in the background, and never at the cost of the work.

The SDK reads its variables itself. What is decided here: whether anything is sent at all, how long the end of
the process may wait for it, and that nothing is printed.
"""

import atexit
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter

from ringi._version import __version__
from ringi.kernel.telemetry.spans import TraceIds

_LAST_WAIT_SEC: Final = 2.0
_FAILING_WAIT_SEC: Final = 0.1
"""If something went wrong before."""
_SERVICE: Final = "service.name"
_ARGUMENTS: Final = ("process.command", "process.command_args", "process.command_line")
"""They hold the request."""
_EXPORTER_GROUP: Final = "opentelemetry_traces_exporter"
_BY_PROTOCOL: Final = {"": "otlp_proto_http", "http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}

Problem = Callable[[str], None]


def provider_of(environment: Mapping[str, str], on_problem: Problem) -> TracerProvider | None:
    """None if nothing can be sent; `on_problem` hears why, and later what goes wrong in the background."""
    exporters = list(_exporters(environment, on_problem))
    if not exporters:
        return None
    provider = TracerProvider(
        resource=_resource(environment), shutdown_on_exit=False, id_generator=TraceIds()
    )
    for exporter in exporters:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    Closing(provider, on_problem)
    return provider


def _resource(environment: Mapping[str, str]) -> Resource:
    known = {"service.version": __version__}
    told = environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    if not environment.get("OTEL_SERVICE_NAME") and f"{_SERVICE}=" not in told:
        known[_SERVICE] = "ringi"
    found = Resource.create(known)
    kept = {name: value for name, value in found.attributes.items() if name not in _ARGUMENTS}
    return Resource(kept, found.schema_url)


def _exporters(environment: Mapping[str, str], on_problem: Problem) -> Iterator[SpanExporter]:
    for name in (environment.get("OTEL_TRACES_EXPORTER") or "otlp").split(","):
        wanted = name.strip()
        if wanted == "otlp":
            wanted = _BY_PROTOCOL.get(_protocol(environment), "")
        if wanted == "otlp_proto_http":
            yield OTLPSpanExporter(endpoint=_endpoint(environment))
        elif wanted == "console":
            yield ConsoleSpanExporter(out=sys.stderr)  # what a command answers goes to the other one
        elif wanted not in {"", "none"} and (found := entry_points(group=_EXPORTER_GROUP, name=wanted)):
            yield next(iter(found)).load()()
        elif wanted != "none":
            on_problem(f"no exporter {name.strip()} for protocol {_protocol(environment) or 'http/protobuf'}")


def _protocol(environment: Mapping[str, str]) -> str:
    names = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    return next(filter(None, (environment.get(name, "").strip() for name in names)), "")


def _endpoint(environment: Mapping[str, str]) -> str | None:
    """As the SDK would; but from the environment that Ringi was given."""
    if own := environment.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        return own
    base = environment.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    return f"{base.rstrip('/')}/v1/traces" if base else None


class Closing(logging.Handler):
    """Sends the rest when the process ends, without waiting for a receiver that is not there.

    What the SDK complains of would be printed in the middle of a screen; the first of it is a problem.
    """

    def __init__(self, provider: TracerProvider, on_problem: Problem) -> None:
        super().__init__(logging.WARNING)
        self._provider = provider
        self._on_problem = on_problem
        self._pid = os.getpid()
        self._told = False
        self._closing = threading.Event()
        self._done = threading.Event()
        logging.getLogger("opentelemetry").addHandler(self)
        # Started now: no thread can be started once the interpreter shuts down.
        self.thread = threading.Thread(target=self._close, name="ringi-spans", daemon=True)
        self.thread.start()
        atexit.register(self.at_exit)

    def emit(self, record: logging.LogRecord) -> None:
        if not self._told:
            self._told = True
            self._on_problem(record.getMessage())
        if self._closing.is_set():
            self._done.set()

    def _close(self) -> None:
        self._closing.wait()
        self._provider.shutdown()
        self._done.set()

    def at_exit(self) -> None:
        if os.getpid() == self._pid:  # a copy of the process has not its threads
            self._closing.set()
            self._done.wait(_FAILING_WAIT_SEC if self._told else _LAST_WAIT_SEC)
