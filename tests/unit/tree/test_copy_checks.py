"""Checks run in copies: about exactly the bytes in question, and without a trace in the workspace."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import UNSET

from ringi.config.keys import RunConfig
from ringi.errors import CopyFailed, PathRefused, StorageFailed
from ringi.kernel.fs import OsFileSystem
from ringi.kernel.places import Places, places_of
from ringi.kernel.process import sandbox
from ringi.kernel.process.ancestors import process_start
from ringi.kernel.process.environment import SYSTEM_PATH
from ringi.kernel.text import Text
from ringi.plans import words
from ringi.tree.check_result import CheckPhase, CheckResult
from ringi.tree.commands import WorkspaceCommands
from ringi.tree.copy import WorkCopy
from ringi.tree.copy_run import SCRATCH, CopyChecks, lay_over
from ringi.tree.tree import Tree
from tests.helpers import environment_of, fingerprint, make_files, untouched

DRY = CheckPhase.DRY


@pytest.fixture
def places(repo: Path, tmp_path: Path) -> Places:
    return places_of(repo, environment_of(tmp_path))


def run(places: Places, *commands: str, files=None, timeout: float = 30, **more) -> tuple[CheckResult, ...]:
    environment = {"PATH": os.environ["PATH"], **more.pop("environment", {})}
    check = CopyChecks(places, environment, timeout, **more)
    with untouched(places.root, agent=True):
        results = check(commands, files or {}, DRY)
    assert WorkCopy.all(places.copies) == []
    assert list(places.copies.glob(".*")) == []
    return results


def sandbox_trouble() -> str | None:
    bwrap = sandbox.find(SYSTEM_PATH)
    why = sandbox.trouble(bwrap) if bwrap else "bubblewrap is not installed"
    return None if why is None else str(why)


def codes(results: tuple[CheckResult, ...]) -> list[int]:
    return [result.exit_code for result in results]


def git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.req("PT-16")
def test_a_check_looks_at_the_workspace_as_it_is(places: Places):
    (places.root / "new.txt").write_text("not committed\n")
    passed, failed = run(
        places,
        "grep -q committed new.txt && echo fine",
        "test -f gone; printf '\\033[31mno\\033[0m\\n'; false",
    )
    assert (passed.command, passed.exit_code) == ("grep -q committed new.txt && echo fine", 0)
    assert (passed.output, passed.phase) == ("fine\n", DRY)
    assert (failed.exit_code, failed.output) == (1, "no\n")
    git(places.root, "add", "-A")
    assert passed.tree == failed.tree == git(places.root, "write-tree")


@pytest.mark.req("PT-16")
def test_the_first_that_fails_is_the_last_that_runs(places: Places, tmp_path: Path):
    results = run(places, "true", "exit 3", f"touch {tmp_path}/ran")
    assert codes(results) == [0, 3]
    assert not (tmp_path / "ran").exists()


def test_nothing_to_run_makes_no_copy(places: Places):
    assert run(places) == ()
    assert not places.state.exists()


@pytest.mark.req("PT-16")
def test_files_are_laid_over_the_copy(places: Places):
    files = {
        "app/hello.py": (b"after\n", 0o644),
        "deep/er/new.sh": (b"#!/bin/sh\necho made\n", 0o755),
        "README.md": None,
        "never/was.txt": None,
    }
    (result,) = run(
        places, "grep -q after app/hello.py && test ! -e README.md && ./deep/er/new.sh", files=files
    )
    assert (result.exit_code, result.output) == (0, "made\n")
    make_files(places.root, {"app/hello.py": "after\n", "deep/er/new.sh": files["deep/er/new.sh"][0]})
    (places.root / "deep/er/new.sh").chmod(0o755)
    (places.root / "README.md").unlink()
    git(places.root, "add", "-A")
    assert result.tree == git(places.root, "write-tree")


def test_folders_that_a_deletion_empties_are_gone(places: Places):
    assert codes(run(places, "test ! -e app", files={"app/hello.py": None})) == [0]


@pytest.mark.req("PT-16")
def test_what_a_check_writes_stays_in_the_copy(places: Places):
    """`untouched` in run() compares every byte of the workspace, git's own folder included."""
    results = run(places, "echo x > app/hello.py; rm README.md; git commit -qam mine; ln -s / root; mkfifo p")
    assert codes(results) == [0]


def test_a_build_is_there_for_the_test_after_it(places: Places):
    assert codes(run(places, "echo built > app/out.txt", "grep -q built app/out.txt")) == [0, 0]


