"""What a model or the playbook is shown of a project before it plans."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from ringi.kernel.document import CamelDocument, Document
from ringi.kernel.text import Text


class FileKind(StrEnum):
    SOURCE = "source"
    TEST = "test"
    DOC = "doc"
    OTHER = "other"


class ContextFile(Document, frozen=True):
    path: str
    score: float
    kind: FileKind
    why: tuple[str, ...]


class Context(Document, frozen=True):
    """Exactly what is sent: `ringi run --context --json` prints it."""

    files: tuple[ContextFile, ...]
    """Best first."""
    tokens: int
    """Of the text, estimated."""
    text: str


class Definition(CamelDocument, frozen=True):
    name: str
    """With what contains it: Command.invoke."""
    kind: str
    """class, function, method …"""
    line: int
    """From 1."""
    end: int


class FoundFile(CamelDocument, frozen=True, kw_only=True):
    """A file that the request is likely about."""

    path: str
    kind: FileKind
    score: float = 0.0
    """Relative to the best, which has 1; 0 if it is not known."""
    definitions: tuple[Definition, ...] = ()
    """Those that fit the request, best first."""
    tests: tuple[str, ...] = ()
    """The test files beside it."""
    has: tuple[str, ...] = ()
    """The words of the request's first line that are in it."""


class ProjectFacts(CamelDocument, frozen=True, kw_only=True):
    """What is known of a project; questions and prompts adapt to it."""

    languages: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    """Folders of tests; some test files if there are none."""
    entries: tuple[str, ...] = ()
    """Names at the top level."""
    about: str = ""
    """The first paragraph of its readme."""
    rules: tuple[str, ...] = ()
    """Files with rules for contributors and agents."""
    test_commands: tuple[str, ...] = ()
    """As its own files name them, best first."""
    changelog: str = ""
    """Its path, if there is one."""
    found: tuple[FoundFile, ...] = ()
    """What the request is likely about, best first."""


class Gathered(NamedTuple):
    context: Context
    project: ProjectFacts
    snapshot: str  # what it was read from
    why: tuple[tuple[Text, ...], ...] = ()  # for each file of the context, for people
    whole: bool = False
    """The context shows the whole project: nothing is left to ask for."""
    restless: tuple[str, ...] = ()  # what could not be read, or changed meanwhile


class CodeContext(Protocol):
    """What a good engineer would open first, read from a snapshot of the workspace."""

    def snapshot(self) -> str:
        """The id of the workspace as it is now; empty if it keeps changing."""

    def gather(
        self, request: str, *, tokens: int | None = None, limit: int | None = None, about: Sequence[str] = ()
    ) -> Gathered:
        """At most so many tokens of text, and files; None stands for the configured number.

        If `about` names paths, only they are read; all else counts by what is known of it, or by its name.
        """

    def read(self, paths: Sequence[str], tokens: int | None = None) -> str:
        """These files, or some lines (app.py:10-40), masked, within the budget; says which there are not."""

    def has(self, path: str, line: int = 0) -> bool:
        """Whether the snapshot that was read last has this file or folder, and it this line."""
