"""What a review shows besides the diff: facts, warnings, checks, what the proposer is told."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import UNSET

from ringi.approvals.feedback import Amended
from ringi.kernel.lines import Style, TextSpan
from ringi.kernel.text import Text
from ringi.plans import words
from ringi.plans.commit import Announced
from ringi.plans.diff_view import DiffSection
from ringi.plans.document import (
    Overlap,
    PlanDocument,
    PlanPreview,
    PlanRef,
    PlanStatus,
    comments_now,
)
from ringi.plans.preview import diff_summary
from ringi.plans.view import find_lost_tests
from ringi.plans.waiting_view import standing
from ringi.policy.risk_level import Risk
from ringi.tree.check_result import CheckResult

_LAST_LINES: Final = 6
# How common test runners report their count: 12 passed, Ran 12 tests, 12 tests.
_COUNTED: Final = re.compile(r"\d+ (tests? )?passed|\bRan \d+ tests?|\b\d+ tests?\b", re.IGNORECASE)
_RISKS: Final = (Risk.LOW, Risk.MEDIUM, Risk.HIGH)


class Heading(NamedTuple):
    """Shown above the diff; computed once, because it reads the whole plan."""

    ref: PlanRef
    document: PlanDocument
    risk: Risk
    standing: tuple[TextSpan, ...]
    """What went wrong, or was undone; the most important."""
    said: tuple[TextSpan, ...]


def heading_of(ref: PlanRef, document: PlanDocument) -> Heading:
    """With the highest risk's first reason; `ringi show` has all of them."""
    state, risk = document.state, document.risk()
    said = []
    if state.status is not PlanStatus.PENDING_REVIEW and not ref.undone:
        said.append(TextSpan(words.status(ref), Style.STRONG))
    reasons = [(spec, given) for spec in state.action_specs for given in spec.risk_reasons]
    if reasons:
        spec, given = max(reasons, key=lambda one: _RISKS.index(one[0].risk))
        reason = words.reason(spec.base.path, given)
        because = Text("{risk} because {reason}", risk=words.RISK[risk], reason=reason)
        if len(reasons) > 1:
            because = Text("{line} and {count} more", line=because, count=len(reasons) - 1)
        said.append(TextSpan(because, words.RISK_STYLE[risk]))
    if state.merged_lines is not UNSET:
        said.append(TextSpan(words.format_merged(state.merged_lines)))
    if state.checks:
        worst = _worst(state.checks)
        if lost := find_lost_tests(state.action_specs):
            said.append(TextSpan(lost, Style.WARNING))
        said.append(TextSpan(words.tests(worst), Style.GOOD if worst.passed else Style.BAD))
    elif state.check_commands and state.status is PlanStatus.PENDING_REVIEW:
        said.append(TextSpan(Text("no check has run on exactly these bytes"), Style.FAINT))
    return Heading(ref, document, risk, tuple(standing(document)), tuple(said))


def commit_spans(commit: Announced) -> Iterator[TextSpan]:
    """The commit that follows the execution; the approval covers it too."""
    yield TextSpan(words.commit(commit.subject), Style.STRONG)
    yield from (TextSpan(line, Style.WARNING) for line in words.format_mixed(commit))


def warning_spans(document: PlanDocument, overlaps: Sequence[Overlap]) -> Iterator[TextSpan]:
    for other in overlaps:
        line = Text("! {plan} changes {paths} too", plan=other.name, paths=words.some(other.paths, 2))
        yield TextSpan(line, Style.WARNING)
    for left in document.plan.left_out:
        yield TextSpan(Text("! not in the plan: {left}", left=left), Style.WARNING)


def stale_paths(document: PlanDocument, sections: Sequence[DiffSection]) -> tuple[str, ...]:
    """Files that changed since the proposer saw them, among the loaded sections."""
    if document.state.status is PlanStatus.COMPLETED:
        return ()
    return tuple(section.path for section in sections if section.loaded and not section.content.fits)


def _worst(results: Sequence[CheckResult]) -> CheckResult:
    """One that failed, else one that may be about other bytes, else the newest."""
    return next(
        (one for one in sorted(results, key=lambda one: not one.exit_code) if not one.passed), results[-1]
    )


