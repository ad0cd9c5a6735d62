"""What an agent can see and write in a sandbox; without bubblewrap, it is told that there is none."""

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ringi.kernel.process.supervisor import read_stat
from tests.functional.beside_desk import HomeDesk, home_desk, walled
from tests.functional.desk import RINGI, Desk


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch, first_commit: Path) -> Iterator[HomeDesk]:
    with home_desk(monkeypatch, first_commit) as desk:
        yield desk


def said(desk: Desk, script: str, *options: str, **variables: str) -> dict[str, str]:
    """What the script wrote into its files, by name."""
    done = desk.process("--json", "with", *options, "--", "sh", "-c", script, **variables)
    assert done.returncode == 0, done.stderr
    diff = desk.run("show", "--diff").stdout
    found: dict[str, str] = {}
    name = ""
    for line in (line[2:] for line in diff.splitlines()):
        if line.startswith("+++ b/"):
            name = line[6:]
        elif line.startswith("+"):
            found[name] = found.get(name, "") + line[1:] + "\n"
    return found


@walled
def test_only_the_copy_can_be_written_and_secrets_are_out_of_sight(outside: HomeDesk) -> None:
    desk, home = outside, outside.home
    for folder in (".ssh", ".gnupg", ".config/ringi", "plain"):
        (home / folder).mkdir(parents=True)
        (home / folder / "secret").write_text("secret\n")
    agent = home / "agent.sock"
    agent.write_text("a socket\n")
    desk.agent("echo other > other.txt")
    script = f"""
        for place in '{home}' / /usr '{home}/.cache' '{home}/.cache/ringi/work' ..; do
            touch "$place/left" 2>/dev/null && echo "wrote $place" >> wrote
        done
        touch /tmp/mine && echo yes > tmp
        cat '{desk.root}/README.md' '{home}/plain/secret' > seen
        cat ~/.ssh/secret ~/.gnupg/secret ~/.config/ringi/secret ~/agent.sock > secret 2> /dev/null
        find '{home}' -name ringi.db -o -name other.txt -o -name copy.json > found
        echo "to: $SSH_AUTH_SOCK$XDG_RUNTIME_DIR$TMPDIR" > sockets
        git log --oneline > log
        git add -A; git -c user.name=a -c user.email=b commit -qm mine; git gc -q; git log --oneline >> log
    """
    found = said(desk, script, SSH_AUTH_SOCK=str(agent), XDG_RUNTIME_DIR="/run/user/0", TMPDIR=str(home))
    assert found.pop("log").split()[1::2] == ["first", "mine", "first"]
    assert found == {"tmp": "yes\n", "seen": "# Sample\nsecret\n", "sockets": "to: \n"}
    assert not list(desk.root.parent.rglob("left"))
    assert desk.json("show")["plan"]["title"] == "mine"


@walled
def test_what_variables_lead_to_is_not_reached(outside: HomeDesk) -> None:
    """Keys could be typed there into a terminal of the person's."""
    desk, home = outside, outside.home
    runtime = home / "runtime"
    for folder in (runtime, home / ".screen", home / "tmux"):
        folder.mkdir()
    paths = [home / "tmux" / "default", home / "docker.sock", runtime / "bus", home / ".screen" / "1.tty"]
    script = """
        for path in PATHS; do python3 - "$path" <<'X'
import socket, sys
try:
    socket.socket(socket.AF_UNIX).connect(sys.argv[1])
    open("reached", "a").write(sys.argv[1])
except OSError:
    open("refused", "a").write("no\\n")
X
        done"""
    with ExitStack() as stack:
        for path in paths:
            listening = stack.enter_context(socket.socket(socket.AF_UNIX))
            listening.bind(str(path))
            listening.listen()
        found = said(
            desk, script.replace("PATHS", " ".join(map(str, paths))), TMUX=f"{paths[0]},12,0",
            DOCKER_HOST=f"unix://{paths[1]}", XDG_RUNTIME_DIR=str(runtime),
            DBUS_SESSION_BUS_ADDRESS=f"unix:path={paths[2]},guid=1",
        )  # fmt: skip
    assert found == {"refused": "no\n" * 4}


