"""A person in VS Code: sees a plan, comments, drops, edits, approves in the terminal, undoes."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tools import vscode

from tests.editors.vscode_desk import Server, Window, launcher, missing, opened
from tests.fakes.signing import RealKey
from tests.functional.desk import Desk
from tests.functional.run_desk import RunDesk, a_plan, a_step, by_step

pytestmark = [
    pytest.mark.req("CP-11"),
    pytest.mark.skipif(os.environ.get("RINGI_EDITORS") != "1", reason="make test-editors"),
    pytest.mark.skipif(bool(missing()), reason=f"not here: {missing()} (make test-editors)"),
    # What the journey shows stands in memory-backed folders otherwise, where no sandbox can be.
    pytest.mark.usefixtures("on_disk"),
]

REPORT = """\
def show(rows):
    for row in rows:
        print(row)


ROWS = [3, 5]


def total(rows):
    return sum(rows)


def main():
    show(ROWS)


if __name__ == "__main__":
    main()
"""
TESTS = """\
import unittest

import report


class Total(unittest.TestCase):
    def test_total(self):
        self.assertEqual(report.total([3, 5]), 8)
"""
AGENT = r"""
import pathlib
import subprocess
report = pathlib.Path("report.py")
text = report.read_text()
text = text.replace("def show(rows):", "import json\nimport time\n\n\ndef show(rows):")
text = text.replace("print(row)", "time.sleep(1)\n        print(json.dumps(row))")
text = text.replace("    show(ROWS)\n", "    show(ROWS)\n    print(total(ROWS))\n")
report.write_text(text)
build = pathlib.Path("pyproject.toml")
build.write_text(build.read_text().replace("0.1.0", "0.2.0"))
pathlib.Path("NOTES.md").write_text("# Notes\n\nThe report prints JSON.\n")
subprocess.run(["git", "add", "-A"], check=True)
subprocess.run(["git", "commit", "-qm", "Print JSON and the total"], check=True)
"""
CHECK = "python3 -m unittest -q"


@pytest.fixture
def shop(desk: Desk) -> Desk:
    """A project in which an agent has made a plan."""
    (desk.root / "report.py").write_text(REPORT)
    (desk.root / "test_report.py").write_text(TESTS)
    (desk.root / "pyproject.toml").write_text('[project]\nname = "report"\nversion = "0.1.0"\n')
    subprocess.run(["git", "add", "-A"], cwd=desk.root, check=True)
    subprocess.run(["git", "commit", "-qm", "first"], cwd=desk.root, check=True)
    agent = desk.root.parent / "agent.py"
    agent.write_text(AGENT)
    desk.run("init")
    done = desk.process("--json", "with", "--check", CHECK, "--", "python3", str(agent))
    assert done.returncode == 0, done.stderr
    return desk


def comments(desk: Desk) -> list[dict[str, Any]]:
    return [one for file in desk.json("show", "p1", "--as", "review")["files"] for one in file["comments"]]


def version(desk: Desk) -> int:
    found: int = desk.json("show", "p1", "--as", "review")["plan"]["version"]
    return found


def test_journey(shop: Desk, listed: RealKey, tmp_path: Path):
    before = shop.files()
    with Server(tmp_path) as server, opened(server, shop.root) as window:
        window.open_view()
        window.row("^p1").click()
        window.tab("HIGH · checks passed").wait_for()
        window.line("time.sleep(1)").wait_for()
        window.picture("vscode-light")
        comment(window)
        drop(window, shop)
        edit(window, shop)
        assert shop.files() == before
        decide(window, shop)
        undo(window)
        assert shop.files() == before


def comment(window: Window) -> None:
    window.begin_comment(window.line("time.sleep(1)"))
    window.page.locator(".review-widget .comment-form .monaco-editor").first.click()
    window.page.keyboard.type("no sleeping, please")
    window.page.locator(".review-widget .monaco-text-button", has_text="Comment").first.click()
    window.page.locator(".review-widget .comment-body", has_text="no sleeping, please").first.wait_for()


def drop(window: Window, shop: Desk) -> None:
    window.until(lambda: comments(shop), "the comment to be kept")
    [said] = comments(shop)
    assert (said["line"], said["side"], said["text"]) == (7, "new", "no sleeping, please")
    window.expand(window.row("^p1"))
    window.row("pyproject.toml").wait_for()
    window.button(window.row("^pyproject.toml"), "Drop This File")
    window.tab("low · checks passed").wait_for()
    assert version(shop) == 2
    window.fix(window.line("print(total(ROWS))"), "Drop this hunk")
    window.until(lambda: version(shop) == 3, "the hunk to be dropped")
    window.line("print(total(ROWS))").wait_for(state="detached")


def edit(window: Window, shop: Desk) -> None:
    window.line("time.sleep(1)").click()
    window.page.keyboard.press("Home")
    window.page.keyboard.press("Shift+End")
    window.page.keyboard.type("pass")
    window.page.keyboard.press("Control+s")
    window.until(lambda: version(shop) == 4, "the edit to be saved")
    window.settle()
    window.picture("vscode-edited")


def decide(window: Window, shop: Desk) -> None:
    files = shop.json("show", "p1", "--as", "review")["files"]
    after = {file["path"]: file["after"] for file in files}
    assert sorted(after) == ["NOTES.md", "report.py"]
    assert "pass" in after["report.py"]
    assert "sleep" not in after["report.py"]
    assert "print(total(ROWS))" not in after["report.py"]
    apply = window.page.locator(".editor-actions .action-label[aria-label^='Apply']").first
    apply.click()
    window.terminal_says(r"apply p1 --seen \d+ --sign")
    window.page.wait_for_timeout(3000)
    assert shop.json("show", "p1", "--as", "review")["plan"]["status"] == "pending_review"
    window.in_terminal("\n")
    window.until(lambda: shop.json("list")[0]["status"] == "completed", "the plan to be applied")
    assert {name: (shop.root / name).read_text() for name in after} == after
    window.tab("low · applied").wait_for()
    apply.wait_for(state="detached")


def undo(window: Window) -> None:
    window.row("Applied").click()
    window.button(window.row("^p1"), "Undo")
    window.terminal_says(r"Go\? \[y/n\]")
    window.in_terminal("y\n")
    window.terminal_says("restored byte for byte")
    window.tab("low · undone").wait_for()
    window.row("Applied").wait_for(state="detached")


@pytest.mark.parametrize(("language", "theme"), [("en", "dark"), ("ja", "light"), ("ja", "dark")])
def test_screens_in_both_languages_and_themes(shop: Desk, tmp_path: Path, language: str, theme: str):
    decide_words = {"en": "To decide", "ja": "判断待ち"}[language]
    risk = {"en": "HIGH · checks passed", "ja": "高リスク · チェック合格"}[language]
    with Server(tmp_path, theme=theme, language=language) as server, opened(server, shop.root) as window:
        window.open_view()
        window.row(decide_words).wait_for()
        window.row("^p1").click()
        window.tab(risk).wait_for()
        window.expand(window.row("^p1"))
        window.row("pyproject.toml").wait_for()
        window.line("time.sleep(1)").wait_for()
        window.picture(f"vscode-{language}-{theme}")
        assert window.tab(risk).is_visible()


HOSTILE = "\u202eevil <img src=x onerror=alert(1)> [click](command:ringi.apply) $(check) \x1b[31mred"


def test_nothing_that_a_plan_says_is_interpreted(desk: Desk, tmp_path: Path):
    new = tmp_path / "new.txt"
    new.write_text("one\n")
    desk.run("init")
    name = "a <b>&amp;[x](command:y).txt"
    desk.json(
        "propose",
        "--file",
        f"{name}={new}",
        "--title",
        HOSTILE,
        "--trigger",
        "user_request",
        "--explain",
        f"# {HOSTILE}\n<h1>no</h1>",
    )
    desk.json("amend", "p1", "--comment", f"{name}:1", HOSTILE)
    with Server(tmp_path) as server, opened(server, desk.root) as window:
        window.open_view()
        window.row("^p1").click()
        window.page.locator(".review-widget .comment-body").first.wait_for()
        window.expand(window.row("^p1"))
        window.row("new ").wait_for()
        window.command("Ringi: About This Plan")
        window.tab("p1.txt").wait_for()
        window.command("Ringi: Discard…")
        window.page.locator(".monaco-dialog-box").wait_for()
        window.picture("hostile")
        assert (
            window.page.locator("img[src='x'], .review-widget a[href], .monaco-list-row a[href]").count() == 0
        )
        shown = window.page.locator(".monaco-dialog-box").inner_text()
        assert "<img src=x" in shown
        assert "\\u202e" in shown
        assert "\u202e" not in shown


def test_what_is_missing_is_said(desk: Desk, tmp_path: Path):
    empty = tmp_path / "empty"
    empty.mkdir()
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\necho ringi 0.0.9\n")
    old.chmod(0o755)
    says = [
        ("/nowhere/ringi", desk.root, "was not found"),
        (str(old), desk.root, "too old"),
        (None, empty, "neither"),
    ]
    for number, (program, folder, words) in enumerate(says):
        place = tmp_path / str(number)
        place.mkdir()
        with Server(place, program=program) as server, opened(server, folder) as window:
            window.open_view()
            said = window.page.locator(".welcome-view-content", has_text=words).first
            said.wait_for()
            assert said.locator(".monaco-button").count() > 0, "a button says what to do"
            if folder == empty:
                said.locator(".monaco-button", has_text="Make It a Workspace").click()
                window.terminal_says("ringi init")
                window.in_terminal("\n")
                window.page.locator(".welcome-view-content", has_text="Nothing waits").wait_for()


def test_each_folder_of_a_window_has_its_own_plans(desk: Desk, tmp_path: Path):
    other = tmp_path / "other"
    subprocess.run(["git", "clone", "-q", str(desk.root), str(other)], check=True)
    new = tmp_path / "new.txt"
    new.write_text("one\n")
    for root, titles in ((desk.root, ["Same", "First"]), (other, ["Same", "Second"])):
        Desk(root).run("init")
        for title in titles:
            Desk(root).json("propose", "--file", f"new.txt={new}", "--title", title)
    both = tmp_path / "both.code-workspace"
    folders = [desk.root, other, desk.root / "app"]  # the last one is a part of the first
    both.write_text(json.dumps({"folders": [{"path": str(folder)} for folder in folders]}))
    with Server(tmp_path) as server, opened(server, both) as window:
        window.open_view()
        window.row("p2 First").wait_for()
        window.row("p2 Second").click()
        window.tab(f"p2 Second · low · not checked · {other.name}").wait_for()
        assert window.row("p2 First").is_visible()
        rows = window.page.locator(
            "[id='workbench.view.extension.ringi'] .monaco-list-row", has_text="p1 Same"
        )
        assert rows.count() == 2
        names = [desk.root.name, other.name]
        for at, name in enumerate(names):
            rows.nth(at).click()
            window.tab(f"p1 Same · low · not checked · {name}").dblclick()
        # A new version of the one in front: the other one of the same title stays as it is.
        Desk(other).json("amend", "p1", "--write", f"new.txt={other / 'README.md'}")
        window.page.locator(".multiDiffEntry .view-line", has_text="# Sample").first.wait_for()
        window.page.locator(".editor-actions .action-label[aria-label^='Apply']").first.click()
        window.terminal_says(r"\[a\]pply")
        shown = [window.tab(f"p1 Same · low · not checked · {name}").is_visible() for name in names]
        assert shown == [True, True]
        window.in_terminal("a")
        window.until((other / "new.txt").exists, "the plan of the second folder to be applied")
        assert not (desk.root / "new.txt").exists()


def test_five_thousand_files(desk: Desk, tmp_path: Path):
    folder = tmp_path / "tree"
    subprocess.run(["git", "clone", "-q", str(desk.root), str(folder)], check=True)
    shutil.rmtree(folder / ".git")
    for number in range(5000):
        (folder / f"file{number:04}.txt").write_text(f"line {number}\n")
    desk.run("init")
    desk.json("propose", "--tree", str(folder), "--title", "Many files")
    with Server(tmp_path) as server, opened(server, desk.root) as window:
        window.open_view()
        window.row("^p1").click()
        window.tab("p1 Many files").wait_for()
        window.page.locator(".notification-toast", has_text="5000").wait_for()
        window.line("line 0").wait_for()
        assert "5000" in window.row("^p1").inner_text()


@pytest.mark.req("CP-10")
def test_unsaved_files_are_named_and_a_plan_is_sent_back(desk: Desk, tmp_path: Path):
    new = tmp_path / "new.txt"
    new.write_text("one\n")
    desk.run("init")
    desk.json("propose", "--file", f"new.txt={new}", "--title", "New")
    with Server(tmp_path) as server, opened(server, desk.root) as window:
        window.open_view()
        window.row("^p1").wait_for()
        window.open_file("hello.py")
        window.page.locator(".view-line", has_text="hello").first.click()
        window.page.keyboard.type("# unsaved")
        window.command("Ringi: Tell Ringi the Project State")
        window.answer("app/hello.py", "Save and go on")
        window.message("knows the project state").wait_for()
        assert desk.json("state", "show")["source"] == "editor"
        assert "# unsaved" in (desk.root / "app" / "hello.py").read_text()
        window.command("Ringi: Send Back with Feedback…")
        window.page.locator(".quick-input-message", has_text="What should").wait_for()
        window.page.keyboard.type("Say why.")
        window.page.keyboard.press("Enter")
        window.until(lambda: desk.json("list")[0]["status"] == "proposed", "the plan to be sent back")


def test_types_hold():
    """Those in the comments, against the oldest VS Code that the extension names."""
    words = [
        vscode.NODE,
        vscode.CHECKER,
        "-p",
        vscode.SOURCE / "jsconfig.json",
        "--typeRoots",
        vscode.MODULES / "@types",
    ]
    checked = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, "")


@pytest.mark.req("PT-10")
def test_a_line_says_who_approved_it(desk: Desk, listed: RealKey, tmp_path: Path):
    new = tmp_path / "new.py"
    new.write_text("answer = 42\n")
    desk.run("init")
    desk.json("propose", "--file", f"new.py={new}", "--title", "Give <b>the</b> answer")
    assert desk.run("apply", "p1", "--sign", str(listed.path)).returncode == 0
    for words in (["add", "new.py"], ["commit", "-qm", "Answer"]):
        subprocess.run(["git", *words], cwd=desk.root, check=True)
    assert desk.json("why", "new.py:1")["approval"]["plan"]["title"] == "Give <b>the</b> answer"
    with Server(tmp_path) as server, opened(server, desk.root) as window:
        window.open_view()
        window.row("Applied").wait_for()
        window.open_file("new.py")
        window.page.locator(".view-line span", has_text="answer").first.hover()
        told = window.page.locator(".monaco-hover", has_text="Give <b>the</b> answer").first
        told.wait_for()
        window.picture("why", away=False)
        assert "signed" in told.inner_text()
        assert told.locator("b").count() == 0


FILES = 200
AT_MOST = 2.0
ROUNDS = 3


@pytest.mark.slow
def test_a_plan_opens_about_as_fast_as_the_changes_of_git(desk: Desk, tmp_path: Path):
    """The same files twice: as a plan, and changed in the checkout. One editor, one run."""
    for number in range(FILES):
        (desk.root / f"file{number:03}.py").write_text(
            "".join(f"value_{line} = {line}\n" for line in range(200))
        )
    for words in (["add", "-A"], ["commit", "-qm", "many"]):
        subprocess.run(["git", *words], cwd=desk.root, check=True)
    folder = tmp_path / "tree"
    subprocess.run(["git", "clone", "-q", str(desk.root), str(folder)], check=True)
    shutil.rmtree(folder / ".git")
    for number in range(FILES):
        file = folder / f"file{number:03}.py"
        file.write_text(file.read_text().replace("value_7 = 7\n", "value_7 = 'seven'\n"))
    desk.run("init")
    desk.json("propose", "--tree", str(folder), "--title", "Many files")
    with Server(tmp_path) as server, opened(server, desk.root) as window:
        window.open_view()
        window.row("^p1").wait_for()
        ringi = [seconds_to_open(window, open_plan) for _ in range(ROUNDS)]
        shutil.copytree(folder, desk.root, dirs_exist_ok=True)
        window.page.locator(".activitybar .badge", has_text=re.compile(r"^20\d$")).first.wait_for()
        git = [seconds_to_open(window, open_git) for _ in range(ROUNDS)]
    first, best = ringi[0] / git[0], min(ringi) / min(git)
    told = f"{FILES} files, a plan and git: first {ringi[0]:.2f} s and {git[0]:.2f} s, ratio {first:.2f}"
    told += f"; best of {ROUNDS} {min(ringi):.2f} s and {min(git):.2f} s, ratio {best:.2f}"
    (vscode.FOLDER / "bench.txt").write_text(f"{told}\n")
    assert max(first, best) <= AT_MOST, told


def open_plan(window: Window) -> float:
    return window.command("Ringi: Open All Changes")


def open_git(window: Window) -> float:
    """The button beside the changes in git's own view."""
    window.page.keyboard.press("Control+Shift+G")
    group = window.page.locator(
        ".scm-view .monaco-list-row", has=window.page.locator(".resource-group")
    ).first
    group.hover()
    began = time.monotonic()
    group.locator(".action-label[aria-label^='Open Changes']").first.click()
    return began


