"""Commands in shell blocks: plain words become argument vectors, and a real shell agrees with each."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.plans.document import SpecKind
from ringi.plans.extract.content import extract
from ringi.plans.extract.shell import Words
from tests.helpers import PATIENCE_SEC
from tests.tables import each

pytestmark = pytest.mark.req("PT-14")

NEEDS_SHELL = "it needs a shell; a run spec takes plain words"
CHANGED = "a line before it changes the shell that would run it"


def read(block: str, language: str = "sh") -> tuple[list[tuple[str, ...]], list[tuple[str, str]]]:
    found = extract(f"```{language}\n{block}\n```\n")
    assert all(spec.kind is SpecKind.RUN and not spec.path for spec in found.specs)
    return [spec.argv for spec in found.specs], [(item.text, item.why) for item in found.unplaced]


@each("language", ["sh", "bash", "shell", "zsh", "Bash"])
def test_each_line_is_a_command(language: str):
    block = "# first\nnpm install\n\n$(true)\n  make test  # then\n"
    assert read(block, language) == ([("npm", "install"), ("make", "test")], [("$(true)", NEEDS_SHELL)])


@each(
    ("line", "argv"),
    [
        ("pytest -q tests/unit", ("pytest", "-q", "tests/unit")),
        ("git commit -m 'one two'", ("git", "commit", "-m", "one two")),
        ('git commit -m "one \\"two\\" \\$3"', ("git", "commit", "-m", 'one "two" $3')),
        ('git commit -m "subject\n\nbody"', ("git", "commit", "-m", "subject\n\nbody")),
        ("pip install \\\n  a \\\n  b", ("pip", "install", "a", "b")),
        ("echo a\\ b '' \"\" c''d", ("echo", "a b", "", "", "cd")),
        ("git reset HEAD~1 stash@{0}", ("git", "reset", "HEAD~1", "stash@{0}")),
        ("grep '^a.*$' x", ("grep", "^a.*$", "x")),
        ("echo a#b 100% a=b", ("echo", "a#b", "100%", "a=b")),
        ("find . -name '*.py' -exec cat {} +", ("find", ".", "-name", "*.py", "-exec", "cat", "{}", "+")),
        ("$ make all", ("make", "all")),
        ("python -c 'import os\nprint(1)'", ("python", "-c", "import os\nprint(1)")),
        ("curl https://example.org/a", ("curl", "https://example.org/a")),
        ("mkdir 計画", ("mkdir", "計画")),
    ],
)
def test_plain_words(line: str, argv: tuple[str, ...]):
    assert read(line) == ([argv], [])


@each(
    "line",
    [
        *("a | b", "a && b", "a || b", "a; b", "a & ", "a > x", "a < x", "a 2>&1", "a >> x", "(a)"),
        *("a `b`", "a $(b)", "a $B", "a ${B}", 'a "$B"', 'a "`b`"', "a $'b'", 'a "${B}"', "a $?", "a $1"),
        *("a *", "a b?", "a [bc]", "a ~", "a ~/b", "a --b=~/c", "a {b,c}", "a {1..3}", "a <(b)", "! a"),
        *("A=1 b", "A=1", "A+=1 b", "cd b", "export A=1", "source b", ". b", "set -e", "exit 1", "[[ a ]]"),
        *("if a; then b; fi", "for a in b; do c; done", "while a; do b; done", "eval a", "alias a=b"),
        *(
            "a $\\\nB",
            'a "$\\\nB"',
            "f() { a; }",
            "function f { a; }",
            "{ a; }",
            "a <<< b",
            "exec a",
            "read a",
            "then",
            "wait",
        ),
    ],
)
def test_what_needs_a_shell_is_listed(line: str):
    assert read(line) == ([], [(line.partition("\n")[0].strip(), NEEDS_SHELL)])


@each(
    ("block", "shown"),
    [
        ("for x in 1 2; do\n  rm -f y\ndone", "for x in 1 2; do"),
        ("for x in 1 2\ndo\n  if a; then\n    b\n  fi\ndone", "for x in 1 2"),
        ("if a\nthen\n  b\nelse\n  c\nfi", "if a"),
        ("case x in\n  a) rm b ;;\nesac", "case x in"),
        ("f() {\n  rm b\n}", "f() {"),
        ("f ()\n{\n  rm b\n}", "f ()"),
        ("function f {\n  rm b\n}", "function f {"),
        ("cat <<EOF\nrm a\nEOF", "cat <<EOF"),
        ("cat > x <<-'END'\nrm a\n\tEND", "cat > x <<-'END'"),
        ("a <<A <<B\nrm 1\nA\nrm 2\nB", "a <<A <<B"),
        ("a &&\n  rm b", "a &&"),
        ("a |\n  rm", "a |"),
        ("X=$(\n  rm b\n)", "X=$("),
        ("(\n  rm b\n)", "("),
        ("a \\\n  | rm b", "a \\"),
        ("a | awk '{\n rm b\n}'", "a | awk '{"),
    ],
)
def test_no_part_of_a_statement_is_a_command(block: str, shown: str):
    assert read(f"make\n{block}\nmake again") == (
        [("make",)] if shown == "X=$(" else [("make",), ("make", "again")],
        [(shown, NEEDS_SHELL), *([("make again", CHANGED)] if shown == "X=$(" else [])],
    )


@each("block", ["for x in 1; do\n  rm b", "if a; then\n  rm b", "cat <<EOF\nrm a", "f() {\nrm a"])
def test_a_statement_without_end_takes_the_rest(block: str):
    assert read(block) == ([], [(block.partition("\n")[0], NEEDS_SHELL)])


@each("block", ["echo 'a\nrm b", 'echo "a\nrm b', "make \\"])
def test_a_statement_that_is_never_ended(block: str):
    why = "it is never ended: a quote or the next line is missing"
    assert read(block) == ([], [(block.partition("\n")[0], why)])


@each("first", ["cd app", "export A=1", "A=1", "source .venv/bin/activate", "mkdir x && cd x", "pushd a"])
def test_commands_after_a_changed_shell_are_listed(first: str):
    found = extract(f"```sh\nmake\n{first}\nnpm ci\n```\nThen:\n```sh\nnpm test\n```\n")
    assert [spec.argv for spec in found.specs] == [("make",)]
    assert [(item.line, item.why) for item in found.unplaced] == [
        (3, NEEDS_SHELL),
        (4, CHANGED),
        (8, CHANGED),
    ]


def test_console_output_is_no_command():
    block = "$ make \\\n>   all\nrm -rf x\nuser@host:~/x$ ls\n# rm y\n$ # nothing\n$ a | b"
    assert read(block, "console") == ([("make", "all"), ("ls",)], [("$ a | b", NEEDS_SHELL)])
    assert read("make", "console") == ([], [("```console", "none of its lines begins with a prompt")])


def test_output_between_prompts_is_listed():
    why = "it has no prompt and other lines of the block have one"
    assert read("$ make\nrm x\n# note\n$ ls\n3 passed") == (
        [("make",), ("ls",)],
        [("rm x", why), ("3 passed", why)],
    )


@each("above", ["Then run the tests in `tests/test_a.py`:", "Use `pytest`:", "## Test", ""])
def test_sentences_above_do_not_make_commands_files(above: str):
    found = extract(f"{above}\n\n```bash\npytest tests/test_a.py\n```\n")
    assert [spec.argv for spec in found.specs] == [("pytest", "tests/test_a.py")]


SHELL_TEXT = st.text(st.sampled_from("ab \t'\"\\$`~#=:{},.*?[]!-_1\n計é%^+@/"), max_size=25)


@settings(max_examples=300, deadline=None)
@given(line=SHELL_TEXT)
def test_a_shell_reads_the_same_words(tmp_path_factory: pytest.TempPathFactory, line: str):
    words = Words()
    for at, part in enumerate(line.split("\n")):
        if at and not words.open:
            return  # a second statement
        words.feed(part)
    if words.open or words.shell or not words.words:
        return
    script = f"printf '%s\\0' x {line}"
    where: Path = tmp_path_factory.getbasetemp()
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, cwd=where, check=True, timeout=PATIENCE_SEC
    )
    assert done.stdout.decode().split("\0")[1:-1] == words.words
