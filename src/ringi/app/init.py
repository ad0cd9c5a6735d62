"""What a project gets before it is a workspace: files, hooks, trust, keys. Nothing here opens one."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ringi.approvals.own_key import UsersSigners
from ringi.approvals.person import TerminalPerson
from ringi.approvals.project_trust import ProjectTrust
from ringi.approvals.signing import fingerprint
from ringi.config.load import executable
from ringi.config.pins import Trust
from ringi.errors import InTheWay, StorageFailed
from ringi.kernel.fs import read_bounded, replace_file
from ringi.kernel.places import places_of
from ringi.kernel.system import SystemClock
from ringi.kernel.text import Text
from ringi.ledger.agentfolder import IGNORE_RULES
from ringi.provenance.verdict import Mode
from ringi.tree.supervisors import supervisors_in

PRE_RECEIVE: Final = "pre-receive"
_OURS: Final = "# Written by: ringi init --hook pre-receive"
_MOST_HOOK: Final = 65536

_CONFIG: Final = """\
# The configuration of ringi for this project; commit it. Every key, its value and source: ringi config show
# This file can make ringi stricter than a user's own ~/.config/ringi/config.yaml, never looser.
# [trust]: takes effect once the user has run ringi trust.
#
# approval:
#   expires_sec: 86400          # how long a request for approval stays open
#   together: none              # each plan needs an answer of its own
# risk:
#   critical: ["deploy/**"]     # in addition to the built-in globs
#   mutable: ["var/**"]         # files that hold state, in addition to the built-in globs
# limits:
#   max_file_bytes: 10485760
#   forbidden_extensions: [".pem"]
# checks:                       # run in copies, before and after a plan is carried out [trust]
#   before: ["make test"]
#   after: ["make test"]
#   on_failure: undo            # undo the plan if a check fails afterwards
# run:                          # the commands of plans
#   sandbox: required           # run none without a sandbox
#   allowed: ["make *"]         # not a high risk [trust]
#   environment: ["BUILD_TYPE"] # more variables to pass on to them [trust]
#   timeout_sec: 600
# diagnostics:                  # commands that report errors in the project [trust]
#   commands: ["ruff check --output-format json"]
# with:
#   carry: ["node_modules"]     # ignored folders that agents need in their copy
#   checks: ["make test"]       # run in the copy when the agent has ended [trust]
#   sandbox: required           # run no agent without a sandbox
#   writable: ["~/.cache/pip"]  # what the agent may write to besides its copy [trust]
# roles:                        # who works on the steps of a run [trust]
#   implementer: {command: claude}
# keep:
#   replaced_days: 30           # how long to keep the bytes that plans replaced, for ringi undo
#   copies_days: 14             # how long to keep the copy of an open plan, for ringi with --resume
#   copies_mb: 10000            # how much room copies may take
#   projections: 1000           # how many of the newest plans have files in .agent
# logs:
#   mask: ["EMP-[0-9]+"]        # more secrets to remove from logs [trust]
# notify:
#   how: desktop                # how to tell you that something waits: bell, desktop or off
"""


def initialise(root: Path) -> list[Path]:
    """Leaves existing files alone; returns the created ones."""
    folder = root / ".agent"
    made = []
    try:
        if folder.is_symlink():
            raise InTheWay(what=str(folder), why=Text("it is a symbolic link"))
        folder.mkdir(exist_ok=True)
        for name, data in ((".gitignore", IGNORE_RULES), ("config.yaml", _CONFIG.encode())):
            path = folder / name
            # A dangling link exists too: writing would create its target.
            if not path.exists() and not path.is_symlink():
                path.write_bytes(data)
                made.append(path)
    except OSError as error:
        raise StorageFailed(what=error.filename or str(folder), why=error.strerror or str(error)) from None
    return made


def install_hook(hooks: Path, program: Sequence[str], mode: Mode) -> tuple[Path, bool]:
    """A hook of git that lets only covered pushes in, and whether it is new. Never replaces a foreign one.

    `program` is how to start ringi.
    """
    path = hooks / PRE_RECEIVE
    command = shlex.join([*program, "verify", "--pre-receive", "--mode", str(mode)])
    text = (
        f"#!/bin/sh\n{_OURS}\n# Refuses a push with changes that nobody provably approved.\nexec {command}\n"
    )
    try:
        there = os.path.lexists(path)
        if there and _OURS.encode() not in read_bounded(path, _MOST_HOOK, follow=False):
            raise InTheWay(
                what=str(path),
                why=Text("it is a hook of somebody else; add to it: {command}", command=command),
            )
        hooks.mkdir(exist_ok=True)
        replace_file(path, text.encode(), mode=0o755)
    except OSError as error:
        raise StorageFailed(what=str(path), why=error.strerror or str(error)) from None
    return path, not there


def project_trust(root: Path, environment: Mapping[str, str]) -> ProjectTrust:
    copies = places_of(root, environment).copies
    person = TerminalPerson(environment, lambda: supervisors_in(copies))
    pins = Trust(root, environment)
    return ProjectTrust(root, pins, lambda: executable(root), person, SystemClock())


def users_signers(environment: Mapping[str, str]) -> UsersSigners:
    return UsersSigners(environment, fingerprint)
