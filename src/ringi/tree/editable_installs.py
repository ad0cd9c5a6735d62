"""Whether something leads a check from the copy back to the project: then it passes on bytes nobody changed.

In a sandbox the copy is at the project's own path and nothing can. Without one, an editable install or a
search path with the project's folder is imported instead of the copy.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from ringi.kernel.fs import read_bounded

_SEARCHED: Final = ("PYTHONPATH", "NODE_PATH", "RUBYLIB", "PERL5LIB", "CLASSPATH", "LUA_PATH")
_LARGEST: Final = 1_000_000


Doubt = Callable[[str], str]
"""What may lead this check to the project's own files; empty if nothing does."""


def no_doubt(_: str) -> str:
    return ""


def why_unreliable(root: Path, environment: Mapping[str, str], *, sandboxed: bool) -> Doubt:
    """`root` is a real path.

    A copy cannot stand in for a home folder: there a sandbox does not help.
    """
    home = Path(environment.get("HOME", ""))
    if home.is_absolute() and Path(os.path.realpath(home)).is_relative_to(root):
        return lambda _: str(home)
    if sandboxed:
        return no_doubt
    found = find_editable_installs(root, environment)
    return lambda command: found or (str(root) if str(root) in command else "")


def find_editable_installs(root: Path, environment: Mapping[str, str]) -> str:
    """The variable or file that does; empty if none was found. `root` is a real path."""
    for name in _SEARCHED:
        entries = environment.get(name, "").split(os.pathsep)
        if any(_is_in(root, entry) for entry in entries):
            return name
    for folder in _site_packages(root, environment):
        for path in sorted([*folder.glob("*.pth"), *folder.glob("*.egg-link")]):
            if any(_is_in(root, line) for line in _lines(path)):
                return str(path)
        for path in sorted(folder.glob("*.dist-info/direct_url.json")):
            if _is_in(root, _editable(path)):
                return str(path)
    return ""


def _is_in(root: Path, path: str) -> bool:
    return Path(path).is_absolute() and Path(os.path.realpath(path)).is_relative_to(root)


def _site_packages(root: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Of the environments that a check may use: the active one, the project's own, the first in PATH."""
    found = [Path(named)] if (named := environment.get("VIRTUAL_ENV")) else []
    found += [root / name for name in (".venv", "venv", "env")]
    for name in ("python3", "python"):
        if program := shutil.which(name, path=environment.get("PATH", os.defpath)):
            found.append(Path(program).parent.parent)
    for prefix in dict.fromkeys(Path(os.path.realpath(path)) for path in found):
        yield from prefix.glob("lib/python*/site-packages")


def _lines(path: Path) -> list[str]:
    with suppress(OSError):
        return read_bounded(path, _LARGEST).decode("utf-8", "replace").splitlines()
    return []


def _editable(path: Path) -> str:
    """The folder that a package is imported from; empty if it was copied when it was installed."""
    with suppress(ValueError, AttributeError, TypeError):
        said = json.loads("\n".join(_lines(path)))
        url = urlsplit(said["url"]) if said.get("dir_info", {}).get("editable") is True else None
        return unquote(url.path) if url and url.scheme == "file" else ""
    return ""
