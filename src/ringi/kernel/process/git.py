"""Runs git so that nothing in a repository can make it start another program."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Final, NamedTuple, cast

from ringi.errors import CopyFailed, Unsupported
from ringi.kernel.fs import replace_file
from ringi.kernel.process.environment import search_path
from ringi.kernel.process.progress import counting, is_watched
from ringi.kernel.system import process_environment
from ringi.kernel.text import Text

TIME_LIMIT: Final = 900.0
_PIECE: Final = 1 << 20
ABSENT: Final = "000000"
"""The mode of a file that is not there."""
# So few that all their names fit into a pipe: no deadlock.
_AT_ONCE: Final = 256
_PAIR: Final = re.compile(rb"\((\d+)/(\d+)\)")
OLDEST: Final = (2, 32)  # the first that can ignore the person's configuration

# On the command line they override the repository's own configuration.
_OVERRIDES: Final = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.sshCommand=false",
    "gc.auto=0",
    "maintenance.auto=false",
)
# A partial clone would fetch what it lacks, by a transport that its own configuration chooses.
NO_FETCH: Final = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
_ENVIRONMENT: Final = {
    "LC_ALL": "C",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PROGRESS_DELAY": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    **NO_FETCH,
}
_PERSONAL: Final = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")


class Finished(NamedTuple):
    code: int
    out: bytes
    err: bytes


class Git:
    """One git directory. `personal` also reads the person's configuration: only for queries."""

    def __init__(
        self,
        git_dir: Path,
        work_tree: Path | None = None,
        *,
        index: Path | None = None,
        more_objects: Path | None = None,
        variables: Mapping[str, str] | None = None,
        personal: bool = False,
        time_limit: float = TIME_LIMIT,
        more: Sequence[str] = (),
        confined: Callable[[str], Sequence[str]] = lambda _: (),
    ) -> None:
        """`more` are words before the command; `confined` gives those that start a program in a sandbox."""
        self._folder = work_tree or git_dir
        self._time_limit = time_limit
        self._confined = confined
        self._prefix = ["--no-pager", "--no-replace-objects", f"--git-dir={git_dir}"]
        if work_tree:
            self._prefix.append(f"--work-tree={work_tree}")
        for setting in _OVERRIDES:
            self._prefix += ["-c", setting]
        self._prefix += more
        self._environment = environment(personal=personal)
        if index:
            self._environment["GIT_INDEX_FILE"] = str(index)
        self._environment |= variables or {}
        if more_objects:
            self._environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = os.fsdecode(quote(more_objects))

    def run(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        finished = self.attempt(*arguments, stdin=stdin)
        if finished.code:
            raise failure(arguments[0], finished)
        return finished.out

    def attempt(self, *arguments: str, stdin: bytes | None = None) -> Finished:
        with self.start(*arguments, stdin=stdin) as running:
            return running.finish()

    def add_counted(self, words: Text, *arguments: str) -> Finished:
        """`git add`, which can name each file it reads."""
        if not is_watched():
            return self.attempt("add", *arguments)
        with (
            tempfile.TemporaryFile() as said,
            counting(words, lambda: (_output_so_far(said).count(b"\n"), 0)),
            self.start("add", "-v", *arguments, stdout=said) as running,
        ):
            return running.finish()._replace(out=b"")

    def read_tree_counted(self, words: Text, *arguments: str) -> None:
        """`git read-tree`, which can say how many files it has written."""
        if not is_watched():
            self.run("read-tree", *arguments)
            return
        with tempfile.TemporaryFile() as said:
            with (
                counting(words, lambda: _last_pair(_output_so_far(said))),
                self.start("read-tree", "-v", *arguments, stderr=said) as running,
            ):
                finished = running.finish()
            if finished.code:
                raise failure("read-tree", finished._replace(err=_output_so_far(said).rpartition(b"\r")[2]))

    @contextmanager
    def start(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        stdout: IO[bytes] | int = subprocess.PIPE,
        stderr: IO[bytes] | int = subprocess.PIPE,
    ) -> Iterator["Running"]:
        """Runs in parallel with the block; killed if it has not finished by its end."""
        try:
            process = subprocess.Popen(
                [*self._confined(program()), program(), *self._prefix, *arguments],
                stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                cwd=self._folder,
                env=self._environment,
            )
        except OSError as error:
            why = Text("git cannot work in {folder}: {problem}", folder=self._folder, problem=error.strerror)
            raise CopyFailed(why=why) from None
        with process:
            try:
                yield Running(process, arguments[0], stdin, self._time_limit)
            finally:
                if process.returncode is None:
                    process.kill()


def _output_so_far(file: IO[bytes]) -> bytes:
    """So far, without moving the position at which git writes."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)


def _last_pair(said: bytes) -> tuple[int, int]:
    found = _PAIR.findall(said)
    return (int(found[-1][0]), int(found[-1][1])) if found else (0, 0)


class Running:
    def __init__(
        self, process: subprocess.Popen[bytes], command: str, stdin: bytes | None, limit: float
    ) -> None:
        self._process = process
        self._command = command
        self._stdin = stdin
        self._limit = limit

    def finish(self) -> Finished:
        try:
            out, err = self._process.communicate(self._stdin, timeout=self._limit)
        except subprocess.TimeoutExpired:
            why = Text("git {command} did not end in {seconds} s", command=self._command, seconds=self._limit)
            raise CopyFailed(why=why) from None
        return Finished(self._process.returncode, out or b"", err or b"")

    def pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        """Its input and output while it runs; only if it was started with an input."""
        return cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)

    def result(self) -> bytes:
        finished = self.finish()
        if finished.code:
            raise failure(self._command, finished)
        return finished.out


def override(values: Mapping[str, str]) -> dict[str, str]:
    """Variables that set configuration. Words after `-c` cannot: a name there ends at its first `=`."""
    variables = {"GIT_CONFIG_COUNT": str(len(values))}
    for number, (name, value) in enumerate(values.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def settings(git: Git, pattern: str) -> dict[tuple[str, str], str]:
    """The settings whose names match, by scope (system, global, local …) and name."""
    finished = git.attempt("config", "-z", "--includes", "--show-scope", "--get-regexp", pattern)
    if finished.code not in {0, 1}:  # 1: there is none
        raise failure("config", finished)
    fields = os.fsdecode(finished.out).split("\0")
    found = {}
    for scope, pair in zip(fields[::2], fields[1::2], strict=False):
        name, _, value = pair.partition("\n")
        found[scope, name] = value
    return found


@cache
def _program(path: str) -> str:
    found = shutil.which("git", path=path)
    if found is None:
        raise Unsupported(what=Text("the program git"))
    return found


def program() -> str:
    return _program(search_path(os.environ))


def version(of: str = "") -> tuple[int, ...]:
    """Of the git at this path, or of ours; asked again if another is installed meanwhile."""
    path = of or program()
    found = Path(path).stat()
    return _version(path, found.st_ino, found.st_mtime_ns)


@cache
def _version(path: str, *_: int) -> tuple[int, ...]:
    words = subprocess.run(
        [path, "version"], stdin=subprocess.DEVNULL, capture_output=True, check=False, env=environment()
    ).stdout.split()
    numbers = words[2].split(b".")[:2] if len(words) > 2 else []  # noqa: PLR2004  # "git version 2.39.5"
    return tuple(int(number) for number in numbers if number.isdigit())


def require_version() -> None:
    if version() < OLDEST:
        raise Unsupported(what=Text("git {version} or newer", version=".".join(map(str, OLDEST))))


def environment(*, personal: bool = False) -> dict[str, str]:
    """The caller's, without variables that steer git; PATH cannot lead into the repository."""
    kept = {name: value for name, value in process_environment().items() if not name.startswith("GIT_")}
    kept |= _ENVIRONMENT
    kept["PATH"] = search_path(os.environ)
    if personal:
        for name in _PERSONAL:
            kept.pop(name, None)
            if name in os.environ:
                kept[name] = os.environ[name]
    return kept


def quote(path: Path | str) -> bytes:
    """A path or value with any bytes, quoted for an alternates or a configuration file."""
    raw = os.fsencode(path)
    return b'"' + raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def keep(path: Path, data: bytes) -> None:
    """Writes the bytes, unless the file already has them."""
    if path.is_symlink() or not path.is_file() or path.read_bytes() != data:
        replace_file(path, data, synced=False)


def failure(command: str, finished: Finished) -> CopyFailed:
    problem = last_line(finished.err) or f"exit {finished.code}"
    return CopyFailed(why=Text("git {command} failed: {problem}", command=command, problem=problem))


# What git prints.


def last_line(said: bytes) -> str:
    """It says what stopped git; the lines before say what it tried."""
    return (said.decode("utf-8", "backslashreplace").strip().splitlines() or [""])[-1]


LINK_MODE: Final = b"160000"


class IndexEntry(NamedTuple):
    path: bytes
    mode: bytes
    oid: bytes
    stage: bytes

    @property
    def is_link(self) -> bool:
        """Whether it is a repository of its own."""
        return self.mode == LINK_MODE


class TreeFile(NamedTuple):
    path: bytes
    mode: str
    oid: str


class TreeChange(NamedTuple):
    path: bytes
    before: str
    """The mode; ABSENT if it was not there."""
    after: str
    old_oid: str
    oid: str


def join_names(names: Iterable[bytes]) -> bytes:
    """Names for an option `-z`."""
    return b"".join(name + b"\0" for name in names)


def names_in(out: bytes) -> list[bytes]:
    return [name for name in out.split(b"\0") if name]


def index_entries(out: bytes) -> Iterator[IndexEntry]:
    """From `ls-files -s -z`."""
    for line in names_in(out):
        facts, _, path = line.partition(b"\t")
        yield IndexEntry(path, facts[:6], facts[7:-2], facts[-1:])


def tree_files(out: bytes) -> Iterator[TreeFile]:
    """From `ls-tree -r -z`."""
    for line in names_in(out):
        facts, _, path = line.partition(b"\t")
        mode, _, oid = facts.decode("ascii").split(" ")
        yield TreeFile(path, mode, oid)


def tree_changes(out: bytes) -> Iterator[TreeChange]:
    """From `diff-tree -r -z --raw --no-renames`."""
    fields = out.split(b"\0")
    for facts, path in zip(fields[::2], fields[1::2], strict=False):
        before, after, old_oid, oid, _ = facts.decode("ascii").lstrip(":").split(" ")
        yield TreeChange(path, before, after, old_oid, oid)


def read_blobs(git: Git, ids: Sequence[str]) -> Iterator[bytes]:
    """The bytes of each, in this order, one at a time in memory."""
    if not ids:
        return
    with git.start("cat-file", "--batch", stdin=b"") as running:
        questions, answers = running.pipes()
        for start in range(0, len(ids), _AT_ONCE):
            some = ids[start : start + _AT_ONCE]
            try:
                questions.write("".join(f"{oid}\n" for oid in some).encode())
                questions.flush()
            except BrokenPipeError:
                raise _missing(some[0]) from None
            for oid in some:
                yield _answer(answers, oid)


def read_available(git: Git, names: Sequence[str], most: int) -> Iterator[tuple[bytes, bytes] | None]:
    """The kind and the bytes of each object, in this order; None if it is missing, damaged or too large."""
    done = 0
    while done < len(names):
        # Its errors would fill a pipe that nobody reads.
        with git.start("cat-file", "--batch", stdin=b"", stderr=subprocess.DEVNULL) as running:
            questions, answers = running.pipes()
            try:
                while done < len(names):
                    some = names[done : done + _AT_ONCE]
                    questions.write("".join(f"{name}\n" for name in some).encode())
                    questions.flush()
                    for _ in some:
                        found = _answer_or_none(answers, most)
                        done += 1
                        yield found
            except (EOFError, BrokenPipeError):  # git ends at a damaged object
                done += 1
                yield None


def _answer_or_none(answers: IO[bytes], most: int) -> tuple[bytes, bytes] | None:
    line = answers.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    *_, kind, size = line.split()
    if not size.isdigit():  # "… missing"
        return None
    left, kept = int(size) + 1, list[bytes]()
    fits = left <= most
    while left:
        piece = answers.read(min(left, _PIECE))
        if not piece:
            raise EOFError
        left -= len(piece)
        if fits:
            kept.append(piece)
    return (kind, b"".join(kept)[:-1]) if fits else None


def _answer(answers: IO[bytes], oid: str) -> bytes:
    _, kind, *size = answers.readline().split() or (b"", b"")
    if kind != b"blob":  # pruned from the repository we borrowed it from
        raise _missing(oid)
    data = answers.read(int(size[0]))
    if answers.read(1) != b"\n":
        raise _missing(oid)
    return data


def _missing(oid: str) -> CopyFailed:
    return CopyFailed(why=Text("the object {blob} is missing", blob=oid))
