"""A change that is there already is ours only if we opened it, into the branch that was approved."""

from ringi.approvals.forge import Project
from ringi.errors import ChangeTaken
from ringi.forges.document import ChangeRequest, ChangeState, NewChangeRequest
from ringi.forges.port import ChangeRequests, People
from ringi.kernel.text import Text


def adopted(
    changes: ChangeRequests, wanted: NewChangeRequest, project: Project, people: People
) -> ChangeRequest | None:
    """None if none is open. Raises ChangeTaken."""
    found = changes.from_branch(wanted.branch)
    if found is None or found.state is not ChangeState.OPEN:
        return None
    why = None
    if found.author.id != people.me().id:
        why = Text("{login} opened it", login=found.author.login)
    elif found.base_branch != wanted.base:
        why = Text("it goes into {found}, not into {base}", found=found.base_branch, base=wanted.base)
    if why is not None:
        raise ChangeTaken(change=found.url, host=project.host, why=why)
    return found
