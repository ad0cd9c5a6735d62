"""Terminals that an agent asks its editor for: commands in its copy, inside its sandbox."""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Callable
from typing import Any, Final

from msgspec import Raw, Struct, UnsetType

from ringi.acp.files import in_words, parse_params
from ringi.acp.paths import ProjectPaths
from ringi.acp.protocol import INVALID_PARAMS, RpcError
from ringi.acp.thread import fence_text
from ringi.errors import RingiError
from ringi.kernel.process.start import RunningCommand
from ringi.kernel.text import Text, visible, without_codes
from ringi.tree.copy_run import CopyRun

MOST_TERMINALS: Final = 32
_MOST_OUTPUT: Final = 1_000_000
_MOST_SHOWN: Final = 50_000
"""Characters in a thread; the agent gets all of it."""
_CHUNK: Final = 65536
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Inside the sandbox: its folder and variables must not reach the sandbox's own program.
_INSIDE: Final = ("/bin/sh", "-c", 'cd "$1" && shift && exec env -- "$@"', "sh")


class Variable(Struct):
    name: str
    value: str


class Create(Struct, rename="camel"):
    command: str
    args: list[str] | None = None
    env: list[Variable] | None = None
    cwd: str | None = None
    output_byte_limit: int | None = None


class Named(Struct, rename="camel"):
    terminal_id: str


class AgentTerminal:
    def __init__(self, title: str, most: int) -> None:
        self.title = title
        self._most = most
        self._output = bytearray()
        self._truncated = False
        self._command: RunningCommand | None = None
        self._end: Callable[[], None] = lambda: None
        self._reader = -1
        self.over = asyncio.Event()

    def start(self, run: CopyRun, words: tuple[str, ...]) -> None:
        """Blocks shortly. Raises RingiError, OSError and ValueError."""
        with contextlib.ExitStack() as ours:
            self._reader, writer = os.pipe()
            ours.callback(os.close, self._reader)
            os.set_blocking(self._reader, False)
            with contextlib.ExitStack() as theirs:
                theirs.callback(os.close, writer)
                started = run.start(words, {}, stdin=subprocess.DEVNULL, stdout=writer, stderr=writer)
                self._command = ours.enter_context(started)
            self._end = ours.pop_all().close

    def listen(self) -> None:
        loop, command = asyncio.get_running_loop(), self._command
        if command is not None:
            loop.add_reader(self._reader, self._read)
            loop.add_reader(command.fileno(), self._hear)

    def _read(self) -> bool:
        """False if nothing is there."""
        try:
            data = os.read(self._reader, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            asyncio.get_running_loop().remove_reader(self._reader)
            return False
        self._output += data
        if (more := len(self._output) - self._most) > 0:
            self._truncated = True
            del self._output[:more]
        return True

    def _hear(self) -> None:
        if self._command is not None:
            self._command.hear()
            if self._command.over:
                self._finish(self._command)

    def _finish(self, command: RunningCommand) -> None:
        asyncio.get_running_loop().remove_reader(command.fileno())
        while self._read():
            pass
        self.over.set()

    async def kill(self) -> None:
        """Ends it and all it started. What it printed stays."""
        if self._command is not None:
            loop, command, end = asyncio.get_running_loop(), self._command, self._end
            self._end = lambda: None
            loop.remove_reader(command.fileno())
            while self._read():
                pass
            loop.remove_reader(self._reader)
            await asyncio.to_thread(end)
            self.over.set()

    @property
    def status(self) -> dict[str, Any] | None:
        if not self.over.is_set() or self._command is None:
            return None
        code = self._command.exit_code
        if code is not None and code > 128:  # noqa: PLR2004  # as the shell tells a signal
            with contextlib.suppress(ValueError):
                return {"exitCode": None, "signal": signal.Signals(code - 128).name}
        return {"exitCode": code, "signal": None}

    @property
    def output(self) -> dict[str, Any]:
        data = bytes(self._output)
        if self._truncated:  # not in the middle of a character
            data = data[next((at for at, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0) :]  # noqa: PLR2004
        return {
            "output": data.decode(errors="replace"),
            "truncated": self._truncated,
            "exitStatus": self.status,
        }

    @property
    def shown(self) -> str:
        """For people: the command and the end of what it printed."""
        printed, title = without_codes(self.output["output"]), self.title
        cut = "…" if len(printed) > _MOST_SHOWN else ""
        title = title if len(title) <= _MOST_SHOWN else title[:_MOST_SHOWN] + "…"
        return fence_text(
            f"$ {visible(title)}\n{cut}{visible(printed[-_MOST_SHOWN:], keep=chr(9) + chr(10))}"
        )


class Terminals:
    """Those of one agent."""

    def __init__(self, run: Callable[[], CopyRun], paths: ProjectPaths) -> None:
        self._run = run
        self._paths = paths
        self._open: dict[str, AgentTerminal] = {}
        self._made = 0

    def get(self, name: str) -> AgentTerminal | None:
        return self._open.get(name)

    async def serve(self, method: str, params: Raw | UnsetType) -> dict[str, Any]:
        """Raises RpcError."""
        if method == "terminal/create":
            return await self._create(parse_params(params, Create))
        name = parse_params(params, Named).terminal_id
        terminal = self._open.get(name)
        if terminal is None:
            raise RpcError(INVALID_PARAMS, Text("There is no terminal {name}.", name=repr(name)))
        if method == "terminal/output":
            return terminal.output
        if method == "terminal/wait_for_exit":
            await terminal.over.wait()
            return terminal.status or {}
        await terminal.kill()
        if method == "terminal/release":
            self._open.pop(name, None)
        return {}

    async def _create(self, wanted: Create) -> dict[str, Any]:
        if len(self._open) >= MOST_TERMINALS:
            raise RpcError(
                INVALID_PARAMS,
                Text(
                    "1 terminal is open: release it first.",
                    "{count} terminals are open: release one first.",
                    count=MOST_TERMINALS,
                ),
            )
        folder = self._paths.for_agent(wanted.cwd or self._paths.at_project(""))
        variables = [f"{one.name}={one.value}" for one in wanted.env or () if _NAME.fullmatch(one.name)]
        command = (wanted.command, *wanted.args) if wanted.args else ("/bin/sh", "-c", wanted.command)
        most = min(wanted.output_byte_limit or _MOST_OUTPUT, _MOST_OUTPUT)
        terminal = AgentTerminal(" ".join([wanted.command, *(wanted.args or ())]), most)
        self._made += 1
        name = f"ringi-terminal-{self._made}"
        self._open[name] = terminal
        try:
            await asyncio.to_thread(terminal.start, self._run(), (*_INSIDE, folder, *variables, *command))
        except (RingiError, OSError, ValueError) as error:
            self._open.pop(name, None)
            raise in_words(error) from None
        terminal.listen()
        return {"terminalId": name}

    async def close(self) -> None:
        for terminal in [*self._open.values()]:
            await terminal.kill()
        self._open.clear()
