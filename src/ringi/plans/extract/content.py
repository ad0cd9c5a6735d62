"""Action specs from the fenced blocks of a plan's text (PT-14): files with a path, and diffs.

A block that cannot be placed is listed with its reason, never guessed. Prose proposes nothing.
"""

import re
from typing import Final

from ringi.errors import BadPatch
from ringi.kernel.text import Text
from ringi.patch.parse import parse_patch
from ringi.patch.patch import Patch, dump
from ringi.plans.effects import packed
from ringi.plans.extract.blocks import (
    Above,
    Aside,
    Fence,
    Info,
    blocks,
    is_fence,
    read_above,
    read_info,
)
from ringi.plans.extract.named_paths import has_extension, is_known
from ringi.plans.extraction import Extraction, Unplaced
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec

_SHOWN: Final = 200
_CONSOLES: Final = frozenset(["console", "shell-session", "shellsession"])
_SHELLS: Final = frozenset(["sh", "bash", "shell", "zsh", *_CONSOLES])
_DIFFS: Final = frozenset(["diff", "patch"])
_DIFF_FILES: Final = (".diff", ".patch")
_SCRIPTS: Final = (".sh", ".bash", ".zsh", ".envrc", ".profile", ".bashrc", ".zshrc")
# How models abbreviate what they do not want to repeat.
_SIGNS: Final = "#/*-<!{;%( \t\N{FULLWIDTH LEFT PARENTHESIS}"
_DOTS: Final = ("...", "…")
_SAME: Final = re.compile(
    r"\b(?:existing|rest|remaining|previous|other|unchanged|same|omitted)\b|既存|残り|省略|変更なし|同様",
    re.IGNORECASE,
).search
_AS_BEFORE: Final = re.compile(
    r"(?:the )?(?:rest|remaining)\b.*\b(?:unchanged|same)\b|(?:以下|以降)?(?:省略|中略)\W*$", re.IGNORECASE
).match


def extract(text: str) -> Extraction:
    """Linear in the text, whatever it contains."""
    found = _Extractor()
    if (at := _no_text(text)) is not None:
        found.leave(text.count("\n", 0, at) + 1, text[at : at + _SHOWN], Text("it holds what is not text"))
        return found.result()
    for block in blocks(text):
        match block:
            case Fence():
                found.take_fence(block)
            case Aside():
                found.take_aside(block)
    return found.result()


def _no_text(text: str) -> int | None:
    """The position of a lone surrogate, which no file can contain."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


class _Extractor:
    def __init__(self) -> None:
        self._specs: list[ActionSpec] = []
        self._unplaced: list[Unplaced] = []
        self._groups = 0

    def result(self) -> Extraction:
        return Extraction(tuple(self._specs), tuple(self._unplaced))

    def leave(self, line: int, text: str, why: Text) -> None:
        shown = text.strip()[:_SHOWN].encode("utf-8", "backslashreplace").decode()
        self._unplaced.append(Unplaced(line, shown[:_SHOWN], str(why)))

    def take_aside(self, aside: Aside) -> None:
        for number, line in enumerate(aside.lines, aside.line):
            plain = line.lstrip(" \t>").removeprefix("<!--").rstrip().removesuffix("-->").strip()
            if is_fence(plain):
                self.leave(number, line, aside.why)
                return

    def take_fence(self, fence: Fence) -> None:
        info = read_info(fence.info)
        above = read_above(fence.above)
        why = fence.why or info.why or self._take(fence, info, above)
        if why:
            self.leave(fence.line, fence.opening, why)

    def _take(self, fence: Fence, info: Info, above: Above) -> Text | None:
        """Returns the reason if it could not be taken."""
        path = info.path or above.path
        if path and path.endswith(_DIFF_FILES):
            return self._take_file(fence, path, above)
        if info.language in _DIFFS or (_is_diff(fence.lines) and not info.language and not info.path):
            return self._take_diff(fence, info.path)
        if _is_diff(fence.lines):
            return Text("it holds a diff and is not marked as one")
        if info.path:
            return self._take_file(fence, info.path, above)
        if info.language in _SHELLS and above.path and not _is_script(above.path, info.language):
            return Text("it may be commands or the file {path}", path=above.path)
        if above.why:
            return above.why
        if above.path:
            return self._take_file(fence, above.path, above)
        return Text("no path is named for it")

    def _take_file(self, fence: Fence, path: str, above: Above) -> Text | None:
        if any(map(_leaves_out, fence.lines)):
            return Text("it leaves out parts of {path}", path=path)
        belongs = above.path == path
        self._specs.append(
            ActionSpec(
                SpecKind.CREATE if above.creates and belongs else SpecKind.WRITE,
                path,
                "".join(f"{line}\n" for line in fence.lines),
                description=above.description[:_SHOWN] if belongs else "",
            )
        )
        return None

    def _take_diff(self, fence: Fence, path: str | None) -> Text | None:
        try:
            files = parse_patch("".join(f"{line}\n" for line in fence.lines).encode()).files
            paths = [file.path for file in files if file.path.encode()]
        except BadPatch as error:
            return Text("its diff cannot be read: {why}", why=error.details.get("why") or str(error))
        except UnicodeEncodeError:
            return Text("its diff names a file that is not UTF-8")
        if path and path not in paths:
            return Text("its fence names {path} and its diff does not", path=path)
        group = None
        if len(files) > 1:
            self._groups += 1
            group = f"diff{self._groups}"
        for file in files:
            content, encoding = packed(dump(Patch((file,))))
            self._specs.append(ActionSpec(SpecKind.PATCH, file.path, content, encoding=encoding, group=group))
        return None


def _is_script(path: str, language: str) -> bool:
    """Whether a shell block may be the file that the line above it names."""
    script = path.endswith(_SCRIPTS) or not (has_extension(path) or is_known(path))
    return script and language not in _CONSOLES


def _is_diff(lines: tuple[str, ...]) -> bool:
    first, second = (*lines[:2], "", "")[:2]
    return first.startswith("diff --git ") or (first.startswith("--- ") and second.startswith("+++ "))


def _leaves_out(line: str) -> bool:
    """Whether a comment, or dots alone, replaces omitted code."""
    said = line.lstrip(_SIGNS)
    if len(said) > _SHOWN or (len(said) == len(line.lstrip()) and not said.startswith(_DOTS)):
        return False
    if said.startswith(_DOTS):
        return _SAME(said) is not None
    begins = _SAME(said)
    ends = said.rstrip("*/->} )").endswith(_DOTS)
    return bool(begins and begins.start() == 0 and ends) or _AS_BEFORE(said) is not None
