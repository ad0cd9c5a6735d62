"""Removes secrets from logs, errors and recordings (PP-17)."""

from collections.abc import Callable, Mapping
from functools import cache

from ringi.integrations.pattern_matcher import PatternMatcher
from ringi.llm.credentials import secrets
from ringi.policy.masking import hiding, masked
from ringi.wiring.config_keys import Config


def scrub_of(environment: Mapping[str, str]) -> Callable[[str], str]:
    """Removes the keys in this environment."""
    return hiding(secrets(environment))


def mask_of(config: Config, environment: Mapping[str, str]) -> Callable[[str], str]:
    """Removes those, and secrets recognised by built-in and configured patterns."""
    scrub, find = scrub_of(environment), _matcher(config.logs.mask)
    return lambda text: masked(scrub(text), find)


# One child process, shared by all workspaces and models.
_matcher = cache(PatternMatcher)
