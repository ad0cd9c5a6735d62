"""What is asked about realistic instructions, and what is not because they say it."""

# ruff: noqa: E501  # one case a line reads best

import re
from typing import Any, NamedTuple

import pytest

from ringi.domain.context import ProjectFacts
from ringi.domain.session import Brief, QuestionType
from ringi.llm.playbook.book import Kind, book
from ringi.llm.playbook.instruction import read
from ringi.llm.playbook.questions import questions

PROJECT = ProjectFacts(
    languages=("Python",),
    manifests=("pyproject.toml",),
    tests=("tests/",),
    entries=("src", "tests", "README.md", "pyproject.toml"),
)
THOROUGH = (
    "Fix the crash in `src/report.py` when the input file is empty: it should print 'no data' and exit 0. "
    "Only change parse_rows(), keep the output backward compatible, and add a unit test. Needed by Friday."
)
THOROUGH_JA = (
    "src/report.py の parse_rows() だけを修正してください。空のファイルを渡すとKeyErrorで落ちますが、"
    "「データなし」と表示して終了コード0を返すべきです。出力の互換性は保ち、単体テストも追加。今週中にお願いします。"
)


class Case(NamedTuple):
    text: str
    kind: Kind
    asked: str = ""
    """Keys that must be asked, with spaces between."""
    not_asked: str = ""
    at_most: int = 5


def brief(text: str, language: Any, project: ProjectFacts = PROJECT) -> Brief:
    return Brief(instruction=text, language=language, project=project)


def asked_keys(given: Brief) -> set[str]:
    """By the beginning and end of a question, its own words left open."""
    found = set()
    for question in questions(given).questions:
        for entry in book(given.language).questions():
            pattern = re.sub(r"\\\{\w+\\\}", ".*", re.escape(entry.question))
            if re.fullmatch(pattern, question.question) and len(entry.answers) == len(question.options):
                found.add(entry.key)
    return found


