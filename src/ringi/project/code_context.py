"""Reads the project to plan a change to it: from a snapshot, and only what may be sent."""

import codecs
import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from ringi.errors import PathRefused, StorageFailed, Unreadable
from ringi.kernel.codec import blob_id
from ringi.kernel.process.progress import counting
from ringi.kernel.text import Text, visible
from ringi.kernel.tokens import tokens as tokens_of
from ringi.policy.files import is_credential
from ringi.policy.globs import globs
from ringi.project.context import Gathered, ProjectFacts
from ringi.project.gather import (
    RequestedFile,
    add_named,
    compose_pages,
    context_of,
    list_found,
    project_facts,
)
from ringi.project.index import corpus_of
from ringi.project.outline import number_lines
from ringi.project.ranking import Ranked, rank
from ringi.project.source import ProjectSource
from ringi.tree.file_state import StateFile
from ringi.tree.snapshot import Snapshot, Snapshots
from ringi.tree.tree import Tree

_FILES: Final = ("100644", "100755")
_LARGEST: Final = 1024 * 1024
"""Bytes of a file that anything is shown of; a larger one is generated."""
_TEXT_SAMPLE: Final = 8000
_LIMIT: Final = 10
_SMALL: Final = 30
"""Files of a project that may be shown whole."""
_KEPT_FILES: Final = 64
_DECLARED: Final = re.compile(rb"coding[:=][ \t]*[\"']?([-\w.]+)|encoding=[\"']([-\w.]+)")
_BOMS: Final = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_DECLARED_WITHIN: Final = 400
_LISTED: Final = 20
_NAMED: Final = 3
_PART: Final = re.compile(r"(.+?)(?::|#L?)(\d{1,7})(?:-L?(\d{1,7}))?")
_EVERYTHING: Final = Text("the project is small")


class SnapshotContext:
    """What was read of the last snapshot is kept; `index` is a folder for
    what is known of contents.
    """

    def __init__(
        self,
        snapshots: Callable[[], Snapshots],
        tree: Tree,
        *,
        mask: Callable[[str], str],
        index: Path,
        tokens: int,
        never_send: Sequence[str] = (),
    ) -> None:
        self._snapshots = snapshots
        self._tree = tree
        self._mask = mask
        self._index = index
        self._tokens = tokens
        self._never_send = globs(tuple(never_send))
        self._view: _View | None = None

    def snapshot(self) -> str:
        view = self._now()
        return view.id if view.settled else ""

    def gather(
        self,
        request: str,
        *,
        tokens: int | None = None,
        limit: int | None = None,
        about: Sequence[str] = (),
    ) -> Gathered:
        view, budget = self._now(tuple(about)), self._tokens if tokens is None else tokens
        ranked = rank(request, view.corpus, _LIMIT if limit is None else limit)
        ranked = add_named(view.source, ranked, request)
        facts = replace(view.facts, found=list_found(ranked))
        if limit is None:
            # Shown because there is room, not because the request is about them.
            ranked = [*ranked, *view.rest(ranked, budget)]
        context = context_of(view.source, view.facts, request, ranked, budget)
        why = tuple(one.why for one in ranked)
        whole = view.is_shown(ranked, context.text)
        known = view.id if view.settled else ""
        return Gathered(context, facts, known, why, whole=whole, restless=view.restless)

    def read(self, paths: Sequence[str], tokens: int | None = None) -> str:
        view = self._now()
        asked: list[RequestedFile] = []
        missing: list[tuple[str, str]] = []
        for name in dict.fromkeys(paths):
            page = view.page(name)
            if page.path in view.source.kinds and view.source.read(page.path):
                asked.append(page)
            else:
                missing.append((name, view.why_not(page.path)))
        return compose_pages(view.source, asked, missing, self._tokens if tokens is None else tokens)

    def has(self, path: str, line: int = 0) -> bool:
        view = self._view or self._now()
        path = path.rstrip("/")
        if not line:
            return path in view.files or path in view.folders
        # How long a file is that is not shown is not told.
        lines = view.source.read(path) if path in view.source.kinds else ()
        return path in view.files and (not lines or line <= len(lines))

    def _now(self, about: tuple[str, ...] = ()) -> "_View":
        snapshots = self._snapshots()
        # To plan by, a mixture of several moments is better than nothing.
        snapshot, restless = snapshots.look()
        if self._view is None or self._view.id != snapshot.id or self._view.about not in {(), about}:
            self._view = _View(
                snapshots, snapshot, self._tree, self._may_send, self._mask, self._index, about
            )
        self._view.settled = not restless
        self._view.restless = (*restless, *snapshot.unreadable)[:_NAMED]
        return self._view

    def _may_send(self, path: str) -> bool:
        return not is_credential(path) and not self._never_send.match(path)


