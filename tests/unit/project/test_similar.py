"""Whether two requests ask for the same: paraphrases do, near misses never."""

import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ringi.project.similar import compare, meaning
from tests.tables import each

pytestmark = pytest.mark.req("PP-12")
SECTION = "Add an install section to README.md"
JAPANESE = "README.mdにインストールの節を追加して"


@each(
    ("one", "other"),
    [
        (SECTION, "add an install section to README.md"),
        (SECTION, "Please add an install section to README.md."),
        (SECTION, "Could you write a section about installation in README.md?"),
        (SECTION, "In README.md, add an installation section"),
        (SECTION, "I'd like you to create the install section in README.md, thanks!"),
        ("Fix the typos in docs/guide.md", "We need to correct the typo in docs/guide.md"),
        ("Delete the folder build", "remove the directory build"),
        (
            "Raise the timeout in config.py to 30 seconds",
            "Please raise the timeout in config.py to 30 seconds",
        ),
        (JAPANESE, "README.mdにインストール節を追加してください"),
        (JAPANESE, "README.mdにインストールの節を追記をお願いします"),
        ("タイムアウトを30秒に変更して", "タイムアウトを３０秒に変えてください"),
        ("誤字を直して", "誤字を修正してください"),
    ],
)
def test_the_same_said_differently(one: str, other: str):
    assert 0.5 < compare(one, other) <= 1
    assert compare(one, other) == compare(other, one)


@each(
    ("one", "other"),
    [
        (SECTION, "Do not add an install section to README.md"),
        (SECTION, "Don't add an install section to README.md"),
        (SECTION, "Don\u2019t add an install section to README.md"),
        (SECTION, "Never add an install section to README.md"),
        (SECTION, "Add no install section to README.md"),
        (SECTION, "Remove an install section from README.md"),
        (SECTION, "Remove the install section to README.md"),
        (SECTION, "Add an uninstall section to README.md"),
        (SECTION, "Add an install section to CONTRIBUTING.md"),
        (SECTION, "Add an install section to docs/README.md"),
        (SECTION, "Add an install section to readme.md"),
        (SECTION, "Add an install section to README.md and CONTRIBUTING.md"),
        (SECTION, "Add 2 install sections to README.md"),
        (SECTION, "Add two install sections to README.md"),
        (SECTION, "Add an install section for Windows to README.md"),
        (SECTION, "Add an install section to README.md if there is none"),
        (SECTION, "Add only an install section to README.md"),
        (SECTION, "Add everything but an install section to README.md"),
        ("Enable the cache", "Disable the cache"),
        ("Run lint before tests", "Run lint after tests"),
        ("Run lint before tests", "Run tests before lint"),
        ("Convert json to yaml", "Convert yaml to json"),
        ("Rename a.py to b.py", "Rename b.py to a.py"),
        ("Copy a.py to b.py", "Copy a.py from b.py"),
        ("Rename foo to bar", "Rename foo in bar"),
        ("Use tabs instead of spaces", "Use spaces instead of tabs"),
        ("Retry 3 times", "Retry 30 times"),
        ("Retry 3 times", "Retry -3 times"),
        ("Require python >= 3.11", "Require python <= 3.11"),
        ("Require python >= 3.11", "Require python >= 3.12"),
        ("Print `yes`", "Print `no`"),
        ('Print "a b"', 'Print "b a"'),
        ("Test parse_date", "Test parse_time"),
        ("Make it asynchronous", "Make it synchronous"),
        ("Allow all users", "Allow some users"),
        ("Sort ascending", "Sort descending"),
        ("Supprimer le fichier", "Ne pas supprimer le fichier"),
        ("Löschen", "Nicht löschen"),
        ("删除文件", "不删除文件"),
        (JAPANESE, "README.mdにインストールの節を追加しないで"),
        (JAPANESE, "README.mdにインストールの節を追加しないでください"),
        (JAPANESE, "README.mdにインストールの節を追加せずに"),
        (JAPANESE, "README.mdにインストールの節を追加するな"),
        (JAPANESE, "README.mdにインストールの節は追加禁止"),
        (JAPANESE, "README.mdにインストールの節だけを追加して"),
        (JAPANESE, "README.mdからインストールの節を削除して"),
        (JAPANESE, "README.md以外にインストールの節を追加して"),
        (JAPANESE, "CONTRIBUTING.mdにインストールの節を追加して"),
        (JAPANESE, "README.mdにアンインストールの節を追加して"),
        ("ログをつけて", "ログをはずして"),
        ("ログを有効にして", "ログを無効にして"),
        ("a.pyをb.pyに変更", "a.pyにb.pyを変更"),
        ("30秒に変更して", "60秒に変更して"),
        ("三回試す", "五回試す"),
        ("テストの前に実行", "テストの後に実行"),
        ("テストを消す", "テストを消さない"),
        ("", ""),
        ("please", "kindly"),
    ],
)
def test_a_near_miss_is_another_request(one: str, other: str):
    assert compare(one, other) == compare(other, one) == 0