ENGLISH = [
    Case("Add a --json option to the report command", Kind.FEATURE, "feature.example feature.ground"),
    Case("Add user authentication", Kind.FEATURE, "feature.example security.ground security.keep"),
    Case("Implement CSV import in src/importer.py", Kind.FEATURE, "feature.example", "feature.ground"),
    Case("Allow exporting reports; no new dependencies", Kind.FEATURE, "", "feature.keep feature.ground"),
    Case("Add an undo command so that a user can take back the last step", Kind.FEATURE, "", "feature.example"),
    Case("fix bug", Kind.BUG, "bug.reproduction bug.extent bug.since bug.notice bug.first"),
    Case("Fix the crash when the input file is empty", Kind.BUG, "bug.expected", "bug.reproduction"),
    Case("Users report a KeyError: 'id' when they open an old project", Kind.BUG, "bug.expected", "bug.reproduction"),
    Case(THOROUGH, Kind.BUG, at_most=0),
    Case("Refactor the parser module", Kind.REFACTOR, "refactor.aim refactor.net refactor.names"),
    Case("Split src/app.py into smaller modules without changing behaviour", Kind.REFACTOR, "refactor.net", "refactor.extent"),
    Case("Migrate from unittest to pytest", Kind.REFACTOR, "refactor.aim", "refactor.net"),
    Case("Make the nightly export faster", Kind.PERFORMANCE, "performance.figure performance.where"),
    Case("The dashboard takes 8s to load, it must be under 2s", Kind.PERFORMANCE, "performance.where", "performance.figure"),
    Case("Add tests for the billing calculations", Kind.TESTS, "tests.behaviour tests.level"),
    Case("Write unit tests for src/billing.py", Kind.TESTS, "tests.behaviour", "tests.level tests.first"),
    Case("Update the README with installation steps", Kind.DOCS, "docs.reader", "docs.extent"),
    Case("Document the plugin interface for new users", Kind.DOCS, "docs.extent", "docs.reader"),
    Case("Upgrade Django to 5.0", Kind.DEPENDENCY, "dependency.reason dependency.oldest", "dependency.target"),
    Case("Bump requests because of CVE-2024-1234", Kind.DEPENDENCY, "dependency.target", "dependency.reason"),
    Case("Set up GitHub Actions to run the linters on every pull request", Kind.BUILD, "build.keep", "build.event build.ground build.checks"),
    Case("Remove the legacy XML endpoint", Kind.REMOVAL, "removal.users removal.grace"),
    Case("Delete unused code", Kind.REMOVAL, "removal.extent", "removal.users removal.grace removal.instead"),
    Case("SQL injection in the search form", Kind.SECURITY, "security.extent security.urgency", "security.threat"),
    Case("Add a phone number column to the users table", Kind.MIGRATION, "migration.shapes migration.amount", "migration.grace"),
    Case("Change the schema of the orders table", Kind.MIGRATION, "migration.readers migration.grace"),
    Case("Add dark mode to the settings page", Kind.UI, "ui.story ui.keep"),
    Case("Rename the function foo to bar in src/app.py", Kind.RENAME, "rename.users rename.found rename.grace"),
    Case("Rename the column name to title in the users table", Kind.MIGRATION, "migration.readers"),
    Case("Delete all users who have not logged in for two years", Kind.PURGE, "purge.which purge.attached purge.amount purge.duty"),
    Case("Set up CI with GitHub Actions", Kind.BUILD, "build.event build.checks", "build.ground build.where"),
    Case("Make the search endpoint faster; it takes 4 seconds", Kind.PERFORMANCE, "performance.target performance.enough", "performance.figure"),
    Case("Bring the search down to 200 ms, it is slow", Kind.PERFORMANCE, "", "performance.target performance.figure performance.enough"),
    Case("Bump version to 2.0 and tag a release", Kind.RELEASE, "release.content release.places release.way"),
    Case("Encrypt customer data at rest", Kind.ENCRYPTION, "encryption.threat encryption.data encryption.keys encryption.use"),
    Case("Encrypt the traffic to the database with TLS", Kind.SECURITY),
    Case("Translate the UI to Japanese", Kind.GENERAL, "general.outcome"),
    Case("Add a login", Kind.FEATURE, "feature.example security.ground security.keep"),
    Case("Implement a login with OAuth", Kind.FEATURE, "security.ground security.keep"),
    Case("Add a login with tokens", Kind.FEATURE, "feature.example security.ground security.keep"),
    Case("The login page is broken", Kind.BUG, "bug.reproduction bug.since", "security.ground"),
    Case("Make the notifications support both Slack and email", Kind.FEATURE, "feature.present", "feature.ground"),
    Case("Use structured logging", Kind.MIGRATION, "migration.shapes migration.readers migration.grace", "migration.amount"),
    Case("Add CSV export; the API must not change", Kind.FEATURE, "feature.example", "feature.keep"),
    Case("Please can you improve things", Kind.GENERAL, "general.outcome general.extent general.ground"),
]  # fmt: skip
JAPANESE = [
    Case("レポートコマンドに --json オプションを追加する", Kind.FEATURE, "feature.example feature.ground"),
    Case("ユーザー認証機能を追加", Kind.FEATURE, "feature.example security.ground security.keep"),
    Case("src/importer.py にCSVの取り込みを実装", Kind.FEATURE, "feature.example", "feature.ground"),
    Case("レポートの出力に対応。依存を増やさないこと", Kind.FEATURE, "", "feature.keep feature.ground"),
    Case("JSON出力を追加し、テストも追加する", Kind.FEATURE, "feature.example"),
    Case("バグを直して", Kind.BUG, "bug.reproduction bug.extent bug.since bug.notice bug.first"),
    Case("空のCSVを読み込むと落ちる不具合を修正してください", Kind.BUG, "bug.expected", "bug.reproduction"),
    Case("古いプロジェクトを開くと KeyError: 'id' が出る", Kind.BUG, "bug.expected", "bug.reproduction"),
    Case("ログイン画面で、パスワードを間違えると500エラーになるので直して", Kind.BUG, "bug.expected"),
    Case(THOROUGH_JA, Kind.BUG, at_most=0),
    Case("パーサーをリファクタリングしたい", Kind.REFACTOR, "refactor.aim refactor.net refactor.names"),
    Case("関数名を統一してリネーム。既存の動作は変えない", Kind.RENAME, "rename.users rename.found rename.reach", "rename.grace"),
    Case("unittestからpytestへ移行したい", Kind.REFACTOR, "refactor.aim", "refactor.net"),
    Case("夜間バッチが遅いので速くしてほしい", Kind.PERFORMANCE, "performance.figure performance.where"),
    Case("検索が重いので高速化。現在3秒、目標500ms。", Kind.PERFORMANCE, "performance.where", "performance.figure"),
    Case("請求計算のテストを追加してください", Kind.TESTS, "tests.behaviour tests.level"),
    Case("src/billing.py の単体テストを書く", Kind.TESTS, "tests.behaviour", "tests.level tests.first"),
    Case("READMEにインストール手順を書く", Kind.DOCS, "docs.reader", "docs.extent"),
    Case("プラグインのドキュメントを初心者向けに書き直す", Kind.DOCS, "docs.extent", "docs.reader"),
    Case("Djangoを5.0に上げる", Kind.DEPENDENCY, "dependency.reason dependency.oldest", "dependency.target"),
    Case("脆弱性があるので依存ライブラリをアップグレード", Kind.DEPENDENCY, "dependency.target", "dependency.reason"),
    Case("プルリクエストごとにCIでlintを実行する", Kind.BUILD, "build.ground", "build.event build.where"),
    Case("XMLのエンドポイントを廃止する", Kind.REMOVAL, "removal.users removal.grace"),
    Case("使われていないXMLエンドポイントを削除", Kind.REMOVAL, "removal.extent", "removal.users removal.grace"),
    Case("ログにパスワードが漏えいしている", Kind.SECURITY, "security.extent security.urgency", "security.threat"),
    Case("usersテーブルに電話番号のカラムを追加", Kind.MIGRATION, "migration.shapes migration.amount", "migration.grace"),
    Case("注文テーブルのスキーマを変更する", Kind.MIGRATION, "migration.readers migration.grace"),
    Case("設定画面にダークモードのボタンを追加", Kind.UI, "ui.story ui.keep"),
    Case("関数 foo を bar にリネームする", Kind.RENAME, "rename.users rename.found rename.grace"),
    Case("usersテーブルのカラム名をリネームする", Kind.MIGRATION, "migration.readers"),
    Case("2年間ログインしていないユーザーを削除する", Kind.PURGE, "purge.which purge.attached purge.amount purge.duty"),
    Case("GitHub ActionsでCIを導入したい", Kind.BUILD, "build.event build.checks", "build.ground build.where"),
    Case("検索APIを速くしたい。今は4秒かかる", Kind.PERFORMANCE, "performance.target performance.enough", "performance.figure"),
    Case("検索に4秒かかるので1秒以内に速くする", Kind.PERFORMANCE, "", "performance.target performance.figure performance.enough"),
    Case("バージョンを2.0に上げてリリースタグを打つ", Kind.RELEASE, "release.content release.places release.way"),
    Case("顧客データを保存時に暗号化する", Kind.ENCRYPTION, "encryption.threat encryption.data encryption.keys encryption.use"),
    Case("画面を日本語化する", Kind.GENERAL, "general.outcome"),
    Case("ログイン機能を追加", Kind.FEATURE, "feature.example security.ground security.keep"),
    Case("通知機能をSlackとメールの両方に対応させたい", Kind.FEATURE, "feature.present", "feature.ground"),
    Case("ログ出力を構造化ログにする", Kind.MIGRATION, "migration.shapes migration.readers migration.grace", "migration.amount"),
    Case("ユーザー一覧をCSVでダウンロードできるようにする。既存のAPIは変えない", Kind.FEATURE, "feature.example", "feature.keep"),
    Case("いい感じにして", Kind.GENERAL, "general.outcome general.extent general.ground"),
]  # fmt: skip
CASES = [*(("en", case) for case in ENGLISH), *(("ja", case) for case in JAPANESE)]


