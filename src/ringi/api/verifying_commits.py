"""What is in the commit that a plan ended with, beside what was approved."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from ringi.api.verifying_approvals import SHOWN, read
from ringi.domain import codec
from ringi.domain.approval import Act, Approval, ApprovalSubject
from ringi.domain.events import LoggedEvent
from ringi.domain.plan import FileState
from ringi.domain.proof import ProvenCommit
from ringi.errors import NoCommit
from ringi.plans.commit import outcome_of, written
from ringi.ports import Commits, StoredIntent
from ringi.text import Text


class CommitStanding(NamedTuple):
    commit: str = ""
    """Its id; empty where there is none."""
    doubts: tuple[Text, ...] = ()
    """What contradicts the approval."""
    as_approved: bool = False
    """Every file of the plan is in it with exactly the approved bytes."""
    notes: tuple[Text, ...] = ()
    """What is otherwise: hooks and filters may change what is committed, and history may be rewritten."""

    @property
    def document(self) -> ProvenCommit | UnsetType:
        if not self.commit:
            return UNSET
        return ProvenCommit(self.commit, self.as_approved, tuple(map(str, self.notes)))


def standing(
    events: Iterator[LoggedEvent],
    approvals: Sequence[Approval],
    executions: Sequence[StoredIntent],
    commits: Callable[[], Commits],
) -> CommitStanding:
    outcome = outcome_of(events)
    if outcome is None or not outcome.commit:
        return CommitStanding()
    done = [one for one in executions if one.result and one.intent.kind is Act.EXECUTE]
    given = {approval.id: approval for approval in approvals}
    approval = given.get(done[-1].intent.approval_id) if done else None
    subject = read(approval.subject, ApprovalSubject) if approval else None
    name = outcome.commit[:SHOWN]
    if subject is None or not subject.commit:
        why = Text("commit {id} was made, and nobody had approved one", id=name)
        return CommitStanding(outcome.commit, (why,))
    files = written(done, done[-1].intent.approval_id, subject)
    try:
        found = commits().files(outcome.commit, list(files))
    except NoCommit:
        why = Text("commit {id} is not in the repository any more", id=name)
        return CommitStanding(outcome.commit, notes=(why,))
    notes = tuple(_differences(files, found, name))
    return CommitStanding(outcome.commit, as_approved=not notes, notes=notes)


def _differences(
    files: Mapping[str, FileState | None], found: Mapping[str, bytes | None], name: str
) -> Iterator[Text]:
    for path, state in files.items():
        data = found.get(path)
        if (state is None and data is None) or _is(state, data):
            continue
        if data is not None and _is(state, data.replace(b"\n", b"\r\n")):
            yield Text("{path} is in commit {id} with git's own line ends", path=path, id=name)
        else:
            yield Text("{path} is in commit {id} otherwise than approved: a hook or a filter changed it",
                       path=path, id=name)  # fmt: skip


def _is(state: FileState | None, data: bytes | None) -> bool:
    return state is not None and data is not None and codec.digest(data) == state.sha256
