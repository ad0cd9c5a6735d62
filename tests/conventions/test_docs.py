"""The pages say what is: what can be compared with the program is compared."""

import ast
import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import msgspec
import pytest

from ringi import errors
from ringi.cli.examples import EXAMPLES
from ringi.cli.main import COMMANDS, cli, put_global_options_first
from ringi.config.keys import KEYS
from ringi.plans.document import PLAN_TRANSITIONS
from ringi.project.state import Diagnostic, EditorState, Unsaved
from ringi.runs.document import StopCode
from tests.helpers import accept_signers_in
from tests.install.test_install import ways

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
DOCS = ROOT / "docs"
TWINS = [(ROOT / "README.md", ROOT / "README.ja.md")] + [
    (page, DOCS / "ja" / page.name) for page in sorted(DOCS.glob("*.md"))
]
"""Each English page and its Japanese one."""
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
THREATS = ROOT / "THREAT-MODEL.md"
PROOFS = ROOT / "docs" / "design" / "0018-proofs.md"
LONGEST_SEC = 120
THREATS_BYTES = 15_000
SENTENCE_ENDS = ("。", "\uff09", ")")
HELP = frozenset({"-h", "--help"})
OURS = frozenset(
    [path.name for path in (ROOT / "src" / "ringi").iterdir() if path.is_dir()]
    + ["src", "tests", "tools", "bench", "docs", "requirements"]
)
"""First parts of a path that names something of this repository."""

by_name = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
in_both = pytest.mark.parametrize("folder", [DOCS, DOCS / "ja"], ids=["en", "ja"])
both = pytest.mark.parametrize(("english", "japanese"), TWINS, ids=lambda page: page.name)


class Block(NamedTuple):
    language: str
    text: str


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(text: str) -> list[Block]:
    return [Block(*found) for found in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]


