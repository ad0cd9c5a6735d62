"""Real commands in real copies: what they say is bound to a tree, and what they leave is told."""

import os
from pathlib import Path

import pytest

from ringi.errors import StorageFailed
from ringi.kernel.places import Places, places_of
from ringi.kernel.process.capture import last
from ringi.tree.commands import Invocation
from ringi.tree.copy import WorkCopy
from ringi.tree.copy_run import SCRATCH, CopyEffect, CopyRun, ScratchCopies
from tests.helpers import environment_of

ENVIRONMENT = {"PATH": os.environ["PATH"], "OLDPWD": "/elsewhere", "GIT_DIR": "/elsewhere", "OWN": "1"}


@pytest.fixture
def places(repo: Path, tmp_path: Path) -> Places:
    return places_of(repo, environment_of(tmp_path))


def said(copy_run: CopyRun, command: str) -> str:
    return copy_run.run(command, timeout_sec=30, output=last(10_000)).text


def test_a_result_names_the_tree_it_is_about(places: Places) -> None:
    with ScratchCopies(places, ENVIRONMENT) as copies:
        plain = copies.current().check("cat README.md", 30)
    with ScratchCopies(places, ENVIRONMENT, files={"README.md": (b"laid over\n", 0o644)}) as copies:
        laid = copies.current().check("cat README.md", 30)
    assert laid.output == "laid over\n"
    assert plain.tree != laid.tree


def test_nothing_leads_from_the_copy_back_to_the_workspace(places: Places) -> None:
    with ScratchCopies(places, ENVIRONMENT) as copies:
        copy_run = copies.current()
        lines = said(copy_run, "env; pwd").splitlines()
        assert lines[-1] == str(copy_run.copy.tree)
        assert {"OWN=1", f"PWD={copy_run.copy.tree}", f"RINGI_WITH={copy_run.copy.id}"} <= set(lines)
        assert not [line for line in lines if line.startswith(("GIT_DIR", "OLDPWD"))]


@pytest.mark.parametrize(
    ("command", "touched"),
    [
        ("true", CopyEffect.NOTHING),
        ("echo new > beside.txt", CopyEffect.ADDED),
        ("echo other > README.md", CopyEffect.REWRITTEN),
        ("rm README.md", CopyEffect.REWRITTEN),
        ("rm README.md; ln -s app README.md", CopyEffect.REWRITTEN),
        ("rm -rf app; git init -q app", CopyEffect.REWRITTEN),
        ("ln -s README.md link; mkdir new; git init -q new", CopyEffect.ADDED),
        ("rm -rf .[!.]* *", CopyEffect.REWRITTEN),
    ],
)
def test_what_a_command_did_to_the_files(places: Places, command: str, touched: CopyEffect) -> None:
    with ScratchCopies(places, ENVIRONMENT) as copies:
        first = copies.current()
        said(first, command)
        assert first.find_effect() is touched
        again = copies.current()
        assert (again is first) == (touched is not CopyEffect.REWRITTEN)
        assert again.find_effect() in {CopyEffect.NOTHING, touched}
    assert WorkCopy.all(places.copies) == []


def test_a_copy_goes_however_the_block_ends(places: Places) -> None:
    def interrupted() -> None:
        with ScratchCopies(places, ENVIRONMENT) as copies:
            record = copies.current().copy.record
            assert (record.command, record.taken) == ((SCRATCH,), True)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert WorkCopy.all(places.copies) == []


def test_a_command_is_started_as_its_sandbox_says(places: Places) -> None:
    def enclosing(invocation: Invocation) -> Invocation:
        return Invocation(("env", "INSIDE=yes", *invocation.argv), invocation.env)

    with ScratchCopies(places, ENVIRONMENT) as copies:
        copy_run = CopyRun(copies.current().copy, ENVIRONMENT, enclosing=enclosing)
        assert said(copy_run, "echo $INSIDE $OWN") == "yes 1\n"


def test_a_command_that_cannot_be_started_is_told_in_words(places: Places) -> None:
    with ScratchCopies(places, ENVIRONMENT) as copies:
        copy = copies.current().copy
        broken = CopyRun(copy, ENVIRONMENT, enclosing=lambda old: old._replace(argv=("/nowhere/program",)))
        with pytest.raises(StorageFailed, match="No such file"):
            said(broken, "true")
