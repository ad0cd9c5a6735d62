"""What a spec does to files: each as it is now and as it will be, and the diff between the two."""

import base64
import binascii
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec

from ringi.config.keys import UNJUDGED, LimitsConfig, RiskConfig, RunConfig
from ringi.errors import BadDocument
from ringi.kernel.codec import NOT_TEXT, digest
from ringi.kernel.text import Text
from ringi.patch.apply import FileOutcome, outcome
from ringi.patch.merge import find_written_lines
from ringi.patch.parse import parse_patch
from ringi.patch.patch import Hunk, PatchKind
from ringi.patch.render import FileSide, Rendered, render, render_move
from ringi.policy.spec_kind import CHANGING, SpecKind
from ringi.tree.action_spec import ActionSpec, Encoding
from ringi.tree.file_state import FileState
from ringi.tree.paths import normalise
from ringi.tree.tree import Tree

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

MERGEABLE: Final = frozenset([SpecKind.CREATE, SpecKind.WRITE, SpecKind.PATCH, SpecKind.DELETE])
"""Kinds about one file, which can be merged with a file that changed meanwhile."""
_MODE: Final = re.compile(r"0[0-7]{3}")
_EXECUTABLE: Final = "100755"
_USUAL_FOLDER: Final = "0777"
"""The umask applies when the folder is made."""


class Rules(NamedTuple):
    """What the specs of a plan have to keep to, and what new files look like here."""

    limits: LimitsConfig
    risk: RiskConfig
    run: RunConfig
    new_file_mode: int


def rules_of(workspace: "Workspace") -> Rules:
    config = workspace.config
    return Rules(config.limits, config.risk, config.run, workspace.new_file_mode)


class SeenFile(Protocol):
    """A file that was read; a folder has no bytes."""

    @property
    def state(self) -> FileState: ...
    @property
    def data(self) -> bytes: ...


class Known(NamedTuple):
    """A file whose bytes are known without reading it."""

    state: FileState
    data: bytes


Look = Callable[[str], SeenFile | None]


def looking(tree: Tree, kind: SpecKind) -> Look:
    """A function that reads the files of a spec."""
    return tree.look_folder if kind is SpecKind.MKDIR else tree.look


class Invalid(Exception):
    """The spec cannot be carried out."""

    def __init__(self, why: Text) -> None:
        super().__init__(str(why))
        self.why = why


class Effect(NamedTuple):
    path: str
    before: FileState | None
    old: bytes | None
    after: FileState | None
    new: bytes | None


def _effect(path: str, found: SeenFile | None, after: FileState | None, new: bytes | None) -> Effect:
    return Effect(path, found.state if found else None, found.data if found else None, after, new)


def effects_of(spec: ActionSpec, look: Look, rules: Rules, *, based: bool = False) -> tuple[Effect, ...]:
    """The spec's own file first, then others that it reads, makes or removes.

    `based`: the proposer saw an earlier state, so a difference from now makes the plan stale, not invalid.
    """
    if spec.kind not in CHANGING:
        return ()
    if spec.kind is SpecKind.PATCH:
        effects = _of_patch(spec, look, rules)
    elif spec.kind is SpecKind.MOVE:
        effects = _of_move(spec, look, rules, based=based)
    elif spec.kind is SpecKind.MKDIR:
        effects = _of_folder(spec, look, rules)
    else:
        found = look(spec.path)
        data = _after_bytes(spec, found, based=based)
        effects = (_effect(spec.path, found, _state(spec, found, data, rules), data),)
    for effect in effects:
        if effect.new is not None:
            _require_allowed(effect.path, effect.new, rules.limits)
    return effects


def _after_bytes(spec: ActionSpec, found: SeenFile | None, *, based: bool) -> bytes | None:
    if spec.kind is SpecKind.DELETE:
        if found is None and not based:
            raise Invalid(Text("it is not there"))
        return None
    if spec.kind is SpecKind.CREATE and found is not None and not based:
        raise Invalid(Text("the file exists; use write to overwrite it"))
    data = content_of(spec)
    if data is None:
        if found is None or spec.mode is None:
            raise Invalid(Text("it has no content"))
        return found.data
    return data


