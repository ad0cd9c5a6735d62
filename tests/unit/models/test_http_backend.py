import gzip
import os
import signal
import socket
import sys
import threading
import time
import traceback
from pathlib import Path

import pytest

from ringi.config.keys import Config, Llm
from ringi.errors import (
    BadModelAnswer,
    Interrupted,
    ModelBusy,
    ModelDeclined,
    ModelRejected,
    ModelTimeout,
    ModelUnreachable,
    NoExtra,
)
from ringi.kernel.process.network import proxy_for
from ringi.models import providers
from ringi.models.client import ModelClient
from ringi.models.configured import choose, scrub_of
from ringi.models.http_backend import HttpBackend, client
from ringi.models.prompt import Budget, Material, NewQuestions, Prompt
from ringi.models.providers import Provider, _chat
from ringi.models.usage import Purpose
from ringi.policy.masking import secret_values
from tests.fakes.model_server import (
    ANTHROPIC_KEY,
    OPENAI_KEY,
    Cut,
    ErrorInStream,
    Events,
    Garbage,
    Huge,
    ModelServer,
    Never,
    Refuse,
    Say,
    Slowly,
    Status,
)
from tests.helpers import PATIENCE_SEC
from tests.tables import each

GOOD = {"questions": [{"type": "scope", "question": "どこまで?"}]}
PROMPT = Prompt(Purpose.DISCOVERY, "Ask what is unclear.", (Material("instruction", "読みやすくする"),))
OPENAI, ANTHROPIC, OLLAMA = "openai:gpt-4o-mini", "anthropic:claude-haiku-4-5", "ollama:qwen3"
BOTH = pytest.mark.parametrize("name", [OPENAI, ANTHROPIC])
ENOUGH = Budget(20, 500)
LITTLE = Budget(0.7, 500)
SOME = Budget(5, 500)
"""Short, but a busy machine gets an answer within it."""


@pytest.fixture(scope="module", autouse=True)
def warm():
    """The libraries take seconds to load, which no scaled budget has."""
    import pydantic_ai.models.anthropic
    import pydantic_ai.models.openai

    assert pydantic_ai


def _ask(server, name, budget=ENOUGH, on_progress=lambda _: None, **environment):
    model = choose(name, Config(), {**server.environment(), **environment}, Path())
    return model.ask(PROMPT, NewQuestions, budget, on_progress)


def _impatient(server, name):
    """Waits for nobody, though it says so."""
    environment = server.environment()
    model = name.partition(":")[2]
    if name == OPENAI:
        service = providers.openai(model, "", environment)
    else:
        service = providers.anthropic(model, environment)
    waits = []
    answer = ModelClient(HttpBackend(service, environment, str), sleep=waits.append).ask(
        PROMPT, NewQuestions, ENOUGH, lambda _: None
    )
    return answer, waits


def _failed(kind, script, name, budget=ENOUGH):
    with ModelServer(script) as server:
        with pytest.raises(kind) as caught:
            _ask(server, name, budget)
        _nothing_left(server)
    error = caught.value
    assert type(error) is kind
    assert name in str(error)
    assert error.usage.requests == len(server.requests)
    told = "".join(traceback.format_exception(error)) + repr(error.exchanges) + repr(error.details)
    assert OPENAI_KEY not in told
    assert ANTHROPIC_KEY not in told
    return error, server


THERE_BEFORE: set[threading.Thread] = set()
"""Threads of an earlier test in this process, such as one that still waits for a receiver that hangs."""


@pytest.fixture(autouse=True)
def threads_there_before():
    THERE_BEFORE.clear()
    THERE_BEFORE.update(threading.enumerate())


def _nothing_left(server):
    now = set(threading.enumerate()) - THERE_BEFORE
    assert [thread for thread in now if thread.name.startswith("ringi-")] == []
    until = time.monotonic() + 60
    while server.open_connections and time.monotonic() < until:
        time.sleep(0.01)
    assert server.open_connections == 0


