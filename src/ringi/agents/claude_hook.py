"""Decides which edits Claude Code may make, before its tool runs. Refuses what is not known to be fine.

It stores and shows nothing of the edit's content. It imports only fast modules, because it runs every time.
"""

# Paths of another process stay plain strings, which also start fastest.
# ruff: noqa: PTH115, PTH116, PTH118, PTH120

import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from ringi.kernel.places import places_of, user_folder
from ringi.kernel.process.environment import WITH_VARIABLE
from ringi.kernel.text import Text

_FILE_EDITS: Final = frozenset(["Edit", "Write", "MultiEdit", "NotebookEdit"])
# Splits a tool's name into words at capitals and underscores.
_LOOKS_LIKE_EDIT: Final = re.compile(
    r"(?:edit|write|patch|replace|insert|create|update|delete|remove|rename|move|append|notebook|save|apply)",
    re.IGNORECASE,
)
# They only read files, or sound like edits but do not touch the project. An unknown tool is judged by the
# files it names.
_NO_FILES: Final = frozenset(
    [
        "Read", "Glob", "Grep", "LS", "LSP", "NotebookRead", "Bash", "BashOutput",
        "TodoWrite", "TaskCreate", "TaskUpdate", "CronCreate", "CronDelete", "TeamCreate",
    ]
)  # fmt: skip
_OWN_TOOLS: Final = "mcp__ringi__"
_PATH_KEYS: Final = frozenset(
    ["file_path", "notebook_path", "path", "filePath", "filename", "target_file", "source", "destination"]
)
# Below Claude Code's own folder (2.1.325). Nothing else there: it holds settings, hooks and instructions.
_NOTES: Final = re.compile(r"(?:plans|agent-memory|projects/[^/]+/memory)/.+\.md")
# A name there means a different file for every process.
_NO_PLACES: Final = ("/proc", "/dev", "/sys")
_MOST_LINKS: Final = 40
_LONGEST_PATH: Final = 4096
_SHOWN: Final = 200


class HookContext(NamedTuple):
    """Where this process runs: all paths absolute."""

    copy: str
    """The tree of the work copy; empty if the agent was not started in one."""
    temporary: tuple[str, ...]
    home: str
    own: tuple[str, ...]
    """Folders of ringi itself, never to be written by an agent."""
    state: str = ""
    """Claude Code's own folder, with its plans and memories."""


class Unfit(Exception):
    """The call cannot be judged."""

    def __init__(self, why: Text) -> None:
        super().__init__(str(why))
        self.why = why


def refusal(read: Callable[[], bytes], environment: Mapping[str, str]) -> Text | None:
    """Why the edit is refused, and what to do instead; None if it is allowed. `read` returns the input."""
    places = surroundings(environment)
    try:
        path = judge(read(), places, str(Path.cwd()))
    except Unfit as unfit:
        return Text("ringi cannot judge this edit, so it is refused: {why}", why=unfit.why)
    except OSError as error:
        return Text("ringi cannot judge this edit, so it is refused: {why}", why=error.strerror)
    return None if path is None else _refusal_of(path, places.copy)


def _refusal_of(path: str, copy: str) -> Text:
    shown = path if len(path) <= _SHOWN else path[:_SHOWN] + "…"
    if copy:
        return Text(
            "{path} is outside your work copy, so this edit is refused. Edit the same file below {copy}",
            path=shown,
            copy=copy,
        )
    return Text(
        "{path} is not in a work copy of ringi, so this edit is refused. Propose the change instead: call the"
        " MCP tool plan_propose, and a person decides. Or ask the person to start you in a copy, with:"
        " ringi with claude",
        path=shown,
    )


def surroundings(environment: Mapping[str, str]) -> HookContext:
    # Any root will do: only the paths common to all workspaces are used.
    some = places_of(Path("/"), environment)
    home, temporary = environment.get("HOME", ""), environment.get("TMPDIR", "")
    own = [some.states, some.copies.parent.parent, user_folder(environment)]
    return HookContext(
        copy=find_sandboxed_copy() or copy_tree(some.copies.parent, environment.get(WITH_VARIABLE, "")),
        temporary=tuple(place for place in (temporary, "/tmp") if place.startswith("/")),  # noqa: S108  # only compared
        home=home if home.startswith("/") else "",
        own=tuple(str(folder) for folder in own if folder),
        state=_state_of(environment, home),
    )


def _state_of(environment: Mapping[str, str], home: str) -> str:
    moved = environment.get("CLAUDE_CONFIG_DIR", "")
    usual = f"{home}/.claude" if home.startswith("/") else ""
    return (moved if moved.startswith("/") else "") if moved else usual


def judge(data: bytes, places: HookContext, here: str) -> str | None:
    """The path that must not be written; None if the call is allowed. Raises Unfit."""
    call = _decode_call(data)
    name, given = call.get("tool_name"), call.get("tool_input")
    if not isinstance(name, str) or not name:
        raise Unfit(Text("it names no tool"))
    if name in _NO_FILES or name.startswith(_OWN_TOOLS):
        return None
    paths = list(_paths(given)) if isinstance(given, dict) else []
    if not paths:
        if _is_edit(name):
            raise Unfit(Text("it names no file"))
        return None  # an unknown tool that names no file
    folder = call.get("cwd")
    folder = folder if isinstance(folder, str) and folder.startswith("/") and _can_be(folder) else here
    allowed = _Allowed(places)
    for path in paths:
        for meant in _readings(path, folder, places.home):
            if not allowed(meant):
                return path
    return None


