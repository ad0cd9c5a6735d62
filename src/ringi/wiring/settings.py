"""The settings of the use cases, from the configuration."""

from typing import Final

from ringi.usecases.settings import BesideSettings, DiagnosticCommand, DiagnosticSettings, Settings
from ringi.wiring.config import Loaded, Origin

_DIAGNOSTICS: Final = "diagnostics.commands"


def settings_of(loaded: Loaded) -> Settings:
    beside, diagnostics = loaded.config.beside, loaded.config.diagnostics
    return Settings(
        beside=BesideSettings(
            carry=beside.carry,
            checks=beside.checks,
            sandbox=beside.sandbox,
            writable=beside.writable,
            keep_days=beside.keep_days,
        ),
        diagnostics=DiagnosticSettings(
            commands=_diagnostics(loaded), format=diagnostics.format, timeout_sec=diagnostics.timeout_sec
        ),
        check_timeout_sec=loaded.config.checks.timeout_sec,
    )


def _diagnostics(loaded: Loaded) -> tuple[DiagnosticCommand, ...]:
    own = loaded.config.diagnostics.commands
    commands = tuple(DiagnosticCommand(text) for text in own)
    overruled = loaded.sources[_DIAGNOSTICS].origin is Origin.ENVIRONMENT
    if loaded.trust is None or loaded.trust.trusted or overruled:
        return commands
    others = (text for text in loaded.trust.lines(_DIAGNOSTICS) if text not in own)
    return (*commands, *(DiagnosticCommand(text, trusted=False) for text in others))
