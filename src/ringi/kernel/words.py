"""Sentences that a document keeps with their details, so that everybody reads them in their own language."""

from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any

from msgspec import UNSET, UnsetType

from ringi.kernel.document import Document
from ringi.kernel.text import Text, restore_text, visible

Mask = Callable[[str], str]


class KeptText(Document, frozen=True):
    template: str
    details: dict[str, "Detail"]
    plural: str | UnsetType = UNSET
    """Of a sentence that counts something."""


Detail = KeptText | str | float | int | bool | None


def keep_text(text: Text, mask: Mask = str) -> KeptText:
    return KeptText(text.template, keep_details(text.details, mask), text.plural or UNSET)


def keep_details(details: Mapping[str, object], mask: Mask) -> dict[str, Detail]:
    return {name: _keep(value, mask) for name, value in details.items()}


def _keep(value: object, mask: Mask) -> Detail:
    if isinstance(value, Text):
        return keep_text(value, mask)
    if value is None or isinstance(value, bool | int | float):
        return value
    return whole(mask(str(value)))


def whole(text: str) -> str:
    """Replaces lone surrogates, which a document cannot hold."""
    return text.encode("utf-8", errors="replace").decode()


def restore_details(details: Mapping[str, Detail]) -> dict[str, Any]:
    """As they were. Raises ValueError for a template that none of ours could be."""
    return {
        name: _restore_text(value) if isinstance(value, KeptText) else value
        for name, value in details.items()
    }


def _restore_text(kept_text: KeptText) -> Text:
    plural = _check_template(kept_text.plural) if kept_text.plural else ""
    return Text(_check_template(kept_text.template), plural, **restore_details(kept_text.details))


def _check_template(template: str) -> str:
    """Allows plain names only: a format field can also read attributes, or pad to a gigabyte."""
    for _, name, wish, conversion in Formatter().parse(template):
        if name is not None and (not name.isidentifier() or wish or conversion):
            raise ValueError(template)
    return template


def restore_kept(text: KeptText | UnsetType, english: str) -> Text:
    """The kept sentence; if there is none, what the English words tell."""
    if isinstance(text, KeptText) and all(
        visible(words) == words for words in (text.template, text.plural or "")
    ):
        try:
            found = _restore_text(text)
            if str(found) == english:
                return found
        except (LookupError, ValueError):
            pass  # not one of ours
    return restore_text(english)
