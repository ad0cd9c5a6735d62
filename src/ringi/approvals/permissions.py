"""Who may plan, run and ask for dangerous operations (PP-18, PP-27): verdicts on facts.

A name in a list is a user or a group. `user:NAME` and `group:NAME` say which; a bare name that the machine
has as a user and as a group is taken the stricter way: a list that allows means the user alone, a list that
restricts means both. Accounts and groups of a forge are named with it: alice@github.com,
group:acme/core@github.com.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ringi.kernel.text import Text
from ringi.policy.risk import MANY_FILES
from ringi.policy.risk_level import RiskCode
from ringi.policy.spec_kind import SpecKind
from ringi.tools.rules import ToolRules, needs_approval
from ringi.tree.action_spec import ActionSpecExt

_USER: Final = "user:"
_GROUP: Final = "group:"
_GONE: Final = frozenset([RiskCode.DELETE, RiskCode.EMPTIED])
_CRITICAL: Final = frozenset([RiskCode.CRITICAL_FILE, RiskCode.CRITICAL_SOURCE])
_NO_RULES: Final = ToolRules(known=())


class PermissionLists(NamedTuple):
    """As configured; see the documentation of `planning.permissions`."""

    allowed_users: tuple[str, ...] = ()
    """Empty: everybody."""
    auto_execution_allowed: tuple[str, ...] = ()
    always_require_approval: tuple[str, ...] = ()
    dangerous_operations: tuple[str, ...] = ()
    """Empty: everybody."""


class UserAccount(NamedTuple):
    """A user of the machine, as its databases know them, or an account of a forge: alice@github.com."""

    name: str
    groups: Container[str] = frozenset()
    """A forge is asked about a group only if a list names it."""


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


def dangers(specs: Sequence[ActionSpecExt], *, sandboxed: Callable[[], bool]) -> Iterator[Text]:
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
