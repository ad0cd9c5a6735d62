"""What every part of a watcher shares: where it looks, what it does, whom it tells."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import NamedTuple

from ringi.domain.forge import ForgeTerms, mark_line
from ringi.domain.process import Feedback
from ringi.domain.run import Run
from ringi.domain.session import Language
from ringi.runner.feedback import unheard
from ringi.text import Text, in_language
from ringi.usecases.forge.listen import Listener, Spoken
from ringi.usecases.forge.markdown import literal
from ringi.usecases.run import RunOptions
from ringi.usecases.workspace import OpenWorkspace


class NewsKind(StrEnum):
    """For programs that read the lines."""

    HEARD = "heard"
    IGNORED = "ignored"
    ANSWERED = "answered"
    SENT_BACK = "sent_back"
    APPROVED = "approved"
    REFUSED = "refused"
    """A yes that does not count."""
    WORKED = "worked"
    """It went on, and this is how it stands."""
    REPLIED = "replied"
    STANDS = "stands"
    """Closed, or pushed to by somebody else."""
    FAILED = "failed"


class News(NamedTuple):
    """One line for each thing that happened."""

    about: str
    """The session or the run."""
    kind: NewsKind
    words: Text
    by: str = ""
    """The account with its forge."""
    url: str = ""


class About(NamedTuple):
    """What is watched."""

    id: str
    terms: ForgeTerms
    language: Language

    def refusal(self, said: Spoken) -> str:
        """The mark of the comment that says why it does not count."""
        return f"{self.id} refused {said.ref}"


class Standing(StrEnum):
    """How it stands with one that is watched."""

    OVER = "over"
    WAITS = "waits"
    """Somebody is needed, there or here."""
    AT_WORK = "at_work"
    """Another process carries it on."""


class Hands(NamedTuple):
    """What a watcher does beside listening."""

    lock: Callable[[str], AbstractContextManager[None]]
    """Of a run; raises Busy if another process has it."""
    go_on: Callable[[str, RunOptions], Run]
    """Carries the run on and puts the result there; the caller holds the lock."""
    offer: Callable[[str], Run]
    """Puts the result there, as far as it is not."""
    revision_timeout: float
    is_untold: Callable[[str], bool]
    """Whether nobody was told of it, by this or an earlier watcher; from now on somebody was."""
    read_all: bool = False


class Watching:
    """`passed` is kept between rounds: nothing is told, tried or looked up twice."""

    def __init__(
        self,
        workspace: OpenWorkspace,
        listener: Listener,
        hands: Hands,
        tell: Callable[[News], None],
        passed: set[str],
    ) -> None:
        self.workspace = workspace
        self.listener = listener
        self.host = listener.host
        self.hands = hands
        self._tell = tell
        self._passed = passed

    def is_new(self, key: str) -> bool:
        """The first time, and then no more."""
        found = key not in self._passed
        self._passed.add(key)
        return found

    def again(self, key: str) -> None:
        """It came to nothing: the next round tries once more."""
        self._passed.discard(key)

    def who(self, said: Spoken) -> str:
        return self.host.project.account(said.author.login)

    def unheard(self, run: Run) -> list[Feedback]:
        """What people said that no step was told."""
        return [one for one in unheard(run, self.workspace.sessions.feedback(run.run_id)) if not one.agent]

    def say(self, about: str, kind: NewsKind, words: Text, said: Spoken | None = None, url: str = "") -> None:
        by, url = (self.who(said), said.url) if said else ("", url)
        self._tell(News(about, kind, words, by, url))

    def ignore(self, about: str, said: Spoken, words: Text) -> None:
        """Once, also if a session and then its run see it."""
        if self.hands.is_untold(f"ignored {self.host.project.base_url}/{self.host.project.path} {said.ref}"):
            self.say(about, NewsKind.IGNORED, words, said)

    def refuse(self, about: About, said: Spoken, why: Text) -> None:
        """Says here and there why something does not count."""
        self.say(about.id, NewsKind.REFUSED, Text("{who}: {why}", who=self.who(said), why=why), said)
        if about.terms.comments:
            self.host.items.write(said.item, about.refusal(said), literal(in_language(about.language)(why)))

    def refused(self, about: About, spoken: Sequence[Spoken]) -> frozenset[str]:
        """Refs of those of which that was said before."""
        ours = "\n".join(one.body for one in spoken if self.listener.is_ours(one))
        return frozenset(one.ref for one in spoken if mark_line(about.refusal(one)) in ours)
