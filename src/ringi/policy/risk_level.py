"""How risky a change is, and the facts that make it so."""

from enum import StrEnum
from typing import Final

from ringi.kernel.document import Document
from ringi.kernel.text import Text


class Risk(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class RiskCode(StrEnum):
    DELETE = "delete"
    LARGE_OVERWRITE = "large_overwrite"
    LARGE_REWRITE = "large_rewrite"
    """Few or no lines, but many bytes."""
    EMPTIED = "emptied"
    """The file stays, but most of what was in it goes."""
    YOUR_LINES = "your_lines"
    """It deletes lines that the person wrote meanwhile; 0: all of a file that is not text."""
    CRITICAL_FILE = "critical_file"
    MUTABLE_STATE = "mutable_state"
    """A database or another file that a running program writes."""
    MANY_FILES = "many_files"
    UNKNOWN_USERS = "unknown_users"
    """How many files may depend on a change plan's, because they could not be analysed."""
    SECRET = "secret"  # noqa: S105
    HIDDEN_CHARACTERS = "hidden_characters"
    LOOKALIKES = "lookalikes"
    """A word with letters that look like those of another alphabet."""
    MIXED_SCRIPTS = "mixed_scripts"
    """A word with letters of alphabets that no language mixes."""
    HIDDEN_NAME = "hidden_name"
    """The file's name contains characters that hide something."""
    UNSHOWN = "unshown"
    """It is not text, but it is a program or was text before: its content is not shown."""
    BINARY = "binary"
    """Not text, and nothing says that it is a program: nobody has seen its content."""
    CRITICAL_SOURCE = "critical_source"
    """A critical file is renamed or copied."""
    COMMAND = "command"
    """A command that the configuration allows."""
    FOREIGN_COMMAND = "foreign_command"
    """A command that it does not."""
    TOOL_CALL = "tool_call"
    """It changes something outside."""


class Category(StrEnum):
    """Why a file is critical."""

    LOCK = "lock"
    CI = "ci"
    MIGRATION = "migration"
    CREDENTIALS = "credentials"
    BUILD = "build"
    OBEYED = "obeyed"
    """It makes tools run code, or agents obey."""
    PROGRAM = "program"
    """Compiled or packed: it runs, and no review can judge it."""
    CONFIGURED = "configured"


CATEGORY: Final = {
    Category.LOCK: Text("a lock file"),
    Category.CI: Text("part of the continuous integration"),
    Category.MIGRATION: Text("a migration"),
    Category.CREDENTIALS: Text("a file for credentials"),
    Category.BUILD: Text("a build or deploy file"),
    Category.OBEYED: Text("a file that makes tools run code or agents obey"),
    Category.PROGRAM: Text("code that no review can read"),
    Category.CONFIGURED: Text("critical by configuration"),
}


class RiskReason(Document, frozen=True):
    code: RiskCode
    subject: str
    """What the reason is about: a category, a path, a number of lines or files, a finding and its lines."""


def highest(risks: tuple[Risk, ...]) -> Risk:
    order = [Risk.LOW, Risk.MEDIUM, Risk.HIGH]
    return max(risks, key=order.index, default=Risk.LOW)
