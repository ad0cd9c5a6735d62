"""What is printed about a plan that was made of somebody's work."""

from typing import Any, Final

from ringi.cli.ui import Ui
from ringi.domain.plan import PlanRef, PlanStatus
from ringi.text import Text
from ringi.usecases.difference_plan import Taken
from ringi.views import words
from ringi.views.result import excerpt

_MOST_OVERLAPS: Final = 5
_MOST_LEFT_OUT: Final = 20


def tell_left_out(ui: Ui, taken: Taken) -> None:
    for path, why in taken.left_out[:_MOST_LEFT_OUT]:
        ui.line(Text("! not in the plan: {path} ({why})", path=path, why=why), style="yellow")
    if len(taken.left_out) > _MOST_LEFT_OUT:
        more = Text("and {count} more", count=len(taken.left_out) - _MOST_LEFT_OUT)
        ui.line(more, style="yellow", indent=2)


def _tell_checks(ui: Ui, taken: Taken) -> None:
    for result in taken.checks:
        ui.line(words.check(result), style="green" if result.passed else "red")
        if result.exit_code:
            ui.show(excerpt(result.output))
    if taken.checks_changed_files:
        ui.line(Text("! the checks changed files in the copy; that is not in the plan"), style="yellow")


def tell_plan(ui: Ui, taken: Taken, ref: PlanRef) -> None:
    for problem in taken.problems:
        ui.line(Text("! {problem}", problem=problem), style="yellow")
    _tell_checks(ui, taken)
    if taken.no_commit is not None:
        ui.line(Text("! it will not be committed: {why}", why=taken.no_commit), style="yellow")
    for other in taken.overlaps[:_MOST_OVERLAPS]:
        line = Text(
            "! {other} ({title}) changes the same: {paths}",
            other=other.name,
            title=other.title,
            paths=words.some(other.paths),
        )
        ui.line(line, style="yellow")
    if len(taken.overlaps) > _MOST_OVERLAPS:
        more = Text("and {count} more", count=len(taken.overlaps) - _MOST_OVERLAPS)
        ui.line(more, style="yellow", indent=2)
    if taken.meanwhile:
        line = Text(
            "! your own changes to {plan} are in version {version}, and not in the newest",
            plan=ref.name,
            version=taken.meanwhile,
        )
        ui.line(line, style="yellow")
    if taken.again and taken.new:
        ui.line(Text("{plan} is now version {version}.", plan=ref.name, version=ref.version))
    ui.line(
        Text("{name}  {title}   {size}   {risk}", name=ref.name, title=ref.title,
             size=words.size(ref.files, ref.added, ref.removed), risk=words.RISK[ref.risk]),
        style="bold",
    )  # fmt: skip
    ui.line(Text("ringi has not touched your files."), indent=2)
    if ref.status is PlanStatus.APPROVED:
        ui.line(Text("A standing approval covers it."), style="green", indent=2)
        ui.next_step(f"ringi execute {ref.name}")
    else:
        ui.next_step(f"ringi review {ref.name}")


def document_of(taken: Taken, **more: object) -> dict[str, Any]:
    return {
        "plan": taken.plan,
        "new_version": taken.again and taken.new,
        "checks": taken.checks,
        "issues": [str(problem) for problem in taken.problems],
        "left_out": [{"path": path, "why": str(why)} for path, why in taken.left_out],
        "overlaps": taken.overlaps,
        **more,
    }
