"""`make bench`: the speed promises, each as a ratio taken in one run.

`make bench ARGS=--quick` takes every figure once, of something tiny, and judges none: it says whether they
can be taken at all.
"""

import argparse
import shutil
import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from bench import (
    cache,
    context,
    dependencies,
    desk,
    editor,
    growth,
    patching,
    planning,
    plans,
    process,
    provenance,
    runs,
    snapshots,
)
from bench.measure import QUICK, Figure, command, ratio, size, take_turns
from bench.scratch import approved, fill, opened, scratch

RINGI = str(Path(sys.executable).with_name("ringi"))


def start_up() -> Iterator[Figure]:
    with scratch() as (root, environment):
        with opened(root, environment) as workspace:
            fill(workspace, 100)
        jobs = [
            command([RINGI, "--version"], cwd=root, env=environment),
            command([RINGI, "list"], cwd=root, env=environment),
            command([sys.executable, "-c", "pass"], cwd=root, env=environment),
        ]
        take_turns(2, *jobs)
        version, listing, nothing = take_turns(25, *jobs)
        yield ratio("ringi --version ÷ python -c pass", (version, nothing), 8, 5)
        yield ratio("ringi list of 100 plans ÷ python -c pass", (listing, nothing), 8, 5)


def transition() -> Iterator[Figure]:
    with scratch() as (root, environment), opened(root, environment) as workspace:
        fill(workspace, 100)
        plain = sqlite3.connect(root.parent / "plain.db", isolation_level=None)
        plain.execute("PRAGMA journal_mode = WAL").fetchone()
        plain.execute("PRAGMA synchronous = FULL")
        plain.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)")
        plan_id = workspace.plan.propose("to and fro")
        pending = [True]

        def one_transition() -> None:
            workspace.plan.mark_pending(plan_id, pending[0])
            pending[0] = not pending[0]

        def one_insert() -> None:
            plain.execute("INSERT INTO t (body) VALUES (?)", ("x" * 500,))

        take_turns(10, one_transition, one_insert)
        yield ratio(
            "a transition ÷ an SQLite WAL FULL insert", take_turns(200, one_transition, one_insert), 3
        )
        plain.close()


def many_plans() -> Iterator[Figure]:
    with (
        scratch() as (few_root, few),
        scratch() as (many_root, many),
        opened(few_root, few) as small,
        opened(many_root, many) as large,
    ):
        few_plans, many_plans = size(100, 10), size(100_000, 200)
        fill(small, few_plans)
        fill(large, many_plans)
        listing = [lambda: large.plan.list(limit=20), lambda: small.plan.list(limit=20)]
        take_turns(5, *listing)
        name = f"newest 20 of {many_plans:,} ÷ of {few_plans}"
        yield ratio(name, take_turns(200, *listing), 2)
        # Beyond the newest hundred, so that both write a page of the history.
        fill(small, 100)
        for workspace in (large, small):
            # Without an index the first save would write out everything.
            plans = workspace.places.root / ".agent" / "logs" / "plans"
            plans.mkdir(parents=True)
            (plans / "index.json").write_text("{}")
        saving = [lambda: large.plan.propose("one"), lambda: small.plan.propose("one")]
        take_turns(5, *saving)
        name = f"one more plan at {many_plans:,} ÷ at {few_plans + 100}"
        yield ratio(name, take_turns(60, *saving), 2)


def syncs() -> Iterator[Figure]:
    if not shutil.which("strace"):
        print("strace is not installed; the sync calls are not counted", file=sys.stderr)
        return
    for files in (1, 3) if QUICK else (1, 3, 100, 1000):
        with scratch() as (root, environment):
            with opened(root, environment) as workspace:
                plan_id = approved(workspace, {f"f{n}.txt": f"{n}\n" for n in range(files)})
            script = f"import ringi; ringi.open_workspace('.').plan.execute({plan_id!r})"
            calls = plans.counted(script, root, environment)
            yield Figure(f"sync calls of executing {files} files in one folder", calls, 12, unit="")


JOBS: Final[tuple[Callable[[], Iterator[Figure]], ...]] = (
    plans.figures,
    start_up,
    transition,
    many_plans,
    syncs,
    patching.figures,
    snapshots.figures,
    dependencies.figures,
    context.figures,
    desk.figures,
    planning.figures,
    cache.figures,
    runs.figures,
    process.figures,
    provenance.figures,
    growth.figures,
    editor.figures,
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="every figure once, of something tiny; no goals")
    parser.add_argument("--most", action="store_true", help="also with 10,000 plans carried out")
    parser.parse_args()
    if QUICK:
        print("Every figure once, of something tiny. What it says about speed is nothing: no goal is judged.")
    missed = failed = 0
    for job in JOBS:
        try:
            for figure in job():
                missed += not figure.met
                print(_line(figure), flush=True)
        except Exception:  # noqa: BLE001  # whatever it is, the others can be taken
            failed += 1
            print(f"✗ {job.__module__}.{job.__name__} cannot be taken", flush=True)
            traceback.print_exc()
    return 1 if failed or (missed and not QUICK) else 0


def _line(figure: Figure) -> str:
    value = f"{figure.name}: {figure.value:.2f}{figure.unit}"
    if QUICK:
        return f"· {value}  {figure.detail}"
    aim = f", aim {figure.aim:g}" if figure.aim else ""
    return f"{'✓' if figure.met else '✗'} {value} (goal ≤ {figure.goal:g}{aim})  {figure.detail}"


if __name__ == "__main__":
    raise SystemExit(main())
