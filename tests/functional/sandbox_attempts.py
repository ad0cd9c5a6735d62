"""Attempts to get out of a sandbox. Runs inside one, with nothing but the standard library.

Each attempt is a few lines that answer with what they achieved, or raise what the system refused with. They
use nothing but canaries: files, sockets and processes that `sandbox_driver` made for them. What they manage
to write, the driver sees from outside.
"""

# ruff: noqa: PTH115, PTH119, PTH120, PTH123, PTH208, SIM115  # an attacker calls the system as it is, and closes nothing

import contextlib
import ctypes
import errno
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LIMIT_SEC = 120
LIBC = ctypes.CDLL(None, use_errno=True)
MACHINE_X86 = os.uname().machine == "x86_64"
C: dict[str, Any] = {}
"""The canaries, by name."""
ATTEMPTS: dict[str, Callable[[], object]] = {}
OUTSIDE: set[str] = set()
"""Attempts that succeed against the canaries outside a sandbox: the driver proves that they try something."""
COMMANDS_ONLY: set[str] = set()
"""Attempts at what an agent may do: it has the network and a terminal of its own."""

Attempt = Callable[[], object]


def attempt(name: str, *, control: bool = False, commands_only: bool = False) -> Callable[[Attempt], Attempt]:
    def added(function: Attempt) -> Attempt:
        assert name not in ATTEMPTS, name
        ATTEMPTS[name] = function
        if control:
            OUTSIDE.add(name)
        if commands_only:
            COMMANDS_ONLY.add(name)
        return function

    return added


