"""Command-line agents, played by small scripts on a PATH of their own, some of which behave badly."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringi
from ringi.agents.output import documents
from ringi.errors import (
    BadModelAnswer,
    Interrupted,
    ModelFailed,
    ModelRejected,
    ModelTimeout,
    ModelUnreachable,
    StorageFailed,
    UnknownModel,
)
from ringi.kernel.text import Text
from ringi.models.backend import Backend, Call, ChatMessage, Reply, RetryLater
from ringi.models.command_backend import LONGEST_WORD, CommandBackend, flat
from ringi.models.configured import scrub_of
from tests.helpers import PATIENCE_SEC, PYTHON
from tests.tables import each

TURNS = (ChatMessage("system", "Answer in JSON."), ChatMessage("user", "Add a login. 「はい」"))
# Every stand-in begins like that: what it was given is written beside it.
REPORT = f"""#!{PYTHON}
import json, os, subprocess, sys, time
given = sys.stdin.read()
try:
    terminal = os.open("/dev/tty", os.O_RDWR)
except OSError:
    terminal = None
seen = dict(argv=sys.argv[1:], env=dict(os.environ), cwd=os.getcwd(), given=given, terminal=terminal,
    inside=os.listdir(), tty=[os.isatty(n) for n in range(3)], session=os.getsid(0), pid=os.getpid(),
    files={{word: open(word).read() for word in sys.argv[1:] if os.path.isfile(word)}})
with open(os.environ["SEEN"], "w") as file:
    json.dump(seen, file)
