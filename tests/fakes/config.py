"""Configurations that no file says."""

from msgspec.structs import replace

from ringi.config.keys import DEFAULTS, KEYS, Config, KeyOrigin, ValueSource, build
from ringi.config.rules import Value


def config_with(**values: Value) -> Config:
    """As if the user's file set these keys: `config_with(**{"planning.max_subtasks": 3})`."""
    sources = dict.fromkeys(values, ValueSource(KeyOrigin.USER, "config.yaml:1"))
    return replace(build(DEFAULTS, {KEYS[name].path: values[name] for name in values}), sources=sources)


def values_of(config: Config) -> dict[str, Value]:
    """All that it says, wherever that comes from."""
    return {name: key.of(config) for name, key in KEYS.items()}