def called(result: int) -> int:
    """The result of a function of the C library; raises what it failed with."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def syscall(*words: object) -> int:
    return called(LIBC.syscall(*words))


def sh(script: str, *words: str) -> str:
    """What a script printed; empty if it failed."""
    done = subprocess.run(
        ["sh", "-c", script, "sh", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SEC,
        check=False,
    )
    return done.stdout if done.returncode == 0 else ""


# Writing outside: places


def _write_at(place: str) -> Attempt:
    def write() -> None:
        Path(place, C["mark"]).write_text("escaped")

    return write


def places() -> Iterator[tuple[str, Attempt]]:
    """The driver looks for files with the mark; a write that vanishes with the sandbox is none."""
    for place in C["places"]:
        yield f"write to {place}", _write_at(place)


# Writing outside: ways


def victim() -> Path:
    return Path(C["victim"])


@attempt("open to write")
def _() -> object:
    return victim().open("r+").write("x")


@attempt("open to append")
def _() -> object:
    return victim().open("a").write("x")


@attempt("truncate")
def _() -> None:
    os.truncate(victim(), 0)


@attempt("unlink")
def _() -> None:
    victim().unlink()


@attempt("rename away")
def _() -> None:
    victim().rename(victim().with_name("moved"))


@attempt("rename over it")
def _() -> None:
    own = Path("own-file")
    own.write_text("x")
    own.rename(victim())


@attempt("exchange with it")
def _() -> None:
    Path("own-file-2").write_text("x")
    called(LIBC.renameat2(-100, b"own-file-2", -100, os.fsencode(victim()), 2))


@attempt("chmod")
def _() -> None:
    victim().chmod(0o777)


@attempt("chown")
def _() -> None:
    os.chown(victim(), os.getuid(), os.getgid())


@attempt("set times")
def _() -> None:
    os.utime(victim(), (1, 1))


@attempt("set an attribute")
def _() -> None:
    os.setxattr(victim(), "user.ringi", b"x")


@attempt("set inode flags")
def _() -> None:
    descriptor = os.open(victim(), os.O_RDONLY)
    fcntl.ioctl(descriptor, 0x40086602, struct.pack("l", 0))  # FS_IOC_SETFLAGS


@attempt("a hard link to it, then write")
def _() -> None:
    os.link(victim(), "linked")
    Path("linked").write_text("x")


@attempt("a symbolic link to it, then write")
def _() -> None:
    Path("leads-out").symlink_to(victim())
    Path("leads-out").write_text("x")


@attempt("a link to its folder, then create")
def _() -> None:
    Path("leads-to-folder").symlink_to(victim().parent)
    Path("leads-to-folder", C["mark"]).write_text("x")


@attempt("reopen a read descriptor to write")
def _() -> object:
    descriptor = os.open(victim(), os.O_RDONLY)
    return os.write(os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY), b"x")


@attempt("reopen a path descriptor to write")
def _() -> object:
    descriptor = os.open(victim(), os.O_PATH)
    return os.write(os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY), b"x")


@attempt("map it shared and write")
def _() -> None:
    descriptor = os.open(victim(), os.O_RDONLY)
    mapped = mmap.mmap(descriptor, 4, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    mapped[:1] = b"x"


@attempt("write through /proc/self/mem to a private map of it")
def _() -> None:
    descriptor = os.open(victim(), os.O_RDONLY)
    mapped = mmap.mmap(descriptor, 4, mmap.MAP_SHARED, mmap.PROT_READ)
    place = ctypes.c_long(0)
    rows = Path("/proc/self/maps").read_text().splitlines()
    at = next(int(row.split("-")[0], 16) for row in rows if row.endswith(str(victim())))
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(at + place.value)
        memory.write(b"x")
    mapped.close()


@attempt("an unnamed file, linked into its folder")
def _() -> None:
    descriptor = os.open(victim().parent, os.O_TMPFILE | os.O_WRONLY, 0o600)
    os.link(f"/proc/self/fd/{descriptor}", victim().with_name(C["mark"]), follow_symlinks=True)


@attempt("make a folder beside it")
def _() -> None:
    victim().with_name(C["mark"]).mkdir()


@attempt("make a pipe beside it")
def _() -> None:
    os.mkfifo(victim().with_name(C["mark"]))


@attempt("make a link beside it")
def _() -> None:
    victim().with_name(C["mark"]).symlink_to("/")


@attempt("bind a socket beside it")
def _() -> None:
    socket.socket(socket.AF_UNIX).bind(str(victim().with_name(C["mark"])))


@attempt("copy into it inside the kernel")
def _() -> object:
    Path("own-file-3").write_text("x")
    source = os.open("own-file-3", os.O_RDONLY)
    return os.copy_file_range(source, os.open(victim(), os.O_WRONLY), 1)


@attempt("allocate in it")
def _() -> None:
    os.posix_fallocate(os.open(victim(), os.O_RDWR), 0, 8)


@attempt("open it by its handle")
def _() -> object:
    handle = ctypes.create_string_buffer(struct.pack("Ii", 120, 0) + bytes(120))
    number = ctypes.c_int()
    called(LIBC.name_to_handle_at(-100, os.fsencode(victim()), handle, ctypes.byref(number), 0))
    mount = os.open("/", os.O_RDONLY)
    return os.write(called(LIBC.open_by_handle_at(mount, handle, os.O_WRONLY)), b"x")


@attempt("git writes in another project")
def _() -> object:
    script = 'git -C "$1" -c user.name=x -c user.email=x commit -q --allow-empty -m x && echo yes'
    return sh(script, C["other"])


@attempt("git adds a worktree outside")
def _() -> object:
    return sh('git worktree add -q "$1" && echo yes', str(Path(C["outside"], C["mark"])))


@attempt("the ledger is opened to write")
def _() -> object:
    return victim().with_name("x") if os.open(C["ledger"], os.O_RDWR) else None


@attempt("the checkout's own .git takes a hook")
def _() -> None:
    Path(C["git"], "hooks", C["mark"]).write_text("x")


@attempt("the checkout's own configuration takes a program")
def _() -> object:
    sh('git config --file "$1/config" core.fsmonitor ringi-escaped', C["git"])  # a copy has one of its own
    return None


@attempt("the borrowed objects take one more")
def _() -> object:
    found = []
    for place in (Path(".git/objects/info/alternates"), Path(C["git"], "objects/info/alternates")):
        with contextlib.suppress(OSError):
            found += place.read_text().split()
    for folder in found:
        with contextlib.suppress(OSError):
            Path(folder, C["mark"]).write_text("x")
    return None


@attempt("a start-up file of the loader")
def _() -> None:
    Path("/etc/ld.so.preload").open("a").close()


@attempt("a start-up file of the shell")
def _() -> None:
    Path(C["home"], ".bashrc").open("a").write("ringi-escaped")


@attempt("an entry of the desktop's autostart")
def _() -> None:
    Path(C["home"], ".config/autostart", C["mark"]).write_text("x")


@attempt("crontab")
def _() -> object:
    return sh("command -v crontab > /dev/null && crontab -l")


def _settings(name: str) -> Attempt:
    def write() -> None:
        path = Path(C["home"], ".claude", name)
        if path.is_dir():
            path /= C["mark"]
        path.write_text("ringi-escaped")

    return write


def _replace_settings(name: str) -> Attempt:
    def replace() -> None:
        path = Path(C["home"], ".claude", name)
        other = path.with_name("other-" + name)
        other.write_text("ringi-escaped")
        other.rename(path)

    return replace


for _name in ("settings.json", "settings.local.json", "hooks", "commands", "agents", "skills", "plugins"):
    attempt(f"agent settings: {_name}")(_settings(_name))
for _name in ("settings.json", "hooks"):
    attempt(f"agent settings replaced: {_name}")(_replace_settings(_name))


@attempt("a server in the agent's state file")
def _() -> None:
    entry = {"mcpServers": {"x": {"command": "ringi-escaped"}}}
    Path(C["home"], ".claude.json").write_text(json.dumps(entry))


# Reading what is hidden


def secrets() -> Iterator[tuple[str, Attempt]]:
    for path in C["secrets"]:
        yield f"read {path}", lambda path=path: _has_secret(Path(path))
        again = Path("/proc/self/root" + path)
        yield f"through /proc/self/root: {path}", lambda again=again: _has_secret(again)


def _has_secret(path: Path) -> str:
    found = path.read_bytes()
    return "read it" if C["secret"].encode() in found else ""


@attempt("find the ledgers by name", control=True)
def _() -> object:
    return sh('find "$1" -name ringi.db 2>/dev/null | grep .', C["home"])


@attempt("find other copies by name", control=True)
def _() -> object:
    return sh('find "$1" -name other-copy.txt 2>/dev/null | grep .', C["home"])


@attempt("a link to a hidden file")
def _() -> object:
    Path("to-secret").symlink_to(C["secrets"][0])
    return _has_secret(Path("to-secret"))


@attempt("a hard link to a hidden file")
def _() -> object:
    os.link(C["secrets"][0], "hard-secret")
    return _has_secret(Path("hard-secret"))


@attempt("the hidden folder under the mount")
def _() -> object:
    return sh('umount "$1" && cat "$1"/*', str(Path(C["secrets"][0]).parent))


@attempt("the hidden folder under the mount, detached")
def _() -> object:
    called(LIBC.umount2(os.fsencode(Path(C["secrets"][0]).parent), 2))
    return _has_secret(Path(C["secrets"][0]))


@attempt("remains of the sandbox's making")
def _() -> object:
    return [path for path in ("/oldroot", "/newroot") if Path(path).exists() and os.listdir(path)]


# Sockets


def sockets() -> Iterator[tuple[str, Attempt]]:
    for name, path in C["sockets"].items():
        yield f"socket {name}", lambda path=path: _connected(path)
        yield f"socket {name}, through /proc", lambda path=path: _connected("/proc/self/root" + path)


def _connected(path: str | bytes) -> str:
    with socket.socket(socket.AF_UNIX) as one:
        if len(os.fsencode(path)) > 100:
            os.chdir(os.path.dirname(path))
            path = os.path.basename(path)
        one.settimeout(LIMIT_SEC)
        one.connect(path)
    return "connected"


@attempt("abstract socket, stream", control=True)
def _() -> object:
    return _connected(b"\0" + C["abstract"].encode())


@attempt("abstract socket, datagram", control=True)
def _() -> object:
    one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    return one.sendto(b"x", b"\0" + C["abstract"].encode() + b"-datagrams")


@attempt("abstract socket from a child in a new user namespace")
def _() -> object:
    _new_user()
    return _connected(b"\0" + C["abstract"].encode())


@attempt("variables that lead to sockets")
def _() -> object:
    return [name for name in C["variables"] if name in os.environ]


@attempt("variables that name a socket")
def _() -> object:
    return [name for name, value in os.environ.items() for path in C["sockets"].values() if path in value]


@attempt("network, TCP", commands_only=True, control=True)
def _() -> object:
    return socket.create_connection(("127.0.0.1", C["port"]), 5)


@attempt("network, TCP over IPv6", commands_only=True)
def _() -> object:
    return socket.create_connection(("::1", C["port"]), 5)


@attempt("network, UDP", commands_only=True, control=True)
def _() -> object:
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.connect(("127.0.0.1", C["port"]))
    one.settimeout(LIMIT_SEC)
    one.send(b"x")
    return one.recv(1)


@attempt("network, interfaces", commands_only=True)
def _() -> object:
    return [name for _, name in socket.if_nameindex() if name != "lo"]


@attempt("network, virtual machine's loopback", commands_only=True)
def _() -> object:
    if not C["vsock"]:
        return None
    one = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
    one.settimeout(LIMIT_SEC)
    one.connect((1, C["vsock"]))
    return "connected"


@attempt("raw socket")
def _() -> object:
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)


@attempt("packet socket")
def _() -> object:
    return socket.socket(socket.AF_PACKET, socket.SOCK_RAW)


@attempt("netlink: a new interface")
def _() -> object:
    return sh("ip link add ringi-canary type dummy && echo yes")


@attempt("netlink: audit")
def _() -> object:
    one = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)
    one.bind((0, 1))  # a member of the group that hears the log
    return "hears the audit log"


# Processes


@attempt("kill an outside process", control=True)
def _() -> object:
    os.kill(C["pid"], 0)
    return "found it"


@attempt("kill the supervisor")
def _() -> object:
    return [pid for pid in C["pids"] if _signalled(pid)]


def _signalled(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return _command(pid) != _command(os.getpid())


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


@attempt("see other processes")
def _() -> object:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if C["secret"] in (path / "environ").read_text(errors="replace"):
                found.append(path.name)
    return found


@attempt("a descriptor of the process", control=True)
def _() -> object:
    return os.pidfd_open(C["pid"])


@attempt("trace it")
def _() -> object:
    return called(LIBC.ptrace(0x4206, C["pid"], 0, 0)) == 0 and "traced"


@attempt("trace the sandbox's first process")
def _() -> object:
    if called(LIBC.ptrace(0x4206, 1, 0, 0)) == 0:
        return "" if Path("/proc/1/root").stat().st_ino == Path("/").stat().st_ino else "traced"
    return None


@attempt("read its memory")
def _() -> object:
    return Path(f"/proc/{C['pid']}/mem").open("rb")


@attempt("read its memory by the system call")
def _() -> object:
    kept = ctypes.create_string_buffer(8)
    here = struct.pack("PN", ctypes.addressof(kept), 8)
    there = struct.pack("PN", 4096, 8)
    called(LIBC.process_vm_readv(C["pid"], here, 1, there, 1, 0))
    return "read"


def _through(what: str, pid: str) -> Attempt:
    def through() -> object:
        place = Path("/proc", pid.replace("OUTSIDE", str(C["pid"])), what)
        if what == "root":
            return (place / Path(C["victim"]).relative_to("/")).open("a").write("x")
        (place / C["mark"]).write_text("x")
        return None

    return through


for _what, _pid in (("root", "1"), ("root", "self"), ("root", "OUTSIDE"), ("cwd", "1"), ("cwd", "OUTSIDE")):
    attempt(f"write through /proc/{_pid}/{_what}")(_through(_what, _pid))


@attempt("its descriptors", control=True)
def _() -> object:
    return os.listdir(f"/proc/{C['pid']}/fd")


@attempt("its environment")
def _() -> object:
    return C["secret"] in Path(f"/proc/{C['pid']}/environ").read_text()


@attempt("enter its namespaces")
def _() -> object:
    return called(LIBC.setns(os.open(f"/proc/{C['pid']}/ns/mnt", os.O_RDONLY), 0)) == 0 and "entered"


@attempt("its limits")
def _() -> object:
    return resource.prlimit(C["pid"], resource.RLIMIT_NOFILE)


@attempt("its processors", control=True)
def _() -> object:
    return os.sched_getaffinity(C["pid"])


@attempt("its priority", control=True)
def _() -> object:
    return f"priority {os.getpriority(os.PRIO_PROCESS, C['pid'])}"


@attempt("measure it")
def _() -> object:
    if not MACHINE_X86:
        return None
    asked = struct.pack("IIQ", 1, 112, 0) + bytes(96)
    return syscall(298, asked, C["pid"], -1, -1, 0)


@attempt("inherited descriptors")
def _() -> object:
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            leads = os.readlink(f"/proc/self/fd/{name}")
            if leads.startswith(C["base"]) and C["root"] not in leads and "/copies/" not in leads:
                found.append(leads)
    return found


@attempt("inherited descriptors of the first process")
def _() -> object:
    found = []
    for name in os.listdir("/proc/1/fd"):
        with contextlib.suppress(OSError):
            leads = os.readlink(f"/proc/1/fd/{name}")
            found += [leads] if leads.startswith(C["base"] + "/outside") else []
    return found


# Rights


@attempt("capabilities")
def _() -> object:
    rows = Path("/proc/self/status").read_text().splitlines()
    return [row for row in rows if row.startswith(("CapEff", "CapPrm", "CapAmb")) and int(row.split()[1], 16)]


@attempt("new privileges")
def _() -> object:
    return "NoNewPrivs:\t0" in Path("/proc/self/status").read_text()


@attempt("a program with its owner's rights")
def _() -> object:
    if not C["setuid"] or os.getuid() == 0:
        return None
    return "euid=0" in sh('"$1"', C["setuid"])


@attempt("become another user")
def _() -> object:
    if os.getuid():
        os.setuid(0)
    else:
        os.setuid(12345)
    return "became it"


@attempt("sudo and su")
def _() -> object:
    return os.getuid() and sh("sudo -n true && echo yes || su -c 'echo yes' < /dev/null")


# File systems


@attempt("mount a file system")
def _() -> None:
    called(LIBC.mount(b"none", b"/mnt", b"tmpfs", 0, None))
    raise AssertionError("mounted")


@attempt("remount / to write")
def _() -> object:
    called(LIBC.mount(b"none", b"/", None, 32, None))
    return "remounted"


@attempt("remount the hidden to write")
def _() -> object:
    called(LIBC.mount(b"none", os.fsencode(Path(C["secrets"][0]).parent), None, 32 | 4096, None))
    return "remounted"


@attempt("unmount /proc/sys")
def _() -> object:
    return called(LIBC.umount2(b"/proc/sys", 2)) == 0 and "unmounted"


def _new_user() -> None:
    user, group = os.getuid(), os.getgid()
    called(LIBC.unshare(0x10000000 | 0x00020000))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")


@attempt("new namespaces, then remount / to write")
def _() -> object:
    _new_user()
    called(LIBC.mount(b"none", b"/", None, 32 | 4096, None))
    return victim().open("a").write("x")


@attempt("new namespaces, then unmount what hides")
def _() -> object:
    _new_user()
    called(LIBC.umount2(os.fsencode(Path(C["secrets"][0]).parent), 2))
    return _has_secret(Path(C["secrets"][0]))


@attempt("new namespaces, then uncover a socket")
def _() -> object:
    _new_user()
    path = C["sockets"]["custom"]
    called(LIBC.umount2(os.fsencode(path), 2))
    return _connected(path)


@attempt("new namespaces, then bind / elsewhere and write")
def _() -> object:
    _new_user()
    Path("/tmp/all").mkdir()
    called(LIBC.mount(b"/", b"/tmp/all", None, 4096, None))  # without what is mounted below
    return _has_secret(Path("/tmp/all" + C["secrets"][0]))


@attempt("new namespaces, then a fresh /proc")
def _() -> object:
    _new_user()
    called(LIBC.unshare(0x20000000))
    child = os.fork()
    if child == 0:
        Path("/tmp/proc").mkdir()
        failed = LIBC.mount(b"proc", b"/tmp/proc", b"proc", 0, None)
        os._exit(0 if failed == 0 and _opens("/tmp/proc/sys/kernel/core_pattern") else 1)
    return os.waitpid(child, 0)[1] == 0


@attempt("new namespaces, then a fresh /sys to write")
def _() -> object:
    _new_user()
    called(LIBC.unshare(0x40000000))
    Path("/tmp/sys").mkdir()
    called(LIBC.mount(b"sysfs", b"/tmp/sys", b"sysfs", 0, None))
    return [path for path in Path("/tmp/sys/kernel").glob("*") if _opens(str(path))]


@attempt("new namespaces, then the control groups")
def _() -> object:
    _new_user()
    called(LIBC.unshare(0x02000000))
    Path("/tmp/groups").mkdir()
    called(LIBC.mount(b"cgroup2", b"/tmp/groups", b"cgroup2", 0, None))
    return [path for path in Path("/tmp/groups").glob("cgroup.*") if _opens(str(path))]


@attempt("new namespaces, then a device")
def _() -> object:
    _new_user()
    os.mknod("/tmp/device", 0o600 | stat.S_IFBLK, os.makedev(254, 0))
    return os.open("/tmp/device", os.O_RDONLY)


@attempt("new mount interface: open / as a tree, writable")
def _() -> object:
    tree = syscall(428, -100, b"/", 1 | 0x8000)
    wanted = struct.pack("QQQQ", 0, 1, 0, 0)  # clears read-only
    syscall(442, tree, b"", 0x1000 | 0x8000, wanted, 32)
    descriptor = os.open(C["victim"].lstrip("/"), os.O_WRONLY, dir_fd=tree)
    return os.write(descriptor, b"x")


@attempt("chroot")
def _() -> object:
    os.chroot("/tmp")
    return "became the root"


@attempt("chroot, and out again")
def _() -> object:
    Path("/tmp/jail").mkdir()
    outside = os.open("/", os.O_RDONLY)
    os.chroot("/tmp/jail")
    os.fchdir(outside)
    return os.listdir("..")


@attempt("pivot the root")
def _() -> object:
    return LIBC.syscall(155, b"/tmp", b"/tmp") == 0 if MACHINE_X86 else None


@attempt("rename over a mount point")
def _() -> object:
    hidden = Path(C["secrets"][0]).parent
    hidden.rename(hidden.with_name("away"))
    return _has_secret(hidden.with_name("away") / Path(C["secrets"][0]).name)


@attempt("remove a mount point")
def _() -> object:
    Path(C["sockets"]["custom"]).unlink()
    return "removed"


# The kernel and its devices


def _opens(path: str) -> bool:
    """Never writes."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


