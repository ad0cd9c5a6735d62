"""One plan as last shown to the person; each change they make is a new version of exactly that."""

from collections.abc import Iterator, Sequence
from typing import Final

from ringi.domain.answer import Amendment, DropHunks, DropSpec, NewContent
from ringi.domain.approval import ApprovalRequest, ApprovedPlan, Proof, files_of
from ringi.domain.events import Actor
from ringi.domain.feedback import LineComment, Side
from ringi.domain.plan import (
    ALL_SPECS,
    OPEN,
    ActionSpecExt,
    Overlap,
    PlanDocument,
    PlanPreview,
    PlanRef,
    PlanStatus,
)
from ringi.errors import InvalidSpecs, NoCommit, PlanChanged, Stale, Superseded
from ringi.plans.commit import announced
from ringi.plans.effects import packed
from ringi.plans.overlaps import overlaps
from ringi.plans.preview import preview
from ringi.plans.propose import keep_specs, set_specs
from ringi.text import Text
from ringi.usecases.sections import Loader
from ringi.usecases.workspace import OpenWorkspace
from ringi.views import review as views
from ringi.views import words
from ringi.views.diff import Section
from ringi.views.lines import Span, Style
from ringi.workspace.tree import differing

_DORMANT: Final = frozenset([PlanStatus.PROPOSED, PlanStatus.ABORTED])


class ReviewedPlan:
    def __init__(self, workspace: OpenWorkspace, plan_id: str) -> None:
        self.tool = workspace.plan
        self.versions = workspace.versions
        self.services = workspace.services
        self.plan_id = plan_id
        self._made_of: dict[int, int] = {}
        """For each version that the person made in this review, the version before it."""
        self._sections: list[Section] = []
        self.look()

    def look(self) -> None:
        """Reads the current plan; this is what the person sees from now on."""
        found = self.services.store.plan(self.plan_id)
        self._take(found.revision, found.document)
        self.stale: tuple[str, ...] = ()
        """Files that are known to have changed since the proposer saw them."""

    def _take(self, revision: int, document: PlanDocument) -> None:
        self.revision, self.document = revision, document
        self.ref: PlanRef = self.services.store.ref(self.plan_id)

    @property
    def name(self) -> str:
        return self.ref.name

    @property
    def status(self) -> PlanStatus:
        return self.document.state.status

    @property
    def specs(self) -> Sequence[ActionSpecExt]:
        return self.document.state.action_specs

    def sections(self, *, anew: bool = False) -> list[Section]:
        """The diff, one section for each spec; with `anew` every file is read again."""
        known = () if anew else self._sections
        self._sections = Loader(self.services, self.document).sections(known)
        return self._sections

    def amend(self, amendment: Amendment) -> None:
        before = self.document.plan.version
        report = self.tool.amend(self.plan_id, [amendment], seen=self.document)
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
        specs = self.services.store.specs(self.plan_id, before)
        if wrong := differing(self.services.tree, files_of(specs)):
            raise Stale(plan=self.name, paths=", ".join(wrong))
        did = views.amended(views.amendments(self.document)[-1:])
        report = self.versions.revert(self.plan_id, before, actor=Actor.USER)
        if not report.ok:
            raise InvalidSpecs(plan=self.name, issues=report.issues[0])
        if before in self._made_of:
            self._made_of[now + 1] = self._made_of[before]
        self.look()
        return Text("taken back: {what}", what=did)

    def comment(self, path: str, line: int, text: str, side: Side) -> LineComment:
        given = self.tool.comment(self.plan_id, path, line, text, side=side, seen=self.document)
        self.require_as_shown()
        return given

    def moved_on(self) -> PlanDocument | None:
        """The current plan, if it differs from the one shown."""
        if self.services.store.revision(self.plan_id) == self.revision:
            return None
        now = self.services.store.plan(self.plan_id)
        if _decided_by(now.document) != _decided_by(self.document):
            return now.document
        # Only a request, check or comment was added. Keep the shown version: later changes were not compared.
        self._take(now.revision, now.document)
        return None

    def require_as_shown(self) -> None:
        if self.moved_on():
            raise PlanChanged(plan=self.name)

    def ask(self) -> ApprovalRequest | None:
        """The request to approve; None if a standing approval covered it."""
        now = self.moved_on()
        if now is not None and now.state.status is self.status:
            raise PlanChanged(plan=self.name)
        asked = self.tool.ask(self.plan_id, seen=self.document)
        return None if isinstance(self.tool.outcome(self.plan_id), ApprovedPlan) else asked

    def approve(self, proof: Proof, note: str = "") -> None:
        self.tool.approve(self.plan_id, self.services.person.user(), ALL_SPECS, proof, note)

    def reject(self, feedback: str) -> None:
        self.require_as_shown()
        self.tool.reject(self.plan_id, feedback)


