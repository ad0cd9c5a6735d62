"""Plans for similar requests: kept once approved, offered to a person, used only if that person says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ringi.approvals.forge import ForgeTerms
from ringi.engine.design import Design
from ringi.engine.document import PlanningDocument
from ringi.engine.run_state import RunPhase, StepStatus
from ringi.errors import BadBrought, RingiError
from ringi.kernel import codec
from ringi.kernel.system import Clock
from ringi.kernel.text import Text
from ringi.ledger.event import Actor
from ringi.ledger.subject import is_session, short
from ringi.ledger.vault import SealedFiles
from ringi.models.cache import AnswerOrigin, KeptCounts, KeptPlan, PlanKind, SimilarPlan
from ringi.models.prompt import NewCriterion, NewPath, NewStep, NewSummary
from ringi.models.usage import Language, TokenUsage
from ringi.project.context import Gathered
from ringi.sessions.design import CACHE, summary_alone
from ringi.sessions.document import PlanningSession, SessionStatus, SessionView, StoredSession
from ringi.tree.tree import Tree

if TYPE_CHECKING:
    from ringi.app.store import Store
    from ringi.app.workspace import Workspace
    from ringi.runs.document import Run

PLAN: Final = "plan"


class CachedPlanOffer(NamedTuple):
    plan: KeptPlan
    alike: float

    def describe(self, *, used: bool = False) -> SimilarPlan:
        plan = self.plan
        return SimilarPlan(
            task=plan.task, alike=round(self.alike, 2), made_at=plan.made_at, model=plan.model, used=used
        )


class PlanCache:
    """Of one workspace."""

    def __init__(
        self,
        *,
        vault: SealedFiles,
        clock: Clock,
        ttl_sec: int,
        store: Store,
        secret: Callable[[str], bool],
        tally: Callable[[], tuple[int, int]],
        saved: Callable[[int, int], None],
        why_not: Callable[[], Text | None],
    ) -> None:
        """`secret` tells whether a text holds what looks like one, `tally` the calls and tokens that were
        saved so far, `saved` adds to them, and `why_not` says why nothing is kept.
        """
        self._vault = vault
        self._clock = clock
        self._ttl_sec = ttl_sec
        self._store = store
        self._secret = secret
        self._tally = tally
        self._saved = saved
        self.why_not = why_not
        self.reads = True
        """A person who wants everything anew switches it off."""

    def counts(self) -> KeptCounts:
        files = [*self._vault.files()]
        calls, tokens = self._tally()
        why = self.why_not()
        plans = sum(1 for one in files if one.name.startswith(PLAN))
        return KeptCounts(
            enabled=why is None,
            why_not="" if why is None else str(why),
            answers=len(files) - plans,
            plans=plans,
            bytes=sum(one.size for one in files),
            ttl=self._ttl_sec,
            saved_calls=calls,
            saved_tokens=tokens,
        )

    # --- plans for similar requests

    def remember(self, plan: KeptPlan) -> None:
        """Unless it holds what looks like a secret, or its files have changed since."""
        texts = (plan.task, plan.value, *plan.reads)
        if self.why_not() is None and not any(map(self._secret, texts)):
            self._vault.sweep(self._ttl_sec)
            self._vault.put(_name(plan.kind, plan.task), codec.canonical(plan))

    def similar(
        self, kind: PlanKind, task: str, files: Callable[[str], str | None], snapshot: Callable[[], str]
    ) -> CachedPlanOffer | None:
        """The plan for the most similar request, if the files that it is about are as they were.

        None for the same request on the same files: that is answered exactly.
        """
        if not self.reads or self.why_not() is not None:
            return None
        from ringi.project.similar import compare  # noqa: PLC0415  # most commands compare no requests

        plans = [*self._plans(kind)]
        if any(one.task == task for one in plans):
            now = snapshot()
            plans = [one for one in plans if (one.task, one.snapshot) != (task, now)]
        found = [CachedPlanOffer(one, share) for one in plans if (share := compare(one.task, task))]
        for offer in sorted(found, key=lambda one: (one.alike, one.plan.made_at), reverse=True):
            unchanged = all(files(path) == digest for path, digest in offer.plan.reads.items())
            if unchanged and is_accepted(self._store, offer.plan.origin):
                return offer
        return None

    def usage(self, offer: CachedPlanOffer) -> TokenUsage:
        return TokenUsage(reused=1, saved_tokens=offer.plan.tokens, reused_from=offer.plan.made_at)

    def took(self, offer: CachedPlanOffer) -> None:
        """A person took it: counts what that saved."""
        self._saved(max(offer.plan.calls, 1), offer.plan.tokens)

    def _plans(self, kind: PlanKind) -> Iterator[KeptPlan]:
        now, oldest = self._clock.now(), self._clock.after(-self._ttl_sec)
        for file in self._vault.files():
            if not file.name.startswith(f"{PLAN}-"):
                continue
            data = self._vault.get(file.name)
            with suppress(RingiError):  # of another version
                plan = codec.decode_foreign(data, KeptPlan, file.name) if data is not None else None
                if plan is None or plan.kind is not kind:
                    continue
                if oldest < plan.made_at <= now:
                    yield plan
                else:
                    self._vault.drop(file.name)

    def clear(self) -> int:
        return self._vault.clear()

    def sweep(self) -> int:
        """Removes what has expired."""
        return self._vault.sweep(self._ttl_sec)


def _name(kind: PlanKind, task: str) -> str:
    return f"{PLAN}-{codec.digest(f'{kind} {task}'.encode('utf-8', 'backslashreplace'))}"


def is_accepted(store: Store, origin: AnswerOrigin) -> bool:
    """Whether what an answer was for came to a good end, by what the ledger says now."""
    try:
        if origin.step_id:
            return _step_done(store.runs.get(origin.subject), origin)
        if is_session(origin.subject):
            session = store.sessions.get(origin.subject).session
            if session.status is not SessionStatus.APPROVED:
                return False
            return not session.planner_session_id or _stands(store.runs.get(session.planner_session_id))
    except RingiError:  # gone, or unreadable
        return False
    return True


def _step_done(run: Run, origin: AnswerOrigin) -> bool:
    """The turn was the last of its role at the step, and the step was approved and committed."""
    step = next((one for one in run.steps if one.step_id == origin.step_id), None)
    if step is None or step.status is not StepStatus.DONE or run.undone:
        return False
    turns = [number for number, one in enumerate(step.attempts, 1) if one.role == origin.role]
    return turns[-1:] == [origin.turn] and not step.attempts[origin.turn - 1].problem


def _stands(run: Run) -> bool:
    """It was not taken back, ended or planned anew."""
    return not (run.undone or run.replaced_by or run.phase is RunPhase.CANCELLED)


_MOST_FILES: Final = 64
_NONE_FIRST: Final = ("questions", "decisions")
"""Nothing is asked before a design that is there already."""


def find(workspace: Workspace, kind: PlanKind, task: str) -> CachedPlanOffer | None:
    """The plan for a similar request."""
    tree = workspace.tree
    return workspace.cache.similar(kind, task, lambda path: _digest(tree, path), workspace.code.snapshot)


def remember_approved(workspace: Workspace, stored: StoredSession) -> None:
    """A person approved this design."""
    if workspace.caching.keeps_designs_of(stored.facts.model):
        with suppress(RingiError):  # the approval counts, even if this fails
            _remember_design(workspace, stored)


def _remember_design(workspace: Workspace, stored: StoredSession) -> None:
    session, facts = stored.session, stored.facts
    design = facts.design
    # What a request file or feedback says is not in the instruction.
    if design is None or facts.request or facts.feedback or not _is_current(workspace, facts.snapshot):
        return
    found = (one.path for one in facts.project.found)
    named = (one.path for one in design.target_paths if not one.new)
    plan = KeptPlan(
        made_at=workspace.clock.now(),
        task=session.instruction,
        kind=PlanKind.DESIGN,
        value=codec.canonical(_as_summary(session, design, facts.language)).decode(),
        model=facts.model,
        snapshot=facts.snapshot,
        reads={},
        origin=AnswerOrigin(subject=session.session_id),
        calls=facts.usage.requests,
        tokens=facts.usage.input_tokens + facts.usage.output_tokens,
    )
    _keep(workspace, plan, (*found, *facts.files, *named))


def _as_summary(session: PlanningSession, design: Design, language: Language) -> NewSummary:
    """As a planner would bring it."""
    return NewSummary(
        summary=summary_alone(session.design_summary or "", language) or session.instruction,
        acceptance_criteria=tuple(NewCriterion(c.given, c.when, c.then) for c in design.acceptance_criteria),
        target_paths=tuple(NewPath(one.path, one.new) for one in design.target_paths),
        test_commands=design.test_commands,
        assumptions=design.assumptions,
        out_of_scope=design.out_of_scope,
        open_points=design.open_points,
        steps=tuple(NewStep(s.title, s.target_paths, s.criteria, s.test_commands) for s in design.steps),
    )


def remember_outline(
    workspace: Workspace, task: str, gathered: Gathered, document: PlanningDocument, model: str,
    used: Iterable[TokenUsage],
) -> None:  # fmt: skip
    taken = [*used]
    if not _is_current(workspace, gathered.snapshot):
        return
    plan = KeptPlan(
        made_at=workspace.clock.now(),
        task=task,
        kind=PlanKind.OUTLINE,
        value=codec.canonical(document).decode(),
        model=model,
        snapshot=gathered.snapshot,
        reads={},
        calls=sum(one.requests for one in taken),
        tokens=sum(one.input_tokens + one.output_tokens for one in taken),
    )
    _keep(workspace, plan, (one.path for one in gathered.context.files))


def start_with(
    workspace: Workspace, words: str, offer: CachedPlanOffer, actor: Actor, forge: ForgeTerms | None = None
) -> SessionView:
    """A session whose design is the one that was offered; a person reviews it like any other.

    Raises BadBrought if the project has no place for it any more; then there is no session.
    """
    tool, plan = workspace.planning, offer.plan
    session_id = tool.start(words, actor=actor, agent_brings=True, forge=forge).session_id
    try:
        design = codec.decode_foreign(plan.value.encode(), NewSummary, "design")
        brought = {**{name: [] for name in _NONE_FIRST}, "design": msgspec.to_builtins(design)}
        who = f"{CACHE}{short(plan.origin.subject)}"
        view = tool.bring(session_id, brought, who, workspace.cache.usage(offer))
    except RingiError as error:
        tool.cancel(session_id)
        why = error.details.get("why") or str(error)
        raise BadBrought(what=plan.task, why=why) from None
    workspace.cache.took(offer)
    return view


def _keep(workspace: Workspace, plan: KeptPlan, paths: Iterable[str]) -> None:
    """Unless it is about more than files that can be compared later."""
    reads = {path: _digest(workspace.tree, path) for path in sorted({*paths})}
    known = {path: digest for path, digest in reads.items() if digest is not None}
    if len(known) == len(reads) <= _MOST_FILES:
        workspace.cache.remember(msgspec.structs.replace(plan, reads=known))


def _is_current(workspace: Workspace, snapshot: str) -> bool:
    return bool(snapshot) and workspace.code.snapshot() == snapshot


def _digest(tree: Tree, path: str) -> str | None:
    """Empty if there is nothing; None for a folder, or what cannot be read."""
    try:
        found = tree.look(path)
    except (RingiError, OSError):
        return None
    return found.state.sha256 if found else ""