@pytest.mark.req("PT-16")
@pytest.mark.parametrize(
    "rewriting",
    [
        "echo nice > app/hello.py",
        "echo nice > laid.txt",
        "rm laid.txt",
        "chmod +x laid.txt",
        "echo back > README.md",
        "rm -rf $PWD",
        "rm -rf .git; rm -rf ../base.git",
    ],
)
def test_a_formatter_does_not_make_the_next_check_pass(places: Places, rewriting: str):
    files = {"laid.txt": (b"laid\n", 0o644), "README.md": None}
    looking = (
        "grep -q hello app/hello.py && grep -q laid laid.txt && test ! -x laid.txt && test ! -e README.md"
    )
    results = run(places, looking, rewriting, looking, files=files)
    assert codes(results) == [0, 0, 0]
    assert len({result.tree for result in results}) == 1


@pytest.mark.req("PT-16")
def test_a_check_that_takes_too_long_is_ended(places: Places, tmp_path: Path):
    (result,) = run(places, f"echo begun; sleep 60; touch {tmp_path}/late", "true", timeout=1.5)
    assert (result.exit_code, result.timeout_sec) == (124, 1.5)
    assert "begun\n".startswith(result.output)  # a busy machine may not have come so far
    assert str(words.check(result)).startswith("stopped after 1.5 s (checks.timeout_sec): echo begun;")
    assert str(result.ended) == "was stopped after 1.5 s (checks.timeout_sec)"


def test_a_command_may_end_with_the_same_code_by_itself(places: Places):
    (result,) = run(places, "exit 124")
    assert result.timeout_sec is UNSET
    assert str(words.check(result)) == "failed with exit code 124: exit 124"


def test_bytes_that_nobody_approved_are_checked_in_the_sandbox_of_a_plan(places: Places, tmp_path: Path):
    if (why := sandbox_trouble()) is not None:
        pytest.skip(why)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "secret").write_text("key\n")
    environment = {"PATH": os.environ["PATH"], "TOKEN": "t"}
    command = f'test -z "$TOKEN" && ! cat {tmp_path}/home/secret && echo $RINGI_WITH && pwd > here'
    (result,) = run(
        places,
        command,
        environment={"TOKEN": "t"},
        commands_in=lambda tree: WorkspaceCommands(tree, environment, RunConfig(), (tmp_path / "home",)),
    )
    assert result.exit_code == 0, result.output
    assert re.search(r"^\d{8}-\d{6}-[0-9a-f]{8}$", result.output, re.MULTILINE)


@pytest.mark.req("PT-16")
def test_a_program_that_is_not_there(places: Places):
    (result,) = run(places, "no-such-program-anywhere --fast")
    assert result.exit_code == 127
    assert "no-such-program-anywhere" in result.output


def test_only_the_last_lines_are_kept(places: Places):
    (result,) = run(places, "seq 100000; exit 1")
    assert result.output.endswith("99999\n100000\n")
    assert len(result.output) <= 16384


def test_a_check_is_led_to_no_place_of_the_workspace(places: Places):
    environment = {
        "GIT_DIR": str(places.root / ".git"),
        "GIT_WORK_TREE": str(places.root),
        "OLDPWD": str(places.root),
        "TOKEN": "kept",
    }
    (result,) = run(
        places, "git rev-parse --show-toplevel; echo $PWD; echo $OLDPWD $TOKEN", environment=environment
    )
    top, here, rest = result.output.splitlines()
    assert top == here
    assert Path(here).is_relative_to(places.copies)
    assert rest == "kept"


def test_carried_folders_are_there(places: Places):
    make_files(places.root, {".gitignore": "deps\n", "deps/lib.txt": "lib\n"})
    assert codes(run(places, "test -f deps/lib.txt")) == [1]
    results = run(places, "echo x > deps/lib.txt", "grep -q . deps/lib.txt", carry=["deps"])
    assert codes(results) == [0, 0]


def test_it_says_what_it_does(places: Places):
    said: list[Text] = []
    run(places, "true", on_progress=said.append)
    assert [str(text) for text in said] == ["Reading the workspace", "Laying out the copy", "running true …"]


def test_a_link_in_the_way_is_not_followed(places: Places, tmp_path: Path):
    outside = tmp_path / "outside"
    make_files(outside, {"kept.txt": "kept\n"})
    (places.root / "linked").symlink_to(outside)
    for files in ({"linked/kept.txt": None}, {"linked/kept.txt": (b"x", 0o644)}):
        with pytest.raises(PathRefused, match="symbolic link"):
            run(places, "true", files=files)
        assert WorkCopy.all(places.copies) == []
    assert fingerprint(outside).keys() == {"kept.txt"}
    (result,) = run(places, "cat linked", files={"linked": (b"a file now\n", 0o644)})
    assert result.output == "a file now\n"
    assert (outside / "kept.txt").read_text() == "kept\n"


