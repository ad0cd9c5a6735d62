"""The index of a snapshot's files: definitions from `workspace`, words from `context`, kept by content."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from ringi.context import Content, Corpus, Index
from ringi.domain.project_state import LINK_MODE, StateFile
from ringi.workspace.dependencies.definitions import definitions, reader, without_collection

Contents = Callable[[Sequence[StateFile]], Iterable[tuple[StateFile, bytes]]]

_SAMPLE: Final = 8000


def corpus_of(files: Iterable[StateFile], contents: Contents, folder: Path) -> Corpus:
    """Reads what the index in the folder does not know yet. Links count by their path alone."""
    known = {file.path: file for file in files}
    keys = {path: _key(file) for path, file in known.items() if file.mode != LINK_MODE}
    index = Index(folder)
    wanted = {key: known[path] for path, key in sorted(keys.items()) if key not in index}
    with without_collection():
        index.add(_read(wanted.values(), contents))
    index.keep(set(keys.values()))
    return Corpus(index, {path: keys.get(path, "") for path in known})


def _key(file: StateFile) -> str:
    return f"{reader(file.path)} {file.oid}"


def _read(files: Iterable[StateFile], contents: Contents) -> Iterator[Content]:
    for file, data in contents(list(files)):
        text = "" if b"\0" in data[:_SAMPLE] else data.decode("utf-8", "replace")
        yield Content(_key(file), text, definitions(file.path, text))
