"""`ringi propose`, `ringi state` and the forms of `ringi show`, as scripts and people use them."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.functional.desk import MENU, RINGI, Desk

PACKAGE = {
    "lib/__init__.py": "",
    "lib/core.py": "def core():\n    return 1\n",
    "lib/report.py": "from lib.core import core\n\n\ndef report():\n    return core()\n",
}
CORE = PACKAGE["lib/core.py"]
PATCH = """\
diff --git a/lib/core.py b/lib/core.py
--- a/lib/core.py
+++ b/lib/core.py
@@ -1,2 +1,2 @@
 def core():
-    return 1
+    return 2
"""
MODELS_PATCH = """\
Here is the change:
```diff
--- lib/core.py
+++ lib/core.py
@@ -10,5 +10,5 @@
 def core():
-    return 1
+    return 2
```
"""


@pytest.fixture
def shop(desk: Desk, tmp_path: Path) -> Desk:
    for name, text in PACKAGE.items():
        path = desk.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    desk.git("add", ".")
    desk.git("commit", "-qm", "the library")
    (tmp_path / "change.patch").write_text(PATCH)
    (tmp_path / "model.patch").write_text(MODELS_PATCH)
    return desk


def change_plan(shop: Desk, tmp_path: Path, *more: str) -> dict[str, object]:
    words = ("propose", "--patch", str(tmp_path / "change.patch"), "--trigger", "refactor", *more)
    return shop.json(*words)


@pytest.mark.req("CP-1", "CP-2", "CP-3", "CP-6")
def test_a_change_plan_from_a_patch(shop: Desk, tmp_path: Path) -> None:
    made = change_plan(shop, tmp_path)
    assert made["status"] == "pending_review"
    view = shop.json("show", "p1", "--as", "change-plan")
    assert view["planId"] == made["id"]
    assert view["basis"] == {"trigger": "refactor", "relatedDiagnostics": []}
    assert view["scope"] == {"targetFiles": ["lib/core.py"], "affectedFiles": ["lib/report.py"]}
    assert view["changes"][0]["file"] == "lib/core.py"
    assert view["approval"] == {"status": "pending"}
    shown = shop.run("show", "p1").stdout
    assert "files that depend on it: lib/report.py" in shown
    assert "ringi review p1" in shown


@pytest.mark.req("CP-4")
def test_the_patch_it_shows_is_one_git_applies(shop: Desk, tmp_path: Path) -> None:
    change_plan(shop, tmp_path)
    patch = subprocess.run(
        [*RINGI, "show", "p1", "--as", "patch"], cwd=shop.root, capture_output=True, check=True
    ).stdout
    subprocess.run(["git", "apply"], input=patch, cwd=shop.root, check=True)
    assert (shop.root / "lib/core.py").read_text() == "def core():\n    return 2\n"


@pytest.mark.req("CP-2")
def test_each_refusal_has_its_code_and_a_next_step(shop: Desk, tmp_path: Path) -> None:
    patch = str(tmp_path / "change.patch")
    (tmp_path / "empty.patch").write_text("")
    (tmp_path / "other.patch").write_text(PATCH.replace("return 1", "return 9"))
    for words, code, exit_code in [
        (("--patch", patch, "--trigger", "whim"), "no_basis", 6),
        (("--patch", patch, "--trigger", "error"), "no_diagnostics", 6),
        (("--patch", str(tmp_path / "empty.patch"), "--trigger", "refactor"), "bad_patch", 6),
        (("--patch", str(tmp_path / "other.patch"), "--trigger", "refactor"), "patch_does_not_apply", 6),
        (("--patch", str(tmp_path / "other.patch")), "unfit_specs", 6),
        (("--patch", str(tmp_path / "no.patch")), "not_found", 2),
        (("--patch", patch, "--tree", str(tmp_path)), "usage", 2),
        ((), "usage", 2),
        (("--patch", patch, "--diagnostic", "lib/core.py:1:x"), "usage", 2),
        (("--patch", patch, "--trigger", "error", "--diagnostic", "nonsense"), "usage", 2),
        (("--patch", patch, "--trigger", "error", "--diagnostic", f"a:{'9' * 5000}:x"), "usage", 2),
        (("--file", "a=-", "--file", "b=-"), "usage", 2),
        (("--file", f"a={patch}", "--delete", "a"), "usage", 2),
        (("--again", "p1", "--trigger", "refactor"), "usage", 2),
        (("--patch", patch, "--explain", "x"), "usage", 2),
        (("--delete", "no-such-file"), "not_found", 2),
        (("--delete", "\udcff"), "path_refused", 6),
        (("--file", f"lib/core.py={shop.root / 'lib/core.py'}"), "no_diff", 6),
    ]:
        done = shop.run("--json", "propose", *words)
        assert json.loads(done.stdout)["error"]["code"] == code, words
        assert done.returncode == exit_code
        assert "Traceback" not in done.stderr
    assert shop.json("list") == []


def _code(shop: Desk, *words: str) -> str:
    return str(json.loads(shop.run("--json", *words).stdout)["error"]["code"])


@pytest.mark.req("CP-2")
def test_an_error_with_its_diagnostic(shop: Desk, tmp_path: Path) -> None:
    """It is found by running the trusted checker; one that nobody reports is refused."""
    settings = "diagnostics:\n  commands: ['echo \"lib/core.py:2: returns: 1\"']\n"
    (shop.root / ".agent").mkdir(exist_ok=True)
    (shop.root / ".agent/config.yaml").write_text(settings)
    words = ("--trigger", "error", "--diagnostic", "lib/core.py:2: returns: 1")
    patch = str(tmp_path / "change.patch")
    assert _code(shop, "propose", "--patch", patch, *words) == "state_incomplete"
    (shop.root / ".agent/config.yaml").unlink()
    own = Path(os.environ["XDG_CONFIG_HOME"]) / "ringi" / "config.yaml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(settings)
    wrong = ("--trigger", "error", "--diagnostic", "lib/core.py:2: returns: 2")
    assert _code(shop, "propose", "--patch", patch, *wrong) == "unknown_diagnostic"
    assert shop.json("list") == []
    made = shop.json("propose", "--patch", patch, *words)
    view = shop.json("show", str(made["id"]), "--as", "change-plan")
    expected = [{"file": "lib/core.py", "line": 2, "message": "returns: 1"}]
    assert view["basis"]["relatedDiagnostics"] == expected


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that keeps what it is asked, and answers with what is in the other file."""
    asked, said = tmp_path / "asked", tmp_path / "said.json"
    program = tmp_path / "model.py"
    program.write_text(
        f"import sys\nopen({str(asked)!r}, 'w').write(sys.stdin.read())\nprint(open({str(said)!r}).read())\n"
    )
    monkeypatch.setenv("RINGI_MODEL", f"command:{shlex.join([sys.executable, str(program)])}")
    said.write_text(json.dumps({"summary": "core returns 2.", "details": "Look at report."}))
    return asked


