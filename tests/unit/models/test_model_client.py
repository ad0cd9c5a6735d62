import threading

import pytest

from ringi.errors import (
    BadModelAnswer,
    ModelBusy,
    ModelDeclined,
    ModelRejected,
    ModelTimeout,
    ModelUnreachable,
)
from ringi.kernel import codec
from ringi.models.backend import ConnectionCut, Reply, RetryLater
from ringi.models.client import ModelClient
from ringi.models.prompt import Budget, Material, NewSummary, Prompt
from ringi.models.usage import Purpose, TokenUsage
from tests.tables import each

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
        assert seconds <= 0.4  # whoever is told may want to stop it meanwhile
        self.slept.append(seconds)
        self.now += seconds


class Scripted:
    """Each step is a text, a reply or an error; the last one is repeated."""

    name = "scripted"
    sees_project = False

    def __init__(self, clock: Clock, *steps: object, takes: float = 0.0) -> None:
        self._clock = clock
        self._steps = steps
        self._takes = takes
        self.calls = []
        self._ended_at = 0.0
        self.waits: list[float] = []
        """Between one call and the next."""

    def prepare(self) -> None:
        pass

    def send(self, call):
        step = self._steps[min(len(self.calls), len(self._steps) - 1)]
        self.waits += [round(self._clock.now - self._ended_at, 6)] if self.calls else []
        self.calls.append(call)
        self._clock.now += self._takes
        self._ended_at = self._clock.now
        if isinstance(step, str):
            step = Reply(step, 10, 5, 0.25)
        if isinstance(step, Exception):
            call.on_text("as far as it ")
            call.on_text("came")
            call.on_tokens(3)
            raise step
        return step


def _ask(*steps, budget=BUDGET, takes=0.0, on_progress=lambda _: None, scrub=str):
    clock = Clock()
    backend = Scripted(clock, *steps, takes=takes)
    model = ModelClient(backend, clock=clock, sleep=clock.sleep, scrub=scrub)
    return model.ask(PROMPT, NewSummary, budget, on_progress), backend, clock


def _failed(kind, *steps, **more):
    clock = Clock()
    backend = Scripted(clock, *steps, takes=more.pop("takes", 0.0))
    model = ModelClient(backend, clock=clock, sleep=clock.sleep, scrub=more.pop("scrub", str))
    with pytest.raises(kind) as caught:
        model.ask(PROMPT, NewSummary, more.pop("budget", BUDGET), lambda _: None)
    assert type(caught.value) is kind
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
    assert backend.calls[0].schema["required"][0] == "summary"


def test_a_bad_answer_is_asked_for_again_with_what_was_wrong():
    answer, backend, _ = _ask("no idea", '{"summary": 3}', GOOD)
    assert answer.value.summary == "tidy"
    assert [exchange.problem for exchange in answer.exchanges][0::2] == ["there is no JSON object in it", ""]
    assert "$.summary: " in answer.exchanges[1].problem
    assert answer.usage.requests == 3
    assert answer.usage.output_tokens == 15
    _, _, said, wish = backend.calls[2].turns  # only the last bad answer goes along
    assert said == ("assistant", '{"summary": 3}')
    assert "$.summary: " in wish.text


def test_the_third_bad_answer_is_the_last():
    error, backend, _ = _failed(BadModelAnswer, "no", '{"summary": 3}', '{"summary": 4}')
    assert len(backend.calls) == 3
    assert "$.summary: " in str(error)
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
    answer, backend, _ = _ask(RetryLater("429", 7), GOOD)
    assert backend.waits == [7]
    assert answer.usage.requests == 2
    assert answer.exchanges[0].problem == "429"
    assert answer.usage.duration_sec == pytest.approx(7)


def test_a_busy_service_that_does_not_say_when_is_asked_ever_later():
    error, backend, clock = _failed(ModelBusy, RetryLater("500"))
    assert backend.waits == [0.5, 1, 2, 4, 8, 16, 20]
    assert len(backend.calls) == 8
    assert "500" in str(error)
    assert clock.now < 60  # it does not wait for what cannot be


@each("after", [float("nan"), -1.0, None])
def test_a_senseless_wish_is_none(after):
    _, backend, _ = _ask(RetryLater("429", after), GOOD)
    assert backend.waits == [0.5]


def test_who_says_at_once_is_given_a_moment():
    _, backend, _ = _ask(RetryLater("429", 0), RetryLater("429", 0), GOOD)
    assert backend.waits == [0.5, 0.5]


@each("after", [3600.0, 60.0, float("inf")])
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


class Beating(Scripted):
    """Takes its time, and is heard of meanwhile."""

    def send(self, call):
        for tokens in (7, 7, 7, 8, 9):
            self._clock.now += 0.25
            call.on_tokens(tokens)
        return super().send(call)


def test_those_who_wait_are_told_while_nothing_arrives():
    seen = []
    clock = Clock()
    ModelClient(Beating(clock, GOOD), clock=clock).ask(PROMPT, NewSummary, BUDGET, seen.append)
    assert [(one.elapsed_sec, one.output_tokens) for one in seen] == [(0, 0), (0.5, 7), (1.0, 8), (1.25, 5)]


class Enough(Exception):
    pass


@each("step", ["no", RetryLater("429", 30)])
def test_whoever_is_told_can_stop_it_at_any_time_in_the_thread_that_asks(step):
    clock = Clock()
    mine = threading.get_ident()

    def hear(working):
        assert threading.get_ident() == mine
        if working.elapsed_sec > 1.4:
            raise Enough

    with pytest.raises(Enough):
        ModelClient(Beating(clock, step), clock=clock, sleep=clock.sleep).ask(
            PROMPT, NewSummary, BUDGET, hear
        )
    assert clock.now < 2.5


def test_those_who_wait_are_told_why():
    seen = []
    _ask(RetryLater("429", 2), GOOD, on_progress=seen.append)
    assert "next try in 2 s" in str(seen[-1].note)


@each("claimed", [1.5, 10**30, -5, True, float("nan"), "x", None])
def test_what_a_service_claims_to_have_counted_never_spoils_a_document(claimed):
    answer, _, _ = _ask(Reply(GOOD, claimed, claimed, float("inf")))
    assert answer.usage == codec.decode_foreign(codec.canonical(answer.usage), TokenUsage, "usage")
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.cost_usd) == (0, 0, None)


def test_a_key_in_the_answer_is_no_part_of_it():
    answer, _, _ = _ask('{"summary": "the key is sk-123"}', scrub=lambda text: text.replace("sk-123", "***"))
    assert answer.value.summary == "the key is ***"


def test_the_schema_is_not_sent_twice():
    clock = Clock()
    held = Scripted(clock, GOOD)
    ModelClient(held, schema_in_text=False).ask(PROMPT, NewSummary, BUDGET, lambda _: None)
    _, free, _ = _ask(GOOD)
    assert "additionalProperties" not in held.calls[0].turns[1].text
    assert free.calls[0].turns[1].text.count('"summary"') == 2  # as a property, and as a required one
