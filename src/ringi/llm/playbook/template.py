"""Fills the book's templates with words from the instruction and names from the project."""

from collections.abc import Callable, Mapping
from typing import Final

from ringi.domain.session import Brief, ProjectFacts
from ringi.llm.playbook.book import Book
from ringi.llm.playbook.instruction import Instruction
from ringi.llm.playbook.quote import one_line

_LONGEST_NAME: Final = 40
# These work for any project with such a file; other test runners vary.
_RUNNERS: Final = {"Cargo.toml": "cargo test", "go.mod": "go test ./..."}
_COMMANDS: Final = frozenset(["pytest", "tox", "nox", "jest", "vitest", "rspec", "phpunit"])

Slots = Mapping[str, str]


def slots(brief: Brief, instruction: Instruction, book: Book, shown: Callable[[str], str] = str) -> Slots:
    """`shown` escapes untrusted text for where it is shown."""
    sentences, gist, project = book.sentences, instruction.gist, brief.project

    def own(words: str) -> str:
        return quoted(book, shown(words)) if words else sentences["task"]

    def named(names: tuple[str, ...], key: str) -> str:
        return code(names[0]) if names else sentences[key]

    folder = test_folder(project)
    return {
        "subject": own(gist.sentence),
        "matter": own(gist.matter) if gist.matter else sentences["fault"],
        "thing": own(gist.thing),
        "place": named(instruction.places, "place"),
        "manifest": named(project.manifests, "manifest"),
        "language": one_line(project.languages[0], _LONGEST_NAME)
        if project.languages
        else sentences["language"],
        "folder": code(folder) if folder else sentences["folder"],
        "tests": sentences["tests_in"].format(folder=code(folder)) if folder else sentences["tests"],
    }


def filled(template: str, values: Slots) -> str:
    """Capitalised, even if it starts with an inserted name."""
    text = template.format_map(values)
    return text[:1].upper() + text[1:] if template.startswith("{") else text


def quoted(book: Book, text: str) -> str:
    """Quotation marks inside become single ones."""
    inner = text.translate({0x201C: "\u2018", 0x201D: "\u2019", 0x300C: "\u300e", 0x300D: "\u300f"})
    return book.sentences["quote"].format(text=inner)


def code(name: str) -> str:
    return f"`{one_line(name.replace('`', ''), _LONGEST_NAME)}`"


def test_folder(project: ProjectFacts) -> str:
    return next((tests for tests in project.tests if not _is_command(tests)), "")


def test_command(project: ProjectFacts) -> str:
    given = (tests for tests in project.tests if _is_command(tests))
    known = (_RUNNERS[name] for name in project.manifests if name in _RUNNERS)
    return one_line(next(given, "") or next(known, ""), 2 * _LONGEST_NAME).replace("`", "")


def _is_command(tests: str) -> bool:
    return " " in tests.strip() or tests.strip() in _COMMANDS
