"""Reading what a private git directory holds: the files of a tree, and their bytes."""

from collections.abc import Iterator, Sequence
from typing import IO, Final, NamedTuple

from ringi.errors import CopyFailed
from ringi.text import Text
from ringi.workspace.git import Git

# So few that all their names fit into a pipe: nobody waits for anybody.
_AT_ONCE: Final = 256


class TreeFile(NamedTuple):
    path: bytes
    mode: str
    oid: str


def tree_files(git: Git, tree: str, *paths: str) -> Iterator[TreeFile]:
    """Every file of the tree, or those at or below the paths."""
    for line in git.run("ls-tree", "-r", "-z", "--full-tree", tree, "--", *paths).split(b"\0"):
        if line:
            facts, _, path = line.partition(b"\t")
            mode, _, oid = facts.decode("ascii").split(" ")
            yield TreeFile(path, mode, oid)


def read_blobs(git: Git, ids: Sequence[str]) -> Iterator[bytes]:
    """The bytes of each, in this order and one after another, however large they are together."""
    if not ids:
        return
    with git.started("cat-file", "--batch", stdin=b"") as running:
        questions, answers = running.pipes()
        for start in range(0, len(ids), _AT_ONCE):
            some = ids[start : start + _AT_ONCE]
            try:
                questions.write("".join(f"{oid}\n" for oid in some).encode())
                questions.flush()
            except BrokenPipeError:
                raise _missing(some[0]) from None
            for oid in some:
                yield _answer(answers, oid)


def _answer(answers: IO[bytes], oid: str) -> bytes:
    _, kind, *size = answers.readline().split() or (b"", b"")
    if kind != b"blob":  # pruned from the repository that lent it
        raise _missing(oid)
    data = answers.read(int(size[0]))
    if answers.read(1) != b"\n":
        raise _missing(oid)
    return data


def _missing(oid: str) -> CopyFailed:
    return CopyFailed(why=Text("the object {blob} is missing", blob=oid))
