"""What the people behind a task may do (PP-18, PP-27): whoever created it, and whoever acts now.

A task has at most the permissions of its creator, and nobody gets more by continuing another's.

A name in a list is a user or a group. `user:NAME` and `group:NAME` say which; a bare name that the machine
has as a user and as a group is taken the stricter way: a list that allows means the user alone, a list that
restricts means both. Accounts and groups of a forge are named with it: alice@github.com,
group:acme/core@github.com.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.approvals.forge import Project
from ringi.approvals.person import groups_of, is_user
from ringi.config.keys import Permissions
from ringi.errors import NoForge, NotFound, NotPermitted
from ringi.kernel.text import Text
from ringi.policy.risk import MANY_FILES
from ringi.policy.risk_level import RiskCode
from ringi.policy.spec_kind import SpecKind
from ringi.tools.rules import ToolRules, needs_approval
from ringi.tree.action_spec import ActionSpecExt

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace
    from ringi.forges.port import Forges
    from ringi.plans.document import PlanDocument

_USER: Final = "user:"
_GROUP: Final = "group:"
_ALLOWED: Final = "planning.permissions.allowed_users"
_ALWAYS: Final = "planning.permissions.always_require_approval"
_DANGEROUS: Final = "planning.permissions.dangerous_operations"


class Permits:
    """Creators that nobody recorded are empty names: then the others count."""

    def __init__(self, lists: Permissions, forges: Forges) -> None:
        self._lists = lists
        self._forges = forges

    def require_allowed(self, *people: str) -> None:
        """Whether they may plan and run. Raises NotPermitted."""
        names = self._lists.allowed_users
        if (who := self._first_unlisted(names, people)) is not None:
            raise NotPermitted(user=who, names=", ".join(names), key=_ALLOWED)

    def skip_question(self, *people: str) -> bool:
        """Whether what was approved is carried out without asking when. It is no approval."""
        names = self._lists.auto_execution_allowed
        return bool(names) and self._first_unlisted(names, people) is None

    def check_always_asked(self, *people: str) -> Text | None:
        """Why only a person's answer to this very thing counts, if one of them is to be asked always."""
        names = self._plain(self._lists.always_require_approval)
        for who in filter(None, dict.fromkeys(people)):
            if names and is_listed(names, self._account(who), is_user, restricts=True):
                return Text(
                    "what {user} asks for is always approved by a person ({key})", user=who, key=_ALWAYS
                )
        return None

    def check_danger(
        self,
        specs: Sequence[ActionSpecExt],
        sandboxed: Callable[[], bool],
        people: Callable[[], Iterable[str]],
    ) -> Text | None:
        """Why they may not be asked for."""
        names = self._lists.dangerous_operations
        who = self._first_unlisted(names, people()) if names else None
        if who is None or (what := next(find_dangers(specs, sandboxed=sandboxed), None)) is None:
            return None
        return Text(
            "{what}, and {user} may not ask for that: only {names} may ({key})",
            what=what, user=who, names=", ".join(names), key=_DANGEROUS,
        )  # fmt: skip

    def _first_unlisted(self, names: Sequence[str], people: Iterable[str]) -> str | None:
        if not names:
            return None
        plain, known = self._plain(names), filter(None, dict.fromkeys(people))
        return next((who for who in known if not is_listed(plain, self._account(who), is_user)), None)

    def _plain(self, names: Sequence[str]) -> list[str]:
        """Forges do not tell small letters from capitals."""
        return [name.lower() if _project_at(self._forges, name) else name for name in names]

    def _account(self, name: str) -> UserAccount:
        project = _project_at(self._forges, name)
        if project is None:
            return UserAccount(name, groups_of(name))
        return UserAccount(name.lower(), _ForgeGroups(self._forges, project, name.lower().rpartition("@")[0]))


def check_danger(
    workspace: Workspace, document: Callable[[], PlanDocument], specs: Sequence[ActionSpecExt]
) -> Text | None:
    """Why these specs may not be asked for. `document` is not read if everybody may ask for everything."""
    sandboxed = workspace.commands.uses_sandbox
    return workspace.permits.check_danger(specs, sandboxed, lambda: _askers(workspace, document()))


