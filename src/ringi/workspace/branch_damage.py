"""The branch of a run after a loss of power: whether it can be read, and how it gets back to where it was."""

import os
from pathlib import Path
from typing import Final

from ringi.process.durable import DurableGit
from ringi.process.git import Git, Repository
from ringi.process.refs import (
    Damage,
    commit_at,
    examine,
    glance,
    is_whole,
    packed_value,
    put_aside,
    read_ref,
)
from ringi.text import COMMIT_SHOWN, Text
from ringi.workspace.run_branch import PUBLISHED, BranchOf, RunBranch, bring_objects

_SAID: Final = "ringi: put back"


def branch_damage(root: Path, of: BranchOf, *, quick: bool = False) -> Damage | None:
    """`quick` reads one file and starts no git; it finds what happens most often."""
    repository = Repository.at(root)
    if repository is None:
        return None
    if quick:
        return glance(repository, of.ref)
    git = Git(repository.git_dir)
    if not of.base_commit or not commit_at(git, of.base_commit):
        return glance(repository, of.ref)
    return examine(repository, of.ref, without=of.base_commit)


def mend_branch(branch: RunBranch, *, quick: bool = False) -> Text | None:
    """Puts the branch back to the newest commit of the run that can still be read; None if it is sound.

    What was damaged is moved aside. Raises CopyFailed, StorageFailed.
    """
    of, repository = branch.of, Repository.at(branch.person)
    if repository is None or branch_damage(branch.person, of, quick=quick) is None:
        return None
    with put_aside(repository) as aside:
        found = branch_damage(branch.person, of, quick=quick)
        if found is None:  # another process was faster
            return None
        packed = packed_value(repository, of.ref)
        aside.take_objects([*filter(None, [read_ref(repository, of.ref).value, packed]), *of.commits])
        aside.take_ref(of.ref)
        theirs = DurableGit(repository)
        if packed:
            aside.note(of.ref, packed)
            theirs.write("update-ref", "-d", of.ref, refs=(of.ref,))
        target = next((one for one in reversed(of.commits) if _is_had(branch, repository, one)), "")
        if not target and of.in_place:
            target = of.base_commit
        if target:
            theirs.write("update-ref", "-m", _SAID, of.ref, target, refs=(of.ref,))
    return _words(of, found, target, str(aside.folder))


def mend_folder(branch: RunBranch) -> Text | None:
    """Removes the folder in which steps are carried out if its git cannot be read: it is made anew.

    Nothing in it is the person's.
    """
    if branch.of.in_place or not branch.is_made:
        return None
    own = Repository.at(branch.root)
    if own and glance(own, PUBLISHED):  # it is found out again
        (own.common / PUBLISHED).unlink(missing_ok=True)
    git = Git(branch.root / ".git")
    if (tip := branch.tip()) and is_whole(git, tip, branch.of.base_commit):
        return None
    branch.remove()
    return Text("The folder of run {run} was damaged; it is made anew.", run=branch.of.run_id)


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
