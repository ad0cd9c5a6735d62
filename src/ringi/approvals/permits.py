"""What the people behind a task may do (PP-18, PP-27): whoever created it, and whoever acts now.

Nobody lends a task more than its creator may; nobody gets more by continuing somebody else's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ringi.approvals.permissions import PermissionLists, UserAccount, dangers, is_listed
from ringi.errors import NotFound, NotPermitted
from ringi.kernel.text import Text
from ringi.tree.action_spec import ActionSpecExt

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace
    from ringi.plans.document import PlanDocument

_USER: Final = "user:"
_ALLOWED: Final = "planning.permissions.allowed_users"
_ALWAYS: Final = "planning.permissions.always_require_approval"
_DANGEROUS: Final = "planning.permissions.dangerous_operations"


class Permits:
    """Creators that nobody recorded are empty names: then the others count."""

    def __init__(
        self,
        lists: PermissionLists = PermissionLists(),  # noqa: B008  # a tuple
        account: Callable[[str], UserAccount] = UserAccount,
        is_user: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._lists = lists
        self._account = account
        self._is_user = is_user

    def require_allowed(self, *people: str) -> None:
        """Whether they may plan and run. Raises NotPermitted."""
        names = self._lists.allowed_users
        if (who := self._first_unlisted(names, people)) is not None:
            raise NotPermitted(user=who, names=", ".join(names), key=_ALLOWED)

    def skips_question(self, *people: str) -> bool:
        """Whether what was approved is carried out without asking when. It is no approval."""
        names = self._lists.auto_execution_allowed
        return bool(names) and self._first_unlisted(names, people) is None

    def always_asked(self, *people: str) -> Text | None:
        """Why only a person's answer to this very thing counts, if one of them is to be asked always."""
        for who in filter(None, dict.fromkeys(people)):
            names = self._lists.always_require_approval
            if names and is_listed(names, self._account(who), self._is_user, restricts=True):
                return Text(
                    "what {user} asks for is always approved by a person ({key})", user=who, key=_ALWAYS
                )
        return None

    def refused_danger(
        self,
        specs: Sequence[ActionSpecExt],
        sandboxed: Callable[[], bool],
        people: Callable[[], Iterable[str]],
    ) -> Text | None:
        """Why they may not be asked for."""
        names = self._lists.dangerous_operations
        who = self._first_unlisted(names, people()) if names else None
        if who is None or (what := next(dangers(specs, sandboxed=sandboxed), None)) is None:
            return None
        return Text(
            "{what}, and {user} may not ask for that: only {names} may ({key})",
            what=what, user=who, names=", ".join(names), key=_DANGEROUS,
        )  # fmt: skip

    def _first_unlisted(self, names: Sequence[str], people: Iterable[str]) -> str | None:
        if not names:
            return None
        known = filter(None, dict.fromkeys(people))
        return next((who for who in known if not is_listed(names, self._account(who), self._is_user)), None)


def refused_danger(
    workspace: Workspace, document: Callable[[], PlanDocument], specs: Sequence[ActionSpecExt]
) -> Text | None:
    """Why these specs may not be asked for. `document` is not read if everybody may ask for everything."""
    sandboxed = workspace.commands.sandboxed
    return workspace.permits.refused_danger(specs, sandboxed, lambda: askers(workspace, document()))


def askers(workspace: Workspace, document: PlanDocument) -> tuple[str, ...]:
    """The users behind a plan: who is here, who proposed it or set its specs, who created its run."""
    plan = document.plan
    requesters = (plan.requester or "", document.state.requester or "")
    users = [one.removeprefix(_USER) for one in requesters if one.startswith(_USER)]
    found = [workspace.person.user(), plan.user or "", *users]
    if document.step:
        with suppress(NotFound):
            found.append(workspace.store.runs.get(document.step.run_id).created_by)
    return tuple(dict.fromkeys(filter(None, found)))
