"""Makes the project's own environment in .venv, and only what is missing of it.

Needs nothing but Python and its standard library. The package is not built: a path file points at src and
two small launchers start it, so that no build tool is needed to try the program.
"""

import argparse
import compileall
import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Not the python of an active .venv, which may be the very one to be made anew.
PYTHON = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
VENV = ROOT / ".venv"
OWN = ROOT / ".make"
INSTALLED = OWN / "installed"
STATE = OWN / "state.json"
PROGRAMS = ("ringi", "agent")

# The person's settings say where packages come from; where they go and what is installed is ours to say.
NOT_OURS = re.compile(
    r"PIP_(TARGET|PREFIX|ROOT|USER|PYTHON|DRY_RUN|REPORT|NO_COMPILE|REQUIREMENT|CONSTRAINT|EDITABLE|"
    r"REQUIRE_VIRTUALENV)|UV_(TARGET|PREFIX|SYSTEM_PYTHON|PYTHON|CONSTRAINT|OVERRIDE|DRY_RUN)|"
    r"PYTHON(PATH|HOME|OPTIMIZE|DONTWRITEBYTECODE)|VIRTUAL_ENV|CONDA_PREFIX"
)

LAUNCHER = """\
{start}
from ringi.cli import main

raise SystemExit(main())
"""


class SetUpError(Exception):
    """Packages cannot be reached or installed, or a catalogue is broken."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dev", action="store_true", help="also what tests and lint need")
    parser.add_argument(
        "--installed", action="store_true", help="also the program as people install it, in .make/installed"
    )
    options = parser.parse_args()
    if shutil.which("git") is None:
        print(
            "Ringi needs git, and there is none on the PATH. Install it and run make again.", file=sys.stderr
        )
        return 1
    try:
        OWN.mkdir(exist_ok=True)
        with (OWN / "lock").open("w") as lock:  # make -j may want it twice at once
            fcntl.flock(lock, fcntl.LOCK_EX)
            _packages(["core", "dev"] if options.dev or options.installed else ["core"])
            _compile()
            if options.installed:
                _install_program()
    except SetUpError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def _packages(wanted: list[str]) -> None:
    """Installs what is missing; starts over when the interpreter, the folder or a pinned version changed."""
    state = _state()
    digests = {part: _digest(ROOT / "requirements" / f"{part}.txt") for part in ("core", "dev")}
    here = {"python": f"{PYTHON} {sys.version}", "root": str(ROOT), "launcher": LAUNCHER}
    have = state.get("parts", {})
    fits = state.get("here") == here and (VENV / "bin" / "python").exists()
    if not fits or any(digests[part] != digest for part, digest in have.items()):
        wanted, have = sorted({*wanted, *have}), {}
        shutil.rmtree(VENV, ignore_errors=True)
        STATE.unlink(missing_ok=True)
    missing = [part for part in wanted if part not in have]
    if not missing:
        return
    print(f"Setting up .venv ({', '.join(missing)}) …", file=sys.stderr, flush=True)
    _install([f"requirements/{part}.txt" for part in missing], VENV)
    _link()
    have.update({part: digests[part] for part in missing})
    STATE.write_text(json.dumps({"here": here, "parts": have}), encoding="utf-8")


def _state() -> dict[str, dict[str, str]]:
    try:
        return json.loads(STATE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _install(files: list[str], environment: Path) -> None:
    """With uv; with pip when uv does not get through, since the two are told apart where packages are."""
    python = str(environment / "bin" / "python")
    listed = [argument for file in files for argument in ("-r", file)]
    uv = _uv()
    if uv:
        venv = [uv, "venv", "--quiet", "--python", PYTHON, str(environment)]
        install = [uv, "pip", "install", "--quiet", "--python", python]
        try:
            if not Path(python).exists():
                _run(venv)
            _run([*install, "--compile-bytecode", "--require-hashes", *listed])
        except SetUpError as problem:
            print(f"uv could not install them, trying pip. It said:\n{problem}", file=sys.stderr, flush=True)
        else:
            return
    if not (environment / "bin" / "pip").exists():
        _run([PYTHON, "-m", "venv", "--clear", str(environment)])
        files = list(dict.fromkeys(["requirements/core.txt", *files]))
        listed = [argument for file in files for argument in ("-r", file)]
    _run([python, "-m", "pip", "install", "--quiet", "--require-hashes", *listed])


def _install_program() -> None:
    """Builds a wheel of this tree and installs it with every extra, apart from the sources.

    Nothing of it leads back to src: what the wheel lacks is missed here as it would be by a user.
    """
    parts = [f"requirements/{part}.txt" for part in ("core", "extras")]
    packages = hashlib.sha256(
        "".join([PYTHON, sys.version, *(_digest(ROOT / part) for part in parts)]).encode()
    ).hexdigest()
    stamp = INSTALLED.with_suffix(".stamp")
    was = stamp.read_text(encoding="utf-8").split() if stamp.exists() else []
    if was[:1] != [packages]:
        print("Setting up .make/installed …", file=sys.stderr, flush=True)
        stamp.unlink(missing_ok=True)
        shutil.rmtree(INSTALLED, ignore_errors=True)
        _install(parts, INSTALLED)
    program = _program_digest()
    if was == [packages, program]:
        return
    stamp.write_text(packages, encoding="utf-8")
    wheels = OWN / "wheel"
    shutil.rmtree(wheels, ignore_errors=True)
    _run([str(VENV / "bin" / "python"), "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)])
    wheel = str(next(wheels.glob("*.whl")))
    python = str(INSTALLED / "bin" / "python")
    uv = _uv()
    pip = [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]
    again = "--reinstall" if uv else "--force-reinstall"
    _run([*pip, "--quiet", "--no-deps", "--offline" if uv else "--no-index", again, wheel])
    _run([python, "-m", "compileall", "-q", str(next(INSTALLED.glob("lib/python3*/site-packages/ringi")))])
    stamp.write_text(f"{packages} {program}", encoding="utf-8")


def _program_digest() -> str:
    """Of everything that the wheel is made of."""
    files = [path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    whole = hashlib.sha256()
    for path in sorted([*files, ROOT / "pyproject.toml", ROOT / "hatch_build.py", ROOT / "README.md"]):
        if path.suffix != ".mo":  # made of the catalogues
            whole.update(f"{path.relative_to(ROOT)}\0{_digest(path)}\n".encode())
    return whole.hexdigest()


def _uv() -> str | None:
    """The one on the PATH, or our own; None when neither can be had."""
    found = shutil.which("uv")
    if found:
        return found
    folder = OWN / "uv"
    program = folder / "bin" / "uv"
    wanted = _digest(ROOT / "requirements" / "uv.txt")
    stamp = OWN / "uv.stamp"
    if program.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return str(program)
    try:
        _run([PYTHON, "-m", "venv", "--clear", str(folder)])
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        _run([*pip, "--require-hashes", "-r", "requirements/uv.txt"])
    except SetUpError:
        return None  # pip alone will do, and says what is wrong if it cannot either
    stamp.write_text(wanted, encoding="utf-8")
    return str(program)


def _run(command: list[str]) -> None:
    """Quietly; what it said is shown when it failed."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise SetUpError(f"{shlex.join(command)}\nfailed:\n{done.stdout.strip()}")


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not NOT_OURS.fullmatch(name)}
    kept["PIP_USER"] = "0"  # also against a configuration file
    kept["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    if "UV_CACHE_DIR" not in kept and not _writable(_cache()):
        kept["UV_CACHE_DIR"] = str(OWN / "cache")
    return kept


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "uv")  # noqa: PTH111  # never raises


