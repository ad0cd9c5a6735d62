"""What takes secrets out of logs, errors and recordings here (PP-17)."""

import re
from collections.abc import Callable, Mapping

from ringi.llm.credentials import secrets
from ringi.policy.masking import hiding, masked
from ringi.wiring.config_keys import Config


def scrub_of(environment: Mapping[str, str]) -> Callable[[str], str]:
    """The very keys that are at hand."""
    return hiding(secrets(environment))


def mask_of(config: Config, environment: Mapping[str, str]) -> Callable[[str], str]:
    """Those, and secrets told by their shape and by what is configured."""
    patterns = [re.compile(pattern) for pattern in config.logs.mask]
    scrub = scrub_of(environment)
    return lambda text: masked(scrub(text), patterns)
