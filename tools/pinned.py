"""What make targets need at pinned versions, in .make: set up once, by one process at a time.

What cannot be had is said; its tests are skipped.
"""

import fcntl
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

_QUIET = ("--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
_LONGEST_SEC = 3600


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


def with_npm(
    npm: Iterable[object],
    folder: Path,
    packages: Iterable[str],
    *,
    scripts: bool = False,
    environment: Mapping[str, str] | None = None,
) -> bool:
    """With `scripts`, those of the packages run: they may compile."""
    options = _QUIET if scripts else (*_QUIET, "--ignore-scripts")
    words = [*map(str, npm), "install", "--prefix", str(folder), *options, *packages]
    return _done(words, environment)


def are_known(npm: Iterable[object], packages: Mapping[str, str], environment: Mapping[str, str]) -> bool:
    """Whether the registry has these packages with these hashes; npm then installs no other bytes."""
    for package, known in packages.items():
        words = [*map(str, npm), "view", "--loglevel=error", package, "dist.integrity"]
        found = subprocess.run(
            words, env=environment, stdout=subprocess.PIPE, text=True, check=False, timeout=_LONGEST_SEC
        )
        if found.stdout.strip() != known:
            said = found.stdout.strip() or f"npm ended with code {found.returncode}"
            print(f"{package} is not the one that is pinned: {said}", file=sys.stderr)
            return False
    return True


def with_pip(folder: Path, packages: Iterable[str]) -> bool:
    """In a virtual environment of its own."""
    python = folder / "bin" / "python"
    if not python.exists() and not _done([sys.executable, "-m", "venv", str(folder)]):
        return False
    return _done([str(python), "-m", "pip", "install", "--quiet", *packages])


def _done(words: list[str], environment: Mapping[str, str] | None = None) -> bool:
    try:
        return subprocess.run(words, env=environment, check=False, timeout=_LONGEST_SEC).returncode == 0
    except (OSError, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return False
