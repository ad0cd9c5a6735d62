"""What a watch of a run and of a session share: where it looks, what it does, whom it tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from ringi.approvals.forge import ForgeTerms, Project
from ringi.forges.document import mark_line
from ringi.forges.listen import ForgeListener, Spoken
from ringi.forges.markdown import literal
from ringi.forges.port import CodeHost
from ringi.kernel.text import Text, in_language
from ringi.models.usage import Language
from ringi.runs.document import Run
from ringi.runs.drive import RunOptions

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


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


class WatchEvent(NamedTuple):
    """One line for each thing that happened."""

    about: str
    """The session or the run."""
    kind: NewsKind
    words: Text
    by: str = ""
    """The account with its forge."""
    url: str = ""


class Standing(StrEnum):
    """How it stands with one that is watched."""

    OVER = "over"
    WAITS = "waits"
    """Somebody is needed, there or here."""
    AT_WORK = "at_work"
    """Another process carries it on."""


class WatchActions(NamedTuple):
    """What a watcher does beside listening."""

    host: Callable[[Project], CodeHost]
    tell: Callable[[WatchEvent], None]
    lock: Callable[[str], AbstractContextManager[None]]
    """Of a run; raises Busy if another process has it."""
    go_on: Callable[[str, RunOptions], Run]
    """Carries the run on and puts the result there; the caller holds the lock."""
    offer: Callable[[str], Run]
    """Puts the result there, as far as it is not."""
    revision_timeout: float
    is_untold: Callable[[str], bool]
    """Whether nobody was told of it, by this or an earlier watcher; from now on somebody was."""


class WatchTarget(NamedTuple):
    """What is watched."""

    id: str
    terms: ForgeTerms
    language: Language
    mark: str
    """Of its progress comment."""


class ProjectWatch:
    """One project, for one round. `passed` is kept between rounds: nothing is told or tried twice."""

    def __init__(
        self, workspace: Workspace, project: Project, actions: WatchActions, passed: set[str]
    ) -> None:
        self.workspace = workspace
        self.host = actions.host(project)
        self.listener = ForgeListener(self.host)
        self.actions = actions
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

    def say(self, about: str, kind: NewsKind, words: Text, said: Spoken | None = None, url: str = "") -> None:
        by, url = (self.who(said), said.url) if said else ("", url)
        self.actions.tell(WatchEvent(about, kind, words, by, url))

    def ignore(self, about: str, said: Spoken, words: Text, key: str = "ignored") -> bool:
        """Whether it is said now: only once, also if a session and then its run see it."""
        project = self.host.project
        fresh = self.actions.is_untold(f"{key} {project.base_url}/{project.path} {said.ref}")
        if fresh:
            self.say(about, NewsKind.IGNORED, words, said)
        return fresh

    def ignore_stranger(self, about: str, said: Spoken) -> None:
        words = Text("{who} may not write to this project: not read", who=self.who(said))
        self.ignore(about, said, words)

    def refuse(self, about: WatchTarget, said: Spoken, why: Text) -> None:
        """Says here and there why something does not count."""
        self.say(about.id, NewsKind.REFUSED, Text("{who}: {why}", who=self.who(said), why=why), said)
        if about.terms.comments:
            words = literal(in_language(about.language)(why))
            self.host.items.write(said.item, _refusal(about.id, said), words)

    def refused(self, about: str, spoken: Sequence[Spoken]) -> frozenset[str]:
        """Refs of those of which that was said before."""
        ours = "\n".join(one.body for one in spoken if self.listener.is_ours(one))
        return frozenset(one.ref for one in spoken if mark_line(_refusal(about, one)) in ours)


def _refusal(about: str, said: Spoken) -> str:
    """The mark of the comment that says why it does not count."""
    return f"{about} refused {said.ref}"
