"""`ringi undo`: bring the files back to before a plan."""

import click

from ringi.cli.app import EXIT_PERSON_NEEDED, App, pass_app
from ringi.cli.ask import ask, is_yes, require_terminal
from ringi.cli.review import tell
from ringi.domain.approval import TypedAnswer
from ringi.text import Text


@click.command()
@click.argument("plan", required=False)
@pass_app
def undo(app: App, plan: str | None) -> None:
    """Bring the files back to before a plan; without PLAN, the newest that was carried out."""
    tool, ui = app.workspace.plan, app.ui
    name = app.workspace.parts.ledger.ref(app.workspace.parts.ledger.find(plan)).name if plan else ""
    require_terminal(app, f"ringi undo {name}".rstrip())
    asked, done = tool.ask_undo(plan)
    name = app.workspace.parts.ledger.ref(asked.plan_id).name
    for change in done.changes:
        ui.line(change_line(change.path, made=change.before is None, deleted=change.after is None), indent=2)
    try:
        answer = ask(app, _question(len(done.changes), name))
    except EOFError:
        answer = "n"
    if not is_yes(answer):
        ui.line(Text("Nothing was changed."))
        raise click.exceptions.Exit(EXIT_PERSON_NEEDED)
    who = app.workspace.parts.person.user()
    result = tool.undo(asked.plan_id, who, TypedAnswer(asked.digest, answer))
    if ui.as_json:
        ui.document(result)
    tell(app, result, name)
    ui.line(Text("✓ restored byte for byte"), style="green")


def _question(count: int, name: str) -> Text:
    if count == 1:
        return Text("1 file goes back to before {plan}. Go? [y/n]", plan=name)
    return Text("{count} files go back to before {plan}. Go? [y/n]", count=count, plan=name)


def change_line(path: str, *, made: bool, deleted: bool) -> Text:
    if made:
        return Text("{path} goes away again", path=path)
    if deleted:
        return Text("{path} comes back", path=path)
    return Text("{path} gets its earlier bytes back", path=path)
