"""Records a model's answers in a file, so that a whole session can be replayed without the model.

A recording has one line of JSON for each question, in the order of the answers. The next reader or writer
skips a line that a crash cut off.
"""

import fcntl
import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from ringi.errors import BadDocument, InTheWay, ModelFailed, NotRecorded, StorageFailed, Unreadable
from ringi.kernel import codec
from ringi.kernel.document import Document, Versioned, prepare
from ringi.kernel.fs import NotRegular, read_bounded
from ringi.kernel.text import Text, why_failed
from ringi.kernel.words import Detail, Mask, keep_details, restore_details, whole
from ringi.models.prompt import (
    Budget,
    Exchange,
    LanguageModel,
    ModelAnswer,
    ModelProgress,
    OnProgress,
    Prompt,
)
from ringi.models.usage import Purpose, TokenUsage

T = TypeVar("T")
_CHUNK: Final = 65536
_LARGEST: Final = 256 * 1024 * 1024
_BEGINNING: Final = b'{"answer":'
"""How every line starts: the first key in canonical order."""
_SURROUNDINGS: Final = frozenset(["project", "code"])
"""This material changes with every new file, including the recording itself."""


class RecordedExchange(Document, frozen=True):
    request: str
    reply: str
    problem: str = ""


class RecordedError(Document, frozen=True):
    code: str
    details: dict[str, Detail]


class Recorded(Versioned, frozen=True, kw_only=True):
    asked: str
    """SHA-256 of the question: see `question_hash`."""
    purpose: str
    kind: str
    model: str
    answer: Any = None
    error: RecordedError | None = None
    """Instead of an answer."""
    usage: TokenUsage | None = None
    exchanges: tuple[RecordedExchange, ...] = ()


def question_hash(prompt: Prompt, kind: type) -> str:
    """Covers what the model is told and must answer with, but no time, session or project listing."""
    material = [one for one in prompt.material if one.name not in _SURROUNDINGS]
    words = (prompt.rules, prompt.task, *(part for one in material for part in one))
    told = [str(prompt.purpose), [whole(word) for word in words]]
    return codec.digest(codec.canonical([told, kind.__name__, msgspec.json.schema(kind)]))


class Recording:
    """Asks another model and records the result."""

    def __init__(self, path: Path, inner: LanguageModel, mask: Mask = str) -> None:
        """`mask` hides secrets in the exchanges and in errors; answers stay unchanged."""
        self._path = path
        self._inner = inner
        self._mask = mask

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def sees_project(self) -> bool:
        return self._inner.sees_project

    def ask(self, prompt: Prompt, kind: type[T], budget: Budget, on_progress: OnProgress) -> ModelAnswer[T]:
        # Open it before asking: an answer that cannot be recorded would be wasted money.
        with self._opened():
            asked = question_hash(prompt, kind)
        line = Recorded(asked=asked, purpose=str(prompt.purpose), kind=kind.__name__, model=self._inner.name)
        try:
            answer = self._inner.ask(prompt, kind, budget, on_progress)
        except ModelFailed as error:
            self._append(
                replace(
                    line,
                    error=RecordedError(error.code, keep_details(error.details, self._mask)),
                    usage=error.usage,
                    exchanges=self._masked(error.exchanges),
                )
            )
            raise
        self._append(
            replace(
                line,
                model=answer.model,
                answer=msgspec.to_builtins(answer.value),
                usage=answer.usage,
                exchanges=self._masked(answer.exchanges),
            )
        )
        return answer

    def _masked(self, exchanges: tuple[Exchange, ...]) -> tuple[RecordedExchange, ...]:
        return tuple(
            RecordedExchange(*(whole(self._mask(text)) for text in exchange)) for exchange in exchanges
        )

    def _append(self, line: Recorded) -> None:
        with self._opened() as file:
            size = os.fstat(file).st_size
            data = codec.canonical(line) + b"\n"
            try:
                while data:
                    data = data[os.write(file, data) :]
                os.fsync(file)
            except OSError:
                os.ftruncate(file, size)
                raise

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """Positioned after the last whole line, and locked against other writers."""
        try:
            file = os.open(
                self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600
            )
            try:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    raise InTheWay(what=str(self._path), why=Text("it is not a regular file"))
                fcntl.flock(file, fcntl.LOCK_EX)
                self._end_on_a_line(file)
                yield file
            finally:
                os.close(file)
        except OSError as error:
            raise StorageFailed(what=str(self._path), why=why_failed(error)) from None

    def _end_on_a_line(self, file: int) -> None:
        size = os.fstat(file).st_size
        beginning = os.pread(file, len(_BEGINNING), 0)
        if not _BEGINNING.startswith(beginning):
            raise BadDocument(what=str(self._path), why=Text("it is not a recording"))
        kept, tail = size, b""
        while kept and b"\n" not in tail:
            kept = max(0, size - len(tail) - _CHUNK)
            tail = os.pread(file, size - len(tail) - kept, kept) + tail
        rest = tail.rpartition(b"\n")[2]
        if not rest:
            return
        if _is_whole(rest):
            os.write(file, b"\n")
        else:
            os.ftruncate(file, size - len(rest))


