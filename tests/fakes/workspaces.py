"""A workspace put together by hand."""

import os
from pathlib import Path
from typing import Any

from ringi.app.projection import Projection
from ringi.app.store import Store
from ringi.app.upkeep import LedgerUpkeep
from ringi.app.workspace import Workspace
from ringi.approvals.signing import SshSignatures
from ringi.config.keys import DEFAULTS
from ringi.kernel.places import Places
from ringi.kernel.telemetry.port import SILENT
from tests.fakes.people import SeatedPerson, SteppingClock


def bare_workspace(state: Path, root: Path, store: Store, **parts: Any) -> Workspace:
    """With nothing of a project or its configuration; these parts replace what the workspace would have."""
    places = Places(root, state, state, state)
    upkeep = LedgerUpkeep(
        root, store, Projection(root, state / "projection.lock", 0, lambda *_: ""), _nothing
    )
    made = Workspace(
        places, dict(os.environ), DEFAULTS, store, upkeep, person=SeatedPerson(), clock=SteppingClock()
    )
    return made.replace(**{"signatures": SshSignatures(tuple), "telemetry": SILENT, **parts})


def _nothing() -> None:
    pass
