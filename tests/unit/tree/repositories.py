"""Real repositories to try things on; git itself is the oracle."""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

NOBODY: Final = 65534


def git(
    folder: Path, *arguments: str, check: bool = True, stdin: bytes = b"", protocols: str = "file"
) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        check=False,
        env=os.environ | {"LC_ALL": "C", "GIT_ALLOW_PROTOCOL": protocols},
    )
    assert not check or done.returncode == 0, done.stderr.decode()
    return os.fsdecode(done.stdout)


def isolate(monkeypatch, home: Path) -> Path:
    """The person's own folder is an empty one with a name and an address for commits."""
    for name in list(os.environ):
        if name.startswith(("GIT_", "XDG_")):
            monkeypatch.delenv(name)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    (home / ".gitconfig").write_text(
        "[gc]\n\tauto = 0\n"
        "[user]\n\tname = Hanako\n\temail = hanako@example.org\n[init]\n\tdefaultBranch = trunk\n"
    )
    return home


class WatchedGit:
    """The git that is found first from now on: it notes its arguments, and may do something after a command.

    `then` is a shell script: it runs after each of the first `times` commands called `after`, which it knows
    as `$n`.
    """

    def __init__(self, monkeypatch, folder: Path, after: str = "", then: str = "", times: int = 0) -> None:
        folder.mkdir()
        self._notes = folder / "notes"
        self._notes.touch()
        self._seen = 0
        real, path = shutil.which("git"), os.environ["PATH"]
        script = f"""\
            #!/bin/sh
            echo "$*" >> '{self._notes}'
            '{real}' "$@"
            code=$?
            case " $* " in *" {after or "no such command"} "*)
                n=$(grep -c -- ' {after} ' '{self._notes}')
                if [ "$n" -le {times} ]; then {then or ":"}; fi
            esac
            exit $code
            """
        (folder / "git").write_text(textwrap.dedent(script))
        (folder / "git").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{path}")

    def asked(self) -> list[list[str]]:
        """The arguments of every call since the last time."""
        lines = self._notes.read_text().splitlines()
        start, self._seen = self._seen, len(lines)
        return [line.split(" ") for line in lines[start:]]


def write(folder: Path, files: dict[str, bytes | str]) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)


def repository(folder: Path, files: dict[str, bytes | str] | None = None) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    if files:
        write(folder, files)
        commit(folder)
    return folder


def commit(folder: Path, message: str = "one") -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD").strip()


def fingerprint(folder: Path) -> dict[str, str]:
    """Every byte, mode and link below the folder."""
    found = {}
    for place, folders, names in os.walk(folder):
        for name in folders + names:
            path = Path(place, name)
            mode = path.lstat().st_mode
            data = b""
            if stat.S_ISLNK(mode):
                data = os.fsencode(path.readlink())
            elif stat.S_ISREG(mode):
                data = path.read_bytes()
            found[str(path.relative_to(folder))] = f"{mode:o} {hashlib.sha256(data).hexdigest()}"
    return found


@contextmanager
def untouched(*folders: Path) -> Iterator[None]:
    before = [fingerprint(folder) for folder in folders]
    yield
    assert [fingerprint(folder) for folder in folders] == before


def files_of(folder: Path, tree: str, store: Path) -> dict[str, tuple[str, bytes]]:
    """The tree's files as git reads them from the private store."""
    found = {}
    for line in git(folder, f"--git-dir={store}", "ls-tree", "-r", "-z", tree).split("\0"):
        if line:
            facts, _, name = line.partition("\t")
            mode, _, blob = facts.split(" ")
            data = subprocess.run(
                ["git", f"--git-dir={store}", "cat-file", "blob", blob],
                capture_output=True,
                check=True,
            ).stdout
            found[name] = (mode, data)
    return found


def hostile(root: Path, marker: Path) -> None:
    """Sets everything a repository can make git run; each would leave a line in the marker."""
    trap = marker.with_name("trap")
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {marker}\ncat\n')
    trap.chmod(0o755)
    included = marker.with_name("included")
    included.write_text(f"[core]\n\tfsmonitor = {trap}\n\tpager = {trap}\n")
    settings = {
        "include.path": included,
        "core.fsmonitor": trap,
        "core.sshCommand": trap,
        "core.editor": trap,
        "core.alternateRefsCommand": trap,
        "filter.evil.clean": trap,
        "filter.evil.smudge": trap,
        "filter.evil.required": "true",
        "diff.external": trap,
        "diff.evil.textconv": trap,
        "diff.evil.command": trap,
        "merge.evil.driver": trap,
        "credential.helper": trap,
        "gpg.program": trap,
        "alias.add": f"!{trap}",
        "core.hooksPath": root / ".git" / "hooks",
    }
    for name, value in settings.items():
        git(root, "config", name, str(value))
    hooks = root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in (
        "post-index-change",
        "post-checkout",
        "pre-commit",
        "reference-transaction",
        "fsmonitor-watchman",
    ):
        (hooks / name).write_bytes(trap.read_bytes())
        (hooks / name).chmod(0o755)
    write(
        root,
        {".gitattributes": "* filter=evil diff=evil merge=evil\n", ".git/info/attributes": "* filter=evil\n"},
    )


def as_another_user(work: Callable[[], None]) -> None:
    """Runs it in a child without the privileges that make file modes meaningless."""
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            work()
        except BaseException as error:  # noqa: BLE001  # the parent has to hear of it
            import traceback

            traceback.print_exception(error)
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, "see the traceback above"


def give_away(folder: Path, uid: int = NOBODY) -> None:
    if os.getuid() == 0:
        os.chown(folder, uid, uid)
        for place, folders, names in os.walk(folder):
            for name in folders + names:
                os.chown(Path(place, name), uid, uid, follow_symlinks=False)


def open_up(folder: Path) -> None:
    """Lets another user reach the folder."""
    folder.chmod(0o755)
    tops = {Path(tempfile.gettempdir()), Path(os.environ.get("PYTEST_DEBUG_TEMPROOT", "/"))}
    for path in folder.parents:
        if tops & set(path.parents) - {Path("/")}:
            path.chmod(0o755)