class RecordedModel:
    """Answers from a recording, without a model: a repeated question gets its answers in order.

    A failure is replayed unless an answer to the same question follows it: after a failure a person resumes
    in another process, which would otherwise replay the failure for ever.
    """

    def __init__(self, path: Path) -> None:
        self.name = f"replay:{path}"
        self._path = path
        self._answers: dict[str, deque[Recorded]] = {}
        self._count = 0
        self.sees_project = True
        for line in _read(path):
            answers = self._answers.setdefault(line.asked, deque())
            while line.error is None and answers and answers[-1].error is not None:
                answers.pop()
            answers.append(line)
            self._count += 1
            # Then it is asked which files it wants, as it was when it was recorded.
            self.sees_project &= line.purpose != Purpose.FILES

    def ask(self, prompt: Prompt, kind: type[T], _budget: Budget, on_progress: OnProgress) -> ModelAnswer[T]:
        found = self._next(prompt, kind)
        exchanges = tuple(Exchange(one.request, one.reply, one.problem) for one in found.exchanges)
        on_progress(ModelProgress(0.0, found.usage.output_tokens if found.usage else 0))
        if found.error is not None:
            error = self._error(found.error)
            error.exchanges, error.usage = exchanges, found.usage
            raise error
        try:
            value = msgspec.convert(found.answer, type=prepare(kind))
        except msgspec.ValidationError as problem:
            raise BadDocument(what=str(self._path), why=str(problem)) from None
        return ModelAnswer(value, found.usage or TokenUsage(), exchanges, found.model)

    def _next(self, prompt: Prompt, kind: type) -> Recorded:
        recorded = self._answers.get(question_hash(prompt, kind))
        if recorded:
            return recorded.popleft()
        asked: dict[str, object] = {"purpose": str(prompt.purpose), "count": self._count}
        if recorded is None:
            why = Text(
                "{purpose} was not asked in these words; it has {count} answers to other questions", **asked
            )
        else:
            why = Text(
                "{purpose} is asked in these words once more than it was; it has {count} answers in all",
                **asked,
            )
        raise NotRecorded(model=str(self._path), why=why)

    def _error(self, recorded: RecordedError) -> ModelFailed:
        kinds = {kind.code: kind for kind in _kinds(ModelFailed)}
        if recorded.code not in kinds:
            why = Text("it has an error that nobody knows: {code}", code=recorded.code)
            raise BadDocument(what=str(self._path), why=why)
        try:
            error = kinds[recorded.code](**restore_details(recorded.details))
            str(error)
        except (LookupError, ValueError, TypeError):
            raise BadDocument(what=str(self._path), why=Text("an error in it has no words")) from None
        return error


def _read(path: Path) -> Iterator[Recorded]:
    try:
        data = read_bounded(path, _LARGEST)
    except NotRegular:
        raise Unreadable(what=str(path), why=Text("it is not a regular file")) from None
    except OSError as error:
        raise Unreadable(what=str(path), why=why_failed(error)) from None
    *lines, rest = data.split(b"\n")
    if _is_whole(rest):
        lines.append(rest)
    for number, line in enumerate(lines, 1):
        try:
            yield codec.decode_foreign(line, Recorded, str(path))
        except BadDocument as error:
            why = Text("line {line}: {why}", line=number, why=error.details["why"])
            raise BadDocument(what=str(path), why=why) from None


def _is_whole(line: bytes) -> bool:
    """A line that was cut off is not JSON: its last bracket is missing."""
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _kinds(top: type[ModelFailed]) -> Iterator[type[ModelFailed]]:
    yield top
    for kind in top.__subclasses__():
        yield from _kinds(kind)
