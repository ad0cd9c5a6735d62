"""`ringi propose`: a plan from a text, specs, a patch, files or another tree; or a change plan."""

import gettext
import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import click

from ringi.cli.app import App, pass_app
from ringi.cli.arguments import STDIN, only_with, read_named, require_one_stdin, require_text
from ringi.cli.commands.specs import (
    extract_with_model,
    read_specs,
    require_extract,
    tell_added,
    tell_unplaced,
    with_unplaced,
)
from ringi.cli.plan_names import PLAN
from ringi.cli.plan_output import describe, tell_report
from ringi.cli.progress import progress_on
from ringi.errors import ModelFailed, NoBasis, NoExtra, NoModelKey, UnknownModel
from ringi.kernel.text import Text
from ringi.patch.render import FileDelta
from ringi.plans import from_patch as patches
from ringi.plans.change import ChangeDraft, Explained
from ringi.plans.change_plan import DiagnosticRef, PlanBasis, PlanExplanation, Trigger
from ringi.plans.document import MessageRef
from ringi.plans.extract import Extraction
from ringi.plans.propose import Remarks
from ringi.plans.titles import title_of_paths, title_of_specs
from ringi.plans.words import subject
from ringi.tree.action_spec import ActionSpec

_ = gettext.gettext

_DIAGNOSTIC: Final = re.compile(r"(?P<file>.+?):(?P<line>[1-9][0-9]{0,8}):\s*(?P<message>.+)", re.DOTALL)


class _Diagnostic(click.ParamType[DiagnosticRef]):
    name = "FILE:LINE:MESSAGE"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> DiagnosticRef:
        found = _DIAGNOSTIC.fullmatch(value)
        if found is None:
            self.fail(_("{value} is not {form}").format(value=value, form=self.name), param, ctx)
        return DiagnosticRef(found["file"], found["message"], int(found["line"]))


class _Message(click.ParamType[MessageRef]):
    name = "ID[@TIME]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> MessageRef:
        message, _at, moment = value.rpartition("@") if "@" in value else (value, "", "")
        if not message.strip() or not value.isprintable():
            self.fail(_("{value} is not {form}").format(value=value, form=self.name), param, ctx)
        return MessageRef(message, moment)


class _NewFile(click.ParamType[tuple[str, str]]):
    name = "PATH=FILE"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        path, equals, source = value.partition("=")
        if not (path and equals and source):
            self.fail(_("{value} is not {form}").format(value=value, form=self.name), param, ctx)
        return path, source


@click.command()
@click.argument("words", metavar="[FILE|-]", required=False)
@click.option("--specs", metavar="FILE|-", help="The plan's specs, as JSON.")
@click.option("--extract", is_flag=True, help="Take the specs from the text of FILE.")
@click.option("--with-model", is_flag=True, help="With --extract: ask the model about what was not placed.")
@click.option("--patch", metavar="FILE|-", help="A unified diff, as git diff writes it.")
@click.option("--file", "files", type=_NewFile(), multiple=True, help="PATH gets the content of FILE.")
@click.option("--delete", "deleted", metavar="PATH", multiple=True, help="Delete PATH.")
@click.option(
    "--tree",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Make the project like this folder.",
)
@click.option("--again", type=PLAN, metavar="PLAN", help="Carry a plan over to the project as it is now.")
@click.option("--fork", type=PLAN, metavar="PLAN", help="Make a new plan from a version of this one.")
@click.option(
    "--version", type=click.IntRange(1), metavar="N", help="With --fork: of this version, not the newest."
)
@click.option("--normalise", is_flag=True, help="Fix line numbers, counts and headers that models get wrong.")
@click.option("--trigger", metavar="error|user_request|refactor", help="Make it a change plan, and say why.")
@click.option("--diagnostic", "diagnostics", type=_Diagnostic(), multiple=True, help="The error it is about.")
@click.option("--title", metavar="TEXT", help="What it is about, if no FILE says so.")
@click.option("--explain", metavar="TEXT", default="", help="A note for people; it has no effect.")
@click.option("--rationale", metavar="TEXT", default="", help="Why it is needed.")
@click.option("--tag", "tags", metavar="WORD", multiple=True, help="A word to find it by.")
@click.option(
    "--source", "sources", type=_Message(), multiple=True, help="The message it comes from; @TIME says when."
)
@click.option("--as", "proposer", metavar="LABEL", default="", help="Who proposes it.")
@pass_app
def propose(
    app: App,
    words: str | None,
    specs: str | None,
    extract: bool,
    with_model: bool,
    patch: str | None,
    files: tuple[tuple[str, str], ...],
    deleted: tuple[str, ...],
    tree: Path | None,
    again: str | None,
    fork: str | None,
    version: int | None,
    normalise: bool,
    trigger: str | None,
    diagnostics: tuple[DiagnosticRef, ...],
    title: str | None,
    explain: str,
    rationale: str,
    tags: tuple[str, ...],
    sources: tuple[MessageRef, ...],
    proposer: str,
) -> None:
    """Propose exact changes; nothing is written before a person approves them.

    FILE holds the plan's text; alone it becomes a plan that gets its specs later, with ringi specs. With
    --trigger it becomes a change plan: valid for the project as it is now, with the files that depend on
    it and mechanical risk.
    """
    source = ChangeSource(specs, extract, patch, files, deleted, tree, again, fork, normalise)
    _check_usage(source, words, title, trigger)
    require_extract(extract=extract, with_model=with_model)
    of_changes: dict[str, object] = {"--diagnostic": diagnostics, "--explain": explain}
    if version is not None and fork is None:
        raise only_with("--version", "--fork")
    if again is not None or fork is not None:
        others: dict[str, object] = {
            "--title": title,
            "--rationale": rationale,
            "--tag": tags,
            "--source": sources,
            "--trigger": trigger,
            "FILE": words,
        }
        if again is not None:
            others["--as"] = proposer
        _refuse(of_changes | others, _("everything is taken from the plan"))
    elif trigger is None:
        _refuse(of_changes, _("it belongs to a change plan: add --trigger"))
    require_text(title, explain, rationale, *tags, proposer, *(found.message for found in diagnostics))
    if fork is not None:
        _fork(app, fork, version, proposer)
        return
    remarks = Remarks(rationale, tags, sources)
    proposer = proposer or app.workspace.person.user()
    if trigger is not None:
        basis = PlanBasis(trigger_of(trigger), diagnostics)
        tell(app, _change_plan(app, source, words, title, proposer, basis, explain, remarks))
    elif again is not None:
        tell(app, _again(app, again))
    elif extract:
        _propose_extracted(app, _content(words, title, ""), proposer, remarks, with_model=with_model)
    else:
        tell(app, _plan(app, source, words, title, proposer, remarks))