@pytest.mark.req("IP-3")
@pytest.mark.parametrize(("language", "case"), CASES, ids=[case.text[:50] for _, case in CASES])
def test_what_is_asked(language: Any, case: Case):
    given = brief(case.text, language)
    keys = asked_keys(given)
    assert read(given).main is case.kind
    assert set(case.asked.split()) <= keys
    assert not set(case.not_asked.split()) & keys
    assert len(questions(given).questions) <= case.at_most


@pytest.mark.req("IP-3")
@pytest.mark.parametrize(
    ("language", "text"),
    [
        *(("en", text) for text in ("fix bug", "improve things", "Remove the cache", "add search")),
        *(("ja", text) for text in ("バグを直して", "いい感じにして", "検索を追加", "速くして")),
    ],
)
def test_vague_instructions_get_all_five_types(language: Any, text: str):
    asked = questions(brief(text, language)).questions
    assert {question.type for question in asked} == set(QuestionType)


@pytest.mark.parametrize(("language", "case"), CASES, ids=[case.text[:50] for _, case in CASES])
def test_questions_speak_of_the_instruction(language: Any, case: Case):
    given = brief(case.text, language)
    about = read(given).gist
    asked = questions(given).questions
    texts = " ".join(question.question for question in asked)
    needed = {
        "docs",
        "dependency",
        "security",
        "build",
        "removal",
        "release",
    }  # some of them ask only about consequences
    if asked and asked[0].type is QuestionType.CLARIFICATION and case.kind not in needed:
        inner = [about.sentence, about.matter, about.thing, book(language).sentences["fault"]]
        assert any(words and words in texts for words in inner)


@pytest.mark.parametrize(
    ("text", "language", "names"),
    [
        ("Refactor the parser", "en", ["the tests in `tests/`"]),
        ("Upgrade Django", "en", ["Python", "`pyproject.toml`"]),
        ("Refactor src/parser.py", "en", ["`src/parser.py`"]),
        ("パーサーをリファクタリング", "ja", ["`tests/`のテスト"]),
        ("Djangoをアップグレード", "ja", ["Python", "`pyproject.toml`"]),
    ],
)
def test_questions_name_what_the_project_has(text: str, language: Any, names: list[str]):
    asked = questions(brief(text, language)).questions
    said = " ".join([*(q.question + q.context for q in asked), *(o for q in asked for o in q.options)])
    assert [name for name in names if name not in said] == []
    unknown = questions(brief(text, language, ProjectFacts())).questions
    assert len(unknown) == len(asked)
