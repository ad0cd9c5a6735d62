"""The words by which an instruction is understood, English and Japanese side by side.

Latin words are compared as whole words, with * at the end as beginnings; others wherever they occur.
"""

# ruff: noqa: E501  # lists of words, Japanese ones count double

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ringi.llm.playbook.kinds import Said, Trait


class Term(NamedTuple):
    pattern: str
    """As it is searched for."""
    latin: bool
    weight: int = 1


def term(word: str, weight: int = 1) -> Term:
    if not word.isascii():
        return Term(word, latin=False, weight=weight)
    whole = not word.endswith("*")
    return Term(f" {word} " if whole else f" {word[:-1]}", latin=True, weight=weight)


def terms(words: str | Sequence[str], weight: int = 1) -> tuple[Term, ...]:
    parts = words.split("|") if isinstance(words, str) else words
    return tuple(term(part, weight) for part in parts)


def _graded(**words: str) -> tuple[Term, ...]:
    """w1="…", w2="…": the number is the weight."""
    return tuple(found for grade, listed in words.items() for found in terms(listed, int(grade[1:])))


TRAITS: Final[Mapping[Trait, tuple[Term, ...]]] = {
    Trait.FEATURE: _graded(
        w1="add|adds|adding|support*|introduce*|create|build|enable|provide|let|log|show|display|validate|limit|notify|"
        "record|extend|extends|記録|制限|通知|拡張|"
        "追加|対応|作成|作って|作る|作りたい|導入|サポート|欲しい|ほしい|付けて|つけて",
        w2="implement*|feature*|allow*|configurable|設定できるように|新規|実装|できるように|出せるように|新機能",
    ),
    Trait.BUG: _graded(
        w1="fix|fixes|fixing|resolve|repair|error*|修正|エラー",
        w2="fail|fails|failing|hangs|hanging|flaky|wrong*|randomly|不安定|時々失敗|たまに失敗|落ち|誤っ|失敗する|失敗し|壊れ|間違っ|ずれる|ずれて",
        w3="bug|bugs|crash*|broken|regression|incorrect*|does not work|doesnt work|not working|no longer works|"
        "バグ|不具合|を直|ので直|も直|クラッシュ|動かない|動かなく|動作しない|おかしい|エラーになる|文字化け|固まる",
    ),
    Trait.REFACTOR: _graded(
        w1="extract|move|統合|構造を|構造の",
        w2="replace*|置き換え|差し替え|split|simplif*|duplicat*|tidy*|clean up|cleanup|rewrite|untangle|"
        "整理|分割|切り出|重複|きれいに|書き直|分離|簡潔に",
        w3="refactor*|restructur*|decoupl*|reorgani*|リファクタ|共通化|疎結合",
        w5="global state|global variable*|technical debt|グローバル変数|グローバルな状態|技術的負債",
    ),
    Trait.RENAME: _graded(w3="rename*|リネーム|改名|名前を変|名称を変"),
    Trait.PERFORMANCE: _graded(
        w1="memory|cache|caching|メモリ|キャッシュ",
        w2="重い|重く|quicker|短縮|実行時間",
        w3="performan*|slow*|speed*|faster|latency|optimi*|throughput|n+1|bottleneck*|takes too long|"
        "遅い|遅く|高速|パフォーマンス|性能|速く|最適化|レイテンシ|時間がかか|スループット|ボトルネック",
    ),
    Trait.TESTS: _graded(
        w2="flaky test*|test suite|テストコード",
        w5="add tests|add a test|write tests|write a test|add unit tests|write unit tests|unit tests for|"
        "tests for|more tests|missing tests|coverage|add integration tests|end-to-end tests for|"
        "テストを追加|テストを書|テストがない|テストを増や|テストを作|テストを足|カバレッジ|テストの追加|テストを整備",
    ),
    Trait.DOCS: _graded(
        w1="comment|comments|説明を|コメント",
        w2="document|guide|typo|typos|使い方|手順を",
        w4="readme*|docs|documentation|documenting|docstring*|changelog|tutorial|user guide|"
        "ドキュメント|文書|手順書|マニュアル|誤字|チュートリアル",
    ),
    Trait.DEPENDENCY: _graded(
        w1="library|package|ライブラリ|パッケージ",
        w2="newest|最新版|最新に",
        w3="upgrade*|bump*|dependenc*|dependabot|アップグレード|バージョンアップ|バージョンを上げ|依存",
    ),
    Trait.RELEASE: _graded(
        w1="release|リリース",
        w5="bump version|bump the version|bump our version|tag a release|tag the release|cut a release|make a release|"
        "publish a release|publish version|release version|prepare the release|create a release|"
        "リリースタグ|タグを打|タグを切|タグを付|リリース作業|リリースする|リリースしたい|リリースして|リリースを作|をリリース",
    ),
    Trait.BUILD: _graded(
        w1="release|config*|settings|環境変数|リリース",
        w2="workflow*|deploy*|lint*|ワークフロー|デプロイ|静的解析|設定ファイル",
        w3="ci|pipeline*|github actions|docker*|makefile|the build|build script|build time|build system|packaging|"
        "pre-commit|kubernetes|terraform|ビルド|パイプライン|環境構築",
    ),
    # Only of data, see DATA and WHICH_DATA.
    Trait.PURGE: _graded(
        w1="不要な",
        w2="get rid of|delete|deletes|deleting|drop|削除|消す|消し|取り除",
        w3="remove|removes|removing|purge*|clean up|一掃|消去",
    ),
    Trait.REMOVAL: _graded(
        w1="不要な|やめる",
        w2="get rid of|delete|drop|retire|unused|削除|消す|消し|取り除|未使用",
        w3="remove|removal|deprecat*|dead code|廃止|非推奨|撤去|使われていない",
    ),
    Trait.ENCRYPTION: _graded(w3="encrypt*|暗号化"),
    Trait.SECURITY: _graded(
        w1="sign-in|サインイン|login|token*|ログイン|トークン",
        w2="password*|パスワード|injection|permission*|secret*|rate limit*|sanitiz*|oauth|auth|authenti*|authori*|two-factor|2fa|mfa|"
        "権限|レート制限|サニタイズ|総当たり|認証|認可",
        w3="security|vulnerab*|xss|csrf|cve*|tls|https|leak*|"
        "セキュリティ|脆弱性|漏洩|漏えい|不正アクセス|インジェクション",
    ),
    Trait.MIGRATION: _graded(
        w1="table*|database|api|endpoint*|テーブル|データベース|エンドポイント",
        w2="column*|data model|file format|response format|カラム|データモデル|形式を変|列を",
        w3="structured log*|json log*|log format|output format|構造化ログ|ログ形式|ログの形式|出力形式|migrat*|schema*|backfill*|移行|マイグレーション|スキーマ",
    ),
    Trait.UI: _graded(
        w1="page|form|component*|dashboard|表示|フォーム|デザイン|ページ|画面",
        w2="button*|screen|screens|layout*|modal*|dialog*|frontend|front-end|icon*|menu*|tooltip*|"
        "ボタン|レイアウト|スタイル|アイコン|モーダル|ダイアログ|フロントエンド|メニュー",
        w3="ui|css|dark mode|responsive|accessib*|ダークモード|見た目|アクセシビリティ|レスポンシブ",
    ),
}

