"""Which kind of change a request asks for, and what it already says."""

# ruff: noqa: E501  # one case a line reads best

import pytest

from ringi.sessions.playbook.book import Kind, Said
from ringi.sessions.playbook.instruction import read, things_said
from tests.tables import each

KINDS = {
    Kind.BUG: [
        "Fix the crash when the config file is empty",
        "URLField throws ValueError instead of ValidationError on clean",
        "the export button does nothing on Safari",
        "fix flaky test test_upload_retry",
        "XSS in comment rendering",
        "fix #1234",
        "Build fails on Windows",
        "Return codes are inconsistent",
        "'.[' replaced with '[' in the headline\n\n```\nAssertionError\n```\n",
        "Use of `rmtree` causes a DeprecationWarning",
        "Remove()ing a shared axis prevents the others from using their formatters",
        "Doc rendering is incorrect when a parameter has a dict type",
        "ValueError when collecting tests that patch an array",
        "[Bug]: zooming blocks input to widgets",
        "Totals\n\n```\nTraceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'a'\n```\n",
        "空のCSVを読み込むと落ちる不具合を修正",
        "画面がおかしい",
        "CIが落ちている",
        "`total` returns rows in another order\n\n```\n>>> total(a)\n```\n",
        "Fixed sums of subclasses",
        "total subtracts instead of adding",
        "Write compressed content if asked to\n\n**Describe the bug**\nThey are not compressed.",
    ],
    Kind.FEATURE: [
        "add a --json option to the list command",
        "Parser: Support a section of its own in a docstring",
        "Allow tests to be skipped by keyword",
        "Make PersonName iterable",
        "Add a check that fails when the file is missing",
        "fields.URL should allow relative-only validation",
        "Feature request: show units in dataset overview",
        "[RFE]: disable loggers from the command line",
        "the error message for a missing file should name the file",
        "change the default timeout from 30 to 60 seconds",
        "Disallow non-uppercase settings",
        "Raise an error when a name contains a dot",
        "ユーザー一覧に --json オプションを追加する",
        "エラーメッセージをわかりやすくして",
        "Give reports a width argument",
        "Keeping the order of columns for exports that do not touch them\n\n### Describe the workflow you want to enable\nI export.",
    ],
    Kind.DOCS: [
        "add an install section to README.md",
        "fix typo in the contributing guide",
        "document the retry behaviour",
        "[Doc]: julian2num and num2julian?",
        "DOC Improve what is said of rows that are not there",
        "Update the docs for the new flag",
        "READMEにインストール手順を追加して",
        "誤字を直して",
    ],
    Kind.TESTS: ["write unit tests for the tokenizer", "increase test coverage of storage", "tokenizer の単体テストを書いて"],
    Kind.REFACTOR: [
        "refactor the parser",
        "split cli.py into one module per command without changing the public API",
        "use pathlib instead of os.path",
        "Replace `cachedproperty` with `functools.cached_property`",
        "improve code quality",
        "add type hints to models.py",
        "parser.py をリファクタリングしたい",
    ],
    Kind.RENAME: ["rename Config.load to Config.from_file", "Config.load を Config.from_file にリネーム"],
    Kind.REMOVAL: [
        "remove the deprecated XML endpoint",
        "drop support for Python 3.8",
        "XMLのエンドポイントを廃止する",
        "使われていない関数を削除して",
    ],
    Kind.PERFORMANCE: [
        "cache the results of get_user; do not add new dependencies",
        "make it faster",
        "startup is slow",
        "The import takes 40 seconds for 10k rows, get it under 5 seconds",
        "APPEND_SLASH adds significant latency to all requests",
        "検索が遅いので速くして",
    ],
    Kind.DEPENDENCY: ["upgrade django to 5.1", "pin numpy below 2", "update dependencies", "Django を 5.1 にアップグレード"],
    Kind.BUILD: ["set up CI", "add a Dockerfile", "add a GitHub Actions workflow", "GitHub Actions でテストを実行するようにして"],
    Kind.RELEASE: ["release 2.4.0", "cut a new release", "バージョン 2.4.0 をリリースする"],
    Kind.DATA: [
        "add a column to the users table",
        "rename the user table column `name` to `full_name`",
        "delete users who have not logged in for two years",
        "migrate from MySQL to Postgres",
        "orders テーブルに created_at カラムを追加",
        "二年間ログインしていないユーザーを削除する",
    ],
    Kind.GENERAL: ["asdf", "", "?!", "hello", "`a.b`", "こんにちは"],
}  # fmt: skip
CASES = [(kind, text) for kind, texts in KINDS.items() for text in texts]