def check_always_asked(workspace: Workspace, document: PlanDocument) -> Text | None:
    """Why this plan always needs its own approval, or None."""
    return workspace.permits.check_always_asked(*_askers(workspace, document))


def _askers(workspace: Workspace, document: PlanDocument) -> tuple[str, ...]:
    """The users behind a plan: who is here, who proposed it or set its specs, who created its run."""
    plan = document.plan
    requesters = (plan.requester or "", document.state.requester or "")
    users = [one.removeprefix(_USER) for one in requesters if one.startswith(_USER)]
    found = [workspace.person.user(), plan.user or "", *users]
    if document.step:
        with suppress(NotFound):
            found.append(workspace.store.runs.get(document.step.run_id).created_by)
    return tuple(dict.fromkeys(filter(None, found)))


class UserAccount(NamedTuple):
    """A user of the machine, as its databases know them, or an account of a forge: alice@github.com."""

    name: str
    groups: Container[str] = frozenset()


def is_listed(
    names: Iterable[str], account: UserAccount, is_user: Callable[[str], bool], *, restricts: bool = False
) -> bool:
    """`is_user`: whether the machine has a user of this name. `restricts`: the list takes something away."""
    return any(_means(name, account, is_user, restricts=restricts) for name in names)


def _means(name: str, account: UserAccount, is_user: Callable[[str], bool], *, restricts: bool) -> bool:
    if name.startswith(_USER):
        return name.removeprefix(_USER) == account.name
    if name.startswith(_GROUP):
        return name.removeprefix(_GROUP) in account.groups
    if name == account.name:
        return True
    return name in account.groups and (restricts or not is_user(name))


def _project_at(forges: Forges, name: str) -> Project | None:
    """Something on the forge that a name like alice@github.com belongs to; None if it is none of a forge."""
    _, at, host = name.rpartition("@")
    if not at:
        return None
    try:
        return forges.at(f"https://{host}/of/{host.partition(':')[0]}")[0]
    except NoForge:
        return None


class _ForgeGroups:
    """The groups of an account of a forge, which is asked only about those that a list names.

    Raises ForgeFailed, NoForgeToken, NoExtra.
    """

    def __init__(self, forges: Forges, project: Project, login: str) -> None:
        self._forges = forges
        self._project = project
        self._login = login
        self._known: dict[str, bool] = {}

    def __contains__(self, name: object) -> bool:
        group, _, host = str(name).rpartition("@")
        if not group or host != self._project.host.lower():
            return False
        if group not in self._known:
            self._known[group] = self._forges.host(self._project).people.is_member(self._login, group)
        return self._known[group]


# ------------------------------------------------------------------ dangerous operations

_GONE: Final = frozenset([RiskCode.DELETE, RiskCode.EMPTIED])
_CRITICAL: Final = frozenset([RiskCode.CRITICAL_FILE, RiskCode.CRITICAL_SOURCE])
_NO_RULES: Final = ToolRules(known=())


def find_dangers(specs: Sequence[ActionSpecExt], *, sandboxed: Callable[[], bool]) -> Iterator[Text]:
    """What of it only those may ask for whom `dangerous_operations` names. `sandboxed`: how commands run."""
    gone = [spec for spec in specs if _GONE.intersection(reason.code for reason in spec.risk_reasons)]
    if len(gone) > MANY_FILES:
        yield Text("it deletes or empties 1 file", "it deletes or empties {count} files", count=len(gone))
    for spec in specs:
        path, kind = spec.base.path, spec.base.kind
        if any(
            file.before and file.after and not file.folder and file.before.mode != file.after.mode
            for file in spec.touched
        ):
            yield Text("it changes the permissions of {path}", path=path)
        if kind is not SpecKind.READ and _CRITICAL.intersection(one.code for one in spec.risk_reasons):
            yield Text("{path} is a critical file", path=path)
        if kind is SpecKind.RUN and not sandboxed():
            yield Text("{spec} runs a command outside a sandbox", spec=spec.id)
        if kind is SpecKind.CALL and needs_approval(spec.base.tool or "", _NO_RULES):
            yield Text("{tool} deletes something, or changes permissions", tool=spec.base.tool or "")
