"""A person, a project and commands: each command that has a name becomes a record."""

import difflib
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from tests.records.plain import Plain, without_measures
from tests.records.program import INSTALLED, ROOT, Answers, Done, Loaded, Program, environment_for, tools_in

FORMS = {"success": (), "json": ("--json",), "japanese": ("--lang", "ja")}
GIT_SETTINGS = """\
[user]
    name = Test Person
    email = person@example.invalid
[init]
    defaultBranch = main
[gc]
    auto = 0
[maintenance]
    auto = false
[advice]
    detachedHead = false
"""
FILES = {
    "README.md": "# Calc\n\nAdds numbers.\n",
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": 'from calc import add\n\nassert add(2, 3) == 5, add(2, 3)\nprint("fine")\n',
}
FIX = """\
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
"""
TITLE = """\
--- a/README.md
+++ b/README.md
@@ -1,3 +1,4 @@
-# Calc
+# Calculator

 Adds numbers.
+Two at a time.
"""
_LONG = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40})"
    r"(?![0-9a-f])"
)
_LONGEST_FILE = 20_000
_PRIVATE = (".lock", ".sock", ".spare")
_TOLD_ELSEWHERE = ("events.jsonl",)
"""What the log prints anyway."""


class State(NamedTuple):
    """What is there between two commands."""

    files: Mapping[str, tuple[str, str]]
    """Mode and content by path, of the project and of the person's settings."""
    refs: tuple[str, ...]
    events: tuple[str, ...]


