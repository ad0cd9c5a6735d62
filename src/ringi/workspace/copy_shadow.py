"""The private git directory of a work copy: what the agent made of the files."""

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import CopyFailed
from ringi.text import Text
from ringi.workspace.copy_record import CopyRecord
from ringi.workspace.git import TIME_LIMIT, Git
from ringi.workspace.private_git import PrivateGit, Surroundings, tracked_files

ABSENT: Final = "000000"
_SECOND: Final = 1_000_000_000


def doubt(entry: "os.DirEntry[str]", laid_at: int) -> None:
    """Makes git look into a file that was written so early that its times alone would not say so."""
    found = entry.stat(follow_symlinks=False)
    later = (laid_at // _SECOND + 2) * _SECOND
    # Only times that a laid file can have: those of an unpacked archive may stay as they are.
    like_laid = laid_at - int(TIME_LIMIT) * _SECOND <= found.st_mtime_ns < later
    if like_laid and found.st_ctime_ns >= laid_at:
        with suppress(OSError):
            os.utime(entry.path, ns=(later, later), follow_symlinks=False)


class Raw(NamedTuple):
    path: bytes
    before: str
    after: str
    old_blob: str
    blob: str


class CopyShadow(PrivateGit):
    """That of the copy. The repository in the copy, which an agent may do anything to, has no part in it."""

    def __init__(self, git_dir: Path, work_tree: Path, record: CopyRecord) -> None:
        super().__init__(git_dir, work_tree)
        self._base = record.base
        self._around = Surroundings(
            object_format=record.object_format, ignorecase=record.ignorecase, precompose=record.precompose
        )

    def trust_files(self, now: Path) -> int:
        """Git need not doubt the files that were just laid, whose second is also that of its index.

        Answers with the moment, as a file made `now` has it; what is written from then on has to be told to
        git, see `doubt`.
        """
        now.touch()
        laid_at = now.stat().st_ctime_ns
        following = laid_at // _SECOND + 1
        os.utime(self.git_dir / "index", (following, following))
        return laid_at

    def guard_again(self) -> None:
        self.folder.guard(self._around)  # the agent could reach it

    def _refresh(self) -> None:
        self.guard_again()

    def _tracked(self) -> set[bytes]:
        """The files of the beginning, and what the agent has put under git."""
        found = set(self.git.run("ls-tree", "-r", "-z", "--name-only", self._base).split(b"\0")) - {b""}
        index = self.work_tree / ".git" / "index"
        if index.is_file():
            git = Git(self.git_dir, self.work_tree, index=index, time_limit=60)
            listing = git.attempt("ls-files", "-s", "-z")
            if listing.code == 0:
                found |= tracked_files(listing.out)
        return found

    def _tracked_mark(self) -> bytes:
        return secrets.token_bytes(8)  # taken once or twice: not worth remembering

    def changes(self, tree: str) -> Iterator[Raw]:
        out = self.git.run("diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev", self._base, tree)
        fields = out.split(b"\0")
        for facts, path in zip(fields[::2], fields[1::2], strict=False):
            before, after, old_blob, blob, _ = facts.decode("ascii").lstrip(":").split(" ")
            yield Raw(path, before, after, old_blob, blob)

    def blobs(self, ids: list[str]) -> dict[str, bytes]:
        wanted = "".join(f"{blob}\n" for blob in dict.fromkeys(ids))
        out = self.git.run("cat-file", "--batch", stdin=wanted.encode()) if wanted else b""
        found, at = {}, 0
        while at < len(out):
            end = out.index(b"\n", at)
            blob, _, *rest = out[at:end].decode("ascii").split(" ")
            if not rest:  # it was pruned from the repository that lent it
                raise CopyFailed(why=Text("the object {blob} is missing", blob=blob))
            size = rest[0]
            at = end + 1 + int(size) + 1
            found[blob] = out[end + 1 : at - 1]
        return found
