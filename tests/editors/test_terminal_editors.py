"""Emacs and Neovim on a terminal, as a person uses them, with real opencode behind `ringi acp`.

Neither their plugins nor new enough versions come with npm or pip: they are run where somebody put them.
RINGI_EDITOR_PLUGINS is a folder with clones of agent-shell, acp.el and shell-maker, and of codecompanion.nvim
and plenary.nvim; `emacs` and `nvim` are on the PATH.
"""

import os
import pwd
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ringi import open_workspace
from tests.agents.agent_desk import AgentDesk, agent_desk
from tests.agents.cases import ASKED, NOTED, OPENCODE, SAID, installed
from tests.fakes.signing import RealKey
from tests.functional.beside_desk import walled
from tests.functional.screens import Screen
from tests.helpers import Person, accept_signers

USER = pwd.getpwuid(os.getuid()).pw_name
WANTED = os.environ.get("RINGI_EDITORS") == "1"
PLUGINS = Path(os.environ.get("RINGI_EDITOR_PLUGINS") or "/nonexistent")
LISP = ("acp.el", "shell-maker", "agent-shell")
LUA = ("plenary.nvim", "codecompanion.nvim")
ESC = "\x1b"
MORE = "Go on"
GOOD = "    return 'good day'"
# Debian's LuaJIT names a coroutine also where there is none, which CodeCompanion does not expect.
OUTSIDE = """local running = coroutine.running
coroutine.running = function()
  local one, main = running()
  if not main then return one end
end
"""
# If a prompt comes before the agent has answered, it starts a second one.
READY = """vim.api.nvim_create_autocmd("User", {
  pattern = "CodeCompanionACPSessionPost",
  callback = vim.schedule_wrap(function() vim.api.nvim_echo({ { "agent is there" } }, false, {}) end),
})
"""


@contextmanager
def plugged(editor: str, plugins: tuple[str, ...]) -> Iterator[AgentDesk]:
    """A desk in whose home the editor has its plugins, and the entry exactly as `ringi init` shows it."""
    if not WANTED:
        pytest.skip("real editors and agents take minutes: make test-editors")
    program = shutil.which({"neovim": "nvim"}.get(editor, editor))
    if program is None or not all((PLUGINS / name).is_dir() for name in plugins):
        pytest.skip(f"{editor} needs {', '.join(plugins)} in RINGI_EDITOR_PLUGINS: see {__name__}")
    with tempfile.TemporaryDirectory(prefix="ringi-editors-", dir="/var/tmp") as folder:
        base = Path(folder).resolve()
        case, root = installed(OPENCODE), base / "repo"
        scripts = {MORE: case.more(root), ASKED: case.work(root)}
        with agent_desk(case, base, scripts=scripts) as desk:
            (base / "bin" / Path(program).name).symlink_to(program)
            yield desk


def entry(desk: AgentDesk, editor: str) -> str:
    shown = desk.ringi("init", "--agents", editor).split("\n")
    return "\n".join(line.removeprefix("    ") for line in shown if line.startswith("    "))


def screen(desk: AgentDesk, *argv: str) -> Screen:
    model = 'OPENCODE_CONFIG_CONTENT={"model": "scripted/two"}'
    variables = [f"{name}={value}" for name, value in desk.environment.items()]
    return Screen(["env", "-i", *variables, model, *argv], cwd=desk.root, columns=130, rows=60)


def signer(desk: AgentDesk) -> RealKey:
    (desk.home / ".ssh").mkdir(mode=0o700)
    key = RealKey(desk.home / ".ssh", "id_ed25519")
    signers = desk.home / ".config" / "ringi" / "allowed_signers"
    signers.parent.mkdir(parents=True)
    signers.write_text(f"{USER} {key.public}\n")
    signers.chmod(0o600)
    with open_workspace(desk.root, environment=desk.environment, person=Person()) as workspace:
        accept_signers(workspace)
    return key


