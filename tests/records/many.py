"""The program, loaded once: runs each command in a copy of this process.

Takes a line of JSON for each on standard input (argv, cwd, env), and answers with one: code, output, errors.
"""

import contextlib
import gc
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NoReturn


def load(script: str) -> Callable[[], int]:
    """What the script calls. It ran twice, into nothing; a language that it chose is forgotten."""
    variables = dict(os.environ)
    names: dict[str, Any] = {"__name__": "__main__"}
    code = compile(Path(script).read_text(encoding="utf-8"), script, "exec")
    sys.argv = [script, "--help"]
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nothing,
        contextlib.redirect_stdout(nothing),
        contextlib.redirect_stderr(nothing),
    ):
        with contextlib.suppress(SystemExit):
            exec(code, names)
        sys.argv = [script, "--json", "log"]
        with contextlib.suppress(SystemExit):
            names["main"]()
    os.environ.clear()
    os.environ.update(variables)
    gc.freeze()
    main: Callable[[], int] = names["main"]
    return main


def run(main: Callable[[], int], order: dict[str, Any]) -> tuple[int, str, str]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            _become(main, order)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return code, _text(out), _text(errors)


def _become(main: Callable[[], int], order: dict[str, Any]) -> NoReturn:
    code = 1
    try:
        os.chdir(order["cwd"])
        os.environ.clear()
        os.environ.update(order["env"])
        sys.argv = [sys.argv[0], *order["argv"]]
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        code = main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001  # as Python itself would
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "backslashreplace")


if __name__ == "__main__":
    started = load(sys.argv[1])
    for line in sys.stdin:
        answer = run(started, json.loads(line))
        print(json.dumps(answer), flush=True)
