"""Servers outside for an agent inside: real sockets, real processes."""

import os
import socket
import stat
import sys
from pathlib import Path

import pytest

from ringi.agents.socket import AgentSocket, SocketServer
from ringi.kernel.process.supervisor import read_stat
from ringi.kernel.process.terminal import run_in_terminal
from tests.helpers import PATIENCE_SEC, PYTHON

# Answers each line with itself and its own process number.
ECHO = "import os, sys\nfor line in sys.stdin: print(os.getpid(), os.getppid(), line.strip(), flush=True)"
CLIENT = """
import os, socket, sys
made = socket.socket(socket.AF_UNIX); made.connect(os.environ["DOOR"])
made.sendall(b"hello\\n"); answer = made.makefile().readline()
open("answer", "a").write(answer)
"""


def server(code: str = ECHO, *argv: str) -> SocketServer:
    return SocketServer(argv or (sys.executable, "-c", code), Path.cwd(), os.environ)


def knocked(door: AgentSocket) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(PATIENCE_SEC)
    made.connect(str(door.path))
    return made


def gone(pid: int) -> bool:
    found = read_stat(pid)
    return found is None or found.dead


def test_each_who_knocks_gets_a_server(tmp_path: Path) -> None:
    with AgentSocket(server()) as door:
        assert door.path is not None
        assert stat.S_IMODE(door.path.parent.stat().st_mode) == 0o700
        guests = []
        for _ in range(3):
            guests.append(knocked(door))
            assert door.serve()
        pids = set()
        for number, guest in enumerate(guests):
            guest.sendall(b"%d\n" % number)
            pid, parent, said = guest.makefile().readline().split()
            assert (int(parent), said) == (os.getpid(), str(number))
            pids.add(int(pid))
        assert len(pids) == 3
        guests[0].shutdown(socket.SHUT_WR)
        assert guests[0].recv(10) == b""
    assert all(map(gone, pids))
    assert not door.path
    for guest in guests:
        guest.close()


def test_a_server_that_is_not_there_or_ends_closes_the_connection(tmp_path: Path) -> None:
    for argv in (("/nowhere/server",), ("false",)):
        with AgentSocket(server("", *argv)) as door, knocked(door) as guest:
            door.serve()
            assert guest.recv(10) == b""


def test_nobody_can_have_servers_without_end() -> None:
    with AgentSocket(server("import time; time.sleep(100)")) as door:
        guests = [knocked(door) for _ in range(16)]
        assert all(door.serve() for _ in guests)
        with knocked(door) as another:
            assert not door.serve()
            assert another.recv(10) == b""
        for guest in guests:
            guest.close()


def test_who_knocks_and_goes_leaves_nothing() -> None:
    with AgentSocket(server()) as door:
        assert not door.serve()
        knocked(door).close()
        door.serve()
    assert door.descriptors == ()


def test_it_lies_where_no_other_sandbox_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/var/tmp")
    with AgentSocket(server()) as door, knocked(door) as guest:
        assert door.folder is not None
        assert door.folder.parent == Path("/tmp")
        assert door.serve()
        guest.sendall(b"x\n")
        assert guest.makefile().readline().endswith(" x\n")


def test_without_a_place_for_it_there_is_none(tmp_path: Path) -> None:
    with AgentSocket(server(), below=str(tmp_path / "nowhere")) as door:
        assert (door.path, door.descriptors, door.serve()) == (None, (), False)


def test_servers_are_not_counted_among_what_a_command_leaves(tmp_path: Path) -> None:
    (tmp_path / "client").write_text(CLIENT)
    script = f"{PYTHON} client; {PYTHON} client; setsid sleep 300 & sleep 0.3; exit 3"
    with AgentSocket(server(ECHO + "\nimport time; time.sleep(100)")) as door:
        env = {**os.environ, "DOOR": str(door.path)}
        with (tmp_path / "screen").open("wb") as screen:
            ended = run_in_terminal(
                ["sh", "-c", script], cwd=tmp_path, env=env, output=screen.fileno(), listener=door
            )
        pids = [int(line.split()[0]) for line in (tmp_path / "answer").read_text().splitlines()]
        assert (ended.exit_code, ended.leftovers, ended.survivors) == (3, 1, 0)
        assert len(set(pids)) == 2
        assert not any(map(gone, pids))  # they had no part in its end
    assert all(map(gone, pids))
