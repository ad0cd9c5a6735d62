"""`ringi init` configures agents to use ringi: it shows every change first and can undo it.

It follows no links and changes each file atomically. `agents.json`, next to the ledger, records what was
written and what was there before.
"""

import os
import secrets
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ringi.agents import entries
from ringi.agents.record import Agent
from ringi.agents.table import CONFIGURABLE
from ringi.domain import codec
from ringi.domain.approval import FileChange
from ringi.domain.base import Document, Versioned
from ringi.domain.codec import digest
from ringi.domain.plan import FileState
from ringi.errors import BadDocument, InTheWay, PathRefused, StorageFailed
from ringi.fs import FileSystem, opened, replace_file
from ringi.patching.render import Side, render
from ringi.text import Text, why_failed
from ringi.workspace.stage import Stage
from ringi.workspace.tree import Found, Tree

LARGEST: Final = 1024 * 1024
RECORD: Final = "agents.json"
_BOM: Final = "\ufeff"
_EXECUTABLE: Final = 0o100
_PROGRAM: Final = "ringi"


class Change(NamedTuple):
    """One file, from before to after; None for a file that does not exist."""

    agent: str
    file: str
    before: bytes | None
    after: bytes | None
    mode: str

    def diff(self) -> bytes:
        git = "100755" if int(self.mode, 8) & _EXECUTABLE else "100644"
        before, after = (data if data is None else Side(data, git) for data in (self.before, self.after))
        return render(self.file, before, after).diff


class Offer(NamedTuple):
    """What one agent would get."""

    agent: Agent
    changes: tuple[Change, ...]
    problems: Mapping[str, object]
    """Files that are left alone, and why."""


class Written(Document, frozen=True, kw_only=True):
    agent: str
    file: str
    """Below the workspace's root."""
    made: bool
    """There was no such file."""
    before: str | None
    """The whole text before; None also if it held our entry and other people's changes."""
    holders: int
    """How many of the objects around our entry existed."""
    made_folder: bool
    after_sha256: str

    def again(self, after_sha256: str, *, between: bool) -> "Written":
        """Written once more; `between` means that somebody else wrote in the meantime."""
        kept = {"made": False, "before": None} if between else {}
        return msgspec.structs.replace(self, after_sha256=after_sha256, **kept)


class Record(Versioned, frozen=True, kw_only=True):
    files: tuple[Written, ...] = ()


class Return(NamedTuple):
    """How to undo the changes to one file."""

    written: Written
    change: Change | None
    """None if it no longer holds anything of ours."""
    exact: bool = True
    """Nobody else wrote to it, so it is restored byte for byte."""
    problem: object = None


def present(root: Path, environment: Mapping[str, str]) -> list[Agent]:
    """The agents that seem to be in use here."""
    return [agent for agent in CONFIGURABLE.values() if any(_signs(agent, root, environment))]


def _signs(agent: Agent, root: Path, environment: Mapping[str, str]) -> Iterator[bool]:
    if agent.presence is None:
        return
    path = environment.get("PATH", os.defpath)
    yield from (shutil.which(program, path=path) is not None for program in agent.presence.programs)
    yield from (os.path.lexists(root / trace) for trace in agent.presence.traces)
    moved = (environment.get(state.variable) for state in agent.state if state.variable)
    yield from (Path(folder).is_dir() for folder in moved if folder)
    home = Path(environment.get("HOME", ""))
    if home.is_absolute():
        yield from ((home / folder).is_dir() for folder in agent.presence.folders)


def program(environment: Mapping[str, str], launcher: str = "") -> list[str]:
    """How an agent starts this installation: `ringi` if that name on the PATH means this one.

    A virtual environment that is active in this terminal may not be active for the agent.
    """
    own = _own_launcher(launcher)
    if own is None:
        return [sys.executable, "-P", "-m", _PROGRAM]  # -P: import nothing from the project
    active = Path(environment.get("VIRTUAL_ENV") or os.devnull) / "bin"
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    lasting = [folder for folder in folders if folder.startswith("/") and Path(folder) != active]
    named = shutil.which(_PROGRAM, path=os.pathsep.join(lasting)) if lasting else None
    return [_PROGRAM] if named and os.path.realpath(named) == os.path.realpath(own) else [str(own)]


