from collections.abc import Mapping
from pathlib import Path

from ringi.app.doctor_checks import Configuration, Doctor
from ringi.app.telemetry import tracing_lacks
from ringi.app.workspace import open_workspace
from ringi.config.load import load
from ringi.kernel.places import places_of
from ringi.ledger.moved import MovedLedger
from ringi.runs.configured_tools import server_tools
from ringi.tools.ports_process import ServerState


def doctor_of(root: Path, environment: Mapping[str, str]) -> Doctor:
    """For a workspace that may be damaged: it is opened only when the doctor examines it."""
    places = places_of(root, environment)

    def configuration() -> Configuration:
        config = load(root, environment)
        untrusted = config.trust is not None and not config.trust.trusted
        lacks = tracing_lacks(config, environment)
        return Configuration(len(config.files), config.notes, untrusted, lacks)

    def servers() -> tuple[ServerState, ...]:
        config = load(root, environment)
        if not config.mcp_servers:
            return ()
        with server_tools(config, environment, places.root) as tools:
            return tools.states()

    return Doctor(
        places,
        MovedLedger(places.root, places.state),
        configuration,
        lambda: open_workspace(root, environment=environment),
        servers,
    )
