"""A text of the configuration, alone or in a list, in its normal form; None when it is no such thing."""

import re
import warnings
from collections.abc import Callable
from typing import Final

from ringi.text import Text

_LAST_PORT: Final = 65_535


def _clean(item: str) -> bool:
    # Surrogates are bytes of a variable that were not UTF-8.
    return bool(item.strip()) and not any(c < " " or c == "\x7f" or "\ud800" <= c <= "\udfff" for c in item)


def glob(item: str) -> str | None:
    # Such a glob would match no path of the workspace and so guard nothing, silently.
    parts = item.rstrip("/").split("/")
    if parts[0] == "~" or {"", ".", ".."} & set(parts) or not _clean(item):
        return None
    return item.rstrip("/") + "/**" if item.endswith("/") else item


def folder(item: str) -> str | None:
    return glob(item.rstrip("/"))


def place(item: str) -> str | None:
    """A folder anywhere on the machine, from the root or from the home folder."""
    path = item.rstrip("/")
    anywhere = path.startswith(("/", "~/")) and not {"", ".", ".."} & set(path.split("/")[1:])
    return path if anywhere and _clean(item) else None


def extension(item: str) -> str | None:
    normal = "." + item.strip().removeprefix(".").lower()
    return normal if _clean(normal) and re.fullmatch(r"(\.[^\s./\\*?\[\]]+)+", normal) else None


def command(item: str) -> str | None:
    return item.strip() if _clean(item.strip()) else None


def name(item: str) -> str | None:
    return item if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", item) else None


def model_name(item: str) -> str | None:
    return command(item)


def address(item: str) -> str | None:
    """Of a service, without a password: a key belongs into the environment. Nothing means the usual place."""
    match = re.fullmatch(
        r"https?://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::(\d{1,5}))?(?:/[^\s?#@]*)?", item
    )
    if item and not (match and _clean(item) and int(match[1] or 0) <= _LAST_PORT):
        return None
    return item.rstrip("/")


def expression(item: str) -> str | None:
    """A regular expression that matches something, but not nothing, and that comes to an end."""
    from ringi.wiring.config_expressions import could_take_for_ever  # noqa: PLC0415  # seldom needed

    try:
        with warnings.catch_warnings():  # Python may once read it in another way; that is no help here
            warnings.simplefilter("ignore")
            empty = re.compile(item).match("") is not None
            slow = could_take_for_ever(item)
    except (re.error, OverflowError, RecursionError):
        return None
    return None if empty or slow or not _clean(item) else item


def rule_of(item: Callable[[str], str | None] | None) -> Text:
    if item is extension:
        return Text("an extension looks like .exe")
    if item is command:
        return Text("a command is one line")
    if item is place:
        return Text("a folder is named from the root or from ~, like ~/.cache/uv, and has no . or .. in it")
    if item is address:
        return Text("an address looks like http://127.0.0.1:8080/v1 and has no password in it")
    if item is expression:
        return Text(
            "it is no regular expression, or it matches the empty text, "
            "or it repeats what repeats itself and could take for ever"
        )
    if item is model_name:
        return Text("a model is named like openai:gpt-5, ollama:llama3, command:claude or playbook")
    if item is name:
        return Text("a variable's name has letters, digits and _")
    return Text("a path starts in the workspace, like docs/api, and has no . or .. in it")
