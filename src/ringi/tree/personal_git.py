"""Git in the person's own repository: to inspect, which runs nothing of theirs, or to work as they would."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ringi.errors import Interrupted, NoCommit
from ringi.kernel.process.durable import durable, sync_refs
from ringi.kernel.process.environment import search_path
from ringi.kernel.process.git import NO_FETCH, last_line, version
from ringi.kernel.process.repository import Repository, read_small
from ringi.kernel.text import Text

# Who the person is and where their settings are; any other variable could steer git elsewhere.
_PERSONAL: Final = frozenset(
    [
        *(f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL", "DATE")),
        *(f"GIT_CONFIG_{name}" for name in ("GLOBAL", "SYSTEM", "NOSYSTEM")),
    ]
)
_LOOKING: Final = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", **NO_FETCH}
_PLAIN: Final = ("--no-pager", "-c", "core.fsmonitor=false", "-c", "core.splitIndex=false")
_TIME_LIMIT: Final = 300.0
_HOOKS_SEC: Final = 3600.0
_GRACE: Final = 10.0
_KEPT_OUTPUT: Final = 8192
_PARENT_DEATH: Final = 1


class GitFailed(Exception):
    """The last line that git said; `whole` has all of them."""

    def __init__(self, line: str, whole: bytes = b"") -> None:
        super().__init__(line)
        self.whole = whole


class PersonalGit:
    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self.root = root
        kept = {
            name: value
            for name, value in environment.items()
            if not name.startswith("GIT_") or name in _PERSONAL
        }
        kept["PATH"] = search_path(kept)
        kept["GIT_TERMINAL_PROMPT"] = "0"
        self._environment = kept
        # A search path that cannot lead into the repository; hooks may need a program from there.
        self.outside = os.pathsep.join(
            folder
            for folder in kept["PATH"].split(os.pathsep)
            if not Path(os.path.realpath(folder)).is_relative_to(root)
        )

    def outside_environment(self) -> dict[str, str]:
        """For a program that is to know nothing of this repository."""
        return {**self._environment, "PATH": self.outside}

    def look(self, *words: str, stdin: bytes = b"", fine: Sequence[int] = (0,)) -> bytes:
        # Do not use a repository above the workspace.
        above = {"GIT_CEILING_DIRECTORIES": str(self.root.parent)}
        return self._run(words, {**_LOOKING, **above, "PATH": self.outside}, stdin, fine)

    def line(self, *words: str) -> str:
        """Empty if git has no answer."""
        return os.fsdecode(self.look(*words, fine=(0, 1, 128))).strip()

    def work(self, *words: str, stdin: bytes = b"", **variables: str) -> bytes:
        """Uses the person's own settings and runs the filters they name. What it writes is on the disk then;
        its name is after `keeping`.
        """
        lasting = durable(own_index="GIT_INDEX_FILE" in variables)
        return self._run((*lasting, *words), variables, stdin, (0,))

    @contextmanager
    def keeping(self, *refs: str, since_ns: int | None = None) -> Iterator[None]:
        """After the block these refs, and what else git wrote in it, outlast a loss of power.

        Or all since the given time. Raises StorageFailed.
        """
        since = time.time_ns() if since_ns is None else since_ns
        yield
        # A folder without a repository was refused long before.
        if repository := Repository.at(self.root):
            named = read_small(repository.git_dir / "HEAD").strip() if "HEAD" in refs else b""
            branch = [os.fsdecode(named[5:])] if named.startswith(b"ref: ") else []
            sync_refs(repository, [*refs, *branch], since)

    def _run(
        self, words: Sequence[str], variables: Mapping[str, str], stdin: bytes, fine: Sequence[int]
    ) -> bytes:
        try:
            done = subprocess.run(
                [self.program(), *_PLAIN, *words],
                cwd=self.root,
                env={**self._environment, **variables},
                input=stdin,
                capture_output=True,
                timeout=_TIME_LIMIT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitFailed(str(error)) from None
        if done.returncode not in fine:
            command = next((word for word in words if word[0] != "-" and "=" not in word), "")
            line = last_line(done.stderr) or f"git {command}: exit {done.returncode}"
            raise GitFailed(line, done.stderr)
        return done.stdout

    def commit(self, folder: Path, message: str) -> str | None:
        """Commits the `index` in the folder. None if it went well, otherwise what git and the hooks said."""
        text, said = folder / "message", folder / "output"
        text.write_bytes(message.encode())
        # Verbatim, because this text was approved; a hook may still change it.
        words = ["-c", "i18n.commitEncoding=UTF-8", "commit", "-q", "--cleanup=verbatim", "-F", str(text)]
        words = [*durable(own_index=True), *words]
        # Into a file: a process that a hook leaves running would keep a pipe open.
        with said.open("wb") as output:
            process = subprocess.Popen(
                [self.program(), *words],
                cwd=self.root,
                env={**self._environment, "GIT_INDEX_FILE": str(folder / "index")},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=_bind_to_us(),  # noqa: PLW1509  # one system call, which takes no locks
            )
        code = _wait(process)
        return None if code == 0 else _end_of(said) or str(Text("it ended with exit code {code}", code=code))

    def version(self) -> tuple[int, ...]:
        return version(self.program())

    def program(self) -> str:
        found = shutil.which("git", path=self.outside)
        if found is None:
            raise NoCommit(why=Text("the program git is missing"))
        return found


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Ctrl-C reaches git too; either way it has ended before we look at the result."""
    try:
        return process.wait(_HOOKS_SEC)
    except subprocess.TimeoutExpired:
        return _stop(process)
    except KeyboardInterrupt:
        _stop(process)
        raise Interrupted from None


def _stop(process: subprocess.Popen[bytes]) -> int:
    process.terminate()
    try:
        return process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _end_of(output: Path) -> str:
    with output.open("rb") as file:
        file.seek(max(output.stat().st_size - _KEPT_OUTPUT, 0))
        return file.read().decode("utf-8", "backslashreplace").strip()


def _bind_to_us() -> Callable[[], None] | None:
    """If this process dies, git dies too and makes no commit."""
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415  # 5 ms that only a commit needs

    prctl = ctypes.CDLL(None).prctl

    def bind() -> None:
        prctl(_PARENT_DEATH, int(signal.SIGTERM), 0, 0, 0)

    return bind
