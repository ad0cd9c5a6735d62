"""Work that is easily taken for another kind: a new name, deleted data, a release, encryption."""

from collections.abc import Mapping
from typing import Final

from ringi.domain.session import QuestionType as Q
from ringi.llm.playbook.ask import EXTENT_UNTIL, KEEP_UNTIL, PRIORITY_UNTIL, ask, means
from ringi.llm.playbook.kinds import Ask, Lean, Reply, Said, Topic, Trait
from ringi.llm.playbook.topic import FEW_LEFT, choice, topic

_L = Lean
_S = Said
_OPEN: Final = Reply()

ASKS: Final[Mapping[Trait, tuple[Ask, ...]]] = {
    Trait.RENAME: (
        ask(
            "rename.users",
            Q.CLARIFICATION,
            means(_L.FREE),
            means(_L.OUTSIDERS),
            means(_L.UNKNOWN),
            unless=(_S.UNUSED,),
        ),
        ask(
            "rename.reach",
            Q.SCOPE,
            means(_L.NARROW, settles="rename.reach=code"),
            means(settles="rename.reach=words"),
            means(_L.WIDE, settles="rename.reach=stored"),
            until=EXTENT_UNTIL,
        ),
        ask("rename.found", Q.TECHNICAL, means(_L.TESTED), _OPEN, means(_L.UNKNOWN)),
        ask(
            "rename.grace",
            Q.CONSTRAINT,
            means(_L.FREE, settles="rename.old=once"),
            means(_L.OUTSIDERS, settles="rename.old=alias"),
            unless=(_S.COMPATIBILITY,),
        ),
        ask(
            "rename.first",
            Q.PRIORITY,
            means(_L.SOON),
            means(_L.CAREFUL),
            unless=(_S.PRIORITY,),
            until=PRIORITY_UNTIL,
        ),
    ),
    Trait.PURGE: (
        ask("purge.which", Q.CLARIFICATION, unless=(_S.ACCEPTANCE,)),
        ask("purge.attached", Q.SCOPE, *[_OPEN] * 3),
        ask("purge.amount", Q.TECHNICAL, _OPEN, means(_L.MUCH), means(_L.UNKNOWN)),
        ask(
            "purge.duty",
            Q.CONSTRAINT,
            means(_L.KEEP),
            means(_L.SOUND),
            means(_L.FREE),
            unless=(_S.COMPATIBILITY,),
            until=KEEP_UNTIL,
        ),
        ask(
            "purge.first",
            Q.PRIORITY,
            means(_L.CAREFUL),
            means(_L.SOUND),
            means(_L.SOON),
            unless=(_S.PRIORITY,),
            until=PRIORITY_UNTIL,
        ),
    ),
    Trait.RELEASE: (
        ask("release.content", Q.CLARIFICATION, *[_OPEN] * 3, unless=(_S.ACCEPTANCE,)),
        ask("release.places", Q.SCOPE, *[_OPEN] * 3, unless=(_S.LIMIT,)),
        ask(
            "release.way",
            Q.TECHNICAL,
            means(settles="release.way=hand"),
            means(settles="release.way=tag"),
            _OPEN,
            unless=(_S.EVENT,),
        ),
        ask(
            "release.ready",
            Q.CONSTRAINT,
            means(_L.CAREFUL),
            _OPEN,
            means(_L.FREE),
            unless=(_S.TESTS,),
            until=KEEP_UNTIL,
        ),
        ask(
            "release.first",
            Q.PRIORITY,
            means(_L.SOON),
            means(_L.CAREFUL),
            unless=(_S.PRIORITY,),
            until=PRIORITY_UNTIL,
        ),
    ),
    Trait.ENCRYPTION: (
        ask(
            "encryption.threat", Q.CLARIFICATION, means(_L.THEFT), _OPEN, means(_L.SOUND), unless=(_S.THREAT,)
        ),
        ask("encryption.data", Q.SCOPE, means(_L.NARROW), _OPEN, means(_L.WIDE), unless=(_S.LIMIT,)),
        ask(
            "encryption.keys",
            Q.TECHNICAL,
            means(settles="encryption.keys=service"),
            means(settles="encryption.keys=secret"),
            means(_L.UNKNOWN),
        ),
        ask(
            "encryption.use",
            Q.CONSTRAINT,
            means(_L.KEEP),
            means(_L.CAREFUL),
            means(_L.FREE),
            unless=(_S.COMPATIBILITY,),
        ),
        ask(
            "encryption.first",
            Q.PRIORITY,
            means(_L.CAREFUL),
            means(_L.SOON),
            means(_L.SPEED),
            unless=(_S.PRIORITY,),
            until=PRIORITY_UNTIL,
        ),
    ),
}

