"""Puts one small fault after another into a copy of the program, and says whether a test catches it.

    make seeded                                        every fault
    make seeded ARGS="--only NAME"                     one of them, or those of a subject; may be repeated
    make seeded ARGS=--list                            their names, and what each would do to a person
    make seeded ARGS="--only NAME --search tests/unit" which of these tests catch it

A fault replaces whole lines that stand exactly once in the program, in any file and at any indentation: so it
survives if code is moved. A test that was moved is found by its name. The faults are in tests/seeded.

First the tests run without a fault: one that is not green then proves nothing. A fault is caught if a test
fails by itself, and not because the program cannot be imported. The copies lie in .make, and nothing outside
is changed.
"""

import argparse
import ast
import contextlib
import fcntl
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

ROOT: Final = Path(__file__).resolve().parent.parent
FAULTS: Final = Path("tests/seeded")
PROGRAM: Final = Path("src/ringi")
_NOT_COPIED: Final = frozenset([".git", ".venv", ".make", ".hypothesis", "build", "dist"])
_LONGEST_SEC: Final = 600
_MARK: Final = "SEEDED_COPY"
"""In the environment of all that runs in a copy."""
_NO_PROGRAM: Final = "E9,F63,F7,F82"
"""Errors of syntax, and names that are not there."""
# A test that stops for one of these shows that the fault is no program, not that it was caught.
_CRASHES: Final = frozenset(
    [
        "AttributeError", "ImportError", "IndexError", "KeyError", "ModuleNotFoundError", "NameError",
        "SyntaxError", "TypeError", "UnboundLocalError",
    ]
)  # fmt: skip
_PASSED: Final = "passed"
_FAILED: Final = "failed"
_SKIPPED: Final = "skipped"
_ERROR: Final = "error"
Given = TypeVar("Given")
Made = TypeVar("Made")


class SeededError(Exception):
    """The catalogue cannot be read, or there is no such fault."""


@dataclass(frozen=True)
class Fault:
    subject: str
    name: str
    harm: str
    """What goes wrong for a person."""
    find: str
    replace: str
    tests: tuple[str, ...]


def read_faults(root: Path = ROOT) -> list[Fault]:
    """Those of every file, each file for one subject."""
    found = []
    for path in sorted((root / FAULTS).glob("*.toml")):
        try:
            tables = tomllib.loads(path.read_text(encoding="utf-8"))["fault"]
            found += [
                Fault(path.stem, one["name"], one["harm"], one["find"], one["replace"], tuple(one["tests"]))
                for one in tables
            ]
        except (KeyError, TypeError, tomllib.TOMLDecodeError) as problem:
            raise SeededError(f"{path}: {problem}") from problem
    return found


class Sources:
    """The program's modules, in which the lines of a fault are looked for."""

    def __init__(self, root: Path = ROOT) -> None:
        self._texts = {
            path.relative_to(root): path.read_text(encoding="utf-8")
            for path in sorted((root / PROGRAM).rglob("*.py"))
        }

    def patched(self, fault: Fault) -> list[tuple[Path, str]]:
        """Each module that has the lines, with the fault in it; one module for each place."""
        lines = _plain(fault.find).splitlines()
        first = lines[0]
        rest = [re.escape(line) for line in lines]
        wanted = re.compile(
            rf"^(?P<indent>[ \t]*){rest[0]}\n"
            + "".join(rf"(?P=indent){line}\n" if line else "[ \t]*\n" for line in rest[1:]),
            re.MULTILINE,
        )
        places = []
        for path, text in self._texts.items():
            if first not in text:
                continue
            for match in wanted.finditer(text):
                new = textwrap.indent(_plain(fault.replace), match["indent"])
                places.append((path, text[: match.start()] + new + text[match.end() :]))
        return places


def _plain(lines: str) -> str:
    """Without the margin, and without empty lines around them."""
    text = textwrap.dedent(lines).strip("\n")
    return f"{text}\n" if text else ""


