"""The clock, the ids and the process's own facts."""

import os
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta


class SystemClock:
    def now(self) -> str:
        return _text(datetime.now(UTC))

    def after(self, seconds: float) -> str:
        return _text(datetime.now(UTC) + timedelta(seconds=seconds))


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def process_environment() -> Mapping[str, str]:
    return dict(os.environ)


def new_id() -> str:
    return str(uuid.uuid4())


def new_file_mode() -> int:
    """What the user's own programs would give a new file."""
    umask = os.umask(0o077)
    os.umask(umask)
    return 0o666 & ~umask
