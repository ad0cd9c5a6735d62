"""A planning session that is held on an issue: what is answered and decided there carries it on (PP-10)."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from ringi.errors import BadAnswer, NotAsked, ReviewRefused, SessionFailed
from ringi.forges.answers import ForgeAnswer, collect_answers, find_used_comments, open_ids, parse_comment
from ringi.forges.approve_review import approve_session
from ringi.forges.listen import ForgeCommand, Spoken, Verb
from ringi.forges.misread_commands import explain_misread, format_notes, tell
from ringi.forges.progress import DIGEST_SHOWN, mark_of, tell_session
from ringi.forges.watch_project import NewsKind, ProjectWatch, WatchTarget
from ringi.kernel.text import Text
from ringi.runs.start import planner_of
from ringi.sessions.document import (
    AgentPending,
    ApprovalPending,
    ApprovedSession,
    DecisionPending,
    QuestionPending,
    SessionView,
    WorkPending,
)

_K = NewsKind


def look_at_session(watch: ProjectWatch, session_id: str) -> str:
    """The id of the run once it is approved; empty while a person is needed. Raises ForgeFailed."""
    facts = watch.workspace.planning.get(session_id).facts
    if facts.forge is None or not facts.forge.item:
        return ""
    about = WatchTarget(session_id, facts.forge, facts.language, mark_of(session_id, ""))
    return SessionWatch(watch, about, watch.listener.comments(facts.forge.item)).look()


class SessionWatch:
    """A session, and what is said on its item."""

    def __init__(self, watch: ProjectWatch, about: WatchTarget, spoken: Sequence[Spoken]) -> None:
        self._watch = watch
        self._workspace = watch.workspace
        self._tool = watch.workspace.planning
        self._about = about
        self._id = about.id
        self._spoken = spoken

    def look(self) -> str:
        before = self._tool.get(self._id)
        view = self._advance()
        unclear = [] if isinstance(view.pending, ApprovedSession) else [*self._find_misread(view)]
        fresh = tell(self._watch, self._about, unclear)
        changed = self._tool.get(self._id) != before
        if changed or fresh or self._watch.is_new(f"progress {self._id}"):
            tell_session(self._workspace, self._id, more=format_notes(self._about, unclear))
        return view.pending.run_id if isinstance(view.pending, ApprovedSession) else ""

    def _advance(self) -> SessionView:
        """As far as what was said there goes: an answer may lead to the next question."""
        view = self._let_plan(self._tool.view(self._id))
        while True:
            now: SessionView | None = None
            if isinstance(view.pending, QuestionPending | DecisionPending):
                now = self._take_answers()
            elif isinstance(view.pending, ApprovalPending):
                now = self._take_decision()
            if now is None:
                return view
            view = self._let_plan(now)

    def _let_plan(self, view: SessionView) -> SessionView:
        """Lets the planner go on until a person is needed."""
        try:
            if isinstance(view.pending, AgentPending):
                by_model = self._tool.get(self._id).facts.by_model
                planner = planner_of(self._workspace, by_model=by_model)
                return planner.bring(self._tool, self._id) if planner else view
            if isinstance(view.pending, WorkPending):
                return self._tool.go_on(self._id)
        except SessionFailed as error:
            self._watch.say(self._id, _K.FAILED, Text(error.message, **error.details))
            return self._tool.view(self._id)
        return view

    def _find_start(self) -> str:
        """Older words were in the request."""
        began = self._watch.listener.find_start(self._spoken, self._about.mark)
        return began or self._tool.get(self._id).session.created_at

    def _find_used(self) -> frozenset[str]:
        return find_used_comments(self._workspace.store.events(self._id))

    def _list_unused(self) -> Iterator[Spoken]:
        """What people said that neither did anything nor was refused."""
        watch, used, since = self._watch, self._find_used(), self._find_start()
        refused = watch.find_refused(self._id, self._spoken)
        for said in self._spoken:
            fresh = said.at >= since and said.id not in used and said.ref not in refused
            if fresh and watch.listener.is_person(said):
                yield said

    def _find_misread(self, view: SessionView) -> Iterator[tuple[Spoken, Text]]:
        """Misread comments by accounts with write access, since the last one that was understood."""
        used = self._find_used()
        since = max((one.at for one in self._spoken if one.id in used), default="")
        asks = isinstance(view.pending, QuestionPending | DecisionPending)
        asked = open_ids(self._tool.get(self._id).session) if asks else ()
        for said in self._list_unused():
            words = explain_misread(said, asked) if said.at >= since else None
            if words and self._watch.listener.counts(said.author):
                yield said, words

    # ------------------------------------------------------------------ answers

    def _take_answers(self) -> SessionView | None:
        """None if what is asked now has no answer there yet."""
        watch, refused = self._watch, self._watch.find_refused(self._id, self._spoken)
        said = {one.id: one for one in self._spoken if one.comment and one.ref not in refused}
        asked = open_ids(self._tool.get(self._id).session)
        found = collect_answers(
            [one.comment for one in said.values() if one.comment and self._may_answer(one, asked)],
            asked,
            since=self._find_start(),
            used=self._find_used(),
            counts=watch.listener.writes,
        )
        view: SessionView | None = None
        for given in _leading_answers(found, asked):
            by = said[given.comment.id]
            try:
                view = self._give(given)
            except (BadAnswer, NotAsked) as error:
                watch.refuse(self._about, by, Text(error.message, **error.details))
                return view
            words = Text("{who} answered {question}", who=watch.who(by), question=given.to)
            watch.say(self._id, _K.ANSWERED, words, by)
        return view

    def _may_answer(self, said: Spoken, asked: Sequence[str]) -> bool:
        """Not the account that asks: the planner could use it."""
        watch = self._watch
        if not watch.listener.is_person(said) or said.comment is None:
            return False
        if not watch.listener.is_own(said.author):
            return True
        if any(one.to in asked for one in parse_comment(said.comment)):
            watch.ignore_own(self._id, said)
        return False

    def _give(self, given: ForgeAnswer) -> SessionView:
        tool, source = self._tool, given.source
        if given.to.startswith("d-"):
            return tool.decide(self._id, given.text, given.reason, decision_id=given.to, source=source)
        if not given.text:
            return tool.skip(self._id, question_id=given.to, source=source)
        return tool.answer(self._id, given.text, question_id=given.to, source=source)

    # ------------------------------------------------------------------ the plan

    def _take_decision(self) -> SessionView | None:
        watch, tool, digest = self._watch, self._tool, self._tool.request(self._id).digest
        for said, command in self._commands(digest):
            words = command.words
            if not watch.listener.counts(said.author):
                watch.ignore_stranger(self._id, said)
            elif command.verb is Verb.REJECT and words:
                view = tool.reject(self._id, words, source=f"comment {said.id} by {said.author.login}")
                told = Text("the plan sent back by {who}: {words}", who=watch.who(said), words=words)
                watch.say(self._id, _K.SENT_BACK, told, said)
                return view
            elif command.verb is Verb.REJECT:
                watch.refuse(self._about, said, Text("say what should be different: /ringi reject …"))
            elif not digest.startswith(words):
                why = Text("the approval is of {given}; the plan is now {digest}",
                           given=words[:DIGEST_SHOWN], digest=digest[:DIGEST_SHOWN])  # fmt: skip
                watch.refuse(self._about, said, why)
            elif self._approve(said):
                return tool.view(self._id)
        return None

    def _commands(self, digest: str) -> Iterator[tuple[Spoken, ForgeCommand]]:
        """Each once for the plan that it can be about."""
        for said in self._list_unused():
            command = said.command
            if command is None or command.verb is Verb.OTHER:
                continue
            if self._watch.is_new(f"{self._id} {said.ref} {digest}"):
                yield said, command

    def _approve(self, said: Spoken) -> bool:
        watch = self._watch
        try:
            run_id = approve_session(self._workspace, watch.host, self._id, said)
        except ReviewRefused as error:
            watch.refuse(self._about, said, Text(error.message, **error.details))
            return False
        words = Text("the plan approved by {who}; its run is {run}", who=watch.who(said), run=run_id)
        watch.say(self._id, _K.APPROVED, words, said)
        return True


def _leading_answers(found: Sequence[ForgeAnswer], asked: Sequence[str]) -> Sequence[ForgeAnswer]:
    """From the first that is asked on; a comment that also answers what comes later waits as a whole."""
    pairs = zip(found, asked, strict=False)
    first = [one for one, _ in takewhile(lambda pair: pair[0].to == pair[1], pairs)]
    later = {one.comment.id for one in found[len(first) :]}
    return [*takewhile(lambda one: one.comment.id not in later, first)]
