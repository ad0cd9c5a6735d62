"""The use cases that set up a project, with their adapters. They open no workspace."""

from collections.abc import Mapping
from pathlib import Path

from ringi.integrations.person import TerminalPerson
from ringi.integrations.signing import fingerprint
from ringi.store.agentfolder import IGNORE_RULES
from ringi.store.lock import FileLock
from ringi.usecases import init
from ringi.usecases.signers import UsersSigners
from ringi.usecases.trust import ProjectTrust
from ringi.wiring.commands import supervisors_in
from ringi.wiring.config import executable
from ringi.wiring.system import SystemClock
from ringi.workspace.pins import Trust
from ringi.workspace.places import places_of


def initialise(root: Path) -> list[Path]:
    return init.initialise(root, IGNORE_RULES)


def project_trust(root: Path, environment: Mapping[str, str]) -> ProjectTrust:
    copies = places_of(root, environment).copies
    person = TerminalPerson(environment, lambda: supervisors_in(copies))
    pins = Trust(root, environment, FileLock)
    return ProjectTrust(root, pins, lambda: executable(root), person, SystemClock())


def users_signers(environment: Mapping[str, str]) -> UsersSigners:
    return UsersSigners(environment, FileLock, fingerprint)
