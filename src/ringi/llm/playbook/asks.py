"""When a question is worth asking, and what its offered answers mean. The words stand per language."""

from collections.abc import Mapping
from typing import Final

from ringi.domain.session import QuestionType as Q
from ringi.llm.playbook.kinds import Ask, Lean, Reply, Said, Trait

_ALWAYS: Final = 99
_L = Lean
_S = Said
_OPEN: Final = Reply()


def _means(*leans: Lean, settles: str = "") -> Reply:
    return Reply(frozenset(leans), settles)


def _ask(key: str, kind: Q, *replies: Reply, unless: tuple[Said, ...] = (), until: int = _ALWAYS) -> Ask:
    return Ask(key, kind, frozenset(unless), until, replies)


# The last thing worth asking, and the first that a detailed instruction makes needless.
_PRIORITY_UNTIL: Final = 3
_EXTENT_UNTIL: Final = 4
_KEEP_UNTIL: Final = 4

_KEEP: Final = (_means(_L.KEEP), _means(_L.NO_DEPENDENCY), _means(_L.KEEP, _L.CAREFUL), _OPEN)
_FIRST: Final = (_means(_L.SOON), _means(_L.SOUND), _means(_L.SPEED), _means(_L.CAREFUL))
_EXTENT: Final = (_means(_L.NARROW), _OPEN, _means(_L.WIDE))