def seconds_to_open(window: Window, act: Callable[[Window], float]) -> float:
    began = act(window)
    window.line("seven").wait_for()
    took = time.monotonic() - began
    window.command("View: Close All Editors")
    window.line("seven").wait_for(state="detached")
    return took


@pytest.fixture
def run_desk(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A run whose two steps wait, a planning session, and a plan of its own."""
    monkeypatch.delenv("XDG_CONFIG_HOME")
    desk.run("init")
    for words in (["add", "-A"], ["commit", "-qm", "ringi"]):
        subprocess.run(["git", *words], cwd=desk.root, check=True)
    runs = RunDesk(desk.root, implementer=by_step("echo 1 > one.txt", "echo 2 > two.txt"))
    steps = [
        a_step(number, title=f"Write {name}", scope={"target_paths": [name]}, commands={"unit": ["true"]})
        for number, name in ((1, "one.txt"), (2, "two.txt"))
    ]
    # Not in this process: what an agent's process starts, such as the editor, could not decide.
    assert desk.process("continue", runs.start(a_plan(*steps))).returncode == 3
    assert desk.run("plan", "Add an option to the tool").returncode == 3
    return desk


DIFF = """\
--- a/app/hello.py
+++ b/app/hello.py
@@ -1,2 +1,3 @@
 def hello():
+    # Said to everybody.
     return "hello"
"""


@pytest.mark.req("CP-10")
@pytest.mark.req("IP-9")
def test_runs_and_sessions_go_on_and_a_change_plan_is_proposed(run_desk: Desk, tmp_path: Path):
    (run_desk.root / "fix.diff").write_text(DIFF)
    with Server(tmp_path) as server, opened(server, run_desk.root) as window:
        window.open_view()
        look_at_the_run(window, run_desk)
        window.button(window.row("Add an option"), "Go On")
        window.message("Press Enter in the terminal to go on").wait_for()
        window.terminal_says("plan --resume planning-")
        propose_a_change_plan(window, run_desk)
    change = run_desk.json("show", "p3", "--as", "review")["change"]
    assert change["basis"]["trigger"] == "user_request"


def look_at_the_run(window: Window, desk: Desk) -> None:
    """Its steps are below it, not among the plans to decide; each opens its changes."""
    window.row("Make it add").click()
    window.row("the result waits for you").wait_for()
    assert not window.row("^p1").is_visible()
    window.row("S02 p2 Write two.txt").click()
    window.tab("p2 Write two.txt").wait_for()
    window.picture("vscode-run")
    window.button(window.row("Make it add"), "Show Its Status")
    window.terminal_says("S02 +Write two.txt")
    window.button(window.row("Make it add"), "Go On")
    window.terminal_says(r"bin/ringi continue 2026")
    window.in_terminal("\n")
    window.terminal_says(r"\[a\]pprove all")
    window.in_terminal("a\n")
    window.row("Runs").wait_for(state="detached")
    log = subprocess.run(
        ["git", "log", "--format=%s", "--all"], cwd=desk.root, capture_output=True, text=True, check=True
    ).stdout
    assert {"Write one.txt", "Write two.txt"} <= set(log.splitlines())


def propose_a_change_plan(window: Window, desk: Desk) -> None:
    window.open_file("README.md")
    window.page.locator(".view-line", has_text="Sample").first.click()
    window.page.keyboard.type("unsaved ")
    window.command("Ringi: Propose a Change Plan…")
    window.answer("README.md", "Save and go on")
    window.choose("asked for by a person")
    box = window.page.locator(".quick-input-widget input").first
    window.until(lambda: str(desk.root) in box.input_value(), "the choice of a file")
    box.fill(str(desk.root / "fix.diff"))
    window.page.locator(".quick-input-list .monaco-list-row", has_text="fix.diff").first.wait_for()
    window.page.keyboard.press("Enter")
    window.message("to propose the change plan").wait_for()
    window.terminal_says(r"propose --trigger=user_request --patch=fix\.d")
    assert desk.json("state", "show")["source"] == "editor"
    assert len(desk.json("list")) == 2, "not proposed before Enter"
    window.in_terminal("\n")
    window.row("^p3").wait_for()
    window.expand(window.row("^p3"))
    window.row("Why, basis and affected files").click()
    window.page.locator(".view-line", has_text="asked for by a person").first.wait_for()


def test_nothing_is_started_in_a_folder_that_is_not_trusted(desk: Desk, tmp_path: Path):
    new = tmp_path / "new.txt"
    new.write_text("one\n")
    desk.run("init")
    desk.json("propose", "--file", f"new.txt={new}", "--title", "New")
    started, program = tmp_path / "started.txt", tmp_path / "counted"
    program.write_text(f'#!/bin/sh\necho "$@" >> {started}\nexec {launcher(tmp_path)} "$@"\n')
    program.chmod(0o755)
    trust = {"security_workspace_trust_enabled": True, "security_workspace_trust_startupPrompt": "never"}
    with Server(tmp_path, program=str(program), **trust) as server, opened(server, desk.root) as window:
        window.open_view()
        said = window.page.locator(".welcome-view-content", has_text="that you do not trust").first
        said.wait_for()
        for command in ("Open All Changes", "Tell Ringi the Project State", "Refresh"):
            window.command(f"Ringi: {command}")
            window.message("ringi is not started").wait_for()
            window.command("Notifications: Clear All Notifications")
            window.message("ringi is not started").wait_for(state="detached")
        window.command("Ringi: Review in the Terminal")
        window.message("ringi is not started").wait_for()
        window.picture("untrusted")
        assert not started.exists()
        window.answer("ringi is not started", "Manage Trust")
        window.page.locator(".workspace-trust-editor .monaco-button", has_text="Trust").first.click()
        window.row("^p1").wait_for()
        assert started.exists()
