"""Code that nobody has approved must not type the approval: a real tmux, and every kind of sandbox."""

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.functional.beside_desk import HomeDesk, home_desk, rechecked, run_command, walled

PATIENCE = 60.0
CONNECT = """\
import socket, sys
try:
    socket.socket(socket.AF_UNIX).connect(sys.argv[1])
    print("connected")
except OSError as error:
    print(f"refused: {error.strerror}")
"""


class Tmux(NamedTuple):
    """A server with one shell, as a person has it."""

    socket: Path
    variables: dict[str, str]

    def call(self, *words: str) -> None:
        argv = ["tmux", "-f", os.devnull, "-S", str(self.socket), *words]
        subprocess.run(argv, env={**os.environ, **self.variables}, check=True, timeout=PATIENCE)

    def type(self, words: str) -> None:
        self.call("send-keys", "-t", "person", words, "Enter")


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch, first_commit: Path) -> Iterator[HomeDesk]:
    with home_desk(monkeypatch, first_commit) as desk:
        yield desk


@pytest.fixture(params=["TMUX_TMPDIR", "its usual folder", "a folder that no variable names"])
def tmux(request: pytest.FixtureRequest, desk: HomeDesk) -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    user, name = f"tmux-{os.getuid()}", f"ringi-{os.getpid()}"
    if request.param == "TMUX_TMPDIR":
        socket = desk.home / "t" / user / "default"
        variables = {"TMUX_TMPDIR": str(desk.home / "t"), "TMUX": f"{socket},1,0", "TMUX_PANE": "%0"}
    elif request.param == "its usual folder":
        socket = Path("/tmp") / user / name  # the one that tmux uses
        variables = {"TMUX": f"{socket},1,0", "TMUX_PANE": "%0"}
    else:
        socket, variables = desk.home / name, {}
    socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    server = Tmux(socket, variables)
    server.call("new-session", "-d", "-s", "person", "sh")
    try:
        yield server
    finally:
        server.call("kill-server")


def attack(tmux: Tmux, canary: Path) -> str:
    typed = shlex.quote(f"touch {canary}")
    # With and without the path: the variables may lead there as well.
    return (
        f"tmux -S {tmux.socket} send-keys -t person {typed} Enter\n"
        f"tmux send-keys -t person {typed} Enter\n"
        f"python3 -c {shlex.quote(CONNECT)} {tmux.socket}\n"
    )


@walled
@pytest.mark.req("PT-7")
def test_nothing_types_into_the_persons_tmux(desk: HomeDesk, tmux: Tmux) -> None:
    canary, after = desk.home / "typed", desk.home / "after"
    script = attack(tmux, canary)
    (desk.home / "attack.sh").write_text(script)
    agent = f"cp '{desk.home}/attack.sh' .; {{ {script} }} > said 2>&1"
    done = desk.process(
        "--json", "with", "--check", "sh attack.sh", "--", "sh", "-c", agent, **tmux.variables
    )
    assert done.returncode in {0, 6}, done.stderr
    assert "+refused" in desk.run("show", "--diff").stdout  # the agent
    command = run_command(desk, ["sh", "-c", script], **tmux.variables)
    assert "refused" in command
    assert "connected" not in command
    plan = desk.json("show", "p1")
    own = plan["state"]["checks"]
    again = rechecked(desk, plan["plan"]["id"], **tmux.variables)
    for check in (*own, *again):
        assert "refused" in check["output"]
        assert "connected" not in check["output"]
    # Keys arrive in the order they were sent, so what was typed before would be done by then.
    tmux.type(f"touch {after}")
    until = time.monotonic() + PATIENCE
    while not after.exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert after.exists()
    assert not canary.exists()
