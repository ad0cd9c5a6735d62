"""What the model did, at the end: how long it took, and how often it failed."""

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, ())
        if report.when == "call"
    ]
    lines = [
        line
        for report in reports
        for name, value in report.user_properties
        if name == "story"
        for line in value
    ]
    if lines:
        terminalreporter.section("what happened")
        for line in lines:
            terminalreporter.write_line(line)
