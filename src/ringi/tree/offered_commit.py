"""A commit of what a plan would write, made before anybody approved it: to be reviewed elsewhere.

It is an object and nothing more: no ref, index or file changes, no hook and no filter runs, nothing is
signed. The same order gives the same commit.
"""

import os
import re
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import FilterNeeded, NoCommit
from ringi.kernel.process.git import NO_FETCH, join_names
from ringi.kernel.text import Text
from ringi.tree.personal_git import GitFailed, PersonalGit

_QUIETLY: Final = ("-c", f"core.hooksPath={os.devnull}")
_FILTERS: Final = r"^filter\..*\.(clean|process)$"
_NAME: Final = re.compile(r"filter\.(.*)\.(?:clean|process)", re.DOTALL)


class OfferedFile(NamedTuple):
    data: bytes
    executable: bool


class OfferOrder(NamedTuple):
    parent: str
    message: str  # the whole
    files: Mapping[str, OfferedFile | None]
    """As they would be in the workspace; None: deleted."""
    at: str
    """Its date, so that the same order gives the same commit."""


class GitOffers:
    """`root` is the folder of a run's branch."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self._git = PersonalGit(Path(os.path.realpath(root)), environment)

    def make(self, order: OfferOrder, known: str = "") -> str:
        """`known` itself if it is a commit of this tree, parent and message, whoever made it and when.

        Raises NoCommit if git cannot make it, or only with a filter.
        """
        with tempfile.TemporaryDirectory(prefix="ringi-offer-") as folder:
            try:
                tree = _tree(self._git, Path(folder), order)
                if known and self._is(known, tree, order):
                    return known
                return _commit(self._git, tree, order)
            except (GitFailed, OSError) as error:
                raise NoCommit(why=str(error)) from None

    def _is(self, commit: str, tree: str, order: OfferOrder) -> bool:
        if self._git.line("cat-file", "-t", commit) != "commit":
            return False
        head, _, message = self._git.look("cat-file", "commit", commit).partition(b"\n\n")
        lines = [line for line in head.split(b"\n") if line.startswith((b"tree ", b"parent "))]
        parents = [f"parent {order.parent}".encode()] if order.parent else []
        return lines == [f"tree {tree}".encode(), *parents] and message == order.message.encode()


def _tree(git: PersonalGit, folder: Path, order: OfferOrder) -> str:
    """Only files that change are laid out: git takes the attributes of the others from the index."""
    top = folder / "tree"
    top.mkdir()
    variables = {"GIT_INDEX_FILE": str(folder / "index"), "GIT_WORK_TREE": str(top), **NO_FETCH}

    def run(*words: str, stdin: bytes = b"") -> bytes:
        return git.work(*_QUIETLY, *words, stdin=stdin, **variables)

    run("read-tree", order.parent or "--empty")
    gone = [os.fsencode(path) for path, data in order.files.items() if data is None]
    run("update-index", "-z", "--force-remove", "--stdin", stdin=join_names(gone))
    for path, file in order.files.items():
        if file is not None:
            place = top / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.data)
            place.chmod(0o700 if file.executable else 0o600)
    there = [os.fsencode(path) for path, data in order.files.items() if data is not None]
    _require_unfiltered(git, there, variables)
    run("update-index", "--add", "--replace", "-z", "--stdin", stdin=join_names(there))
    return run("write-tree").decode().strip()


def _require_unfiltered(git: PersonalGit, names: list[bytes], variables: Mapping[str, str]) -> None:
    """A filter is a program, and nobody has approved the bytes that it would get."""
    settings = os.fsdecode(git.look("config", "-z", "--name-only", "--get-regexp", _FILTERS, fine=(0, 1)))
    known = {found[1] for name in settings.split("\0") if (found := _NAME.fullmatch(name))}
    if not known or not names:
        return
    said = git.work("check-attr", "-z", "--stdin", "filter", stdin=join_names(names), **variables)
    fields = [os.fsdecode(field) for field in said.split(b"\0")]
    for path, value in zip(fields[::3], fields[2::3], strict=False):
        if value in known:
            why = Text("{path} goes through the filter {name}, a program that runs only after an approval",
                       path=path, name=value)  # fmt: skip
            raise FilterNeeded(why=why)


def _commit(git: PersonalGit, tree: str, order: OfferOrder) -> str:
    at = f"@{int(datetime.fromisoformat(order.at).timestamp())} +0000"
    parents = ("-p", order.parent) if order.parent else ()
    words = ("-c", "i18n.commitEncoding=UTF-8", "commit-tree", "--no-gpg-sign", tree, *parents)
    dates = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
    return git.work(*_QUIETLY, *words, stdin=order.message.encode(), **dates).decode().strip()
