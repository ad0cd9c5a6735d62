"""The commit that takes back a plan's commits: on top of the current branch, never in its history.

It is made of what git has, as `git revert` does it: for each file, what the plan's commit did is taken out of
the newest version, and what later commits did stays. What is not committed has no part in it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ringi.approvals.document import CommitSubject
from ringi.errors import NoCommit
from ringi.kernel.text import COMMIT_SHOWN, Text
from ringi.ledger.event import EventKind, LoggedEvent
from ringi.patch.file_merge import ConflictedFile, merge_file
from ringi.patch.render import FileSide
from ringi.plans.document import PlanDocument, title_of
from ringi.tree.commit_order import Committed

if TYPE_CHECKING:
    from ringi.tree.commits import GitCommits


Files = dict[str, Committed | None]
_E: Final = EventKind


def standing(events: Iterable[LoggedEvent]) -> tuple[str, ...]:
    """The plan's commits that no commit of ours took back, newest first."""
    found: list[str] = []
    undoing = False
    for logged in events:
        match logged.event.event:
            case _E.UNDO_APPROVED:
                undoing = True
            case _E.EXECUTED:
                undoing = False
            case _E.COMMITTED if undoing:
                found.clear()
            case _E.COMMITTED:
                found.append(logged.event.reason.partition(":")[0])
    return tuple(reversed(found))


def revert_subject(
    commits: "GitCommits", document: PlanDocument, made: Sequence[str], known: Iterable[str]
) -> CommitSubject:
    """Raises NoCommit. `known` are the files that the undo knows."""
    files = reverted(commits, made)
    if others := sorted(files.keys() - set(known)):
        raise NoCommit(why=Text("commit {id} also changed {path}", id=made[0][:COMMIT_SHOWN], path=others[0]))
    if not files:
        raise NoCommit(why=Text("nothing of it is left in the branch"))
    branch, parent, hooks = commits.place(list(files), unstaged=True)
    return CommitSubject(branch, parent, _message(document, made), hooks, tuple(made))


def _message(document: PlanDocument, made: Sequence[str]) -> str:
    wish = document.state.commit
    title = title_of(wish.message) if wish else document.plan.title
    return f'Revert "{title}"\n\n' + "\n".join(f"This reverts commit {commit}." for commit in made)


def reverted(commits: "GitCommits", made: Sequence[str]) -> Files:
    """The files that differ from HEAD once the commits are taken back, newest first."""
    head: Files = {}
    now: Files = {}
    for commit in made:
        parent, paths = commits.change(commit)
        new = [path for path in paths if path not in head]
        found = commits.files("HEAD", new)
        head |= found
        now |= found
        theirs: Mapping[str, Committed | None] = commits.files(parent, paths) if parent else {}
        for path, base in commits.files(commit, paths).items():
            now[path] = _without(path, base, now[path], theirs.get(path))
    return {path: file for path, file in now.items() if file != head[path]}


def _without(
    path: str, base: Committed | None, ours: Committed | None, theirs: Committed | None
) -> Committed | None:
    merged = merge_file(_side(base), _side(ours), _side(theirs))
    if isinstance(merged, ConflictedFile):
        raise NoCommit(why=Text("later commits changed the same in {path}", path=path))
    return Committed(merged.side.mode, merged.side.data) if merged.side else None


def _side(file: Committed | None) -> FileSide | None:
    return FileSide(file.data, file.mode) if file else None
