"""What an agent brings to a session in place of a model: checked alike, applied as far as it is due."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ringi.engine.call_log import LoggedCall
from ringi.errors import BadBrought, BadDocument
from ringi.kernel import codec
from ringi.kernel.problems import Fault, below, decode_or_explain, in_words
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.models.prompt import (
    MOST_DECISIONS,
    MOST_FINDINGS,
    MOST_QUESTIONS,
    Brought,
    BroughtDecision,
    BroughtFinding,
    ChangedDecision,
    Exchange,
    NewDecision,
    NewDecisions,
    NewQuestions,
    NewRevision,
    NewSummary,
)
from ringi.models.usage import Purpose, TokenUsage
from ringi.sessions import operations
from ringi.sessions.design import CheckedDesign, check_design, is_outside, plain_line, plain_path
from ringi.sessions.document import AgentPending, DecisionPending, Pending, QuestionPending, StoredSession
from ringi.sessions.model import add_usage, apply_summary, project_of, with_context
from ringi.sessions.operations import SessionState, pending, questions_left, state_of
from ringi.sessions.save import call_entry, log_phase, save

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

AGENT: Final = "agent"
"""In place of the model's name."""
_WHAT: Final = Text("What the agent brought")
_PARTS: Final = ("questions", "decisions", "dropped", "design")
_TAKES: Final = {
    Purpose.DISCOVERY: ("questions",),
    Purpose.DESIGN: ("decisions", "questions"),
    Purpose.REVISION: ("decisions", "dropped"),
    Purpose.REVIEW: ("design",),
    Purpose.TARGETS: ("design",),
}
"""The first is what is due."""


def bring(
    workspace: Workspace,
    stored: StoredSession,
    due: AgentPending,
    brought: Brought,
    who: str = AGENT,
    used: TokenUsage = TokenUsage(),  # noqa: B008  # frozen
) -> StoredSession:
    """All of it or nothing. `used`: what it took, if that is known. Raises BadBrought."""
    before = state_of(stored)
    step = _InputStep(workspace, with_context(workspace, before).with_facts(model=who), brought)
    step.take()
    if step.faults:
        raise BadBrought(what=_WHAT, why=in_words(step.faults))
    purpose = step.done[0] if step.done else due.purpose
    state = step.state.with_facts(model=who)
    if used.requests or used.reused:
        state = add_usage(state, Purpose.REVIEW, used)
    phase = log_phase(purpose, stored.session.status)
    said = Exchange("", codec.canonical(brought).decode())
    call = LoggedCall(purpose, who, used, (said,), before.facts.model)
    event = NewEvent(EventKind.SESSION_BROUGHT, Actor.AI, ", ".join(step.done))
    return save(workspace, stored, state, event, [call_entry(workspace, phase, call)])


def read(brought: Brought | Mapping[str, Any]) -> Brought:
    """Strictly, from every source. Raises BadBrought with everything that is wrong."""
    try:
        return decode_or_explain(msgspec.json.encode(brought), Brought, "")
    except UnicodeEncodeError:
        raise BadBrought(what=_WHAT, why=codec.NOT_TEXT) from None
    except TypeError as error:
        raise BadBrought(what=_WHAT, why=str(error)) from None
    except BadDocument as error:
        raise BadBrought(what=_WHAT, why=error.details["why"]) from None


