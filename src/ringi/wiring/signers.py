"""Whose signatures count: the user's own list, and the project's once it is trusted."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ringi.domain import codec
from ringi.errors import BadConfiguration, InTheWay, StorageFailed
from ringi.fs import OsFileSystem, opened, replace_file
from ringi.integrations.signing import SignerList
from ringi.store.lock import FileLock
from ringi.text import Text
from ringi.wiring.config import executable
from ringi.wiring.config_file import MAX_FILE_BYTES, guarded, project_bytes
from ringi.wiring.trust import SIGNERS, Trust
from ringi.workspace.places import signers_file, user_folder

_WAIT_SEC: Final = 10.0
_OTHERS_WRITE: Final = 0o022


def signer_lists(root: Path, environment: Mapping[str, str]) -> Sequence[SignerList]:
    """Read each time: a key that was taken out counts no more. A list that cannot be relied on is none."""
    return [found for found in (_users(root, environment), _projects(root, environment)) if found]


def add_signer(environment: Mapping[str, str], line: str) -> tuple[Path, bool]:
    """The user's list, and whether the line is new in it."""
    file = _users_file(environment)
    if file is None:
        raise InTheWay(what=SIGNERS, why=Text("there is no home folder to keep it in"))
    # A link is the user's own business, as for the configuration beside it.
    place = Path(os.path.realpath(file))
    wanted = line.encode()
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(place.with_suffix(".lock"), _WAIT_SEC)("init --key"):
            before = _own_bytes(place) or b""
            if wanted in before.split(b"\n"):
                return file, False
            gap = b"" if not before or before.endswith(b"\n") else b"\n"
            replace_file(place, before + gap + wanted + b"\n")
    except OSError as error:
        raise StorageFailed(what=str(file), why=error.strerror or str(error)) from None
    return file, True


def _users_file(environment: Mapping[str, str]) -> Path | None:
    folder = user_folder(environment)
    return folder / SIGNERS if folder else None


def _users(root: Path, environment: Mapping[str, str]) -> SignerList | None:
    file = _users_file(environment)
    if file is None:
        return None
    place = Path(os.path.realpath(file))
    if place.is_relative_to(os.path.realpath(root)):
        return None  # it could have come with the project
    try:
        data = _own_bytes(place)
    except (OSError, InTheWay):
        return None
    return SignerList(str(file), data) if data else None


def _own_bytes(place: Path) -> bytes | None:
    """None where there is no file. Raises InTheWay for one that somebody else could have written."""
    fs = OsFileSystem()
    try:
        with opened(fs, fs.open_root(place.parent)) as folder:
            entry = fs.entry(folder, place.name)
            if entry is not None and entry.size > MAX_FILE_BYTES:
                raise InTheWay(what=str(place), why=Text("it is too large"))
            data, entry = fs.read(folder, place.name)
    except FileNotFoundError:
        return None
    if entry.owner != os.geteuid() or entry.mode & _OTHERS_WRITE:
        raise InTheWay(what=str(place), why=Text("another user could have written it"))
    return data


def _projects(root: Path, environment: Mapping[str, str]) -> SignerList | None:
    file = signers_file(root)
    try:
        verdict = Trust(root, environment).state(executable(root))
        data = guarded(file, project_bytes)
    except BadConfiguration:
        return None
    # The very bytes that were pinned: they may have changed since the verdict.
    pinned = {part.name: part.sha256 for part in verdict.parts}.get(SIGNERS) if verdict.trusted else None
    if data is None or codec.digest(data) != pinned:
        return None
    return SignerList(str(file), data)
