"""A home folder that is missing, relative, in the way or full: it is said, and the project stays clean."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.functional.desk import Desk
from tests.functional.disks import fill, small_disk
from tests.helpers import untouched
from tests.tables import each

COPY = ("with", "--", "touch", "new.txt")


def findings(desk: Desk, **variables: str) -> list[dict[str, Any]]:
    done = desk.run("--json", "doctor", **variables)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    assert done.returncode == (1 if any(one["mark"] == "bad" for one in found) else 0)
    return found


def marked(found: list[dict[str, Any]], mark: str) -> str:
    return "\n".join(f"{one['text']} → {one['mend']}" for one in found if one["mark"] == mark)


def refused(desk: Desk, *words: str, **variables: str) -> dict[str, Any]:
    done = desk.process("--json", *words, **variables)
    assert done.returncode in {1, 2}, done.stderr
    error: dict[str, Any] = json.loads(done.stdout)["error"]
    return error


@pytest.mark.parametrize("home", ["rel", None])
def test_home_that_is_none_changes_nothing_where_other_folders_are_named(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, home: str | None
) -> None:
    if home is None:
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", home)
    with untouched(desk.root):
        assert marked(findings(desk), "bad") == ""
        done = desk.process(*COPY)
        assert done.returncode == 0, done.stderr
        assert desk.json("show", "p1")["state"]["previews"]["files"] == ["new.txt"]
    assert ("HOME" in marked(findings(desk), "note")) == (home == "rel")


def test_agent_does_not_get_a_relative_home(desk: Desk) -> None:
    script = 'case "$HOME" in /*) touch absolute ;; *) touch relative ;; esac'
    done = desk.process("with", "--", "sh", "-c", script, HOME="rel")
    assert done.returncode == 0, done.stderr
    assert desk.json("show", "p1")["state"]["previews"]["files"] == ["absolute"]


def test_relative_folders_of_the_xdg_specification_are_ignored(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, isolated: Path
) -> None:
    for kind in ("STATE", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", "rel")
    with untouched(desk.root):
        notes = marked(findings(desk), "note")
        assert desk.process(*COPY).returncode == 0
    assert all(f"XDG_{kind}_HOME is not an absolute path" in notes for kind in ("STATE", "CACHE", "CONFIG"))
    assert list((isolated / ".local/state/ringi").glob("*/ringi.db"))
    assert list((isolated / ".cache/ringi/work").glob("*/*/tree"))


@each(
    ("variable", "words"),
    [("RINGI_STATE_DIR", ("doctor",)), ("RINGI_STATE_DIR", ("list",)), ("RINGI_CACHE_DIR", COPY)],
)
def test_relative_folder_of_our_own_is_refused(desk: Desk, variable: str, words: tuple[str, ...]) -> None:
    with untouched(desk.root, agent=True):
        error = refused(desk, *words, **{variable: "rel"})
    assert error["code"] == "not_absolute"
    assert variable in error["message"]


def test_file_in_place_of_the_cache_is_named_with_what_to_do(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, isolated: Path
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    (isolated / ".cache").touch()
    todo = f"Move {isolated / '.cache'} away"
    assert todo in marked(findings(desk), "bad")
    error = refused(desk, *COPY)
    assert error["code"] == "folder_unusable"
    assert todo in error["hint"]
    (isolated / ".cache").unlink()
    assert marked(findings(desk), "bad") == ""
    assert desk.process(*COPY).returncode == 0


def test_file_in_place_of_the_home_is_named_with_what_to_do(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for kind in ("STATE", "CACHE", "CONFIG"):
        monkeypatch.delenv(f"XDG_{kind}_HOME")
    home = tmp_path / "home"
    home.touch()
    monkeypatch.setenv("HOME", str(home))
    with untouched(desk.root, agent=True):
        bad = marked(findings(desk), "bad")
        error = refused(desk, *COPY)
    assert bad.count(f"Move {home} away") == 2
    assert "RINGI_STATE_DIR" in bad
    assert error["code"] == "folder_unusable"


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_cache_without_permission_is_named_with_what_to_do(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    monkeypatch.setenv("XDG_CACHE_HOME", str(closed))
    assert f"Make {closed} writable" in marked(findings(desk), "bad")
    assert f"Make {closed} writable" in refused(desk, *COPY)["hint"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a small disk")
def test_full_and_read_only_disk_of_the_cache_is_named_with_what_to_do(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", 4000) as disk:
        monkeypatch.setenv("RINGI_CACHE_DIR", str(disk))
        filler = fill(disk, 0)
        assert "Free some space for" in marked(findings(desk), "bad")
        assert "No space left" in refused(desk, *COPY)["message"]
        filler.unlink()
        assert marked(findings(desk), "bad") == ""
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        assert "Read-only file system" in marked(findings(desk), "bad")
        error = refused(desk, *COPY)
        assert (error["code"], "RINGI_CACHE_DIR" in error["hint"]) == ("folder_unusable", True)
