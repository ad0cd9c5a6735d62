"""Chapter 16 of the planning process, as configured."""

from collections.abc import Iterator
from typing import Final

from ringi.config.keys import DEFAULTS, Config
from ringi.config.rules import Section
from ringi.config.settings import MetricSettings

_SECTIONS: Final = ("metrics", "performance_metrics", "resource_metrics", "quality_metrics")


def metric_settings(config: Config) -> MetricSettings:
    found = [*_entries(config)]
    own = dict(_entries(DEFAULTS))

    def told(field: str) -> dict[str, str]:
        """Words that are not ours: ours are translated."""
        return {
            name: getattr(entry, field)
            for name, entry in found
            if hasattr(entry, field) and getattr(entry, field) != getattr(own[name], field)
        }

    return MetricSettings(
        targets={name: entry.target for name, entry in found if hasattr(entry, "target")},
        measures=told("measure"),
        calculations=told("calculation"),
        units=told("unit"),
        breakdowns={name: entry.breakdown for name, entry in found if hasattr(entry, "breakdown")},
        coverage_report=config.quality_metrics.coverage_report,
    )


def _entries(config: Config) -> Iterator[tuple[str, Section]]:
    for section in _SECTIONS:
        whole = getattr(config, section)
        for name in whole.__struct_fields__:
            if isinstance(entry := getattr(whole, name), Section):
                yield name, entry
