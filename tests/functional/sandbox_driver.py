"""Makes canaries, runs `sandbox_attempts` in every kind of sandbox, and says what came of it.

A process of its own, because it also runs as another user. All it makes lies in one folder.
"""

import ctypes
import hashlib
import json
import os
import pty
import secrets
import shlex
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ringi.config.load import load
from ringi.kernel.places import places_of
from ringi.tree.check_result import CheckPhase
from ringi.tree.commands import commands_in
from ringi.tree.copy_run import checks_of

MARK = "ringi-escaped"
SEALED = ("settings.json", "settings.local.json", "hooks", "commands", "agents", "skills", "plugins")
TIMEOUT_SEC = 300
LIBC = ctypes.CDLL(None, use_errno=True)
KEYCTL, ADD_KEY = (250, 248) if os.uname().machine == "x86_64" else (219, 217)
ATTEMPTS = Path(__file__).with_name("sandbox_attempts.py")
SETTINGS = "[user]\n name = a\n email = a@example.invalid\n[safe]\n directory = *\n[gc]\n auto = 0\n"


class World:
    """A home, a project, and what must not be reached from a sandbox."""

    def __init__(self, base: Path, stack: ExitStack) -> None:
        self.base, self._stack = base, stack
        self.home, self.root, self.outside = base / "home", base / "repo", base / "outside"
        self.secret = secrets.token_hex(8)
        self.bin, self.tools = base / "bin", base / "tools"
        for folder in (self.home, self.root, self.outside, self.bin, self.tools, base / "other"):
            folder.mkdir(parents=True)
        (base / "gitconfig").write_text(SETTINGS)
        self.environment = self._environment()
        self.canaries = self._canaries()
        (self.tools / "canaries.json").write_text(json.dumps(self.canaries))
        (self.tools / "attempts.py").write_bytes(ATTEMPTS.read_bytes())

    def _environment(self) -> dict[str, str]:
        home = self.home
        self.socket_paths = {
            "ssh agent": home / "agent" / "ssh",
            "gpg agent": home / "gnupg-moved" / "S.gpg-agent",
            "gpg agent at home": home / ".gnupg" / "S.gpg-agent",
            "session bus": home / "bus",
            "docker": home / "docker.sock",
            "tmux": home / "t" / f"tmux-{os.getuid()}" / "default",
            "screen": home / ".screen" / "1.tty",
            "screen, moved": home / "screens" / "1.tty",
            "wayland": self.base / "runtime" / "wayland-0",
            "custom": self.outside / "custom.sock",
            "in a list": self.outside / "listed.sock",
            "unnamed": self.outside / "unnamed.sock",
            "unnamed in the home folder": home / "unnamed.sock",
            "an editor's": home / ".editor" / "pipe",
        }
        paths = {name: str(path) for name, path in self.socket_paths.items()}
        self.leading = {
            "SSH_AUTH_SOCK": paths["ssh agent"],
            "GNUPGHOME": str(home / "gnupg-moved"),
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={paths['session bus']},guid=1",
            "DOCKER_HOST": f"unix://{paths['docker']}",
            "TMUX_TMPDIR": str(home / "t"),
            "TMUX": f"{paths['tmux']},1,0",
            "SCREENDIR": str(home / "screens"),
            "XDG_RUNTIME_DIR": str(self.base / "runtime"),
            "WAYLAND_DISPLAY": "wayland-0",
            "MY_SERVICE": paths["custom"],
            "MY_SERVICES": f"first={self.base}/nothing;second={paths['in a list']}",
            "NVIM": paths["an editor's"],
        }
        return {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "PYTHONPATH": os.environ["PYTHONPATH"],
            "GIT_CONFIG_GLOBAL": str(self.base / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            **self.leading,
        }

    def _canaries(self) -> dict[str, Any]:
        victim = self.outside / "victim"
        victim.write_text("mine\n")
        for folder in (self.root, self.base / "other"):
            self.git(folder, "init", "-q", "-b", "main")
            (folder / "README.md").write_text("# Sample\n")
            self.git(folder, "add", "-A")
            self.git(folder, "commit", "-q", "-m", "first")
        self._settings()
        process = self._process()
        folders = [self._folder(name) for name in ("bin", ".local/bin", ".config/systemd/user", "projects")]
        return {
            "base": str(self.base), "home": str(self.home), "root": str(self.root), "mark": MARK,
            "outside": str(self.outside), "victim": str(victim), "other": str(self.base / "other"),
            "git": str(self.root / ".git"), "secret": self.secret, "secrets": self._secrets(),
            "ledger": str(self.ledger), "sockets": self._sockets(), "abstract": self._abstract(),
            "variables": [name for name in self.leading if name != "GNUPGHOME"],
            "port": self._port(), "vsock": self._vsock(), "pid": process.pid,
            "pids": [os.getpid(), os.getppid(), process.pid],
            "setuid": str(self.base / "setuid-id") if (self.base / "setuid-id").exists() else "",
            "terminal": self._terminal(), **self._keys(), **self._shared(),
            "python": sys.executable, "pythonpath": os.environ["PYTHONPATH"],
            "places": [
                *map(str, (self.home, self.outside, self.base, self.base / "other", *folders)),
                *map(str, (self.home / ".ssh", self.home / ".claude/hooks", self.home / ".config/ringi")),
                *map(str, (self.ledger.parent, self.copies, self.base / "runtime", self.tools, self.bin)),
                "/", "/etc", "/etc/cron.d", "/etc/profile.d", "/usr/bin", "/usr/local/bin", "/usr/lib",
                "/opt", "/var/tmp", "/var/lib", "/var/spool/cron", "/root", "/home", "/boot", "/srv", "/run",
                "/mnt",
                str(Path(sys.executable).parent), str(ATTEMPTS.parent),
            ],
        }  # fmt: skip

    def _folder(self, name: str) -> Path:
        folder = self.home / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _settings(self) -> None:
        claude = self._folder(".claude")
        for name in SEALED:
            if name.endswith(".json"):
                (claude / name).write_text("{}\n")
            else:
                (claude / name).mkdir()
        (self.home / ".claude.json").write_text("{}\n")
        (self.home / ".bashrc").write_text("# mine\n")
        self._folder(".config/autostart")

    def _secrets(self) -> list[str]:
        places = places_of(self.root, self.environment)
        self.ledger, self.copies = places.state / "ringi.db", places.copies
        other = places.copies.parent / "another" / "copy" / "tree"
        paths = [
            self._folder(".ssh") / "id_ed25519", self._folder(".gnupg") / "private",
            self._folder("gnupg-moved") / "private", self._folder(".config/ringi") / "note",
            places.states / "another" / "note", other / "other-copy.txt", self._folder(".screen") / "note",
            self._folder("screens") / "note", self.base / "runtime" / "note", self.home / ".Xauthority",
            self.home / ".git-credentials", self._folder(".config/git") / "credentials", self.home / ".netrc",
            self._folder(".config/gh") / "hosts.yml", self._folder(".config/glab-cli") / "config.yml",
        ]  # fmt: skip
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.secret)
        for path in (places.states, places.copies):
            path.mkdir(parents=True, exist_ok=True)
        return [str(path) for path in paths]

    def _sockets(self) -> dict[str, str]:
        for path in self.socket_paths.values():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            listening = self._stack.enter_context(socket.socket(socket.AF_UNIX))
            listening.bind(str(path))
            listening.listen(64)
        return {name: str(path) for name, path in self.socket_paths.items()}

    def _abstract(self) -> str:
        name = f"ringi-canary-{self.secret}"
        listening = self._stack.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(b"\0" + name.encode())
        listening.listen(64)
        datagrams = self._stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        datagrams.bind(b"\0" + name.encode() + b"-datagrams")
        return name

    def _port(self) -> int:
        server = self._stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=64))
        port = int(server.getsockname()[1])
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(("127.0.0.1", port))

        def answer() -> None:
            while True:
                said, sender = datagrams.recvfrom(1)
                datagrams.sendto(said, sender)

        threading.Thread(target=answer, daemon=True).start()
        return port

    def _vsock(self) -> int:
        """A port of the loopback between virtual machines; 0 if there is none."""
        try:
            server = self._stack.enter_context(socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))
            server.bind((1, socket.VMADDR_PORT_ANY))
            server.listen()
            return int(server.getsockname()[1])
        except OSError:
            return 0

    def _process(self) -> "subprocess.Popen[bytes]":
        environment = {**os.environ, "CANARY": self.secret}
        process = subprocess.Popen(["sleep", "1000"], cwd=self.outside, env=environment)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        self.process = process
        return process

    def _terminal(self) -> str:
        master, slave = pty.openpty()
        self._stack.callback(os.close, master)
        self._stack.callback(os.close, slave)
        self.keyboard = slave
        return os.ttyname(slave)

    def _keys(self) -> dict[str, object]:
        LIBC.syscall(KEYCTL, 1, None)  # a session of our own, so that the key goes with us
        name = f"ringi:{self.secret}"
        number = LIBC.syscall(ADD_KEY, b"user", name.encode(), b"payload", 7, -3)
        return {"key": name, "key_id": number}

    def _shared(self) -> dict[str, object]:
        """Segments and queues of the system, removed again at the end."""
        key = int(self.secret[:7], 16) | 1
        segment = LIBC.shmget(key, 4096, 0o1600)
        semaphores = LIBC.semget(key, 1, 0o1600)
        queue = LIBC.msgget(key, 0o1600)
        self._stack.callback(LIBC.shmctl, segment, 0, None)
        self._stack.callback(LIBC.semctl, semaphores, 0, 0)
        self._stack.callback(LIBC.msgctl, queue, 0, None)
        messages = f"/ringi-{self.secret}"
        LIBC.mq_open(messages.encode(), os.O_RDWR | os.O_CREAT, 0o600, None)
        self._stack.callback(LIBC.mq_unlink, messages.encode())
        memory = Path("/dev/shm", f"ringi-{self.secret}")
        memory.write_text("x")
        self._stack.callback(memory.unlink)
        return {"ipc": key, "mq": messages, "shm": str(memory)}

    def git(self, folder: Path, *words: str) -> None:
        subprocess.run(["git", *words], cwd=folder, env=self.environment, check=True)

    # What came of it

    def state(self, *, checkout: bool = True) -> dict[str, str]:
        """Every file outside the sandbox that must stay as it is."""
        # Ours, and what an agent may write to; its settings are looked at one by one.
        skipped = [self.home / name for name in (".local", ".cache", ".claude", ".claude.json")]
        skipped += [self.root / ".agent", self.bin / "claude", *([] if checkout else [self.root])]
        found = [path for path in self.base.rglob("*") if not any(map(path.is_relative_to, skipped))]
        found += [] if checkout else (self.root / ".git").rglob("*")
        found += [self.home / ".claude" / name for name in SEALED]
        return {str(path): _stamp(path) for path in found}

    def escaped(self) -> list[str]:
        """Files with the mark, wherever somebody could have put them."""
        places = [Path(place, MARK) for place in self.canaries["places"]]
        found = [path for path in places if os.path.lexists(path)]
        for folder in (self.home, self.outside, self.root / ".git", self.base / "other"):
            found += [path for path in folder.rglob(MARK) if not path.is_relative_to(self.copies)]
        if MARK in (self.home / ".claude.json").read_text():
            found.append(self.home / ".claude.json")
        return sorted({str(path) for path in found})


