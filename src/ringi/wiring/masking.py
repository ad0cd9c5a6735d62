"""What takes secrets out of logs, errors and recordings here (PP-17)."""

from collections.abc import Callable, Mapping
from functools import cache

from ringi.integrations.pattern_matcher import PatternMatcher
from ringi.llm.credentials import secrets
from ringi.policy.masking import hiding, masked
from ringi.wiring.config_keys import Config


def scrub_of(environment: Mapping[str, str]) -> Callable[[str], str]:
    """The very keys that are at hand."""
    return hiding(secrets(environment))


def mask_of(config: Config, environment: Mapping[str, str]) -> Callable[[str], str]:
    """Those, and secrets told by their shape and by what is configured."""
    scrub, find = scrub_of(environment), _matcher(config.logs.mask)
    return lambda text: masked(scrub(text), find)


# One child for the whole process, however many workspaces and models are opened in it.
_matcher = cache(PatternMatcher)
