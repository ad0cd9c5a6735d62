"""Spans by OpenTelemetry (PP-22).

All turns of a run are one trace, whose id follows from the run's: a process that was killed leaves nothing
behind that the next one would have to know.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fnmatch import fnmatchcase
from typing import Final, NamedTuple, TypeVar

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ringi._version import __version__
from ringi.errors import RingiError
from ringi.kernel.telemetry.port import ERROR_TYPE, NO_SPANS, OUTPUT_MESSAGES, Phase, Span, Value
from ringi.kernel.text import visible

T = TypeVar("T")

_NONE: Final[Mapping[str, Value]] = {}
_LONGEST: Final = 200
"""Of an attribute that is no content."""
_LONGEST_CONTENT: Final = 32_768
_LONGEST_SECRET: Final = 8_192
_MARK: Final = " […]"

_trace_id: ContextVar[int] = ContextVar("trace_id", default=0)
_left_out: ContextVar[bool] = ContextVar("left_out", default=False)


class TraceIds(RandomIdGenerator):
    """The id that follows from a subject, where there is one."""

    def generate_trace_id(self) -> int:
        return _trace_id.get() or super().generate_trace_id()


class SpanContent(NamedTuple):
    """What of the work is to be seen in spans."""

    phases: Sequence[str]
    """Globs of the six; what is called within others is left out with them."""
    content: bool
    mask: Callable[[str], str]


class OtelSpans:
    """Implements `Spans`. `namespace` tells equal ids of subjects in two workspaces apart."""

    def __init__(
        self, provider: TracerProvider, shown: SpanContent, environment: Mapping[str, str], namespace: str
    ) -> None:
        self._tracer = provider.get_tracer("ringi", __version__)
        self._shown = shown
        self._namespace = namespace
        self._outside = _outside(environment)
        self._turn = 0
        """The thread of the turn that is open, and its open spans: other threads do not inherit a context."""
        self._around: list[trace.Span] = []

    @contextmanager
    def span(
        self, name: str, attributes: Mapping[str, Value] = _NONE, *, outward: bool = False
    ) -> Iterator[Span]:
        is_phase = name in _PHASES
        chosen = not is_phase or any(fnmatchcase(name, glob) for glob in self._shown.phases)
        if not chosen or (_left_out.get() and not is_phase):
            with _within(_left_out, True), NO_SPANS.span(name) as nothing:
                yield nothing
            return
        with _within(_left_out, False):
            kind = SpanKind.CLIENT if outward else SpanKind.INTERNAL
            with self._open(name, attributes, self._parent(), kind) as span:
                yield span

    @contextmanager
    def root(self, name: str, subject_id: str, attributes: Mapping[str, Value] = _NONE) -> Iterator[Span]:
        own = _own_trace(self._namespace, subject_id)
        links = [Link(own)] if self._outside else []
        context = self._outside or Context()
        before, self._turn = self._turn, threading.get_ident()
        try:
            with (
                _within(_trace_id, own.trace_id),
                self._open(name, attributes, context, SpanKind.INTERNAL, links) as span,
            ):
                yield span
        finally:
            self._turn = before

    def _parent(self) -> Context | None:
        if trace.get_current_span().get_span_context().is_valid:
            return None
        around = self._around[-1:]  # another thread may end one meanwhile
        return trace.set_span_in_context(around[0]) if around else self._outside

    @contextmanager
    def _open(
        self,
        name: str,
        attributes: Mapping[str, Value],
        context: Context | None,
        kind: SpanKind,
        links: Sequence[Link] = (),
    ) -> Iterator[Span]:
        with self._tracer.start_as_current_span(
            visible(self._shown.mask(name))[:_LONGEST],
            context,
            kind,
            links=links,
            record_exception=False,  # its words may be content
            set_status_on_exception=False,
        ) as raw:
            span = _OtelSpan(raw, self._shown)
            span.note(attributes)
            inherited = threading.get_ident() == self._turn
            if inherited:
                self._around.append(raw)
            try:
                yield span
            except BaseException as error:
                span.note_failure(error.code if isinstance(error, RingiError) else type(error).__name__)
                raise
            finally:
                if inherited:
                    self._around.remove(raw)


_PHASES: Final = frozenset(Phase)


class _OtelSpan:
    def __init__(self, raw: trace.Span, shown: SpanContent) -> None:
        self._raw = raw
        self._shown = shown

    def note(self, attributes: Mapping[str, Value | Sequence[str]]) -> None:
        if self._raw.is_recording():
            for name, value in attributes.items():
                self._raw.set_attribute(name, self._plain(value))

    def note_failure(self, kind: str) -> None:
        self.note({ERROR_TYPE: kind})
        self._raw.set_status(Status(StatusCode.ERROR))

    def content(self, name: str, text: str) -> None:
        if self._shown.content and self._raw.is_recording():
            self._raw.set_attribute(name, self._mask_and_cut(text, _LONGEST_CONTENT))

    def messages(self, name: str, said: Sequence[tuple[str, str]]) -> None:
        if not (self._shown.content and self._raw.is_recording()):
            return
        room, written = _LONGEST_CONTENT, []
        for role, text in said:
            words = self._mask_and_cut(text, room)
            room -= min(room, len(words))
            message = {"role": role, "parts": [{"type": "text", "content": words}]}
            written.append(message | {"finish_reason": "stop"} if name == OUTPUT_MESSAGES else message)
        self._raw.set_attribute(name, json.dumps(written, ensure_ascii=False))

    def _plain(self, value: Value | Sequence[str]) -> Value | list[str]:
        if isinstance(value, bool | int | float):
            return value
        if isinstance(value, str):
            return visible(self._shown.mask(value))[:_LONGEST]
        return [visible(self._shown.mask(item))[:_LONGEST] for item in value]

    def _mask_and_cut(self, text: str, most: int) -> str:
        """Masked before it is cut: half of a secret would not be recognised."""
        words = self._shown.mask(text[: most + _LONGEST_SECRET])
        words = words.encode("utf-8", "backslashreplace").decode()
        return words if len(text) <= most and len(words) <= most else words[:most] + _MARK


def _own_trace(namespace: str, subject_id: str) -> SpanContext:
    digest = hashlib.sha256(f"ringi trace {namespace} {subject_id}".encode("utf-8", "replace")).digest()
    trace_id, span_id = int.from_bytes(digest[:16]), int.from_bytes(digest[16:24])
    return SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _outside(environment: Mapping[str, str]) -> Context | None:
    """What whoever started this process says it is part of (TRACEPARENT)."""
    told = {name: environment.get(name.upper(), "") for name in ("traceparent", "tracestate")}
    context = TraceContextTextMapPropagator().extract(told, Context())
    return context if trace.get_current_span(context).get_span_context().is_valid else None


@contextmanager
def _within(variable: ContextVar[T], value: T) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