@pytest.mark.parametrize("name", [OPENAI, ANTHROPIC, OLLAMA])
def test_a_model_answers(name):
    seen = []
    with ModelServer([Say(GOOD)]) as server:
        answer = _ask(server, name, on_progress=seen.append)
        _nothing_left(server)
    [request] = server.requests
    assert answer.value.questions[0].question == "どこまで?"
    assert answer.model == name
    assert answer.usage.input_tokens == request.prompt_tokens > 0
    assert answer.usage.output_tokens > 0
    assert request.body["stream"] is True
    assert request.body["max_tokens"] == 500
    assert [role for role, _ in request.turns] == ["system", "user"]
    assert "読みやすくする" in request.turns[1][1]
    assert seen


def test_each_service_gets_its_own_key_and_no_other():
    with ModelServer([Say(GOOD)]) as server:
        for name in (OPENAI, ANTHROPIC, OLLAMA):
            _ask(server, name)
    openai, anthropic, ollama = (str(request.headers) for request in server.requests)
    assert (OPENAI_KEY in openai, ANTHROPIC_KEY in openai) == (True, False)
    assert (OPENAI_KEY in anthropic, ANTHROPIC_KEY in anthropic) == (False, True)
    assert (OPENAI_KEY in ollama, ANTHROPIC_KEY in ollama) == (False, False)


def test_what_the_process_has_in_its_environment_goes_to_nobody(monkeypatch):
    for variable in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(variable, "not-for-you")
    for variable in ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.setenv(variable, "X-Gate: not-for-you\nAuthorization: Bearer not-for-you")
    with ModelServer([Say(GOOD)]) as server:
        for name in (OPENAI, ANTHROPIC, OLLAMA):
            _ask(server, name)
    sent = [request.headers for request in server.requests]
    assert "not-for-you" not in str(sent)
    carried = [(headers.get("authorization"), headers.get("x-api-key")) for headers in sent]
    assert carried == [(f"Bearer {OPENAI_KEY}", None), (None, ANTHROPIC_KEY), (None, None)]
    assert sent[1]["anthropic-version"]