@pytest.mark.req("IP-3")
@each(("kind", "text"), CASES)
def test_the_kind_of_change(kind: Kind, text: str):
    assert read(text).kind is kind


@each("prefix", ["Please ", "can you ", "## ", "- [ ] ", "We should "])
def test_politeness_and_marks_change_nothing(prefix: str):
    assert read(prefix + "rename Config.load to Config.from_file").kind is Kind.RENAME


def test_the_text_behind_the_title_only_tells_a_fault_from_a_wish():
    assert read("Sums over orders\n\nDocs, tests and a release would be nice to remove.").kind is Kind.FEATURE
    assert read("Sums over orders\n\n## Steps to reproduce\nRead the docs, run the tests.").kind is Kind.BUG


@each(
    ("text", "said"),
    [
        ("It fails when the file is empty", Said.CASE),
        ("```\nx\n```", Said.CASE),
        ("It should print the name", Said.EXPECTED),
        ("under 5 seconds", Said.FIGURE),
        ("upgrade to 5.1", Said.VERSION),
        ("in src/a.py", Said.PLACE),
        ("nobody uses it", Said.UNUSED),
        ("開くと落ちる", Said.CASE),
        ("空の表を返すこと", Said.EXPECTED),
        ("`total(a, 2)` should give `4`", Said.CASE),
        ("--- a/report.py\n+++ b/report.py\n@@ -1 +1 @@\n-a\n+b\n", Said.CASE),
    ],
)
def test_what_a_text_says(text: str, said: Said):
    assert said in set(things_said(text))


def test_a_name_with_a_dot_is_no_file():
    assert Said.PLACE not in set(things_said("os.path and numpy.array, e.g. these"))


@each(
    ("text", "kept"),
    [
        ("Split cli.py without changing the public API, please", "without changing the public API"),
        ("Add search. Do not touch the database layer.", "Do not touch the database layer"),
        ("検索を追加。DBの層は触らないこと。", "DBの層は触らない"),
        ("Add search", ""),
        ("The parser leaves behind a file", ""),
    ],
)
def test_what_must_stay_is_read_in_the_words_of_the_request(text: str, kept: str):
    assert read(text).kept == kept


@each(
    ("section", "expected"),
    [
        ("### Expected behavior\nIt prints two lines.\n", "It prints two lines."),
        ("**Expected result:** it prints two lines\n", "it prints two lines"),
        ("### Expected behavior\n<!-- say what -->\n\nIt prints two lines.", "It prints two lines."),
        ("### Expected behavior\n```\n1 2\n```", ""),
        ("### Expected behavior\nThe following output:\n", ""),
        ("### Expected behavior\nI'm not sure what is right.\n", ""),
        ("### Expected behavior\n### Actual behavior\nnothing at all", ""),
        ("### Expected behavior\nIt should work!\n", ""),
    ],
)
def test_what_is_expected_is_read_from_its_section(section: str, expected: str):
    assert read(f"Sum is wrong\n\n{section}").expected == expected


@pytest.mark.req("PP-28")
@each(
    ("text", "goals"),
    [
        ("Please:\n- add login\n- add logout\n", ("add login", "add logout")),
        (
            "Reports\n\n- [ ] Add a total\n  per month\n- [ ] Remove the footer\n",
            ("Add a total", "Remove the footer"),
        ),
        ("お願いします\n- ログインを追加\n- ログアウトを実装", ("ログインを追加", "ログアウトを実装")),
        ("Add a total\n\n- add it\n", ()),
        ("Add a total\n\n- [x] Added a test\n- [ ] Yes, I would like to help\n", ()),
        ("Add a total\n\n<!--\n- add a title\n- add a text\n-->\n", ()),
        ("Add a total\n\n```\n- add a\n- add b\n```\n", ()),
        ("Add a total\n\n- Python: 3.12\n- Numpy : latest\n", ()),
        ("Add a total\n\nIt could be done in two ways:\n1. Add a method\n2. Extend `render`\n", ()),
        ("The total is wrong\n\n1. Create a report\n2. Add a row\n", ()),
        ("Add a total\n\nSteps to reproduce:\n1. Create a report\n2. Add a row\n", ()),
    ],
)
def test_a_list_of_things_to_do_is_several_goals_and_any_other_is_none(text: str, goals: tuple[str, ...]):
    assert read(text).goals == goals


def test_what_is_said_of_a_machine_is_not_read():
    text = "The total is wrong\n\n### System information\n`app.py` and `Report`\n\n### Notes\n`Basket` too\n"
    assert "Report" not in read(text).text
    assert "Basket" in read(text).text
