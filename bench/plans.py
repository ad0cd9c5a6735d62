"""The promises about plans: carrying one out, the whole way of one, and as many specs as are allowed."""

import itertools
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench import other
from bench.measure import Figure, command, ratio, size, take_turns
from bench.patching import MODE, source
from bench.scratch import approved, fill, ledger_of, opened, scratch
from ringi.app.api import Workspace
from ringi.approvals.document import TypedAnswer
from ringi.patch.render import FileDelta, FileSide, render_patch
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ALL_SPECS, ActionSpec

SYNCS = "fsync,fdatasync,syncfs,sync,sync_file_range,msync"
# % time, seconds, microseconds a call, calls, errors, name
_COUNTED = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s.*sync", re.MULTILINE)
_WARM_UP = size(5, 1)


def figures() -> Iterator[Figure]:
    # Both folders stay until the end: on ext4 new files are slow for minutes where many were deleted.
    with scratch() as first, scratch() as second:
        yield from one_file(*first)
        yield from whole_way(*second)
    yield from statements()
    yield from sync_calls()
    yield from many_specs()


def one_file(root: Path, environment: Mapping[str, str]) -> Iterator[Figure]:
    """Every round has a file and a patch of its own; nothing but the execution is measured."""
    rounds = size(60, 1)
    with opened(root, environment) as workspace:
        theirs = root.parent / "theirs"
        subprocess.run(["git", "init", "-q", str(theirs)], env=dict(environment), check=True)
        waiting = []
        for number in range(rounds + _WARM_UP):
            name, old, patch = changed_file(number)
            for folder in (root, theirs):
                (folder / name).write_bytes(old)
            (theirs / f"{number}.patch").write_bytes(patch)
            waiting.append(approved_patch(workspace, name, patch))
        plans, numbers = iter(waiting), itertools.count()

        def execute() -> None:
            workspace.plan.execute(next(plans))

        def apply() -> None:
            command(["git", "apply", f"{next(numbers)}.patch"], cwd=theirs, env=environment)()

        take_turns(_WARM_UP, execute, apply)
        # Whoever syncs pays for all that lies unwritten: none is to pay for the other's files.
        _, ours, _, git = take_turns(rounds, os.sync, execute, os.sync, apply)
        for name in (changed_file(number)[0] for number in range(rounds + _WARM_UP)):
            assert (root / name).read_bytes() == (theirs / name).read_bytes()
        yield ratio("one file executed ÷ a git apply process", (ours, git), 1.3)


def changed_file(number: int) -> tuple[str, bytes, bytes]:
    """A file of 3 KB and a patch of one hunk."""
    name, old = f"module_{number}.py", source(80, number + 1)
    new = [*old[:40], b"    rewritten = %d\n" % number, *old[42:]]
    patch = render_patch([FileDelta(name, FileSide(b"".join(old), MODE), FileSide(b"".join(new), MODE))])
    return name, b"".join(old), patch


def approved_patch(workspace: Workspace, path: str, patch: bytes) -> str:
    tool = workspace.plan
    plan_id = tool.propose("bench")
    tool.set_action_specs(plan_id, [ActionSpec(SpecKind.PATCH, path, patch.decode())])
    asked = tool.ask(plan_id)
    tool.approve(plan_id, "bench", ALL_SPECS, TypedAnswer(asked.digest, asked.digest[:6]))
    return plan_id


def whole_way(root: Path, environment: Mapping[str, str]) -> Iterator[Figure]:
    """Proposed, asked, approved and written: by a plan, and by a graph that is interrupted and resumed."""
    with opened(root, environment) as workspace:
        fill(workspace, 5)
        folder = root.parent / "theirs"
        folder.mkdir()
        numbers = itertools.count()
        try:
            with other.steps(folder) as theirs:

                def ours() -> float:
                    start = time.perf_counter()
                    go_whole_way(workspace, next(numbers))
                    return time.perf_counter() - start

                alternate(_WARM_UP, ours, theirs)
                pair = alternate(60, ours, theirs)
        except other.Missing as problem:
            print(f"LangGraph is not installed; nothing is compared with it\n{problem}", file=sys.stderr)
            return
        yield ratio("the whole way of a one-file plan ÷ a step of LangGraph", pair, 0.6)


