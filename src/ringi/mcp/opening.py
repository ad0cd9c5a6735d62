"""A workspace stays open from call to call, as long as a command that is typed now would open the same."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loaded by the first call, after a client was greeted
    from ringi.api import Workspace
    from ringi.workspace.places import Places

_Stamp = tuple[int, ...] | None


class Opening:
    def __init__(self, start: Path, environment: Mapping[str, str]) -> None:
        self._start = start
        self._environment = environment
        self._files: tuple[Path, ...] = ()
        self._settings: list[_Stamp] = []
        self._ledger: tuple[Path, _Stamp] | None = None

    def open(self) -> "Workspace":
        from ringi.api import open_workspace  # noqa: PLC0415  # see above
        from ringi.store.connection import DATABASE  # noqa: PLC0415  # see above
        from ringi.workspace.places import find_root, places_of  # noqa: PLC0415  # see above

        places = places_of(find_root(self._start), self._environment)
        self._files = self._deciding(places)
        self._settings = list(map(_stamp, self._files))  # before they are read
        workspace = open_workspace(self._start, environment=self._environment)
        ledger = places.state / DATABASE
        self._ledger = ledger, _identity(ledger)  # after it was made
        return workspace

    def is_current(self) -> bool:
        """Not where the ledger was replaced, or where somebody changed a setting or what is trusted."""
        if self._ledger is None or self._settings != list(map(_stamp, self._files)):
            return False
        path, known = self._ledger
        return _identity(path) == known

    def _deciding(self, places: "Places") -> tuple[Path, ...]:
        from ringi.workspace.places import (  # noqa: PLC0415  # see above
            project_file,
            signers_file,
            trust_file,
            user_file,
        )

        users = (user_file(self._environment), trust_file(self._environment))
        return project_file(places.root), signers_file(places.root), *(path for path in users if path)


def _stamp(path: Path) -> _Stamp:
    try:
        found = os.stat(path)  # noqa: PTH116  # three times as fast, and at every call
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def _identity(path: Path) -> _Stamp:
    stamp = _stamp(path)
    return stamp and stamp[:2]