def _of_move(spec: ActionSpec, look: Look, rules: Rules, *, based: bool) -> tuple[Effect, ...]:
    target = spec.target or ""
    if target == spec.path:
        raise Invalid(Text("it is moved to where it is"))
    found, there = look(spec.path), look(target)
    if found is None:
        raise Invalid(Text("it is not there"))
    if there is not None and not based:
        raise Invalid(Text("{path} exists, and nothing is moved onto it", path=target))
    moved = _state(spec, found, found.data, rules)
    return _effect(spec.path, found, None, None), _effect(target, there, moved, found.data)


def _of_folder(spec: ActionSpec, look: Look, rules: Rules) -> tuple[Effect, ...]:
    found = look(spec.path)
    if found is not None and not found.state.folder:
        raise Invalid(Text("a file is there"))
    if found is not None:
        return (Effect(spec.path, found.state, None, found.state, None),)
    wanted = _state(spec, None, b"", rules)
    mode = wanted.mode if wanted and spec.mode else _USUAL_FOLDER
    return (Effect(spec.path, None, None, FileState("", mode, folder=True), None),)


def _of_patch(spec: ActionSpec, look: Look, rules: Rules) -> tuple[Effect, ...]:
    data = content_of(spec)
    if data is None:
        raise Invalid(Text("it has no content"))
    seen: dict[str, SeenFile | None] = {}

    def read(path: str) -> bytes | None:
        path = "/".join(normalise(path))
        seen[path] = look(path)
        found = seen[path]
        return found.data if found else None

    done = outcome(parse_patch(data), read)
    if len(done) != 1:
        raise Invalid(Text("a patch spec is about one file, this patch about {count}", count=len(done)))
    return tuple(_of_outcome(spec, done[0], seen, rules))


def _of_outcome(
    spec: ActionSpec, done: FileOutcome, seen: dict[str, SeenFile | None], rules: Rules
) -> list[Effect]:
    # In normal form: ./a and a//b name the same files as a and a/b.
    old_path = "/".join(normalise(done.old_path)) if done.old_path else None
    done = done._replace(path="/".join(normalise(done.path)), old_path=old_path)
    if done.path != spec.path:
        raise Invalid(Text("its patch is about {path}", path=done.path))
    source = seen.get(done.old_path or done.path)
    mode = spec.mode
    if mode is None and done.after is not None:
        mode = mode_after(source.state.mode if source else None, done.old_mode, done.new_mode)
    after = _state(msgspec.structs.replace(spec, mode=mode), source, done.after, rules)
    effects = [_effect(done.path, seen.get(done.path), after, done.after)]
    if done.old_path and done.old_path != done.path and source is not None:
        kept = source if done.kind is PatchKind.COPIED else None
        effects.append(
            _effect(done.old_path, source, kept.state if kept else None, kept.data if kept else None)
        )
    return effects


def _require_allowed(path: str, data: bytes, limits: LimitsConfig) -> None:
    extension = _forbidden(path, limits)
    if extension and extension not in UNJUDGED:
        raise Invalid(Text("files ending in {extension} are forbidden", extension=extension))
    if len(data) > limits.max_file_bytes:
        raise Invalid(
            Text("it has {size} bytes, {limit} are allowed", size=len(data), limit=limits.max_file_bytes)
        )


def require_judged(effects: Sequence[Effect], limits: LimitsConfig) -> None:
    """An agent adds no file that no review can judge. One that is there may be moved."""
    known = {(effect.old, _forbidden(effect.path, limits)) for effect in effects}
    for effect in effects:
        extension = _forbidden(effect.path, limits)
        if extension and effect.new is not None and (effect.new, extension) not in known:
            raise Invalid(
                Text(
                    "no review can judge a {extension} file, so no agent may add one; propose it yourself"
                    " with ringi propose --file, or take it out of limits.forbidden_extensions",
                    extension=extension,
                )
            )


def _forbidden(path: str, limits: LimitsConfig) -> str | None:
    name = path.rsplit("/", 1)[-1].lower()
    return next((extension for extension in limits.forbidden_extensions if name.endswith(extension)), None)


