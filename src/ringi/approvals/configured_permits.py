"""Who may do what, as the configuration, this machine's users and forges say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringi.approvals.forge import Project
from ringi.approvals.permissions import PermissionLists, UserAccount
from ringi.approvals.permits import Permits
from ringi.approvals.person import groups_of, is_user
from ringi.config.keys import Config
from ringi.errors import NoForge

if TYPE_CHECKING:
    from ringi.forges.port import Forges


def permits_of(config: Config, forges: Forges) -> Permits:
    told = config.planning.permissions

    def plain(names: tuple[str, ...]) -> tuple[str, ...]:
        """Forges do not tell small letters from capitals."""
        return tuple(name.lower() if _project_at(forges, name) else name for name in names)

    lists = PermissionLists(
        plain(told.allowed_users),
        plain(told.auto_execution_allowed),
        plain(told.always_require_approval),
        plain(told.dangerous_operations),
    )

    def account(name: str) -> UserAccount:
        project = _project_at(forges, name)
        if project is None:
            return UserAccount(name, groups_of(name))
        return UserAccount(name.lower(), _Groups(forges, project, name.lower().rpartition("@")[0]))

    return Permits(lists, account, is_user)


def _project_at(forges: Forges, name: str) -> Project | None:
    """Something on the forge that a name like alice@github.com belongs to; None if it is none of a forge."""
    _, at, host = name.rpartition("@")
    if not at:
        return None
    try:
        return forges.at(f"https://{host}/of/{host.partition(':')[0]}")[0]
    except NoForge:
        return None


class _Groups:
    """Those of an account of a forge, which is asked. Raises ForgeFailed, NoForgeToken, NoExtra."""

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
