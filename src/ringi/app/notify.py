"""Notifies a person that something waits for them. Failure is not an error, and we do not wait."""

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from ringi.kernel.process.environment import find_program
from ringi.kernel.text import Text, visible

_BELL: Final = b"\a"
_TITLE: Final = "ringi"
_LONGEST: Final = 500
_WAIT_SEC: Final = 1.0
_END_SEC: Final = 0.2
# The words are arguments of the script, never part of it.
_SCRIPT: Final = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)


def notify(how: str, words: Text | str, *, environment: Mapping[str, str], output: int | None) -> None:
    """As `notify.how` says: desktop, bell or off. Rings the bell if the desktop cannot show it."""
    if how == "desktop" and _on_desktop(visible(str(words), keep="")[:_LONGEST], environment):
        return
    if how in {"desktop", "bell"}:
        _ring(output)


def _on_desktop(words: str, environment: Mapping[str, str]) -> bool:
    names = ("notify-send", "osascript")
    for name in names if sys.platform != "darwin" else names[::-1]:
        if program := find_program(name, environment):
            argv = _send(program, words) if name == "notify-send" else _script(program, words)
            return _ran(argv, environment)
    return False


def _send(program: str, words: str) -> list[str]:
    # The body may contain markup and escapes there, so escape them.
    plain = words.replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return [program, f"--app-name={_TITLE}", "--", _TITLE, plain]


def _script(program: str, words: str) -> list[str]:
    lines = [word for line in _SCRIPT for word in ("-e", line)]
    return [program, *lines, _TITLE, words]


def _ran(argv: Sequence[str], environment: Mapping[str, str]) -> bool:
    try:
        started = subprocess.Popen(
            argv,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return False
    try:
        return started.wait(_WAIT_SEC) == 0
    except subprocess.TimeoutExpired:
        started.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(_END_SEC)
        return False


def _ring(output: int | None) -> None:
    if output is not None and os.isatty(output):
        _write(output)
        return
    try:
        terminal = os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        _write(terminal)
    finally:
        os.close(terminal)


def _write(terminal: int) -> None:
    """Only if the terminal is ready: a stopped one would block us."""
    with contextlib.suppress(OSError):
        poll = select.poll()
        poll.register(terminal, select.POLLOUT)
        if any(event & select.POLLOUT for _, event in poll.poll(0)):
            os.write(terminal, _BELL)
