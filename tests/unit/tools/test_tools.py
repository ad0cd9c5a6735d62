"""Which tools a plan may name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.tools.effects import FindingKind
from ringi.tools.rules import ToolRules, needs_approval, refusal, tool_named
from tests.tables import each

pytestmark = pytest.mark.req("PP-15", "PP-16")

RULES = ToolRules(
    known=("github_get_file_contents", "github_delete_file", "org_admin_list", "read"),
    allowed=("github_*", "read", "*_admin_*"),
    forbidden=("github_delete_*", "*_admin_*"),
)


@each("name", ["read", "READ", " read ", "github_get_file_contents", "GitHub_get_file_contents"])
def test_case_and_spaces_do_not_matter(name: str):
    assert refusal(name, RULES) is None
    assert tool_named(name, RULES) in RULES.known


@each(
    "name",
    [
        "github_delete_file",
        "GITHUB_DELETE_FILE",
        "github_delete_ file",
        "github-delete-file",
        "github.delete.file",
        "github delete file",
        "\uff47\uff49\uff54\uff48\uff55\uff42_delete_file",
        "github_d\u0435lete_file",
        "github_de\u200blete_file",
        "github_\u0064\u0301elete_file",
        "github_delete_whatever",
        "org_admin_list",
        "Org_ADMIN_List",
    ],
)
def test_forbidden_however_it_is_written(name: str):
    """Also where another glob allows it, and where no such tool is known."""
    assert refusal(name, RULES) is FindingKind.FORBIDDEN_TOOL


@each("name", ["r\u0435ad", "\uff52\uff45\uff41\uff44", "re\u200bad", "r\u0065\u0301ad", "read\x00"])
def test_a_tool_that_only_looks_like_one_is_disguised(name: str):
    assert refusal(name, RULES) is FindingKind.DISGUISED_TOOL
    assert tool_named(name, RULES) is None


@each("name", ["", "hammer", "readme", "read_*", "*", "[r]ead", "../read", "x" * 10_000, "\ud800"])
def test_others_are_unknown(name: str):
    assert refusal(name, RULES) is FindingKind.UNKNOWN_TOOL


def test_what_is_not_allowed_is_forbidden():
    assert refusal("write", ToolRules(("read", "write"), allowed=("read",))) is FindingKind.FORBIDDEN_TOOL
    assert refusal("write", ToolRules(("read", "write"))) is None


@given(name=st.text(max_size=20), rule=st.sampled_from(["*", "r*", "[", "?ead"]))
def test_nothing_unknown_is_ever_planned(name: str, rule: str):
    rules = ToolRules(("read",), allowed=(rule,))
    assert (
        refusal(name, rules) is not None
        or name.split() == ["read"]
        or "".join(name.split()).lower() == "read"
    )
    assert refusal(name, rules._replace(forbidden=("*",))) is not None


@each(
    "name",
    [
        "files_delete_file",
        "files_deleteFile",
        "FILES_DELETE",
        "files_de lete",
        "files_d\u0435lete",
        "files_dele\u200bte",
        "\uff44\uff45\uff4c\uff45\uff54\uff45",
        "files-Remove-all",
        "db_drop_table",
        "db_dropTable",
        "db.truncate",
        "os_chmod",
        "os_rm",
        "repo_set_permissions",
        "org_grantRole",
        "org_admin",
        "org_AdMiN_list",
        "cache_purge",
    ],
)
def test_deletions_and_permissions_always_wait_for_a_person(name: str):
    assert needs_approval(name, ToolRules((name,), allowed=("*",)))


@each("name", ["files_read", "tracker_get_issue", "ui_dropdown_list", "search", "w_form"])
def test_a_harmless_name_does_not(name: str):
    assert not needs_approval(name, ToolRules((name,)))


@each("name", ["github_merge_x", "GitHub-Merge-x", "github_m\u0435rge_x", "github merge"])
def test_the_strictest_wins(name: str):
    rules = ToolRules((name,), allowed=("github_*",), approval=("github_merge*",))
    assert needs_approval(name, rules)
    assert refusal("github_merge_x", rules._replace(known=("github_merge_x",))) is None
    forbidden = rules._replace(forbidden=("github_merge*",))
    assert refusal(name, forbidden) is FindingKind.FORBIDDEN_TOOL


@given(st.text(max_size=20), st.sampled_from(["delete", "chmod", "admin", "revoke"]), st.text(max_size=20))
def test_no_letters_around_such_a_word_hide_it(before: str, word: str, after: str):
    assert needs_approval(f"{before}_{word}_{after}", ToolRules(()))
