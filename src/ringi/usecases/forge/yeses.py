"""Who said yes on a forge, and whether anything is left to do about it."""

from collections.abc import Iterator

from ringi.domain.forge import ReviewVerdict
from ringi.domain.run import Run
from ringi.text import Text
from ringi.usecases.forge.listen import Page, Spoken, Verb, newest_verdicts
from ringi.usecases.forge.watching import About, Watching


def yeses(watching: Watching, run: Run, about: About, page: Page, what: str) -> Iterator[Spoken]:
    """By people who may decide, each once for `what` would be approved.

    Without those that have approved something, or of which it was said that they do not count.
    """
    said_yes = [
        one
        for one in newest_verdicts(page.reviews)
        if one.review and one.review.verdict is ReviewVerdict.APPROVED
    ]
    said_yes += [one for one in page.comments if one.command and one.command.verb is Verb.APPROVE]
    fresh = [one for one in said_yes if watching.is_new(yes_key(one, what))]
    done = _answered(watching, run, about, page) if fresh else frozenset()
    for said in fresh:
        if said.ref in done or not watching.listener.is_person(said):
            continue
        if watching.listener.decides(said.author):
            yield said
        else:
            words = Text("{who} cannot approve this: no write access, or the account that the run works with",
                         who=watching.who(said))  # fmt: skip
            watching.ignore(run.run_id, said, words)


def yes_key(said: Spoken, what: str) -> str:
    return f"yes {said.ref} {what}"


def _answered(watching: Watching, run: Run, about: About, page: Page) -> frozenset[str]:
    store = watching.workspace.sessions
    subjects = [run.run_id, run.planning_session_id, *(step.plan_id for step in run.steps)]
    proofs = [one.proof.review for name in subjects if name for one in store.approvals(name)]
    used = {f"{one.how}:{one.id}" for one in proofs if one}
    return watching.refused(about, page.all) | used