def go_whole_way(workspace: Workspace, number: int) -> None:
    done = workspace.plan.execute(approved(workspace, {f"f{number}.txt": other.text(number)}))
    assert done.overall_success


def alternate(rounds: int, *clocks: Callable[[], float]) -> list[float]:
    """As `take_turns`, for jobs that measure themselves; nobody pays for what another left unwritten."""
    times: list[list[float]] = [[] for _ in clocks]
    for _ in range(size(rounds, 1)):
        for clock, taken in zip(clocks, times, strict=True):
            os.sync()
            taken.append(clock())
    return [statistics.median(taken) for taken in times]


def statements() -> Iterator[Figure]:
    """What the ledger is asked to do for one plan, from its proposal to its result."""
    with scratch() as (root, environment), opened(root, environment) as workspace:
        go_whole_way(workspace, 0)
        asked: list[str] = []
        ledger_of(workspace).database.set_trace_callback(asked.append)
        go_whole_way(workspace, 1)
        ledger_of(workspace).database.set_trace_callback(None)
    yield Figure("SQL statements of the whole way of a one-file plan", len(asked), 37, unit="")


def sync_calls() -> Iterator[Figure]:
    """Of one plan among many: what a process with more of them calls more often."""
    if not shutil.which("strace"):
        print("strace is not installed; the sync calls are not counted", file=sys.stderr)
        return
    few, many = size(5, 1), size(45, 3)
    calls = {}
    for plans in (few, many):
        with scratch() as (root, environment):
            script = (
                "import os, pathlib; from bench import plans, scratch\n"
                f"with scratch.opened(pathlib.Path({str(root)!r}), os.environ) as workspace:\n"
                f"    for number in range({plans}): plans.go_whole_way(workspace, number)\n"
            )
            calls[plans] = counted(script, other.ROOT, environment)
    each = (calls[many] - calls[few]) / (many - few)
    yield Figure("sync calls of the whole way of a one-file plan", each, 10, unit="")


def counted(script: str, cwd: Path, environment: Mapping[str, str]) -> int:
    """The sync calls of the script, SQLite's own among them."""
    traced = subprocess.run(
        ["strace", "-f", "-c", "--seccomp-bpf", "-e", f"trace={SYNCS}", sys.executable, "-c", script],
        cwd=cwd, env=dict(environment), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return sum(int(found[1]) for found in _COUNTED.finditer(traced.stderr))


def many_specs() -> Iterator[Figure]:
    """Ten times as many take ten times as long, and hardly more."""
    for kind in (SpecKind.CREATE, SpecKind.WRITE):
        with (
            scratch() as (few_root, few),
            scratch() as (many_root, many),
            opened(few_root, few) as small,
            opened(many_root, many) as large,
        ):
            count = size(1000, 10)
            _, ten_times, _, once = take_turns(
                5, os.sync, validating(large, kind, 10 * count), os.sync, validating(small, kind, count)
            )
            pair = ten_times / 10, once
            name = f"{10 * count:,} {kind} specs validated and shown ÷ 10 times {count:,}"
            yield ratio(name, pair, 1.3)


def validating(workspace: Workspace, kind: SpecKind, count: int) -> Callable[[], object]:
    paths = [f"d{number % 100}/f{number}.txt" for number in range(count)]
    specs = [ActionSpec(kind, path, f"this becomes {path}\n" * 5) for path in paths]
    if kind is SpecKind.WRITE:
        for path in paths:
            place = workspace.places.root / path
            place.parent.mkdir(exist_ok=True)
            place.write_text(f"this was {path}\n" * 5)
    plan = workspace.plan

    def validate_and_show() -> None:
        plan_id = plan.propose("bench")
        assert plan.set_action_specs(plan_id, specs).ok
        assert len(plan.preview(plan_id).diffs) == count

    return validate_and_show