def prose(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def headings(text: str) -> list[str]:
    return [found[1] for found in re.finditer(r"^(#+) ", prose(text), re.MULTILINE)]


def sections(text: str) -> list[str]:
    return re.split(r"^## ", text, flags=re.MULTILINE)


# --- commands -------------------------------------------------------------------------------------


def commands_in(text: str) -> Iterator[str]:
    """What a reader could type: spans that begin with the program, and lines of examples."""
    for span in re.findall(r"`([^`\n]+)`", prose(text)):
        if re.match(r"ringi( |$)", span):
            yield span
    for block in blocks(text):
        if block.language != "python":
            lines = re.findall(r"^(?:\$ |\s*→ )?(ringi(?: .*)?)$", block.text, re.MULTILINE)
            yield from (line.partition("  ")[0] for line in lines)  # then comes what it does


def problem_of(line: str) -> str | None:
    """Why click would not understand the line; None if it would."""
    words = shlex.split(re.sub(r"[\[\]…]", " ", line))[1:]
    words = put_global_options_first(words[: words.index("--")] if "--" in words else words)
    command: click.Command = cli
    context = click.Context(cli)
    options = _options(cli)
    for word in words:
        if word.startswith("-") and word != "-":  # alone it is standard input
            if word.partition("=")[0] not in options:
                return f"{line}: {command.name} has no {word}"
        elif isinstance(command, click.Group) and word not in {"en|ja", "PATH"}:
            found = command.get_command(context, word)
            if found is None:
                return f"{line}: there is no {word}"
            command, options = found, options | _options(found)
    return None


def _options(command: click.Command) -> set[str]:
    given = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    return HELP | {name for option in given for name in (*option.opts, *option.secondary_opts)}


@by_name
def test_every_command_on_a_page_exists(page: Path):
    problems = [problem for line in commands_in(read(page)) if (problem := problem_of(line))]
    assert problems == []


@in_both
def test_every_command_is_in_the_table(folder: Path):
    rows = "\n".join(
        line for line in read(folder / "commands.md").splitlines() if line.startswith("| `ringi")
    )
    named = {line.split()[1] for line in commands_in(rows) if len(line.split()) > 1}
    assert named == set(COMMANDS)
    config = cli.get_command(click.Context(cli), "config")
    assert isinstance(config, click.Group)
    assert all(re.search(f"`ringi config {name}[` ]", rows) for name in config.commands)


def offered_in(source: Path) -> Iterator[str]:
    """Commands that the program tells a person to type: a whole string, or what follows a colon."""
    for node in ast.walk(ast.parse(read(source))):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(one.value) if isinstance(one, ast.Constant) else "X" for one in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = re.sub(r"\{\w+\}", "X", node.value)
        else:
            continue
        if found := re.search(r"(?:^|: )(ringi [a-z].*)$", text):
            yield found[1]


@pytest.mark.req("RN-11")
def test_every_command_that_a_stopped_run_offers_exists():
    ours = ROOT / "src" / "ringi"
    stopping = "amendment drive finish_step gates implement_step replan role_work run_context run_workspace"
    stopping += " start testing view"
    sources = [*(ours / "runs" / f"{name}.py" for name in stopping.split()), *ours.glob("cli/**/run*.py")]
    offered = {line for source in sources for line in offered_in(source)}
    assert {"ringi run --again X", "ringi continue X --retry", "ringi continue X --test COMMAND"} <= offered
    assert [problem for line in sorted(offered) if (problem := problem_of(line))] == []


@pytest.mark.req("RN-11")
def test_every_reason_that_a_run_stops_for_is_reached_by_a_whole_run():
    whole = "\n".join(read(file) for file in (ROOT / "tests" / "functional").glob("test_run*.py"))
    assert [code for code in StopCode if f"StopCode.{code}" not in whole] == []


@in_both
@pytest.mark.req("RN-11")
def test_every_reason_that_a_run_stops_for_is_on_its_page(folder: Path):
    rows = "\n".join(line for line in read(folder / "runs.md").splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`([A-Z][A-Z0-9_]+)`", rows)) == {*map(str, StopCode)}


def test_every_command_has_an_example_that_can_be_typed():
    problems = []
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command
        below = command.commands if isinstance(command, click.Group) else {}
        for whole, one in {
            name: command,
            **{f"{name} {word}": one for word, one in below.items() if not one.hidden},
        }.items():
            given = EXAMPLES.get(whole, ())
            shown = one.get_help(click.Context(one, info_name=whole, max_content_width=200))
            problems += [] if given else [f"{whole} has none"]
            problems += [line for line in given if f"  {line}\n" not in f"{shown}\n"]
            problems += [line for line in given if f"ringi {whole}" not in line]
            problems += [why for line in given if (why := problem_of(line[line.index("ringi") :]))]
    assert problems == []


@in_both
def test_every_option_is_in_the_table(folder: Path):
    lines = read(folder / "commands.md").splitlines()
    missing = []
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command
        row = " ".join(line for line in lines if line.startswith(f"| `ringi {name}"))
        known = _options(command) - HELP
        missing += [f"{name} {option}" for option in known if not re.search(rf"{option}\b", row)]
    assert missing == []


@in_both
def test_every_global_option_is_named(folder: Path):
    page = folder / "commands.md"
    given = _options(cli) - HELP - {"--version"}
    assert given
    assert [option for option in given if f"`{option}" not in read(page)] == []


@pytest.mark.parametrize(
    "line",
    [
        "ringi",
        "ringi with [--check CMD]… [--carry PATH]… -- claude --anything",
        "ringi review p1 --plain",
        "ringi --json list --limit 5",
        "ringi config show",
    ],
)
def test_a_command_that_exists_is_understood(line: str):
    assert problem_of(line) is None


@pytest.mark.parametrize(
    "line", ["ringi fly", "ringi list --wings", "ringi config fly", "ringi --wings list"]
)
def test_a_command_that_does_not_exist_is_found(line: str):
    assert problem_of(line) is not None


# --- tables ---------------------------------------------------------------------------------------


def _below(kind: type[errors.RingiError]) -> Iterator[type[errors.RingiError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _below(child)


@in_both
def test_exit_codes_are_those_of_the_errors(folder: Path):
    section = next(part for part in sections(read(folder / "commands.md")) if "| 130 |" in part)
    codes = [int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)]
    assert codes == sorted({0, *(kind.exit_code for kind in _below(errors.RingiError))})


def layers() -> tuple[list[set[str]], set[str]]:
    """As `.importlinter` has them: those that exist, from the top, and the names kept for later."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / ".importlinter", encoding="utf-8")
    lines = settings["importlinter:contract:layers"]["layers"].split("\n")
    names = [[name.strip() for name in line.split("|")] for line in lines if line]
    later = {name.strip("()") for line in names for name in line if name.startswith("(")}
    real = [{name for name in line if not name.startswith("(")} for line in names]
    return [line for line in real if line], later


@pytest.mark.parametrize("page", [ARCHITECTURE, ROOT / "AGENTS.md"], ids=lambda page: page.name)
def test_layers_are_those_that_are_checked(page: Path):
    drawing = next(block.text for block in blocks(read(page)) if block.text.startswith("cli "))
    named = [set(re.split(r"  +", line)[0].split(" | ")) for line in drawing.splitlines()]
    assert named == layers()[0]


def test_names_kept_for_later_are_those_of_the_layers():
    sentence = re.search(
        r"Names kept for later in `\.importlinter`: (.*?)\.\n", read(ARCHITECTURE), re.DOTALL
    )
    assert sentence
    assert set(re.findall(r"`(\w+)`", sentence[1])) == layers()[1]


def test_states_are_those_of_the_machine():
    drawing = next(block.text for block in blocks(read(ARCHITECTURE)) if block.text.startswith("proposed "))
    drawn = {}
    for line in drawing.splitlines():
        state, _, rest = line.partition("→")
        targets = re.split(r"  +", rest.strip())[0]
        drawn[state.strip()] = set(filter(None, targets.split(" | ")))
    assert drawn == {str(state): {str(to) for to in allowed} for state, allowed in PLAN_TRANSITIONS.items()}


@in_both
def test_every_field_that_an_editor_pushes_is_described(folder: Path):
    rows = dict(re.findall(r"^\| `(\w+)`(.*)$", read(folder / "editors" / "state.md"), re.MULTILINE))
    required = "(required)" if folder == DOCS else "(必須)"
    fields = msgspec.structs.fields(EditorState)
    assert rows.keys() == {field.encode_name for field in fields}
    assert {name for name, row in rows.items() if row.startswith(f" {required} |")} == {
        field.encode_name for field in fields if field.required
    }
    for name, kind in {"diagnostics": Diagnostic, "unsaved": Unsaved}.items():
        named = {field.encode_name for field in msgspec.structs.fields(kind)}
        assert named <= set(re.findall(r"`(\w+)`", rows[name])), name


@in_both
def test_every_key_is_described(folder: Path):
    lines = read(folder / "configuration.md").splitlines()
    first = [line.split("|")[1] for line in lines if line.startswith("| `")]
    assert {key for cell in first for key in re.findall(r"`([\w.]+)`", cell)} == set(KEYS)


# --- examples and links ---------------------------------------------------------------------------


@in_both
def test_python_on_the_page_runs_and_changes_nothing(folder: Path, repo: Path):
    scripts = [block.text for block in blocks(read(folder / "python.md")) if block.language == "python"]
    assert scripts
    for script in scripts:
        ran = subprocess.run(
            [sys.executable, "-c", script],
            cwd=repo,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        promised = re.findall(r"print\(refusal\)  # (.*?)(?:;|$)", script, re.MULTILINE)
        assert promised
        assert [words for words in promised if words not in ran.stdout] == []
    changed = subprocess.run(
        ["git", "status", "--short"], cwd=repo, capture_output=True, text=True, check=True
    )
    assert changed.stdout == ""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="the tour signs with ssh-keygen")
@pytest.mark.usefixtures("on_disk")
def test_transcript_is_what_the_tour_prints(tmp_path: Path):
    ran = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "try.py")],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST_SEC,
        check=True,
    )
    if "Nothing was approved." in ran.stdout:
        pytest.skip("an agent runs the tests, so nobody can approve")
    if "no sandbox:" in ran.stdout:
        pytest.skip("without a sandbox the tests of a step do not run before its review")
    plain = re.sub(r"\x1b\[[0-9;?!]*[A-Za-z]", "", ran.stdout)
    plain = re.sub(r"· \S+, signed with SHA256:\S+", "· you, signed with SHA256:…", plain)
    for page in (DOCS / "guide.md", ROOT / "README.md"):
        printed = iter([line.rstrip() for line in plain.splitlines()])
        transcript = next(block.text for block in blocks(read(page)) if block.language == "console")
        lines = [line for line in transcript.splitlines() if line.strip() not in {"", "…"}]
        assert [line for line in lines if line not in printed] == []


@pytest.mark.parametrize("page", ["README.md", "README.ja.md"])
def test_ways_to_install_are_the_ones_that_make_test_install_tries(page: str):
    """A home has no .local/bin at first, and every extra that is named is one."""
    [one, two, venv] = ways()
    shown = blocks(read(ROOT / page))
    assert [block.text.strip("\n") for block in shown if "'.[forges" in block.text] == [
        way.strip("\n") for way in (one, two, venv)
    ]
    assert all(way.startswith(start) for way, start in [(one, "pipx install "), (two, "uv tool install ")])
    assert "--compile-bytecode" in two
    assert venv.index("mkdir -p ~/.local/bin\n") < venv.index("ln -sf ")
    declared = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    for way in (one, two, venv):
        [named] = re.findall(r"'\.\[([\w,]+)\]'", way)
        assert {"forges", "graph", "mcp", "models"} == {*named.split(",")} <= {*declared}
        subprocess.run(["sh", "-n", "-c", way], check=True)


@pytest.mark.req("PT-10")
@pytest.mark.skipif(not (shutil.which("ssh-keygen") and shutil.which("jq")), reason="what the page uses")
def test_approval_is_checked_with_the_shell_alone(repo: Path, tmp_path: Path):
    """As the page on proofs says, and no longer once a word of it was changed."""
    [script] = [block.text for block in blocks(read(PROOFS)) if block.language == "sh"]
    key, new = tmp_path / "key", tmp_path / "new.txt"
    new.write_text("new\n", encoding="utf-8")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    public = " ".join(key.with_suffix(".pub").read_text(encoding="utf-8").split()[:2])
    signers = Path(os.environ["XDG_CONFIG_HOME"]) / "ringi" / "allowed_signers"
    signers.parent.mkdir(parents=True, exist_ok=True)
    signers.write_text(f'hanako namespaces="ringi-approval" {public}\n', encoding="utf-8")
    signers.chmod(0o600)
    accept_signers_in(repo)
    for words in (
        ["propose", "--file", f"new.txt={new}", "--title", "New"],
        ["approve", "p1", "--sign", str(key)],
    ):
        argv = [sys.executable, "-m", "ringi", *words]
        subprocess.run(argv, cwd=repo, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    [approval] = (repo / ".agent" / "logs" / "plans").glob("*/approval.json")
    shutil.copy(signers, tmp_path)

    def checked(approval: str) -> int:
        (tmp_path / "approval.json").write_text(approval, encoding="utf-8")
        environment = {**os.environ, "NAME": "hanako"}
        return subprocess.run(
            ["bash", "-e", "-c", script], cwd=tmp_path, env=environment, check=False
        ).returncode

    text = read(approval)
    assert checked(text) == 0
    assert checked(text.replace('\\"path\\":\\"new.txt\\"', '\\"path\\":\\"old.txt\\"')) != 0
    assert checked(text.replace('\\"act\\":\\"approve\\"', '\\"act\\":\\"undo\\"')) != 0


def test_the_threat_model_is_two_tables_and_each_claim_has_a_test():
    """That each test exists is asked of every path on a page."""
    text = read(THREATS)
    assert len(text.encode()) < THREATS_BYTES
    tables = {part.partition("\n")[0]: part for part in sections(text)[1:]}
    assert list(tables) == ["What holds", "What does not hold"]
    rows = {name: re.findall(r"^\| .*", part, re.MULTILINE)[1:] for name, part in tables.items()}
    assert all(rows.values())
    assert [
        row for row in rows["What holds"] if not re.search(r"`tests/[\w/]+\.py(::test_\w+)?` ?\|$", row)
    ] == []


@by_name
def test_links_lead_somewhere(page: Path):
    targets = re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", prose(read(page)))
    inside = [target.partition("#")[0] for target in targets if "://" not in target]
    assert [target for target in inside if target and not (page.parent / target).exists()] == []


def paths_in(text: str) -> Iterator[str]:
    """Spans that name a file or a folder of the source tree, as `plans/execute.py`, `store/`, `errors.py`."""
    for span in re.findall(r"`([^`\s]+)`", prose(text)):
        first, slash, _ = span.partition("/")
        if (slash and first in OURS) or re.fullmatch(r"\w+\.py", span):
            yield span


def is_there(path: str, page: Path) -> bool:
    """The file or folder, and the test in it if one is named."""
    path, _, test = path.partition("::")
    places = (ROOT, ROOT / "src" / "ringi", page.parent)
    found = next((found for place in places for found in place.glob(path)), None)
    if found is None or not test:
        return found is not None
    return bool(re.search(rf"^ *def {re.escape(test)}\(", read(found), re.MULTILINE))


@by_name
def test_every_path_on_a_page_exists(page: Path):
    assert [path for path in paths_in(read(page)) if not is_there(path, page)] == []


@pytest.mark.parametrize(
    "path",
    [
        "plans/execute.py",
        "ledger/",
        "src/ringi/errors.py",
        "kernel/text.py",
        "tests/crash/",
        "tests/crash/test_kill.py::test_killed_at_every_event",
    ],
)
def test_a_path_that_exists_is_found(path: str):
    assert list(paths_in(f"See `{path}`.")) == [path]
    assert is_there(path, ARCHITECTURE)


@pytest.mark.parametrize(
    "path",
    [
        "plans/executing.py",
        "plans/nothing/",
        "tests/nothing/",
        "nothing.py",
        "tests/crash/test_kill.py::test_nothing",
    ],
)
def test_a_path_that_does_not_exist_is_missed(path: str):
    assert list(paths_in(f"See `{path}`.")) == [path]
    assert not is_there(path, ARCHITECTURE)


def test_every_decision_is_in_the_index():
    folder = ROOT / "docs" / "design"
    listed = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", read(folder / "README.md"))
    assert listed == sorted(path.name for path in folder.glob("[0-9]*.md"))


def test_every_decision_has_its_three_parts():
    pages = sorted((ROOT / "docs" / "design").glob("[0-9]*.md"))
    assert pages
    wanted = ["Decision", "Why", "Considered"]
    assert [page.name for page in pages if re.findall(r"^## (.*)$", read(page), re.MULTILINE) != wanted] == []


@both
def test_both_languages_have_the_same_shape(english: Path, japanese: Path):
    there, here = read(english), read(japanese)
    assert headings(here) == headings(there)
    assert blocks(here) == blocks(there)
    assert here.count("\n|") == there.count("\n|")


@both
def test_japanese_lines_end_with_sentences(english: Path, japanese: Path):
    """A line broken inside a Japanese sentence is shown with a gap in it."""
    lines = [line for line in prose(read(japanese)).splitlines() if re.search(r"[\u3040-\u30ff]", line)]
    broken = [line for line in lines if not line.startswith(("|", "#")) and not line.endswith(SENTENCE_ENDS)]
    assert broken == []
