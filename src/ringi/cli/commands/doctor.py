"""`ringi doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec import UNSET

from ringi.agents import launch as beside
from ringi.agents.sandbox import AgentSandbox
from ringi.app.doctor import doctor_of
from ringi.app.doctor_checks import Finding, Mark
from ringi.cli.app import App, pass_app
from ringi.kernel.text import Text, shown, translated
from ringi.tree.copy import WorkCopy

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_MARKS = {Mark.GOOD: ("✓", "green"), Mark.NOTE: ("!", "yellow"), Mark.BAD: ("✗", "red")}


@click.command()
@click.option("--repair", is_flag=True, help="Fix what can be fixed.")
@click.option("--adopt", is_flag=True, help="Take over the ledger after the project was moved.")
@click.option("--accept-backup", is_flag=True, help="Go on with an older copy of the ledger.")
@pass_app
def doctor(app: App, repair: bool, adopt: bool, accept_backup: bool) -> None:
    """Check that everything is well; each ✗ shows the fix."""
    helper = doctor_of(app.root, app.environment)
    if accept_backup:
        app.ui.line(helper.accept_backup(), style="green")
    if adopt:
        app.ui.line(helper.adopt(), style="green")
    failed = False
    if repair:
        for finding in helper.repair(lambda workspace, copy: _take(app, workspace, copy)):
            if finding.mark is Mark.GOOD:
                app.ui.line(Text("fixed: {what}", what=finding.text), style="green")
            else:
                show_finding(app, finding)
                failed = failed or finding.mark is Mark.BAD
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


def show_finding(app: App, finding: Finding) -> None:
    mark, style = _MARKS[finding.mark]
    app.ui.line(f"{mark} {translated(finding.text)}", style=style)
    if finding.mend:
        app.ui.line(f"→ {shown(finding.mend)}", indent=4)


def _take(app: App, workspace: Workspace, copy: WorkCopy) -> Text:
    if copy.is_gone:
        copy.remove()
        return Text("an empty work copy was removed")
    command = copy.record.command or ("ringi", "with")
    with copy.claimed():
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
