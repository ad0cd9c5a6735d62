"""When a decision is due, and what speaks for each of its options. The words stand per language."""

# ruff: noqa: E501  # lists of words, Japanese ones count double

from collections.abc import Mapping
from typing import Final

from ringi.llm.playbook.kinds import Lean, Said, Topic, Trait
from ringi.llm.playbook.lookalikes import TOPICS as LOOKALIKES
from ringi.llm.playbook.topic import FEW_LEFT, choice, topic
from ringi.llm.playbook.topics_around import AROUND

_L = Lean
_S = Said

TOPICS: Final[Mapping[Trait, tuple[Topic, ...]]] = {
    **AROUND,
    **LOOKALIKES,
    Trait.FEATURE: (
        topic(
            "feature.join",
            choice(
                "near",
                2,
                "existing code|present code|branch*|既存のコード|分岐|いまのコード",
                (_L.SOON, _L.NARROW),
            ),
            choice(
                "common",
                3,
                "interface|common|plugin*|共通|インターフェース|抽象",
                (_L.SOUND, _L.WIDE, _L.CAREFUL),
            ),
            choice("apart", 1, "separate*|apart|own path|別々|独立|別の経路", (_L.KEEP,)),
            only=_S.EXTENSION,
        ),
        topic(
            "feature.home",
            choice(
                "near",
                3,
                "existing module|existing file|existing code|same module|same file|同じファイル|同じモジュール|既存のモジュール|既存モジュール",
                (_L.SOON, _L.NARROW),
            ),
            choice(
                "own",
                2,
                "own module|module of its own|separate module|new module|own file|separate file|new file|独立|別モジュール|新しいモジュール",
                (_L.SOUND, _L.CAREFUL, _L.WIDE),
            ),
            choice("library", 1, "library|dependenc*|ライブラリ|依存", (_L.SOON,), (_L.NO_DEPENDENCY,)),
            unless=(_S.PLACE, _S.EXTENSION),
        ),
        topic(
            "feature.switch",
            choice(
                "always",
                3,
                "always|default on|on by default|for everybody|for everyone|for all users|常に|全員に|デフォルトで有効",
                (_L.FREE,),
                (_L.KEEP,),
            ),
            choice("option", 2, "option|setting|parameter|argument|config*|オプション|設定|引数", (_L.KEEP,)),
            choice("flag", 2, "flag|flags|feature flag|toggle|フラグ|トグル", (_L.CAREFUL,), (_L.NARROW,)),
            unless=(_S.SWITCH,),
            until=FEW_LEFT,
        ),
        topic(
            "feature.proof",
            choice("units", 2, "unit*|単体|ユニット", (_L.SPEED, _L.SOON)),
            choice("through", 2, "end-to-end|e2e|end to end|通し", (_L.NARROW, _L.KEEP)),
            choice(
                "first",
                3,
                "test first|tests first|test-first|tdd|テストを先|先にテスト|テストから|テスト駆動",
                (_L.SOUND, _L.CAREFUL),
                (_L.SOON,),
            ),
            unless=(_S.TESTS, _S.LEVEL),
            until=FEW_LEFT,
        ),
    ),
    Trait.BUG: (
        topic(
            "bug.cause",
            choice(
                "smallest",
                3,
                "smallest|minimal|small fix|one line|cause|root cause|最小限|原因",
                (_L.NARROW, _L.KEEP),
            ),
            choice(
                "guard",
                1,
                "guard|boundary|validat*|check the input|reject*|quick fix|stop it|hotfix|応急|入口|ガード|バリデーション|検証",
                (_L.SOON, _L.UNKNOWN),
            ),
            choice(
                "rework",
                1,
                "rework|rewrite|redesign|refactor*|作り直|書き直|設計を見直|リファクタ",
                (_L.SOUND, _L.WIDE),
                (_L.SOON, _L.NARROW),
            ),
        ),
        topic(
            "bug.proof",
            choice(
                "first",
                3,
                "test first|tests first|failing test|先にテスト|テストを先|失敗するテスト",
                (_L.SOUND, _L.CAREFUL),
            ),
            choice(
                "together",
                2,
                "same commit|one commit|single commit|one step|同じコミット|一つのコミット|まとめて",
                (_L.SOON, _L.NARROW),
            ),
            choice("through", 1, "end-to-end|e2e|end to end|通し", (_L.UNKNOWN,)),
            unless=(_S.TESTS,),
            until=FEW_LEFT,
        ),
        topic(
            "bug.failing",
            choice(
                "loud",
                3,
                "raise*|fail|fails|failing|exit|clear error|error message|abort*|エラーで止|エラーで終了|エラーにする|例外を投げ|例外にする",
                (_L.SOUND,),
            ),
            choice(
                "log",
                1,
                "log it|log a warning|warning|warn*|skip*|ignore*|go on|carry on|continue|飛ばし|スキップ|無視|ログに残|警告を出|続行",
                (_L.SOON,),
            ),
            choice(
                "fallback",
                1,
                "default|defaults|fallback|fall back|既定|デフォルト|フォールバック",
                (_L.KEEP,),
            ),
            unless=(_S.ACCEPTANCE,),
            until=FEW_LEFT,
        ),
    ),
    Trait.REFACTOR: (
        topic(
            "refactor.way",
            choice(
                "small",
                3,
                "small steps|step by step|incremental*|gradual*|小さなステップ|少しずつ|段階",
                (_L.CAREFUL, _L.KEEP, _L.UNTESTED),
            ),
            choice(
                "once",
                1,
                "at once|one go|one commit|big bang|一度に|一括|まとめて",
                (_L.SOON, _L.FREE, _L.NARROW, _L.TESTED),
            ),
            choice(
                "beside",
                1,
                "beside|strangler|new implementation|parallel|side by side|並行|新しい実装|併存",
                (_L.WIDE, _L.OUTSIDERS),
            ),
        ),
        topic(
            "refactor.net",
            choice(
                "pin",
                3,
                "pin|characteri*|test first|tests first|more tests|現在の動作|先にテスト|テストを先|固定",
                (_L.UNTESTED, _L.CAREFUL, _L.UNKNOWN),
            ),
            choice(
                "existing", 2, "existing tests|no new tests|既存のテスト|新しいテストは", (_L.TESTED, _L.SOON)
            ),
            choice(
                "types", 1, "types|type check*|linter|型検査|型チェック|静的解析", (_L.SPEED,), (_L.UNTESTED,)
            ),
            unless=(_S.TESTS,),
            until=FEW_LEFT,
        ),
        topic(
            "refactor.names",
            choice(
                "keep",
                3,
                "keep the names|keep names|same names|名前は変え|名前を変え|維持",
                (_L.KEEP, _L.NARROW),
            ),
            choice("alias", 2, "alias*|deprecat*|別名|エイリアス|非推奨", (_L.OUTSIDERS,)),
            choice(
                "rename", 1, "rename*|リネーム|改名|名前を統一", (_L.FREE, _L.SOUND), (_L.KEEP, _L.OUTSIDERS)
            ),
            unless=(_S.COMPATIBILITY,),
            until=FEW_LEFT,
        ),
    ),
    Trait.PERFORMANCE: (
        topic(
            "performance.approach",
            choice(
                "measure",
                4,
                "measur*|profil*|計測|測定|プロファイル",
                (_L.UNKNOWN, _L.CAREFUL),
            ),
            choice(
                "algorithm",
                2,
                "algorithm*|data structure|query|index|アルゴリズム|データ構造|クエリ|インデックス",
                (_L.SOUND,),
            ),
            choice("cache", 1, "cach*|キャッシュ", (_L.SOON, _L.SPEED), (_L.KEEP,)),
            choice(
                "less",
                2,
                "batch*|lazy|parallel|async*|concurren*|バッチ|遅延|並列|並行|非同期",
                (_L.MUCH, _L.SPEED),
            ),
        ),
        topic(
            "performance.guard",
            choice("suite", 2, "threshold|in the suite|in ci|しきい値|ciで|回帰", (_L.SOUND, _L.CAREFUL)),
            choice("bench", 3, "benchmark*|on demand|ベンチマーク", (_L.SPEED,)),
            choice("note", 1, "by hand|commit message|一度だけ計測|コミットメッセージ", (_L.SOON, _L.NARROW)),
            until=FEW_LEFT,
        ),
    ),
    Trait.REMOVAL: (
        topic(
            "removal.way",
            choice("warn", 2, "deprecat*|warn*|非推奨|警告|予告", (_L.OUTSIDERS, _L.KEEP, _L.UNKNOWN)),
            choice(
                "now",
                3,
                "at once|immediately|right away|すぐに|即座|一度に",
                (_L.FREE, _L.SOON),
                (_L.OUTSIDERS, _L.KEEP),
            ),
            choice("off", 1, "switch*|flag|disable*|無効|フラグ|スイッチ", (_L.CAREFUL,)),
        ),
        topic(
            "removal.rest",
            choice("refuse", 3, "refuse*|helpful message|案内|拒否", (_L.OUTSIDERS, _L.SOUND)),
            choice("ignore", 1, "ignor*|無視", (_L.SOON, _L.NARROW)),
            choice("clean", 2, "clean up|cleanup|片付け|掃除", (_L.WIDE, _L.FREE)),
            until=FEW_LEFT,
        ),
    ),
    Trait.UI: (
        topic(
            "ui.parts",
            choice(
                "existing",
                3,
                "existing component*|existing style*|既存のコンポーネント|既存の部品",
                (_L.SOON, _L.NARROW, _L.KEEP),
            ),
            choice(
                "new",
                2,
                "new component|own component|新しいコンポーネント|新規コンポーネント",
                (_L.SOUND, _L.WIDE),
            ),
            choice("library", 1, "library|ライブラリ", (_L.SOON,), (_L.NO_DEPENDENCY,)),
            unless=(_S.PLACE,),
        ),
        topic(
            "ui.rollout",
            choice("all", 3, "everyone|all users|at once|全員|すべての利用者|一度に", (_L.SOON, _L.NARROW)),
            choice("setting", 2, "setting|preference|設定で|切り替え", (_L.KEEP,)),
            choice("some", 1, "flag|gradual*|some users|beta|フラグ|段階|一部", (_L.CAREFUL,)),
            unless=(_S.SWITCH,),
            until=FEW_LEFT,
        ),
        topic(
            "ui.proof",
            choice("behaviour", 3, "component test*|behaviour|behavior|動作|操作のテスト", (_L.SOUND,)),
            choice("pictures", 1, "screenshot*|picture*|visual|スクリーンショット|画像", (_L.WIDE,)),
            choice("hand", 1, "by hand|manual*|checklist|手動|目視|チェックリスト", (_L.SOON,)),
            unless=(_S.TESTS,),
            until=FEW_LEFT,
        ),
    ),
    Trait.GENERAL: (
        topic(
            "general.way",
            choice(
                "smallest",
                3,
                "smallest|minimal|最小限",
                (_L.SOON, _L.NARROW, _L.KEEP, _L.CAREFUL),
            ),
            choice("trial", 1, "prototype|trial|試作|プロトタイプ", (_L.UNKNOWN,)),
            choice(
                "whole",
                1,
                "in one go|as a whole|全体を|一通り",
                (_L.SOUND, _L.WIDE),
                (_L.SOON, _L.NARROW),
            ),
        ),
        topic(
            "general.proof",
            choice("first", 3, "test first|tests first|先にテスト|テストを先", (_L.SOUND, _L.CAREFUL)),
            choice("after", 2, "same commit|同じコミット|一緒にテスト", (_L.SOON,)),
            choice("hand", 1, "by hand|manual*|手動", (_L.NARROW,)),
            unless=(_S.TESTS,),
            until=FEW_LEFT,
        ),
    ),
}