def test_the_account_is_told_to_the_official_service_alone():
    account = {"OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "proj-1"}
    with ModelServer([Say(GOOD)]) as server:
        _ask(server, OPENAI, **account)
        url = f"{server.url}/v1"
        service = Provider(OPENAI, url, lambda: _chat("gpt-5", url, account, official=True), True, {})
        ModelClient(HttpBackend(service, {}, str)).ask(PROMPT, NewQuestions, ENOUGH, lambda _: None)
    other, official = (request.headers for request in server.requests)
    assert not any(name.startswith("openai-") for name in other)
    assert (official["openai-organization"], official["openai-project"]) == ("org-1", "proj-1")


def test_a_library_that_is_not_whole_leaves_the_session_as_it_is(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic_ai.models.openai", None)
    with ModelServer([Say(GOOD)]) as server, pytest.raises(NoExtra):
        _ask(server, OPENAI)
    assert server.requests == []


def test_the_schema_goes_beside_the_text_or_into_it_but_not_both():
    with ModelServer([Say(GOOD)]) as server:
        _ask(server, OPENAI)
        _ask(server, ANTHROPIC)
    held, told = server.requests
    assert held.schema["properties"]["questions"]["maxItems"] == 5
    assert "additionalProperties" not in held.text
    assert told.schema is None
    assert told.text.count('"maxItems":5') == 1


def test_a_service_that_cannot_be_held_to_a_schema_is_told_it():
    with ModelServer([Status(400, "response_format is not supported"), Say(GOOD)]) as server:
        model = choose(OPENAI, Config(), server.environment(), Path())
        for _ in range(2):
            assert model.ask(PROMPT, NewQuestions, ENOUGH, lambda _: None).value.questions
    first, *later = server.requests
    assert first.schema
    assert len(later) == 2  # it is remembered
    assert all(request.schema is None and '"maxItems":5' in request.text for request in later)


def test_the_official_service_is_held_strictly():
    with ModelServer([Say(GOOD)]) as server:
        url = f"{server.url}/v1"
        service = Provider(OPENAI, url, lambda: _chat("gpt-5", url, {}, official=True), True, {})
        ModelClient(HttpBackend(service, {}, str)).ask(PROMPT, NewQuestions, ENOUGH, lambda _: None)
    body = server.requests[0].body
    assert body["response_format"]["json_schema"]["strict"] is True
    assert body["max_completion_tokens"] == 500


def test_the_price_is_known_if_the_model_is():
    with ModelServer([Say(GOOD)]) as server:
        assert 0 < _ask(server, ANTHROPIC).usage.cost_usd < 0.01
        assert (
            _ask(server, "anthropic:nobody-knows-it").usage.cost_usd is not None
        )  # it says which one answered
        assert _ask(server, OPENAI).usage.cost_usd is None  # another address, another price
        assert _ask(server, OLLAMA).usage.cost_usd is None


@BOTH
@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_call_that_is_refused_is_not_repeated(name, status):
    error, server = _failed(ModelRejected, [Status(status, "no such {key} " + "x" * 900)], name)
    assert len(server.requests) == 1
    assert f"HTTP {status}: no such (masked: a key) xxx" in str(error)
    assert len(str(error)) < 400


@BOTH
def test_an_account_without_money_is_not_waited_for(name):
    kind = "insufficient_quota" if name == OPENAI else "billing_error"
    _, server = _failed(ModelRejected, [Status(429 if name == OPENAI else 402, "no money", kind=kind)], name)
    assert len(server.requests) == 1


@BOTH
@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_a_service_in_trouble_is_asked_again(name, status):
    with ModelServer([Status(status), Status(status, retry_after="7"), Say(GOOD)]) as server:
        answer, waits = _impatient(server, name)
        _nothing_left(server)
    assert answer.usage.requests == len(server.requests) == 3
    assert f"HTTP {status}" in answer.exchanges[0].problem
    assert sum(waits) == pytest.approx(7.5)


def test_the_service_says_when():
    with ModelServer([Status(429, retry_after="1"), Say(GOOD)]) as server:
        assert 1 <= _ask(server, OPENAI).usage.duration_sec < 4


@BOTH
@pytest.mark.parametrize("step", [Status(429, "slow, {key}", retry_after="30"), Status(500, "{key}")])
def test_a_service_in_trouble_for_long_is_busy(name, step):
    error, _ = _failed(ModelBusy, [step], name, SOME)
    assert f"HTTP {step.code}" in str(error)


@BOTH
def test_an_error_in_the_stream_is_one_of_the_service(name):
    with ModelServer([ErrorInStream(), Say(GOOD)]) as server:
        answer, _ = _impatient(server, name)
    assert answer.usage.requests == 2
    assert "the server had an error" in answer.exchanges[0].problem


@BOTH
@pytest.mark.parametrize("pieces", [0, 2])
def test_a_connection_cut_in_the_middle_is_tried_once_more(name, pieces):
    with ModelServer([Cut(pieces=pieces), Say(GOOD)]) as server:
        assert _ask(server, name).usage.requests == 2
    error, server = _failed(ModelUnreachable, [Cut(pieces=pieces + 2)], name)
    assert len(server.requests) == 2
    assert error.exchanges[0].reply.startswith("a few words")


@BOTH
def test_nobody_there(name):
    with ModelServer([Say(GOOD)]) as server:
        environment = server.environment()
    with pytest.raises(ModelUnreachable) as caught:
        choose(name, Config(), environment, Path()).ask(PROMPT, NewQuestions, ENOUGH, lambda _: None)
    assert caught.value.exchanges


def test_a_name_that_nobody_has():
    config = Config(llm=Llm(base_url="http://nobody.invalid/v1"))
    with pytest.raises((ModelUnreachable, ModelTimeout)):
        choose(OPENAI, config, {}, Path()).ask(PROMPT, NewQuestions, Budget(8, 10), lambda _: None)


def test_a_lookup_that_hangs_holds_up_nobody(monkeypatch):
    over, ended = threading.Event(), threading.Event()

    def hangs(*_: object, **__: object) -> list[object]:
        over.wait(60)
        ended.set()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hangs)
    config = Config(llm=Llm(base_url="http://somewhere.invalid/v1"))
    with pytest.raises(ModelTimeout):
        choose(OPENAI, config, {}, Path()).ask(PROMPT, NewQuestions, LITTLE, lambda _: None)
    assert not ended.is_set()
    over.set()
    for thread in threading.enumerate():
        if thread.name == "ringi-name-lookup":
            thread.join(PATIENCE_SEC)


def test_no_tls_where_tls_was_expected():
    with ModelServer([Say(GOOD)]) as server:
        config = Config(llm=Llm(base_url=server.url.replace("http:", "https:")))
        with pytest.raises(ModelUnreachable):
            choose(OPENAI, config, {}, Path()).ask(PROMPT, NewQuestions, ENOUGH, lambda _: None)


@BOTH
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("{'questions': []", "property name"),
        ({"question": "what?"}, "did you mean questions?"),
        ([], "object"),
    ],
)
def test_an_answer_of_the_wrong_shape_is_mended(name, words, problem):
    with ModelServer([Say(words), Say(GOOD)]) as server:
        answer = _ask(server, name)
    first, second = server.requests
    assert problem in answer.exchanges[0].problem
    assert [role for role, _ in second.turns] == ["system", "user", "assistant", "user"]
    assert second.turns[:2] == first.turns  # it need not be read twice
    # Whoever answers so was not held to it.
    assert '"maxItems":5' in second.turns[1 if name.startswith("anthropic") else 3][1]
    assert problem in second.turns[3][1]
    error, server = _failed(BadModelAnswer, [Say(words)], name)
    assert len(server.requests) == 3
    assert problem in str(error)


