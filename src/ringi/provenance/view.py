"""What `ringi verify RANGE` shows: what is not covered first, then whose approval covers what."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ringi.kernel.lines import Line, Style, line, step
from ringi.kernel.text import COMMIT_SHOWN, GRANT_SHOWN, Text
from ringi.provenance.verdict import (
    Evidence,
    FileVerdict,
    Level,
    LineVerdict,
    Mode,
    ProofProblem,
    RangeVerdict,
    at_least,
    weakest,
)

_MOST_OPEN: Final = 100
_MOST_COVERED: Final = 30


def range_lines(
    document: RangeVerdict, why: Mapping[str, Sequence[Text]], problems: Sequence[ProofProblem]
) -> Iterator[Line]:
    """`why` and `problems` are the document's, as translatable sentences."""
    yield line(_describe_range(document))
    if document.forge:
        yield line(Text("Reviews looked up in {project}", project=document.forge))
    for problem in problems:
        yield line(Text("! {problem}", problem=problem.what), Style.WARNING)
        yield from map(step, problem.commands)
    uncovered = document.uncovered
    for file in uncovered[:_MOST_OPEN]:
        yield line(Text("✗ {path}", path=file.path), Style.BAD)
        for reason in why.get(file.path, ()):
            yield line(reason, indent=4)
    yield from _rest_line(len(uncovered) - _MOST_OPEN)
    covered = [file for file in document.files if file.covered]
    for file in covered[:_MOST_COVERED]:
        yield _show_covered(file)
    yield from _rest_line(len(covered) - _MOST_COVERED)
    yield from _summary(document)
    unasked = not document.forge and document.subject in {"range", "commit"}
    if unasked and any(one.review for file in document.files for one in file.chain):
        yield line(Text("To look the reviews up on the forge:"))
        yield step(f"ringi verify {shlex.quote(document.name)} --reviews")


def _describe_range(document: RangeVerdict) -> Text:
    """What the name was taken for, and what is compared."""
    base, head = document.base[:COMMIT_SHOWN], document.head[:COMMIT_SHOWN]
    told = {"name": document.name, "base": base or Text("the beginning"), "head": head}
    match document.subject:
        case "range":
            return Text("Range {name}: {base} to {head}", **told)
        case "commit":
            return Text("Commit {name}: {base} to {head}", **told)
        case "run":
            return Text("Run {name}: {base} to {head}", **told)
        case _:
            return Text("Branch {name}: {base} to {head}", **told)


def _rest_line(count: int) -> Iterator[Line]:
    if count > 0:
        yield line(Text("… and {count} more; all of them with --json", count=count), Style.FAINT, indent=2)


def _show_covered(file: FileVerdict) -> Line:
    proven = at_least(file.level, Level.CONFIRMED)
    told = Text("{path}  {how}", path=file.path, how=_describe_proof(file))
    mark = Text("✓ {file}", file=told) if proven else Text("· {file}", file=told)
    return line(mark, Style.GOOD if proven else Style.PLAIN)


def _describe_proof(file: FileVerdict) -> Text:
    """By whom, at which level, and from which request: of the weakest link, which counts."""
    level = weakest(one.level for one in file.chain)
    link = next((one for one in reversed(file.chain) if one.level is level), file.chain[-1])
    how, origin = _describe_link(link, level), _origin(link)
    if origin is not None:
        how = Text("{how} · {origin}", how=how, origin=origin)
    if len(file.chain) > 1:
        how = Text("{how} · 1 step", "{how} · {count} steps", how=how, count=len(file.chain))
    return how


def _describe_link(link: Evidence, level: Level) -> Text:
    name, commit = link.by, link.commit[:COMMIT_SHOWN]
    match level:
        case Level.SIGNED if commit:
            return Text("own signed commit {id} of {name}", id=commit, name=name)
        case Level.SIGNED if link.replayed:
            return Text("signed by {name}, replayed on newer bytes", name=name)
        case Level.SIGNED:
            return Text("signed by {name}", name=name)
        case Level.CONFIRMED if commit:
            return Text("commit {id} of {name}, a merge of what others confirmed", id=commit, name=name)
        case Level.CONFIRMED if link.grant:
            return Text("standing approval {id} of {name}", id=link.grant[:GRANT_SHOWN], name=name)
        case Level.CONFIRMED:
            return Text("reviewed on the forge by {name}", name=name)
        case Level.UNASSISTED:
            return Text("commit {id} of {name}, without an agent", id=commit, name=name)
        case _ if link.review:
            return Text("reviewed by {name}, not confirmed here", name=name)
        case _:
            return Text("typed by {name}, not proven here", name=name)


def _origin(link: Evidence) -> Text | None:
    if link.step:
        step_of = link.step
        return Text(
            "step {step} of run {run}, request {request}",
            step=step_of.step_id,
            run=step_of.run_id,
            request=step_of.request_id or "?",
        )
    if link.plan:
        return Text("plan “{title}”", title=link.plan.title)
    return None


def _count(level: Level, count: int) -> Text:
    match level:
        case Level.SIGNED:
            return Text("{count} signed", count=count)
        case Level.CONFIRMED:
            return Text("{count} confirmed", count=count)
        case Level.UNASSISTED:
            return Text("{count} without an agent", count=count)
        case Level.TYPED:
            return Text("{count} typed", count=count)
        case Level.NONE:
            return Text("{count} by nobody", count=count)


def _summary(document: RangeVerdict) -> Iterator[Line]:
    total, uncovered = len(document.files), len(document.uncovered)
    if not total:
        yield line(Text("✓ Nothing differs"), Style.GOOD)
        return
    counts = Counter(file.level for file in document.files)
    parts = [_count(level, counts[level]) for level in Level if counts[level]]
    counted: Text = parts[0]
    for part in parts[1:]:
        counted = Text("{some}, {more}", some=counted, more=part)
    files = Text("Changed files: {counted}", counted=counted)
    if not uncovered:
        yield line(Text("✓ {files}", files=files), Style.GOOD)
    elif document.mode is Mode.REPORT:
        yield line(
            Text("! {files}. A report refuses nothing; --mode agents or strict does", files=files),
            Style.WARNING,
        )
    else:
        yield line(Text("✗ {files}; {count} not covered", files=files, count=uncovered), Style.BAD)


def why_lines(told: LineVerdict) -> Iterator[Line]:
    """What is behind one line, the nearest first."""
    place = f"{told.path}:{told.line}"
    yield line(Text("{place}  {text}", place=place, text=told.text.strip()), Style.STRONG)
    if not told.commit:
        yield line(Text("It is in no commit yet: nothing proves it in a clone."), indent=2)
        yield step("ringi log")
        return
    commit = told.commit[:COMMIT_SHOWN]
    yield line(Text("commit {id}  {title}", id=commit, title=told.title), indent=2)
    approval = told.approval
    if not approval:
        yield line(Text("no note of an approval brings it"), Style.WARNING, indent=2)
        return
    yield line(Text("{by}, {at}", by=_describe_link(approval, approval.level), at=approval.at[:19]), indent=2)
    if origin := _origin(approval):
        yield line(origin, indent=2)
    if told.step:
        yield line(Text("step: {title}", title=told.step), indent=2)
    if told.request:
        yield line(Text("request: {title}", title=told.request), indent=2)
    for decision in told.decisions:
        yield line(Text("decided: {decision}", decision=decision), indent=2)
    if approval.note:
        yield line(Text("note: {note}", note=approval.note), indent=2)