@attempt("open /proc/sys to write")
def _() -> object:
    found = [str(Path(folder, name)) for folder, _, names in os.walk("/proc/sys") for name in names]
    assert found
    return [path for path in found if _opens(path)]


@attempt("open other files of /proc to write")
def _() -> object:
    found = []
    for folder, folders, names in os.walk("/proc"):
        if folder == "/proc":
            folders[:] = [name for name in folders if not name.isdigit() and name not in {"sys", "pressure"}]
            folders[:] = [name for name in folders if not Path(folder, name).is_symlink()]
        found += [path for name in names if _opens(path := str(Path(folder, name)))]
    return found


@attempt("open /sys to write")
def _() -> object:
    found = []
    for folder, folders, names in os.walk("/sys"):
        if folder.count("/") >= 4:
            folders[:] = []
        found += [path for name in names if _opens(path := str(Path(folder, name)))]
    return found


@attempt("open the control groups to write")
def _() -> object:
    return [str(path) for path in Path("/sys/fs/cgroup").rglob("cgroup.*") if _opens(str(path))][:3]


@attempt("the pattern of core files")
def _() -> object:
    return _opens("/proc/sys/kernel/core_pattern")


@attempt("the system requests")
def _() -> object:
    return _opens("/proc/sysrq-trigger")


