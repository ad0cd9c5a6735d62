"""One plan and its diff as last shown to the person; each change they make is a new version of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET

from ringi.approvals.document import ApprovalRequest, ApprovedPlan, Proof, files_of
from ringi.approvals.feedback import LineComment, Side
from ringi.errors import InvalidSpecs, NoCommit, PlanChanged, Refused, Stale, StorageFailed
from ringi.kernel import codec
from ringi.kernel.lines import Style, TextSpan
from ringi.kernel.text import Text, restore_text
from ringi.ledger.event import Actor
from ringi.patch.conflict import Decision
from ringi.patch.patch import Hunk
from ringi.plans import answer, words
from ringi.plans import review_view as views
from ringi.plans.commit import announce
from ringi.plans.diff_view import MOST_NOTES, ConflictHunk, DiffSection, SectionContent, hunks_of
from ringi.plans.document import (
    OPEN,
    Amendment,
    DropHunks,
    DropSpec,
    NewContent,
    Overlap,
    PlanDocument,
    PlanPreview,
    PlanRef,
    PlanStatus,
    comments_now,
)
from ringi.plans.effects import Effect, Invalid, effects_of, looking, pack, rendering, rules_of
from ringi.plans.merge import (
    Decisions,
    FileMerge,
    Key,
    OpenConflict,
    file_merge,
    find_changed_files,
    is_changed,
)
from ringi.plans.overlaps import overlaps
from ringi.plans.preview import effects_done, find_lost_lines, preview, risk_now, show_spec
from ringi.plans.propose import keep_specs, refuse_rejected, set_specs
from ringi.policy.spec_kind import CHANGING, SpecKind
from ringi.tree.action_spec import ALL_SPECS, ActionSpecExt
from ringi.tree.tree import find_differing

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_IN_LINES: Final = frozenset([SpecKind.CREATE, SpecKind.WRITE, SpecKind.PATCH])
_DORMANT: Final = frozenset([PlanStatus.PROPOSED, PlanStatus.ABORTED])


class ReviewedPlan:
    def __init__(self, workspace: Workspace, plan_id: str) -> None:
        self.workspace = workspace
        self.tool = workspace.plan
        self.versions = workspace.versions
        self.switch_to(plan_id)

    def switch_to(self, plan_id: str) -> None:
        self.plan_id = plan_id
        self._made_of: dict[int, int] = {}
        """For each version that the person made in this review, the version before it."""
        self._sections: list[DiffSection] = []
        self.decisions: dict[Key, Decision] = {}
        """What the person decided about conflicts; nothing is saved before all are decided."""
        self.look()

    def look(self) -> None:
        """Reads the current plan; this is what the person sees from now on."""
        found = self.workspace.store.plans.get(self.plan_id)
        if self.decisions and found.document.specs_sha256 != self.document.specs_sha256:
            self.decisions.clear()  # they were about another version
        self._take(found.revision, found.document)
        self.stale: tuple[str, ...] = ()
        """Files that are known to have changed since the proposer saw them."""
        self.conflicts: tuple[OpenConflict, ...] = ()
        """What is to be decided, as far as it is known."""

    def _take(self, revision: int, document: PlanDocument) -> None:
        self.revision, self.document = revision, document
        self.ref: PlanRef = self.workspace.store.plans.ref(self.plan_id)

    @property
    def name(self) -> str:
        return self.ref.name

    @property
    def status(self) -> PlanStatus:
        return self.document.state.status

    @property
    def specs(self) -> Sequence[ActionSpecExt]:
        return self.document.state.action_specs

    def sections(self, *, anew: bool = False) -> list[DiffSection]:
        """The diff, one section for each spec; with `anew` every file is read again."""
        known = () if anew else self._sections
        self._sections = _Sections(self.workspace, self.document, self.decisions).load(known)
        return self._sections

    def amend(self, *amendments: Amendment) -> None:
        """All of them make one new version."""
        before = self.document.plan.version
        report = self.tool.amend(self.plan_id, amendments, seen=self.document)
        if not report.ok:
            raise InvalidSpecs(plan=self.name, issues=report.issues[0])
        self.look()
        if self.document.plan.version == before:
            raise InvalidSpecs(plan=self.name, issues=Text("nothing would be different"))
        self._made_of[before + 1] = before

    @property
    def can_take_back(self) -> bool:
        return self.document.plan.version in self._made_of

    def take_back(self) -> Text:
        """Undoes the last change of this review by restoring the version before it."""
        self.require_as_shown()
        now = self.document.plan.version
        before = self._made_of[now]
        specs = self.workspace.store.plans.specs(self.plan_id, before)
        if wrong := find_differing(self.workspace.tree, files_of(specs)):
            raise Stale(plan=self.name, paths=", ".join(wrong))
        did = views.format_amended(views.amendments(self.document)[-1:])
        report = self.versions.revert(self.plan_id, before, actor=Actor.USER, withdraw=True)
        if not report.ok:
            raise InvalidSpecs(plan=self.name, issues=report.issues[0])
        if before in self._made_of:
            self._made_of[now + 1] = self._made_of[before]
        self.look()
        return Text("taken back: {what}", what=did)

    def find_change(self) -> PlanDocument | None:
        """The current plan, if it differs from the one shown."""
        if self.workspace.store.plans.revision(self.plan_id) == self.revision:
            return None
        now = self.workspace.store.plans.get(self.plan_id)
        if _decision_facts(now.document) != _decision_facts(self.document):
            return now.document
        # Only a request, check or comment was added. Keep the shown version: later changes were not compared.
        self._take(now.revision, now.document)
        return None

    def require_as_shown(self) -> None:
        if self.find_change():
            raise PlanChanged(plan=self.name)

    def ask(self) -> ApprovalRequest | None:
        """The request to approve; None if a standing approval covered it."""
        now = self.find_change()
        if now is not None and now.state.status is self.status:
            raise PlanChanged(plan=self.name)
        asked = self.tool.ask(self.plan_id, seen=self.document)
        return None if isinstance(self.tool.outcome(self.plan_id), ApprovedPlan) else asked

    def approve(self, proof: Proof, note: str = "") -> None:
        self.tool.approve(self.plan_id, self.workspace.person.user(), ALL_SPECS, proof, note)

    def reject(self, feedback: str) -> None:
        self.require_as_shown()
        self.tool.reject(self.plan_id, feedback)


def discard(plan: ReviewedPlan) -> None:
    plan.require_as_shown()
    plan.tool.discard(plan.plan_id)


def rename_commit(plan: ReviewedPlan, subject: str) -> None:
    """The rest of the message stays. Raises NoCommit if the subject cannot be one."""
    plan.require_as_shown()
    commit = plan.document.state.commit
    _, line_end, rest = (commit.message if commit else "").partition("\n")
    plan.tool.wish_commit(plan.plan_id, subject + line_end + rest)
    plan.look()


def path_of(spec: ActionSpecExt, side: Side) -> str:
    """The file of the line: the old lines of a renamed file have the old name."""
    if side is Side.OLD and spec.before is None and spec.also:
        return spec.also[0].path
    return spec.base.path


def comment_on(plan: ReviewedPlan, path: str, line: int, side: Side) -> LineComment | None:
    """What the person said about the line last."""
    given = [
        one for one in comments_now(plan.document) if (one.path, one.line, one.side) == (path, line, side)
    ]
    return given[-1] if given else None


def comment(
    plan: ReviewedPlan, path: str, line: int, text: str, side: Side, *, instead_of: LineComment | None = None
) -> None:
    plan.tool.comment(plan.plan_id, path, line, text, side=side, seen=plan.document, instead_of=instead_of)
    plan.require_as_shown()


def remove_comment(plan: ReviewedPlan, given: LineComment) -> None:
    answer.remove_comment(plan.workspace, plan.plan_id, given, seen=plan.document)
    plan.require_as_shown()


def drop(plan: ReviewedPlan, spec: ActionSpecExt) -> Text:
    plan.amend(DropSpec(spec.id))
    return Text("{path} dropped", path=words.subject(spec.base))


def drop_hunk(plan: ReviewedPlan, spec: ActionSpecExt, hunk: int) -> Text:
    plan.amend(DropHunks(spec.id, (hunk,)))
    return Text("hunk {number} of {path} dropped", number=hunk, path=spec.base.path)


def rewrite(plan: ReviewedPlan, spec: ActionSpecExt, new: bytes) -> Text:
    """Gives the spec's file other content; the plan counts the changed lines."""
    content, encoding = pack(new)
    plan.amend(NewContent(spec.id, content, encoding))
    return views.format_amended(views.amendments(plan.document)[-1:])