class Tests:
    """Where each test is."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        self._names: dict[str, frozenset[str]] = {}

    def find(self, test: str) -> str | None:
        """The test under this name or, if it was moved, the only one with its function's name."""
        path, _, name = test.partition("::")
        bare = name.partition("[")[0]
        if bare in self._in(path):
            return test
        function = bare.rpartition("::")[2]
        elsewhere = [
            f"{other}::{one}"
            for other in self._all
            for one in self._in(other)
            if one.rpartition("::")[2] == function
        ]
        return elsewhere[0] + name[len(bare) :] if len(elsewhere) == 1 else None

    @cached_property
    def _all(self) -> list[str]:
        return [
            str(path.relative_to(self._root)) for path in sorted((self._root / "tests").rglob("test_*.py"))
        ]

    def _in(self, path: str) -> frozenset[str]:
        if path not in self._names:
            try:
                tree = ast.parse((self._root / path).read_bytes())
            except OSError:
                tree = ast.Module([], [])
            self._names[path] = frozenset(_tests_in(tree.body, ""))
        return self._names[path]


def _tests_in(body: Iterable[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test"):
                yield prefix + name
            case ast.ClassDef(name=name, body=inner):
                yield from _tests_in(inner, f"{prefix}{name}::")


@dataclass(frozen=True)
class Outcome:
    result: str
    why: str = ""
    """The first line of a failure."""
    seconds: float = 0


Outcomes = dict[str, Outcome]


class Copy:
    """A copy of the tree with an environment whose `ringi` is the copy's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        shutil.copytree(ROOT, folder, ignore=_not_copied, symlinks=True)
        self._python = _make_environment(folder)

    @contextlib.contextmanager
    def patched(self, path: Path, text: str) -> Iterator[None]:
        module = self._folder / path
        was = module.read_text(encoding="utf-8")
        try:
            _write(module, text)
            yield
        finally:
            _write(module, was)

    def refusal(self, path: Path) -> str:
        """Why the module is no program any more; empty if it is one."""
        name = ".".join(path.with_suffix("").relative_to("src").parts).removesuffix(".__init__")
        ruff = [str(ROOT / ".venv" / "bin" / "ruff"), "check", "--quiet", "--isolated", "--no-cache"]
        for words in ([*ruff, f"--select={_NO_PROGRAM}", str(path)], [self._python, "-c", f"import {name}"]):
            done = subprocess.run(
                words,
                cwd=self._folder,
                env=_environment(self._folder),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                return (done.stdout + done.stderr).strip() or "it cannot be imported"
        return ""

    def run(self, tests: Sequence[str], running: "Running", workers: int = 0) -> Outcomes:
        """Runs them and nothing else; keyed by what pytest calls each of them."""
        with tempfile.TemporaryDirectory(dir=self._folder / ".make") as folder:
            report, said = Path(folder, "report"), Path(folder, "said")
            words = [self._python, "-m", "tools.seeded", "--jobs", str(workers), "--report", str(report)]
            code = running.wait([*words, *tests], self._folder, said)
            outcomes = read_report(report)
            if code not in {0, 1}:
                why = said.read_text(encoding="utf-8", errors="replace").strip()[-2000:]
                why = f"took more than {_LONGEST_SEC} s" if code is None else why
                outcomes = {test: Outcome(_ERROR, why) for test in tests} | outcomes
        return outcomes


def read_report(path: Path) -> Outcomes:
    """By what pytest calls each test. A failure stays one, whatever happens when the test is taken down."""
    outcomes: Outcomes = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        name, result, why, seconds = json.loads(line)
        if outcomes.get(name, Outcome(_PASSED)).result == _PASSED:
            outcomes[name] = Outcome(result, why, seconds)
    return outcomes


def _not_copied(folder: str, names: list[str]) -> set[str]:
    if Path(folder) != ROOT:
        return set()
    return {name for name in names if name in _NOT_COPIED or re.fullmatch(r"\..*_cache", name)}


def _make_environment(folder: Path) -> str:
    """The project's packages, but not its path file, which leads to the program as it is."""
    (folder / ".make").mkdir()
    environment = folder / ".venv"
    ours = next((ROOT / ".venv").glob("lib/python3*/site-packages"))
    packages = environment / ours.relative_to(ROOT / ".venv")
    packages.mkdir(parents=True)
    (environment / "bin").mkdir()
    shutil.copy(ROOT / ".venv" / "pyvenv.cfg", environment)
    for name in ("python", "python3"):
        (environment / "bin" / name).symlink_to(os.path.realpath(ROOT / ".venv" / "bin" / "python"))
    places = (folder / "src", ours)
    # Relative, for path files are read in the locale's encoding.
    (packages / "ringi.pth").write_text(
        "".join(f"{os.path.relpath(place, packages)}\n" for place in places), encoding="ascii"
    )
    return str(environment / "bin" / "python")


def _write(module: Path, text: str) -> None:
    """Bytecode is told by size and second; that of a fault must not outlive it, nor hide it."""
    module.write_text(text, encoding="utf-8")
    for compiled in (module.parent / "__pycache__").glob(f"{module.stem}.*"):
        compiled.unlink()


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, _MARK: str(folder)}


class Running:
    """The processes under way, so that all can be ended."""

    def __init__(self) -> None:
        self._all: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def wait(self, words: Sequence[str], folder: Path, said: Path) -> int | None:
        """Its exit code; None if it took too long. What it left running is ended."""
        if self._stopped:
            raise SeededError("stopped")
        with said.open("wb") as out:
            process = subprocess.Popen(
                words,
                cwd=folder,
                env=_environment(folder),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._all.add(process)
            try:
                return process.wait(_LONGEST_SEC)
            except subprocess.TimeoutExpired:
                return None
            finally:
                _end(process)
                _end_leftovers(folder)
                self._all.discard(process)

    def stop(self) -> None:
        self._stopped = True
        for process in list(self._all):
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _end_leftovers(folder: Path) -> None:
    """A program with a fault may not end what it started; the mark tells what comes from this copy."""
    mark = f"{_MARK}={folder}".encode()
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (place / "environ").read_bytes().split(b"\0"):
                os.kill(int(place.name), signal.SIGKILL)


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """A folder of our own; one that a killed run left behind is removed."""
    own = ROOT / ".make"
    own.mkdir(exist_ok=True)
    for left in own.glob("seeded-*"):
        with contextlib.suppress(OSError), (left / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix="seeded-", dir=own))
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Verdict:
    """What became of one fault."""

    fault: Fault
    trouble: str = ""
    """Why it could not be tried."""
    caught_by: dict[str, str] = field(default_factory=dict)
    """The first line of the failure, by test."""
    not_by: dict[str, str] = field(default_factory=dict)
    """Named tests that do not catch it, and why."""
    moved: dict[str, str] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """A test that is named and does not catch the fault is a false claim, even beside one that does."""
        return bool(self.caught_by) and not (self.trouble or self.not_by)

    def show(self, *, why: bool = False) -> str:
        name = f"{self.fault.subject}/{self.fault.name}"
        head = "caught" if self.caught_by else "NOT CAUGHT"
        lines = [f"{'not tried' if self.trouble else head:<12}{name}"]
        if not self.holds:
            lines.append(f"{'':<12}{self.trouble or self.fault.harm}")
        for test, said in self.caught_by.items():
            lines.append(f"{'by':>11} {test}" + (f"\n{'':>14}{said}" if why else ""))
        lines += [f"{'NOT by':>11} {test}: {said}" for test, said in self.not_by.items()]
        lines += [f"{'moved':>11} {old} is {new} now" for old, new in self.moved.items()]
        return "\n".join(lines)


class Laboratory:
    """Several copies, in each of which one fault at a time is tried."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self._running = Running()
        self._jobs = jobs
        self._copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for copy in self.each(Copy, [folder / str(number) for number in range(jobs)]):
            self._copies.put(copy)

    def run(self, tests: Sequence[str], workers: int = 0) -> Outcomes:
        """Without a fault."""
        with self._copy() as copy:
            return copy.run(tests, self._running, workers)

    def try_out(self, place: tuple[Path, str], tests: Sequence[str], workers: int = 0) -> Outcomes | str:
        """What the tests say; or why the module with the fault is no program."""
        with self._copy() as copy, copy.patched(*place):
            return copy.refusal(place[0]) or copy.run(tests, self._running, workers)

    def control(self, tests: Sequence[str]) -> Outcomes:
        """Without a fault, in as many parts as there are copies."""
        shares = [list(tests)[number :: self._jobs] for number in range(self._jobs)]
        outcomes: Outcomes = {}
        for found in self.each(self.run, [share for share in shares if share]):
            outcomes |= found
        return outcomes

    @contextlib.contextmanager
    def _copy(self) -> Iterator[Copy]:
        copy = self._copies.get()
        try:
            yield copy
        finally:
            self._copies.put(copy)

    def each(self, work: Callable[[Given], Made], given: Iterable[Given]) -> Iterator[Made]:
        """In their order, as they are done."""
        with ThreadPoolExecutor(self._jobs) as pool:
            try:
                yield from pool.map(work, given)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self._running.stop()
                raise


class Trial:
    """Tries faults with the tests that each names."""

    def __init__(self, laboratory: Laboratory) -> None:
        self._laboratory = laboratory
        self._sources = Sources()
        self._tests = Tests()
        self._green: Outcomes = {}

    def control(self, faults: Sequence[Fault]) -> None:
        """What is not green without a fault proves nothing with one."""
        found = {self._tests.find(test) for fault in faults for test in fault.tests}
        self._green = self._laboratory.control(sorted(filter(None, found)))

    def verdict(self, fault: Fault) -> Verdict:
        verdict = Verdict(fault)
        found = {test: self._tests.find(test) for test in fault.tests}
        verdict.not_by |= {
            test: "there is no such test any more" for test, now in found.items() if now is None
        }
        verdict.moved |= {test: now for test, now in found.items() if now and now != test}
        place = place_of(self._sources, fault)
        if isinstance(place, str):
            verdict.trouble = place
            return verdict
        good = []
        for test in filter(None, found.values()):
            if (said := summary(self._green, test)).result == _PASSED:
                good.append(test)
            else:
                verdict.not_by[test] = f"{said.result} without the fault, too: {said.why}"
        outcomes = self._laboratory.try_out(place, good) if good else {}
        if isinstance(outcomes, str):
            verdict.trouble = f"with the fault in it the module is no program: {outcomes}"
            return verdict
        for test in good:
            said = summary(outcomes, test)
            if said.result == _FAILED:
                verdict.caught_by[test] = said.why
            else:
                verdict.not_by[test] = f"{said.result} {said.why}".strip()
        return verdict

    def search(self, fault: Fault, tests: Sequence[str], workers: int) -> Verdict:
        """Which of these catch it, the quickest first."""
        verdict = Verdict(fault)
        place = place_of(self._sources, fault)
        outcomes = place if isinstance(place, str) else self._laboratory.try_out(place, tests, workers)
        if isinstance(outcomes, str):
            verdict.trouble = outcomes
            return verdict
        failed = [name for name, said in outcomes.items() if said.result == _FAILED]
        green = self._laboratory.run(failed) if failed else {}
        for name in sorted(failed, key=lambda name: outcomes[name].seconds):
            if green.get(name, Outcome(_ERROR)).result == _PASSED:
                verdict.caught_by[name] = f"{outcomes[name].seconds:.1f} s, {outcomes[name].why}"
        return verdict


def place_of(sources: Sources, fault: Fault) -> tuple[Path, str] | str:
    """The module and its text with the fault; or why there is none."""
    places = sources.patched(fault)
    if len(places) == 1:
        return places[0]
    if not places:
        return "it does not apply any more: its lines are gone"
    return "its lines are ambiguous: " + ", ".join(str(path) for path, _ in places)


def summary(outcomes: Mapping[str, Outcome], test: str) -> Outcome:
    """Of all that pytest made of one test: failed if any of them did, passed if all others did."""
    some = [said for name, said in outcomes.items() if name == test or name.startswith(f"{test}[")]
    for result in (_ERROR, _FAILED, _SKIPPED):
        for said in some:
            if said.result == result:
                return said
    return some[0] if some else Outcome(_ERROR, "it was not run")


class Reporter:
    """A plugin of pytest: one line for each phase of each test."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def pytest_runtest_logreport(self, report: Any) -> None:
        result, why = report.outcome, ""
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = (crash.message if crash else str(report.longrepr)).strip().partition("\n")[0]
            # Only the test itself can catch something, and not by a crash.
            if report.when != "call" or why.partition(":")[0].strip() in _CRASHES:
                result = _ERROR
        if report.when == "call" or result != _PASSED:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([report.nodeid, result, why, report.duration]) + "\n")


