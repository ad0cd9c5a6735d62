"""A language model that answers what it was asked before without being asked again.

The key is everything that the model would read. That holds the files it reasons about, so an answer counts
exactly as long as those are unchanged. What names the session or the run does not count: only fences are made
from it.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from ringi.errors import BadDocument, RingiError
from ringi.kernel import codec
from ringi.kernel.document import prepare
from ringi.kernel.system import Clock
from ringi.ledger.vault import SealedFiles
from ringi.models.cache import AnswerOrigin, KeptAnswer
from ringi.models.prompt import Budget, LanguageModel, ModelAnswer, OnProgress, Prompt
from ringi.models.turns import compact_schema
from ringi.models.usage import TokenUsage

T = TypeVar("T")

ANSWER: Final = "answer"
_FORM: Final = 1


class AnswerCache(NamedTuple):
    """Those of one workspace."""

    vault: SealedFiles
    clock: Clock
    ttl_sec: float
    accepted: Callable[[AnswerOrigin], bool]
    """Whether what an answer was for came to a good end."""
    secret: Callable[[str], bool]
    """Whether a text holds what looks like a secret: then it is not kept."""
    saved: Callable[[TokenUsage], None]
    """Counts what a model was not asked for."""
    reads: Callable[[], bool] = lambda: True
    """Otherwise every answer is new; it takes the place of the old one."""


class CachedModel:
    def __init__(
        self, inner: LanguageModel, answers: AnswerCache, address: str, origin: AnswerOrigin | None = None
    ) -> None:
        """`address` is the service that is asked. Without an origin, it is the prompt's session."""
        self._inner = inner
        self._answers = answers
        self._address = address
        self._origin = origin

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def sees_project(self) -> bool:
        return self._inner.sees_project

    def ask(self, prompt: Prompt, kind: type[T], budget: Budget, on_progress: OnProgress) -> ModelAnswer[T]:
        name = self._name(prompt, kind, budget)
        if self._answers.reads() and (found := self._look_up(name, kind)) is not None:
            return found
        answer: ModelAnswer[T] = self._inner.ask(prompt, kind, budget, on_progress)
        origin = self._origin or AnswerOrigin(subject=prompt.session)

        def settle(usable: bool) -> None:
            if usable:
                self._keep(name, answer, origin)
            else:
                self._answers.vault.drop(name)

        return answer._replace(settle=settle)

    def _name(self, prompt: Prompt, kind: type, budget: Budget) -> str:
        read = [
            _FORM, self.name, self._address, prompt.purpose, prompt.rules, prompt.task, prompt.material,
            kind.__name__, compact_schema(kind), budget.output_tokens, budget.most_output_tokens,
        ]  # fmt: skip
        data = json.dumps(read, sort_keys=True).encode()  # in ASCII: whatever the text holds
        return f"{ANSWER}-{hashlib.sha256(data).hexdigest()}"

    def _look_up(self, name: str, kind: type[T]) -> ModelAnswer[T] | None:
        answers = self._answers
        if (data := answers.vault.get(name)) is None:
            return None
        now, oldest = answers.clock.now(), answers.clock.after(-answers.ttl_sec)
        try:
            kept = codec.decode_foreign(data, KeptAnswer, name)
            value = msgspec.convert(kept.value, type=prepare(kind))
        except (RingiError, msgspec.ValidationError):  # of another version
            answers.vault.drop(name)
            return None
        if not oldest < kept.made_at <= now:
            answers.vault.drop(name)
            return None
        if not answers.accepted(kept.origin):
            return None
        usage = TokenUsage(
            reused=1, saved_tokens=kept.input_tokens + kept.output_tokens, reused_from=kept.made_at
        )
        answers.saved(usage)

        def settle(usable: bool) -> None:
            if not usable:
                answers.vault.drop(name)

        return ModelAnswer(value, usage, (), kept.model, settle)

    def _keep(self, name: str, answer: ModelAnswer[Any], origin: AnswerOrigin) -> None:
        answers, value = self._answers, msgspec.to_builtins(answer.value)
        if any(map(answers.secret, _texts(value))):
            return
        kept = KeptAnswer(
            made_at=answers.clock.now(),
            model=answer.model,
            origin=origin,
            input_tokens=answer.usage.input_tokens,
            output_tokens=answer.usage.output_tokens,
            value=value,
        )
        answers.vault.sweep(answers.ttl_sec)
        with suppress(BadDocument):  # no text
            answers.vault.put(name, codec.canonical(kept))


def _texts(value: object) -> Iterator[str]:
    """Names of fields are ours."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