def find_undecided(plan: ReviewedPlan) -> tuple[OpenConflict, ...]:
    return tuple(one for one in plan.conflicts if one.key not in plan.decisions)


def is_dormant(plan: ReviewedPlan) -> bool:
    """True if it must be reopened before anybody can decide."""
    if plan.conflicts:
        return False
    refuse_rejected(plan.tool.stored(plan.plan_id))
    return plan.status in _DORMANT


def take_up(plan: ReviewedPlan) -> None:
    """Reopens a plan that was declined, rolled back or imported from files."""
    workspace, plan_id, specs, reason = plan.workspace, plan.plan_id, plan.specs, "taken up again"
    if plan.document.change:
        plan.tool.mark_pending(plan_id, pending=True)
    elif all(spec.validated for spec in specs):
        ids = [spec.id for spec in specs]
        keep_specs(workspace, plan_id, ids, seen=plan.document, actor=Actor.USER, reason=reason)
    else:
        # Imported from files: keep what the proposer saw as the basis, so that later changes are noticed.
        basis = {file.path: file.before for spec in specs for file in spec.touched}
        bases = [spec.base for spec in specs]
        set_specs(workspace, plan_id, bases, basis=basis, actor=Actor.USER, reason=reason)
    plan.look()


def open_again(plan: ReviewedPlan) -> None:
    """A new plan that does the same as one that was undone; from now on it is the one under review."""
    made = plan.versions.fork(plan.plan_id, actor=Actor.USER, again=True)
    plan.switch_to(made)