def test_a_folder_in_the_way_is_named(places: Places):
    with pytest.raises(StorageFailed, match="could not be written"):
        run(places, "true", files={"app": (b"x", 0o644)})
    assert WorkCopy.all(places.copies) == []


def test_the_copy_goes_when_it_cannot_be_used(places: Places):
    def lose_objects(said: Text) -> None:
        if "Carrying" in str(said):
            (copy,) = WorkCopy.all(places.copies)
            (copy.folder / "base.git/objects/info/alternates").unlink()

    make_files(places.root, {".gitignore": "local\n", "local": "not in git\n"})
    files = {"a.txt": (b"a", 0o644)}
    with pytest.raises(CopyFailed, match="git"):
        run(places, "true", files=files, carry=["local"], on_progress=lose_objects)
    assert WorkCopy.all(places.copies) == []


def test_a_copy_that_cannot_be_removed_hides_no_result(places: Places):
    said: list[Text] = []
    check = CopyChecks(places, {"PATH": os.environ["PATH"]}, 30, on_progress=said.append)
    in_the_way = 'cd .. && mkdir -p "../.removed-${PWD##*/}/x"'
    assert codes(check([in_the_way], {}, DRY)) == [0]
    assert str(said[-1]).endswith("cannot be removed: Directory not empty")
    (left,) = WorkCopy.all(places.copies)
    assert left.record.taken


def child_that(places: Places, command: str) -> subprocess.CompletedProcess[str]:
    """A process of its own that checks with the command, in which {pid} is the process's number."""
    program = (
        "import os, sys; from pathlib import Path; from ringi.tree.copy_run import CopyChecks;"
        "from ringi.kernel.places import places_of; from ringi.tree.check_result import CheckPhase;"
        "places, command = places_of(Path(sys.argv[1]), os.environ), sys.argv[2].format(pid=os.getpid());"
        "CopyChecks(places, os.environ, 30)([command], {}, CheckPhase.DRY)"
    )
    environment = os.environ | {
        "RINGI_STATE_DIR": str(places.states),
        "RINGI_CACHE_DIR": str(places.copies.parents[1]),
    }
    return subprocess.run(
        [sys.executable, "-c", program, str(places.root), command],
        env=environment,
        check=False,
        timeout=60,
        capture_output=True,
        text=True,
    )


def test_a_copy_whose_process_was_killed_is_removed_by_the_next(places: Places):
    assert child_that(places, "kill -9 {pid}; sleep 1").returncode == -9
    (left,) = WorkCopy.all(places.copies)
    assert left.record.command == (SCRATCH,)
    assert left.record.taken  # no plan is made of it
    assert process_start(left.record.supervisor.pid) != left.record.supervisor.start
    assert codes(run(places, "true")) == [0]


def test_an_interrupt_ends_the_check_and_removes_the_copy(places: Places, tmp_path: Path):
    done = child_that(places, f"kill -TERM {{pid}}; sleep 20; touch {tmp_path}/late")
    assert "Interrupted" in done.stderr
    assert WorkCopy.all(places.copies) == []
    assert list(places.copies.iterdir()) == []


def test_a_folder_without_git(tmp_path: Path):
    make_files(tmp_path / "plain", {"a.txt": "a\n"})
    (tmp_path / "plain" / ".agent").mkdir()
    places = places_of(tmp_path / "plain", environment_of(tmp_path))
    assert codes(run(places, "grep -q b a.txt", files={"a.txt": (b"b\n", 0o644)})) == [0]


def test_laying_over_replaces_a_name_and_not_what_it_shares_bytes_with(tmp_path: Path):
    make_files(tmp_path / "tree", {"one.txt": "one\n"})
    (tmp_path / "outside.txt").hardlink_to(tmp_path / "tree" / "one.txt")
    tree = Tree(OsFileSystem(), tmp_path / "tree")
    lay_over(tree, {"one.txt": (b"two\n", 0o600)})
    assert (tmp_path / "tree" / "one.txt").read_text() == "two\n"
    assert (tmp_path / "tree" / "one.txt").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "outside.txt").read_text() == "one\n"


@pytest.mark.req("PT-16")
def test_a_result_is_not_claimed_if_something_leads_to_the_project(places: Places, repo: Path) -> None:
    plain, home, path = (
        run(places, "true", environment=more)[0]
        for more in ({}, {"HOME": str(repo)}, {"PYTHONPATH": f"/elsewhere:{repo}/src"})
    )
    assert (plain.passed, plain.doubt) == (True, UNSET)
    assert (home.exit_code, home.passed, home.doubt) == (0, False, str(repo))
    assert (path.exit_code, path.passed, path.doubt) == (0, False, "PYTHONPATH")