"""


class World(NamedTuple):
    bin: Path
    seen: Path
    scratch: Path
    env: dict[str, str]

    def program(self, name: str, body: str = "") -> Path:
        path = self.bin / name
        path.write_text(REPORT + textwrap.dedent(body))
        path.chmod(0o700)
        return path

    def backend(self, template: str, **more: str) -> CommandBackend:
        env = {**self.env, **more}
        return CommandBackend(template, env, scrub_of(env), folder=self.scratch)

    def report(self) -> Any:
        return json.loads(self.seen.read_text())

    def check_nothing_left(self) -> None:
        assert list(self.scratch.iterdir()) == []
        marks = [
            path for path in Path("/proc").glob("[0-9]*/environ") if str(self.seen).encode() in _bytes(path)
        ]
        assert marks == []


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.fixture
def world(tmp_path: Path) -> World:
    (bin_ := tmp_path / "bin").mkdir()
    (scratch := tmp_path / "scratch").mkdir()
    seen = tmp_path / "seen.json"
    return World(bin_, seen, scratch, {"PATH": str(bin_), "HOME": str(tmp_path), "SEEN": str(seen)})


def call(
    *turns: ChatMessage,
    seconds: float = PATIENCE_SEC,
    on_tokens: Callable[[int], None] = lambda _: None,
    on_text: Callable[[str], None] = lambda _: None,
) -> Call:
    return Call(turns or TURNS, {}, seconds, 1000, on_tokens, on_text)


CLAUDE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": '{"questions": []}\n',
    "total_cost_usd": 0.0123,
    "usage": {
        "input_tokens": 4,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 1000,
        "output_tokens": 57,
        "service_tier": "standard",
    },
}
CODEX = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "hm"}},
    {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "first"}},
    {
        "type": "item.completed",
        "item": {"id": "item_2", "type": "agent_message", "text": '{"questions": []}'},
    },
    {
        "type": "turn.completed",
        "usage": {"input_tokens": 900, "cached_input_tokens": 800, "output_tokens": 33},
    },
]
GEMINI = {
    "session_id": "s",
    "response": '```json\n{"questions": []}\n```',
    "stats": {
        "models": {
            "pro": {"tokens": {"prompt": 700, "candidates": 20, "thoughts": 5, "cached": 600}},
            "flash": {"tokens": {"prompt": 50, "candidates": 2, "thoughts": 0}},
        }
    },
}


def test_claude_is_asked_without_tools_and_its_result_is_the_reply(world: World) -> None:
    world.program("claude", f"print({json.dumps(CLAUDE)!r})")
    counts: list[int] = []
    backend: Backend = world.backend("claude")

    reply = backend.send(call(on_tokens=counts.append))

    assert reply == Reply('{"questions": []}', 1104, 57, 0.0123, cached_tokens=1000)
    assert counts[-1] == 57
    assert backend.name == "command:claude"
    seen = world.report()
    words = " ".join(seen["argv"])
    assert words.startswith("--print --output-format json --strict-mcp-config")
    assert words.endswith("--tools  --disallowedTools Read(//**)")
    assert "--no-session-persistence" in words
    assert seen["env"]["CLAUDE_CODE_SAFE_MODE"] == "1"
    assert seen["given"] == flat(TURNS)
    world.check_nothing_left()


def test_codex_is_asked_read_only_and_its_last_message_is_the_reply(world: World) -> None:
    lines = "\n".join(map(json.dumps, CODEX))
    world.program("codex", f"print({lines!r})")

    reply = world.backend("codex").send(call())

    assert reply == Reply('{"questions": []}', 900, 33, cached_tokens=800)
    words = " ".join(world.report()["argv"])
    assert words.startswith("exec --json --sandbox read-only")
    assert words.endswith("--ephemeral --skip-git-repo-check -")
    assert "--ignore-user-config" in words
    world.check_nothing_left()


class _Blind:
    """A project that cannot be looked at."""

    def lacks(self) -> Text:
        return Text("bubblewrap is not installed")


def test_an_agent_that_cannot_look_at_the_project_says_why_and_answers_without(world: World) -> None:
    world.program("claude", f"print({json.dumps(CLAUDE)!r})")
    backend = CommandBackend("claude", world.env, str, folder=world.scratch, reader=_Blind())
    assert str(backend.prepare()) == "it cannot look at the project: bubblewrap is not installed"
    assert not backend.sees_project
    backend.send(call())
    seen = world.report()
    assert seen["inside"] == []
    assert seen["given"] == flat(TURNS)


def test_gemini_is_asked_with_every_tool_denied(world: World) -> None:
    world.program("gemini", f"print({json.dumps(GEMINI, indent=2)!r})")

    reply = world.backend("gemini").send(call())

    assert reply == Reply('```json\n{"questions": []}\n```', 750, 27, cached_tokens=600)
    seen = world.report()
    assert seen["argv"][:4] == ["--output-format", "json", "--approval-mode", "default"]
    policy = seen["argv"][seen["argv"].index("--policy") + 1]
    assert 'toolName = "*"\ndecision = "deny"' in seen["files"][policy]
    assert seen["env"]["GEMINI_CLI_TRUST_WORKSPACE"] == "true"
    world.check_nothing_left()


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
def test_json_among_other_lines_is_found(world: World, agent: str) -> None:
    said = {
        "claude": json.dumps([{"type": "system"}, CLAUDE]),
        "codex": "\n".join(map(json.dumps, CODEX)),
        "gemini": json.dumps(GEMINI, indent=2),
    }[agent]
    world.program(
        agent, f"print('\\x1b[33mLoading… {{1/2}}\\x1b[0m\\n[notice] {{\\n', {said!r}, '\\nBye {{}}', sep='')"
    )

    reply = world.backend(agent).send(call())

    assert '{"questions": []}' in reply.text
    assert reply.output_tokens > 0


@each("agent", ["claude", "codex", "gemini"])
@each("text", ["", "plain words", "[" * 5000, '{"type": "result", "usage": 3}', '{"response": 1}'])
def test_an_output_of_another_form_is_the_text_itself(world: World, agent: str, text: str) -> None:
    world.program(agent, f"print({text!r})")

    reply = world.backend(agent).send(call())

    assert reply.text == ("" if agent == "claude" and "result" in text else text)
    assert reply.cost_usd is None


@given(st.text(alphabet='{}[]",:\n 1a\\', max_size=200))
def test_looking_for_json_never_fails(text: str) -> None:
    assert all(isinstance(found, dict) for found in documents(text))


def test_looking_for_json_in_a_flood_of_brackets_is_quick() -> None:

    assert list(documents("[\n" * 500_000)) == []
    assert list(documents("{" * 1_000_000)) == []


def test_any_other_command_gets_the_prompt_on_its_standard_input(world: World) -> None:
    world.program("mine", "print('\\x1b[1;32mhello\\x1b[0m \\x1b]0;title\\x07you')")
    counts: list[int] = []

    reply = world.backend("mine --quiet 'two words' '{}'").send(call(on_tokens=counts.append))

    assert reply == Reply("hello you")
    assert world.report()["argv"] == ["--quiet", "two words", "{}"]
    assert world.report()["given"] == flat(TURNS)
    assert counts


def test_a_prompt_larger_than_a_pipe_is_read_while_much_is_printed(world: World) -> None:
    path = world.program("mine")
    path.write_text(f"#!{PYTHON}\nimport sys\nfor line in sys.stdin: print(len(line) * 'x')\n")
    turns = (ChatMessage("user", ("y" * 999 + "\n") * 600),)

    reply = world.backend("mine").send(call(*turns))

    assert reply.text.count("x" * 1000) == 600


def test_a_prompt_as_one_argument(world: World) -> None:
    world.program("mine", "print('ok')")
    turn = ChatMessage("user", "$(touch x) `id` \"quoted\" 'too' {prompt} \0 end")

    world.backend("mine --ask={prompt} -- {prompt}").send(call(turn))

    seen = world.report()
    word = flat([turn]).replace("\0", "?")
    assert seen["argv"] == [f"--ask={word}", "--", word]
    assert seen["given"] == ""


def test_a_prompt_that_is_too_long_for_an_argument_is_refused_and_nothing_runs(world: World) -> None:
    world.program("mine", "print('ok')")
    turn = ChatMessage("user", "長" * (LONGEST_WORD // 3))

    with pytest.raises(ModelRejected, match=r"bytes and an argument takes 100000; without \{prompt\}"):
        world.backend("mine {prompt}").send(call(turn))
    assert not world.seen.exists()
    assert world.backend("mine").send(call(turn)).text == "ok"


def test_it_runs_alone_in_an_empty_folder_without_a_terminal_and_its_files_go(world: World) -> None:
    world.program(
        "mine",
        """
        os.makedirs("deep/er")
        open("deep/er/file", "w").write("x")
        os.chmod("deep/er", 0)
        os.symlink(os.environ["HOME"], "home")
        open(os.path.join(os.environ["TMPDIR"], "kept"), "w").write("x")
        print("done")
        """,
    )

    assert world.backend("mine").send(call()).text == "done"

    seen = world.report()
    assert seen["inside"] == []
    assert Path(seen["cwd"]).parent.parent == world.scratch
    assert seen["env"]["PWD"] == seen["cwd"]
    assert seen["env"]["TMPDIR"].startswith(str(world.scratch))
    assert seen["terminal"] is None
    assert not any(seen["tty"])
    assert seen["session"] == seen["pid"]
    assert world.bin.exists()
    world.check_nothing_left()


def test_what_a_killed_one_left_is_swept_and_what_is_in_use_stays(world: World) -> None:
    world.program("inner", "print('ok')")
    world.program(
        "outer", "os.utime(os.path.dirname(os.getcwd()), (1, 1))\nprint('okay', flush=True)\ntime.sleep(0.6)"
    )
    for name in ("ringi-model-left", "ringi-model-new", "other"):
        (world.scratch / name / "work").mkdir(parents=True)
    for name in ("ringi-model-left", "other"):
        os.utime(world.scratch / name, (1, 1))
    left: list[set[str]] = []

    def meanwhile(size: int) -> None:
        if size and not left:
            world.backend("inner").send(call())
            left.append({path.name for path in world.scratch.iterdir()} - {"ringi-model-new", "other"})

    assert world.backend("outer").send(call(on_tokens=meanwhile)).text == "okay"
    assert len(left[0]) == 1
    assert left[0] != {"ringi-model-left"}
    assert {path.name for path in world.scratch.iterdir()} == {"ringi-model-new", "other"}


def test_it_does_not_know_that_it_is_below_an_agent_or_where_ringi_keeps_things(world: World) -> None:
    world.program("mine", "print('ok')")
    hidden = {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "CODEX_SANDBOX": "seatbelt",
        "GEMINI_CLI": "1",
        "RINGI_MCP_SOCKET": "/run/socket",
        "RINGI_WITH": "w",
        "RINGI_STATE_DIR": "/state",
        "GIT_DIR": "/repo/.git",
        "OLDPWD": "/repo",
        "FORCE_COLOR": "1",
        "GITHUB_TOKEN": "ghp_0123456789",
        "CI_JOB_TOKEN": "glcbt-0123456789",
    }
    kept = {
        "ANTHROPIC_API_KEY": "its own",
        "HTTPS_PROXY": "http://proxy",
        "CLAUDE_CONFIG_DIR": "/c",
        "LANG": "ja",
    }

    world.backend("mine", **hidden, **kept).send(call())

    env = world.report()["env"]
    assert hidden.keys() & env.keys() == set()
    assert kept.items() <= env.items()
    assert env["TERM"] == "dumb"


def test_a_program_that_is_not_there_is_said(world: World) -> None:
    with pytest.raises(ModelUnreachable, match="claude is not installed"):
        world.backend("claude").send(call())
    (world.bin / "broken").write_text("#!/no/such/interpreter\n")
    (world.bin / "broken").chmod(0o700)
    with pytest.raises(ModelUnreachable, match="broken cannot be started: No such file"):
        world.backend("broken").send(call())
    world.check_nothing_left()


def test_a_program_named_by_a_path_is_found_from_the_current_folder(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.program("mine", "print('ok')")
    monkeypatch.chdir(world.bin)

    assert world.backend("./mine").send(call()).text == "ok"


@each("template", ["", "  ", "''", "say 'no end"])
def test_a_template_without_a_program_is_refused_at_once(template: str) -> None:
    with pytest.raises(UnknownModel):
        CommandBackend(template, {}, str)


def test_a_full_or_missing_scratch_place_is_a_typed_error(world: World) -> None:
    world.program("mine")
    backend = CommandBackend("mine", world.env, str, folder=world.bin / "mine" / "below")

    with pytest.raises(StorageFailed):
        backend.send(call())


def test_an_exit_code_comes_with_the_last_words_and_without_keys(world: World) -> None:
    world.program(
        "mine",
        """
        sys.stderr.write("x" * 100_000 + "\\n\\x1b[31mno access with " + os.environ["SOME_API_KEY"])
        sys.stderr.write("\\x1b[0m or " + os.environ["DB_PASSWORD_2"] + "\\n")
        print("half an answer")
        sys.exit(3)
        """,
    )
    texts: list[str] = []
    backend = world.backend("mine", SOME_API_KEY="sk-abcdef", DB_PASSWORD_2="hunter22", EMPTY_TOKEN="")

    with pytest.raises(ModelFailed) as caught:
        backend.send(call(on_text=texts.append))

    assert str(caught.value).endswith("\nno access with (masked: a key) or (masked: a key)")
    assert "exit code 3" in str(caught.value)
    assert len(str(caught.value)) < 800
    assert texts == ["half an answer\n"]


def claude_failed(**more: object) -> str:
    return f"print({json.dumps({**CLAUDE, 'is_error': True, **more})!r})\nsys.exit(1)"


def gemini_failed(**error: object) -> str:
    return f"sys.stderr.write('[ERROR]\\n' + {json.dumps({'error': error}, indent=2)!r})\nsys.exit(173)"


CODEX_FAILED = f"print({json.dumps({'type': 'turn.failed', 'error': {'message': 'cut off'}})!r})\nsys.exit(1)"


@pytest.mark.parametrize(
    ("agent", "body", "kind", "words"),
    [
        (
            "claude",
            claude_failed(result="Not logged in", api_error_status=401),
            ModelRejected,
            "Not logged in",
        ),
        ("claude", claude_failed(result="Overloaded", api_error_status=529), RetryLater, "Overloaded"),
        ("claude", claude_failed(result=None, subtype="error_max_turns"), ModelFailed, "error_max_turns"),
        (
            "claude",
            "sys.stderr.write('error: unknown\\n')\nsys.exit(1)",
            ModelFailed,
            "code 1: error: unknown",
        ),
        ("codex", CODEX_FAILED, ModelFailed, "no usable answer: cut off"),
        ("gemini", gemini_failed(message="quota", code=429), RetryLater, "quota"),
        ("gemini", "sys.stderr.write('Set an Auth method')\nsys.exit(41)", ModelRejected, "Auth method"),
        ("mine", "os.kill(os.getpid(), 9)", ModelFailed, "exit code 137"),
    ],
)
def test_what_went_wrong_is_said_in_the_agents_own_words(
    world: World, agent: str, body: str, kind: type[Exception], words: str
) -> None:
    world.program(agent, body)

    with pytest.raises(kind, match=words) as caught:
        world.backend(agent).send(call())
    assert type(caught.value) is kind


def test_five_megabytes_are_too_much_and_end_it(world: World) -> None:
    world.program("mine", "sys.stdout.write('x' * 5_000_000)\ntime.sleep(60)")

    with pytest.raises(BadModelAnswer, match="more than 1048576 bytes"):
        world.backend("mine").send(call())
    world.check_nothing_left()


def test_exactly_as_much_as_is_allowed_is_taken(world: World) -> None:
    world.program("mine", "sys.stdout.write('x' * 1000)")

    assert CommandBackend("mine", world.env, str, most_bytes=1000).send(call()).text == "x" * 1000
    with pytest.raises(BadModelAnswer):
        CommandBackend("mine", world.env, str, most_bytes=999).send(call())


# Starts three processes that outlive it: one in its group, one in a group and one in a session of its own.
CHILDREN = """
for more in ({}, {"process_group": 0}, {"start_new_session": True}):
    stays = (
        "import os, signal, time; signal.signal(15, signal.SIG_IGN); "
        "open(os.environ['SEEN'] + f'.{os.getpid()}', 'w'); time.sleep(300)"
    )
    subprocess.Popen([sys.executable, "-c", stays], **more)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the group is ended")