def heard(desk: AgentDesk, text: str) -> bool:
    return any(text in said for asked in desk.model.turns for said in asked.said)


def begin_in_emacs(desk: AgentDesk, choice: str) -> Screen:
    one = screen(desk, "emacs", "app/hello.py")
    one.wait("hello.py .*Python")
    one.type(f"{ESC}xagent-shell", enter=True)
    one.wait("Start new agent")
    one.type("OpenCode", enter=True)
    one.wait("Start shell")
    one.type(choice)
    one.press("tab", "enter")
    one.wait("Available modes")
    return one


@walled
@pytest.mark.req("CP-11", "PT-4")
def test_emacs_from_the_shown_entry_to_the_signed_bytes_and_back_after_it_was_killed() -> None:
    with plugged("emacs", LISP) as desk:
        paths = " ".join(f'"{PLUGINS / name}"' for name in LISP)
        settings = desk.home / ".emacs.d" / "init.el"
        settings.parent.mkdir()
        settings.write_text(
            f"(setq load-path (append '({paths}) load-path))\n"
            f'(autoload \'agent-shell "agent-shell" nil t)\n{entry(desk, "emacs")}\n'
        )
        hello, before = desk.root / "app/hello.py", (desk.root / "app/hello.py").read_text()
        key = signer(desk)
        with begin_in_emacs(desk, "New shell") as one:
            one.type(ASKED, enter=True)
            seen = one.wait("ringi review p1")
            assert SAID in seen
            assert "1 file  +1 -1   low" in seen
            assert GOOD not in seen  # agent-shell has folded it away
            one.press("ctrl-r")
            one.type("Edited a file", enter=True)
            one.press("ctrl-a", "enter")
            assert f"+{GOOD}" in one.wait(r"\+    return 'good day'")
            assert hello.read_text() == before
            desk.ringi("reject", "p1", "--feedback", "Write down why.")
            os.kill(one.child.pid, signal.SIGKILL)
        with begin_in_emacs(desk, "repo") as one:
            one.type(MORE, enter=True)
            seen = one.wait("p1 is now version 2")
            assert NOTED in seen
            assert heard(desk, "Write down why.")
        desk.ringi("apply", "p1", "--seen", "2", "--sign", str(key.path))
        assert GOOD in hello.read_text()
        assert (desk.root / "NOTES.md").read_text() == "notes\n"


@walled
@pytest.mark.req("CP-11", "PT-4")
def test_neovim_from_the_shown_entry_to_the_signed_bytes() -> None:
    with plugged("neovim", LUA) as desk:
        settings = desk.home / ".config" / "nvim" / "init.lua"
        settings.parent.mkdir(parents=True)
        paths = "".join(f'vim.opt.runtimepath:append("{PLUGINS / name}")\n' for name in LUA)
        settings.write_text(f"{OUTSIDE}{READY}{paths}{entry(desk, 'neovim')}\n")
        hello, before = desk.root / "app/hello.py", (desk.root / "app/hello.py").read_text()
        key = signer(desk)
        with screen(desk, "nvim", "app/hello.py") as one:
            one.wait("app/hello.py")
            one.type(":CodeCompanionChat", enter=True)
            one.wait("agent is there")
            one.type(f"i{ASKED}{ESC}", enter=True)
            seen = one.wait("ringi review p1")
            assert SAID in seen
            assert f"+{GOOD}" in seen  # in the message: it shows no diffs of tool calls
            assert "1 file  +1 -1   low" in seen
            assert hello.read_text() == before
            desk.ringi("reject", "p1", "--feedback", "Write down why.")
            one.press("G")
            one.type(f"i{MORE}{ESC}", enter=True)
            seen = one.wait("p1 is now version 2")
            assert NOTED in seen
            assert heard(desk, "Write down why.")
            desk.ringi("apply", "p1", "--seen", "2", "--sign", str(key.path))
        assert GOOD in hello.read_text()
        assert (desk.root / "NOTES.md").read_text() == "notes\n"
