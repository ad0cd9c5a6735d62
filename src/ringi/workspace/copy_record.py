"""copy.json: what is known about a work copy."""

from collections.abc import Mapping

from ringi.domain.base import Document, Versioned


class Supervisor(Document, frozen=True):
    pid: int
    start: str
    """When that process began; a number alone may by now belong to another."""


class CopyRecord(Versioned, frozen=True, kw_only=True):
    """copy.json: written as soon as the copy exists, so that one left behind is found."""

    workspace: str
    created_at: str
    base: str
    head: str | None = None
    object_format: str = "sha1"
    ignorecase: bool = False
    precompose: bool = False
    carried: tuple[str, ...] = ()
    own_files: Mapping[str, str] = {}
    """Digests of what was laid below `.agent`, which the difference leaves out but names."""
    nested: tuple[str, ...] = ()
    """Repositories inside the workspace; they are not in the copy, and nothing below them is taken."""
    laid_at: int = 0
    """When its files had been laid, in the file system's own time and in nanoseconds."""
    supervisor: Supervisor | None = None
    command: tuple[str, ...] = ()
    """What works in the copy."""
    taken: bool = False
    """Its difference is a plan, or there is none; what else holds it here, the next fields say."""
    plan_id: str = ""
    """The plan that its difference became, or is about to become."""
    planned_tree: str = ""
    """What the plan says already: a difference to it is a new version."""
    planned_version: int = 0
    """The plan's version that says so; a later one is the person's."""
    left_out: bool = False
    """The agent changed something that the plan could not carry."""
    ended_at: str = ""
    """When the agent last ended."""
    told_at: str = ""
    """What the person said until then was handed back to the agent."""
    ignored: tuple[str, ...] = ()
    """Patterns of what the agent leaves here that is no part of its change."""
