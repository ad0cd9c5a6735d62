"""Loaded by the Python that runs the recorded program: one clock, one row of ids, one name for the user.

It knows nothing of the program but the name of its package, and stands in for parts of the standard library
in an environment that the recorder makes for itself. The clock stands still while a command runs, so it does
not matter how often the command reads it.
"""

import datetime as dt
import grp
import hashlib
import os
import pwd
import sys
import time
import uuid
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = "ringi"
PERSON, PEOPLE = "person", "people"
_REAL = dt.datetime
_FIRST_ID = 0x1000
_USER, _GROUP = os.getuid(), os.getgid()
_now = 0.0


def read_clock() -> None:
    """Also by a copy of a process that was loaded for an earlier command."""
    global _now  # noqa: PLW0603  # the whole process has one
    _now = float((Path(sys.prefix) / "now").read_text(encoding="ascii"))


class _Kind(type):
    def __instancecheck__(cls, thing: object) -> bool:
        return isinstance(thing, _REAL)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, _REAL)


class _FixedDateTime(_REAL, metaclass=_Kind):
    def __new__(cls, *given: Any, **named: Any) -> Any:
        return _REAL(*given, **named)

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> Any:
        return _REAL.fromtimestamp(_now, tz)


class _Finder:
    """Gives the modules of the program the clock that stands still; all others keep theirs."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] != PACKAGE:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_fix(module: ModuleType) -> None:
            execute(module)
            _fix(module)

        spec.loader.exec_module = execute_and_fix  # type: ignore[method-assign]
        return spec


def _fix(module: ModuleType) -> None:
    for name, value in list(vars(module).items()):
        if value is _REAL:
            setattr(module, name, _FixedDateTime)


def _next_id() -> uuid.UUID:
    """Later ones come later in a sorted list, too, however many were drawn before; the processes of a command
    share the row.
    """
    row = os.open(Path(sys.prefix) / "ids", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(row, b".")
        number = os.lseek(row, 0, os.SEEK_CUR)
    finally:
        os.close(row)
    drawn = hashlib.sha256(str(number).encode()).digest()
    return uuid.UUID(bytes=(_FIRST_ID + number).to_bytes(2) + drawn[2:16], version=4)


def _user_by_number(number: int) -> pwd.struct_passwd:
    return _person() if number == _USER else _by_number(number)


def _user_by_name(name: str) -> pwd.struct_passwd:
    return _person() if name == PERSON else _by_name(name)


def _person() -> pwd.struct_passwd:
    return pwd.struct_passwd((PERSON, "x", _USER, _GROUP, "", os.environ.get("HOME", "/"), "/bin/sh"))


def _group_by_number(number: int) -> grp.struct_group:
    return grp.struct_group((PEOPLE, "x", number, [])) if number == _GROUP else _group_of(number)


def _terminal(descriptor: int) -> str:
    """Lines are folded, so its length counts, too."""
    name = _name_of(descriptor)
    return "/dev/pts/0" if descriptor == 0 else name


_name_of = os.ttyname
os.ttyname = _terminal
_by_number, _by_name, _group_of = pwd.getpwuid, pwd.getpwnam, grp.getgrgid
pwd.getpwuid, pwd.getpwnam, grp.getgrgid = _user_by_number, _user_by_name, _group_by_number  # type: ignore[assignment]
read_clock()
time.time, time.time_ns = lambda: _now, lambda: int(_now * 1e9)
uuid.uuid4 = _next_id
sys.meta_path.insert(0, _Finder())  # type: ignore[arg-type]
