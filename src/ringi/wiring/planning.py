"""What planning sessions are given: the configured model, the ledger, the project at a glance."""

import time
from contextlib import AbstractContextManager
from functools import cache, partial
from pathlib import Path

from ringi.domain.session import ProjectFacts
from ringi.integrations.signing import SshSignatures
from ringi.planning.parts import PlanningParts
from ringi.planning.tool import PlanningTool
from ringi.ports import LanguageModel
from ringi.store.lock import PassingLock
from ringi.wiring.assemble import Assembled
from ringi.wiring.masking import mask_of
from ringi.wiring.models import budget_of, choose
from ringi.wiring.signers import signer_lists
from ringi.wiring.system import new_id
from ringi.workspace.glance import glance


def planning_of(parts: Assembled) -> PlanningTool:
    return PlanningTool(parts_of(parts))


def parts_of(parts: Assembled) -> PlanningParts:
    places, config, environment = parts.places, parts.loaded.config, parts.environment

    @cache
    def model() -> LanguageModel:
        return choose(config.model, config, environment, Path.cwd())

    def working_on(session_id: str) -> AbstractContextManager[None]:
        return PassingLock(places.state / f"{session_id}.lock", config.lock.wait_sec)("planning")

    return PlanningParts(
        store=parts.ledger,
        clock=parts.clock,
        ids=new_id,
        model=model,
        budget=budget_of(config),
        person=parts.person,
        signatures=SshSignatures(lambda: signer_lists(places.root, environment)),
        project=partial(_facts, places.root),
        mask=mask_of(config, environment),
        detailed=config.logs.detail == "on",
        working_on=working_on,
        sleep=time.sleep,
    )


def _facts(root: Path) -> ProjectFacts:
    return ProjectFacts(*glance(root))