def preview_of(plan: ReviewedPlan) -> PlanPreview:
    """What it would do to the current files, with all diffs."""
    return preview(plan.workspace, plan.document)


def overlaps_of(plan: ReviewedPlan) -> tuple[Overlap, ...]:
    """Other open plans that change the same files."""
    return () if plan.status is PlanStatus.COMPLETED else overlaps(plan.workspace, plan.document)


def warnings_of(plan: ReviewedPlan, found: Sequence[Overlap]) -> tuple[TextSpan, ...]:
    """The commit that follows, and conflicts with the workspace and other plans."""
    return (*_commit(plan), *views.warning_spans(plan.document, found))


def _commit(plan: ReviewedPlan) -> Iterator[TextSpan]:
    if not plan.document.state.commit or plan.status not in OPEN:
        return
    try:
        found = announce(plan.workspace, plan.document)
    except NoCommit as error:
        yield TextSpan(Text("! {why}", why=Text(error.message, **error.details)), Style.WARNING)
        return
    if found is not None:
        yield from views.commit_spans(found)


def _decision_facts(document: PlanDocument) -> tuple[object, ...]:
    """The parts of a plan that matter for a decision."""
    state = document.state
    return document.specs_sha256, document.plan.version, state.status, state.commit


class _Sections:
    """The sections of a plan's diff against the current files, each loaded when it is first shown."""

    def __init__(self, workspace: Workspace, document: PlanDocument, decisions: Decisions) -> None:
        self._workspace = workspace
        self._document = document
        self._decisions = decisions

    def load(self, known: Sequence[DiffSection] = ()) -> list[DiffSection]:
        """One for each spec; unchanged `known` ones are reused."""
        before = {section.key: section for section in known}
        sections = []
        for spec in self._document.state.action_specs:
            comments = self._comments(spec)
            if (section := before.get(self._key(spec))) is not None:
                section.say(comments)
            else:
                section = self._section(spec, comments)
            sections.append(section)
        return sections or [self._text()]

    def _section(self, spec: ActionSpecExt, comments: Sequence[LineComment]) -> DiffSection:
        return DiffSection(
            self._key(spec),
            spec.base.path,
            words.action(spec),
            lambda: self._content(spec),
            style=words.RISK_STYLE[spec.risk],
            comments=comments,
        )

    def _key(self, spec: ActionSpecExt) -> str:
        decided = [f"{key}{given!r}" for key, given in self._decisions.items() if key[0] == spec.id]
        return _key_of(spec) + "".join(decided)

    def _comments(self, spec: ActionSpecExt) -> tuple[LineComment, ...]:
        paths = {file.path for file in spec.touched}
        return tuple(given for given in comments_now(self._document) if given.path in paths)

    def _text(self) -> DiffSection:
        """A plan without specs."""
        lines = self._document.plan.content.splitlines()
        notes = [TextSpan(Text("{line}", line=line)) for line in lines[:MOST_NOTES]]
        title = Text("only a text so far, without specs:")
        return DiffSection("", "", title, lambda: SectionContent(notes=notes))

    def _content(self, spec: ActionSpecExt) -> SectionContent:
        notes = tuple(self._notes(spec))
        if not spec.validated or spec.base.kind not in CHANGING:
            return SectionContent(notes=notes)
        if self._document.state.status is PlanStatus.COMPLETED:
            done = effects_done(self._workspace, spec)
            return _of_effects(spec, done, notes)._replace(new=None) if done else SectionContent(notes=notes)
        tree, rules = self._workspace.tree, rules_of(self._workspace)
        try:
            effects = effects_of(spec.base, looking(tree, spec.base.kind), rules, based=True)
        except (Invalid, Refused, StorageFailed, OSError):
            return self._merge(spec, notes) or self._stale(spec, notes)
        content = _of_effects(spec, effects, notes)
        if not content.fits and (merged := self._merge(spec, notes)):
            return merged
        if content.fits and spec.since is UNSET:
            return content
        lost = find_lost_lines(self._workspace, spec, rendering(effects))
        _, reasons = risk_now(spec, lost)
        more = [
            TextSpan(words.reason(spec.base.path, given), Style.WARNING)
            for given in reasons[len(spec.risk_reasons) :]
        ]
        return content._replace(yours=frozenset(lost), notes=(*content.notes, *more))

    def _merge(self, spec: ActionSpecExt, notes: Sequence[TextSpan]) -> SectionContent | None:
        """What is left of it in a file that changed meanwhile, with what is to be decided."""
        change, status = self._document.change, self._document.state.status
        if status is not PlanStatus.PENDING_REVIEW and not (change and change.superseded_at):
            return None
        merge = file_merge(self._workspace, spec)
        if merge is None:
            return None
        return _of_merge(merge, notes, self._decisions, self._document.plan.proposer)

    @cached_property
    def _changed(self) -> tuple[str, ...]:
        return find_changed_files(self._workspace, self._document)

    def _stale(self, spec: ActionSpecExt, notes: Sequence[TextSpan]) -> SectionContent:
        """What a spec that does not apply any more would do."""
        rendered = show_spec(self._workspace, spec, changed=is_changed(spec, self._changed)).rendered
        hunks, beside = (rendered.hunks, ()) if rendered.hunks else hunks_of(rendered.diff)
        return SectionContent(hunks, (*notes, *beside), rendered.added, rendered.removed, fits=False)

    def _notes(self, spec: ActionSpecExt) -> Iterator[TextSpan]:
        if not spec.validated:
            yield TextSpan(Text("cannot be carried out: {why}", why=restore_text(spec.notes)), Style.BAD)
        how = self._sandbox if spec.base.kind is SpecKind.RUN else None
        by_model = spec.id in (self._document.state.from_model or ())
        yield from map(TextSpan, words.terms(spec, how, by_model=by_model))
        for given in spec.risk_reasons:
            yield TextSpan(words.reason(spec.base.path, given), words.RISK_STYLE[spec.risk])

    @cached_property
    def _sandbox(self) -> Text:
        return words.sandbox(self._workspace.commands)


