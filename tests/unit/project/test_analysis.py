"""What an analyze spec answers: facts, as JSON, and nothing of the project is run for them."""

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.errors import NotFound, PathRefused
from ringi.kernel.fs import OsFileSystem
from ringi.kernel.places import Places, places_of
from ringi.project.analysis import _lines, analyse, language_of
from ringi.tree.tree import Tree
from tests.helpers import environment_of, make_files, untouched
from tests.tables import each

FILES = {
    "app/__init__.py": "",
    "app/hello.py": "from app import words\n",
    "app/words.py": "WORDS = 1\n",
    "main.py": "import app.hello\n",
    "pyproject.toml": "[project]\n",
    "logo.bin": b"\0\1\2",
    "LICENSE": "free",
}


@pytest.fixture
def places(tmp_path: Path) -> Places:
    root = tmp_path / "project"
    make_files(root, FILES)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return places_of(root, environment_of(tmp_path))


def text_of(places: Places, path: str, **more) -> str:
    with untouched(places.root, agent=True):
        return analyse(places, Tree(OsFileSystem(), places.root), path, **more)


def analysed(places: Places, path: str, **more) -> Any:
    return json.loads(text_of(places, path, **more))


@pytest.mark.req("PT-3")
def test_a_file(places: Places):
    data = (places.root / "app/words.py").read_bytes()
    (places.root / "app/words.py").chmod(0o640)
    assert analysed(places, "app/words.py") == {
        "path": "app/words.py",
        "kind": "file",
        "bytes": len(data),
        "lines": 1,
        "language": "python",
        "sha256": hashlib.sha256(data).hexdigest(),
        "mode": "0640",
        "uses": {"count": 0, "files": []},
        "used_by": {
            "direct": {"count": 1, "files": ["app/hello.py"]},
            "all": {"count": 2, "files": ["app/hello.py", "main.py"]},
        },
    }
    assert "app/words.py" in analysed(places, "app/hello.py")["uses"]["files"]


def test_a_second_look_after_a_change_says_what_is_there_now(places: Places):
    assert analysed(places, "app/words.py")["used_by"]["direct"]["count"] == 1
    make_files(places.root, {"other.py": "from app.words import WORDS\n"})
    assert analysed(places, "app/words.py")["used_by"]["direct"]["files"] == ["app/hello.py", "other.py"]


def test_a_critical_file_says_why(places: Places):
    found = analysed(places, "pyproject.toml")
    assert (found["critical"], found["language"]) == ("build", "toml")
    assert "critical" not in analysed(places, "main.py")
    assert analysed(places, "main.py", critical=["main.*"])["critical"] == "configured"


def test_bytes_that_are_no_text_have_no_lines(places: Places):
    found = analysed(places, "logo.bin")
    assert (found["bytes"], "lines" in found, "language" in found) == (3, False, False)
    assert analysed(places, "LICENSE")["lines"] == 1


@pytest.mark.req("PT-3")
def test_a_folder_and_the_whole_workspace(places: Places):
    folder = analysed(places, "app")
    size = sum(len(FILES[name]) for name in FILES if name.startswith("app/"))
    assert folder == {
        "path": "app",
        "kind": "folder",
        "files": 3,
        "bytes": size,
        "languages": {"python": {"files": 3, "bytes": size}},
    }
    whole = analysed(places, "")
    assert (whole["path"], whole["kind"], whole["files"]) == ("", "workspace", len(FILES))
    assert whole["bytes"] == sum(map(len, FILES.values()))
    assert {name: amount["files"] for name, amount in whole["languages"].items()} == {
        "python": 4,
        "toml": 1,
        "other": 2,
    }


def test_a_name_that_only_begins_alike_is_not_in_the_folder(places: Places):
    make_files(places.root, {"application.py": "x\n"})
    assert analysed(places, "app")["files"] == 3


def test_what_git_ignores_counts_in_no_sum_and_can_be_asked_about(places: Places):
    make_files(places.root, {".gitignore": "built/\n", "built/out.py": "import main\n"})
    assert analysed(places, "built")["files"] == 0
    found = analysed(places, "built/out.py")
    assert (found["in_project"], found["uses"]["count"]) == (False, 0)
    assert analysed(places, "main.py")["used_by"]["direct"]["count"] == 0


def test_names_that_no_document_can_hold_are_counted(places: Places):
    Path(os.fsdecode(os.fsencode(places.root) + b"/\xff.py")).touch()
    whole = analysed(places, "")
    assert (whole["files"], whole["left_out"]) == (len(FILES), 1)


@pytest.mark.parametrize("path", ["gone.py", "app/gone.py", "no/such/folder"])
def test_what_is_not_there(places: Places, path: str):
    with pytest.raises(NotFound, match=path):
        analysed(places, path)


@pytest.mark.parametrize("path", ["link", "link/hello.py", ".git/config", "../project/main.py"])
def test_no_way_leads_elsewhere(places: Places, path: str):
    (places.root / "link").symlink_to("app")
    with pytest.raises(PathRefused):
        analysed(places, path)


def test_nothing_of_the_project_is_run(places: Places):
    boom = "import pathlib; pathlib.Path(__file__).with_name('boom').touch()\n"
    make_files(places.root, {"conftest.py": boom, "setup.py": boom, "app/__init__.py": boom})
    analysed(places, "app/words.py")
    assert not list(places.root.rglob("boom"))


def test_long_lists_are_cut_and_counted(places: Places):
    make_files(places.root, {f"users/u{number:04}.py": "import app.words\n" for number in range(300)})
    text = text_of(places, "app/words.py")
    direct = json.loads(text)["used_by"]["direct"]
    assert (direct["count"], len(direct["files"])) == (301, 100)
    assert len(text) < 10_000


def test_it_is_pretty_and_sorted(places: Places):
    for path in ("", "app", "main.py"):
        text = text_of(places, path)
        assert text == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"


def test_a_file_that_cannot_be_parsed_says_so(places: Places):
    make_files(places.root, {"broken.py": "def (:\n"})
    found = analysed(places, "broken.py")
    assert found["uses"]["count"] == 0
    assert found["not_analysed"]


@given(st.binary(max_size=200).filter(lambda data: b"\0" not in data and b"\r" not in data))
def test_lines_are_counted_as_python_reads_them(data: bytes):
    assert _lines(data) == len(data.split(b"\n")) - (data.endswith(b"\n") or not data)


@each(
    ("path", "language"),
    [
        ("a.py", "python"),
        ("b/c.TSX", "typescript"),
        ("README.md", "markdown"),
        (".py", None),
        ("Makefile", None),
    ],
)
def test_languages_by_their_endings(path: str, language: str | None):
    assert language_of(path) == language
