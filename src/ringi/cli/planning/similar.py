"""A plan for a similar request, offered to the person who asks for one."""

import sys

from ringi.approvals.forge import ForgeTerms
from ringi.cli.app import App
from ringi.cli.ask import confirm
from ringi.cli.ui import cut
from ringi.errors import BadBrought
from ringi.kernel.lines import Style
from ringi.kernel.text import Text
from ringi.models.cache import PlanKind
from ringi.models.configured import PLAYBOOK
from ringi.plans.words import age
from ringi.sessions import similar_plan
from ringi.sessions.document import SessionView
from ringi.sessions.plan_cache import CachedPlanOffer


def can_ask(app: App) -> bool:
    """Whether a person reads and answers here; an agent never does."""
    at_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    return at_terminal and not app.ui.as_json and app.workspace.person.refusal() is None


def accepts(app: App, offer: CachedPlanOffer) -> bool:
    """Whether the person wants it; shown as what it is, and never taken for granted."""
    words = {"share": f"{offer.alike:.0%}", "age": age(offer.plan.made_at)}
    app.ui.prose(Text("There is a plan for a similar request ({share} alike, made {age}):", **words))
    app.ui.line(cut(" ".join(offer.plan.task.split()), app.ui.columns - 2), indent=2)
    return confirm(app, Text("Use it? [y/N]"))


def offer_similar(
    app: App, words: str, *, seated: bool, forge: ForgeTerms | None = None
) -> tuple[SessionView | None, CachedPlanOffer | None]:
    """A session with the design of a similar request, if the person wants it; and what could be offered."""
    if app.workspace.config.model == PLAYBOOK and app.workspace.roles(None).planner() is None:
        return None, None  # it costs nothing
    offer = similar_plan.find(app.workspace, PlanKind.DESIGN, words.strip())
    if offer is None or not (seated and can_ask(app)) or not accepts(app, offer):
        return None, offer
    try:
        return similar_plan.start_with(app.workspace, words, offer, app.actor, forge), offer
    except BadBrought as error:
        why = error.details["why"]
        app.ui.prose(Text("It no longer fits: {why}", why=why), Style.WARNING, mark="! ")
        return None, offer