def _device(path: str) -> Attempt:
    def opened() -> object:
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    return opened


for _path in (
    "/dev/mem", "/dev/kmem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/fuse", "/dev/kvm",
    "/dev/uinput", "/dev/loop-control", "/dev/vhost-vsock", "/dev/snd/seq",
):  # fmt: skip
    attempt(f"device {_path}")(_device(_path))


@attempt("make a device")
def _() -> object:
    os.mknod("/tmp/device-2", 0o600 | stat.S_IFBLK, os.makedev(254, 0))
    return os.open("/tmp/device-2", os.O_RDONLY)


@attempt("the person's terminal", control=True)
def _() -> object:
    return os.open(C["terminal"], os.O_WRONLY | os.O_NOCTTY)


@attempt("type into the terminal", commands_only=True)
def _() -> object:
    for number in (0, 1, 2, os.open("/dev/tty", os.O_RDWR)):
        with contextlib.suppress(OSError):
            fcntl.ioctl(number, termios.TIOCSTI, b"x")
            return f"typed at {number}"
    return None


@attempt("load a program into the kernel")
def _() -> object:
    if not MACHINE_X86:
        return None
    return syscall(321, 0, struct.pack("IIIII", 1, 4, 4, 1, 0) + bytes(52), 72)  # a map of four bytes


