"""Every scene by its name, with the records that it makes."""

from collections.abc import Callable
from typing import NamedTuple

from tests.records.scene import Scene
from tests.records.scenes import agents, names, planning, plans, proofs, runs, servers, start


class Entry(NamedTuple):
    play: Callable[[Scene], None]
    weight: int = 1
    """How long it takes, compared with others."""

    @property
    def about(self) -> str:
        return (self.play.__doc__ or "").strip()


SCENES = {
    "help": Entry(names.help_pages, 4),
    "schemas": Entry(names.schemas),
    "keys": Entry(names.keys, 4),
    "python": Entry(names.python),
    "api": Entry(names.api),
    "propose": Entry(plans.propose, 6),
    "change": Entry(plans.change, 6),
    "approve": Entry(plans.approve, 6),
    "typed": Entry(plans.typed),
    "grants": Entry(plans.grants, 4),
    "start": Entry(start.start, 6),
    "settings": Entry(start.settings),
    "documents": Entry(start.documents, 4),
    "beside": Entry(agents.beside, 8),
    "planning": Entry(planning.planning, 7),
    "run": Entry(runs.whole, 9),
    "unattended": Entry(runs.unattended),
    "failing": Entry(runs.failing),
    "task": Entry(runs.task, 5),
    "proofs": Entry(proofs.proofs, 5),
    "crash": Entry(proofs.crash),
    "mcp": Entry(servers.tools),
    "acp": Entry(servers.editor),
}
QUICK = ("help", "schemas", "keys", "python")
"""Those that only look at names; the tests play them, too."""
