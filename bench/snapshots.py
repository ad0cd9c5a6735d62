"""How long a snapshot takes where nothing changed, beside git's own status of the same tree."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.measure import QUICK, Figure, command, ratio, settle, take_turns
from ringi.tree.snapshot import Snapshots

GOALS = {20: 2.5, 40: 1.5} if QUICK else {7_000: 2.5, 50_000: 1.5}
ROUNDS = 15
_FOLDERS = 500
_LINE = "{number} is the number of this file, and this line is repeated\n"


@contextmanager
def repository(files: int) -> Iterator[tuple[Path, Path, dict[str, str]]]:
    """A repository with one commit, a state folder for it, and the environment git runs in."""
    with tempfile.TemporaryDirectory(prefix="ringi-bench-") as folder:
        root = Path(folder, "project")
        for number in range(files):
            place = root / f"p{number % 20}" / f"q{number % _FOLDERS}"
            if number < _FOLDERS:
                place.mkdir(parents=True)
            (place / f"f{number}.py").write_text((_LINE.format(number=number) * 20)[:1000])
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "HOME": folder,
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "gc.auto", "GIT_CONFIG_VALUE_0": "0",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "bench", "GIT_AUTHOR_EMAIL": "bench@example.invalid",
            "GIT_COMMITTER_NAME": "bench", "GIT_COMMITTER_EMAIL": "bench@example.invalid",
        }  # fmt: skip
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"], ["gc", "-q"]):
            subprocess.run(["git", *words], cwd=root, env=environment, check=True)
        yield root, Path(folder, "state"), environment


def figures() -> Iterator[Figure]:
    for files, goal in GOALS.items():
        with repository(files) as (root, state, environment):
            settle()
            jobs = [
                lambda root=root, state=state: Snapshots(state, root).take(),
                command(["git", "status", "--porcelain"], cwd=root, env=environment),
            ]
            take_turns(3, *jobs)
            yield ratio(f"a warm snapshot of {files:,} files ÷ git status", take_turns(ROUNDS, *jobs), goal)
