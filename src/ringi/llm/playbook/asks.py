"""When a question is worth asking, and what its offered answers mean. The words stand per language."""

from collections.abc import Mapping
from typing import Final

from ringi.domain.session import QuestionType as Q
from ringi.llm.playbook.ask import EXTENT_UNTIL, KEEP_UNTIL, PRIORITY_UNTIL, ask, means
from ringi.llm.playbook.kinds import Ask, Lean, Reply, Said, Trait
from ringi.llm.playbook.lookalikes import ASKS as LOOKALIKES

_L = Lean
_S = Said
_OPEN: Final = Reply()


_KEEP: Final = (means(_L.KEEP), means(_L.NO_DEPENDENCY), means(_L.KEEP, _L.CAREFUL), _OPEN)
_FIRST: Final = (means(_L.SOON), means(_L.SOUND), means(_L.SPEED), means(_L.CAREFUL))
_EXTENT: Final = (means(_L.NARROW), _OPEN, means(_L.WIDE))


def _extent(narrow: str) -> tuple[Reply, ...]:
    """Where the narrowest answer also changes the steps."""
    return (means(_L.NARROW, settles=narrow), *_EXTENT[1:])


ASKS: Final[Mapping[Trait, tuple[Ask, ...]]] = {
    **LOOKALIKES,
    Trait.FEATURE: (
        ask("feature.example", Q.CLARIFICATION, unless=(_S.ACCEPTANCE,)),
        ask(
            "feature.extent", Q.SCOPE, *_extent("feature.extent=main"), unless=(_S.LIMIT,), until=EXTENT_UNTIL
        ),
        ask(
            "feature.ground",
            Q.TECHNICAL,
            means(settles="feature.home=near"),
            means(settles="feature.home=own"),
            means(settles="feature.home=library"),
            unless=(_S.PLACE, _S.DEPENDENCIES, _S.EXTENSION),
        ),
        ask(
            "feature.present",
            Q.TECHNICAL,
            means(settles="feature.join=near"),
            means(settles="feature.join=common"),
            means(settles="feature.join=apart"),
            only=_S.EXTENSION,
        ),
        ask(
            "feature.keep",
            Q.CONSTRAINT,
            *_KEEP,
            unless=(_S.COMPATIBILITY, _S.DEPENDENCIES, _S.KEPT),
            until=KEEP_UNTIL,
        ),
        ask("feature.first", Q.PRIORITY, *_FIRST, unless=(_S.PRIORITY,), until=PRIORITY_UNTIL),
    ),
    Trait.BUG: (
        ask("bug.reproduction", Q.CLARIFICATION, unless=(_S.TRIGGER, _S.ERROR, _S.ACCEPTANCE)),
        ask("bug.expected", Q.CLARIFICATION, unless=(_S.ACCEPTANCE,)),
        ask(
            "bug.extent",
            Q.SCOPE,
            means(_L.NARROW, settles="bug.extent=case"),
            means(_L.WIDE, settles="bug.extent=all"),
            means(_L.NARROW),
            unless=(_S.LIMIT,),
            until=EXTENT_UNTIL,
        ),
        ask("bug.since", Q.TECHNICAL, *[_OPEN] * 3, means(_L.UNKNOWN), unless=(_S.PLACE, _S.SINCE)),
        ask(
            "bug.notice",
            Q.CONSTRAINT,
            means(_L.KEEP),
            _OPEN,
            means(_L.FREE),
            unless=(_S.COMPATIBILITY,),
            until=KEEP_UNTIL,
        ),
        ask(
            "bug.first",
            Q.PRIORITY,
            means(_L.SOON, settles="bug.cause=guard"),
            means(_L.SOUND),
            means(_L.CAREFUL, settles="bug.first=both"),
            unless=(_S.PRIORITY,),
            until=PRIORITY_UNTIL,
        ),
    ),
    Trait.REFACTOR: (
        ask("refactor.aim", Q.CLARIFICATION, *[_OPEN] * 3, unless=(_S.ACCEPTANCE, _S.REASON), until=3),
        ask("refactor.extent", Q.SCOPE, *_EXTENT, unless=(_S.LIMIT,), until=EXTENT_UNTIL),
        ask(
            "refactor.net",
            Q.TECHNICAL,
            means(_L.TESTED, settles="refactor.net=existing"),
            means(_L.UNTESTED),
            means(_L.UNTESTED, settles="refactor.net=pin"),
            means(_L.UNTESTED, _L.UNKNOWN),
            unless=(_S.TESTS,),
            until=EXTENT_UNTIL,
        ),
        ask(
            "refactor.names",
            Q.CONSTRAINT,
            means(_L.KEEP, settles="refactor.names=keep"),
            means(_L.OUTSIDERS, settles="refactor.names=alias"),
            means(_L.FREE, settles="refactor.names=rename"),
            unless=(_S.COMPATIBILITY,),
        ),
        ask(
            "refactor.first",
            Q.PRIORITY,
            means(_L.CAREFUL),
            means(_L.SOON),
            means(_L.SOUND),
            unless=(_S.PRIORITY,),
            until=PRIORITY_UNTIL,
        ),
    ),
    Trait.PERFORMANCE: (
        ask("performance.figure", Q.CLARIFICATION, unless=(_S.MEASURE, _S.TARGET)),
        ask("performance.target", Q.CLARIFICATION, unless=(_S.TARGET,)),
        ask("performance.case", Q.SCOPE, *[_OPEN] * 4, unless=(_S.LIMIT, _S.TRIGGER)),
        ask("performance.where", Q.TECHNICAL, *[_OPEN] * 3, means(_L.UNKNOWN), unless=(_S.PLACE,)),
        ask(
            "performance.trade",
            Q.CONSTRAINT,
            means(_L.SOUND, _L.KEEP),
            _OPEN,
            means(_L.SPEED),
            means(_L.SPEED),
            unless=(_S.COMPATIBILITY,),
            until=KEEP_UNTIL,
        ),
        ask(
            "performance.enough",
            Q.PRIORITY,
            means(_L.SOON),
            means(_L.SOUND),
            means(_L.SPEED),
            unless=(_S.PRIORITY, _S.TARGET),
            until=PRIORITY_UNTIL,
        ),
    ),
    Trait.TESTS: (
        ask("tests.behaviour", Q.CLARIFICATION, unless=(_S.ACCEPTANCE, _S.TRIGGER)),
        ask("tests.extent", Q.SCOPE, *_extent("tests.extent=main"), unless=(_S.LIMIT,), until=EXTENT_UNTIL),
        ask(
            "tests.level",
            Q.TECHNICAL,
            means(settles="tests.level=unit"),
            means(settles="tests.level=together"),
            means(settles="tests.level=through"),
            unless=(_S.LEVEL,),
        ),
        ask(
            "tests.allowed",
            Q.CONSTRAINT,
            means(_L.KEEP),
            _OPEN,
            means(_L.FREE),
            unless=(_S.LIMIT, _S.COMPATIBILITY),
            until=KEEP_UNTIL,
        ),
        ask("tests.first", Q.PRIORITY, *[_OPEN] * 3, unless=(_S.PRIORITY, _S.PLACE), until=PRIORITY_UNTIL),
    ),
    Trait.DOCS: (
        ask("docs.reader", Q.CLARIFICATION, *[_OPEN] * 4, unless=(_S.AUDIENCE, _S.ACCEPTANCE)),
        ask("docs.extent", Q.SCOPE, *_EXTENT, unless=(_S.LIMIT, _S.PLACE), until=EXTENT_UNTIL),
        ask(
            "docs.examples",
            Q.TECHNICAL,
            means(settles="docs.examples=run"),
            means(settles="docs.examples=hand"),
            means(settles="docs.examples=none"),
            unless=(_S.TESTS,),
            until=3,
        ),
        ask("docs.form", Q.CONSTRAINT, means(_L.KEEP), means(_L.FREE), until=3),
        ask("docs.first", Q.PRIORITY, *[_OPEN] * 3, unless=(_S.PRIORITY, _S.REASON), until=PRIORITY_UNTIL),
    ),
    Trait.DEPENDENCY: (
        ask(
            "dependency.reason",
            Q.CLARIFICATION,
            means(_L.NARROW),
            _OPEN,
            means(_L.CAREFUL),
            unless=(_S.REASON, _S.ACCEPTANCE, _S.THREAT),
        ),
        ask(
            "dependency.extent",
            Q.SCOPE,
            means(_L.NARROW),
            _OPEN,
            means(_L.WIDE),
            unless=(_S.LIMIT,),
            until=EXTENT_UNTIL,
        ),
        ask("dependency.target", Q.TECHNICAL, _OPEN, means(_L.CAREFUL), unless=(_S.VERSION,)),
        ask("dependency.oldest", Q.CONSTRAINT, unless=(_S.COMPATIBILITY,), until=KEEP_UNTIL),
        ask(
            "dependency.trouble",
            Q.PRIORITY,
            means(_L.SOUND),
            means(_L.CAREFUL, settles="dependency.trouble=stay"),
            _OPEN,
            unless=(_S.PRIORITY,),
            until=PRIORITY_UNTIL,
        ),
    ),
    Trait.BUILD: (
        ask("build.event", Q.CLARIFICATION, unless=(_S.ACCEPTANCE, _S.EVENT)),
        ask("build.where", Q.SCOPE, *[_OPEN] * 4, unless=(_S.LIMIT, _S.EVENT, _S.FRESH)),
        ask(
            "build.ground",
            Q.TECHNICAL,
            means(settles="build.place=extend"),
            means(settles="build.place=file"),
            _OPEN,
            unless=(_S.PLACE, _S.REPLACEMENT, _S.FRESH),
        ),
        ask("build.checks", Q.TECHNICAL, *[_OPEN] * 3, unless=(_S.CHECKS,), only=_S.FRESH),
        ask(
            "build.keep",
            Q.CONSTRAINT,
            means(_L.CAREFUL),
            means(_L.SPEED),
            means(_L.NO_DEPENDENCY),
            _OPEN,
            unless=(_S.COMPATIBILITY, _S.MEASURE),
            until=KEEP_UNTIL,
        ),
        ask(
            "build.first",
            Q.PRIORITY,
            means(_L.CAREFUL),
            means(_L.WIDE),
            means(_L.SPEED),
            unless=(_S.PRIORITY,),
            until=PRIORITY_UNTIL,
        ),
    ),
    Trait.REMOVAL: (
        ask(
            "removal.users",
            Q.CLARIFICATION,
            means(_L.FREE),
            means(_L.OUTSIDERS),
            means(_L.UNKNOWN, _L.CAREFUL),
            unless=(_S.UNUSED,),
        ),
        ask(
            "removal.extent", Q.SCOPE, *_extent("removal.extent=code"), unless=(_S.LIMIT,), until=EXTENT_UNTIL
        ),
        ask("removal.instead", Q.TECHNICAL, *[_OPEN] * 2, unless=(_S.REPLACEMENT, _S.UNUSED), until=3),
        ask(
            "removal.grace",
            Q.CONSTRAINT,
            means(_L.FREE, settles="removal.way=now"),
            means(_L.OUTSIDERS, settles="removal.way=warn"),
            unless=(_S.COMPATIBILITY, _S.UNUSED),
        ),
        ask(
            "removal.first",
            Q.PRIORITY,
            means(_L.SOON),
            means(_L.OUTSIDERS),
            means(_L.CAREFUL),
            unless=(_S.PRIORITY,),
            until=PRIORITY_UNTIL,
        ),
    ),
    Trait.SECURITY: (
        ask("security.threat", Q.CLARIFICATION, *[_OPEN] * 4, unless=(_S.THREAT,)),
        ask("security.extent", Q.SCOPE, *_extent("security.extent=one"), unless=(_S.LIMIT,)),
        ask(
            "security.ground",
            Q.TECHNICAL,
            means(_L.NO_DEPENDENCY),
            means(_L.NO_DEPENDENCY),
            _OPEN,
            means(_L.UNKNOWN),
            unless=(_S.PLACE, _S.DEPENDENCIES),
        ),
        ask(
            "security.keep",
            Q.CONSTRAINT,
            means(_L.KEEP),
            _OPEN,
            means(_L.FREE),
            unless=(_S.COMPATIBILITY,),
            until=KEEP_UNTIL,
        ),
        ask(
            "security.urgency",
            Q.PRIORITY,
            means(_L.SOON),
            _OPEN,
            means(_L.CAREFUL),
            unless=(_S.PRIORITY,),
            until=PRIORITY_UNTIL,
        ),
    ),
    Trait.MIGRATION: (
        ask("migration.shapes", Q.CLARIFICATION, unless=(_S.ACCEPTANCE,)),
        ask(
            "migration.readers",
            Q.SCOPE,
            means(_L.FREE),
            _OPEN,
            means(_L.OUTSIDERS),
            means(_L.OUTSIDERS, _L.UNKNOWN),
        ),
        ask(
            "migration.amount",
            Q.TECHNICAL,
            _OPEN,
            means(_L.MUCH, _L.CAREFUL),
            means(_L.MUCH),
            means(_L.NONE_STORED),
            unless=(_S.MEASURE, _S.OUTPUT),
        ),
        ask(
            "migration.grace",
            Q.CONSTRAINT,
            means(_L.FREE, settles="migration.way=once"),
            means(_L.CAREFUL, settles="migration.way=expand"),
            means(_L.OUTSIDERS, settles="migration.way=expand"),
            means(_L.OUTSIDERS, settles="migration.way=versions"),
            unless=(_S.COMPATIBILITY, _S.ADDITIVE),
        ),
        ask(
            "migration.first",
            Q.PRIORITY,
            means(_L.CAREFUL),
            means(_L.CAREFUL, _L.MUCH),
            means(_L.SOON),
            unless=(_S.PRIORITY,),
            until=PRIORITY_UNTIL,
        ),
    ),
    Trait.UI: (
        ask("ui.story", Q.CLARIFICATION, unless=(_S.ACCEPTANCE,)),
        ask("ui.extent", Q.SCOPE, *_extent("ui.extent=normal"), unless=(_S.LIMIT,), until=EXTENT_UNTIL),
        ask(
            "ui.ground",
            Q.TECHNICAL,
            means(_L.NO_DEPENDENCY, settles="ui.parts=existing"),
            means(settles="ui.parts=new"),
            means(settles="ui.parts=library"),
            unless=(_S.PLACE, _S.DEPENDENCIES),
        ),
        ask("ui.keep", Q.CONSTRAINT, *[_OPEN] * 4, unless=(_S.COMPATIBILITY,), until=KEEP_UNTIL),
        ask(
            "ui.first",
            Q.PRIORITY,
            means(_L.SOON),
            means(_L.SOUND),
            means(_L.CAREFUL),
            unless=(_S.PRIORITY,),
            until=PRIORITY_UNTIL,
        ),
    ),
    Trait.GENERAL: (
        ask("general.outcome", Q.CLARIFICATION, unless=(_S.ACCEPTANCE,)),
        ask(
            "general.extent",
            Q.SCOPE,
            means(_L.NARROW),
            means(_L.WIDE),
            unless=(_S.LIMIT, _S.PLACE),
            until=EXTENT_UNTIL,
        ),
        ask("general.ground", Q.TECHNICAL, unless=(_S.PLACE, _S.DEPENDENCIES)),
        ask("general.keep", Q.CONSTRAINT, *_KEEP, unless=(_S.COMPATIBILITY, _S.KEPT), until=KEEP_UNTIL),
        ask("general.first", Q.PRIORITY, *_FIRST, unless=(_S.PRIORITY,), until=PRIORITY_UNTIL),
    ),
}