DATA: Final = terms(
    "user|users|account*|customer*|record*|row|rows|data|order|orders|session*|message*|entries|log files|logs|uploads|"
    "ユーザー|利用者|会員|アカウント|顧客|レコード|データ|行を|履歴|注文|セッション|メッセージ|ログ"
)
WHICH_DATA: Final = terms(
    "who|whose|older|inactive|expired|have not|has not|havent|not logged in|last year|days|months|years|all users|"
    "all records|all accounts|all customers|all orders|all data|old data|old records|old logs|"
    "年以上|年間|か月|ヶ月|カ月|日以上|日間|以前の|していない|期限切れ|退会|休眠|古いデータ|古いログ|古いレコード|全ユーザー|全件|すべてのユーザー"
)
"""Code is not chosen by its age or by what it did."""
ON_THE_WAY: Final = terms("tls|https|ssl|in transit|traffic|connection*|通信|接続")
"""Encrypted there, data needs no keys of its own."""
SIGN_INS: Final = terms(
    "a login|add login|login feature|user login|login with|log in with|sign in with|a sign-in|ログイン機能|ログインを|ログインできるように|サインイン機能"
)
"""A way in of one's own; most other instructions name a login in passing."""
STORED_NAMES: Final = terms("column*|table*|schema*|database|カラム|テーブル|スキーマ|列|データベース")

