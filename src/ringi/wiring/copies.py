from pathlib import Path


def supervisors_in(copies: Path) -> list[tuple[int, str]]:
    """Who runs an agent in a work copy now: an answer typed below such a process is not a person's."""
    from ringi.workspace.copy import WorkCopy  # noqa: PLC0415  # only asked for when a person answers

    found = [copy.record.supervisor for copy in WorkCopy.all(copies)]
    return [(running.pid, running.start) for running in found if running]
