"""What is left of damaged notes: the newest commit that is whole, and lines elsewhere that can be read.

Elsewhere is in damaged commits, and in trees whose commit is lost: git writes the tree first.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ringi.approvals.statement import NOTES, parse_envelope
from ringi.errors import BadDocument, NewerVersion
from ringi.kernel.process.git import Git, names_in, read_available
from ringi.kernel.process.ref_files import earlier_values, is_named, read_packed_ref, read_ref
from ringi.kernel.process.refs import commit_at, is_whole, loose_objects, read_loose
from ringi.kernel.process.repository import Repository
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
_NAME: Final = re.compile(rb"[0-9a-f]{2}|[0-9a-f]{40}|[0-9a-f]{64}")


class Remains(NamedTuple):
    base: str
    """The newest commit that is whole; empty if there is none."""
    lines: dict[str, list[bytes]]
    """By blob, what the commit may lack."""
    lost: frozenset[str]
    """The blobs whose newest note is known to have been there, and cannot be read."""
    is_whole: bool
    """False if there may have been more notes; how many is unknown."""


class NotesRemains:
    def __init__(self, git: Git, repository: Repository) -> None:
        self._git = git
        self._repository = repository
        self._lost: set[str] = set()
        self._is_whole = True
        self._trees: set[str] = set()
        """Those of all commits that can be read."""

    def list_own_values(self) -> list[str]:
        """Commits that the notes were at, the newest first."""
        own = [read_ref(self._repository, NOTES).value, *earlier_values(self._repository, NOTES)]
        return list(dict.fromkeys(filter(None, [*own, read_packed_ref(self._repository, NOTES)])))

    def _list_fetched(self) -> list[str]:
        """Commits of notes that were fetched from elsewhere."""
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

    def collect(self, values: Sequence[str]) -> Remains:
        # Unnamed ones even if a named one is whole: a log that lost its end names only earlier commits.
        whole, torn = self._sort_commits([*values, *self._list_fetched(), *self._list_unnamed()])
        base = whole[0] if whole else ""
        lines: dict[str, list[bytes]] = {}
        own = {entry for commit in [*torn, *whole] for entry in self._entries(commit)}
        left = [tree for tree in self._list_orphans() if self._is_ours(tree, own)]
        if values and values[0] not in {*whole, *torn} and not left:
            self._is_whole = False
        for tree in [*left, *torn, *whole[1:]]:
            for blob, found in self._lines_of(tree):
                known = lines.setdefault(blob, [])
                known += (line for line in found if line not in known)
        return Remains(base, lines, frozenset(self._lost - lines.keys()), self._is_whole)

    def _list_orphans(self) -> Iterator[str]:
        """Trees in the form of notes whose commit is lost. Only loose ones: a pack has the commit too."""
        for path in loose_objects(self._repository):
            oid = path.parent.name + path.name
            data = read_loose(path) if oid not in self._trees else b""
            if data.startswith(b"tree ") and is_named(data, oid) and _has_form_of_notes(data, len(oid) // 2):
                yield oid

    def _is_ours(self, tree: str, own: set[tuple[str, str]]) -> bool:
        """Git may keep other notes in the same form. Ours have a note that was there before, or a proof."""
        entries = set(self._entries(tree))
        if entries & own:
            return True
        notes = read_available(self._git, [oid for _, oid in entries], MOST_NOTE)
        return any(_is_proof(line) for note in notes if note for line in note[1].split(b"\n"))

    def _sort_commits(self, values: Sequence[str]) -> tuple[list[str], list[str]]:
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

    def _list_unnamed(self) -> list[str]:
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
            self._trees.add(head[5:].partition(b"\n")[0].decode("ascii", "replace"))
            if message.startswith(_OURS):
                ours.add(oid)
            elif message.startswith(_OF_GIT):
                of_git[oid] = _parents_in(head)
            else:
                continue
            when = re.search(rb"^committer .* (\d+) [+-]\d+$", head, re.MULTILINE)
            found.append((int(when[1]) if when else 0, oid))
        ours |= _find_built_on(ours, of_git)
        return [oid for _, oid in sorted(found, reverse=True) if oid in ours]

    def _lines_of(self, commit: str) -> Iterator[tuple[str, list[bytes]]]:
        """As far as they can be read; what cannot is lost, unless a newer commit has it."""
        on: dict[str, list[str]] = {}
        for name, oid in self._entries(commit):
            on.setdefault(oid, []).append(name)
        for oid, one in zip(on, read_available(self._git, [*on], MOST_NOTE), strict=True):
            if one is not None and one[0] == b"blob":
                lines = [line for line in one[1].split(b"\n") if line]
                yield from ((blob, lines) for blob in on[oid])
            else:
                self._lost.update(on[oid])

    def _entries(self, tree: str, above: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
        """The blobs that notes hang on, and the ids of the notes."""
        finished = self._git.attempt("ls-tree", "-z", "--full-tree", tree)
        self._is_whole &= not finished.code
        for line in names_in(finished.out) if depth < _DEPTH else ():
            facts, _, path = line.decode("ascii", "replace").partition("\t")
            _, kind, oid = facts.split(" ")
            if kind == "tree":
                yield from self._entries(oid, above + path, depth + 1)
            elif OBJECT_ID.fullmatch(above + path):
                yield above + path, oid


def _parents_in(head: bytes) -> list[str]:
    return [line[7:].decode("ascii", "replace") for line in head.split(b"\n") if line.startswith(b"parent ")]


def _has_form_of_notes(data: bytes, width: int) -> bool:
    """Whether its names are those of blobs, or begin them."""
    names, at = list[bytes](), data.index(b"\0") + 1
    while (end := data.find(b"\0", at)) >= 0:
        names.append(data[at:end].partition(b" ")[2])
        at = end + 1 + width
    return bool(names) and all(_NAME.fullmatch(name) for name in names)


def _is_proof(line: bytes) -> bool:
    try:
        parse_envelope(line)
    except (BadDocument, NewerVersion):
        return False
    return True


def _find_built_on(ours: set[str], parents: Mapping[str, Sequence[str]]) -> set[str]:
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
