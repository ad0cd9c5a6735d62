"""The promises about what people and agents use all day."""

import fcntl
import itertools
import json
import os
import pty
import select
import shutil
import statistics
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from bench.measure import Figure, command, ratio, settle, size, take_turns
from bench.plans import alternate
from bench.scratch import opened, scratch
from bench.snapshots import repository
from ringi.app.api import Workspace
from ringi.cli.recheck import Recheck
from ringi.plans.check import add_checks
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec
from ringi.tree.check_result import CheckResult
from ringi.tree.copy_run import remove_kept
from ringi.tree.snapshot import Snapshots

RINGI = str(Path(sys.executable).with_name("ringi"))
NOTHING = [sys.executable, "-c", "pass"]
_COLUMNS, _ROWS = 80, 24
_PATIENCE = 60.0
# What would tell the program that an agent asks, not a person.
_AGENTS = (
    "CLAUDE",
    "CODEX",
    "GEMINI",
    "AIDER",
    "CURSOR",
    "OPENCODE",
    "COPILOT",
    "GOOSE",
    "AMP_",
    "AGENT",
    "AI_",
)

ECHO_SERVER = """
import anyio, mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

ECHO = types.Tool(name="echo", input_schema={"type": "object", "properties": {"text": {"type": "string"}}})

async def listing(context, params):
    return types.ListToolsResult(tools=[ECHO])

async def call(context, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text=params.arguments["text"])])

async def main():
    server = Server("echo", on_list_tools=listing, on_call_tool=call)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())

anyio.run(main)
"""


def figures() -> Iterator[Figure]:
    yield from alone()
    yield from review()
    yield from beside()
    yield from check_again()
    yield from mcp()
    yield from hook()


def alone() -> Iterator[Figure]:
    with scratch() as (root, environment):
        with opened(root, environment) as workspace:
            for number in range(3):
                propose(workspace, f"plan {number}", {f"f{number}.py": "x\n", "pyproject.toml": "x\n"})
        jobs = [command([RINGI], cwd=root, env=environment), command(NOTHING, cwd=root, env=environment)]
        take_turns(2, *jobs)
        yield ratio("ringi with 3 waiting plans ÷ python -c pass", take_turns(25, *jobs), 8)


def propose(workspace: Workspace, title: str, files: Mapping[str, str]) -> str:
    plan_id = workspace.plan.propose(title, proposer="bench")
    specs = [ActionSpec(SpecKind.WRITE, path, content) for path, content in files.items()]
    report = workspace.plan.set_action_specs(plan_id, specs)
    assert report.ok, report.issues
    return plan_id


# --- the review -----------------------------------------------------------------------------------


def review() -> Iterator[Figure]:
    with scratch() as (root, environment), scratch() as (small_root, small):
        files_changed = size(200, 4)
        for place, variables, files in ((root, environment, files_changed), (small_root, small, 2)):
            with opened(place, variables) as workspace:
                propose(workspace, "many lines", rewritten(place, files))

        def opening() -> float:
            with Screen(root, environment) as screen:
                return screen.opened_after

        pair = alternate(10, opening, clock(command(NOTHING, cwd=root, env=environment)))
        name = f"review opens {files_changed} files, {files_changed * 100:,} lines ÷ python -c pass"
        yield ratio(name, pair, 20)
        with Screen(root, environment) as large, Screen(small_root, small) as little:
            times = [[large.answered(keys), little.answered(keys)] for keys in _KEYS * size(10, 1)]
        pair = [statistics.median(taken) for taken in zip(*times, strict=True)]
        yield ratio("a key in that review ÷ in one of 2 files", pair, 1.5)


# There and back again, so that there is always something to move to.
_KEYS = ["\x1b[B", "\x1b[A", "\x1b[6~", "\x1b[5~", "N", "P"]


def rewritten(root: Path, files: int) -> dict[str, str]:
    """Each file of 200 lines gets 50 of them replaced, in several hunks."""
    result = {}
    for number in range(files):
        path = f"d{number % 10}/f{number}.py"
        old = [f"value_{line} = {number}  # as it was\n" for line in range(200)]
        new = [f"value_{at} = {-at}  # rewritten\n" if at % 40 < 10 else line for at, line in enumerate(old)]
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text("".join(old))
        result[path] = "".join(new)
    return result


