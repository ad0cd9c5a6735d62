"""Rules that hold for every text: files come back exactly, nothing is lost, no text takes long."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.kernel.codec import canonical
from ringi.plans.extract import extract
from tests.tables import each

pytestmark = pytest.mark.req("PT-14")

NAMES = st.text(st.sampled_from("abzAZ019_-計画é"), min_size=1, max_size=8).filter(
    lambda name: name[0] not in "-_"
)
PATHS = st.builds(
    lambda folders, name, extension: "/".join([*folders, f"{name}.{extension}"]),
    st.lists(NAMES, max_size=3),
    NAMES,
    st.sampled_from(["py", "md", "txt", "d.ts", "7z"]),
)
LINES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=30),
    st.text(st.sampled_from(" \t`~>-#.x*"), max_size=10),
    st.sampled_from(
        ["```", "```python", "~~~~", "    ```", "- delete a.py", "<!--", "$ rm x", "> x", "+++ b/x"]
    ),
)
CONTENTS = st.lists(LINES, max_size=8).map(lambda lines: "".join(f"{line}\n" for line in lines))
STYLES = st.sampled_from(
    [
        ("", "text {path}"),
        ("", 'text title="{path}"'),
        ("", "text:{path}"),
        ("", "{path}"),
        ("", "{{.text filename={path}}}"),
        ("`{path}`", "text"),
        ("**{path}**", ""),
        ("### {path}", "text"),
        ("File: {path}", "text"),
        ("- {path}:", "text"),
        ("Update `{path}`:", "text"),
        ("`{path}` を更新:", "text"),
    ]
)
LEADS = st.sampled_from(["", "  ", "   ", "\t", "        "])


def longest(content: str, sign: str) -> int:
    runs = [len(line.lstrip(" \t")) - len(line.lstrip(" \t").lstrip(sign)) for line in content.split("\n")]
    return max(2, *runs)


@st.composite
def rendered(draw: st.DrawFn) -> tuple[str, list[tuple[str, str]]]:
    """A text and the files that it shows."""
    files = draw(st.lists(st.tuples(PATHS, CONTENTS), max_size=4))
    pieces = ["# Plan"]
    for path, content in files:
        above, info = draw(STYLES)
        sign = draw(st.sampled_from("`~"))
        fence = sign * (longest(content, sign) + draw(st.integers(1, 3)))
        lead = draw(LEADS)
        lines = [f"{fence}{info.format(path=path)}", *content.split("\n")[:-1], fence]
        pieces += [above.format(path=path), *(lead + line for line in lines), "", "Some words."]
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return end.join(pieces), files


@settings(max_examples=200, deadline=None)
@given(rendered())
def test_files_come_back_exactly(case: tuple[str, list[tuple[str, str]]]):
    text, files = case
    found = extract(text)
    assert [(spec.path, spec.content) for spec in found.specs] == files
    assert found.unplaced == ()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(LINES, STYLES.map("\n".join), st.text(max_size=20)), max_size=25).map("\n".join))
def test_any_text_can_be_read_and_written_down(text: str):
    found = extract(text)
    assert found == extract(text)
    assert canonical(found)
    lines = text.count("\n") + 1
    assert all(0 < item.line <= lines and len(item.text) <= 200 and item.why for item in found.unplaced)


MIB = 1 << 20
HOSTILE = {
    "nothing": "",
    "backticks": "`" * MIB,
    "backticks in pairs": "` " * (MIB // 2),
    "tildes": "~" * MIB,
    "blanks": " " * MIB + "```" + " " * MIB + "x`",
    "blank lines": "\n" * MIB,
    "a long line": "x" * MIB + "```",
    "a long bullet": "- " + "delete " * (MIB // 7),
    "open fences": "```a b.py\n" * 100_000,
    "closed fences": "```a b.py\nx\n```\n" * 20_000,
    "empty fences": "```\n" * 100_000,
    "nested fences": "```a\n```b\n```\n" * 25_000,
    "fences that grow": "\n".join("`" * n for n in range(3, 1400)),
    "a long info": "```" + "diff " * (MIB // 5) + "\n" + " ```x\n" * 100_000 + "```",
    "open quotes in infos": "```" + 'a="' * 1300 + "\n```\n" * 100,
    "indented": "".join(f"{' ' * n}```\n{' ' * (n // 2)}x\n```\n" for n in range(1200)),
    "quotes": "> ```\n" * 100_000,
    "comments": "<!--\n" * 100_000,
    "bullets": ("- create " + "を" * 4000 + "を作成\n```\n```\n") * 100,
    "a paragraph": "create a.py\n" * 30_000 + "```\n```",
    "stars": ("**" * 2000 + "\n") * 250,
    "dots": "```py a.py\n" + ("# rest " * 25 + "\n") * 5000 + "```",
    "diffs": "```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```\n" * 4_000,
    "a diff": "```diff\n" + "--- a/x\n" * 100_000 + "```",
    "null": "\0" * MIB,
}


@each("name", HOSTILE)
def test_no_text_takes_long(name: str):
    found = extract(HOSTILE[name])
    assert len(found.specs) <= 100_000
