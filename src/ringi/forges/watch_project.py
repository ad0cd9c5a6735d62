"""What a watch of a run and of a session share: where it looks, what it does, whom it tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.approvals.forge import ForgeTerms
from ringi.forges.document import mark_line
from ringi.forges.listen import ForgeListener, Spoken
from ringi.forges.markdown import escape
from ringi.forges.offer import offer_run
from ringi.forges.progress import tell_when_working
from ringi.kernel.fs import read_bounded, replace_file
from ringi.kernel.lock import PassingLock
from ringi.kernel.text import Text, in_language
from ringi.models.usage import Language
from ringi.runs.document import Run, RunEvent
from ringi.runs.drive import RunOptions, run_steps

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace
    from ringi.forges.port import CodeHost


_MOST: Final = 2_000
_MOST_BYTES: Final = 1 << 20


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
    """Closed, or changed by another push."""
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
    """A person is needed, there or here."""
    AT_WORK = "at_work"
    """Another process carries it on."""


class WatchTarget(NamedTuple):
    """What is watched."""

    id: str
    terms: ForgeTerms
    language: Language
    mark: str
    """Of its progress comment."""


class SentNotifications:
    """One line for each thing, the oldest first. If the file is lost, something is said twice."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known = dict.fromkeys(self._read())

    def is_new(self, key: str) -> bool:
        """The first time, and then no more."""
        line = " ".join(key.split())
        if line in self._known:
            return False
        self._known[line] = None
        kept = [*self._known][-_MOST:]
        with suppress(OSError):
            data = "".join(f"{one}\n" for one in kept).encode("utf-8", "backslashreplace")
            replace_file(self._file, data, synced=False)
        return True

    def _read(self) -> list[str]:
        with suppress(OSError):
            data = read_bounded(self._file, _MOST_BYTES, follow=False)
            return data.decode("utf-8", "replace").splitlines()
        return []


class ProjectWatch:
    """One project, for one round. What was tried or sent is remembered between rounds by the watcher."""

    def __init__(
        self,
        workspace: Workspace,
        host: CodeHost,
        tell: Callable[[WatchEvent], None],
        on_event: Callable[[RunEvent], None],
        tried: set[str],
        sent: SentNotifications,
    ) -> None:
        self.workspace = workspace
        self.host = host
        self.listener = ForgeListener(host)
        self.is_untold = sent.is_new
        """Whether this or an earlier watcher has not told it yet; from now on it counts as told."""
        self._tell = tell
        self._on_event = on_event
        self._tried = tried

    def lock(self, run_id: str) -> AbstractContextManager[None]:
        """Of a run. Raises Busy if another process has it."""
        return PassingLock(self.workspace.places.state / f"{run_id}.lock", 0.0)("watch")

    def go_on(self, run_id: str, options: RunOptions) -> Run:
        """Carries the run on and puts the result there. The caller holds the lock."""
        run_steps(self.workspace, run_id, options, tell_when_working(self.workspace, self._on_event))
        return self.offer(run_id)

    def offer(self, run_id: str) -> Run:
        """Puts the result there, as far as it is not."""
        return offer_run(self.workspace, run_id, self._on_event)

    def is_new(self, key: str) -> bool:
        """The first time, and then no more."""
        found = key not in self._tried
        self._tried.add(key)
        return found

    def forget(self, key: str) -> None:
        """The next round tries it again."""
        self._tried.discard(key)

    def who(self, said: Spoken) -> str:
        return self.host.project.account(said.author.login)

    def say(self, about: str, kind: NewsKind, words: Text, said: Spoken | None = None, url: str = "") -> None:
        by, url = (self.who(said), said.url) if said else ("", url)
        self._tell(WatchEvent(about, kind, words, by, url))

    def ignore(self, about: str, said: Spoken, words: Text, key: str = "ignored") -> bool:
        """Whether it is said now: only once, also if a session and then its run see it."""
        project = self.host.project
        fresh = self.is_untold(f"{key} {project.base_url}/{project.path} {said.ref}")
        if fresh:
            self.say(about, NewsKind.IGNORED, words, said)
        return fresh

    def ignore_stranger(self, about: str, said: Spoken) -> None:
        words = Text("{who} may not write to this project: this does not count", who=self.who(said))
        self.ignore(about, said, words)

    def ignore_own(self, about: str, said: Spoken) -> None:
        words = Text("{who} is the account that the run works with: this does not count", who=self.who(said))
        self.ignore(about, said, words)

    def refuse(self, about: WatchTarget, said: Spoken, why: Text) -> None:
        """Says here and there why something does not count."""
        self.say(about.id, NewsKind.REFUSED, Text("{who}: {why}", who=self.who(said), why=why), said)
        if about.terms.comments:
            words = escape(in_language(about.language)(why))
            self.host.items.write(said.item, _refusal(about.id, said), words)

    def find_refused(self, about: str, spoken: Sequence[Spoken]) -> frozenset[str]:
        """Refs of those of which that was said before."""
        ours = "\n".join(one.body for one in spoken if self.listener.is_ours(one))
        return frozenset(one.ref for one in spoken if mark_line(_refusal(about, one)) in ours)


def _refusal(about: str, said: Spoken) -> str:
    """The mark of the comment that says why it does not count."""
    return f"{about} refused {said.ref}"
