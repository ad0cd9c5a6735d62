"""`make records`: does the installed program still do what the records say?

Compares by default. --write records anew; NAMEs of scenes take only those.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.records import compare, coverage
from tests.records.program import INSTALLED, ROOT
from tests.records.scene import Scene
from tests.records.scenes import SCENES, Entry
from tests.search_path import in_sight

ROOMY = Path("/var/tmp")  # sandboxes hide /tmp, and paths below it have the same length everywhere
TOOLS = ("git", "ssh-keygen", "bwrap")
scratches: list[Path] = []


def main() -> int:
    parser = argparse.ArgumentParser(prog="make records ARGS=", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a scene; all if none is named")
    parser.add_argument("--write", action="store_true", help="record what the program does now")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="scenes at once")
    parser.add_argument("--here", action="store_true", help="of the sources as they are, installed or not")
    parser.add_argument("--scenes", action="store_true", help="list the scenes")
    parser.add_argument("--detached", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.scenes:
        print("\n".join(f"{name:14} {entry.about}" for name, entry in SCENES.items()))
        return 0
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    if lacking or not sandbox_works():
        print(
            f"make records needs {', '.join(lacking) or 'a sandbox that works: bwrap fails here'}.",
            file=sys.stderr,
        )
        return 1
    return record(options) if options.detached else detach()


def sandbox_works() -> bool:
    words = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "true"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def detach() -> int:
    """Starts itself again as nobody's child, and waits.

    The program looks at the processes above it for an agent. Records made below one would be those of an
    agent, and all others those of a person.
    """
    ours, its = os.pipe()
    gone, here = os.pipe()
    os.set_inheritable(its, True)
    os.set_inheritable(gone, True)
    if os.fork() == 0:
        os.close(here)
        os.setsid()
        words = [sys.executable, "-m", "tests.records", *sys.argv[1:], "--detached"]
        subprocess.Popen(words, env={**os.environ, "RECORDS_PIPES": f"{its},{gone}"}, close_fds=False)
        os._exit(0)
    os.close(its)
    os.close(gone)
    os.wait()
    with os.fdopen(ours) as answer:
        return int(answer.read() or 1)


def record(options: argparse.Namespace) -> int:
    answer, gone = map(int, os.environ.pop("RECORDS_PIPES").split(","))
    for descriptor in (answer, gone):
        os.set_inheritable(descriptor, False)
    threading.Thread(target=end_with, args=(gone,), daemon=True).start()
    code = 1
    try:
        code = take(options)
    finally:
        sys.stdout.flush()
        os.write(answer, str(code).encode())
    return code


def end_with(pipe: int) -> None:
    """Whoever waited for us was interrupted: all ends, and then the scratch folder goes."""
    os.read(pipe, 1)
    if scratches:
        words = ["sh", "-c", 'sleep 1; rm -rf -- "$@"', "sh", *map(str, scratches)]
        subprocess.Popen(words, start_new_session=True)
    os.killpg(os.getpgid(0), signal.SIGKILL)


def take(options: argparse.Namespace) -> int:
    began, processor = time.monotonic(), os.times()
    unknown = [name for name in options.names if name not in SCENES]
    if unknown:
        print(f"There is no scene {' '.join(unknown)}; --scenes lists them.", file=sys.stderr)
        return 2
    entries = {name: SCENES[name] for name in options.names or SCENES}
    found: dict[str, str] = {}
    broken: list[str] = []
    with tempfile.TemporaryDirectory(
        prefix="ringi-records-", dir=ROOMY, ignore_cleanup_errors=True
    ) as folder:
        scratch = Path(folder).resolve()
        scratches.append(scratch)
        environment = in_view(Path(sys.prefix), scratch) if options.here else INSTALLED
        with ThreadPoolExecutor(options.jobs) as pool:
            # The longest first, so that none is left for the end.
            order = sorted(entries.items(), key=lambda row: -row[1].weight)
            for name, made, problem in pool.map(lambda row: play(scratch, environment, *row), order):
                found.update(made)
                broken += [name] if problem else []
    recorded = {name: text for name, text in compare.read_all().items() if not options.names or name in found}
    code = conclude(options, recorded, found, broken)
    spent = os.times()
    used = spent.user + spent.system + spent.children_user + spent.children_system
    used -= processor.user + processor.system + processor.children_user + processor.children_system
    print(f"{time.monotonic() - began:.0f} s, {used:.0f} s of processor time")
    return code


def in_view(environment: Path, scratch: Path) -> Path:
    """As it is; if sandboxes hide it, a copy beside one of the sources, to which it points."""
    if in_sight(environment) and in_sight(ROOT):
        return environment
    made, packages = scratch / "environment", next(environment.glob("lib/python3*/site-packages"))
    for source, target in (
        (packages, made / packages.relative_to(environment)),
        (ROOT / "src", scratch / "src"),
    ):
        shutil.copytree(source, target, symlinks=True, copy_function=_link)
    (made / "bin").mkdir()
    (made / "bin" / "python").symlink_to((environment / "bin" / "python").resolve())
    shutil.copy2(environment / "bin" / "ringi", made / "bin" / "ringi")
    return made


def _link(source: str, target: str) -> None:
    """No bytes are copied if both are on one file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def play(scratch: Path, environment: Path, name: str, entry: Entry) -> tuple[str, dict[str, str], str]:
    began = time.monotonic()
    folder = scratch / f"scene-{[*SCENES].index(name):02}"
    folder.mkdir()
    scene = Scene(folder, environment)
    problem = ""
    try:
        with scene.at_end:
            entry.play(scene)
    except Exception:  # noqa: BLE001  # the others go on, and this one is told of
        problem = traceback.format_exc(limit=-3)
        print(f"== the scene {name} broke off:\n{problem}", file=sys.stderr)
    print(f"  {name:14} {len(scene.records):3} records  {time.monotonic() - began:5.1f} s", file=sys.stderr)
    return name, scene.records, problem


def conclude(
    options: argparse.Namespace, recorded: dict[str, str], found: dict[str, str], broken: list[str]
) -> int:
    verdict = compare.compare(recorded, found)
    if options.write:
        compare.write({} if broken else recorded, found)
        if broken:
            print(f"Broken off: {' '.join(broken)}. No record was removed.", file=sys.stderr)
            return 1
        print(f"{len(found)} records: {len(verdict.differ)} changed, {len(verdict.new)} new, "
              f"{len(verdict.missing)} removed. Look at them: git diff --stat tests/records")  # fmt: skip
        return 0
    print("\n".join(compare.describe(verdict, recorded, found)))
    faults = [] if options.names else list(coverage.find_faults(found))
    print("".join(f"{line}\n" for line in faults), end="")
    if broken:
        print(f"Broken off: {' '.join(broken)}; see above.")
    if verdict.is_clean and not broken and not faults:
        return 0
    print("If this is meant: make records ARGS=--write, in a commit of its own that lists what it changes.")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
