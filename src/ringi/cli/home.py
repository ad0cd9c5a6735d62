"""`ringi` alone: what waits for you, and the next command."""

from ringi.cli import words
from ringi.cli.app import App
from ringi.cli.ui import translated
from ringi.domain.plan import PlanRef, PlanStatus
from ringi.domain.risk import Risk
from ringi.text import Text
from ringi.wiring.moved import ADOPT, earlier_place

_MOST = 20


def home(app: App) -> None:
    ui = app.ui
    waiting = app.plans.refs(limit=_MOST, waiting=True)
    if ui.as_json:
        ui.document({"waiting": waiting})
        return
    if not waiting and not app.plans.count() and (earlier := earlier_place(app.places)):
        ui.line(Text("This workspace was at {path} before.", path=str(earlier.path)), style="yellow")
        ui.next_step(ADOPT)
        return
    if not waiting:
        ui.line(Text("Nothing waits for you."))
        ui.line(Text("Let an agent work in a copy of this project:"))
        ui.next_step("ringi with -- COMMAND")
        return
    ui.line(Text("{count} waiting", count=len(waiting)), style="bold")
    for ref in waiting:
        _one(app, ref)
    ui.next_step("ringi review" if len(waiting) == 1 else f"ringi review {waiting[0].name}")


def _one(app: App, ref: PlanRef) -> None:
    ui = app.ui
    risk = translated(words.RISK[ref.risk])
    facts = Text(
        "{name}  {title}   {proposer}   {size}   {risk}",
        name=ref.name,
        title=ref.title,
        proposer=ref.proposer,
        size=words.size(ref.files, ref.added, ref.removed),
        risk=risk,
    )
    ui.line(facts, style="bold" if ref.risk is Risk.HIGH else "", indent=2)
    if ref.status is not PlanStatus.PENDING_REVIEW:
        ui.line(words.STATUS[ref.status], indent=6)
    document = app.plans.plan(ref.id).document
    for spec in document.state.action_specs:
        for given in spec.risk_reasons:
            _because(app, spec.risk, words.reason(spec.base.path, given))
    if document.change and ref.risk not in {spec.risk for spec in document.state.action_specs}:
        for reason in document.change.risk.reasons:
            _because(app, document.change.risk.level, reason)
    for result in document.state.checks:
        ui.line(words.check(result), indent=6)


def _because(app: App, risk: Risk, reason: Text | str) -> None:
    app.ui.line(Text("{risk} because {reason}", risk=words.RISK[risk], reason=reason), indent=6)
