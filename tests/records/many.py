"""The program, loaded once: runs each command in a copy of this process.

Takes a line of JSON for each on standard input (argv, cwd, env, stdin), and answers with one: code, output,
errors.
"""

import contextlib
import gc
import importlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import IO, Any, NoReturn

import records_fixed  # type: ignore[import-not-found]  # where the recorder put it

Code = Any


def load(script: str) -> Code:
    """The script, with what common commands load. It does not run here: a command leaves traces."""
    code = compile(Path(script).read_text(encoding="utf-8"), script, "exec")
    for words in (["--json", "log"], ["--json", "list"]):
        with tempfile.TemporaryFile() as names:
            if os.fork() == 0:
                _name_modules(code, [script, *words], names)
            os.wait()
            for name in _text(names).split():
                _load_module(name)
    gc.collect()
    gc.freeze()
    return code


def _load_module(name: str) -> None:
    """A function that a package has under the name of one of its modules stays what that name means."""
    package, _, last = name.rpartition(".")
    before = getattr(sys.modules.get(package), last, None)
    with contextlib.suppress(Exception):
        found = importlib.import_module(name)
        if before not in {None, found}:
            setattr(sys.modules[package], last, before)


def _name_modules(code: Code, argv: list[str], names: IO[bytes]) -> NoReturn:
    """All that the script has loaded in the end."""
    os.dup2(nothing := os.open(os.devnull, os.O_RDWR), 1)
    os.dup2(nothing, 2)
    sys.argv = argv
    with contextlib.suppress(BaseException):
        exec(code, {"__name__": "__main__"})
    names.write("\n".join(sys.modules).encode())
    names.flush()
    os._exit(0)


def run(code: Code, order: dict[str, Any]) -> tuple[int, str, str]:
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as errors,
    ):
        given.write((order["stdin"] or "").encode())
        given.seek(0)
        child = os.fork()
        if child == 0:
            os.dup2(given.fileno() if order["stdin"] is not None else os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            _become(code, order)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return ended, _text(out), _text(errors)


def _become(code: Code, order: dict[str, Any]) -> NoReturn:
    status = 1
    try:
        os.chdir(order["cwd"])
        os.environ.clear()
        os.environ.update(order["env"])
        sys.argv = [sys.argv[0], *order["argv"]]
        records_fixed.read_clock()
        exec(code, {"__name__": "__main__"})
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001  # as Python itself would
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "backslashreplace")


if __name__ == "__main__":
    started = load(sys.argv[1])
    for line in sys.stdin:
        answer = run(started, json.loads(line))
        print(json.dumps(answer), flush=True)
