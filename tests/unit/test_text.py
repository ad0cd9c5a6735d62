"""The one filter for text from outside, and sentences that are translated late."""

import ast
import json
import string
import sys
import unicodedata
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import ringi
from ringi.kernel.text import Text, deceiving, escape_json, is_mark, visible
from tests.tables import each

HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"}
ESCAPES = [
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x1b]8;;http://x\x1b\\",
    "\x9b31m",
    "\r\x1b[K",
    "\x08\x08",
    "\x1bP$q\x1b\\",
    "\x1b[?1049h",
    "\x7f",
    "\x0e",
]
BIDI = [chr(c) for c in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))]


def test_every_code_point():
    """Hidden ones are written out, all others stay; nothing in the answer can hide."""
    wrong = []
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        shown = visible(character)
        category = unicodedata.category(character)
        if category in HIDDEN and character != "\t":
            good = shown.isascii() and shown.isprintable() and shown.startswith("\\")
        else:
            good = shown == character or (shown.isascii() and shown.startswith("\\"))
        if not good:
            wrong.append(hex(number))
    assert wrong == []


@each(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("", ""),
        ("日本語 é ñ", "日本語 é ñ"),
        ("a\tb", "a\tb"),
        ("a\nb\r\n", "a\\nb\\r\\n"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb", "a\\u200bb"),
        ("\udcff", "\\xff"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("\u2800\u3164\uffa0", "\\u2800\\u3164\\uffa0"),
        ("\ufe0f", "\\ufe0f"),
        ("\u2028", "\\u2028"),
        ("\ue000", "\\ue000"),
    ],
)
def test_table(text: str, shown: str):
    assert visible(text) == shown


@each("escape", ESCAPES)
def test_terminal_escapes_lose_their_power(escape: str):
    shown = visible(f"before{escape}after", keep="\t\n")
    assert shown.isprintable()
    assert "\x1b" not in shown
    assert shown.startswith("before\\")


@each("mark", BIDI)
def test_marks_that_turn_the_direction_are_written_out(mark: str):
    assert visible(f"a{mark}b") == f"a\\u{ord(mark):04x}b"


@given(st.text(), st.sampled_from(["", "\t", "\t\n"]))
def test_nothing_deceiving_is_left(text: str, keep: str):
    shown = visible(text, keep=keep)
    assert not [character for character in shown if deceiving(character) and character not in keep]


@given(st.text())
def test_showing_twice_changes_nothing(text: str):
    assert visible(visible(text)) == visible(text)


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_letters_of_all_languages_stay(text: str):
    hidden = [character for character in text if deceiving(character)]
    assert hidden or visible(text) == text


@given(st.binary())
def test_bytes_that_are_no_text_can_be_read_off(data: bytes):
    shown = visible(data.decode("utf-8", "surrogateescape"))
    assert shown.encode().decode() == shown


def test_kept_characters_stay():
    assert visible("a\nb\r", keep="\n") == "a\nb\\r"


def test_text_is_english_until_it_is_shown():
    text = Text("{count} of {what}", count=2, what=Text("all {n}", n=3))
    assert str(text) == "2 of all 3"
    assert text == Text("{count} of {what}", count=2, what=Text("all {n}", n=3))
    assert text != Text("{count} of {what}", count=2, what="all 3")
    assert len({text, Text("{count} of {what}", count=2, what=Text("all {n}", n=3))}) == 1
    assert "2 of all 3" in repr(text)


def test_every_text_is_made_with_what_it_names():
    wrong, count = [], 0
    for path in sorted(Path(ringi.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="Text"), args=[ast.Constant(value=str(template))]):
                    count += 1
                    named = {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}
                    given_ = {keyword.arg for keyword in node.keywords}
                    if named != given_ and None not in given_:
                        wrong.append(f"{path.name}:{node.lineno}: {template}")
    assert wrong == []
    assert count > 100


MARK = "\u0301"


@each(
    ("text", "shown"),
    [
        (f"e{MARK}", f"e{MARK}"),
        (f"e{MARK * 4}x", f"e{MARK * 4}x"),
        (f"e{MARK * 6}x", f"e{MARK * 4}\\u0301\\u0301x"),
        (f"{MARK}x", "\\u0301x"),  # it would change the sign of a diff's line
        (f"\t{MARK}x", "\t\\u0301x"),
        (f"\x1b{MARK}x", "\\x1b\\u0301x"),
        ("हिन्दी ภาษาไทย tiếng Việt", "हिन्दी ภาษาไทย tiếng Việt"),
    ],
)
def test_a_long_run_of_marks_is_written_out(text: str, shown: str):
    assert visible(text) == shown


@given(st.text(st.sampled_from("ae\t\x1b\u0301\u0338\u20dd日"), max_size=40))
def test_no_mark_stands_alone_and_no_run_is_long(text: str):
    shown = visible(text)
    assert visible(shown) == shown
    marks = 4
    for character in shown:
        marks = marks + 1 if is_mark(character) else 4 if character == "\t" else 0
        assert marks <= 4


@given(
    st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=9)
)
def test_an_escaped_document_says_the_same_and_hides_nothing(value: object):
    text = json.dumps(value, ensure_ascii=False, indent=2)
    shown = escape_json(text)
    assert json.loads(shown) == value
    assert not any(deceiving(character) for character in shown.replace("\n", ""))


@each("sign", ["\x7f", "\x9b", "\x85", "\u202e", "\u2066", "\u200b", "\ufeff", "\U000e0041"])
def test_no_program_prints_such_a_sign_from_a_document(sign: str):
    assert escape_json(json.dumps(sign, ensure_ascii=False)).isascii()
