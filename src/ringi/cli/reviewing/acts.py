"""What a person does to a plan under review, whatever they look at it with."""

from collections.abc import Sequence

from ringi.cli.app import App
from ringi.domain.amendment import Amendment, DropHunks, DropSpec, NewContent
from ringi.domain.approval import ApprovalRequest, ApprovedPlan, TypedAnswer
from ringi.domain.events import Actor
from ringi.domain.feedback import Amended, LineComment, Side
from ringi.domain.plan import (
    ALL_SPECS,
    ActionSpecExt,
    PlanDocument,
    PlanRef,
    PlanStatus,
    comments_now,
    risk_of,
)
from ringi.domain.risk import Risk
from ringi.errors import InvalidSpecs, PlanChanged, Stale, Superseded
from ringi.plans.approving import files_of
from ringi.plans.effects import packed
from ringi.plans.proofs import TYPED_LENGTH
from ringi.text import Text
from ringi.views import words
from ringi.workspace.tree import differing


class Review:
    """One plan, as the person was shown it last."""

    def __init__(self, app: App, plan_id: str) -> None:
        self.app = app
        self.tool = app.workspace.plan
        self.store = app.workspace.services.store
        self.plan_id = plan_id
        self._before: dict[int, int] = {}
        """Of a version that the person made in this review the one that it was made of."""
        self.look()

    def look(self) -> PlanDocument:
        """The plan as it is now; from here on this is what was shown."""
        return self._take(self.store.revision(self.plan_id), self.tool.get(self.plan_id))

    def _take(self, revision: int, document: PlanDocument) -> PlanDocument:
        self.revision, self.document = revision, document
        self.ref: PlanRef = self.store.ref(self.plan_id)
        return document

    @property
    def name(self) -> str:
        return self.ref.name

    def specs(self) -> Sequence[ActionSpecExt]:
        return self.document.state.action_specs

    def drop(self, spec: ActionSpecExt) -> Text:
        self._amend(DropSpec(spec.id))
        return Text("{path} dropped", path=words.subject(spec.base))

    def drop_hunk(self, spec: ActionSpecExt, hunk: int) -> Text:
        self._amend(DropHunks(spec.id, (hunk,)))
        return Text("hunk {number} of {path} dropped", number=hunk, path=spec.base.path)

    def rewrite(self, spec: ActionSpecExt, new: bytes) -> Text:
        """Other content for the spec's file; the plan itself says how many lines that was."""
        content, encoding = packed(new)
        self._amend(NewContent(spec.id, content, encoding))
        return summary(amendments(self.document)[-1:])

    def _amend(self, amendment: Amendment) -> None:
        before = self.document.plan.version
        report = self.tool.amend(self.plan_id, [amendment], seen=self.document)
        if not report.ok:
            raise InvalidSpecs(plan=self.name, issues=report.issues[0])
        self.look()
        if self.document.plan.version == before:
            raise InvalidSpecs(plan=self.name, issues=Text("nothing would be different"))
        self._before[before + 1] = before

    @property
    def can_take_back(self) -> bool:
        return self.document.plan.version in self._before

    def take_back(self) -> Text:
        """The last change of this review, by the version before it."""
        self.require_as_shown()
        tree, now = self.app.workspace.services.tree, self.document.plan.version
        before = self._before[now]
        specs = self.store.specs(self.plan_id, before) or ()
        if wrong := differing(tree, files_of(specs)):
            raise Stale(plan=self.name, paths=", ".join(wrong))
        did = summary(amendments(self.document)[-1:])
        report = self.tool.revert(self.plan_id, before, actor=Actor.USER)
        if not report.ok:
            raise InvalidSpecs(plan=self.name, issues=report.issues[0])
        if before in self._before:
            self._before[now + 1] = self._before[before]
        self.look()
        return Text("taken back: {what}", what=did)

    def comment(self, path: str, line: int, text: str, side: Side) -> LineComment:
        given = self.tool.comment(self.plan_id, path, line, text, side=side, seen=self.document)
        self.require_as_shown()
        return given

    def moved_on(self) -> PlanDocument | None:
        """The plan, where it is no longer the one that was shown."""
        revision = self.store.revision(self.plan_id)
        if revision == self.revision:
            return None
        now = self.tool.get(self.plan_id)
        if _decided_by(now) != _decided_by(self.document):
            return now
        # Somebody asked, checked or commented. Not looked at anew: what came since was not compared.
        self._take(revision, now)
        return None

    def require_as_shown(self) -> None:
        if self.moved_on():
            raise PlanChanged(plan=self.name)

    def ask(self) -> ApprovalRequest | None:
        """What exactly the person is asked; None where a standing approval has answered."""
        now = self.moved_on()
        if now is not None and now.state.status is self.document.state.status:
            raise PlanChanged(plan=self.name)
        asked = self.tool.ask(self.plan_id, seen=self.document)
        return None if isinstance(self.tool.outcome(self.plan_id), ApprovedPlan) else asked

    def approve(self, asked: ApprovalRequest, typed: str, note: str = "") -> None:
        who = self.app.workspace.person.user()
        self.tool.approve(self.plan_id, who, ALL_SPECS, TypedAnswer(asked.digest, typed), note)


