"""What make targets need at pinned versions, in .make: set up once, by one process at a time.

What cannot be had is said; its tests are skipped.
"""

import fcntl
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

_QUIET = ("--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")


def set_up(folder: Path, packages: Iterable[str], size: str, install: Callable[[], bool]) -> int:
    """`install` says whether all of it is there; otherwise it is tried again the next time."""
    stamp, wanted = folder.with_suffix(".stamp"), "\n".join([sys.version, *packages])
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
            print(f"Setting up .make/{folder.name} ({size}) …", file=sys.stderr, flush=True)
            stamp.unlink(missing_ok=True)
            if install():
                stamp.write_text(wanted, encoding="utf-8")
    return 0


def with_npm(npm: Iterable[object], folder: Path, packages: Iterable[str]) -> bool:
    return _done([*map(str, npm), "install", "--prefix", str(folder), *_QUIET, *packages])


def with_pip(folder: Path, packages: Iterable[str]) -> bool:
    """In a virtual environment of its own."""
    python = folder / "bin" / "python"
    if not python.exists() and not _done([sys.executable, "-m", "venv", str(folder)]):
        return False
    return _done([str(python), "-m", "pip", "install", "--quiet", *packages])


def _done(words: list[str]) -> bool:
    try:
        return subprocess.run(words, check=False, timeout=1200).returncode == 0
    except (OSError, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return False
