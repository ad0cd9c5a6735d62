"""What proofs in a clone are verified and exchanged with. It opens no workspace and needs none."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ringi.approvals.own_key import users_bytes, users_file
from ringi.approvals.signing import SignerList, SshSignatures
from ringi.approvals.statement import NOTES, Synced
from ringi.config.load import load
from ringi.errors import InTheWay, ReviewRefused
from ringi.kernel.places import signatures_file
from ringi.kernel.process.git import Git
from ringi.kernel.process.repository import Mended, Repository
from ringi.kernel.text import Text
from ringi.plans.attest import mended_notes
from ringi.provenance.exchange import NotesExchange
from ringi.provenance.history import GitHistory, clone_around
from ringi.provenance.notes import Notes, pause
from ringi.provenance.signature_memory import RememberedSignatures
from ringi.provenance.sync import sync
from ringi.provenance.verify_range import Signing
from ringi.tree.personal_git import PersonalGit

if TYPE_CHECKING:
    from ringi.forges.witness import ForgeWitness


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
    reviews: bool = False,
) -> Iterator[Verifying]:
    """Remembers at the end which signatures were good. `reviews`: the forge is asked about those.

    Raises NoForge if no remote leads to one, ReviewRefused if reviews do not count.
    """
    history = GitHistory(folder, notes=notes, quarantine=quarantine)
    signatures = RememberedSignatures(SshSignatures(tuple), signatures_file(environment))
    signing = Signing(signatures, _own_list(environment), datetime.now(UTC))
    if reviews:
        witness, asked = _witness(folder, environment)
        signing = signing._replace(reviews=witness, forge=asked)
    yield Verifying(history, signing)
    signatures.save()


def _witness(folder: Path, environment: Mapping[str, str]) -> "tuple[ForgeWitness, str]":
    """The forge of the clone's own remote, whatever a note says, and how people call the project."""
    from ringi.forges.configured import KnownForges  # noqa: PLC0415
    from ringi.forges.witness import ForgeWitness  # noqa: PLC0415  # most never ask a forge

    root = next((one for one in (folder, *folder.parents) if (one / ".agent").is_dir()), None)
    config = load(root, environment)
    if not config.forge.accepts_reviews:
        raise ReviewRefused(why=Text("reviews on a forge do not count here"))
    forges = KnownForges(config, environment, folder)
    project = forges.here().project
    return ForgeWitness(project, forges.host), f"{project.base_url}/{project.path}"


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
    folder: Path, environment: Mapping[str, str], ledger: Callable[[], Mended | None]
) -> Mended | None:
    """Rebuilds damaged notes in any clone; None if they are sound.

    `ledger` does it where there is one. Raises NotesFailed.
    """
    place = clone_around(folder)
    notes = Notes(PersonalGit(place.root, environment), Repository(place.git_dir, place.common))
    if notes.damage() is None:
        return None
    if mended := ledger():
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
    return mended_notes(rebuilt, what)


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
