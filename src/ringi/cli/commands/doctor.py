"""`ringi doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec import UNSET

from ringi.agents.sandbox import AgentSandbox
from ringi.app.doctor import Doctor, DoctorFinding, Mark
from ringi.beside import launch as beside
from ringi.cli.app import App, pass_app
from ringi.cli.arguments import choose_one
from ringi.kernel.text import Text, show_value, translate
from ringi.models.cache import KeptCounts
from ringi.tree.copy import WorkCopy

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


_MARKS = {Mark.GOOD: ("✓", "green"), Mark.NOTE: ("!", "yellow"), Mark.BAD: ("✗", "red")}


@click.command()
@click.option("--repair", is_flag=True, help="Fix what can be fixed.")
@click.option("--adopt", is_flag=True, help="Take over the ledger after the project was moved.")
@click.option("--accept-backup", is_flag=True, help="Go on with an older copy of the ledger.")
@click.option("--cache", is_flag=True, help="Instead, show what the cache of model answers holds and saved.")
@click.option("--clear-cache", is_flag=True, help="Instead, remove the cache of model answers and its key.")
@pass_app
def doctor(app: App, repair: bool, adopt: bool, accept_backup: bool, cache: bool, clear_cache: bool) -> None:
    """Check that everything is well; each ✗ shows the fix.

    The same request on the same files is answered from the cache, without a call to a model. Only answers
    that were approved, or committed, are used again; entries are encrypted and expire after
    planning.cache.ttl seconds.
    """
    if cache or clear_cache:
        if cache + clear_cache + repair + adopt + accept_backup > 1:
            raise choose_one("--repair", "--adopt", "--accept-backup", "--cache", "--clear-cache")
        (_clear_cache if clear_cache else _show_cache)(app)
        return
    helper = Doctor(app.root, app.environment)
    if accept_backup:
        app.ui.line(helper.accept_backup(), style="green")
    if adopt:
        app.ui.line(helper.adopt(), style="green")
    failed = repair and not _repair(app, helper)
    findings = helper.examine()
    if app.ui.as_json:
        app.ui.document(
            [
                {"mark": finding.mark, "text": str(finding.text), "mend": str(finding.mend)}
                for finding in findings
            ]
        )
    else:
        for finding in findings:
            show_finding(app, finding)
    if failed or any(finding.mark is Mark.BAD for finding in findings):
        raise click.exceptions.Exit(1)


def _repair(app: App, helper: Doctor) -> bool:
    """False if something could not be fixed."""
    found = list(helper.repair(lambda workspace, copy: _take(app, workspace, copy)))
    for finding in found:
        if finding.mark is Mark.GOOD:
            app.ui.line(Text("fixed: {what}", what=finding.text), style="green")
        else:
            show_finding(app, finding)
    return all(finding.mark is not Mark.BAD for finding in found)


def show_finding(app: App, finding: DoctorFinding) -> None:
    mark, style = _MARKS[finding.mark]
    app.ui.line(f"{mark} {translate(finding.text)}", style=style)
    if finding.mend:
        app.ui.line(f"→ {show_value(finding.mend)}", indent=4)


def _take(app: App, workspace: Workspace, copy: WorkCopy) -> Text:
    if copy.is_gone:
        copy.remove()
        return Text("an empty work copy was removed")
    command = copy.record.command or ("ringi", "with")
    with copy.claim():
        taken = beside.take(
            workspace,
            copy,
            command,
            sandbox=AgentSandbox(None),
            environment=app.environment,
            agent_exit=UNSET if copy.record.ended_at else None,
        )
        if taken.plan is None and not taken.left_out:
            copy.remove()
            return Text("an unused work copy was removed")
    if taken.plan is None:
        return Text("a work copy is kept, because a plan cannot hold all of it: {path}", path=str(copy.tree))
    return Text("an agent's work copy became plan {plan}", plan=taken.plan.name)


_KILOBYTE = 1024


def _show_cache(app: App) -> None:
    found = app.workspace.cache.counts()
    if app.ui.as_json:
        app.ui.document(found)
        return
    _tell_cache(app, found)


def _tell_cache(app: App, found: KeptCounts) -> None:
    ui = app.ui
    kept = {"answers": found.answers, "plans": found.plans, "size": -(-found.bytes // _KILOBYTE)}
    ui.line(Text("Answers kept: {answers}, plans: {plans}, {size} KB", **kept))
    saved = {"calls": found.saved_calls, "tokens": f"{found.saved_tokens:,}"}
    ui.line(Text("Calls saved so far: {calls}, tokens: {tokens}", **saved))
    if (why := app.workspace.cache.why_not()) is not None:
        ui.line(Text("! off: {why}", why=why), style="yellow")
    elif found.answers or found.plans:
        ui.next_step("ringi doctor --clear-cache")


def _clear_cache(app: App) -> None:
    """All of it, and the key it was encrypted with."""
    count = app.workspace.cache.clear()
    if app.ui.as_json:
        app.ui.document({"removed": count})
    app.ui.line(Text("✓ removed: {count}", count=count), style="green")
