"""`ringi init` sets agents up to use ringi: an ordinary plan changes their own files in the project."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.agents import entries
from ringi.agents.record import Agent
from ringi.agents.table import CONFIGURABLE
from ringi.approvals.who import actor_at
from ringi.errors import BadDocument, InTheWay, NameTaken, PathRefused, StorageFailed
from ringi.kernel.fs import Entry, EntryKind
from ringi.kernel.text import Text, why_failed
from ringi.plans import from_patch as patches
from ringi.tree.action_spec import ActionSpec

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

LARGEST: Final = 1024 * 1024
_BOM: Final = "\ufeff"
_PROGRAM: Final = "ringi"


class SetupOffer(NamedTuple):
    """What one agent would get."""

    agent: Agent
    files: Mapping[str, bytes]
    """Their contents after; nothing for files that are up to date."""
    problems: Mapping[str, object]
    """Files that are left alone, and why."""


class Missing(NamedTuple):
    """What only the person can add, outside the project."""

    why: Text
    lines: tuple[str, ...]


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


def make_alias(name: str, environment: Mapping[str, str], launcher: str = "") -> Path:
    """A program that starts this installation under another name, beside ringi; overwrites nothing."""
    if taken := shutil.which(name, path=environment.get("PATH", os.defpath)):
        raise NameTaken(path=taken)
    own = _own_launcher(launcher)
    home = Path(environment.get("HOME") or Path.home())
    folder = own.parent if own and os.access(own.parent, os.W_OK) else home / ".local" / "bin"
    words = [str(own)] if own else [sys.executable, "-P", "-m", _PROGRAM]
    made = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with made.open("x", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        made.chmod(0o755)
    except FileExistsError:
        raise NameTaken(path=str(made)) from None
    except OSError as error:
        raise StorageFailed(what=str(made), why=why_failed(error)) from None
    return made


def offer(workspace: Workspace, agent: Agent, words: Sequence[str]) -> SetupOffer:
    """`words` is the command that starts ringi."""
    root, files, problems = workspace.places.root, {}, {}
    for names in agent.setup_files():
        file = next((name for name in names if os.path.lexists(root / name)), names[0])
        try:
            text = present_text(workspace, file)
            after = _merge(agent, file, text, words)
        except (BadDocument, InTheWay) as error:
            problems[file] = error.details["why"]
            continue
        if after != text:
            files[file] = after.encode()
    return SetupOffer(agent, files, problems)


def propose(workspace: Workspace, offers: Sequence[SetupOffer], proposer: str) -> str:
    """The plan that makes these changes; one that waits already is taken again."""
    title = f"Set up {', '.join(one.agent.title for one in offers if one.files)} to use ringi"
    contents = {file: data for one in offers for file, data in one.files.items()}
    return propose_files(workspace, title, contents, proposer)


def propose_files(
    workspace: Workspace, title: str, contents: Mapping[str, bytes | None], proposer: str
) -> str:
    """A plan that gives these files these contents; one that waits already is taken again."""
    specs = patches.specs_of(workspace, patches.changes_of_contents(workspace, contents))
    return _waiting(workspace, title, specs) or workspace.plan.propose_specs(
        title, specs, proposer=proposer, actor=actor_at(workspace.person)
    )


def _waiting(workspace: Workspace, title: str, specs: Sequence[ActionSpec]) -> str | None:
    for ref in workspace.plan.list(waiting=True):
        if ref.title == title:
            known = workspace.plan.get(ref.id).state.action_specs
            if [spec.base for spec in known] == [*specs]:
                return ref.id
    return None


def missing(agent: Agent, root: Path, environment: Mapping[str, str]) -> Missing | None:
    """A trust that the agent has not been given yet."""
    trust = agent.trust
    file = trust.file.find(environment) if trust else None
    if trust is None or file is None:
        return None
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    if trust.holds(text, str(root)):
        return None
    return Missing(trust.note(str(file)), trust.lines(str(root)))


def present_text(workspace: Workspace, file: str) -> str:
    """Empty if there is no file. Raises InTheWay if we must not write to it."""
    tree = workspace.tree
    try:
        with tree.open_root() as root:
            entry = tree.entry_of(file, root)
        # Before it is read.
        if entry and entry.kind is EntryKind.FILE and (refusal := _refusal(entry)):
            raise InTheWay(what=file, why=refusal)
        found = tree.look(file)
    except (PathRefused, StorageFailed) as error:
        raise InTheWay(what=file, why=error.details["why"]) from None
    except OSError as error:
        raise InTheWay(what=file, why=why_failed(error)) from None
    if found is None:
        return ""
    try:
        return found.data.decode("utf-8")
    except UnicodeDecodeError as error:
        why = Text("it is not UTF-8 at byte {at}", at=error.start)
        raise InTheWay(what=file, why=why) from None


def _refusal(entry: Entry) -> Text | None:
    if entry.size > LARGEST:
        return Text("it has {size} bytes, {limit} are allowed", size=entry.size, limit=LARGEST)
    if not entry.mode & 0o200:
        return Text("it is read-only")
    if entry.owner != os.geteuid() and os.geteuid():
        return Text("it belongs to another user")
    return None


def _merge(agent: Agent, file: str, text: str, words: Sequence[str]) -> str:
    bom = _BOM if text.startswith(_BOM) else ""
    return bom + entries.merge_entry(agent, file, text.removeprefix(bom), words)
