import gc
import re
from collections.abc import Generator, Iterator

from hypothesis import given
from hypothesis import strategies as st
from pygments.lexers import PythonLexer

from ringi.cli.screen.cells import STYLES, Pieces
from ringi.cli.screen.highlight import HighlightLimits, highlight, highlighting, highlighting_by, plain
from ringi.kernel.text import visible
from tests.tables import each

SOURCE = '# why\nclass A:\n\tdef f(self, n=1):\n\t\treturn "x" if n else None\n'


def text_of(line: Pieces) -> str:
    return "".join(span.text for span in line)


def test_python():
    lines = highlight("a/b.py", SOURCE)
    assert lines is not None
    assert len(lines) == 5
    styles = {span.text.strip(): span.style for line in lines for span in line}
    expected = {
        "# why": "comment",
        "class": "keyword",
        "A": "type",
        "f": "function",
        "1": "number",
        '"x"': "string",
    }
    assert expected.items() <= styles.items()
    assert text_of(lines[3]) == '        return "x" if n else None'


@each(
    "path",
    [
        "x.rs",
        "x.md",
        "Makefile",
        "Dockerfile",
        "x.sql",
        "x.h",
        "x.tsx",
        "x.yaml",
        "X.JSON",
        "x.tar.toml",
        "x.html",
    ],
)
def test_a_language_is_found_by_name(path: str):
    assert highlight(path, "a = 1\n") is not None


@each("path", ["x.unknown", "", "noending", ".", "x.", "py"])
def test_no_lexer(path: str):
    assert highlight(path, "a = 1\n") is None


def test_too_large():
    assert highlight("x.py", "x = 1\n" * 40_000) is None
    assert highlight("x.py", "x" * 3000) is None


@given(st.text(max_size=60), st.sampled_from(["x.py", "x.html", "x.js", "x.md", "x.c", "x.sh", "x.json"]))
def test_nothing_is_hidden_or_added(text: str, path: str):
    """Whatever the text: line by line it is the one that is shown without colours."""
    lines = highlight(path, text)
    if lines is not None:
        assert [text_of(line) for line in lines] == [text_of(plain(line)) for line in text.split("\n")]
        assert all(name in STYLES for line in lines for span in line for name in span.style.split())


def test_escapes_and_bidirectional_marks_are_seen():
    [line, _] = highlight("x.py", "x = 'a\x1b[2J\u202eb'\r\n") or []
    assert text_of(line) == r"x = 'a\x1b[2J\u202eb'" + r"\r"
    assert text_of(plain("\ta\x07")) == r"    a\x07"


def test_tabs_reach_the_next_stop():
    assert text_of(plain("a\tb")) == "a   b"
    assert text_of(plain("稟\tb\t")) == "稟  b   "
    assert visible("\t") == "\t"


def ended(steps: Generator[None, None, list[Pieces] | None]) -> list[Pieces] | None:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


class _Lexer:
    def __init__(self, pieces: list[str], fault: BaseException | None = None) -> None:
        self.pieces, self.fault = pieces, fault

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, str, str]]:
        for piece in self.pieces:
            yield 0, "Token.Name", piece
        if self.fault:
            raise self.fault


@each(
    "lexer",
    [
        _Lexer(["a"]),
        _Lexer(["ab", "ab"]),
        _Lexer(["b", "a"]),
        _Lexer(["ab"], RecursionError()),
        _Lexer(["ab"], KeyError("state")),
        _Lexer(["ab"], re.error("bad")),
    ],
)
def test_a_lexer_that_lies_or_fails_colours_nothing(lexer: _Lexer):
    assert ended(highlighting_by(lexer, "ab")) is None


def test_a_text_that_keeps_a_lexer_busy_is_left_alone():
    class Slow(_Lexer):
        def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, str, str]]:
            re.match(r"(a|aa)+$", "a" * 60 + "b")
            yield 0, "Token.Name", text

    assert ended(highlighting_by(Slow([]), "ab", HighlightLimits(most_sec=0.1))) is None


def test_the_collector_cannot_swallow_the_end_of_the_time():
    """What its callbacks raise is lost; it works again afterwards."""
    seen = []

    class Looking(_Lexer):
        def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, str, str]]:
            seen.append(gc.isenabled())
            yield 0, "Token.Name", text

    assert gc.isenabled()
    assert ended(highlighting_by(Looking([]), "ab")) is not None
    assert (seen, gc.isenabled()) == ([False], True)


def test_a_little_at_a_time():
    text = "a = 1\n" * 10
    limits = HighlightLimits(step_sec=0.0)
    assert len(list(highlighting_by(PythonLexer(), text, limits))) > 20
    assert ended(highlighting_by(PythonLexer(), text, limits)) == ended(highlighting("x.py", text))
    assert highlight("x.py", text) is not None
    assert ended(highlighting_by(PythonLexer(), text, HighlightLimits(5, step_sec=0.0))) is None
