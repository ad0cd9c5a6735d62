"""Asks a model until its answer is valid or the budget is used up; the same for all backends."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Generic, TypeVar

from ringi.errors import (
    BadModelAnswer,
    ModelBusy,
    ModelDeclined,
    ModelFailed,
    ModelRejected,
    ModelTimeout,
    ModelUnreachable,
)
from ringi.kernel.telemetry import port as attribute
from ringi.kernel.telemetry.port import NO_SPANS, Span, Spans
from ringi.kernel.text import Text
from ringi.models.backend import Backend, Call, ChatMessage, ConnectionCut, Reply, RetryLater
from ringi.models.prompt import Budget, Exchange, ModelAnswer, ModelProgress, OnProgress, Prompt
from ringi.models.reply import Unusable, read
from ringi.models.turns import ask_again, compact_schema, format_messages, turns, with_schema
from ringi.models.usage import TokenUsage

T = TypeVar("T")

_REPAIRS: Final = 2
_TICK_SEC: Final = 0.3
_FIRST_WAIT_SEC: Final = 0.5
_LONGEST_WAIT_SEC: Final = 20.0
_MOST_TOKENS: Final = 10**9
_BYTES_PER_TOKEN: Final = 4
_KEPT_LENGTH: Final = 64 * 1024
_CUT_MARK: Final = " […]"


def _as_it_is(text: str) -> str:
    return text


class ModelClient:
    """A language model on top of a backend.

    If an answer is invalid, asks again up to twice, saying what was wrong. That includes an empty answer:
    small models often do better the second time. If the last one is empty too, the model declined. A refusal
    is final. An answer that was cut off is asked for with more room first. A lost connection is retried once.
    A busy service is retried while the budget lasts; if it asks for a longer wait, the call fails at once.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        schema_in_text: bool = True,
        scrub: Callable[[str], str] = _as_it_is,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        spans: Spans = NO_SPANS,
    ) -> None:
        self._spans = spans
        self._backend = backend
        self._schema_in_text = schema_in_text
        self._scrub = scrub
        self._clock = clock
        self._sleep = sleep

    @property
    def name(self) -> str:
        return self._backend.name

    @property
    def sees_project(self) -> bool:
        return self._backend.sees_project

    def ask(self, prompt: Prompt, kind: type[T], budget: Budget, on_progress: OnProgress) -> ModelAnswer[T]:
        schema = compact_schema(kind)
        first = turns(prompt, schema if self._schema_in_text else None)
        note = self._backend.prepare()
        progress = _Progress(on_progress, self._clock)
        progress.note = note or ""
        question = _Question(
            self._backend, kind, schema, budget, progress, self._scrub, self._sleep, self._open_span(prompt)
        )
        try:
            value = question.answer(first, schema_in_text=self._schema_in_text)
        except ModelFailed as error:
            error.exchanges, error.usage = tuple(question.exchanges), progress.count_spent()
            raise
        return ModelAnswer(value, progress.count_spent(), tuple(question.exchanges), self.name)

    def _open_span(self, prompt: Prompt) -> Callable[[int], AbstractContextManager[Span]]:
        """One request to a model, with what is known of it beforehand (GenAI conventions)."""
        provider, _, model = self.name.partition(":")
        # Of a command, the program alone: its arguments are nobody's business.
        named = (model.split() or [""])[0].rpartition("/")[2] if provider == "command" else model
        known: dict[str, attribute.Value] = {
            attribute.OPERATION: "chat",
            attribute.PROVIDER: provider,
            attribute.REQUEST_MODEL: named,
            attribute.OUTPUT_TYPE: "json",
            attribute.PURPOSE: str(prompt.purpose),
        }
        return lambda room: self._spans.span(
            f"chat {named}", known | {attribute.MAX_TOKENS: room}, outward=True
        )


