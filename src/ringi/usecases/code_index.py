"""The index of a snapshot's files: definitions from `workspace`, words from `context`, kept by content."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from ringi.context import MOST_TEXT, Content, Corpus, Index
from ringi.domain.project_state import LINK_MODE, StateFile
from ringi.workspace.dependencies.definitions import definitions, reader
from ringi.workspace.dependencies.references import LARGEST, Source, key

Contents = Callable[[Sequence[StateFile]], Iterable[tuple[StateFile, bytes]]]

_SAMPLE: Final = 8000
_MOST_AT_ONCE: Final = 64 * 1024 * 1024
"""Bytes that are read anew for one request; what is left counts by its path until the next."""


def corpus_of(files: Iterable[StateFile], contents: Contents, folder: Path) -> Corpus:
    """Reads what the index in the folder does not know yet. Links count by their path alone."""
    known = {file.path: file for file in files}
    keys = {path: _key(file) for path, file in known.items() if file.mode != LINK_MODE}
    index = Index(folder)
    wanted = {keys[path]: known[path] for path in sorted(keys) if keys[path] not in index}
    index.add(_read(list(wanted.values()), contents))
    index.keep(frozenset(keys.values()))
    return Corpus(index, {path: keys.get(path, "") for path in known})


def _key(file: StateFile) -> str:
    return key(reader(file.path), file.oid)


def _read(files: Sequence[StateFile], contents: Contents) -> Iterator[Content]:
    by_reader: dict[str, list[StateFile]] = {}
    for file in files:
        by_reader.setdefault(reader(file.path), []).append(file)
    room = _Room(_MOST_AT_ONCE)
    # Languages before plain text: if there is too much to read at once, that waits.
    for language, some in sorted(by_reader.items(), reverse=True):
        texts: dict[str, bytes] = {}
        for at, found in definitions(language, room.sources(contents(some), texts)):
            yield Content(at, texts.pop(at).decode("utf-8", "replace"), found)


class _Room:
    def __init__(self, left: int) -> None:
        self._left = left

    def sources(
        self, contents: Iterable[tuple[StateFile, bytes]], texts: dict[str, bytes]
    ) -> Iterator[Source]:
        """What a parser is given, as long as there is room; puts what is to be indexed into `texts`."""
        for file, data in contents if self._left > 0 else ():
            at, is_text = _key(file), b"\0" not in data[:_SAMPLE]
            texts[at] = data[:MOST_TEXT] if is_text else b""
            yield Source(at, data if is_text and len(data) <= LARGEST else b"")
            self._left -= len(data)
            if self._left <= 0:
                return