class ChangeSource(NamedTuple):
    """Where the change comes from; at most one is given, none for a plan of text alone."""

    specs: str | None
    extract: bool
    patch: str | None
    files: tuple[tuple[str, str], ...]
    deleted: tuple[str, ...]
    tree: Path | None
    again: str | None
    fork: str | None
    normalise: bool

    @property
    def ways(self) -> int:
        given = (self.specs, self.patch, self.tree, self.again, self.fork)
        return sum(one is not None for one in given) + self.extract + bool(self.files or self.deleted)

    @property
    def of_bytes(self) -> bool:
        """Whether it can become a change plan."""
        return bool(self.patch is not None or self.files or self.deleted or self.tree is not None)


def _check_usage(source: ChangeSource, words: str | None, title: str | None, trigger: str | None) -> None:
    texts = words is not None or (title is not None and not source.extract)
    allowed = texts if source.extract else source.ways == 1 or (source.ways == 0 and texts)
    if source.ways > 1 or not allowed:
        ways = "--specs, --extract, --patch, --file/--delete, --tree, --again, --fork"
        raise click.UsageError(_("Say what to propose: a FILE, or one of {ways}").format(ways=ways))
    if trigger is not None and not (source.of_bytes or source.again):
        raise click.UsageError(_("A change plan is made of exact diffs: --patch, --file/--delete or --tree"))
    if source.normalise and source.patch is None:
        raise only_with("--normalise", "--patch")
    read = [words, source.specs, source.patch, *(name for _, name in source.files)]
    require_one_stdin(read.count(STDIN))
    paths = [*source.deleted, *(path for path, _ in source.files)]
    if len(set(paths)) != len(paths):
        raise click.UsageError(_("A path is named twice"))


def _refuse(options: Mapping[str, object], why: str) -> None:
    for name, value in options.items():
        if value:
            raise click.UsageError(_("{option} cannot be given here; {why}").format(option=name, why=why))


def trigger_of(word: str) -> Trigger:
    try:
        return Trigger(word)
    except ValueError:
        raise NoBasis(found=word) from None


def _fork(app: App, plan: str, version: int | None, proposer: str) -> None:
    """Its specs are computed for the files as they are now."""
    tool = app.workspace.plan
    source = tool.find(plan)
    ref = tool.ref(app.workspace.versions.fork(source, version, proposer=proposer, actor=app.actor))
    if app.ui.as_json:
        app.ui.document(ref)
        return
    line = Text("{plan} is a new plan, made from {source}.", plan=ref.name, source=tool.ref(source).name)
    app.ui.line(line)
    app.ui.next_step(f"ringi show {ref.name}")


def _again(app: App, plan: str) -> str:
    return patches.propose_again(app.workspace, app.workspace.plan.find(plan))


