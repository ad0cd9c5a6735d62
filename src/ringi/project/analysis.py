"""A mechanical analysis of a file or folder: the answer to an analyze spec.

It runs and imports nothing from the project.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final, Literal

import msgspec

from ringi.errors import NotFound, PathRefused, StorageFailed
from ringi.kernel.codec import blob_id
from ringi.kernel.document import Document
from ringi.kernel.places import Places
from ringi.kernel.text import Text
from ringi.policy.files import critical_category
from ringi.policy.risk_level import Category
from ringi.project.dependencies import SourceFile, dependents, unknown_users
from ringi.project.dependencies import analyse as analyse_dependencies
from ringi.project.state import Dependencies
from ringi.tree.file_state import LINK_MODE, StateFile
from ringi.tree.snapshot import Snapshot, Snapshots
from ringi.tree.tree import CurrentFile, Tree

_MOST_NAMES: Final = 100
_TEXT_SAMPLE: Final = 8000
_OTHER: Final = "other"
_BY_SUFFIX: Final[Mapping[str, str]] = {
    f".{suffix}": language
    for language, suffixes in {
        "c": "c h",
        "c#": "cs",
        "c++": "cc cpp cxx hh hpp hxx",
        "css": "css less sass scss",
        "dart": "dart",
        "elixir": "ex exs",
        "go": "go",
        "haskell": "hs",
        "html": "htm html xhtml",
        "java": "java",
        "javascript": "cjs js jsx mjs",
        "json": "json",
        "kotlin": "kt kts",
        "lua": "lua",
        "markdown": "markdown md",
        "perl": "pl pm",
        "php": "php",
        "python": "py pyi pyw",
        "r": "r",
        "restructuredtext": "rst",
        "ruby": "rake rb",
        "rust": "rs",
        "scala": "scala",
        "shell": "bash fish sh zsh",
        "sql": "sql",
        "svelte": "svelte",
        "swift": "swift",
        "terraform": "tf tfvars",
        "text": "txt",
        "toml": "toml",
        "typescript": "cts mts ts tsx",
        "vue": "vue",
        "xml": "svg xml xsd xsl",
        "yaml": "yaml yml",
        "zig": "zig",
    }.items()
    for suffix in suffixes.split()
}


class NameSample(Document, frozen=True):
    """The count, and the first names."""

    count: int
    files: tuple[str, ...]


class UsedBy(Document, frozen=True):
    direct: NameSample
    all: NameSample
    """Including indirect uses."""


class FileAnalysis(Document, frozen=True, omit_defaults=True, kw_only=True):
    path: str
    kind: Literal["file"]
    bytes: int
    sha256: str
    mode: str
    lines: int | None = None
    """Absent for files that are not text."""
    language: str | None = None
    critical: Category | None = None
    in_project: bool = True
    """False if git ignores it; then nothing is known about its users."""
    uses: NameSample
    used_by: UsedBy
    not_analysed: str = ""
    """Why the list may be incomplete."""
    may_use_it: int = 0
    """Files that could not be analysed, and so are missing in `used_by` if they do."""


class Amount(Document, frozen=True):
    files: int
    bytes: int


class FolderAnalysis(Document, frozen=True, omit_defaults=True, kw_only=True):
    path: str
    kind: Literal["folder", "workspace"]
    files: int
    bytes: int
    languages: Mapping[str, Amount]
    left_out: int = 0
    """Unreadable files and names that are not UTF-8, in the whole workspace."""


def analyse(places: Places, tree: Tree, path: str, *, critical: Sequence[str] = ()) -> str:
    """As JSON of bounded length. An empty path is the whole workspace; `critical` adds to the built-in globs.

    Raises NotFound if it does not exist, PathRefused if it is neither a file nor a folder.
    """
    found = tree.look_folder(path) if path else None
    if path and found is None:
        raise NotFound(what=Text("file or folder"), name=path, see="ringi state show")
    if found is None or found.state.folder:
        return _json(_folder(places, path))
    return _json(_file(places, tree, path, found, critical))


def language_of(path: str) -> str | None:
    """By file extension only."""
    return _BY_SUFFIX.get(PurePosixPath(path).suffix.lower())


def dependencies_of(
    places: Places, tree: Tree, snapshots: Snapshots, snapshot: Snapshot, files: Iterable[StateFile]
) -> Dependencies:
    """Which file uses which; cached by content."""
    sources = [SourceFile(file.path, file.oid) for file in files if file.mode != LINK_MODE]
    ids = {file.path: file.oid for file in sources}

    def read(path: str) -> bytes:
        """From disk, which is faster, or from the snapshot if the file has changed since."""
        with contextlib.suppress(PathRefused, StorageFailed, OSError):
            found = tree.look(path)
            if found and blob_id(found.data, like=ids[path]) == ids[path]:
                return found.data
        return snapshots.read(snapshot, path)

    return analyse_dependencies(sources, read, places.state / "dependencies")


def _file(places: Places, tree: Tree, path: str, found: CurrentFile, critical: Sequence[str]) -> FileAnalysis:
    snapshots = Snapshots(places.state, places.root)
    snapshot = snapshots.take()
    files = snapshots.files(snapshot).files
    known = [file.path for file in files]
    dependencies = dependencies_of(places, tree, snapshots, snapshot, files)
    direct = [user for user, used in dependencies.uses.items() if path in used]
    unknown = {missing.file: missing.why for missing in dependencies.unanalysed}
    return FileAnalysis(
        path=path,
        kind="file",
        bytes=len(found.data),
        sha256=found.state.sha256,
        mode=found.state.mode,
        lines=_lines(found.data),
        language=language_of(path),
        critical=critical_category(path, critical),
        in_project=path in set(known),
        uses=_names(dependencies.uses.get(path, ())),
        used_by=UsedBy(_names(direct), _names(dependents(dependencies, [path], known))),
        not_analysed=unknown.get(path, ""),
        may_use_it=missing.count if (missing := unknown_users(dependencies, [path], known)) else 0,
    )


def _folder(places: Places, path: str) -> FolderAnalysis:
    snapshots = Snapshots(places.state, places.root)
    snapshot = snapshots.take()
    listing = snapshots.files(snapshot)
    amounts: dict[str, Amount] = {}
    for file in listing.files:
        if not path or file.path.startswith(f"{path}/"):
            language = language_of(file.path) or _OTHER
            before = amounts.get(language, Amount(0, 0))
            amounts[language] = Amount(before.files + 1, before.bytes + _size(places, file.path))
    return FolderAnalysis(
        path=path,
        kind="folder" if path else "workspace",
        files=sum(amount.files for amount in amounts.values()),
        bytes=sum(amount.bytes for amount in amounts.values()),
        languages=amounts,
        left_out=len(snapshot.unreadable) + len(listing.not_utf8),
    )


def _size(places: Places, path: str) -> int:
    try:
        return (places.root / path).lstat().st_size
    except OSError:  # deleted since
        return 0


def _lines(data: bytes) -> int | None:
    """As an editor counts them: a last line without a newline counts."""
    if b"\0" in data[:_TEXT_SAMPLE]:
        return None
    return data.count(b"\n") + (not data.endswith(b"\n") if data else 0)


def _names(paths: Iterable[str]) -> NameSample:
    found = sorted(paths)
    return NameSample(len(found), tuple(found[:_MOST_NAMES]))


def _json(document: Document) -> str:
    return msgspec.json.format(msgspec.json.encode(document, order="sorted"), indent=2).decode() + "\n"
