"""The clock, new ids and facts about the process."""

import os
import pwd
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

_FOLDERS: Final = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")


class Clock(Protocol):
    def now(self) -> str:
        """UTC as ISO 8601 with microseconds, so that text order is time order."""

    def after(self, seconds: float) -> str: ...


Ids = Callable[[], str]


class SystemClock:
    def now(self) -> str:
        return timestamp(datetime.now(UTC))

    def after(self, seconds: float) -> str:
        return timestamp(datetime.now(UTC) + timedelta(seconds=seconds))


def timestamp(moment: datetime) -> str:
    """Of a moment in UTC, so that the order of texts is the order of time."""
    return moment.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def process_environment() -> dict[str, str]:
    """The variables of this process, without relative folders: in a project, they would be part of it.

    The XDG specification says to ignore those. A home folder that is missing is the one of the password
    database, as for a login; without an entry there, HOME is not set.
    """
    found = {name: value for name, value in os.environ.items() if not _is_relative(name, value)}
    if not found.get("HOME"):
        found.pop("HOME", None)
        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:  # a container may run as a user that has no name
            home = ""
        if home.startswith("/"):
            found["HOME"] = home
    return found


def list_ignored_variables() -> list[str]:
    """Those of this process that `process_environment` leaves out."""
    return [name for name in _FOLDERS if _is_relative(name, os.environ.get(name, ""))]


def _is_relative(name: str, value: str) -> bool:
    return name in _FOLDERS and value != "" and not value.startswith("/")


def new_id() -> str:
    return str(uuid.uuid4())


def new_file_mode() -> int:
    """The default mode of new files, from the umask."""
    umask = os.umask(0o077)
    os.umask(umask)
    return 0o666 & ~umask


def milliseconds(moment: str) -> int:
    """A document's timestamp in milliseconds since 1970."""
    return int(datetime.fromisoformat(moment).timestamp() * 1000)