def _state(spec: ActionSpec, found: SeenFile | None, data: bytes | None, rules: Rules) -> FileState | None:
    if data is None:
        return None
    if spec.mode is not None and not _MODE.fullmatch(spec.mode):
        raise Invalid(Text("its mode {mode} is not four octal digits such as 0644", mode=spec.mode))
    mode = spec.mode or (found.state.mode if found else f"{rules.new_file_mode:04o}")
    return FileState(digest(data), mode)


def content_of(spec: ActionSpec) -> bytes | None:
    if spec.content is None:
        return None
    if spec.encoding is Encoding.UTF8:
        try:
            return spec.content.encode()
        except UnicodeEncodeError:
            raise BadDocument(what=spec.path, why=NOT_TEXT) from None
    try:
        return base64.b64decode(spec.content, validate=True)
    except (binascii.Error, ValueError):
        raise Invalid(Text("its content is not valid base64")) from None


def pack(data: bytes) -> tuple[str, Encoding]:
    """The bytes encoded for a spec's content."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return base64.b64encode(data).decode(), Encoding.BASE64
    return text, Encoding.UTF8


def mode_after(bits: str | None, old: str | None, new: str | None) -> str | None:
    """The permission bits after a change of git's mode; None if the file keeps its own.

    As in git, everybody who may read an executable file may run it.
    """
    if new is None or new == old:
        return None
    if bits is None:
        return "0755" if new == _EXECUTABLE else None
    now = int(bits, 8)
    return f"{now | (now & 0o444) >> 2 if new == _EXECUTABLE else now & ~0o111:04o}"


def git_mode(bits: str) -> str:
    return _EXECUTABLE if int(bits, 8) & 0o100 else "100644"


NOTHING: Final = Rendered(b"", 0, 0, binary=False)


def rendering(effects: Sequence[Effect]) -> Rendered:
    """One diff per spec; a rename or a copy is shown as such."""
    if not effects or any(state and state.folder for state in (effects[0].before, effects[0].after)):
        return NOTHING
    if len(effects) > 1 and effects[0].after is None:
        effects = effects[::-1]  # a move names its source first
    first = effects[0]
    new = _side(first.new, first.after)
    if len(effects) == 1:
        return render(first.path, _side(first.old, first.before), new)
    other = effects[1]
    old = _side(other.old, other.before)
    if old is None or new is None:
        return NOTHING
    return render_move(other.path, first.path, old, new, copy=other.after is not None)


def difference(
    path: str, old: bytes | None, before: FileState | None, new: bytes | None, after: FileState | None
) -> Rendered:
    return render(path, _side(old, before), _side(new, after))


def _side(data: bytes | None, state: FileState | None) -> FileSide | None:
    return FileSide(data, git_mode(state.mode)) if data is not None and state is not None else None


def number_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Every line of a text, with its number."""
    return enumerate(io.BytesIO(data), 1)


def find_added_lines(hunks: Iterable[Hunk]) -> Iterator[tuple[int, bytes]]:
    """Each line that the hunks add, with its number in the new file."""
    for hunk in hunks:
        at = hunk.new_at
        for line in io.BytesIO(hunk.body):
            at += not line.startswith((b"-", b"\\"))
            if line.startswith(b"+"):
                yield at, line[1:].removesuffix(b"\n")


def _find_removed_lines(hunks: Iterable[Hunk]) -> Iterator[int]:
    """The number of each line that the hunks remove, in the old file."""
    for hunk in hunks:
        at = hunk.old_at
        for line in io.BytesIO(hunk.body):
            at += not line.startswith((b"+", b"\\"))
            if line.startswith(b"-"):
                yield at


def your_lines(old: bytes | None, rendered: Rendered, seen: bytes | None) -> tuple[int, ...]:
    """Lines that the person wrote since the proposer saw the file and that this deletes, by number.

    0 alone stands for a file that is not text. If nobody knows what the proposer saw, any line may be theirs.
    """
    if old is None or old == seen:
        return ()
    if rendered.binary:
        return (0,)
    if not rendered.removed:
        return ()
    removed = tuple(_find_removed_lines(rendered.hunks))
    if seen is None:
        return removed
    written = {number + 1 for lines in find_written_lines(seen, old) for number in lines}
    return tuple(number for number in removed if number in written)
