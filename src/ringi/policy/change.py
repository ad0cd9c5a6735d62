"""How risky a change plan is. Its specification fixes the criteria, so there are no others (CP-6)."""

from collections.abc import Sequence
from typing import Final

from ringi.domain.risk import CATEGORY, Category, Risk, RiskCode, RiskReason
from ringi.policy.files import critical_category, critical_files, mutable_state_files
from ringi.text import Text

MANY_FILES: Final = 5
"""More than these are medium."""
VERY_MANY_FILES: Final = 20
"""More than these are high."""


def change_risk(
    files: Sequence[str], critical: Sequence[str] = (), mutable: Sequence[str] = ()
) -> tuple[Risk, tuple[RiskReason, ...]]:
    """`critical` and `mutable` are the configured globs, besides the usual ones."""
    paths = sorted(set(files))
    grave = critical_files(paths, critical)
    state = mutable_state_files(paths, mutable)
    reasons = [RiskReason(RiskCode.CRITICAL_FILE, path) for path in grave]
    reasons += [RiskReason(RiskCode.MUTABLE_STATE, path) for path in state]
    if len(paths) > MANY_FILES:
        reasons.append(RiskReason(RiskCode.MANY_FILES, str(len(paths))))
    if grave or len(paths) > VERY_MANY_FILES:
        return Risk.HIGH, tuple(reasons)
    return (Risk.MEDIUM if reasons else Risk.LOW), tuple(reasons)


def words(reason: RiskReason) -> str:
    """A reason of `change_risk` as the document writes it."""
    if reason.code is RiskCode.MANY_FILES:
        return str(Text("{count} files change", count=reason.subject))
    if reason.code is RiskCode.MUTABLE_STATE:
        return str(Text("{path} is a database or a file of state", path=reason.subject))
    what = CATEGORY[critical_category(reason.subject) or Category.CONFIGURED]
    return str(Text("{path} is {what}", path=reason.subject, what=what))
