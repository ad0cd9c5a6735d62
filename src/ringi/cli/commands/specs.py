"""`ringi specs`: what exactly a plan is to do."""

from collections.abc import Sequence

import click
import msgspec

from ringi.cli.app import App, pass_app
from ringi.cli.arguments import choose_one, document_in, only_with, read_named
from ringi.cli.plan_names import PLAN
from ringi.cli.plan_output import tell_report
from ringi.cli.progress import progress_on
from ringi.config.keys import DEFAULTS
from ringi.errors import InvalidSpecs, ModelFailed
from ringi.kernel.document import Document
from ringi.kernel.text import Text, restore_text, translate
from ringi.plans import words
from ringi.plans.extract import Extraction
from ringi.tree.action_spec import ActionSpec, ActionSpecExt


class SpecList(Document, frozen=True):
    specs: tuple[ActionSpec, ...]


@click.command()
@click.argument("plan", type=PLAN)
@click.option("--file", "source", metavar="FILE|-", help="Set the specs in this JSON.")
@click.option("--extract", is_flag=True, help="Set the specs that the plan's own text holds.")
@click.option("--with-model", is_flag=True, help="With --extract: ask the model about what was not placed.")
@pass_app
def specs(app: App, plan: str, source: str | None, extract: bool, with_model: bool) -> None:
    """List the specs of a plan, or set them.

    New ones make a new version of it. The JSON is a list of specs, or an object that holds one as "specs".
    """
    if source is not None and extract:
        raise choose_one("--file", "--extract")
    require_extract(extract=extract, with_model=with_model)
    plan_id = app.find_plan(plan)
    if source is not None:
        _set(app, plan_id, read_specs(source), None)
    elif extract:
        _set_extracted(app, plan_id, with_model=with_model)
    else:
        _list(app, plan_id)


def require_extract(*, extract: bool, with_model: bool) -> None:
    if with_model and not extract:
        raise only_with("--with-model", "--extract")


def _set_extracted(app: App, plan_id: str, *, with_model: bool) -> None:
    if not with_model:
        found = app.workspace.extractor.extract(plan_id)
        _set(app, plan_id, found.specs, found)
        return
    found = extract_with_model(app, plan_id)
    tell_added(app, found)
    _set(app, plan_id, found.specs, found)


def extract_with_model(app: App, plan_id: str) -> Extraction:
    """If the model fails, the plan stays unchanged and the command without the model is suggested."""
    try:
        with progress_on(app) as progress:
            return app.workspace.extractor.extract(plan_id, with_model=True, on_progress=progress)
    except ModelFailed:
        name = app.workspace.plan_name(plan_id)
        app.ui.line(Text("{plan} stays as it is. Without the model:", plan=name))
        app.ui.next_step(f"ringi specs {name} --extract")
        raise


def tell_added(app: App, found: Extraction) -> None:
    """What the model added, or why it added nothing."""
    if found.from_model:
        line = Text("The model added specs: {count}. Look at them closely.", count=len(found.from_model))
        app.ui.line(line, style="yellow")
    elif app.workspace.config.model == DEFAULTS.model:
        app.ui.line(Text("No model is configured, so nothing was added."), style="yellow")
        app.ui.line(Text("Set model in your configuration, or once with RINGI_MODEL=command:claude"))
    elif found.specs and not found.unplaced:
        app.ui.line(Text("The text left nothing open to ask the model about."))
    else:
        app.ui.line(Text("The model added nothing."), style="yellow")


def read_specs(source: str) -> tuple[ActionSpec, ...]:
    data = read_named(source)
    if data.lstrip().startswith(b"["):
        return document_in(data, tuple[ActionSpec, ...], source, "action-specs")
    return document_in(data, SpecList, source, "action-specs").specs


def _set(app: App, plan_id: str, given: Sequence[ActionSpec], found: Extraction | None) -> None:
    name = app.workspace.plan_name(plan_id)
    if not given:
        if found:
            tell_unplaced(app, found)
        why = Text("no spec could be made from its text") if found else Text("there are no specs")
        raise InvalidSpecs(plan=name, issues=why)
    from_model = found.from_model if found else ()
    report = app.workspace.plan.set_action_specs(plan_id, given, actor=app.actor, from_model=from_model)
    if app.ui.as_json:
        app.ui.document(with_unplaced(report, found))
    if found:
        tell_unplaced(app, found)
    tell_report(app, report, name)
    app.ui.line(Text("✓ all of it can be carried out; specs: {count}", count=len(given)), style="green")
    app.ui.next_step(f"ringi review {name}")


def with_unplaced(document: Document, found: Extraction | None) -> object:
    """The document, with the lines that became no spec, and which specs a model made."""
    if found is None:
        return document
    marked = {"from_model": [f"s{index + 1}" for index in found.from_model]} if found.from_model else {}
    return {**msgspec.to_builtins(document), "unplaced": found.unplaced, **marked}


def tell_unplaced(app: App, found: Extraction) -> None:
    for left in found.unplaced:
        line = Text("! line {line} was not placed ({why}): {text}",
                    line=left.line, why=restore_text(left.why), text=left.text)  # fmt: skip
        app.ui.line(line, style="yellow")


def _list(app: App, plan_id: str) -> None:
    state = app.workspace.plan.get_state(plan_id)
    found, by_model = state.action_specs, set(state.from_model or ())
    if app.ui.as_json:
        app.ui.document([_mark_by_model(spec) if spec.id in by_model else spec for spec in found])
        return
    name = app.workspace.plan_name(plan_id)
    if not found:
        app.ui.line(Text("{plan} has no specs yet.", plan=name))
        app.ui.next_step(f"ringi specs {name} --extract")
        return
    rows = [_row(spec, by_model=spec.id in by_model) for spec in found]
    app.ui.table(rows, [words.RISK_STYLE[spec.risk] for spec in found])
    app.ui.next_step(f"ringi show {name} --diff")


def _mark_by_model(spec: ActionSpecExt) -> object:
    return {**msgspec.to_builtins(spec), "from_model": True}


def _row(spec: ActionSpecExt, *, by_model: bool) -> list[str]:
    terms = [words.BY_MODEL] if by_model else []
    terms += [Text("optional")] if spec.base.optional else []
    terms += [Text("group {group}", group=spec.base.group)] if spec.base.group else []
    terms += [] if spec.validated else [Text("cannot be carried out: {why}", why=restore_text(spec.notes))]
    return [
        spec.id,
        str(spec.base.kind),
        words.subject(spec.base) + (f" → {spec.base.target}" if spec.base.target else ""),
        translate(words.RISK[spec.risk]),
        " · ".join(translate(term) for term in terms),
    ]