class _Progress:
    """Reports progress, always in the calling thread: an exception from the listener stops the call."""

    def __init__(self, on_progress: OnProgress, clock: Callable[[], float]) -> None:
        self._on_progress = on_progress
        self._clock = clock
        self._begun = clock()
        self._told_at = 0.0
        self.used = TokenUsage()
        """Of the calls that ended."""
        self.begun = TokenUsage()
        """Of the one that has not, estimated."""
        self.note: Text | str = ""

    def measure_elapsed(self) -> float:
        return self._clock() - self._begun

    def count_spent(self) -> TokenUsage:
        return self.used.plus(self.begun).plus(TokenUsage(duration_sec=self.measure_elapsed()))

    def tell(self) -> None:
        self._told_at = self.measure_elapsed()
        spent = self.count_spent()
        self._on_progress(ModelProgress(self._told_at, spent.output_tokens, self.note, spent))

    def hear(self, begun: TokenUsage) -> None:
        """Called by the backend for every piece; reports only now and then."""
        self.begun = begun
        if self.measure_elapsed() - self._told_at >= _TICK_SEC:
            self.tell()

    def finish(self, usage: TokenUsage) -> None:
        self.used, self.begun = self.used.plus(usage), TokenUsage()


class _Question(Generic[T]):
    """One question with all its attempts."""

    def __init__(
        self,
        backend: Backend,
        kind: type[T],
        schema: Any,
        budget: Budget,
        progress: _Progress,
        scrub: Callable[[str], str],
        sleep: Callable[[float], None],
        traced: Callable[[int], AbstractContextManager[Span]],
    ) -> None:
        self._open_span = traced
        self._backend = backend
        self._kind = kind
        self._schema = schema
        self._budget = budget
        self._progress = progress
        self._scrub = scrub
        self._sleep = sleep
        self._pieces: list[str] = []
        self._room = budget.output_tokens
        self._most_room = max(budget.output_tokens, budget.most_output_tokens)
        self._waits = 0
        self._cuts = 0
        self.exchanges: list[Exchange] = []

    def answer(self, first: Sequence[ChatMessage], *, schema_in_text: bool) -> T:
        now, repairs_left = first, _REPAIRS
        while True:
            reply = self._reply(now)
            try:
                value = read(reply.text, self._kind)
            except Unusable as problem:
                why = self._why(problem, reply)
                self._keep(now, reply.text, str(why))
                if reply.cut_short and self._room < self._most_room:
                    self._make_room()
                    continue
                if not repairs_left:
                    if problem.empty:
                        raise ModelDeclined(
                            model=self._backend.name, why=Text("its answer is empty")
                        ) from None
                    raise BadModelAnswer(model=self._backend.name, why=why) from None
                repairs_left -= 1
                now = ask_again(first, reply.text, str(why))
                if not schema_in_text:  # so the service did not enforce it
                    now = with_schema(now, self._schema)
                self._progress.note = Text("the answer could not be used, it was asked for again")
            else:
                self._keep(now, reply.text)
                return value

    def _make_room(self) -> None:
        before, self._room = self._room, min(2 * self._room, self._most_room)
        self._progress.note = Text(
            "the answer was cut off at {limit} tokens; asked again with room for {more}",
            limit=before,
            more=self._room,
        )

    def _why(self, problem: Unusable, reply: Reply) -> Text | str:
        if reply.cut_short:
            return Text(
                "it is longer than {limit} tokens and was cut off (llm.max_output_tokens): {problem}",
                limit=self._room,
                problem=problem.why,
            )
        return self._scrub(problem.why) if isinstance(problem.why, str) else problem.why

    def _reply(self, now: Sequence[ChatMessage]) -> Reply:
        while True:
            self._pieces.clear()
            try:
                with self._open_span(self._room) as span:
                    return self._send(now, span)
            except RetryLater as error:
                self._keep(now, self._join_pieces(), str(error))
                self._wait(error)
            except ConnectionCut as error:
                self._keep(now, self._join_pieces(), str(error))
                self._cuts += 1
                if self._cuts > 1:
                    raise ModelUnreachable(model=self._backend.name, why=self._scrub(str(error))) from error
                self._progress.note = Text("the connection was cut, it is tried again")
            except ModelRejected as error:
                self._keep(now, self._join_pieces(), str(error))
                if self._room <= self._budget.output_tokens:
                    raise
                # Perhaps the model cannot give that much; then it has to be shorter.
                self._room = self._most_room = self._budget.output_tokens
            except ModelTimeout as error:
                late = self._too_late()
                self._keep(now, self._join_pieces(), str(late))
                raise late from error
            except ModelFailed as error:
                self._keep(now, self._join_pieces(), str(error))
                raise

    def _send(self, now: Sequence[ChatMessage], span: Span) -> Reply:
        left = self._time_left()
        if left <= 0:
            raise self._too_late()
        asked = TokenUsage(requests=1)
        read = asked.plus(TokenUsage(input_tokens=sum(_estimate(turn.text) for turn in now)))

        def count(tokens: int) -> None:
            # A service that sends words has read the prompt, and bills it even if the call is interrupted.
            self._progress.hear(read.plus(TokenUsage(output_tokens=tokens)) if tokens else asked)

        self._progress.begun = asked
        # Told before and after: whoever listens knows what it took, even if this process ends in between.
        self._progress.tell()
        try:
            reply = self._backend.send(Call(now, self._schema, left, self._room, count, self._pieces.append))
        except (RetryLater, ConnectionCut, ModelFailed):
            self._progress.finish(self._progress.begun)
            raise
        self._progress.finish(asked.plus(_read_usage(reply)))
        self._progress.tell()
        reply = reply._replace(text=self._scrub(reply.text))
        _note(span, now, reply)
        return reply

    def _wait(self, error: RetryLater) -> None:
        grown = min(_FIRST_WAIT_SEC * 2.0**self._waits, _LONGEST_WAIT_SEC)
        self._waits += 1
        wished = error.after if error.after is not None and error.after >= 0 else None
        # Pause even if the service says 0.
        seconds = grown if wished is None else max(wished, _FIRST_WAIT_SEC)
        if seconds >= self._time_left():
            why, key = self._scrub(str(error)), self._budget.key
            raise ModelBusy(model=self._backend.name, why=why, key=key) from error
        self._progress.note = Text(
            "the service takes no call now; next try in {seconds} s", seconds=round(seconds, 1)
        )
        while seconds > 0:
            self._progress.tell()
            self._sleep(min(seconds, _TICK_SEC))
            seconds -= _TICK_SEC

    def _time_left(self) -> float:
        return self._budget.seconds - self._progress.measure_elapsed()

    def _too_late(self) -> ModelTimeout:
        seconds = f"{self._budget.seconds:g}"
        return ModelTimeout(model=self._backend.name, seconds=seconds, key=self._budget.key)

    def _join_pieces(self) -> str:
        return "".join(self._pieces)

    def _keep(self, now: Sequence[ChatMessage], reply: str, problem: str = "") -> None:
        """Scrub before cutting; otherwise half a key could remain."""
        texts = (format_messages(now), reply, problem)
        self.exchanges.append(Exchange(*(_cut(self._scrub(text)) for text in texts)))


