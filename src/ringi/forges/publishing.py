"""How a run reaches its forge by git, and what it says there. Imported when one does."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from ringi.approvals.forge import ForgeKind, ForgeTerms, Project
from ringi.errors import NoForge
from ringi.forges.configured import KnownForges
from ringi.kernel.places import Places
from ringi.kernel.process.network import is_here, origin
from ringi.kernel.text import Text
from ringi.provenance.clone import open_clone
from ringi.provenance.exchange import BranchExchange, GitLogin, NotesExchange, sync_notes
from ringi.provenance.verdict import Mode, RangeVerdict
from ringi.provenance.verify_range import Asked, verify_range
from ringi.runs.branch import BranchOf, RunBranch
from ringi.runs.document import Run
from ringi.runs.documents import facts_of_run
from ringi.runs.report import report_of_run
from ringi.tree.offered_commit import GitOffers
from ringi.tree.remotes import Remotes

if TYPE_CHECKING:
    from ringi.app.store import Store

_USERS: Final = {ForgeKind.GITHUB: "x-access-token", ForgeKind.GITLAB: "oauth2"}
_JOB: Final = "gitlab-ci-token"


class RunPublishing:
    """Commits that wait for approval, the branch, the notes and the report of a run."""

    def __init__(
        self, places: Places, environment: Mapping[str, str], ledger: Store, forges: KnownForges
    ) -> None:
        self._places = places
        self._environment = environment
        self._ledger = ledger
        self._forges = forges

    def commits(self, run: Run) -> GitOffers:
        return GitOffers(self._branch(run).root, self._environment)

    def branches(self, run: Run, terms: ForgeTerms) -> BranchExchange:
        """Raises NoForge if the remote leads elsewhere than where it was approved, PushFailed."""
        place = self._forges.here(terms.remote)
        if (place.project, place.remote_url) != (terms.project, terms.remote_url):
            why = Text("the remote {name} leads to {now}, and {approved} was approved",
                       name=terms.remote, now=place.remote_url, approved=terms.remote_url)  # fmt: skip
            todo = Text("Set it back: {command}, or plan it anew", command=shlex.join(
                ["git", "remote", "set-url", terms.remote, terms.remote_url]))  # fmt: skip
            raise NoForge(why=why, todo=todo)
        own = self._branch(run).root / ".git" / "objects"
        return BranchExchange(
            self._places.root,
            self._environment,
            terms.remote_url,
            login=self._login(terms),
            objects=[own] if own.is_dir() else [],
        )

    def sync_notes(self, terms: ForgeTerms) -> None:
        """Raises SyncFailed, NotesFailed."""
        exchange = NotesExchange(self._places.root, self._environment, login=self._login(terms))
        sync_notes(exchange, terms.remote_url)

    def report(self, run: Run) -> str:
        """report.md, as it is now."""
        return report_of_run(run, self._ledger.runs.plan(run.run_id), facts_of_run(self._ledger, run))

    def verdict(self, run: Run, head: str) -> RangeVerdict:
        """What proves that everything from the run's base to here was approved. Raises CloneUnreadable."""
        with open_clone(self._places.root, self._environment) as found:
            base, commit = found.history.commit(run.base_commit), found.history.commit(head)
            asked = Asked("run", run.run_id, base, commit, Mode.REPORT)
            return verify_range(found.history, asked, found.signing).document

    def _branch(self, run: Run) -> RunBranch:
        return RunBranch(self._places, BranchOf.run(run))

    def _login(self, terms: ForgeTerms) -> GitLogin | None:
        """The token of the environment, or what the remote's address has; git asks its helpers for others."""
        parts = urlsplit(terms.remote_url)
        if parts.scheme != "https" and not (parts.scheme == "http" and is_here(parts.hostname or "")):
            return None
        url = f"{parts.scheme}://{parts.netloc}/"
        user, password = self._find_token(terms.project, url) or self._read_remote_login(terms.remote)
        return GitLogin(url, user, password, self._forges.certificates())

    def _find_token(self, project: Project, url: str) -> tuple[str, str] | None:
        if origin(url) != origin(project.base_url):
            return None
        found = self._forges.variables(project)
        return next(((_JOB if job else _USERS[project.kind], token) for token, job in found), None)

    def _read_remote_login(self, remote: str) -> tuple[str, str]:
        """Taken out of the address: that of a remote is in the list of processes."""
        parts = urlsplit(Remotes(self._places.root, self._environment).address(remote))
        return parts.username or "", parts.password or ""
