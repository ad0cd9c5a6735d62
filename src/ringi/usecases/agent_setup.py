"""`ringi init` lets agents know ringi: what would be written is shown first, and can be taken back.

The agents' files are looked at through no link and changed in one step each. `agents.json`, beside the
ledger, remembers what was written and what was there before.
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
    """Its whole text; None also if it was already ours and somebody else's together."""
    holders: int
    """How many of the objects around our entry were there."""
    made_folder: bool
    after_sha256: str

    def again(self, after_sha256: str, *, between: bool) -> "Written":
        """Written once more; `between` says that somebody else wrote in the meantime."""
        kept = {"made": False, "before": None} if between else {}
        return msgspec.structs.replace(self, after_sha256=after_sha256, **kept)


class Record(Versioned, frozen=True, kw_only=True):
    files: tuple[Written, ...] = ()


class Return(NamedTuple):
    """The way back of one file."""

    written: Written
    change: Change | None
    """None if nothing of ours is left in it."""
    exact: bool = True
    """Nobody else wrote to it: it becomes what it was, byte for byte."""
    problem: object = None


def present(root: Path, environment: Mapping[str, str]) -> list[Agent]:
    """The agents of which there is a sign here."""
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
    """How an agent starts this very installation: by its plain name if that means this one.

    A virtual environment that is active in this terminal need not be active for the agent.
    """
    own = _own_launcher(launcher)
    if own is None:
        return [sys.executable, "-P", "-m", _PROGRAM]  # -P: the project's folder answers for no import
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
    """For one project. `lock` is the workspace's own: its holder sweeps `.agent/tmp`, where files are staged.

    It also makes the folder of the ledger, which the record is kept in.
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
        """`words` start ringi."""
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
        """Answers with what was not written. It is recorded first, so a crash can be taken back."""
        with self._lock("init"):
            known = {written.file: written for written in self._recorded()}
            for change in changes:
                known[change.file] = self._note(change, known.get(change.file))
            self._record(known.values())
            return self._write(changes)

    def way_back(self) -> list[Return]:
        return [self._return(written) for written in self._recorded()]

    def go_back(self, returns: Sequence[Return]) -> Mapping[str, Text]:
        """Answers with the files somebody wrote to meanwhile; they and those with a problem stay known."""
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
            # Ours on top of ours: the way back leads to what was there first, unless somebody wrote between.
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
        """The text, or None if there is no file, and the mode. InTheWay if we had better not write."""
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
        """Each file is as before or as after, whatever happens. Answers with those somebody wrote to since.

        `emptied` are folders that go if nothing is left in them.
        """
        contents = {digest(data): data for one in changes for data in (one.before, one.after) if data}
        contents[digest(b"")] = b""
        swaps = [
            FileChange("", one.file, _state(one.before, one.mode), _state(one.after, one.mode))
            for one in changes
        ]
        # A stage that no execution knows: the next sweep removes it, if this process is killed.
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
        """In one step; gone if there is nothing to remember."""
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
    """Without our entry; None if nothing else is left in a file of our making."""
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
