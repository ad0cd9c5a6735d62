"""What planning sessions need: the configured model, the ledger, facts about the project."""

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cache, partial
from pathlib import Path

from ringi.domain.session import ProjectFacts
from ringi.planning.services import SessionServices
from ringi.plans.services import Services
from ringi.ports import LanguageModel, SessionStore
from ringi.store.lock import PassingLock
from ringi.wiring.config_keys import Config
from ringi.wiring.masking import mask_of
from ringi.wiring.models import budget_of, choose
from ringi.workspace.glance import glance
from ringi.workspace.places import Places


def session_services(
    ledger: SessionStore,
    services: Services,
    config: Config,
    places: Places,
    environment: Mapping[str, str],
) -> SessionServices:
    @cache
    def model() -> LanguageModel:
        return choose(config.model, config, environment, Path.cwd())

    def working_on(session_id: str) -> AbstractContextManager[None]:
        return PassingLock(places.state / f"{session_id}.lock", config.lock.wait_sec)("planning")

    return SessionServices(
        store=ledger,
        clock=services.clock,
        ids=services.ids,
        model=model,
        budget=budget_of(config),
        person=services.person,
        signatures=services.signatures,
        project=partial(_facts, places.root),
        mask=mask_of(config, environment),
        detailed=config.logs.detail == "on",
        working_on=working_on,
        sleep=time.sleep,
    )


def _facts(root: Path) -> ProjectFacts:
    return ProjectFacts(*glance(root))
