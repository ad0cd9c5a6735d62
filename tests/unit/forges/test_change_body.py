"""The text of a pull or merge request: nothing in it calls anybody or closes anything."""

import pytest
from msgspec.structs import replace

from ringi.approvals.forge import ForgeKind, ForgeTerms, Item, ItemKind, Project
from ringi.engine.run_state import RunPhase
from ringi.forges.body import change_body, change_title
from ringi.forges.markdown import defuse
from ringi.kernel.text import in_language
from ringi.runs.document import Offer, Run
from tests.tables import each

pytestmark = pytest.mark.req("PP-25")
RUN = Run(
    run_id="r1",
    planning_session_id="",
    phase=RunPhase.NEEDS_INPUT,
    instruction="Make it\x1b[2J add\nand more",
    created_at="",
    updated_at="",
    work_branch="aiflow/1",
    base_commit="b" * 40,
    offer=Offer(head="a" * 40),
)


def terms(kind: ForgeKind = ForgeKind.GITHUB, item: ItemKind = ItemKind.ISSUE) -> ForgeTerms:
    project = Project(kind, "https://forge.test", "a/b")
    return ForgeTerms(project=project, remote="origin", remote_url="u", item=Item(item, 12))


def test_words_of_others_call_nobody():
    words = "Ask @alice about #3, !4 and `@bob #5`; fixes https://forge.test/a/b/issues/6."
    text = f"{words}\n/close\n```\n@x #7\n```"
    assert defuse(text).splitlines() == [
        "Ask `@alice` about `#3`, `!4` and `@bob #5`; fixes `https://forge.test/a/b/issues/6.`",
        r"\/close",
        "```",
        "@x #7",
        "```",
    ]
    others = "acme/app#7", "group/sub/app!8", "app#9", "GH-10", "gh-11"
    for name in others:
        assert defuse(f"fixes {name}.") == f"fixes `{name}`."
    assert defuse("fixes &#35;7 and &num;8") == "fixes `&#35;`7 and `&num;`8"
    assert defuse("# A title, a@b.test, &#35; and C#1x") == "# A title, a@b.test, &#35; and C#1x"


@each(
    ("kind", "item", "reference"),
    [
        (ForgeKind.GITHUB, ItemKind.ISSUE, "#12"),
        (ForgeKind.GITHUB, ItemKind.CHANGE, "#12"),
        (ForgeKind.GITLAB, ItemKind.ISSUE, "#12"),
        (ForgeKind.GITLAB, ItemKind.CHANGE, "!12"),
    ],
)
def test_it_refers_to_its_item_and_closes_nothing(kind: ForgeKind, item: ItemKind, reference: str):
    body = change_body(RUN, None, terms(kind, item), "# Report\n\nCloses #1", in_language("en"))
    assert body.splitlines()[0] == f"Refs {reference}"
    assert "Closes `#1`" in body
    assert f"git switch --detach {'a' * 40}" in body


def test_a_long_report_is_cut_and_the_commands_stay():
    body = change_body(RUN, None, terms(), "line\n" * 50_000, in_language("en"))
    assert len(body) < 62_000
    assert "`ringi report r1`" in body
    assert body.rstrip().endswith("```")


@each("reviewed", [False, True])
def test_it_says_how_a_review_is_verified(reviewed: bool):
    done = replace(RUN, phase=RunPhase.COMPLETED)
    body = change_body(done, None, terms(), "# Report", in_language("en"), reviewed=reviewed)
    verify = f"ringi verify {'b' * 40}..{'a' * 40}"
    assert f"{verify} --reviews\n" in body if reviewed else f"{verify}\n" in body


def test_the_title_is_one_harmless_line():
    assert change_title(RUN, None) == "Make it\\x1b[2J add"
