"""What takes secrets out of logs and recordings here (PP-17)."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from ringi.policy.masking import known, masked
from ringi.wiring.config_keys import Config

_KEYS: Final = ("_API_KEY", "_TOKEN", "_SECRET")


def mask_of(config: Config, environment: Mapping[str, str]) -> Callable[[str], str]:
    """By their shape, by what is configured, and the very keys that are at hand."""
    patterns = [re.compile(pattern) for pattern in config.logs.mask]
    keys = [value for name, value in environment.items() if name.endswith(_KEYS)]
    return lambda text: masked(known(text, keys), patterns)
