"""Chooses the configured language model and imports what it needs; masks secrets in what it says."""

# ruff: noqa: PLC0415  # each branch imports only what it needs

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from ringi.errors import ModelOutside, UnknownModel
from ringi.kernel.pattern_matcher import PatternMatcher
from ringi.kernel.places import models_folder
from ringi.kernel.process.environment import WITH_VARIABLE
from ringi.kernel.telemetry.port import NO_SPANS, Spans
from ringi.kernel.text import Text
from ringi.models.prompt import Budget
from ringi.policy.leaks import is_name
from ringi.policy.masking import hiding, mask_secrets, secret_values

if TYPE_CHECKING:
    from ringi.agents.reading import ProjectReader
    from ringi.config.keys import Config
    from ringi.models.prompt import LanguageModel

PLAYBOOK: Final = "playbook"
_MORE_ROOM: Final = 4
_SERVICES: Final = ("openai", "anthropic", "ollama")
_KINDS: Final = (PLAYBOOK, *_SERVICES, "command")


def choose(
    name: str,
    config: Config,
    environment: Mapping[str, str],
    reader: Callable[[], ProjectReader] | None = None,
    spans: Spans = NO_SPANS,
    playbook: Callable[[], LanguageModel] | None = None,
) -> LanguageModel:
    """`reader` lets an agent look at the project, and `playbook` makes what answers without a model.

    Raises UnknownModel, ModelOutside, NoModelKey, NoExtra.
    """
    name = name.strip()
    kind, colon, rest = name.partition(":")
    rest = rest.strip()
    if playbook and kind == PLAYBOOK and not colon:
        return playbook()
    if kind not in _KINDS or kind == PLAYBOOK:
        raise UnknownModel(model=name, why=_nearest(kind))
    if not rest:
        raise UnknownModel(model=name, why=_missing(kind))
    if kind in _SERVICES:
        return _service(kind, rest, config, environment, spans)
    return _command(name, rest, environment, reader, spans)


def _command(
    name: str,
    template: str,
    environment: Mapping[str, str],
    reader: Callable[[], ProjectReader] | None,
    spans: Spans,
) -> LanguageModel:
    if environment.get(WITH_VARIABLE):
        # An agent's words would reach a program that no sandbox of its own confines.
        raise ModelOutside(model=name)
    from ringi.models.client import ModelClient
    from ringi.models.command_backend import CommandBackend

    scrub, scratch = scrub_of(environment), models_folder(environment)
    looks = reader() if reader else None
    backend = CommandBackend(template, environment, scrub, folder=scratch, reader=looks)
    return ModelClient(backend, scrub=scrub, spans=spans)


def budget_of(config: Config) -> Budget:
    tokens = config.llm.max_output_tokens
    return Budget(config.llm.timeout_sec, tokens, _MORE_ROOM * tokens)


def _service(
    kind: str, model: str, config: Config, environment: Mapping[str, str], spans: Spans
) -> LanguageModel:
    from ringi.models import providers
    from ringi.models.client import ModelClient
    from ringi.models.http_backend import HttpBackend

    if kind == "openai":
        # Only openai: has a configurable address; another service's key must not be sent there.
        provider = providers.openai(model, config.llm.base_url, environment)
    elif kind == "anthropic":
        provider = providers.anthropic(model, environment)
    else:
        provider = providers.ollama(model, environment)
    scrub = scrub_of(environment)
    backend = HttpBackend(provider, environment, scrub)
    return ModelClient(backend, schema_in_text=not provider.takes_schema, scrub=scrub, spans=spans)


def _missing(kind: str) -> Text:
    if kind in _SERVICES:
        return Text("the name of the model is missing, as in {kind}:NAME", kind=kind)
    return Text("the command is missing, as in command:claude")


def _nearest(kind: str) -> Text:
    from difflib import get_close_matches

    near = get_close_matches(kind, _KINDS, n=1)
    if kind == PLAYBOOK:
        return Text("the playbook takes nothing after it")
    if near:
        return Text("did you mean {near}?", near=near[0])
    return Text("nothing of that name is known")


def scrub_of(environment: Mapping[str, str]) -> Callable[[str], str]:
    """Removes the keys in this environment."""
    return hiding(secret_values(environment))


def mask_of(
    config: Config, environment: Mapping[str, str], *, keep_lines: bool = False
) -> Callable[[str], str]:
    """Removes those, and secrets recognised by built-in and configured patterns (PP-17)."""
    logging = config.planning.logging
    more = logging.sensitive_patterns if logging.mask_sensitive_data else ()
    patterns = tuple(pattern for pattern in (*config.logs.mask, *more) if not is_name(pattern))
    scrub, find = scrub_of(environment), _matcher(patterns)
    return lambda text: mask_secrets(scrub(text), find, keep_lines=keep_lines)


@cache
def _matcher(patterns: tuple[str, ...]) -> PatternMatcher:
    """One child process, shared by all workspaces and models."""
    return PatternMatcher(patterns)
