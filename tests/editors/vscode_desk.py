"""VS Code as a person uses it: code-server in the machine's own chromium, with the packed extension."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from tools import vscode

SITE = next(vscode.FOLDER.glob("python/lib/*/site-packages/playwright"), Path())
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
PICTURES = os.environ.get("RINGI_PICTURES")
"""The folder for screens, if they are wanted. Read now: no test inherits such variables."""
FAILED = vscode.FOLDER / "failed.png"
"""The screen when a test failed."""
LONG_MS = int(os.environ.get("LONG_MS", "60000"))
SETTLED_SEC = 0.25
SIZE = {"width": 1240, "height": 720}
THEMES = {"light": "Default Light Modern", "dark": "Default Dark Modern"}
SETTINGS = {
    "chat.disableAIFeatures": True,
    "comments.openView": "never",
    "files.autoSave": "off",
    "git.openRepositoryInParentFolders": "never",
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "terminal.integrated.defaultProfile.linux": "plain",
    "terminal.integrated.profiles.linux": {
        "plain": {"path": "bash", "args": ["--norc"], "env": {"PS1": "$ "}}
    },
    "terminal.integrated.gpuAcceleration": "off",
    "terminal.integrated.inheritEnv": True,
    "window.commandCenter": False,
    "workbench.editor.empty.hint": "hidden",
    "workbench.layoutControl.enabled": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
}


def missing() -> str:
    """What the tests need and is not here; empty if nothing."""
    needed = {"code-server": vscode.SERVER.exists(), "playwright": SITE.is_dir(), "chromium": bool(CHROMIUM)}
    return ", ".join(name for name, there in needed.items() if not there)


class Server:
    """code-server with a folder of its own for its settings, and the extension as `make vscode` packs it."""

    def __init__(
        self,
        folder: Path,
        *,
        program: str | None = None,
        theme: str = "light",
        language: str = "en",
        **settings: object,
    ) -> None:
        """Settings by their names, with `_` for dots."""
        self.data = folder / "code-server"
        self.environment = {**os.environ, "PATH": f"{vscode.NODE.parent}:{os.environ['PATH']}"}
        self._write("User/settings.json", {
            **SETTINGS,
            "workbench.colorTheme": THEMES[theme],
            **{name.replace("_", "."): value for name, value in settings.items()},
        })  # fmt: skip
        self._write("Machine/settings.json", {"ringi.path": program or str(launcher(folder))})
        if language != "en":
            self._speak(language)
        self._run("--install-extension", str(vscode.pack(folder))).wait(timeout=120)
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        quiet = ["--auth", "none", "--disable-telemetry", "--disable-update-check"]
        self.process = self._run("--bind-addr", f"127.0.0.1:{self.port}", "--locale", language, *quiet)

    def _write(self, name: str, settings: dict[str, Any]) -> None:
        path = self.data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))

    def _speak(self, language: str) -> None:
        """As if a language pack were installed that has no word: ours are in the extension."""
        words = self.data / "words.json"
        self._write("words.json", {"version": "1.0.0", "contents": {}})
        ours = {"extensionIdentifier": {"id": "ringi.ringi"}, "version": "0.1.0"}
        pack = {"hash": "1", "label": language, "extensions": [ours], "translations": {"vscode": str(words)}}
        self._write("languagepacks.json", {language: pack})

    def _run(self, *words: str) -> subprocess.Popen[bytes]:
        folders = ["--user-data-dir", str(self.data), "--extensions-dir", str(self.data / "extensions")]
        argv = [str(vscode.NODE), str(vscode.SERVER), "--config", os.devnull, *folders, *words]
        with (self.data / "log.txt").open("ab") as log:
            return subprocess.Popen(
                argv,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait(self) -> None:
        for _ in range(240):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5).read()
                return
            time.sleep(SETTLED_SEC)
        pytest.fail((self.data / "log.txt").read_text(errors="replace"))

    def __enter__(self) -> Self:
        self.wait()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(timeout=30)


def launcher(folder: Path) -> Path:
    """The ringi of this source, as a program."""
    made = folder / "bin" / "ringi"
    made.parent.mkdir(parents=True, exist_ok=True)
    source = Path(__file__).resolve().parents[2] / "src"
    made.write_text(f'#!/bin/sh\nPYTHONPATH="{source}" exec "{sys.executable}" -m ringi "$@"\n')
    made.chmod(0o755)
    return made


class Window:
    """One window of the editor. Whatever is clicked or typed, a person could click or type."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def open_view(self) -> None:
        self.page.locator(".activitybar a.action-label[aria-label^='Ringi']").first.click()
        self.page.wait_for_selector("[id='workbench.view.extension.ringi']", timeout=LONG_MS)

    def row(self, text: str) -> Any:
        rows = self.page.locator("[id='workbench.view.extension.ringi'] .monaco-list-row")
        return rows.filter(has_text=re.compile(text)).first

    def expand(self, row: Any) -> None:
        row.locator(".monaco-tl-twistie").click()

    def button(self, row: Any, label: str) -> None:
        row.hover()
        row.locator(f".action-label[aria-label^='{label}']").first.click()

    def tab(self, text: str) -> Any:
        return self.page.locator(".tab", has_text=text).first

    def ask(self, key: str) -> Any:
        """The box at the top, by its key."""
        self.page.keyboard.press(key)
        box = self.page.locator(".quick-input-widget input").first
        box.wait_for(state="visible")
        return box

    def command(self, words: str) -> float:
        """When it was given."""
        box = self.ask("F1")
        box.fill(f">{words}")
        row = self.page.locator(".quick-input-list .monaco-list-row", has_text=words).first
        row.wait_for()
        began = time.monotonic()
        row.click()
        return began

    def choose(self, text: str) -> None:
        """A row of a menu at the top."""
        self.page.locator(".quick-input-list .monaco-list-row", has_text=text).first.click()

    def message(self, text: str) -> Any:
        """Of those at the bottom."""
        return self.page.locator(".notification-toast", has_text=text).first

    def answer(self, text: str, label: str) -> None:
        """A button of a message."""
        self.message(text).wait_for()
        self.message(text).locator(".monaco-button", has_text=label).first.click()

    def open_file(self, name: str) -> None:
        self.ask("Control+p").fill(name)
        self.choose(name)

    def line(self, text: str, side: str = "modified") -> Any:
        """A line of a diff editor."""
        found = self.page.locator(
            f".multiDiffEntry .editor.{side} .view-line, .diff-editor .editor.{side} .view-line"
        )
        return found.filter(has_text=re.compile(re.escape(text).replace(r"\ ", r"\s"))).first

    def settle(self) -> None:
        """Until what runs has ended and everything is shown again."""
        self.page.locator(".notification-toast .monaco-progress-container.active").first.wait_for(
            state="detached"
        )
        self.page.wait_for_timeout(1000)

    def begin_comment(self, line: Any) -> None:
        """The + beside the line."""
        form = self.page.locator(".review-widget .comment-form .monaco-editor").first

        def begun() -> bool:
            """Lines are drawn anew while colours arrive."""
            line.click()
            at = line.bounding_box() or {"y": -1}
            glyphs = self.page.locator(".comment-range-glyph.line-hover").all()
            boxes = [box for one in glyphs if one.is_visible() and (box := one.bounding_box())]
            for box in [one for one in boxes if abs(one["y"] - at["y"]) < one["height"] / 2][:1]:
                self.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
                with contextlib.suppress(Exception):  # playwright is not imported before it is needed
                    form.wait_for(timeout=LONG_MS / 10)
            return bool(form.is_visible())

        self.until(begun, "a comment to be begun")

    def fix(self, line: Any, label: str) -> None:
        """The light bulb, by its key."""
        choice = self.page.locator(".action-widget .monaco-list-row", has_text=label).first

        def offered() -> bool:
            if not choice.is_visible():
                self.settle()
                line.click()
                self.page.wait_for_timeout(1000)
                self.page.keyboard.press("Control+.")
                self.page.wait_for_timeout(1000)
            return bool(choice.is_visible())

        self.until(offered, label)
        choice.click()

    def terminal(self) -> str:
        rows = self.page.locator(
            ".terminal-wrapper.active .xterm-accessibility-tree, .terminal-wrapper.active .xterm-rows"
        )
        return "\n".join(rows.all_inner_texts()).replace("\u00a0", " ")

    def terminal_says(self, text: str) -> None:
        self.until(lambda: re.search(text, self.terminal()), f"the terminal to say {text}")

    def in_terminal(self, keys: str) -> None:
        self.page.locator(".terminal-wrapper.active .xterm-helper-textarea").first.focus()
        self.page.keyboard.type(keys)

    def until(self, true: Callable[[], object], what: str) -> None:
        for _ in range(int(LONG_MS / 1000 / SETTLED_SEC)):
            if true():
                return
            self.page.wait_for_timeout(SETTLED_SEC * 1000)
        msg = f"waited in vain for {what}"
        raise AssertionError(msg)

    def picture(self, name: str, *, away: bool = True) -> None:
        """For the pages, if asked for; with the pointer out of the way."""
        if not PICTURES:
            return
        if away:
            self.page.mouse.move(5, 5)
        self.page.wait_for_timeout(700)
        self.page.screenshot(path=str(Path(PICTURES) / f"{name}.png"))


@contextlib.contextmanager
def opened(server: Server, folder: Path) -> Iterator[Window]:
    if str(SITE.parent) not in sys.path:
        sys.path.append(str(SITE.parent))
    from playwright.sync_api import sync_playwright

    alone = [
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    ]
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=alone)
        try:
            context = browser.new_context(viewport=SIZE)
            context.set_default_timeout(LONG_MS)
            address = f"http://127.0.0.1:{server.port}"
            page = context.new_page()
            kind = "workspace" if folder.suffix == ".code-workspace" else "folder"
            page.goto(f"{address}/?{kind}={folder}")
            page.wait_for_selector(".monaco-workbench .activitybar", timeout=LONG_MS)
            window = Window(page)
            try:
                yield window
            except Exception:
                page.screenshot(path=str(FAILED))
                raise
        finally:
            browser.close()