ASKS: Final[Mapping[Trait, tuple[Ask, ...]]] = {
    Trait.FEATURE: (
        _ask("feature.example", Q.CLARIFICATION, unless=(_S.ACCEPTANCE,)),
        _ask("feature.extent", Q.SCOPE, *_EXTENT, unless=(_S.LIMIT,), until=_EXTENT_UNTIL),
        _ask(
            "feature.ground",
            Q.TECHNICAL,
            _means(settles="feature.home=near"),
            _means(settles="feature.home=own"),
            _means(settles="feature.home=library"),
            unless=(_S.PLACE, _S.DEPENDENCIES),
        ),
        _ask(
            "feature.keep",
            Q.CONSTRAINT,
            *_KEEP,
            unless=(_S.COMPATIBILITY, _S.DEPENDENCIES),
            until=_KEEP_UNTIL,
        ),
        _ask("feature.first", Q.PRIORITY, *_FIRST, unless=(_S.PRIORITY,), until=_PRIORITY_UNTIL),
    ),
    Trait.BUG: (
        _ask("bug.reproduction", Q.CLARIFICATION, unless=(_S.TRIGGER, _S.ERROR, _S.ACCEPTANCE)),
        _ask("bug.expected", Q.CLARIFICATION, unless=(_S.ACCEPTANCE,)),
        _ask(
            "bug.extent",
            Q.SCOPE,
            _means(_L.NARROW),
            _means(_L.WIDE),
            _means(_L.NARROW),
            unless=(_S.LIMIT,),
            until=_EXTENT_UNTIL,
        ),
        _ask("bug.since", Q.TECHNICAL, *[_OPEN] * 3, _means(_L.UNKNOWN), unless=(_S.PLACE, _S.SINCE)),
        _ask(
            "bug.notice",
            Q.CONSTRAINT,
            _means(_L.KEEP),
            _OPEN,
            _means(_L.FREE),
            unless=(_S.COMPATIBILITY,),
            until=_KEEP_UNTIL,
        ),
        _ask(
            "bug.first",
            Q.PRIORITY,
            _means(_L.SOON, settles="bug.cause=guard"),
            _means(_L.SOUND),
            _means(_L.CAREFUL),
            unless=(_S.PRIORITY,),
            until=_PRIORITY_UNTIL,
        ),
    ),
    Trait.REFACTOR: (
        _ask("refactor.aim", Q.CLARIFICATION, *[_OPEN] * 4, unless=(_S.ACCEPTANCE, _S.REASON), until=3),
        _ask("refactor.extent", Q.SCOPE, *_EXTENT, unless=(_S.LIMIT,), until=_EXTENT_UNTIL),
        _ask(
            "refactor.net",
            Q.TECHNICAL,
            _means(_L.TESTED, settles="refactor.net=existing"),
            _means(_L.UNTESTED),
            _means(_L.UNTESTED, settles="refactor.net=pin"),
            _means(_L.UNTESTED, _L.UNKNOWN),
            unless=(_S.TESTS,),
            until=_EXTENT_UNTIL,
        ),
        _ask(
            "refactor.names",
            Q.CONSTRAINT,
            _means(_L.KEEP, settles="refactor.names=keep"),
            _means(_L.OUTSIDERS, settles="refactor.names=alias"),
            _means(_L.FREE, settles="refactor.names=rename"),
            unless=(_S.COMPATIBILITY,),
        ),
        _ask(
            "refactor.first",
            Q.PRIORITY,
            _means(_L.CAREFUL),
            _means(_L.SOON),
            _means(_L.SOUND),
            unless=(_S.PRIORITY,),
            until=_PRIORITY_UNTIL,
        ),
    ),
    Trait.PERFORMANCE: (
        _ask("performance.figure", Q.CLARIFICATION, unless=(_S.MEASURE,)),
        _ask("performance.case", Q.SCOPE, *[_OPEN] * 4, unless=(_S.LIMIT, _S.TRIGGER)),
        _ask("performance.where", Q.TECHNICAL, *[_OPEN] * 3, _means(_L.UNKNOWN), unless=(_S.PLACE,)),
        _ask(
            "performance.trade",
            Q.CONSTRAINT,
            _means(_L.SOUND, _L.KEEP),
            _OPEN,
            _means(_L.SPEED),
            _means(_L.SPEED),
            unless=(_S.COMPATIBILITY,),
            until=_KEEP_UNTIL,
        ),
        _ask(
            "performance.enough",
            Q.PRIORITY,
            _means(_L.SOON),
            _means(_L.SOUND),
            _means(_L.SPEED),
            unless=(_S.PRIORITY, _S.MEASURE),
            until=_PRIORITY_UNTIL,
        ),
    ),
    Trait.TESTS: (
        _ask("tests.behaviour", Q.CLARIFICATION, unless=(_S.ACCEPTANCE, _S.TRIGGER)),
        _ask("tests.extent", Q.SCOPE, *_EXTENT, unless=(_S.LIMIT,), until=_EXTENT_UNTIL),
        _ask(
            "tests.level",
            Q.TECHNICAL,
            _means(settles="tests.level=unit"),
            _means(settles="tests.level=together"),
            _means(settles="tests.level=through"),
            unless=(_S.LEVEL,),
        ),
        _ask(
            "tests.allowed",
            Q.CONSTRAINT,
            _means(_L.KEEP),
            _OPEN,
            _means(_L.FREE),
            unless=(_S.LIMIT, _S.COMPATIBILITY),
            until=_KEEP_UNTIL,
        ),
        _ask("tests.first", Q.PRIORITY, *[_OPEN] * 3, unless=(_S.PRIORITY, _S.PLACE), until=_PRIORITY_UNTIL),
    ),
    Trait.DOCS: (
        _ask("docs.reader", Q.CLARIFICATION, *[_OPEN] * 4, unless=(_S.AUDIENCE, _S.ACCEPTANCE)),
        _ask("docs.extent", Q.SCOPE, *_EXTENT, unless=(_S.LIMIT, _S.PLACE), until=_EXTENT_UNTIL),
        _ask(
            "docs.examples",
            Q.TECHNICAL,
            _means(settles="docs.examples=run"),
            _means(settles="docs.examples=hand"),
            _means(settles="docs.examples=none"),
            unless=(_S.TESTS,),
            until=3,
        ),
        _ask("docs.form", Q.CONSTRAINT, _means(_L.KEEP), _OPEN, _means(_L.FREE), until=3),
        _ask("docs.first", Q.PRIORITY, *[_OPEN] * 3, unless=(_S.PRIORITY, _S.REASON), until=_PRIORITY_UNTIL),
    ),
    Trait.DEPENDENCY: (
        _ask(
            "dependency.reason",
            Q.CLARIFICATION,
            _means(_L.NARROW),
            _OPEN,
            _OPEN,
            _means(_L.CAREFUL),
            unless=(_S.REASON, _S.ACCEPTANCE, _S.THREAT),
        ),
        _ask(
            "dependency.extent",
            Q.SCOPE,
            _means(_L.NARROW),
            _OPEN,
            _means(_L.WIDE),
            unless=(_S.LIMIT,),
            until=_EXTENT_UNTIL,
        ),
        _ask("dependency.target", Q.TECHNICAL, _OPEN, _means(_L.CAREFUL), _OPEN, unless=(_S.VERSION,)),
        _ask("dependency.oldest", Q.CONSTRAINT, unless=(_S.COMPATIBILITY,), until=_KEEP_UNTIL),
        _ask(
            "dependency.trouble",
            Q.PRIORITY,
            _means(_L.SOUND),
            _means(_L.CAREFUL),
            _OPEN,
            unless=(_S.PRIORITY,),
            until=_PRIORITY_UNTIL,
        ),
    ),
    Trait.BUILD: (
        _ask("build.event", Q.CLARIFICATION, unless=(_S.ACCEPTANCE, _S.EVENT)),
        _ask("build.where", Q.SCOPE, *[_OPEN] * 4, unless=(_S.LIMIT, _S.EVENT)),
        _ask(
            "build.ground",
            Q.TECHNICAL,
            _means(settles="build.place=extend"),
            _means(settles="build.place=file"),
            _OPEN,
            unless=(_S.PLACE, _S.REPLACEMENT),
        ),
        _ask(
            "build.keep",
            Q.CONSTRAINT,
            _means(_L.CAREFUL),
            _means(_L.SPEED),
            _means(_L.NO_DEPENDENCY),
            _OPEN,
            unless=(_S.COMPATIBILITY, _S.MEASURE),
            until=_KEEP_UNTIL,
        ),
        _ask(
            "build.first",
            Q.PRIORITY,
            _means(_L.CAREFUL),
            _means(_L.WIDE),
            _means(_L.SPEED),
            unless=(_S.PRIORITY,),
            until=_PRIORITY_UNTIL,
        ),
    ),
    Trait.REMOVAL: (
        _ask(
            "removal.users",
            Q.CLARIFICATION,
            _means(_L.FREE),
            _means(_L.OUTSIDERS),
            _means(_L.UNKNOWN, _L.CAREFUL),
            unless=(_S.UNUSED,),
        ),
        _ask("removal.extent", Q.SCOPE, *_EXTENT, unless=(_S.LIMIT,), until=_EXTENT_UNTIL),
        _ask("removal.instead", Q.TECHNICAL, *[_OPEN] * 3, unless=(_S.REPLACEMENT, _S.UNUSED), until=3),
        _ask(
            "removal.grace",
            Q.CONSTRAINT,
            _means(_L.FREE, settles="removal.way=now"),
            _means(_L.OUTSIDERS, settles="removal.way=warn"),
            _means(_L.OUTSIDERS, settles="removal.way=warn"),
            unless=(_S.COMPATIBILITY, _S.UNUSED),
        ),
        _ask(
            "removal.first",
            Q.PRIORITY,
            _means(_L.SOON),
            _means(_L.OUTSIDERS),
            _means(_L.CAREFUL),
            unless=(_S.PRIORITY,),
            until=_PRIORITY_UNTIL,
        ),
    ),
    Trait.SECURITY: (
        _ask("security.threat", Q.CLARIFICATION, *[_OPEN] * 4, unless=(_S.THREAT,)),
        _ask("security.extent", Q.SCOPE, *_EXTENT, unless=(_S.LIMIT,)),
        _ask(
            "security.ground",
            Q.TECHNICAL,
            _means(_L.NO_DEPENDENCY),
            _means(_L.NO_DEPENDENCY),
            _OPEN,
            _means(_L.UNKNOWN),
            unless=(_S.PLACE, _S.DEPENDENCIES),
        ),
        _ask(
            "security.keep",
            Q.CONSTRAINT,
            _means(_L.KEEP),
            _OPEN,
            _means(_L.FREE),
            unless=(_S.COMPATIBILITY,),
            until=_KEEP_UNTIL,
        ),
        _ask(
            "security.urgency",
            Q.PRIORITY,
            _means(_L.SOON),
            _OPEN,
            _means(_L.CAREFUL),
            unless=(_S.PRIORITY,),
            until=_PRIORITY_UNTIL,
        ),
    ),
    Trait.MIGRATION: (
        _ask("migration.shapes", Q.CLARIFICATION, unless=(_S.ACCEPTANCE,)),
        _ask(
            "migration.readers",
            Q.SCOPE,
            _means(_L.FREE),
            _OPEN,
            _means(_L.OUTSIDERS),
            _means(_L.OUTSIDERS, _L.UNKNOWN),
        ),
        _ask(
            "migration.amount",
            Q.TECHNICAL,
            _OPEN,
            _means(_L.MUCH, _L.CAREFUL),
            _means(_L.MUCH),
            _means(_L.NONE_STORED),
            unless=(_S.MEASURE,),
        ),
        _ask(
            "migration.grace",
            Q.CONSTRAINT,
            _means(_L.FREE, settles="migration.way=once"),
            _means(_L.CAREFUL, settles="migration.way=expand"),
            _means(_L.OUTSIDERS, settles="migration.way=expand"),
            _means(_L.OUTSIDERS, settles="migration.way=versions"),
            unless=(_S.COMPATIBILITY, _S.ADDITIVE),
        ),
        _ask(
            "migration.first",
            Q.PRIORITY,
            _means(_L.CAREFUL),
            _means(_L.CAREFUL, _L.MUCH),
            _means(_L.SOON),
            unless=(_S.PRIORITY,),
            until=_PRIORITY_UNTIL,
        ),
    ),
    Trait.UI: (
        _ask("ui.story", Q.CLARIFICATION, unless=(_S.ACCEPTANCE,)),
        _ask("ui.extent", Q.SCOPE, *_EXTENT, unless=(_S.LIMIT,), until=_EXTENT_UNTIL),
        _ask(
            "ui.ground",
            Q.TECHNICAL,
            _means(_L.NO_DEPENDENCY, settles="ui.parts=existing"),
            _means(settles="ui.parts=new"),
            _means(settles="ui.parts=library"),
            unless=(_S.PLACE, _S.DEPENDENCIES),
        ),
        _ask("ui.keep", Q.CONSTRAINT, *[_OPEN] * 4, unless=(_S.COMPATIBILITY,), until=_KEEP_UNTIL),
        _ask(
            "ui.first",
            Q.PRIORITY,
            _means(_L.SOON),
            _means(_L.SOUND),
            _means(_L.CAREFUL),
            unless=(_S.PRIORITY,),
            until=_PRIORITY_UNTIL,
        ),
    ),
    Trait.GENERAL: (
        _ask("general.outcome", Q.CLARIFICATION, unless=(_S.ACCEPTANCE,)),
        _ask("general.extent", Q.SCOPE, *_EXTENT, unless=(_S.LIMIT, _S.PLACE), until=_EXTENT_UNTIL),
        _ask("general.ground", Q.TECHNICAL, unless=(_S.PLACE, _S.DEPENDENCIES)),
        _ask("general.keep", Q.CONSTRAINT, *_KEEP, unless=(_S.COMPATIBILITY,), until=_KEEP_UNTIL),
        _ask("general.first", Q.PRIORITY, *_FIRST, unless=(_S.PRIORITY,), until=_PRIORITY_UNTIL),
    ),
}
