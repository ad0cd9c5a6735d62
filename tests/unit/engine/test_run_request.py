"""Requests in Markdown, as people write them."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ringi.engine.request import Request, read_request
from ringi.kernel.problems import Level
from tests.tables import each

WHOLE = """\
# Sort the report by date #

People look for the newest entry first.

```
# not a title
## Constraints
```

## Background
Some *text*.

## Acceptance criteria:
- AC-02: Given a report, with dates, When `report --sort date` runs, Then the newest is first
- [ ] Given no entries
  When it runs
  Then it prints nothing

### AC-07
- **Given** an entry without a date
- **When** it is sorted
- **Then** it comes last
  and keeps its place

## Constraints
1. no new dependency,
   not even a small one
2) keep the API

## Tests
- unit: `make test`
- `make lint`
- e2e:

## Allowed paths
- `src/`
## Forbidden paths
- vendor/
"""


def test_everything_in_it_is_read():
    read = read_request(WHOLE)
    assert read.problems == ()
    request = msgspec.convert(read.raw, Request)
    assert request.title == "Sort the report by date"
    assert request.body.startswith("People look")
    assert request.body.endswith("## Background\nSome *text*.")
    assert [(one.id, one.given, one.when, one.then) for one in request.acceptance_criteria] == [
        ("AC-02", "a report, with dates", "`report --sort date` runs", "the newest is first"),
        ("AC-01", "no entries", "it runs", "it prints nothing"),
        ("AC-07", "an entry without a date", "it is sorted", "it comes last and keeps its place"),
    ]
    assert request.constraints == ("no new dependency, not even a small one", "keep the API")
    assert request.test_instructions == {"unit": ("make test", "make lint")}
    assert (request.allowed_paths, request.forbidden_paths) == (("src/",), ("vendor/",))


def test_in_japanese():
    text = """\
# 日付順に並べる
## 受け入れ基準
- AC-01: 前提: 3件ある、操作: 並べる、期待結果: 新しい順になる
- Given requestがある When Runする Then planning.jsonが生成される
- 前提：空
  操作：並べる
  期待結果：何も出ない
## 制約
- 既存仕様を壊さない
"""  # noqa: RUF001
    read = read_request(text)
    assert read.problems == ()
    assert read.raw["constraints"] == ["既存仕様を壊さない"]
    assert read.raw["acceptance_criteria"] == [
        {"id": "AC-01", "given": "3件ある", "when": "並べる", "then": "新しい順になる"},
        {"id": "AC-02", "given": "requestがある", "when": "Runする", "then": "planning.jsonが生成される"},
        {"id": "AC-03", "given": "空", "when": "並べる", "then": "何も出ない"},
    ]


@each(
    ("text", "problems"),
    [
        ("", ["FAIL SCHEMA_INVALID $.title", "WARN AC_TOO_FEW $.acceptance_criteria"]),
        ("# T", ["WARN AC_TOO_FEW $.acceptance_criteria"]),
        ("# T\n## Acceptance criteria\n- be fast\n- Given a, then b\n- Given x\n",
         [f"FAIL SCHEMA_INVALID $.acceptance_criteria[{at}]" for at in range(3)]),
        ("# T\n## Acceptance criteria\n" + "- AC-01: Given a, when b, then c\n" * 3,
         ["FAIL SCHEMA_INVALID $.acceptance_criteria"]),
        ("# T\n## Forbidden paths\n- ../up\n- /etc\n",
         ["FAIL SCHEMA_INVALID $.forbidden_paths[0]", "FAIL SCHEMA_INVALID $.forbidden_paths[1]",
          "WARN AC_TOO_FEW $.acceptance_criteria"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(text: str, problems: list[str]):
    assert [f"{one.level} {one.code} {one.path}" for one in read_request(text).problems] == problems


words = st.sampled_from(
    [
        "# ",
        "## ",
        "Acceptance criteria",
        "\n",
        "- ",
        "Given ",
        "when ",
        "then ",
        "AC-1",
        "```",
        "x",
        "制約",
        " ",
        ":",
    ]
)


@given(text=st.lists(words, max_size=40).map("".join) | st.text())
def test_any_text_is_read_or_refused(text: str):
    read = read_request(text)
    if all(one.level is Level.WARN for one in read.problems):
        assert msgspec.convert(read.raw, Request).title


def test_a_large_hostile_text_is_read_in_time():
    lines = [
        "# T",
        "## Acceptance criteria",
        "- Given " + "when , " * 20_000,
        "given " * 20_000,
        "-" * 100_000,
    ]
    assert read_request("\n".join(lines)).raw["title"] == "T"
