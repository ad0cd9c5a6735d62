"""What is said once a person has answered."""

from ringi.cli.app import App
from ringi.text import Text


def tell_sent_back(app: App, plan_id: str, name: str) -> None:
    from ringi.api.beside_copies import has_copy  # noqa: PLC0415  # work copies, which a review does without

    app.ui.line(Text("{plan} is sent back; your words stand in it.", plan=name))
    if has_copy(app.workspace, plan_id):
        app.ui.line(Text("Let the agent go on with them, in the same copy:"), indent=2)
        app.ui.next_step(f"ringi with --resume {name}")
    else:
        app.ui.next_step(f"ringi show {name}")
