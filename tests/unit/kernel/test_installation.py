"""What a hint tells people to type adds to the Python that runs, and what CI installs is what is here."""

import json
import shlex
import sys
import tomllib
import venv
from pathlib import Path
from subprocess import run

import pytest

import ringi
from ringi.kernel.process.installation import EXTRAS, Requirement, extending_command, requirement
from tests.tables import each

SOURCES = Path(ringi.__file__).parent.parent


def test_the_packages_are_those_of_the_extras():
    with (Path(__file__).parents[3] / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)["project"]["optional-dependencies"]
    assert {extra: tuple(declared[extra]) for extra in EXTRAS} == EXTRAS


@each("extra", EXTRAS)
def test_it_names_this_python(extra: str):
    words = shlex.split(extending_command(extra))
    assert sys.executable in words
    assert words[-len(EXTRAS[extra]) :] == list(EXTRAS[extra])
    assert Path(words[0]).is_absolute()


def test_an_environment_without_pip_is_extended_too(tmp_path: Path):
    venv.create(tmp_path / "bare", with_pip=False)
    python = str(tmp_path / "bare/bin/python")
    asked = "from ringi.kernel.process.installation import extending_command; print(extending_command('mcp'))"

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


HTTPS = "https://example.invalid/ringi"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        (None, Requirement("some-tool==1.0", local=False)),
        (
            {"url": HTTPS, "vcs_info": {"vcs": "git", "commit_id": COMMIT, "requested_revision": "main"}},
            Requirement(f"some-tool @ git+{HTTPS}@{COMMIT}", local=False),
        ),
        (
            {"url": f"{HTTPS}.whl", "archive_info": {"hash": "sha256=ab", "hashes": {"sha256": "ab"}}},
            Requirement(f"some-tool @ {HTTPS}.whl#sha256=ab", local=False),
        ),
        ({"url": f"{HTTPS}.whl", "archive_info": {}}, Requirement("some-tool==1.0", local=True)),
        ({"url": "file:///home/me/ringi", "dir_info": {}}, Requirement("some-tool==1.0", local=True)),
        (
            {"url": "ssh://git@example.invalid/ringi", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            Requirement("some-tool==1.0", local=True),
        ),
        ("nonsense", Requirement("some-tool==1.0", local=True)),
    ],
)
def test_another_machine_gets_what_is_installed_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: object, wanted: Requirement
):
    info = tmp_path / "some_tool-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-tool\nVersion: 1.0\n")
    if origin is not None:
        (info / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert requirement("1.0", name="some-tool") == wanted
    assert requirement("1.0", name="some-tool", extra="x").words == wanted.words.replace(
        "some-tool", "some-tool[x]"
    )


def test_what_is_not_installed_at_all_is_not_in_an_index_either():
    assert requirement("1.0", name="no-such-tool-anywhere").local
