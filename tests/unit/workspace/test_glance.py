"""What a project looks like at a glance."""

import os
from pathlib import Path

import pytest

from ringi.workspace.glance import Glance, glance


@pytest.mark.req("IP-3")
def test_languages_manifests_tests_and_what_lies_at_the_top(tmp_path: Path):
    for name in ("pyproject.toml", "README.md", "src/a.py", "src/b.py", "src/c.js", "tests/a.py", ".env"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (tmp_path / ".github").mkdir()
    assert glance(tmp_path) == Glance(
        languages=("Python", "JavaScript"),
        manifests=("pyproject.toml",),
        tests=("tests",),
        entries=(".github/", "README.md", "pyproject.toml", "src/", "tests/"),
    )


def test_odd_folders_are_no_problem(tmp_path: Path):
    assert glance(tmp_path) == Glance((), (), (), ())
    assert glance(tmp_path / "missing") == Glance((), (), (), ())
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "shut").mkdir(mode=0)
    (tmp_path / os.fsdecode(b"\xff.py")).touch()
    seen = glance(tmp_path)
    assert seen.languages == ("Python",)
    assert seen.entries == ("loop", "shut/", "\\udcff.py")
    for number in range(30):
        (tmp_path / f"file{number}").touch()
    assert len(glance(tmp_path).entries) == 12


def test_names_of_tests_that_are_no_text(tmp_path: Path):
    (tmp_path / os.fsdecode(b"test_\xff.py")).touch()
    assert glance(tmp_path).tests == ("test_\\udcff.py",)


def test_files_of_tests_stand_for_a_folder(tmp_path: Path):
    for name in ("test_a.py", "b_test.go", "c.spec.ts", "d.test.js", "latest.py", "test_x.log"):
        (tmp_path / name).touch()
    assert glance(tmp_path).tests == ("b_test.go", "c.spec.ts", "d.test.js")
