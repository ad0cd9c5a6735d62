"""`make bench`: the speed promises, each as a ratio taken in one run."""

import shutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

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
from bench.measure import Figure, command, ratio, take_turns
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
        fill(small, 100)
        fill(large, 100_000)
        listing = [lambda: large.plan.list(limit=20), lambda: small.plan.list(limit=20)]
        take_turns(5, *listing)
        yield ratio("newest 20 of 100,000 ÷ of 100", take_turns(200, *listing), 2)
        # Beyond the newest hundred, so that both write a page of the history.
        fill(small, 100)
        for workspace in (large, small):
            # Without an index the first save would write out everything.
            plans = workspace.places.root / ".agent" / "logs" / "plans"
            plans.mkdir(parents=True)
            (plans / "index.json").write_text("{}")
        saving = [lambda: large.plan.propose("one"), lambda: small.plan.propose("one")]
        take_turns(5, *saving)
        yield ratio("one more plan at 100,000 ÷ at 200", take_turns(60, *saving), 2)


def syncs() -> Iterator[Figure]:
    if not shutil.which("strace"):
        print("strace is not installed; the sync calls are not counted", file=sys.stderr)
        return
    for files in (1, 3, 100, 1000):
        with scratch() as (root, environment):
            with opened(root, environment) as workspace:
                plan_id = approved(workspace, {f"f{n}.txt": f"{n}\n" for n in range(files)})
            script = f"import ringi; ringi.open_workspace('.').plan.execute({plan_id!r})"
            calls = plans.counted(script, root, environment)
            yield Figure(f"sync calls of executing {files} files in one folder", calls, 12, unit="")


def main() -> int:
    missed = 0
    ours = (start_up, transition, many_plans, syncs)
    jobs = (
        plans.figures,
        *ours,
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
    for job in jobs:
        for figure in job():
            missed += not figure.met
            mark = "✓" if figure.met else "✗"
            aim = f", aim {figure.aim:g}" if figure.aim else ""
            value = f"{figure.value:.2f}{figure.unit}"
            print(f"{mark} {figure.name}: {value} (goal ≤ {figure.goal:g}{aim})  {figure.detail}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
