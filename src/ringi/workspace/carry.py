"""Folders copied into a work copy as they are, and folders deleted whatever they contain."""

import os
import subprocess
import sys
from pathlib import Path

from ringi.errors import CopyFailed, NotFound, PathRefused, StorageFailed, Unsupported
from ringi.text import Text
from ringi.workspace.git import environment
from ringi.workspace.paths import normalise


def carriable(root: Path, name: str) -> str:
    parts = normalise(name.rstrip("/") or name)
    place = root
    for part in parts[:-1]:
        place /= part
        if place.is_symlink():
            raise PathRefused(path=name, why=Text("{part} is a symbolic link", part=part))
    if not os.path.lexists(place / parts[-1]):
        raise NotFound(what=Text("file or folder"), name=name, see="git status --ignored")
    return "/".join(parts)


def carry_over(source: Path, target: Path, name: str) -> None:
    """A real copy, cheap if the file system can share blocks; links inside stay links."""
    if os.path.lexists(target / name):
        raise PathRefused(path=name, why=Text("it is in the copy already"))
    (target / name).parent.mkdir(parents=True, exist_ok=True)
    ways = (["-Rpc"], ["-Rp"]) if sys.platform == "darwin" else (["-a", "--reflink=auto"], ["-a"])
    problem = ""
    for way in ways:
        done = _run("cp", *way, "--", str(source / name), str(target / name))
        if done.returncode == 0:
            return
        problem = done.stderr.decode("utf-8", "backslashreplace").strip().partition("\n")[0]
        erase(target / name)
    raise CopyFailed(why=Text("{path} could not be carried: {problem}", path=name, problem=problem))


def erase(path: Path) -> None:
    """Also deletes folders without permissions, at any depth; follows no link."""
    for _ in range(2):
        _run("rm", "-rf", "--", str(path))
        if not os.path.lexists(path):
            return
        # Folders only: a file may be a hard link to one elsewhere.
        closed = ("-type", "d", "!", "-perm", "-700")
        _run("find", str(path), *closed, "-exec", "chmod", "u+rwx", "{}", ";")
    raise StorageFailed(what=str(path), why=Text("it cannot be deleted"))


def erase_later(path: Path) -> None:
    """Deletes in the background."""
    try:
        begun = subprocess.Popen(
            ["rm", "-rf", "--", str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
            start_new_session=True,
        )
    except OSError:  # the next deletion takes this one too
        return
    begun.returncode = 0  # or Python would warn that nobody waited for it


def private_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise StorageFailed(what=str(folder), why=error.strerror or str(error)) from None


def _run(*command: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, env=environment()
        )
    except FileNotFoundError:
        raise Unsupported(what=Text("the program {name}", name=command[0])) from None
