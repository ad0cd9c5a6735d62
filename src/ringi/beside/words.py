"""What a person is told about an agent in its copy, and about the plan that was made of its work."""

import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from ringi.agents.sandbox import AgentSandbox
from ringi.agents.state import Replaced
from ringi.kernel.lines import Line
from ringi.kernel.text import Text, shorten_path, storable, visible
from ringi.plans import words
from ringi.plans.document import PlanRef, PlanStatus
from ringi.plans.from_difference import Taken
from ringi.plans.result_view import excerpt
from ringi.tree.copy import INCLUDE, WorkCopy
from ringi.tree.difference import unreadable

_MOST_OVERLAPS: Final = 5
_MOST_LEFT_OUT: Final = 20
_LONGEST_NAME: Final = 200


class Printer(Protocol):
    """A terminal, or a thread in an editor."""

    def line(self, text: Text | str = "", *, style: str = "", indent: int = 0) -> None: ...
    def show(self, lines: Iterable[Line]) -> None: ...
    def next_step(self, command: str) -> None: ...


def tell_left_out(ui: Printer, taken: Taken) -> None:
    for path, why in taken.left_out[:_MOST_LEFT_OUT]:
        ui.line(Text("! not in the plan: {path} ({why})", path=shorten_path(path), why=why), style="yellow")
    if len(taken.left_out) > _MOST_LEFT_OUT:
        more = Text("and {count} more", count=len(taken.left_out) - _MOST_LEFT_OUT)
        ui.line(more, style="yellow", indent=2)


def _tell_checks(ui: Printer, taken: Taken) -> None:
    for result in taken.checks:
        ui.line(words.check(result), style="green" if result.passed else "red")
        if result.exit_code:
            ui.show(excerpt(result.output))


def tell_plan(ui: Printer, taken: Taken, ref: PlanRef, below: Iterable[Line] = ()) -> None:
    """`below` stands below its title."""
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
    ui.show(below)
    ui.line(Text("ringi has not touched your files."), indent=2)
    if ref.status is PlanStatus.APPROVED:
        ui.line(Text("A standing approval covers it."), style="green", indent=2)
        ui.next_step(f"ringi execute {ref.name}")
    else:
        ui.next_step(f"ringi review {ref.name}")


def tell_copy(ui: Printer, copy: WorkCopy, *, sandboxed: bool) -> None:
    for name in copy.nested:
        ui.line(Text("! not in the copy: {path} (a repository of its own)", path=name), style="yellow")
    for name in copy.unreadable:
        line = Text("! not in the copy: {path} ({why})", path=shorten_path(name), why=unreadable(name))
        ui.line(line, style="yellow")
    mounted = copy.record.dependencies if sandboxed else ()
    behind = (*copy.left_behind, *(() if sandboxed else copy.record.dependencies))
    parts = []
    if mounted:
        parts.append(Text("read-only: {paths}", paths=words.some(mounted)))
    if copy.record.carried:
        parts.append(Text("carried: {paths}", paths=words.some(copy.record.carried)))
    if behind:
        parts.append(Text("not in the copy: {paths}", paths=words.some(behind)))
    if parts:
        ui.line(Text("Ignored by git · {parts}", parts=" · ".join(map(str, parts))), style="dim")
    if behind:
        option = f"--carry {shlex.quote(behind[0].rstrip('/'))}"
        hint = Text("If the agent needs one: {option}, or a line in {file}", option=option, file=INCLUDE)
        ui.line(hint, style="dim", indent=2)


def tell_sandbox(ui: Printer, sandbox: AgentSandbox, writable: Sequence[Path]) -> None:
    if sandbox.bwrap is None:
        line = Text(
            "NOT in a sandbox ({why}): nothing keeps the command from writing elsewhere.",
            why=sandbox.why or "",
        )
        ui.line(line, style="yellow")
        if sandbox.mend:
            ui.line(Text("To get one: {mend}", mend=sandbox.mend), style="yellow", indent=2)
    elif writable:
        places = words.some([str(path) for path in writable], 6)
        ui.line(Text("In a sandbox: it can write to its copy, a /tmp of its own, {places}.", places=places))
    else:
        ui.line(Text("In a sandbox: it can write to its copy and a /tmp of its own."))
    if not sandbox.scoped:
        text = Text("It can reach sockets that have no file, such as an X server's: ringi doctor")
        ui.line(text, style="yellow", indent=2)


def tell_taken(ui: Printer, copy: WorkCopy, taken: Taken, below: Iterable[Line] = ()) -> None:
    tell_left_out(ui, taken)
    if taken.plan is None:
        ui.line(Text("It changed nothing in its copy; there is no plan."))
    elif taken.empty:
        line = Text("It took back all it had changed; {plan} stays as it was.", plan=taken.plan.name)
        ui.line(line, style="yellow")
        ui.next_step(f"ringi review {taken.plan.name}")
    elif not taken.new:
        ui.line(Text("It changed nothing more; {plan} stays as it was.", plan=taken.plan.name))
        ui.next_step(f"ringi review {taken.plan.name}")
    else:
        tell_plan(ui, taken, taken.plan, below)
    if taken.left_out:
        line = Text("The copy is kept, because not all of it is in the plan: {path}", path=str(copy.tree))
        ui.line(line, indent=2)
        _tell_by_hand(ui, copy, taken)


def _tell_by_hand(ui: Printer, copy: WorkCopy, taken: Taken) -> None:
    for path, _why in taken.left_out:
        plain = len(path) < _LONGEST_NAME and visible(path) == path
        if plain and os.path.lexists(copy.tree / path):
            ui.line(Text("What you want of it, copy yourself:"), indent=2)
            ui.next_step(shlex.join(["cp", "-RP", str(copy.tree / path), path]))
            return


def tell_replaced(ui: Printer, replaced: Replaced) -> None:
    path, why = str(replaced.link), replaced.why_not
    if why:
        line = Text(
            "! the agent replaced {path}, and the link cannot be put back ({why}): do so yourself before "
            "you start it again",
            path=path,
            why=why,
        )
        ui.line(line, style="red")
    else:
        line = Text("! the agent had replaced {path}; the link is back as it was", path=path)
        ui.line(line, style="yellow")


def document_of(taken: Taken, **more: object) -> dict[str, Any]:
    return {
        "plan": taken.plan,
        "new_version": taken.again and taken.new,
        "checks": taken.checks,
        "issues": [str(problem) for problem in taken.problems],
        "left_out": [{"path": storable(path), "why": str(why)} for path, why in taken.left_out],
        "overlaps": taken.overlaps,
        **more,
    }
