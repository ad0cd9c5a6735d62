"""Words that look like others: what is found, and what people of all languages write."""
# ruff: noqa: RUF001  # letters that look alike are what it is about

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.config import keys
from ringi.kernel.text import Text
from ringi.plans.effects import number_lines
from ringi.policy.findings import findings
from ringi.policy.risk import RiskFacts, assess
from ringi.policy.risk_level import Risk
from ringi.policy.scripts import _LIKE, strange_words
from ringi.policy.spec_kind import SpecKind
from tests.tables import each

pytestmark = pytest.mark.req("PT-7")

LIMITS = keys.RiskConfig(large_overwrite_lines=300, large_overwrite_bytes=65_536)
A, COPY, OS = "\u0430", "\u0441\u043e\u0440\u0443", "\u043es"  # in Cyrillic letters, but the last


def codes(text: str | bytes) -> list[str]:
    data = text.encode() if isinstance(text, str) else text
    return [str(reason.code) for reason in findings(tuple(number_lines(data)))]


@each(
    "text",
    [
        f"p{A}ssword = read()",
        f"def {COPY}(source): ...",  # all of it Cyrillic, and reads like copy
        f"copy(a); {COPY}(a)  # \u043f\u0440\u0438\u0432\u0435\u0442",  # although the line has Russian
        f"import {OS}",
        "K\u0395Y = 1",  # a Greek capital epsilon
        "\u0391\u0392 = 2",
        "\ua4d0\ua4ee = 1",
        "p\u0251ss = 1",
        "\uff45\uff56\uff41\uff4c(text)",  # Python runs this as eval
        "\U0001d41e\U0001d42f\U0001d41a\U0001d425(text)",
        "e\U0001d4cbal(text)",
        "\ufb01le = open(name)",
        f"\xff\xfe {COPY}(source)".encode("latin-1", "ignore") + f" p{A}ss".encode(),
    ],
)
def test_lookalikes_are_high(text: str | bytes):
    assert "lookalikes" in codes(text)


@each("text", ["\u0394t = 1", "test_\u0438\u043c\u044f", "\u03b2\u7248", "api\u0e02\u0e2d\u0e07"])
def test_alphabets_that_no_language_mixes_are_medium(text: str):
    assert codes(text) == ["mixed_scripts"]
    facts = RiskFacts(SpecKind.WRITE, "a.py", True, 1, 1, findings(number_lines(text.encode())))
    assert assess(facts, LIMITS)[0] is Risk.MEDIUM


@each(
    "text",
    [
        "Webサーバのtestを書く、APIキー、ー、々、ヶ、ﾊﾝｶｸ",
        "Ｗｅｂサーバ、ＡＰＩ",
        "한국어API 漢字와한글",
        "漢字ㄅㄆㄇabc",
        "naïve café Straße ÆØÅ ĳ ŀ yazılım ışık",
        "Привет, мир: а у нас все хорошо, с рос",
        "το και του σε με",
        "x = α + β * ρ; ℝ ℕ 𝑥 µs Å",
        "1º Mª x² xᵢ",
        "עברית و العربية हिन्दी ไทย",
    ],
)
def test_what_people_write(text: str):
    assert list(strange_words(text.encode())) == []


@given(
    st.text(string.ascii_letters, min_size=2, max_size=12),
    st.integers(0, 12),
    st.sampled_from([chr(code) for code in _LIKE]),
)
def test_one_lookalike_in_a_plain_word_is_always_found(word: str, at: int, letter: str):
    at %= len(word) + 1
    assert codes(f"{word[:at]}{letter}{word[at:]} = 1") == ["lookalikes"]


@given(st.lists(st.text("abcdefgh日本語のテスト한국", min_size=1, max_size=8), max_size=6).map(" ".join))
def test_latin_with_japanese_is_never_found(text: str):
    if not any("가" <= letter <= "힣" for letter in text):
        assert codes(text) == []


@given(st.binary(max_size=200))
def test_any_bytes_are_read(data: bytes):
    for kind, at in strange_words(data):
        assert isinstance(kind, Text)
        assert 0 <= at <= len(data)


def test_a_file_name_counts_too():
    facts = RiskFacts(SpecKind.WRITE, f"src/p{A}ss.py", False, 1, 1)
    risk, reasons = assess(facts, LIMITS)
    assert (risk, [(str(one.code), one.subject) for one in reasons]) == (
        Risk.HIGH,
        [("lookalikes", f"src/p{A}ss.py")],
    )