class Scene:
    """Everything lies below `scratch`, whose path has the same length everywhere."""

    def __init__(self, scratch: Path, environment: Path = INSTALLED) -> None:
        self.scratch = scratch
        self.world = scratch / "world"
        self.home = self.world / "home"
        self.project = self.world / "project"
        self.home.mkdir(parents=True)
        (self.home / ".gitconfig").write_text(GIT_SETTINGS)
        self.installed = environment
        self.program = Program(scratch / "program", environment)
        self.variables = environment_for(self.home, [tools_in(scratch / "tools")])
        self._loaded: Loaded | None = None
        self.at_end = ExitStack()
        self.records: dict[str, str] = {}
        self._saved = 0
        self._known: set[str] = set()
        self._seen: State | None = None
        self._log: tuple[object, tuple[str, ...]] | None = None

    # --- what scenes are made of -----------------------------------------------------------------

    def make_project(self, files: Mapping[str, str] = FILES, folder: str = "project") -> Path:
        root = self.world / folder
        root.mkdir(parents=True)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        self.git("init", "-q", "--template=", cwd=root)
        self.git("add", "-A", cwd=root)
        self.git("commit", "-q", "-m", "first", cwd=root)
        return root

    def write(self, name: str, text: str, mode: int = 0o644) -> str:
        """A file beside the project; its path from there."""
        path = self.world / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return os.path.relpath(path, self.project)

    def configure(self, text: str) -> None:
        self.write("home/.config/ringi/config.yaml", text, 0o600)

    def make_key(self, name: str = "key") -> str:
        """A throwaway key; its path from the project."""
        path = self.world / name
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "throwaway", "-f", str(path)]
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL, env=self.variables)
        return os.path.relpath(path, self.project)

    def list_key(self, name: str = "key") -> str:
        """A key whose signatures count."""
        key = self.make_key(name)
        self.do("init", "--key", f"{key}.pub", "--as", "person@example.invalid", answers=[(r"\[y/n\]", "y")])
        return key

    def propose(self, patch: str = FIX, title: str = "Fix the sum") -> str:
        """A plan's name."""
        path = self.write("change.patch", patch)
        done = self.do("--json", "propose", "--title", title, "--patch", path)
        return f"p{json.loads(self.do('--json', 'list', '--limit', '1').out)[0]['number']}" if done else ""

    def git(self, *words: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *words], cwd=cwd or self.project, env=self.variables, capture_output=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"git {shlex.join(words)}: {done.stderr.decode()}")
        return done.stdout.decode("utf-8", "backslashreplace")

    # --- commands --------------------------------------------------------------------------------

    def do(self, *words: str, code: int = 0, **more: Any) -> Done:
        """A step on the way: nothing is recorded, and it has to end as it should."""
        done = self._run(words, **more)
        if done.code != code:
            raise RuntimeError(f"ringi {shlex.join(words)}: exit code {done.code}\n{done.out}\n{done.errors}")
        self._seen = None
        return done

    def print(self, *words: str) -> Done:
        """What a command prints that changes nothing."""
        return self._load().run(words, self.project, self.variables)

    def _load(self) -> Loaded:
        if self._loaded is None:
            self._loaded = Loaded(self.program, self.scratch / "loaded", self.variables)
            self.at_end.callback(self._loaded.close)
        return self._loaded

    def record(self, name: str, *words: str, **more: Any) -> Done:
        """What this command says and leaves."""
        before = self._seen or self.look()
        done = self._run(words, **more)
        self._seen = after = self.look()
        self._keep(name, words, done, before, after, more)
        return done

    def forms(self, name: str, *words: str, only: Sequence[str] = tuple(FORMS), **more: Any) -> Done:
        """The command as it is, with --json and in Japanese, each on the same state; the first one lasts."""
        others = [form for form in only if form != "success"]
        for form in others:
            with self.rewinding():
                self.record(f"{name}/{form}", *FORMS[form], *words, **more)
        return self.record(f"{name}/success", *words, **more)

    def refuse(self, name: str, *words: str, form: str = "refusal", **more: Any) -> Done:
        return self.record(f"{name}/{form}", *words, **more)

    @contextmanager
    def rewinding(self) -> Iterator[None]:
        """Whatever happens in between has not happened afterwards."""
        self._saved += 1
        saved = self.scratch / f"saved-{self._saved}"
        shutil.copytree(self.world, saved, symlinks=True)
        seen = self._seen
        try:
            yield
        finally:
            _empty(self.world)
            _fill(saved, self.world)
            _empty(saved)
            saved.rmdir()
            self._seen = seen

    def save_text(self, name: str, text: str) -> None:
        """A record of something other than a command."""
        self._known.update(_LONG.findall(text))
        self.records[name] = self._plain().text(text).rstrip("\n") + "\n"

    def _run(
        self,
        words: Sequence[str],
        *,
        answers: Answers | None = None,
        stdin: str | None = None,
        cwd: Path | None = None,
        python: str | None = None,
        **variables: str,
    ) -> Done:
        environment = {**self.variables, **variables}
        place = cwd or self.project
        if python is not None:
            argv = [str(self.program.python), "-P", python, *words]
            return self.program.run(argv, place, environment, stdin)
        if answers is not None:
            return self.program.sit([str(self.program.ringi), *words], place, environment, answers)
        loaded = self._load()
        self.program.tick()
        return loaded.run(words, place, environment, stdin)

    # --- what is there ---------------------------------------------------------------------------

    def look(self) -> State:
        if not self.project.is_dir():
            return State({}, (), ())
        files = dict(self._files())
        refs = self._refs() if (self.project / ".git").exists() else ()
        return State(files, refs, self._events())

    def _files(self) -> Iterator[tuple[str, tuple[str, str]]]:
        for root, hidden in ((self.project, (".git",)), (self.home / ".config", ())):
            for place, folders, names in os.walk(root):
                folders[:] = sorted(one for one in folders if one not in hidden)
                for name in sorted(names):
                    path = Path(place, name)
                    if path.is_socket() or path.name.endswith(_PRIVATE):
                        continue
                    yield str(path.relative_to(self.world)), _content(path)

    def _refs(self) -> tuple[str, ...]:
        refs = self.git("for-each-ref", "--format=%(refname) %(objectname) %(subject)").splitlines()
        self._known.update(self.git("rev-list", "--all").split())
        head = self.git("symbolic-ref", "-q", "HEAD") if (self.project / ".git/HEAD").exists() else ""
        status = self.git("status", "--porcelain", "--untracked-files=no").splitlines()
        return (f"HEAD → {head.strip()}", *refs, *(f"status: {line}" for line in status))

    def _events(self) -> tuple[str, ...]:
        """As `ringi log` prints them; none if there is no workspace yet."""
        if not (self.project / ".agent").is_dir():
            return ()
        ledger = self._ledger()
        if self._log and self._log[0] == ledger:
            return self._log[1]
        done = self.print("--json", "log")
        if done.code:
            return (f"ringi log ends with {done.code}",)
        self._known.update(_LONG.findall(done.out))
        events = tuple(json.dumps(_event(row), ensure_ascii=False) for row in json.loads(done.out))
        self._log = self._ledger(), events
        return events

    def _ledger(self) -> tuple[tuple[str, int, int], ...]:
        """Sizes and times of whatever the program keeps for itself: whether something may have happened."""
        files = sorted((self.home / ".local").rglob("*"))
        found = ((path, path.lstat()) for path in files if path.name != "projection.lock")
        return tuple((str(path), seen.st_size, seen.st_mtime_ns) for path, seen in found if not path.is_dir())

    # --- records ---------------------------------------------------------------------------------

    def _plain(self) -> Plain:
        packages = str(next(self.installed.glob("lib/python3*/site-packages")))
        places = {
            str(self.project): "<project>",
            str(self.home): "<home>",
            str(self.world): "<world>",
            str(self.program.folder): "<program>",
            str(self.scratch): "<scratch>",
            packages: "<installed>",
            str(self.installed): "<environment>",
            str(ROOT): "<clone>",
        }
        return Plain(places, self.program.now, self._known)

    def _keep(
        self,
        name: str,
        words: Sequence[str],
        done: Done,
        before: State,
        after: State,
        given: Mapping[str, Any],
    ) -> None:
        self._known.update(_LONG.findall(done.out + done.errors))
        typed = [f"$ {'python' if 'python' in given else 'ringi'} {shlex.join(words)}".rstrip()]
        typed += [f"{key}={value}" for key, value in given.items() if key.isupper()]
        sections = {
            "output": _lines(done.out),
            "errors": _lines(done.errors),
            "files": list(_changes(before.files, after.files)),
            "git": [line for line in difflib.ndiff(before.refs, after.refs) if line[0] in "+-"],
            "events": list(after.events[len(before.events) :])
            if after.events[: len(before.events)] == before.events
            else ["the log was rewritten:", *after.events],
        }
        lines = [*typed, f"exit code {done.code}"]
        for title, found in sections.items():
            if found:
                lines += ["", f"-- {title}", *found]
        self.save_text(name, "\n".join(lines))


