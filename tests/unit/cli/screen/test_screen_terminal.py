"""A real pseudo-terminal; for signals and exits, with a real process on it."""

import contextlib
import os
import pty
import signal
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyte
import pytest

from ringi.cli.screen.cells import StyledText
from ringi.cli.screen.terminal import Size, Terminal, harmless
from tests.functional.screens import Screen
from tests.tables import each

ENTERED, LEFT = b"\x1b[?1049h", b"\x1b[?1049l"

PROGRAM = """
import os, subprocess, sys, time
from ringi.cli.screen.cells import StyledText as Piece
from ringi.cli.screen.terminal import Terminal
seen = []
with Terminal(colour=True) as terminal:
    while True:
        size = terminal.size
        lines = [(Piece(f"{size.columns}x{size.rows}", "bold"),), (Piece("ready " + " ".join(seen)),)]
        terminal.draw([*lines, *[(Piece("x" * 300, "red"),)] * (size.rows - 3), (Piece("last", "reverse"),)])
        key = terminal.key(60)
        seen.append(key)
        if key == "ctrl-z": terminal.suspend_self()
        if key == "e":
            with terminal.suspend():
                subprocess.run(["sh", "-c", sys.argv[1]])
        if key == "!": raise ValueError("oh")
        if key in ("stop", "eof", "q", ""): break
sys.exit({"stop": 7, "eof": 8, "q": 0}.get(key, 9))
"""


@contextlib.contextmanager
def pair(columns: int = 20, rows: int = 5) -> Iterator[tuple[int, int]]:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (rows, columns))
    os.set_blocking(master, False)
    try:
        yield master, slave
    finally:
        for end in (master, slave):
            with contextlib.suppress(OSError):
                os.close(end)


def written(master: int) -> bytes:
    data = b""
    with contextlib.suppress(BlockingIOError, OSError):
        while piece := os.read(master, 65536):
            data += piece
    return data


def program(tmp_path: Path, *words: str, **options: int) -> Screen:
    return Screen([sys.executable, "-c", PROGRAM, *words], cwd=tmp_path, **options)


def cooked(descriptor: int) -> bool:
    return bool(termios.tcgetattr(descriptor)[3] & termios.ICANON)


def test_rows_that_did_not_change_are_not_written():
    with pair() as (master, slave), Terminal(colour=False, keyboard=slave, output=slave) as terminal:
        assert terminal.size == Size(20, 5)
        terminal.draw([(StyledText("one"),), (StyledText("two"),)])
        assert b"one" in written(master)
        terminal.draw([(StyledText("one"),), (StyledText("2"),)])
        assert written(master) == b"\x1b[2;1H\x1b[2K2\x1b[?25l"
        terminal.draw([(StyledText("one"),), (StyledText("2"),)])
        assert written(master) == b""
        terminal.draw([(StyledText("one"),), (StyledText("2"),)], cursor=(1, 1))
        assert written(master) == b"\x1b[2;2H\x1b[?25h"
        terminal.draw([])
        assert written(master) == b"\x1b[1;1H\x1b[2K\x1b[2;1H\x1b[2K\x1b[?25l"


def test_the_screen_shows_what_was_drawn_and_never_scrolls():
    with pair() as (master, slave):
        screen = pyte.Screen(20, 5)
        stream = pyte.ByteStream(screen)
        with Terminal(colour=True, many_colours=True, keyboard=slave, output=slave) as terminal:
            first = [(StyledText("稟" * 30, "add-tint"),), *[(StyledText("y" * 20),)] * 9]
            terminal.draw(first)
            stream.feed(written(master))
            assert screen.display == ["稟" * 10, *["y" * 20] * 4]
            terminal.draw(
                [(StyledText("a\x1b[2Jb\r\nc\u202ed\x9b"),), (StyledText("z" * 21),)], cursor=(9, 99)
            )
            stream.feed(written(master))
            replaced = "\ufffd"
            assert screen.display[0].rstrip() == f"a{replaced}[2Jb{replaced * 2}c{replaced}d{replaced}"
            assert screen.display[1:] == ["z" * 20, *[" " * 20] * 3]
            assert (screen.cursor.y, screen.cursor.x, screen.cursor.hidden) == (4, 19, False)


