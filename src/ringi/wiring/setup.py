"""The use cases that set up a project, with their adapters. They open no workspace."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from ringi.fs import OsFileSystem
from ringi.integrations.person import TerminalPerson
from ringi.integrations.signing import fingerprint
from ringi.store.agentfolder import IGNORE_RULES
from ringi.store.connection import private_folder
from ringi.store.lock import FileLock
from ringi.usecases import init
from ringi.usecases.agent_setup import AgentSetup
from ringi.usecases.signers import UsersSigners
from ringi.usecases.trust import ProjectTrust
from ringi.wiring.commands import supervisors_in
from ringi.wiring.config import executable
from ringi.wiring.system import SystemClock, new_file_mode
from ringi.workspace.pins import Trust
from ringi.workspace.places import places_of


def initialise(root: Path) -> list[Path]:
    return init.initialise(root, IGNORE_RULES)


def agent_setup(root: Path, environment: Mapping[str, str], wait_sec: float = 10.0) -> AgentSetup:
    state = places_of(root, environment).state

    def lock(what: str) -> AbstractContextManager[None]:
        return FileLock(private_folder(state) / "lock", wait_sec)(what)

    return AgentSetup(root, state, fs=OsFileSystem(), lock=lock, new_file_mode=new_file_mode())


def project_trust(root: Path, environment: Mapping[str, str]) -> ProjectTrust:
    copies = places_of(root, environment).copies
    person = TerminalPerson(environment, lambda: supervisors_in(copies))
    pins = Trust(root, environment, FileLock)
    return ProjectTrust(root, pins, lambda: executable(root), person, SystemClock())


def users_signers(environment: Mapping[str, str]) -> UsersSigners:
    return UsersSigners(environment, FileLock, fingerprint)