def _report(path: str, tests: Sequence[str], workers: int) -> int:
    """Runs in a copy."""
    import pytest  # noqa: PLC0415  # the rest runs without it

    several = ["-n", str(workers), "--dist", "worksteal"] if workers else ["-p", "no:xdist"]
    words = ["-q", "-p", "no:cacheprovider", *several, *tests]
    return int(pytest.main(words, plugins=[Reporter(path)]))


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="NAME", action="append", help="this fault, or all of this subject")
    parser.add_argument("--list", action="store_true", help="name them and do nothing")
    parser.add_argument("--search", metavar="TESTS", nargs="+", help="which of these tests catch it")
    parser.add_argument("--why", action="store_true", help="show how each test failed")
    processors = os.cpu_count() or 1
    parser.add_argument("--jobs", type=int, default=processors + processors // 2, help="how many at once")
    parser.add_argument("--report", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.report:
        return _report(options.report[0], options.report[1:], options.jobs)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        faults = _chosen(read_faults(), options.only or [])
        if options.list:
            for fault in faults:
                print(f"{fault.subject + '/' + fault.name:<44}{fault.harm}")
            return 0
        with _scratch() as folder:
            return _search(folder, faults, options) if options.search else _try_all(folder, faults, options)
    except SeededError as problem:
        print(problem, file=sys.stderr)
        return 1


def _chosen(faults: list[Fault], names: Sequence[str]) -> list[Fault]:
    if not names:
        return faults
    chosen = [one for one in faults if {one.name, one.subject, f"{one.subject}/{one.name}"} & set(names)]
    if not chosen:
        raise SeededError(f"No fault has this name: {', '.join(names)}. ARGS=--list shows all of them.")
    return chosen


def _try_all(folder: Path, faults: Sequence[Fault], options: argparse.Namespace) -> int:
    laboratory = Laboratory(folder, min(options.jobs, len(faults)))
    trial = Trial(laboratory)
    trial.control(faults)
    caught = 0
    for verdict in laboratory.each(trial.verdict, faults):
        caught += verdict.holds
        print(verdict.show(why=options.why), flush=True)
    print(f"Faults caught by every test that they name: {caught} of {len(faults)}")
    return int(caught < len(faults))


def _search(folder: Path, faults: Sequence[Fault], options: argparse.Namespace) -> int:
    trial = Trial(Laboratory(folder, 1))
    caught = True
    for fault in faults:
        verdict = trial.search(fault, options.search, options.jobs)
        print(verdict.show(why=options.why), flush=True)
        caught &= bool(verdict.caught_by)
    return int(not caught)


if __name__ == "__main__":
    raise SystemExit(main())
