"""Who may do what, and what models may take, as the configuration and this machine's users say."""

from ringi.approvals.permits import Permits
from ringi.domain.run import RunBudget
from ringi.integrations.person import groups_of, is_user
from ringi.policy.permissions import Account, PermissionLists
from ringi.wiring.config_keys import MOST_DOLLARS, MOST_TOKENS, Config, Runs


def permits_of(config: Config) -> Permits:
    told = config.planning.permissions
    lists = PermissionLists(
        told.allowed_users,
        told.auto_execution_allowed,
        told.always_require_approval,
        told.dangerous_operations,
    )
    return Permits(lists, lambda name: Account(name, groups_of(name)), is_user)


def run_budget(runs: Runs) -> RunBudget:
    return RunBudget(
        tokens=_limit(runs.max_tokens),
        dollars=runs.max_dollars if runs.max_dollars < MOST_DOLLARS else None,
        planning_tokens=_limit(runs.budget.planning_tokens),
        execution_tokens=_limit(runs.budget.execution_tokens),
        reflection_tokens=_limit(runs.budget.reflection_tokens),
    )


def _limit(tokens: int) -> int | None:
    return tokens if tokens < MOST_TOKENS else None
