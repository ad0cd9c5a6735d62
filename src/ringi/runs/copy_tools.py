"""What a model can do in a copy: list, read, search, write, patch and run (PP-15).

Never in the checkout. Commands run in the sandbox, without gh and without secrets. What is wrong is a
result that tells the model what to do next, in English as all of its prompt.
"""

import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ringi.agents.sandbox import AgentSandbox, enclose
from ringi.agents.state import SandboxContext
from ringi.engine.plan_checks import dangers
from ringi.engine.process import LIST, PATCH, READ, RUN, SEARCH, WRITE
from ringi.errors import (
    BadPatch,
    CopyFailed,
    Interrupted,
    NoSandbox,
    NoSuchProgram,
    PatchMismatch,
    PathRefused,
    RingiError,
    StorageFailed,
)
from ringi.kernel.process.capture import CommandResult, last
from ringi.kernel.process.program import in_copy
from ringi.kernel.text import Text, visible, without_codes
from ringi.models.prompt import NewChange, NewFile
from ringi.patch.lenient_parse import find_intended_lines
from ringi.policy.gh import runs_gh
from ringi.policy.masking import masks_in, without_secrets
from ringi.runs.copy_files import (
    HIDDEN,
    LARGEST,
    LONGEST_NAME,
    CopyFiles,
    display_name,
    failure,
    fit_lines,
    lines_of,
)
from ringi.runs.role_command import without_gh
from ringi.runs.role_model import files_of, put_files
from ringi.tools.effects import ErrorKind, ToolEffect
from ringi.tools.ports_process import ToolInfo, ToolResult
from ringi.tree.commands import Invocation
from ringi.tree.copy import WorkCopy
from ringi.tree.copy_run import CopyRun
from ringi.tree.paths import normalise
from ringi.tree.tree import repositories

_E = ErrorKind
_KEPT_OUTPUT: Final = 65_536


class CopyCommands(NamedTuple):
    workspace: SandboxContext
    environment: Mapping[str, str]
    mask: Callable[[str], str]
    sandbox: AgentSandbox
    log: Callable[[bytes], None] = lambda _: None
    """Gets what commands print."""

    @property
    def runs(self) -> bool:
        """A command could print any file of the copy and its history."""
        return self.sandbox.bwrap is not None and not self.workspace.config.context.never_send


def refuse_command(argv: Sequence[str]) -> tuple[ErrorKind, str] | None:
    """Why it is not even tried. The sandbox confines the rest."""
    if not argv or not argv[0].strip():
        return _E.INVALID_ARGUMENTS, "argv must begin with the name of a program."
    line = shlex.join(argv)
    if "\0" in line or not _is_utf8(line):
        return _E.INVALID_ARGUMENTS, "argv has characters that no program can be given."
    if runs_gh(line):
        return _E.NOT_ALLOWED, "gh is never run. Leave what it does to the person."
    if found := dangers(" ".join(argv)):
        return _E.NOT_ALLOWED, f"The command is refused: {', '.join(found)}. Do without it."
    return None


