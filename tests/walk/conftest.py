"""Says at the end how every journey went."""

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    walked = [
        value
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, ())
        for name, value in getattr(report, "user_properties", ())
        if name == "walk"
    ]
    if walked:
        terminalreporter.section("journeys")
    for identity, outcome in sorted(walked):
        said, _, took = " ".join(outcome.split()).rpartition(" (")
        terminalreporter.line(f"{identity}: {said[:200]} ({took}")