@attempt("load a module")
def _() -> object:
    return syscall(313, 0, b"", 0) if MACHINE_X86 else None


@attempt("the kernel's log")
def _() -> object:
    return os.open("/dev/kmsg", os.O_WRONLY)


# Keys and shared memory


KEYCTL, ADD_KEY, REQUEST_KEY = (250, 248, 249) if MACHINE_X86 else (219, 217, 218)


def _key(ring: int) -> Attempt:
    def found() -> object:
        key = syscall(KEYCTL, 10, ring, b"user", C["key"].encode(), 0)
        kept = ctypes.create_string_buffer(64)
        size = syscall(KEYCTL, 11, key, kept, 64)
        return kept.raw[:size] if size else ""

    return found


attempt("keys of the session", control=True)(_key(-3))
attempt("keys of the user")(_key(-4))
attempt("keys of the user's session")(_key(-5))


@attempt("ask for a key", control=True)
def _() -> object:
    return syscall(REQUEST_KEY, b"user", C["key"].encode(), None, 0)


@attempt("a key by its number")
def _() -> object:
    kept = ctypes.create_string_buffer(64)
    return syscall(KEYCTL, 11, C["key_id"], kept, 64)


@attempt("shared memory, System V", control=True)
def _() -> object:
    return f"segment {called(LIBC.shmget(C['ipc'], 0, 0))}"


