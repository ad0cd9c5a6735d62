"""Measuring side by side: the parts of a ratio take turns in one run, so that a busy machine slows both."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

QUICK: Final = "--quick" in sys.argv
"""Every figure once, of something tiny: whether it can be taken, not what it is."""


def size(whole: int, tiny: int) -> int:
    return tiny if QUICK else whole


class Figure(NamedTuple):
    name: str
    value: float
    goal: float
    aim: float | None = None
    unit: str = " times"
    detail: str = ""

    @property
    def met(self) -> bool:
        return self.value <= self.goal


def take_turns(rounds: int, *jobs: Callable[[], object]) -> list[float]:
    """The median seconds of each job."""
    times: list[list[float]] = [[] for _ in jobs]
    for _ in range(size(rounds, 1)):
        for job, taken in zip(jobs, times, strict=True):
            start = time.perf_counter()
            job()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def settle() -> None:
    """Git reads files anew that are as young as its index."""
    if not QUICK:
        time.sleep(1.1)


def command(argv: Sequence[str], **options: object) -> Callable[[], object]:
    return lambda: subprocess.run(
        argv,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **options,  # type: ignore[call-overload]
    )


def ratio(name: str, pair: Sequence[float], goal: float, aim: float | None = None) -> Figure:
    ours, theirs = pair
    detail = f"{ours * 1000:.2f} ms against {theirs * 1000:.2f} ms"
    return Figure(name, ours / theirs, goal, aim, detail=detail)
