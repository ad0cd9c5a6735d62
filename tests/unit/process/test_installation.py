"""What a hint tells people to type adds to the Python that runs, and names packages that are not ours."""

import shlex
import sys
import tomllib
import venv
from pathlib import Path
from subprocess import run

import pytest

import ringi
from ringi.process.installation import EXTRAS, extending_command

SOURCES = Path(ringi.__file__).parent.parent


def test_the_packages_are_those_of_the_extras():
    with (Path(__file__).parents[3] / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)["project"]["optional-dependencies"]
    assert {extra: tuple(declared[extra]) for extra in EXTRAS} == EXTRAS


@pytest.mark.parametrize("extra", EXTRAS)
def test_it_names_this_python(extra: str):
    words = shlex.split(extending_command(extra))
    assert sys.executable in words
    assert words[-len(EXTRAS[extra]) :] == list(EXTRAS[extra])
    assert Path(words[0]).is_absolute()


def test_an_environment_without_pip_is_extended_too(tmp_path: Path):
    venv.create(tmp_path / "bare", with_pip=False)
    python = str(tmp_path / "bare/bin/python")
    asked = "from ringi.process.installation import extending_command; print(extending_command('mcp'))"

    def told(path: str) -> str:
        given = {"PYTHONPATH": str(SOURCES), "PATH": path}
        return run(
            [python, "-c", asked], env=given, capture_output=True, text=True, check=True
        ).stdout.strip()

    assert told("/nowhere") == f"{python} -m ensurepip && {python} -m pip install 'mcp>=2'"
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh\n")
    uv.chmod(0o755)
    assert told(str(tmp_path)) == f"{uv} pip install --python {python} 'mcp>=2'"
