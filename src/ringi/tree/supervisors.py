"""Processes that run an agent in a work copy now."""

from pathlib import Path

from ringi.kernel.process.program import program_name
from ringi.tree.copy import WorkCopy


def supervisors_in(copies: Path) -> list[tuple[int, str, str]]:
    """Their ids, when they started, and the agent's name. Nobody below one is a person."""
    found = [(copy.record.supervisor, copy.record.command) for copy in WorkCopy.all(copies)]
    return [
        (running.pid, running.start, program_name(command) if command else "")
        for running, command in found
        if running
    ]
