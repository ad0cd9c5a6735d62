"""A person notices, and the program neither waits nor fails: real terminals and programs of our own."""

import os
import pty
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

import ringi
from ringi.app.notify import notify
from ringi.kernel.text import Text
from tests.helpers import PYTHON
from tests.tables import each

SOURCES = str(Path(ringi.__file__).parents[1])
NASTY = (
    '<b>x</b> & "; do shell script "touch owned" \\n `touch owned` $(touch owned) \x1b[31m -e\n--help\u202e'
)


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """What a person sees, and what a program writes to."""
    seen, written = pty.openpty()
    os.set_blocking(seen, False)
    yield seen, written
    os.close(seen)
    os.close(written)


def heard(seen: int) -> bytes:
    try:
        return os.read(seen, 100)
    except BlockingIOError:
        return b""


def stand_in(folder: Path, name: str, does: str) -> dict[str, str]:
    """A program of that name that keeps its arguments, and nothing else on the path but a shell's needs."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(
        f"#!{PYTHON}\nimport json, os, sys, time\n"
        f'json.dump(sys.argv[1:], open({str(folder / "said")!r}, "w"))\n{does}\n'
    )
    program.chmod(0o755)
    return {"PATH": str(folder)}


def said(folder: Path) -> list[str]:
    import json

    return list(json.loads((folder / "said").read_text()))


def test_bell_rings_at_the_terminal(terminal: tuple[int, int]):
    seen, written = terminal
    notify("bell", Text("1 plan waits"), environment={}, output=written)
    assert heard(seen) == b"\a"


def test_off_is_silent(terminal: tuple[int, int], tmp_path: Path):
    seen, written = terminal
    environment = stand_in(tmp_path / "bin", "notify-send", "")
    notify("off", "1 plan waits", environment=environment, output=written)
    assert heard(seen) == b""
    assert not (tmp_path / "bin" / "said").exists()


def test_bell_goes_to_the_terminal_of_the_process_if_the_output_is_none(terminal: tuple[int, int]):
    seen, written = terminal
    script = (
        "import fcntl, os, sys, termios\n"
        "fcntl.ioctl(3, termios.TIOCSCTTY, 0)\n"
        "from ringi.app.notify import notify\n"
        "notify('bell', 'x', environment={}, output=1)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": SOURCES},
        stdout=subprocess.PIPE,
        preexec_fn=lambda: os.dup2(written, 3),
        pass_fds=(3,),
        start_new_session=True,
        timeout=90,
        check=True,
    )
    assert done.stdout == b""
    assert heard(seen) == b"\a"


@each("output", [None, -1, 10_000])
def test_nobody_to_tell_is_no_error(output: int | None):
    call = f"notify('bell', 'x', environment={{}}, output={output})"
    script = f"from ringi.app.notify import notify\n{call}"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": SOURCES},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        start_new_session=True,
        timeout=90,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_stopped_terminal_holds_nobody(terminal: tuple[int, int]):
    seen, written = terminal
    termios.tcflow(written, termios.TCOOFF)
    for _ in range(3):
        notify("bell", "x", environment={}, output=written)
    termios.tcflow(written, termios.TCOON)
    notify("bell", "x", environment={}, output=written)
    assert heard(seen).endswith(b"\a")


def test_desktop_gets_the_words_as_words(terminal: tuple[int, int], tmp_path: Path):
    seen, written = terminal
    environment = stand_in(tmp_path / "bin", "notify-send", "")
    notify("desktop", Text("plan {title}", title=NASTY), environment=environment, output=written)
    *options, title, body = said(tmp_path / "bin")
    assert options == ["--app-name=ringi", "--"]
    assert title == "ringi"
    assert body.startswith("plan &lt;b&gt;x&lt;/b&gt; &amp; ")
    assert body.isprintable()
    # notify-send reads escapes in the body; two backslashes are one there.
    assert "\\\\x1b[31m" in body
    assert "\\\\u202e" in body
    assert "<" not in body
    assert heard(seen) == b""
    assert not list(tmp_path.glob("**/owned"))


def test_words_are_no_part_of_the_script(tmp_path: Path):
    environment = stand_in(tmp_path / "bin", "osascript", "")
    notify("desktop", NASTY, environment=environment, output=None)
    *script, title, words = said(tmp_path / "bin")
    assert not [line for line in script if "touch" in line or "<b>" in line]
    # The first word that is no option ends the options, so what follows is never taken for one.
    assert title == "ringi"
    assert words.isprintable()
    assert words.startswith('<b>x</b> & "; do shell script')


@pytest.mark.parametrize(
    "does",
    ["raise SystemExit(1)", "os.kill(os.getpid(), 9)", "time.sleep(60)"],
    ids=["fails", "dies", "hangs"],
)
def test_desktop_that_fails_becomes_the_bell(terminal: tuple[int, int], tmp_path: Path, does: str):
    seen, written = terminal
    environment = stand_in(tmp_path / "bin", "notify-send", does)
    notify("desktop", "x", environment=environment, output=written)
    assert heard(seen) == b"\a"


@pytest.mark.parametrize("path", ["", "/nowhere"])
def test_without_a_desktop_program_the_bell_rings(terminal: tuple[int, int], path: str):
    seen, written = terminal
    notify("desktop", "x", environment={"PATH": path}, output=written)
    assert heard(seen) == b"\a"


def test_long_words_are_cut(tmp_path: Path):
    environment = stand_in(tmp_path / "bin", "notify-send", "")
    notify("desktop", "x" * 1_000_000, environment=environment, output=None)
    assert len(said(tmp_path / "bin")[-1]) == 500
