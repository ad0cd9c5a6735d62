"""What proofs in a clone are verified and exchanged with. It opens no workspace and needs none."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ringi.domain.provenance import NOTES, Synced
from ringi.errors import InTheWay
from ringi.integrations.exchange import NotesExchange
from ringi.integrations.history import GitHistory
from ringi.integrations.repository import pause
from ringi.integrations.signature_memory import RememberedSignatures
from ringi.integrations.signing import SshSignatures
from ringi.ports import SignerList
from ringi.process.git import Git
from ringi.text import Text
from ringi.usecases.signers import users_bytes, users_file
from ringi.usecases.sync import sync
from ringi.usecases.verify_range import Signing
from ringi.workspace.places import signatures_file


class Verifying(NamedTuple):
    history: GitHistory
    signing: Signing


@contextmanager
def verifying(
    folder: Path,
    environment: Mapping[str, str],
    *,
    notes: str = NOTES,
    quarantine: Mapping[str, str] | None = None,
) -> Iterator[Verifying]:
    """Remembers at the end which signatures were good."""
    history = GitHistory(folder, notes=notes, quarantine=quarantine)
    signatures = RememberedSignatures(SshSignatures(tuple), signatures_file(environment))
    yield Verifying(history, Signing(signatures, _own_list(environment), datetime.now(UTC)))
    signatures.save()


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


def sync_notes(
    folder: Path,
    environment: Mapping[str, str],
    remote: str,
    *,
    push: bool,
    prompts: bool,
    on_progress: Callable[[Text], None],
) -> Synced:
    """`prompts`: git may ask for a password at the terminal."""
    exchange = NotesExchange(folder, environment, prompts=prompts)
    return sync(exchange, remote, push=push, on_progress=on_progress, pause=pause)


def _own_list(environment: Mapping[str, str]) -> SignerList | None:
    file = users_file(environment)
    data = users_bytes(file) if file else None
    return None if file is None or data is None else SignerList(str(file), data)
