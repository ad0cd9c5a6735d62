"""`ringi grant`: standing approvals, signed in advance and used within their budgets."""

from collections.abc import Iterator
from gettext import gettext as _
from pathlib import Path
from typing import Any, Final

import click
from msgspec import UNSET

from ringi.approvals.grant_document import Grant, GrantScope, GrantState, GrantSubject, RunTerms, count_uses
from ringi.cli.app import App, pass_app
from ringi.cli.arguments import Moment, choose_one, only_with, require_long, require_text, span_of
from ringi.cli.ask import sign_statement
from ringi.cli.plan_names import RUN
from ringi.kernel import codec
from ringi.kernel.text import GRANT_SHOWN, Text, moment
from ringi.plans import words
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import SpecKind
from ringi.runs.grant import GrantOptions, draft_for_run

_KINDS: Final = (SpecKind.CREATE, SpecKind.WRITE, SpecKind.PATCH)
_FILES: Final = 10
_LINES: Final = 300
_USES: Final = 10
"""How many uses of the largest size fit into the budgets in all."""


@click.group()
def grant() -> None:
    """Approve in advance, within limits that you sign."""


@grant.command("new")
@click.option("--for", "requester", metavar="with:AGENT|user:NAME", help="Who may ask.")
@click.option("--run", "run", metavar="RUN", type=RUN, help="The steps of this run, instead of --for.")
@click.option("--path", "globs", metavar="GLOB", multiple=True, help="Files, from the top; repeatable.")
@click.option("--risk", type=click.Choice(["low", "medium"]), help="At most (low; with --run, medium).")
@click.option(
    "--lines",
    type=click.IntRange(1),
    help="Lines each time (300), ten times as many in all; with --run, in all.",
)
@click.option("--hooks", is_flag=True, help="With --run: the repository's hooks may run.")
@click.option(
    "--until", type=Moment(end_of_day=True), metavar="DATE|7d", help="How long it holds (7d; with --run, 1d)."
)
@click.option(
    "--sign", metavar="KEY", type=click.Path(path_type=Path), required=True, help="The SSH key that signs it."
)
@pass_app
def new(app: App, /, sign: Path, **given: Any) -> None:
    """Sign a standing approval.

    What it covers is approved without asking, and recorded each time: files that are made or changed, up to
    10 each time and 100 in all. A high risk is never covered.

    With --run it covers the steps of one run, within what its plan allows. The run ends with a branch for you
    to review.
    """
    said = {name: value for name, value in given.items() if value not in (None, (), False)}
    if said.keys() >= {"run", "requester"}:
        raise choose_one("--for", "--run")
    if "hooks" in said and "run" not in said:
        raise only_with("--hooks", "--run")
    if not said.keys() & {"run", "requester"}:
        raise click.UsageError(_("Say who may ask: --for with:AGENT, --for user:NAME or --run RUN"))
    require_text(*said.get("globs", ()))
    if "run" in said:
        require_long(said["run"])
        subject = draft_for_run(app.workspace, said["run"], _grant_options(said), _moment(app, said, "1d"))
    else:
        subject = app.workspace.grants.draft(_scope(said), _moment(app, said, "7d"))
    made = _sign(app, subject, sign)
    if app.ui.as_json:
        app.ui.document(made)
    if subject.scope.run:
        app.ui.line(Text("Go on with the run:"), indent=2)
        app.ui.next_step(f"ringi continue {subject.scope.run.run_id}")


def _scope(said: dict[str, Any]) -> GrantScope:
    require_text(said["requester"])
    if "globs" not in said:
        raise click.UsageError(_("Say which files: --path GLOB"))
    lines = said.get("lines", _LINES)
    return GrantScope(
        requester=said["requester"],
        globs=said["globs"],
        kinds=_KINDS,
        max_risk=Risk(said.get("risk", "low")),
        files_per_use=_FILES,
        lines_per_use=lines,
        files_total=_FILES * _USES,
        lines_total=lines * _USES,
    )


def _grant_options(said: dict[str, Any]) -> GrantOptions:
    return GrantOptions(
        globs=said.get("globs", ()),
        lines=said.get("lines"),
        risk=Risk(said.get("risk", "medium")),
        hooks="hooks" in said,
    )


def _moment(app: App, said: dict[str, Any], usual: str) -> str:
    until: str = said.get("until", usual)
    seconds = span_of(until)
    return until if seconds is None else app.workspace.clock.after(seconds)


def grant_for_run(app: App, run_id: str, key: Path) -> None:
    """Signs that the steps of the run need no question, as far as its plan goes, for a day."""
    _sign(app, draft_for_run(app.workspace, run_id, GrantOptions(), _moment(app, {}, "1d")), key)


def _sign(app: App, subject: GrantSubject, key: Path) -> Grant:
    _describe(app, subject)
    grants, ui, who = app.workspace.grants, app.ui, app.workspace.person.user()
    given = grants.add(subject, who, sign_statement(app, key, grants.statement(subject, who)))
    name = given.id[:GRANT_SHOWN]
    line = Text("✓ standing approval {id} is signed by {name}", id=name, name=given.proof.principal or who)
    ui.line(line, style="green")
    ui.line(Text("Take it back at any time:"), indent=2)
    ui.next_step(f"ringi grant revoke {name}")
    return given


