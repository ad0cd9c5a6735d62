"""Requests as files (RN-13): `requests/RQ-YYYYMMDD-NNN.md`, written by people."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ringi.engine.request import next_request_id
from ringi.errors import BadInstruction, StorageFailed
from ringi.kernel.text import Text
from ringi.sessions.operations import why_unfit

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

FOLDER: Final = "requests"
SUFFIX: Final = ".md"
_LONGEST_TITLE: Final = 200
_SECTIONS: Final = (
    (
        Text("Acceptance criteria"),
        Text("What can be checked afterwards; three or more are best, and planning suggests the rest."),
        (Text("- AC-01: Given a report of two rows, When --json is passed, Then it prints a JSON list"),),
    ),
    (
        Text("Constraints"),
        Text("What must hold or must not happen, one item a line."),
        (Text("- No new dependency"),),
    ),
    (
        Text("Tests"),
        Text("The commands that check it; end-to-end tests begin with e2e:"),
        ("- unit: make test",),
    ),
    (Text("Allowed paths"), Text("If only these files and folders may change."), ("- src/",)),
    (Text("Forbidden paths"), Text("Files and folders that must stay as they are."), ("- docs/",)),
)


def request_files(root: Path) -> list[str]:
    """The ids of the requests that have a file."""
    try:
        with os.scandir(root / FOLDER) as entries:
            return [entry.name.removesuffix(SUFFIX) for entry in entries if entry.name.endswith(SUFFIX)]
    except OSError:
        return []


def next_id(workspace: Workspace) -> str:
    """The next free one of today, among the files and the ledger."""
    day = workspace.clock.now()[:10].replace("-", "")
    known = {*request_files(workspace.places.root), *workspace.store.runs.request_ids(day)}
    return next_request_id(day, known)


def new_request(workspace: Workspace, title: str, say: Callable[[Text], str]) -> Path:
    """Writes a request to be filled in, and returns its path. `say` translates for the user.

    Raises BadInstruction if the title cannot be one, PathRefused if `requests` is no folder of the workspace.
    """
    title = " ".join(title.split())
    if title and (why := why_unfit(title, _LONGEST_TITLE)):
        raise BadInstruction(why=why)
    data = _template(title, say).encode()
    tree, mode = workspace.tree, workspace.new_file_mode
    # Inside a transaction: a session that is planned at the same time gets another number.
    with workspace.store.transaction(), tree.open_root() as root:
        while True:
            path = f"{FOLDER}/{next_id(workspace)}{SUFFIX}"
            try:
                with tree.folder_of(path, root, make=True) as (folder, name):
                    tree.fs.create(folder, name, data, mode)
            except FileExistsError:
                continue  # made without the ledger
            except OSError as error:
                raise StorageFailed(what=path, why=error.strerror or str(error)) from None
            return workspace.places.root / path


def _template(title: str, say: Callable[[Text], str]) -> str:
    lines = [
        f"# {title}",
        "",
        f"<!-- {say(Text('What is wanted, and why. Comments like this one do not count.'))} -->",
    ]
    for heading, why, examples in _SECTIONS:
        lines += [
            "",
            f"## {say(heading)}",
            "",
            *_comment(say(why), (_translate(one, say) for one in examples)),
        ]
    return "\n".join(lines) + "\n"


def _translate(text: Text | str, say: Callable[[Text], str]) -> str:
    return say(text) if isinstance(text, Text) else text


def _comment(why: str, examples: Iterator[str]) -> list[str]:
    return [f"<!-- {why}", *examples, "-->"]
