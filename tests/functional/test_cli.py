"""The command line: words, exit codes, JSON, and no traceback for a person's mistake."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from unicodedata import east_asian_width

import pytest

from ringi import errors
from ringi.cli.main import COMMANDS, DAILY, MERGED, put_global_options_first
from tests.functional.desk import RINGI, Desk
from tests.functional.planning_desk import imported
from tests.helpers import ROOT, assert_not_loaded
from tests.tables import each


def test_version_and_module(desk: Desk) -> None:
    assert desk.run("--version").stdout.startswith("ringi 0.")
    launcher = Path(sys.executable).with_name("agent")
    if launcher.exists():
        done = subprocess.run([str(launcher), "--version"], capture_output=True, text=True, check=True)
        assert done.stdout == desk.run("--version").stdout


@each("language", ["en", "ja"])
def test_help_page_says_of_each_command_what_its_own_help_begins_with(language: str) -> None:
    script = (
        "import sys, click, ringi.cli.main as m\n"
        "m.set_language(sys.argv[1:], {})\n"
        "formatter = click.HelpFormatter(width=200)\n"
        "m.cli.format_commands(click.Context(m.cli), formatter)\n"
        "loaded = set(sys.modules)\n"
        "from tests.helpers import assert_not_loaded\n"
        "assert_not_loaded(loaded, 'ringi.cli.commands', 'ringi.mcp')\n"
        "for name in m.COMMANDS:\n"
        "    own = m.cli.get_command(click.Context(m.cli), name).get_short_help_str(90)\n"
        "    assert f'  {own}\\n' in formatter.getvalue(), (name, own)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "--lang", language],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@each(
    ("words", "told"),
    [
        (["udno"], "Did you mean undo?"),
        (["retry"], "ringi retry is now: ringi continue --retry"),
        (["undo", "new"], "ringi undo has no commands of its own."),
        (["zzzzzz"], "No such command 'zzzzzz'."),
    ],
)
def test_help_for_something_else_says_what_is_near(desk: Desk, words: list[str], told: str) -> None:
    done = desk.run("help", *words)
    assert done.returncode == 2
    assert told in done.stderr


def test_help_of_everything_has_every_command(desk: Desk) -> None:
    shown = desk.run("help", "--all").stdout
    assert [name for name in COMMANDS if f"\n  {name} " not in shown] == []


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_short_help_fits_a_screen(desk: Desk, language: str) -> None:
    """With a line left for the prompt; wide characters take two columns."""
    lines = desk.run("--lang", language, "--help").stdout.splitlines()
    assert len(lines) < 24
    widths = {line: sum(2 if east_asian_width(c) in "WF" else 1 for c in line) for line in lines}
    assert [line for line, width in widths.items() if width > 80] == []
    assert [name for name in DAILY if not any(line.startswith(f"  {name} ") for line in lines)] == []


@each("old", MERGED)
def test_a_command_that_became_part_of_another_says_what_to_type(desk: Desk, old: str) -> None:
    done = desk.run("--json", old, "x")
    assert done.returncode == 2
    assert MERGED[old] in done.stderr
    for line in MERGED[old].split("; "):
        command = line.split()[1]
        options = re.findall(r"--[a-z-]+", line)
        page = desk.run(command, "--help").stdout
        assert [option for option in options if option not in page] == []


def test_wrong_words_say_what_is_near(desk: Desk) -> None:
    done = desk.run("reviw")
    assert done.returncode == 2
    assert "review" in done.stderr
    assert desk.run("list", "--no-such-option").returncode == 2
    done = desk.run("show", "p99")
    assert done.returncode == 2
    assert "ringi list" in done.stderr
    assert "Traceback" not in done.stderr


def test_outside_a_workspace(tmp_path: Path) -> None:
    done = Desk(tmp_path).run()
    assert done.returncode == 2
    assert "ringi init" in done.stderr
    done = Desk(tmp_path).run("--workspace", str(tmp_path / "nowhere"), "list")
    assert done.returncode == 2


def test_workspace_is_found_from_below_and_by_option(desk: Desk, tmp_path: Path) -> None:
    desk.agent("echo x > x.txt")
    assert len(Desk(desk.root / "app").json("list")) == 1
    assert len(Desk(tmp_path).json("--workspace", str(desk.root), "list")) == 1
    assert len(Desk(tmp_path).json("list", f"--workspace={desk.root}")) == 1


def test_only_json_is_on_standard_output(desk: Desk) -> None:
    name = desk.agent("echo x > x.txt")
    for words in (
        ["list"],
        ["show", name],
        ["log"],
        ["log", "--verify"],
        ["config", "show"],
        ["check", "--schema"],
        [],
    ):
        assert desk.json(*words) is not None
    done = desk.run("show", "p99", "--json")
    assert json.loads(done.stdout)["error"]["code"] == "not_found"
    assert json.loads(done.stdout)["error"]["exit_code"] == done.returncode == 2
    assert json.loads(desk.run("list", "--limit", "0", "--json").stdout)["error"]["code"] == "usage"
    assert "+x" in desk.json("show", name, "--diff")["diffs"][0]["diff"]
    refused = desk.run("review", name, "--json")
    assert json.loads(refused.stdout)["error"]["code"] == "no_channel"
    assert refused.returncode == 3


@pytest.mark.req("PT-11")
def test_a_changed_log_turns_red(desk: Desk, isolated: Path) -> None:
    import sqlite3

    desk.agent("echo x > x.txt")
    assert desk.run("log", "--verify").returncode == 0
    database = sqlite3.connect(next((isolated / "state").rglob("ringi.db")))
    with database:
        database.execute("UPDATE events SET document = replace(document, '\"ai\"', '\"user\"') WHERE seq = 2")
    database.close()
    done = desk.run("log", "--verify")
    assert done.returncode == 1
    assert "event 2" in done.stdout
    assert "ringi log --verify" in desk.run("doctor").stdout


def test_config_show_says_where_values_come_from(desk: Desk, isolated: Path) -> None:
    (isolated / "config" / "ringi").mkdir()
    (isolated / "config" / "ringi" / "config.yaml").write_text("lock:\n  wait_sec: 0.5\n")
    (desk.root / ".agent").mkdir()
    (desk.root / ".agent" / "config.yaml").write_text("limits:\n  max_file_bytes: 1000\n")
    shown = desk.json("config", "show")
    assert shown["lock.wait_sec"]["value"] == 0.5
    assert shown["lock.wait_sec"]["from"] == "user"
    assert shown["limits.max_file_bytes"]["from"] == "project"
    assert "default" in desk.run("config", "show").stdout
    (desk.root / ".agent" / "config.yaml").write_text("limits:\n  max_file_byte: 1000\n")
    done = desk.run("config", "check")
    assert done.returncode == 2
    assert "max_file_bytes" in done.stderr
    # It counts only once the project is trusted, and is checked before.
    (desk.root / ".agent" / "config.yaml").write_text("logs:\n  mask: ['PIN .*', '(']\n")
    done = desk.run("config", "check")
    assert done.returncode == 2
    assert "it is no regular expression" in done.stderr
    (desk.root / ".agent" / "config.yaml").write_text("logs:\n  mask: ['PIN .*']\n")
    assert "logs.mask is ignored until the project is trusted" in desk.run("config", "check").stdout


def test_our_own_mistake_becomes_a_file(desk: Desk, tmp_path: Path) -> None:
    script = (
        "import ringi.cli.main as m\n"
        "m.COMMANDS['broken'] = m.COMMANDS['list']\n"
        "raise SystemExit(m.main(['broken']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=desk.root, capture_output=True, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)}, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    report = next(tmp_path.glob("ringi-error-*.txt"))
    assert str(report) in done.stderr
    assert "Traceback" in report.read_text()


def test_output_that_cannot_be_written(desk: Desk) -> None:
    desk.agent("echo x > x.txt")
    for redirection in (">/dev/full", ">&-"):
        line = f"{shlex.join(RINGI)} list {redirection}"
        done = subprocess.run(["sh", "-c", line], cwd=desk.root, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr
        assert "mistake in ringi" not in done.stderr


def test_a_moved_workspace_is_noticed(desk: Desk, tmp_path: Path) -> None:
    desk.agent("echo x > x.txt")
    moved = Desk(desk.root.rename(tmp_path / "elsewhere"))
    assert "ringi doctor --adopt" in moved.run().stdout


def test_output_into_a_closed_pipe(desk: Desk) -> None:
    desk.agent("seq 20000 > long.txt")
    line = f"{shlex.join(RINGI)} show p1 --diff | head -1"
    done = subprocess.run(["sh", "-c", line], cwd=desk.root, capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_start_does_not_load_what_is_not_needed(desk: Desk) -> None:
    loaded = imported(desk.root, "list")
    assert_not_loaded(
        loaded, "yaml", "subprocess", "ctypes", "ringi.plans.executor", "ringi.approvals.person"
    )


@each(
    ("words", "expected"),
    [
        (["list", "--json"], ["--json", "list"]),
        (["show", "--lang", "ja", "p1"], ["--lang", "ja", "show", "p1"]),
        (["with", "--", "x", "--json"], ["with", "--", "x", "--json"]),
        (["list", "--workspace=/x"], ["--workspace=/x", "list"]),
        (
            ["plan", "fix", "tests", "with", "pytest", "--json"],
            ["--json", "plan", "fix", "tests", "with", "pytest"],
        ),
        (["--lang", "with", "with", "x", "--json"], ["--lang", "with", "with", "x", "--json"]),
        (["plan", "--", "--json"], ["plan", "--", "--json"]),
    ],
)
def test_global_options_stand_anywhere(words: list[str], expected: list[str]) -> None:
    assert put_global_options_first(words) == expected


def test_exit_codes_are_those_of_the_design() -> None:
    kinds = ["Failed", "Usage", "PersonNeeded", "Stale", "NotGranted", "Refused", "Busy"]
    assert [getattr(errors, kind).exit_code for kind in kinds] == [1, 2, 3, 4, 5, 6, 7]
    assert errors.Interrupted.exit_code == 130


def test_the_language_can_be_configured(desk: Desk, isolated: Path) -> None:
    (isolated / "config" / "ringi").mkdir()
    (isolated / "config" / "ringi" / "config.yaml").write_text("lock: {wait_sec: 1}\nlanguage: ja\n")
    japanese = desk.run("list").stdout
    assert japanese != desk.run("list", "--lang", "en").stdout
    assert japanese == desk.run("list", "--lang", "ja").stdout
    assert desk.run("list", RINGI_LANGUAGE="en").stdout == desk.run("list", "--lang", "en").stdout


def test_in_a_folder_that_is_gone(tmp_path: Path) -> None:
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *RINGI], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "ringi init" in done.stderr
    assert "Traceback" not in done.stderr