class _InputStep:
    def __init__(self, workspace: Workspace, state: SessionState, brought: Brought) -> None:
        self._workspace = workspace
        self._brought = brought
        self._now = workspace.clock.now()
        self._left = {name for name in _PARTS if getattr(brought, name) is not None}
        if not brought.dropped:
            self._left.discard("dropped")
        self.state = state
        self.done: list[Purpose] = []
        self.faults: list[Fault] = []

    def take(self) -> None:
        self._find()
        design = self._check_design()
        while isinstance(now := pending(self.state), AgentPending):
            if self._left.isdisjoint(_TAKES[now.purpose]):
                break
            self._apply(now.purpose, design)
            self.done.append(now.purpose)
        if not self.faults:
            self.faults += self._unfitting(now)

    def _apply(self, purpose: Purpose, design: CheckedDesign | None) -> None:
        match purpose:
            case Purpose.DISCOVERY:
                self._left.discard("questions")
                found = NewQuestions(self._brought.questions or ())
                self.state = operations.set_questions(self.state, found, self._now)
            case Purpose.DESIGN if "questions" in self._left:
                self._left.discard("questions")
                self._ask_further()
            case Purpose.DESIGN:
                self._left.discard("decisions")
                self._design()
            case Purpose.REVISION:
                self._left -= {"decisions", "dropped"}
                self._revise()
            case _:
                self._left.discard("design")
                if design is not None and self._brought.design is not None and not self.faults:
                    self.state = apply_summary(self.state, self._brought.design.summary, design, self._now)

    def _fault(self, path: str, why: Text) -> None:
        self.faults.append(Fault(path, why))

    def _find(self) -> None:
        """Adds the findings, each with the place that it is about."""
        found, known = self._brought.findings, self.state.facts.findings
        for number, one in enumerate(found):
            if why := self._why_misplaced(one):
                self._fault(below("$.findings", number), why)
        findings = tuple(dict.fromkeys([*known, *map(_render_finding, found)]))
        if len(findings) > MOST_FINDINGS:
            why = Text("a session has room for {most} findings, {count} are left", most=MOST_FINDINGS,
                       count=MOST_FINDINGS - len(known))  # fmt: skip
            self._fault("$.findings", why)
        self.state = self.state.with_facts(findings=findings)

    def _why_misplaced(self, one: BroughtFinding) -> Text | None:
        has, path = self._workspace.code.has, plain_path(one.path)
        if not one.finding.strip():
            return Text("it is empty")
        if not one.path.strip():
            return Text("a line needs a path") if one.line or one.end else None
        if not has(path):
            return Text("the project has no {path}", path=path)
        if one.end and not 0 < one.line <= one.end:
            return Text("line and end are no range")
        if not has(path, max(one.line, one.end)):
            return Text("{path} has no line {line}", path=path, line=max(one.line, one.end))
        return None

    def _check_design(self) -> CheckedDesign | None:
        """Compared with the project even if it is not due: everything wrong is told at once."""
        if self._brought.design is None:
            return None
        result = check_design(self._brought.design, project_of(self._workspace, self.state))
        named = {target.path for target in result.design.target_paths}
        for one in result.wrong:
            if one not in named:
                where = _where(self._brought.design, "test_commands", one)
                self._fault(where, Text("{command} does not run here", command=one))
                continue
            where = _where(self._brought.design, "target_paths", one)
            if is_outside(one):
                self._fault(where, Text("{path} is outside the project", path=one))
            else:
                why = Text(
                    "the project has no {path}; a file to be added needs new: true in target_paths", path=one
                )
                self._fault(where, why)
        return result

    def _ask_further(self) -> None:
        questions, left = self._brought.questions or (), questions_left(self.state)
        if not questions:
            return
        if len(questions) > left:
            why = Text("{left} more can be asked, {most} in all", left=left, most=MOST_QUESTIONS)
            self._fault("$.questions", why)
            return
        before = self.state.session.questions
        self.state = operations.set_decisions(self.state, NewDecisions((), questions), self._now)
        if self.state.session.questions == before:
            self._fault("$.questions", Text("they were asked before"))

    def _design(self) -> None:
        found = self._brought.decisions or ()
        for number, one in enumerate(found):
            if one.id:
                self._fault(
                    below("$.decisions", number), Text("nothing was decided yet that it could replace")
                )
        self._limit_new(found)
        new = tuple(NewDecision(one.topic, one.options) for one in found)
        self.state = operations.set_decisions(self.state, NewDecisions(new), self._now)

    def _limit_new(self, new: tuple[BroughtDecision, ...]) -> None:
        if len(new) > MOST_DECISIONS:
            self._fault("$.decisions", Text("at most {most} new ones at once", most=MOST_DECISIONS))

    def _revise(self) -> None:
        """What the feedback changes; every other decision stays as the person made it."""
        brought, known = self._brought, [decision.id for decision in self.state.session.decisions]
        found = brought.decisions or ()
        named = [(below("$.decisions", number), one.id) for number, one in enumerate(found) if one.id]
        named += [(below("$.dropped", number), id_) for number, id_ in enumerate(brought.dropped)]
        for path, id_ in named:
            if id_ not in known:
                why = Text("{id} is none of the decisions: {known}", id=id_, known=", ".join(known))
                self._fault(path, why)
        added = tuple(one for one in found if not one.id)
        self._limit_new(added)
        revision = NewRevision(
            tuple(
                ChangedDecision(id=one.id, topic=one.topic, options=one.options) for one in found if one.id
            ),
            tuple(NewDecision(one.topic, one.options) for one in added),
            brought.dropped,
        )
        self.state = operations.revise_decisions(self.state, revision, self._now)

    def _unfitting(self, now: Pending) -> Iterator[Fault]:
        """What was brought too early, or nothing at all."""
        for part in _PARTS:
            if part in self._left:
                yield Fault(f"$.{part}", self._too_early(part, now))
        if not self._left and not self.done and not self._brought.findings:
            assert isinstance(now, AgentPending)  # noqa: S101  # otherwise something was done
            yield Fault("$", Text("nothing is brought; what is due: {part}", part=_TAKES[now.purpose][0]))

    def _too_early(self, part: str, now: Pending) -> Text:
        if part == "dropped":
            return Text("only after a reject")
        match now:
            case AgentPending() if _PARTS.index(part) > _PARTS.index(due := _TAKES[now.purpose][0]):
                return Text("{part} come first; bring them too, or [] if there are none", part=due)
            case AgentPending():
                return Text("it is not due any more; what is due: {part}", part=_TAKES[now.purpose][0])
            case QuestionPending():
                return Text("the questions are answered first; bring it after that")
            case DecisionPending():
                return Text("the decisions are made first; bring it after that")
        return Text("it is not due")


def _where(design: NewSummary, part: str, name: str) -> str:
    """The part of the design, or of its first step, that names it."""
    own = design.test_commands if part == "test_commands" else [one.path for one in design.target_paths]
    if name not in map(plain_path, own) and name not in map(plain_line, own):
        for at, step in enumerate(design.steps):
            mine = step.test_commands if part == "test_commands" else step.target_paths
            if name in map(plain_path, mine) or name in map(plain_line, mine):
                return f"$.design.steps[{at}].{part}"
    return f"$.design.{part}"


def _render_finding(one: BroughtFinding) -> str:
    words = plain_line(one.finding)
    if not one.path.strip():
        return words
    lines = f":{one.line}" * bool(one.line) + f"-{one.end}" * bool(one.end > one.line)
    return f"`{plain_path(one.path)}{lines}` {words}"