def _event(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without what only chains it to others: the rest says what happened."""
    event = row.get("event", row)
    left_out = {"seq", "previous"}
    return {
        key: value for key, value in event.items() if key not in left_out and value not in ("", None, [], {})
    }


def _content(path: Path) -> tuple[str, str]:
    if path.is_symlink():
        return "link", str(path.readlink())
    mode = f"{path.stat().st_mode & 0o777:04o}"
    data = path.read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return mode, f"{len(data)} bytes"
    text = without_measures(text)
    return mode, text if len(text) < _LONGEST_FILE else f"{len(text.splitlines())} lines"


def _changes(before: Mapping[str, tuple[str, str]], after: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if new is None:
            yield f"removed {name}"
        elif name.endswith(_TOLD_ELSEWHERE):
            yield f"{'changed' if old else 'new'} {name}"
        elif old is None:
            yield f"new {name} {new[0]}"
            yield from (f"  | {line}" for line in _lines(new[1]))
        else:
            mode = "" if old[0] == new[0] else f" {old[0]} → {new[0]}"
            yield f"changed {name}{mode}"
            rows = difflib.unified_diff(_lines(old[1]), _lines(new[1]), n=1, lineterm="")
            yield from (f"  {line}" for line in list(rows)[2:] if not line.startswith("@@"))


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _empty(folder: Path) -> None:
    """The folder itself stays, for whoever knows it by its number."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, onerror=_force)
        else:
            path.unlink()


def _fill(source: Path, folder: Path) -> None:
    for path in source.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, folder / path.name, symlinks=True)
        else:
            shutil.copy2(path, folder / path.name, follow_symlinks=False)


def _force(_: object, path: str, __: object) -> None:
    """Copies of agents keep some folders from being written to; the program may remove others meanwhile."""
    with suppress(FileNotFoundError):
        os.chmod(Path(path).parent, 0o700)  # noqa: PTH101
        os.chmod(path, 0o700) if Path(path).is_dir() else None  # noqa: PTH101
        os.unlink(path) if not Path(path).is_dir() else os.rmdir(path)  # noqa: PTH106, PTH108


Scenario = Callable[[Scene], None]
