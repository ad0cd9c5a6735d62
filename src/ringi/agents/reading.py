"""A port: where an agent that is asked as a model can look at the project."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

from ringi.kernel.text import Text


class Enclosed(NamedTuple):
    """How a command is started in a sandbox."""

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    confined: int


class ProjectReader(Protocol):
    """An agent looks around in a copy of the project; nothing that it writes comes back."""

    def lacks(self) -> Text | None:
        """Why it cannot, because there is no sandbox. Raises NoSandbox if one is required."""

    def enclose(
        self, argv: Sequence[str], env: Mapping[str, str], visible: Sequence[Path]
    ) -> AbstractContextManager[Enclosed]:
        """`visible` are files of ours that it needs. The copy is gone afterwards."""
