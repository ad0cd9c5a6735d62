"""Tests that a plan takes away: after that, an exit code of 0 says less than it seems to."""

from collections.abc import Sequence
from typing import Final

from ringi.kernel.text import Text
from ringi.plans import words
from ringi.policy.risk_level import RiskCode
from ringi.project.context import FileKind
from ringi.project.kinds import kinds_of
from ringi.tree.action_spec import ActionSpecExt

_GONE: Final = frozenset([RiskCode.DELETE, RiskCode.EMPTIED])


def lost_tests(specs: Sequence[ActionSpecExt]) -> Text | None:
    gone = [spec.base.path for spec in specs if _GONE & {reason.code for reason in spec.risk_reasons}]
    kinds = kinds_of(gone)
    paths = [path for path in gone if kinds[path] is FileKind.TEST]
    return Text("! tests were deleted or emptied: {paths}", paths=words.some(paths, 2)) if paths else None