def _stamp(path: Path) -> str:
    found = path.lstat()
    plain = path.is_file() and not path.is_symlink()
    content = hashlib.sha256(path.read_bytes()).hexdigest() if plain else ""
    # Git itself renews the time of an object that it would have written.
    when = found.st_mtime_ns if content and "objects" not in path.parts else 0
    return f"{found.st_mode:o} {found.st_uid} {found.st_size if content else 0} {when} {content}"


def argv(world: World, kind: str) -> list[str]:
    return [sys.executable, str(world.tools / "attempts.py"), str(world.tools / "canaries.json"), kind]


def run_outside(world: World) -> str:
    done = subprocess.run(
        argv(world, "outside"), cwd=world.outside, env=world.environment, capture_output=True, text=True,
        timeout=TIMEOUT_SEC, check=True,
    )  # fmt: skip
    return done.stdout


def run_command(world: World) -> str:
    config = load(world.root, world.environment)
    places = places_of(world.root, world.environment)
    commands = commands_in(world.root, places, config, world.environment)
    return commands.run(argv(world, "command"), "", timeout_sec=TIMEOUT_SEC, sandboxed=True).text


def run_check(world: World) -> str:
    config = load(world.root, world.environment)
    places = places_of(world.root, world.environment)
    checks = checks_of(places, config, world.environment, lambda _: None)
    assert checks.uses_sandbox()
    (result,) = checks([shlex.join(argv(world, "command"))], {}, CheckPhase.DRY)
    return result.output


