"""A planning session that is held on an issue: what is answered and decided there carries it on (PP-10)."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from ringi.domain.session import (
    AgentPending,
    ApprovalPending,
    ApprovedSession,
    DecisionPending,
    QuestionPending,
    SessionView,
    WorkPending,
)
from ringi.errors import BadAnswer, NotAsked, ReviewRefused, SessionFailed
from ringi.text import Text
from ringi.usecases.forge.answers import Answer, answers, heard, open_ids, read
from ringi.usecases.forge.approve_review import approve_session
from ringi.usecases.forge.listen import Command, Spoken, Verb
from ringi.usecases.forge.progress import DIGEST_SHOWN, mark_of
from ringi.usecases.forge.tell import tell_session
from ringi.usecases.forge.unclear import misread, notes, tell
from ringi.usecases.forge.watching import About, NewsKind, Watching
from ringi.usecases.run_start import planner_of

_K = NewsKind


class SessionWatch:
    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self._workspace = watching.workspace
        self._tool = watching.workspace.planning

    def look(self, session_id: str) -> str:
        """The id of the run, once it is approved; empty as long as somebody is needed. Raises ForgeFailed."""
        before = self._tool.get(session_id)
        terms = before.facts.forge
        if terms is None or not terms.item:
            return ""
        about = About(session_id, terms, before.facts.language)
        spoken = self._watching.listener.comments(terms.item)
        view = self._taken(about, spoken)
        unclear = [*self._unclear(about, view, spoken)]
        fresh = tell(self._watching, about, unclear)
        changed = self._tool.get(session_id) != before
        if changed or fresh or self._watching.is_new(f"progress {session_id}"):
            tell_session(self._workspace, session_id, more=notes(about, unclear))
        return view.pending.run_id if isinstance(view.pending, ApprovedSession) else ""

    def _taken(self, about: About, spoken: Sequence[Spoken]) -> SessionView:
        """As far as what was said there goes: an answer may lead to the next question."""
        view = self._worked(self._tool.view(about.id))
        while True:
            now: SessionView | None = None
            if isinstance(view.pending, QuestionPending | DecisionPending):
                now = self._answered(about, spoken)
            elif isinstance(view.pending, ApprovalPending):
                now = self._decided(about, spoken)
            if now is None:
                return view
            view = self._worked(now)

    def _worked(self, view: SessionView) -> SessionView:
        """Whoever plans goes on until a person is needed."""
        session_id = view.session_id
        try:
            if isinstance(view.pending, AgentPending):
                by_model = self._tool.get(session_id).facts.by_model
                planner = planner_of(self._workspace, by_model=by_model)
                return planner.bring(self._tool, session_id) if planner else view
            if isinstance(view.pending, WorkPending):
                return self._tool.go_on(session_id)
        except SessionFailed as error:
            self._watching.say(session_id, _K.FAILED, Text(error.message, **error.details))
            return self._tool.view(session_id)
        return view

    # ------------------------------------------------------------------ answers

    def _answered(self, about: About, spoken: Sequence[Spoken]) -> SessionView | None:
        """None if what is asked now has no answer there yet."""
        watching, refused = self._watching, self._watching.refused(about, spoken)
        said = {one.id: one for one in spoken if one.comment and one.ref not in refused}
        asked = open_ids(self._tool.get(about.id).session)
        found = answers(
            [one.comment for one in said.values() if one.comment and self._may_answer(about, one, asked)],
            asked,
            since=self._since(about, spoken),
            used=heard(self._workspace.sessions.events(about.id)),
            counts=watching.listener.writes,
        )
        view: SessionView | None = None
        for given in _in_a_row(found, asked):
            by = said[given.comment.id]
            try:
                view = self._give(about.id, given)
            except (BadAnswer, NotAsked) as error:
                watching.refuse(about, by, Text(error.message, **error.details))
                return view
            words = Text("{who} answered {question}", who=watching.who(by), question=given.to)
            watching.say(about.id, _K.ANSWERED, words, by)
        return view

    def _may_answer(self, about: About, said: Spoken, asked: Sequence[str]) -> bool:
        """Not the account that asks: whoever plans could use it."""
        watching = self._watching
        if not watching.listener.is_person(said) or said.comment is None:
            return False
        if not watching.listener.is_own(said.author):
            return True
        if any(one.to in asked for one in read(said.comment)):
            words = Text("{who} is the account that the run works with, and answers no questions",
                         who=watching.who(said))  # fmt: skip
            watching.ignore(about.id, said, words)
        return False

    def _unclear(
        self, about: About, view: SessionView, spoken: Sequence[Spoken]
    ) -> Iterator[tuple[Spoken, Text]]:
        """What somebody who may write tried to say since something was understood."""
        watching, used = self._watching, heard(self._workspace.sessions.events(about.id))
        if isinstance(view.pending, ApprovedSession):
            return
        since = max([self._since(about, spoken), *(one.at for one in spoken if one.id in used)])
        asks = isinstance(view.pending, QuestionPending | DecisionPending)
        asked = open_ids(self._tool.get(about.id).session) if asks else ()
        refused = watching.refused(about, spoken)
        for said in spoken:
            if said.at < since or said.id in used or said.ref in refused:
                continue
            words = misread(said, asked) if watching.listener.is_person(said) else None
            if words and watching.listener.counts(said.author):
                yield said, words

    def _give(self, session_id: str, given: Answer) -> SessionView:
        tool, source = self._tool, given.source
        if given.to.startswith("d-"):
            return tool.decide(session_id, given.text, given.reason, decision_id=given.to, source=source)
        if not given.text:
            return tool.skip(session_id, question_id=given.to, source=source)
        return tool.answer(session_id, given.text, question_id=given.to, source=source)

    # ------------------------------------------------------------------ the plan

    def _decided(self, about: About, spoken: Sequence[Spoken]) -> SessionView | None:
        watching, tool = self._watching, self._tool
        digest = tool.request(about.id).digest
        for said, command in self._commands(about, spoken, digest):
            words = command.words
            if not watching.listener.counts(said.author):
                no = Text("{who} may not write to this project: not read", who=watching.who(said))
                watching.ignore(about.id, said, no)
            elif command.verb is Verb.REJECT and words:
                view = tool.reject(about.id, words, source=f"comment {said.id} by {said.author.login}")
                told = Text("the plan sent back by {who}: {words}", who=watching.who(said), words=words)
                watching.say(about.id, _K.SENT_BACK, told, said)
                return view
            elif command.verb is Verb.REJECT:
                watching.refuse(about, said, Text("say what should be different: /ringi reject …"))
            elif not digest.startswith(words):
                why = Text("the approval is of {given}; the plan is now {digest}",
                           given=words[:DIGEST_SHOWN], digest=digest[:DIGEST_SHOWN])  # fmt: skip
                watching.refuse(about, said, why)
            elif self._approved(about, said):
                return tool.view(about.id)
        return None

    def _commands(
        self, about: About, spoken: Sequence[Spoken], digest: str
    ) -> Iterator[tuple[Spoken, Command]]:
        """Each once for the plan that it can be about."""
        used = heard(self._workspace.sessions.events(about.id))
        since, refused = self._since(about, spoken), self._watching.refused(about, spoken)
        for said in spoken:
            command = said.command
            if command is None or command.verb is Verb.OTHER or said.at < since:
                continue
            if said.id in used or said.ref in refused or not self._watching.listener.is_person(said):
                continue
            if self._watching.is_new(f"{about.id} {said.ref} {digest}"):
                yield said, command

    def _approved(self, about: About, said: Spoken) -> bool:
        watching = self._watching
        try:
            run_id = approve_session(self._workspace, watching.host, about.id, said)
        except ReviewRefused as error:
            watching.refuse(about, said, Text(error.message, **error.details))
            return False
        words = Text("the plan approved by {who}; its run is {run}", who=watching.who(said), run=run_id)
        watching.say(about.id, _K.APPROVED, words, said)
        return True

    def _since(self, about: About, spoken: Sequence[Spoken]) -> str:
        began = self._watching.listener.began(spoken, mark_of(about.id, ""))
        return began or self._tool.get(about.id).session.created_at


def _in_a_row(found: Sequence[Answer], asked: Sequence[str]) -> Sequence[Answer]:
    """From the first that is asked on; a comment that also answers what comes later waits as a whole."""
    pairs = zip(found, asked, strict=False)
    first = [one for one, _ in takewhile(lambda pair: pair[0].to == pair[1], pairs)]
    later = {one.comment.id for one in found[len(first) :]}
    return [*takewhile(lambda one: one.comment.id not in later, first)]
