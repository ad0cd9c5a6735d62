"""`ringi grant`: standing approvals, signed in advance and used within their budgets."""

import re
from datetime import UTC, datetime
from gettext import gettext as _
from pathlib import Path
from typing import Final

import click

from ringi.cli.app import App, pass_app
from ringi.cli.arguments import require_text
from ringi.cli.ask import signed
from ringi.domain import codec
from ringi.domain.grant import GrantScope, GrantState, GrantSubject
from ringi.domain.plan import SpecKind
from ringi.domain.risk import Risk
from ringi.text import Text
from ringi.views import words

_SHOWN: Final = 8
_SECONDS: Final = {"h": 3600, "d": 86400}
_SPAN: Final = re.compile(r"([1-9][0-9]{0,3})([hd])")
_DAY_ONLY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_KINDS: Final = tuple(str(kind) for kind in SpecKind if kind is not SpecKind.CALL)
_USUAL_KINDS: Final = (SpecKind.CREATE, SpecKind.WRITE, SpecKind.PATCH)


class _Until(click.ParamType[str]):
    """A span, or a moment as text; a date without a time lasts to the end of that day."""

    name = "DATE|7d"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if _SPAN.fullmatch(value):
            return value
        text = f"{value}T23:59:59+00:00" if _DAY_ONLY.fullmatch(value) else value
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            self.fail(_("{value} is not {form}").format(value=value, form=self.name), param, ctx)
        # Without a time zone it means UTC, as everywhere in the output.
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()


@click.group()
def grant() -> None:
    """Approve in advance, within limits that you sign."""


@grant.command("new")
@click.option("--for", "requester", metavar="with:AGENT|user:NAME", required=True, help="Who may ask.")
@click.option(
    "--path", "globs", metavar="GLOB", multiple=True, required=True, help="Files, from the top; repeatable."
)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(_KINDS), help="Repeatable.")
@click.option(
    "--risk", type=click.Choice(["low", "medium"]), default="low", show_default=True, help="At most."
)
@click.option("--files", type=click.IntRange(1), default=10, show_default=True, help="Files each time.")
@click.option("--lines", type=click.IntRange(1), default=300, show_default=True, help="Lines each time.")
@click.option("--total-files", type=click.IntRange(1), default=100, show_default=True, help="Files in all.")
@click.option("--total-lines", type=click.IntRange(1), default=3000, show_default=True, help="Lines in all.")
@click.option(
    "--until", type=_Until(), metavar="DATE|7d", default="7d", show_default=True, help="How long it holds."
)
@click.option(
    "--sign", metavar="KEY", type=click.Path(path_type=Path), required=True, help="The SSH key that signs it."
)
@pass_app
def new(
    app: App,
    requester: str,
    globs: tuple[str, ...],
    kinds: tuple[str, ...],
    risk: str,
    files: int,
    lines: int,
    total_files: int,
    total_lines: int,
    until: str,
    sign: Path,
) -> None:
    """Sign a standing approval.

    What it covers is approved without asking, and recorded each time. A high risk, and commands outside a
    sandbox, are never covered.
    """
    require_text(requester, *globs)
    scope = GrantScope(
        requester=requester,
        globs=globs,
        kinds=tuple(map(SpecKind, dict.fromkeys(kinds))) or _USUAL_KINDS,
        max_risk=Risk(risk),
        files_per_use=files,
        lines_per_use=lines,
        files_total=total_files,
        lines_total=total_lines,
    )
    subject = app.workspace.grants.draft(scope, _moment(app, until))
    _describe(app, subject)
    _sign(app, subject, sign)


def _moment(app: App, until: str) -> str:
    if span := _SPAN.fullmatch(until):
        return app.workspace.clock.after(int(span[1]) * _SECONDS[span[2]])
    return until


def _sign(app: App, subject: GrantSubject, key: Path) -> None:
    grants, ui, who = app.workspace.grants, app.ui, app.workspace.person.user()
    given = grants.add(subject, who, signed(app, key, grants.statement(subject, who)))
    if ui.as_json:
        ui.document(given)
    name = given.id[:_SHOWN]
    line = Text("✓ standing approval {id} is signed by {name}", id=name, name=given.proof.principal or who)
    ui.line(line, style="green")
    ui.line(Text("Take it back at any time:"), indent=2)
    ui.next_step(f"ringi grant revoke {name}")


def _describe(app: App, subject: GrantSubject) -> None:
    """Everything that gets signed, in plain words."""
    ui, scope = app.ui, subject.scope
    ui.line(Text("Approved in advance: {who}", who=_who(scope)), style="bold")
    for line in (
        Text("files: {globs}", globs=", ".join(scope.globs)),
        Text("kinds: {kinds}", kinds=", ".join(map(str, scope.kinds))),
        Text("risk: at most {risk}", risk=words.RISK[scope.max_risk]),
        Text("each time: at most {files} files and {lines} lines",
             files=scope.files_per_use, lines=scope.lines_per_use),
        Text("in all: at most {files} files and {lines} lines",
             files=scope.files_total, lines=scope.lines_total),
        Text("until {when} UTC", when=words.moment(subject.expires_at)),
        Text("in {workspace}", workspace=str(app.workspace.places.root)),
        Text("What is signed is sha256 {digest}", digest=codec.digest(codec.canonical(subject))),
    ):  # fmt: skip
        ui.line(line, indent=2)


def _who(scope: GrantScope) -> Text:
    kind, _colon, name = scope.requester.partition(":")
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
    ui.line(Text("{id}  {who}  {standing}", id=state.grant.id[:_SHOWN], who=_who(scope), standing=standing),
            style=style)  # fmt: skip
    line = Text("{globs} · {kinds} · at most {risk} · signed by {name}",
                globs=", ".join(scope.globs), kinds=", ".join(map(str, scope.kinds)),
                risk=words.RISK[scope.max_risk],
                name=state.grant.proof.principal or state.grant.approver)  # fmt: skip
    ui.line(line, indent=4)
    files, lines = sum(use.files for use in state.uses), sum(use.lines for use in state.uses)
    line = Text("uses: {count} · {files} of {all_files} files · {lines} of {all_lines} lines",
                count=len(state.uses), files=files, all_files=scope.files_total,
                lines=lines, all_lines=scope.lines_total)  # fmt: skip
    ui.line(line, indent=4)


def _standing(app: App, state: GrantState) -> tuple[Text, str]:
    if state.revoked_at:
        return Text("revoked {when}", when=words.moment(state.revoked_at)), "dim"
    if state.expires_at < app.workspace.clock.now():
        return Text("ended {when}", when=words.moment(state.expires_at)), "dim"
    return Text("until {when} UTC", when=words.moment(state.expires_at)), ""


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
    app.ui.line(Text("✓ standing approval {id} is revoked", id=state.grant.id[:_SHOWN]), style="green")
    app.ui.next_step("ringi grant list")