def _own_launcher(launcher: str) -> Path | None:
    places = [Path(sysconfig.get_path("scripts")) / _PROGRAM, Path(sys.executable).parent / _PROGRAM]
    if Path(launcher).name == _PROGRAM:
        places.insert(0, Path(launcher).absolute())
    return next((place for place in places if place.is_file() and os.access(place, os.X_OK)), None)


class AgentSetup:
    """For one project. `lock` is the workspace's lock; its holder cleans up `.agent/tmp`, used for staging.

    It also creates the ledger's folder, which holds the record.
    """

    def __init__(
        self,
        root: Path,
        state: Path,
        *,
        fs: FileSystem,
        lock: Callable[[str], AbstractContextManager[None]],
        new_file_mode: int,
    ) -> None:
        self._root = root
        self._state = state
        self._fs = fs
        self._lock = lock
        self._new_mode = f"{new_file_mode:04o}"

    def offer(self, agent: Agent, words: Sequence[str]) -> Offer:
        """`words` is the command that starts ringi."""
        changes, problems = [], {}
        for names in agent.setup_files():
            file = next((name for name in names if os.path.lexists(self._root / name)), names[0])
            try:
                text, mode = self._look(file)
                after = _merged(agent, file, text or "", words)
            except (BadDocument, InTheWay) as error:
                problems[file] = error.details["why"]
                continue
            if after != text:
                changes.append(Change(agent.name, file, _bytes(text), after.encode(), mode))
        return Offer(agent, tuple(changes), problems)

    def carry_out(self, changes: Sequence[Change]) -> Mapping[str, Text]:
        """Returns what was not written. Records first, so that it can be undone even after a crash."""
        with self._lock("init"):
            known = {written.file: written for written in self._recorded()}
            for change in changes:
                known[change.file] = self._note(change, known.get(change.file))
            self._record(known.values())
            return self._write(changes)

    def way_back(self) -> list[Return]:
        return [self._return(written) for written in self._recorded()]

    def go_back(self, returns: Sequence[Return]) -> Mapping[str, Text]:
        """Returns the files that somebody wrote to meanwhile; they and those with a problem stay recorded."""
        changes = [found.change for found in returns if found.change is not None]
        folders = {found.written.file.rpartition("/")[0] for found in returns if found.written.made_folder}
        with self._lock("init"):
            conflicts = self._write(changes, sorted(folders)) if changes else {}
            done = {found.written.file for found in returns if not found.problem} - conflicts.keys()
            self._record([written for written in self._recorded() if written.file not in done])
        return conflicts

    def _note(self, change: Change, earlier: Written | None) -> Written:
        after = digest(change.after or b"")
        text = None if change.before is None else change.before.decode()
        if earlier is not None and change.before is not None and text != earlier.before:
            # Our second write: undo restores the first original, unless somebody wrote in between.
            ours = earlier.after_sha256 == digest(change.before)
            return earlier.again(after, between=not ours)
        plain = (text or "").removeprefix(_BOM)
        return Written(
            agent=change.agent,
            file=change.file,
            made=text is None,
            before=text,
            holders=entries.holders(CONFIGURABLE[change.agent], change.file, plain),
            made_folder="/" in change.file and not os.path.lexists((self._root / change.file).parent),
            after_sha256=after,
        )

    def _return(self, written: Written) -> Return:
        try:
            text, mode = self._look(written.file)
            if text is None:
                return Return(written, None)
            change = Change(written.agent, written.file, text.encode(), _bytes(written.before), mode)
            if digest(text.encode()) == written.after_sha256 and (written.made or written.before is not None):
                return Return(written, change)
            without = _without(written, text)
        except (BadDocument, InTheWay) as error:
            return Return(written, None, exact=False, problem=error.details["why"])
        if without == text:
            return Return(written, None)
        return Return(written, change._replace(after=_bytes(without)), exact=False)

    def _look(self, file: str) -> tuple[str | None, str]:
        """The text, or None if there is no file, and the mode. Raises InTheWay if we must not write to it."""
        try:
            found = Tree(self._fs, self._root).look(file)
        except (PathRefused, StorageFailed) as error:
            raise InTheWay(what=file, why=error.details["why"]) from None
        except OSError as error:
            raise InTheWay(what=file, why=why_failed(error)) from None
        if found is None:
            return None, self._new_mode
        if refusal := _refusal(found):
            raise InTheWay(what=file, why=refusal)
        try:
            return found.data.decode("utf-8"), found.state.mode
        except UnicodeDecodeError as error:
            why = Text("it is not UTF-8 at byte {at}", at=error.start)
            raise InTheWay(what=file, why=why) from None

    def _write(self, changes: Sequence[Change], emptied: Sequence[str] = ()) -> Mapping[str, Text]:
        """Atomic for each file. Returns those that somebody wrote to since.

        `emptied` are folders to remove if they become empty.
        """
        contents = {digest(data): data for one in changes for data in (one.before, one.after) if data}
        contents[digest(b"")] = b""
        swaps = [
            FileChange("", one.file, _state(one.before, one.mode), _state(one.after, one.mode))
            for one in changes
        ]
        # If this process is killed, the next cleanup removes this staging folder, which no execution owns.
        stage = Stage(self._fs, self._root, f"init.{secrets.token_hex(4)}")
        try:
            stage.prepare(swaps, contents.__getitem__)
            conflicts = stage.swap_in(swaps, go_on=True)
            stage.settle(swaps, (), emptied, forward=True)
            stage.drop(lambda data: digest(data) in contents)
        except OSError as error:
            raise StorageFailed(what=error.filename or str(self._root), why=why_failed(error)) from None
        except PathRefused as error:
            raise InTheWay(what=str(error.details["path"]), why=error.details["why"]) from None
        return {conflict.change.path: conflict.detail for conflict in conflicts}

    def _recorded(self) -> tuple[Written, ...]:
        path = self._state / RECORD
        try:
            with opened(self._fs, self._fs.open_root(self._state)) as folder:
                data, _ = self._fs.read(folder, RECORD)
            return codec.foreign(data, Record, RECORD).files
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise InTheWay(what=str(path), why=why_failed(error)) from None
        except BadDocument as error:
            raise InTheWay(what=str(path), why=error.details["why"]) from None

    def _record(self, files: Iterable[Written]) -> None:
        """Atomic; removes the record if there is nothing to remember."""
        record, path = Record(files=tuple(files)), self._state / RECORD
        try:
            if record.files:
                replace_file(path, codec.pretty(record))
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageFailed(what=str(path), why=why_failed(error)) from None


