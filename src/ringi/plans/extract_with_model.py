"""Specs from a plan's text (PT-14): what the parser finds, and what a language model makes of the rest.

The model's specs are marked and come last.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from ringi.errors import BadPatch, PatchMismatch, PathRefused, StorageFailed, Unreadable
from ringi.models.prompt import (
    MOST_SPECS,
    Material,
    NewSpec,
    NewSpecs,
    OnProgress,
    Prompt,
)
from ringi.models.usage import Purpose
from ringi.patch.repair import normalise
from ringi.plans.extract import Extraction, extract
from ringi.plans.reading import find_guarded
from ringi.policy.spec_kind import CHANGING, SpecKind
from ringi.tree.action_spec import ActionSpec

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_RULES: Final = (
    "A parser turned the code blocks of a plan for a software project into specs, but not those listed and "
    "not the words around them. "
    "Write a spec for each step of the plan that has none yet, in the order of the plan, at most "
    f"{MOST_SPECS}. Use only what the plan says: do not invent steps, paths or content. Leave out any step "
    "you are not sure about; specs may be empty. path: relative to the project folder. kind: create = a "
    "new file, write = replace a whole file, both with the complete content; patch = a unified diff of "
    "path in content; delete = remove path; move = move path to target; mkdir = create the folder path; "
    "read or analyze = look at path; run = the program and its arguments in argv, one word per item, no "
    "shell. description: the step in one sentence. line: the number of the unparsed line that the spec "
    "comes from, or 0. Leave fields empty that a kind does not need."
)

_FILES: Final = (
    " files: those that the plan names, as they are now, each line after its number; leave the numbers out. "
    "A patch must repeat the lines of its file word for word."
)
_AGAIN: Final = (
    " You answered before; these patches of yours do not fit their files, for the reason after each path. "
    "Answer again with all specs and write those patches anew from the files."
)
_HIDDEN: Final = "it does not fit the file"
_MOST_FILES: Final = 20
_PATH: Final = re.compile(r"[\w@+-][\w.@+/-]*[\w@+-]")


class Extractor:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def extract(
        self, plan_id: str, *, with_model: bool = False, on_progress: OnProgress | None = None
    ) -> Extraction:
        """Specs from the plan's own text, and what in it could not be placed. Does not change the plan.

        `with_model` passes what could not be placed to the configured model. Raises ModelFailed,
        UnknownModel, NoModelKey, NoExtra.
        """
        stored = self._workspace.store.plans.get(self._workspace.store.plans.id_of(plan_id))
        content = stored.document.plan.content
        found = extract(content)
        return ask_model(self._workspace, content, found, on_progress) if with_model else found


def ask_model(
    workspace: Workspace, text: str, found: Extraction, on_progress: OnProgress | None
) -> Extraction:
    """The parser's specs first, as they are; then what the model made of the rest, prose included."""
    model = workspace.model()
    budget, progress = workspace.budget, on_progress or (lambda _: None)
    code = workspace.code
    code.snapshot()
    named = [path for path in dict.fromkeys(_PATH.findall(text)) if code.has(path)][:_MOST_FILES]
    prompt = _prompt(text, found, code.read(named) if named else "")
    given = model.ask(prompt, NewSpecs, budget, progress).value
    fitted = [_fit(workspace, spec) for spec in given.specs]
    if any(one.why for one in fitted):
        paths = dict.fromkeys((*named, *(one.spec.path for one in fitted if one.why)))
        prompt = _prompt(text, found, code.read(list(paths)), _misfits(fitted))
        given = model.ask(prompt, NewSpecs, budget, progress).value
        fitted = [_fit(workspace, spec) for spec in given.specs]
    return _join(found, [one.spec for one in fitted])


class _Fitted(NamedTuple):
    spec: NewSpec
    why: str = ""
    """Why its patch does not fit."""


def _fit(workspace: Workspace, spec: NewSpec) -> _Fitted:
    """With its numbers and headers put right if it is a patch that fits; else as it is."""
    if SpecKind(spec.kind) is not SpecKind.PATCH:
        return _Fitted(spec)

    def read(path: str) -> bytes | None:
        seen = workspace.tree.look(path)
        return seen.data if seen else None

    try:
        exact = normalise(spec.content.encode("utf-8", "surrogatepass"), read)
        return _Fitted(replace(spec, content=exact.decode()))
    except (BadPatch, PatchMismatch) as error:
        # What is in a guarded file is not even hinted at.
        hidden = find_guarded(workspace, [spec.path])
        return _Fitted(spec, _HIDDEN if hidden else workspace.mask(str(error)))
    except (PathRefused, StorageFailed, Unreadable, UnicodeDecodeError, OSError):
        return _Fitted(spec)  # validation says why


def _misfits(fitted: Sequence[_Fitted]) -> str:
    return "\n".join(f"{one.spec.path}: {one.why}\n{one.spec.content}" for one in fitted if one.why)


def _prompt(text: str, found: Extraction, files: str, misfits: str = "") -> Prompt:
    left = (f"line {one.line} ({one.why}): {one.text}" for one in found.unplaced)
    material = {
        "plan": text,
        "unparsed lines": "\n".join(left),
        "existing specs": "\n".join(map(_in_words, found.specs)),
        "files": files,
        "patches that do not fit": misfits,
    }
    rules = _RULES + (_FILES if files else "") + (_AGAIN if misfits else "")
    return Prompt(
        Purpose.EXTRACTION, rules, tuple(Material(name, given) for name, given in material.items() if given)
    )


def _in_words(spec: ActionSpec) -> str:
    return " ".join(filter(None, [spec.kind, spec.path, spec.target, shlex.join(spec.argv)]))


def _join(found: Extraction, answer: Sequence[NewSpec]) -> Extraction:
    taken = {deed for spec in found.specs for deed in _deeds(spec)}
    added: list[ActionSpec] = []
    lines: set[int] = set()
    for given in answer:
        spec = _spec(given)
        if spec not in added and taken.isdisjoint(_deeds(spec)):
            added.append(spec)
            lines.add(given.line)
    first = len(found.specs)
    return Extraction(
        specs=(*found.specs, *added),
        unplaced=tuple(one for one in found.unplaced if one.line not in lines),
        from_model=tuple(range(first, first + len(added))),
    )


def _spec(given: NewSpec) -> ActionSpec:
    """Fields that do not fit the kind stay, and are refused like anybody's."""
    kind = SpecKind(given.kind)
    written = kind in {SpecKind.CREATE, SpecKind.WRITE, SpecKind.PATCH}
    return ActionSpec(
        kind,
        given.path,
        given.content if given.content or written else None,
        description=given.description,
        target=given.target or None,
        argv=given.argv,
    )


def _deeds(spec: ActionSpec) -> Iterator[tuple[str, str]]:
    """Identifies an action, so that the model cannot repeat one: the same file, command or read."""
    changes = "change" if spec.kind in CHANGING else str(spec.kind)
    if spec.kind is SpecKind.RUN:
        yield changes, f"{_normal(spec.path)} {shlex.join(spec.argv)}"
        return
    for path in filter(None, [spec.path, spec.target]):
        yield changes, _normal(path)


def _normal(path: str) -> str:
    """For comparing only; validation has its own, strict rules."""
    return "/".join(part for part in path.split("/") if part not in {"", "."})