def run_agent(world: World) -> str:
    agent = world.bin / "claude"
    agent.write_text(f"#!/bin/sh\n{shlex.join(argv(world, 'agent'))} > result.json\n")
    agent.chmod(0o755)
    with (world.outside / "victim").open() as leaked:
        os.set_inheritable(leaked.fileno(), True)
        done = subprocess.run(
            [sys.executable, "-m", "ringi", "with", "claude"], cwd=world.root, env=world.environment,
            stdin=world.keyboard, capture_output=True, text=True, timeout=TIMEOUT_SEC, check=False,
            close_fds=False,
        )  # fmt: skip
    found = [*world.copies.glob("*/tree/result.json")]
    assert found, f"{done.stdout}{done.stderr}"
    return found[0].read_text()


RUNS = {"command": run_command, "check": run_check, "agent": run_agent}


def main(base: str) -> None:
    with ExitStack() as stack:
        world = World(Path(base).resolve(), stack)
        subprocess.run(
            [sys.executable, "-m", "ringi", "list"], cwd=world.root, env=world.environment,
            stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        report: dict[str, Any] = {"outside": json.loads(run_outside(world).splitlines()[-1])}
        for kind, run in RUNS.items():
            before = world.state(checkout=kind != "command")
            said = run(world)
            after = world.state(checkout=kind != "command")
            paths = sorted(before.keys() | after.keys())
            changed = [path for path in paths if before.get(path) != after.get(path)]
            report[kind] = {
                **json.loads(said.splitlines()[-1]),
                "changed": changed,
                "escaped": world.escaped(),
                "alive": world.process.poll() is None,
            }
        sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
