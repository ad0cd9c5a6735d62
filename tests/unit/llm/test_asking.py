import threading
import time

import pytest

from ringi.domain.model_output import NewSummary
from ringi.domain.prompt import Budget, Material, Prompt, Purpose
from ringi.errors import (
    BadModelAnswer,
    ModelBusy,
    ModelDeclined,
    ModelRejected,
    ModelTimeout,
    ModelUnreachable,
)
from ringi.llm.asking import Asking
from ringi.llm.backend import ConnectionCut, Reply, RetryLater

PROMPT = Prompt(Purpose.REVIEW, "Sum it up.", (Material("instruction", "tidy up"),))
GOOD = '{"summary": "tidy"}'
BUDGET = Budget(60, 1000)


class Clock:
    """Moves only when somebody sleeps or a backend takes its time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Scripted:
    """Each step is a text, a reply or an error; the last one is repeated."""

    name = "scripted"

    def __init__(self, clock: Clock, *steps: object, takes: float = 0.0) -> None:
        self._clock = clock
        self._steps = steps
        self._takes = takes
        self.calls = []

    def prepare(self) -> None:
        pass

    def send(self, call):
        step = self._steps[min(len(self.calls), len(self._steps) - 1)]
        self.calls.append(call)
        self._clock.now += self._takes
        if isinstance(step, str):
            step = Reply(step, 10, 5, 0.25)
        if isinstance(step, Exception):
            call.on_text("as far as it ")
            call.on_text("came")
            call.on_tokens(3)
            raise step
        return step


def _ask(*steps, budget=BUDGET, takes=0.0, on_working=lambda _: None, scrub=str):
    clock = Clock()
    backend = Scripted(clock, *steps, takes=takes)
    model = Asking(backend, clock=clock, sleep=clock.sleep, scrub=scrub)
    try:
        answer = model.ask(PROMPT, NewSummary, budget, on_working)
    finally:
        assert not [t for t in threading.enumerate() if t.name == "ringi-model-progress"]
    return answer, backend, clock


def _failed(kind, *steps, **more):
    clock = Clock()
    backend = Scripted(clock, *steps, takes=more.pop("takes", 0.0))
    model = Asking(backend, clock=clock, sleep=clock.sleep, scrub=more.pop("scrub", str))
    with pytest.raises(kind) as caught:
        model.ask(PROMPT, NewSummary, more.pop("budget", BUDGET), lambda _: None)
    assert type(caught.value) is kind
    assert not [t for t in threading.enumerate() if t.name == "ringi-model-progress"]
    return caught.value, backend, clock


def test_an_answer_comes_with_what_it_took():
    answer, backend, _ = _ask(GOOD, takes=2.0)
    assert answer.value == NewSummary("tidy")
    assert answer.model == "scripted"
    assert (answer.usage.requests, answer.usage.input_tokens, answer.usage.output_tokens) == (1, 10, 5)
    assert (answer.usage.cost_usd, answer.usage.duration_sec) == (0.25, 2.0)
    [exchange] = answer.exchanges
    assert exchange.reply == GOOD
    assert exchange.problem == ""
    assert "[system]\nSum it up." in exchange.request
    assert "tidy up" in exchange.request
    assert backend.calls[0].seconds == 60
    assert backend.calls[0].schema["required"] == ["summary"]


def test_a_bad_answer_is_asked_for_again_with_what_was_wrong():
    answer, backend, _ = _ask("no idea", '{"summary": 3}', GOOD)
    assert answer.value.summary == "tidy"
    assert [exchange.problem for exchange in answer.exchanges][0::2] == ["there is no JSON object in it", ""]
    assert "`$.summary`" in answer.exchanges[1].problem
    assert answer.usage.requests == 3
    assert answer.usage.output_tokens == 15
    _, _, said, wish = backend.calls[2].turns  # only the last bad answer goes along
    assert said == ("assistant", '{"summary": 3}')
    assert "`$.summary`" in wish.text


def test_the_third_bad_answer_is_the_last():
    error, backend, _ = _failed(BadModelAnswer, "no", '{"summary": 3}', '{"summary": 4}')
    assert len(backend.calls) == 3
    assert "`$.summary`" in str(error)
    assert [exchange.reply for exchange in error.exchanges] == ["no", '{"summary": 3}', '{"summary": 4}']
    assert error.usage.requests == 3
    assert error.usage.cost_usd == 0.75


def test_an_answer_that_was_cut_off_says_so():
    error, _, _ = _failed(BadModelAnswer, Reply('{"summary": "and so on', cut_short=True))
    assert "llm.max_output_tokens" in str(error)
    assert "1000 tokens" in str(error)


def test_an_empty_answer_may_be_a_mishap_but_not_three_times():
    answer, _, _ = _ask("", GOOD)
    assert answer.value.summary == "tidy"
    error, backend, _ = _failed(ModelDeclined, "", "no", "")
    assert len(backend.calls) == 3
    assert len(error.exchanges) == 3


def test_a_refusal_is_final():
    error, backend, _ = _failed(ModelDeclined, ModelDeclined(model="scripted", why="I will not"))
    assert len(backend.calls) == 1
    assert error.exchanges[0].reply == "as far as it came"


def test_a_rejection_is_final():
    _, backend, _ = _failed(ModelRejected, ModelRejected(model="scripted", why="401"))
    assert len(backend.calls) == 1


def test_a_busy_service_is_asked_later_when_it_says_when():
    answer, _, clock = _ask(RetryLater("429", 7), GOOD)
    assert clock.slept == [7]
    assert answer.usage.requests == 2
    assert answer.exchanges[0].problem == "429"
    assert answer.usage.duration_sec == 7


def test_a_busy_service_that_does_not_say_when_is_asked_ever_later():
    error, backend, clock = _failed(ModelBusy, RetryLater("500"))
    assert clock.slept == [0.5, 1, 2, 4, 8, 16, 20]
    assert len(backend.calls) == 8
    assert "500" in str(error)
    assert clock.now < 60  # it does not wait for what cannot be


@pytest.mark.parametrize("after", [float("nan"), -1.0, None])
def test_a_senseless_wish_is_none(after):
    _, _, clock = _ask(RetryLater("429", after), GOOD)
    assert clock.slept == [0.5]


def test_who_says_at_once_is_given_a_moment():
    _, _, clock = _ask(RetryLater("429", 0), RetryLater("429", 0), GOOD)
    assert clock.slept == [0.5, 0.5]


@pytest.mark.parametrize("after", [3600.0, 60.0, float("inf")])
def test_nobody_waits_for_longer_than_the_budget(after):
    error, backend, clock = _failed(ModelBusy, RetryLater("quota", after))
    assert clock.slept == []
    assert len(backend.calls) == 1
    assert error.usage.requests == 1


def test_a_cut_connection_is_tried_once_more():
    answer, _, _ = _ask(ConnectionCut("reset"), GOOD)
    assert answer.exchanges[0] == (answer.exchanges[1].request, "as far as it came", "reset")
    error, backend, _ = _failed(ModelUnreachable, ConnectionCut("reset"))
    assert len(backend.calls) == 2
    assert "reset" in str(error)


def test_the_budget_is_for_all_tries_together():
    error, backend, _ = _failed(ModelTimeout, "no", takes=25, budget=Budget(50, 10))
    assert [call.seconds for call in backend.calls] == [50, 25]
    assert "50 seconds" in str(error)
    assert error.usage.duration_sec == 50
    late = ModelTimeout(model="scripted", seconds=1)
    error, _, _ = _failed(ModelTimeout, "no", late, takes=10)
    assert "60 seconds" in str(error)


def test_keys_are_taken_out_of_all_that_is_kept():
    def scrub(text):
        return text.replace("tidy", "***")

    answer, _, _ = _ask("tidy?", GOOD, scrub=scrub)
    assert "tidy" not in str(answer.exchanges)
    error, _, _ = _failed(ModelBusy, RetryLater("the key tidy is", 99), scrub=scrub)
    assert "tidy" not in f"{error} {error.exchanges}"
    error, _, _ = _failed(BadModelAnswer, '{"tidy": 1}', scrub=scrub)
    assert "tidy" not in f"{error} {error.exchanges}"


def test_long_replies_are_kept_cut():
    error, _, _ = _failed(BadModelAnswer, "ち" * 200_000)
    assert all(len(exchange.reply.encode()) <= 64 * 1024 + 10 for exchange in error.exchanges)
    assert error.exchanges[0].reply.startswith("ちち")


def test_those_who_wait_are_told_while_nothing_arrives():
    seen = []

    class Slow:
        name = "slow"

        def prepare(self):
            pass

        def send(self, call):
            call.on_tokens(7)
            time.sleep(1.3)
            return Reply(GOOD, 1, 9)

    Asking(Slow()).ask(PROMPT, NewSummary, BUDGET, seen.append)
    assert len(seen) >= 3
    assert seen[0].output_tokens == 0
    assert seen[-1].output_tokens == 7
    assert [working.elapsed_sec for working in seen] == sorted(working.elapsed_sec for working in seen)
    assert seen[-1].elapsed_sec > 0.9


def test_those_who_wait_are_told_why():
    seen = []
    _ask(RetryLater("429", 2), GOOD, on_working=seen.append)
    assert "next try in 2 s" in str(seen[-1].note)


def test_the_ticker_ends_with_an_interrupt():
    class Interrupted:
        name = "interrupted"

        def prepare(self):
            pass

        def send(self, call):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Asking(Interrupted()).ask(PROMPT, NewSummary, BUDGET, lambda _: None)
    assert not [t for t in threading.enumerate() if t.name == "ringi-model-progress"]


def test_the_schema_is_not_sent_twice():
    clock = Clock()
    held = Scripted(clock, GOOD)
    Asking(held, schema_in_text=False).ask(PROMPT, NewSummary, BUDGET, lambda _: None)
    _, free, _ = _ask(GOOD)
    assert "additionalProperties" not in held.calls[0].turns[0].text
    assert free.calls[0].turns[0].text.count("additionalProperties") == 1
