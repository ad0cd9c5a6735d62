"""The parts of a plan, each read when somebody looks at it."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Final

import msgspec

from ringi.api import Workspace
from ringi.cli.reviewing.rows import Content, Note, Part
from ringi.domain import codec
from ringi.domain.comparison import Difference, PlanComparison, SpecDifference
from ringi.domain.feedback import LineComment
from ringi.domain.plan import CHANGING, ActionSpecExt, PlanDocument, PlanStatus, SpecKind, comments_now
from ringi.errors import BadPatch, Refused, StorageFailed
from ringi.patching.model import Hunk
from ringi.patching.parse import parse_patch
from ringi.plans.effects import Effect, Invalid, effects_of, looking, rendering
from ringi.text import Text, stored
from ringi.views import words
from ringi.wiring.assemble import commands_of

_IN_LINES: Final = frozenset([SpecKind.CREATE, SpecKind.WRITE, SpecKind.PATCH])
_MOST_NOTES: Final = 500
_NAMED: Final = b"--- a/x\n+++ b/x\n"
_STYLE: Final = {Difference.ADDED: "green", Difference.REMOVED: "red", Difference.CHANGED: "yellow"}


class Loader:
    """Of one version of a plan, against the files as they are now."""

    def __init__(self, workspace: Workspace, document: PlanDocument) -> None:
        self._workspace = workspace
        self._document = document

    def parts(self, known: Sequence[Part] = ()) -> list[Part]:
        """One for each spec; those that are `known` and still the same are not read again."""
        before = {part.key: part for part in known}
        parts = []
        for spec in self._document.state.action_specs:
            comments = self._comments(spec)
            if (part := before.get(key_of(spec))) is not None:
                part.say(comments)
            else:
                part = self._part(spec, comments)
            parts.append(part)
        return parts or [self._text()]

    def _part(self, spec: ActionSpecExt, comments: Sequence[LineComment]) -> Part:
        return Part(
            key_of(spec),
            spec.base.path,
            words.action(spec),
            lambda: self._content(spec),
            style=words.RISK_STYLE[spec.risk],
            comments=comments,
        )

    def _comments(self, spec: ActionSpecExt) -> tuple[LineComment, ...]:
        paths = {file.path for file in spec.touched}
        return tuple(given for given in comments_now(self._document) if given.path in paths)

    def _text(self) -> Part:
        """A plan without specs."""
        lines = self._document.plan.content.splitlines()
        notes = [Note(Text("{line}", line=line)) for line in lines[:_MOST_NOTES]]
        title = Text("only a text so far, without specs:")
        return Part("", "", title, lambda: Content(notes=notes))

    def _content(self, spec: ActionSpecExt) -> Content:
        notes = tuple(self._notes(spec))
        if not spec.validated or spec.base.kind not in CHANGING:
            return Content(notes=notes)
        if self._document.state.status is PlanStatus.COMPLETED:
            return self._whole(spec, notes, fits=True)
        tree, rules = self._workspace.services.tree, self._workspace.services.rules
        try:
            effects = effects_of(spec.base, looking(tree, spec.base.kind), rules, based=True)
        except (Invalid, Refused, StorageFailed, OSError):
            return self._whole(spec, notes, fits=False)
        return _of_effects(spec, effects, notes)

    @cached_property
    def _previews(self) -> dict[str, tuple[str, int, int]]:
        found = self._workspace.plan.preview(self._document.plan.id)
        return {part.spec_id: (part.diff, part.added, part.removed) for part in found.diffs}

    def _whole(self, spec: ActionSpecExt, notes: Sequence[Note], *, fits: bool) -> Content:
        """As the preview has it: of a plan that was carried out what it did, of a stale one what it wants."""
        diff, added, removed = self._previews.get(spec.id, ("", 0, 0))
        hunks, beside = hunks_of(diff.encode("utf-8", "surrogatepass"))
        return Content(hunks, (*notes, *beside), added, removed, fits=fits)

    def _notes(self, spec: ActionSpecExt) -> Iterator[Note]:
        if not spec.validated:
            yield Note(Text("cannot be carried out: {why}", why=stored(spec.notes)), "red")
        how = self._sandbox if spec.base.kind is SpecKind.RUN else None
        by_model = spec.id in (self._document.state.from_model or ())
        yield from map(Note, words.terms(spec, how, by_model=by_model))
        for given in spec.risk_reasons:
            yield Note(words.reason(spec.base.path, given), words.RISK_STYLE[spec.risk])

    @cached_property
    def _sandbox(self) -> Text:
        return words.sandbox(
            commands_of(
                self._workspace.places,
                self._workspace.configuration.config,
                self._workspace.environment,
            )
        )


def key_of(spec: ActionSpecExt) -> str:
    """The same only where everything that is shown of the spec is; what it writes is in the hash after."""
    bare = msgspec.structs.replace(spec, base=msgspec.structs.replace(spec.base, content=None))
    return codec.canonical(bare).decode()


def _of_effects(spec: ActionSpecExt, effects: Sequence[Effect], notes: Sequence[Note]) -> Content:
    rendered = rendering(effects)
    seen = {file.path: file.before for file in spec.touched}
    fits = spec.base.kind is SpecKind.MKDIR or all(
        effect.before == seen.get(effect.path) for effect in effects
    )
    own, source = effects[0], effects[-1]
    if rendered.binary:
        sizes = Text("binary, {old} → {new} bytes", old=len(source.old or b""), new=len(own.new or b""))
        return Content(notes=(*notes, Note(sizes)), fits=fits, binary=True)
    hunks, beside = hunks_of(rendered.diff if rendered.added or rendered.removed else b"")
    if not hunks and own.new == b"" and own.before is None:
        beside = (*beside, Note(Text("an empty file")))
    new = own.new if spec.base.kind in _IN_LINES else None
    return Content(hunks, (*notes, *beside), rendered.added, rendered.removed, source.old, new, fits)


def hunks_of(diff: bytes) -> tuple[Sequence[Hunk], Sequence[Note]]:
    """The hunks of a diff of one file; what cannot be read as one is shown as it stands."""
    if not diff:
        return (), ()
    try:
        files = parse_patch(_NAMED + diff if diff.startswith(b"@@ ") else diff).files
    except BadPatch:
        lines = diff.decode("utf-8", "backslashreplace").split("\n")
        return (), [Note(Text("{line}", line=line)) for line in lines[:_MOST_NOTES] if line]
    return tuple(hunk for file in files for hunk in file.hunks), ()


def delta_parts(found: PlanComparison) -> list[Part]:
    """Only what changed since the version that was approved last."""
    return [
        Part(f"{number} {one.path}", one.path, _difference(one), _loading(one.diff), style=_STYLE[one.what])
        for number, one in enumerate(found.differences)
    ]


def _difference(one: SpecDifference) -> Text:
    if one.what is Difference.ADDED:
        return Text("+ {path}: only in the later one", path=one.path)
    if one.what is Difference.REMOVED:
        return Text("- {path}: only in the earlier one", path=one.path)
    return Text("~ {path}", path=one.path)


def _loading(diff: str) -> Callable[[], Content]:
    def load() -> Content:
        hunks, notes = hunks_of(diff.encode("utf-8", "surrogatepass"))
        return Content(hunks, notes)

    return load
