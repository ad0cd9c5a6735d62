"""`ringi specs`: what exactly a plan is to do."""

from collections.abc import Sequence
from gettext import gettext as _

import click
import msgspec

from ringi.cli import words
from ringi.cli.app import App, pass_app
from ringi.cli.input import read_named
from ringi.cli.ui import stored, translated
from ringi.domain import codec
from ringi.domain.base import Document
from ringi.domain.extraction import Extraction
from ringi.domain.plan import ActionSpec, ActionSpecExt, ValidationReport
from ringi.errors import InvalidSpecs, Refused
from ringi.text import Text


class SpecList(Document, frozen=True):
    specs: tuple[ActionSpec, ...]


@click.command()
@click.argument("plan")
@click.option("--file", "source", metavar="FILE|-", help="Set the specs that stand in this JSON.")
@click.option("--extract", is_flag=True, help="Set the specs that the plan's own text holds.")
@pass_app
def specs(app: App, plan: str, source: str | None, extract: bool) -> None:
    """List the specs of a plan, or set them.

    New ones make a new version of it. The JSON is a list of specs, or an object that holds one as "specs".
    """
    if source is not None and extract:
        raise click.UsageError(_("Only one of --file and --extract can be given"))
    plan_id = app.workspace.parts.ledger.find(plan)
    if source is not None:
        _set(app, plan_id, read_specs(source), None)
    elif extract:
        found = app.workspace.plan.extract(plan_id)
        _set(app, plan_id, found.specs, found)
    else:
        _list(app, plan_id)


def read_specs(source: str) -> tuple[ActionSpec, ...]:
    data = read_named(source)
    if data.lstrip().startswith(b"["):
        return codec.foreign(data, tuple[ActionSpec, ...], source)
    return codec.foreign(data, SpecList, source).specs


def _set(app: App, plan_id: str, given: Sequence[ActionSpec], found: Extraction | None) -> None:
    name = app.workspace.plan_name(plan_id)
    if not given:
        if found:
            tell_unplaced(app, found)
        why = Text("nothing in its text could be made a spec") if found else Text("there are no specs")
        raise InvalidSpecs(plan=name, issues=why)
    report = app.workspace.plan.set_action_specs(plan_id, given)
    if app.ui.as_json:
        app.ui.document(with_unplaced(report, found))
    if found:
        tell_unplaced(app, found)
    tell_report(app, report, name)
    app.ui.line(Text("✓ all of it can be carried out; specs: {count}", count=len(given)), style="green")
    app.ui.next_step(f"ringi review {name}")


def with_unplaced(document: Document, found: Extraction | None) -> object:
    """The document, with what the text held and no spec was made of."""
    if found is None:
        return document
    return {**msgspec.to_builtins(document), "unplaced": found.unplaced}


def tell_unplaced(app: App, found: Extraction) -> None:
    for left in found.unplaced:
        line = Text("! line {line} was not placed ({why}): {text}",
                    line=left.line, why=stored(left.why), text=left.text)  # fmt: skip
        app.ui.line(line, style="yellow")


def tell_report(app: App, report: ValidationReport, name: str) -> None:
    """Each issue on its line; ends the command where there is one."""
    if report.ok:
        return
    for issue in report.issues:
        app.ui.line(Text("✗ {issue}", issue=stored(issue)), style="red")
    app.ui.next_step(f"ringi specs {name} --file FILE")
    raise click.exceptions.Exit(Refused.exit_code)


def _list(app: App, plan_id: str) -> None:
    found = app.workspace.plan.get_state(plan_id).action_specs
    if app.ui.as_json:
        app.ui.document(found)
        return
    name = app.workspace.plan_name(plan_id)
    if not found:
        app.ui.line(Text("{plan} has no specs yet.", plan=name))
        app.ui.next_step(f"ringi specs {name} --extract")
        return
    app.ui.table([_row(spec) for spec in found], [words.RISK_STYLE[spec.risk] for spec in found])
    app.ui.next_step(f"ringi show {name} --diff")


def _row(spec: ActionSpecExt) -> list[str]:
    terms = [Text("optional")] if spec.base.optional else []
    terms += [Text("group {group}", group=spec.base.group)] if spec.base.group else []
    terms += [] if spec.validated else [Text("cannot be carried out: {why}", why=stored(spec.notes))]
    return [
        spec.id,
        str(spec.base.kind),
        words.subject(spec.base) + (f" → {spec.base.target}" if spec.base.target else ""),
        translated(words.RISK[spec.risk]),
        " · ".join(translated(term) for term in terms),
    ]
