"""The clock, new ids and facts about the process."""

import os
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Protocol


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


def process_environment() -> Mapping[str, str]:
    return dict(os.environ)


def new_id() -> str:
    return str(uuid.uuid4())


def new_file_mode() -> int:
    """The default mode of new files, from the umask."""
    umask = os.umask(0o077)
    os.umask(umask)
    return 0o666 & ~umask