def test_one_that_hangs_is_ended_with_its_children_when_its_time_is_up(world: World) -> None:
    world.program("mine", CHILDREN + "print('so far', flush=True)\ntime.sleep(300)")
    texts: list[str] = []

    with pytest.raises(ModelTimeout, match=r"within 1\.1 seconds"):
        world.backend("mine").send(call(seconds=1.1, on_text=texts.append))

    assert texts == ["so far\n"]
    world.check_nothing_left()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the group is ended")
def test_children_that_hold_its_output_do_not_keep_the_answer(world: World) -> None:
    world.program("mine", CHILDREN + "print('the answer', flush=True)")

    assert world.backend("mine").send(call()).text == "the answer"
    world.check_nothing_left()


def test_one_that_does_not_read_and_one_that_closes_its_output(world: World) -> None:
    deaf = world.program("deaf")
    deaf.write_text(f"#!{PYTHON}\nprint('an answer')\n")
    mute = world.program("mute", "os.close(1); os.close(2)\ntime.sleep(0.3)")
    mute.chmod(0o700)

    assert world.backend("deaf").send(call(ChatMessage("user", "x" * 500_000))).text == "an answer"
    assert world.backend("mute").send(call()).text == ""


def test_one_that_waits_for_an_answer_at_a_terminal_gets_none(world: World) -> None:
    world.program("mine", "answer = open('/dev/tty').readline()\nprint(answer)")

    with pytest.raises(ModelFailed, match="exit code 1"):
        world.backend("mine").send(call())


