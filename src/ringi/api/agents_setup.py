"""Agents on this machine get to know ringi: what would be written is shown first, and can be taken back."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, NamedTuple

from ringi.agents import entries
from ringi.agents.record import Agent
from ringi.agents.table import CONFIGURABLE
from ringi.api.agents_files import Change, look, write
from ringi.api.agents_record import Written, load, save
from ringi.domain.codec import digest
from ringi.errors import BadDocument, InTheWay
from ringi.store.connection import private_folder
from ringi.store.lock import FileLock
from ringi.text import Text
from ringi.workspace.places import Places

_BOM: Final = "\ufeff"
_PROGRAM: Final = "ringi"
_WAIT_SEC: Final = 10.0


class Offer(NamedTuple):
    """What one agent would get."""

    agent: Agent
    changes: tuple[Change, ...]
    problems: Mapping[str, object]
    """Files that are left alone, and why."""


class Return(NamedTuple):
    """The way back of one file."""

    written: Written
    change: Change | None
    """None where nothing of ours is left in it."""
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
    """How an agent starts this very installation: by its plain name where that is what the name means.

    A virtual environment that is active in this terminal need not be where the agent starts.
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


def offer(agent: Agent, root: Path, words: Sequence[str]) -> Offer:
    changes, problems = [], {}
    for names in agent.setup_files():
        file = next((name for name in names if os.path.lexists(root / name)), names[0])
        try:
            text, mode = look(root, file)
            after = _merged(agent, file, text or "", words)
        except (BadDocument, InTheWay) as error:
            problems[file] = error.details["why"]
            continue
        if after != text:
            changes.append(Change(agent.name, file, _bytes(text), after.encode(), mode))
    return Offer(agent, tuple(changes), problems)


def _merged(agent: Agent, file: str, text: str, words: Sequence[str]) -> str:
    bom = _BOM if text.startswith(_BOM) else ""
    return bom + entries.merged(agent, file, text.removeprefix(bom), words)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def carry_out(places: Places, changes: Sequence[Change]) -> Mapping[str, Text]:
    """Written down first, so that what a crash left can be taken back. Answers with what was not written."""
    with _alone(places):
        known = {written.file: written for written in load(places)}
        for change in changes:
            known[change.file] = _note(places.root, change, known.get(change.file))
        save(places, known.values())
        return write(places.root, changes)


def _alone(places: Places) -> AbstractContextManager[None]:
    """The workspace's own lock: whoever holds it sweeps `.agent/tmp`, where files are swapped in from."""
    return FileLock(private_folder(places.state) / "lock", _WAIT_SEC)("init")


def _note(root: Path, change: Change, earlier: Written | None) -> Written:
    after = digest(change.after or b"")
    text = None if change.before is None else change.before.decode()
    if earlier is not None and change.before is not None and text != earlier.before:
        # Ours on top of ours: the way back leads to what was there first, unless somebody wrote between.
        ours = earlier.after_sha256 == digest(change.before)
        return earlier.again(after, between=not ours)
    return Written(
        agent=change.agent,
        file=change.file,
        made=text is None,
        before=text,
        holders=entries.holders(CONFIGURABLE[change.agent], change.file, (text or "").removeprefix(_BOM)),
        made_folder="/" in change.file and not os.path.lexists((root / change.file).parent),
        after_sha256=after,
    )


def way_back(places: Places) -> list[Return]:
    return [_return(places.root, written) for written in load(places)]


def _return(root: Path, written: Written) -> Return:
    try:
        text, mode = look(root, written.file)
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


def _without(written: Written, text: str) -> str | None:
    """Without our entry; None where nothing else is left in a file of our making."""
    agent = CONFIGURABLE.get(written.agent)
    if agent is None:
        raise InTheWay(what=written.file, why=Text("ringi knows no agent {name}", name=written.agent))
    bom = _BOM if text.startswith(_BOM) else ""
    rest = bom + entries.taken(agent, written.file, text.removeprefix(bom), written.holders)
    nothing_else = entries.says_nothing(agent, written.file, rest.removeprefix(bom))
    ours_alone = rest != text and written.made and nothing_else
    return None if ours_alone else rest


def go_back(places: Places, returns: Sequence[Return]) -> Mapping[str, Text]:
    """Answers with the files that somebody wrote to meanwhile; they and those with a problem stay known."""
    changes = [found.change for found in returns if found.change is not None]
    folders = {found.written.file.rpartition("/")[0] for found in returns if found.written.made_folder}
    with _alone(places):
        conflicts = write(places.root, changes, sorted(folders)) if changes else {}
        done = {found.written.file for found in returns if not found.problem} - conflicts.keys()
        save(places, [written for written in load(places) if written.file not in done])
    return conflicts
