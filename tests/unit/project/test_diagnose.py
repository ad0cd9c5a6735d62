"""Checkers run in copies, only if somebody allowed them, and only once for the same files."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.app.api import Workspace, open_workspace
from ringi.beside.copies import find_abandoned
from ringi.config.load import executable
from ringi.config.pins import Trust
from ringi.project.diagnose import Diagnosed, DiagnosedTree, commands_of, diagnose
from ringi.project.diagnose import DiagnosticCommand as Command
from ringi.project.diagnostics import LIMITS, DiagnosticLimits
from ringi.project.state import Diagnostic, Gap, GapCode, Severity
from ringi.tree.copy import WorkCopy
from ringi.tree.tree_capture import WorktreeCapture
from tests.helpers import Person, environment_of, holds_soon, python, untouched

FOUND = Diagnostic("app/hello.py", "bad", 1, 2, Severity.ERROR, source="echo")
SAYS = "echo 'app/hello.py:1:2: error: bad'"


@pytest.fixture
def workspace(repo: Path, tmp_path: Path) -> Iterator[Workspace]:
    with opened(repo, tmp_path) as workspace:
        yield workspace


def opened(repo: Path, tmp_path: Path, **variables: str) -> Workspace:
    return open_workspace(repo, environment=environment_of(tmp_path, **variables), person=Person())


def basis_of(workspace: Workspace, snapshot_id: str = "s1") -> DiagnosedTree:
    root = workspace.places.root
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True)
    tree = WorktreeCapture(workspace.places.state / "git", root).capture().tree
    return DiagnosedTree(snapshot_id, tree, frozenset(listed.stdout.splitlines()))


def run(
    workspace: Workspace,
    *commands: str,
    basis: DiagnosedTree | None = None,
    limits: DiagnosticLimits = LIMITS,
    most_kept: int = 200,
    **variables: str,
) -> tuple[Diagnosed, list[str]]:
    """What came of it, and which commands really ran. The user's tree stays as it is."""
    ran: list[str] = []
    environment = {"PATH": os.environ["PATH"], **variables}
    with untouched(workspace.places.root):
        done = diagnose(
            workspace,
            [Command(text) for text in commands],
            basis or basis_of(workspace),
            environment=environment,
            on_command=ran.append,
            limits=limits,
            most_kept=most_kept,
        )
    assert WorkCopy.all(workspace.places.copies) == []
    return done, ran


def gap_of(done: Diagnosed) -> str:
    assert [gap.code for gap in done.gaps] == [GapCode.TOOL_FAILED]
    return done.gaps[0].detail


@pytest.mark.req("CP-10")
def test_a_command_says_something_and_its_exit_code_is_no_failure(workspace: Workspace):
    done, _ = run(workspace, f"{SAYS}; exit 1")
    assert done == Diagnosed((FOUND,))
    done, _ = run(workspace, "echo 'elsewhere.py:1: x'; echo all good")
    assert done == Diagnosed((), outside=1)


def test_commands_are_merged_sorted_and_said_once(workspace: Workspace):
    other = "echo 'README.md:1: warning: old'"
    done, _ = run(workspace, f"{SAYS}; {other}", other, SAYS, SAYS)
    assert [one.file for one in done.diagnostics] == ["README.md", "app/hello.py"]


def test_errors_are_read_too_but_not_beside_json(workspace: Workspace):
    assert run(workspace, f"{SAYS} >&2")[0].diagnostics == (FOUND,)
    rows = json.dumps([{"filename": "app/hello.py", "message": "m", "code": "F1"}])
    done, _ = run(workspace, f"echo 'app/hello.py:9: a warning of the tool' >&2; echo '{rows}'")
    assert [(one.source, one.code) for one in done.diagnostics] == [("ruff", "F1")]


