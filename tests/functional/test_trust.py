"""A person allows what a project would run, at a real terminal; nobody and nothing else can."""

import os
import shlex
import signal
from pathlib import Path

import pytest

from tests.functional.beside_desk import WALLS
from tests.functional.desk import RINGI, Desk, Terminal

CHECK = "touch $HOME/ran"
CONFIG = f"with:\n  checks: ['{CHECK}']\n"
ASKS = r"type [0-9a-f]{6}:"


@pytest.fixture
def project(desk: Desk) -> Desk:
    (desk.root / ".agent").mkdir()
    configure(desk, CONFIG)
    return desk


def configure(desk: Desk, text: str) -> None:
    (desk.root / ".agent" / "config.yaml").write_text(text)


def trusted_json() -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"]) / "ringi" / "trusted.json"


def state(desk: Desk) -> str:
    return str(desk.json("trust", "--show")["state"])


def asked(terminal: Terminal) -> tuple[str, str]:
    """What is shown, and the characters to type."""
    seen = terminal.read(ASKS)
    return seen, seen[-7:-1]


def trust(desk: Desk) -> str:
    terminal = desk.terminal("trust")
    seen, wanted = asked(terminal)
    terminal.type(wanted)
    code, rest = terminal.end()
    assert code == 0, rest
    return seen + rest


def ran() -> bool:
    """Whether the project's check has run; forgets it."""
    mark = Path(os.environ["HOME"]) / "ran"
    found = mark.exists()
    mark.unlink(missing_ok=True)
    return found


def test_a_projects_commands_do_nothing_until_a_person_trusts_them(
    project: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGI_WITH_SANDBOX", "off")  # the check tells by writing outside its copy
    project.agent("echo new > notes.txt")
    assert not ran()
    seen = trust(project)
    assert CHECK in seen
    assert "with.checks" in seen
    assert "with your rights" in seen
    assert "trusted, until one of them changes" in seen
    project.agent("echo new > more.txt")
    assert ran()
    configure(project, CONFIG + "language: en\n")
    assert state(project) == "trusted"
    configure(project, CONFIG.replace("ran", "ran2"))
    project.agent("echo new > again.txt")
    assert not ran()
    assert state(project) == "changed"


def test_another_answer_trusts_nothing(project: Desk) -> None:
    for answer in ("", "yes", "000000x"):
        terminal = project.terminal("trust")
        asked(terminal)
        terminal.type(answer)
        code, rest = terminal.end()
        assert code == 3
        assert "nothing was trusted" in rest
    terminal = project.terminal("trust")
    asked(terminal)
    terminal.child.sendeof()
    assert terminal.end()[0] == 3
    terminal = project.terminal("trust")
    asked(terminal)
    terminal.child.sendintr()
    assert terminal.end()[0] == 130
    assert not trusted_json().exists()


def test_an_interrupt_is_heard_below_a_shell_that_ignores_it(project: Desk) -> None:
    """As `sh -c 'ringi trust &'` starts it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        terminal = project.terminal("trust")
    finally:
        signal.signal(signal.SIGINT, before)
    asked(terminal)
    terminal.child.sendintr()
    assert terminal.end()[0] == 130


def test_typed_ahead_does_not_answer(project: Desk) -> None:
    terminal = project.terminal("trust", "--show")
    terminal.end()
    digest = project.json("trust", "--show")["digest"]
    terminal = project.typed_ahead(f"{digest[:6]}\n" * 3, "trust")
    asked(terminal)
    terminal.type("no")
    assert terminal.end()[0] == 3
    assert state(project) == "untrusted"


@pytest.mark.usefixtures("on_disk")
def test_an_agent_cannot_trust(project: Desk) -> None:
    code, seen = project.terminal("trust", CLAUDECODE="1").end()
    assert code == 3
    assert "Claude Code" in seen
    words = f"{shlex.join(RINGI)} --workspace '{project.root}' trust"
    project.agent(f"{words}; echo $? > code1; env -u RINGI_WITH {words}; echo $? > code2")
    shown = project.run("show", "p1", "--diff").stdout
    # In the sandbox it sees its copy, which names nothing to trust.
    assert shown.count("\n  +0\n" if WALLS else "\n  +3\n") == 2
    assert not trusted_json().exists()


def test_commands_are_shown_whole_and_harmless(project: Desk) -> None:
    (project.root / ".agent" / "allowed_signers").write_bytes(b"a\x1b[2Jb\xe2\x80\xaec\r\n" + b"x" * 3000)
    seen = trust(project)
    assert "a\\x1b[2Jb\\u202ec\\r" in seen
    assert seen.replace("\r\n", "").count("x" * 3000) == 1


def test_a_damaged_file_of_pins_is_named_with_what_to_do(project: Desk) -> None:
    trust(project)
    trusted_json().write_text("{")
    assert state(project) == "untrusted"
    code, seen = project.terminal("trust").end()
    assert code == 1
    assert "trusted.json" in seen
    assert "Move it away" in seen
    assert "cannot be used" in project.run("doctor").stdout
    project.agent("echo new > notes.txt")
    assert not ran()
    trusted_json().unlink()
    trust(project)
    assert state(project) == "trusted"