def _is_utf8(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def run_in_copy(
    copy: WorkCopy, commands: CopyCommands, argv: Sequence[str], timeout_sec: float
) -> CommandResult:
    """Raises NoSuchProgram, StorageFailed, Interrupted."""
    workspace = commands.workspace
    without = without_gh(workspace, copy, without_secrets(commands.environment))

    def enclosing(invocation: Invocation) -> Invocation:
        return enclose(
            workspace, copy, commands.sandbox, invocation,
            visible=[without.visible], terminal=False, covered=without.covered,
        )  # fmt: skip

    return CopyRun(copy, without.environment, enclosing=enclosing).run(
        in_copy(argv, copy.folder_of_commands, workspace.places.root / copy.record.start),
        timeout_sec=timeout_sec,
        output=last(_KEPT_OUTPUT),
        on_output=commands.log,
    )


_MOST_LISTED: Final = 400
_MOST_LINES: Final = 800
_MOST_BYTES: Final = 32_768
_MOST_FOUND: Final = 100
_MOST_FILES_FOUND: Final = 30
_LONGEST_LINE: Final = 300
_MOST_PRINTED: Final = 16_384
_AROUND: Final = 3
_MOST_SHOWN: Final = 30
_LONGEST_PATH: Final = 1_000
_GONE: Final = "A command deleted the files of the copy. Nothing can be done in it any more."
_LINES: Final = re.compile(r"(.+):(\d{1,9})(?:-(\d{1,9}))?")


def _schema(required: Sequence[str], **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


_STRING: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer"}
_R, _C = ToolEffect.READS, ToolEffect.COPY
_INFOS: Final = (
    ToolInfo(
        LIST, "Files below path, or those that glob matches.", _schema([], path=_STRING, glob=_STRING), _R
    ),
    ToolInfo(
        READ, "A file, or its lines first to last, counted from 1; also as path:first-last.",
        _schema(["path"], path=_STRING, first=_NUMBER, last=_NUMBER), _R,
    ),
    ToolInfo(
        SEARCH, "Lines that contain query as it is, no pattern; case matters only if it has capitals.",
        _schema(["query"], query=_STRING, path=_STRING, glob=_STRING), _R,
    ),
    ToolInfo(
        WRITE, "A new file, or another whole content of one.",
        _schema(["path", "content"], path=_STRING, content=_STRING), _C, parallel=False,
    ),
    ToolInfo(
        PATCH, "Changes files by a unified diff; context and removed lines word for word as read.",
        _schema(["diff"], diff=_STRING), _C, parallel=False,
    ),
    ToolInfo(
        RUN, "Runs a program, argv[0], without a shell; the end of its output and its exit code.",
        _schema(["argv"], argv={"type": "array", "items": _STRING}), _C, parallel=False,
    ),
)  # fmt: skip


class CopyTools:
    """Implements `Tools`. Arguments have been checked against the schemas."""

    def __init__(self, copy: WorkCopy, commands: CopyCommands) -> None:
        self._copy = copy
        self._commands = commands
        self._files = CopyFiles(copy, commands.workspace.config.context.never_send)
        self._calls: Mapping[str, Callable[[Mapping[str, Any], float], ToolResult]] = {
            LIST: self._list,
            READ: self._read,
            SEARCH: self._search,
            WRITE: self._write,
            PATCH: self._patch,
            RUN: self._run,
        }

    def list_tools(self) -> Sequence[ToolInfo]:
        return [info for info in _INFOS if info.name != RUN or self._commands.runs]

    def call(self, name: str, arguments: Mapping[str, Any], timeout_sec: float) -> ToolResult:
        if name not in self._calls or (name == RUN and not self._commands.runs):
            return failure(_E.UNKNOWN_TOOL, f"There is no tool {display_name(name)}.")
        if self._copy.is_gone:
            return failure(_E.SIDE_EFFECT, _GONE)
        try:
            return self._calls[name](arguments, timeout_sec)
        except Interrupted:
            raise
        except RingiError as error:
            return _of_error(error)
        except OSError as error:
            return failure(_E.TOOL_ERROR, f"{error.strerror or error}.")

    # ------------------------------------------------------------------ reading

    def _list(self, arguments: Mapping[str, Any], _: float) -> ToolResult:
        found = self._files.below(*_path_and_glob(arguments))
        if isinstance(found, ToolResult):
            return found
        path, files = found
        if not files:
            return ToolResult("no file")
        if len(files) <= _MOST_LISTED:
            return ToolResult("\n".join(map(display_name, files)))
        names = list(_one_level(path, files))
        more = f"\n… {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
        told = f"{len(files)} files; use path or glob to see fewer:\n"
        return ToolResult(told + "\n".join(names[:_MOST_LISTED]) + more, cut=True)

    def _part(self, arguments: Mapping[str, Any]) -> tuple[str, int, int | None]:
        path, first, end = str(arguments["path"]), arguments.get("first"), arguments.get("last")
        if (found := _LINES.fullmatch(path)) and path not in self._files.names():
            path, first, end = found[1], int(found[2]), int(found[3] or found[2])
        whole = None if end is None else int(end)
        return "/".join(normalise(path)), 1 if first is None else int(first), whole

    def _read(self, arguments: Mapping[str, Any], _: float) -> ToolResult:
        path, first, end = self._part(arguments)
        if any(one.startswith(f"{path}/") for one in self._files.names()):
            return failure(_E.INVALID_ARGUMENTS, f"{display_name(path)} is a folder. Use list.")
        text = self._files.text(path)
        if isinstance(text, ToolResult):
            return text
        lines = lines_of(self._commands.mask(text))
        if not lines:
            return ToolResult(f"{display_name(path)} is empty.")
        end = len(lines) if end is None else end
        if not 1 <= first <= min(end, len(lines)):
            why = f"{display_name(path)} has {len(lines)} lines. Choose first and last among them."
            return failure(_E.INVALID_ARGUMENTS, why)
        wanted = lines[first - 1 : end]
        shown = fit_lines(wanted[:_MOST_LINES], _MOST_BYTES)
        told = f"{display_name(path)}, lines {first} to {first + len(shown) - 1} of {len(lines)}:\n"
        if not shown:  # one line is longer than all that may be shown
            shown = [wanted[0].encode()[:_MOST_BYTES].decode("utf-8", "ignore")]
            told = f"{display_name(path)}, the beginning of line {first} of {len(lines)}:\n"
        return ToolResult(told + "".join(shown), cut=len(shown) < len(wanted) or shown[0] != wanted[0])

    def _search(self, arguments: Mapping[str, Any], timeout_sec: float) -> ToolResult:
        text, until = str(arguments["query"]), time.monotonic() + timeout_sec
        if not text.strip() or "\n" in text or len(text) > LONGEST_NAME:
            why = f"query must be a part of one line, with at most {LONGEST_NAME} characters."
            return failure(_E.INVALID_ARGUMENTS, why)
        below = self._files.below(*_path_and_glob(arguments))
        if isinstance(below, ToolResult):
            return below
        fold = str.lower if text == text.lower() else str
        found: list[str] = []
        hits, cut = 0, ""
        for number, path in enumerate(below[1]):
            if time.monotonic() > until:
                return ToolResult(
                    "\n".join(found), _E.TIMEOUT,
                    f"Only {number} of {len(below[1])} files were searched in time. Use path or glob.",
                    cut=True, partial=bool(found),
                )  # fmt: skip
            if hits >= _MOST_FILES_FOUND or len(found) >= _MOST_FOUND:
                cut = "\n… there may be more: use path, glob or a longer query"
                break
            here = list(self._hits(path, text, fold))
            found += here
            hits += bool(here)
        if not found:
            return ToolResult(f"no line contains {display_name(text)}")
        return ToolResult("\n".join(found[:_MOST_FOUND]) + cut, cut=bool(cut) or len(found) > _MOST_FOUND)

    def _hits(self, path: str, text: str, fold: Callable[[str], str]) -> Iterator[str]:
        try:
            whole = self._files.text(path)
        except (RingiError, OSError):  # a link, or it cannot be read
            return
        if isinstance(whole, ToolResult) or text not in fold(whole):
            return
        # A line alone does not show that it is a part of a secret.
        for number, line in enumerate(lines_of(self._commands.mask(whole)), 1):
            if text in fold(line):
                yield f"{display_name(path)}:{number}: {line.rstrip()[:_LONGEST_LINE]}"

    # ------------------------------------------------------------------ writing

    def _write(self, arguments: Mapping[str, Any], _: float) -> ToolResult:
        path, content = "/".join(normalise(str(arguments["path"]))), str(arguments["content"])
        return self._change(NewChange(files=(NewFile(path, content),)))

    def _patch(self, arguments: Mapping[str, Any], _: float) -> ToolResult:
        patch = str(arguments["diff"])
        try:
            return self._change(NewChange(patch=patch))
        except PatchMismatch as error:
            result = _of_error(error)
            return result._replace(message=result.message + self._there(error, patch))

    def _change(self, change: NewChange) -> ToolResult:
        if why := _unfit(change):
            return failure(_E.INVALID_ARGUMENTS, why)
        before = self._files.current_tree()
        files = files_of(change, self._files.tree)
        if problem := self._check_files(files):
            return problem
        try:
            put_files(self._files.tree, files)
        except StorageFailed as error:  # a part of it may be there
            changed = self._files.changes_since(before)
            return _of_error(error)._replace(
                changed=changed, tree=self._files.current_tree(), partial=bool(changed)
            )
        changed = self._files.changes_since(before)
        names = ", ".join(map(display_name, files))
        if not changed:
            told = f"Nothing changed: {names} already had this content, or git ignores it."
        else:
            left = [display_name(path) for path in files if path not in changed]
            ignored = f" No part of the change, because git ignores it: {', '.join(left)}." if left else ""
            told = f"Changed {', '.join(map(display_name, changed))}.{ignored}"
        return ToolResult(told, changed=changed, tree=self._files.current_tree())

    def _check_files(self, files: Mapping[str, tuple[bytes, int] | None]) -> ToolResult | None:
        for path, content in files.items():
            if len(path) > _LONGEST_PATH:
                return failure(_E.INVALID_ARGUMENTS, f"A path may have {_LONGEST_PATH} characters.")
            there = self._files.tree.look(path)
            if there is not None and not self._files.may_show(path):
                why = f"No model changes {display_name(path)}: {HIDDEN}. Leave it to the person."
                return failure(_E.NOT_ALLOWED, why)
            if content is None:
                continue
            old = there.data.decode("utf-8", "replace") if there else ""
            if masks_in(content[0].decode("utf-8", "replace")) > masks_in(old):
                why = f"{display_name(path)} has a secret that you see masked; the mark would take its place."
                return failure(_E.INVALID_ARGUMENTS, f"{why} Patch other lines only.")
        if found := repositories(self._files.tree, [path for path, content in files.items() if content]):
            why = f"Git would take {display_name(found[0])} for a repository. Use another folder."
            return failure(_E.NOT_ALLOWED, why)
        return None

    def _there(self, error: PatchMismatch, patch: str) -> str:
        """What the file has where a hunk should fit."""
        path = str(error.details["path"])
        try:
            text = self._files.text(path)
        except (RingiError, OSError):
            return ""
        if isinstance(text, ToolResult):
            return ""
        lines = lines_of(self._commands.mask(text))
        if (
            meant := find_intended_lines(error, patch.encode(), [line.rstrip("\r\n") for line in lines])
        ) is None:
            return ""
        first = max(0, meant.start - _AROUND)
        end = min(len(lines), first + _MOST_SHOWN, meant.stop + _AROUND)
        shown = "".join(fit_lines(lines[first:end], _MOST_BYTES))
        return f" {display_name(path)} has in lines {first + 1} to {end}:\n{shown}" if shown else ""

    # ------------------------------------------------------------------ commands

    def _run(self, arguments: Mapping[str, Any], timeout_sec: float) -> ToolResult:
        argv = tuple(map(str, arguments["argv"]))
        if problem := refuse_command(argv):
            return failure(*problem)
        if timeout_sec <= 0:
            return failure(_E.TIMEOUT, "There is no time left to run anything.")
        before = self._files.current_tree()
        try:
            ran = run_in_copy(self._copy, self._commands, argv, timeout_sec)
        except NoSuchProgram as error:
            return failure(_E.NOT_FOUND, f"{_describe_error(error)} Run another one.")
        if self._copy.is_gone:
            return failure(_E.SIDE_EFFECT, _GONE)
        changed = self._files.changes_since(before)
        # Masked before it is cut: a half of a secret is not recognised.
        lines = lines_of(self._commands.mask(visible(without_codes(ran.text), keep="\t\n")))
        kept = fit_lines(lines[::-1], _MOST_PRINTED)[::-1] or [line[-_MOST_PRINTED:] for line in lines[-1:]]
        text, cut = "".join(kept), ran.cut or kept != lines
        result = ToolResult(
            f"exit code {ran.exit_code}\n{text}", None, "", cut, changed, self._files.current_tree()
        )
        if ran.timed_out:
            why = f"It did not end within {timeout_sec:g} s and was stopped. Run a smaller part."
            return result._replace(error=_E.TIMEOUT, message=why)
        if ran.exit_code:
            why = f"It ended with exit code {ran.exit_code}. Its output says why."
            return result._replace(error=_E.COMMAND_FAILED, message=why)
        return result


def _unfit(change: NewChange) -> str:
    """Why no file can be made of it."""
    text = change.patch + "".join(file.path + file.content for file in change.files)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return "The content has characters that no UTF-8 file can have. Leave them out."
    if len(data) > LARGEST:
        return f"The content has {len(data)} bytes; at most {LARGEST} can be written. Make several files."
    if not change.files and not data.strip():
        return "The patch is empty. Send a unified diff, or write the whole file."
    if b"\0" in data:
        return "The content has a NUL character, which no text has. Leave it out."
    return ""


def _path_and_glob(arguments: Mapping[str, Any]) -> tuple[str, str]:
    return str(arguments.get("path") or ""), str(arguments.get("glob") or "")


def _one_level(path: str, files: Sequence[str]) -> Iterator[str]:
    """The files in a folder, and its folders with the number of files in them."""
    start, counts = len(path) + 1 if path else 0, dict[str, int]()
    for one in files:
        name, slash, _ = one[start:].partition("/")
        counts[name + slash] = counts.get(name + slash, 0) + 1
    for name, count in counts.items():
        whole = display_name(f"{path}/{name}" if path else name)
        yield f"{whole} ({count} files)" if name.endswith("/") else whole


def _of_error(error: RingiError) -> ToolResult:
    match error:
        case PathRefused() | NoSandbox():
            kind = _E.NOT_ALLOWED
        case PatchMismatch():
            kind = _E.MISMATCH
        case BadPatch():
            kind = _E.INVALID_ARGUMENTS
        case CopyFailed():
            kind = _E.SIDE_EFFECT
        case _:
            kind = _E.TOOL_ERROR
    return failure(kind, _describe_error(error))


def _describe_error(error: RingiError) -> str:
    what = str(Text(error.message, **error.details))
    then = f" {Text(error.hint, **error.details)}" if error.hint else ""
    return visible(what + ("" if what.endswith(".") else ".") + then, keep="\t\n")
