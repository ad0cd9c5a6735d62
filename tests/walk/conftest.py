"""Says at the end how every journey went, and which were not walked."""

import os
from typing import Any

NOT_WALKED = "not walked here"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    told = [
        value
        for outcome in ("passed", "failed", "skipped")
        for report in terminalreporter.stats.get(outcome, ())
        for name, value in getattr(report, "user_properties", ())
        if name == "walk"
    ]
    if not told and not os.environ.get("RINGI_WALK"):
        return
    terminalreporter.section("journeys")
    for identity, outcome in sorted(told):
        said, bracket, took = " ".join(outcome.split()).rpartition(" (")
        terminalreporter.line(f"{identity}: {said[:200]} ({took}" if bracket else f"{identity}: {took}")
    terminalreporter.line(_counted(told))


def _counted(told: list[list[str]]) -> str:
    """Of all journeys there are; of the list, each line that nothing here proved."""
    from tests.walk.journeys import JOURNEYS
    from tests.walk.known import LIST, read_known

    ids = {one.id for one in JOURNEYS}
    walked = {identity for identity, outcome in told if not outcome.startswith(NOT_WALKED)}
    unproven = sorted(read_known(LIST.read_text(encoding="utf-8"), ids).keys() - walked)
    line = f"{len(walked)} of {len(ids)} journeys walked, {len(ids - walked)} {NOT_WALKED}"
    return f"{line}; known failures among these: {', '.join(unproven) or 'none'}"
