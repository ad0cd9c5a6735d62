"""Requests as files (RN-13): `requests/RQ-YYYYMMDD-NNN.md`, written by people."""

import os
from pathlib import Path
from typing import Final

FOLDER: Final = "requests"
SUFFIX: Final = ".md"


def request_files(root: Path) -> list[str]:
    """The ids of the requests that have a file."""
    try:
        with os.scandir(root / FOLDER) as entries:
            return [entry.name.removesuffix(SUFFIX) for entry in entries if entry.name.endswith(SUFFIX)]
    except OSError:
        return []