def _decode_call(data: bytes) -> Mapping[str, Any]:
    try:
        call = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Unfit(Text("it is not JSON")) from None
    if not isinstance(call, dict):
        raise Unfit(Text("it is not a JSON object"))
    return call


def _is_edit(name: str) -> bool:
    return name in _FILE_EDITS or _LOOKS_LIKE_EDIT.search(name) is not None


def _paths(given: object) -> Iterator[str]:
    """Every path it names, at any depth."""
    if isinstance(given, list):
        for item in given:
            yield from _paths(item)
    if not isinstance(given, dict):
        return
    for key, value in given.items():
        if key not in _PATH_KEYS:
            yield from _paths(value)
        elif not isinstance(value, str) or not _can_be(value):
            raise Unfit(Text("it names a file that cannot be"))
        else:
            yield value


def _can_be(path: str) -> bool:
    half = any("\ud800" <= character <= "\udfff" for character in path)  # a lone surrogate: in no file name
    return 0 < len(path) <= _LONGEST_PATH and "\0" not in path and not half


def _readings(path: str, folder: str, home: str) -> Iterator[str]:
    """Every possible meaning of the path: `..` resolved before or after links, `~` expanded or not."""
    full = os.path.join(folder, path)
    yield full
    yield os.path.normpath(full)
    if path.startswith("~"):
        if not home or path[1:2] not in {"", "/"}:
            raise Unfit(Text("it names a file that cannot be"))
        yield os.path.normpath(home + path[1:])


class _Allowed:
    def __init__(self, places: HookContext) -> None:
        self._copy = _identity(places.copy)
        self._home = _identity(places.home)
        # A folder that contains the whole system is not temporary, even if a variable says so.
        self._temporary = [
            found for place in places.temporary if (found := _identity(place)) and found != _identity("/")
        ]
        self._own = [found for place in places.own if (found := _identity(place))]
        self._state = _identity(places.state)

    def __call__(self, path: str) -> bool:
        real = resolve_links(path)
        if real is None:
            return False
        above = list(_above(real))
        folders = [identity for _, identity in above]
        if self._copy is not None and self._copy in folders:
            return True
        return self._is_note(real, above) or self._is_temporary(above, folders)

    def _is_note(self, real: str, above: Sequence[tuple[str, "_Identity"]]) -> bool:
        """A plan or a memory that Claude Code keeps for itself."""
        for folder, identity in above:
            if identity == self._state:
                return _NOTES.fullmatch(real[len(folder) :].lstrip("/")) is not None
        return False

    def _is_temporary(self, above: Sequence[tuple[str, "_Identity"]], folders: list["_Identity"]) -> bool:
        """Below a temporary folder, but not in a repository, a home folder or one of ours."""
        if any(own in folders for own in self._own) or any(_holds_repository(folder) for folder, _ in above):
            return False
        # The innermost counts: a home in a temporary folder is a home, and the other way round.
        return any(
            place in folders and self._home not in folders[: folders.index(place) + 1]
            for place in self._temporary
        )


_Identity = tuple[int, int]


def _identity(path: str) -> _Identity | None:
    if not path:
        return None
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


def _above(real: str) -> Iterator[tuple[str, _Identity]]:
    """The folders that contain it, from the nearest existing one upwards."""
    folder = os.path.dirname(real)
    while True:
        # By inode, not by name: on some file systems a folder has several names.
        if identity := _identity(folder):
            yield folder, identity
        if folder == "/":
            return
        folder = os.path.dirname(folder)


def _holds_repository(folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, name)) for name in (".git", ".agent"))


def resolve_links(path: str) -> str | None:
    """The path with links resolved; None if it cannot be a file of a project.

    Not os.path.realpath: a link through /proc means something else in the agent's process.
    """
    left = [part for part in path.split("/") if part not in {"", "."}][::-1]
    real, links = "/", 0
    while left:
        part = left.pop()
        if part == "..":
            real = os.path.dirname(real)
            continue
        real = os.path.join(real, part)
        if any(real == place or real.startswith(place + "/") for place in _NO_PLACES):
            return None
        try:
            target = os.readlink(real)
        except OSError:  # not a link, or does not exist yet
            continue
        links += 1
        if links > _MOST_LINKS:
            return None
        left += [part for part in target.split("/") if part not in {"", "."}][::-1]
        real = "/" if target.startswith("/") else os.path.dirname(real)
    return real


def find_sandboxed_copy(first: Path = Path("/proc/1/cmdline")) -> str:
    """Where the copy is in the sandbox that we run in; empty if we do not.

    A sandbox's first process is bubblewrap; the words it was started with cannot be changed.
    """
    try:
        words = [os.fsdecode(word) for word in first.read_bytes().split(b"\0")]
    except OSError:
        return ""
    if Path(words[0]).name != "bwrap" or WITH_VARIABLE not in words:
        return ""
    tree = f"/{words[words.index(WITH_VARIABLE) + 1]}/tree"
    ours = words[: words.index("--")] if "--" in words else words
    binds = [at for at, word in enumerate(ours[:-2]) if word == "--bind" and ours[at + 1].endswith(tree)]
    return ours[binds[0] + 2] if binds else ""


def copy_tree(copies: Path, name: str) -> str:
    """The tree of the work copy with that name, of any workspace; empty if there is none."""
    if not name or name.startswith(".") or "/" in name or "\0" in name:
        return ""
    # In a sandbox nothing else of the copy is visible.
    found = [tree for place in copies.glob("*") if (tree := place / name / "tree").is_dir()]
    # If it was replaced by a link, it is no longer a copy.
    return str(found[0]) if len(found) == 1 and not found[0].is_symlink() else ""
