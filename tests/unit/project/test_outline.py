"""What somebody's words name outright, and where that is."""

from ringi.project.context import Definition, FileKind, FoundFile
from ringi.project.outline import find_mentioned, pages_of
from tests.tables import each

FOUND = [
    FoundFile(
        path="src/text.py",
        kind=FileKind.SOURCE,
        definitions=(Definition("Page.wrap_text", "method", 10, 40), Definition("name", "function", 50, 60)),
    ),
    FoundFile(path="docs/io.md", kind=FileKind.DOC),
]


@each(
    ("words", "pages"),
    [
        ("wrap_text, on long pages", ["src/text.py:10-40"]),
        ("It is Page.wrap_text that takes long", ["src/text.py:10-40"]),
        ("name() is slow", ["src/text.py:50-60"]),
        ("`name`, always", ["src/text.py:50-60"]),
        ("Yes, keep the name", []),
        ("what docs/io.md says. And src/text.py.", ["src/text.py", "docs/io.md"]),
        ("その wrap_text が遅い", ["src/text.py:10-40"]),
        ("1 …\0((`", []),
    ],
)
def test_pages_of_what_is_mentioned(words: str, pages: list[str]):
    assert list(pages_of(FOUND, find_mentioned(words))) == pages