def check_outcome(results: Sequence[CheckResult]) -> tuple[TextSpan, Sequence[str]]:
    """The checks in one line, and the end of a failed check's output."""
    result = _worst(results)
    lines = result.output.rstrip().split("\n")
    if not result.passed:
        return TextSpan(words.check(result), Style.BAD), lines[-_LAST_LINES:] if result.exit_code else ()
    counted = [line.strip() for line in lines if _COUNTED.search(line)]
    told = Text("tests: exit code 0, {count}", count=counted[-1]) if counted else Text("tests: exit code 0")
    return TextSpan(told, Style.GOOD), ()


def preview_of(
    document: PlanDocument, sections: Sequence[DiffSection], overlaps: Sequence[Overlap]
) -> PlanPreview:
    """The same as `preview` without the diffs, from what is loaded already."""
    totals = document.state.previews
    found = []
    for spec, section in zip(document.state.action_specs, sections, strict=False):
        content = section.content
        lost = tuple(sorted(content.yours))
        found.append(diff_summary(spec, content.added, content.removed, binary=content.binary, lost=lost))
    return PlanPreview(
        files=totals.files if totals else (),
        diffs=tuple(found),
        risk_score=totals.risk_score if totals else 0.0,
        stale=stale_paths(document, sections),
        overlaps=tuple(overlaps),
        conflicts=tuple(one.conflict.about for section in sections for one in section.content.conflicts),
    )


def format_merged(lines: int, kept: Sequence[str]) -> Text:
    """After a merge with the person's files, and where their own version stays."""
    if kept:
        return Text(
            "{merged}; yours stays at {places}", merged=words.format_merged(lines), places=", ".join(kept)
        )
    return words.format_merged(lines)


def format_undecided(places: Sequence[str]) -> Text:
    """Why it cannot be applied yet."""
    shown = words.some(places, 3)
    if len(places) == 1:
        return Text("You both changed {place}. Decide it first.", place=shown)
    return Text(
        "1 conflict: {places}. Decide it first.",
        "{count} conflicts: {places}. Decide each first.",
        count=len(places),
        places=shown,
    )


def format_changed(what: Text, document: PlanDocument, risk_before: Risk) -> TextSpan:
    """After the person's change: what they did, and what the plan is now."""
    risk = document.risk()
    now = Text("now {risk}", risk=words.RISK[risk]) if risk is not risk_before else words.RISK[risk]
    version = Text("version {version}", version=document.plan.version)
    return TextSpan(join_texts([what, Text("still applies"), now, version]), Style.STRONG)


def amendments(document: PlanDocument) -> list[Amended]:
    """What the person changed in the last proposed version, in this review and earlier ones."""
    since = document.state.amended_from or document.plan.version
    given = [one.amended for one in document.state.feedback if one.amended]
    return [one for one in given if one.version > since]


def format_amended(did: Sequence[Amended]) -> Text:
    hunks, files = sum(one.hunks for one in did), sum(one.files for one in did)
    lines, contents = sum(one.lines for one in did), sum(one.contents for one in did)
    found = []
    if hunks:
        found.append(Text("1 hunk dropped", "{count} hunks dropped", count=hunks))
    if files:
        found.append(Text("1 file dropped", "{count} files dropped", count=files))
    if lines:
        found.append(Text("1 line edited", "{count} lines edited", count=lines))
    if contents:
        found.append(Text("1 file with other content", "{count} files with other content", count=contents))
    return join_texts(found, ", ")


def format_notice(document: PlanDocument) -> Text | None:
    """What the proposer will be told; None if there is nothing to tell."""
    did = amendments(document)
    found = [format_amended(did)] if did else []
    count = len(comments_now(document))
    if count:
        found.append(Text("1 comment", "{count} comments", count=count))
    if not found:
        return None
    who = document.plan.proposer or Text("the proposer")
    return Text("{who} will be told: {what} by you", who=who, what=join_texts(found, ", "))


def join_texts(texts: Sequence[Text], between: str = " · ") -> Text:
    """Sentences in one line, each translated by itself."""
    if not texts:
        return Text("{nothing}", nothing="")
    names = [f"t{number}" for number in range(len(texts))]
    return Text(between.join(f"{{{name}}}" for name in names), **dict(zip(names, texts, strict=True)))
