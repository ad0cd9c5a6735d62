"""Deletes what others made: folders of any depth, with or without permissions."""

import os
import subprocess
from pathlib import Path

from ringi.errors import StorageFailed, Unsupported
from ringi.kernel.process.environment import SYSTEM_PATH
from ringi.kernel.process.git import environment
from ringi.kernel.text import Text


def erase(path: Path) -> None:
    """Also deletes folders without permissions, at any depth; follows no link. Raises StorageFailed."""
    for _ in range(2):
        plain_run("rm", "-rf", "--", str(path))
        if not os.path.lexists(path):
            return
        # Folders only: a file may be a hard link to one elsewhere. Each by its name: paths can be too long.
        closed = ("-type", "d", "!", "-perm", "-700")
        plain_run("find", str(path), *closed, "-execdir", "chmod", "u+rwx", "{}", ";")
    raise StorageFailed(what=str(path), why=Text("it cannot be deleted"))


def erase_later(path: Path) -> None:
    """Deletes in the background."""
    try:
        begun = subprocess.Popen(
            ["rm", "-rf", "--", str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=_surroundings(),
            start_new_session=True,
        )
    except OSError:  # the next deletion takes this one too
        return
    begun.returncode = 0  # or Python would warn that nobody waited for it


def _surroundings() -> dict[str, str]:
    """These programs are part of the system, also where the path does not name it."""
    given = environment()
    return {**given, "PATH": f"{given['PATH']}{os.pathsep}{SYSTEM_PATH}"}


def plain_run(*command: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, env=_surroundings()
        )
    except FileNotFoundError:
        raise Unsupported(what=Text("the program {name}", name=command[0])) from None
