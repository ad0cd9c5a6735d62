"""Which commands have which records, and whether these are what their names say."""

import re
from collections.abc import Iterator, Mapping

FORMS = ("success", "json", "japanese", "refusal")

exceptions: Mapping[str, tuple[str, ...]] = {
    # It speaks JSON to an editor; nobody reads its answers.
    "acp": ("json", "japanese"),
    # Its records are in mcp/.
    "mcp": FORMS,
    # Groups do nothing by themselves.
    "config": FORMS,
    "hook": FORMS,
    "grant": FORMS,
    "state": FORMS,
}
"""Forms that a command has no record of."""

_CODE = re.compile(r"^exit code (\d+)$", re.MULTILINE)
_GOES_ON = {"0", "3"}
"""Done, or a person is needed now."""


def find_faults(records: Mapping[str, str]) -> Iterator[str]:
    yield from _find_missing(records)
    for name, text in sorted(records.items()):
        code = _CODE.search(text) if name.startswith("cli/") else None
        form = name.rpartition("/")[2]
        if code and form in {"success", "json", "japanese"} and code[1] not in _GOES_ON:
            yield f"{name} is not what its name says: exit code {code[1]}"
        if code and form.startswith("refusal") and code[1] == "0":
            yield f"{name} is no refusal"


def _find_missing(records: Mapping[str, str]) -> Iterator[str]:
    """The help has a page for each command, so a new one is noticed."""
    for page in sorted(name for name in records if name.startswith("help/")):
        command = page.removeprefix("help/")
        for form in FORMS:
            if form not in exceptions.get(command, ()) and f"cli/{command}/{form}" not in records:
                yield f"ringi {command} has no record {form}"
