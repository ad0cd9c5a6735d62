"""Applies every commit of a repository with our own code and compares each byte with what git stored.

    python tools/history.py REPOSITORY [--limit N]

Forward from the first parent to the commit, and reversed from the commit to the parent.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from ringi.errors import RingiError
from ringi.patch.apply import FileOutcome, apply_patch, outcome
from ringi.patch.parse import parse_patch
from ringi.patch.patch import FilePatch, Patch, PatchKind, dump
from ringi.patch.rework import reverse

# No message: a commit is told by a line that no patch can hold where it stands.
_FORMAT: Final = "--format=%x01%H"
_FILE: Final = re.compile(rb"^(?=diff --git )", re.MULTILINE)
_NOT_TEXT: Final = re.compile(rb"^(?:Binary files .* differ|GIT binary patch)$", re.MULTILINE)
# Links and submodules hold no text of their own.
_NOT_A_FILE: Final = re.compile(
    rb"^(?:(?:new|deleted) file mode|old mode|new mode|index [0-9a-f.]+) 1[26]0000$", re.MULTILINE
)


class Differs(Exception):
    """Our result is not what git stored."""


@dataclass
class Counts:
    commits: int = 0
    files: int = 0
    hunks: int = 0
    binary: int = 0
    links: int = 0
    kinds: dict[str, int] = field(default_factory=lambda: dict.fromkeys(map(str, PatchKind), 0))

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.items())
        return (
            f"{self.commits} commits, {self.files} files ({kinds}), {self.hunks} hunks; "
            f"left out: {self.binary} binary files, {self.links} links and submodules"
        )


class Blobs:
    """Contents by object name, from one running git."""

    def __init__(self, repository: Path) -> None:
        self._git = subprocess.Popen(
            ["git", "cat-file", "--batch"], cwd=repository, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def close(self) -> None:
        self._git.communicate()

    def read(self, name: bytes) -> bytes:
        if not name.strip(b"0"):
            return b""
        asked, answers = self._git.stdin, self._git.stdout
        asked.write(name + b"\n")
        asked.flush()
        words = answers.readline().split()
        if words[-2:-1] != [b"blob"]:
            raise Differs(f"git has no content {name.decode('utf-8', 'backslashreplace')}")
        data = answers.read(int(words[-1]))
        answers.read(1)
        return data


def commits(repository: Path, limit: int | None) -> Iterator[tuple[str, bytes]]:
    """Each commit with its difference to its first parent, as it streams in."""
    command = [
        "git", "-c", "core.quotePath=true", "log", "-p", "-m", "--first-parent", "-M", "-C", "--full-index",
        "--no-ext-diff", "--no-textconv", "--no-color", "--root", _FORMAT,
    ]  # fmt: skip
    # All of the history, not the first parents alone: each of its commits is asked for by name.
    names = subprocess.run(
        ["git", "rev-list", "--all", *([f"--max-count={limit}"] if limit else [])],
        cwd=repository, check=True, capture_output=True,
    ).stdout  # fmt: skip
    command += ["--no-walk=unsorted", "--stdin"]
    with subprocess.Popen(command, cwd=repository, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as git:
        # git reads all names before it writes.
        git.stdin.write(names)
        git.stdin.close()
        yield from _split(git.stdout)
    if git.returncode:
        raise Differs(f"git log ended with {git.returncode}")


def _split(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    name, lines = "", []
    for line in stream:
        if line.startswith(b"\x01"):
            if name:
                yield name, b"".join(lines)
            name, lines = line[1:].decode().strip(), []
        else:
            lines.append(line)
    if name:
        yield name, b"".join(lines)


def check(commit: str, patch: bytes, blobs: Blobs, counts: Counts) -> None:
    kept = []
    for piece in _FILE.split(patch)[1:]:
        header = piece.partition(b"\n@@ ")[0]
        if _NOT_A_FILE.search(header):
            counts.links += 1
        elif _NOT_TEXT.search(header):
            counts.binary += 1
        else:
            kept.append(piece)
    text = b"".join(kept)
    if not text.strip():
        return
    parsed = parse_patch(text)
    before, after = contents(commit, parsed, blobs)
    compare(outcome(parsed, before.get), after)
    for path, data in apply_patch(text, before.get).items():
        if after.get(path) != data:
            raise Differs(f"{path} has other bytes")
    back = reverse(parsed, after.get)
    compare(outcome(back, after.get), before)
    if dump(parsed) != text.rstrip(b"\n") + b"\n":
        raise Differs("written out again it is another patch")
    if outcome(parse_patch(dump(back)), after.get) != outcome(back, after.get):
        raise Differs("turned round, written out and read again it says something else")
    count(parsed, counts)


def contents(commit: str, patch: Patch, blobs: Blobs) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """What git stored for the files of the patch, before and after."""
    before: dict[str, bytes] = {}
    after: dict[str, bytes] = {}
    for file in patch.files:
        old, new = names(file)
        if file.old_path is not None:
            before[file.old_path] = blobs.read(old or _place(f"{commit}^", file.old_path))
        if file.new_path is not None:
            after[file.new_path] = blobs.read(new or _place(commit, file.new_path))
    return before, after


def _place(commit: str, path: str) -> bytes:
    return f"{commit}:{path}".encode("utf-8", "surrogateescape")


def names(file: FilePatch) -> tuple[bytes, bytes]:
    """Object names; none where only name or mode changed, and git does not say them."""
    old, _, rest = file.blobs.partition(b"..")
    return old, rest.partition(b" ")[0]


def compare(results: list[FileOutcome], expected: dict[str, bytes]) -> None:
    for file in results:
        wanted = None if file.kind is PatchKind.DELETED else expected[file.path]
        if file.after != wanted:
            raise Differs(f"{file.path} has other bytes")


def count(patch: Patch, counts: Counts) -> None:
    counts.files += len(patch.files)
    counts.hunks += sum(len(file.hunks) for file in patch.files)
    for file in patch.files:
        counts.kinds[str(file.kind)] += 1


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", type=Path)
    parser.add_argument("--limit", type=int, help="so many commits, the newest first")
    options = parser.parse_args(arguments)
    counts = Counts()
    name = "before the first commit"
    try:
        with closing(Blobs(options.repository)) as blobs:
            for name, patch in commits(options.repository, options.limit):
                check(name, patch, blobs, counts)
                counts.commits += 1
    except (Differs, RingiError) as error:
        print(f"{name}: {error}\nuntil then {counts}", file=sys.stderr)
        return 1
    print(counts)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
