"""The services: their addresses, their keys, and the pydantic-ai class for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from ringi.errors import NoExtra, NoModelKey, UnknownModel
from ringi.kernel.process.installation import extending_command
from ringi.kernel.text import Text, deceiving

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model

_OPENAI_URL: Final = "https://api.openai.com/v1"
_ANTHROPIC_URL: Final = "https://api.anthropic.com"
_OLLAMA_URL: Final = "http://127.0.0.1:11434"
_OLLAMA_PORT: Final = 11434
_NO_KEY: Final = "no-key"  # the SDKs require one


ModelFactory: TypeAlias = "Callable[[httpx2.AsyncClient], Model[Any]]"


class Provider(NamedTuple):
    name: str
    """As in the configuration: openai:gpt-5."""
    url: str
    load: Callable[[], ModelFactory]
    """Imports pydantic-ai, which takes a while."""
    takes_schema: bool
    """As far as we know in advance."""
    credentials: Mapping[str, str]
    """The headers that carry the key."""


def openai(model: str, base_url: str, environment: Mapping[str, str]) -> Provider:
    name = f"openai:{model}"
    url = _address(name, base_url or environment.get("OPENAI_BASE_URL") or _OPENAI_URL)
    official = url == _OPENAI_URL
    secret = _key(name, "OPENAI_API_KEY", environment, needed=official)
    _require_installed(name, "openai")
    account = environment if official else {}
    return Provider(
        name,
        url,
        lambda: _chat(model, url, account, official=official),
        takes_schema=True,
        credentials=_bearer(secret),
    )


def ollama(model: str, environment: Mapping[str, str]) -> Provider:
    """Through its OpenAI-compatible API, which streams and takes a schema."""
    name = f"ollama:{model}"
    given = environment.get("OLLAMA_BASE_URL") or environment.get("OLLAMA_HOST") or _OLLAMA_URL
    url = _address(name, _ollama_address(given))
    _require_installed(name, "openai")
    return Provider(
        name, url, lambda: _chat(model, url, {}, official=False), takes_schema=True, credentials={}
    )


def anthropic(model: str, environment: Mapping[str, str]) -> Provider:
    """The schema goes into the text: only newer models take one, but all can read it."""
    name = f"anthropic:{model}"
    given = environment.get("ANTHROPIC_BASE_URL") or _ANTHROPIC_URL
    url = _address(name, given).removesuffix("/v1")
    secret = _key(name, "ANTHROPIC_API_KEY", environment, needed=url == _ANTHROPIC_URL)
    _require_installed(name, "anthropic")
    credentials = {"x-api-key": secret} if secret else {}
    return Provider(name, url, lambda: _messages(model, url), takes_schema=False, credentials=credentials)


def _chat(model: str, url: str, account: Mapping[str, str], *, official: bool) -> ModelFactory:
    """`account` may name the paying organisation and project; only OpenAI is told."""
    from openai import AsyncOpenAI  # noqa: PLC0415  # heavy, and only for those who ask a model
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415  # as above
    from pydantic_ai.profiles.openai import OpenAIModelProfile  # noqa: PLC0415  # as above
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415  # as above
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415  # as above

    profile = OpenAIModelProfile(supports_json_schema_output=True)
    if not official:
        # Other services use the older name of the limit and have no strict mode.
        profile |= OpenAIModelProfile(
            openai_chat_supports_max_completion_tokens=False,
            openai_supports_strict_tool_definition=False,
            openai_system_prompt_role="system",
        )

    def model_over(http: httpx2.AsyncClient) -> Model[Any]:
        sdk = AsyncOpenAI(
            **_sdk_options(url, http),
            # Empty values are not sent, and keep the SDK from reading the process environment.
            organization=account.get("OPENAI_ORG_ID", ""),
            project=account.get("OPENAI_PROJECT_ID", ""),
        )
        if official:
            return OpenAIChatModel(model, provider=OpenAIProvider(openai_client=sdk), profile=profile)
        provider = OpenAICompatibleProvider("compatible", openai_client=sdk)
        return OpenAIChatModel(model, provider=provider, profile=profile)

    return model_over


def _messages(model: str, url: str) -> ModelFactory:
    from anthropic import AsyncAnthropic  # noqa: PLC0415  # heavy, and only for those who ask a model
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415  # as above
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415  # as above

    def model_over(http: httpx2.AsyncClient) -> Model[Any]:
        sdk = AsyncAnthropic(**_sdk_options(url, http), open_telemetry=False)
        return AnthropicModel(model, provider=AnthropicProvider(anthropic_client=sdk))

    return model_over


def _sdk_options(url: str, http: httpx2.AsyncClient) -> dict[str, Any]:
    """The SDKs require a key, but our transport decides which one is sent, and how."""
    return {"base_url": url, "api_key": _NO_KEY, "http_client": http, "max_retries": 0}


def _key(model: str, variable: str, environment: Mapping[str, str], *, needed: bool) -> str | None:
    """Raises NoModelKey if it is needed and missing, UnknownModel if it cannot be sent."""
    found = environment.get(variable, "").strip()
    if not found:
        if needed:
            raise NoModelKey(model=model, variable=variable)
        return None
    if not (found.isascii() and found.isprintable()) or " " in found:
        raise UnknownModel(
            model=model, why=Text("{variable} holds characters that no key has", variable=variable)
        )
    return found


def _bearer(secret: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"} if secret else {}


def _require_installed(name: str, sdk: str) -> None:
    """Looks it up without importing it: that takes seconds, and many commands never call it."""
    if find_spec("pydantic_ai") is None or find_spec(sdk) is None:
        raise NoExtra(what=name, extra="models", command=extending_command("models"))


def _address(name: str, url: str) -> str:
    try:
        parts = urlsplit(url.strip())
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        sound = sound and "@" not in parts.netloc and not parts.query and not parts.fragment
        sound = sound and not any(c.isspace() or deceiving(c) for c in url.strip())
    except ValueError:
        sound = False
    if not sound:
        raise UnknownModel(model=name, why=Text("its address is not one of a service (http:// or https://)"))
    return url.strip().rstrip("/")


def _ollama_address(given: str) -> str:
    """OLLAMA_HOST is the address its server listens on: often without scheme or port, or 0.0.0.0."""
    given = given.strip()
    try:
        parts = urlsplit(given if "://" in given else f"http://{given}")
        port = parts.port
    except ValueError:
        return given  # not an address; _address reports it
    if "@" in parts.netloc or parts.query or parts.fragment:
        return given
    host = parts.hostname or ""
    if not host and port is None:
        return given
    host = "127.0.0.1" if host in ("", "0.0.0.0", "::") else f"[{host}]" if ":" in host else host  # noqa: S104
    path = parts.path.rstrip("/").removesuffix("/v1")
    if port is None and "://" not in given:
        port = _OLLAMA_PORT
    place = host if port is None else f"{host}:{port}"
    return urlunsplit((parts.scheme, place, f"{path}/v1", "", ""))
