"""A change that is there already is ours only if we opened it, into the branch that was approved."""

from collections.abc import Callable

from ringi.domain.forge import Account, Change, ChangeState, NewChange, Project
from ringi.errors import ChangeTaken
from ringi.text import Text


def adopted(
    found: Change | None, wanted: NewChange, project: Project, me: Callable[[], Account]
) -> Change | None:
    """None if it is not open. Raises ChangeTaken."""
    if found is None or found.state is not ChangeState.OPEN:
        return None
    why = None
    if found.author.id != me().id:
        why = Text("{login} opened it", login=found.author.login)
    elif found.base_branch != wanted.base:
        why = Text("it goes into {found}, not into {base}", found=found.base_branch, base=wanted.base)
    if why is not None:
        raise ChangeTaken(change=found.url, host=project.host, why=why)
    return found
