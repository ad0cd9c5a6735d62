"""A command line does the work of a role: an agent that answers and ends, or any other program.

It runs as an agent of `ringi with` does: in the sandbox, at the project's own path, with its own state.
"""

import os
import shlex
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ringi.agents.command_line import ask_command, parse
from ringi.agents.record import LONGEST_WORD
from ringi.agents.sandbox import agent_sandbox, enclose
from ringi.agents.state import AgentState, SandboxContext
from ringi.agents.table import agent_of
from ringi.errors import NoSuchProgram, StorageFailed
from ringi.kernel.fs import replace_file
from ringi.kernel.process.capture import CommandResult, last
from ringi.kernel.process.program import in_copy, program_of
from ringi.kernel.text import Text, why_failed
from ringi.tree.commands import Invocation
from ringi.tree.copy import WorkCopy, put
from ringi.tree.copy_run import CopyRun

BRIEF_FILE: Final = "RINGI_BRIEF"
_BRIEF: Final = "{brief}"
_SEARCHED: Final = ("/usr/local/bin", "/usr/bin", "/bin", "/snap/bin", "/opt/homebrew/bin")
_STUB: Final = b"""#!/bin/sh
echo "gh is not available in a run: what it does cannot be approved or undone. Leave it to the person." >&2
exit 1
"""
_KEPT_ERRORS: Final = 65_536
_LATEST: Final = 8_192


class RoleRun(NamedTuple):
    """Where and how long a role's command works."""

    workspace: SandboxContext
    environment: Mapping[str, str]
    copy: WorkCopy
    timeout_sec: float
    output_bytes: int
    log: Callable[[bytes], None]
    reading: bool = False
    """It can change nothing in the copy, as far as a sandbox prevents it."""


def words_of(command: str) -> tuple[str, ...]:
    """Raises NoSuchProgram if there is none, or a quote does not end."""
    try:
        words = tuple(shlex.split(command))
    except ValueError:
        name = Text("{command}: a quote does not end", command=command)
        raise NoSuchProgram(name=name) from None
    if not words:
        raise NoSuchProgram(name=command)
    return words


def run_command(order: RoleRun, words: Sequence[str], brief: str) -> CommandResult:
    """Raises NoSuchProgram, NoSandbox, StateInWorkspace, StorageFailed, Interrupted."""
    copy, workspace = order.copy, order.workspace
    box = agent_sandbox(workspace)
    file = copy.folder / "brief.md"
    put(file, brief.encode("utf-8", "backslashreplace"))
    argv = _argv_for(words, brief, file, alone=box.bwrap is not None and not order.reading)
    argv = in_copy(argv, copy.folder_of_commands, workspace.places.root / copy.record.start)
    without = without_gh(workspace, copy, order.environment)
    environment = {**without.environment, BRIEF_FILE: str(file)}
    program_of(argv, copy.folder_of_commands, environment)

    def enclosing(invocation: Invocation) -> Invocation:
        return enclose(
            workspace, copy, box, invocation,
            visible=[file, without.visible], once=True, reading=order.reading, covered=without.covered,
        )  # fmt: skip

    log = _LogEnds(order.log, order.output_bytes)
    try:
        ran = CopyRun(copy, environment, enclosing=enclosing).run(
            argv,
            timeout_sec=order.timeout_sec,
            output=last(order.output_bytes),
            # A verdict is alone in its output.
            errors=last(_KEPT_ERRORS) if order.reading else None,
            on_output=log,
        )
        log(ran.errors)
    finally:
        log.end()
        if box.bwrap is not None:
            state = AgentState(workspace, copy, argv, environment)
            state.take_back()
            state.put_back_links()
    return ran


def _argv_for(words: Sequence[str], brief: str, file: Path, *, alone: bool) -> tuple[str, ...]:
    """An agent gets the brief as its message; another program its path."""
    agent = agent_of(words)
    if agent.resume is None or parse(agent.resume.line, words[1:]).own:
        return tuple(word.replace(_BRIEF, str(file)) for word in words)
    long = len(brief.encode("utf-8", "backslashreplace")) > LONGEST_WORD
    message = f"Read {file} and do what it says." if long else brief
    options, unless = agent.unattended if agent.unattended and alone else ((), frozenset())
    return ask_command(agent.resume, words, message, options, unless)


class WithoutGh(NamedTuple):
    """How a command is started that cannot use gh."""

    environment: dict[str, str]
    visible: Path
    covered: Mapping[Path, Path]


def without_gh(workspace: SandboxContext, copy: WorkCopy, environment: Mapping[str, str]) -> WithoutGh:
    stub = _stub(copy)
    path = environment.get("PATH", os.defpath)
    inside = {**environment, "PATH": f"{stub.parent}{os.pathsep}{path}"}
    root = workspace.places.root
    covered = {found: stub for found in _find_gh(inside) if not found.is_relative_to(root)}
    return WithoutGh(inside, stub.parent, covered)


def _stub(copy: WorkCopy) -> Path:
    """A program that says why gh is not there."""
    stub = copy.folder / "refused" / "gh"
    try:
        stub.parent.mkdir(mode=0o700, exist_ok=True)
        replace_file(stub, _STUB, synced=False)
        stub.chmod(0o700)
    except OSError as error:
        raise StorageFailed(what=str(stub), why=why_failed(error)) from None
    return stub


def _find_gh(environment: Mapping[str, str]) -> Iterator[Path]:
    """Every gh of this machine that we know of: in the sandbox the stub lies over it."""
    folders = [*environment.get("PATH", "").split(os.pathsep)[1:], *_SEARCHED]
    for folder in dict.fromkeys(folders):
        with suppress(OSError):
            found = Path(os.path.realpath(Path(folder) / "gh"))
            if folder.startswith("/") and found.is_file():
                yield found


class _LogEnds:
    """Passes on the first bytes, and at the end the last ones."""

    def __init__(self, log: Callable[[bytes], None], most: int) -> None:
        self._log = log
        self._room = max(0, most - _LATEST)
        self._latest: deque[bytes] = deque()
        self._held = self._dropped = 0

    def __call__(self, data: bytes) -> None:
        if now := data[: self._room]:
            self._room -= len(now)
            self._log(now)
        if later := data[len(now) :][-_LATEST:]:
            self._dropped += len(data) - len(now) - len(later)
            self._latest.append(later)
            self._held += len(later)
            while self._held - len(self._latest[0]) >= _LATEST:
                gone = len(self._latest.popleft())
                self._held, self._dropped = self._held - gone, self._dropped + gone

    def end(self) -> None:
        if self._latest:
            cut = b"\n[%d bytes left out]\n" % self._dropped if self._dropped else b""
            self._log(cut + b"".join(self._latest))
