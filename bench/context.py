"""What finding the files of a request costs, and how often it finds them.

`make bench-context MIRROR=…` asks real issues (those of SWE-bench) about the files of the commit that each
was written for, and looks for the files of its real fix among the best. None of their data is kept here.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from bench.dependencies import MODULES, PACKAGE, Package, module_source
from bench.measure import Figure, size, take_turns
from ringi.project.context import FileKind
from ringi.project.index import Corpus, corpus_of
from ringi.project.ranking import WEIGHTS, Weights, rank
from ringi.tree.file_state import StateFile

TASKS: Final = "SWE-bench/swe-bench-tasks"
REPOSITORIES: Final = ("pallets/flask", "psf/requests", "pytest-dev/pytest")
PLAIN: Final = Weights(
    name=1.5, path=1.5, chunk=0, often=0.5, most_often=3, named=1.6, traced=1.6, first=0, bridge=0
)
"""BM25 over text, definitions and paths, and nothing else."""
MANY_FILES: Final = size(3000, 100)
REQUEST: Final = (
    "work3 gives a wrong total\n\nIn `bench_package.part4.module130` the total of `work3` is too small for a"
    " factor of 5: it subtracts the length of the value. It should add the value times the index."
)


class Task(NamedTuple):
    name: str
    base: str
    lite: bool
    request: str
    changed: tuple[str, ...]


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    return subprocess.run(
        ["git", "--git-dir", folder, *arguments], input=stdin, capture_output=True, check=True
    ).stdout


def tasks_of(folder: Path, repository: str) -> Iterator[Task]:
    start = f"tasks/{repository.replace('/', '__')}-"
    names = git(folder, "ls-tree", "--name-only", "HEAD", "tasks/").decode().split()
    names = [name for name in names if name.startswith(start) and name[len(start) :].isdigit()]
    parts = ("task.yaml", "problem_statement.md", "gold.patch")
    found = blobs(folder, [f"HEAD:{name}/{part}" for name in names for part in parts])
    for name in names:
        about, request, patch = (next(found).decode("utf-8", "replace") for _ in parts)
        base = re.search(r"base_commit: '?(\w+)", about)
        assert base
        changed = tuple(re.findall(r"^--- a/(.+)$", patch, re.MULTILINE))
        yield Task(name.rpartition("/")[2], base[1], "SWE-bench_Lite" in about, request, changed)


def blobs(folder: Path, names: Sequence[str]) -> Iterator[bytes]:
    out = git(folder, "cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode())
    at = 0
    for _ in names:
        end = out.index(b"\n", at)
        _, kind, *size = out[at:end].split()
        if kind == b"missing":  # a clone may lack its largest files
            yield b""
            at = end + 1
            continue
        yield out[end + 1 : end + 1 + int(size[0])]
        at = end + int(size[0]) + 2


def files_of(folder: Path, commit: str) -> list[StateFile]:
    lines = git(folder, "ls-tree", "-r", "-z", commit).split(b"\0")[:-1]
    found = []
    for line in lines:
        about, _, path = line.partition(b"\t")
        mode, kind, oid = about.decode().split()
        if kind == "blob":
            found.append(StateFile(path.decode("utf-8", "replace"), mode, oid))
    return found


class Share:
    """How many of the tasks have all their files among the best."""

    def __init__(self) -> None:
        self.tasks = 0
        self.found: dict[tuple[str, int], int] = {}

    def add(self, ranked: dict[str, list[str]], wanted: Sequence[str]) -> None:
        self.tasks += 1
        for name, paths in ranked.items():
            for best in (1, 5, 10):
                hit = all(path in paths[:best] for path in wanted)
                self.found[name, best] = self.found.get((name, best), 0) + hit

    def percent(self, name: str, best: int) -> float:
        return 100 * self.found.get((name, best), 0) / max(self.tasks, 1)

    def line(self, name: str) -> str:
        return "  ".join(f"best {best}: {self.percent(name, best):5.1f} %" for best in (1, 5, 10))


def clone_of(mirror: Path, repository: str) -> Path | None:
    """A bare clone or one with files, named as git or a mirror would."""
    names = (repository.replace("/", "+"), repository, repository.partition("/")[2])
    for name in names:
        for end in (f"{name}/repo", f"{name}/.git", f"{name}.git", name):
            if (mirror / end / "objects").is_dir():
                return mirror / end
    return None


def clones_in(mirror: Path, names: Sequence[str], target: str) -> dict[str, Path]:
    """By name. Ends with how to get those that are missing."""
    found = {name: clone for name in names if (clone := clone_of(mirror, name))}
    if missing := [name for name in names if name not in found]:
        print(f"Whole clones are missing. Get them, then: make {target} MIRROR=FOLDER", file=sys.stderr)
        for name in missing:
            end = f"FOLDER/{name.partition('/')[2]}.git"
            print(f"  git clone --bare https://github.com/{name} {end}", file=sys.stderr)
        raise SystemExit(2)
    return found


def asked(task: Task, corpus: Corpus, weights: Weights) -> tuple[list[str], list[str]]:
    """The best files of all kinds, and the best sources."""
    paths = [found.path for found in rank(task.request, corpus, 100, weights)]
    return paths, [path for path in paths if corpus.kinds[path] is FileKind.SOURCE]


def measure(tasks: Path, clone: Path, repository: str, shares: Sequence[Share], folder: Path) -> None:
    every, lite, own = shares
    for task in tasks_of(tasks, repository):
        files = files_of(clone, task.base)
        corpus = corpus_of(
            files,
            lambda some: zip(some, blobs(clone, [file.oid for file in some]), strict=True),
            folder / repository.replace("/", "+"),
        )
        wanted = [path for path in task.changed if corpus.kinds.get(path) is FileKind.SOURCE]
        if not wanted:
            continue
        mixed, sources = asked(task, corpus, WEIGHTS)
        ranked = {"ours": mixed, "sources": sources, "plain": asked(task, corpus, PLAIN)[1]}
        for share in (every, own, *([lite] if task.lite else [])):
            share.add(ranked, wanted)


def report(name: str, share: Share) -> None:
    print(f"{name}: {share.tasks} tasks")
    print(f"  ours, of all files    {share.line('ours')}")
    print(f"  ours, of the sources  {share.line('sources')}")
    print(f"  plain BM25, sources   {share.line('plain')}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", type=Path, required=True, help="the folder with the clones")
    parser.add_argument("--repository", action="append", help="another one, as owner/name; repeatable")
    chosen = parser.parse_args()
    repositories = chosen.repository or REPOSITORIES
    clones = clones_in(chosen.mirror, (TASKS, *repositories), "bench-context")
    every, lite = Share(), Share()
    with tempfile.TemporaryDirectory(prefix="ringi-bench-") as folder:
        for name in repositories:
            own = Share()
            measure(clones[TASKS], clones[name], name, (every, lite, own), Path(folder))
            report(name, own)
    report("all", every)
    report("Lite", lite)
    goals = (("all, best 5", every, 5, 72), ("all, best 10", every, 10, 82), ("Lite, best 5", lite, 5, 78))
    missed = 0
    for label, share, best, goal in goals if not chosen.repository else ():
        value = share.percent("ours", best)
        missed += value < goal
        mark = "✓" if value >= goal else "✗"
        print(f"{mark} every changed source file, {label}: {value:.1f} % (goal ≥ {goal})")
    return 1 if missed else 0


class Project(Package):
    """The generated package, indexed; grimp builds its graph of the same."""

    def corpus(self, cache: Path) -> Corpus:
        files = [StateFile(path, "100644", oid) for path, oid in self.oids.items()]
        return corpus_of(files, lambda some: ((file, self.read(file.path)) for file in some), cache)


def figures() -> Iterator[Figure]:
    with Project.importable() as (project, folder):
        yield from project.compared(f"index of {MODULES} files", project.corpus, folder, cold=12, warm=1)
        yield _request(project, folder / "ours")


def _request(project: Project, cache: Path) -> Figure:
    chance = random.Random(2)
    for number in range(MANY_FILES - len(project.paths)):
        path = f"{PACKAGE}/more{number}.py"
        (project.root / path).write_text(module_source(number, chance))
        project.oids[path] = project.oid(path)
    project.corpus(cache)
    (taken,) = take_turns(5, lambda: rank(REQUEST, project.corpus(cache)))
    return Figure(f"a request about {MANY_FILES:,} files that are known", taken, 1, unit=" s")


if __name__ == "__main__":
    raise SystemExit(main())
