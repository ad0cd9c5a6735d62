"""The projects of `make walk`: source packages of others, pinned by hash, each with its usual environment.

They are fetched and set up once, in the person's cache; a journey works in a copy. Only this needs the
registries: without them and with an empty cache it fails and says so.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ringi" / "walk"
PACKAGES = ROOT / "requirements" / "walk.txt"
LOCK = "package-lock.json"
RECIPE = 1
"""Another number if they are prepared in another way."""
IGNORED = (".venv/", "node_modules/", "__pycache__/", ".pytest_cache/", "*.egg-info/", "build/", "*.so")
"""As the project's own .gitignore has it, which not every source package contains."""
BUILDERS = (
    "editables", "hatch-vcs", "hatchling", "pathspec", "setuptools", "setuptools-scm", "tomlkit",
    "trove-classifiers", "vcs-versioning", "wheel",
)  # fmt: skip
"""Not in the environment that the person works with."""
NOT_OURS = ("PIP_TARGET", "PIP_PREFIX", "PIP_REQUIREMENT", "PIP_CONSTRAINT", "UV_CONSTRAINT", "VIRTUAL_ENV")


class SetUpError(Exception):
    """A package cannot be had, or is not the one that is pinned."""


class Source(NamedTuple):
    version: str
    sha256: str
    npm: bool = False

    def file(self, name: str) -> str:
        return f"{name}-{self.version}.{'tgz' if self.npm else 'tar.gz'}"


SOURCES: Mapping[str, Source] = {
    "pluggy": Source("1.5.0", "2cffa88e94fdc978c4c574f15f9e59b7f4201d439195c3715ca9e2486f1d0cf1"),
    "markupsafe": Source("3.0.2", "ee55d3edf80167e48ea11a923c7386f4669df67d7994554387f84e7d8b0a2bf0"),
    "humanize": Source("4.9.0", "582a265c931c683a7e9b8ed9559089dea7edcf6cc95be39a3cbc2c5d5ac2bcfa"),
    "inflection": Source("0.5.1", "1a29730d366e996aaacffb2f1f1cb9593dc38e2ddd30c91250c6dde09ea9b417"),
    "toolz": Source("0.10.0", "08fdd5ef7c96480ad11c12d472de21acd32359996f69a5259299b540feba4560"),
    "shell-quote": Source(
        "1.7.2", "acbfa9bdcca8afb26b9a674de099c0abbea59c2556e372e30d87fa56f714b04a", npm=True
    ),
}


def prepared(name: str) -> Path:
    """Where a project is, ready to be copied."""
    source = SOURCES[name]
    facts = [repr((RECIPE, name, source, sys.version_info[:3])).encode()]
    facts += [_lock(name).read_bytes() if source.npm else PACKAGES.read_bytes()]
    return CACHE / "prepared" / f"{name}-{hashlib.sha256(b'|'.join(facts)).hexdigest()[:12]}"


def main() -> int:
    missing = [name for name in SOURCES if not prepared(name).exists()]
    if not missing:
        return 0
    try:
        CACHE.mkdir(parents=True, exist_ok=True)
        with (CACHE / "lock").open("w") as lock:  # two clones may want it at once
            fcntl.flock(lock, fcntl.LOCK_EX)
            print(f"Preparing {', '.join(missing)} in {CACHE} …", file=sys.stderr, flush=True)
            _fetch(missing)
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(_prepare, missing))
    except SetUpError as problem:
        print(f"The projects of the walk could not be prepared.\n{problem}", file=sys.stderr)
        return 1
    return 0


def _fetch(names: list[str]) -> None:
    folder = CACHE / "sources"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [name for name in names if not (folder / SOURCES[name].file(name)).exists()]
    python = [f"{name}=={SOURCES[name].version}" for name in wanted if not SOURCES[name].npm]
    if python:
        builder = CACHE / "builder"
        if not (builder / "bin" / "hatchling").exists():
            _run([sys.executable, "-m", "venv", "--clear", str(builder)])
            _run([str(builder / "bin/python"), *_PIP, "install", "--require-hashes", "-r", str(PACKAGES)])
        download = [str(builder / "bin/python"), *_PIP, "download", "--no-deps", "--no-build-isolation"]
        _run([*download, "--no-binary", ":all:", "--dest", str(folder), *python])
    for name in wanted:
        if SOURCES[name].npm:
            _run(["npm", "pack", "--silent", f"{name}@{SOURCES[name].version}"], cwd=folder)
    for name in names:
        file = folder / SOURCES[name].file(name)
        if hashlib.sha256(file.read_bytes()).hexdigest() != SOURCES[name].sha256:
            file.unlink()
            raise SetUpError(f"{file.name} is not the one that is pinned; it was removed. Run it again.")


