"""In the sandbox the copy is at the project's own path: what leads to the project leads to the copy."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.agents.state import AgentState
from ringi.app.api import open_workspace
from ringi.beside.copies import agent_copies
from tests.functional.beside_desk import HomeDesk, home_desk, rechecked, walled
from tests.helpers import make_files

CHECK = '.venv/bin/python -c "import sample; assert sample.answer() == 42"'
BREAK = "sed -i 's/42/41/' src/sample.py"


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch, first_commit: Path) -> Iterator[HomeDesk]:
    with home_desk(monkeypatch, first_commit) as desk:
        yield desk


@pytest.fixture
def editable(desk: HomeDesk) -> HomeDesk:
    """A project with an environment of its own, in which it is installed as it lies there."""
    (desk.root / "src").mkdir()
    (desk.root / "src/sample.py").write_text("def answer() -> int:\n    return 42\n")
    (desk.root / ".gitignore").write_text(".venv/\n*.local\n")
    desk.git("add", "-A")
    desk.git("-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "sample")
    packages = desk.root / f".venv/lib/python3.{sys.version_info.minor}/site-packages"
    packages.mkdir(parents=True)
    (packages / "sample.pth").write_text(f"{desk.root}/src\n")
    (desk.root / ".venv/bin").mkdir()
    python = Path(sys.executable).resolve()
    (desk.root / ".venv/bin/python").symlink_to(python)
    (desk.root / ".venv/pyvenv.cfg").write_text(
        f"home = {python.parent}\ninclude-system-site-packages = false\n"
    )
    return desk


def checked(desk: HomeDesk, *options: str, code: int = 0) -> dict[str, object]:
    done = desk.process("--json", "with", "--check", CHECK, *options, "--", "sh", "-c", BREAK)
    assert done.returncode == code, done.stderr
    (result,) = json.loads(done.stdout)["checks"]
    return dict(result)


@walled
def test_an_editable_install_tests_the_copy(editable: HomeDesk) -> None:
    result = checked(editable, code=6)
    assert result["exit_code"] == 1
    assert "AssertionError" in str(result["output"])
    assert "42" in (editable.root / "src/sample.py").read_text()


@walled
def test_a_repeated_check_tests_the_copy_too(editable: HomeDesk) -> None:
    """In another copy, without the network, with the plan's files laid over it."""
    checked(editable, code=6)
    results = rechecked(editable, editable.json("show", "p1")["plan"]["id"])
    assert results[-1]["exit_code"] == 1
    assert "AssertionError" in results[-1]["output"]


def test_without_a_sandbox_nothing_is_claimed(editable: HomeDesk) -> None:
    (editable.home / ".config/ringi").mkdir(parents=True)
    (editable.home / ".config/ringi/config.yaml").write_text("with:\n  sandbox: off\n")
    result = checked(editable, "--carry", ".venv")
    assert result["exit_code"] == 0  # it tested the project
    assert str(result["doubt"]).endswith("sample.pth")
    shown = editable.run("show", "p1").stdout
    assert "perhaps on other bytes" in shown
    assert "exit code 0 on exactly these bytes" not in shown


