"""The sections of a plan's diff, each loaded when it is first shown."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

import msgspec

from ringi.domain import codec
from ringi.domain.feedback import LineComment
from ringi.domain.plan import CHANGING, ActionSpecExt, PlanDocument, PlanStatus, SpecKind, comments_now
from ringi.errors import Refused, StorageFailed
from ringi.plans.effects import Effect, Invalid, effects_of, looking, rendering
from ringi.plans.preview import preview
from ringi.plans.services import Services
from ringi.text import Text, stored
from ringi.views import words
from ringi.views.diff import MOST_NOTES, Content, Section, hunks_of
from ringi.views.lines import Span, Style

_IN_LINES: Final = frozenset([SpecKind.CREATE, SpecKind.WRITE, SpecKind.PATCH])


class Loader:
    """Reads one version of a plan against the current files."""

    def __init__(self, services: Services, document: PlanDocument) -> None:
        self._services = services
        self._document = document

    def sections(self, known: Sequence[Section] = ()) -> list[Section]:
        """One for each spec; unchanged `known` ones are reused."""
        before = {section.key: section for section in known}
        sections = []
        for spec in self._document.state.action_specs:
            comments = self._comments(spec)
            if (section := before.get(key_of(spec))) is not None:
                section.say(comments)
            else:
                section = self._section(spec, comments)
            sections.append(section)
        return sections or [self._text()]

    def _section(self, spec: ActionSpecExt, comments: Sequence[LineComment]) -> Section:
        return Section(
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

    def _text(self) -> Section:
        """A plan without specs."""
        lines = self._document.plan.content.splitlines()
        notes = [Span(Text("{line}", line=line)) for line in lines[:MOST_NOTES]]
        title = Text("only a text so far, without specs:")
        return Section("", "", title, lambda: Content(notes=notes))

    def _content(self, spec: ActionSpecExt) -> Content:
        notes = tuple(self._notes(spec))
        if not spec.validated or spec.base.kind not in CHANGING:
            return Content(notes=notes)
        if self._document.state.status is PlanStatus.COMPLETED:
            return self._whole(spec, notes, fits=True)
        tree, rules = self._services.tree, self._services.rules
        try:
            effects = effects_of(spec.base, looking(tree, spec.base.kind), rules, based=True)
        except (Invalid, Refused, StorageFailed, OSError):
            return self._whole(spec, notes, fits=False)
        return _of_effects(spec, effects, notes)

    @cached_property
    def _previews(self) -> dict[str, tuple[str, int, int]]:
        found = preview(self._services, self._document)
        return {part.spec_id: (part.diff, part.added, part.removed) for part in found.diffs}

    def _whole(self, spec: ActionSpecExt, notes: Sequence[Span], *, fits: bool) -> Content:
        """From the preview: what an executed plan did, or what a stale one would do."""
        diff, added, removed = self._previews.get(spec.id, ("", 0, 0))
        hunks, beside = hunks_of(diff.encode("utf-8", "surrogatepass"))
        return Content(hunks, (*notes, *beside), added, removed, fits=fits)

    def _notes(self, spec: ActionSpecExt) -> Iterator[Span]:
        if not spec.validated:
            yield Span(Text("cannot be carried out: {why}", why=stored(spec.notes)), Style.BAD)
        how = self._sandbox if spec.base.kind is SpecKind.RUN else None
        by_model = spec.id in (self._document.state.from_model or ())
        yield from map(Span, words.terms(spec, how, by_model=by_model))
        for given in spec.risk_reasons:
            yield Span(words.reason(spec.base.path, given), words.RISK_STYLE[spec.risk])

    @cached_property
    def _sandbox(self) -> Text:
        return words.sandbox(self._services.commands)


def key_of(spec: ActionSpecExt) -> str:
    """Equal only if everything shown of the spec is equal; the hash covers the content."""
    bare = msgspec.structs.replace(spec, base=msgspec.structs.replace(spec.base, content=None))
    return codec.canonical(bare).decode()


def _of_effects(spec: ActionSpecExt, effects: Sequence[Effect], notes: Sequence[Span]) -> Content:
    rendered = rendering(effects)
    seen = {file.path: file.before for file in spec.touched}
    fits = spec.base.kind is SpecKind.MKDIR or all(
        effect.before == seen.get(effect.path) for effect in effects
    )
    own, source = effects[0], effects[-1]
    if rendered.binary:
        sizes = Text("binary, {old} → {new} bytes", old=len(source.old or b""), new=len(own.new or b""))
        return Content(notes=(*notes, Span(sizes)), fits=fits, binary=True)
    hunks, beside = hunks_of(rendered.diff if rendered.added or rendered.removed else b"")
    if not hunks and own.new == b"" and own.before is None:
        beside = (*beside, Span(Text("an empty file")))
    new = own.new if spec.base.kind in _IN_LINES else None
    return Content(hunks, (*notes, *beside), rendered.added, rendered.removed, source.old, new, fits)
