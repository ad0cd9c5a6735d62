"""What a thread in the editor shows of a plan: its diffs, and our words, which no markup can change."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ringi.acp.paths import ProjectPaths
from ringi.beside.turns import changes_of
from ringi.kernel.lines import Line
from ringi.kernel.text import Text, show_value, translate, visible
from ringi.plans.document import PlanRef
from ringi.plans.effects import difference

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

MOST_FILES: Final = 50
MOST_BYTES: Final = 1_000_000
MOST_LINES: Final = 200
"""Of a diff as text."""
_WITHOUT_CONTENT: Final = frozenset(["CodeCompanion.nvim"])
"""Editors that show of a tool call only its name, by the name they greet with."""
_TICKS: Final = re.compile("`+")
_MARKUP: Final = re.compile(r"[\\`*_\[\]<>!#|~&]")


class ThreadPrinter:
    """Collects lines for one message, without styles."""

    def __init__(self) -> None:
        self.rows: list[str] = []

    def line(self, text: Text | str = "", *, style: str = "", indent: int = 0) -> None:
        del style
        self.rows.append(" " * indent + (translate(text) if isinstance(text, Text) else text))

    def show(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self.line("".join(show_value(span.text) for span in line.spans), indent=line.indent)

    def next_step(self, command: str) -> None:
        self.line(f"→ {visible(command)}", indent=2)

    @property
    def message(self) -> str:
        return fence_text("\n".join(self.rows))


def shows_content(client: object) -> bool:
    """Whether an editor shows what is in a tool call, so also diffs."""
    return not isinstance(client, dict) or client.get("name") not in _WITHOUT_CONTENT


def fence_text(text: str, language: str = "text") -> str:
    """As a block of plain text: editors render messages as Markdown, and words of others are in it."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"\n{fence}{language}\n{text}\n{fence}\n"


def plain_title(text: str) -> str:
    """Editors render titles as Markdown as well."""
    clean = visible(" ".join(text.split()))
    return f"`{clean.replace('`', chr(39))}`" if _MARKUP.search(clean) else clean


class ShownPlan(NamedTuple):
    """A plan as a tool call shows it."""

    title: str
    content: list[dict[str, Any]]
    unshown: int
    """Files that are too many, too large or not text."""
    diff: str
    """The content as text, if asked for."""


def render_plan(workspace: Workspace, plan: PlanRef, paths: ProjectPaths, *, as_text: bool) -> ShownPlan:
    blocks: list[dict[str, Any]] = []
    diffs: list[bytes] = []
    unshown, room = 0, MOST_BYTES
    for effect in changes_of(workspace, plan.id):
        old, new = _text(effect.old), _text(effect.new)
        size = len(effect.old or b"") + len(effect.new or b"")
        if old is None or new is None or size > room or len(blocks) >= MOST_FILES:
            unshown += 1
            continue
        room -= size
        # avante.nvim would leave out a new file without an old text.
        path = paths.at_project(effect.path)
        blocks.append({"type": "diff", "path": path, "oldText": old, "newText": new})
        if as_text:
            diffs.append(difference(effect.path, effect.old, effect.before, effect.new, effect.after).diff)
    text = _diff_text(b"".join(diffs), plan) if diffs else ""
    return ShownPlan(plain_title(f"{plan.name} {plan.title}"), blocks, unshown, text)


def _diff_text(diff: bytes, plan: PlanRef) -> str:
    lines = diff.decode("utf-8", "backslashreplace").removesuffix("\n").split("\n")
    rows = [visible(line) for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        count = len(lines) - MOST_LINES
        rest = Text(
            "… 1 line more: ringi show {name} --diff",
            "… {count} lines more: ringi show {name} --diff",
            count=count,
            name=plan.name,
        )
        rows.append(translate(rest))
    return fence_text("\n".join(rows), "diff")


def _text(data: bytes | None) -> str | None:
    """None if it is not text."""
    try:
        return None if data and b"\0" in data else (data or b"").decode()
    except UnicodeDecodeError:
        return None
