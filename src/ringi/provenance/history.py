"""The history and the notes of any clone, with git as it is made: no setting of the clone has a say.

Objects are read through an empty git directory of our own. So no hook, filter, attribute, replacement or
graft counts, and a partial clone fetches nothing: what is missing is missing.
"""

import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from ringi.approvals.statement import NOT_THERE, NOTES, FileAt, PathChange
from ringi.errors import (
    AmbiguousName,
    CloneDamaged,
    CloneUnreadable,
    CopyFailed,
    NoSuchCommit,
    NotesDamaged,
    NoWorkspace,
    RefDamaged,
)
from ringi.kernel.process.git import (
    ABSENT,
    Git,
    TreeFile,
    last_line,
    read_available,
    tree_changes,
    tree_files,
)
from ringi.kernel.process.ref_files import is_partial, missing, unreadable
from ringi.kernel.process.refs import commit_at, leads_astray, object_at
from ringi.kernel.process.repository import Repository, read_small, unquote
from ringi.kernel.text import Text
from ringi.provenance.ports import LineOrigin, PastCommit

MOST_NOTE: Final = 64 * 1024 * 1024
"""A larger note is no approval."""
_MOST_BLOB: Final = 256 * 1024 * 1024
# Where git keeps the objects of a push while a pre-receive hook looks at them.
_QUARANTINE: Final = ("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
_AT_ONCE: Final = 1000
_REGULAR: Final = frozenset(["100644", "100755"])
OBJECT_ID: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# These git looks up before everything that a push could add.
_WHOLE: Final = re.compile(r"(?:HEAD|@|refs/.*|[0-9a-f]{40}|[0-9a-f]{64})(?:[~^@].*)?$", re.DOTALL)
_BEHIND: Final = re.compile(r"[~^@:]")
# In the order in which git looks.
_WHERE_REFS_ARE: Final = ("", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/")
_IS_REF: Final = re.compile(r"refs/(?!.*\.\.)[^\0]+$")
_TELLING: Final = ("-c", "core.warnAmbiguousRefs=true")
_SHARED: Final = re.compile(rb"^warning: refname .* is ambiguous", re.MULTILINE)
# Git takes only the lines right after the tree for parents.
_PLACE: Final = re.compile(rb"tree [0-9a-f]+\n(?:parent [0-9a-f]+\n)*")
_SSH: Final = b"-----BEGIN SSH SIGNATURE-----"
# A submodule is shown whatever .gitmodules says about it.
_RAW: Final = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none")


class GitHistory:
    """`notes` names the notes to read: a ref, or a commit that is about to become one.

    `quarantine` has the variables that git gives to a pre-receive hook.
    """

    def __init__(
        self, folder: Path, *, notes: str = NOTES, quarantine: Mapping[str, str] | None = None
    ) -> None:
        _, self.git_dir, self.common = clone_around(folder)
        pushed = {name: value for name, value in (quarantine or {}).items() if name in _QUARANTINE}
        self._refs = Git(self.git_dir, variables=pushed)
        self._shallow = shallow_commits(self.common)
        self._notes_at = notes
        self.unread: set[str] = set()
        self._own = Path(tempfile.mkdtemp(prefix="ringi-history-"))
        weakref.finalize(self, shutil.rmtree, self._own, ignore_errors=True)
        self._format = _rev_parse(self._refs, "--show-object-format") or "sha1"
        lay_out(self._own, self._format)
        where = {
            "GIT_OBJECT_DIRECTORY": str(self.common / "objects"),
            "GIT_SHALLOW_FILE": str(self.common / "shallow"),
            "GIT_LITERAL_PATHSPECS": "1",
        }
        self._git = Git(self._own, variables={**where, **pushed})

    def commit(self, name: str) -> str:
        # A whole clone has nothing to fetch: the name is wrong.
        lacking = NoSuchCommit(
            name=name, command="git fetch --unshallow" if self._shallow else "git log --all --oneline"
        )
        if name.startswith("-") or not name:
            raise lacking
        finished = self._refs.attempt(*_TELLING, "rev-parse", "--verify", f"{name}^{{commit}}")
        if finished.code:
            self._refuse_damaged(name)
            raise lacking
        if not _WHOLE.match(name) and _SHARED.search(finished.err):
            raise AmbiguousName(name=name)
        return finished.out.decode().strip()

    def _refuse_damaged(self, name: str) -> None:
        """If the name is that of a ref which is there. Raises RefDamaged."""
        named = _BEHIND.split(name, maxsplit=1)[0]
        if named in {"", "@", "HEAD"}:
            head = read_small(self.git_dir / "HEAD").strip()
            named = os.fsdecode(head.removeprefix(b"ref: ")) if head.startswith(b"ref: ") else ""
        for folder in _WHERE_REFS_ARE if named else ():
            ref = f"{folder}{named}"
            if _IS_REF.match(ref) and (found := self._find_damage(ref)):
                raise RefDamaged(ref=ref, why=found, log=str(self.common / "logs" / ref))

    def _find_damage(self, ref: str) -> Text | None:
        if found := unreadable(Repository(self.git_dir, self.common), ref):
            return found.why
        value = object_at(self._refs, ref)
        return missing(value) if value and not commit_at(self._refs, ref) else None

    def base_of(self, old: str, new: str) -> str:
        if not old:
            return ""
        finished = self._git.attempt("merge-base", "--all", old, new)
        if finished.code not in {0, 1}:  # 1: they have nothing in common
            raise self._unreadable(last_line(finished.err) or str(finished.code))
        found = finished.out.decode().split()
        return old if len(found) > 1 else "".join(found)

    def net(self, base: str, head: str) -> list[PathChange]:
        if base:
            found = tree_changes(self._run(*_RAW, base, head))
            return [_step(*one) for one in found]
        listed = tree_files(self._run("ls-tree", "-r", "-z", "--full-tree", head))
        return [PathChange(os.fsdecode(one.path), NOT_THERE, FileAt(one.mode, one.oid)) for one in listed]

    def roots(self, commit: str) -> frozenset[str] | None:
        found = frozenset(self._run("rev-list", "--max-parents=0", commit).decode().split())
        return None if found & self._shallow else found

    def notes(self, blobs: Collection[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for blob, data in self._read_notes(blobs):
            found[blob] = found[blob] + b"\n" + data if blob in found else data
        return found

    def all_notes(self) -> Iterator[tuple[str, bytes]]:
        return self._read_notes(self._noted)

    def commits(self, base: str, head: str) -> Iterator[PastCommit]:
        without = [f"^{base}"] if base else []
        ids = self._run("rev-list", head, *without).decode().split()
        for start in range(0, len(ids), _AT_ONCE):
            yield from self._some_commits(ids[start : start + _AT_ONCE])

    def steps_to(self, commit: str, paths: Collection[str]) -> list[PathChange]:
        found: list[PathChange] = []
        names = sorted(paths)
        for start in range(0, len(names), _AT_ONCE):
            some = ("--", *names[start : start + _AT_ONCE])
            ids = self._run("rev-list", "--full-history", commit, *some)
            changes = _parse_changes(self._run(*_RAW, "--stdin", "--root", "-m", *some, stdin=ids))
            found += (step for oid, steps in changes.items() if oid not in self._shallow for step in steps)
        return found

    def contents(self, blobs: Collection[str]) -> dict[str, bytes]:
        asked = list(blobs)
        found = zip(asked, read_available(self._git, asked, _MOST_BLOB), strict=True)
        return {blob: one[1] for blob, one in found if one and one[0] == b"blob"}

    def file(self, commit: str, path: str) -> bytes | None:
        if ".." in path.split("/"):  # git refuses to look
            return None
        listing = tree_files(self._run("ls-tree", "-z", "--full-tree", commit, "--", path))
        there = [one for one in listing if os.fsdecode(one.path) == path]
        if not there or there[0].mode not in _REGULAR:
            return None
        oid = there[0].oid
        found = self.contents([oid]).get(oid)
        if found is None:
            raise self._unreadable(Text("the contents of {path} are missing", path=path))
        return found

    def origin(self, commit: str, path: str, line: int) -> LineOrigin:
        said = self._run("blame", "--line-porcelain", f"-L{line},{line}", commit, "--", path)
        head, *rest = said.split(b"\n")
        facts = dict(one.partition(b" ")[::2] for one in rest if not one.startswith(b"\t"))
        title = facts.get(b"summary", b"").decode("utf-8", "replace")
        return LineOrigin(head.split(b" ")[0].decode(), os.fsdecode(unquote(facts[b"filename"])), title)

    def _some_commits(self, ids: Sequence[str]) -> Iterator[PastCommit]:
        asked = "".join(f"{one}\n" for one in ids).encode()
        changes = _parse_changes(self._run(*_RAW, "--stdin", "--root", "-m", stdin=asked))
        for oid, found in zip(ids, read_available(self._git, ids, _MOST_BLOB), strict=True):
            if found is None:
                raise self._unreadable(Text("commit {id} is missing or damaged", id=oid))
            # Where a shallow clone is cut off, every file looks new.
            cut = oid in self._shallow
            past = _parse_commit(oid, found[1], tuple(changes.get(oid, ())), self._format)
            yield past._replace(changes=(), parents=()) if cut else past

    @cached_property
    def _noted(self) -> dict[str, list[str]]:
        if why := self._find_damage(
            self._notes_at
        ):  # no notes and notes that cannot be read are not the same
            raise NotesDamaged(why=why)
        tip = commit_at(self._refs, self._notes_at)
        try:
            found = list_notes(self._git, tip)
        except CopyFailed:
            raise NotesDamaged(why=leads_astray(tip)) from None
        return {blob: [entry.oid for entry in entries] for blob, entries in found.items()}

    def _read_notes(self, blobs: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """An approval of many files is the same note on each, and is read once."""
        on: dict[str, list[str]] = {}
        for blob in blobs:
            for note in self._noted.get(blob, ()):
                on.setdefault(note, []).append(blob)
        for note, one in zip(on, read_available(self._git, [*on], MOST_NOTE), strict=True):
            if one is None:
                self._leave_out(note, on[note][0])
            else:
                yield from ((blob, one[1]) for blob in on[note])

    def _leave_out(self, note: str, blob: str) -> None:
        """One that is too large, or that a partial clone never got. Raises NotesDamaged for any other: it may
        take an approval back.
        """
        if not is_partial(Repository(self.git_dir, self.common)):
            size = self._git.attempt("cat-file", "-s", note).out.strip()
            if not size.isdigit() or int(size) < MOST_NOTE:
                raise NotesDamaged(why=Text("the note of {blob} cannot be read", blob=blob))
        self.unread.add(note)

    def _run(self, *words: str, stdin: bytes | None = None) -> bytes:
        try:
            return self._git.run(*words, stdin=stdin)
        except CopyFailed as error:
            raise self._unreadable(error.details["why"]) from None

    def _unreadable(self, why: object) -> CloneUnreadable:
        """A clone that is to have everything has lost something."""
        lacks = self._shallow or is_partial(Repository(self.git_dir, self.common))
        return CloneUnreadable(why=why) if lacks else CloneDamaged(why=why)


def _rev_parse(git: Git, *words: str) -> str:
    """Empty if git has no answer."""
    finished = git.attempt("rev-parse", *words)
    return "" if finished.code else finished.out.decode().strip()


def shallow_commits(common: Path) -> frozenset[str]:
    """Those whose parents the clone has left out."""
    return frozenset(read_small(common / "shallow").decode("ascii", "replace").split())


def list_notes(git: Git, tip: str, *places: str) -> dict[str, list[TreeFile]]:
    """The notes in this commit, by the object they hang on, at whatever depth of the tree.

    More than one for an object if they lie at two depths: git reads them together.
    """
    found: dict[str, list[TreeFile]] = {}
    words = ("ls-tree", "-r", "-z", "--full-tree", tip, "--", *places)
    for one in tree_files(git.run(*words)) if tip else ():
        name = one.path.replace(b"/", b"").decode("ascii", "replace")
        if OBJECT_ID.fullmatch(name) and one.mode in _REGULAR:
            found.setdefault(name, []).append(one)
    return found


class Clone(NamedTuple):
    root: Path
    """Where git works: the top of a work tree, or the git directory of a bare clone."""
    git_dir: Path
    common: Path
    """Where its objects and refs are."""


def clone_around(folder: Path) -> Clone:
    """Any owner will do. Raises NoWorkspace."""
    start = Path(os.path.realpath(folder))
    for place in (start, *start.parents):
        if found := Repository.at(place):
            return Clone(place, *found)
        if (place / "HEAD").is_file() and (place / "objects").is_dir() and (place / "refs").is_dir():
            return Clone(place, place, place)
    raise NoWorkspace(path=str(folder))


def lay_out(folder: Path, kind: str) -> None:
    """An empty git directory, for objects that are elsewhere."""
    version, extension = (1, f"[extensions]\n\tobjectformat = {kind}\n") if kind != "sha1" else (0, "")
    (folder / "refs").mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    settings = f"[core]\n\trepositoryformatversion = {version}\n\tbare = true\n{extension}"
    (folder / "config").write_text(settings, encoding="ascii")


def _step(path: bytes, before: str, after: str, old_oid: str, oid: str) -> PathChange:
    return PathChange(
        os.fsdecode(path),
        NOT_THERE if before == ABSENT else FileAt(before, old_oid),
        NOT_THERE if after == ABSENT else FileAt(after, oid),
    )


def _parse_changes(out: bytes) -> dict[str, list[PathChange]]:
    """From `diff-tree --stdin -z`: the commit, its changes against a parent, the next."""
    found: dict[str, list[PathChange]] = {}
    fields = iter(out.split(b"\0"))
    steps: list[PathChange] = []
    for field in fields:
        if field.startswith(b":"):
            before, after, old_oid, oid, _ = field[1:].decode("ascii").split(" ")
            steps.append(_step(next(fields), before, after, old_oid, oid))
        elif field:
            steps = found.setdefault(field.decode("ascii").strip(), [])
    return found


def _parse_commit(oid: str, data: bytes, changes: tuple[PathChange, ...], kind: str) -> PastCommit:
    header, gap, message = data.partition(b"\n\n")
    kept, signatures = _split_signatures(header, b"gpgsig" if kind == "sha1" else b"gpgsig-" + kind.encode())
    place = _place(header)
    # Whoever adds a line for a signature must not change what else git reads.
    whole = len(signatures) == 1 and _place(kept) == place
    signature = signatures[0] if whole and signatures[0].startswith(_SSH) else b""
    return PastCommit(
        id=oid,
        message=message.decode("utf-8", "replace"),
        changes=changes,
        payload=kept + gap + message,
        signature=signature.decode("ascii", "replace"),
        parents=tuple(word.decode() for word in place.split()[3::2]),
    )


def _place(header: bytes) -> bytes:
    """The tree and the parents, as git reads them."""
    found = _PLACE.match(header + b"\n")
    return found[0] if found else b""


def _split_signatures(header: bytes, name: bytes) -> tuple[bytes, list[bytes]]:
    """The header as it was signed, without signatures of any kind; and those with this name."""
    kept, found = list[bytes](), list[bytes]()
    inside: bytes | None = None
    for line in header.split(b"\n"):
        if inside is None or not line.startswith(b" "):
            word = line.partition(b" ")[0]
            inside = word if word.startswith(b"gpgsig") else None
            if inside == name:
                found.append(b"")
        if inside is None:
            kept.append(line)
        elif inside == name:
            found[-1] += line.partition(b" ")[2] + b"\n"
    return b"\n".join(kept), found