class Screen:
    """`ringi review` in a pseudo-terminal; every drawing ends with showing or hiding the cursor."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        variables = {name: value for name, value in environment.items() if not name.startswith(_AGENTS)}
        start = time.perf_counter()
        self._child = subprocess.Popen(
            [RINGI, "review"],
            cwd=root,
            env={**variables, "TERM": "xterm-256color"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._master = master
        # The first row comes after the screen was taken over, which hides the cursor too.
        self._until(b"\x1b[1;1H", then=b"\x1b[?25")
        self.opened_after = time.perf_counter() - start

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._master)
        self._child.wait(10)

    def answered(self, key: str) -> float:
        """Seconds until the redraw, from a moment in which nothing else was being drawn."""
        while select.select([self._master], [], [], 0.1)[0]:
            os.read(self._master, 1 << 16)
        start = time.perf_counter()
        os.write(self._master, key.encode())
        self._until(b"\x1b[?25")
        return time.perf_counter() - start

    def _until(self, wanted: bytes, *, then: bytes = b"") -> None:
        seen = b""
        while wanted not in seen or then not in seen[seen.index(wanted) :]:
            ready = select.select([self._master], [], [], _PATIENCE)[0]
            try:
                data = os.read(self._master, 1 << 16) if ready else b""
            except OSError:
                data = b""
            if not data:
                raise RuntimeError(f"the review did not draw: {seen[-500:]!r}")
            seen += data


def clock(job: Callable[[], object]) -> Callable[[], float]:
    def timed() -> float:
        start = time.perf_counter()
        job()
        return time.perf_counter() - start

    return timed


# --- beside an agent ------------------------------------------------------------------------------


def beside() -> Iterator[Figure]:
    count = size(7_000, 20)
    with repository(count) as (root, state, environment):
        settle()
        numbers = itertools.count()

        def clone() -> float:
            target = root.parent / f"clone{next(numbers)}"
            words = ["git", "clone", "-q", "--shared", str(root), str(target)]
            start = time.perf_counter()
            subprocess.run(words, env=environment, check=True)
            Snapshots(state, root).take()
            taken = time.perf_counter() - start
            shutil.rmtree(target)
            return taken

        ours = clock(
            command([RINGI, "with", "--", "true"], cwd=root, env=environment, stdin=subprocess.DEVNULL)
        )
        name = f"ringi with true, {count:,} files ÷ git clone --shared and a snapshot"
        yield ratio(name, alternate(5, ours, clone), 1.2)


# --- checking again in a review -------------------------------------------------------------------


def check_again() -> Iterator[Figure]:
    """Against the plain loop: a clone for each check, with the plan's file written into it."""
    count = size(30_000, 20)
    with repository(count) as (root, _, environment):
        (root / ".agent").mkdir()
        with opened(root, environment) as workspace:
            plan_id = propose(workspace, "one file", {"p0/q0/f0.py": "x\n"})
            add_checks(workspace, plan_id, [CheckResult("true", 0, 0.0, "", "")])
            if not workspace.check.uses_sandbox():
                print("there is no sandbox; checking again is not measured", file=sys.stderr)
                return
            copies = workspace.places.copies

        def ours() -> None:
            again = Recheck(root, plan_id, environment)
            again.wait()
            assert again.why_not is None, again.why_not

        numbers = itertools.count()

        def loop() -> float:
            target = root.parent / f"clone{next(numbers)}"
            start = time.perf_counter()
            subprocess.run(
                ["git", "clone", "-q", "--shared", str(root), str(target)], env=environment, check=True
            )
            (target / "p0/q0/f0.py").write_text("x\n")
            subprocess.run(["true"], cwd=target, check=True)
            taken = time.perf_counter() - start
            shutil.rmtree(target)
            return taken

        ours()  # makes the copy
        pair = alternate(5, clock(ours), loop)
        yield ratio(f"a check again in a review, {count:,} files ÷ a clone for each check", pair, 0.5)
        yield Figure(f"a check again in a review, {count:,} files", pair[0], 2, unit=" s")
        remove_kept(copies)


# --- MCP ------------------------------------------------------------------------------------------


def mcp() -> Iterator[Figure]:
    with scratch() as (root, environment):
        with opened(root, environment) as workspace:
            plan_id = propose(workspace, "one file", {"a.py": "x\n"})
        ours, theirs = [RINGI, "mcp"], [sys.executable, "-c", ECHO_SERVER]

        def greeting(argv: Sequence[str]) -> Callable[[], float]:
            def greeted() -> float:
                with Client(argv, root, environment) as client:
                    return client.greeted_after

            return greeted

        alternate(1, greeting(ours), greeting(theirs))
        pair = alternate(10, greeting(ours), greeting(theirs))
        yield ratio("MCP: start and initialize ÷ the SDK's smallest server", pair, 0.5)
        with Client(ours, root, environment) as plans, Client(theirs, root, environment) as echo:
            jobs = [
                lambda: plans.ask("tools/list"),
                lambda: plans.call("plan_get_state", plan_id=plan_id),
                lambda: echo.call("echo", text="x" * 100),
            ]
            take_turns(10, *jobs)
            listing, state, echoed = take_turns(200, *jobs)
        yield ratio("MCP: tools/list ÷ an echo of the SDK", (listing, echoed), 1.5)
        yield ratio("MCP: plan_get_state ÷ an echo of the SDK", (state, echoed), 1.5)


class Client:
    """A client of few words, so that its own work is not measured."""

    def __init__(self, argv: Sequence[str], root: Path, environment: Mapping[str, str]) -> None:
        start = time.perf_counter()
        self._server = subprocess.Popen(
            argv, cwd=root, env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._numbers = itertools.count()
        self.ask(
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "bench", "version": "1"},
        )
        self.greeted_after = time.perf_counter() - start
        self._send({"method": "notifications/initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate(timeout=20)

    def call(self, tool: str, **arguments: Any) -> Any:
        result = self.ask("tools/call", name=tool, arguments=arguments)
        assert not result.get("isError"), result
        return result

    def ask(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": parameters})
        assert self._server.stdout
        for line in self._server.stdout:
            answer = json.loads(line)
            if answer.get("id") == number:
                return answer["result"]
        raise RuntimeError(f"no answer to {method}")

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._server.stdin
        self._server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._server.stdin.flush()


# --- the hook -------------------------------------------------------------------------------------


def hook() -> Iterator[Figure]:
    with scratch() as (root, environment):
        asked = {
            "session_id": "bench",
            "transcript_path": str(root / "transcript.jsonl"),
            "cwd": str(root),
            "permission_mode": "default",
            "hook_event_name": "PreToolUse",
            "tool_name": "Edit",
            "tool_input": {"file_path": str(root / "a.py"), "old_string": "x", "new_string": "y"},
        }

        def denied() -> None:
            request = json.dumps(asked).encode()
            done = subprocess.run(
                [RINGI, "hook", "claude"],
                cwd=root,
                env=dict(environment),
                input=request,
                capture_output=True,
                check=False,
            )
            assert done.returncode == 2, done

        take_turns(2, denied)
        [seconds] = take_turns(25, denied)
        yield Figure("ringi hook claude", seconds * 1000, 100, unit=" ms")
