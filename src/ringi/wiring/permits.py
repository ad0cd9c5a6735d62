"""Who may do what, as the configuration and this machine's databases of users say."""

from ringi.approvals.permits import Permits
from ringi.integrations.person import groups_of, is_user
from ringi.policy.permissions import Account, PermissionLists
from ringi.wiring.config_keys import Config


def permits_of(config: Config) -> Permits:
    told = config.planning.permissions
    lists = PermissionLists(
        told.allowed_users,
        told.auto_execution_allowed,
        told.always_require_approval,
        told.dangerous_operations,
    )
    return Permits(lists, lambda name: Account(name, groups_of(name)), is_user)