MIGRATION_NOUNS: Final = terms(
    "structured log*|json log*|log format|output format|構造化ログ|ログ形式|"
    "data|database|table*|column*|schema*|record*|field*|api|format|storage|"
    "postgres*|mysql|mariadb|sqlite|oracle|mongodb|redis|s3|"
    "データ|テーブル|カラム|スキーマ|レコード|項目|形式|列|データベース|保存"
)
"""Without one of them a migration is one of code."""

SAID: Final[Mapping[Said, tuple[Term, ...]]] = {
    Said.LIMIT: terms(
        "only|do not touch|dont touch|do not change|dont change|without changing|without touching|nothing else|"
        "limited to|no other|out of scope|leave the|must not change|"
        "だけ|のみ|以外は|触らない|触らず|触れない|変更しない|変えない|変えず|対象外|に限り|に限定|いじらない|はそのまま"
    ),
    Said.KEPT: terms(
        "do not touch|dont touch|do not change|dont change|without changing|without touching|must not change|"
        "must stay|stays as|stay as|unchanged|触らない|触らず|変更しない|変更せず|変えない|変えず|変えないで|いじらない|はそのまま|維持"
    ),
    Said.CHECKS: terms("test|tests|pytest|lint*|type check*|mypy|ruff|テスト|静的解析|型検査|型チェック"),
    Said.OUTPUT: terms(
        "structured log*|json log*|log format|output format|構造化ログ|ログ形式|ログの形式|出力形式"
    ),
    Said.COMPATIBILITY: terms(
        "backward*|compatib*|breaking|without breaking|must not break|keep working|keeps working|existing callers|"
        "public api|public interface|互換|壊さない|壊さず|壊れない|既存の動作|既存の挙動|影響を与えない|影響しない|影響が出ない"
    ),
    Said.TESTS: terms("test|tests|tested|testing|pytest|coverage|テスト"),
    Said.PRIORITY: terms(
        "urgent*|asap|deadline|by friday|by monday|by tomorrow|by tonight|priority|most important|hotfix|blocker|"
        "as soon as possible|this week|end of the month|end of week|today|"
        "急ぎ|至急|緊急|今日中|明日まで|今週中|今月中|日までに|末までに|優先|締め切り|締切|期限|納期|早急|できるだけ早く"
    ),
    Said.ACCEPTANCE: terms(
        "so that|such that|expected|expect|instead of|should return|should print|should show|should exit|should be|"
        "must return|must print|and return|exit code|acceptance|done when|returns|for example|e.g|"
        "べき|はず|期待|代わりに|を返す|を返し|返すように|完了条件|受け入れ|表示されるように|表示すること|であること|"
        "になること|となること|できること|終了コード|例えば|たとえば|例："  # noqa: RUF001
    ),
    Said.ERROR: terms(
        "traceback|stack trace|errno|panic|segfault|segmentation fault|500|502|503|404|403|"
        "スタックトレース|トレースバック|エラーメッセージ|例外"
    ),
    Said.TRIGGER: terms(
        "when|whenever|if|after|steps to reproduce|reproduce|repro|on large|with large|"
        "場合|とき|時に|再現|したあと|した後|だと|ると|くと|すと|むと|ぶと|うと|たら"
    ),
    Said.DEPENDENCIES: terms(
        "no new dependenc*|without new dependenc*|without adding|no extra dependenc*|standard library|stdlib|"
        "no external|use the library|"
        "依存を増やさ|依存関係を増やさ|依存は増やさ|依存を追加しない|標準ライブラリ|外部ライブラリ|ライブラリを使"
    ),
    Said.VERSION: terms("latest|newest|最新"),
    Said.SWITCH: terms(
        "flag|option|setting|environment variable|toggle|opt-in|by default|switch|"
        "フラグ|オプション|環境変数|デフォルトで|既定で|切り替え"
    ),
    Said.LEVEL: terms(
        "unit|integration|e2e|end-to-end|end to end|property|単体|結合|統合テスト|ユニット|プロパティ|エンドツーエンド"
    ),
    Said.AUDIENCE: terms(
        "for users|for new|new users|beginner*|for developers|contributor*|newcomer*|operators|"
        "利用者|初心者|開発者|新しい人|新メンバー|新人|運用者|向け"
    ),
    Said.REASON: terms(
        "because|since|cve*|end of life|eol|no longer|unused|nobody uses|not used|in order to|duplicat*|so that|"
        "due to|typo|typos|ため|ので|使われていない|使っていない|未使用|重複|サポート終了|脆弱性|誤字"
    ),
    Said.REPLACEMENT: terms("replace*|in favour of|in favor of|instead|replaced by|置き換え|代わり|差し替え"),
    Said.UNUSED: terms(
        "unused|dead code|nobody uses|no longer used|not used|is not used|使われていない|未使用|使っていない|誰も使"
    ),
    Said.SINCE: terms(
        "since|after upgrading|after the update|から発生|以降|以来|更新後|アップデート後|してから|頃から"
    ),
    Said.THREAT: terms(
        "brute force|brute-force|xss|csrf|injection|leak*|expos*|attack*|cve*|path traversal|"
        "総当たり|漏洩|漏えい|インジェクション|攻撃|なりすまし|脆弱性|不正アクセス"
    ),
    Said.EVENT: terms(
        "on pull request*|on every pull request|pull request*|on push|every push|nightly|on release|on merge|"
        "プルリク|プッシュ|毎晩|マージ時|リリース時|pr作成時"
    ),
}

