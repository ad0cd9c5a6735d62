"""The agents' configuration files in a project: looked at through no link, changed in one step each."""

import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ringi.domain.approval import FileChange
from ringi.domain.codec import digest
from ringi.domain.plan import FileState
from ringi.errors import InTheWay, PathRefused, StorageFailed
from ringi.fs import OsFileSystem
from ringi.patching.render import Side, render
from ringi.text import Text, why_failed
from ringi.wiring.system import new_file_mode
from ringi.workspace.stage import Stage
from ringi.workspace.tree import Found, Tree

LARGEST: Final = 1024 * 1024
_EXECUTABLE: Final = 0o100


class Change(NamedTuple):
    """One file, from before to after; None stands for a file that is not there."""

    agent: str
    file: str
    before: bytes | None
    after: bytes | None
    mode: str

    def diff(self) -> bytes:
        git = "100755" if int(self.mode, 8) & _EXECUTABLE else "100644"
        before, after = (data if data is None else Side(data, git) for data in (self.before, self.after))
        return render(self.file, before, after).diff


def look(root: Path, file: str) -> tuple[str | None, str]:
    """The text, or None where there is no file, and the mode. InTheWay where we had better not write."""
    try:
        found = Tree(OsFileSystem(), root).look(file)
    except (PathRefused, StorageFailed) as error:
        raise InTheWay(what=file, why=error.details["why"]) from None
    except OSError as error:
        raise InTheWay(what=file, why=why_failed(error)) from None
    if found is None:
        return None, f"{new_file_mode():04o}"
    if refusal := _refusal(found):
        raise InTheWay(what=file, why=refusal)
    try:
        return found.data.decode("utf-8"), found.state.mode
    except UnicodeDecodeError as error:
        why = Text("it is not UTF-8 at byte {at}", at=error.start)
        raise InTheWay(what=file, why=why) from None


def _refusal(found: Found) -> Text | None:
    if found.entry.size > LARGEST:
        return Text("it has {size} bytes, {limit} are allowed", size=found.entry.size, limit=LARGEST)
    if not found.entry.mode & 0o200:
        return Text("it is read-only")
    if found.entry.owner != os.geteuid() and os.geteuid():
        return Text("it belongs to another user")
    return None


def write(root: Path, changes: Sequence[Change], emptied: Sequence[str] = ()) -> Mapping[str, Text]:
    """Each file is as before or as after, whatever happens. Answers with those that somebody wrote to since.

    `emptied` are folders that go if nothing is left in them.
    """
    contents = {digest(data): data for change in changes for data in (change.before, change.after) if data}
    contents[digest(b"")] = b""
    swaps = [
        FileChange("", change.file, _state(change.before, change.mode), _state(change.after, change.mode))
        for change in changes
    ]
    # A stage that no execution knows: the next sweep removes it, if this process is killed.
    stage = Stage(OsFileSystem(), root, f"init.{secrets.token_hex(4)}")
    try:
        stage.prepare(swaps, contents.__getitem__)
        conflicts = stage.swap_in(swaps, go_on=True)
        stage.settle(swaps, (), emptied, forward=True)
        stage.drop(lambda data: digest(data) in contents)
    except OSError as error:
        raise StorageFailed(what=error.filename or str(root), why=why_failed(error)) from None
    except PathRefused as error:
        raise InTheWay(what=str(error.details["path"]), why=error.details["why"]) from None
    return {conflict.change.path: conflict.detail for conflict in conflicts}


def _state(data: bytes | None, mode: str) -> FileState | None:
    return None if data is None else FileState(digest(data), mode)