@pytest.mark.req("CP-1", "CP-7")
def test_the_model_explains_what_its_proposer_does_not(shop: Desk, tmp_path: Path, model: Path) -> None:
    patch = tmp_path / "change.patch"
    patch.write_text(PATCH.replace("return 2", "return 2  # password=hunter2secret"))
    made = change_plan(shop, tmp_path)
    view = shop.json("show", str(made["id"]), "--as", "change-plan")
    assert view["explanation"] == {"summary": "core returns 2.", "details": "Look at report."}
    assert "+    return 2" in model.read_text()
    assert "hunter2secret" not in model.read_text()
    shown = shop.run("show", "p1").stdout
    assert "says: core returns 2." in shown
    assert "its proposer says" not in shown
    model.unlink()
    assert change_plan(shop, tmp_path, "--explain", "mine")["status"] == "pending_review"
    assert not model.exists()
    assert "its proposer says: mine" in shop.run("show", "p2").stdout


def test_files_that_are_not_text_become_a_plan(shop: Desk, tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\0\xff")
    words = ("--file", f"./art//logo.png={tmp_path / 'logo.png'}")
    made = shop.json("propose", *words)
    assert (made["title"], made["files"]) == ("Change art/logo.png", 1)
    done = shop.run("--json", "propose", *words, "--trigger", "refactor")
    assert json.loads(done.stdout)["error"]["code"] == "binary_patch"
    terminal = shop.terminal("review", "p1", "--plain")
    terminal.answer(MENU, "a")
    assert terminal.end()[0] == 0
    assert (shop.root / "art/logo.png").read_bytes() == b"\x89PNG\0\xff"


def test_from_new_contents_and_from_a_tree(shop: Desk, tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text("def core():\n    return 3\n")
    words = ("--file", f"lib/core.py={tmp_path / 'new.py'}", "--delete", "lib/report.py")
    made = shop.json("propose", *words, "--trigger", "refactor", "--title", "Less")
    assert (made["title"], made["files"]) == ("Less", 2)
    other = tmp_path / "other"
    subprocess.run(["git", "clone", "-q", str(shop.root), str(other)], check=True)
    (other / "lib/core.py").write_text("def core():\n    return 4\n")
    (other / "lib/extra.py").write_text("from lib import core\n")
    (other / ".gitignore").write_text("*.log\n")
    (other / "noise.log").write_text("x\n")
    made = shop.json("propose", "--tree", str(other), "--trigger", "refactor")
    view = shop.json("show", str(made["id"]), "--as", "change-plan")
    assert view["scope"]["targetFiles"] == [".gitignore", "lib/core.py", "lib/extra.py"]


@pytest.mark.req("CP-8", "CP-9")
def test_reviewed_superseded_and_carried_over(shop: Desk, tmp_path: Path) -> None:
    change_plan(shop, tmp_path)
    (shop.root / "notes.txt").write_text("mine\n")
    captured = shop.run("state", "capture")
    assert captured.returncode == 0
    assert "p1" in captured.stdout
    assert "ringi propose --again p1" in captured.stdout
    assert "superseded" in shop.run("list").stdout
    again = shop.json("propose", "--again", "p1")
    assert again["number"] == 2
    terminal = shop.terminal("review", "p1", "--plain")
    seen = terminal.answer(MENU, "a")
    assert "p1 was for an earlier state of the project; this is p2." in seen
    assert "[d]rop" not in seen
    assert terminal.end()[0] == 0
    assert shop.json("show", "p2")["state"]["status"] == "completed"
    assert (shop.root / "lib/core.py").read_text() == "def core():\n    return 2\n"


@pytest.mark.req("CP-8")
def test_a_conflict_of_a_change_plan_is_decided_in_its_review(shop: Desk, tmp_path: Path) -> None:
    change_plan(shop, tmp_path)
    mine = CORE.replace("1", "7")
    (shop.root / "lib/core.py").write_text(mine)
    refused = shop.run("propose", "--again", "p1")
    assert refused.returncode == 3
    assert "lib/core.py:2" in refused.stderr
    assert "ringi review p1" in refused.stderr
    terminal = shop.terminal("review", "p1", "--plain")
    assert "  < " in terminal.answer(MENU, ">")
    seen = terminal.answer(MENU, "a")
    assert "p1 is p2 now" in seen
    assert "deletes 1 line you wrote meanwhile" in seen
    assert terminal.end()[0] == 0
    assert (shop.root / "lib/core.py").read_text() == CORE.replace("1", "2")


@pytest.mark.req("CP-10")
def test_the_state_captured_shown_and_pushed(shop: Desk, tmp_path: Path) -> None:
    assert shop.run("state", "show").returncode == 2
    state = shop.json("state", "capture")
    assert state["complete"] is True
    assert state["gaps"] == []
    assert {file["path"] for file in state["files"]} >= set(PACKAGE)
    assert state["dependencies"]["uses"]["lib/report.py"] == ["lib/core.py"]
    assert shop.json("state", "show") == state
    (shop.root / "notes.txt").write_text("mine\n")
    assert "changed since" in shop.run("state", "show").stdout
    pushed = {
        "editor": "an editor",
        "diagnostics": [{"file": "lib/core.py", "line": 2, "message": "too small", "severity": "error"}],
        "unsaved": ["lib/core.py"],
    }
    (tmp_path / "push.json").write_text(json.dumps(pushed))
    state = shop.json("state", "push", str(tmp_path / "push.json"))
    assert state["source"] == "editor"
    assert state["complete"] is False
    assert state["gaps"] == [{"code": "unsaved", "subject": "lib/core.py", "detail": ""}]
    assert state["diagnostics"][0]["message"] == "too small"
    done = shop.run("propose", "--patch", str(tmp_path / "change.patch"), "--trigger", "refactor")
    assert done.returncode == 6
    assert "ringi state show" in done.stderr
    (tmp_path / "push.json").write_text(json.dumps({**pushed, "snapshotId": "0" * 64}))
    assert shop.run("state", "push", str(tmp_path / "push.json")).returncode == 4
    outside = [{"file": "elsewhere.py", "message": "x"}]
    (tmp_path / "push.json").write_text(json.dumps({"editor": "x", "diagnostics": outside}))
    assert "1 diagnostic left out" in shop.run("state", "push", str(tmp_path / "push.json")).stdout
    below = [{"file": "lib/core.py", "message": "x", "line": 0}]
    (tmp_path / "push.json").write_text(json.dumps({"editor": "x", "diagnostics": below}))
    assert shop.run("state", "push", str(tmp_path / "push.json")).returncode == 6
    (tmp_path / "push.json").write_text('{"editor": "x", "surprise": 1}')
    assert shop.run("state", "push", str(tmp_path / "push.json")).returncode == 6


@pytest.mark.req("CP-11")
def test_an_editor_can_neither_create_nor_apply(shop: Desk, tmp_path: Path) -> None:
    """What it pushes is read as what it knows; a change plan in it is refused."""
    change_plan(shop, tmp_path)
    view = shop.json("show", "p1", "--as", "change-plan")
    (tmp_path / "push.json").write_text(json.dumps({**view, "approval": {"status": "approved"}}))
    assert shop.run("state", "push", str(tmp_path / "push.json")).returncode == 6
    assert [plan["status"] for plan in shop.json("list")] == ["pending_review"]
    projected = shop.root / ".agent/logs/plans" / view["planId"] / "change-plan.json"
    projected.write_text(projected.read_text().replace("pending", "approved"))
    assert shop.json("show", "p1", "--as", "change-plan")["approval"] == {"status": "pending"}
