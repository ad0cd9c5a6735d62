"""Plans and their diffs as resources."""

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.domain import codec
from ringi.domain.plan import PlanRef

if TYPE_CHECKING:
    from ringi.api import Workspace

PLANS: Final = "ringi://plans"
JSON: Final = "application/json"
DIFF: Final = "text/x-diff"
_LISTED: Final = 20
_MOST: Final = 1000
_ONE: Final = re.compile(r"ringi://plans/([0-9A-Za-z-]{1,100})(/diff)?")


class Kind(NamedTuple):
    uri: str
    name: str
    description: str
    mime: str


LIST: Final = Kind(PLANS, "plans", "The plans of this workspace, the newest first.", JSON)
TEMPLATES: Final = (
    Kind(
        "ringi://plans/{plan}", "plan", "The whole document of a plan, with the contents of its specs.", JSON
    ),
    Kind("ringi://plans/{plan}/diff", "diff", "What a plan changes, as one unified diff.", DIFF),
)


class Found(NamedTuple):
    text: str
    mime: str


def listed(workspace: "Workspace") -> list[Kind]:
    refs = workspace.plan.list(limit=_LISTED)
    return [LIST, *(kind for ref in refs for kind in _of(ref))]


def _of(ref: PlanRef) -> tuple[Kind, Kind]:
    uri = f"{PLANS}/{ref.name}"
    return (
        Kind(uri, ref.name, f"{ref.title} ({ref.status})", JSON),
        Kind(f"{uri}/diff", f"{ref.name}.diff", f"What {ref.name} changes.", DIFF),
    )


def read(workspace: "Workspace", uri: str) -> Found | None:
    """None if it is no URI of ours. Raises NotFound if there is no such plan."""
    if uri == PLANS:
        return Found(codec.pretty(workspace.plan.list(limit=_MOST)).decode(), JSON)
    found = _ONE.fullmatch(uri)
    if found is None:
        return None
    if found[2] is None:
        return Found(codec.pretty(workspace.plan.get(found[1])).decode(), JSON)
    return Found("".join(part.diff for part in workspace.plan.preview(found[1]).diffs), DIFF)
