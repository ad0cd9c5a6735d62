"""Run by the recorded program's Python: prints what `ringi` offers, with signatures and fields."""

import enum
import inspect
import re
from typing import Any

import ringi


def describe(name: str, thing: object) -> None:
    if not inspect.isclass(thing):
        print(f"{name}{signature(thing)}" if callable(thing) else f"{name}: {type(thing).__name__}")
        return
    print(f"class {name}{signature(thing)}")
    if issubclass(thing, enum.Enum):
        print("    " + ", ".join(member.value for member in thing))
    if issubclass(thing, BaseException):
        return
    for member, value in sorted(inspect.getmembers(thing)):
        if not member.startswith("_") and inspect.isfunction(value):
            print(f"    {member}{signature(value)}")
        elif not member.startswith("_") and isinstance(value, property):
            print(f"    {member}: property")


def signature(thing: Any) -> str:
    """Without the modules, which may move."""
    try:
        words = re.sub(r"<function .*? at 0x[0-9a-f]+>", "<function>", str(inspect.signature(thing)))
        return re.sub(r"\bringi\.(?:\w+\.)*(\w+)", r"\1", words)
    except (TypeError, ValueError):
        return ""


for public in sorted(ringi.__all__):
    describe(public, getattr(ringi, public))
