"""A plan as one document for an editor: its texts, hunks, risk, checks, comments, and how to decide."""

import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import UNSET, UnsetType

from ringi.approvals.feedback import LineComment, Side
from ringi.approvals.own_key import own_keys
from ringi.errors import NotFound
from ringi.kernel.lines import TextSpan
from ringi.kernel.text import Text
from ringi.patch.patch import Hunk
from ringi.plans import words
from ringi.plans.diff_view import DiffSection, SectionContent
from ringi.plans.document import OPEN, PlanDocument, comments_now
from ringi.plans.merge import find_changed_files
from ringi.plans.preview import risk_now
from ringi.plans.review_data import (
    Decide,
    PlanReviewDocument,
    ReviewComment,
    ReviewedCheck,
    ReviewedFile,
    ReviewedHunk,
)
from ringi.plans.review_view import heading_of
from ringi.plans.reviewed_plan import ReviewedPlan, overlaps_of, warnings_of
from ringi.plans.waiting_view import stale_spans
from ringi.policy.spec_kind import CHANGING, SpecKind
from ringi.tree.action_spec import ActionSpecExt
from ringi.tree.file_state import FileState

_IN_PARTS: Final = frozenset([SpecKind.CREATE, SpecKind.WRITE, SpecKind.PATCH])

Say = Callable[[Text], str]


class TextLimits(NamedTuple):
    """How much text a document holds."""

    file_bytes: int = 4 * 1024 * 1024
    bytes: int = 64 * 1024 * 1024


_USUAL: Final = TextLimits()


class _Texts(NamedTuple):
    before: str | UnsetType | None = UNSET
    after: str | UnsetType | None = UNSET
    why: Text | None = None


def review_document(
    plan: ReviewedPlan, say: Say, only: Collection[str] = (), limits: TextLimits = _USUAL
) -> PlanReviewDocument:
    """`say` puts a sentence into the reader's language. `only` these files; NotFound if one is not in it."""
    return _Reviewing(plan, say, limits).document(only)


def spec_at(plan: ReviewedPlan, path: str) -> ActionSpecExt:
    """The one about a file, by its new or its old name, or a command by its id; NotFound if there is none."""
    named = [spec for spec in plan.specs if path and path == path_after(spec)]
    renamed = [spec for spec in plan.specs if path in spec.changed_paths]
    commands = [spec for spec in plan.specs if path == spec.id and not path_after(spec)]
    for spec in (*named, *renamed, *commands):
        return spec
    raise NotFound(what=Text("file in the plan"), name=path, see=f"ringi show {plan.name} --diff")


def path_after(spec: ActionSpecExt) -> str:
    if spec.base.kind is SpecKind.MOVE:
        return spec.base.target or spec.base.path
    return spec.base.path if spec.base.kind in CHANGING else ""


