"""What is carried out, and what became of it: files, commands, readings."""

from collections.abc import Mapping
from typing import Final, NoReturn

import click

from ringi.cli.app import App
from ringi.domain.execution import CommitOutcome, ExecutionResult, FileOpOutcome, OpStatus
from ringi.domain.plan import (
    CHANGING,
    ONLY_READING,
    ActionSpecExt,
    PlanStatus,
    SpecKind,
)
from ringi.errors import CommitFailed, ExecutionAborted, RingiError
from ringi.plans.commit import last_line
from ringi.text import Text, stored, visible
from ringi.views import words

LAST_LINES: Final = 20
_MOST_FILES: Final = 50
_RUNNABLE: Final = frozenset([PlanStatus.APPROVED, PlanStatus.ABORTED])
_STYLE: Final = {
    OpStatus.DONE: "green",
    OpStatus.UNDONE: "yellow",
    OpStatus.CONFLICT: "red",
    OpStatus.FAILED: "red",
    OpStatus.UNTOUCHED: "dim",
    OpStatus.UNKNOWN: "yellow",
}

Specs = Mapping[str, ActionSpecExt]


def carry_out(app: App, plan_id: str, name: str, *, files: bool = False) -> None:
    """Executes what was approved and tells what became of it; `files` names each of them."""
    document = app.workspace.plan.get(plan_id)
    result = app.workspace.plan.execute(plan_id)
    specs = {spec.id: spec for spec in document.state.action_specs}
    if app.ui.as_json:
        app.ui.document(result)
    show_results(app, result, specs, files=files or not result.overall_success)
    if not result.overall_success:
        _tell_aborted(app, result, specs, name)
    count = sum(_is_file(outcome, specs) for outcome in result.results if outcome.status is OpStatus.DONE)
    commands = any(spec.base.kind is SpecKind.RUN for spec in specs.values())
    if count:
        made = result.commit and result.commit.commit
        app.ui.line(_committed(count) if made else words.written(count, commands=commands), style="green")
        if result.commit and not made:
            fail(app, CommitFailed(plan=name, why=_said(last_line(result.commit.why))))
        app.ui.next_step(f"ringi undo {name}")
        return
    app.ui.line(Text("✓ done; no file was written by the plan itself"), style="green")
    app.ui.next_step(f"ringi show {name}")


def _committed(count: int) -> Text:
    if count == 1:
        return Text("✓ 1 file written and committed; what else was staged still is")
    return Text("✓ {count} files written and committed; what else was staged still is", count=count)


def show_commit(app: App, outcome: CommitOutcome) -> None:
    """Its id, and what in it is not as approved; or why there is none."""
    if not outcome.commit:
        app.ui.line(Text("✗ not committed: {why}", why=_said(last_line(outcome.why))), style="red", indent=2)
        if "\n" in outcome.why.strip():
            show_text(app, outcome.why)
        return
    app.ui.line(Text("✓ commit {id}", id=short_id(outcome.commit)), style="green", indent=2)
    for note in filter(None, outcome.why.split("; ")):
        app.ui.line(Text("! {note}", note=_said(note)), style="yellow", indent=6)


def _said(said: str) -> Text | str:
    """Our own words are translated; a hook's are filtered like everything from outside."""
    return stored(said) if visible(said) == said else said


def short_id(commit: str) -> str:
    return commit[: words.COMMIT_SHOWN]


def _tell_aborted(app: App, result: ExecutionResult, specs: Specs, name: str) -> NoReturn:
    troubled = [
        outcome
        for outcome in result.results
        if outcome.detail and not (outcome.spec_id in specs and specs[outcome.spec_id].base.optional)
    ]
    aborted = ExecutionAborted(plan=name, why=stored(troubled[0].detail if troubled else ""))
    app.ui.line(Text("The rest can be executed again under the same approval:"), indent=2)
    app.ui.next_step(f"ringi execute {name}")
    fail(app, aborted)


def fail(app: App, error: RingiError) -> NoReturn:
    """A result that was printed as JSON is the one answer; the error then goes to people only."""
    if not app.ui.as_json:
        raise error
    app.ui.error(error)
    raise click.exceptions.Exit(error.exit_code)


def show_results(app: App, result: ExecutionResult, specs: Specs, *, files: bool) -> None:
    """One line for each, with the end of what a command printed and the start of what was read."""
    left = _MOST_FILES
    for outcome in result.results:
        if not _is_file(outcome, specs):
            _line(app, outcome, specs)
            _show_output(app, outcome, specs)
        elif files or outcome.status is not OpStatus.DONE:
            left -= 1
            if left >= 0:
                _line(app, outcome, specs)
    if left < 0:
        app.ui.line(Text("… and {count} more", count=-left), indent=2)
    for path in result.kept:
        app.ui.line(Text("Somebody wrote meanwhile; their bytes are in {path}", path=path), style="yellow")
    if result.commit:
        show_commit(app, result.commit)


def _is_file(outcome: FileOpOutcome, specs: Specs) -> bool:
    spec = specs.get(outcome.spec_id)
    return spec is None or spec.base.kind in CHANGING


def _line(app: App, outcome: FileOpOutcome, specs: Specs) -> None:
    spec = specs.get(outcome.spec_id)
    what = outcome.path if spec is None or _is_file(outcome, specs) else words.action(spec)
    why = stored(outcome.detail) if outcome.detail else ""
    app.ui.line(_became(outcome.status, what, why), style=_STYLE[outcome.status], indent=2)


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


def _show_output(app: App, outcome: FileOpOutcome, specs: Specs) -> None:
    spec = specs.get(outcome.spec_id)
    reading = spec is not None and spec.base.kind in ONLY_READING
    show_text(app, outcome.output or "", first=reading)


def show_text(app: App, text: str, *, first: bool = False, indent: int = 6) -> None:
    """Its last lines, or its first ones; whoever wants all of it asks for JSON."""
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    more = len(lines) - LAST_LINES
    if more > 0 and not first:
        app.ui.line(Text("… {count} lines before", count=more), style="dim", indent=indent)
    for line in lines[:LAST_LINES] if first else lines[-LAST_LINES:]:
        app.ui.line(Text("{line}", line=line[:_LONGEST]), indent=indent)
    if more > 0 and first:
        app.ui.line(Text("… {count} lines more", count=more), style="dim", indent=indent)


_LONGEST: Final = 500