def _describe(app: App, subject: GrantSubject) -> None:
    """Everything that gets signed, in plain words."""
    ui, scope = app.ui, subject.scope
    ui.line(Text("Approved in advance: {who}", who=_who(scope)), style="bold")
    limits = _run_limits(scope, scope.run) if scope.run else _limits(scope)
    for line in (
        Text("files: {globs}", globs=", ".join(scope.globs)),
        *limits,
        Text("until {when} UTC", when=moment(subject.expires_at)),
        Text("in {workspace}", workspace=str(app.workspace.places.root)),
        Text("What is signed is sha256 {digest}", digest=codec.digest(codec.canonical(subject))),
    ):
        ui.line(line, indent=2)


def _limits(scope: GrantScope) -> Iterator[Text]:
    yield Text("kinds: {kinds}", kinds=", ".join(map(str, scope.kinds)))
    yield Text("risk: at most {risk}", risk=words.RISK[scope.max_risk])
    yield Text("each time: at most {files} files and {lines} lines",
               files=scope.files_per_use, lines=scope.lines_per_use)  # fmt: skip
    yield Text("in all: at most {files} files and {lines} lines",
               files=scope.files_total, lines=scope.lines_total)  # fmt: skip


def _run_limits(scope: GrantScope, terms: RunTerms) -> Iterator[Text]:
    yield Text("commits on branch {branch} only", branch=terms.branch)
    yield Text("risk: at most {risk}", risk=words.RISK[scope.max_risk])
    yield Text("steps: at most {steps}, lines: at most {lines}", steps=terms.steps, lines=scope.lines_total)
    if terms.dollars is not UNSET:
        yield Text("until the run has spent ${dollars}", dollars=f"{terms.dollars:.2f}")
    if terms.hooks:
        yield Text(
            "hooks that run with each commit, outside a sandbox: {hooks}", hooks=", ".join(terms.hooks)
        )


def _who(scope: GrantScope) -> Text:
    kind, _colon, name = scope.requester.partition(":")
    if scope.run:
        return Text("the steps of run {run}, as planned", run=name)
    if kind == "with":
        return Text("what {name} proposes, started by ringi with", name=name)
    return Text("what programs of the user {name} propose", name=name)


@grant.command("list")
@pass_app
def list_(app: App) -> None:
    """Every standing approval, what is left of it, and what became of it."""
    states, ui = app.workspace.grants.list(), app.ui
    if ui.as_json:
        ui.document(states)
        return
    if not states:
        ui.line(Text("There is no standing approval."))
        ui.next_step("ringi grant new --help")
        return
    for state in states:
        _show(app, state)


def _show(app: App, state: GrantState) -> None:
    ui, scope = app.ui, state.scope
    standing, style = _standing(app, state)
    name = state.grant.id[:GRANT_SHOWN]
    ui.line(Text("{id}  {who}  {standing}", id=name, who=_who(scope), standing=standing), style=style)
    kinds = Text("any change of files") if scope.run else ", ".join(map(str, scope.kinds))
    line = Text("{globs} · {kinds} · at most {risk} · signed by {name}",
                globs=", ".join(scope.globs), kinds=kinds,
                risk=words.RISK[scope.max_risk],
                name=state.grant.proof.principal or state.grant.approver)  # fmt: skip
    ui.line(line, indent=4)
    uses = count_uses(state.uses)
    files, lines = sum(use.files for use in uses), sum(use.lines for use in uses)
    if scope.run:
        line = Text("{steps} of {all_steps} steps · {lines} of {all_lines} lines",
                    steps=len(uses), all_steps=scope.run.steps,
                    lines=lines, all_lines=scope.lines_total)  # fmt: skip
    else:
        line = Text("uses: {count} · {files} of {all_files} files · {lines} of {all_lines} lines",
                    count=len(state.uses), files=files, all_files=scope.files_total,
                    lines=lines, all_lines=scope.lines_total)  # fmt: skip
    ui.line(line, indent=4)


def _standing(app: App, state: GrantState) -> tuple[Text, str]:
    if state.revoked_at:
        return Text("revoked {when}", when=moment(state.revoked_at)), "dim"
    if state.expires_at < app.workspace.clock.now():
        return Text("ended {when}", when=moment(state.expires_at)), "dim"
    return Text("until {when} UTC", when=moment(state.expires_at)), ""


@grant.command("revoke")
@click.argument("grant_id", metavar="ID")
@click.option("--reason", metavar="TEXT", default="", help="Kept in the log.")
@pass_app
def revoke(app: App, grant_id: str, reason: str) -> None:
    """End a standing approval now, also for plans it approved that are not carried out yet."""
    require_text(reason)
    state = app.workspace.grants.revoke(grant_id, reason)
    if app.ui.as_json:
        app.ui.document(state)
        return
    app.ui.line(Text("✓ standing approval {id} is revoked", id=state.grant.id[:GRANT_SHOWN]), style="green")
    app.ui.next_step("ringi grant list")
