import sys

import pytest

from ringi.config.keys import Config, Llm
from ringi.errors import NoExtra, NoModelKey, UnknownModel
from ringi.models import providers
from ringi.models.client import ModelClient
from ringi.models.configured import choose
from ringi.sessions.playbook import Playbook
from tests.helpers import assert_not_loaded, modules_after
from tests.tables import each

KEYS = {"OPENAI_API_KEY": "sk-0123456789", "ANTHROPIC_API_KEY": "sk-ant-0123456789"}
HEAVY = ("pydantic_ai", "pydantic", "openai", "anthropic", "httpx2", "genai_prices", "opentelemetry")


def _choose(name, base_url="", **environment):
    return choose(name, Config(llm=Llm(base_url=base_url)), environment, playbook=Playbook)


@each("name", ["openai:gpt-5", "anthropic:claude-haiku-4-5", "ollama:qwen3:0.6b"])
def test_services_keep_their_name(name):
    model = _choose(name, **KEYS)
    assert isinstance(model, ModelClient)
    assert model.name == name


def test_the_playbook_needs_nothing():
    assert _choose(" playbook ").name == "playbook"


def test_a_command_is_asked():
    model = _choose("command:claude")
    assert isinstance(model, ModelClient)
    assert model.name == "command:claude"


@each(
    ("name", "why"),
    [
        ("", "nothing of that name"),
        ("gpt-5", "nothing of that name"),
        ("opnai:gpt-5", "did you mean openai?"),
        ("antropic:x", "did you mean anthropic?"),
        ("Playbok", "did you mean playbook?"),
        ("playbook:x", "takes nothing after it"),
        ("openai", "openai:NAME"),
        ("openai:", "openai:NAME"),
        ("ollama: ", "ollama:NAME"),
        ("command:", "command:claude"),
    ],
)
def test_what_nobody_knows_is_refused_with_the_reason(name, why):
    with pytest.raises(UnknownModel) as caught:
        _choose(name, **KEYS)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("name", "variable"), [("openai:gpt-5", "OPENAI_API_KEY"), ("anthropic:x", "ANTHROPIC_API_KEY")]
)
def test_the_official_services_need_a_key(name, variable, monkeypatch):
    monkeypatch.setenv(variable, "not-from-here")
    with pytest.raises(NoModelKey, match=variable):
        _choose(name)
    with pytest.raises(NoModelKey):
        _choose(name, **{variable: " \n"})
    with pytest.raises(UnknownModel) as caught:
        _choose(name, **{variable: "sk-0123456789\nX-Evil: 1"})
    assert "sk-" not in str(caught.value)


def test_other_addresses_may_do_without():
    here = "http://127.0.0.1:8080/v1"
    assert _choose("openai:x", here).name == "openai:x"
    assert _choose("openai:x", OPENAI_BASE_URL=here).name == "openai:x"
    assert _choose("anthropic:x", ANTHROPIC_BASE_URL=here).name == "anthropic:x"
    assert _choose("ollama:x").name == "ollama:x"


@each(
    ("environment", "url"),
    [
        ({}, "http://127.0.0.1:11434/v1"),
        ({"OLLAMA_HOST": "127.0.0.1"}, "http://127.0.0.1:11434/v1"),
        ({"OLLAMA_HOST": "0.0.0.0"}, "http://127.0.0.1:11434/v1"),
        ({"OLLAMA_HOST": "0.0.0.0:9999"}, "http://127.0.0.1:9999/v1"),
        ({"OLLAMA_HOST": "box.example:9999"}, "http://box.example:9999/v1"),
        ({"OLLAMA_HOST": "https://box.example"}, "https://box.example/v1"),
        ({"OLLAMA_HOST": "[::1]:5"}, "http://[::1]:5/v1"),
        ({"OLLAMA_HOST": ":5"}, "http://127.0.0.1:5/v1"),
        ({"OLLAMA_HOST": "box", "OLLAMA_BASE_URL": "http://other:7/v1/"}, "http://other:7/v1"),
        ({"OLLAMA_HOST": "http://box/"}, "http://box/v1"),
    ],
)
def test_where_ollama_is(environment, url):
    assert providers.ollama("x", environment).url == url


def test_where_the_others_are():
    assert providers.openai("x", "", KEYS).url == "https://api.openai.com/v1"
    assert providers.anthropic("x", KEYS).url == "https://api.anthropic.com"
    assert providers.anthropic("x", {"ANTHROPIC_BASE_URL": "http://box/v1"}).url == "http://box"
    assert providers.openai("x", "http://config", {"OPENAI_BASE_URL": "http://env"}).url == "http://config"


@each(
    "url",
    [
        "ftp://x",
        "x",
        "http://",
        "http://u:p@x",
        "http://x:99999",
        "http://x?y=1",
        "http://[",
        "http://x y",
        "http://x/\x01",
    ],
)
@each("kind", ["openai", "anthropic", "ollama"])
def test_an_address_that_is_none(kind, url):
    if kind == "ollama" and url == "x":
        assert providers.ollama("m", {"OLLAMA_HOST": url}).url == "http://x:11434/v1"
        return
    with pytest.raises(UnknownModel) as caught:
        _choose(f"{kind}:m", **{f"{kind.upper()}_BASE_URL": url}, **KEYS)
    assert "u:p" not in str(caught.value)


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    for name in ("openai:x", "anthropic:x", "ollama:x"):
        with pytest.raises((NoExtra, ValueError)) as caught:
            _choose(name, **KEYS)
        assert caught.type is NoExtra
        assert caught.value.details["extra"] == "models"
        assert sys.executable in caught.value.details["command"]


def test_no_model_library_is_loaded_before_it_is_used():
    """Only a question loads them."""
    loaded = modules_after(
        "from ringi.config.keys import Config\n"
        "from ringi.models.configured import choose\n"
        "from ringi.sessions.playbook import Playbook\n"
        "for name in ('playbook', 'ollama:x'): choose(name, Config(), {}, playbook=Playbook)\n"
        "import ringi.models.http_backend, ringi.models.providers"
    )
    assert_not_loaded(loaded, *HEAVY)


def test_the_key_of_another_service_does_not_go_to_the_configured_address():
    config, environment = (
        Config(llm=Llm(base_url="http://evil.invalid/v1")),
        {"ANTHROPIC_API_KEY": "sk-ant-x"},
    )
    model = choose("anthropic:x", config, environment)
    assert model._backend._provider.url == "https://api.anthropic.com"