def _refusal(found: Found) -> Text | None:
    if found.entry.size > LARGEST:
        return Text("it has {size} bytes, {limit} are allowed", size=found.entry.size, limit=LARGEST)
    if not found.entry.mode & 0o200:
        return Text("it is read-only")
    if found.entry.owner != os.geteuid() and os.geteuid():
        return Text("it belongs to another user")
    return None


def _merged(agent: Agent, file: str, text: str, words: Sequence[str]) -> str:
    bom = _BOM if text.startswith(_BOM) else ""
    return bom + entries.merged(agent, file, text.removeprefix(bom), words)


def _without(written: Written, text: str) -> str | None:
    """Without our entry; None if we created the file and nothing else is in it."""
    agent = CONFIGURABLE.get(written.agent)
    if agent is None:
        raise InTheWay(what=written.file, why=Text("ringi knows no agent {name}", name=written.agent))
    bom = _BOM if text.startswith(_BOM) else ""
    rest = bom + entries.taken(agent, written.file, text.removeprefix(bom), written.holders)
    nothing_else = entries.says_nothing(agent, written.file, rest.removeprefix(bom))
    ours_alone = rest != text and written.made and nothing_else
    return None if ours_alone else rest


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _state(data: bytes | None, mode: str) -> FileState | None:
    return None if data is None else FileState(digest(data), mode)