def test_only_our_own_escapes_are_written():
    with pair(400) as (master, slave), Terminal(colour=False, keyboard=slave, output=slave) as terminal:
        written(master)
        terminal.draw([(StyledText("".join(map(chr, range(0xA0))) + "\u2066\u200b\u2028\ud800", "red"),)])
        data = written(master).decode()
        assert [c for c in data if c < " " and c != "\x1b"] == []
        assert data.count("\x1b") == 5  # all plain, all empty, the row, its emptying, the cursor
        assert "\x9b" not in data


@each("text", ["plain", "稟議", "e\u0301"])
def test_harmless_text_stays(text: str):
    assert harmless(text) == text


def test_without_colour_there_is_none():
    with pair() as (master, slave), Terminal(colour=False, keyboard=slave, output=slave) as terminal:
        written(master)
        terminal.draw([(StyledText("a", "red bold"), StyledText("b", "green"))])
        data = written(master)
        assert b"\x1b[1ma\x1b[0mb" in data
        assert b"\x1b[31" not in data


def test_modes_and_screen_are_given_back_after_an_exception():
    with pair() as (master, slave):
        before = termios.tcgetattr(slave)
        handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGWINCH, signal.SIGTSTP)]
        with pytest.raises(KeyError), Terminal(colour=False, keyboard=slave, output=slave):
            {cooked(slave): "raw"}[True]
        assert termios.tcgetattr(slave) == before
        assert written(master).endswith(LEFT)
        assert [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGWINCH, signal.SIGTSTP)] == handlers
        assert signal.set_wakeup_fd(-1) == -1


def test_keys_timeouts_and_waking():
    with pair() as (master, slave), Terminal(colour=False, keyboard=slave, output=slave) as terminal:
        assert terminal.key(0) == ""
        os.write(master, b"ab\x1b[A\x1b")
        assert [terminal.key(1) for _ in range(4)] == ["a", "b", "up", "esc"]
        os.write(master, b"\x1b")
        keys = [terminal.key(0.02) for _ in range(20)]  # asked at shorter intervals than an escape needs
        assert [key for key in keys if key] == ["esc"]
        threading.Timer(0.05, terminal.wake).start()
        assert terminal.key(10) == "wake"
        assert terminal.key(0) == ""
    terminal.wake()  # a thread that is late does no harm


def test_pending_input_is_forgotten():
    with pair() as (master, slave), Terminal(colour=False, keyboard=slave, output=slave) as terminal:
        os.write(master, b"aaa")
        assert terminal.key(1) == "a"
        os.write(master, b"bbb")
        terminal.discard_pending()
        assert terminal.key(0.05) == ""
        os.write(master, b"c")
        assert terminal.key(1) == "c"


def test_resize_is_noticed_and_everything_drawn_anew():
    with pair() as (master, slave), Terminal(colour=False, keyboard=slave, output=slave) as terminal:
        terminal.draw([(StyledText("word"),)])
        written(master)
        termios.tcsetwinsize(slave, (3, 7))
        assert terminal.key(1) == "resize"
        assert terminal.size == Size(7, 3)
        terminal.draw([(StyledText("word"),)])
        data = written(master)
        assert b"\x1b[2J" in data
        assert b"word" in data
        assert terminal.key(0) == ""


def test_unknown_size_is_the_usual_one():
    with pair(0, 0) as (_, slave):
        assert Terminal(colour=False, keyboard=slave, output=slave).size == Size(80, 24)


def test_a_terminal_that_is_gone_raises_nothing():
    with pair() as (master, slave), Terminal(colour=False, keyboard=slave, output=slave) as terminal:
        os.close(master)
        terminal.draw([(StyledText("x"),)])
        assert [terminal.key(1), terminal.key()] == ["eof", "eof"]
        terminal.draw([(StyledText("y"),)])