class _View:
    """One snapshot, as far as it was read."""

    def __init__(
        self,
        snapshots: Snapshots,
        snapshot: Snapshot,
        tree: Tree,
        may_send: Callable[[str], bool],
        mask: Callable[[str], str],
        index: Path,
        about: tuple[str, ...],
    ) -> None:
        self._snapshots = snapshots
        self._snapshot = snapshot
        self._tree = tree
        self._mask = mask
        self.id = snapshot.id
        self.about = about
        self.settled = True
        self.restless: tuple[str, ...] = ()
        self.files = {file.path: file for file in snapshots.files(snapshot).files}
        sent = [file for path, file in self.files.items() if file.mode in _FILES and may_send(path)]
        self.corpus = corpus_of(sent, self._contents, index, about)
        kinds = {path: self.corpus.kinds[path] for path in self.corpus.paths}
        self.source = ProjectSource(kinds, lru_cache(_KEPT_FILES)(self._lines), self.corpus.outline)

    @cached_property
    def folders(self) -> frozenset[str]:
        found: set[str] = set()
        for path in self.files:
            folder = path.rpartition("/")[0]
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(found)

    @cached_property
    def facts(self) -> ProjectFacts:
        return project_facts(self.source)

    def is_shown(self, ranked: Sequence[Ranked], text: str) -> bool:
        """Whether the text has every line of every file."""
        if len(ranked) < len(self.source.kinds):
            return False
        shown = frozenset(text.splitlines())
        return all(
            shown.issuperset(number_lines(self.source.read(path)).values()) for path in self.source.paths
        )

    def rest(self, ranked: Sequence[Ranked], budget: int) -> list[Ranked]:
        """All other files, if the project is so small that it can be shown whole."""
        if len(self.source.kinds) > _SMALL:
            return []
        texts = {path: self.source.read(path) for path in self.source.paths}
        if sum(tokens_of("\n".join(lines)) for lines in texts.values()) > budget:
            return []
        known = {one.path for one in ranked}
        rest = (path for path in texts if path not in known)
        return [Ranked(path, 0.0, self.source.kinds[path], (_EVERYTHING,)) for path in rest]

    def page(self, name: str) -> RequestedFile:
        """What is asked for: a path, or some lines of it as in app.py:10-40."""
        part = None if name in self.files else _PART.fullmatch(name)
        if part is None:
            return RequestedFile(name)
        first = max(int(part[2]), 1)
        return RequestedFile(part[1], first, max(int(part[3] or first), first))

    def why_not(self, path: str) -> str:
        """Why nothing of it is shown."""
        if path in self.source.kinds:
            return "nothing to show: it is empty, too large, or no text"
        if path in self.files:
            return "not shown: it may hold credentials, or must not be sent"
        if (folder := path.rstrip("/")) in self.folders:
            inside = [one for one in self.source.paths if one.startswith(f"{folder}/")]
            return f"a folder with {', '.join(map(visible, inside[:_LISTED]))}" + " …" * (
                len(inside) > _LISTED
            )
        return "there is no such file"

    def _contents(self, files: Sequence[StateFile]) -> Iterator[tuple[StateFile, bytes]]:
        done = 0
        with counting(Text("Reading the project"), lambda: (done, len(files))):
            for found in self._snapshots.contents(self._snapshot, files):
                yield found
                done += 1

    def _lines(self, path: str) -> tuple[str, ...]:
        data = self._data(self.files[path])
        text = decode(data) if len(data) <= _LARGEST else ""
        if "\0" in text[:_TEXT_SAMPLE]:
            return ()
        lines = self._mask(text.replace("\r\n", "\n")).split("\n")
        return tuple(visible(line) for line in (lines[:-1] if lines[-1] == "" else lines))

    def _data(self, file: StateFile) -> bytes:
        """From disk, which is faster, or from the snapshot if the file has changed since."""
        with (
            contextlib.suppress(PathRefused, StorageFailed, Unreadable, OSError),
            self._tree.open_root() as root,
        ):
            entry = self._tree.entry_of(file.path, root)
            if entry and entry.size > _LARGEST:
                return b""
            found = self._tree.look_from(root, file.path) if entry else None
            if found and blob_id(found.data, like=file.oid) == file.oid:
                return found.data
        return self._snapshots.read(self._snapshot, file.path)


def decode(data: bytes) -> str:
    """By its byte order mark, as UTF-8, or as its first lines declare; what cannot be decoded is escaped."""
    for mark, name in _BOMS.items():
        if data.startswith(mark):
            return data.decode(name, "backslashreplace").removeprefix("\ufeff")
    with contextlib.suppress(UnicodeDecodeError):
        return data.decode()
    if declared := _DECLARED.search(b"\n".join(data[:_DECLARED_WITHIN].split(b"\n")[:2])):
        with contextlib.suppress(LookupError, ValueError):
            return data.decode((declared[1] or declared[2]).decode("ascii"))
    return data.decode("utf-8", "backslashreplace")
