"""`ringi hook claude` as Claude Code runs it: a process, JSON on standard input, an exit code."""

import json
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringi.agents.claude_hook import (
    HookContext,
    Unfit,
    copy_tree,
    find_sandboxed_copy,
    judge,
    resolve_links,
    surroundings,
)
from ringi.agents.entries import hook_command
from ringi.agents.table import AGENTS
from tests.functional.beside_desk import WALLS
from tests.functional.desk import RINGI, Desk
from tests.functional.warm import Popen
from tests.helpers import assert_not_loaded, modules_after
from tests.tables import each

pytestmark = pytest.mark.usefixtures("on_disk")
HOOK = [*RINGI, "hook", "claude"]
assert AGENTS["claude"].settings
GUARD = AGENTS["claude"].settings.hook
SECRET = "the words that the edit would write"


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def denied(self) -> bool:
        """As Claude Code sees it, in both of its ways."""
        if self.code == 0 and not self.out:
            return False
        decision = json.loads(self.out)["hookSpecificOutput"]
        assert self.code == 2
        assert decision["hookEventName"] == "PreToolUse"
        assert decision["permissionDecision"] == "deny"
        assert decision["permissionDecisionReason"] == self.err.strip()
        assert self.err.strip()
        return True


def ask(data: bytes | str, cwd: Path, **variables: str) -> Answer:
    done = subprocess.run(
        HOOK,
        cwd=cwd,
        env={**os.environ, **variables},
        input=data.encode() if isinstance(data, str) else data,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


def call(path: object, tool: str = "Edit", key: str = "file_path", **more: object) -> str:
    return json.dumps(
        {
            "session_id": "x",
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": {key: str(path) if isinstance(path, Path) else path, "new_string": SECRET},
            **more,
        }
    )


class Beside(NamedTuple):
    """A work copy as `ringi with` made it, and what its agent was started with."""

    tree: Path
    variables: dict[str, str]


@pytest.fixture
def beside(desk: Desk, isolated: Path) -> Iterator[Beside]:
    """Kept open by an agent that waits."""
    script = 'echo "$RINGI_WITH" > name; mv name ready; while test -e ready; do sleep 0.05; done'
    agent = Popen(
        [*RINGI, "with", "--", "sh", "-c", script],
        cwd=desk.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 60
    while not (found := list(isolated.glob("cache/ringi/work/*/*/tree/ready"))):
        assert time.monotonic() < until
        time.sleep(0.05)
    [ready] = found
    yield Beside(ready.parent, {"RINGI_WITH": ready.read_text().strip()})
    ready.unlink()
    agent.wait(60)


def denies(data: str | bytes, beside: Beside) -> bool:
    """As `ask`, in this process."""
    places = surroundings({**os.environ, **beside.variables})
    try:
        return judge(data.encode() if isinstance(data, str) else data, places, str(beside.tree)) is not None
    except Unfit:
        return True


def test_an_edit_of_the_project_is_denied_and_the_next_step_named(desk: Desk):
    answer = ask(call(desk.root / "README.md", cwd=str(desk.root)), desk.root)
    assert answer.denied
    assert "plan_propose" in answer.err
    assert "ringi with claude" in answer.err
    assert str(desk.root / "README.md") in answer.err
    assert SECRET not in answer.out + answer.err


def test_settings_of_the_version_before_block_nothing(desk: Desk):
    done = desk.run("hook", "claude-shell")
    assert (done.returncode, done.stdout) == (0, "")


def test_every_edit_tool_is_known_in_and_out_of_the_copy(desk: Desk, beside: Beside):
    tools = {
        "Write": "file_path",
        "MultiEdit": "file_path",
        "NotebookEdit": "notebook_path",
        "Edit": "file_path",
    }
    for tool, key in tools.items():
        assert not denies(call(beside.tree / "app" / "hello.py", tool, key), beside)
        assert denies(call(beside.tree / "app" / "hello.py", tool, key), Beside(beside.tree, {}))
        assert denies(call(desk.root / "README.md", tool, key), beside)
    outside = ask(call(desk.root / "README.md"), beside.tree, **beside.variables)
    assert outside.denied
    assert str(beside.tree) in outside.err


def test_paths_in_and_out_of_the_copy(desk: Desk, beside: Beside, isolated: Path):
    tree = beside.tree
    (tree / "out").symlink_to(desk.root)
    (tree / "file").symlink_to(desk.root / "README.md")
    (tree / "in").symlink_to("app")
    (tree / "proc").symlink_to("/proc/self/cwd")
    (tree / "loop").symlink_to("loop")
    (isolated / "to-copy").symlink_to(tree)
    (isolated / "to-copy-app").symlink_to(tree / "app")
    allowed = [
        tree / "new.py",
        tree / "no" / "such" / "folder" / "x.py",
        tree / "in" / "hello.py",
        tree / "app" / ".." / "README.md",
        isolated / "to-copy" / "README.md",
        "README.md",
        "./app/../README.md",
        f"{tree}//app/./hello.py",
    ]
    denied = [
        tree / "out" / "README.md",
        tree / "file",
        tree / ".." / "copy.json",
        tree,
        tree / "app" / ".." / ".." / "copy.json",
        tree / "proc" / "README.md",
        tree / "loop" / "x",
        f"{isolated}/to-copy-app/../x",
        f"{tree}/no/such/../../../copy.json",
        "../copy.json",
        "/proc/self/cwd/README.md",
        f"/proc/{os.getpid()}/cwd/README.md",
        "/dev/fd/1",
        "/dev/shm/x",
        "~/x.py",
        "~root/x.py",
        "/etc/passwd",
        "/",
        "",
        "a\0b",
        "x" * 5000,
        "/../../../etc/passwd",
    ]
    assert [path for path in allowed if denies(call(path, cwd=str(tree)), beside)] == []
    assert [path for path in denied if not denies(call(path, cwd=str(tree)), beside)] == []


def test_below_ringi_with_the_hook_knows_its_copy(desk: Desk):
    """As an agent there would call it, sandbox and all."""
    hook = shlex.join(HOOK)
    script = (
        f"echo '{call('app/hello.py')}' | {hook}; echo inside $?;"
        f" echo '{call(str(desk.root / 'README.md'))}' | {hook}; echo own path $?;"
        f" echo '{call('/usr/README.md')}' | {hook}; echo outside $?"
    )
    done = desk.process("with", "--", "sh", "-c", script)
    assert "inside 0" in done.stdout
    # In the sandbox the project's own path is the copy.
    assert ("own path 0" in done.stdout) is WALLS
    assert "outside 2" in done.stdout


def test_only_the_first_process_says_that_this_is_a_sandbox(tmp_path: Path):
    """Neither the words of its command nor another program with that name count."""
    told = tmp_path / "cmdline"
    mark = ["bwrap", "--setenv", "RINGI_WITH", "c1"]
    for words, found in (
        ([*mark, "--bind", "/cache/c1/tree", "/home/me/project", "--", "claude"], "/home/me/project"),
        ([*mark, "--bind", "/cache/c2/tree", "/home/me/project", "--", "claude"], ""),
        ([*mark, "--", "sh", "--bind", "/cache/c1/tree", "/"], ""),
        (["init", *mark[1:], "--bind", "/cache/c1/tree", "/"], ""),
        (["bwrap", "--bind", "/cache/c1/tree", "/"], ""),
        ([""], ""),
    ):
        told.write_bytes("\0".join(words).encode() + b"\0")
        assert find_sandboxed_copy(told) == found
    assert find_sandboxed_copy(tmp_path / "none") == ""


def test_only_the_copy_that_is_named_allows_anything(desk: Desk, beside: Beside):
    for name in ("", ".", "..", "../x", "nothing", "a/b", "*", "\x1b[31m"):
        assert denies(call(beside.tree / "x.py"), Beside(beside.tree, {"RINGI_WITH": name}))
        assert denies(call(desk.root / "x.py"), Beside(desk.root, {"RINGI_WITH": name}))
    other = beside.tree.parent.parent / "20260101-000000-00000000"
    shutil.copytree(beside.tree.parent, other, symlinks=True)
    assert denies(call(other / "tree" / "x.py"), beside)


BROKEN = [
    b"", b" ", b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b"{}" * 2, b"[" * 100_000, b"\0" * 100,
    b'{"tool_name": "Edit"}', b'{"tool_name": "Edit", "tool_input": null}',
    b'{"tool_name": "Edit", "tool_input": []}', b'{"tool_name": "Edit", "tool_input": {}}',
    b'{"tool_name": "Edit", "tool_input": {"file_path": null}}',
    b'{"tool_name": "Edit", "tool_input": {"file_path": 1}}',
    b'{"tool_name": "Edit", "tool_input": {"file_path": ["/tmp/x"]}}',
    b'{"tool_name": "Edit", "tool_input": {"file_path": "/tmp/\\ud800"}}',
    b'{"tool_name": null, "tool_input": {"file_path": "/tmp/x"}}',
    b'{"tool_name": ["Edit"], "tool_input": {"file_path": "/tmp/x"}}',
    b'{"tool_input": {"file_path": "/tmp/x"}}',
]  # fmt: skip


def test_what_cannot_be_judged_is_denied(desk: Desk):
    assert [data for data in BROKEN if not denies(data, Beside(desk.root, {}))] == []
    for data in BROKEN[:3]:
        assert ask(data, desk.root).denied


@each(
    ("tool", "given", "refused"),
    [
        ("Read", {"file_path": "/etc/passwd"}, False),
        ("Bash", {"command": "ls"}, False),
        ("Grep", {"pattern": "x", "path": "/etc"}, False),
        ("TodoWrite", {"todos": []}, False),
        ("mcp__ringi__plan_propose", {"content": "x"}, False),
        ("mcp__ringi__plan_set_specs", {"specs": [{"path": "a"}]}, False),
        ("mcp__files__write_file", {"path": "/etc/passwd"}, True),
        ("mcp__files__move_file", {"source": "/tmp/ringi-x", "destination": "/etc/passwd"}, True),
        ("str_replace_based_edit_tool", {"command": "create", "path": "/etc/passwd"}, True),
        ("ApplyPatch", {"patch": "x"}, True),
        ("FutureEdit", {"edits": [{"file_path": "/etc/passwd"}]}, True),
        ("FutureEdit", {"edits": [{"file_path": "/tmp/ringi-x"}, {"file_path": "/etc/passwd"}]}, True),
        ("FutureEdit", {"edits": [{"file_path": "/tmp/ringi-x"}]}, False),
        ("NotebookMerge", {}, True),
    ],
)
def test_tools_that_look_like_edits(tool: str, given: dict[str, Any], refused: bool):
    places = HookContext(copy="", temporary=("/tmp",), home="", own=())
    data = json.dumps({"tool_name": tool, "tool_input": given}).encode()
    try:
        answer = judge(data, places, "/") is not None
    except Unfit:
        answer = True
    assert answer is refused


def test_temporary_files_are_allowed_but_no_project_home_or_state_among_them(desk: Desk, tmp_path: Path):
    free, home = tmp_path / "free", tmp_path / "home"
    free.mkdir()
    (home / "x").mkdir(parents=True)
    variables = {"TMPDIR": str(tmp_path), "HOME": str(home), "RINGI_STATE_DIR": str(tmp_path / "state")}
    (tmp_path / "state").mkdir()
    (free / "out").symlink_to("/etc")
    judged = {
        path: ask(call(path), desk.root, **variables).denied
        for path in (
            free / "x.txt",
            free / "deep" / "er" / "x.txt",
            desk.root / "README.md",
            home / "x" / "y",
            tmp_path / "state" / "x",
            free / "out" / "x",
        )
    }
    assert list(judged.values()) == [False, False, True, True, True, True]
    (free / ".git").mkdir()
    assert ask(call(free / "x.txt"), desk.root, **variables).denied


@each("folder", ["relative", "/", ""])
def test_an_odd_temporary_folder_opens_nothing(desk: Desk, folder: str, isolated: Path):
    assert ask(call(isolated / "x"), desk.root, TMPDIR=folder).denied
    assert ask(call(desk.root / "x"), desk.root, TMPDIR=folder).denied
    assert ask(call("/etc/x"), desk.root, TMPDIR=folder).denied


def test_a_temporary_folder_in_a_project_or_a_home_is_no_way_around(desk: Desk, tmp_path: Path):
    (desk.root / "tmp").mkdir()
    (tmp_path / "home" / "tmp").mkdir(parents=True)

    def denied(path: Path, temporary: Path) -> bool:
        return ask(call(path), desk.root, TMPDIR=str(temporary), HOME=str(tmp_path / "home")).denied

    assert denied(desk.root / "tmp" / "x.py", desk.root / "tmp")
    assert denied(tmp_path / "home" / ".bashrc", tmp_path / "home")
    assert not denied(tmp_path / "home" / "tmp" / "x", tmp_path / "home" / "tmp")


def test_slow_input_is_denied_in_time(desk: Desk):
    reading, writing = os.pipe()
    hook = subprocess.Popen(
        HOOK, cwd=desk.root, stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    os.close(reading)
    os.write(writing, call(desk.root / "x").encode()[:20])
    out, err = hook.communicate(timeout=60)
    os.close(writing)
    assert Answer(hook.returncode, out.decode(), err.decode()).denied


def test_huge_input_is_denied(desk: Desk):
    data = call(desk.root / "x")[:-1].encode() + b', "more": "' + b"x" * (64 * 1024 * 1024) + b'"}'
    assert ask(data, desk.root).denied


def test_a_large_edit_of_the_copy_is_allowed(beside: Beside):
    data = call(beside.tree / "x", more="x" * 5_000_000)
    assert not ask(data, beside.tree, **beside.variables).denied


def run_written(shell: str, cwd: Path) -> int:
    """The command as init writes it, in some shell around it."""
    script = shell.replace("HOOK", f"{{ {hook_command(GUARD, RINGI)}; }}")
    return subprocess.run(
        ["sh", "-c", script], cwd=cwd, input=b"{}", capture_output=True, check=False
    ).returncode


@each("streams", ["<&-", ">&- 2>&-", "<&- >&- 2>&-", "< /dev/null", "< /", "> /dev/full"])
def test_closed_streams_are_denied(desk: Desk, streams: str):
    assert run_written(f"(HOOK) {streams}", desk.root) == 2


def test_a_folder_that_is_gone_is_denied(tmp_path: Path):
    (tmp_path / "gone").mkdir()
    assert run_written('rmdir "$PWD"; HOOK', tmp_path / "gone") == 2


def test_broken_configuration_and_no_workspace_are_denied(desk: Desk, tmp_path: Path):
    (desk.root / ".agent").mkdir()
    (desk.root / ".agent" / "config.yaml").write_text(": [ broken\n\t")
    assert ask(call(desk.root / "x"), desk.root).denied
    (tmp_path / "plain").mkdir()
    assert ask(call("/etc/x"), tmp_path / "plain").denied
    assert ask(call("/etc/x"), tmp_path / "plain", HOME="", XDG_CACHE_HOME="", XDG_STATE_HOME="").denied


@each("program", ["/nowhere/ringi", "false", "exit-77", "killed"])
def test_the_command_that_init_writes_blocks_whatever_becomes_of_the_program(tmp_path: Path, program: str):
    made = tmp_path / program
    if program == "exit-77":
        made.write_text("#!/bin/sh\nexit 77\n")
        made.chmod(0o755)
    elif program == "killed":
        made.write_text("#!/bin/sh\nkill -9 $$\n")
        made.chmod(0o755)
    command = hook_command(GUARD, [str(made) if made.exists() else program])
    done = subprocess.run(["sh", "-c", command], input=b"{}", capture_output=True, check=False)
    assert done.returncode == 2


def test_the_command_that_init_writes_lets_an_allowed_edit_pass(beside: Beside):
    command = hook_command(GUARD, RINGI)
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=beside.tree,
        env={**os.environ, **beside.variables},
        input=call(beside.tree / "x.py").encode(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_control_characters_of_a_path_are_made_visible(desk: Desk):
    answer = ask(call(str(desk.root / "a\x1b[31m\u202eb")), desk.root)
    assert answer.denied
    assert "\x1b" not in answer.err
    assert "\u202e" not in answer.err


parts = st.lists(st.sampled_from(["a", "b", "link", "up", "abs", "file", "..", ".", ""]), max_size=7)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts)
def test_links_are_resolved_as_the_system_does(tmp_path: Path, found: list[str]):
    """The system is the oracle: for what is there, the same answer as its own."""
    base = tmp_path / "t"
    if not base.exists():
        (base / "a" / "b").mkdir(parents=True)
        (base / "a" / "link").symlink_to("b")
        (base / "a" / "up").symlink_to("..")
        (base / "a" / "b" / "abs").symlink_to(base)
        (base / "a" / "file").write_text("")
    path = "/".join([str(base), *found])
    answer = resolve_links(path)
    try:
        real = os.path.realpath(path, strict=True)
    except OSError:
        return
    assert answer == real


def test_no_name_leads_out_of_the_folder_of_copies(tmp_path: Path):
    (tmp_path / "w" / "id" / "tree").mkdir(parents=True)
    (tmp_path / "tree").mkdir()
    assert copy_tree(tmp_path, "id") == str(tmp_path / "w" / "id" / "tree")
    for name in ("..", ".", "", "../w/id", "id/", "w", "i*"):
        assert copy_tree(tmp_path, name) == ""
    (tmp_path / "w" / "linked").mkdir()
    (tmp_path / "w" / "linked" / "tree").symlink_to("/")
    assert copy_tree(tmp_path, "linked") == ""
    (tmp_path / "v" / "id" / "tree").mkdir(parents=True)
    assert copy_tree(tmp_path, "id") == ""  # two of one name: which one is meant cannot be told


def test_answers_without_loading_what_is_slow(desk: Desk):
    script = (
        "import io, sys\nfrom ringi.cli.claude_hook import answer\n"
        "sys.stdin = io.TextIOWrapper(io.BytesIO(sys.argv[1].encode()))\n"
        "try: answer()\n"
        "except SystemExit: pass\n"
    )
    loaded = modules_after(script, call(desk.root / "x"))
    assert_not_loaded(
        loaded, "msgspec", "yaml", "sqlite3", "click", "subprocess", "tempfile", "ringi.app.api"
    )


# --- the agent's own notes -------------------------------------------------------------------------


def test_its_own_plans_and_memories_are_allowed_and_nothing_beside_them(desk: Desk, tmp_path: Path):
    home, moved = tmp_path / "home", tmp_path / "moved"
    (home / ".claude" / "plans").mkdir(parents=True)
    (home / ".claude" / "projects" / "-p").mkdir(parents=True)
    (home / ".claude" / "projects" / "-p" / "memory").symlink_to(desk.root)
    moved.mkdir()

    def denied(path: str, **variables: str) -> bool:
        places = surroundings({"HOME": str(home), **variables})
        return judge(call(path).encode(), places, str(desk.root)) is not None

    for path in (
        "plans/a.md",
        "projects/-x/memory/MEMORY.md",
        "projects/-x/memory/a/b.md",
        "agent-memory/x/a.md",
    ):
        assert not denied(f"{home}/.claude/{path}"), path
        assert denied(f"{home}/.claude/{path}", CLAUDE_CONFIG_DIR=str(moved)), path
        assert not denied(f"{moved}/{path}", CLAUDE_CONFIG_DIR=str(moved)), path
        assert denied(f"{home}/.claude/{path}", CLAUDE_CONFIG_DIR="relative"), path
    for path in (
        "settings.json", "CLAUDE.md", "plans/../settings.json", "plans/../CLAUDE.md", "plans/x.sh", "plans",
        "skills/a.md", "commands/a.md", "agents/a.md", "projects/-x/a.md", "projects/-p/memory/README.md",
        "projects/memory/a.md", "a/plans/b.md",
    ):  # fmt: skip
        assert denied(f"{home}/.claude/{path}"), path
