"""The running processes: their parents, arguments and start times, on Linux and elsewhere."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ringi.kernel.process.supervisor import read_stat


class Ancestor(NamedTuple):
    pid: int
    start: str
    name: str
    argv: tuple[str, ...]


def process_start(pid: int) -> str | None:
    """With its number, identifies a process uniquely, even across reboots."""
    if _has_proc():
        found = read_stat(pid)
        return None if found is None or found.dead else _linux_start(found.start)
    row = _ps().get(pid)
    return row[1] if row else None


def ancestors() -> Iterator[Ancestor]:
    """From the parent upwards, as far as they are visible."""
    rows = {} if _has_proc() else _ps()
    pid, seen = os.getppid(), set[int]()
    while pid > 0 and pid not in seen:
        seen.add(pid)
        if rows:
            row = rows.get(pid)
            if row is None:
                return
            parent, start, argv = row
            yield Ancestor(pid, start, "", argv)
        else:
            found = read_stat(pid)
            if found is None:
                return
            parent = found.parent
            yield Ancestor(pid, _linux_start(found.start), found.name, _arguments(pid))
        pid = parent


def _has_proc() -> bool:
    return sys.platform == "linux" and read_stat(os.getpid()) is not None


def _arguments(pid: int) -> tuple[str, ...]:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(os.fsdecode(argument) for argument in line.split(b"\0")[:16])


def _linux_start(ticks: int) -> str:
    # Ticks count from boot, so name the boot too.
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        boot = ""
    return f"{boot}:{ticks}"


def _ps() -> dict[int, tuple[int, str, tuple[str, ...]]]:
    """Parent, start time and arguments of every process, for systems without /proc."""
    # Without the two variables the time would be formatted for the person's locale and zone.
    listed = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,lstart=,command="],
        env={**os.environ, "LC_ALL": "C", "TZ": "UTC0"},
        capture_output=True,
        check=False,
    )
    rows = {}
    for line in os.fsdecode(listed.stdout).splitlines():
        words = line.split()
        if len(words) > 7:  # noqa: PLR2004  # two numbers, five words of time, then the command
            rows[int(words[0])] = int(words[1]), " ".join(words[2:7]), tuple(words[7:])
    return rows