def reject(review: Review, feedback: str) -> None:
    review.require_as_shown()
    review.tool.reject(review.plan_id, feedback)


def update(review: Review) -> Text:
    """The same specs, measured against the files as they are now."""
    review.require_as_shown()
    bases = [spec.base for spec in review.specs()]
    reason = "brought to the files as they are now"
    report = review.tool.set_action_specs(review.plan_id, bases, actor=Actor.USER, reason=reason)
    if not report.ok:
        return Text("It does not fit your files as they are: {why}", why=report.issues[0])
    review.look()
    return Text("Measured against your files as they are; lines you wrote since may go.")


def must_be_taken_up(review: Review) -> bool:
    if review.document.change and review.document.change.superseded_at:
        raise Superseded(plan=review.name)
    return review.document.state.status in {PlanStatus.PROPOSED, PlanStatus.ABORTED}


def take_up(review: Review) -> None:
    """Declined, rolled back or brought in from files: it waits again."""
    specs, reason = review.specs(), "taken up again"
    if review.document.change:
        review.tool.mark_pending(review.plan_id, pending=True)
    elif all(spec.validated for spec in specs):
        ids = [spec.id for spec in specs]
        review.tool.keep_specs(review.plan_id, ids, seen=review.document, actor=Actor.USER, reason=reason)
    else:
        # Brought in from files: what the proposer saw stays the basis, so that a change since is noticed.
        basis = {file.path: file.before for spec in specs for file in spec.touched}
        bases = [spec.base for spec in specs]
        review.tool.set_specs_on(review.plan_id, bases, basis, actor=Actor.USER, reason=reason)
    review.look()


def _decided_by(document: PlanDocument) -> tuple[object, ...]:
    """What makes a plan another one for whoever decides about it."""
    state = document.state
    return document.specs_sha256, document.plan.version, state.status, state.commit


def to_type(document: PlanDocument, asked: ApprovalRequest) -> str | None:
    """For a high risk, the beginning of the digest of exactly what is approved; else one key is enough."""
    return asked.digest[:TYPED_LENGTH] if risk_of(document, ALL_SPECS) is Risk.HIGH else None


def amendments(document: PlanDocument) -> list[Amended]:
    """What the person changed in what was proposed last, here and in earlier reviews."""
    since = document.state.amended_from or document.plan.version
    given = [one.amended for one in document.state.feedback if one.amended]
    return [one for one in given if one.version > since]


def summary(did: Sequence[Amended]) -> Text:
    hunks, files = sum(one.hunks for one in did), sum(one.files for one in did)
    lines, contents = sum(one.lines for one in did), sum(one.contents for one in did)
    found = []
    if hunks:
        found.append(Text("1 hunk dropped") if hunks == 1 else Text("{count} hunks dropped", count=hunks))
    if files:
        found.append(Text("1 file dropped") if files == 1 else Text("{count} files dropped", count=files))
    if lines:
        found.append(Text("1 line edited") if lines == 1 else Text("{count} lines edited", count=lines))
    if contents:
        found.append(Text("files with other content: {count}", count=contents))
    return joined(found, ", ")


def joined(texts: Sequence[Text], between: str = " · ") -> Text:
    """Sentences in one line, each translated by itself."""
    if not texts:
        return Text("{nothing}", nothing="")
    names = [f"t{number}" for number in range(len(texts))]
    return Text(between.join(f"{{{name}}}" for name in names), **dict(zip(names, texts, strict=True)))


def told(review: Review) -> Text | None:
    """What the proposer hears of what the person did; None where that is nothing."""
    did = amendments(review.document)
    found = [summary(did)] if did else []
    count = len(comments_now(review.document))
    if count:
        found.append(Text("1 comment") if count == 1 else Text("{count} comments", count=count))
    if not found:
        return None
    who = review.document.plan.proposer or Text("the proposer")
    return Text("{who} will be told: {what} by you", who=who, what=joined(found, ", "))