def _prepare(name: str) -> None:
    """All or nothing: the folder gets its name at the end."""
    place = prepared(name)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        project = Path(folder, "project")
        with tarfile.open(CACHE / "sources" / SOURCES[name].file(name)) as archive:
            archive.extractall(folder, filter="data")
        [top] = [path for path in Path(folder).iterdir() if path.is_dir()]
        top.rename(project)
        _commit(project, f"{name} {SOURCES[name].version}")
        (_with_npm if SOURCES[name].npm else _with_python)(name, project)
        # Paths in it are made those of its copy, so it has to be known where it was made.
        (Path(folder) / "made-in").write_text(str(project), encoding="utf-8")
        passing = passing_tests(project, os.environ)
        if not passing:
            raise SetUpError(f"No test of {name} passes.")
        (Path(folder) / "passing.json").write_text(json.dumps(passing), encoding="utf-8")
        place.mkdir()
        for path in (project, Path(folder) / "made-in", Path(folder) / "passing.json"):
            path.rename(place / path.name)


def passing_tests(project: Path, environment: Mapping[str, str]) -> list[str]:
    """Each that passes there, by its name; those of a JavaScript project by file and number."""
    if (project / "package.json").exists():
        found = []
        for file in sorted(project.glob("test/*.js")):
            said = _output(["node", f"test/{file.name}"], project, environment)
            found += [f"{file.name} {at}" for at in range(len(re.findall(r"^ok \d", said, re.MULTILINE)))]
        return found
    words = [".venv/bin/pytest", "-q", "-rp", "--color=no", "--no-header", "-p", "no:cacheprovider"]
    said = _output(words, project, {**environment, "PYTHONDONTWRITEBYTECODE": "1"})
    return re.findall(r"^PASSED (.+)$", said, re.MULTILINE)


def _output(words: list[str], folder: Path, environment: Mapping[str, str]) -> str:
    return subprocess.run(
        words,
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    ).stdout


def _commit(project: Path, subject: str) -> None:
    """As after a clone."""
    _run(["git", "init", "-q", "-b", "main", "--template=", str(project)])
    (project / ".git" / "info").mkdir(exist_ok=True)
    (project / ".git" / "info" / "exclude").write_text("\n".join([*IGNORED, ""]), encoding="utf-8")
    _run(["git", "add", "-A"], cwd=project)
    who = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.invalid"]
    _run(["git", *who, "-c", "commit.gpgSign=false", "commit", "-q", "-m", subject], cwd=project)


def _with_python(name: str, project: Path) -> None:
    """A virtual environment in the project with an editable install, and the tests' own needs."""
    python = str(project / ".venv" / "bin" / "python")
    uv = shutil.which("uv") or str(ROOT / ".make" / "uv" / "bin" / "uv")
    if not Path(uv).exists():
        _run([sys.executable, "-m", "venv", str(project / ".venv")])
        pip = [python, *_PIP]
    else:
        _run([uv, "venv", "--quiet", "--python", sys.executable, str(project / ".venv")])
        pip = [uv, "pip", "--quiet"]
    there = ["--python", python] if pip[0] == uv else []
    version = {"SETUPTOOLS_SCM_PRETEND_VERSION": SOURCES[name].version}
    _run([*pip, "install", *there, "--require-hashes", "-r", str(PACKAGES)])
    _run(
        [*pip, "install", *there, "--no-build-isolation", "--no-deps", "-e", "."], cwd=project, extra=version
    )
    _run([*pip, "uninstall", *there, *([] if there else ["-y"]), *BUILDERS])
    # Compiled at the first start otherwise, in every copy again.
    _run([python, "-m", "compileall", "-q", str(project / ".venv" / "lib")])


def _with_npm(name: str, project: Path) -> None:
    shutil.copy(_lock(name), project / LOCK)
    _run(["npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=project)
    (project / LOCK).unlink()


def _lock(name: str) -> Path:
    return ROOT / "tests" / "walk" / "projects" / name / "npm-packages.json"


_PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")


def _run(command: list[str], cwd: Path = ROOT, extra: Mapping[str, str] | None = None) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**kept, "PIP_USER": "0", **(extra or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise SetUpError(f"{command[0]} cannot be started: {error}") from error
    if done.returncode:
        raise SetUpError(f"{' '.join(command)}\nfailed:\n{done.stdout.strip()}")


if __name__ == "__main__":
    raise SystemExit(main())
