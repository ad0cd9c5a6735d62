"""The forge that other tests rely on does with git what real ones do."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.unit.forges.conftest import Here


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    return subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, check=False, env=environment
    )


def clone(here: Here, folder: Path, login: str) -> Path:
    done = git(folder, "clone", "-q", here.forge.clone_url(here.repo, login), login)
    assert done.returncode == 0, done.stderr
    return folder / login


def commit(folder: Path, text: str) -> str:
    (folder / "a.py").write_text(text)
    git(folder, "commit", "-qam", "Change")
    return git(folder, "rev-parse", "HEAD").stdout.strip()


def test_push_moves_the_head_of_a_change_and_needs_write_access(here: Here, tmp_path: Path):
    ours = clone(here, tmp_path, "ringi")
    assert git(ours, "switch", "-qc", "aiflow/1").returncode == 0
    first = commit(ours, "x = 2\n")
    assert git(ours, "push", "-q", "origin", "HEAD:refs/heads/aiflow/1").returncode == 0
    change = here.repo.open_change("ringi", "aiflow/1", "main", "Faster")
    second = commit(ours, "x = 3\n")
    assert git(ours, "push", "-q", "origin", "HEAD:refs/heads/aiflow/1").returncode == 0
    assert [head for _, head, _ in change.versions] == [first, second]
    git(ours, "notes", "--ref", "ringi", "add", "-m", "note")
    assert git(ours, "push", "-q", "origin", "refs/notes/ringi").returncode == 0
    merged = here.repo.merge(change.number, squash=True)
    assert here.repo.tip("main") == merged
    assert here.repo.git("show", f"{merged}:a.py") == "x = 3"
    theirs = clone(here, tmp_path, "bob")
    assert commit(theirs, "x = 9\n")
    refused = git(theirs, "push", "-q", "origin", "HEAD:refs/heads/other")
    assert "403" in refused.stderr
    assert here.repo.tip("other") == ""


@pytest.mark.parametrize("login", ["nobody", "revoked"])
def test_clone_needs_a_token(here: Here, tmp_path: Path, login: str):
    here.forge.user(login)
    url = here.forge.clone_url(here.repo, login)
    if login == "revoked":
        here.forge.revoke(login)
    assert git(tmp_path, "clone", "-q", url, "there").returncode != 0
    assert git(tmp_path, "clone", "-q", here.repo.git_url, "there").returncode != 0