def test_output_that_is_stuck_does_not_hold_a_process_that_is_to_end():
    with pair(200, 60) as (_, slave), Terminal(colour=False, keyboard=slave, output=slave) as terminal:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
        for number in range(20):  # nobody reads: the first ones fill it
            terminal.draw([(StyledText(str(number) * 200),)] * 60)
            if terminal.key(0) == "stop":
                break
        assert terminal.key(0) == "stop"


def test_keys_reach_a_real_program(tmp_path: Path):
    with program(tmp_path, columns=30, rows=6) as screen:
        screen.wait("ready")
        screen.press("é", "up")
        screen.paste("稟\r議")
        screen.wait("ready é up paste:稟.議")
        assert screen.lines[-1] == "last"
        assert screen.colours("xxx") == {"red"}
        screen.press("q")
        assert screen.exit_code == 0
        assert screen.raw.endswith(LEFT)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 7), (signal.SIGHUP, 7), (signal.SIGINT, 7), (signal.SIGUSR1, 138)]
)
def test_a_signal_to_end(tmp_path: Path, number: signal.Signals, code: int):
    with program(tmp_path) as screen:
        screen.wait("ready")
        assert not cooked(screen.child.child_fd)
        screen.child.kill(number)
        assert screen.exit_code == code
        if code == 7:
            assert screen.raw.endswith(LEFT)
            assert cooked(screen.child.child_fd)


def test_an_exception_leaves_the_persons_own_screen(tmp_path: Path):
    with program(tmp_path) as screen:
        screen.wait("ready")
        screen.press("!")
        assert screen.exit_code == 1
        assert screen.raw.index(LEFT) < screen.raw.index(b"ValueError: oh")
        assert cooked(screen.child.child_fd)


def test_a_closed_window_ends_the_program(tmp_path: Path):
    with program(tmp_path) as screen:
        screen.wait("ready")
        os.close(screen.child.child_fd)
        screen.child.closed = True
        until = time.monotonic() + 60
        while screen.child.isalive() and time.monotonic() < until:
            time.sleep(0.02)
        assert not screen.child.isalive()
        assert screen.child.exitstatus in {7, 8}


@pytest.mark.parametrize("size", [(20, 5), (1, 1), (200, 50)])
def test_resized_while_it_runs(tmp_path: Path, size: tuple[int, int]):
    with program(tmp_path) as screen:
        screen.wait("ready")
        screen.resize(*size)
        screen.settle()
        first = f"{size[0]}x{size[1]}"
        assert screen.lines[0] == first[: size[0]]
        assert len(screen.lines) == size[1]
        screen.press("q")
        assert screen.exit_code == 0


def test_another_program_gets_the_persons_own_terminal(tmp_path: Path):
    with program(tmp_path, "echo editing; read word; test -t 0 && stty -a | grep -o ' icanon'") as screen:
        screen.wait("ready")
        screen.press("e")
        screen.wait("editing")
        screen.type("stop\n")
        screen.wait("ready e$")
        assert b" icanon" in screen.raw
        assert screen.raw.count(ENTERED) == 2
        assert "editing" not in screen.text
        screen.press("q")
        assert screen.exit_code == 0


@pytest.mark.parametrize("how", ["key", "signal"])
def test_stopped_as_a_job_and_continued(tmp_path: Path, how: str):
    script = 'set -m; "$0" -c "$1"; echo "in the shell"; read x; fg >/dev/null; exit $?'
    with Screen(["bash", "-c", script, sys.executable, PROGRAM], cwd=tmp_path) as screen:
        screen.wait("ready")
        if how == "key":
            screen.press("ctrl-z")
        else:
            os.killpg(os.tcgetpgrp(screen.child.child_fd), signal.SIGTSTP)
        screen.wait("in the shell")
        assert screen.raw.rindex(LEFT) > screen.raw.rindex(ENTERED)
        assert cooked(screen.child.child_fd)
        screen.type("\n")
        screen.wait(r"ready (ctrl-z|resize)")
        assert "in the shell" not in screen.text
        screen.press("q")
        assert screen.exit_code == 0


def test_without_a_waiting_shell_ctrl_z_continues(tmp_path: Path):
    with program(tmp_path) as screen:
        screen.wait("ready")
        screen.press("ctrl-z", "a", "q")
        assert screen.exit_code == 0
