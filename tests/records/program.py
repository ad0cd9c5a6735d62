"""The installed program in an environment of the recorder's own, and nothing else of it."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pexpect

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INSTALLED = ROOT / ".make" / "installed"
LONGEST_SEC = 900
LONGEST_WAIT_SEC = 240
"""For a question at a terminal."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-B0]|\x1b[=>78]|\x07")

START = 1_767_603_600  # 2026-01-05 09:00 UTC
"""The time of the first command; each later one has a second more."""

Answers = Sequence[tuple[str, str]]


class Done(NamedTuple):
    code: int
    out: str
    errors: str


class Program:
    """Made below `folder`, of the environment in which the program is installed."""

    def __init__(self, folder: Path, environment: Path = INSTALLED) -> None:
        self.folder = folder
        self.commands = 0
        packages = next(environment.glob("lib/python3*/site-packages"))
        python = (environment / "bin" / "python").resolve()
        own = folder / "lib" / packages.parent.name / "site-packages"
        own.mkdir(parents=True)
        (folder / "bin").mkdir()
        for name in ("python", "python3"):
            (folder / "bin" / name).symlink_to(python)
        (folder / "pyvenv.cfg").write_text(f"home = {python.parent}\n", encoding="utf-8")
        shutil.copyfile(HERE / "fixed.py", own / "records_fixed.py")
        (own / "records.pth").write_text(
            f"import site; site.addsitedir({str(packages)!r})\nimport records_fixed\n", encoding="utf-8"
        )
        start = (environment / "bin" / "ringi").read_text(encoding="utf-8")
        # Whatever starts Python there, in one line or two, ours comes instead.
        body = start.partition("\n' '''\n")[2] or start.partition("\n")[2]
        self.ringi = folder / "bin" / "ringi"
        self.ringi.write_text(f"#!{folder}/bin/python\n{body}", encoding="utf-8")
        self.ringi.chmod(0o755)
        self.python = folder / "bin" / "python"
        self.tick()

    @property
    def now(self) -> int:
        return START + self.commands

    def tick(self) -> None:
        self.commands += 1
        (self.folder / "now").write_text(str(self.now), encoding="ascii")

    def run(
        self, argv: Sequence[str], cwd: Path, environment: Mapping[str, str], stdin: str | None = None
    ) -> Done:
        self.tick()
        given = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin.encode()}
        done = subprocess.run(
            argv, cwd=cwd, env=environment, capture_output=True, timeout=LONGEST_SEC, check=False, **given
        )
        return Done(done.returncode, _text(done.stdout), _text(done.stderr))

    def sit(self, argv: Sequence[str], cwd: Path, environment: Mapping[str, str], answers: Answers) -> Done:
        """At a terminal: types each answer when its question stands there, as a template of the match."""
        self.tick()
        child = pexpect.spawn(
            argv[0], list(argv[1:]), cwd=str(cwd), env=environment, encoding="utf-8", codec_errors="replace",
            timeout=LONGEST_WAIT_SEC, dimensions=(50, 110),
        )  # fmt: skip
        child.delaybeforesend = None
        seen = ""
        try:
            for pattern, words in answers:
                child.expect(pattern)
                seen += f"{child.before}{child.after}"
                child.send(child.match.expand(words) + "\n")
            child.expect(pexpect.EOF)
            seen += str(child.before)
        except pexpect.ExceptionPexpect as problem:
            shown = f"{seen}{child.before}"
            raise RuntimeError(
                f"{shown}\n-- then {type(problem).__name__} instead of the next question"
            ) from None
        finally:
            child.close(force=True)
        return Done(int(child.exitstatus if child.exitstatus is not None else 255), _shown(seen), "")


class Loaded:
    """One process of the program whose copies run commands, which is quicker than to start each."""

    def __init__(self, program: Program, folder: Path, environment: Mapping[str, str]) -> None:
        folder.mkdir()
        argv = [str(program.python), str(HERE / "many.py"), str(program.ringi)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
        self._process = subprocess.Popen(argv, cwd=folder, env=environment, **pipes)

    def run(
        self, words: Sequence[str], cwd: Path, environment: Mapping[str, str], stdin: str | None = None
    ) -> Done:
        order = {"argv": list(words), "cwd": str(cwd), "env": dict(environment), "stdin": stdin}
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"ringi {' '.join(words)}: the loaded program has ended")
        code, out, errors = json.loads(line)
        return Done(code, *(text.replace("\r\n", "\n") for text in (out, errors)))

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def environment_for(home: Path, path: Sequence[Path]) -> dict[str, str]:
    """Nothing of the caller's: not his language, his agent, his git or his terminal."""
    return {
        "HOME": str(home),
        "PATH": os.pathsep.join([*map(str, path), "/usr/bin", "/bin"]),
        "LANG": "C.UTF-8",
        "TZ": "UTC0",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "USER": "person",
        "LOGNAME": "person",
        "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": f"{START} +0000",
        "GIT_COMMITTER_DATE": f"{START} +0000",
    }


def tools_in(folder: Path) -> Path:
    """A folder with the few programs that a recorded command may need and a system may keep elsewhere."""
    folder.mkdir()
    for name in ("git", "bwrap", "ssh-keygen"):
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    (folder / "python3").symlink_to(Path(sys.executable).resolve())
    return folder


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace").replace("\r\n", "\n")


def _shown(seen: str) -> str:
    """The lines as they stood there in the end, without what moves a cursor."""
    plain = _ESCAPES.sub("", seen.replace("\r\n", "\n"))
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in plain.split("\n"))