@walled
def test_a_home_folder_keeps_its_place(desk: HomeDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy is elsewhere then, and a check claims nothing."""
    monkeypatch.setenv("HOME", str(desk.root))
    done = desk.process("--json", "with", "--check", "true", "--", "sh", "-c", "pwd > where")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["checks"][0]["doubt"] == str(desk.root)
    assert f"+{desk.root}/.cache/ringi/" in desk.run("show", "--diff").stdout


@walled
def test_a_command_starts_in_the_same_subfolder(editable: HomeDesk) -> None:
    script = "pwd > where; echo $PWD >> where; git rev-parse --show-toplevel >> where"
    done = editable.process("with", "--", "sh", "-c", script, below="src")
    assert done.returncode == 0, done.stderr
    diff = editable.run("show", "--diff").stdout
    for line in (f"+{editable.root}/src", f"+{editable.root}"):
        assert line in diff
    assert "b/src/where" in diff


@walled
def test_dependencies_are_there_and_read_only(editable: HomeDesk) -> None:
    (editable.root / "node_modules/tool").mkdir(parents=True)
    (editable.root / "node_modules/tool/run").write_text("#!/bin/sh\necho tool\n")
    (editable.root / "node_modules/tool/run").chmod(0o755)
    (editable.root / ".gitignore").write_text(".venv/\nnode_modules/\n*.local\n")
    (editable.root / "key.local").write_text("secret\n")
    script = """
        node_modules/tool/run > said; touch node_modules/x .venv/x 2>/dev/null && echo wrote >> said
        ls key.local >> said 2>&1; rm -rf node_modules .venv 2>/dev/null; true
    """
    done = editable.process("with", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    diff = editable.run("show", "--diff").stdout
    assert "+tool" in diff
    assert "+wrote" not in diff
    assert "No such file" in diff
    assert (editable.root / "node_modules/tool/run").exists()
    assert (editable.root / ".venv/pyvenv.cfg").exists()


@walled
def test_a_program_of_the_project_that_git_ignores_can_be_started(editable: HomeDesk) -> None:
    (editable.root / "tools.local").write_text("#!/bin/sh\npwd > where\n")
    (editable.root / "tools.local").chmod(0o755)
    done = editable.process("with", "--", "./tools.local")
    assert done.returncode == 0, done.stderr
    assert f"+{editable.root}" in editable.run("show", "--diff").stdout


@walled
def test_an_agent_that_removes_or_moves_everything_changes_its_copy_alone(editable: HomeDesk) -> None:
    root, before = shlex.quote(str(editable.root)), editable.files()
    script = f"cd /; mv {root} /tmp/away; rm -rf {root}/* 2>/dev/null; true"
    done = editable.process("with", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert editable.files() == before
    kinds = {spec["base"]["kind"] for spec in editable.json("show")["state"]["action_specs"]}
    assert kinds == {"delete"}


@walled
def test_settings_of_the_agent_are_read_only_and_conversations_are_shared(editable: HomeDesk) -> None:
    home = editable.home
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text('{"model": "mine"}\n')
    (home / ".claude.json").write_text('{"mcpServers": {"mine": {}}, "numStartups": 1}\n')
    inside = {
        "mcpServers": {"evil": {}},
        "numStartups": 2,
        "projects": {
            str(editable.root): {"hasTrustDialogAccepted": True, "allowedTools": ["Bash"]},
            "/elsewhere": {"hasTrustDialogAccepted": True},
        },
    }
    editable.program(
        "claude",
        f"""#!/bin/sh
        for name in settings.json settings.local.json CLAUDE.md hooks/x commands/x agents/x plugins/x; do
            echo evil > ~/.claude/$name 2>/dev/null && echo $name >> wrote
        done
        mkdir -p ~/.claude/projects/a && echo talk > ~/.claude/projects/a/one.jsonl
        printf '%s' {shlex.quote(json.dumps(inside))} > ~/.claude.json
        echo done > done
        """,
    )
    done = editable.process("with", "claude", "-p", "go on")
    assert done.returncode == 0, done.stderr
    assert "wrote" not in editable.run("show").stdout
    assert (home / ".claude/projects/a/one.jsonl").read_text() == "talk\n"
    assert (home / ".claude/settings.json").read_text() == '{"model": "mine"}\n'
    assert json.loads((home / ".claude.json").read_text()) == {
        "mcpServers": {"mine": {}},
        "numStartups": 2,
        "projects": {str(editable.root): {"hasTrustDialogAccepted": True}, "/elsewhere": {}},
    }


@walled
def test_settings_behind_a_link_are_put_back(editable: HomeDesk) -> None:
    """As people have them who keep their settings in a repository of their own."""
    home = editable.home
    for folder in (".claude", "dotfiles/hooks"):
        (home / folder).mkdir(parents=True)
    (home / "dotfiles/settings.json").write_text('{"model": "mine"}\n')
    links = {home / ".claude" / name: home / "dotfiles" / name for name in ("settings.json", "hooks")}
    for link, target in links.items():
        link.symlink_to(target)
    editable.program(
        "claude",
        """#!/bin/sh
        echo evil > ~/.claude/settings.json; echo evil > ~/.claude/hooks/x
        rm ~/.claude/settings.json ~/.claude/hooks
        echo evil > ~/.claude/settings.json; mkdir ~/.claude/hooks; echo evil > ~/.claude/hooks/x
        echo done > done
        """,
    )
    done = editable.process("with", "claude", "-p", "go on")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("! the agent had replaced ") == 2
    assert {link: link.readlink() for link in links} == links
    assert (home / "dotfiles/settings.json").read_text() == '{"model": "mine"}\n'
    assert list((home / "dotfiles/hooks").iterdir()) == []
    assert len(list((home / ".claude").glob("*.replaced-*"))) == 2


@walled
def test_a_link_that_cannot_be_put_back_is_named(editable: HomeDesk) -> None:
    claude = editable.home / ".claude"
    claude.mkdir()
    (claude / "settings.json").symlink_to("nowhere")
    editable.program("claude", "#!/bin/sh\necho done > done\n")
    assert editable.process("with", "claude", "-p", "go on").returncode == 0
    shutil.rmtree(claude)
    claude.write_text("not a folder\n")
    with open_workspace(editable.root) as workspace:
        (copy,) = agent_copies(workspace)
        (replaced,) = AgentState(workspace, copy, ["claude"], os.environ).put_back_links()
    assert replaced == (claude / "settings.json", "Not a directory")


@walled
def test_caches_of_package_managers_take_writes_that_nobody_else_sees(editable: HomeDesk) -> None:
    known = editable.home / ".npm"
    known.mkdir()
    (known / "kept").write_text("kept\n")
    script = """
        echo mine > ~/.npm/mine && cat ~/.npm/mine > npm; echo changed > ~/.npm/kept
        echo mine > "$PIP_CACHE_DIR/mine" && cat "$PIP_CACHE_DIR/mine" > pip
    """
    done = editable.process("with", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert {spec["base"]["path"] for spec in editable.json("show")["state"]["action_specs"]} == {"npm", "pip"}
    assert [path.name for path in known.iterdir()] == ["kept"]
    assert (known / "kept").read_text() == "kept\n"
    assert not (editable.home / ".cache/pip").exists()


@walled
def test_a_repository_in_the_copy_is_one_that_others_can_read(editable: HomeDesk) -> None:
    """GitPython and dulwich know no quotes in the list of borrowed objects, and insist on a header."""
    script = (
        "cat .git/objects/info/alternates > lent; head -1 .git/packed-refs > packed; git fsck > fsck 2>&1"
    )
    done = editable.process("with", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    diff = editable.run("show", "--diff").stdout
    assert '+"' not in diff
    assert "+/" in diff
    assert "+# pack-refs with: peeled fully-peeled sorted" in diff


def test_one_line_says_what_came_along(desk: HomeDesk) -> None:
    write = {
        ".gitignore": "*.local\nnode_modules/\nbuild/\n",
        ".worktreeinclude": "*.local\n",
        "env.local": "x\n",
        "node_modules/lib.js": "x\n",
        "build/out": "x\n",
    }
    make_files(desk.root, write)
    said = desk.process("with", "--", "sh", "-c", "cat env.local", RINGI_WITH_SANDBOX="off").stdout
    line = "Ignored by git · carried: env.local · not in the copy: build/, node_modules"
    assert line in said
    assert "--carry build" in said
