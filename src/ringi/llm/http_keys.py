"""Keys: read from the environment that was given, and taken out of every word that leaves."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final
from urllib.parse import unquote

from ringi.errors import NoModelKey, UnknownModel
from ringi.text import Text

KEY_VARIABLES: Final = (
    "OPENAI_API_KEY",
    "OPENAI_ADMIN_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "OLLAMA_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
)
_PASSWORD: Final = re.compile(r"//[^/@:]*:([^/@]+)@")
_HIDDEN: Final = "***"
# Shorter ones are words that stand in for a key, as `none`; to take those out would spoil every text.
_SHORTEST_KEY: Final = 8


def key(model: str, variable: str, environment: Mapping[str, str], *, needed: bool) -> str | None:
    """Raises NoModelKey where it is needed and not there, UnknownModel where it cannot be sent."""
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


def scrubber(environment: Mapping[str, str]) -> Callable[[str], str]:
    """Takes every key that is known out of a text, and the passwords of proxies."""
    known = {environment.get(variable, "").strip() for variable in KEY_VARIABLES}
    known |= set(_passwords(environment))
    longest_first = sorted((value for value in known if len(value) >= _SHORTEST_KEY), key=len, reverse=True)

    def scrub(text: str) -> str:
        for value in longest_first:
            text = text.replace(value, _HIDDEN)
        return text

    return scrub


def _passwords(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if name.casefold().endswith("_proxy") and (match := _PASSWORD.search(value)):
            yield match[1]
            yield unquote(match[1])
