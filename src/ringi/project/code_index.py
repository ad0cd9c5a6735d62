"""The index of a snapshot's files: definitions from `workspace`, words from `context`, kept by content."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from ringi.policy.globs import inside
from ringi.project.dependencies.definitions import definitions, readers
from ringi.project.dependencies.references import LARGEST, SourceContent, key
from ringi.project.relevant_files import MOST_TEXT, Corpus, Index, IndexedContent
from ringi.tree.file_state import LINK_MODE, StateFile

Contents = Callable[[Sequence[StateFile]], Iterable[tuple[StateFile, bytes]]]

_SAMPLE: Final = 8000
_MOST_AT_ONCE: Final = 64 * 1024 * 1024
"""Bytes that are read anew for one request; what is left counts by its path until the next."""
_MOST_ABOUT: Final = 1024 * 1024
"""As above, if only some paths matter: whoever asks does not want to wait for all of them."""


def corpus_of(
    files: Iterable[StateFile], contents: Contents, folder: Path, about: Sequence[str] = ()
) -> Corpus:
    """Reads what the index in the folder does not know yet; with `about`, only what is inside of these paths.

    Links count by their path alone.
    """
    known = {file.path: file for file in files}
    reader = readers()
    keys = {path: key(reader(path), file.oid) for path, file in known.items() if file.mode != LINK_MODE}
    index = Index(folder)
    wanted: dict[str, dict[str, str]] = {}
    """The keys of the files to be read, by how their definitions are."""
    seen = set()
    for path in sorted(keys):
        if (at := keys[path]) not in index and at not in seen and (not about or inside(path, about)):
            seen.add(at)
            wanted.setdefault(reader(path), {})[path] = at
    room = _Room(_MOST_ABOUT if about else _MOST_AT_ONCE)
    index.add(_read(wanted, lambda paths: contents([known[path] for path in paths]), room))
    index.keep(frozenset(keys.values()))
    return Corpus(index, {path: keys.get(path, "") for path in known})


def _read(
    wanted: dict[str, dict[str, str]],
    contents: Callable[[Iterable[str]], Iterable[tuple[StateFile, bytes]]],
    room: "_Room",
) -> Iterator[IndexedContent]:
    # Languages before plain text: if there is too much to read at once, that waits.
    for language, keys in sorted(wanted.items(), reverse=True):
        texts: dict[str, bytes] = {}
        sources = room.sources(((keys[file.path], data) for file, data in contents(keys)), texts)
        for at, found in definitions(language, sources):
            yield IndexedContent(at, texts.pop(at).decode("utf-8", "replace"), found)


class _Room:
    def __init__(self, left: int) -> None:
        self._left = left

    def sources(
        self, contents: Iterable[tuple[str, bytes]], texts: dict[str, bytes]
    ) -> Iterator[SourceContent]:
        """What a parser is given, as long as there is room; puts what is to be indexed into `texts`."""
        for at, data in contents if self._left > 0 else ():
            is_text = b"\0" not in data[:_SAMPLE]
            texts[at] = data[:MOST_TEXT] if is_text else b""
            yield SourceContent(at, data if is_text and len(data) <= LARGEST else b"")
            self._left -= len(data)
            if self._left <= 0:
                return