SILENT: Final = (
    " no new dependency ", " no new dependencies ", " without new dependencies ", " without adding dependencies ",
    " without a new dependency ", " no extra dependencies ", "依存を増やさ", "依存関係を増やさ", "依存は増やさ",
    " error message ", " error messages ", " memory leak ", " memory leaks ", "メモリリーク", "エラーメッセージ", "できるだけ", "だけでなく", "のみならず", " only when ", " only if ", " only happens ", " not only ",
)  # fmt: skip
"""Say nothing of the kind of work, nor of a limit, though a part of them would."""

VERBS: Final = frozenset(
    [
        "add",
        "allow",
        "build",
        "cache",
        "change",
        "limit",
        "notify",
        "record",
        "translate",
        "clean",
        "encrypt",
        "extend",
        "publish",
        "purge",
        "release",
        "bump",
        "localise",
        "localize",
        "configure",
        "convert",
        "correct",
        "cover",
        "create",
        "delete",
        "deprecate",
        "display",
        "document",
        "drop",
        "enable",
        "ensure",
        "export",
        "expose",
        "extract",
        "fix",
        "get",
        "handle",
        "implement",
        "import",
        "improve",
        "increase",
        "introduce",
        "investigate",
        "log",
        "make",
        "migrate",
        "move",
        "optimise",
        "optimize",
        "port",
        "prevent",
        "provide",
        "reduce",
        "refactor",
        "remove",
        "rename",
        "repair",
        "replace",
        "resolve",
        "restructure",
        "rewrite",
        "set",
        "show",
        "simplify",
        "speed",
        "split",
        "support",
        "switch",
        "test",
        "tidy",
        "update",
        "upgrade",
        "use",
        "validate",
        "write",
    ]
)
POLITE: Final = (
    "please ", "can you ", "could you ", "would you ", "i want to ", "i would like to ", "i'd like to ",
    "we need to ", "we should ", "we want to ", "you should ", "let's ", "lets ", "i need to ", "i need you to ",
    "hi, ", "hello, ", "hey, ", "todo: ", "task: ",
)  # fmt: skip
OBJECT_ENDS: Final = (
    " to ", " for ", " in ", " on ", " when ", " so ", " that ", " from ", " with ", " by ", " into ", " using ",
    " without ", " before ", " after ", " if ", " because ", " while ", " which ", " and ", " at ", " as ",
    ", ", ". ", "; ", ": ", " (", " - ",
)  # fmt: skip
POLITE_ENDINGS: Final = (
    "をお願いいたします", "をお願いします", "お願いいたします", "お願いします", "していただけますか", "してもらえますか",
    "させてください", "させたいです", "させたい", "させて", "させる", "してください", "して下さい", "てください", "て下さい", "してほしいです", "してほしい", "して欲しい", "したいです",
    "したい", "してくれ", "すること", "します", "する", "して",
)  # fmt: skip
FAULT_ENDINGS: Final = (
    "を修正", "を直して", "を直し", "を高速化", "を最適化", "を直す", "を直", "を解消", "を改善", "を解決", "に対応", "ので修正", "ので直し", "ので直", "のを修正",
    "のを直し", "のを直す", "のを直",
)  # fmt: skip
