"""The promises about patches: each against git or difflib, on the same files, in turns."""

import difflib
import os
import random
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.measure import Figure, command, ratio, size, take_turns
from ringi.patch.apply import apply_patch
from ringi.patch.merge import merge
from ringi.patch.render import FileDelta, FileSide, render_patch

MODE = "100644"
Read = Callable[[str], bytes | None]


def figures() -> Iterator[Figure]:
    yield from dry_runs()
    yield from renderings()
    yield from merges()


def dry_runs() -> Iterator[Figure]:
    """Read and applied in process, against `git apply --check`; both read the patch and every file."""
    for name, rounds, files, patch in (
        ("a patch of 1 KB", 60, *small(1)),
        ("a patch of 8 KB in 5 files", 60, *small(5)),
        ("a patch of 50 MB, one new file", 3, *one_new_file(size(1_100_000, 1_000))),
        ("a patch of 20 MB in 1,000 files", 3, *many_files(size(1000, 3), 600)),
        ("100,000 hunks in 1,000 files", 3, *many_files(size(1000, 3), 100, hunks=True)),
        ("10,000 hunks in one file", 1, *one_file(size(10_000, 20))),
    ):
        with laid_out(files, patch) as (root, read):
            jobs = [
                lambda read=read: apply_patch(read("../patch") or b"", read),
                command(["git", "apply", "--check", "../patch"], cwd=root),
            ]
            if rounds > 5:
                take_turns(5, *jobs)
            tiny = len(patch) < 10_000
            yield ratio(
                f"dry run of {name} ÷ git apply --check",
                take_turns(rounds, *jobs),
                0.15 if tiny else 2,
                0.1 if tiny else None,
            )


def renderings() -> Iterator[Figure]:
    for count, rounds, goal in ((size(10_000, 500), 9, 0.25), (size(50_000, 1_000), 1, 0.1)):
        dice = random.Random(count)
        old = [
            b"line %d of some text\n" % dice.randrange(3 * count) if at % 4 else b"\n" for at in range(count)
        ]
        new = list(old)
        for at in dice.sample(range(count), count // 100):
            new[at] = b"changed %d\n" % at
        changed = FileDelta("f", FileSide(b"".join(old), MODE), FileSide(b"".join(new), MODE))
        texts = [line.decode() for line in old], [line.decode() for line in new]
        jobs = [
            lambda changed=changed: render_patch([changed]),
            lambda texts=texts: list(difflib.unified_diff(*texts)),
        ]
        yield ratio(f"render_patch of {count:,} lines, 1% changed ÷ difflib", take_turns(rounds, *jobs), goal)


def merges() -> Iterator[Figure]:
    """Merged in process, against `git merge-file`; both read the three files."""
    count = size(10_000, 1_000)
    dice = random.Random(count)
    base = [b"line %d of some text\n" % dice.randrange(3 * count) if at % 4 else b"\n" for at in range(count)]
    versions = {
        "base": base,
        "ours": edited(base, [at + dice.randrange(40) for at in range(0, count, 100)]),
        "theirs": edited(base, [at + dice.randrange(40) for at in range(50, count, 100)]),
    }
    with tempfile.TemporaryDirectory(prefix="ringi-bench-") as folder:
        places = [Path(folder, name) for name in versions]
        for place in places:
            place.write_bytes(b"".join(versions[place.name]))
        jobs = [
            lambda: merge(*(place.read_bytes() for place in places)),
            command(["git", "merge-file", "-p", "ours", "base", "theirs"], cwd=folder),
        ]
        take_turns(3, *jobs)
        name = f"a merge of {count:,} lines, 1% changed on each side ÷ git merge-file"
        yield ratio(name, take_turns(25, *jobs), 1.5)


def edited(lines: list[bytes], places: list[int]) -> list[bytes]:
    """Of four lines two changed, one deleted, one put before another."""
    result = list(lines)
    for at in reversed(places):
        new = b"edited %d\n" % at
        result[at : at + 1] = ([new], [new], [], [new, lines[at]])[at % 4]
    return result


@contextmanager
def laid_out(files: dict[str, bytes], patch: bytes) -> Iterator[tuple[Path, Read]]:
    with tempfile.TemporaryDirectory(prefix="ringi-bench-") as folder:
        root = Path(folder, "project")
        root.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        for name, data in files.items():
            (root / name).write_bytes(data)
        Path(folder, "patch").write_bytes(patch)

        # Like git, from the folder of the project and not from the root of the disk.
        folder_descriptor = os.open(root, os.O_RDONLY)

        def read(path: str) -> bytes | None:
            try:
                descriptor = os.open(path, os.O_RDONLY, dir_fd=folder_descriptor)
            except FileNotFoundError:
                return None
            try:
                return os.read(descriptor, os.fstat(descriptor).st_size)
            finally:
                os.close(descriptor)

        try:
            yield root, read
        finally:
            os.close(folder_descriptor)


def source(lines: int, seed: int) -> list[bytes]:
    return [b"    value_%d = compute(%d, other=%d)\n" % (at, seed, at * seed) for at in range(lines)]


def small(count: int) -> tuple[dict[str, bytes], bytes]:
    """As people change code: in each file a line, a block and some lines more."""
    files, changes = {}, []
    for number in range(count):
        old = source(300, number + 1)
        block = [b"    rewritten_%d = %d\n" % (at, number) for at in range(8)]
        new = [*old[:20], *block[:1], *old[21:90], *block, *old[98:150], *block[:5], *old[150:]]
        name = f"module_{number}.py"
        files[name] = b"".join(old)
        changes.append(FileDelta(name, FileSide(b"".join(old), MODE), FileSide(b"".join(new), MODE)))
    return files, render_patch(changes)


def one_new_file(lines: int) -> tuple[dict[str, bytes], bytes]:
    text = b"".join(source(lines, 7))
    return {}, render_patch([FileDelta("new.py", None, FileSide(text, MODE))])


def many_files(count: int, lines: int, *, hunks: bool = False) -> tuple[dict[str, bytes], bytes]:
    """Half of every file rewritten in blocks, or one line in ten changed, each a hunk of its own."""
    files, pieces = {}, []
    for number in range(count):
        name = f"module_{number}.py"
        if hunks:
            old = source(lines * 10, number + 1)
            pieces.append(dense(name, old))
        else:
            old = source(lines, number + 1)
            new = [b"    rewritten = %d\n" % at if at // 20 % 2 else line for at, line in enumerate(old)]
            pieces.append(
                render_patch([FileDelta(name, FileSide(b"".join(old), MODE), FileSide(b"".join(new), MODE))])
            )
        files[name] = b"".join(old)
    return files, b"".join(pieces)


def one_file(hunks: int) -> tuple[dict[str, bytes], bytes]:
    lines = source(hunks * 10, 3)
    return {"module.py": b"".join(lines)}, dense("module.py", lines)


def dense(name: str, lines: list[bytes]) -> bytes:
    """A hunk of seven lines in every ten."""
    head = b"diff --git a/%s b/%s\n--- a/%s\n+++ b/%s\n" % ((name.encode(),) * 4)
    hunks = (
        b"@@ -%d,7 +%d,7 @@\n %s %s %s-%s+    changed = True\n %s %s %s"
        % (at + 1, at + 1, *lines[at : at + 7])
        for at in range(0, len(lines), 10)
    )
    return head + b"".join(hunks)