@attempt("semaphores, System V", control=True)
def _() -> object:
    return f"set {called(LIBC.semget(C['ipc'], 0, 0))}"


@attempt("message queue, System V", control=True)
def _() -> object:
    return f"queue {called(LIBC.msgget(C['ipc'], 0))}"


@attempt("message queue, POSIX")
def _() -> object:
    return called(LIBC.mq_open(C["mq"].encode(), os.O_RDWR))


@attempt("shared memory, POSIX", control=True)
def _() -> object:
    return os.open(C["shm"], os.O_RDWR)


# Ringi itself


def _ringi(*words: str) -> Attempt:
    def ran() -> object:
        environment = {**os.environ, "PYTHONPATH": C["pythonpath"]}
        done = subprocess.run(
            [C["python"], "-m", "ringi", *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_SEC,
            check=False,
        )
        return done.stdout if done.returncode == 0 else ""

    return ran


attempt("approve its own plan")(_ringi("--workspace", ".", "approve", "p1"))
attempt("trust the project")(_ringi("--workspace", ".", "trust", "--yes"))


def tried(name: str, function: Attempt) -> tuple[str, str]:
    """In a process of its own. The name, and what it achieved; empty if nothing."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(LIMIT_SEC)
        said = ""
        try:
            result = function()
            said = f"achieved {result!r}"[:300] if result else ""
        except (OSError, subprocess.TimeoutExpired) as error:
            said = f"hung {error}" if isinstance(error, subprocess.TimeoutExpired) else ""
            if isinstance(error, OSError) and error.errno == errno.EFAULT:
                said = f"broken {error!r}"
        except BaseException as error:  # noqa: BLE001  # told to the driver
            said = f"broken {error!r}"
        os.write(writer, said.encode("utf-8", "replace"))
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if not os.WIFEXITED(status):
        said = f"broken by signal {os.WTERMSIG(status)}"
    return name, said


def main(file: str, kind: str, *only: str) -> None:
    """Reports as one line of JSON."""
    C.update(json.loads(Path(file).read_text()))
    found = {**ATTEMPTS, **dict(places()), **dict(secrets()), **dict(sockets())}
    if kind == "agent":
        found = {name: function for name, function in found.items() if name not in COMMANDS_ONLY}
    if kind == "outside":
        reads = dict(secrets()) | dict(sockets())
        found = {name: one for name, one in found.items() if name in OUTSIDE or name in reads}
    if only:
        found = {name: one for name, one in found.items() if name in only}
    results = dict(tried(name, function) for name, function in found.items())
    told = {name: said for name, said in results.items() if said}
    sys.stdout.write(json.dumps({"tried": len(results), "told": told}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
