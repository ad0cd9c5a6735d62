"""What is carried out, and what became of it: files, commands, readings."""

from typing import NoReturn

import click

from ringi.cli.app import App
from ringi.domain.execution import ExecutionResult, OpStatus
from ringi.domain.plan import SpecKind
from ringi.errors import CommitFailed, ExecutionAborted, RingiError
from ringi.plans.commit import last_line
from ringi.text import Text, stored
from ringi.views import words
from ringi.views.result import Specs, excerpt, is_file, result_lines, said


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
    count = sum(is_file(outcome, specs) for outcome in result.results if outcome.status is OpStatus.DONE)
    commands = any(spec.base.kind is SpecKind.RUN for spec in specs.values())
    if count:
        made = result.commit and result.commit.commit
        app.ui.line(_committed(count) if made else words.written(count, commands=commands), style="green")
        if result.commit and not made:
            fail(app, CommitFailed(plan=name, why=said(last_line(result.commit.why))))
        app.ui.next_step(f"ringi undo {name}")
        return
    app.ui.line(Text("✓ done; no file was written by the plan itself"), style="green")
    app.ui.next_step(f"ringi show {name}")


def _committed(count: int) -> Text:
    if count == 1:
        return Text("✓ 1 file written and committed; what else was staged still is")
    return Text("✓ {count} files written and committed; what else was staged still is", count=count)


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
    app.ui.show(result_lines(result, specs, files=files))


def show_text(app: App, text: str) -> None:
    app.ui.show(excerpt(text))
