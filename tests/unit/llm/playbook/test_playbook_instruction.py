"""What is read from an instruction: its gist, the places it names, its limits, the kind of change."""

# ruff: noqa: E501  # one case a line reads best

from typing import Any

import pytest

from ringi.domain.session import Brief
from ringi.llm.playbook.book import Kind, Said
from ringi.llm.playbook.instruction import read


def brief(text: str, language: Any) -> Brief:
    return Brief(instruction=text, language=language)


@pytest.mark.parametrize(
    ("language", "text", "subject", "thing"),
    [
        ("en", "Please add a --json option to the report command.", "add a --json option to the report command", "--json option"),
        ("en", "# Rate limiting\n\nWe need it.", "Rate limiting", "Rate limiting"),
        ("en", "- [ ] Make the export faster", "Make the export faster", "export"),
        ("en", "```\ncode\n```\nFix the menu", "Fix the menu", "menu"),
        ("en", "Add “quotes” to it", "Add “quotes” to it", "quotes"),
        ("ja", "ログイン画面に二要素認証を追加してください。", "ログイン画面に二要素認証を追加", "二要素認証"),
        ("en", "Make the notifications support both Slack and email", "Make the notifications support both Slack and email", "Slack and email"),
        ("en", "Translate the UI to Japanese", "Translate the UI to Japanese", "UI"),
        ("ja", "ユーザー一覧をCSVでダウンロードできるようにする", "ユーザー一覧をCSVでダウンロードできるようにする", "ユーザー一覧をCSVでダウンロード"),
        ("ja", "通知機能をSlackとメールの両方に対応させたい", "通知機能をSlackとメールの両方に対応", "通知機能をSlackとメールの両方に対応"),
        ("ja", "ログインが遅い", "ログインが遅い", "ログイン"),
        ("ja", "表示崩れを直して", "表示崩れを直して", "表示崩れ"),
    ],
)  # fmt: skip
def test_what_it_is_about(language: Any, text: str, subject: str, thing: str):
    about = read(brief(text, language)).gist
    assert (about.sentence, about.thing) == (subject, thing)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("change src/a/b.py and parse_rows()", ("src/a/b.py", "parse_rows()")),
        ("see `UserService.load` in app/models", ("UserService.load", "app/models")),
        ("input/output and CI/CD and 1/2 and Node.js, e.g. v2.0", ()),
        ("https://example.org/src/a.py", ()),
        ("config.tomlを変更し、srcは触らない", ("config.toml",)),
        ("the README is wrong", ("README",)),
    ],
)
def test_places_that_are_named(text: str, places: tuple[str, ...]):
    assert read(brief(text, "en")).places == places


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("it fails only when the list is empty", set()),
        ("a read-only mode", set()),
        ("できるだけ簡単に", set()),
        ("change only the parser", {Said.LIMIT}),
        ("パーサーだけ変更", {Said.LIMIT}),
    ],
)
def test_limits_are_told_from_what_looks_like_one(text: str, said: set[Said]):
    assert read(brief(text, "en")).said & {Said.LIMIT} == said


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("We need to support S3 as a storage backend", Kind.FEATURE),
        ("Improve error messages of the CLI", Kind.GENERAL),
        ("Log every failed login attempt", Kind.FEATURE),
        ("Add a delete button", Kind.FEATURE),
        ("Fix the memory leak in the worker", Kind.BUG),
        ("一覧画面の表示を2秒以内にしたい", Kind.PERFORMANCE),
        ("Add exception handling for KeyError", Kind.FEATURE),
        ("Tests in CI fail randomly", Kind.BUG),
        ("Make timeouts configurable", Kind.FEATURE),
        ("Get rid of the global state in config.py", Kind.REFACTOR),
        ("Replace requests with httpx", Kind.REFACTOR),
        ("Fix the typo in the docs", Kind.DOCS),
        ("古いAPIを廃止", Kind.REMOVAL),
        ("削除ボタンを追加する", Kind.FEATURE),
        ("CIのテストが時々失敗するので調査してほしい", Kind.BUG),
        ("ログイン失敗をすべてログに記録する", Kind.FEATURE),
        ("テストの実行時間を短縮したい", Kind.PERFORMANCE),
        ("CLIのエラーメッセージを分かりやすくする", Kind.GENERAL),
        ("requestsをhttpxに置き換える", Kind.REFACTOR),
    ],
)
def test_the_verb_says_what_kind_of_work_it_is(text: str, kind: Kind):
    assert read(brief(text, "en" if text.isascii() else "ja")).main is kind
