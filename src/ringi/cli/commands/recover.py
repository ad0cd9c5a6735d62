"""`ringi recover`: interrupted executions, and commands with an unknown outcome."""

import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

import click

from ringi.cli.app import App, pass_app
from ringi.cli.arguments import choose_one, only_with
from ringi.cli.ask import ask
from ringi.cli.plan_names import PLAN
from ringi.errors import UnknownCommand
from ringi.kernel.process.repository import Mended
from ringi.kernel.text import Text
from ringi.plans.execution import ExecutionResult
from ringi.plans.result_view import result_lines
from ringi.provenance.clone import mend_clone
from ringi.runs.ref_damage import find_missing_proofs, mend_refs

_DONE: Final = frozenset(["d", "done"])
_AGAIN: Final = frozenset(["a", "again"])


class _CutOff(NamedTuple):
    plan_id: str
    name: str
    spec_id: str
    command: str
    started_at: str

    @property
    def error(self) -> UnknownCommand:
        return UnknownCommand(plan=self.name, spec=self.spec_id, command=self.command)


@click.command()
@click.argument("plan", type=PLAN, required=False)
@click.option("--done", metavar="SPEC", multiple=True, help="This command has done its work.")
@click.option("--again", metavar="SPEC", multiple=True, help="Run this command again.")
@click.option("--notes", is_flag=True, help="Also write proofs that somebody deleted into the notes again.")
@pass_app
def recover(app: App, plan: str | None, done: tuple[str, ...], again: tuple[str, ...], notes: bool) -> None:
    """Settle what a crash interrupted.

    Whenever ringi starts, it settles interrupted files by itself; this shows how. If a command was
    interrupted, only you can say whether it is done or should run again. Notes and branches of runs that
    a loss of power damaged are rebuilt; notes in any clone. What somebody deleted stays deleted.
    """
    if (done or again) and not plan:
        raise only_with("--done" if done else "--again", "PLAN")
    if {*done} & {*again}:
        raise choose_one("--done", "--again")
    if not plan and not notes and not app.has_ledger:
        _tell_mended(app, [mend_clone(app.start, app.environment)], [])
        _tell_settled(app, None, settled=False)
        return
    workspace = app.workspace
    plan_id = workspace.plan.find(plan) if plan else None
    # What was cut off may need them.
    mended = list(mend_refs(workspace, deleted_notes=notes))
    results = [*workspace.recovered, *workspace.plan.recover()]
    for spec_id in done:
        workspace.plan.settle(plan_id or "", spec_id, done=True)
    for spec_id in again:
        workspace.plan.settle(plan_id or "", spec_id, done=False)
    _tell_mended(app, mended, results)
    for result in results:
        _tell(app, result)
    if missing := find_missing_proofs(workspace):
        line = Text("! the notes do not have the proofs of {plans}: somebody deleted them. "
                    "To write them again:", plans=", ".join(missing))  # fmt: skip
        app.ui.line(line, style="yellow")
        app.ui.next_step("ringi recover --notes")
    left = _cut_off(app, plan_id)
    if not left:
        _tell_settled(app, plan_id, settled=bool(done or again))
        return
    _settle_each(app, left)


def _tell_mended(app: App, mended: Sequence[Mended | None], results: Sequence[ExecutionResult]) -> None:
    """As JSON one list: what was mended in the repository, then the executions that were settled."""
    found = [one for one in mended if one]
    if app.ui.as_json:
        documents = [{**one._asdict(), "lines": [str(line) for line in one.lines]} for one in found]
        app.ui.document([*documents, *results])
    for line in (line for one in found for line in one.lines):
        app.ui.line(line, style="yellow")


def _tell(app: App, result: ExecutionResult) -> None:
    """File by file; opening the workspace has already reported the recovery."""
    specs = {spec.id: spec for spec in app.workspace.plan.get(result.plan_id).state.action_specs}
    app.ui.show(result_lines(result, specs, files=True))


def _tell_settled(app: App, plan_id: str | None, *, settled: bool) -> None:
    app.ui.line(Text("✓ nothing is left to settle"), style="green")
    if settled and plan_id:
        app.ui.next_step(f"ringi execute {app.workspace.plan_name(plan_id)}")


def _cut_off(app: App, plan_id: str | None) -> list[_CutOff]:
    """Commands that started but never ended, of one plan or of all."""
    tool = app.workspace.plan
    refs = [tool.ref(plan_id)] if plan_id else tool.list()
    return [
        _CutOff(ref.id, ref.name, start.spec_id, shlex.join(start.argv), start.started_at)
        for ref in refs
        for start in tool.cut_off(ref.id)
    ]


def _settle_each(app: App, left: list[_CutOff]) -> None:
    for one in left:
        line = Text("! {plan} {spec}: {command} was started at {at}, and nobody knows how it ended",
                    plan=one.name, spec=one.spec_id, command=one.command, at=one.started_at)  # fmt: skip
        app.ui.line(line, style="yellow")
    if app.ui.as_json or app.workspace.person.refusal():
        app.fail(left[0].error)
    unsettled = [one for one in left if not _ask(app, one)]
    for name in dict.fromkeys(one.name for one in left if one not in unsettled):
        app.ui.next_step(f"ringi execute {name}")
    if unsettled:
        raise unsettled[0].error


def _ask(app: App, one: _CutOff) -> bool:
    """True if the person settled it."""
    question = Text("{plan} {spec} {command}: [d]one, [a]gain, [l]eave it?",
                    plan=one.name, spec=one.spec_id, command=one.command)  # fmt: skip
    try:
        answer = ask(app, question).lower()
    except EOFError:
        return False
    if answer in _DONE | _AGAIN:
        app.workspace.plan.settle(one.plan_id, one.spec_id, done=answer in _DONE)
        return True
    return False
