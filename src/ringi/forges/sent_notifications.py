"""What a watcher has told already, so that the next one does not say it again."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from ringi.kernel.fs import read_bounded, replace_file

_MOST: Final = 2_000
_MOST_BYTES: Final = 1 << 20


class SentNotifications:
    """One line for each thing, the oldest first. If the file is lost, something is said twice."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known = dict.fromkeys(self._read())

    def is_new(self, key: str) -> bool:
        """The first time, and then no more."""
        line = " ".join(key.split())
        if line in self._known:
            return False
        self._known[line] = None
        kept = [*self._known][-_MOST:]
        with suppress(OSError):
            data = "".join(f"{one}\n" for one in kept).encode("utf-8", "backslashreplace")
            replace_file(self._file, data, synced=False)
        return True

    def _read(self) -> list[str]:
        with suppress(OSError):
            data = read_bounded(self._file, _MOST_BYTES, follow=False)
            return data.decode("utf-8", "replace").splitlines()
        return []