def _note(span: Span, now: Sequence[ChatMessage], reply: Reply) -> None:
    usage = _read_usage(reply)
    span.note(
        {
            attribute.INPUT_TOKENS: usage.input_tokens,
            attribute.OUTPUT_TOKENS: usage.output_tokens,
            attribute.CACHED_TOKENS: usage.cached_tokens,
            attribute.FINISH_REASONS: ("length" if reply.cut_short else "stop",),
        }
    )
    if usage.cost_usd is not None:
        span.note({attribute.COST_USD: usage.cost_usd})
    span.messages(attribute.INPUT_MESSAGES, now)
    span.messages(attribute.OUTPUT_MESSAGES, [("assistant", reply.text)])


def _read_usage(reply: Reply) -> TokenUsage:
    """Bounds the numbers a service reports: a document cannot hold larger ones."""

    def count(claimed: int) -> int:
        return claimed if type(claimed) is int and 0 <= claimed <= _MOST_TOKENS else 0

    known = reply.cost_usd is not None and math.isfinite(reply.cost_usd)
    return TokenUsage(
        input_tokens=count(reply.input_tokens),
        output_tokens=count(reply.output_tokens),
        cost_usd=reply.cost_usd if known else None,
        cached_tokens=min(count(reply.cached_tokens), count(reply.input_tokens)),
    )


def _estimate(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN


def _cut(text: str) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= _KEPT_LENGTH:
        return text
    return data[:_KEPT_LENGTH].decode("utf-8", "ignore") + _CUT_MARK