@BOTH
def test_everything_wrong_with_an_answer_is_named_at_once(name):
    wrong = {"questions": [{"type": "scope"}, {"type": "why", "question": 3}], "extra": 1}
    with ModelServer([Say(wrong), Say(GOOD)]) as server:
        _ask(server, name)
    wish = server.requests[1].turns[-1][1]
    places = ("$.extra", "$.questions[0].question", "$.questions[1].type", "$.questions[1].question")
    assert all(f"{place}: " in wish for place in places)


@BOTH
def test_an_answer_that_was_cut_off_is_asked_for_with_more_room(name):
    notes = []
    with ModelServer([Say('{"questions": [', finish="length")] * 2 + [Say(GOOD)]) as server:
        answer = _ask(
            server, name, ENOUGH._replace(most_output_tokens=2000), lambda one: notes.append(one.note)
        )
    limits = [
        request.body.get("max_tokens") or request.body.get("max_completion_tokens")
        for request in server.requests
    ]
    assert limits == [500, 1000, 2000]
    assert all(request.turns == server.requests[0].turns for request in server.requests)
    assert "500 tokens" in answer.exchanges[0].problem


@BOTH
def test_a_model_that_cannot_say_more_is_asked_for_less(name):
    cut = Say('{"questions": [', finish="length")
    with ModelServer([cut, Status(400, "max_tokens is too large"), cut, Say(GOOD)]) as server:
        _ask(server, name, ENOUGH._replace(most_output_tokens=2000))
    assert "cut off" in server.requests[3].turns[-1][1]


@BOTH
def test_what_a_service_had_read_before_is_counted(name):
    with ModelServer([Say(GOOD, cached=30)]) as server:
        usage = _ask(server, name).usage
    assert usage.cached_tokens == 30
    assert usage.input_tokens == server.requests[0].prompt_tokens


@BOTH
def test_what_an_interrupted_call_took_is_reported_until_then(name):
    reports = []

    def stop(progress):
        reports.append(progress)
        if progress.output_tokens:
            raise Interrupted(survivors=0)

    with ModelServer([Slowly({"questions": [{"type": "scope", "question": "?" * 300}]}, 0.001)]) as server:
        with pytest.raises(Interrupted):
            _ask(server, name, ENOUGH._replace(seconds=60), stop)
        spent = reports[-1].spent
        assert (spent.requests, spent.input_tokens > 20, spent.output_tokens > 0) == (1, True, True)
    error, _ = _failed(ModelUnreachable, [Cut()], name)
    assert error.usage.requests == 2
    assert error.usage.input_tokens > 20
    busy, _ = _failed(ModelRejected, [Status(401)], name)
    assert busy.usage.input_tokens == 0