class Enough(Exception):
    pass


@pytest.mark.parametrize("reason", [Enough, Interrupted, OSError, ValueError])
def test_whatever_stops_the_wait_ends_it(world: World, reason: type[Exception]) -> None:
    world.program("mine", "time.sleep(300)")

    def enough(_: int) -> None:
        if world.seen.exists():
            raise reason

    with pytest.raises(reason):
        world.backend("mine").send(call(on_tokens=enough))
    world.check_nothing_left()


DRIVER = """
import os, sys
from pathlib import Path
from ringi.models.backend import Call, ChatMessage
from ringi.models.command_backend import CommandBackend
backend = CommandBackend("mine", os.environ, str, folder=Path(sys.argv[1]))
try:
    backend.send(Call((ChatMessage("user", "x"),), {}, 60.0, 100, lambda _: None))
except KeyboardInterrupt:
    sys.exit(77)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the group is ended")
@pytest.mark.parametrize(("number", "times"), [(signal.SIGINT, 2), (signal.SIGTERM, 1), (signal.SIGHUP, 1)])
def test_an_interrupt_ends_it_with_its_children(world: World, number: int, times: int) -> None:
    world.program("mine", CHILDREN + "time.sleep(300)")
    env = {**world.env, "PYTHONPATH": str(Path(ringi.__file__).parents[1])}
    process = subprocess.Popen([sys.executable, "-c", DRIVER, str(world.scratch)], env=env)
    until = time.monotonic() + 60
    while len(list(world.seen.parent.glob(f"{world.seen.name}.*"))) < 3 and time.monotonic() < until:
        time.sleep(0.02)

    for _ in range(times):  # the second one comes while the children have their grace
        process.send_signal(number)
        time.sleep(0.1)

    assert process.wait(60) == 77
    world.check_nothing_left()


def test_turns_become_one_text_with_the_rules_first() -> None:
    turns = (
        ChatMessage("user", "Question?"),
        ChatMessage("system", "Rule."),
        ChatMessage("assistant", "Wrong."),
        ChatMessage("user", "That is wrong: x"),
    )

    text = flat(turns)

    places = [
        text.index(part)
        for part in ("# Rules", "Rule.", "# Conv", "## User", "Question?", "## You", "Wrong.")
    ]
    assert places == sorted(places)
    assert text.endswith("That is wrong: x\n")
    assert (
        flat(TURNS).index("Answer in JSON.") < flat(TURNS).index("# Task") < flat(TURNS).index("Add a login.")
    )
    assert "# Conversation" not in flat(TURNS)


@given(st.text(alphabet="#> UserYou,earlir\n\r\u2028", max_size=60))
def test_no_answer_of_before_looks_like_a_part_of_the_prompt(answer: str) -> None:
    turns = (
        TURNS[0],
        ChatMessage("user", "x"),
        ChatMessage("assistant", f"{answer}\n## User"),
        ChatMessage("user", "y"),
    )

    headings = [line for line in flat(turns).splitlines() if line.startswith("#")]

    assert headings == [
        "# Rules",
        "# Conversation (answer the last message)",
        "## User",
        "## You, earlier",
        "## User",
    ]


def test_a_secret_at_the_edge_of_the_kept_words_is_not_half_shown(world: World) -> None:
    secret = "k" * 30 + "-secret-" + "z" * 30
    world.program("mine", "sys.stderr.write(os.environ['MY_TOKEN'] + 'e' * 580)\nsys.exit(1)")

    with pytest.raises(ModelFailed) as caught:
        world.backend("mine", MY_TOKEN=secret).send(call())
    assert "zzz" not in str(caught.value)


@each(
    "template",
    [
        'sh -c "{prompt}"',
        'sh -c "echo \\"{prompt}\\""',
        "bash -lc {prompt}",
        "python3 -c {prompt}",
        "perl -e {prompt}",
        "node --eval {prompt}",
        'ssh box "ask {prompt}"',
    ],
)
def test_a_prompt_is_never_a_part_of_a_command(template: str):
    with pytest.raises(UnknownModel, match="part of a command"):
        CommandBackend(template, {}, str)