# --- for whatever somebody writes

VERBS = st.sampled_from(
    ["Add", "Fix", "Remove", "Change", "Rename", "Show", "Test", "Raise", "Please update"]
)
THINGS = st.sampled_from(
    ["the timeout", "an install section", "tests", "the parser", "error messages", "a retry"]
)
FILES = st.from_regex(r"[a-z]{1,6}(/[a-z_]{1,6})?\.(py|md|toml)", fullmatch=True)
NUMBERS = st.integers(0, 10_000)
TAILS = st.sampled_from(["", " before the release", " in the whole project", " for new users", ", thanks"])


@st.composite
def tasks(draw: st.DrawFn) -> tuple[str, str, int]:
    """A request with its file and its number."""
    file, number = draw(FILES), draw(NUMBERS)
    form = draw(
        st.sampled_from(
            ["{v} {t} in {f} to {n}{e}", "In {f}, {v} {t} {n} times{e}", "{v} {n} of {t} in {f}{e}"]
        )
    )
    return form.format(v=draw(VERBS), t=draw(THINGS), f=file, n=number, e=draw(TAILS)), file, number


@given(tasks(), FILES)
def test_another_file_is_another_request(task: tuple[str, str, int], other: str):
    words, file, _ = task
    assume(file != other)
    assert compare(words, words.replace(file, other)) == 0
    assert compare(words, f"{words} and {other}") == 0


@given(tasks(), NUMBERS)
def test_another_number_is_another_request(task: tuple[str, str, int], other: int):
    words, _, number = task
    assume(number != other)
    assert compare(words, words.replace(f" {number}", f" {other}")) == 0


@given(
    tasks(),
    st.sampled_from(["not", "never", "no", "without", "don't", "unless", "except", "instead of"]),
    st.data(),
)
def test_a_negation_anywhere_is_another_request(
    task: tuple[str, str, int], negation: str, data: st.DataObject
):
    words = task[0].split(" ")
    at = data.draw(st.integers(0, len(words)))
    assert compare(task[0], " ".join([*words[:at], negation, *words[at:]])) == 0


@given(
    tasks(), st.sampled_from(["Please {}", "{}.", "Could you {}?", "{}, please", "  {}  ", "We need to {}"])
)
def test_politeness_changes_nothing(task: tuple[str, str, int], form: str):
    words = task[0]
    lowered = words[0].lower() + words[1:]
    assert compare(words, form.format(lowered)) > 0


@given(st.text(max_size=60), st.text(max_size=60))
def test_alike_means_the_same_words_whatever_they_are(one: str, other: str):
    found = compare(one, other)
    assert found == compare(other, one)
    assert 0 <= found <= 1
    assert (found > 0) == (bool(meaning(one)) and meaning(one) == meaning(other))


@given(
    st.text(
        st.sampled_from(
            "あいうえおかきくけこさしすせそたちつてとなにぬねのはまやらわをん追加削除変更無有"
            + string.ascii_letters
        ),
        min_size=1,
        max_size=20,
    )
)
def test_a_negation_in_japanese_is_another_request(words: str):
    for form in ("{}しないで", "{}しない", "{}せずに", "{}しません", "{}するな"):
        assert compare(f"{words}して", form.format(words)) == 0
