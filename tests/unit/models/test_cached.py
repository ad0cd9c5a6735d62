"""A model that was asked before: what counts as the same, and when an old answer is used."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringi.ledger.vault import SealedFiles
from ringi.models.cache import AnswerOrigin
from ringi.models.cached import AnswerCache, CachedModel
from ringi.models.prompt import Budget, Material, ModelAnswer, NewFiles, NewSummary, OnProgress, Prompt
from ringi.models.usage import Purpose, TokenUsage
from tests.helpers import SetClock

pytestmark = pytest.mark.req("PP-12")
PROMPT = Prompt(
    Purpose.REVIEW, "Sum it up.", (Material("instruction", "tidy up"), Material("code", "x = 1\n")),
    session="planning-1", task="Now.",
)  # fmt: skip
BUDGET = Budget(60, 1000, 4000)
TTL = 3600


class Counting:
    """Answers with the number of the call."""

    sees_project = False

    def __init__(self, name: str = "openai:gpt-5") -> None:
        self.name = name
        self.calls = 0

    def ask(
        self, prompt: Prompt, kind: type[Any], budget: Budget, on_progress: OnProgress
    ) -> ModelAnswer[Any]:
        del budget, on_progress
        self.calls += 1
        words: Any = {"paths": []} if kind is NewFiles else {"summary": f"call {self.calls}: {prompt.task}"}
        return ModelAnswer(msgspec.convert(words, kind), TokenUsage(1, 100, 20), (), self.name)


class Bench:
    def __init__(self, folder: Path) -> None:
        self.inner = Counting()
        self.clock = SetClock()
        self.good = True
        self.saved: list[TokenUsage] = []
        self.vault = SealedFiles(folder)
        self.answers = AnswerCache(
            self.vault,
            self.clock,
            TTL,
            lambda _: self.good,
            lambda text: "hunter2" in text,
            self.saved.append,
        )

    def ask(
        self, prompt: Prompt = PROMPT, kind: type[Any] = NewSummary, budget: Budget = BUDGET,
        address: str = "", *, usable: bool | None = True,
    ) -> ModelAnswer[Any]:  # fmt: skip
        answer: ModelAnswer[Any] = CachedModel(self.inner, self.answers, address).ask(
            prompt, kind, budget, lambda _: None
        )
        if usable is not None:
            answer.settle(usable)
        return answer


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_the_same_prompt_is_answered_once(bench: Bench):
    first = bench.ask()
    bench.clock.pass_by(60)
    again = bench.ask(PROMPT._replace(session="planning-2"))
    assert bench.inner.calls == 1
    assert (again.value, again.model) == (first.value, first.model)
    assert again.usage == TokenUsage(reused=1, saved_tokens=120, reused_from=again.usage.reused_from)
    assert again.usage.reused_from < bench.clock.now()
    assert bench.saved == [again.usage]


@pytest.mark.parametrize(
    "change",
    [
        {"rules": "Sum it up!"},
        {"task": "Later."},
        {"purpose": Purpose.TARGETS},
        {"material": PROMPT.material[:1]},
        {"material": (*PROMPT.material[:1], Material("code", "x = 2\n"))},
        {"material": (*PROMPT.material[:1], Material("codes", "x = 1\n"))},
        {"material": (Material("instruction", "tidy upcode"), Material("", "x = 1\n"))},
        {"material": PROMPT.material[::-1]},
        {"material": (*PROMPT.material, Material("feedback", "not like this"))},
        {"material": (*PROMPT.material[:1], Material("code", "x = \ud800\n"))},
    ],
)
def test_whatever_it_reads_makes_another_question(bench: Bench, change: dict[str, Any]):
    bench.ask()
    bench.ask(PROMPT._replace(**change))
    assert bench.inner.calls == 2


def test_another_model_service_kind_or_budget_is_another_question(bench: Bench):
    bench.ask()
    bench.ask(address="http://elsewhere/v1")
    bench.ask(kind=NewFiles)
    bench.ask(budget=Budget(60, 2000, 4000))
    bench.inner.name = "openai:gpt-6"
    bench.ask()
    assert bench.inner.calls == 5
    bench.inner.name = "openai:gpt-5"
    bench.ask(budget=Budget(5, 1000, 4000))
    assert bench.inner.calls == 5, "how long it may take changes nothing"


def test_only_what_could_be_used_is_kept(bench: Bench):
    bench.ask(usable=None)
    bench.ask(usable=False)
    bench.ask()
    assert bench.inner.calls == 3
    assert bench.ask(usable=False).usage.reused == 1
    bench.ask()
    assert bench.inner.calls == 4, "an answer that turned out wrong is not given a second time"


def test_only_what_came_to_a_good_end_is_used(bench: Bench):
    bench.ask()
    bench.good = False
    bench.ask()
    assert bench.inner.calls == 2
    bench.good = True
    assert bench.ask().value.summary.startswith("call 2")


def test_its_origin_is_what_it_was_for(bench: Bench):
    asked: list[AnswerOrigin] = []
    bench.answers = bench.answers._replace(accepted=lambda origin: not asked.append(origin))
    bench.ask()
    bench.ask(PROMPT._replace(session="planning-2"))
    assert asked == [AnswerOrigin(subject="planning-1")]


def test_an_old_answer_goes_and_so_does_one_of_the_future(bench: Bench):
    bench.ask()
    bench.clock.pass_by(TTL - 1)
    assert bench.ask().usage.reused == 1
    bench.clock.pass_by(2)
    assert bench.ask(usable=None).usage.reused == 0
    assert not [*bench.vault.files()]
    bench.ask()
    bench.clock.pass_by(-60)
    assert bench.ask().usage.reused == 0


def test_somebody_who_wants_it_anew_gets_it_and_others_get_that_one(bench: Bench):
    bench.ask()
    usual, bench.answers = bench.answers, bench.answers._replace(reads=lambda: False)
    bench.ask()
    bench.answers = usual
    assert bench.ask().value.summary.startswith("call 2")
    assert bench.inner.calls == 2


@pytest.mark.req("PP-17")
def test_what_holds_a_secret_is_not_kept(bench: Bench):
    bench.ask(PROMPT._replace(task="say hunter2"))
    assert not [*bench.vault.files()]


def test_an_entry_of_another_form_is_a_miss(bench: Bench):
    bench.ask()
    (entry,) = bench.vault.files()
    for data in (b"{}", b"[", b'{"made_at": "2026-01-01", "model": "m", "value": 3}', b"\xff"):
        bench.vault.put(entry.name, data)
        assert bench.ask(usable=None).usage.reused == 0
        assert not [*bench.vault.files()]
