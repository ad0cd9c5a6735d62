"""`ringi propose`: a plan, or a change plan, from a patch, from files or from another tree."""

import re
import sys
from pathlib import Path
from typing import Final

import click

from ringi.cli.app import App, pass_app
from ringi.cli.plans import describe
from ringi.domain.change_plan import DiagnosticRef, PlanBasis, PlanExplanation
from ringi.domain.events import Actor
from ringi.errors import Unreadable

_DIAGNOSTIC: Final = re.compile(r"(?P<file>.+?):(?P<line>[0-9]+):\s*(?P<message>.+)", re.DOTALL)
_STDIN: Final = "-"


class _Diagnostic(click.ParamType[DiagnosticRef]):
    name = "FILE:LINE:MESSAGE"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> DiagnosticRef:
        found = _DIAGNOSTIC.fullmatch(value)
        if found is None:
            self.fail(f"{value!r} is not FILE:LINE:MESSAGE", param, ctx)
        return DiagnosticRef(found["file"], found["message"], int(found["line"]))


class _NewFile(click.ParamType[tuple[str, str]]):
    name = "PATH=FILE"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        path, equals, source = value.partition("=")
        if not (path and equals and source):
            self.fail(f"{value!r} is not PATH=FILE", param, ctx)
        return path, source


@click.command()
@click.argument("words", metavar="[FILE|-]", required=False)
@click.option("--patch", metavar="FILE|-", help="A unified diff, as git diff writes it.")
@click.option("--file", "files", type=_NewFile(), multiple=True, help="PATH gets the content of FILE.")
@click.option("--delete", "deleted", metavar="PATH", multiple=True, help="PATH goes away.")
@click.option(
    "--tree", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Become like this folder."
)
@click.option("--again", metavar="PLAN", help="Carry a plan over to the project as it is now.")
@click.option("--normalise", is_flag=True, help="Mend line numbers, counts and headers as models write them.")
@click.option("--trigger", metavar="error|user_request|refactor", help="Make it a change plan, and say why.")
@click.option("--diagnostic", "diagnostics", type=_Diagnostic(), multiple=True, help="The error it is about.")
@click.option("--title", metavar="TEXT", help="What it is about, where no FILE says so.")
@click.option("--explain", metavar="TEXT", default="", help="What people should know; it decides nothing.")
@click.option("--as", "proposer", metavar="LABEL", default="", help="Who proposes it.")
@pass_app
def propose(
    app: App,
    words: str | None,
    patch: str | None,
    files: tuple[tuple[str, str], ...],
    deleted: tuple[str, ...],
    tree: Path | None,
    again: str | None,
    normalise: bool,
    trigger: str | None,
    diagnostics: tuple[DiagnosticRef, ...],
    title: str | None,
    explain: str,
    proposer: str,
) -> None:
    """Propose exact changes; nothing is written before a person approves them.

    With --trigger it becomes a change plan: valid for the project as it is now, with the files that depend on
    it and mechanical risk.
    """
    chosen = [patch is not None, bool(files or deleted), tree is not None, again is not None]
    if sum(chosen) != 1:
        raise click.UsageError("Say what to propose with one of: --patch, --file/--delete, --tree, --again")
    if patch == words == _STDIN:
        raise click.UsageError("Only one of them can come from standard input")
    if diagnostics and not (trigger or again):
        raise click.UsageError("--diagnostic belongs to a change plan: add --trigger error")
    from ringi.api import change  # noqa: PLC0415  # not needed to show help
    from ringi.plans.changing import Change  # noqa: PLC0415  # as above

    workspace = app.workspace
    proposer = proposer or workspace.parts.person.user()
    if again is not None:
        plan_id = change.propose_again(workspace, again)
    else:
        data = _patch(app, patch, files, deleted, tree)
        if normalise:
            data = change.normalised(workspace, data)
        content = _content(words, title, data)
        if trigger is None:
            plan_id = change.propose_patch(workspace, content, data, proposer=proposer)
        else:
            basis = PlanBasis(change.trigger_of(trigger), diagnostics)
            explanation = _explanation(explain)
            asked = Change(content, change.file_diffs(data), basis, explanation, proposer, actor=Actor.AI)
            plan_id = change.propose_change(workspace, asked)
    tell(app, plan_id)


def tell(app: App, plan_id: str) -> None:
    ref = app.workspace.parts.ledger.ref(plan_id)
    if app.ui.as_json:
        app.ui.document(ref)
        return
    describe(app, ref, app.workspace.plan.get(plan_id), app.workspace.plan.preview(plan_id))
    app.ui.next_step(f"ringi review {ref.name}")


def _patch(
    app: App,
    patch: str | None,
    files: tuple[tuple[str, str], ...],
    deleted: tuple[str, ...],
    tree: Path | None,
) -> bytes:
    if patch is not None:
        return _read(patch)
    from ringi.api import change  # noqa: PLC0415  # not needed to show help

    if tree is not None:
        return change.patch_to_tree(app.workspace, tree)
    contents: dict[str, bytes | None] = {path: _read(source) for path, source in files}
    return change.patch_of_contents(app.workspace, contents | dict.fromkeys(deleted))


def _content(words: str | None, title: str | None, patch: bytes) -> str:
    text = _read(words).decode("utf-8", "replace") if words else ""
    lines = [line for line in (title, text) if line]
    from ringi.api import change  # noqa: PLC0415  # not needed to show help

    return "\n\n".join(lines) or change.title_of_patch(patch)


def _explanation(text: str) -> PlanExplanation:
    summary, _, details = text.partition("\n")
    return PlanExplanation(summary, details.strip())


def _read(name: str) -> bytes:
    if name == _STDIN:
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise Unreadable(what=name, why=error.strerror or str(error)) from None
