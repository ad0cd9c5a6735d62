"""Which of the files that were found a request names."""

import pytest

from ringi.domain.context import FileKind, FoundFile
from ringi.llm.playbook.case import told_in

READMES = ("docs/agents/README.md", "README.md", "README.ja.md", "docs/design/README.md")
SOURCES = ("src/flask/app.py", "src/flask/cli.py", "app.py")


def found(*paths: str) -> list[FoundFile]:
    return [FoundFile(path=path, kind=FileKind.DOC) for path in paths]


@pytest.mark.req("IP-3")
@pytest.mark.parametrize(
    ("text", "paths", "named"),
    [
        ("add an install section to README.md", READMES, ["README.md"]),
        ("README.mdにインストール手順を追加", READMES, ["README.md"]),
        ("the README says nothing", READMES, ["docs/agents/README.md"]),
        ("docs/design/README.md is old.", READMES, ["docs/design/README.md"]),
        ("translate README.ja.md", READMES, ["README.ja.md"]),
        ('File "/usr/lib/site-packages/flask/cli.py", line 3', SOURCES, ["src/flask/cli.py"]),
        ("app.py fails", SOURCES, ["app.py"]),
        ("cli.py fails", SOURCES, ["src/flask/cli.py"]),
        ("myapp.py and app.pyc fail", SOURCES, []),
        ("nothing of it", SOURCES, []),
    ],
)
def test_the_files_that_a_request_names(text: str, paths: tuple[str, ...], named: list[str]):
    assert [file.path for file in told_in(text, found(*paths))] == named