def test_absolute_names_are_those_of_the_copy(workspace: Workspace):
    done, _ = run(workspace, 'echo "$PWD/app/hello.py:1: x"; echo "$(pwd -P)/README.md:1: x"')
    assert [one.file for one in done.diagnostics] == ["README.md", "app/hello.py"]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("exit 3", "exit code 3: "),
        ("echo broken >&2; exit 2", "exit code 2: broken"),
        ("no-such-program-here", "exit code 127: "),
        (f"{SAYS}; kill -9 $$", "exit code 137: "),
        ("echo '12:30:45: starting'; exit 1", "exit code 1: 12:30:45: starting"),
        ("echo '{\"runs\": ['", "it is not the JSON that was expected"),
        (f"{SAYS}; echo x >> app/hello.py", "it changes files"),
        ("rm README.md", "it changes files"),
        ('rm -rf "$PWD"', "it changes files"),
    ],
)
def test_a_command_that_did_not_say_what_it_found_is_a_gap(workspace: Workspace, command: str, why: str):
    for _ in range(2):  # a failure is not kept
        done, ran = run(workspace, command)
        assert gap_of(done).startswith(why)
        assert done.gaps[0].subject == command
        assert ran == [command]


def test_a_command_that_takes_too_long_is_ended(repo: Path, tmp_path: Path):
    with opened(repo, tmp_path, RINGI_DIAGNOSTICS_TIMEOUT_SEC="0.3") as workspace:
        done, _ = run(workspace, f"{SAYS}; sleep 60")
    assert gap_of(done) == "it took longer than 0.3 s (diagnostics.timeout_sec)"


def test_a_command_that_never_stops_printing_is_ended(workspace: Workspace):
    for command in ("yes", "yes >&2"):
        done, _ = run(workspace, command, limits=DiagnosticLimits(output_bytes=100_000))
        assert gap_of(done) == "it printed more than 100000 bytes"


def test_one_failure_does_not_hide_what_others_say(workspace: Workspace):
    done, ran = run(workspace, "exit 3", SAYS)
    assert done.diagnostics == (FOUND,)
    assert [gap.subject for gap in done.gaps] == ["exit 3"]
    assert len(ran) == 2


def test_what_a_command_leaves_behind_is_not_there_for_the_next(workspace: Workspace):
    done, _ = run(
        workspace,
        "echo x > new.txt; true",
        "echo x >> README.md",
        "test ! -e new.txt && git diff --quiet && echo 'README.md:1: clean'",
    )
    assert [one.message for one in done.diagnostics] == ["clean"]
    assert [gap.detail[:16] for gap in done.gaps] == ["it changes files"]


def test_dirty_and_untracked_files_are_looked_at(workspace: Workspace):
    root = workspace.places.root
    (root / "app" / "hello.py").write_text("dirty\n")
    (root / "new.py").write_text("new\n")
    basis = basis_of(workspace)._replace(files={"new.py", "app/hello.py"})
    done, _ = run(workspace, "grep -n . new.py app/hello.py | sed 's/$/: x/'", basis=basis)
    assert [one.file for one in done.diagnostics] == ["app/hello.py", "new.py"]


def test_files_that_changed_since_the_snapshot_are_a_gap(workspace: Workspace):
    basis = basis_of(workspace)
    (workspace.places.root / "README.md").write_text("changed\n")
    done, _ = run(workspace, SAYS, basis=basis)
    assert "the project changed meanwhile" in gap_of(done)
    assert done.diagnostics == ()


def test_a_copy_that_cannot_be_made_is_a_gap(repo: Path, tmp_path: Path):
    with opened(repo, tmp_path, RINGI_WITH_CARRY="not-there") as workspace:
        done, _ = run(workspace, SAYS)
    assert gap_of(done) == "There is no file or folder not-there."


def test_the_command_is_asked_for_plain_output_and_cannot_approve(workspace: Workspace):
    command = 'echo "README.md:1: $NO_COLOR $TERM [$FORCE_COLOR] ${RINGI_WITH:+inside}"'
    done, _ = run(workspace, command, FORCE_COLOR="1", TERM="xterm")
    assert done.diagnostics[0].message == "1 dumb [] inside"


# Trust


def configured(repo: Path) -> None:
    (repo / ".agent").mkdir()
    (repo / ".agent" / "config.yaml").write_text(f'diagnostics: {{commands: ["{SAYS}; touch $HOME/ran"]}}\n')


