"""Records the journey of `make try` in a real terminal and draws it: an animated SVG for the README.

A shell runs in a pseudo-terminal, the keys are pressed as a person would, and what stands on the screen is
drawn. Nothing in the picture is made up; `make picture` draws it anew.
"""

import argparse
import copy
import html
import importlib.util
import os
import pty
import re
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from fcntl import ioctl
from itertools import groupby
from pathlib import Path
from termios import TIOCSWINSZ
from typing import NamedTuple

import pyte

HERE = Path(__file__).resolve().parent
COLUMNS, ROWS = 92, 26
CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.4, 18, 16
LONGEST_SEC = 60
QUIET_SEC = 0.35
"""So long nothing may change before a screen counts as finished."""
COLOURS = {
    "default": "#d8dee9", "black": "#3b4252", "red": "#e5707a", "green": "#93c47d", "brown": "#e0b860",
    "blue": "#7aa2d6", "magenta": "#c39ac9", "cyan": "#7fc1c9", "white": "#eceff4",
    "brightblack": "#7b869c",
}  # fmt: skip
BACKGROUND = "#1f2430"
WORDS = (
    "ringi in a terminal: an agent works in a copy, a person drops a file and two lines of its change,"
    " applies the rest, verifies it and takes it back"
)


class Press(NamedTuple):
    wait: str
    """What has to stand on the screen before."""
    keys: str
    hold: float = 1.2
    """So long the picture stays at what the keys brought."""


Row = tuple[tuple[str, str], ...]
"""Pieces: a text, and its style as CSS classes."""


class Frame(NamedTuple):
    rows: tuple[Row, ...]
    hold: float


JOURNEY = (
    Press(r"\$ $", "ringi with --check 'python3 -m unittest -q' demo-agent\n", 2.4),
    Press(r"ringi review p1\s+\$ $", "clear; ringi\n", 2.6),
    Press(r"ringi review\s+\$ $", "clear; ringi review\n", 2.6),
    Press(r"\[a\]pply", "d", 2.6),
    Press(r"dropped.*tests: exit code 0", "nj", 0.8),
    Press(r"\[a\]pply", "x", 2.6),
    Press(r"line edited.*tests: exit code 0", "ppjj", 0.8),
    Press(r"\[a\]pply", "x", 2.6),
    Press(r"line edited.*tests: exit code 0", "a", 2.6),
    Press(r"written.*\$ $", "clear; ringi verify\n", 2.2),
    Press(r"typed.*\$ $", "ringi undo\n", 2.0),
    Press(r"Go\? \[y/n\]", "y\n", 3.0),
)


class Recorder:
    def __init__(self, project: Path, environment: Mapping[str, str]) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.ByteStream(self.screen)
        self._before: tuple[object, int, int] | None = None
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(project)
            os.execve("/bin/sh", ["sh"], dict(environment))
        ioctl(self.terminal, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def feed(self, data: bytes) -> None:
        """The screen that a full-screen program takes and gives back, which pyte does not know."""
        for piece in re.split(rb"(\x1b\[\?1049[hl])", data):
            if piece == b"\x1b[?1049h":
                cursor = self.screen.cursor
                self._before = copy.deepcopy(self.screen.buffer), cursor.x, cursor.y
            elif piece == b"\x1b[?1049l" and self._before is not None:
                self.screen.buffer, self.screen.cursor.x, self.screen.cursor.y = self._before
            else:
                self.stream.feed(piece)

    def settle(self) -> None:
        """Until nothing changes any more."""
        end = time.monotonic() + LONGEST_SEC
        while time.monotonic() < end and select.select([self.terminal], [], [], QUIET_SEC)[0]:
            try:
                self.feed(os.read(self.terminal, 65536))
            except OSError:
                return

    def wait(self, pattern: str) -> None:
        end = time.monotonic() + LONGEST_SEC
        while not re.search(pattern, self.text(), re.DOTALL):
            if time.monotonic() > end:
                raise SystemExit(f"{pattern} never stood on the screen:\n{self.text()}")
            self.settle()

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip("\n") + (
            " " if self.screen.cursor.x and not self.screen.display[self.screen.cursor.y].strip("$ ") else ""
        )

    def press(self, keys: str) -> Iterator[Frame]:
        """Typed letter by letter where it is a command, so that it can be read."""
        for key in keys:
            os.write(self.terminal, key.encode())
            if len(keys) > 1 and key != "\n":
                self.settle_briefly()
                yield self.frame(0.05)

    def settle_briefly(self) -> None:
        while select.select([self.terminal], [], [], 0.03)[0]:
            self.feed(os.read(self.terminal, 65536))

    def frame(self, hold: float) -> Frame:
        return Frame(tuple(self._row(number) for number in range(ROWS)), hold)

    def _row(self, number: int) -> Row:
        cells = [self.screen.buffer[number][column] for column in range(COLUMNS)]
        pieces = []
        for style, group in groupby(cells, key=style_of):
            pieces.append((_at_home("".join(cell.data for cell in group)), style))
        return tuple(pieces)

    def end(self) -> None:
        os.kill(self.child, signal.SIGHUP)
        os.close(self.terminal)
        os.waitpid(self.child, 0)


def _at_home(text: str) -> str:
    return re.sub(r"/var/tmp/tour-\w+/c", "~/.cache/ringi", text).ljust(len(text))


def style_of(cell: pyte.screens.Char) -> str:
    fore, back = (cell.bg, cell.fg) if cell.reverse else (cell.fg, cell.bg)
    if cell.reverse and back == "default":
        back, fore = "white", "black"
    words = [f"f-{fore}"] if fore != "default" else []
    words += [f"b-{back}"] if back != "default" else []
    return " ".join(words + (["bold"] if cell.bold else []))


def record() -> list[Frame]:
    tour = _tour()
    folder = Path(tempfile.mkdtemp(prefix="tour-", dir="/var/tmp"))
    try:
        project, environment = tour.make_project(folder)
        agent = folder / "bin" / "demo-agent"
        agent.parent.mkdir()
        agent.write_text(f"#!{sys.executable}\n{tour.AGENT}", encoding="utf-8")
        agent.chmod(0o755)
        programs = Path(sys.executable).parent
        recorder = Recorder(
            project,
            {
                **environment,
                # Short, so that the line that names it is not folded; drawn as what people have.
                "RINGI_CACHE_DIR": f"{folder}/c",
                "PATH": f"{agent.parent}:{programs}:{environment['PATH']}",
                "TERM": "xterm-256color",
                "PS1": "$ ",
                "LANG": "C.UTF-8",
                "LANGUAGE": "en",
            },
        )
        try:
            return list(_frames(recorder))
        finally:
            recorder.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _frames(recorder: Recorder) -> Iterator[Frame]:
    for number, press in enumerate(JOURNEY):
        recorder.wait(press.wait)
        if number:
            yield recorder.frame(JOURNEY[number - 1].hold)
        yield from recorder.press(press.keys)
        recorder.settle()
    recorder.wait(r"restored")
    recorder.settle()
    yield recorder.frame(JOURNEY[-1].hold)


def _tour() -> object:
    spec = importlib.util.spec_from_file_location("tour", HERE / "try.py")
    tour = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tour)
    return tour


