"""The table at the end: what the cuts came to. Taken from the reports, so that workers may have made them."""

import pytest

HEADINGS = {
    "power": (
        "system", "machine", "protocol", "cuts", "found torn",
        "as before", "as after", "between groups", "mixed", "share",
    ),
    "power git": ("system", "scene", "cut", "cuts", "torn for git", "lost", "next command fails"),
}  # fmt: skip


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, ())
        if report.when == "call"
    ]
    for name, headings in HEADINGS.items():
        rows = [value for report in reports for key, value in report.user_properties if key == name]
        if rows:
            terminalreporter.section(f"{name} losses")
            _write(terminalreporter, [headings, *sorted(rows)])


def _write(terminalreporter: pytest.TerminalReporter, table: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        terminalreporter.write_line(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        )
