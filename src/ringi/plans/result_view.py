"""The result of an execution: files, commands, readings, the commit."""

from collections.abc import Iterator, Mapping
from typing import Final

from ringi.errors import ExecutionAborted, UnknownCommand
from ringi.kernel.lines import Line, Style, line
from ringi.kernel.text import COMMIT_SHOWN, Text, restore_text, visible
from ringi.plans import words
from ringi.plans.execution import ExecutionResult, FileOpOutcome
from ringi.policy.spec_kind import CHANGING, ONLY_READING, SpecKind
from ringi.tree.action_spec import ActionSpecExt
from ringi.tree.commit_order import CommitOutcome
from ringi.tree.file_state import OpStatus

LAST_LINES: Final = 20
_LONGEST: Final = 500
_MOST_FILES: Final = 50
_STYLE: Final = {
    OpStatus.DONE: Style.GOOD,
    OpStatus.UNDONE: Style.WARNING,
    OpStatus.CONFLICT: Style.BAD,
    OpStatus.FAILED: Style.BAD,
    OpStatus.UNTOUCHED: Style.FAINT,
    OpStatus.UNKNOWN: Style.WARNING,
}

Specs = Mapping[str, ActionSpecExt]


def result_lines(result: ExecutionResult, specs: Specs, *, files: bool) -> Iterator[Line]:
    """One line for each, with the end of a command's output and the start of a file that was read."""
    left = _MOST_FILES
    for outcome in result.results:
        if not is_file(outcome, specs):
            yield _outcome_line(outcome, specs)
            first = specs[outcome.spec_id].base.kind in ONLY_READING
            yield from excerpt(outcome.output or "", first=first)
        elif files or outcome.status is not OpStatus.DONE:
            left -= 1
            if left >= 0:
                yield _outcome_line(outcome, specs)
    if left < 0:
        yield line(Text("… and {count} more", count=-left), indent=2)
    for path in result.kept:
        yield line(Text("Somebody wrote meanwhile; their bytes are in {path}", path=path), Style.WARNING)
    if result.commit:
        yield from commit_lines(result.commit)


def end_line(result: ExecutionResult, specs: Specs, name: str) -> Line:
    """How it ended, in one sentence."""
    if not result.overall_success:
        error = describe_abort(result, specs, name)
        return line(Text(error.message, **error.details), Style.BAD)
    count = files_written(result, specs)
    if not count:
        return line(Text("✓ done; no file was written by the plan itself"), Style.GOOD)
    if result.commit and result.commit.commit:
        return line(words.format_committed(count), Style.GOOD)
    commands = any(spec.base.kind is SpecKind.RUN for spec in specs.values())
    return line(words.format_written(count, commands=commands), Style.GOOD)


def files_written(result: ExecutionResult, specs: Specs) -> int:
    """A renamed file is one."""
    done = [one for one in result.results if one.status is OpStatus.DONE and is_file(one, specs)]
    return sum(one.spec_id not in specs or one.path != specs[one.spec_id].old_path for one in done)


def describe_abort(result: ExecutionResult, specs: Specs, name: str) -> ExecutionAborted | UnknownCommand:
    """With the first reason; what was optional stopped nothing."""
    for outcome in result.results:
        if outcome.status is OpStatus.UNKNOWN and outcome.spec_id in specs:
            what = words.action(specs[outcome.spec_id])
            return UnknownCommand(plan=name, spec=outcome.spec_id, command=what)
    troubled = [
        outcome.detail
        for outcome in result.results
        if outcome.detail and not (outcome.spec_id in specs and specs[outcome.spec_id].base.optional)
    ]
    return ExecutionAborted(plan=name, why=restore_text(troubled[0] if troubled else ""))


def is_file(outcome: FileOpOutcome, specs: Specs) -> bool:
    spec = specs.get(outcome.spec_id)
    return spec is None or spec.base.kind in CHANGING


def _outcome_line(outcome: FileOpOutcome, specs: Specs) -> Line:
    what = outcome.path if is_file(outcome, specs) else words.action(specs[outcome.spec_id])
    why = restore_text(outcome.detail) if outcome.detail else ""
    return line(_became(outcome.status, what, why), _STYLE[outcome.status], indent=2)


def _became(status: OpStatus, what: Text | str, why: Text | str) -> Text:
    if status is OpStatus.DONE:
        return Text("✓ {what}", what=what)
    if status is OpStatus.UNDONE:
        return Text("- {what}: taken back", what=what)
    if status is OpStatus.UNTOUCHED:
        return Text("- {what}: not touched", what=what)
    if status is OpStatus.UNKNOWN:
        return Text("! {what}: {why}", what=what, why=why)
    return Text("✗ {what}: {why}", what=what, why=why)


def commit_lines(outcome: CommitOutcome) -> Iterator[Line]:
    """The commit's id and how it differs from what was approved; or why there is none."""
    if not outcome.commit:
        yield line(Text("✗ not committed: {why}", why=restore_words(outcome.last_line)), Style.BAD, indent=2)
        if "\n" in outcome.why.strip():
            yield from excerpt(outcome.why)
        return
    yield line(Text("✓ commit {id}", id=short_id(outcome.commit)), Style.GOOD, indent=2)
    for note in filter(None, outcome.why.split("; ")):
        yield line(Text("! {note}", note=restore_words(note)), Style.WARNING, indent=6)


def restore_words(text: str) -> Text | str:
    """Our own sentences are translated; a hook's output is filtered like all untrusted text."""
    return restore_text(text) if visible(text) == text else text


def short_id(commit: str) -> str:
    return commit[:COMMIT_SHOWN]


def excerpt(text: str, *, first: bool = False, indent: int = 6) -> Iterator[Line]:
    """The last lines, or the first; --json has all of it."""
    rows = text.rstrip("\n").split("\n") if text.strip() else []
    more = len(rows) - LAST_LINES
    if more > 0 and not first:
        yield line(Text("… 1 line before", "… {count} lines before", count=more), Style.FAINT, indent=indent)
    for row in rows[:LAST_LINES] if first else rows[-LAST_LINES:]:
        yield line(row[:_LONGEST], indent=indent)
    if more > 0 and first:
        yield line(Text("… 1 line more", "… {count} lines more", count=more), Style.FAINT, indent=indent)
