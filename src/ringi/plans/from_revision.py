"""What was made elsewhere in git becomes a plan; when it moves on, a new version of the same plan."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ringi.errors import Busy, NotFound, PathRefused, RingiError, StorageFailed
from ringi.kernel.codec import decode_own, pretty
from ringi.kernel.document import Versioned
from ringi.kernel.process.environment import STATE_VARIABLE
from ringi.kernel.text import Text, why_failed
from ringi.patch.merge import MergedFile, merge_file
from ringi.patch.render import FileSide, is_binary
from ringi.plans.document import OPEN, PlanDocument, PlanRef, PlanStatus
from ringi.plans.effects import git_mode
from ringi.plans.from_difference import DifferenceOrigin, Taken, propose_difference
from ringi.plans.overlaps import overlaps
from ringi.plans.review_merge import merge_if_clean
from ringi.plans.review_view import amendments
from ringi.plans.reviewed_plan import ReviewedPlan
from ringi.plans.titles import title_of_commits
from ringi.tree.copy import put
from ringi.tree.copy_layout import private_folder
from ringi.tree.difference import CopyChange, TreeDifference
from ringi.tree.revision import Commit, Revision, Revisions, find_filtered
from ringi.tree.tree import CurrentFile

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_FOLDER: Final = "revisions"
_RECORD: Final = "revision.json"
_MOST_AUTHORS: Final = 3
_TRAILERS: Final = re.compile(r"(?:\A|\n\s*\n)(?:[A-Za-z-]+: .+(?:\n|\Z))+\Z")
"""The last paragraph of a message, if it only names people and issues."""
_LONGEST_REASON: Final = 10_000


class ProposedRevision(Versioned, frozen=True, kw_only=True):
    """revision.json: which plan a branch, a worktree … became, and how much of it the plan has."""

    name: str
    plan_id: str = ""
    head: str | None = None
    base: str = ""
    tree: str = ""


class TakenRevision(NamedTuple):
    revision: Revision
    taken: Taken
    before: PlanRef | None = None
    """If there is nothing to take: the plan that was made of it earlier."""


def revisions_of(workspace: Workspace) -> Revisions:
    return Revisions(workspace.places.root, workspace.places.state / _FOLDER)


def take_revision(workspace: Workspace, name: str, here: Path) -> TakenRevision:
    """Raises NotFound if nothing is called so, Unreviewable if it cannot be compared with the checkout."""
    revisions = revisions_of(workspace)
    private_folder(workspace.places.state / _FOLDER, STATE_VARIABLE)
    revision = revisions.find(name, here)
    folder = revisions.record_of(revision.name)
    with _claim(folder, revision.label):
        record = _read(folder, revision.name)
        return _take(workspace, revisions, revision, record, folder)


def _take(
    workspace: Workspace, revisions: Revisions, revision: Revision, record: ProposedRevision, folder: Path
) -> TakenRevision:
    plan = _plan_of(workspace, record)
    done = plan if plan and plan.status is PlanStatus.COMPLETED and not plan.undone else None
    before, base = plan if plan and plan.status in OPEN else None, revision.base
    if done and revisions.continues(revision, record.head) and revisions.has_tree(revision, record.tree):
        base = record.tree  # what was applied is here; what the person dropped from it is not asked again
    if done and base == revision.tree:
        return TakenRevision(revision, Taken(None), done)
    found = revisions.difference(revision, base, workspace.config.limits.max_specs)
    difference = _for_checkout(workspace, found)
    if not difference.changes:
        return TakenRevision(revision, Taken(None, difference.left_out), before or done)
    same = (base, revision.tree) == (record.base, record.tree)
    overtaken = before is not None and _overtaken(workspace.plan.get(before.id), difference)
    if plan and same and plan.status is not PlanStatus.DISCARDED and not overtaken:
        return TakenRevision(revision, Taken(plan, again=True, new=False))

    def note(plan_id: str, **more: object) -> None:
        found = msgspec.structs.replace(record, plan_id=plan_id, **more)
        put(folder / _RECORD, pretty(found))

    own = before.version if before and amendments(workspace.plan.get(before.id)) else 0
    plan_id, again, problems = propose_difference(workspace, difference, _origin(revision), before, note)
    note(plan_id, head=revision.head, base=base, tree=revision.tree)
    with suppress(RingiError):  # then it is merged, or refused in words, when it is reviewed
        merge_if_clean(ReviewedPlan(workspace, plan_id))
    taken = Taken(
        workspace.plan.ref(plan_id),
        difference.left_out,
        problems,
        again=again,
        overlaps=overlaps(workspace, workspace.plan.get(plan_id)),
        meanwhile=own if again else 0,
    )
    return TakenRevision(revision, taken)


def _overtaken(document: PlanDocument, difference: TreeDifference) -> bool:
    """Whether the files have some of the plan by now, and the person changed nothing in it."""
    asked = {path for spec in document.state.action_specs for path in spec.changed_paths}
    return not amendments(document) and len(difference.changes) < len(asked)


def _origin(revision: Revision) -> DifferenceOrigin:
    subjects = [commit.subject for commit in revision.commits]
    authors = list(dict.fromkeys(commit.author for commit in revision.commits if commit.author))
    some = authors[:_MOST_AUTHORS]
    return DifferenceOrigin(
        title_of_commits(subjects),
        f"Taken from the {revision.form} {revision.label}"
        + (f" at {revision.head}" if revision.head else ""),
        proposer=", ".join(some) or revision.label,
        requester=f"git:{revision.name}",
        tag="git",
        reason=f"{revision.label} at {revision.head or revision.tree}",
        rationale=_reason(revision.commits)[:_LONGEST_REASON],
    )


def _reason(commits: Sequence[Commit]) -> str:
    """What the commits say, oldest first, without what the title says already."""
    bodies = [_TRAILERS.sub("", commit.body) for commit in commits]
    if len(commits) == 1:
        return bodies[0]
    told = zip((commit.subject for commit in commits), bodies, strict=True)
    return "\n· ".join(f"{subject}: {body}" if body else subject for subject, body in [*told][::-1])


# ------------------------------------------------------------------ what is left to do in the checkout


def _for_checkout(workspace: Workspace, difference: TreeDifference) -> TreeDifference:
    """As the files here look: with their line ends, and without what they have already."""
    left_out = dict(difference.left_out)
    filters = find_filtered(workspace.places.root, [change.path for change in difference.changes])
    changes = []
    for given in difference.changes:
        try:
            now = workspace.tree.look(given.path)
        except (PathRefused, StorageFailed) as error:
            why = error.details["why"]
            left_out[given.path] = Text("in the checkout {why}", why=why)
            continue
        change = _with_line_ends(given, now)
        if _has_already(change, now):
            continue
        if name := filters.get(change.path):
            left_out[change.path] = Text("git converts it with the filter {name}", name=name)
        else:
            changes.append(change)
    return difference._replace(changes=tuple(changes), left_out=tuple(sorted(left_out.items())))


def _with_line_ends(change: CopyChange, now: CurrentFile | None) -> CopyChange:
    """If git writes the file here with CRLF, and keeps it with LF, both sides get CRLF."""
    if now is None or change.before is None or not _is_crlf(now.data) or b"\r" in change.before:
        return change
    return change._replace(before=_crlf(change.before), after=_crlf(change.after))


def _is_crlf(data: bytes) -> bool:
    count = data.count(b"\n")
    return count > 0 and data.count(b"\r\n") == count and not is_binary(data)


def _crlf(data: bytes | None) -> bytes | None:
    return data if data is None or b"\r\n" in data or is_binary(data) else data.replace(b"\n", b"\r\n")


def _has_already(change: CopyChange, now: CurrentFile | None) -> bool:
    ours = FileSide(now.data, git_mode(now.state.mode)) if now else None
    before, after = _side(change.before, change.before_mode), _side(change.after, change.after_mode)
    merged = merge_file(before, ours, after)
    return isinstance(merged, MergedFile) and merged.side == ours


def _side(data: bytes | None, mode: str | None) -> FileSide | None:
    return None if data is None or mode is None else FileSide(data, mode)


# ------------------------------------------------------------------ what is known about it


def _plan_of(workspace: Workspace, record: ProposedRevision) -> PlanRef | None:
    if not record.plan_id:
        return None
    try:
        return workspace.plan.ref(record.plan_id)
    except NotFound:
        return None


def _read(folder: Path, name: str) -> ProposedRevision:
    path = folder / _RECORD
    with suppress(OSError, RingiError):  # without it, the next plan is a new one
        return decode_own(path.read_bytes(), ProposedRevision, str(path))
    return ProposedRevision(name=name.encode("utf-8", "backslashreplace").decode())


@contextmanager
def _claim(folder: Path, name: str) -> Iterator[None]:
    """So that two commands at once do not make two plans."""
    private_folder(folder, STATE_VARIABLE)
    try:
        lock = (folder / "lock").open("ab")
    except OSError as error:
        raise StorageFailed(what=str(folder), why=why_failed(error)) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(holder=Text("another command makes a plan of {name}", name=name)) from None
        yield
