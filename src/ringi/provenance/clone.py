"""Proofs in any clone: what they are verified with, and damaged notes rebuilt. It opens no workspace."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ringi.approvals.forge import ReviewWitness
from ringi.approvals.own_key import users_bytes, users_file
from ringi.approvals.signing import SignerList, SshSignatures
from ringi.approvals.statement import NOTES
from ringi.errors import InTheWay
from ringi.kernel.places import signatures_file
from ringi.kernel.process.git import Git
from ringi.kernel.process.repository import Mended, Repository
from ringi.kernel.text import Text
from ringi.provenance.history import GitHistory, clone_around
from ringi.provenance.notes import Notes
from ringi.provenance.signature_memory import RememberedSignatures
from ringi.provenance.verify_range import Signing
from ringi.tree.personal_git import PersonalGit


class OpenClone(NamedTuple):
    history: GitHistory
    signing: Signing


@contextmanager
def open_clone(
    folder: Path,
    environment: Mapping[str, str],
    *,
    notes: str = NOTES,
    quarantine: Mapping[str, str] | None = None,
    reviews: ReviewWitness | None = None,
    forge: str = "",
) -> Iterator[OpenClone]:
    """Remembers at the end which signatures were good.

    `reviews` confirms reviews on the project `forge`; without it none counts.
    """
    history = GitHistory(folder, notes=notes, quarantine=quarantine)
    signatures = RememberedSignatures(SshSignatures(tuple), signatures_file(environment))
    yield OpenClone(history, Signing(signatures, _own_list(environment), datetime.now(UTC), reviews, forge))
    signatures.save()


def _own_list(environment: Mapping[str, str]) -> SignerList | None:
    file = users_file(environment)
    data = users_bytes(file) if file else None
    return None if file is None or data is None else SignerList(str(file), data)


def hooks_of(folder: Path) -> Path:
    """Where git looks for the hooks of the repository. Raises InTheWay if its configuration names another."""
    place = GitHistory(folder).common
    named = Git(place).attempt("config", "--local", "--get", "core.hooksPath").out.decode("utf-8", "replace")
    if named.strip():
        why = Text("git looks for hooks in {folder}", folder=named.strip())
        raise InTheWay(what="core.hooksPath", why=why)
    return place / "hooks"


def default_branch(folder: Path) -> str:
    """Of the remote if that is known here, else the one that is checked out."""
    git = Git(GitHistory(folder).common)
    for name in ("refs/remotes/origin/HEAD", "HEAD"):
        found = git.attempt("symbolic-ref", "-q", "--short", name).out.decode("utf-8", "replace").strip()
        if found:
            return found.removeprefix("origin/") if name != "HEAD" else found
    return "main"


def mend_clone(
    folder: Path, environment: Mapping[str, str], mend_by_ledger: Callable[[], Mended | None] = lambda: None
) -> Mended | None:
    """Rebuilds damaged notes in any clone; None if they are sound.

    `mend_by_ledger` does it where there is a ledger. Raises NotesFailed.
    """
    place = clone_around(folder)
    notes = Notes(PersonalGit(place.root, environment), Repository(place.git_dir, place.common))
    if notes.damage() is None:
        return None
    if mended := mend_by_ledger():
        return mended
    rebuilt = notes.rebuild()
    if rebuilt is None:
        return None
    what = Text(
        "The notes that prove approvals were damaged ({why}); they were rebuilt from what can be read. "
        "The damaged files are in {folder}.",
        why=rebuilt.why,
        folder=rebuilt.aside,
    )
    return rebuilt.describe(what)
