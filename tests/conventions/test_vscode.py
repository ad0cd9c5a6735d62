"""The VS Code extension: both languages say the same, and every command, menu and message is there."""

import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tools import pinned, vscode

from ringi.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [vscode.SOURCE / "extension.js", *sorted((vscode.SOURCE / "lib").glob("*.js"))]
TERMS = vscode.SOURCE / "lib" / "terms.js"
NODE = shutil.which("node")
MODULE_LINES = 400


def document(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((vscode.SOURCE / name).read_text(encoding="utf-8"))
    return found


def holes(text: str) -> set[str]:
    return set(re.findall(r"\{\d\}", text))


def allowed() -> list[str]:
    """What the extension may start, read from its source."""
    source = (vscode.SOURCE / "lib" / "ringi.js").read_text(encoding="utf-8")
    listed = re.search(r"ALLOWED = Object.freeze\(\[(.*?)\]\)", source, re.DOTALL)
    assert listed
    return re.findall(r"'([^']+)'", listed[1])


def test_messages_of_the_manifest_are_in_both_languages():
    english, japanese = document("package.nls.json"), document("package.nls.ja.json")
    used = re.findall(r'"%([\w.]+)%"', (vscode.SOURCE / "package.json").read_text(encoding="utf-8"))
    assert list(english) == list(japanese)
    assert set(used) == set(english)
    links = [(re.findall(r"\(command:[^)]+\)", both[key]) for both in (english, japanese)) for key in english]
    assert [pair for pair in map(tuple, links) if pair[0] != pair[1]] == []


def test_messages_of_the_code_are_translated():
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    used = {
        *re.findall(r"\bt\('([^']*)'", code),
        *re.findall(r": '([^']*)'", TERMS.read_text(encoding="utf-8")),
    }
    japanese = document("l10n/bundle.l10n.ja.json")
    assert used == set(japanese)
    assert [text for text, said in japanese.items() if holes(text) != holes(said) or not said] == []
    assert "t(`" not in code


def test_every_command_of_a_menu_is_made_and_registered():
    manifest = document("package.json")["contributes"]
    made = {one["command"] for one in manifest["commands"]}
    in_menus = {one["command"] for menu in manifest["menus"].values() for one in menu}
    registered = set(re.findall(r"'(ringi\.\w+)': ", SOURCES[0].read_text(encoding="utf-8")))
    assert made == registered
    assert in_menus <= made


@pytest.mark.req("CP-11")
def test_only_one_module_starts_ringi_and_only_what_decides_nothing():
    starting = [path.name for path in SOURCES if "child_process" in path.read_text(encoding="utf-8")]
    assert starting == ["ringi.js"]
    names = {name.split()[0] for name in allowed() if not name.startswith("-")} - {"home"}
    assert names <= {"list", "show", "status", "why", "amend", "reject", "discard", "state"}
    assert not names & {"approve", "apply", "execute", "undo", "propose", "grant", "review", "trust", "run"}
    assert names - {"amend"} <= set(COMMANDS)


def test_modules_are_short():
    assert [path.name for path in SOURCES if path.read_text("utf-8").count("\n") > MODULE_LINES] == []


def test_package_has_everything_and_is_the_same_each_time(tmp_path: Path):
    first = vscode.pack(tmp_path / "a").read_bytes()
    made = vscode.pack(tmp_path / "b")
    assert first == made.read_bytes()
    with zipfile.ZipFile(made) as archive:
        names = set(archive.namelist())
    needed = {f"extension/{path.relative_to(vscode.SOURCE).as_posix()}" for path in SOURCES}
    assert needed | {"[Content_Types].xml", "extension.vsixmanifest", "extension/LICENSE.txt"} <= names
    assert not [name for name in names if "/test/" in name]


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_modules_that_need_no_editor_do_what_they_say():
    """In node's own test runner."""
    tests = sorted(map(str, (vscode.SOURCE / "test").glob("*.test.js")))
    ran = subprocess.run(
        [NODE or "", "--test", *tests], capture_output=True, text=True, check=False, timeout=100
    )
    assert tests
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-2000:]


def test_no_other_bytes_of_a_package_are_installed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho sha512-a\n")
    npm.chmod(0o755)
    assert pinned.are_known([npm], {"one@1": "sha512-a"}, {})
    assert not pinned.are_known([npm], {"one@1": "sha512-a", "two@1": "sha512-b"}, {})
    assert "two@1 is not the one that is pinned: sha512-a" in capsys.readouterr().err
    assert all(known.startswith("sha512-") for known in vscode.NPM.values())
