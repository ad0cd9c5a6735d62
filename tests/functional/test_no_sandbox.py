"""Bubblewrap is missing, or the kernel refuses what it needs: it is said, with the way out."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import ringi
from tests.functional.beside_desk import HomeDesk, home_desk
from tests.functional.desk import RINGI
from tests.functional.screens import Screen
from tests.functional.worlds import without_bubblewrap, without_namespaces
from tests.helpers import PYTHON

MISSING, REFUSED = "missing", "refused"
WHY = {MISSING: "bubblewrap is not installed", REFUSED: "bubblewrap ended with exit code 1: No permissions"}
MEND = {MISSING: "bubblewrap", REFUSED: "user namespaces"}
OURS = "from sample import answer; assert answer() == 42"


@pytest.fixture(params=[MISSING, REFUSED])
def lacking(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, first_commit: Path
) -> Iterator[tuple[HomeDesk, str]]:
    with home_desk(monkeypatch, first_commit) as desk:
        desk.world = without_bubblewrap() if request.param == MISSING else without_namespaces()
        (desk.root / "sample.py").write_text("def answer() -> int:\n    return 42\n")
        yield desk, request.param


def told(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout + done.stderr


def test_it_is_said_and_how_to_get_one(lacking: tuple[HomeDesk, str]) -> None:
    desk, how = lacking
    done = desk.process("with", "--", "sh", "-c", "echo b > b.txt")
    assert done.returncode == 0, told(done)
    lines = done.stdout.splitlines()
    (at,) = [number for number, line in enumerate(lines) if line.startswith(f"NOT in a sandbox ({WHY[how]}")]
    assert "nothing keeps the command from writing elsewhere" in lines[at]
    assert lines[at + 1].startswith("  To get one: ")
    assert MEND[how] in lines[at + 1]
    assert desk.json("show", "p1")["state"]["previews"]["files"] == ["b.txt"]


def test_doctor_says_it_too(lacking: tuple[HomeDesk, str]) -> None:
    desk, how = lacking
    found = json.loads(desk.process("--json", "doctor").stdout)
    (finding,) = [one for one in found if WHY[how] in one["text"]]
    assert (finding["mark"], MEND[how] in finding["mend"]) == ("note", True)


def test_where_one_is_required_nothing_starts(lacking: tuple[HomeDesk, str]) -> None:
    desk, how = lacking
    started = desk.home / "started"
    done = desk.process("with", "--", "touch", str(started), RINGI_WITH_SANDBOX="required")
    assert done.returncode == 6
    assert WHY[how] in done.stderr
    assert "ringi doctor" in done.stderr
    assert not started.exists()
    assert desk.json("list") == []


@pytest.mark.parametrize(
    ("lacking", "way"),
    [
        (MISSING, "an editable install"),
        (REFUSED, "a search path"),
        (MISSING, "the command itself"),
    ],
    indirect=["lacking"],
)
def test_a_check_that_ran_the_projects_own_code_has_not_passed(
    lacking: tuple[HomeDesk, str], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    desk, _ = lacking
    check = f"{PYTHON} -c '{OURS}'"
    if way == "an editable install":
        packages = desk.root / ".venv/lib/python3.11/site-packages"
        packages.mkdir(parents=True)
        (packages / "sample.pth").write_text(f"{desk.root}\n")
        check = "true"
    elif way == "a search path":
        # Ahead of the folder that a command without a file searches first.
        check = f"{PYTHON} -P -c '{OURS}'"
        monkeypatch.setenv("PYTHONPATH", str(desk.root), prepend=":")
    else:
        check = f"cd {desk.root} && {check}"
    done = desk.process("--json", "with", "--check", check, "--", "sed", "-i", "s/42/41/", "sample.py")
    assert done.returncode == 0, told(done)
    (result,) = json.loads(done.stdout)["checks"]
    assert result["exit_code"] == 0
    assert result["doubt"]
    shown = desk.process("show", "p1").stdout
    assert "perhaps on other bytes" in shown
    assert "exit code 0 on exactly these bytes" not in shown


@pytest.mark.parametrize("lacking", [REFUSED], indirect=True)
def test_a_check_of_the_copys_own_bytes_counts(lacking: tuple[HomeDesk, str]) -> None:
    desk, _ = lacking
    check = f"PYTHONPATH=. {PYTHON} -P -c '{OURS}'"
    done = desk.process(
        "--json", "with", "--check", check, "--", "sed", "-i", "s/42/41/", "sample.py", PYTHONPATH=_ours()
    )
    assert done.returncode == 6, told(done)
    (result,) = json.loads(done.stdout)["checks"]
    assert result["exit_code"] == 1


def _ours() -> str:
    """What this very program is imported from, and nothing else."""
    return str(Path(ringi.__path__[0]).parent)


@pytest.mark.parametrize("lacking", [MISSING], indirect=True)
def test_a_review_runs_nothing_and_says_why(lacking: tuple[HomeDesk, str]) -> None:
    desk, _ = lacking
    ran = desk.home / "ran"
    name = desk.agent("echo b > b.txt; echo c > c.txt", "--check", f"touch {ran}")
    ran.unlink()
    with Screen([*desk.world, *RINGI, "review", name], cwd=desk.root) as screen:
        screen.wait(r"\[a\]pply")
        screen.wait(r"no sandbox: the tests do not run again after a change \(ringi doctor\)")
        screen.press("d")
        screen.wait(r"tests not run: no sandbox \(ringi doctor\)")
        screen.press("q")
        assert screen.exit_code == 3
    assert not ran.exists()
    assert desk.json("show", name)["state"]["checks"] == []


@pytest.mark.parametrize("lacking", [REFUSED], indirect=True)
def test_a_dry_run_says_where_it_ran(lacking: tuple[HomeDesk, str]) -> None:
    desk, _ = lacking
    (desk.home / ".config/ringi").mkdir(parents=True)
    (desk.home / ".config/ringi/config.yaml").write_text(f"checks:\n  after:\n  - test -d {desk.root}\n")
    name = desk.agent("echo b > b.txt")
    done = desk.process("execute", name, "--dry-run")
    assert "perhaps on other bytes" in told(done)
    assert "exit code 0 on exactly these bytes" not in told(done)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can put a file in the place of a setting")
@pytest.mark.parametrize("lacking", [REFUSED], indirect=True)
def test_a_setting_of_the_kernel_is_named(lacking: tuple[HomeDesk, str], tmp_path: Path) -> None:
    """It stands in a file of ours here: the machine's own settings stay as they are."""
    desk, _ = lacking
    none = tmp_path / "none"
    none.write_text("0\n")
    laid = f'mount --bind {none} /proc/sys/user/max_user_namespaces && exec "$@"'
    desk.world = ("unshare", "--mount", "sh", "-c", laid, "sh", *desk.world)
    done = desk.process("with", "--", "sh", "-c", "echo b > b.txt")
    assert "  To get one: sudo sysctl user.max_user_namespaces=10000\n" in done.stdout, told(done)
