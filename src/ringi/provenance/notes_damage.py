"""Whether the notes in a repository can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringi.errors import CopyFailed, NotesFailed
from ringi.kernel.text import Text

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


def notes_damage(workspace: Workspace) -> Text | None:
    repository = workspace.repository()
    try:
        return repository.damage() if repository else None
    except (NotesFailed, CopyFailed) as error:
        return Text(error.message, **error.details)