TOPICS: Final[Mapping[Trait, tuple[Topic, ...]]] = {
    Trait.RENAME: (
        topic(
            "rename.old",
            choice(
                "once",
                3,
                "at once|everywhere|one commit|no alias|一度に|一括|すべて変え",
                (_L.FREE, _L.SOON, _L.NARROW),
                (_L.OUTSIDERS, _L.KEEP),
            ),
            choice(
                "alias",
                2,
                "alias*|deprecat*|old name|keep working|別名|エイリアス|非推奨|古い名前|旧名",
                (_L.OUTSIDERS, _L.KEEP, _L.UNKNOWN, _L.CAREFUL),
            ),
        ),
        topic(
            "rename.reach",
            choice("code", 2, "code only|only the code|コードだけ|コードのみ", (_L.NARROW, _L.SOON)),
            choice("words", 3, "doc*|comment*|message*|文書|ドキュメント|コメント|メッセージ", (_L.SOUND,)),
            choice("stored", 1, "setting*|config*|stored|data|設定|保存|データ", (_L.WIDE,), (_L.KEEP,)),
            unless=(_S.LIMIT,),
            until=FEW_LEFT,
        ),
    ),
    Trait.PURGE: (
        topic(
            "purge.way",
            choice(
                "mark",
                3,
                "soft delet*|mark*|grace|undo|revers*|論理削除|印を|猶予|元に戻|取り消",
                (_L.CAREFUL, _L.UNKNOWN),
            ),
            choice(
                "backup",
                2,
                "backup*|export*|archiv*|restore|バックアップ|書き出|アーカイブ|復元",
                (_L.SOON, _L.KEEP),
            ),
            choice("anonymous", 1, "anonymi*|pseudonym*|匿名", (_L.SOUND,)),
        ),
        topic(
            "purge.run",
            choice("batches", 3, "batch*|portion*|小分け|分割|バッチ|少しずつ", (_L.MUCH, _L.CAREFUL)),
            choice("once", 1, "at once|one transaction|single|一度に|一括", (_L.SOON, _L.FREE), (_L.MUCH,)),
            choice("job", 1, "job|cron|schedul*|nightly|regular*|ジョブ|定期|毎晩", (_L.WIDE,)),
            until=FEW_LEFT,
        ),
        topic(
            "purge.check",
            choice(
                "dry", 3, "dry run|dry-run|count*|preview|予行|件数|空実行|ドライラン", (_L.CAREFUL, _L.SOUND)
            ),
            choice("copy", 2, "copy|staging|コピー|検証環境", (_L.MUCH, _L.UNKNOWN)),
            until=FEW_LEFT,
        ),
    ),
    Trait.RELEASE: (
        topic(
            "release.way",
            choice("hand", 2, "by hand|manual*|checklist|手で|手動|手順書", (_L.NARROW,)),
            choice("tag", 3, "ci|workflow|automat*|pipeline|自動|ワークフロー", (_L.SOUND, _L.CAREFUL)),
        ),
        topic(
            "release.trial",
            choice(
                "candidate",
                2,
                "candidate|rc|beta|pre-release|prerelease|候補|ベータ",
                (_L.CAREFUL, _L.OUTSIDERS),
            ),
            choice("direct", 3, "directly|straight|直接|そのまま", (_L.SOON, _L.FREE)),
            until=FEW_LEFT,
        ),
        topic(
            "release.notes",
            choice(
                "written", 3, "written|by hand|changelog|change log|変更履歴|手で書", (_L.SOUND, _L.OUTSIDERS)
            ),
            choice(
                "commits", 2, "from the commits|generated|commit messages|自動生成|コミットから", (_L.SOON,)
            ),
            until=FEW_LEFT,
        ),
    ),
    Trait.ENCRYPTION: (
        topic(
            "encryption.where",
            choice(
                "storage",
                2,
                "disk|volume|whole database|transparent|ディスク|ボリューム|データベース全体|透過",
                (_L.SOON, _L.KEEP, _L.SPEED, _L.THEFT),
            ),
            choice(
                "field", 3, "field*|column*|application|項目|カラム|アプリ", (_L.NARROW, _L.SOUND, _L.CAREFUL)
            ),
            choice("both", 1, "both layers|両方|二重", (_L.WIDE,)),
        ),
        topic(
            "encryption.keys",
            choice(
                "service", 3, "kms|vault|key service|hsm|鍵管理|キー管理", (_L.CAREFUL, _L.SOUND, _L.UNKNOWN)
            ),
            choice("secret", 1, "environment variable|secret*|file|環境変数|シークレット|設定", (_L.SOON,)),
        ),
        topic(
            "encryption.existing",
            choice("batches", 3, "batch*|background|バッチ|少しずつ|バックグラウンド", (_L.CAREFUL, _L.KEEP)),
            choice("once", 1, "at once|downtime|maintenance|一度に|停止|メンテナンス", (_L.SOON, _L.FREE)),
            choice("lazy", 1, "on write|lazy|lazily|書き込み時|次に", (_L.NARROW,), (_L.CAREFUL,)),
            until=FEW_LEFT,
        ),
    ),
}