@BOTH
def test_an_answer_cut_off_by_its_limit_says_so(name):
    error, _ = _failed(BadModelAnswer, [Say('{"questions": [', finish="length")], name)
    assert "llm.max_output_tokens" in str(error)


@BOTH
def test_an_empty_answer(name):
    _, server = _failed(ModelDeclined, [Say("")], name)
    assert len(server.requests) == 3


@BOTH
def test_a_refusal(name):
    error, server = _failed(ModelDeclined, [Refuse()], name)
    assert len(server.requests) == 1
    if name == OPENAI:
        assert "I cannot help with that." in str(error)


@BOTH
def test_an_answer_of_five_megabytes_is_cut_off(name):
    error, server = _failed(BadModelAnswer, [Huge()], name)
    assert len(server.requests) == 1
    assert "1048576 bytes" in str(error)
    assert len(error.exchanges[0].reply) < 70_000


@BOTH
@pytest.mark.parametrize("step", [Slowly(GOOD, 0.1), Never()])
def test_who_takes_too_long_is_not_waited_for(name, step):
    error, _ = _failed(ModelTimeout, [step], name, LITTLE)
    assert "0.7 seconds" in str(error)


@BOTH
@pytest.mark.parametrize(
    "step",
    [
        Garbage(),
        Garbage(b"\xff\xfe\0{{{", "text/plain"),
        Garbage(b"{}", "application/json"),
        Garbage(b"data: {\n\n"),
        Garbage(b"data: \xff\n\n"),
        Events(["not json"]),
        Events(["[]"]),
        Events(["[" * 100_000]),
    ],
)
def test_something_that_is_no_model_service(name, step):
    error, _ = _failed(BadModelAnswer, [step], name)
    assert len(str(error)) < 600


def test_chunks_of_a_shape_nobody_thought_of():
    for line in ('{"choices": "x"}', '{"choices": [1]}', '{"choices": [{"delta": 7}]}', '{"usage": "much"}'):
        with ModelServer([Events([line])]) as server, pytest.raises((BadModelAnswer, ModelDeclined)):
            _ask(server, OPENAI)
    for kind, more in (("message_start", ""), ("content_block_delta", ', "index": 4, "delta": 3')):
        events = f'event: {kind}\ndata: {{"type": "{kind}"{more}}}\n\n'
        with (
            ModelServer([Garbage(events.encode())]) as server,
            pytest.raises((BadModelAnswer, ModelDeclined)),
        ):
            _ask(server, ANTHROPIC)


@BOTH
def test_packed_answers_are_not_unpacked(name):
    packed = Garbage(gzip.compress(b"data: {}\n\n" * 100_000), packed="gzip")
    error, server = _failed(BadModelAnswer, [packed], name)
    assert "packed (gzip)" in str(error)
    assert server.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_this_machine_is_never_reached_through_a_proxy(monkeypatch, variable):
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    with ModelServer([Say(GOOD)]) as server:
        assert _ask(server, OPENAI, **{variable: "http://127.0.0.1:9"}).value.questions
        assert _ask(server, ANTHROPIC, **{variable: "http://127.0.0.1:9"}).value.questions