def drawn(frames: list[Frame]) -> str:
    """One group for each different screen, made of rows that are drawn once; CSS shows them in turn."""
    screens = list(dict.fromkeys(frame.rows for frame in frames))
    total = sum(frame.hold for frame in frames)
    width, height = COLUMNS * CELL_WIDTH + 2 * MARGIN, ROWS * CELL_HEIGHT + 2 * MARGIN
    shown: dict[int, list[tuple[float, float]]] = {}
    at = 0.0
    for frame in frames:
        shown.setdefault(screens.index(frame.rows), []).append((at, at + frame.hold))
        at += frame.hold
    rows = [row for row in dict.fromkeys(row for screen in screens for row in screen) if _says(row)]
    names = {row: f"r{number}" for number, row in enumerate(rows)}
    styles = [_timing(number, shown[number], total) for number in range(len(screens))]
    defined = [f'<g id="{name}">{_text(row)}</g>' for row, name in names.items()]
    groups = [f'<g class="s s{number}">{_placed(screen, names)}</g>' for number, screen in enumerate(screens)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'xml:space="preserve" aria-label="{WORDS}">\n<style>{_palette()}{"".join(styles)}</style>\n'
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>\n'
        "<defs>\n" + "\n".join(defined) + "\n</defs>\n" + "\n".join(groups) + "\n</svg>\n"
    )


def _says(row: Row) -> bool:
    return any(text.strip() or style for text, style in row)


def _placed(screen: tuple[Row, ...], names: Mapping[Row, str]) -> str:
    return "".join(
        f'<use href="#{names[row]}" y="{MARGIN + (number + 1) * CELL_HEIGHT - 4}"/>'
        for number, row in enumerate(screen)
        if row in names
    )


def _timing(number: int, spans: list[tuple[float, float]], total: float) -> str:
    last = 100.0
    stops = ["0%{opacity:0}"]
    for begin, end in spans:
        stops.append(f"{begin / total * last:.3f}%{{opacity:1}}{end / total * last:.3f}%{{opacity:0}}")
    name = f"k{number}"
    rule = f".s{number}{{animation:{name} {total:.1f}s step-end infinite}}"
    return f"{rule}@keyframes {name}{{{''.join(stops)}}}"


def _palette() -> str:
    fore = "".join(f".f-{name}{{fill:{colour}}}" for name, colour in COLOURS.items())
    return (
        "text{font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;"
        f"fill:{COLOURS['default']}}}.bold{{font-weight:700}}.s{{opacity:0}}{fore}"
    )


def _text(row: Row) -> str:
    """On the line y = 0, from where it is put into place."""
    out = []
    column = 0
    for text, style in row:
        back = next((word[2:] for word in style.split() if word.startswith("b-")), "")
        x = MARGIN + column * CELL_WIDTH
        length = len(text) * CELL_WIDTH
        if back:
            out.append(
                f'<rect x="{x:.1f}" y="{4 - CELL_HEIGHT}" width="{length:.1f}" height="{CELL_HEIGHT}" '
                f'fill="{COLOURS.get(back, "#" + back)}"/>'
            )
        said = text.rstrip() or ""
        if said:
            size = len(said) * CELL_WIDTH
            out.append(f'<text x="{x:.1f}" textLength="{size:.1f}"{_fill(style)}>{html.escape(said)}</text>')
        column += len(text)
    return "".join(out)


def _fill(style: str) -> str:
    """A class for what the palette knows, the colour itself for the 256 others."""
    classes = [word for word in style.split() if not word.startswith("b-")]
    other = next((word[2:] for word in classes if word[2:] not in COLOURS and word.startswith("f-")), "")
    known = " ".join(word for word in classes if word[2:] in COLOURS or word == "bold")
    return (f' class="{known}"' if known else "") + (f' style="fill:#{other}"' if other else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "journey.svg")
    options = parser.parse_args()
    options.out.write_text(drawn(record()), encoding="utf-8")
    print(f"drawn: {options.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
