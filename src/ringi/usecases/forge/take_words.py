"""What people say about a run on a forge becomes feedback, and remarks become comments on lines (PP-20)."""

from collections.abc import Iterator
from typing import Final

from ringi.domain.forge import ForgeTerms, ReviewVerdict
from ringi.domain.process import Feedback
from ringi.domain.run import Run
from ringi.text import Text
from ringi.usecases.forge.listen import Listener, Page, Spoken, Verb
from ringi.usecases.forge.progress import mark_of
from ringi.usecases.forge.send_back import Lines
from ringi.usecases.forge.unclear import misread
from ringi.usecases.forge.watching import NewsKind, Watching

_SHOWN: Final = 120
_REQUESTED: Final = Text("changes requested")


def unclear_words(
    watching: Watching, run: Run, terms: ForgeTerms, page: Page
) -> Iterator[tuple[Spoken, Text]]:
    """Comments of people who may write that tried to decide something."""
    listener = watching.listener
    found = [(said, words) for said in page.comments if (words := misread(said)) and listener.is_person(said)]
    asked = [one for one in page.comments if one.item == terms.item] if found else []
    since = listener.began(asked, mark_of(run.planning_session_id, run.run_id)) or run.created_at
    for said, words in found:
        if (said.item != terms.item or said.at >= since) and listener.counts(said.author):
            yield said, words


def take_words(watching: Watching, run: Run, terms: ForgeTerms, page: Page) -> None:
    """What is new is recorded, each once; whoever works on the run hears it next."""
    known = {one.ref for one in watching.workspace.sessions.feedback(run.run_id)}
    fresh = [one for one in page.all if one.ref not in known and watching.is_new(f"{run.run_id} {one.ref}")]
    asked = [one for one in page.comments if one.item == terms.item] if fresh else []
    mark = mark_of(run.planning_session_id, run.run_id)
    since = watching.listener.began(asked, mark) or run.created_at
    lines: Lines | None = None
    for said in fresh:
        if not _is_word(watching.listener, said) or (said.item == terms.item and said.at < since):
            continue
        if not (watching.listener.counts(said.author) or watching.hands.read_all):
            words = Text("{who} may not write to this project: not read", who=watching.who(said))
            watching.ignore(run.run_id, said, words)
            continue
        with watching.workspace.sessions.transaction() as transaction:
            transaction.add_feedback(_feedback(watching, run, said))
        words = Text("{who}: {words}", who=watching.who(said), words=_first_line(said))
        if said.remark:
            lines = lines or Lines(watching.workspace, run)
            lines.comment(said)
            place = f"{said.remark.path}:{said.remark.line}" if said.remark.line else said.remark.path
            words = Text("{who} on {place}: {words}", who=watching.who(said), place=place,
                         words=_first_line(said))  # fmt: skip
        watching.say(run.run_id, NewsKind.HEARD, words, said)


def _is_word(listener: Listener, said: Spoken) -> bool:
    if not listener.is_person(said):
        return False
    if said.review:
        verdict = said.review.verdict
        asked = verdict is ReviewVerdict.CHANGES_REQUESTED
        return asked or (verdict is ReviewVerdict.COMMENTED and bool(said.text))
    command = said.command
    return bool(said.text) if command is None else command.verb is Verb.REJECT


def _words(said: Spoken) -> str:
    command = said.command
    return (command.words if command else said.text) or str(_REQUESTED)


def _first_line(said: Spoken) -> str:
    line = _words(said).splitlines()[0]
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def _feedback(watching: Watching, run: Run, said: Spoken) -> Feedback:
    text, remark = _words(said), said.remark
    if remark:
        text = f"{remark.path}:{remark.line}: {text}" if remark.line else f"{remark.path}: {text}"
    return Feedback(
        feedback_id=watching.workspace.services.ids(),
        run_id=run.run_id,
        at=watching.workspace.clock.now(),
        who=watching.who(said),
        source="review" if said.review or remark else "issue_comment",
        ref=said.ref,
        text=text,
    )
