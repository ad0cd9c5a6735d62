"""Decisions about what stands around the program: tests, documents, packages, data."""

from collections.abc import Mapping
from typing import Final

from ringi.llm.playbook.kinds import Lean, Said, Topic, Trait
from ringi.llm.playbook.topic import FEW_LEFT, choice, topic

_L = Lean
_S = Said

AROUND: Final[Mapping[Trait, tuple[Topic, ...]]] = {
    Trait.TESTS: (
        topic(
            "tests.level",
            choice("unit", 3, "unit*|単体|ユニット", (_L.SPEED, _L.SOON)),
            choice("together", 2, "integration|結合|統合", (_L.KEEP,)),
            choice("through", 1, "end-to-end|e2e|end to end|通し", (_L.WIDE,)),
            unless=(_S.LEVEL,),
        ),
        topic(
            "tests.others",
            choice(
                "real", 3, "real files|real database|temporary|本物|実物|一時フォルダ", (_L.SOUND, _L.KEEP)
            ),
            choice("fakes", 2, "fake*|フェイク|代役", (_L.SPEED, _L.FREE)),
            choice("mocks", 1, "mock*|patch*|stub*|モック|スタブ", (_L.SOON,)),
            until=FEW_LEFT,
        ),
        topic(
            "tests.cases",
            choice("table", 3, "parametri*|table of|表形式|パラメータ化", (_L.NARROW, _L.SOON)),
            choice(
                "generated",
                1,
                "property|generated|hypothesis|random*|fuzz*|プロパティ|生成|ランダム",
                (_L.WIDE, _L.SOUND),
            ),
            choice("golden", 1, "golden|snapshot*|recorded|スナップショット|ゴールデン", (_L.UNTESTED,)),
            until=FEW_LEFT,
        ),
    ),
    Trait.DOCS: (
        topic(
            "docs.place",
            choice("extend", 3, "existing page|readme|既存のページ|readme", (_L.NARROW, _L.KEEP, _L.SOON)),
            choice(
                "page", 2, "new page|own page|separate page|新しいページ|別ページ|独立", (_L.WIDE, _L.FREE)
            ),
            choice("code", 1, "docstring*|in the code|generated|コード内|自動生成", ()),
            unless=(_S.PLACE,),
        ),
        topic(
            "docs.examples",
            choice("run", 2, "run by tests|doctest*|tested|テストで実行|実行して確認", (_L.SOUND, _L.WIDE)),
            choice("hand", 3, "by hand|手で|手動", (_L.SOON, _L.NARROW)),
            choice("none", 1, "no example*|without example*|例は不要|例なし", ()),
            unless=(_S.TESTS,),
            until=3,
        ),
    ),
    Trait.DEPENDENCY: (
        topic(
            "dependency.step",
            choice(
                "stages",
                2,
                "one major|stage*|step by step|段階|一つずつ|メジャーごと",
                (_L.CAREFUL, _L.WIDE, _L.UNKNOWN, _L.FAR),
            ),
            choice(
                "straight",
                3,
                "straight|directly|in one step|one jump|直接|一度に",
                (_L.SOON, _L.SOUND),
                (_L.FAR,),
            ),
            choice("least", 1, "smallest|minimal|patch release|patch version|最小限|パッチ", (_L.NARROW,)),
        ),
        topic(
            "dependency.adapt",
            choice("calls", 3, "call sites|callers|呼び出し箇所", (_L.SOUND, _L.NARROW)),
            choice("adapter", 1, "adapter|wrapper|アダプター|ラッパー", (_L.CAREFUL, _L.WIDE)),
            choice("both", 1, "both versions|old and new|両方|新旧", (_L.OUTSIDERS, _L.KEEP)),
            until=FEW_LEFT,
        ),
        topic(
            "dependency.pin",
            choice("range", 3, "range|upper bound|範囲|上限", (_L.SOUND,)),
            choice("exact", 2, "exact*|pin*|lock*|固定|ロック", (_L.CAREFUL,)),
            choice("floor", 1, "lower bound|minimum|下限|以上", (_L.OUTSIDERS,)),
            until=3,
        ),
    ),
    Trait.BUILD: (
        topic(
            "build.rollout",
            choice(
                "beside",
                3,
                "non-blocking|not blocking|not required|必須にしない|任意|併用|並行",
                (_L.CAREFUL,),
            ),
            choice("direct", 2, "directly|at once|required|直接切り替え|必須に", (_L.SOON, _L.NARROW)),
            choice("branch", 1, "branch|trial|ブランチ", (_L.UNKNOWN,)),
        ),
        topic(
            "build.place",
            choice("script", 2, "script|make|same command|スクリプト|同じコマンド", (_L.SOUND, _L.WIDE)),
            choice(
                "extend", 3, "existing file|extend|既存のファイル|拡張", (_L.SOON, _L.NARROW), (_L.FRESH,)
            ),
            choice("file", 1, "own file|new file|separate file|別ファイル|専用のファイル", (_L.CAREFUL,)),
            unless=(_S.PLACE,),
            until=FEW_LEFT,
        ),
    ),
    Trait.SECURITY: (
        topic(
            "security.where",
            choice(
                "central",
                5,
                "central*|middleware|one place|一か所|1か所|ミドルウェア|共通",
                (_L.SOUND, _L.WIDE),
            ),
            choice("each", 1, "at each|every use|個別|箇所ごと", (_L.NARROW,)),
            choice("both", 1, "both places|in depth|両方で|多層", (_L.CAREFUL,)),
            unless=(_S.PLACE,),
        ),
        topic(
            "security.rule",
            choice("deny", 3, "deny|strict|block|拒否|厳格|遮断", (_L.SOON, _L.FREE), (_L.KEEP,)),
            choice(
                "report",
                2,
                "report first|report-only|monitor*|observe|まず記録|監視|様子を見",
                (_L.KEEP, _L.CAREFUL, _L.OUTSIDERS),
            ),
            choice("optin", 1, "opt-in|optional|任意|希望者", (_L.KEEP,), (_L.SOON,)),
            until=FEW_LEFT,
        ),
        topic(
            "security.proof",
            choice("attack", 3, "attack*|exploit*|攻撃", (_L.SOUND, _L.SOON)),
            choice("review", 1, "checklist|second pair of eyes|チェックリスト", (_L.NARROW,)),
            choice("scan", 1, "scan*|audit*|スキャン|監査", (_L.WIDE,), (_L.NO_DEPENDENCY,)),
            unless=(_S.TESTS,),
            until=FEW_LEFT,
        ),
    ),
    Trait.MIGRATION: (
        topic(
            "migration.way",
            choice(
                "expand",
                3,
                "expand*|step by step|gradual*|段階|拡張|少しずつ",
                (_L.CAREFUL, _L.MUCH, _L.KEEP),
            ),
            choice(
                "once",
                1,
                "one step|at once|downtime|一度に|一斉|停止",
                (_L.SOON, _L.FREE),
                (_L.OUTSIDERS, _L.KEEP),
            ),
            choice(
                "versions",
                1,
                "versioned|v2|side by side|並存|併存|バージョンを並べ",
                (_L.OUTSIDERS, _L.NONE_STORED),
            ),
        ),
        topic(
            "migration.back",
            choice(
                "reverse",
                3,
                "revers*|down migration|rollback|roll back|ロールバック|逆|元に戻",
                (_L.CAREFUL,),
            ),
            choice("backup", 2, "backup*|restore|バックアップ|復元", (_L.MUCH, _L.SOON)),
            choice("forward", 1, "forward*|前進|戻さない", (_L.NONE_STORED, _L.FREE)),
            until=FEW_LEFT,
        ),
        topic(
            "migration.fill",
            choice("inside", 2, "in the migration|same step|マイグレーション内|同時に", (_L.SOON, _L.FREE)),
            choice("batches", 2, "batch*|background|バッチ|分割|バックグラウンド", (_L.MUCH, _L.CAREFUL)),
            choice("lazy", 1, "lazy|on read|lazily|読み込み時|読むとき|遅延", (_L.NARROW,)),
            until=FEW_LEFT,
        ),
    ),
}
