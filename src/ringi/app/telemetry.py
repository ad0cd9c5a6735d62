"""The process log, and spans if they are configured (PP-22).

Nothing is sent unless `tracing.enabled` is on and a variable of OpenTelemetry says where to.
"""

# ruff: noqa: PLC0415  # most commands trace nothing

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from ringi.kernel.process.installation import extending_command
from ringi.kernel.telemetry.port import NO_SPANS, Component, LogLevel, ProcessLog, Span, Spans, Telemetry
from ringi.kernel.text import Text
from ringi.models.configured import mask_of
from ringi.runs.process_log import ProcessLogFile

if TYPE_CHECKING:
    from pathlib import Path

    from ringi.config.keys import Config
    from ringi.kernel.system import Clock

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_CAPTURE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CAPTURING: Final = frozenset(["true", "span_only", "span_and_event"])

Mask = Callable[[str], str]


def telemetry_of(
    root: Path, config: Config, environment: Mapping[str, str], clock: Clock, namespace: Callable[[], str]
) -> Telemetry:
    masks = cache(lambda: mask_of(config, environment))

    def mask(text: str) -> str:
        return masks()(text)

    log = ProcessLogFile(root, clock, mask, config)
    if not (config.tracing.enabled and has_receiver(environment)):
        return Telemetry(NO_SPANS, log)
    return Telemetry(_OnFirstUse(lambda: _spans(config, environment, mask, namespace(), log)), log)


def has_receiver(environment: Mapping[str, str]) -> bool:
    """Whether the variables of OpenTelemetry name one, and do not turn it off."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = environment.get("OTEL_TRACES_EXPORTER", "").strip()
    return exporter != "none" and bool(exporter or any(environment.get(name) for name in _ENDPOINTS))


def tracing_lacks(config: Config, environment: Mapping[str, str]) -> tuple[Text, str] | None:
    """Why nothing is sent although `tracing.enabled` is on, and what to do."""
    if not config.tracing.enabled or environment.get("OTEL_SDK_DISABLED"):
        return None
    if not has_receiver(environment):
        words = Text("tracing.enabled is on, but no variable says where to send spans")
        return words, f"export {_ENDPOINTS[1]}=http://127.0.0.1:4318"
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        return Text("tracing.enabled is on, but OpenTelemetry is not installed"), extending_command("otel")
    return None


def _spans(
    config: Config, environment: Mapping[str, str], mask: Mask, namespace: str, log: ProcessLog
) -> Spans:
    def problem(words: str) -> None:
        log(Component.TRACING, LogLevel.WARN, "Spans could not be sent", words)

    try:
        from ringi.kernel.telemetry.sending import provider_of
        from ringi.kernel.telemetry.spans import OtelSpans, SpanContent

        provider = provider_of(environment, problem)
    except ImportError:
        problem(f"OpenTelemetry is not installed. Install it with: {extending_command('otel')}")
        return NO_SPANS
    except (ValueError, TypeError, AttributeError, RuntimeError, OSError) as error:
        problem(str(error))  # a variable that the SDK does not understand
        return NO_SPANS
    if provider is None:
        return NO_SPANS
    asked = config.tracing.content == "on" or environment.get(_CAPTURE, "").strip().lower() in _CAPTURING
    shown = SpanContent(config.tracing.spans, asked and not config.logs.confidential, mask)
    return OtelSpans(provider, shown, environment, namespace)


class _OnFirstUse:
    """Importing OpenTelemetry takes as long as a whole command."""

    def __init__(self, make: Callable[[], Spans]) -> None:
        self._make = cache(make)

    def span(self, *args: Any, **how: Any) -> AbstractContextManager[Span]:
        return self._make().span(*args, **how)

    def root(self, *args: Any, **how: Any) -> AbstractContextManager[Span]:
        return self._make().root(*args, **how)
