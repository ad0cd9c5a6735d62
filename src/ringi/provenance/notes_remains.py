"""What is left of damaged notes: the newest commit that is whole, and lines in others that can be read."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ringi.kernel.process.git import Git, Repository, names_in, read_available
from ringi.kernel.process.refs import commit_at, earlier_values, is_whole, packed_value, read_ref
from ringi.provenance.document import NOTES
from ringi.provenance.history import MOST_NOTE, OBJECT_ID

ADDED: Final = b"Add the proof of an approval\n"
REBUILT: Final = b"Rebuild the notes\n"
# Those of a merge are git's own.
_OURS: Final = (ADDED, REBUILT, b"notes: Merged")
# What `git notes` writes, whatever the ref: ours only if it was built on a commit of ours.
_OF_GIT: Final = (b"Notes added by 'git notes", b"Notes removed by 'git notes")
_MOST_COMMITS: Final = 200
_MOST_COMMIT: Final = 1 << 20
_DEPTH: Final = 20


class NotesRemains:
    def __init__(self, git: Git, repository: Repository) -> None:
        self._git = git
        self._repository = repository

    def own_values(self) -> list[str]:
        """Commits that the notes were at, the newest first."""
        own = [read_ref(self._repository, NOTES).value, *earlier_values(self._repository, NOTES)]
        return list(dict.fromkeys(filter(None, [*own, packed_value(self._repository, NOTES)])))

    def _fetched_values(self) -> list[str]:
        """Commits of notes that somebody fetched from elsewhere."""
        words = (
            "for-each-ref",
            "--format=%(refname) %(objectname)",
            "refs/notes",
            "refs/remotes",
            "refs/ringi",
        )
        pairs = (line.split(" ") for line in os.fsdecode(self._git.attempt(*words).out).splitlines())
        name = NOTES.rpartition("/")[2]
        return [value for ref, value in pairs if ref.endswith(f"/{name}") and "notes" in ref and ref != NOTES]

    def readable(self, values: Sequence[str]) -> tuple[str, dict[str, list[bytes]]]:
        """The newest commit that is whole, and the lines of others that it may lack."""
        # Unnamed ones even if a named one is whole: a log that lost its end names only earlier commits.
        whole, torn = self._sorted_out([*values, *self._fetched_values(), *self._unnamed()])
        base = whole[0] if whole else ""
        lines: dict[str, list[bytes]] = {}
        for commit in [*torn, *whole[1:]]:
            for blob, found in self._lines_of(commit):
                known = lines.setdefault(blob, [])
                known += (line for line in found if line not in known)
        return base, lines

    def _sorted_out(self, values: Sequence[str]) -> tuple[list[str], list[str]]:
        """Whole ones, without those that are in the history of another; and damaged ones."""
        whole, torn, waiting, seen = list[str](), list[str](), [*values], set[str]()
        while waiting and len(seen) < _MOST_COMMITS:
            value = waiting.pop(0)
            if value in seen:
                continue
            seen.add(value)
            if not commit_at(self._git, value):
                continue
            if is_whole(self._git, value):
                if not any(self._is_before(value, other) for other in whole):
                    whole.append(value)
                continue
            torn.append(value)
            waiting += self._parents(value)
        return whole, torn

    def _is_before(self, old: str, new: str) -> bool:
        return not self._git.attempt("merge-base", "--is-ancestor", old, new).code

    def _parents(self, commit: str) -> list[str]:
        [found] = read_available(self._git, [commit], _MOST_COMMIT)
        return _parents_in(found[1].partition(b"\n\n")[0] if found else b"")

    def _unnamed(self) -> list[str]:
        """Commits of notes that no ref and no log names, the newest first."""
        words = (
            "cat-file",
            "--batch-all-objects",
            "--unordered",
            "--batch-check=%(objectname) %(objecttype)",
        )
        said = self._git.attempt(*words).out.decode("ascii", "replace").splitlines()
        ids = [line.partition(" ")[0] for line in said if line.endswith(" commit")]
        found = list[tuple[int, str]]()
        ours, of_git = set[str](), dict[str, list[str]]()
        for oid, one in zip(ids, read_available(self._git, ids, _MOST_COMMIT), strict=True):
            head, _, message = one[1].partition(b"\n\n") if one else (b"", b"", b"")
            if message.startswith(_OURS):
                ours.add(oid)
            elif message.startswith(_OF_GIT):
                of_git[oid] = _parents_in(head)
            else:
                continue
            when = re.search(rb"^committer .* (\d+) [+-]\d+$", head, re.MULTILINE)
            found.append((int(when[1]) if when else 0, oid))
        ours |= _built_on(ours, of_git)
        return [oid for _, oid in sorted(found, reverse=True) if oid in ours]

    def _lines_of(self, commit: str) -> Iterator[tuple[str, list[bytes]]]:
        """As far as they can be read."""
        on: dict[str, list[str]] = {}
        for name, oid in self._entries(commit, ""):
            if OBJECT_ID.fullmatch(name):
                on.setdefault(oid, []).append(name)
        for oid, one in zip(on, read_available(self._git, [*on], MOST_NOTE), strict=True):
            if one is not None and one[0] == b"blob":
                lines = [line for line in one[1].split(b"\n") if line]
                yield from ((blob, lines) for blob in on[oid])

    def _entries(self, tree: str, above: str, depth: int = 0) -> Iterator[tuple[str, str]]:
        finished = self._git.attempt("ls-tree", "-z", "--full-tree", tree)
        for line in names_in(finished.out) if depth < _DEPTH else ():
            facts, _, path = line.decode("ascii", "replace").partition("\t")
            _, kind, oid = facts.split(" ")
            if kind == "tree":
                yield from self._entries(oid, above + path, depth + 1)
            else:
                yield above + path, oid


def _parents_in(head: bytes) -> list[str]:
    return [line[7:].decode("ascii", "replace") for line in head.split(b"\n") if line.startswith(b"parent ")]


def _built_on(ours: set[str], parents: Mapping[str, Sequence[str]]) -> set[str]:
    """Those of `parents` that have one of `ours` in their history."""
    children: dict[str, list[str]] = {}
    for child, above in parents.items():
        for parent in above:
            children.setdefault(parent, []).append(child)
    found, waiting = set[str](), [*ours]
    while waiting:
        new = [child for child in children.get(waiting.pop(), ()) if child not in found]
        found.update(new)
        waiting += new
    return found