def _plan(
    app: App, source: ChangeSource, words: str | None, title: str | None, proposer: str, remarks: Remarks
) -> str:
    workspace, actor = app.workspace, app.actor
    if source.specs is not None:
        given = read_specs(source.specs)
        content = _content(words, title, _title_of(given))
        return workspace.plan.propose_specs(content, given, proposer=proposer, actor=actor, remarks=remarks)
    if source.patch is not None:
        patch = _patch(app, source)
        paths = [path for path, _ in patches.split(patch)]
        content = _content(words, title, title_of_paths(paths))
        return patches.propose_patch(
            workspace, content, patch, proposer=proposer, actor=actor, remarks=remarks
        )
    if not source.of_bytes:
        content = _content(words, title, "")
        return workspace.plan.propose(content, proposer=proposer, actor=actor, **remarks._asdict())
    changes = _changes(app, source)
    content = _content(words, title, title_of_paths([found.path for found in changes]))
    return patches.propose_contents(
        workspace, content, changes, proposer=proposer, actor=actor, remarks=remarks
    )


def _title_of(specs: Sequence[ActionSpec]) -> str:
    if title := title_of_specs(specs):
        return title
    return f"Run {subject(specs[0])}" if specs else "Specs"


def _propose_extracted(app: App, content: str, proposer: str, remarks: Remarks, *, with_model: bool) -> None:
    """Keeps the plan with its text, even if no spec could be extracted."""
    tool = app.workspace.plan
    plan_id = tool.propose(content, proposer=proposer, actor=app.actor, **remarks._asdict())
    found = extract_with_model(app, plan_id) if with_model else app.workspace.extractor.extract(plan_id)
    report = None
    if found.specs:
        report = tool.set_action_specs(plan_id, found.specs, actor=app.actor, from_model=found.from_model)
    tell(app, plan_id, found)
    if with_model:
        tell_added(app, found)
    if report is not None:
        tell_report(app, report, app.workspace.plan_name(plan_id))


def _change_plan(
    app: App,
    source: ChangeSource,
    words: str | None,
    title: str | None,
    proposer: str,
    basis: PlanBasis,
    explain: str,
    remarks: Remarks,
) -> str:
    patch = _patch(app, source) if source.patch is not None else patches.patch_of(_changes(app, source))
    diffs = patches.file_diffs(patch)
    content = _content(words, title, title_of_paths([diff.file for diff in diffs]))
    actor = app.actor
    asked = ChangeDraft(content, diffs, basis, _explanation(explain), proposer, actor=actor, remarks=remarks)
    return patches.propose_change(app.workspace, asked, app.tell_progress, partial(_explain, app))


def _explain(app: App, change: ChangeDraft) -> Explained:
    """By the model, if one is set; without it, the change plan is as good."""
    try:
        with progress_on(app) as progress:
            return patches.explain_change(app.workspace, change, progress)
    except (ModelFailed, UnknownModel, NoModelKey, NoExtra) as error:
        why = Text(error.message, **error.details)
        app.ui.line(Text("! no explanation: {why}", why=why), style="yellow")
        return Explained()


def _patch(app: App, source: ChangeSource) -> bytes:
    patch = read_named(source.patch or STDIN)
    return patches.normalise_patch(app.workspace, patch) if source.normalise else patch


def _changes(app: App, source: ChangeSource) -> list[FileDelta]:
    if source.tree is not None:
        app.ui.line(Text("Reading {folder} …", folder=str(source.tree)), style="dim")
        return patches.changes_to_tree(app.workspace, source.tree)
    contents: dict[str, bytes | None] = {
        _from_root(app, path): read_named(name) for path, name in source.files
    }
    contents |= {_from_root(app, path): None for path in source.deleted}
    return patches.changes_of_contents(app.workspace, contents)


def _from_root(app: App, path: str) -> str:
    """A path is typed relative to the current folder."""
    if path.startswith("/"):
        return path
    here = app.start.resolve().relative_to(app.root).as_posix()
    return os.path.normpath(f"{here}/{path}") if ".." in path.split("/") else f"{here}/{path}"


def tell(app: App, plan_id: str, found: Extraction | None = None) -> None:
    ref = app.workspace.plan.ref(plan_id)
    # One after another: each may be large.
    app.workspace.flush()
    preview = None if app.ui.as_json else app.workspace.plan.preview(plan_id)
    document = app.workspace.plan.get(plan_id)
    if preview is None:
        app.ui.document(with_unplaced(ref, found))
    else:
        describe(app, ref, document, preview)
    if found:
        tell_unplaced(app, found)
        if not found.specs:
            app.ui.line(Text("No spec could be made from its text; the plan keeps the text."), style="yellow")
    if app.ui.as_json:
        return
    if document.state.action_specs:
        app.ui.next_step(f"ringi review {ref.name}")
    else:
        app.ui.next_step(
            f"ringi specs {ref.name} --file FILE" if found else f"ringi specs {ref.name} --extract"
        )


def _content(words: str | None, title: str | None, fallback: str) -> str:
    text = read_named(words).decode("utf-8", "replace") if words else ""
    return "\n\n".join(line for line in (title, text) if line) or fallback


def _explanation(text: str) -> PlanExplanation:
    summary, _, details = text.partition("\n")
    return PlanExplanation(summary, details.strip())
