"""What a loss of power did to the notes and to the branches of runs, and how they are mended."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ringi.approvals.statement import NOTES
from ringi.engine.run_state import RunPhase
from ringi.errors import CopyFailed, NotesFailed, StorageFailed
from ringi.kernel.fs import replace_file
from ringi.kernel.process.durable import DurableGit
from ringi.kernel.process.git import Git
from ringi.kernel.process.ref_files import Damage, glance, read_packed_ref, read_ref
from ringi.kernel.process.refs import commit_at, examine, is_whole, put_aside
from ringi.kernel.process.repository import Mended, Repository
from ringi.kernel.text import COMMIT_SHOWN, Text
from ringi.plans import attest
from ringi.runs.branch import PUBLISHED, BranchOf, RunBranch, bring_objects
from ringi.runs.document import Run

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


def find_damaged_refs(workspace: Workspace) -> Iterator[Damage]:
    repository = workspace.repository()
    if why := repository.damage() if repository else None:
        yield Damage(NOTES, why)
    for run in _with_branch(workspace):
        if found := branch_damage(workspace.places.root, BranchOf.run(run)):
            yield found


def find_lost_proofs(workspace: Workspace, plan_ids: Iterable[str]) -> list[str]:
    """The names of those plans whose signed approvals are not in the notes, though they were used."""
    with suppress(NotesFailed):  # damaged ones are said to be so elsewhere
        return [workspace.plan_name(one) for one in plan_ids if attest.is_lost(workspace, one)]
    return []


def find_missing_proofs(workspace: Workspace) -> list[str]:
    """The names of all such plans: the notes can be read, but these are gone from them."""
    with suppress(NotesFailed):
        return [ref.name for ref in attest.find_lost_plans(workspace)]
    return []


def mend_refs(workspace: Workspace, *, deleted_notes: bool = False) -> Iterator[Mended]:
    """What is damaged; with `deleted_notes` also proofs that are missing in sound notes.

    Raises NotesFailed, StorageFailed.
    """
    yield from filter(None, [attest.mend(workspace)])
    yield from filter(None, [attest.bring_back(workspace) if deleted_notes else None])
    for run in _with_branch(workspace):
        yield from mend_run(workspace, run.run_id)


def mend_run(workspace: Workspace, run_id: str) -> Iterator[Mended]:
    """Its branch, and the folder in which its steps are carried out. Raises StorageFailed."""
    run = workspace.store.runs.get(run_id)
    if not _has_branch(run):
        return
    branch = workspace.branch(run_id)
    try:
        yield from filter(None, [mend_branch(branch), mend_folder(branch)])
    except CopyFailed as error:
        raise StorageFailed(what=run.work_branch, why=error.details["why"]) from None


def _with_branch(workspace: Workspace) -> list[Run]:
    return [run for run in workspace.store.runs.all() if _has_branch(run)]


def _has_branch(run: Run) -> bool:
    """Once a run is undone its branch does not count."""
    return bool(run.base_commit) and not run.undone and run.phase is not RunPhase.PLANNING


_SAID: Final = "ringi: put back"


def branch_damage(root: Path, of: BranchOf, *, quick: bool = False) -> Damage | None:
    """`quick` reads one file and starts no git; it finds what happens most often."""
    repository = Repository.at(root)
    if repository is None:
        return None
    if quick or not of.base_commit:
        return glance(repository, of.ref)
    return examine(repository, of.ref, without=of.base_commit)


def mend_branch(branch: RunBranch, *, quick: bool = False) -> Mended | None:
    """Puts the branch back to the newest commit of the run that can still be read; None if it is sound.

    What was damaged is moved aside. Raises CopyFailed, StorageFailed.
    """
    of, repository = branch.of, Repository.at(branch.person)
    if repository is None or branch_damage(branch.person, of, quick=quick) is None:
        return None
    with put_aside(repository) as aside:
        locked = aside.take_lock(of.ref)
        found = branch_damage(branch.person, of, quick=quick)
        if found is None:  # another process was faster, or it was nothing else
            words = _words_of_lock(of, str(aside.folder))
            return Mended(of.ref, (words,), str(aside.folder)) if locked else None
        packed = read_packed_ref(repository, of.ref)
        aside.take_objects([*filter(None, [read_ref(repository, of.ref).value, packed]), *of.commits])
        theirs = DurableGit(repository)
        if aside.take_ref(of.ref):
            theirs.write("update-ref", "-d", of.ref, refs=(of.ref,))
        target = next((one for one in reversed(of.commits) if _is_had(branch, repository, one)), "")
        if not target and of.in_place:
            target = of.base_commit
        if target:
            theirs.write("update-ref", "-m", _SAID, of.ref, target, refs=(of.ref,))
    return Mended(of.ref, (_words(of, found, target, str(aside.folder)),), str(aside.folder))


def mend_folder(branch: RunBranch) -> Mended | None:
    """The folder in which steps are carried out, if its git cannot be read; None if it is sound.

    Nothing in it is the person's. What was committed there and is nowhere else is committed again by the
    recovery. Raises CopyFailed, StorageFailed.
    """
    if branch.of.in_place or not branch.is_made:
        return None
    of, own = branch.of, Repository.at(branch.root)
    if own is not None:
        with put_aside(own) as aside:
            for name in ("HEAD", "index", PUBLISHED, of.ref):
                aside.take_lock(name)
        if glance(own, PUBLISHED):  # it is found out again
            (own.common / PUBLISHED).unlink(missing_ok=True)
        if _is_sound(branch, own):
            return None
        replace_file(own.git_dir / "HEAD", b"ref: " + os.fsencode(of.ref) + b"\n", mode=0o644)
        git, value = Git(own.git_dir), read_ref(own, of.ref).value
        theirs = Repository.at(branch.person)
        published = commit_at(Git(theirs.git_dir), of.ref) if theirs else ""
        with put_aside(own) as aside:
            aside.take_objects(filter(None, [value, published, *of.commits]))
            known = (value, published, of.tip, of.base_commit)
            target = next((one for one in known if one and is_whole(git, one, of.base_commit)), "")
            if target:
                aside.take_ref(of.ref)
                DurableGit(own).write("update-ref", of.ref, target, refs=(of.ref,))
        if target:
            (own.git_dir / "index").unlink(missing_ok=True)
            branch.reset()
            words = Text("The folder of run {run} was damaged and is mended.", run=of.run_id)
            return Mended(of.ref, (words,))
    branch.remove()
    return Mended(of.ref, (Text("The folder of run {run} was damaged; it is made anew.", run=of.run_id),))


def _is_sound(branch: RunBranch, own: Repository) -> bool:
    git, of = Git(own.git_dir, branch.root), branch.of
    if not (own.git_dir / "index").is_file() or git.attempt("ls-files", "-s").code:
        return False
    head = os.fsdecode(git.attempt("symbolic-ref", "-q", "HEAD").out).strip()
    tip = "" if glance(own, of.ref) else branch.tip()
    return head == of.ref and bool(tip) and is_whole(git, tip, of.base_commit)


def _is_had(branch: RunBranch, repository: Repository, commit: str) -> bool:
    """Whether the person's repository has the commit, if need be from the run's folder."""
    base = branch.of.base_commit
    if is_whole(Git(repository.git_dir), commit, base):
        return True
    own = branch.root / ".git"
    if branch.of.in_place or not os.path.lexists(own) or not is_whole(Git(own), commit, base):
        return False
    bring_objects(Git(own), branch.person, branch.of, commit)
    return is_whole(Git(repository.git_dir), commit, base)


def _words_of_lock(of: BranchOf, folder: str) -> Text:
    return Text(
        "The branch {branch} was locked by a git that is gone. The lock is in {folder}.",
        branch=of.work_branch,
        folder=folder,
    )


def _words(of: BranchOf, found: Damage, target: str, folder: str) -> Text:
    facts = {"branch": of.work_branch, "why": found.why, "id": target[:COMMIT_SHOWN], "folder": folder}
    if target == of.tip or not of.commits:
        if not target:
            return Text(
                "The branch {branch} was damaged ({why}) and had no commit of the run yet: it is gone. "
                "The damaged files are in {folder}.",
                **facts,
            )
        return Text(
            "The branch {branch} was damaged ({why}); it is back at commit {id}. "
            "The damaged files are in {folder}.",
            **facts,
        )
    facts |= {"lost": of.tip[:COMMIT_SHOWN], "run": of.run_id}
    if target:
        return Text(
            "The branch {branch} was damaged ({why}). Commit {lost} cannot be read any more, so it is back "
            "at {id}. The damaged files are in {folder}. Start another run: ringi cancel {run}",
            **facts,
        )
    return Text(
        "The branch {branch} was damaged ({why}), and no commit of the run can be read any more. "
        "The damaged files are in {folder}. Start another run: ringi cancel {run}",
        **facts,
    )
