"""Puts the cache around the models that can have one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ringi.errors import RingiError
from ringi.kernel.text import Text
from ringi.ledger.vault import SealedFiles, can_encrypt
from ringi.models.cache import AnswerOrigin
from ringi.models.cached import AnswerCache, CachedModel
from ringi.models.configured import mask_of
from ringi.sessions.plan_cache import PlanCache, is_accepted

if TYPE_CHECKING:
    from ringi.app.store import Store
    from ringi.config.keys import Config
    from ringi.kernel.places import Places
    from ringi.kernel.system import Clock
    from ringi.models.prompt import LanguageModel
    from ringi.runs.role_work import RoleTask

TALLY: Final = "cache_saved"
"""In the ledger's meta: calls and tokens that were not needed, as "12 34567"."""
_ADDRESSES: Final = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OLLAMA_HOST")
_UNCACHED: Final = ("playbook", "cache:")


class Caching:
    def __init__(
        self,
        places: Places,
        config: Config,
        environment: Mapping[str, str],
        ledger: Store,
        clock: Clock,
    ) -> None:
        self._config = config
        self._environment = environment
        self._ledger = ledger
        self._clock = clock
        self._files = SealedFiles(places.state)
        self._ttl = config.planning.cache.ttl
        self.plans = PlanCache(
            vault=self._files,
            clock=clock,
            ttl_sec=self._ttl,
            store=ledger,
            secret=self._secret,
            tally=lambda: tally(ledger),
            saved=self._count,
            why_not=self._why_not,
        )

    def _why_not(self) -> Text | None:
        if not self._config.planning.cache.enabled or not self._ttl:
            return Text("planning.cache.enabled is off, or planning.cache.ttl is 0")
        if can_encrypt():
            return None
        return Text("the package cryptography is not installed; ringi[models] brings it")

    def around(self, model: LanguageModel, task: RoleTask | None = None) -> LanguageModel:
        """Nothing if the model sees more than its prompt."""
        if self._why_not() or model.sees_project or model.name.startswith(_UNCACHED):
            return model
        answers = AnswerCache(
            vault=self._files,
            clock=self._clock,
            ttl_sec=self._ttl,
            accepted=lambda origin: is_accepted(self._ledger, origin),
            secret=self._secret,
            saved=lambda usage: self._count(usage.reused, usage.saved_tokens),
            reads=lambda: self.plans.reads,
        )
        origin = None
        if task is not None:
            origin = AnswerOrigin(
                subject=task.run.run_id,
                step_id=task.step.step_id,
                role=str(task.role),
                turn=len(task.state.attempts) + 1,
            )
        places = (self._config.llm.base_url, *(self._environment.get(name, "") for name in _ADDRESSES))
        return CachedModel(model, answers, " ".join(places), origin)

    def keeps_designs_of(self, model: str) -> bool:
        return not self._why_not() and not model.startswith(_UNCACHED)

    def _secret(self, text: str) -> bool:
        return mask_of(self._config, self._environment)(text) != text

    def _count(self, calls: int, tokens: int) -> None:
        with suppress(RingiError):  # only a number is missing then
            before = tally(self._ledger)
            self._ledger.set_meta(TALLY, f"{before[0] + calls} {before[1] + tokens}")


def tally(ledger: Store) -> tuple[int, int]:
    """Calls and tokens that were saved."""
    words = (ledger.meta(TALLY) or "").split()
    with suppress(ValueError):
        calls, tokens = map(int, words)
        return calls, tokens
    return 0, 0
