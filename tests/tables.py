"""Tables of cases that are one test."""

import functools
import inspect
import reprlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import pytest

_PARAM: Final = type(pytest.param())
_SHORT: Final = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 200


def each(
    names: str | Sequence[str], cases: Iterable[Any], *, between: str = ""
) -> Callable[[Callable[..., None]], Any]:
    """As pytest's parametrize, but all cases are one test: for tables whose rows need no world of their own.

    `between` names a fixture that is called between them. The case that failed is named below its error.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = []
    for case in cases:
        row = case.values if isinstance(case, _PARAM) else case if keys[1:] else (case,)
        rows.append(dict(zip(keys, row, strict=True)))
    assert rows, "a table without a row proves nothing"

    def decorate(test: Callable[..., None]) -> Any:
        @functools.wraps(test)
        def every_case(*args: Any, **fixtures: Any) -> None:
            rewind = fixtures.pop(between) if between else lambda: None
            for number, row in enumerate(rows):
                if number:
                    rewind()
                try:
                    test(*args, **fixtures, **row)
                except BaseException as error:
                    error.add_note(f"in the case {_SHORT.repr(row)}")
                    raise

        signature = inspect.signature(test)
        others = [one for name, one in signature.parameters.items() if name not in keys]
        if between:
            others.append(inspect.Parameter(between, inspect.Parameter.KEYWORD_ONLY))
        every_case.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return every_case

    return decorate