def drop(plan: ReviewedPlan, spec: ActionSpecExt) -> Text:
    plan.amend(DropSpec(spec.id))
    return Text("{path} dropped", path=words.subject(spec.base))


def drop_hunk(plan: ReviewedPlan, spec: ActionSpecExt, hunk: int) -> Text:
    plan.amend(DropHunks(spec.id, (hunk,)))
    return Text("hunk {number} of {path} dropped", number=hunk, path=spec.base.path)


def rewrite(plan: ReviewedPlan, spec: ActionSpecExt, new: bytes) -> Text:
    """Gives the spec's file other content; the plan counts the changed lines."""
    content, encoding = packed(new)
    plan.amend(NewContent(spec.id, content, encoding))
    return views.amended(views.amendments(plan.document)[-1:])


def update(plan: ReviewedPlan) -> Text:
    """The same specs, measured against the files as they are now."""
    plan.require_as_shown()
    bases = [spec.base for spec in plan.specs]
    reason = "brought to the files as they are now"
    report = plan.tool.set_action_specs(plan.plan_id, bases, actor=Actor.USER, reason=reason)
    if not report.ok:
        return Text("It does not fit your files as they are: {why}", why=report.issues[0])
    plan.look()
    return Text("Updated to your files as they are now; it may delete lines you wrote meanwhile.")


def is_dormant(plan: ReviewedPlan) -> bool:
    """True if it must be reopened before anybody can decide."""
    if plan.document.change and plan.document.change.superseded_at:
        raise Superseded(plan=plan.name)
    return plan.status in _DORMANT


def take_up(plan: ReviewedPlan) -> None:
    """Reopens a plan that was declined, rolled back or imported from files."""
    services, plan_id, specs, reason = plan.services, plan.plan_id, plan.specs, "taken up again"
    if plan.document.change:
        plan.tool.mark_pending(plan_id, pending=True)
    elif all(spec.validated for spec in specs):
        ids = [spec.id for spec in specs]
        keep_specs(services, plan_id, ids, seen=plan.document, actor=Actor.USER, reason=reason)
    else:
        # Imported from files: keep what the proposer saw as the basis, so that later changes are noticed.
        basis = {file.path: file.before for spec in specs for file in spec.touched}
        bases = [spec.base for spec in specs]
        set_specs(services, plan_id, bases, basis=basis, actor=Actor.USER, reason=reason)
    plan.look()


def preview_of(plan: ReviewedPlan) -> PlanPreview:
    """What it would do to the current files, with all diffs."""
    return preview(plan.services, plan.document)


def overlaps_of(plan: ReviewedPlan) -> tuple[Overlap, ...]:
    """Other open plans that change the same files."""
    return () if plan.status is PlanStatus.COMPLETED else overlaps(plan.services, plan.document)


def warnings_of(plan: ReviewedPlan, found: Sequence[Overlap]) -> tuple[Span, ...]:
    """The commit that follows, and conflicts with the workspace and other plans."""
    return (*_commit(plan), *views.warning_spans(plan.document, found))


def _commit(plan: ReviewedPlan) -> Iterator[Span]:
    if not plan.document.state.commit or plan.status not in OPEN:
        return
    try:
        found = announced(plan.services, plan.document)
    except NoCommit as error:
        yield Span(Text("! {why}", why=Text(error.message, **error.details)), Style.WARNING)
        return
    if found is not None:
        yield from views.commit_spans(found)


def _decided_by(document: PlanDocument) -> tuple[object, ...]:
    """The parts of a plan that matter for a decision."""
    state = document.state
    return document.specs_sha256, document.plan.version, state.status, state.commit
