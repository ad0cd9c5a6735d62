"""A design as data: criteria, paths and steps, from which the plan of a run is made."""

from ringi.kernel.document import CamelDocument


class Criterion(CamelDocument, frozen=True):
    """An acceptance criterion."""

    given: str
    when: str
    then: str


class TargetPath(CamelDocument, frozen=True):
    path: str
    new: bool = False
    """It does not exist yet; otherwise it does, checked against the files."""


class DesignStep(CamelDocument, frozen=True, kw_only=True):
    """A part of the work that is complete in itself: one commit."""

    title: str
    target_paths: tuple[str, ...]
    criteria: tuple[int, ...] = ()
    """The acceptance criteria of the design that it meets, by number, from 1."""
    test_commands: tuple[str, ...] = ()
    """Empty: those of the design."""


class Design(CamelDocument, frozen=True, kw_only=True):
    """What a summary says, as data: the run's plan is made from it."""

    acceptance_criteria: tuple[Criterion, ...] = ()
    target_paths: tuple[TargetPath, ...] = ()
    test_commands: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    out_of_scope: tuple[str, ...] = ()
    open_points: tuple[str, ...] = ()
    steps: tuple[DesignStep, ...] = ()
    """In order; empty if it is one commit."""
