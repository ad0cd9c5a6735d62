"""Keys from the given environment, and the secrets in it that must never be shown."""

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote

from ringi.errors import NoModelKey, UnknownModel
from ringi.text import Text

_SECRET: Final = re.compile(
    r"(?:^|_)(?:API|AUTH)?(?:KEY|TOKEN|SECRET|PAT|CREDENTIALS?)(?:_?\d+)?$|PASSWORD|PASSWD", re.IGNORECASE
)
_PASSWORD: Final = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?[^:@/]*:(.+)@", re.IGNORECASE)


def key(model: str, variable: str, environment: Mapping[str, str], *, needed: bool) -> str | None:
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


def secrets(environment: Mapping[str, str]) -> frozenset[str]:
    """Values of variables whose names suggest a secret, and proxy passwords."""
    return frozenset(value for value in _secrets(environment) if value)


def _secrets(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if _SECRET.search(name):
            yield value.strip()
        elif name.casefold().endswith("_proxy") and (found := _PASSWORD.match(value.strip())):
            yield found[1]
            yield unquote(found[1])