@each(
    ("url", "environment", "proxy"),
    [
        ("https://api.openai.com/v1", {}, None),
        ("https://api.openai.com/v1", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.openai.com/v1", {"https_proxy": "http://p:1"}, "http://p:1"),
        ("https://api.openai.com/v1", {"HTTP_PROXY": "http://p:1"}, None),
        ("https://api.openai.com/v1", {"ALL_PROXY": "http://p:1", "NO_PROXY": "a.b, .openai.com"}, None),
        ("https://api.openai.com/v1", {"ALL_PROXY": "http://p:1", "NO_PROXY": "ai.com"}, "http://p:1"),
        ("https://api.openai.com/v1", {"ALL_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        ("http://localhost:80", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://[::1]:80", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://10.0.0.1", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
    ],
)
def test_proxies_are_those_of_the_environment_given(url, environment, proxy):
    assert proxy_for(url, environment) == proxy


@each(
    "proxy",
    [
        "socks5://127.0.0.1:9",
        "ftp://me:pass-w0rd@proxy",
        "me:pass-w0rd@127.0.0.1:9",
        "http://me:pass-w0rd@127.0.0.1:9",
        "http://me:pass@/-w0rd@127.0.0.1:9",
        "\x7f://",
        "http://[",
    ],
)
def test_a_proxy_that_nobody_can_speak_to(proxy):
    environment = {"OPENAI_API_KEY": OPENAI_KEY, "HTTPS_PROXY": proxy}
    with pytest.raises(ModelUnreachable) as caught:
        choose(OPENAI, Config(), environment, Path()).ask(PROMPT, NewQuestions, ENOUGH, lambda _: None)
    assert "-w0rd" not in "".join(traceback.format_exception(caught.value)) + repr(caught.value.exchanges)


def test_certificates_that_cannot_be_read(tmp_path):
    environment = {"OPENAI_API_KEY": OPENAI_KEY, "SSL_CERT_FILE": str(tmp_path / "none.pem")}
    with pytest.raises(ModelUnreachable):
        choose(OPENAI, Config(), environment, Path()).ask(PROMPT, NewQuestions, ENOUGH, lambda _: None)


def test_redirects_are_not_followed():
    assert client("http://127.0.0.1:1", {}, {}).follow_redirects is False


@BOTH
@pytest.mark.parametrize("step", [Never(), Slowly(GOOD, 0.05)])
def test_whoever_is_told_can_stop_it(name, step):
    asking = threading.get_ident()

    def hear(working):
        if working.elapsed_sec > 0.2 and threading.get_ident() == asking:
            raise Interrupted

    with ModelServer([step]) as server:
        with pytest.raises(Interrupted):
            _ask(server, name, on_progress=hear)
        _nothing_left(server)


def test_it_works_beside_the_main_thread():
    found = []
    with ModelServer([Say(GOOD)]) as server:
        threads = [threading.Thread(target=lambda: found.append(_ask(server, OPENAI))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_SEC)
    assert len(found) == 4


def test_every_secret_of_the_environment_is_known():
    environment = {
        "OPENAI_API_KEY": "openai-1",
        "AWS_SECRET_ACCESS_KEY": "aws-secret",
        "github_token": "a-token-1",
        "GITHUB_PAT": "a-pat-12",
        "DB_PASSWORD_2": "a-password",
        "SOME_TOKEN1": "a-token-2",
        "APIKEY": "a-key-12",
        "https_proxy": "http://me:p%40ss-word@proxy:1",
    }
    harmless = {
        "HOME": "/home/me",
        "KEYBOARD": "japanese",
        "TOKENIZERS_PARALLELISM": "disabled",
        "PATH": "/usr/bin",
    }
    values = {value for name, value in environment.items() if name != "https_proxy"}
    assert secret_values({**environment, **harmless}) == values | {"p%40ss-word", "p@ss-word"}


def test_scrubbing_leaves_words_alone():
    scrub = scrub_of({"OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": ANTHROPIC_KEY})
    assert scrub(f"none of {ANTHROPIC_KEY}, {ANTHROPIC_KEY}x") == "none of (masked: a key), (masked: a key)x"


@each(("name", "step"), [(OPENAI, Never()), (ANTHROPIC, Slowly(GOOD, 0.05))])
def test_an_interrupt_comes_through_at_once(name, step):
    def interrupt():
        while not server.requests:
            time.sleep(0.02)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    with ModelServer([step]) as server:
        thread = threading.Thread(target=interrupt, daemon=True)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            _ask(server, name)
        thread.join(PATIENCE_SEC)
        _nothing_left(server)