def _key_of(spec: ActionSpecExt) -> str:
    """Equal only if everything shown of the spec is equal; the hash covers the content."""
    bare = msgspec.structs.replace(spec, base=msgspec.structs.replace(spec.base, content=None))
    return codec.canonical(bare).decode()


def _of_effects(spec: ActionSpecExt, effects: Sequence[Effect], notes: Sequence[TextSpan]) -> SectionContent:
    rendered = rendering(effects)
    seen = {file.path: file.before for file in spec.touched}
    fits = spec.base.kind is SpecKind.MKDIR or all(
        effect.before == seen.get(effect.path) for effect in effects
    )
    own, source = effects[0], effects[-1]
    moved = spec.base.kind is SpecKind.MOVE  # names its source first
    old, after = (own.old, source.new) if moved else (source.old, own.new)
    if rendered.binary:
        sizes = Text("binary, {old} → {new} bytes", old=len(old or b""), new=len(after or b""))
        return SectionContent(notes=(*notes, TextSpan(sizes)), old=old, after=after, fits=fits, binary=True)
    beside = []
    if not rendered.hunks and own.new == b"" and own.before is None:
        beside.append(TextSpan(Text("an empty file")))
    new = own.new if spec.base.kind in _IN_LINES else None
    return SectionContent(
        rendered.hunks, (*notes, *beside), rendered.added, rendered.removed, old, new, after, fits
    )


def _of_merge(merge: FileMerge, notes: Sequence[TextSpan], decisions: Decisions, who: str) -> SectionContent:
    rendered, conflicts = merge.render(), merge.conflicts
    asked = [ConflictHunk(one, len(conflicts), decisions.get(one.key), who) for one in conflicts]
    together: list[Hunk | ConflictHunk] = [*rendered.hunks, *asked]
    together.sort(key=lambda hunk: hunk.old_at)
    left = merge.resolve(decisions)
    return SectionContent(
        together,
        notes,
        rendered.added,
        rendered.removed,
        merge.mine.data if merge.mine else None,
        after=left.data if left else None,
        fits=False,
        binary=rendered.binary,
    )


class News:
    """Notices changes made to the plan elsewhere during the review; reports each once."""

    def __init__(self, plan: ReviewedPlan) -> None:
        self._plan = plan
        self._told: tuple[int, PlanStatus] | None = None

    def look(self) -> TextSpan | None:
        status, now = self._plan.status, self._plan.find_change()
        if now is None:
            self._told = None
            return None
        version, became = now.plan.version, now.state.status
        if self._told == (version, became):
            return None
        self._told = (version, became)
        if became in {PlanStatus.PENDING_REVIEW, status}:
            line = Text("The plan was changed: version {version}. [s] shows it.", version=version)
        else:
            name = self._plan.name
            line = Text("{plan} was decided elsewhere: {status}", plan=name, status=words.STATUS[became])
        return TextSpan(line, Style.WARNING)
