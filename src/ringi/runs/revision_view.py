"""Revisions of the plan of a step: the one that waits as a diff, earlier ones in short."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ringi.engine.document import AddAction, Change, ModifyAction, RemoveAction
from ringi.engine.process import Process, RevisionRecord
from ringi.engine.revise import apply_revision
from ringi.kernel.lines import Line, Style, TextSpan, line, prose
from ringi.kernel.text import Text
from ringi.runs.process.revisions import difference

_STYLES: Final = {"+": Style.ADDED, "-": Style.REMOVED}
_MOST: Final = 3


def proposal_lines(process: Process, record: RevisionRecord, changed: Sequence[str]) -> Iterator[Line]:
    """What a person is asked to approve."""
    title = Text("{step}: the plan is to be revised", step=process.step_id or process.process_id)
    yield prose(title, Style.STRONG)
    told = dict.fromkeys([record.reflection.error, record.revision.reason])
    yield from (prose(words, indent=2) for words in told if words)
    yield line(Text("suggested by {who}", who=record.by), Style.FAINT, indent=2)
    for one in changed:
        first, *more = one.split("\n")
        style = _STYLES.get(one[:1], Style.PLAIN)
        yield Line((TextSpan(first, style),), indent=2, folds=True)
        yield from (Line((TextSpan(f"{one[:1]} {words}", style),), indent=2, folds=True) for words in more)


def revision_lines(processes: Iterable[Process]) -> Iterator[Line]:
    """For the status of a run: how often each plan was revised, the newest ones, and the one that waits."""
    for process in processes:
        waiting = process.proposed
        if waiting is not None and waiting.approved is None:
            after = apply_revision(process.plan, waiting.revision)
            found = proposal_lines(process, waiting, difference(process.plan, after))
            yield from (one._replace(indent=one.indent + 2) for one in found)
        if not process.revisions:
            continue
        count = Text("{step}: plan revised, {count} in all", step=process.step_id, count=process.revised)
        yield line(count, Style.FAINT, indent=2)
        for record in process.revisions[-_MOST:]:
            words = Text("{reason} ({who})", reason=record.revision.reason or "—", who=record.by)
            declined = [TextSpan(" · ", Style.FAINT), TextSpan(Text("declined"), Style.WARNING)]
            spans = [TextSpan(words, Style.FAINT), *(declined if record.approved is False else [])]
            yield Line(tuple(spans), indent=4, mark=f"{record.number}  ", folds=True)
            for change in record.revision.changes or ():
                if not isinstance(change, str):
                    yield _change_line(change)


def _change_line(change: Change) -> Line:
    match change:
        case AddAction():
            action = change.action
            told = [action.task_id, action.tool, action.purpose or action.description]
            words = " ".join(one for one in told if one)
            return line(f"+ {words}", Style.ADDED, indent=7)
        case ModifyAction():
            return line(f"~ {change.action_id}: {', '.join(change.updates)}", indent=7)
        case RemoveAction():
            return line(f"- {change.action_id}", Style.REMOVED, indent=7)