@walled
@pytest.mark.parametrize("place", [".", ".claude"])
def test_a_workspace_among_the_agents_own_places_stays_read_only(outside: HomeDesk, place: str) -> None:
    home = outside.home
    root = home / place
    root.mkdir(exist_ok=True)
    (root / "mine").write_text("mine\n")
    (root / "link").symlink_to("mine")
    for command in (["init", "-q"], ["add", "mine", "link"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    outside.program("claude", f"#!/bin/sh\necho x > '{root}/mine'; echo y > '{root}/new'; echo z > done\n")
    done = Desk(root).process("with", "claude", "-p", "go on")
    assert "p1" in done.stdout, done.stdout
    assert (root / "mine").read_text() == "mine\n"
    assert not (root / "new").exists()
    assert f"{root}," not in done.stdout


@walled
@pytest.mark.parametrize("way", ["a link", "a link above it", "a variable"])
def test_an_agents_state_that_leads_into_the_workspace_is_refused(outside: HomeDesk, way: str) -> None:
    """It is writable in the sandbox, and so would be that part of the workspace."""
    desk, inside = outside, outside.root / "app"
    more = {}
    if way == "a link":
        (desk.home / ".claude").symlink_to(inside)
    elif way == "a link above it":
        (desk.home / ".claude").symlink_to(desk.home / "dots/claude")
        (desk.home / "dots").symlink_to(desk.root)
        (desk.root / "claude").mkdir()
    else:
        more["CLAUDE_CONFIG_DIR"] = str(inside)
    before = desk.files()
    desk.program("claude", "#!/bin/sh\necho x > ~/.claude/x; echo x > $CLAUDE_CONFIG_DIR/x; echo z > done\n")
    done = desk.process("with", "claude", "--print", "go", **more)
    assert done.returncode == 6
    assert "keeps its state, leads into the workspace" in done.stderr
    assert desk.files() == before
    assert desk.json("list") == []
    assert "Making a copy" not in done.stdout


@walled
def test_homes_that_are_full_or_have_links_to_nowhere(outside: HomeDesk) -> None:
    for number in range(2100):
        (outside.home / f"file{number}").touch()
    (outside.home / ".claude").symlink_to("/nowhere/claude")
    outside.program("claude", "#!/bin/sh\necho {} > ~/.claude.json; echo z > done\n")
    done = outside.process("with", "claude", "-p", "go on")
    assert done.returncode == 0, done.stdout
    assert "p1" in done.stdout
    assert f"{outside.home}/.claude," not in done.stdout
    assert (outside.home / ".claude.json").read_text() == "{}\n"


@walled
def test_places_that_a_person_named_can_be_written(outside: HomeDesk) -> None:
    desk, home = outside, outside.home
    for folder in ("shared", ".ssh"):
        (home / folder).mkdir()
    script = "echo x > ~/shared/file; touch ~/.ssh/left ~/left; touch done"
    wished = f"{home}/shared,{desk.root},~/.ssh,~/none"
    done = desk.process("with", "--", "sh", "-c", script, RINGI_WITH_WRITABLE=wished)
    assert done.returncode == 0
    assert f"In a sandbox: it can write to its copy, a /tmp of its own, {home}/shared." in done.stdout
    assert (home / "shared" / "file").read_text() == "x\n"
    assert not list(desk.root.parent.rglob("left"))


@walled
def test_keys_reach_the_agent_and_not_the_sandbox(desk: Desk) -> None:
    script = (
        "trap 'echo caught; caught=1' INT; echo ready; "
        "until [ \"$(stty size)\" = '11 47' ]; do sleep 0.1; done; "
        'echo resized; until [ "$caught" ]; do sleep 0.1; done; echo done > d'
    )
    terminal = desk.terminal("with", "--", "sh", "-c", script)
    terminal.read("ready")
    terminal.child.setwinsize(11, 47)
    terminal.read("resized")
    terminal.child.sendintr()
    terminal.read("caught")
    code, rest = terminal.end()
    assert code == 0, rest
    assert "ringi review p1" in rest


@walled
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGHUP])
def test_nothing_survives_its_supervisor(desk: Desk, isolated: Path, how: signal.Signals) -> None:
    script = "setsid nohup sh -c 'sleep 3141' > /dev/null 2>&1 & echo x > started; sleep 3141"
    process = subprocess.Popen(
        [*RINGI, "with", "--", "sh", "-c", script],
        cwd=desk.root, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    end = time.monotonic() + 60
    while not list((isolated / "cache").rglob("tree/started")) and time.monotonic() < end:
        time.sleep(0.05)
    family = below(process.pid)
    assert len(family) >= 3
    process.send_signal(how)
    assert process.wait(60) == (-9 if how is signal.SIGKILL else 130)
    while any(map(lives, family)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(lives, family))
    if how is signal.SIGKILL:
        assert "not a plan yet" in desk.run("doctor").stdout
    else:
        assert desk.json("show", "p1")["state"]["previews"]["files"] == ["started"]


def below(pid: int) -> list[tuple[int, int]]:
    """Every descendant, with its start."""
    names = [path.name for path in Path("/proc").iterdir() if path.name.isdigit()]
    stats = [found for name in names if (found := read_stat(int(name)))]
    parents, found = {pid}, []
    for _ in range(8):
        for stat in stats:
            if stat.parent in parents and stat.pid not in parents:
                parents.add(stat.pid)
                found.append(stat.identity)
    return found


def lives(identity: tuple[int, int]) -> bool:
    found = read_stat(identity[0])
    return found is not None and found.identity == identity and not found.dead


def test_without_a_sandbox_it_is_said(desk: Desk) -> None:
    elsewhere = desk.root.parent / "elsewhere"
    done = desk.process(
        "with", "--", "sh", "-c", f"echo x > '{elsewhere}'; echo y > y", RINGI_WITH_SANDBOX="off"
    )
    assert "NOT in a sandbox (with.sandbox is off)" in done.stdout
    assert elsewhere.exists()


@walled
def test_checks_run_behind_the_same_walls(desk: Desk) -> None:
    elsewhere = desk.root.parent / "elsewhere"
    done = desk.process("with", "--check", f"touch '{elsewhere}'; pwd", "--", "sh", "-c", "echo y > y")
    assert done.returncode == 0
    assert not elsewhere.exists()
    assert desk.json("show")["state"]["checks"][0]["output"].rstrip() == str(desk.root)


def test_the_agent_has_the_persons_token_of_a_forge_and_checks_of_its_work_have_not(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_0123456789")
    agent = 'test "${#GITHUB_TOKEN}" = 14 && echo y > y'
    done = desk.process("with", "--check", 'echo "${#GITHUB_TOKEN}"', "--", "sh", "-c", agent)
    assert done.returncode == 0
    assert desk.json("show")["state"]["checks"][0]["output"].rstrip() == "0"


def test_a_copy_that_was_emptied_is_no_change(desk: Desk) -> None:
    before = desk.files()
    done = desk.process("with", "--", "sh", "-c", 'rm -rf "$PWD"/* "$PWD"/.[a-z]*')
    assert done.returncode == 1
    assert "gone" in done.stderr
    assert desk.json("list") == []
    assert desk.files() == before
    assert "not a plan yet" not in desk.run("doctor").stdout
