"""The use cases that set up a project, with their adapters. They open no workspace."""

from collections.abc import Mapping
from pathlib import Path

from ringi.app import init
from ringi.approvals.own_key import UsersSigners
from ringi.approvals.person import TerminalPerson
from ringi.approvals.project_trust import ProjectTrust
from ringi.approvals.signing import fingerprint
from ringi.config.load import executable
from ringi.config.pins import Trust
from ringi.kernel.places import places_of
from ringi.kernel.system import SystemClock
from ringi.ledger.agentfolder import IGNORE_RULES
from ringi.tree.supervisors import supervisors_in


def initialise(root: Path) -> list[Path]:
    return init.initialise(root, IGNORE_RULES)


def project_trust(root: Path, environment: Mapping[str, str]) -> ProjectTrust:
    copies = places_of(root, environment).copies
    person = TerminalPerson(environment, lambda: supervisors_in(copies))
    pins = Trust(root, environment)
    return ProjectTrust(root, pins, lambda: executable(root), person, SystemClock())


def users_signers(environment: Mapping[str, str]) -> UsersSigners:
    return UsersSigners(environment, fingerprint)
