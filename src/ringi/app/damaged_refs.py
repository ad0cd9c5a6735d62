"""Whether a loss of power damaged a ref of ours in the person's repository, by a look that starts no git.

One rule for all commands: a command that writes such a ref mends it first, and so does `ringi recover`;
every other command only reads, leaves the repository as it is, and says at its end what is damaged.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ringi.app.lists import branches_of_runs
from ringi.errors import CopyFailed
from ringi.kernel.process.ref_files import Damage, glance, list_loose_refs, list_packed_refs, read_ref
from ringi.kernel.process.repository import Repository

# As `provenance.document.NOTES`, whose module takes longer to import than a list.
_NOTES: Final = "refs/notes/ringi"
_BRANCHES: Final = "refs/heads/"
_OF_RUNS: Final = f"{_BRANCHES}aiflow"


def glance_at_refs(root: Path, state: Path) -> Iterator[Damage]:
    """The notes, and the branches of runs that the ledger in `state` knows."""
    try:
        repository = Repository.at(root)
    except CopyFailed:
        return
    if repository is None:
        return
    if found := glance(repository, _NOTES):
        yield found
    loose = [found for ref in list_loose_refs(repository, _OF_RUNS) if (found := glance(repository, ref))]
    packed = list_packed_refs(repository, _OF_RUNS)
    if not loose and not packed:
        return
    runs = {f"{_BRANCHES}{run.work_branch}": run for run in branches_of_runs(state)}
    yield from (found for found in loose if found.ref in runs)
    # There may be hundreds, and each takes a look at every pack.
    going_on = [ref for ref in packed if ref in runs and not runs[ref].is_over]
    looked = (glance(repository, ref) for ref in going_on if not read_ref(repository, ref).there)
    yield from filter(None, looked)
