"""What checking costs as the ledger grows: seconds of processor time, in a table."""

import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from bench.measure import Figure, size
from bench.scratch import approved, opened, scratch

RINGI: Final = str(Path(sys.executable).with_name("ringi"))
FEW, MANY = size(100, 1), size(1_000, 3)
MOST = 10_000
"""Only with `--most`: making them takes longer than all the rest."""
PATHS: Final = 20
COMMANDS: Final = {
    "verify --all": ("verify", "--all"),
    "verify PLAN": ("verify", "p1"),
    "log --verify": ("log", "--verify"),
    "doctor": ("doctor",),
    "list": ("list",),
}


def figures() -> Iterator[Figure]:
    table = {count: _costs(count) for count in (FEW, MANY, *([MOST] if "--most" in sys.argv else []))}
    few, many = table[FEW], table[MANY]
    print(f"  {'processor seconds':24}{''.join(f'{n:>8}' for n in table)} plans carried out", file=sys.stderr)
    for name in COMMANDS:
        print(f"  {name:24}{''.join(f'{one[name]:>8.2f}' for one in table.values())}", file=sys.stderr)
    # All start with the same cost, which has nothing to do with the number of plans.
    start = min(few.values())
    for name, goal in (("verify --all", 1.5), ("doctor", 1.5)):
        per_plan = (many[name] - start) / MANY, max(few[name] - start, 0.01) / FEW
        detail = f"{many[name]:.2f} s against {few[name]:.2f} s"
        yield Figure(f"{name}: a plan of {MANY} ÷ of {FEW}", per_plan[0] / per_plan[1], goal, detail=detail)


def _costs(count: int) -> dict[str, float]:
    with scratch() as (root, environment):
        with opened(root, environment) as workspace:
            for number in range(count):
                # Each file is written again and again, as in a project.
                workspace.plan.execute(approved(workspace, {f"f{number % PATHS}.txt": f"{number}\n"}))
        return {name: _seconds(words, root, environment) for name, words in COMMANDS.items()}


def _seconds(words: tuple[str, ...], root: Path, environment: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([RINGI, *words], cwd=root, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