def _writable(folder: Path) -> bool:
    there = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _link() -> None:
    packages = next(VENV.glob("lib/python3*/site-packages"))
    # Relative, for path files are read in the locale's encoding.
    (packages / "ringi.pth").write_text(os.path.relpath(ROOT / "src", packages) + "\n", encoding="ascii")
    python = str(VENV / "bin" / "python")
    start = f"#!{python}"
    if len(os.fsencode(start)) > 120 or re.search(r"\s", python):  # noqa: PLR2004  # kernels cut at 127
        # A line that the shell reads as a command and Python as part of a string.
        start = f"#!/bin/sh\n'''exec' {shlex.quote(python)} \"$0\" \"$@\"\n' '''"
    for name in PROGRAMS:
        program = VENV / "bin" / name
        program.write_text(LAUNCHER.format(start=start), encoding="utf-8")
        program.chmod(0o755)


def _compile() -> None:
    """Bytecode and catalogues; both look at the times and do only what is new.

    Where PYTHONDONTWRITEBYTECODE is set, every start would else compile the whole program again.
    """
    import catalog  # noqa: PLC0415  # beside this file only when it runs as a script

    compileall.compile_dir(str(ROOT / "src"), quiet=1)
    try:
        catalog.compile_all(ROOT)
    except catalog.CatalogueError as problem:
        raise SetUpError(str(problem)) from problem


if __name__ == "__main__":
    raise SystemExit(main())
