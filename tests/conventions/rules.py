"""What reviewers would otherwise repeat: each rule takes a source and gives its offences, one line each."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from ringi.kernel.text import deceiving

OURS: Final = "ringi"
PREPARES: Final = "src/ringi/kernel/document.py"
BOUNDARY: Final = "src/ringi/cli/main.py"
SPEAKS: Final = ("src/ringi/cli/", "src/ringi/mcp/", "src/ringi/acp/")
# Who starts a program hands its environment on, less what would steer it.
READS_ENVIRONMENT: Final = (
    "src/ringi/kernel/system.py",
    "src/ringi/kernel/process/git.py",
    "src/ringi/kernel/process/start.py",
    "src/ringi/kernel/process/ancestors.py",
    BOUNDARY,
)
LEAST_PATIENCE_SEC: Final = 30
_WAITS_FIRST: Final = frozenset({"join", "wait", "settimeout", "result"})
_WAITS: Final = _WAITS_FIRST | {
    "communicate",
    "expect",
    "create_connection",
    "get",
    "Barrier",
    "spawn",
    "Popen",
}
WRITES_NOTHING: Final = tuple(
    f"src/ringi/{package}/" for package in ("approvals", "engine", "patch", "plans", "policy", "sessions")
)
# Their own files: a lock in the state folder, what `ssh-keygen` reads, the logs of sessions.
WRITES_ALL_THE_SAME: Final = (
    "src/ringi/plans/from_revision.py",
    "src/ringi/approvals/signing.py",
    "src/ringi/sessions/files.py",
)

# Whoever starts git: its own commands sync, or it only reads, or works in folders of our own.
STARTS_GIT: Final = (
    "src/ringi/kernel/process/git.py",
    "src/ringi/tree/personal_git.py",
    "src/ringi/provenance/exchange.py",
    "src/ringi/tree/remotes.py",  # asks credential helpers
)
# In these git works in folders of our own, and what a loss of power takes is made again.
GIT_OF_OURS: Final = tuple(
    f"src/ringi/tree/{name}.py"
    for name in (
        "copy",
        "copy_layout",
        "copy_rebase",
        "copy_steps",
        "private_git",
        "tree_capture",
        "snapshot",
    )
)
_GIT_WRITING: Final = re.compile(
    "branch|checkout|cherry-pick|commit|commit-tree|fast-import|fetch|gc|index-pack|merge|mktree|notes|pack-refs|pull"
    "|push|rebase|reset|revert|stash|switch|tag|unpack-objects|update-index|update-ref|write-tree"
)
_GIT_LOOKING: Final = frozenset(["run", "attempt", "started", "look", "line"])

_WRITING: Final = re.compile(
    r"os\.(?:f?chmod|chown|copy_file_range|f?truncate|link|makedirs|mkdir|open|p?write|remove|removedirs"
    r"|renames?|replace|rmdir|symlink|unlink|utime)"
    r"|shutil\.(?:chown|copy\w*|move|rmtree)"
)
# Only names that no string and no port of ours has: `replace` and `rename` mean too many things.
_WRITING_METHODS: Final = frozenset({"write_text", "write_bytes", "touch", "symlink_to", "hardlink_to"})
_DECODING: Final = re.compile(r"msgspec\.(?:\w+\.decode|convert)")
# Where a path begins, not in the middle of a longer one.
_MACHINE_PATH: Final = re.compile(r"(?<![\w.}~…-])/(?:root|work|Users)/")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@lru_cache(maxsize=1)
def _nodes(source: str) -> tuple[ast.AST, ...]:
    """Kept for the next rule; one source at a time, because all of them would fill the memory."""
    return tuple(ast.walk(ast.parse(source)))


def talking(source: str, name: str) -> Iterator[str]:
    """Only the interfaces talk to people."""
    if name.startswith(SPEAKS):
        return
    for node in _nodes(source):
        match node:
            case ast.Call(func=ast.Name(id="print" | "input" as call)):
                yield f"{name}:{node.lineno}: {call}()"
            case ast.Import(names=names) if any(alias.name.split(".")[0] == "click" for alias in names):
                yield f"{name}:{node.lineno}: click"
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] == "click":
                yield f"{name}:{node.lineno}: click"
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="sys"), attr=stream), attr="write"):
                yield f"{name}:{node.lineno}: sys.{stream}.write"


def fleeting(source: str, name: str) -> Iterator[str]:
    """What git writes into a person's repository outlasts a loss of power: through `DurableGit.write` or
    `PersonalGit.work`, and nothing else.
    """
    for node in _nodes(source):
        match node:
            case ast.Call(func=ast.Attribute(attr=method), args=args) if method in _GIT_LOOKING:
                words = [arg.value for arg in args if isinstance(arg, ast.Constant)]
                command = next((word for word in words if isinstance(word, str) and word[:1] != "-"), "")
                if _GIT_WRITING.fullmatch(command) and name not in GIT_OF_OURS:
                    yield f"{name}:{node.lineno}: git {command} without a sync"
            case ast.Call(func=ast.Attribute(attr="program") | ast.Name(id="program"), args=[]):
                if name not in STARTS_GIT:
                    yield f"{name}:{node.lineno}: starts git by itself"


def reaching(source: str, name: str) -> Iterator[str]:
    """Interfaces ask the tools of a workspace, not the ports that use cases are made of."""
    if name.startswith(SPEAKS):
        for node in _nodes(source):
            match node:
                case ast.Attribute(
                    value=ast.Attribute(attr="workspace") | ast.Name(id="workspace"),
                    attr="tree"
                    | "lock"
                    | "commands"
                    | "check"
                    | "signatures"
                    | "commits"
                    | "snapshots" as part,
                ):
                    yield f"{name}:{node.lineno}: workspace.{part}"


def environment(source: str, name: str) -> Iterator[str]:
    """The environment is read where adapters are chosen, and handed on."""
    if name.startswith(READS_ENVIRONMENT):
        return
    for node in _nodes(source):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr="environ" | "environb" | "getenv" | "putenv"):
                yield f"{name}:{node.lineno}: os.{node.attr}"
            case ast.ImportFrom(module="os", names=names):
                found = {alias.name for alias in names} & {"environ", "environb", "getenv", "putenv"}
                yield from (f"{name}:{node.lineno}: os.{item}" for item in found)


def broad_except(source: str, name: str) -> Iterator[str]:
    """One boundary catches everything. Elsewhere only a clean-up that passes all on, interrupts included."""
    if name == BOUNDARY:
        return
    for node in _nodes(source):
        if not isinstance(node, ast.ExceptHandler):
            continue
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        names = {kind.id if isinstance(kind, ast.Name) else "" for kind in kinds if kind}
        passes_on = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
        if node.type is None or "Exception" in names or ("BaseException" in names and not passes_on):
            yield f"{name}:{node.lineno}: broad except"


def writing(source: str, name: str) -> Iterator[str]:
    """The packages that decide touch no file; `fs` does, when it is told to."""
    if not name.startswith(WRITES_NOTHING) or name in WRITES_ALL_THE_SAME:
        return
    for node in _nodes(source):
        match node:
            case ast.Attribute(value=ast.Name(id=module)) if _WRITING.fullmatch(f"{module}.{node.attr}"):
                yield f"{name}:{node.lineno}: {module}.{node.attr}"
            case ast.ImportFrom(module=module, names=names):
                calls = (f"{module}.{alias.name}" for alias in names)
                yield from (f"{name}:{node.lineno}: {call}" for call in calls if _WRITING.fullmatch(call))
            case ast.Call(func=ast.Attribute(attr=call)) if call in _WRITING_METHODS:
                yield f"{name}:{node.lineno}: .{call}()"
            case ast.Call(func=ast.Name(id="open") | ast.Attribute(attr="open")) if _mode(node) & set("wax+"):
                yield f"{name}:{node.lineno}: open for writing"


def unprepared(source: str, name: str) -> Iterator[str]:
    """A type is first decoded by one thread at a time, or msgspec crashes."""
    if name == PREPARES:
        return
    for node in _nodes(source):
        match node:
            case ast.Call(func=ast.Attribute() as function) if _DECODING.fullmatch(ast.unparse(function)):
                kinds = [keyword.value for keyword in node.keywords if keyword.arg == "type"]
                for kind in kinds or node.args[1:]:
                    if not ast.unparse(kind).startswith("prepare("):
                        yield f"{name}:{node.lineno}: {ast.unparse(kind)} is not prepared"


def _mode(call: ast.Call) -> set[str]:
    position = 1 if isinstance(call.func, ast.Name) else 0
    given = [keyword.value for keyword in call.keywords if keyword.arg == "mode"] or call.args[position:]
    mode = given[0] if given else None
    return set(mode.value) if isinstance(mode, ast.Constant) and isinstance(mode.value, str) else set()


def patched(source: str, name: str) -> Iterator[str]:
    """Tests replace the world around the program (a port, a file, a limit), never a part of it."""
    ours = set(_names_of_ours(source))
    for node in _nodes(source):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="setattr" | "delattr" | "patch" | "object") | ast.Name(id="patch"),
                args=[target, *_],
            ):
                if _is_ours(target, ours):
                    yield f"{name}:{node.lineno}: {ast.unparse(target)} is patched"
            case ast.Assign(targets=targets):
                members = [one for one in targets if isinstance(one, ast.Attribute) and _is_ours(one, ours)]
                yield from (f"{name}:{node.lineno}: {ast.unparse(one)} is patched" for one in members)


def impatient(source: str, name: str) -> Iterator[str]:
    """A busy machine takes its time. Less than a second is a pause, and waits for nothing."""
    for call in (node for node in _nodes(source) if isinstance(node, ast.Call)):
        called = _called(call)
        limits = [one.value for one in call.keywords if called in _WAITS and one.arg == "timeout"]
        limits += call.args[:1] if called in _WAITS_FIRST else []
        for limit in limits:
            match limit:
                case ast.Constant(value=int() | float() as seconds) if 1 <= seconds < LEAST_PATIENCE_SEC:
                    yield f"{name}:{call.lineno}: waits {seconds} s; see PATIENCE_SEC"


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _names_of_ours(source: str) -> Iterator[str]:
    for node in _nodes(source):
        match node:
            case ast.Import(names=names):
                found = (alias for alias in names if alias.name.split(".")[0] == OURS)
                yield from (alias.asname or OURS for alias in found)
            case ast.ImportFrom(module=str(module), names=names) if module.split(".")[0] == OURS:
                yield from (alias.asname or alias.name for alias in names)


def _is_ours(target: ast.expr, ours: set[str]) -> bool:
    """A name that was imported, whatever is reached through it, or the path of one as a string."""
    while isinstance(target, ast.Attribute):
        target = target.value
    match target:
        case ast.Constant(value=str(path)):
            return path.split(".")[0] == OURS
        case ast.Name(id=name):
            return name in ours
    return False


def unproven(source: str, name: str) -> Iterator[str]:
    """Tests that cannot fail. State machines check by invariants and are no functions, so never asked."""
    for node in _nodes(source):
        if (
            isinstance(node, Function)
            and node.name.startswith("test_")
            and not any(map(_proves, ast.walk(node)))
        ):
            yield f"{name}:{node.lineno}: {node.name} asserts nothing"


def _proves(node: ast.AST) -> bool:
    match node:
        case ast.Assert(test=test):
            return not isinstance(test, ast.Constant)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="pytest"), attr="raises" | "warns" | "fail")):
            return True
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)):
            return called.startswith(("assert_", "check_")) or called == "run_state_machine_as_test"
    return False


def hidden(text: str, name: str) -> Iterator[str]:
    odd = {character for character in {*text} - {"\t", "\n"} if deceiving(character)}
    for number, line in enumerate(text.split("\n") if odd else (), 1):
        if found := odd & {*line}:
            yield f"{name}:{number}: {' '.join(f'U+{ord(character):04X}' for character in sorted(found))}"


def machine_paths(text: str, name: str) -> Iterator[str]:
    for number, line in enumerate(text.split("\n"), 1):
        if _MACHINE_PATH.search(line):
            yield f"{name}:{number}: a path of one machine"


_BRANCH: Final = re.compile(r"^(?P<rails>(?:│   |    )*)(?:├── |└── )(?P<name>\w+)(?: +(?P<code>\d+)\b)?")


def drawn_tree(docstring: str) -> dict[str, tuple[str, int | None]]:
    """The classes of a drawn tree: parent and, where it is written, exit code."""
    result: dict[str, tuple[str, int | None]] = {}
    above: list[str] = []
    for line in docstring.splitlines():
        if not above and (root := re.match(r"^(\w+) {2,}", line)):
            above = [root[1]]
        elif above and (found := _BRANCH.match(line)):
            depth = len(found["rails"]) // 4
            above = [*above[: depth + 1], found["name"]]
            result[found["name"]] = (above[-2], int(found["code"]) if found["code"] else None)
    return result


def untold(root: type[BaseException], docstring: str) -> Iterator[str]:
    """Errors that miss a code, words or their place in the drawing."""
    codes: dict[str, str] = {}
    drawn = drawn_tree(docstring)
    for kind in _below(root):
        own = vars(kind)
        code = own.get("code", "")
        if not code:
            yield f"{kind.__name__} has no code of its own"
        elif codes.setdefault(code, kind.__name__) != kind.__name__:
            yield f"{kind.__name__} has the code of {codes[code]}: {code}"
        group = "message" not in own and bool(kind.__subclasses__())
        if not group and not own.get("message"):
            yield f"{kind.__name__} has no message"
        if not group and not kind.hint and kind.__name__ != "Interrupted":
            yield f"{kind.__name__} has no hint"
        place = drawn.pop(kind.__name__, None)
        if place is None:
            yield f"{kind.__name__} is not in the drawing"
        elif place[0] != kind.__base__.__name__:
            yield f"{kind.__name__} is drawn below {place[0]}"
        elif place[1] not in (None, kind.exit_code):
            yield f"{kind.__name__} is drawn with the exit code {place[1]}"
    yield from (f"{name} is drawn and does not exist" for name in drawn)


def _below(root: type) -> Iterator[type]:
    for kind in root.__subclasses__():
        yield kind
        yield from _below(kind)
