"""What is found out about a plan while the person reads: nothing on the first screen waits for it."""

import re
from collections.abc import Generator, Iterator, Sequence
from typing import Final

from ringi.cli.app import App
from ringi.cli.reviewing.model import Facts, Message
from ringi.cli.reviewing.render import Highlights
from ringi.cli.reviewing.rows import Part
from ringi.cli.term.cells import Line
from ringi.cli.term.highlight import highlighting
from ringi.domain.plan import (
    OPEN,
    CheckResult,
    DiffSummary,
    Overlap,
    PlanDocument,
    PlanPreview,
    PlanRef,
    PlanStatus,
    risk_of,
    title_of,
)
from ringi.domain.risk import Risk
from ringi.errors import NoCommit
from ringi.plans.preview import overlaps
from ringi.text import Text
from ringi.views import words

_LAST_LINES: Final = 6
# How the usual test programs say how many they were: 12 passed, Ran 12 tests, 12 tests, ok 12.
_COUNTED: Final = re.compile(r"\d+ (tests? )?passed|\bRan \d+ tests?|\b\d+ tests?\b", re.IGNORECASE)
_RISKS: Final = (Risk.LOW, Risk.MEDIUM, Risk.HIGH)


def overlaps_of(app: App, document: PlanDocument) -> tuple[Overlap, ...]:
    """Other open plans that change the same files."""
    if document.state.status is PlanStatus.COMPLETED:
        return ()
    return overlaps(app.workspace.services, document)


def facts_of(ref: PlanRef, document: PlanDocument) -> Facts:
    """Of the reasons for its risk the first one; all of them stand elsewhere."""
    state, risk = document.state, risk_of(document)
    said = [] if state.status is PlanStatus.PENDING_REVIEW else [Message(words.STATUS[state.status], "bold")]
    reasons = [(spec, given) for spec in state.action_specs for given in spec.risk_reasons]
    if reasons:
        spec, given = max(reasons, key=lambda one: _RISKS.index(one[0].risk))
        because = Text(
            "{risk} because {reason}", risk=words.RISK[risk], reason=words.reason(spec.base.path, given)
        )
        if len(reasons) > 1:
            because = Text("{line} and {count} more", line=because, count=len(reasons) - 1)
        said.append(Message(because, words.RISK_STYLE[risk]))
    if state.checks:
        worst = next((result for result in state.checks if result.exit_code), state.checks[-1])
        said.append(Message(words.check(worst), "red" if worst.exit_code else "green"))
    elif state.check_commands and state.status is PlanStatus.PENDING_REVIEW:
        said.append(Message(Text("no check has run on exactly these bytes"), "dim"))
    if state.commit:
        said.append(Message(Text("a commit follows: {title}", title=title_of(state.commit.message)), "bold"))
    return Facts(ref, document, risk, tuple(said))


def warnings_of(app: App, document: PlanDocument, overlaps: Sequence[Overlap]) -> tuple[Message, ...]:
    others = (
        Text("! {plan} changes {paths} too", plan=other.name, paths=words.some(other.paths, 2))
        for other in overlaps
    )
    left = (Text("! not in the plan: {left}", left=left) for left in document.plan.left_out)
    return (*_commit(app, document), *(Message(text, "yellow") for text in (*others, *left)))


def _commit(app: App, document: PlanDocument) -> Iterator[Message]:
    """What follows when it is carried out: a person approves that too."""
    if not document.state.commit or document.state.status not in OPEN:
        return
    try:
        found = app.workspace.plan.announced_commit(document.plan.id)
    except NoCommit as error:
        yield Message(Text("! {why}", why=Text(error.message, **error.details)), "yellow")
        return
    if found is None:
        return
    yield Message(words.commit(found), "bold")
    yield from (Message(line, "yellow") for line in words.mixed(found))


def stale_of(document: PlanDocument, parts: Sequence[Part]) -> tuple[str, ...]:
    """Files that are not as the proposer saw them, of those that were looked at."""
    if document.state.status is PlanStatus.COMPLETED:
        return ()
    return tuple(part.path for part in parts if part.loaded and not part.content.fits)


def highlighted(part: Part, highlights: Highlights) -> Iterator[None]:
    """A little at a time, so that no key waits for it."""
    old = yield from _lines(part.path, part.content.old)
    new = yield from _lines(part.path, part.content.new)
    highlights.put(part, old, new)


def _lines(path: str, data: bytes | None) -> Generator[None, None, list[Line] | None]:
    try:
        text = (data or b"").decode()
    except UnicodeDecodeError:
        return None
    return (yield from highlighting(path, text)) if text else None


def told_of(results: Sequence[CheckResult]) -> tuple[Message, Sequence[str]]:
    """The checks in one line; of one that failed, the end of what it printed."""
    result = next((one for one in results if one.exit_code), results[-1])
    lines = result.output.rstrip().split("\n")
    if result.exit_code:
        return Message(words.check(result), "red"), lines[-_LAST_LINES:]
    counted = [line.strip() for line in lines if _COUNTED.search(line)]
    told = Text("tests passed: {count}", count=counted[-1]) if counted else Text("tests passed")
    return Message(told, "green"), ()


def preview_of(document: PlanDocument, parts: Sequence[Part], overlaps: Sequence[Overlap]) -> PlanPreview:
    """What `preview` says, from what was looked at already; diffs are seen elsewhere."""
    totals = document.state.previews
    found = []
    for spec, part in zip(document.state.action_specs, parts, strict=False):
        content = part.content
        found.append(
            DiffSummary(
                spec_id=spec.id,
                path=spec.base.path,
                kind=spec.base.kind,
                added=content.added,
                removed=content.removed,
                binary=content.binary,
                risk=spec.risk,
                reasons=spec.risk_reasons,
                diff="",
            )
        )
    return PlanPreview(
        files=totals.files if totals else (),
        diffs=tuple(found),
        risk_score=totals.risk_score if totals else 0.0,
        stale=stale_of(document, parts),
        overlaps=tuple(overlaps),
    )