def test_commands_of_the_project_do_not_run_untrusted(repo: Path, tmp_path: Path):
    configured(repo)
    (tmp_path / "home").mkdir()
    with opened(repo, tmp_path) as workspace:
        (command,) = commands_of(workspace.config)
        assert not command.trusted
        done = diagnose(workspace, [command], basis_of(workspace), environment=environment_of(tmp_path))
        assert done == Diagnosed((), (Gap(GapCode.UNTRUSTED, command.text),))
        assert not workspace.places.copies.exists()
    assert not (tmp_path / "home" / "ran").exists()
    Trust(repo, environment_of(tmp_path)).pin(executable(repo), at="", by="", channel="")
    with opened(repo, tmp_path) as workspace:
        (command,) = commands_of(workspace.config)
        done = diagnose(workspace, [command], basis_of(workspace), environment=environment_of(tmp_path))
        assert done == Diagnosed((FOUND,))
    assert (tmp_path / "home" / "ran").exists()


def test_whose_commands_they_are(repo: Path, tmp_path: Path):
    configured(repo)
    theirs = f"{SAYS}; touch $HOME/ran"
    user = tmp_path / "user.yaml"
    user.write_text("diagnostics: {commands: [mypy]}\n")
    with opened(repo, tmp_path, RINGI_CONFIG=str(user)) as workspace:
        commands = commands_of(workspace.config)
        assert commands == (Command("mypy"), Command(theirs, trusted=False))
    user.write_text(f'diagnostics: {{commands: ["{theirs}"]}}\n')
    with opened(repo, tmp_path, RINGI_CONFIG=str(user)) as workspace:
        assert commands_of(workspace.config) == (Command(theirs),)
    with opened(repo, tmp_path, RINGI_DIAGNOSTICS_COMMANDS="ruff check") as workspace:
        assert commands_of(workspace.config) == (Command("ruff check"),)


# What is known already


def test_nothing_to_run_copies_nothing(workspace: Workspace):
    done, _ = run(workspace)
    assert done == Diagnosed(())
    assert not workspace.places.copies.exists()


def test_the_same_files_are_not_looked_at_twice(repo: Path, tmp_path: Path):
    with opened(repo, tmp_path) as workspace:
        first, ran = run(workspace, SAYS)
        assert ran == [SAYS]
        again, ran = run(workspace, SAYS)
        assert (again, ran) == (first, [])
        assert run(workspace, SAYS, "true", basis=basis_of(workspace))[1] == ["true"]
        assert run(workspace, SAYS, basis=basis_of(workspace, "s2"))[1] == [SAYS]
    with opened(repo, tmp_path, RINGI_DIAGNOSTICS_FORMAT="lines") as workspace:
        assert run(workspace, SAYS)[1] == [SAYS]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"diagnostics": 1}', b'{"schema_version": 99}'])
def test_a_damaged_cache_is_no_answer(workspace: Workspace, data: bytes):
    run(workspace, SAYS)
    folder = workspace.places.state / "diagnostics"
    (kept,) = folder.iterdir()
    kept.write_bytes(data)
    done, ran = run(workspace, SAYS)
    assert (done, ran) == (Diagnosed((FOUND,)), [SAYS])
    assert run(workspace, SAYS)[1] == []


def test_the_cache_does_not_grow_for_ever(workspace: Workspace):
    run(workspace, "true", "true 1", "true 2", most_kept=2)
    folder = workspace.places.state / "diagnostics"
    assert len(list(folder.iterdir())) == 2
    assert run(workspace, "true 2")[1] == []


# Ends


def test_a_copy_that_a_crash_left_is_removed_and_never_a_plan(repo: Path, tmp_path: Path):
    code = (
        "import os, sys; from pathlib import Path; from tests.unit.project.test_diagnose import *\n"
        "workspace = opened(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "command = Command('echo x > README.md; echo $$ > $HOME/going; exec sleep 60')\n"
        "env = environment_of(Path(sys.argv[2]))\n"
        "diagnose(workspace, [command], basis_of(workspace), environment=env)\n"
    )
    (tmp_path / "home").mkdir()
    going = tmp_path / "home" / "going"
    with python(code, str(repo), str(tmp_path)) as child:
        assert holds_soon(lambda: going.exists() and going.read_text().endswith("\n"))
        child.send_signal(signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):  # its supervisor may have ended it by now
        os.kill(int(going.read_text()), signal.SIGKILL)
    with opened(repo, tmp_path) as workspace:
        (left,) = WorkCopy.all(workspace.places.copies)
        assert find_abandoned(workspace) == []
        run(workspace, SAYS)
        assert not left.folder.exists()
        assert workspace.plan.list() == []
