"""Users and groups in lists, and what counts as dangerous."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from ringi.approvals.permits import UserAccount, find_dangers, is_listed
from ringi.policy.risk_level import Category, Risk, RiskCode, RiskReason
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec, ActionSpecExt, Preflight
from ringi.tree.file_state import FileState
from tests.tables import each

NAMES = st.sampled_from(["hanako", "taro", "devs", "admin"])
ACCOUNTS = st.builds(UserAccount, NAMES, st.frozensets(NAMES))
LISTED = st.lists(st.builds(lambda kind, name: kind + name, st.sampled_from(["", "user:", "group:"]), NAMES))


@pytest.mark.req("PP-18", "PP-27")
@each("restricts", [False, True])
@each(
    ("name", "meant"),
    [("hanako", True), ("user:hanako", True), ("devs", True), ("group:devs", True), ("taro", False),
     ("user:devs", False), ("group:hanako", False), ("admins", False), ("Hanako", False)],
)  # fmt: skip
def test_a_name_is_a_user_or_a_group(name: str, meant: bool, restricts: bool):
    hanako = UserAccount("hanako", frozenset(["devs"]))
    assert is_listed([name], hanako, {"hanako", "taro"}.__contains__, restricts=restricts) is meant


@pytest.mark.req("PP-27")
def test_a_group_named_like_another_user_allows_nobody_but_restricts_its_members():
    """On most systems every user has a group of the same name."""
    taro = UserAccount("taro", frozenset(["taro", "hanako"]))
    users = {"hanako", "taro"}.__contains__
    assert not is_listed(["hanako"], taro, users)
    assert is_listed(["group:hanako"], taro, users)
    assert is_listed(["hanako"], taro, users, restricts=True)
    assert not is_listed(["user:hanako"], taro, users, restricts=True)


@pytest.mark.req("PP-18")
@given(names=LISTED, account=ACCOUNTS, users=st.frozensets(NAMES))
def test_a_list_that_restricts_means_at_least_whom_one_that_allows_means(
    names: list[str], account: UserAccount, users: frozenset[str]
):
    allows = is_listed(names, account, users.__contains__)
    assert is_listed(names, account, users.__contains__, restricts=True) or not allows
    assert is_listed([*names, f"user:{account.name}"], account, users.__contains__)
    assert not is_listed([], account, users.__contains__)


def spec(kind: SpecKind, path: str = "a.txt", *codes: RiskCode, **more: object) -> ActionSpecExt:
    modes = more.pop("modes", ("0644", "0644"))
    assert isinstance(modes, tuple)
    before, after = (FileState("0" * 64, mode) if mode else None for mode in modes)
    reasons = tuple(RiskReason(code, Category.BUILD) for code in codes)
    return ActionSpecExt(
        "s1", ActionSpec(kind, path, **more), Risk.LOW, validated=True,  # type: ignore[arg-type]
        preflight=Preflight(exists=True, overwrite=True, diff_summary=""), risk_reasons=reasons,
        before=before, after=after, also=UNSET,
    )  # fmt: skip


def deletions(count: int) -> list[ActionSpecExt]:
    return [spec(SpecKind.DELETE, f"{n}.txt", RiskCode.DELETE, modes=("0644", "")) for n in range(count)]


@pytest.mark.req("PP-27")
@each(
    ("specs", "why"),
    [
        (deletions(6), "it deletes or empties 6 files"),
        ([*deletions(5), spec(SpecKind.WRITE, "b", RiskCode.EMPTIED)], "it deletes or empties 6 files"),
        ([spec(SpecKind.WRITE, modes=("0644", "0755"))], "it changes the permissions of a.txt"),
        ([spec(SpecKind.PATCH, "setup.py", RiskCode.CRITICAL_FILE)], "setup.py is a critical file"),
        ([spec(SpecKind.MOVE, "x", RiskCode.CRITICAL_SOURCE)], "x is a critical file"),
        ([spec(SpecKind.RUN, argv=("make",))], "s1 runs a command outside a sandbox"),
        ([spec(SpecKind.CALL, tool="github_delete_file")], "github_delete_file deletes something"),
        ([spec(SpecKind.CALL, tool="forge_addPermission")], "forge_addPermission deletes something"),
    ],
)  # fmt: skip
def test_dangerous(specs: list[ActionSpecExt], why: str):
    assert str(next(find_dangers(specs, sandboxed=lambda: False))).startswith(why)


@pytest.mark.req("PP-27")
@each(
    "specs",
    [
        deletions(5),
        [spec(SpecKind.WRITE)],
        [spec(SpecKind.CREATE, modes=("", "0755"))],
        [spec(SpecKind.READ, ".env", RiskCode.CRITICAL_FILE)],
        [spec(SpecKind.RUN, argv=("make",))],
        [spec(SpecKind.CALL, tool="github_create_issue")],
    ],
)
def test_not_dangerous(specs: list[ActionSpecExt]):
    assert next(find_dangers(specs, sandboxed=lambda: True), None) is None