class _Reviewing:
    def __init__(self, plan: ReviewedPlan, say: Say, limits: TextLimits) -> None:
        self._plan = plan
        self._say = say
        self._who = plan.workspace.person.user()
        self._most = limits.file_bytes
        self._room = limits.bytes

    def document(self, only: Collection[str]) -> PlanReviewDocument:
        plan, document = self._plan, self._plan.document
        wanted = {spec_at(plan, path).id for path in only}
        pairs = zip(plan.specs, plan.sections(anew=True), strict=False)
        commit = document.state.commit
        return PlanReviewDocument(
            plan=plan.ref,
            specs_sha256=document.specs_sha256,
            explanation=_explanation(document),
            change=document.change,
            headline=tuple(self._say_all(self._headline())),
            checks=tuple(
                ReviewedCheck(one.command, one.exit_code, one.passed, one.output)
                for one in document.state.checks
            ),
            commit=commit.message.partition("\n")[0] if commit else None,
            decide=_decide(plan),
            amendable=_amendable(plan),
            files=tuple(self._file(*pair) for pair in pairs if not only or pair[0].id in wanted),
        )

    def _say_all(self, spans: Sequence[TextSpan]) -> Iterator[str]:
        for span in spans:
            yield self._say(span.text) if isinstance(span.text, Text) else span.text

    def _headline(self) -> list[TextSpan]:
        plan = self._plan
        heading = heading_of(plan.ref, plan.document)
        stale = find_changed_files(plan.workspace, plan.document) if plan.status in OPEN else ()
        warnings = warnings_of(plan, overlaps_of(plan))
        return [*heading.standing, *stale_spans(stale), *heading.said, *warnings]

    def _file(self, spec: ActionSpecExt, section: DiffSection) -> ReviewedFile:
        content = section.content
        risk, given = risk_now(spec, tuple(content.yours))
        reasons = [words.reason(spec.base.path, one) for one in given]
        texts = self._texts(spec, content)
        return ReviewedFile(
            spec_id=spec.id,
            path=path_after(spec),
            old_path=spec.old_path or next((file.path for file in spec.also or ()), None),
            copied=bool(spec.also) and spec.old_path is None,
            kind=spec.base.kind,
            action=self._say(words.action(spec)),
            risk=risk,
            reasons=tuple(map(self._say, reasons)),
            notes=tuple(self._say_all([note for note in content.notes if note.text not in reasons])),
            added=content.added,
            removed=content.removed,
            binary=content.binary,
            fits=content.fits,
            conflicts=len(content.conflicts),
            editable=content.fits and content.new is not None and _amendable(self._plan),
            before=texts.before,
            after=texts.after,
            why_no_text=UNSET if texts.why is None else self._say(texts.why),
            hunks=tuple(_hunks(content)),
            comments=tuple(self._comments(spec, content)),
        )

    def _texts(self, spec: ActionSpecExt, content: SectionContent) -> _Texts:
        if not spec.validated or spec.base.kind not in CHANGING or spec.base.kind is SpecKind.MKDIR:
            return _Texts(None, None)
        if content.old is None and content.after is None and any(_states(spec)):
            if content.fits:
                return _Texts(why=Text("its content is not kept any more"))
            return _Texts(why=Text("the file changed since the proposer saw it"))
        if content.binary:
            return _Texts(why=Text("it is not text"))
        sizes = len(content.old or b""), len(content.after or b"")
        if max(sizes) > self._most or sum(sizes) > self._room:
            return _Texts(why=Text("it is too large to be shown here"))
        self._room -= sum(sizes)
        try:
            return _Texts(_decode(content.old), _decode(content.after))
        except UnicodeDecodeError:
            return _Texts(why=Text("it is not UTF-8"))

    def _comments(self, spec: ActionSpecExt, content: SectionContent) -> Iterator[ReviewComment]:
        paths = {file.path for file in spec.touched}
        for given in comments_now(self._plan.document):
            if given.path in paths:
                outdated = not _says(content, given)
                yield ReviewComment(
                    given.line, given.side, given.text, self._who, given.timestamp, outdated=outdated
                )


def _states(spec: ActionSpecExt) -> Iterator[FileState | None]:
    for file in spec.touched:
        yield from (file.before, file.after)


def _decode(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def _hunks(content: SectionContent) -> Iterator[ReviewedHunk]:
    """A conflict is none: it has to be decided, not dropped."""
    plain = (hunk for hunk in content.hunks if isinstance(hunk, Hunk))
    for number, hunk in enumerate(plain, 1):
        yield ReviewedHunk(number, hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count)


def _says(content: SectionContent, given: LineComment) -> bool:
    """Whether the line is still the one that the comment is about."""
    data = content.old if given.side is Side.OLD else content.after
    lines = (data or b"").split(b"\n")
    if not 1 <= given.line <= len(lines):
        return False
    return lines[given.line - 1].decode("utf-8", "backslashreplace").startswith(given.quote)


def _explanation(document: PlanDocument) -> str:
    plan, change = document.plan, document.change
    said = [plan.rationale]
    if change:
        said += [change.explanation.summary, change.explanation.details]
    if not document.state.action_specs:
        said.append(plan.content)
    return "\n\n".join(dict.fromkeys(filter(None, (one.strip() for one in said))))


def _decide(plan: ReviewedPlan) -> Decide:
    counting = [one.data for one in plan.workspace.signers.counting()]
    keys = tuple(str(key) for key in own_keys(plan.workspace.environment, counting))
    sign = f" --sign {shlex.quote(keys[0])}" if keys else ""
    seen = f"--seen {plan.document.plan.version}"
    return Decide(f"ringi review {plan.name}", f"ringi apply {plan.name} {seen}{sign}", keys)


def _amendable(plan: ReviewedPlan) -> bool:
    return bool(plan.specs) and plan.status in OPEN and not plan.document.change
