"""What commits prove by themselves: who changed a file, and whether an agent had a part in it."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from ringi.approvals.signing import Signer
from ringi.approvals.statement import FileAt, PathChange, fingerprint
from ringi.errors import SignatureRefused, SignatureUnchecked
from ringi.provenance.chain import Link, Merge
from ringi.provenance.envelope import Grounds
from ringi.provenance.notes_of_clone import Made
from ringi.provenance.ports import PastCommit
from ringi.provenance.verdict import Evidence, Level

# Indented too: `git merge --squash` quotes the messages that way.
_ASSISTED: Final = re.compile(r"^[ \t]*Assisted-by[ \t]*:", re.MULTILINE | re.IGNORECASE)
_COMMITTER: Final = re.compile(rb"^committer (.*) <[^>\n]*> (\d{1,12}) [+-]\d{4}$", re.MULTILINE)
_NAMESPACE: Final = "git"
"""Of the signatures of commits."""


class PathHistory(NamedTuple):
    """What the commits of a range did to one path, oldest first."""

    links: list[Link]
    merges: list[Merge]
    made: set[FileAt]
    """The states that came about in the range."""
    assisted: list[tuple[FileAt, FileAt, str]]
    """What agents had a part in, with the commit: no link by itself."""
    runs: Mapping[str, Made]
    """Of those the commits that do not say so themselves, with what a note says."""

    @property
    def states(self) -> set[FileAt]:
        """From which approvals may lead on."""
        return {
            *self.made,
            *(link.before for link in self.links),
            *(before for before, _, _ in self.assisted),
        }

    def reassign(self, runs: Mapping[str, Made]) -> "PathHistory":
        """These commits are taken for those of runs, and are no links by themselves."""
        links = [one for one in self.links if one.evidence.commit in runs]
        merges = [one for one in self.merges if one.evidence.commit in runs]
        return self._replace(
            links=[one for one in self.links if one not in links],
            merges=[one for one in self.merges if one not in merges],
            assisted=[
                *self.assisted,
                *((one.before, one.after, one.evidence.commit) for one in links),
                *((one.before[0], one.after, one.evidence.commit) for one in merges),
            ],
            runs={**self.runs, **runs},
        )


def judge_commit(commit: PastCommit, grounds: Grounds) -> Evidence:
    """An agent's commit proves nothing, a listed person's signed one much."""
    found = _COMMITTER.search(commit.payload.partition(b"\n\n")[0])
    name, stamp = (found[1].decode("utf-8", "replace"), int(found[2])) if found else ("", 0)
    try:
        at = datetime.fromtimestamp(stamp, UTC)
    except (ValueError, OverflowError):
        at = datetime.fromtimestamp(0, UTC)
    level = Level.NONE if _ASSISTED.search(commit.message) else Level.UNASSISTED
    signer = _find_signer(commit, at, grounds) if level is Level.UNASSISTED else None
    return Evidence(
        level=Level.SIGNED if signer else level,
        by=signer.principal if signer else name,
        at=f"{at:%Y-%m-%dT%H:%M:%S.%fZ}",
        key=fingerprint(signer.key) if signer else "",
        commit=commit.id,
    )


def find_related(parents: Mapping[str, Sequence[str]]) -> set[str]:
    """Of the commits of a range, those that go on from what was there before it.

    The others came from another repository: signatures there were not meant for this one.
    """
    children: dict[str, list[str]] = {}
    for oid, before in parents.items():
        for parent in before:
            children.setdefault(parent, []).append(oid)
    waiting = [oid for parent in children.keys() - parents.keys() for oid in children[parent]]
    found = set(waiting)
    while waiting:
        fresh = set(children.get(waiting.pop(), ())) - found
        found |= fresh
        waiting += fresh
    return found


def group_by_path(
    paths: Collection[str], commits: Iterable[tuple[PastCommit, Evidence]]
) -> dict[str, PathHistory]:
    """`commits` come oldest first."""
    found = {path: PathHistory([], [], set(), [], {}) for path in paths}
    for commit, evidence in commits:
        befores: dict[str, list[FileAt]] = {}
        for step in commit.changes:
            befores.setdefault(step.path, []).append(step.before)
        after = {step.path: step.after for step in commit.changes}
        for path in befores.keys() & found.keys():
            _add(found[path], befores[path], after[path], evidence, commit.parents)
    return found


def attribute_to_runs(known: PathHistory, made: Sequence[Made], base: Iterable[PathChange]) -> PathHistory:
    """A squash may lose the line that names the agent, so silence proves nothing where a run was at work.

    A commit is taken for a run's if it has the bytes that the run made of those before, or if no other commit
    made them so: neither one before the range, as `base` tells, nor one of it. More notes only add doubts.
    """
    others = {(step.before, step.after) for step in base}
    others |= {(link.before, link.after) for link in known.links}
    others |= {(before, after) for before, after, _ in known.assisted}
    runs: dict[str, Made] = {}
    for link in known.links:
        begun = [one for one in made if one.before == link.before]
        if link.level is not Level.UNASSISTED or not begun:
            continue
        if link.after in _find_results(link.before, made):
            runs[link.evidence.commit] = begun[0]._replace(after=link.after)
        elif lost := [one for one in begun if (one.before, one.after) not in others]:
            runs[link.evidence.commit] = lost[0]
    return known.reassign(runs)


def _find_results(before: FileAt, made: Sequence[Made]) -> set[FileAt]:
    """Of one step or of several."""
    found, waiting = set[FileAt](), [before]
    while waiting:
        state = waiting.pop()
        fresh = {one.after for one in made if one.before == state} - found
        found |= fresh
        waiting += fresh
    return found


def _add(
    known: PathHistory, befores: list[FileAt], after: FileAt, evidence: Evidence, parents: Sequence[str]
) -> None:
    taken = len(befores) < len(parents)  # as one of them has it
    if not taken:
        known.made.add(after)
    if len(parents) > 1:
        states = (*befores, *([after] if taken else []))
        known.merges.append(Merge(states, after, evidence, tuple(parents)))
    elif evidence.level is Level.NONE:
        known.assisted.append((befores[0], after, evidence.commit))
    else:
        known.links.append(Link(befores[0], after, evidence))


def _find_signer(commit: PastCommit, at: datetime, grounds: Grounds) -> Signer | None:
    if not commit.signature or at > grounds.now:
        return None
    try:
        return grounds.signatures.signer_at(commit.payload, commit.signature, grounds.lists, at, _NAMESPACE)
    except (SignatureRefused, SignatureUnchecked):
        return None
