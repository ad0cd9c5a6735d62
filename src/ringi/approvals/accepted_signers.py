"""Whose signatures count: the lines that the ledger accepted, as long as their files have them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ringi.approvals.own_key import users_bytes, users_file
from ringi.approvals.signers import Configured, accepted
from ringi.approvals.signers_document import RequiredProof, SignerFile
from ringi.approvals.signing import SignerList, SshSignatures
from ringi.config.file import project_bytes, read_guarded
from ringi.config.keys import Config, KeyOrigin
from ringi.config.load import executable
from ringi.config.pins import SIGNERS, Trust
from ringi.errors import BadConfiguration, InTheWay
from ringi.kernel import codec
from ringi.kernel.places import signers_file

if TYPE_CHECKING:
    from ringi.app.store import Store

_PROJECTS: Final = f".agent/{SIGNERS}"
_LASTING: Final = frozenset([KeyOrigin.USER, KeyOrigin.ENVIRONMENT])


def signatures_of(
    store: Store, root: Path, environment: Mapping[str, str], configured: Configured
) -> SshSignatures:
    def required() -> bool:
        if configured.proof is RequiredProof.SIGNED:
            return True
        said = accepted(store)
        return said is not None and said.proof is RequiredProof.SIGNED

    return SshSignatures(
        lambda: accepted_lists(store, root, environment),
        offered=lambda: [as_list(file, root) for file in offered_lists(root, environment)],
        required=required,
    )


def configured_proof(config: Config) -> Configured:
    proof = RequiredProof(config.approval.proof)
    return Configured(proof, lasting=config.source("approval.proof").origin in _LASTING)


def as_list(file: SignerFile, root: Path) -> SignerList:
    return SignerList(str(root / file.path), "".join(f"{line}\n" for line in file.lines).encode())


def accepted_lists(store: Store, root: Path, environment: Mapping[str, str]) -> list[SignerList]:
    """Read on every call, so that a removed key stops counting at once.

    A line that was added since does not count, and neither does one of a file that somebody else could write.
    The environment can only take away: the project's list counts as long as the project is trusted.
    """
    said = accepted(store)
    found = []
    for file in said.lists if said else ():
        data = _projects(root, environment) if file.path == _PROJECTS else _users(Path(file.path), root)
        if data is not None:
            there = frozenset(_lines(data))
            lines = tuple(line for line in file.lines if line in there)
            found.append(as_list(SignerFile(file.path, file.sha256, lines), root))
    return found


def offered_lists(root: Path, environment: Mapping[str, str]) -> tuple[SignerFile, ...]:
    """The user's own list, and the project's once it is trusted; leaves out an unsafe one."""
    users = users_file(environment)
    found = [
        (str(users), _users(users, root) if users else None),
        (_PROJECTS, _projects(root, environment)),
    ]
    return tuple(
        SignerFile(path, codec.digest(data), tuple(_lines(data))) for path, data in found if data is not None
    )


def _lines(data: bytes) -> Iterator[str]:
    for line in data.split(b"\n"):
        text = line.strip()
        if text and not text.startswith(b"#"):
            yield text.decode("utf-8", "backslashreplace")


def _users(file: Path, root: Path) -> bytes | None:
    place = Path(os.path.realpath(file))
    if place.is_relative_to(os.path.realpath(root)):
        return None  # it may have come with the project
    try:
        return users_bytes(place)
    except (OSError, InTheWay):
        return None


def _projects(root: Path, environment: Mapping[str, str]) -> bytes | None:
    file = signers_file(root)
    try:
        verdict = Trust(root, environment).state(executable(root))
        data = read_guarded(file, project_bytes)
    except BadConfiguration:
        return None
    # Compare with the pinned bytes: the file may have changed since the verdict.
    pinned = {part.name: part.sha256 for part in verdict.parts}.get(SIGNERS) if verdict.trusted else None
    return data if data is not None and codec.digest(data) == pinned else None
