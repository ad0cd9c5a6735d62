"""Whose signatures count: the user's own list, and the project's once it is trusted."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ringi.domain import codec
from ringi.errors import BadConfiguration, InTheWay
from ringi.integrations.signing import SignerList
from ringi.store.lock import FileLock
from ringi.usecases.signers import users_bytes, users_file
from ringi.wiring.config import executable
from ringi.wiring.config_file import guarded, project_bytes
from ringi.workspace.pins import SIGNERS, Trust
from ringi.workspace.places import signers_file


def signer_lists(root: Path, environment: Mapping[str, str]) -> Sequence[SignerList]:
    """Read on every call, so that a removed key stops counting at once. Leaves out an unsafe list."""
    return [found for found in (_users(root, environment), _projects(root, environment)) if found]


def _users(root: Path, environment: Mapping[str, str]) -> SignerList | None:
    file = users_file(environment)
    if file is None:
        return None
    place = Path(os.path.realpath(file))
    if place.is_relative_to(os.path.realpath(root)):
        return None  # it may have come with the project
    try:
        data = users_bytes(place)
    except (OSError, InTheWay):
        return None
    return None if data is None else SignerList(str(file), data)


def _projects(root: Path, environment: Mapping[str, str]) -> SignerList | None:
    file = signers_file(root)
    try:
        verdict = Trust(root, environment, FileLock).state(executable(root))
        data = guarded(file, project_bytes)
    except BadConfiguration:
        return None
    # Compare with the pinned bytes: the file may have changed since the verdict.
    pinned = {part.name: part.sha256 for part in verdict.parts}.get(SIGNERS) if verdict.trusted else None
    if data is None or codec.digest(data) != pinned:
        return None
    return SignerList(str(file), data)
