"""The table at the end: what the cuts came to. Taken from the reports, so that workers may have made them."""

import pytest

HEADINGS = (
    "system", "machine", "protocol", "cuts", "found torn",
    "as before", "as after", "between groups", "mixed", "share",
)  # fmt: skip


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, ())
        if report.when == "call"
    ]
    rows = [value for report in reports for name, value in report.user_properties if name == "power"]
    if not rows:
        return
    terminalreporter.section("power losses")
    table = [HEADINGS, *sorted(rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        terminalreporter.write_line(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        )
