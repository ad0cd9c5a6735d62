"""Calls of outside tools: their server is asked when they are proposed, and again before they are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.plans.execution import Step
from ringi.plans.validate import Validated, with_problems
from ringi.policy.spec_kind import SpecKind
from ringi.tools.ports_process import OutsideTools, ToolInfo
from ringi.tools.schema import mismatch
from ringi.tree.action_spec import ActionSpec

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

Misfits = Mapping[int, Text]
_NOT_BOUND: Final = Text("it was proposed when no server was configured: propose the call again")
_CHANGED: Final = Text("the tool changed since the call was proposed: propose it again")


def bind_calls(workspace: Workspace, specs: Sequence[ActionSpec]) -> tuple[list[ActionSpec], Misfits]:
    """The specs with the digests of the tools they call, and what is wrong with calls, by their place.

    Without servers nothing is looked at: such a plan can be approved, but not executed.
    """
    if workspace.tools is None or not any(map(_calls, specs)):
        return list(specs), {}
    found: list[ActionSpec] = []
    wrong: dict[int, Text] = {}
    with workspace.tools() as tools:
        for place, spec in enumerate(specs):
            known = tools.tool(spec.tool or "") if _calls(spec) else None
            why = _misfit(spec, known)
            if why is not None:
                wrong[place] = why
            elif isinstance(known, ToolInfo):
                spec = msgspec.structs.replace(spec, tool_digest=digest_of(known))  # noqa: PLW2901
            found.append(spec)
    return found, wrong


def with_misfits(validated: Validated, wrong: Misfits) -> Validated:
    """Such a call cannot be approved."""
    specs = list(validated.report.normalized)
    for place, why in wrong.items():
        specs[place] = msgspec.structs.replace(specs[place], validated=False, notes=str(why))
    report = msgspec.structs.replace(validated.report, normalized=tuple(specs))
    problems = [
        Text("{id} {path}: {why}", id=specs[place].id, path=specs[place].base.tool or "", why=why)
        for place, why in wrong.items()
    ]
    return with_problems(validated._replace(report=report), problems) if wrong else validated


def _calls(spec: ActionSpec) -> bool:
    return spec.kind is SpecKind.CALL and bool((spec.tool or "").strip())


def _misfit(spec: ActionSpec, known: ToolInfo | Text | None) -> Text | None:
    if known is None or isinstance(known, Text):
        return known
    wrong = mismatch(dict(spec.arguments or {}), known.schema)
    return Text("the arguments do not fit: {why}", why=wrong) if wrong else None


def digest_of(tool: ToolInfo) -> str:
    return codec.digest(codec.canonical([tool.name, tool.description, tool.schema]))


def refusal(tools: OutsideTools, step: Step) -> Text | None:
    """Why an approved call is not made; None if the tool is there, allowed and the same as approved."""
    if not step.tool_digest:
        return _NOT_BOUND
    known = tools.tool(step.argv[0])
    if isinstance(known, Text):
        return known
    return None if digest_of(known) == step.tool_digest else _CHANGED


def decode_arguments(arguments: str) -> Mapping[str, Any]:
    return codec.decode_own(arguments.encode(), dict[str, Any], "arguments")
